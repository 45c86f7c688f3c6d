"""Where the published samples, results and the Sepsis log are, if they are here at all.

They are other people's data and no part of this package: an experiment that needs them says
so and is skipped where they are missing.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "PAPPI_SHARED_DATA"
_BESIDE_THE_REPOSITORY = Path(__file__).parents[2] / "shared" / "data"


def shared_file(name: str) -> Path | None:
    """The file of that name, or None where it is missing."""
    path = Path(os.environ.get(VARIABLE, _BESIDE_THE_REPOSITORY)) / name
    return path if path.is_file() else None


def missing(*names: str) -> str:
    """Why an experiment is skipped; empty if all its files are here."""
    absent = [name for name in names if shared_file(name) is None]
    if not absent:
        return ""
    return f"needs {', '.join(absent)}, which is not here (set {VARIABLE} to its folder)"
