"""Numbers: readable, and never more precise than their noise."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.report.numbers import (
    error_text,
    exact_text,
    finite,
    format_cases,
    format_interval,
    format_number,
    format_value,
    half_width,
    interval_text,
    known_interval,
    shown_value,
    size_text,
    value_text,
    with_unit,
)
from pappi.report.wording import answer_text
from pappi.values import Answer, Interval, Verdict
from tests.unit.report_samples import an_answer


def interval(low: float | None, high: float | None) -> Interval:
    return Interval(low, high, 0.95)


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        (23.4178, 18.02, 28.81, "23.4 h"),
        (23.4178, 22.88, 23.95, "23.42 h"),
        (234.178, 180.0, 288.0, "234 h"),
        (23.4178, -500.0, 540.0, "23 h"),
        (-1234.5, -1800.0, -700.0, "−1,230 h"),
        (23.4178, 23.4178, 23.4178, "23.4178 h"),
        (23.4178, None, 28.81, "23.4 h"),
        (23.4178, None, None, "23 h"),
        (-0.001, -6.0, 6.0, "−0.0010 h"),
        (1e-15, 0.0, 6.0, "0.0 h"),
        (0.0, 0.0, 0.0, "0.00000 h"),
        (None, 1.0, 2.0, "–"),
        (math.nan, 1.0, 2.0, "–"),
        (math.inf, 1.0, 2.0, "–"),
        (2.5e300, 1e300, 4e300, "2.5e300 h"),
    ],
)
def test_a_value_is_rounded_at_the_second_digit_of_its_uncertainty_or_of_its_own(
    value: float | None, low: float | None, high: float | None, expected: str
) -> None:
    assert format_value(value, interval(low, high), "hours") == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (18.02, 28.81, "18.0 to 28.9 %"),
        (None, 28.81, "at most 28.9 %"),
        (18.02, None, "at least 18.0 %"),
        (18.1 + 1e-15, 28.8 + 1e-15, "18.1 to 28.8 %"),
        (None, None, "–"),
        (-math.inf, math.inf, "–"),
    ],
)
def test_an_interval_says_which_sides_have_a_limit(
    low: float | None, high: float | None, expected: str
) -> None:
    assert format_interval(23.4, interval(low, high), "percent") == expected


def test_units_are_written_short_and_unknown_ones_as_they_are() -> None:
    units = ("hours", "days", "percent", "minutes", "EUR", "", "fraction")
    written = [with_unit("1", unit) for unit in units]
    assert written == ["1 h", "1 d", "1 %", "1 min", "1 EUR", "1", "1"]


@pytest.mark.parametrize(
    ("cases", "margin", "expected"),
    [
        (100.4, 40.0, "≈ 100 ± 40"),
        (104.0, 41.2, "≈ 104 ± 42"),
        (4_812.0, 412.0, "≈ 4,810 ± 420"),
        (0.0, 27.0, "≈ 0 ± 27"),
        (-3.1, 27.0, "≈ 0 ± 27"),
        (3.0, 412.0, "≈ 3 ± 420"),
        (74.2, 0.0, "74"),
        (12_345.6, None, "12,346"),
        (None, None, "–"),
        (math.nan, 3.0, "–"),
    ],
)
def test_noisy_cases_have_their_margin_and_public_ones_need_none(
    cases: float | None, margin: float | None, expected: str
) -> None:
    assert format_cases(replace(an_answer(1, 0, 2, cases=cases), cases_margin=margin)) == expected


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-340, 320))
def test_every_number_is_written_short_and_close(number: float, digit: int) -> None:
    text = format_number(number, digit)
    assert len(text) < 40
    assert "inf" not in text
    assert "nan" not in text
    read = float(text.replace("−", "-").replace(",", ""))
    if math.isfinite(read):  # rounding the largest floats up leaves their range
        place = 10.0**digit if digit <= 308 else math.inf
        assert abs(read - number) <= max(0.51 * place, abs(number) * 1e-13, 1e-6)


@given(
    st.floats(allow_nan=True, allow_infinity=True),
    st.one_of(st.none(), st.floats()),
    st.one_of(st.none(), st.floats()),
)
def test_nothing_infinite_is_ever_written(
    value: float, low: float | None, high: float | None
) -> None:
    bounds = interval(low, high)
    written = format_value(value, bounds, "hours") + format_interval(value, bounds, "hours")
    assert "inf" not in written
    assert "nan" not in written
    half = half_width(value if math.isfinite(value) else None, bounds)
    assert half is None or math.isfinite(half)


# --- intervals that are open on one side ------------------------------------------------


def within(answer: Answer, low: float | None, high: float | None) -> Answer:
    """An answer whose value can lie nowhere else, by public facts."""
    return replace(answer, possible=Interval(low, high, 1.0))


def cut(value: float, low: float, high: float, ceiling: float, verdict: Verdict) -> Answer:
    """An answer whose ceiling was chosen privately: `high` is where values can lie at all."""
    answer = within(an_answer(value, low, high, verdict=verdict), min(low, 0.0), high)
    return replace(answer, ceiling=ceiling)


def test_an_interval_open_upwards_is_told_from_the_side_that_is_known() -> None:
    """Once shown as 0 h, in 0 to 880,000 h, missed: 64 hours in a century."""
    answer = cut(64.37, 54.16, 876_600.0, 1_210.0, Verdict.MISSED)
    assert value_text(answer) == "64 h"
    assert interval_text(answer) == "at least 54 h, cut at 1,210 h"
    assert "64 h (at least 54 h)" in answer_text(answer)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 5_312.0, "at most 5,400 h"),
        (911.0, 20_000.0, "at least 900 h"),
        (911.0, 5_312.0, "900 to 5,400 h"),
        (0.0, 20_000.0, "–"),
        (1e-14, 20_000.0 * (1 - 1e-15), "–"),
        (None, None, "–"),
    ],
)
def test_an_end_that_was_known_beforehand_is_not_told_as_news(
    low: float | None, high: float | None, expected: str
) -> None:
    answer = within(an_answer(3_104.0, low, high), 0.0, 20_000.0)
    assert interval_text(answer) == expected
    assert value_text(answer) == ("–" if expected == "–" else "3,100 h")


def test_where_nothing_is_known_the_middle_of_the_bounds_is_no_value() -> None:
    answer = within(an_answer(24.0, 0.0, 48.0, verdict=Verdict.UNDECIDED), 0.0, 48.0)
    assert shown_value(answer) is None
    assert answer_text(answer) == "2024-03: nothing is known, unclear"
    assert shown_value(replace(answer, interval=interval(0.0, 47.0))) == 24.0
    assert (answer.value, answer.interval.high) == (24.0, 48.0)  # programs are told as ever


def test_with_values_of_either_sign_nothing_is_known_on_either_side() -> None:
    answer = within(an_answer(-64.37, -876_600.0, 876_600.0), -876_600.0, 876_600.0)
    assert value_text(answer) == interval_text(replace(answer, ceiling=1_210.0)) == "–"


def test_of_the_largest_few_only_a_lower_end_is_known() -> None:
    answer = within(an_answer(700.0, 650.0, 100_000.0), 0.0, 100_000.0)
    assert (value_text(answer), interval_text(answer)) == ("700 h", "at least 650 h")


def test_a_value_at_the_known_end_is_not_told_too_exactly() -> None:
    assert value_text(cut(54.1637, 54.1637, 876_600.0, 1_210.0, Verdict.MISSED)) == "54 h"


# --- what is printed is so ----------------------------------------------------------------

_NUMBER = re.compile(r"−?[0-9][0-9,]*(?:\.[0-9]+)?(?:e−?[0-9]+)?")


def numbers_in(text: str) -> list[float]:
    return [float(mark.replace(",", "").replace("−", "-")) for mark in _NUMBER.findall(text)]


def untruths(answer: Answer, value: str, interval: str) -> list[str]:
    """What the printed value and interval claim that is not so."""
    known = known_interval(answer.interval, answer.possible)
    low, high = finite(known.low), finite(known.high)
    printed = numbers_in(interval.partition(", cut")[0])
    if len(printed) != len([end for end in (low, high) if end is not None]):
        return ["an end is missing"]
    ends = iter(printed)
    lower, upper = None if low is None else next(ends), None if high is None else next(ends)
    slack = 1e-11 * max((abs(end) for end in (low, high) if end is not None), default=0.0)
    found = []
    if low is not None and lower is not None:
        found += ["leaves out the lower part"] if lower > low + slack else []
        found += ["reads as zero"] if lower == 0 and abs(low) > slack else []
    if high is not None and upper is not None:
        found += ["leaves out the upper part"] if upper < high - slack else []
        found += ["reads as zero"] if upper == 0 and abs(high) > slack else []
    if not numbers_in(value):
        return found if low is high is None else [*found, "the value is missing"]
    (shown,), real = numbers_in(value), answer.value or 0.0
    found += ["reads as zero"] if shown == 0 and abs(real) > slack else []
    return found + (["another value"] if abs(shown - real) > abs(real) / 10 + slack else [])


def some_answers() -> st.SearchStrategy[Answer]:
    """Closed intervals and open ones, of every size, in ranges of every size."""

    @st.composite
    def drawn(draw: st.DrawFn) -> Answer:
        gap = st.one_of(st.floats(1e-3, 1e6), st.just(0.0))
        value = draw(st.one_of(st.floats(-1e6, 1e6), st.floats(-1e-6, 1e-6)))
        low, high = value - draw(gap), value + draw(gap)
        least, most = low - draw(gap) * 1_000, high + draw(gap) * 1_000
        answer = within(an_answer(value, low, high), least, most)
        return replace(answer, ceiling=most / 2 if draw(st.booleans()) else None)

    return drawn()


@given(some_answers())
def test_nothing_printed_is_untrue_and_only_zero_reads_as_zero(answer: Answer) -> None:
    assert untruths(answer, value_text(answer), interval_text(answer)) == []


@given(st.floats(1e-9, 1e12), st.sampled_from(["hours", "percent", ""]))
def test_no_size_error_or_exact_number_reads_as_zero(number: float, unit: str) -> None:
    for text in (size_text(number, unit), error_text(number, unit), exact_text(-number, unit)):
        assert numbers_in(text)[0] != 0, text


def test_each_way_to_be_untrue_is_caught() -> None:
    """By the width of the whole interval, open or not; inwards; to the nearest digit."""
    answer = cut(64.37, 54.16, 876_600.0, 1_210.0, Verdict.MISSED)
    assert untruths(answer, "64 h", "at least 54 h, cut at 1,210 h") == []
    assert "reads as zero" in untruths(answer, "0 h", "at least 54 h, cut at 1,210 h")
    assert "reads as zero" in untruths(answer, "64 h", "at least 0 h")
    assert untruths(answer, "64 h", "54 to 880,000 h") == ["an end is missing"]
    assert untruths(answer, "64 h", "at least 55 h") == ["leaves out the lower part"]
    assert untruths(answer, "80 h", "at least 54 h") == ["another value"]
    closed = an_answer(23.4178, 18.02, 28.81)
    assert untruths(closed, "23.4 h", "18.0 to 28.8 h") == ["leaves out the upper part"]
    assert untruths(closed, "–", "18.0 to 28.9 h") == ["the value is missing"]
