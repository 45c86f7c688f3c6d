"""PaPPI answers process performance indicators with differential privacy.

>>> import pathlib, tempfile
>>> import pappi
>>> from pappi.examples import EXAMPLES
>>> folder, claims = pathlib.Path(tempfile.mkdtemp()), EXAMPLES["claims"]

The owner's door is a workspace: it takes logs in, and says what may be spent.

>>> workspace = pappi.create(folder / "insurance")
>>> _ = workspace.import_log(claims.write_log(folder), timezone=claims.zone)
>>> isinstance(pappi.open(folder / "insurance"), pappi.Workspace)
True

An analyst has a door of their own, through which no exact value comes.

>>> analyst = workspace.checkpoint("alice")
>>> isinstance(analyst, pappi.Analyst)
True
>>> catalogue = pappi.read_definitions(claims.catalogue_path)
>>> isinstance(catalogue, pappi.Catalogue)
True

A quote says what each PPI would cost, and nothing is spent; a release is charged once.

>>> quotes = analyst.preview(catalogue, epsilon="0.1")
>>> isinstance(quotes[0], pappi.Quote), quotes[0].epsilon == pappi.Epsilon.of("0.1")
(True, True)
>>> answers = analyst.release(catalogue, epsilon="0.1")
>>> isinstance(answers, pappi.Released), isinstance(answers[0], pappi.Series)
(True, True)
>>> answers[0].answers[0].guarantee.adjacency
<Adjacency.ADD_REMOVE: 'add-remove'>
>>> isinstance(answers[0].answers[0], pappi.Answer)
True

Every failure is an error of one tree, which says what to do.

>>> try:
...     analyst.release(catalogue, epsilon="5")
... except pappi.PappiError as error:
...     print(error.code)
budget-exceeded

From another machine `pappi.client.Client` gives the same verbs, and definitions made with
ppinot4py come in through `pappi.from_ppinot4py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pappi.errors import PappiError
    from pappi.ppinot.model import Catalogue
    from pappi.ppinot.notations import read_definitions
    from pappi.ppinot.objects import from_ppinot4py
    from pappi.released import Released
    from pappi.values.answers import Answer, Series
    from pappi.values.epsilon import Epsilon
    from pappi.values.quotes import Quote
    from pappi.workspace import Analyst, Workspace, create
    from pappi.workspace import open_at as open  # noqa: A004 - reads as pappi.open(…)

__all__ = [
    "Analyst",
    "Answer",
    "Catalogue",
    "Epsilon",
    "PappiError",
    "Quote",
    "Released",
    "Series",
    "Workspace",
    "__version__",
    "create",
    "from_ppinot4py",
    "open",
    "read_definitions",
]

_LAZY = {
    "Analyst": ("pappi.workspace", "Analyst"),
    "Answer": ("pappi.values.answers", "Answer"),
    "Catalogue": ("pappi.ppinot.model", "Catalogue"),
    "Epsilon": ("pappi.values.epsilon", "Epsilon"),
    "PappiError": ("pappi.errors", "PappiError"),
    "Quote": ("pappi.values.quotes", "Quote"),
    "Released": ("pappi.released", "Released"),
    "Series": ("pappi.values.answers", "Series"),
    "Workspace": ("pappi.workspace", "Workspace"),
    "create": ("pappi.workspace", "create"),
    "from_ppinot4py": ("pappi.ppinot.objects", "from_ppinot4py"),
    "open": ("pappi.workspace", "open_at"),
    "read_definitions": ("pappi.ppinot.notations", "read_definitions"),
}


def __getattr__(name: str) -> object:
    """Load what is asked for when it is first used, so that `import pappi` stays instant."""
    if name not in _LAZY:
        raise AttributeError(f"module 'pappi' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    """The public names, loaded or not: what a key for completion shows."""
    return __all__
