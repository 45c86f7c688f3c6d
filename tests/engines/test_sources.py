"""A log that stays where it is: what can be declared of it, and what its sessions may do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

import pappi
from pappi.custody import NewLog, SourceMapping
from pappi.engine import evaluate_cases
from pappi.engine.parquet import Parquet
from pappi.engine.postgres import _address, opened_postgres
from pappi.engine.table import Column
from pappi.errors import PappiError, Refused, UsageError, WorkspaceError
from pappi.ppinot import CountMeasure, Occurs, parse_catalogue
from pappi.ppinot.grammar import parse_expression
from pappi.session import Workspace
from pappi.store import LogDeclaration, SourceRead, require_public, secret_name
from pappi.values import Kind, PrivacyUnit, Terms
from tests.commands import Run
from tests.engines.places import placed, postgres_url
from tests.small_logs import claims, event_table

SECRET = secret_name("claims")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return pappi.create(tmp_path / "w")


@pytest.fixture
def given(tmp_path: Path) -> SourceMapping:
    return placed("parquet", event_table(claims(20)), tmp_path)


def added(workspace: Workspace, given: SourceMapping, new: NewLog | None = None) -> LogDeclaration:
    return workspace.custody.add_log("claims", given, new or NewLog()).declaration


# --- addresses and passwords ----------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:secret@host/db",
        "postgres://host/db?password=secret",
        "postgresql://host/db?options=-c%20x=1",
        "sc://host:15002/;token=secret",
        "sc://host:15002/;Token=secret",
        "sc://host:15002/;session_id=1",
        "postgresql://host:no port/db",
        "mysql://host/db",
        "just words",
        "postgresql://host/db#fragment",
    ],
)
def test_an_address_that_must_not_be_declared_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        require_public(url, SECRET)
    assert "secret@" not in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user@host:5432/db?sslmode=verify-full",
        "postgresql:///db?host=/run/postgresql",
        "sc://host:15002/;use_ssl=true",
        "parquet:folder/*.parquet",
    ],
)
def test_an_address_without_secrets_can_be_declared(url: str) -> None:
    require_public(url, SECRET)


def test_a_password_comes_from_the_environment_and_goes_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, workspace: Workspace
) -> None:
    monkeypatch.setenv(SECRET, "p@ss:word")
    given = SourceMapping(postgres_url(), "case_id", "activity", "timestamp", "none")
    with pytest.raises(PappiError):
        added(workspace, given)
    url = _address("postgresql://ann@host/db?sslmode=require", "p@ss:word")
    assert url.startswith("postgresql://ann:p%40ss%3Aword@host/db?")
    assert "p@ss" not in json.dumps([entry.what for entry in workspace.custody.trail()])


def test_a_declaration_keeps_its_source(workspace: Workspace, given: SourceMapping) -> None:
    log = added(workspace, given)
    assert LogDeclaration.from_json(json.loads(json.dumps(log.to_json()))) == log
    assert workspace.log("claims") == log


# --- what is checked when a source is added ---------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"case": "case"}, "no column 'case'"),
        ({"time": "channel"}, "not a time"),
        ({"attributes": {"pos": ("damage", None)}}, "can be called 'pos'"),
        ({"attributes": {"a": ("damage", None), "A": ("channel", None)}}, "can be called 'A'"),
        ({"attributes": {"d": ("channel", Kind.NUMBER)}}, "not a number"),
        ({"table": "t"}, "have no table"),
        ({"url": "parquet:/nowhere/*.parquet"}, "cannot be read"),
        ({"url": "postgresql://nobody@127.0.0.1:1/none", "table": "t"}, "cannot be read"),
    ],
)
def test_what_the_source_does_not_have_is_refused(
    workspace: Workspace, given: SourceMapping, change: Mapping[str, object], said: str
) -> None:
    with pytest.raises((UsageError, WorkspaceError), match=said):
        added(workspace, replace(given, **change))  # type: ignore[arg-type]
    assert workspace.logs() == ()


def test_a_table_that_is_not_there_is_refused(workspace: Workspace) -> None:
    given = SourceMapping(postgres_url(), "case_id", "activity", "timestamp", "none")
    with pytest.raises(UsageError, match="no such table"):
        added(workspace, given)


def test_the_unit_must_have_one_value_in_a_case(workspace: Workspace, given: SourceMapping) -> None:
    unit = PrivacyUnit("activity 2", 1)
    varying = replace(given, attributes={"activity 2": ("activity", None)})
    with pytest.raises(UsageError, match="more than one value"):
        added(workspace, varying, NewLog(terms=Terms(unit=unit)))


def test_times_without_a_zone_need_a_log_in_utc(workspace: Workspace, tmp_path: Path) -> None:
    times = pa.array([datetime(2024, 1, 5)], pa.timestamp("us"))  # noqa: DTZ001
    events = pa.table({"case_id": ["a"], "activity": ["x"], "timestamp": times})
    pq.write_table(events, tmp_path / "wall.parquet")
    given = SourceMapping(f"parquet:{tmp_path}/wall.parquet", "case_id", "activity", "timestamp")
    with pytest.raises(UsageError, match="have no time zone"):
        added(workspace, given, NewLog(terms=Terms(timezone="Europe/Amsterdam")))
    assert added(workspace, given).public.first == date(2024, 1, 1)


def test_time_that_is_not_over_cannot_be_declared(
    workspace: Workspace, given: SourceMapping
) -> None:
    with pytest.raises(UsageError, match="not over yet"):
        added(workspace, given, NewLog(until=date(2199, 1, 1)))


def test_whole_numbers_are_microseconds_and_durations_seconds(
    workspace: Workspace, tmp_path: Path
) -> None:
    micros = int(datetime(2024, 1, 5, tzinfo=UTC).timestamp()) * 1_000_000
    events = pa.table({"c": [1, 1], "a": [5, 6], "t": [micros, micros + 1], "d": [1.5, 2.5]})
    pq.write_table(events, tmp_path / "n.parquet")
    attributes = {"took": ("d", Kind.DURATION)}
    given = SourceMapping(f"parquet:{tmp_path}/n.parquet", "c", "a", "t", attributes=attributes)
    log = added(workspace, given)
    assert log.public.vocabulary.activities == ("5", "6")
    text = (
        "log: claims\nppis:\n  - id: a\n    measure: {max: {data: took}, bounds: [0 h, 1 h]}\n"
        "    unit: seconds\n"
        "  - {id: b, measure: {max: {time: {from: case start, to: case end}}}, unit: seconds}\n"
    )
    answers = workspace.exact(parse_catalogue(text, "c.yaml"))
    assert [each.value for each in answers] == [2.5, 1e-6]


def test_a_source_is_added_from_the_command_line(
    run: Run, given: SourceMapping, workspace: Workspace
) -> None:
    code, said, problems = run(
        *("-w", workspace.root, "log", "add", "claims", "--source", given.url),
        *("--case", "case_id", "--activity", "activity", "--time", "timestamp", "--order", "seq"),
        *("--attribute", "channel", "--attribute", "loss=damage:number", "--budget", "2"),
        *("--keys", "channel=web,phone", "--until", "2024-03-31"),
    )
    assert code == 0, problems
    assert "40 events in 20 cases. They stay at the source" in said
    log = workspace.log("claims")
    assert log.public.vocabulary.attributes == {"channel": Kind.TEXT, "loss": Kind.NUMBER}
    assert log.public.until == date(2024, 4, 1)
    code, _, problems = run("-w", workspace.root, "log", "erase", "claims", "--case", "c1", "--yes")
    assert code != 0
    assert "erased at the source" in problems


# --- what cannot be done here ---------------------------------------------------------


def test_events_at_a_source_are_erased_and_captured_there(
    workspace: Workspace, given: SourceMapping
) -> None:
    added(workspace, given)
    with pytest.raises(Refused, match="cannot be erased here"):
        workspace.custody.erase("claims", cases=["c1"])
    with pytest.raises(Refused, match="cannot be captured here"):
        workspace.custody.capture("claims", [])


def test_sealing_moves_the_horizon_and_takes_nothing_in(
    workspace: Workspace, given: SourceMapping
) -> None:
    before = added(workspace, given, NewLog(until=date(2024, 2, 1)))
    sealed = workspace.custody.seal("claims", date(2024, 3, 1))
    assert (sealed.until, sealed.events) == (date(2024, 3, 1), 0)
    assert workspace.log("claims") == before.sealed(date(2024, 3, 1))
    with pytest.raises(UsageError, match="already sealed until 2024-03-01"):
        workspace.custody.seal("claims", date(2024, 3, 1))
    assert not (workspace.root / "events").exists()


# --- sessions -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE public.mine (a int)", "CREATE TEMP TABLE mine (a int)", "DROP TABLE public.x"],
)
def test_a_session_of_postgres_can_only_read(statement: str) -> None:
    with (
        opened_postgres(postgres_url(), None) as session,
        pytest.raises(WorkspaceError) as refused,
    ):
        session.arrow(statement)
    assert "read-only" in refused.value.detail


def test_a_session_of_postgres_sees_one_moment_and_gives_up_in_time() -> None:
    settings = {
        "statement_timeout": "15min",
        "transaction_isolation": "repeatable read",
        "search_path": "pg_catalog",
        "TimeZone": "UTC",
        "extra_float_digits": "1",
        "client_encoding": "UTF8",
    }
    with opened_postgres(postgres_url(), None) as session:
        for name, value in settings.items():
            (row,) = session.arrow(f"SELECT current_setting('{name}')").to_pylist()
            assert list(row.values()) == [value]


# --- what is only needed by those who use it --------------------------------------------


def test_drivers_are_imported_by_those_logs_that_need_them_alone() -> None:
    code = (
        "import sys, pappi.cli.program, pappi.custody.custody, pappi.engine.cases;"
        "print(*{'pyspark', 'adbc_driver_postgresql', 'grpc', 'pandas'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


def test_cases_that_change_places_between_two_scans_are_not_put_together(
    workspace: Workspace, given: SourceMapping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One case less, and one more: their rows would line up, each with half of another."""
    log = added(workspace, given)
    changed = event_table([(f"{case}x", *rest) for case, *rest in claims(20)])  # type: ignore[misc]
    path = Path(given.url.removeprefix("parquet:"))
    first = SourceRead(log.source) if log.source else None
    assert first is not None

    class Changing(Parquet):
        def columns(self, query: exp.Expr) -> dict[str, Column]:
            found = super().columns(query)
            pq.write_table(changed.append_column("seq", pa.array(range(len(changed)))), path)
            return found

    measures = [CountMeasure(Occurs(parse_expression(f"damage > {n}"))) for n in range(20)]
    monkeypatch.setattr("pappi.engine.parquet.Parquet", Changing)
    found = evaluate_cases(
        first, log.table, log.terms.anchor, [], log.public.vocabulary, also=measures
    )
    assert [len(column) for column in (found.anchor_us, *found.columns.values())] == [0] * 21
