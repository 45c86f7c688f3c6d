"""The cases of each period of a scope.

Usually a case lies in the period of its log's anchor. A scope may have an anchor of its own,
and may take the latest cases only; both are decided here, after the cases beyond a person's
number have been left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from zoneinfo import ZoneInfo

from pappi.engine.cases import CaseTable
from pappi.planning.cells import Horizon
from pappi.ppinot.model import Scope, SingleInstance
from pappi.ppinot.reduced import anchor_time
from pappi.values.periods import Period


def read_by(scopes: Iterable[Scope]) -> tuple[SingleInstance, ...]:
    """The measures that scopes themselves read from cases."""
    return tuple(dict.fromkeys(measure for scope in scopes for measure in _read(scope)))


def cases_in(
    cases: CaseTable, scope: Scope, periods: Sequence[Period], horizon: Horizon, zone: ZoneInfo
) -> dict[Period, CaseTable]:
    """The cases of each period; periods are disjoint and in order.

    Only cases of the log's own blocks, whatever periods reach beyond them: a case that lies
    outside is not sealed yet, and would count again in the block it comes to lie in.
    """
    found = cases.split([horizon.covered], zone)[horizon.covered]
    if scope.anchor is not None:
        found = found.anchored(anchor_time(scope.anchor))
    if scope.last_cases is None:
        return found.split(periods, zone)
    (period,) = periods
    candidates = found.split([period], zone)[period]
    if scope.cases is not None:
        candidates = candidates.where(scope.cases)
    return {period: candidates.latest(scope.last_cases)}


def _read(scope: Scope) -> Iterator[SingleInstance]:
    if scope.anchor is not None:
        yield anchor_time(scope.anchor)
    if scope.last_cases is not None and scope.cases is not None:
        yield scope.cases
