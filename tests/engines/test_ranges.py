"""A log is read in ranges of whole cases, and answers as if it were read at once."""

from __future__ import annotations

from contextlib import closing
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import pappi
from pappi.engine import duck
from pappi.engine.bases import NO_CALENDARS
from pappi.engine.duck import Duck
from pappi.engine.expressions import Source
from pappi.engine.query import CaseQuery
from pappi.ppinot import Cycles, Occurs, OpenCycle, TimeMeasure, parse_catalogue
from pappi.ppinot.grammar import parse_expression
from pappi.session import Workspace
from pappi.store import open_readonly
from tests.captured_logs import Fed, event, us
from tests.small_logs import Row, claims, workspace_with

CATALOGUE = """
log: small
ppis:
  - id: days
    measure: {mean: {time: {from: activity == "Receive", to: activity == "Pay"}}}
  - id: rejected
    measure: {share: {condition: activity == "Reject"}}
  - id: damage
    measure: {median: {data: damage}, by: {data: channel, values: [web, phone]}}
  - id: cycles
    measure: {mean: {time: {from: activity == "Receive", to: activity == "Pay", cycles: sum}}}
  - id: latest
    measure: {sum: {count: activity == "Pay"}}
    scope: last 5 cases
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    long: list[Row] = [("long", "Receive", float(hour), {}) for hour in range(40)]
    rows = [*claims(20), *long, *((f"late {case}", *of) for case, *of in claims(9))]
    return workspace_with(tmp_path_factory.mktemp("ranges") / "w", rows)  # type: ignore[arg-type]


def small_ranges(patch: pytest.MonkeyPatch, events: int) -> None:
    patch.setattr(duck, "EVENTS_PER_RANGE", events)
    patch.setattr(duck, "EVENTS_PER_BATCH", 1 + events // 2)


@pytest.mark.parametrize("events", [1, 3, 7, 30, 96, 97, 98])
def test_every_event_is_read_once_and_every_case_in_one_range(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, events: int
) -> None:
    small_ranges(monkeypatch, events)
    table = workspace.log("small").table
    with closing(open_readonly(workspace.root / "events", table)) as connection:
        ranges = list(Duck(connection, NO_CALENDARS)._ranges(table))
        rows_of = Source(table, ranged=True).events().sql("duckdb")
        query = f"SELECT pos, case_id FROM {rows_of}"  # noqa: S608
        read = [connection.execute(query, dict(each)).fetchall() for each in ranges]
    assert [pos for rows in read for pos, _ in rows] == list(range(1, 99))
    cases = [{case for _, case in rows} for rows in read]
    assert sum(map(len, cases)) == len(set().union(*cases)) == 30
    assert len(ranges) > 1 or events > 96


def test_ranges_skip_what_was_erased(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = workspace_with(tmp_path / "w", claims(12))
    before = workspace.exact(parse_catalogue(CATALOGUE))
    workspace.custody.erase("small", cases=["c3", "c4", "c5"])
    whole = workspace.exact(parse_catalogue(CATALOGUE))
    small_ranges(monkeypatch, 2)
    assert whole == workspace.exact(parse_catalogue(CATALOGUE)) != before


def test_a_sealed_log_is_stored_in_the_order_of_its_positions(tmp_path: Path) -> None:
    fed = Fed(tmp_path).create()
    for month in range(1, 5):
        days = [date(2024, month, day) for day in range(20, 1, -1)]
        fed.capture(*(event(f"{day} {n}", f"{day}", us(day, n)) for n in (3, 1, 2) for day in days))
        fed.seal(date(2024, month + 1, 1))
    with closing(open_readonly(fed.files.events, fed.log.table)) as connection:
        stored = connection.execute(f"SELECT pos FROM {fed.log.table}").fetchall()  # noqa: S608
    assert stored == sorted(stored)
    assert len(stored) == 4 * 19 * 3


@pytest.mark.parametrize("threads", [1, 4])
def test_parts_of_a_log_are_read_one_after_the_other_by_any_number_of_threads(threads: int) -> None:
    """Folding stands on this: more rows than are read at once, of several tables."""
    with closing(duckdb.connect(config={"threads": threads})) as connection:
        for part in range(3):
            rows = f"SELECT i + {part * 150_000} AS pos FROM range(150000) AS rows(i) ORDER BY i"  # noqa: S608
            connection.execute(f"CREATE TABLE p{part} AS {rows}")
        united = " UNION ALL ".join(f"SELECT * FROM p{part}" for part in range(3))  # noqa: S608
        read = connection.sql(f"SELECT pos, pos + 1 AS other FROM ({united})").to_arrow_reader(4096)  # noqa: S608
        found = np.concatenate([batch["pos"].to_numpy() for batch in read])
        connection.register("folded", pa.table({"pos": found}))
        again = connection.execute("SELECT pos * 2.0 AS pos FROM folded").fetchnumpy()["pos"]
    np.testing.assert_array_equal(found, np.arange(450_000))
    np.testing.assert_array_equal(again, 2.0 * found)


@pytest.mark.parametrize("events", [1, 5, 40])
def test_exact_values_are_those_of_the_whole_log(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, events: int
) -> None:
    catalogue = parse_catalogue(CATALOGUE)
    whole = workspace.exact(catalogue)
    small_ranges(monkeypatch, events)
    assert workspace.exact(catalogue) == whole


@pytest.mark.parametrize("open_cycle", OpenCycle)
def test_cycles_are_the_same_in_the_order_of_the_table_and_in_any_other(
    workspace: Workspace, open_cycle: OpenCycle
) -> None:
    log = workspace.log("small")
    measures = [_cyclic(cycles, open_cycle) for cycles in Cycles]
    with closing(open_readonly(workspace.root / "events", log.table)) as connection:
        reader = Duck(connection, NO_CALENDARS)
        asked = CaseQuery(log.terms.anchor, measures, log.public.vocabulary)
        sources = (Source(log.table), Source(log.table, in_order=True))
        queried = [reader.columns(asked.select(source)) for source in sources]
        folded = reader.cases(asked, sources[1])
    portable, stored = (
        {name: of[name][np.argsort(of["first_pos"])] for name in of} for of in queried
    )
    for name, column in portable.items():
        np.testing.assert_array_equal(column, stored[name])
        np.testing.assert_array_equal(column, folded[name])


def _cyclic(cycles: Cycles, open_cycle: OpenCycle) -> TimeMeasure:
    """From receipt to receipt or payment: some events end a cycle and start the next."""
    start = Occurs(parse_expression('activity == "Receive"'))
    end = Occurs(parse_expression('activity in ("Receive", "Pay")'))
    return TimeMeasure(start, end, cycles=cycles, open_cycle=open_cycle)


def test_times_of_centuries_are_added_up_as_whole_microseconds(tmp_path: Path) -> None:
    """As doubles, the sum would depend on the order in which a database adds."""
    lifetime = 75 * 365 * 24 * 3_600_000_000
    instants = [-5 * 10**15, -5 * 10**15 + lifetime + 1]
    for _ in range(3):
        instants += [instants[-1] + 3, instants[-1] + 3 + lifetime + 1]
    assert (
        sum(end - start for start, end in zip(instants[::2], instants[1::2], strict=True)) > 2**53
    )
    events = pa.table(
        {
            "case_id": ["long"] * len(instants),
            "activity": ["Receive", "Pay"] * (len(instants) // 2),
            "timestamp": pa.array(instants, pa.timestamp("us", "UTC")),
        }
    )
    workspace = pappi.create(tmp_path / "w")
    log = workspace.import_log(events, "small").declaration
    start, end = (Occurs(parse_expression(f'activity == "{name}"')) for name in ("Receive", "Pay"))
    measures = [
        *(TimeMeasure(start, end, cycles=cycles) for cycles in (Cycles.SUM, Cycles.MEAN)),
        TimeMeasure(start, end, running=parse_expression('activity == "Receive"')),
    ]
    with closing(open_readonly(workspace.root / "events", log.table)) as connection:
        reader = Duck(connection, NO_CALENDARS)
        folded = reader.cases(
            CaseQuery(log.terms.anchor, measures[:2], log.public.vocabulary),
            Source(log.table, in_order=True),
        )
        queried = reader.columns(
            CaseQuery(log.terms.anchor, measures, log.public.vocabulary).select(Source(log.table))
        )
    total = 4 * (lifetime + 1)
    assert folded["m0"] == queried["m0"] == queried["m2"] == float(total)
    assert folded["m1"] == queried["m1"] == float(total) / 4
