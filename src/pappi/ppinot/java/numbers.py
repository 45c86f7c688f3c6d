"""Numbers and durations in JSON, exactly.

A JSON number is read as the decimal that was typed, not as the nearest float. A fraction
without a finite decimal form is a text, "1/3"; a duration is a text with its unit, "60 days".
"""

from __future__ import annotations

import re
from fractions import Fraction

from pappi.ppinot.java.fields import Fields
from pappi.ppinot.wording import quoted
from pappi.values.bounds import Bounds
from pappi.values.units import DURATIONS, duration_unit

# A few hundred digits are more than any quantity has, and few enough to compute with at once.
# What is written out from an exponent still fits into them.
_DECIMAL = re.compile(
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{1,400})?|[0-9]{1,100}(?:\.[0-9]{1,100})?[eE][+-]?[0-9]{1,2})"
)
_RATIO = re.compile(r"[+-]?[0-9]{1,800}/[0-9]{1,800}")
_WITH_UNIT = re.compile(r"(\S{1,1700}) ([a-z]{1,20})")

# Beyond these a float could not say what is meant.
_HUGE = Fraction(10**150)
_TINY = 1 / _HUGE

_UNITS = sorted(DURATIONS, key=DURATIONS.__getitem__, reverse=True)
_UNITS.remove("weeks")  # More people think in 28 days than in 4 weeks.


def exact(text: str) -> Fraction | None:
    """
    >>> exact("2.50"), exact("1e3"), exact("1/3"), exact("many")
    (Fraction(5, 2), Fraction(1000, 1), Fraction(1, 3), None)
    """
    is_ratio = _RATIO.fullmatch(text) and text.rpartition("/")[2].strip("0")
    if not is_ratio and not _DECIMAL.fullmatch(text):
        return None
    value = Fraction(text)
    return value if not value or _TINY <= abs(value) <= _HUGE else None


def exact_duration(text: str) -> Fraction | None:
    """Microseconds.

    >>> exact_duration("1.5 hours")
    Fraction(5400000000, 1)
    """
    match = _WITH_UNIT.fullmatch(text)
    number, unit = (exact(match[1]), duration_unit(match[2])) if match else (None, None)
    return None if number is None or unit is None else unit.read(number)


def as_number(value: Fraction) -> int | float | None:
    """The JSON number that is exactly the value, if there is one."""
    if value.denominator == 1:
        return value.numerator
    number = nearest(value)
    return number if number is not None and Fraction(repr(number)) == value else None


def nearest(value: Fraction) -> float | None:
    """The JSON number next to the value; none if it is larger than all."""
    try:
        return float(value)
    except OverflowError:
        return None


def as_json(value: Fraction) -> int | float | str:
    number = as_number(value)
    return str(value) if number is None else number


def duration_text(microseconds: Fraction) -> str:
    """
    >>> duration_text(Fraction(90 * 60_000_000)), duration_text(Fraction(1, 3))
    ('90 minutes', '1/3 microseconds')
    """
    whole = (unit for unit in _UNITS if (microseconds / DURATIONS[unit]).denominator == 1)
    unit = next(whole, "microseconds") if microseconds else "seconds"
    return f"{as_json(microseconds / DURATIONS[unit])} {unit}"


def read_range(fields: Fields, scale: Fraction) -> Bounds | None:
    """Two limits, `low` and `high`: durations, or numbers of which each is so much."""
    for key in ("low", "high"):
        fields.require(key, "a range")
    low, high = (read_quantity(fields, key, scale) for key in ("low", "high"))
    if low is None or high is None:
        return None
    if low < high:
        return Bounds(low, high)
    fields.refuse("high", "the lower bound must be below the upper one")
    return None


def read_quantity(fields: Fields, key: str, scale: Fraction) -> Fraction | None:
    node = fields.scalar(key, "a number")
    if node is None:
        return None
    number, duration = exact(node.text), exact_duration(node.text)
    if number is None and duration is None:
        fields.refuse(key, f"expected a number or a duration, found {quoted(node.text)}")
    return number * scale if number is not None else duration
