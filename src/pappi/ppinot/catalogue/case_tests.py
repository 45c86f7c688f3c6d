"""Which cases a scope counts: conditions on cases, and how they combine.

Whatever is written becomes one measure of a case that is true or false: a measure
as it is, or a formula over several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import reduce

from pappi.ppinot.catalogue.dates import FIRST_DAY, LAST_DAY
from pappi.ppinot.expressions import nodes
from pappi.ppinot.expressions.nodes import Binary, Expression, Name, Operator
from pappi.ppinot.model import (
    ConditionMeasure,
    DataMeasure,
    DerivedSingleInstance,
    EventCondition,
    Pick,
    SingleInstance,
)
from pappi.values.units import DURATIONS

MAX_TESTS = 40
_EPOCH = date(1970, 1, 1)
BORDERS = {
    "started": DataMeasure("timestamp", Pick.FIRST),
    "ended": DataMeasure("timestamp", Pick.LAST),
}


@dataclass(frozen=True, slots=True)
class Holds:
    """A measure of the case is true; `name` is what a formula calls it."""

    name: str
    measure: SingleInstance


@dataclass(frozen=True, slots=True)
class Dated:
    """The case started or ended before a day, or on it or later: the midnight of UTC decides."""

    border: str
    day: date
    before: bool


@dataclass(frozen=True, slots=True)
class Opposite:
    test: CaseTest


@dataclass(frozen=True, slots=True)
class Joined:
    """All of the tests (AND) or one of them at least (OR)."""

    operator: Operator
    tests: tuple[CaseTest, ...]


CaseTest = Holds | Dated | Opposite | Joined


def finished(condition: EventCondition) -> Holds:
    return Holds("finished", ConditionMeasure(condition))


def size(test: CaseTest) -> int:
    """How many conditions a test is made of."""
    match test:
        case Opposite():
            return size(test.test)
        case Joined():
            return sum(map(size, test.tests))
        case _:
            return 1


def measure_of(test: CaseTest) -> SingleInstance:
    """The one measure that is true where the test is."""
    if isinstance(test, Holds):
        return test.measure
    writer = _Writer()
    formula = writer.formula(test)
    return DerivedSingleInstance(formula, tuple(writer.variables.items()))


@dataclass(slots=True)
class _Writer:
    """A formula in the making, and the variables it uses so far."""

    variables: dict[str, SingleInstance] = field(default_factory=dict)

    def formula(self, test: CaseTest) -> Expression:
        match test:
            case Holds():
                return self._variable(test.name, test.measure)
            case Dated():
                operator = Operator.LESS if test.before else Operator.AT_LEAST
                border = self._variable(test.border, BORDERS[test.border])
                return Binary(operator, border, midnight(test.day))
            case Opposite():
                return nodes.Not(self.formula(test.test))
            case Joined():
                parts = map(self.formula, test.tests)
                return reduce(lambda left, right: Binary(test.operator, left, right), parts)

    def _variable(self, name: str, measure: SingleInstance) -> Name:
        """Equal measures are one variable; others of the same name are numbered."""
        free = next(
            each for each in _numbered(name) if self.variables.get(each, measure) == measure
        )
        self.variables[free] = measure
        return Name(free)


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}{number}" for number in range(2, MAX_TESTS + 2))


def midnight(day: date) -> nodes.Instant:
    return nodes.Instant((day - _EPOCH).days * DURATIONS["days"])


def day_at(ts_us: int) -> date | None:
    """The day whose midnight an instant is, if it is one of a scope's years."""
    days, rest = divmod(ts_us, DURATIONS["days"])
    first, last = (FIRST_DAY - _EPOCH).days, (LAST_DAY - _EPOCH).days
    return None if rest or not first <= days <= last else _EPOCH + timedelta(days=days)
