"""Counts on record: how many cases there are, as far as earlier releases have told it.

A noisy number of cases of the same periods, groups and filter is a better guess than what was
declared before the log was seen, and using it again costs nothing: it has been released. It makes
forecasts truer, and changes no plan.

A release is found by its key, which holds its ε: so the amounts that people usually give, and
that PPIs get by need, are tried as far as they were charged, the largest first, for the cells that
are asked for, of very many the latest. If there is none, the number may follow from other releases,
such as those of a set or a mean (`derivation`). It is taken if it is known to a half: what a few
cases hide in noise is no better than what was declared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from statistics import mean
from typing import Any

from pappi.checkpoint.answers import value_of
from pappi.checkpoint.derivation import Derivations
from pappi.checkpoint.queries import Known, figures_of, planned, releases_of
from pappi.errors import Refused
from pappi.planning import LADDER, Plan, cells_of, expected_cases
from pappi.ppinot import (
    EVERY_CASE,
    AggregatedMeasure,
    Aggregation,
    Ppi,
    aggregated_measures,
)
from pappi.store import LogDeclaration
from pappi.values import NUMBER, Epsilon

USUAL = tuple(epsilon for epsilon in reversed(LADDER) if epsilon <= Epsilon.of(1))
_LATEST = 24
_DEVIATIONS = 2  # about a margin at 95 %, without the law of what is added up


def counts_on_record(ppis: Iterable[Ppi], derivations: Derivations) -> list[int | None]:
    """The cases of a figure of each PPI; those that are about the same cases share one search."""
    counts = [_count_of(ppi) for ppi in ppis]
    distinct = {count: None for count in counts if count is not None}
    known = {count: _counted(count, derivations) for count in distinct}
    return [None if count is None else known[count] for count in counts]


def _counted(count: Ppi, derivations: Derivations) -> int | None:
    """The cases of one period, the mean of what is on record; None if nothing is."""
    if derivations.nothing_on_record:
        return None
    log, ledger = derivations.log, derivations.ledger
    scope = planned(count, None, log.public).ppi.scope
    try:
        cells = cells_of(scope, log.horizon)[-_LATEST:]
    except Refused:  # its time is yet to come, as that of a subscription may be
        return None
    for epsilon in derivations.charged_among(USUAL, cells):
        releases = releases_of(planned(count, epsilon, log.public), log, "", cells=cells)
        results = ledger.results(release.key for release in releases)
        known = [release for release in releases if release.key in results]
        if known:
            return round(_mean_of(known, results))
    releases = releases_of(planned(count, USUAL[0], log.public), log, "", cells=cells)
    derived = [one for one in map(derivations.of, releases) if one is not None]
    if not derived:
        return None
    cases = _mean_of(derived, {})
    errors = (figure.plan.predicted_error for count in derived for figure in count.figures)
    return round(cases) if _DEVIATIONS * max(errors) <= cases / 2 else None


def _mean_of(counts: Iterable[Known], results: Mapping[str, Any]) -> float:
    """Of the smallest group, so that none does worse than told."""
    groups: dict[str | None, list[float]] = {}
    for count in counts:
        for figure in figures_of(count, results):
            groups.setdefault(figure.group, []).append(value_of(figure) or 0.0)
    return min(map(mean, groups.values()))


def with_counted_cases(plan: Plan, log: LogDeclaration, counted: int | None) -> Plan:
    """The plan, its forecast for as many cases as were counted, if any were."""
    if counted is None:
        return plan
    return plan.expecting(expected_cases(log.public, plan.ppi, counted))


def counting_on_record(plans: Collection[Plan], derivations: Derivations) -> list[Plan]:
    """Each with its forecast for the cases on record, where there are any."""
    counts = counts_on_record((plan.ppi for plan in plans), derivations)
    pairs = zip(plans, counts, strict=True)
    return [with_counted_cases(plan, derivations.log, counted) for plan, counted in pairs]


def _count_of(ppi: Ppi) -> Ppi | None:
    """How many cases the PPI is about, as a PPI; None if its measures are about different ones."""
    about = {(m.filter, m.grouping) for _, m in aggregated_measures(ppi.measure)}
    if len(about) != 1 or ppi.scope.last_cases is not None:
        return None
    ((condition, grouping),) = about
    measure = AggregatedMeasure(Aggregation.COUNT, EVERY_CASE, condition, grouping)
    return Ppi("count", "", measure, NUMBER, ppi.scope)
