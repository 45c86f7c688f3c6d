"""One contract for all engines: what DuckDB says of a log of its own, the others say in place.

The same events are imported, and read where they are by PostgreSQL, by a server that speaks
Spark Connect, and as Parquet files. What is compared is what mechanisms and exact values are
made of: every measure of every case, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from json import dumps
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp

import pappi
from pappi.custody import NewLog
from pappi.engine import CaseTable, Identify, evaluate_cases
from pappi.engine.foreign import written_for
from pappi.engine.postgres import Postgres
from pappi.ppinot import (
    Catalogue,
    CountMeasure,
    DataMeasure,
    Occurs,
    TruthLiteral,
    parse_catalogue,
    reduced_form,
)
from pappi.ppinot.grammar import parse_expression
from pappi.session import Workspace
from pappi.store import LogDeclaration
from pappi.values import CaseBorder, ExactAnswer, Kind, Per, PrivacyUnit, Terms
from tests.engines.places import ENGINES, PYSPARK, placed

KEY = bytes(range(32))
ZONE = "Europe/Amsterdam"
# Around the nights in which the clocks change.
NIGHTS = (datetime(2024, 3, 30, 20, tzinfo=UTC), datetime(2024, 10, 26, 20, tzinfo=UTC))

A, B = "{activity: A}", "{activity: B}"
ONSET = "{activity: A, occurrence: onset}"
HOURS = "calendar: 'Mon-Sun 09:00-12:00 13:00-17:00; in Europe/Amsterdam'"
NIGHT_SHIFT = "calendar: 'Mon-Sun 22:00-06:00'"


def time(start: str, end: str, more: str = "") -> str:
    return f"{{time: {{from: {start}, to: {end}{more}}}}}"


MEASURES = {
    "count": f"{{count: {A}}}",
    "count of a condition": "{count: 'x > 1 and tag != \"red\"'}",
    "count of onsets": f"{{count: {ONSET}}}",
    "follows": f"{{count: {{sequence: [{A}, {B}], order: follows}}}}",
    "leads to": f"{{count: {{sequence: [{A}, {B}], order: leads to}}}}",
    "leads to cyclically": f"{{count: {{sequence: [{A}, {B}], order: leads to cyclically}}}}",
    "time": time(A, B),
    "time of the case": time("case start", "case end"),
    "time to the first": time(A, f"{{first: {B}}}"),
    "time from the last": time(f"{{last: {A}}}", B),
    "time while it runs": time(A, "case end", ", while: x > 1"),
    "working time": time(A, B, f", {HOURS}"),
    "working time while it runs": time(A, B, f", while: x > 1, {NIGHT_SHIFT}"),
    **{
        f"cycles, {how}": time(A, B, f", cycles: {how}")
        for how in ("sum", "mean", "min", "max", "median")
    },
    "cycles, none open": time(A, B, ", cycles: sum, open: no value"),
    "cycles of working time": time(A, B, f", cycles: median, {NIGHT_SHIFT}"),
    "cycles of gaps": time(A, A, ", cycles: max"),
    "last value": "{data: x}",
    "first value": "{data: {attribute: x, pick: first}}",
    "value at": f"{{data: {{attribute: n, when: {B}}}}}",
    "truth": "{data: ok}",
    "instants": "{derive: d - s > 20 hours, d: {data: due}, s: {data: timestamp}}",
    "condition": "{condition: x > 1}",
    "state": "{state: {is: 'activity == \"B\"'}}",
    "formula": f"{{derive: '(a - b) / (b - 1)', a: {{count: {A}}}, b: {{count: {B}}}}}",
    "limit": f"{{derive: t < 3 hours, t: {time(A, B)}}}",
    "limit, left out": f"{{derive: t < 3 hours, t: {time(A, B)}, missing: left out}}",
    "missing": "{derive: 'x is missing ? 9 : max(x, 0)', x: {data: x}}",
    "time of day": "{count: 'timestamp - 2024-03-31 > 90 min'}",
}


def catalogue(log: str, measures: Mapping[str, str] = MEASURES) -> Catalogue:
    ppis = "".join(
        f"  - id: p{number}\n    scope: every day\n    measure: {{max: {text}}}\n"
        for number, text in enumerate(measures.values())
    )
    groups = "  - id: grouped\n    scope: every month\n    measure:\n      sum: {count: true}\n"
    return parse_catalogue(
        f"log: {log}\nppis:\n{ppis}{groups}      by: {{data: tag, values: [red, blue]}}\n", "c.yaml"
    )


@dataclass(frozen=True, slots=True)
class Bench:
    """A workspace with the same log in every place, each called like its engine."""

    workspace: Workspace
    declared: LogDeclaration

    def cases(self, engine: str, asked: Catalogue) -> CaseTable:
        log = self.workspace.log(engine)
        return evaluate_cases(
            *(log.place(self.workspace.root / "events"), log.table, log.terms.anchor),
            [reduced_form(ppi, log.terms.anchor).measure for ppi in asked.ppis],
            log.public.vocabulary,
            Identify(KEY, "who"),
            days=log.public.days,
        )


def small_log() -> pa.Table:
    """Ties, gaps in every column, what is no number, and nights in which the clocks change."""
    random = Random(8)  # noqa: S311 - a made-up log
    rows = [row for number in range(60) for row in _case(random, number)]
    names = ("case_id", "activity", "timestamp", "x", "n", "tag", "ok", "due", "who")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    types = {"n": pa.int64(), "timestamp": _INSTANT, "due": _INSTANT}
    return pa.table({name: pa.array(values, types.get(name)) for name, values in columns.items()})


_INSTANT = pa.timestamp("us", "UTC")


def _case(random: Random, number: int) -> Iterator[tuple[object, ...]]:
    now = random.choice(NIGHTS) + timedelta(microseconds=random.randrange(10**10))
    who = random.choice(["anna", "bert", "carl", None])
    for _ in range(random.randint(1, 9)):
        now += timedelta(hours=random.choice([0, 0, 0.5, 1, 7.25]))
        x = random.choice([None, 1.0, 2.5, -0.0, float("nan"), float("inf"), 1e308, 5e-324])
        yield (
            f"case {number:02}",
            random.choice(["A", "B", "it's", None]),
            None if random.random() < 0.05 else now,
            x,
            random.choice([None, 7, -(2**40)]),
            random.choice(["red", "blue", "Red", None]),
            random.choice([True, False, None]),
            random.choice([None, now + timedelta(days=1)]),
            who,
        )


def benched(folder: Path, events: pa.Table, new: NewLog) -> Bench:
    workspace = pappi.create(folder / "w")
    declared = workspace.import_log(events, "duckdb", new=new).declaration
    return Bench(workspace, declared)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return benched(
        tmp_path_factory.mktemp("contract"), small_log(), NewLog(terms=Terms(timezone=ZONE))
    )


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, bench: Bench) -> str:
    """The name of an engine, and of the log that it reads."""
    name = str(request.param)
    given = placed(name, small_log(), bench.workspace.root)
    bench.workspace.custody.add_log(name, given, NewLog(terms=Terms(timezone=ZONE)))
    return name


def in_order(table: CaseTable) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    assert table.who is not None
    return np.argsort(np.array(table.who.case_ids.to_pylist()))


def assert_alike(found: CaseTable, expected: CaseTable) -> None:
    ours, theirs = in_order(found), in_order(expected)
    assert found.who is not None
    assert expected.who is not None
    assert found.who.rows(ours).case_ids == expected.who.rows(theirs).case_ids
    np.testing.assert_array_equal(found.anchor_us[ours], expected.anchor_us[theirs])
    for measure, column in expected.columns.items():
        np.testing.assert_array_equal(found.columns[measure][ours], column[theirs], str(measure))


def test_what_is_declared_of_a_source_is_what_an_import_finds(bench: Bench, engine: str) -> None:
    log = bench.workspace.log(engine)
    assert (log.public.first, log.public.until) == (
        bench.declared.public.first,
        bench.declared.public.until,
    )
    assert log.public.vocabulary == bench.declared.public.vocabulary


def test_every_measure_of_every_case_is_the_same(bench: Bench, engine: str) -> None:
    asked = catalogue("duckdb")
    assert_alike(bench.cases(engine, asked), bench.cases("duckdb", asked))


def test_exact_values_are_the_same(bench: Bench, engine: str) -> None:
    found = bench.workspace.exact(catalogue(engine))
    assert values(found) == values(bench.workspace.exact(catalogue("duckdb")))


def values(answers: Sequence[ExactAnswer]) -> list[tuple[object, ...]]:
    return [(each.ppi, each.period, each.group, each.value) for each in answers]


# --- persons, anchors, scopes ---------------------------------------------------------------


@pytest.mark.parametrize("per", Per)
def test_the_same_cases_of_a_person_count(bench: Bench, engine: str, per: Per) -> None:
    asked = catalogue("duckdb", {"count": MEASURES["count"]})
    unit, log = PrivacyUnit("who", 2, per), bench.declared
    found, expected = (
        bench.cases(name, asked).truncated(unit, log.horizon, log.terms.zone)
        for name in (engine, "duckdb")
    )
    assert expected.anchor_us.size
    assert_alike(found, expected)


def test_a_case_in_the_period_of_its_first_event_is_read_up_to_the_horizon(
    bench: Bench, engine: str
) -> None:
    """What happens later is not sealed, and not seen."""
    given = placed(engine, small_log(), bench.workspace.root)
    until = date(2024, 4, 1)
    new = NewLog(until=until, terms=Terms(timezone=ZONE, anchor=CaseBorder.START))
    name = f"{engine}-started"
    log = bench.workspace.custody.add_log(name, given, new).declaration
    (count,) = evaluate_cases(
        *(
            log.place(bench.workspace.root / "events"),
            log.table,
            log.terms.anchor,
            [],
            log.public.vocabulary,
        ),
        also=[EVENTS],
    ).columns.values()
    border = datetime(2024, 3, 31, 22, tzinfo=UTC)
    times = small_log().column("timestamp").to_pylist()
    assert count.sum() == sum(time is None or time < border for time in times)


EVENTS = CountMeasure(Occurs(TruthLiteral(value=True)))


# --- arithmetic that has no error ------------------------------------------------------------

NUMBERS = (
    *(None, 0.0, -0.0, 1.0, 2.5, -2.5, 0.5, -0.3, 0.1, 3.0, 7.0, 12345.678, 2.0**53),
    *(1e308, -1e308, 5e-324, 1e-200, 1e200, 0.49999999999999994),
    *(float("inf"), float("-inf"), float("nan")),
)
CONDITIONS = (
    *("x + y > 1", "x - y > 1", "x * y > 1", "x / y > 1", "x * y == 0", "x / y == 0"),
    *("round(x) == 3", "round(x) == -3", "round(x) == 0", "round(x) == 1", "x in (0, 1)"),
    *("-x == 0", "x * -1 == 0", "1 / x < 0", "x * y is missing", "(x * y) - (x * y) == 0"),
    *("(x + y) / 2 == x", "x / y * y == x", "max(x, y) > 2", "min(x, y) < 0", "x == y"),
    *("x * x * x * x * x > 1", "(x * y) * (x / y) >= x", "x - x == 0", "x % 2 == 1"),
)


def test_arithmetic_at_events_has_a_result_and_the_same(engine: str, tmp_path: Path) -> None:
    pairs = [(x, y) for x in NUMBERS for y in NUMBERS]
    start = datetime(2024, 1, 1, tzinfo=UTC)
    events = pa.table(
        {
            "case_id": [f"c{number}" for number in range(len(pairs))],
            "activity": ["A"] * len(pairs),
            "timestamp": pa.array([start] * len(pairs), _INSTANT),
            "x": [x for x, _ in pairs],
            "y": [y for _, y in pairs],
        }
    )
    other = benched(tmp_path, events, NewLog())
    other.workspace.custody.add_log(engine, placed(engine, events, tmp_path), NewLog())
    asked = [CountMeasure(Occurs(parse_expression(text))) for text in CONDITIONS]
    found, expected = (
        evaluate_cases(
            *(
                log.place(other.workspace.root / "events"),
                log.table,
                log.terms.anchor,
            ),
            *([], log.public.vocabulary, Identify(KEY)),
            also=asked,
        )
        for log in map(other.workspace.log, (engine, "duckdb"))
    )
    assert_alike(found, expected)


# --- names, and what reaches a database ------------------------------------------------------

HOSTILE = '"; DROP TABLE events; -- `$$ \\ {} %s :x ?'
LONG = "a" * 70


def test_hostile_names_are_names_and_nothing_else(engine: str, tmp_path: Path) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    events = pa.table(
        {
            "case_id": ["a'b", HOSTILE],
            "activity": [HOSTILE, "\\' or true --"],
            "timestamp": pa.array([start, start], _INSTANT),
            "value": [1.0, 2.0],
            "other": [10.0, 20.0],
        }
    )
    workspace = pappi.create(tmp_path / "w")
    given = placed(engine, events, tmp_path)
    names = {HOSTILE: ("value", None), LONG + "b": ("value", None), LONG + "c": ("other", None)}
    workspace.custody.add_log("hostile", replace(given, attributes=names), NewLog())
    asked = {
        "both": (f"{{data: {dumps(HOSTILE)}}}", 3),
        "first": (f"{{data: {LONG}b}}", 3),
        "second": (f"{{data: {LONG}c}}", 30),
        "quoted": (f"{{count: {dumps(f'activity == {dumps(HOSTILE)}')}}}", 1),
        "escaped": ('{count: {activity: "\\\\\' or true --"}}', 1),
    }
    ppis = "".join(
        f"  - {{id: {name}, measure: {{sum: {text}}}}}\n" for name, (text, _) in asked.items()
    )
    answers = workspace.exact(parse_catalogue(f"log: hostile\nppis:\n{ppis}", "h.yaml"))
    assert [each.value for each in answers] == [value for _, value in asked.values()]


def test_a_kind_of_node_that_nobody_thought_about_never_reaches_a_database() -> None:
    query = exp.select(exp.Anonymous(this="PG_SLEEP", expressions=[])).from_("events")
    with pytest.raises(AssertionError, match="Anonymous"):
        written_for(Postgres(), query)


@pytest.mark.skipif(not PYSPARK, reason="start a PySpark server and set PAPPI_TEST_PYSPARK to it")
def test_pyspark_itself_is_among_the_engines() -> None:
    assert "pyspark" in ENGINES


# --- columns of every form ------------------------------------------------------------


def test_columns_that_no_event_could_have_are_missing_and_no_error(
    engine: str, tmp_path: Path
) -> None:
    """Whole numbers at their ends, days of no year, durations longer than time."""
    days = [date(2024, 1, 2), date(1, 1, 1), date(9999, 12, 31), None]
    events = pa.table(
        {
            "case_id": ["a", "b", "c", "d"],
            "activity": ["A"] * 4,
            "timestamp": pa.array([datetime(2024, 1, 1, tzinfo=UTC)] * 4, _INSTANT),
            "day": pa.array(days, pa.date32()),
            "seconds": pa.array([-(2**31), 2**31 - 1, 7, None], pa.int32()),
            "long": pa.array([2**63 - 1, -(2**63), 10**12, 3], pa.int64()),
        }
    )
    workspace = pappi.create(tmp_path / "w")
    given = placed(engine, events, tmp_path)
    mapped = {
        "day": ("day", Kind.TIME),
        "seconds": ("seconds", Kind.DURATION),
        "long": ("long", Kind.DURATION),
        "micros": ("long", Kind.TIME),
    }
    log = workspace.custody.add_log(engine, replace(given, attributes=mapped), NewLog()).declaration
    found = evaluate_cases(
        *(
            log.place(tmp_path / "none"),
            log.table,
            log.terms.anchor,
            [],
            log.public.vocabulary,
            Identify(KEY),
        ),
        also=[DataMeasure(name) for name in mapped],
    )
    order = in_order(found)
    second = 1_000_000.0
    expected = {
        "day": [1_704_153_600 * second, None, None, None],
        "seconds": [-(2**31) * second, (2**31 - 1) * second, 7 * second, None],
        "long": [None, None, None, 3 * second],
        "micros": [None, None, 1e12, 3.0],
    }
    for name, values_ in expected.items():
        column = found.columns[DataMeasure(name)][order]
        np.testing.assert_array_equal(column, np.array(values_, dtype=np.float64), name)
