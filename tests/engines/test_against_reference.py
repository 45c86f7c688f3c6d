"""The engine gives what a plain reading of the meta-model gives, case by case, on any log."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pappi.engine import Identify, duck, evaluate_cases
from pappi.ppinot import (
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedSingleInstance,
    Expression,
    Missing,
    Occurrence,
    Occurs,
    OpenCycle,
    Order,
    Pick,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
    model,
)
from pappi.ppinot.evaluation import Value, ValuesByName
from pappi.ppinot.grammar import parse_expression
from pappi.session import Workspace
from pappi.store import LogDeclaration
from pappi.values import CaseBorder, WorkingCalendar, parse_calendar
from tests.engines.reference import Case
from tests.small_logs import START, Row, workspace_with

# As the engine does for its first query: not in the middle of a test.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CONDITIONS = (
    'activity == "A"',
    'activity == "B"',
    'activity in ("A", "B")',
    "x > 1",
    "x is missing",
    "true",
    'not (activity == "C")',
)
CALENDARS = (
    "Mon-Fri 09:00-12:00 13:00-17:00",
    "Mon-Sun 22:00-06:00; in Europe/Madrid",
    "Mon-Fri 08:30-16:00; except 2024-01-11; except holidays in DE; in America/New_York",
)


def _borders_have_no_pick(measure: TimeMeasure) -> bool:
    """A case has one start and one end: which of them is no question."""
    return (measure.start is not CaseBorder.START or measure.start_pick is Pick.FIRST) and (
        measure.end is not CaseBorder.END or measure.end_pick is Pick.LAST
    )


expressions: st.SearchStrategy[Expression] = st.sampled_from(CONDITIONS).map(parse_expression)
maybe = st.none() | expressions
occurs = st.builds(Occurs, expressions, st.sampled_from(Occurrence), st.none() | maybe)
events = occurs | st.builds(model.EventSequence, occurs, occurs, st.sampled_from(Order))
picks = st.sampled_from(Pick)
calendars = st.none() | st.sampled_from(CALENDARS).map(parse_calendar)
linear = st.builds(
    TimeMeasure,
    st.just(CaseBorder.START) | events,
    st.just(CaseBorder.END) | events,
    picks,
    picks,
    running=maybe,
    calendar=calendars,
).filter(_borders_have_no_pick)
cyclic = st.builds(
    TimeMeasure,
    events,
    events,
    cycles=st.sampled_from(Cycles),
    open_cycle=st.sampled_from(OpenCycle),
    calendar=calendars,
)
bases: st.SearchStrategy[SingleInstance] = st.one_of(
    st.builds(CountMeasure, events),
    st.builds(ConditionMeasure, events),
    st.builds(StateMeasure, expressions, maybe),
    st.builds(DataMeasure, st.sampled_from(["x", "timestamp"]), picks, st.none() | events),
    linear,
    cyclic,
)
limits = st.sampled_from(["t < 3 hours", "not (t >= 90 min)", "t is missing or t > 5 hours"])
derived = st.builds(
    DerivedSingleInstance,
    limits.map(parse_expression),
    linear.map(lambda measure: (("t", measure),)),
    st.none() | st.sampled_from(Missing),
)
logs = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from("ABC"),
            st.sampled_from([0, 0, 0.5, 1, 7.25, 30]),
            st.sampled_from([None, 1.0, 2.0]),
        ),
        min_size=1,
        max_size=7,
    ),
    min_size=1,
    max_size=5,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    log=logs,
    measures=st.lists(st.one_of(bases, bases, derived), min_size=8, max_size=12),
    events_per_range=st.sampled_from([duck.EVENTS_PER_RANGE, 5]),
)
def test_every_measure_of_a_case_is_what_it_says(
    log: list[list[tuple[str, float, float | None]]],
    measures: list[SingleInstance],
    events_per_range: int,
) -> None:
    rows = _rows(log)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(duck, "EVENTS_PER_RANGE", events_per_range)
        patch.setattr(duck, "EVENTS_PER_BATCH", events_per_range)
        workspace = workspace_with(Path(folder) / "w", [*rows, ("other", "A", 0.0, {"x": 0.0})])
        found = _found(workspace, measures)
        declared = workspace.log("small")
    for case, events_of_case in _cases(rows).items():
        reference = Case(events_of_case, lambda *span: _worked(declared, *span))
        for measure, value in zip(measures, found[case], strict=True):
            assert _alike(value, reference.value(measure)), (case, events_of_case, measure)


def _rows(log: Sequence[Sequence[tuple[str, float, float | None]]]) -> list[Row]:
    """Cases whose events come as much later, each, as is written; those of a tie in order."""
    rows: list[Row] = []
    for number, events_of_case in enumerate(log):
        hour = 8.0
        for activity, later, x in events_of_case:
            hour += later
            rows.append((f"c{number}", activity, hour, {"x": x}))
    return rows


def _cases(rows: Sequence[Row]) -> dict[str, list[ValuesByName]]:
    cases: dict[str, list[ValuesByName]] = {}
    for case, activity, hour, attributes in rows:
        instant = (START + timedelta(hours=hour) - EPOCH) // timedelta(microseconds=1)
        x = attributes["x"]
        event: ValuesByName = {"activity": activity, "timestamp": instant}
        if isinstance(x, float):
            event = {**event, "x": x}
        cases.setdefault(case, []).append(event)
    return cases


def _found(workspace: Workspace, measures: Sequence[SingleInstance]) -> dict[str, list[object]]:
    log = workspace.log("small")
    table = evaluate_cases(
        *(
            workspace.root / "events",
            log.table,
            log.terms.anchor,
            [],
            log.public.vocabulary,
        ),
        Identify(b"key"),
        also=measures,
        days=log.public.days,
    )
    assert table.who is not None
    return {
        str(case): [table.columns[measure][row] for measure in measures]
        for row, case in enumerate(table.who.case_ids.to_pylist())
    }


def _worked(log: LogDeclaration, calendar: WorkingCalendar, start: int, end: int) -> float:
    days = log.public.days(calendar)
    return float(days.worked_before(end) - days.worked_before(start))


def _alike(found: object, expected: Value) -> bool:
    if expected is None:
        return isinstance(found, float) and math.isnan(found)
    return isinstance(found, float) and math.isclose(found, float(expected), abs_tol=0.01)
