"""How things are written: names in messages, and quantities with their units.

**Names** are put in quotes, and suggested from public names only. What an analyst wrote is echoed
shortened and escaped, so that a definition can not send control codes to the terminal of whoever
reads its problems.

**Units** say how an internal quantity is shown. Internally a duration is a whole number of
microseconds and a share lies between 0 and 1. A unit says what to divide by on the way out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

# --- names in messages ----------------------------------------------------------------

_ECHOED = 60
_LISTED = 8

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What no text of a definition may hold: control characters, and halves of characters."""


def quoted(written: str) -> str:
    """
    >>> quoted("mesure"), quoted("\\x1b[2J")
    ("'mesure'", "'\\\\x1b[2J'")
    """
    short = written if len(written) <= _ECHOED else written[: _ECHOED - 1] + "…"
    return repr(short)


def listed(names: Iterable[str], last: str = "or") -> str:
    """
    >>> listed(["first", "last"])
    "'first' or 'last'"
    """
    shown = [quoted(name) for name in names]
    if len(shown) > _LISTED:
        return ", ".join(shown[:_LISTED]) + ", …"
    return f" {last} ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def closest(word: str, names: Iterable[str]) -> str | None:
    """The name a mistyped word probably meant; capitals do not count."""
    if len(word) > _ECHOED:
        return None
    by_lower = {name.lower(): name for name in names}
    typed = word.lower()
    alike = [name for name in by_lower if name[:1] == typed[:1]]
    # A first letter is seldom mistyped, so the same one makes up for more differences.
    matches = get_close_matches(typed, by_lower, n=1, cutoff=0.75) or get_close_matches(
        typed, alike, n=1, cutoff=0.65
    )
    return by_lower[matches[0]] if matches else None


def did_you_mean(word: str, names: Iterable[str], otherwise: str = "") -> str:
    """
    >>> did_you_mean("mesure", ["measure", "target"])
    "did you mean 'measure'?"
    """
    name = closest(word, names)
    return otherwise if name is None else f"did you mean {quoted(name)}?"


# --- units and durations --------------------------------------------------------------

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
