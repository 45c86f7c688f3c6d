"""A log's profile is found in one pass over its events, in whatever batches they come."""

from __future__ import annotations

from statistics import median

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pappi.store.event_profile import _Passed


@st.composite
def ordered_events(draw: st.DrawFn) -> list[tuple[int, int, float | None, str | None]]:
    """Position, first position of the case, time and activity, as a part has them."""
    events: list[tuple[int, int, float | None, str | None]] = []
    for size in draw(st.lists(st.integers(1, 6), min_size=1, max_size=8)):
        first = len(events) + 1
        timed = draw(st.integers(0, size))
        times = sorted(draw(st.lists(st.integers(0, 5), min_size=timed, max_size=timed)))
        for place, time in enumerate([*times, *[None] * (size - timed)]):
            name = draw(st.sampled_from(["A", "B", "C", None]))
            events.append((first + place, first, time, name))
    return events


@given(ordered_events(), st.integers(1, 7))
def test_cases_and_activities_are_counted_in_one_pass_whatever_its_batches(
    events: list[tuple[int, int, float | None, str | None]], size: int
) -> None:
    types = (pa.int64(), pa.int64(), pa.int64(), pa.string())
    columns = zip(zip(*events, strict=True), types, strict=True)
    names = ["pos", "first_pos", "ts_us", "activity"]
    whole = pa.record_batch([pa.array(of, type_) for of, type_ in columns], names)
    passed = _Passed()
    passed.add_all(whole.slice(start, size) for start in range(0, len(events), size))
    cases: dict[int, list[tuple[int, float | None, str | None]]] = {}
    for pos, first, time, name in events:
        cases.setdefault(first, []).append((pos, time, name))
    began = [case[0][1] for case in cases.values()]
    ended = [max((t for _, t, _ in case if t is not None), default=None) for case in cases.values()]
    assert passed.in_order
    assert nones(passed.starts) == began
    assert nones(passed.ends) == ended
    assert nones(passed.sizes) == [len(case) for case in cases.values()]
    assert passed.tied == sum(
        any(other != pos and t == time for other, t, _ in case)
        for case in cases.values()
        for pos, time, _ in case
        if time is not None
    )
    told = {use.name: use for use in passed.activities()}
    for name in {name for *_, name in events if name is not None}:
        own = [[(t, n == name) for _, t, n in case] for case in cases.values()]
        having = [case for case in own if any(here for _, here in case)]
        since = [
            min(times) - (case[0][0] or 0)
            for case in having
            if (times := [t for t, here in case if here and t is not None])
        ]
        use = told.pop(name)
        assert use.events == sum(here for case in own for _, here in case)
        assert use.cases == len(having)
        assert use.repeated == sum(sum(here for _, here in case) > 1 for case in having)
        assert use.first == sum(case[0][1] for case in own)
        assert use.last == sum(case[-1][1] for case in own)
        assert use.since_start == (median(since) if since else None)
    assert not told


def nones(parts: list[NDArray[np.float64]]) -> list[float | None]:
    return [None if np.isnan(value) else value for part in parts for value in part.tolist()]
