"""The public facts about a log: what its owner has declared.

Planning, prices, documents and replies read a `PublicLog` and nothing else. It does not say where
the events are (`store.LogDeclaration` adds that). Definitions are checked against the declared
vocabulary, so that no refusal ever depends on the data.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from pappi.values.periods import Calendar, Grid
from pappi.values.privacy import CASE, Adjacency, Epsilon, PrivacyUnit
from pappi.values.working_time import DayTable, WorkingCalendar, working_days_of


class Kind(StrEnum):
    """What sort of value an attribute or an expression has."""

    NUMBER = "number"
    TEXT = "text"
    TRUTH = "truth"
    DURATION = "duration"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Activity names, and attribute names with the kind of their values.

    `keys` are the public values of attributes: the groups (public partitions) one can ask for.
    """

    activities: tuple[str, ...]
    attributes: Mapping[str, Kind] = field(default_factory=dict)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def without(self, activities: Collection[str], attributes: Collection[str]) -> Vocabulary:
        """
        >>> Vocabulary(("A", "B"), {"cost": Kind.NUMBER}).without(["B"], ["cost"])
        Vocabulary(activities=('A',), attributes={}, keys={})
        """
        return Vocabulary(
            tuple(name for name in self.activities if name not in activities),
            {name: kind for name, kind in self.attributes.items() if name not in attributes},
            {name: keys for name, keys in self.keys.items() if name not in attributes},
        )


@dataclass(frozen=True, slots=True)
class Bounds:
    """A declared range [low, high], in the internal unit of its measure.

    Internal units: microseconds for durations, 0 and 1 for truth values, the
    number itself otherwise.
    """

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(
                f"the lower bound must be below the upper one: {self.low} to {self.high}"
            )

    @property
    def width(self) -> Fraction:
        return self.high - self.low

    @property
    def magnitude(self) -> Fraction:
        """The largest absolute value inside: the sensitivity of a sum to one case more or less."""
        return max(abs(self.low), abs(self.high))

    @property
    def of_sums(self) -> tuple[float, float]:
        """Where a sum of any number of such values can lie.

        >>> Bounds(Fraction(2), Fraction(5)).of_sums, Bounds(Fraction(-1), Fraction(5)).of_sums
        ((0.0, inf), (-inf, inf))
        """
        return (0.0 if self.low >= 0 else -math.inf), (0.0 if self.high <= 0 else math.inf)


UNIT_INTERVAL = Bounds(Fraction(0), Fraction(1))


@dataclass(frozen=True, slots=True)
class DefaultBounds:
    """Declared bounds on what a case contributes, for definitions that give none."""

    durations: Bounds | None = None
    counts: Bounds | None = None
    attributes: Mapping[str, Bounds] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As exact fractions: a float would round."""
        return {
            "durations": _bounds_to_json(self.durations),
            "counts": _bounds_to_json(self.counts),
            "attributes": {
                name: _bounds_to_json(bounds) for name, bounds in self.attributes.items()
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DefaultBounds:
        durations, counts = data["durations"], data["counts"]
        return cls(
            None if durations is None else _bounds_from_json(durations),
            None if counts is None else _bounds_from_json(counts),
            {name: _bounds_from_json(bounds) for name, bounds in data["attributes"].items()},
        )


NO_DEFAULTS = DefaultBounds()


def _bounds_to_json(bounds: Bounds | None) -> list[str] | None:
    return None if bounds is None else [str(bounds.low), str(bounds.high)]


def _bounds_from_json(pair: list[str]) -> Bounds:
    return Bounds(Fraction(pair[0]), Fraction(pair[1]))


_MONTHLY = Grid(Calendar.MONTH)
_ONE = Epsilon.of(1)
_LIFETIME = 50
# Used to predict errors where the owner has declared no expected number of cases.
_ASSUMED_CASES = 100


class CaseBorder(StrEnum):
    """The first or the last event of a case, as an instant."""

    START = "case start"
    END = "case end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a log is divided and protected, and its budget: what can be declared without the data.

    A case lies in the block of its `anchor`, its first or its last event. `expected_cases` are
    those of a block; `weights` say how they are spread over the values of an attribute.
    """

    timezone: str = "UTC"
    anchor: CaseBorder = CaseBorder.END
    blocks: Grid = _MONTHLY
    unit: PrivacyUnit = CASE
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    block_budget: Epsilon = _ONE
    total_budget: Epsilon | None = None
    expected_cases: int | None = None
    weights: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    bounds: DefaultBounds = NO_DEFAULTS

    def __post_init__(self) -> None:
        self.unit.require_neighbours(self.adjacency)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @property
    def cases(self) -> int:
        """How many cases to expect in a block: as declared, or as assumed."""
        return self.expected_cases or _ASSUMED_CASES


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicLog:
    """All that is public about a log. It covers the days from `first` up to `until`, excluded.

    >>> days = {"first": date(2024, 1, 1), "until": date(2024, 7, 1)}
    >>> log = PublicLog(name="orders", vocabulary=Vocabulary(("Pay",)), **days)
    >>> log.is_empty, str(log.terms.blocks), str(log.terms.unit)
    (False, 'every month', 'case')
    >>> PublicLog.from_json(log.to_json()) == log
    True
    """

    name: str
    first: date
    until: date
    vocabulary: Vocabulary
    terms: Terms = field(default_factory=Terms)

    @property
    def is_empty(self) -> bool:
        """Whether no time is sealed yet, so that nothing can be asked about it."""
        return self.first == self.until

    def days(self, calendar: WorkingCalendar) -> DayTable:
        """A working calendar's days: those of the log, and of 50 years before and after it."""
        first, until = self.first.year - _LIFETIME, self.until.year + _LIFETIME
        return working_days_of(calendar, self.terms.zone, date(first, 1, 1), date(until, 1, 1))

    def without_names(self, activities: Collection[str], attributes: Collection[str]) -> PublicLog:
        """The log without these in its vocabulary, and without their bounds and weights."""
        bounds = self.terms.bounds
        remaining = {name: b for name, b in bounds.attributes.items() if name not in attributes}
        weights = {name: w for name, w in self.terms.weights.items() if name not in attributes}
        return replace(
            self,
            vocabulary=self.vocabulary.without(activities, attributes),
            terms=replace(
                self.terms, bounds=replace(bounds, attributes=remaining), weights=weights
            ),
        )

    def to_json(self) -> dict[str, Any]:
        terms, names = self.terms, self.vocabulary
        weights = {name: dict(by_key) for name, by_key in terms.weights.items()}
        return {
            "name": self.name,
            "timezone": terms.timezone,
            "anchor": str(terms.anchor),
            "blocks": [str(terms.blocks.unit), terms.blocks.count],
            "first": self.first.isoformat(),
            "until": self.until.isoformat(),
            "unit": terms.unit.to_json(),
            "adjacency": str(terms.adjacency),
            "block_budget": terms.block_budget.nano,
            "total_budget": None if terms.total_budget is None else terms.total_budget.nano,
            "expected_cases": terms.expected_cases,
            "activities": list(names.activities),
            "attributes": {name: str(kind) for name, kind in names.attributes.items()},
            "keys": {name: list(keys) for name, keys in names.keys.items()},
            "bounds": terms.bounds.to_json(),
            **({"weights": weights} if weights else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PublicLog:
        """The inverse of `to_json`; other keys are ignored."""
        unit, count = data["blocks"]
        attributes = {name: Kind(kind) for name, kind in data["attributes"].items()}
        keys = {name: tuple(values) for name, values in data["keys"].items()}
        total = data["total_budget"]
        return cls(
            name=data["name"],
            first=date.fromisoformat(data["first"]),
            until=date.fromisoformat(data["until"]),
            vocabulary=Vocabulary(tuple(data["activities"]), attributes, keys),
            terms=Terms(
                timezone=data["timezone"],
                anchor=CaseBorder(data["anchor"]),
                blocks=Grid(Calendar(unit), count),
                unit=PrivacyUnit.from_json(data["unit"]),
                adjacency=Adjacency(data["adjacency"]),
                block_budget=Epsilon(data["block_budget"]),
                total_budget=None if total is None else Epsilon(total),
                expected_cases=data["expected_cases"],
                weights=data.get("weights", {}),
                bounds=DefaultBounds.from_json(data["bounds"]),
            ),
        )
