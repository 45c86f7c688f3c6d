# ruff: noqa: ANN401 - ppinot4py has no types
"""ppinot4py 1.2.7 and PaPPI agree, case by case and period by period, on real logs.

Every kind of measure and every option that ppinot4py has is asked on each log; its objects are
read as they are, by `from_ppinot4py`. What differs on purpose is in docs/semantics.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from functools import cache
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pytest
from ppinot4py import measure_computer  # type: ignore[import-untyped]
from ppinot4py.model import (  # type: ignore[import-untyped]
    AggregatedMeasure,
    AppliesTo,
    BusinessDuration,
    ComplexState,
    CountMeasure,
    DataCondition,
    DataMeasure,
    DataObjectState,
    DerivedMeasure,
    RuntimeState,
    TimeInstantCondition,
    TimeMeasure,
    TimeUnit,
    Type,
)

import pappi
from pappi.engine import Identify, evaluate_cases
from pappi.ppinot import AggregatedMeasure as AggregatedMulti
from pappi.ppinot import (
    Catalogue,
    DerivedMultiInstance,
    MultiInstance,
    Ppi,
    Scope,
    aggregated_measures,
    from_ppinot4py,
    measure_kind,
)
from pappi.session import Workspace
from pappi.store import open_readonly
from pappi.values import NUMBER, Calendar, Grid, Kind, Unit
from tests.lengths import thinned
from tests.shared_data import shared_data


@dataclass(frozen=True, slots=True)
class Log:
    """A log, and what of it the measures are about: activities, and attributes of each kind."""

    file: tuple[str, ...]
    a: str
    b: str
    c: str
    text: str
    number: str | None
    transition: str | None

    def is_(self, activity: str) -> str:
        return f"`concept:name` == '{activity}'"


LOGS = {
    "sepsis": Log(
        ("sepsis.csv.gz",), "ER Registration", "Leucocytes", "CRP", "diagnose", "age", None
    ),
    "receipt": Log(
        ("xes", "08_receipt.xes.gz"),
        "Confirmation of receipt",
        "T02 Check confirmation of receipt",
        "T06 Determine necessity of stop advice",
        "org:group",
        None,
        "complete",
    ),
    "bpic2012": Log(
        ("xes", "bpic2012.xes.gz"),
        "W_Completeren aanvraag",
        "W_Nabellen offertes",
        "A_SUBMITTED",
        "org:resource",
        None,
        "COMPLETE",
    ),
    "bpic2013": Log(
        ("xes", "06_bpic2013_closed.xes.gz"),
        "Accepted",
        "Queued",
        "Completed",
        "impact",
        None,
        "In Progress",
    ),
    "roadtraffic": Log(
        ("xes", "roadtraffic100traces.xes"),
        "Create Fine",
        "Payment",
        "Send Fine",
        "vehicleClass",
        "amount",
        "complete",
    ),
}

Define = Callable[[Log], Any]


def _time(log: Log, **options: Any) -> Any:
    return TimeMeasure(log.is_(log.a), log.is_(log.b), **options)


def _sequence(log: Log, order: Any) -> Any:
    return TimeInstantCondition(ComplexState(log.is_(log.a), log.is_(log.b), order))


def _process(state: Any) -> Any:
    return TimeInstantCondition(state, AppliesTo.PROCESS)


def _activity(log: Log) -> Any:
    state = RuntimeState(f"'{log.transition}'")
    return TimeInstantCondition(state, AppliesTo.ACTIVITY, f"'{log.a}'")


def _counts(log: Log) -> dict[str, Any]:
    return {"n": CountMeasure(log.is_(log.b)), "m": CountMeasure(log.is_(log.c))}


def _cycles(function: str) -> Define:
    return lambda log: TimeMeasure(
        log.is_(log.c), log.is_(log.b), "CYCLIC", single_instance_agg_function=function
    )


WORKDAY = BusinessDuration(time(8, 30), time(17), holiday_list=[date(2014, 1, 1), date(2012, 1, 2)])
SHOP = BusinessDuration(time(10), time(20), weekend_list=[6])
START, END = _process(RuntimeState.START), _process(RuntimeState.END)

OF_CASES: Mapping[str, Define] = {
    "count": lambda log: CountMeasure(log.is_(log.b)),
    "count, every event": lambda log: CountMeasure(DataCondition(log.is_(log.b))),
    "count, one of two": lambda log: CountMeasure(f"`concept:name` in ['{log.a}', '{log.b}']"),
    "count, not": lambda log: CountMeasure(f"not ({log.is_(log.a)})"),
    "count, or": lambda log: CountMeasure(f"{log.is_(log.a)} or {log.is_(log.c)}"),
    "count, and": lambda log: CountMeasure(f"{log.is_(log.b)} and `{log.text}` != 'x'"),
    "count, as a change of state": lambda log: CountMeasure(TimeInstantCondition(log.is_(log.b))),
    "count, true": lambda _: CountMeasure(DataCondition("True")),
    "count, follows": lambda log: CountMeasure(_sequence(log, Type.FOLLOWS)),
    "count, leads to": lambda log: CountMeasure(_sequence(log, Type.LEADSTO)),
    "count, activity in a state": lambda log: CountMeasure(_activity(log)),
    "count, data in a state": lambda log: CountMeasure(
        TimeInstantCondition(DataObjectState(log.is_(log.b)), AppliesTo.DATA)
    ),
    "count, or with and": lambda log: CountMeasure(
        f"({log.is_(log.a)} or {log.is_(log.b)}) and not (`{log.text}` == 'x')"
    ),
    "count, none of two": lambda log: CountMeasure(
        DataCondition(f"`concept:name` not in ['{log.a}', '{log.b}']")
    ),
    "count, attribute at every event": lambda log: CountMeasure(
        DataCondition(f"`{log.text}` != 'x' and {log.is_(log.c)}")
    ),
    "count, sequence the other way": lambda log: CountMeasure(
        TimeInstantCondition(ComplexState(log.is_(log.b), log.is_(log.a), Type.FOLLOWS))
    ),
    "time": _time,
    "time, to the first": lambda log: _time(log, first_to=True),
    "time, every event": lambda log: TimeMeasure(
        DataCondition(log.is_(log.a)), DataCondition(log.is_(log.b))
    ),
    "time, every event, to the first": lambda log: TimeMeasure(
        DataCondition(log.is_(log.a)), DataCondition(log.is_(log.b)), first_to=True
    ),
    "time, whole case": lambda _: TimeMeasure(START, END),
    "time, from the start": lambda log: TimeMeasure(START, log.is_(log.b)),
    "time, to the end": lambda log: TimeMeasure(log.is_(log.b), END),
    "time, one of two": lambda log: TimeMeasure(
        f"{log.is_(log.a)} or {log.is_(log.c)}", log.is_(log.b)
    ),
    "time, to a sequence": lambda log: TimeMeasure(START, _sequence(log, Type.FOLLOWS)),
    "time, from a sequence": lambda log: TimeMeasure(_sequence(log, Type.LEADSTO), END),
    "time, from an activity in a state": lambda log: TimeMeasure(_activity(log), END),
    "time, in hours": lambda log: _time(log, time_unit=TimeUnit.HOUR),
    "time, in days": lambda log: _time(log, time_unit=TimeUnit.DAY),
    "time, in minutes to the first": lambda log: _time(
        log, time_unit=TimeUnit.MINUTE, first_to=True
    ),
    "time, with a precondition": lambda log: _time(log, precondition=f"not ({log.is_(log.c)})"),
    "time, precondition and to the first": lambda log: _time(
        log, precondition=f"not ({log.is_(log.c)})", first_to=True
    ),
    "time, working hours": lambda log: _time(log, business_duration=WORKDAY),
    "time, working hours of a shop": lambda log: _time(log, business_duration=SHOP),
    "time, working hours of the case": lambda _: TimeMeasure(START, END, business_duration=WORKDAY),
    "cycles, sum": _cycles("SUM"),
    "cycles, mean": _cycles("AVG"),
    "cycles, min": _cycles("MIN"),
    "cycles, max": _cycles("MAX"),
    "cycles, median": _cycles("MEDIAN"),
    "cycles, every event": lambda log: TimeMeasure(
        DataCondition(log.is_(log.c)), DataCondition(log.is_(log.b)), "CYCLIC"
    ),
    "cycles, from one of two": lambda log: TimeMeasure(
        f"`concept:name` in ['{log.a}', '{log.c}']", log.is_(log.b), "CYCLIC"
    ),
    "cycles, with a precondition": lambda log: TimeMeasure(
        log.is_(log.c), log.is_(log.b), "CYCLIC", precondition=f"not ({log.is_(log.a)})"
    ),
    "data, last": lambda log: DataMeasure(log.text),
    "data, first": lambda log: DataMeasure(log.text, first=True),
    "data, when": lambda log: DataMeasure("time:timestamp", precondition=log.is_(log.b)),
    "data, first when": lambda log: DataMeasure(
        "time:timestamp", precondition=DataCondition(log.is_(log.b)), first=True
    ),
    "data, text when": lambda log: DataMeasure(log.text, precondition=log.is_(log.a)),
    "data, text first when": lambda log: DataMeasure(
        log.text, precondition=DataCondition(log.is_(log.a)), first=True
    ),
    "data, last activity": lambda _: DataMeasure("concept:name"),
    "data, first activity": lambda _: DataMeasure("concept:name", first=True),
    "data, number": lambda log: DataMeasure(log.number),
    "derived, truth": lambda log: DerivedMeasure("n > 1", {"n": CountMeasure(log.is_(log.b))}),
    "derived, limit": lambda log: DerivedMeasure(
        "t < limit", {"t": _time(log), "limit": pd.Timedelta(hours=5)}
    ),
    "derived, sum": lambda log: DerivedMeasure("n + 2 * m", _counts(log)),
    "derived, and": lambda log: DerivedMeasure("n > 0 and m == 0", _counts(log)),
    "derived, or": lambda log: DerivedMeasure("n > 1 or not (m <= 1)", _counts(log)),
    "derived, absolute": lambda log: DerivedMeasure("abs(n - m) / 2", _counts(log)),
    "derived, text": lambda log: DerivedMeasure(
        f"d == '{log.b}'", {"d": DataMeasure("concept:name")}
    ),
    "derived, of derived": lambda log: DerivedMeasure(
        "not many", {"many": DerivedMeasure("n >= 2", {"n": CountMeasure(log.is_(log.b))})}
    ),
    "derived, scaled time": lambda log: DerivedMeasure("2 * t", {"t": _time(log)}),
    "derived, two limits": lambda log: DerivedMeasure(
        "t > low and t <= high",
        {"t": _time(log), "low": pd.Timedelta(minutes=30), "high": pd.Timedelta(days=30)},
    ),
    "derived, difference": lambda log: DerivedMeasure(
        "s - t", {"s": _time(log), "t": _time(log, first_to=True)}
    ),
}


def _some(log: Log) -> Any:
    return DerivedMeasure("n > 0", {"n": CountMeasure(log.is_(log.b))})


def _quick(log: Log) -> Any:
    return DerivedMeasure("t < limit", {"t": _time(log), "limit": pd.Timedelta(days=20)})


def _sums(log: Log) -> dict[str, Any]:
    return {
        "a": AggregatedMeasure(CountMeasure(log.is_(log.a)), "SUM"),
        "b": AggregatedMeasure(CountMeasure(log.is_(log.b)), "SUM"),
    }


OF_MANY: Mapping[str, tuple[Define, str | None]] = {
    "mean of time": (lambda log: AggregatedMeasure(_time(log), "AVG"), None),
    "max of time": (lambda log: AggregatedMeasure(_time(log), "MAX"), None),
    "min of time": (lambda log: AggregatedMeasure(_time(log), "MIN"), None),
    "sum of time": (lambda log: AggregatedMeasure(_time(log), "SUM"), None),
    "median of time": (lambda log: AggregatedMeasure(_time(log), "MEDIAN"), None),
    "sum of counts": (lambda log: AggregatedMeasure(CountMeasure(log.is_(log.b)), "SUM"), None),
    "mean of counts, filtered": (
        lambda log: AggregatedMeasure(
            CountMeasure(log.is_(log.c)), "AVG", filter_to_apply=_some(log)
        ),
        None,
    ),
    "share": (lambda log: AggregatedMeasure(_some(log), "AVG"), None),
    "share by month": (lambda log: AggregatedMeasure(_some(log), "AVG"), "ME"),
    "number of cases": (lambda log: AggregatedMeasure(_some(log), "SUM"), None),
    "max of cycles": (lambda log: AggregatedMeasure(_cycles("MAX")(log), "MAX"), None),
    "mean of cycles by year": (lambda log: AggregatedMeasure(_cycles("AVG")(log), "AVG"), "YE"),
    "mean of time, filtered by a limit": (
        lambda log: AggregatedMeasure(_time(log), "AVG", filter_to_apply=_quick(log)),
        None,
    ),
    "max by quarter, filtered": (
        lambda log: AggregatedMeasure(_time(log), "MAX", filter_to_apply=_some(log)),
        "QE",
    ),
    "median by month": (
        lambda _: AggregatedMeasure(TimeMeasure(START, END), "MEDIAN"),
        "ME",
    ),
    "difference of two means by year": (
        lambda log: DerivedMeasure(
            "a - b",
            {
                "a": AggregatedMeasure(_time(log), "AVG"),
                "b": AggregatedMeasure(_time(log, first_to=True), "AVG"),
            },
        ),
        "YE",
    ),
    "ratio by year": (
        lambda log: DerivedMeasure("a / (a + b)", _sums(log)),
        "YE",
    ),
    "mean by month": (lambda log: AggregatedMeasure(_time(log), "AVG"), "ME"),
    "max by quarter": (lambda log: AggregatedMeasure(_time(log), "MAX"), "QE"),
    "mean by week": (lambda log: AggregatedMeasure(CountMeasure(log.is_(log.b)), "AVG"), "W-SUN"),
    "ratio of two sums": (
        lambda log: DerivedMeasure("100 * a / b", _sums(log)),
        None,
    ),
    "sum of counts by group, filtered": (
        lambda log: AggregatedMeasure(
            CountMeasure(log.is_(log.b)),
            "SUM",
            grouper=[DataMeasure(log.text)],
            filter_to_apply=_some(log),
        ),
        None,
    ),
    "max by group": (
        lambda log: AggregatedMeasure(
            TimeMeasure(START, END), "MAX", grouper=[DataMeasure(log.text, first=True)]
        ),
        None,
    ),
    "mean by group": (
        lambda log: AggregatedMeasure(_time(log), "AVG", grouper=[DataMeasure(log.text)]),
        None,
    ),
}


@dataclass(frozen=True, slots=True)
class Loaded:
    log: Log
    workspace: Workspace
    frame: pd.DataFrame


def on_logs(measures: Iterable[str]) -> pytest.MarkDecorator:
    """Every measure on every log; in `make test` on one of them, in turn, and on no large one."""
    rows = [(log, number, name) for log in LOGS for number, name in enumerate(measures)]
    turns = ("sepsis", "roadtraffic", "receipt", "bpic2013")
    kept = [place for place, (log, number, _) in enumerate(rows) if log == turns[number % 4]]
    named = [(log, name) for log, _, name in rows]
    return pytest.mark.parametrize(("log_name", "name"), thinned(named, kept))


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Loaded]:
    """Each log is imported once."""

    @cache
    def load(name: str) -> Loaded:
        log = LOGS[name]
        workspace = pappi.create(tmp_path_factory.mktemp("logs") / name)
        workspace.import_log(shared_data(*log.file), "log")
        return Loaded(log, workspace, _frame(workspace))

    return load


@pytest.fixture
def loaded(load: Callable[[str], Loaded], log_name: str) -> Loaded:
    return load(log_name)


def _frame(workspace: Workspace) -> pd.DataFrame:
    """The log as ppinot4py wants it, in the order that is ours."""
    table = workspace.log("log").table
    with closing(open_readonly(workspace.root / "events", table)) as connection:
        found = connection.table(table).order("pos").df()
    found["time:timestamp"] = pd.to_datetime(found["ts_us"], unit="us", utc=True)
    return found.rename(columns={"case_id": "case:concept:name", "activity": "concept:name"})


# --- case by case -----------------------------------------------------------------------


@on_logs(OF_CASES)
def test_a_measure_has_the_same_value_in_every_case(loaded: Loaded, name: str) -> None:
    log = loaded.log
    if (name == "data, number" and not log.number) or (
        "activity in a state" in name and not log.transition
    ):
        pytest.skip("this log has no such attribute")
    theirs = OF_CASES[name](log)
    expected = measure_computer(theirs, loaded.frame)
    found = _by_case(loaded.workspace, from_ppinot4py(theirs))
    assert len(expected) == len(found) > 50
    wrong = {
        case: (value, found[str(case)])
        for case, value in expected.items()
        if not _alike(_plain(value, theirs), found[str(case)], _tolerance(name))
    }
    unexplained = {case: pair for case, pair in wrong.items() if not _tie(name, pair)}
    assert not unexplained, dict(list(unexplained.items())[:5])
    assert sum(_plain(value, theirs) is not None for value in expected) > 10


def _by_case(workspace: Workspace, measure: Any) -> dict[str, Any]:
    log = workspace.log("log")
    table = evaluate_cases(
        *(
            workspace.root / "events",
            log.table,
            log.terms.anchor,
            [],
            log.public.vocabulary,
        ),
        Identify(b"key"),
        also=[measure],
        days=log.public.days,
    )
    assert table.who is not None
    return dict(zip(table.who.case_ids.to_pylist(), table.columns[measure], strict=True))


_MICROSECONDS = {TimeUnit.MINUTE: 6e7, TimeUnit.HOUR: 3.6e9, TimeUnit.DAY: 8.64e10}


def _plain(value: Any, measure: Any = None) -> float | str | None:
    """A value of ppinot4py as ours: microseconds, numbers, texts, nothing."""
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, pd.Timestamp):
        return float(value.value / 1000)
    if isinstance(value, (pd.Timedelta, timedelta)):
        return value / timedelta(microseconds=1)
    if getattr(measure, "time_unit", None) is not None:
        return float(value) * _MICROSECONDS[measure.time_unit]
    return value if isinstance(value, str) else float(value)


def _tolerance(name: str) -> float:
    """ppinot4py counts whole seconds of working time."""
    return 1_000_000 if "working" in name else 1


def _alike(expected: float | str | None, found: Any, tolerance: float = 1) -> bool:
    if expected is None:
        return found is None or (isinstance(found, float) and math.isnan(found))
    if isinstance(expected, str):
        return bool(expected == found)
    return math.isclose(expected, float(found), rel_tol=1e-9, abs_tol=tolerance)


def _tie(name: str, pair: tuple[Any, Any]) -> bool:
    """An end before its start in the log, at the same time: 0 for them, nothing for us."""
    theirs, ours = pair
    return name.startswith("time") and _plain(theirs) == 0 and _alike(None, ours)


# --- period by period -------------------------------------------------------------------

MICROSECONDS = Unit("microseconds", Fraction(1))
_GRIDS = {None: None, "ME": Grid(Calendar.MONTH), "QE": Grid(Calendar.QUARTER)}
_GRIDS |= {"YE": Grid(Calendar.YEAR), "W-SUN": Grid(Calendar.WEEK)}


@on_logs(OF_MANY)
def test_an_aggregate_has_the_same_value_in_every_period_and_group(
    loaded: Loaded, name: str
) -> None:
    define, rhythm = OF_MANY[name]
    theirs = define(loaded.log)
    expected = measure_computer(theirs, loaded.frame, time_grouper=rhythm)
    groups = tuple(expected.index) if "by group" in name else ()
    measure = from_ppinot4py(theirs, values=groups) if groups else from_ppinot4py(theirs)
    assert isinstance(measure, AggregatedMulti | DerivedMultiInstance)
    found = _answers(loaded.workspace, measure, Scope(_GRIDS[rhythm]))
    keyed = expected if isinstance(expected, pd.Series) else pd.Series({None: expected})
    assert len(keyed) > 0
    for key, value in keyed.items():
        ours = found[_key(key, groups)]
        assert _alike(_plain(value), math.nan if ours is None else ours), (key, value, ours)


def _answers(
    workspace: Workspace, measure: MultiInstance, scope: Scope
) -> dict[date | str | None, float | None]:
    is_time = measure_kind(measure, workspace.log("log").public.vocabulary) is Kind.DURATION
    ppi = Ppi("one", "one", measure, MICROSECONDS if is_time else NUMBER, scope)
    answers = workspace.exact(Catalogue("log", (ppi,)))
    grouped = any(m.grouping is not None for _, m in aggregated_measures(measure))
    if scope.grid is None:
        return {answer.group if grouped else None: answer.value for answer in answers}
    return {answer.period.end - timedelta(days=1): answer.value for answer in answers}


def _key(key: Any, groups: Iterable[str]) -> date | str | None:
    """pandas calls a period by its last day."""
    if isinstance(key, datetime):
        return key.date()
    return str(key) if groups else None
