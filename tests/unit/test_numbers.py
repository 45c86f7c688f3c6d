"""Numbers: readable, and never more precise than their noise."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.report.numbers import (
    finite,
    format_cases,
    format_interval,
    format_number,
    format_value,
    half_width,
    interval_text,
    known_interval,
    unit_symbol,
    value_text,
)
from pappi.report.wording import answer_text
from pappi.values.answers import Answer, Interval, Verdict
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
        (-0.001, -6.0, 6.0, "0.0 h"),
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
        (18.02, 28.81, "18.0 to 28.8 %"),
        (None, 28.81, "up to 28.8 %"),
        (18.02, None, "at least 18.0 %"),
        (None, None, "unlimited"),
        (-math.inf, math.inf, "unlimited"),
    ],
)
def test_an_interval_says_which_sides_have_a_limit(
    low: float | None, high: float | None, expected: str
) -> None:
    assert format_interval(23.4, interval(low, high), "percent") == expected


def test_units_are_written_short_and_unknown_ones_as_they_are() -> None:
    assert [unit_symbol(unit) for unit in ("hours", "days", "percent", "minutes")] == [
        "h", "d", "%", "min",
    ]  # fmt: skip
    assert (unit_symbol("EUR"), unit_symbol(""), unit_symbol("fraction")) == ("EUR", "", "")


def test_cases_are_whole_and_never_negative() -> None:
    assert format_cases(an_answer(1, 0, 2, cases=74.2)) == "74"
    assert format_cases(an_answer(1, 0, 2, cases=-3.1)) == "0"
    assert format_cases(an_answer(1, 0, 2, cases=None)) == "–"
    assert format_cases(an_answer(1, 0, 2, cases=12_345.6)) == "12,346"


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


def cut(value: float, low: float, high: float, ceiling: float, verdict: Verdict) -> Answer:
    """An answer whose ceiling was chosen privately: `high` is where values can lie at all."""
    return replace(an_answer(value, low, high, verdict=verdict), ceiling=ceiling)


def test_an_interval_open_upwards_is_told_from_the_side_that_is_known() -> None:
    """Once shown as 0 h, in 0 to 880,000 h, missed: 64 hours in a century."""
    answer = cut(64.37, 54.16, 876_600.0, 1_210.0, Verdict.MISSED)
    assert value_text(answer) == "64 h"
    assert interval_text(answer) == "at least 54 h, cut at 1,210 h"
    assert "64 h (at least 54 h)" in answer_text(answer)


def test_with_values_of_either_sign_nothing_is_known_on_either_side() -> None:
    answer = cut(-64.37, -876_600.0, 876_600.0, 1_210.0, Verdict.UNDECIDED)
    assert value_text(answer) == "−64 h"
    assert interval_text(answer) == "unlimited, cut at 1,210 h"


def test_of_the_largest_few_only_a_lower_end_is_known() -> None:
    answer = an_answer(700.0, 650.0, 100_000.0)
    ranked = replace(answer, guarantee=replace(answer.guarantee, mechanism="ranked"))
    assert (value_text(ranked), interval_text(ranked)) == ("700 h", "at least 650 h")


def test_a_value_at_the_known_end_is_not_told_too_exactly() -> None:
    assert value_text(cut(54.1637, 54.1637, 876_600.0, 1_210.0, Verdict.MISSED)) == "54 h"


def numbers_in(text: str) -> list[tuple[float, float]]:
    """Each number of a text, with half of what its last digit stands for."""
    found = []
    for mark in re.findall(r"−?[0-9][0-9,]*(?:\.[0-9]+)?(?:e−?[0-9]+)?", text):
        plain = mark.replace(",", "").replace("−", "-")
        mantissa, _, exponent = plain.partition("e")
        whole, _, decimals = mantissa.partition(".")
        zeros = len(whole) - len(whole.rstrip("0")) if not decimals and whole.strip("-0") else 0
        digit = zeros - len(decimals) + int(exponent or 0)
        found.append((float(plain), 0.5 * 10.0**digit))
    return found


def verdict_of(low: float, high: float, limit: float) -> Verdict:
    if high <= limit:
        return Verdict.MET
    return Verdict.MISSED if low > limit else Verdict.UNDECIDED


def contradictions(answer: Answer, limit: float, value: str, interval: str) -> list[str]:
    """What is printed that is not so, beyond the rounding of what is printed."""
    known = known_interval(answer)
    ends = [end for end in map(finite, (known.low, known.high)) if end is not None]
    wanted = [float(answer.value or 0.0), *ends]
    # Where values were cut off is told behind a comma.
    printed = [*numbers_in(value), *numbers_in(interval.partition(", cut")[0])]
    if len(printed) != len(wanted):
        return ["a number is missing"]
    found = [
        f"{shown} for {real}"
        for real, (shown, slack) in zip(wanted, printed, strict=True)
        if abs(shown - real) > min(slack, abs(real) / 2) * 1.001 + _nothing(wanted)
    ]
    if "at least" in interval and answer.verdict is Verdict.MISSED:
        low, slack = printed[1]
        found += [] if low + slack >= limit else ["missed, and it could be met"]
    return found


def _nothing(wanted: list[float]) -> float:
    """What is as good as zero beside what is unknown, on the better known side."""
    value, *ends = wanted
    return 2.1e-4 * min(abs(value - end) for end in ends)


def printed_answers() -> st.SearchStrategy[tuple[Answer, float]]:
    size = st.floats(0.01, 1e6)

    @st.composite
    def drawn(draw: st.DrawFn) -> tuple[Answer, float]:
        low, below, limit = draw(size), draw(st.floats(1e-3, 1e4)), draw(size)
        value = low + below
        ceiling = value * draw(st.floats(1.5, 50))
        high = ceiling * draw(st.sampled_from([1.01, 8, 1_000, 1e6]))
        answer = cut(value, low, high, ceiling, verdict_of(low, high, limit))
        return answer, limit

    return drawn()


@given(printed_answers())
def test_what_is_printed_never_contradicts_what_was_released(drawn: tuple[Answer, float]) -> None:
    answer, limit = drawn
    assert contradictions(answer, limit, value_text(answer), interval_text(answer)) == []


def test_the_old_way_of_rounding_is_caught() -> None:
    """By the width of the whole interval, open or not."""
    answer = cut(64.37, 54.16, 876_600.0, 1_210.0, Verdict.MISSED)
    assert contradictions(answer, 24.0, "0 h", "at least 0 h, cut at 1,210 h")
    assert contradictions(answer, 24.0, "0 h", "0 to 880,000 h, cut at 1,210 h")


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(1e-3, 1e6))
def test_no_end_is_printed_as_another_number(value: float, below: float, above: float) -> None:
    answer = an_answer(value, value - below, value + above)
    found = contradictions(answer, 0.0, value_text(answer), interval_text(answer))
    assert found == []
