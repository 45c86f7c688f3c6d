"""What is folded from events in order is what a query over any table of them gives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.engine import Identify, duck
from pappi.engine.bases import ANCHOR, ORDER
from pappi.engine.duck import Duck, opened_duck
from pappi.engine.expressions import FIRST_POSITION, Source
from pappi.engine.folding import Cases, Hits, _whole_cases
from pappi.engine.query import CaseQuery, calendars_of
from pappi.engine.table import Column, key_numbers
from pappi.ppinot import (
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedSingleInstance,
    Missing,
    Occurs,
    OpenCycle,
    Pick,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
    spans_case,
)
from pappi.ppinot.grammar import parse_expression
from pappi.values import (
    CaseBorder,
    DayTable,
    Kind,
    Vocabulary,
    WorkingCalendar,
    parse_calendar,
    working_days_of,
)
from tests.engines.test_against_reference import CALENDARS
from tests.small_logs import claims, workspace_with

HOUR = 3_600_000_000
KINDS = {"x": Kind.NUMBER, "word": Kind.TEXT, "truth": Kind.TRUTH, "number": Kind.NUMBER}
VOCABULARY = Vocabulary(("A", "B", "C"), {**KINDS, "who": Kind.TEXT})
FOLDED, PORTABLE = Source("log", in_order=True), Source("log")
WHO = Identify(b"key", "who")

CONDITIONS = (
    'activity == "A"',
    'activity == "B"',
    'word == "u"',
    'word == ""',
    'activity in ("A", "B")',
    "x > 1",
    "word is missing",
    "truth",
    "not truth",
    "x / (x - 1) < 3 or timestamp is missing",
    "false",
)
expressions = st.sampled_from(CONDITIONS).map(parse_expression)
occurs = st.builds(Occurs, expressions, among=st.none() | expressions)
picks = st.sampled_from(Pick)
linear = st.builds(
    TimeMeasure,
    st.just(CaseBorder.START) | occurs,
    st.just(CaseBorder.END) | occurs,
    picks,
    picks,
    calendar=st.none() | st.sampled_from(CALENDARS).map(parse_calendar),
)
cyclic = st.builds(
    TimeMeasure,
    occurs,
    occurs,
    cycles=st.sampled_from(Cycles),
    open_cycle=st.sampled_from(OpenCycle),
)
measures: st.SearchStrategy[SingleInstance] = st.one_of(
    st.builds(CountMeasure, occurs),
    st.builds(ConditionMeasure, occurs),
    st.builds(StateMeasure, expressions, st.none() | expressions),
    st.builds(DataMeasure, st.sampled_from([*KINDS, "timestamp"]), picks, st.none() | occurs),
    linear,
    cyclic,
    st.builds(
        DerivedSingleInstance,
        st.sampled_from(["t < 3 hours", "t is missing"]).map(parse_expression),
        linear.map(lambda measure: (("t", measure),)),
        st.none() | st.sampled_from(Missing),
    ),
)

Event = tuple[str | None, int | None, float | None, str | None, bool | None]
events = st.tuples(
    st.sampled_from(["A", "B", "C", None]),
    st.sampled_from([0, 0, 1, HOUR, 30 * HOUR, None]),
    st.sampled_from([None, 1.0, 2.0, math.nan, math.inf, -0.0, 1e300]),
    st.sampled_from([None, "", "u", "v"]),
    st.sampled_from([None, True, False]),
)
logs = st.lists(st.lists(events, min_size=1, max_size=8), max_size=6)


def stored(log: Sequence[Sequence[Event]]) -> pa.Table:
    """As the store keeps it: by case, those without a time last; positions have gaps."""
    rows = list(_rows(log))
    names = ("case_id", "pos", "ts_us", "activity", "first_pos", *VOCABULARY.attributes)
    text, whole = pa.string(), pa.int64()
    types = (text, whole, whole, text, whole, pa.float64(), text, pa.bool_(), whole, text)
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    arrays = [pa.array(list(of), kind) for of, kind in zip(columns, types, strict=True)]
    return pa.table(dict(zip(names, arrays, strict=True)))


def _rows(log: Sequence[Sequence[Event]]) -> Iterator[tuple[object, ...]]:
    position = 4
    for number, events_of_case in enumerate(log):
        first, time = position, 1_700_000_000_000_000
        for activity, later, x, word, truth in sorted(events_of_case, key=lambda e: e[1] is None):
            time += later or 0
            at = None if later is None else time
            whole = None if word is None else 2**53 + position
            who = None if truth is None else f"p{number % 2}" if word != "v" else word
            yield f"c{number}", position, at, activity, first, x, word, truth, whole, who
            position += 3


def days(calendar: WorkingCalendar) -> DayTable:
    return working_days_of(calendar, ZoneInfo("UTC"), date(2023, 1, 1), date(2024, 12, 31))


def both(log: Sequence[Sequence[Event]], asked: CaseQuery) -> list[dict[str, Column]]:
    """Folded, and by a query: in the order of the log."""
    with closing(duckdb.connect()) as connection:
        connection.register("given", stored(log))
        connection.execute("CREATE TABLE log AS SELECT * FROM given ORDER BY pos")
        reader = Duck(connection, asked.calendars)
        found = [reader.cases(asked, FOLDED), reader.columns(asked.select(PORTABLE))]
    return [
        {name: np.asarray(of[name])[np.argsort(of[ORDER])] for name in sorted(of)} for of in found
    ]


def require_same(folded: dict[str, Column], queried: dict[str, Column]) -> None:
    assert folded.keys() == queried.keys()
    for name, column in queried.items():
        assert folded[name].tobytes() == column.tobytes() or _alike(folded[name], column), name


def _alike(ours: Column, theirs: Column) -> bool:
    """NaN is NaN; texts are texts."""
    return (
        ours.dtype.kind == theirs.dtype.kind
        and len(ours) == len(theirs)
        and all(
            a == b or (a != a and b != b)
            for a, b in zip(ours.tolist(), theirs.tolist(), strict=True)
        )
    )


@given(
    log=logs,
    asked_for=st.lists(measures, min_size=1, max_size=8),
    anchor=st.sampled_from(CaseBorder),
    who=st.sampled_from([None, replace(WHO, person=None), WHO]),
)
def test_every_measure_is_folded_as_a_query_would(
    log: list[list[Event]],
    asked_for: list[SingleInstance],
    anchor: CaseBorder,
    who: Identify | None,
) -> None:
    asked = CaseQuery(anchor, asked_for, VOCABULARY, who, calendars_of(asked_for, days))
    assert asked.folding is not None
    require_same(*both(log, asked))


@given(log=logs, anchor=st.sampled_from(CaseBorder))
def test_a_case_that_lies_in_time_lasts_some_time(
    log: list[list[Event]], anchor: CaseBorder
) -> None:
    """So sets of PPIs may take that time for one that every case has."""
    whole = TimeMeasure(CaseBorder.START, CaseBorder.END)
    assert spans_case(whole)
    for found in both(log, CaseQuery(anchor, [whole], VOCABULARY)):
        assert np.array_equal(np.isnan(found["m0"]), np.isnan(found[ANCHOR]))


@given(st.lists(st.integers(1, 6), max_size=8), st.integers(1, 9))
def test_batches_are_cut_anew_where_cases_end(lengths: list[int], batch: int) -> None:
    numbers = [number for number, length in enumerate(lengths) for _ in range(length)]
    events = pa.table({FIRST_POSITION: numbers, "at": list(range(len(numbers)))})
    found = list(_whole_cases(events.to_batches(max_chunksize=batch)))
    assert [at for each in found for at in each["at"].to_pylist()] == list(range(len(numbers)))
    cases = [set(each[FIRST_POSITION].to_pylist()) for each in found]
    assert sum(map(len, cases)) == len(lengths)
    assert all(cases)


def test_a_fold_that_takes_the_first_for_the_last_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Hits, "last", Hits.first)
    first, last = ("A", 0, 1.0, "u", True), ("A", HOUR, 2.0, "v", None)
    without = ("A", HOUR, None, "v", None)  # not all events carry it
    asked = CaseQuery(CaseBorder.START, [DataMeasure("x", Pick.LAST)], VOCABULARY)
    with pytest.raises(AssertionError, match="m0"):
        require_same(*both([[first, last, without]], asked))


SEVERAL = [
    CountMeasure(Occurs(parse_expression(f"activity == {text}"))) for text in ('"A"', '"B"', '"C"')
]


@pytest.mark.parametrize("most", [1, 2, 255])
def test_which_of_several_texts_is_read_at_once(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr("pappi.engine.folding._MOST_CODES", most)
    asked = CaseQuery(CaseBorder.START, SEVERAL, VOCABULARY)
    assert asked.folding is not None
    assert len(asked.folding.codes) == min(most, 3)
    log: list[list[Event]] = [[(a, 0, None, None, None) for a in case] for case in ("ABBC", "CA")]
    require_same(*both(log, asked))


def test_texts_that_have_the_number_of_another_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def alike(marks: dict[str, object]) -> dict[str, tuple[str, int]]:
        return dict.fromkeys(marks, ("codes 0", 1))

    monkeypatch.setattr("pappi.engine.folding._codes", alike)
    asked = CaseQuery(CaseBorder.START, SEVERAL, VOCABULARY)
    log: list[list[Event]] = [[("A", 0, None, None, None), ("B", 0, None, None, None)]]
    with pytest.raises(AssertionError, match="m"):
        require_same(*both(log, asked))


def test_a_case_of_two_persons_is_nobodys() -> None:
    ann, bob, nobody = (
        ("A", 0, 1.0, word, truth) for word, truth in (("u", True), ("v", True), ("", None))
    )
    log: list[list[Event]] = [[ann, nobody, ann], [nobody, bob], [ann, nobody, bob], [nobody]]
    for found in both(log, CaseQuery(CaseBorder.START, [], VOCABULARY, WHO)):
        assert found["person"].tolist() == ["p0", "v", None, None]


def test_a_batch_that_cuts_a_case_in_two_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pappi.engine.folding._whole_cases", iter)
    monkeypatch.setattr(duck, "EVENTS_PER_BATCH", 1)
    log: list[list[Event]] = [[("A", 0, 1.0, None, None)] * 3000]
    asked = CaseQuery(
        CaseBorder.START, [CountMeasure(Occurs(parse_expression("x == 1")))], VOCABULARY
    )
    with pytest.raises(AssertionError):
        require_same(*both(log, asked))


KEYS = ("v", "", "it's")
texts = st.builds(DataMeasure, st.just("word"), picks, st.none() | occurs)


def keys_of(log: Sequence[Sequence[Event]], asked: DataMeasure) -> list[list[int]]:
    """Which key each case has: told by the database event by event, and looked up in texts."""
    query = CaseQuery(CaseBorder.START, [asked], VOCABULARY, keys={asked: KEYS})
    with closing(duckdb.connect()) as connection:
        connection.register("given", stored(log))
        connection.execute("CREATE TABLE log AS SELECT * FROM given ORDER BY pos")
        reader = Duck(connection, {})
        numbered, plain = (
            reader.cases(each, FOLDED)["m0"] for each in (query, replace(query, keys={}))
        )
    return [key_numbers(of, KEYS[1:]).tolist() for of in (numbered, plain)]


@given(log=logs, asked=texts)
def test_a_group_is_the_same_whether_its_text_is_read_or_its_key(
    log: list[list[Event]], asked: DataMeasure
) -> None:
    numbered, plain = keys_of(log, asked)
    assert numbered == plain


def test_a_text_that_is_no_key_hides_the_key_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[list[Event]] = [[("A", n, None, word, None) for n, word in enumerate(("", "u"))]]
    asked = DataMeasure("word", Pick.LAST)
    assert keys_of(log, asked) == [[-1], [-1]]
    monkeypatch.setattr("pappi.engine.folding._FIRST_KEY", 1)  # so it would be as good as missing
    assert keys_of(log, asked) == [[0], [-1]]


def test_events_that_come_out_of_order_are_refused() -> None:
    with pytest.raises(LookupError, match="out of order"):
        Cases.of(np.array([1, 1, 5, 5, 3]))


def test_texts_of_a_batch_may_be_of_any_length(tmp_path: Path) -> None:
    """In Arrow's usual form those of 65,536 events would have to be shorter than 2 GB together."""
    workspace = workspace_with(tmp_path / "w", claims(2))
    log = workspace.log("small")
    asked = CaseQuery(log.terms.anchor, [DataMeasure("channel")], log.public.vocabulary)
    assert asked.folding is not None
    with opened_duck(workspace.root / "events", log.table, {}) as reader:
        text = asked.folding.events(Source(log.table, in_order=True)).sql("duckdb")
        with reader._read(text) as batches:
            assert batches.schema.field("value 0").type == pa.large_string()
        read = np.asarray(reader.cases(asked, Source(log.table, in_order=True))["m0"])
        assert set(read.tolist()) <= {"web", "phone"}
