"""Numbers as people read them, never more precise than the noise they carry.

A value is rounded to the second digit of its uncertainty, as measurements are:
23.4 ± 5.4, and 234 ± 54. More digits would be noise dressed up as knowledge. Fewer would hide
what is known: of an interval that reaches far to one side, the near side decides.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from math import floor, isfinite, log10

from pappi.values.answers import Answer, Interval

MISSING = "–"
# Beyond this we do not draw: sums and differences of such numbers stay finite.
LIMIT = 1e300

_SYMBOLS = {
    "microseconds": "µs",
    "milliseconds": "ms",
    "seconds": "s",
    "minutes": "min",
    "hours": "h",
    "days": "d",
    "weeks": "wk",
    "percent": "%",
    "fraction": "",
}
_MOST_DIGITS = 15
_EXACT_DIGITS = 6
_DECIMALS = 6
_PLAIN_RANGE = (1e-6, 1e15)


# A value this small beside what is unknown of it is as good as zero.
_NEGLIGIBLE = 2e-4
# The mechanism of a largest value of which only a lower end can be known.
_RANKED = "ranked"


def unit_symbol(unit: str) -> str:
    """The short form behind a number; a unit we do not know is its own symbol."""
    return _SYMBOLS.get(unit, unit)


def with_unit(number: str, unit: str) -> str:
    """
    >>> with_unit("23.4", "hours"), with_unit("17", "")
    ('23.4 h', '17')
    """
    return f"{number} {unit_symbol(unit)}".rstrip()


def format_value(value: float | None, interval: Interval, unit: str) -> str:
    """To the digit its interval makes worth showing, but with two of its own unless tiny.

    >>> format_value(23.4178, Interval(18.02, 28.81, 0.95), "hours")
    '23.4 h'
    >>> format_value(23.4178, Interval(0, 2000, 0.95), "hours")
    '23 h'
    """
    known = finite(value)
    if known is None:
        return MISSING
    digit = _last_digit(known, interval)
    if abs(known) > _NEGLIGIBLE * _nearest(known, interval):
        digit = min(digit, _magnitude(known) - 1)
    return with_unit(format_number(known, digit), unit)


def format_interval(value: float | None, interval: Interval, unit: str) -> str:
    """The interval, rounded like its value; an end of a smaller size has digits of its own.

    >>> format_interval(23.4178, Interval(18.02, 28.81, 0.95), "hours")
    '18.0 to 28.8 h'
    >>> format_interval(23.4178, Interval(None, 28.81, 0.95), "hours")
    'up to 28.8 h'
    >>> format_interval(64.37, Interval(24.95, 10_000, 0.95), "hours")
    '25 to 10,000 h'
    """
    low, high = finite(interval.low), finite(interval.high)
    if low is None and high is None:
        return "unlimited"
    if low is None or high is None:
        side, end = ("up to", high) if low is None else ("at least", low)
        return with_unit(f"{side} {_end(end or 0.0, value, interval)}", unit)
    ends = (_end(each, value, interval) for each in (low, high))
    return with_unit(" to ".join(ends), unit)


def _end(end: float, value: float | None, interval: Interval) -> str:
    known = finite(value)
    digit = _last_digit(known, interval)
    lost = _magnitude(end) < digit and abs(end) > _NEGLIGIBLE * _nearest(known, interval)
    return format_number(end, _magnitude(end) - 1 if lost else digit)


def known_interval(answer: Answer) -> Interval:
    """The interval of a release without ends that are only where values can lie at all.

    What a privately chosen ceiling cut off, and how far the largest few go, is not known: on
    that side the interval is open, and its end says nothing about the cases.
    """
    interval, ceiling = answer.interval, answer.ceiling
    if ceiling is not None:
        low, high = interval.low, interval.high
        below = low is not None and low < -ceiling
        above = high is not None and high > ceiling
        return replace(interval, low=None if below else low, high=None if above else high)
    if answer.guarantee.mechanism == _RANKED:
        return replace(interval, high=None)
    return interval


def value_text(answer: Answer) -> str:
    """The value; a smoothed one is marked, and what was released stands beneath it."""
    text = format_value(answer.value, known_interval(answer), answer.unit)
    if answer.smoothed is None:
        return text
    found = answer.smoothed
    return f"≈ {format_value(found.value, found.interval, answer.unit)}\nraw {text}"


def interval_text(answer: Answer) -> str:
    """The interval, and where values were cut off if that was chosen privately."""
    text = format_interval(answer.value, known_interval(answer), answer.unit)
    if answer.smoothed is not None:
        found = answer.smoothed
        return f"≈ {format_interval(found.value, found.interval, answer.unit)}\nraw {text}"
    if answer.ceiling is None:
        return text
    return f"{text}, cut at {with_unit(three_digits(answer.ceiling), answer.unit)}"


def format_cases(answer: Answer) -> str:
    """The number of cases, which may itself be noisy: whole, and never below none."""
    cases = finite(answer.cases)
    return MISSING if cases is None else format_number(max(cases, 0.0), 0)


def format_number(number: float, last_digit: int) -> str:
    """The number rounded at 10**last_digit, with thousands and a true minus.

    >>> format_number(-1234.56, -1), format_number(1234.56, 2), format_number(2.5e300, 299)
    ('−1,234.6', '1,200', '2.5e300')
    """
    digit = max(last_digit, _magnitude(number) - _MOST_DIGITS + 1)
    rounded = Decimal(repr(float(number))).scaleb(-digit).to_integral_value().scaleb(digit)
    if rounded == 0:
        return f"{0:.{-digit}f}" if -_DECIMALS <= digit < 0 else "0"
    if not _PLAIN_RANGE[0] <= abs(rounded) < _PLAIN_RANGE[1]:
        mantissa, exponent = f"{rounded:.{max(_magnitude(number) - digit, 0)}e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    else:
        text = f"{rounded:,.{max(-digit, 0)}f}"
    return text.replace("-", "−")


def three_digits(number: float) -> str:
    """A number of which no more than its size matters.

    >>> three_digits(0.62518), three_digits(37_581.2)
    ('0.625', '37,600')
    """
    return format_number(number, _magnitude(number) - 2)


def finite(number: float | None) -> float | None:
    """The number if it is one: no limit, infinity and not-a-number are all None."""
    return float(number) if number is not None and isfinite(number) else None


def half_width(value: float | None, interval: Interval) -> float | None:
    """How far the interval reaches from the value; None if that has no limit."""
    low, high = finite(interval.low), finite(interval.high)
    if low is not None and high is not None:
        return abs(high / 2 - low / 2)
    end = low if high is None else high
    if end is None or value is None:
        return None
    return min(abs(end / 2 - value / 2), LIMIT / 2) * 2


def _nearest(value: float | None, interval: Interval) -> float:
    """How far the value is from the nearer end: what is unknown on the better known side."""
    ends = (finite(interval.low), finite(interval.high))
    gaps = [abs(end / 2 - value / 2) * 2 for end in ends if end is not None and value is not None]
    return min(gaps, default=half_width(value, interval) or 0.0)


def _last_digit(value: float | None, interval: Interval) -> int:
    half = half_width(value, interval)
    if half:
        return _magnitude(half) - 1
    ends = (finite(interval.low), finite(interval.high))
    first = max((_magnitude(end) for end in (value, *ends) if end is not None), default=0)
    # Without noise every digit counts; with one end alone nobody knows how many do.
    return first - 1 if None in ends else first - _EXACT_DIGITS + 1


def _magnitude(number: float) -> int:
    """The place of the first digit: 2 for 234, −1 for 0.5, and 0 for zero."""
    if number == 0.0 or not isfinite(number):
        return 0
    return floor(log10(abs(number)))
