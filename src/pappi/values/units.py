"""Units: how an internal quantity is shown, and durations as people write them.

Internally a duration is a whole number of microseconds and a share lies between
0 and 1. A unit says what to divide by on the way out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

SECOND = 1_000_000

DURATIONS: dict[str, int] = {
    "microseconds": 1,
    "milliseconds": 1_000,
    "seconds": SECOND,
    "minutes": 60 * SECOND,
    "hours": 3_600 * SECOND,
    "days": 86_400 * SECOND,
    "weeks": 7 * 86_400 * SECOND,
}

_ABBREVIATIONS = {
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "sec": "seconds",
    "min": "minutes",
    "h": "hours",
    "hr": "hours",
    "d": "days",
    "w": "weeks",
}

_DURATION = re.compile(r"\s*([+-]?\d{1,15}(?:\.\d{1,15})?)\s*([A-Za-z]+)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Unit:
    """A name to show, and how many internal units make one of it."""

    name: str
    factor: Fraction

    def show(self, internal: Fraction | float) -> float:
        return float(internal) / float(self.factor)

    def read(self, quantity: Fraction) -> Fraction:
        return quantity * self.factor


NUMBER = Unit("", Fraction(1))
PERCENT = Unit("percent", Fraction(1, 100))
PERCENTAGE_POINTS = Unit("percentage points", Fraction(1, 100))
"""Of the difference of two values in percent."""

FRACTION = Unit("fraction", Fraction(1))
HOURS = Unit("hours", Fraction(DURATIONS["hours"]))


def duration_unit(name: str) -> Unit | None:
    """The unit of that name, in singular, plural or short form.

    >>> duration_unit("day").name, duration_unit("h").name, duration_unit("parsec")
    ('days', 'hours', None)
    """
    word = name.lower()
    for candidate in (word, word + "s", _ABBREVIATIONS.get(word, "")):
        if candidate in DURATIONS:
            return Unit(candidate, Fraction(DURATIONS[candidate]))
    return None


def parse_duration(text: str) -> Fraction | None:
    """Microseconds of a written duration, or None if it is not one.

    >>> parse_duration("90 days") == 90 * 86_400 * SECOND
    True
    """
    match = _DURATION.fullmatch(text)
    unit = duration_unit(match.group(2)) if match else None
    if match is None or unit is None:
        return None
    return unit.read(Fraction(match.group(1)))
