"""Periods are cut where people cut them, daylight saving included."""

from __future__ import annotations

from datetime import date
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.values import Calendar, Grid, Period, day_of, midnight_us

HOUR = 3_600_000_000
AMSTERDAM = ZoneInfo("Europe/Amsterdam")


def test_the_month_of_the_change_to_summer_time_is_an_hour_shorter() -> None:
    start, end = Period(date(2014, 3, 1), date(2014, 4, 1)).borders_us(AMSTERDAM)
    assert end - start == (31 * 24 - 1) * HOUR


def test_the_month_of_the_change_to_winter_time_is_an_hour_longer() -> None:
    start, end = Period(date(2014, 10, 1), date(2014, 11, 1)).borders_us(AMSTERDAM)
    assert end - start == (31 * 24 + 1) * HOUR


@pytest.mark.parametrize(
    ("grid", "label"),
    [
        (Grid(Calendar.DAY), "2014-12-29"),
        (Grid(Calendar.WEEK), "2015-W01"),
        (Grid(Calendar.MONTH), "2014-12"),
        (Grid(Calendar.QUARTER), "2014-Q4"),
        (Grid(Calendar.YEAR), "2014"),
        (Grid(Calendar.MONTH, 2), "2014-11-01 to 2014-12-31"),
    ],
)
def test_a_period_is_called_what_people_call_it(grid: Grid, label: str) -> None:
    (period,) = grid.periods(date(2014, 12, 29), date(2014, 12, 30))
    assert period.label == label


@given(st.sampled_from(Calendar), st.integers(1, 4), st.dates(date(1970, 1, 5), date(2100, 1, 1)))
def test_a_grid_cuts_at_the_same_places_wherever_one_begins(
    unit: Calendar, count: int, day: date
) -> None:
    grid = Grid(unit, count)
    (period,) = grid.periods(day, date.fromordinal(day.toordinal() + 1))
    assert period.start <= day < period.end
    assert grid.periods(period.start, period.end) == (period,)


@given(st.dates(date(1950, 1, 1), date(2200, 1, 1)))
def test_midnight_begins_its_day(day: date) -> None:
    assert day_of(midnight_us(day, AMSTERDAM), AMSTERDAM) == day
