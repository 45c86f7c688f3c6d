"""The non-private values, for the owner's eyes only.

The same definitions and the same evaluation as a release, without noise: of the cases as they
are, and of the cases clipped to their public bounds. Every view is on record: who, when, and
which indicators of which log.

Also what a log's profile proposes for a first catalogue.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pappi.engine import CaseTable, Groups, Identify, cases_by_period
from pappi.eventlog import Profile, Spread
from pappi.ledger import canonical_json
from pappi.planning import Duration, Proposal, periods_of, windows_of
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    Between,
    Bounding,
    Catalogue,
    Comparing,
    MultiInstance,
    Ppi,
    aggregated_measures,
    aggregates,
    base_query,
    canonical_form,
    compared_pairs,
    counted,
    reduced_form,
    value_above,
    with_default_bounds,
)
from pappi.report import shortened
from pappi.store import LogDeclaration
from pappi.values import JSON, By, ExactAnswer, Kind, Period

# The journal keeps every view for good: a catalogue of thousands must not swell it.
_MOST_NAMED = 20
_LONGEST = 80


def look_payload(catalogue: Catalogue) -> dict[str, JSON]:
    """What is recorded of a view: the first indicators by id, how many, and a digest.

    The definitions themselves stay out: a condition may name a person, and the journal
    forgets nothing. Whoever has them can compare the digest, in whatever notation.
    """
    forms = [
        [ppi.id, canonical_form(ppi.measure), canonical_form(ppi.scope)] for ppi in catalogue.ppis
    ]
    definitions = canonical_json(forms).encode("ascii")
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

    The key breaks ties among the latest cases, as it does in a release.
    """
    reduced = (reduced_form(base_query(ppi), log.terms.anchor) for ppi in catalogue.ppis)
    ppis = [with_default_bounds(ppi, log.terms.bounds) for ppi in reduced]
    periods = {ppi.scope: periods_of(ppi.scope, log.horizon) for ppi in ppis}
    latest = any(scope.last_cases is not None for scope in periods)
    identify = Identify(key) if latest else None
    tables = cases_by_period(events, log, [ppi.measure for ppi in ppis], periods, identify)
    return tuple(a for ppi in ppis for a in _series(ppi, tables[ppi.scope]))


class _Part(NamedTuple):
    """One function of the cases as they are and as clipped; `clipped` is None without bounds."""

    value: float | None
    clipped: float | None
    cases: int
    beyond: int | None


class _Column(NamedTuple):
    """The parts of all groups, a list for each field: there may be tens of thousands of groups."""

    values: Sequence[float | None]
    clipped: Sequence[float | None]
    cases: Sequence[int]
    beyond: Sequence[int | None]

    @classmethod
    def of(cls, parts: Iterable[_Part]) -> _Column:
        return cls(*zip(*parts, strict=True))

    def parts(self) -> Iterator[_Part]:
        return map(_Part, *self)


def _series(ppi: Ppi, tables: Mapping[Period, CaseTable]) -> Iterator[ExactAnswer]:
    measures = [measure for _, measure in aggregated_measures(ppi.measure)]
    grouping = measures[0].grouping  # measures of one PPI are grouped alike
    figures = {
        period: [_column(measure, cases.grouped(grouping)) for measure in measures]
        for period, cases in tables.items()
    }
    if windows := windows_of(ppi, list(tables)):
        figures = {
            last: _added(measures, [figures[period] for period in windows[last]])
            for last in figures
            if last in windows
        }
    groups, view = grouping.keys if grouping else (None,), ppi.view
    shown = {period: _above(ppi.measure, columns) for period, columns in figures.items()}
    if not isinstance(view, Comparing):
        for period, column in shown.items():
            yield from _answers(ppi, period, groups, column)
        return
    every = {
        (period, group): part
        for period, column in shown.items()
        for group, part in zip(groups, column.parts(), strict=True)
    }
    for first, second in compared_pairs(view, every, ppi.scope.grid):
        group = None if isinstance(view, Between) else first[1]
        compared = _Column.of([_compared(every[first], every[second], view.by)])
        yield from _answers(ppi, first[0], (group,), compared)


def _added(
    measures: Sequence[AggregatedMeasure], periods: Sequence[Sequence[_Column]]
) -> list[_Column]:
    """Each function over the cases of several periods: sums add up, means weigh their cases."""
    by_measure = zip(measures, zip(*periods, strict=True), strict=True)
    return [
        _Column.of(
            _over(measure, parts)
            for parts in zip(*(column.parts() for column in columns), strict=True)
        )
        for measure, columns in by_measure
    ]


def _over(measure: AggregatedMeasure, parts: Sequence[_Part]) -> _Part:
    cases = sum(part.cases for part in parts)

    def over(values: Sequence[float | None]) -> float | None:
        known = [(v, part.cases) for v, part in zip(values, parts, strict=True) if v is not None]
        if measure.function is Aggregation.SUM:
            return math.fsum(value for value, _ in known)
        return math.fsum(value * number for value, number in known) / cases if cases else None

    beyond = [part.beyond for part in parts if part.beyond is not None]
    bounded = len(beyond) == len(parts)
    return _Part(
        over([part.value for part in parts]),
        over([part.clipped for part in parts]) if bounded else None,
        cases,
        sum(beyond) if bounded else None,
    )


def _compared(one: _Part, two: _Part, by: By) -> _Part:
    def between(first: float | None, second: float | None) -> float | None:
        if first is None or second is None:
            return None
        if by is By.DIFFERENCE:
            return first - second
        if second <= 0:
            return None
        return first / second - (by is By.PERCENT)

    cases = one.cases + two.cases
    if one.beyond is None or two.beyond is None:
        return _Part(between(one.value, two.value), None, cases, None)
    clipped = between(one.clipped, two.clipped)
    return _Part(between(one.value, two.value), clipped, cases, one.beyond + two.beyond)


def _column(measure: AggregatedMeasure, groups: Groups) -> _Column:
    """From one pass over all cases."""
    contributions, cuts, bounds = groups.cases.contributions(measure), groups.cuts, measure.bounds
    values = aggregates(measure, contributions, cuts)
    cases = counted(~np.isnan(contributions), cuts).tolist()
    if bounds is None or measure.bounding is Bounding.PRIVATE:
        nothing = [None] * len(values)
        return _Column(values, nothing, cases, nothing)
    low, high = float(bounds.low), float(bounds.high)
    beyond = (contributions < low) | (contributions > high)
    clipped = (
        aggregates(measure, np.clip(contributions, low, high), cuts) if beyond.any() else values
    )
    return _Column(values, clipped, cases, counted(beyond, cuts).tolist())


def _above(formula: MultiInstance, columns: Sequence[_Column]) -> _Column:
    """A formula of its variables in each group, or one measure alone.

    `cases` and `beyond` are those of the variable with the most beyond.
    """
    if isinstance(formula, AggregatedMeasure):
        (alone,) = columns
        return alone
    paths = [path for path, _ in aggregated_measures(formula)]

    def above(*row: _Part) -> _Part:
        parts = dict(zip(paths, row, strict=True))
        value = value_above(formula, {path: part.value for path, part in parts.items()})
        most = max(row, key=lambda part: part.beyond or 0)
        if any(part.beyond is None for part in row):
            return _Part(value, None, most.cases, None)
        within = value_above(formula, {path: part.clipped for path, part in parts.items()})
        return _Part(value, within, most.cases, most.beyond)

    return _Column.of(map(above, *(column.parts() for column in columns)))


def _answers(
    ppi: Ppi, period: Period, groups: Sequence[str | None], column: _Column
) -> Iterator[ExactAnswer]:
    unit = ppi.shown_unit
    factor = float(unit.factor)

    def in_units(values: Sequence[float | None]) -> list[float | None]:
        return [None if value is None else float(value) / factor for value in values]

    values = in_units(column.values)
    clipped = values if column.clipped is column.values else in_units(column.clipped)
    return map(
        ExactAnswer,
        *(repeat(ppi.id), repeat(period), groups, values, repeat(unit.name), clipped),
        *(column.cases, column.beyond),
    )


# --- a first catalogue from the profile ----------------------------------------------


_OFTEN, _NEARLY_ALL = 0.05, 0.95
_NO_QUANTITY = re.compile(r"(^|[^a-z])(id|nr|no|number|order|index|code|year|article)([^a-z]|$)")


def proposal_of(profile: Profile) -> Proposal:
    """Bounds that one case in twenty lies beyond, and the activities that distinguish cases."""
    distinguishing = [
        use
        for use in profile.activities
        if _OFTEN * profile.cases <= use.cases <= _NEARLY_ALL * profile.cases
    ]
    repeated = [use for use in profile.activities if use.repeated >= _OFTEN * profile.cases]
    endings = [use for use in distinguishing if use.last >= _OFTEN * profile.cases]
    return Proposal(
        throughput=_duration(profile.durations),
        waits=tuple(
            (wait.start, wait.end, duration)
            for wait in profile.waits
            if (duration := _duration(wait.spread)) is not None
        ),
        repeated=tuple(use.name for use in sorted(repeated, key=lambda use: -use.repeated)[:2]),
        outcomes=tuple(use.name for use in sorted(endings, key=lambda use: use.cases)[:2]),
        numbers=tuple(
            (use.name, min(0.0, _round_out(use.spread.least)), _round_out(use.spread.p99))
            for use in profile.attributes
            if use.kind is Kind.NUMBER and use.spread is not None and use.spread.p99 > 0
            if not use.personal and not _NO_QUANTITY.search(use.name.lower())
        ),
    )


def _duration(spread: Spread | None) -> Duration | None:
    if spread is None or spread.p95 <= 0:
        return None
    return Duration(limit=spread.p75, bound=spread.p95)


def _round_out(number: float) -> float:
    """Rounded away from zero to two digits, so that it is not the value of one case."""
    if not number:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(abs(number))) - 1)
    return math.copysign(math.ceil(abs(number) / step) * step, number)
