"""Cases fall into the periods of their anchors, and into no other."""

from __future__ import annotations

from datetime import date, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pappi.engine.cases import CaseTable
from pappi.ppinot.expressions.nodes import Truth
from pappi.ppinot.model import CountMeasure, Occurs
from pappi.values.periods import Calendar, Grid, Period

ZONE = ZoneInfo("Europe/Amsterdam")
DAY = 86_400_000_000
MEASURE = CountMeasure(Occurs(Truth(value=True)))

anchors = st.lists(st.integers(0, 200).map(lambda d: d * DAY / 2) | st.just(np.nan), max_size=30)
periods = st.builds(
    lambda unit, kept: [
        p
        for p, keep in zip(
            Grid(unit).periods(date(1970, 1, 10), date(1970, 3, 20)), kept, strict=False
        )
        if keep
    ],
    st.sampled_from([Calendar.DAY, Calendar.WEEK, Calendar.MONTH]),
    st.lists(st.booleans(), min_size=70, max_size=70),
).filter(bool)


@given(anchors, periods)
def test_splitting_equals_asking_each_case_and_period(
    instants: list[float], asked: list[Period]
) -> None:
    table = CaseTable(np.array(instants), {MEASURE: np.arange(len(instants), dtype=np.float64)})
    split = table.split(asked, ZONE)
    assert list(split) == asked
    for period in asked:
        start, end = period.borders_us(ZONE)
        inside = [index for index, at in enumerate(instants) if start <= at < end]
        assert split[period].columns[MEASURE].tolist() == inside


def test_midnight_belongs_to_the_day_it_begins() -> None:
    day = Period(date(2014, 10, 26), date(2014, 10, 27))
    start, end = day.borders_us(ZONE)
    assert end - start == timedelta(hours=25) // timedelta(microseconds=1)
    table = CaseTable(np.array([start - 1, start, end - 1, end], dtype=np.float64), {})
    assert table.split([day], ZONE)[day].anchor_us.tolist() == [start, end - 1]
