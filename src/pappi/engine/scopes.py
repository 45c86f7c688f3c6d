"""The cases of each period of a scope.

Usually a case lies in the period of its log's anchor. A scope may have an anchor of its own,
and may take the latest cases only; both are decided here, after the cases beyond a person's
number have been left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from zoneinfo import ZoneInfo

from pappi.engine.table import CaseTable
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
    found = cases.within(horizon.covered, zone)
    if scope.anchor is not None:
        found = found.anchored(anchor_time(scope.anchor))
    if scope.last_cases is None:
        return found.split(periods, zone)
    (period,) = periods
    candidates = found.within(period, zone)
    if scope.cases is not None:
        candidates = candidates.where(scope.cases)
    return {period: candidates.latest(scope.last_cases)}


def batches_in(
    batches: Iterable[CaseTable],
    asked: Mapping[Scope, Sequence[Period]],
    horizon: Horizon,
    zone: ZoneInfo,
) -> dict[Scope, dict[Period, CaseTable]]:
    """The cases of each scope and period, from batches in which every case stands for itself.

    So none of these scopes takes the latest cases only. Each batch is taken apart at once: the
    whole table is never in memory beside its parts.
    """
    found: dict[Scope, dict[Period, list[CaseTable]]] = {
        scope: {period: [] for period in periods} for scope, periods in asked.items()
    }
    for batch in batches:
        for scope, periods in asked.items():
            for period, cases in cases_in(batch, scope, periods, horizon, zone).items():
                found[scope][period].append(cases)
    return {
        scope: {period: CaseTable.joined(parts) for period, parts in by_period.items()}
        for scope, by_period in found.items()
    }


def _read(scope: Scope) -> Iterator[SingleInstance]:
    if scope.anchor is not None:
        yield anchor_time(scope.anchor)
    if scope.last_cases is not None and scope.cases is not None:
        yield scope.cases
