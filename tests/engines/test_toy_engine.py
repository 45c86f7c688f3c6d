"""A new engine is one module, a system and a line: tried with a toy, as CONTRIBUTING.md says."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from pappi.custody import NewLog, SourceMapping
from pappi.engine import cases
from pappi.errors import UsageError
from pappi.store import System, declarations
from pappi.values import Terms
from tests.engines import toy_engine
from tests.engines.places import ORDER, OWN
from tests.engines.test_contract import ZONE, Bench, assert_alike, benched, catalogue, small_log

URL = "toy://here"
KNOWN = [(system.name, system.value) for system in System]
TOY = toy_engine.SYSTEM
Extended = StrEnum("Extended", [*KNOWN, ("TOY", TOY)])  # type: ignore[misc]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the recipe registers: the system with its port, and the line of the backend."""
    monkeypatch.setattr(declarations, "System", Extended)
    system = cast("System", Extended(TOY))
    ports = {**declarations._PORTS, system: 1}
    backends = {**cases.BACKENDS, system: toy_engine.__name__}
    monkeypatch.setattr(declarations, "_PORTS", ports)
    monkeypatch.setattr(cases, "BACKENDS", backends)
    events = small_log()
    numbers = pa.array(range(len(events)), pa.int64())
    toy_engine.TABLES["events"] = events.append_column(ORDER, numbers)
    yield
    toy_engine.TABLES.clear()


@pytest.fixture
def bench(registered: None, tmp_path: Path) -> Bench:  # noqa: ARG001 - first it must be known
    bench = benched(tmp_path, small_log(), NewLog(terms=Terms(timezone=ZONE)))
    attributes = {name: (name, None) for name in small_log().column_names if name not in OWN}
    given = SourceMapping(URL, "case_id", "activity", "timestamp", "events", ORDER, attributes)
    bench.workspace.custody.add_log("toy", given, NewLog(terms=Terms(timezone=ZONE)))
    return bench


def test_every_measure_comes_out_as_by_duckdb(bench: Bench) -> None:
    assert_alike(bench.cases("toy", catalogue("toy")), bench.cases("duckdb", catalogue("duckdb")))


def test_a_question_is_released_through_it(bench: Bench) -> None:
    (series,) = bench.workspace.checkpoint("alice").release(
        "log: toy\nppis:\n  - id: cases\n    measure: {sum: {count: true}}\n"
        "    bounds: [0, 9]\n    scope: every month\n",
        "0.5",
    )
    assert series.answers


def test_a_toy_that_picks_the_first_for_the_last_would_be_noticed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    picked = toy_engine.Toy.picked
    monkeypatch.setattr(
        toy_engine.Toy,
        "picked",
        lambda toy, value, key, last: picked(toy, value, key, last=not last),
    )
    with pytest.raises(AssertionError):
        assert_alike(
            bench.cases("toy", catalogue("toy")), bench.cases("duckdb", catalogue("duckdb"))
        )


def test_without_its_system_the_address_is_refused(tmp_path: Path) -> None:
    bench = benched(tmp_path, small_log(), NewLog(terms=Terms(timezone=ZONE)))
    given = SourceMapping(URL, "case_id", "activity", "timestamp", "events")
    with pytest.raises(UsageError, match="PostgreSQL"):
        bench.workspace.custody.add_log("toy", given, NewLog(terms=Terms(timezone=ZONE)))
