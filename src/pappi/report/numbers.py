"""Numbers as people read them, never more precise than the noise they carry; text made harmless.

A value is rounded to the second digit of its uncertainty, as measurements are:
23.4 ± 5.4, and 234 ± 54. More digits would be noise dressed up as knowledge. Fewer would hide
what is known: if an interval is open on one side, the closed side decides, and no number
except zero reads as zero. In text from outside, control characters and marks that turn reading
direction round are replaced.
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from math import ceil, floor, isfinite, log10

from pappi.values import Answer, Bin, By, Distribution, Interval, Series

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
# What floats are sure of; the rest is the error of their last bits.
_SURE_DIGITS = 12
_DUST = 1e-12


def with_unit(number: str, unit: str) -> str:
    """A number with the symbol of its unit; an unknown unit is its own symbol.

    >>> with_unit("23.4", "hours"), with_unit("17", ""), with_unit("17", "EUR")
    ('23.4 h', '17', '17 EUR')
    """
    return f"{number} {_SYMBOLS.get(unit, unit)}".rstrip()


def format_value(value: float | None, interval: Interval, unit: str) -> str:
    """The value to the last digit that its interval makes worth showing.

    Between two ends it has two digits at least. With only one the closed side decides.

    >>> format_value(23.4178, Interval(18.02, 28.81, 0.95), "hours")
    '23.4 h'
    >>> format_value(23.4178, Interval(0, 2000, 0.95), "hours")
    '23 h'
    >>> format_value(0.08, Interval(None, 4.7, 0.95), "hours")
    '0.1 h'
    """
    number = finite(value)
    if number is None:
        return MISSING
    return with_unit(format_number(number, _digit_of_value(number, interval)), unit)


def _digit_of_value(number: float, interval: Interval) -> int:
    digit, first = _last_digit(number, interval), _magnitude(number)
    if _is_dust(number, interval):
        return digit
    if finite(interval.low) is not None and finite(interval.high) is not None:
        return min(digit, first - 1)
    reads_as_zero = 2 * abs(number) <= 10.0**digit
    return min(digit, first) if reads_as_zero else digit


def format_interval(value: float | None, interval: Interval, unit: str) -> str:
    """The interval to the last digit of its value; a much smaller end gets more digits.

    Ends are rounded outwards: what is printed contains the interval.

    >>> format_interval(23.4178, Interval(18.02, 28.81, 0.95), "hours")
    '18.0 to 28.9 h'
    >>> format_interval(23.4178, Interval(None, 28.81, 0.95), "hours")
    'at most 28.9 h'
    >>> format_interval(64.37, Interval(24.95, 10_000, 0.95), "hours")
    '24 to 10,000 h'
    """
    low, high = finite(interval.low), finite(interval.high)
    lower = "" if low is None else _end(low, value, interval, ROUND_FLOOR)
    upper = "" if high is None else _end(high, value, interval, ROUND_CEILING)
    if lower and upper:
        return with_unit(f"{lower} to {upper}", unit)
    if not lower and not upper:
        return MISSING
    return with_unit(f"at least {lower}" if lower else f"at most {upper}", unit)


def _end(end: float, value: float | None, interval: Interval, outwards: str) -> str:
    number = finite(value)
    digit, first = _last_digit(number, interval), _magnitude(end)
    if first < digit and not _is_dust(end, interval):
        digit = first - 1
    # So that the error of a float's last bits does not move the end by a whole digit.
    return format_number(float(f"{end:.{_SURE_DIGITS}g}"), digit, outwards)


def _is_dust(number: float, interval: Interval) -> bool:
    """Whether a number is only the rounding error of floats of the interval's size."""
    ends = [abs(end) for end in map(finite, (interval.low, interval.high)) if end is not None]
    return abs(number) <= _DUST * max(ends, default=0.0)


def known_interval(interval: Interval, possible: Interval | None) -> Interval:
    """The interval without ends that are those of the possible range.

    On such a side it says nothing new, and is shown as open: as above a private clipping bound,
    or wherever noise hides everything.

    >>> known_interval(Interval(0.0, 5_300.0, 0.95), Interval(0.0, 20_000.0, 1.0))
    Interval(low=None, high=5300.0, confidence=0.95)
    """
    if possible is None:
        return interval
    least, most = finite(possible.low), finite(possible.high)
    limits = [end for end in (least, most) if end is not None]
    slack = _DUST * max(map(abs, limits), default=0.0)
    low, high = finite(interval.low), finite(interval.high)
    if low is not None and least is not None and low <= least + slack:
        low = None
    if high is not None and most is not None and high >= most - slack:
        high = None
    return replace(interval, low=low, high=high)


def shown_value(answer: Answer) -> float | None:
    """The value to show; None where nothing is known about it, whatever number the noise gave."""
    known = known_interval(answer.best.interval, answer.possible)
    return finite(answer.best.value) if _says_something(known) else None


def _says_something(known: Interval) -> bool:
    return finite(known.low) is not None or finite(known.high) is not None


def released_texts(answer: Answer) -> tuple[str, str]:
    """Value and interval as they were released."""
    return _texts(answer, answer.value, answer.interval)


def best_texts(answer: Answer) -> tuple[str, str]:
    """Value and interval: the smoothed ones, where there are any."""
    return _texts(answer, answer.best.value, answer.best.interval)


def _texts(answer: Answer, value: float | None, interval: Interval) -> tuple[str, str]:
    """Both are missing if the interval is the whole possible range: nothing is known."""
    known = known_interval(interval, answer.possible)
    if not _says_something(known):
        return MISSING, MISSING
    # A change for the more says so; a ratio is no change.
    is_change = answer.comparison is not None and answer.comparison.by is not By.RATIO
    sign = "+" if is_change and value is not None and value > 0 else ""
    return (
        f"{sign}{format_value(value, known, answer.unit)}",
        format_interval(value, known, answer.unit),
    )


def value_text(answer: Answer) -> str:
    """The value; a smoothed one is marked, with the released value beneath it."""
    best, released = best_texts(answer)[0], released_texts(answer)[0]
    return released if answer.smoothed is None else f"≈ {best}\nraw {released}"


def interval_text(answer: Answer) -> str:
    """The interval, and where values were cut off if that was chosen privately."""
    best, released = best_texts(answer)[1], released_texts(answer)[1]
    if answer.smoothed is not None:
        return f"≈ {best}\nraw {released}"
    if answer.ceiling is None or released == MISSING:
        return released
    return f"{released}, cut at {size_text(answer.ceiling, answer.unit)}"


def margin_text(answer: Answer) -> str:
    """Half the width of the interval, without a unit; its end, if it has only one."""
    known = known_interval(answer.best.interval, answer.possible)
    low, high = finite(known.low), finite(known.high)
    if low is not None and high is not None:
        half = (high - low) / 2
        return f"± {format_number(half, _magnitude(half) - 1, ROUND_CEILING)}"
    at = format_interval(answer.best.value, known, "")
    return at.replace("at most", "≤").replace("at least", "≥")


def format_cases(answer: Answer) -> str:
    """The number of cases, whole and never below 0, with its margin if it is noisy."""
    released, margin = finite(answer.cases), finite(answer.cases_margin)
    if released is None:
        return MISSING
    cases = float(round(max(released, 0.0)))
    if not margin:
        return format_number(cases, 0)
    digit = max(_magnitude(margin) - 1, 0)
    number = format_number(cases, min(digit, _magnitude(cases)))
    return f"≈ {number} ± {format_number(margin, digit, ROUND_CEILING)}"


# --- distributions --------------------------------------------------------------------

_BESIDE_MEDIAN = (10, 90)
_MOST_LIMITS = 6
"""Columns of a table; the others are in the CSV and in JSON."""


def is_distribution(series: Series) -> bool:
    return any(answer.distribution is not None for answer in series.answers)


def spread_headers(series: Series) -> list[str]:
    """Beside the median: the shares within limits that were named, or other percentiles."""
    distributions = (a.distribution for a in series.answers if a.distribution is not None)
    distribution = next(distributions, None)
    if distribution is None:
        return []
    bins = _named(distribution)
    if bins:
        return [f"≤ {with_unit(f'{bin_.high:g}', series.unit)}" for bin_ in bins]
    return [f"{percent} %" for percent in _BESIDE_MEDIAN]


def spread_cells(answer: Answer) -> list[str]:
    distribution = answer.distribution
    if distribution is None:
        return []
    bins = _named(distribution)
    if bins:
        return [_share_text(bin_) for bin_ in bins]
    percentiles = (distribution.percentile(percent) for percent in _BESIDE_MEDIAN)
    return [format_value(p.value, p.interval, answer.unit) for p in percentiles if p]


def _named(distribution: Distribution) -> list[Bin]:
    bins = [bin_ for bin_ in distribution.bins[:-1] if bin_.share_interval is not None]
    return bins[:_MOST_LIMITS]


def _share_text(within: Bin) -> str:
    ends = within.share_interval
    if ends is None or ends.low is None or ends.high is None:
        return f"{100 * within.share_within:.0f} %"
    return f"{floor(100 * ends.low)} to {ceil(100 * ends.high)} %"


# --- numbers --------------------------------------------------------------------------


def format_number(number: float, last_digit: int, rounding: str = ROUND_HALF_EVEN) -> str:
    """The number rounded at 10**last_digit, with thousands and a true minus.

    >>> format_number(-1234.56, -1), format_number(1234.56, 2), format_number(2.5e300, 299)
    ('−1,234.6', '1,200', '2.5e300')
    """
    digit = max(last_digit, _magnitude(number) - _MOST_DIGITS + 1)
    exact = Decimal(repr(float(number))).scaleb(-digit)
    rounded = exact.to_integral_value(rounding).scaleb(digit)
    if rounded == 0:
        return f"{0:.{-digit}f}" if -_DECIMALS <= digit < 0 else "0"
    if not _PLAIN_RANGE[0] <= abs(rounded) < _PLAIN_RANGE[1]:
        mantissa, exponent = f"{rounded:.{max(_magnitude(number) - digit, 0)}e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    else:
        text = f"{rounded:,.{max(-digit, 0)}f}"
    return text.replace("-", "−")


def count_text(number: int, thing: str) -> str:
    """
    >>> count_text(1, "case"), count_text(1_050, "case")
    ('1 case', '1,050 cases')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def to_the_minute(at: str) -> str:
    """A time of the journal, which is UTC, for people.

    >>> to_the_minute("2026-11-15T20:09:10.775214+00:00")
    '2026-11-15 20:09'
    """
    return at[:16].replace("T", " ")


def three_digits(number: float) -> str:
    """A number of which only the size matters.

    >>> three_digits(0.62518), three_digits(37_581.2)
    ('0.625', '37,600')
    """
    return format_number(number, _magnitude(number) - 2)


def size_text(number: float, unit: str) -> str:
    """
    >>> size_text(37_581.2, "hours")
    '37,600 h'
    """
    return with_unit(three_digits(number), unit)


def exact_text(value: float | None, unit: str) -> str:
    """A number without noise.

    >>> exact_text(290.213456, "hours"), exact_text(None, "hours")
    ('290.213 h', '–')
    """
    number = finite(value)
    if number is None:
        return MISSING
    return with_unit(f"{number:,.{_EXACT_DIGITS}g}".replace("-", "−"), unit)


def error_text(error: float | None, unit: str) -> str:
    return MISSING if error is None else f"± {size_text(error, unit)}"


def finite(number: float | None) -> float | None:
    """The number if it is finite; None for no limit, infinity and NaN."""
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


def _last_digit(value: float | None, interval: Interval) -> int:
    half = half_width(value, interval)
    if half:
        return _magnitude(half) - 1
    ends = (finite(interval.low), finite(interval.high))
    first = max((_magnitude(end) for end in (value, *ends) if end is not None), default=0)
    # Without noise every digit counts; with only one end, nobody knows how many do.
    return first - 1 if None in ends else first - _EXACT_DIGITS + 1


def _magnitude(number: float) -> int:
    """The place of the first digit: 2 for 234, −1 for 0.5, and 0 for zero."""
    if number == 0.0 or not isfinite(number):
        return 0
    return floor(log10(abs(number)))


# --- text from outside ----------------------------------------------------------------

_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls; tab and line feed are kept
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks, overrides, isolates
    "\ud800-\udfff\ufffe\uffff]"  # not characters
)


def printable(text: str) -> str:
    r"""The text with every harmful character replaced by a visible one.

    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return _HARMFUL.sub("\ufffd", text)


def shortened(text: str, letters: float) -> str:
    """
    >>> shortened("Mean waiting time", 6)
    'Mean…'
    """
    most = max(int(letters), 1)
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
