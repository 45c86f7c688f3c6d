"""The period axis of a chart: even steps, and as many labels as fit.

Years stand once beneath the first label they hold for, so that "2024-03" needs
no more room than "Mar".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from pappi.values.answers import Answer
from pappi.values.periods import Period

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# Every so many labels, so that thinned months fall on quarters, halves and years.
_EVERY = (1, 2, 3, 4, 6, 12, 24, 26, 52)
_LETTER = 6.2
_GAP = 10.0


@dataclass(frozen=True, slots=True)
class Mark:
    """A label beneath the axis, on two lines."""

    x: float
    upper: str
    lower: str


@dataclass(frozen=True, slots=True)
class PeriodAxis:
    """Distinct periods in order, each in a slot of the same width."""

    periods: tuple[Period, ...]
    left: float
    right: float

    @classmethod
    def of(cls, answers: Iterable[Answer], left: float, right: float) -> PeriodAxis:
        return cls(tuple(sorted({answer.period for answer in answers})), left, right)

    @property
    def slot(self) -> float:
        return (self.right - self.left) / max(len(self.periods), 1)

    def at(self, period: Period) -> float:
        return self.left + (self.periods.index(period) + 0.5) * self.slot

    def marks(self) -> list[Mark]:
        names = [_two_lines(period) for period in self.periods]
        every = _thinned(names, self.slot)
        marks: list[Mark] = []
        year = ""
        for index in range(0, len(names), every):
            upper, lower = names[index]
            x = self.left + (index + 0.5) * self.slot
            marks.append(Mark(x, upper, "" if lower == year else lower))
            year = lower
        return marks


def _two_lines(period: Period) -> tuple[str, str]:
    """What changes from label to label, and what seldom does."""
    label = period.label
    if " to " in label:
        first, last = label.split(" to ")
        return first, f"to {last}"
    year, _, rest = label.partition("-")
    if not rest:
        return year, ""
    if rest[:1].isdigit():
        month, _, day = rest.partition("-")
        name = _MONTHS[int(month) - 1]
        return (f"{int(day)} {name}" if day else name), year
    return rest, year


def _thinned(names: Sequence[tuple[str, str]], slot: float) -> int:
    """The smallest step at which neighbouring labels do not touch."""
    widest = max((len(line) for name in names for line in name), default=0)
    needed = (widest * _LETTER + _GAP) / max(slot, 1e-9)
    return next((every for every in _EVERY if every >= needed), max(ceil(needed), 1))
