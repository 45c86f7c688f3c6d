"""Numbers: readable, and never more precise than their noise."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.report.numbers import (
    format_cases,
    format_interval,
    format_number,
    format_value,
    half_width,
    unit_symbol,
)
from pappi.values.answers import Interval
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
