"""Quantities back into text: exact, and in the unit in which they are shortest."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from pappi.ppinot.wording import quoted
from pappi.values.units import DURATIONS

# Days are the largest: more people think in 28 days than in 4 weeks.
_UNITS = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds")
# What a reader takes: digits before and after the point, and the size of an exponent.
_PLACES, _EXPONENT = 30, 99
_LONG, _BITS = 15, 2_000
_SLACK = 2
"""How many characters more the preferred unit may take."""


class Unwritable(ValueError):
    """The notation has no words for something of the model."""


def decimal_text(value: Fraction) -> str:
    """The decimal form of a number, with an exponent only if it is very large or very small.

    >>> decimal_text(Fraction(-3, 2)), decimal_text(Fraction(70)), decimal_text(Fraction(10**20))
    ('-1.5', '70', '1e20')
    """
    digits, exponent = _digits(abs(value))
    sign = "-" if value < 0 else ""
    plain = _pointed(digits, exponent)
    if plain is not None and len(plain) <= _LONG:
        return sign + plain
    # As little before and after the point as the size of an exponent allows.
    least, most = len(digits) + exponent - _PLACES, exponent + _PLACES
    power = min(max(exponent, least, -_EXPONENT), most, _EXPONENT)
    scaled = _pointed(digits, exponent - power)
    if scaled is None:
        raise Unwritable(f"{quoted(str(value))} has too many digits")
    return (
        f"{sign}{scaled}e{power}" if plain is None or len(scaled) + 4 < len(plain) else sign + plain
    )


def _digits(value: Fraction) -> tuple[str, int]:
    """The digits of a number that is not negative, and the power of ten they are multiplied by."""
    if max(value.numerator, value.denominator).bit_length() > _BITS:
        raise Unwritable("a number has too many digits")
    rest, places = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    if rest != 1:
        raise Unwritable(f"{quoted(str(value))} is no decimal number")
    written = str(int(value * 10**places))
    digits = written.rstrip("0") or "0"
    return digits, len(written) - len(digits) - places


def _pointed(digits: str, exponent: int) -> str | None:
    """Digits with their point, if a reader takes as many."""
    if exponent >= 0:
        whole, rest = digits + "0" * exponent, ""
    else:
        padded = digits.zfill(1 - exponent)
        whole, rest = padded[:exponent], padded[exponent:]
    if len(whole) > _PLACES or len(rest) > _PLACES:
        return None
    return f"{whole}.{rest}" if rest else whole


def duration_texts(values: Sequence[Fraction], preferred: str) -> list[str]:
    """Durations, all in the unit that makes them short; the preferred one if it is about as good.

    >>> duration_texts([Fraction(0), Fraction(36 * 3_600_000_000)], "weeks")
    ['0 hours', '36 hours']
    """
    written = [(unit, numbers) for unit in _UNITS if (numbers := _in_unit(values, unit))]
    if not written:
        written = [("weeks", [decimal_text(value / DURATIONS["weeks"]) for value in values])]
    unit, numbers = min(written, key=lambda each: _length(each[1]))
    own = _in_unit(values, preferred)
    if own is not None and _length(own) <= _length(numbers) + _SLACK:
        unit, numbers = preferred, own
    return [f"{number} {_word(number, unit)}" for number in numbers]


def _length(numbers: Sequence[str]) -> int:
    return sum(map(len, numbers))


def _in_unit(values: Sequence[Fraction], unit: str) -> list[str] | None:
    try:
        return [decimal_text(value / DURATIONS[unit]) for value in values]
    except Unwritable:
        return None


def _word(number: str, unit: str) -> str:
    return unit.removesuffix("s") if number in ("1", "-1") else unit
