"""The contract on real logs, and on one of a million events: `make engines`.

Each log is imported; what its event table then holds is put where the other engines read it.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pytest

import pappi
from benchmarks.synthetic import synthetic_log
from pappi.custody import NewLog
from pappi.engine import CaseTable, Identify, evaluate_cases
from pappi.eventlog import ReadOptions
from pappi.ppinot import Catalogue, DataMeasure, parse_catalogue, reduced_form
from pappi.session import Workspace
from pappi.store import open_readonly
from pappi.values import Terms
from tests.engines.places import ENGINES, placed
from tests.engines.test_contract import KEY, assert_alike, values
from tests.shared_data import shared_data

pytestmark = pytest.mark.skipif(
    not os.environ.get("PAPPI_ENGINES"), reason="takes minutes: make engines"
)


@dataclass(frozen=True, slots=True)
class RealLog:
    """Where a log is, two of its activities, and an attribute that its events carry."""

    path: str
    start: str
    end: str
    attribute: str
    timezone: str


LOGS = {
    "sepsis": RealLog("sepsis.csv.gz", "ER Registration", "Release A", "age", "Europe/Amsterdam"),
    "bpic2012": RealLog(
        *(
            "xes/bpic2012.xes.gz",
            "W_Completeren aanvraag",
            "W_Nabellen offertes",
            "case:REG_DATE",
        ),
        "Europe/Amsterdam",
    ),
    "million": RealLog("", "A", "B", "amount", "UTC"),
}


def catalogue(name: str, log: RealLog) -> Catalogue:
    start, end = (f'{{activity: "{each}"}}' for each in (log.start, log.end))
    hours = "calendar: 'Mon-Fri 09:00-17:00; in Europe/Amsterdam'"
    measures = (
        f"{{time: {{from: {start}, to: {end}}}}}",
        f"{{time: {{from: {start}, to: {{first: {end}}}}}}}",
        f"{{time: {{from: {start}, to: {end}, cycles: mean}}}}",
        f"{{time: {{from: {start}, to: {end}, {hours}}}}}",
        "{time: {from: case start, to: case end}}",
        f"{{count: {start}}}",
        f"{{count: {{sequence: [{start}, {end}], order: leads to cyclically}}}}",
        f"{{derive: v is missing, v: {{data: {log.attribute!r}}}}}",
        f"{{derive: v is missing, v: {{data: {{attribute: {log.attribute!r}, when: {end}}}}}}}",
        f"{{derive: t < 3 days, t: {{time: {{from: {start}, to: {end}}}}}}}",
    )
    ppis = "".join(
        f"  - {{id: p{number}, scope: every month, measure: {{max: {text}}}}}\n"
        for number, text in enumerate(measures)
    )
    return parse_catalogue(f"log: {name}\nppis:\n{ppis}", "real.yaml")


@dataclass(frozen=True, slots=True)
class Bench:
    workspace: Workspace
    events: pa.Table
    name: str

    def cases(self, engine: str) -> CaseTable:
        log = self.workspace.log(engine)
        asked = catalogue(engine, LOGS[self.name])
        began = perf_counter()
        found = evaluate_cases(
            *(log.place(self.workspace.root / "events"), log.table, log.terms.anchor),
            [reduced_form(ppi, log.terms.anchor).measure for ppi in asked.ppis],
            *(log.public.vocabulary, Identify(KEY)),
            also=[DataMeasure(LOGS[self.name].attribute)],
            days=log.public.days,
        )
        print(f"{self.name} on {engine}: {perf_counter() - began:.1f} s")  # noqa: T201
        return found


@pytest.fixture(scope="module", params=LOGS)
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    name = str(request.param)
    log = LOGS[name]
    source = shared_data(log.path) if log.path else synthetic_log(1_000_000)
    workspace = pappi.create(tmp_path_factory.mktemp(name) / "w")
    imported = workspace.import_log(
        source,
        "duckdb",
        options=ReadOptions(timezone=log.timezone),
        new=NewLog(terms=Terms(timezone=log.timezone)),
    ).declaration
    return Bench(workspace, _stored(workspace.root, imported.table), name)


def _stored(root: Path, table: str) -> pa.Table:
    with closing(open_readonly(root / "events", table)) as connection:
        ordered = f'SELECT * EXCLUDE (pos, first_pos) FROM "{table}" ORDER BY pos'  # noqa: S608
        events: pa.Table = connection.sql(ordered).to_arrow_table()
    times = events.column("ts_us").cast(pa.timestamp("us", "UTC"))
    place = events.column_names.index("ts_us")
    return events.set_column(place, "timestamp", times)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_whole_log_gives_the_same_on_every_engine(
    bench: Bench, engine: str, tmp_path: Path
) -> None:
    new = NewLog(terms=Terms(timezone=LOGS[bench.name].timezone))
    kinds = bench.workspace.log("duckdb").public.vocabulary.attributes
    given = placed(engine, bench.events, tmp_path)
    mapped = {name: (name, kinds[name]) for name in given.attributes}
    bench.workspace.custody.add_log(engine, replace(given, attributes=mapped), new)
    assert_alike(bench.cases(engine), bench.cases("duckdb"))
    asked, expected = (
        bench.workspace.exact(catalogue(each, LOGS[bench.name])) for each in (engine, "duckdb")
    )
    assert values(asked) == values(expected)
