"""Cases fall into the periods of their anchors, and into no other."""

from __future__ import annotations

from datetime import date, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pappi.engine import CaseTable
from pappi.engine.table import Who
from pappi.ppinot import CountMeasure, Occurs, TruthLiteral
from pappi.values import Calendar, Grid, Period

ZONE = ZoneInfo("Europe/Amsterdam")
DAY = 86_400_000_000
MEASURE = CountMeasure(Occurs(TruthLiteral(value=True)))

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


# --- order decides nothing -------------------------------------------------------------

KEY = bytes(range(32))


def table_of(anchors_: list[float], ids: list[str]) -> CaseTable:
    values = np.array([float(each.removeprefix("c")) for each in ids])
    who = Who(pa.array(ids, pa.large_string()), None, KEY)
    return CaseTable(np.array(anchors_, dtype=np.float64), {MEASURE: values}, who)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.integers(1, 12), st.data())
def test_the_latest_cases_are_the_same_in_whatever_order_they_come(
    days: list[int], count: int, data: st.DataObject
) -> None:
    ids = [f"c{number}" for number in range(len(days))]
    order = data.draw(st.permutations(range(len(days))))
    one = table_of([float(day) for day in days], ids)
    other = table_of([float(days[n]) for n in order], [ids[n] for n in order])
    found = [set(each.latest(count).columns[MEASURE].tolist()) for each in (one, other)]
    assert found[0] == found[1]
    assert len(found[0]) == min(count, len(days))
    # One case less lets at most one other in.
    fewer = table_of([float(day) for day in days[1:]], ids[1:]).latest(count)
    assert len(set(fewer.columns[MEASURE].tolist()) - found[0]) <= 1


def test_cases_with_the_same_hash_are_told_apart_by_their_ids(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def alike(who: Who, _purpose: bytes) -> NDArray[np.uint64]:
        return np.zeros(len(who.case_ids), dtype=np.uint64)

    monkeypatch.setattr(Who, "hashes", alike)
    for ids in (["c1", "c2", "c3"], ["c3", "c1", "c2"]):
        latest = table_of([5.0] * 3, ids).latest(2)
        assert sorted(latest.columns[MEASURE].tolist()) == [2.0, 3.0]


def test_the_latest_cases_need_their_ids() -> None:
    with pytest.raises(LookupError, match="ids"):
        CaseTable(np.array([1.0]), {}).latest(1)


PERSONS = st.lists(st.lists(st.sampled_from(["ann", "bob", "eve", None]), max_size=5), max_size=4)


@given(PERSONS)
def test_a_person_has_one_number_however_its_cases_were_read(parts: list[list[str | None]]) -> None:
    """With one number for each part, a person would keep as many cases again in every part."""
    every = [person for part in parts for person in part]
    numbers = Who(*read_in(parts), KEY).person_numbers().tolist()
    assert [number == -1 for number in numbers] == [person is None for person in every]
    known = {(p, n) for p, n in zip(every, numbers, strict=True) if p is not None}
    assert len(known) == len({p for p, _ in known}) == len({n for _, n in known})


def read_in(parts: list[list[str | None]]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Ids and persons of the cases, in as many chunks as there are parts."""
    ids = [[f"c{part}-{case}" for case in range(len(own))] for part, own in enumerate(parts)]
    text = pa.large_string()
    return pa.chunked_array(ids, text), pa.chunked_array(parts, text)
