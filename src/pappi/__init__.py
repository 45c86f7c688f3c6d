"""PaPPI answers process performance indicators with differential privacy.

import pappi

workspace = pappi.create("hospital")                       # the owner's door
workspace.import_log("sepsis.csv.gz", timezone="Europe/Amsterdam")
analyst = workspace.checkpoint("alice")                    # the analyst's door
analyst.preview("sepsis.yaml", epsilon="0.1")              # what it would cost
analyst.release("sepsis.yaml", epsilon="0.1")              # values, intervals, verdicts
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pappi.ppinot.objects import from_ppinot4py
    from pappi.workspace import create
    from pappi.workspace import open_at as open  # noqa: A004 - reads as pappi.open(…)

__all__ = ["__version__", "create", "from_ppinot4py", "open"]

_LAZY = {
    "create": ("pappi.workspace", "create"),
    "from_ppinot4py": ("pappi.ppinot.objects", "from_ppinot4py"),
    "open": ("pappi.workspace", "open_at"),
}


def __getattr__(name: str) -> object:
    """Load what is asked for when it is first used, so that `import pappi` stays instant."""
    if name not in _LAZY:
        raise AttributeError(f"module 'pappi' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(import_module(module), attribute)
