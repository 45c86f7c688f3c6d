"""The non-private values, for the owner's eyes.

The same definitions and the same evaluation as a release, without noise: of the cases as they
are, and beside it of the cases as public bounds clip them. Every look is on record: who, when, at
which indicators of which log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pappi.engine import CaseTable, Identify, cases_by_period
from pappi.ledger import canonical_json
from pappi.planning import periods_of
from pappi.ppinot import (
    AggregatedMeasure,
    Bounding,
    Catalogue,
    Ppi,
    aggregate,
    aggregated_measures,
    canonical_form,
    reduced_form,
    value_above,
    with_default_bounds,
)
from pappi.report import shortened
from pappi.store import LogDeclaration
from pappi.values import JSON, ExactAnswer, Period

# The journal keeps every look for good: a catalogue of thousands must not swell it.
_MOST_NAMED = 20
_LONGEST = 80


def look_payload(catalogue: Catalogue) -> dict[str, JSON]:
    """What is on record of a look: the first indicators by id, how many, and a digest.

    The definitions themselves stay out: a condition may name a person, and the journal
    forgets nothing. Whoever has them can tell by the digest, in whatever notation.
    """
    written = [
        [ppi.id, canonical_form(ppi.measure), canonical_form(ppi.scope)] for ppi in catalogue.ppis
    ]
    definitions = canonical_json(written).encode("ascii")
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
    reduced = (reduced_form(ppi, log.terms.anchor) for ppi in catalogue.ppis)
    ppis = [with_default_bounds(ppi, log.terms.bounds) for ppi in reduced]
    periods = {ppi.scope: periods_of(ppi.scope, log.horizon) for ppi in ppis}
    latest = any(scope.last_cases is not None for scope in periods)
    identify = Identify(key) if latest else None
    tables = cases_by_period(events, log, [ppi.measure for ppi in ppis], periods, identify)
    return tuple(a for ppi in ppis for a in _series(ppi, tables[ppi.scope]))


def _series(ppi: Ppi, tables: Mapping[Period, CaseTable]) -> Iterator[ExactAnswer]:
    _, first = next(aggregated_measures(ppi.measure))  # measures of one PPI are grouped alike
    grouping = first.grouping
    for period, cases in tables.items():
        for group in (None,) if grouping is None else grouping.keys:
            yield _answer(ppi, period, group, cases.of_group(grouping, group))


@dataclass(frozen=True, slots=True)
class _Part:
    """One function over the cases as they are and as its bounds clip them; None without bounds."""

    value: float | None
    clipped: float | None
    cases: int
    beyond: int | None

    @classmethod
    def of(cls, measure: AggregatedMeasure, contributions: NDArray[np.float64]) -> _Part:
        value, bounds = aggregate(measure, contributions), measure.bounds
        cases = int(np.count_nonzero(~np.isnan(contributions)))
        if bounds is None or measure.bounding is Bounding.PRIVATE:
            return cls(value, None, cases, None)
        low, high = float(bounds.low), float(bounds.high)
        beyond = np.count_nonzero((contributions < low) | (contributions > high))
        clipped = aggregate(measure, np.clip(contributions, low, high))
        return cls(value, clipped, cases, int(beyond))


def _answer(ppi: Ppi, period: Period, group: str | None, cases: CaseTable) -> ExactAnswer:
    parts = {
        path: _Part.of(measure, cases.contributions(measure))
        for path, measure in aggregated_measures(ppi.measure)
    }
    value = value_above(ppi.measure, {path: part.value for path, part in parts.items()})
    bounded = all(part.beyond is not None for part in parts.values())
    within = {path: part.clipped for path, part in parts.items()}
    clipped = value_above(ppi.measure, within) if bounded else None
    most = max(parts.values(), key=lambda part: part.beyond or 0)
    return ExactAnswer(
        ppi.id,
        period,
        group,
        _shown(ppi, value),
        ppi.unit.name,
        _shown(ppi, clipped),
        most.cases,
        most.beyond if bounded else None,
    )


def _shown(ppi: Ppi, value: float | None) -> float | None:
    return None if value is None else ppi.unit.show(value)
