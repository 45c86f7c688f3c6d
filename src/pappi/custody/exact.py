"""The non-private values, for the owner's eyes.

The same definitions and the same evaluation as a release, without bounds and
without noise. Every look is on record: who, when, at which indicators of which log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pappi.budget.chain import canonical_json
from pappi.engine.cases import CaseTable, case_batches, evaluate_cases
from pappi.engine.query import Identify
from pappi.engine.scopes import batches_in, cases_in, read_by
from pappi.planning.cells import periods_of
from pappi.ppinot.canonical import canonical
from pappi.ppinot.model import Catalogue, MultiInstance, Ppi, Scope
from pappi.ppinot.reduced import reduced
from pappi.report.plain import shortened
from pappi.store.declarations import LogDeclaration
from pappi.tree.above import value_above
from pappi.tree.aggregates import aggregate
from pappi.tree.composition import aggregated_measures
from pappi.values.answers import ExactAnswer
from pappi.values.periods import Period
from pappi.values.plain_data import JSON

__all__ = ["CaseTable", "cases_by_period", "exact_answers", "look_payload"]

# The journal keeps every look for good: a catalogue of thousands must not swell it.
_MOST_NAMED = 20
_LONGEST = 80


def look_payload(catalogue: Catalogue) -> dict[str, JSON]:
    """What is on record of a look: the first indicators by id, how many, and a digest.

    The definitions themselves stay out: a condition may name a person, and the journal
    forgets nothing. Whoever has them can tell by the digest, in whatever notation.
    """
    asked = [[ppi.id, canonical(ppi.measure), canonical(ppi.scope)] for ppi in catalogue.ppis]
    definitions = canonical_json(asked).encode("ascii")
    return {
        "log": catalogue.log,
        "ppis": [shortened(ppi.id, _LONGEST) for ppi in catalogue.ppis[:_MOST_NAMED]],
        "count": len(catalogue.ppis),
        "definitions_sha256": hashlib.sha256(definitions).hexdigest(),
    }


def exact_answers(
    events: Path, catalogue: Catalogue, log: LogDeclaration, key: bytes
) -> tuple[ExactAnswer, ...]:
    """Every PPI of a catalogue in every period and group; None where there is no value.

    The key decides which of the latest cases count where these tie, as it does in a release.
    """
    ppis = [reduced(ppi, log.anchor) for ppi in catalogue.ppis]
    tables = cases_by_period(events, ppis, log, key)
    return tuple(a for ppi in ppis for a in _series(ppi, tables[ppi.scope]))


def cases_by_period(
    events: Path, ppis: Sequence[Ppi], log: LogDeclaration, key: bytes
) -> dict[Scope, dict[Period, CaseTable]]:
    """What every case contributes to reduced PPIs, by scope and period: the data themselves."""
    horizon, zone = log.horizon, log.zone
    asked = {ppi.scope: periods_of(ppi.scope, horizon) for ppi in ppis}
    reading = (
        log.place(events),
        log.table,
        log.anchor,
        [ppi.measure for ppi in ppis],
        log.vocabulary,
    )
    besides = read_by(asked)
    if all(scope.last_cases is None for scope in asked):
        batches = case_batches(*reading, also=besides, days=log.days)
        return batches_in(batches, asked, horizon, zone)
    cases = evaluate_cases(*reading, Identify(key), also=besides, days=log.days)
    return {
        scope: cases_in(cases, scope, periods, horizon, zone) for scope, periods in asked.items()
    }


def _series(ppi: Ppi, tables: Mapping[Period, CaseTable]) -> Iterator[ExactAnswer]:
    for period, cases in tables.items():
        for group in _groups(ppi.measure):
            value = _value(ppi.measure, cases, group)
            shown = None if value is None else ppi.unit.show(value)
            yield ExactAnswer(ppi.id, period, group, shown, ppi.unit.name)


def _groups(measure: MultiInstance) -> tuple[str | None, ...]:
    """The declared keys; measures of one PPI are grouped alike."""
    _, first = next(aggregated_measures(measure))
    return (None,) if first.grouping is None else first.grouping.keys


def _value(measure: MultiInstance, cases: CaseTable, group: str | None) -> float | None:
    values = {
        path: aggregate(aggregated, cases.contributions(aggregated, group))
        for path, aggregated in aggregated_measures(measure)
    }
    return value_above(measure, values)
