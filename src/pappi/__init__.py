"""PaPPI answers process performance indicators with differential privacy.

>>> import pathlib, tempfile
>>> import pappi
>>> from pappi.examples import EXAMPLES
>>> folder, claims = pathlib.Path(tempfile.mkdtemp()), EXAMPLES["claims"]

The owner has a workspace: it imports logs, and sets what may be spent.

>>> workspace = pappi.create(folder / "insurance")
>>> _ = workspace.import_log(claims.write_log(folder), timezone=claims.zone)
>>> isinstance(pappi.open(folder / "insurance"), pappi.Workspace)
True

An analyst has a session, which gives no exact value.

>>> analyst = workspace.checkpoint("alice")
>>> isinstance(analyst, pappi.LocalSession)
True
>>> catalogue = pappi.read_definitions(claims.catalogue_path)
>>> isinstance(catalogue, pappi.Catalogue)
True

A quote says what each PPI would cost, and nothing is spent; a release is charged once.

>>> quotes = analyst.preview(catalogue, epsilon="0.1")
>>> isinstance(quotes[0], pappi.Quote), quotes[0].own_epsilon == pappi.Epsilon.of("0.1")
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

Definitions are the path of a file, its text, a dict, or a PPI written in Python:

>>> rejected = pappi.share("Reject claim").every("month").target("below 25 %").about("claims")
>>> isinstance(rejected, pappi.Indicator), analyst.preview(rejected, epsilon="0.1")[0].ppi
(True, 'share')

From another machine `pappi.client.Client` gives the same verbs, and definitions made with
ppinot4py come in through `pappi.from_ppinot4py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pappi.lazy import lazy_imports

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pappi.checkpoint import Released
    from pappi.errors import PappiError
    from pappi.ppinot import (
        Catalogue,
        Indicator,
        catalogue,
        count,
        data,
        derive,
        event,
        first,
        from_ppinot4py,
        last,
        mean,
        median,
        number,
        occurs,
        percentile,
        read_definitions,
        sequence,
        share,
        state,
        time,
    )
    from pappi.ppinot import max_of as max  # noqa: A004 - reads as pappi.max(…)
    from pappi.ppinot import min_of as min  # noqa: A004
    from pappi.ppinot import sum_of as sum  # noqa: A004
    from pappi.session import LocalSession, Workspace, create
    from pappi.session import open_at as open  # noqa: A004 - reads as pappi.open(…)
    from pappi.values import Answer, Epsilon, Quote, Series
else:
    __getattr__ = lazy_imports(__name__)


__all__ = [
    "Answer",
    "Catalogue",
    "Epsilon",
    "Indicator",
    "LocalSession",
    "PappiError",
    "Quote",
    "Released",
    "Series",
    "Workspace",
    "__version__",
    "catalogue",
    "count",
    "create",
    "data",
    "derive",
    "event",
    "first",
    "from_ppinot4py",
    "last",
    "max",
    "mean",
    "median",
    "min",
    "number",
    "occurs",
    "open",
    "percentile",
    "read_definitions",
    "sequence",
    "share",
    "state",
    "sum",
    "time",
]


def __dir__() -> list[str]:
    """The public names, loaded or not: what a key for completion shows."""
    return __all__
