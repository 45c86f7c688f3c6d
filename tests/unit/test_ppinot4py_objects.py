"""Measures of ppinot4py: read without it, and worth what it says they are worth."""

from __future__ import annotations

import datetime as dt
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import holidays
import pandas as pd  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ppinot4py import measure_computer, model  # type: ignore[import-untyped]

from pappi.errors import DefinitionError, UsageError
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    EventSequence,
    MultiInstance,
    Occurrence,
    Occurs,
    Order,
    Pick,
    TimeMeasure,
    TruthLiteral,
    from_ppinot4py,
)
from pappi.ppinot.evaluation import ValuesByName
from pappi.ppinot.grammar import parse_expression
from pappi.ppinot.model import Grouping
from pappi.values import UNIT_INTERVAL, CaseBorder, WorkingCalendar, parse_calendar, working_days_of
from tests.engines.reference import Case
from tests.lengths import length

A, B = "`concept:name` == 'A'", "`concept:name` == 'B'"
START = dt.datetime(2024, 1, 5, 8, tzinfo=dt.UTC)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
HOURS = model.TimeUnit.HOUR


def onset(expression: str, among: str | None = None) -> Occurs:
    filtered = None if among is None else parse_expression(among)
    return Occurs(parse_expression(expression), Occurrence.ONSET, filtered)


def every(expression: str) -> Occurs:
    return Occurs(parse_expression(expression))


def instant(state: object, applies_to: object, name: str | None = None) -> object:
    return model.TimeInstantCondition(state, applies_to, name)


PROCESS_START = instant(model.RuntimeState.START, model.AppliesTo.PROCESS)
PROCESS_END = instant(model.RuntimeState.END, model.AppliesTo.PROCESS)


# --- what it says ---------------------------------------------------------------------


def test_a_condition_is_an_onset_and_a_data_condition_every_event() -> None:
    assert from_ppinot4py(model.CountMeasure(A)) == CountMeasure(onset('activity == "A"'))
    counted = from_ppinot4py(model.CountMeasure(model.DataCondition(A)))
    assert counted == CountMeasure(every('activity == "A"'))
    always = from_ppinot4py(model.CountMeasure(model.DataCondition(condition=True)))
    assert always == CountMeasure(Occurs(TruthLiteral(value=True)))


def test_columns_have_their_names_here() -> None:
    found = from_ppinot4py(model.DataMeasure("time:timestamp", A, first=True))
    assert found == DataMeasure("timestamp", Pick.FIRST, onset('activity == "A"'))


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        (model.Type.FOLLOWS, Order.FOLLOWS),
        (model.Type.LEADSTO, Order.LEADS_TO_CYCLICALLY),
    ],
)
def test_complex_states_are_sequences(kind: object, order: Order) -> None:
    state = model.ComplexState(A, B, kind)
    found = from_ppinot4py(model.CountMeasure(model.TimeInstantCondition(state)))
    wanted = EventSequence(every('activity == "A"'), every('activity == "B"'), order)
    assert found == CountMeasure(wanted)


def test_complex_states_of_conditions_that_overlap_are_refused() -> None:
    state = model.ComplexState(A, "x > 1", model.Type.FOLLOWS)
    with pytest.raises(DefinitionError, match="may hold at the same event"):
        from_ppinot4py(model.CountMeasure(model.TimeInstantCondition(state)))


@pytest.mark.parametrize("name", ["'Pay claim'", '"Pay claim"', "Pay claim"])
def test_activities_have_the_transitions_of_ppinot4py(name: str) -> None:
    ended = instant(model.RuntimeState.END, model.AppliesTo.ACTIVITY, name)
    wanted = onset('activity == "Pay claim" and lifecycle:transition == "Completed"')
    assert from_ppinot4py(model.CountMeasure(ended)) == CountMeasure(wanted)
    plain = from_ppinot4py(model.CountMeasure(ended), lifecycle=False)
    assert plain == CountMeasure(onset('activity == "Pay claim"'))
    own = instant(model.RuntimeState("'start'"), model.AppliesTo.ACTIVITY, name)
    wanted = onset('activity == "Pay claim" and lifecycle:transition == "start"')
    assert from_ppinot4py(model.CountMeasure(own)) == CountMeasure(wanted)
    with pytest.raises(DefinitionError, match="without transitions"):
        from_ppinot4py(model.CountMeasure(own), lifecycle=False)


def test_a_time_measure_is_between_onsets_among_the_events_of_its_precondition() -> None:
    found = from_ppinot4py(model.TimeMeasure(A, B, precondition="x > 1", first_to=True))
    ends = (onset('activity == "A"', "x > 1"), onset('activity == "B"', "x > 1"))
    assert found == TimeMeasure(*ends, end_pick=Pick.FIRST)


def test_the_process_is_the_case_or_what_is_left_of_it() -> None:
    whole = model.TimeMeasure(PROCESS_START, PROCESS_END)
    assert from_ppinot4py(whole) == TimeMeasure(CaseBorder.START, CaseBorder.END)
    part = model.TimeMeasure(PROCESS_START, PROCESS_END, precondition="x > 1")
    assert from_ppinot4py(part) == TimeMeasure(every("x > 1"), every("x > 1"))


def test_business_hours_are_those_of_utc() -> None:
    nine, five = dt.time(9), dt.time(17)
    hours = model.BusinessDuration(nine, five, holiday_list=[dt.date(2024, 1, 8)])
    found = from_ppinot4py(model.TimeMeasure(A, B, business_duration=hours))
    assert isinstance(found, TimeMeasure)
    assert found.calendar == parse_calendar("Mon-Fri 09:00-17:00; except 2024-01-08; in UTC")
    spain = model.BusinessDuration(None, None, [], holidays.country_holidays("ES", subdiv="AN"))
    found = from_ppinot4py(model.TimeMeasure(A, B, business_duration=spain))
    assert isinstance(found, TimeMeasure)
    assert found.calendar == parse_calendar("always; except holidays in ES-AN; in UTC")


def test_aggregates_filters_and_groups_are_read() -> None:
    share = model.DerivedMeasure("n > 0", {"n": model.CountMeasure(A)})
    grouper = model.DataMeasure("channel")
    found = from_ppinot4py(
        model.AggregatedMeasure(model.CountMeasure(A), " p90 ", grouper, share), values=["web"]
    )
    condition = DerivedSingleInstance(
        parse_expression("n > 0"), (("n", CountMeasure(onset('activity == "A"'))),)
    )
    base = CountMeasure(onset('activity == "A"'))
    grouping = Grouping(DataMeasure("channel"), ("web",))
    assert found == AggregatedMeasure(Aggregation.PERCENTILE, base, condition, grouping, percent=90)
    truth = from_ppinot4py(model.AggregatedMeasure(share, "SUM", filter_to_apply=""))
    assert isinstance(truth, AggregatedMeasure)
    assert truth.bounds == UNIT_INTERVAL


def test_formulas_over_aggregates_are_over_many_cases() -> None:
    mean = model.AggregatedMeasure(model.TimeMeasure(A, B, time_unit=HOURS), "AVG")
    total = model.AggregatedMeasure(model.CountMeasure(A), "SUM")
    found = from_ppinot4py(model.DerivedMeasure("100 * m / n", {"m": mean, "n": total}))
    assert isinstance(found, DerivedMultiInstance)
    assert found.formula == parse_expression("100 * (m / 1 hour) / n")


@pytest.mark.parametrize(
    ("function", "constants", "formula"),
    [
        ("t < limit", {"limit": pd.Timedelta("1h")}, "t < 1 hour"),
        ("t < limit", {"limit": timedelta(minutes=1)}, "t < 1 minute"),
        ("t < 3600", {}, "t / 1 second < 3600"),
        ("t * 2 + 5", {}, "(t / 1 second * 2 + 5) * 1 second"),
        ("t / limit", {"limit": pd.Timedelta("1h")}, "t / 1 hour"),
        ("t * n", {"n": 3}, "t * 3"),
        ("t * n", {"n": -3}, "t * -3"),
        ("t + n", {"n": pd.Timedelta("-1h")}, "t + -1 hour"),
        ("t < n", {"n": pd.Timedelta("-1h") / 2}, "t < -30 minutes"),
        ("t != limit", {"limit": pd.Timedelta("1h")}, "not (t == 1 hour)"),
    ],
)
def test_durations_in_formulas(function: str, constants: dict[str, object], formula: str) -> None:
    measure = model.DerivedMeasure(function, {"t": model.TimeMeasure(A, B), **constants})
    found = from_ppinot4py(measure)
    assert isinstance(found, DerivedSingleInstance)
    assert found.formula == parse_expression(formula)


# --- what it is worth -----------------------------------------------------------------

Event = tuple[str, float | None]


def pairs(function: str, unit: object = HOURS) -> object:
    return model.TimeMeasure(A, B, "CYCLIC", function, time_unit=unit)


def state_of(first: str, last: str, kind: object) -> object:
    return model.TimeInstantCondition(model.ComplexState(first, last, kind))


T = model.TimeMeasure(A, B)
MEASURES: dict[str, object] = {
    "onsets": model.CountMeasure(A),
    "events": model.CountMeasure(model.DataCondition(A)),
    "unequal": model.CountMeasure(model.DataCondition("x != 2")),
    "not in": model.CountMeasure(model.DataCondition("x not in [2, 3]")),
    "both": model.CountMeasure(f"({A} or {B}) and not x > 2"),
    "follows": model.CountMeasure(state_of(A, B, model.Type.FOLLOWS)),
    "leads to": model.CountMeasure(state_of(A, B, model.Type.LEADSTO)),
    "first x": model.DataMeasure("x", A, first=True),
    "last x": model.DataMeasure("x"),
    "linear": model.TimeMeasure(A, B, time_unit=HOURS),
    "first to": model.TimeMeasure(A, B, first_to=True, time_unit=HOURS),
    "filtered": model.TimeMeasure(A, B, precondition="x > 1", time_unit=HOURS),
    "filtered case": model.TimeMeasure(
        PROCESS_START, PROCESS_END, precondition="x > 1", time_unit=HOURS
    ),
    "case": model.TimeMeasure(PROCESS_START, PROCESS_END, time_unit=HOURS),
    **{f"cycles {name}": pairs(name) for name in ("SUM", "MIN", "MAX", "AVG", "MEDIAN")},
    "data conditions": model.TimeMeasure(
        model.DataCondition(A), model.DataCondition(B), time_unit=HOURS
    ),
    "short": model.DerivedMeasure("t < limit", {"t": T, "limit": pd.Timedelta("2h")}),
    "seconds": model.DerivedMeasure("t < 7200", {"t": T}),
    "hours": model.DerivedMeasure("t < 2", {"t": model.TimeMeasure(A, B, time_unit=HOURS)}),
    "difference": model.DerivedMeasure(
        "t - u", {"t": T, "u": model.TimeMeasure(A, B, first_to=True)}
    ),
    "negative": model.DerivedMeasure("t > l", {"t": T, "l": pd.Timedelta("-1h")}),
    "sum": model.DerivedMeasure("t * 2 + 60", {"t": T}),
}

logs = st.lists(
    st.lists(
        st.tuples(st.sampled_from("AABBC"), st.sampled_from([None, 1.0, 2.0, 3.0])),
        min_size=1,
        max_size=7,
    ),
    min_size=1,
    max_size=4,
)


def frame(log: Sequence[Sequence[Event]]) -> pd.DataFrame:
    rows = [
        (f"c{number}", activity, START + timedelta(hours=hour * (hour + 1) / 2), x)
        for number, events in enumerate(log)
        for hour, (activity, x) in enumerate(events)
    ]
    columns = ["case:concept:name", "concept:name", "time:timestamp", "x"]
    return pd.DataFrame(rows, columns=columns).astype({"x": float})


def events_of(table: pd.DataFrame, case: str) -> list[ValuesByName]:
    found: list[ValuesByName] = []
    for _, row in table[table["case:concept:name"] == case].iterrows():
        stamp = (row["time:timestamp"].to_pydatetime() - EPOCH) // timedelta(microseconds=1)
        event: ValuesByName = {"activity": row["concept:name"], "timestamp": stamp}
        found.append(event if math.isnan(row["x"]) else {**event, "x": row["x"]})
    return found


def worked(calendar: WorkingCalendar, start: int, end: int) -> float:
    first, until = dt.date(2023, 12, 1), dt.date(2024, 3, 1)
    days = working_days_of(calendar, ZoneInfo("UTC"), first, until)
    return float(days.worked_before(end) - days.worked_before(start))


def plain(value: object, *, per_hour: bool) -> float | None:
    """A value of either side as a number; durations in hours."""
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, timedelta):
        return value / timedelta(hours=1)
    return float(str(float(value))) / (3_600_000_000 if per_hour else 1)  # type: ignore[arg-type]


@settings(max_examples=length(6, 100))
@given(logs)
@pytest.mark.parametrize("name", MEASURES)
def test_values_are_those_of_ppinot4py(name: str, log: list[list[Event]]) -> None:
    table = frame(log)
    expected = measure_computer(MEASURES[name], table)
    measure = from_ppinot4py(MEASURES[name])
    assert not isinstance(measure, MultiInstance)
    in_time = isinstance(measure, TimeMeasure) or name in ("difference", "sum")
    for case in table["case:concept:name"].unique():
        found = Case(events_of(table, case), worked).value(measure)
        theirs = plain(expected[case], per_hour=False)
        assert plain(found, per_hour=in_time) == pytest.approx(theirs), events_of(table, case)


def test_business_hours_are_worth_the_same() -> None:
    log: list[list[Event]] = [[("A", 1.0), *[("C", 1.0)] * gap, ("B", 1.0)] for gap in range(20)]
    table = frame(log)
    hours = model.BusinessDuration(dt.time(9), dt.time(17))
    theirs = measure_computer(model.TimeMeasure(A, B, business_duration=hours), table)
    measure = from_ppinot4py(model.TimeMeasure(A, B, business_duration=hours))
    assert not isinstance(measure, MultiInstance)
    for case, expected in theirs.items():
        found = Case(events_of(table, str(case)), worked).value(measure)
        assert plain(found, per_hour=True) == pytest.approx(plain(expected, per_hour=False))


# --- what is refused ------------------------------------------------------------------


def derived(formula: object, measures: object) -> object:
    return model.DerivedMeasure(formula, measures)


def business(*hours: object, **options: object) -> object:
    return model.TimeMeasure(A, B, business_duration=model.BusinessDuration(*hours, **options))


NINE = dt.time(9)

REFUSED: list[tuple[object, str]] = [
    (model.CountMeasure("x < @pd.io.common.os.system('true')"), "'@' is not allowed here"),
    (model.CountMeasure("x.str.len() > 3"), "no attribute access"),
    (model.CountMeasure("f(x) > 3"), "there is no function 'f'"),
    (model.CountMeasure(pd.Series([True])), "rows of one table"),
    (model.CountMeasure(model.SeriesCondition(pd.Series([True]))), "rows of one table"),
    (model.CountMeasure(PROCESS_START), "not an event that can be used here"),
    (model.CountMeasure(None), "'NoneType' is not a ppinot4py condition"),
    (model.TimeMeasure(A, B, "CYCLIC", "P90"), "cycles are aggregated by"),
    (model.TimeMeasure(A, B, "CYCLIC", "GROUPBY"), "cycles are aggregated by"),
    (model.TimeMeasure(A, B, "SPIRAL"), "LINEAR or CYCLIC"),
    (model.TimeMeasure(A, A, first_to=True), "the same events"),
    (model.TimeMeasure(PROCESS_END, B), "after the end of a case"),
    (model.TimeMeasure(A, PROCESS_END, first_to=True), "starts and ends only once"),
    (model.TimeMeasure(A, PROCESS_END, first_to=True, precondition="x > 1"), "ends only once"),
    (model.TimeMeasure(A, B, time_unit="h"), "no attribute 'name'"),
    (model.AggregatedMeasure(T, "GROUPBY"), "values of single cases"),
    (model.AggregatedMeasure(T, "STD"), "not a ppinot4py aggregation"),
    (model.AggregatedMeasure(T, "AVG", model.DataMeasure("x")), "the groups must be declared"),
    (model.AggregatedMeasure(T, "AVG", [model.DataMeasure("x")] * 2), "one attribute only"),
    (model.AggregatedMeasure(T, "AVG", [T]), "grouped by a DataMeasure"),
    (model.AggregatedMeasure(model.AggregatedMeasure(T, "AVG"), "AVG"), "combines many cases"),
    (derived("a + b", {"a": T}), "unknown variable 'b'"),
    (derived("a", {"a": T, "b": pd.Series([1])}), "'Series' is not a ppinot4py measure"),
    (derived("a + b", {"a": T, "b": model.AggregatedMeasure(T, "AVG")}), "of many cases, not both"),
    (derived("a", [("a", T)]), "expected a dictionary"),
    (derived("a * b", {"a": T, "b": 1e300}), "more than 40 digits"),
    (business(dt.time(22), dt.time(6)), "over midnight"),
    (business(NINE, None), "a start and an end"),
    (business(NINE, dt.time(17, 0, 30)), "whole minutes"),
    (business(NINE, dt.time(17), ["Sat"]), "0 is Monday"),
    (business(NINE, dt.time(17), holiday_list=["2024-01-01"]), "expected a date"),
    (business(NINE, dt.time(17), holiday_list=5), "expected a list"),
    (object(), "'object' is not a ppinot4py measure"),
    (None, "'NoneType' is not a ppinot4py measure"),
]


@pytest.mark.parametrize(("measure", "message"), REFUSED)
def test_what_means_something_else_or_nothing_is_refused(measure: object, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        from_ppinot4py(measure)


@pytest.mark.parametrize("keys", ["web", ["web", "web"], [1], {"web": 1}])
def test_groups_are_a_list_of_texts(keys: Any) -> None:  # noqa: ANN401
    with pytest.raises(UsageError):
        from_ppinot4py(T, values=keys)


def test_a_measure_that_contains_itself_is_refused() -> None:
    loop = model.DerivedMeasure("a + b", {})
    loop.measure_map.update(a=loop, b=loop)
    with pytest.raises(DefinitionError, match="refers to itself, or is too large"):
        from_ppinot4py(loop)
    shared: object = model.CountMeasure(A)
    for _ in range(25):
        shared = model.DerivedMeasure("a + b", {"a": shared, "b": shared})
    with pytest.raises(DefinitionError, match="refers to itself, or is too large"):
        from_ppinot4py(shared)


class Explosive:
    """An object that fails whatever is done with it."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise RuntimeError

    def __str__(self) -> str:
        raise RuntimeError


class Endless(list[object]):
    def __iter__(self) -> Any:  # noqa: ANN401
        while True:
            yield T


class Shifty(str):
    """A text that reads differently from what it holds."""

    __slots__ = ()

    def strip(self, *_: object) -> str:
        raise RuntimeError

    def upper(self) -> str:
        raise RuntimeError

    def __str__(self) -> str:
        raise RuntimeError


FAKES: list[object] = [
    *(Explosive(), Endless(), Shifty("A"), 5, -1.5, b"x", [], {}, True, "", 10**5000, T),
]
ATTRIBUTES = {
    "CountMeasure": ["when"],
    "DataMeasure": ["data_content_selection", "precondition", "first"],
    "TimeMeasure": [
        *("from_condition", "to_condition", "time_measure_type", "single_instance_agg_function"),
        *("first_to", "precondition", "business_duration", "time_unit"),
    ],
    "AggregatedMeasure": [
        *("base_measure", "single_instance_agg_function", "grouper", "filter_to_apply"),
    ],
    "DerivedMeasure": ["function_expression", "measure_map"],
}
SOUND: dict[str, Callable[[], object]] = {
    "CountMeasure": lambda: model.CountMeasure(A),
    "DataMeasure": lambda: model.DataMeasure("x", A),
    "TimeMeasure": lambda: model.TimeMeasure(A, B),
    "AggregatedMeasure": lambda: model.AggregatedMeasure(T, "AVG"),
    "DerivedMeasure": lambda: model.DerivedMeasure("a", {"a": T}),
}


@pytest.mark.parametrize("fake", FAKES, ids=[type(fake).__name__ for fake in FAKES])
@pytest.mark.parametrize(
    ("kind", "attribute"), [(kind, each) for kind, some in ATTRIBUTES.items() for each in some]
)
def test_any_attribute_may_be_anything(kind: str, attribute: str, fake: object) -> None:
    measure = SOUND[kind]()
    setattr(measure, attribute, fake)
    with suppress(DefinitionError, UsageError):
        from_ppinot4py(measure)


def test_the_name_of_a_class_cannot_be_made_up() -> None:
    def fail(_: object) -> str:
        raise RuntimeError

    strange_type = type("Meta", (type,), {"__name__": property(fail)})
    strange = strange_type("\x1b[2J", (), {})()
    with pytest.raises(DefinitionError) as caught:
        from_ppinot4py(strange)
    assert "\x1b" not in str(caught.value)


@pytest.mark.outside
def test_ppinot4py_is_never_imported() -> None:
    code = (
        "import sys, pappi.ppinot.notations, pappi.ppinot.notations.objects\n"
        "assert not {'ppinot4py', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_numbers_are_taken_as_they_are_shown() -> None:
    found = from_ppinot4py(model.DerivedMeasure("n < c", {"n": model.CountMeasure(A), "c": 0.1}))
    assert isinstance(found, DerivedSingleInstance)
    assert found.formula == parse_expression("n < 0.1")
