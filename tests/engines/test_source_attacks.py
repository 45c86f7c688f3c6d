"""What a source holds must not show in whether a query fails, how long, or whom it counts.

Each test is an attack that once succeeded, by somebody who can write rows into a source, or who
only waits for what others write there.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

import pappi
from pappi.custody import NewLog, SourceMapping
from pappi.engine import CaseTable, Identify, evaluate_cases, foreign, survey
from pappi.engine.expressions import filled
from pappi.engine.foreign import answered, explained
from pappi.engine.parquet import Parquet
from pappi.engine.postgres import PostgresSession, opened_postgres
from pappi.engine.spark import Spark
from pappi.engine.table import Column
from pappi.errors import ReleaseFailed, WorkspaceError
from pappi.ppinot import CountMeasure, DataMeasure, Occurs, Pick, SingleInstance, parse_catalogue
from pappi.ppinot.grammar import parse_expression
from pappi.session import Workspace
from pappi.store import SourceRead
from pappi.values import Epsilon, Kind, Per, PrivacyUnit
from tests.engines.places import ENGINES, placed, postgres_url
from tests.ledgers import server

DAY = datetime(2024, 1, 5, tzinfo=UTC)
DAY_US = 1_704_412_800_000_000
INSTANT = pa.timestamp("us", "UTC")
TERMS = NewLog(until=date(2024, 2, 1))
SUM = parse_catalogue(
    "log: l\nppis:\n  - {id: p, measure: {sum: {count: {activity: A}}, bounds: [0, 1]}}\n", "q.yaml"
)
_tables = count(1)


@dataclass(frozen=True, slots=True)
class Log:
    """A log at its source, under attack."""

    workspace: Workspace

    def cases(self, *measures: SingleInstance, person: str | None = None) -> CaseTable:
        log = self.workspace.log("l")
        place = log.place(self.workspace.root / "none")
        identify = Identify(bytes(32), person)
        return evaluate_cases(
            *(place, log.table, log.terms.anchor, [], log.public.vocabulary, identify),
            also=measures,
        )

    def values(self, *measures: SingleInstance) -> list[list[Any]]:
        found = self.cases(*measures)
        assert found.who is not None
        order = np.argsort(found.who.case_ids.to_pylist())
        return [found.columns[each][order].tolist() for each in measures]

    def release(self) -> None:
        self.workspace.checkpoint().release(SUM, Epsilon.of("0.5"))

    def spent(self) -> list[str]:
        return [str(line.spent) for line in self.workspace.checkpoint().budget("l")]


def added(folder: Path, given: SourceMapping, new: NewLog = TERMS) -> Log:
    workspace = pappi.create(folder / f"w{next(_tables)}")
    workspace.custody.add_log("l", given, new)
    return Log(workspace)


def executed(statement: str, url: str = "") -> None:
    connection = psycopg.connect(url or postgres_url(), autocommit=True, client_encoding="utf8")
    with closing(connection):
        connection.execute(statement.encode())


def in_postgres(
    columns: str, rows: str, table: str = "", **attributes: Kind | None
) -> SourceMapping:
    """A table of case `c`, activity `a`, time `t`, and more; `rows` are a query."""
    name = table or f"attacked_{next(_tables)}"
    executed(f"CREATE TABLE public.{name} (c text, a text, t timestamptz, {columns})")
    executed(f"INSERT INTO public.{name} {rows}")
    mapped = {each: (each, kind) for each, kind in attributes.items()}
    return SourceMapping(postgres_url(), "c", "a", "t", name, attributes=mapped)


def in_parquet(folder: Path, cases: list[str], **columns: Any) -> SourceMapping:  # noqa: ANN401
    path = folder / f"attacked-{next(_tables)}.parquet"
    pq.write_table(events(cases, **columns), path)
    attributes = {name: (name, None) for name in columns}
    return SourceMapping(f"parquet:{path}", "c", "a", "t", attributes=attributes)


def events(cases: list[str], **columns: Any) -> pa.Table:  # noqa: ANN401
    times = pa.array([DAY] * len(cases), INSTANT)
    return pa.table({"c": cases, "a": ["A"] * len(cases), "t": times, **columns})


# --- texts ----------------------------------------------------------------------------


def test_a_database_whose_texts_are_not_in_utf_8_is_refused(tmp_path: Path) -> None:
    server().execute(
        "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    url = server()._server.get_uri(database="latin")
    executed("CREATE TABLE public.e AS SELECT 'ü' AS c, 'A' AS a, now() AS t", url)
    with pytest.raises(WorkspaceError, match="UTF-8"):
        added(tmp_path, SourceMapping(url, "c", "a", "t", "e"))
    with pytest.raises(WorkspaceError, match="UTF-8"), opened_postgres(url, None):
        pass


def test_the_environment_changes_nothing_about_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    monkeypatch.setenv("PGTZ", "Europe/Amsterdam")
    monkeypatch.setenv("PGDATESTYLE", "German")
    monkeypatch.setenv("PGOPTIONS", "-c extra_float_digits=-15")
    rows = (
        "VALUES ('日本', 'A', '2024-01-05Z'::timestamptz, 1/3::float8, '2024-01-05Z'::timestamptz)"
    )
    given = in_postgres("x float8, s timestamptz", rows, x=Kind.TEXT, s=Kind.TEXT)
    found = added(tmp_path, given).cases(DataMeasure("x"), DataMeasure("s"))
    assert found.who is not None
    assert found.who.case_ids.to_pylist() == ["日本"]
    texts = [column.tolist() for column in found.columns.values()]
    assert texts == [["0.3333333333333333"], ["2024-01-05 00:00:00+00"]]


def test_texts_of_a_case_may_add_up_to_more_than_one_value_can_be(tmp_path: Path) -> None:
    rows = "VALUES ('1', 'A', '2024-01-05Z'::timestamptz, 'ok')"
    log = added(tmp_path, in_postgres("note text", rows, "attacked", note=None))
    long = "SELECT '2', 'A', t, repeat('x', 1000000) FROM attacked"
    again = (
        "SELECT '2', 'A', t + i * interval '1 s', note FROM attacked, generate_series(1, 1100) i"
    )
    executed(f"INSERT INTO attacked {long}")
    executed(f"INSERT INTO attacked {again} WHERE c = '2'")
    (notes,) = log.values(DataMeasure("note"))
    assert [note[:2] for note in notes] == ["ok", "xx"]


def test_a_text_too_long_for_a_row_of_postgres_is_missing(tmp_path: Path) -> None:
    values = "VALUES ('1', 'A', '2024-01-05Z'::timestamptz, repeat('x', 1000000)),"
    longer = (
        "('2', 'A', '2024-01-05Z', repeat('x', 1000001)), (repeat('x', 1000001), 'A', now(), '')"
    )
    log = added(tmp_path, in_postgres("note text", f"{values} {longer}", note=None))
    (notes,) = log.values(DataMeasure("note"))
    assert [note and len(note) for note in notes] == [1_000_000, None]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_and_the_last_are_picked_whatever_they_are(engine: str, tmp_path: Path) -> None:
    words = [None, "", "z", "10", "é", None, "9", "a b", "%", "\\x", "'", "last", "", None]
    numbers = [None, -0.0, 1e-300, float("nan"), *[float(n) for n in range(8)], 1 / 3, float("inf")]
    truths = [None, False, *[True] * 10, False, None]
    table = pa.table(
        {
            "case_id": ["1"] * 14,
            "activity": ["A"] * 14,
            "timestamp": pa.array([DAY] * 14, INSTANT),
            "word": words,
            "number": numbers,
            "truth": pa.array(truths, pa.bool_()),
        }
    )
    picked = [DataMeasure(n, pick) for n in ("word", "number", "truth") for pick in Pick]
    picked.append(DataMeasure("word", Pick.LAST, Occurs(parse_expression('word != ""'))))
    found = added(tmp_path, placed(engine, table, tmp_path)).values(*picked)
    assert found == [[""], [""], [0.0], [1 / 3], [0.0], [0.0], ["last"]]


# --- numbers and times ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("t", "'294276-12-31 23:59:59Z'"),
        ("t", "'infinity'"),
        ("t", "'4713-01-01 BC'"),
        ("w", "'294276-12-31'"),
        ("w", "'-infinity'"),
        ("d", "1e-400"),
        ("d", "-1e-400"),
        ("d", "'NaN'"),
        ("d", "1e400"),
        ("i", "-2147483648"),
    ],
)
def test_no_value_of_a_column_makes_a_query_fail(odd: Log, column: str, value: str) -> None:
    executed("UPDATE odd SET (t, w, d, i) = ROW('2024-01-05Z', '2024-01-05', 1, 1) WHERE c = '1'")
    executed(f"UPDATE odd SET {column} = {value} WHERE c = '1'")  # noqa: S608 - ours
    late = CountMeasure(Occurs(parse_expression("d > 5 s or w - timestamp > 1 h")))
    found = odd.cases(DataMeasure("d"), DataMeasure("w"), DataMeasure("i"), late)
    assert len(found.anchor_us) == 2


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Log:
    rows = "SELECT i::text, 'A', '2024-01-05Z'::timestamptz, '2024-01-05'::timestamp, 1, 1"
    rows += " FROM generate_series(1, 2) i"
    kinds = {"w": None, "d": Kind.DURATION, "i": Kind.DURATION}
    given = in_postgres("w timestamp, d numeric, i int", rows, "odd", **kinds)
    return added(tmp_path_factory.mktemp("odd"), given)


def test_nanoseconds_are_cut_as_by_an_import(tmp_path: Path) -> None:
    times = [DAY_US * 1000 + 1999, 1999, -1999]
    given = in_parquet(tmp_path, ["1", "2", "3"], w=pa.array(times, pa.timestamp("ns")))
    assert added(tmp_path, given).values(DataMeasure("w")) == [[DAY_US + 1, 1.0, -1.0]]


# --- persons --------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_case_of_two_persons_counts_for_none(engine: str, tmp_path: Path) -> None:
    """Else who has many cases could count in all, by an event of somebody else in each."""
    names = ["zoe", "zoe", "ann", "bob", None, "zoe"]
    table = pa.table(
        {
            "case_id": ["1", "2", "1", "3", "3", "4"],
            "activity": ["A"] * 6,
            "timestamp": pa.array([DAY] * 6, INSTANT),
            "who": names,
        }
    )
    log = added(tmp_path, placed(engine, table, tmp_path))
    found = log.cases(person="who")
    assert found.who is not None
    assert found.who.persons is not None
    persons = dict(zip(found.who.case_ids.to_pylist(), found.who.persons.to_pylist(), strict=True))
    assert persons == {"1": None, "2": "zoe", "3": "bob", "4": "zoe"}
    declared = log.workspace.log("l")
    kept = found.truncated(PrivacyUnit("who", 1, Per.LOG), declared.horizon, declared.terms.zone)
    assert kept.who is not None
    assert kept.who.persons is not None
    assert sorted(kept.who.persons.to_pylist()) == ["bob", "zoe"]


# --- columns that change --------------------------------------------------------------

CHANGED = "no longer have the declared types"


@pytest.mark.parametrize(
    "change",
    ["x TYPE numeric USING x + 0.6", "x TYPE text USING 'n/a'", "t TYPE timestamp USING now()"],
)
def test_a_column_of_another_type_is_not_read_as_what_it_was(tmp_path: Path, change: str) -> None:
    rows = "SELECT i::text, 'A', '2024-01-05Z'::timestamptz, i FROM generate_series(1, 3) i"
    given = in_postgres("x bigint", rows, x=None)
    log = added(tmp_path, given)
    executed(f"ALTER TABLE {given.table} ALTER {change}")
    with pytest.raises(WorkspaceError, match=CHANGED):
        log.cases(DataMeasure("x"))
    with pytest.raises(ReleaseFailed):
        log.release()


def test_columns_keep_their_types_while_a_session_is_open() -> None:
    given = in_postgres("x bigint", "VALUES ('1', 'A', '2024-01-05Z'::timestamptz, 1)", x=None)
    with opened_postgres(given.url, None) as session:
        assert session.forms_now(("public", str(given.table)), ["x", "c"])
        with pytest.raises(psycopg.errors.LockNotAvailable):
            executed(f"SET lock_timeout = 100; ALTER TABLE {given.table} ALTER x TYPE text")


@pytest.mark.parametrize("name", ["0.parquet", "2.parquet"])
@pytest.mark.parametrize("values", [[1.6, 2.4], [1e30, 0.0], ["7", "n/a"]])
def test_a_file_of_other_types_is_not_read_as_the_rest(
    tmp_path: Path, name: str, values: list[object]
) -> None:
    pq.write_table(events(["1", "2"], x=[1, 2]), tmp_path / "1.parquet")
    given = SourceMapping(
        f"parquet:{tmp_path}/*.parquet", "c", "a", "t", attributes={"x": ("x", None)}
    )
    log = added(tmp_path, given)
    pq.write_table(events(["3", "4"], x=values), tmp_path / name)
    with pytest.raises(WorkspaceError, match=CHANGED):
        log.cases(DataMeasure("x"))
    pq.write_table(events(["3"]), tmp_path / name)
    (found,) = log.values(DataMeasure("x"))
    assert [str(each) for each in found] == ["1.0", "2.0", "nan"]


def test_a_table_of_spark_whose_columns_change_is_not_read(tmp_path: Path) -> None:
    named = events(["1"]).rename_columns(["case_id", "activity", "timestamp"])
    given = placed("spark", named.append_column("x", pa.array([1])), tmp_path)
    log = added(tmp_path, given)
    path = Path(str(given.table).removeprefix("parquet."))
    changed = named.append_column("x", pa.array(["n/a"])).append_column("seq", pa.array([1]))
    pq.write_table(changed, path)
    with pytest.raises(WorkspaceError, match=CHANGED):
        log.cases(DataMeasure("x"))


def test_the_names_of_folders_are_no_columns(tmp_path: Path) -> None:
    folder = tmp_path / "x=777"
    folder.mkdir()
    assert added(tmp_path, in_parquet(folder, ["1"], x=[5])).values(DataMeasure("x")) == [[5.0]]


def test_an_attribute_may_be_called_as_what_decides_ties(tmp_path: Path) -> None:
    given = in_parquet(tmp_path, ["1", "1"], tie_0=["b", "a"], TIE_1=["y", "z"])
    measures = (DataMeasure("tie_0", Pick.FIRST), DataMeasure("TIE_1", Pick.LAST))
    assert added(tmp_path, given).values(*measures) == [["b"], ["z"]]


# --- while it is read -----------------------------------------------------------------


def test_a_case_that_comes_between_two_scans_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(events(["2", "3"], x=[1.0, 30.0]), tmp_path / "1.parquet")
    given = SourceMapping(
        f"parquet:{tmp_path}/*.parquet", "c", "a", "t", attributes={"x": ("x", None)}
    )
    log = added(tmp_path, given)

    class Growing(Parquet):
        def columns(self, query: exp.Expr) -> dict[str, Column]:
            found = super().columns(query)
            pq.write_table(events(["1"], x=[50.0]), tmp_path / "2.parquet")
            return found

    monkeypatch.setattr("pappi.engine.parquet.Parquet", Growing)
    many = [CountMeasure(Occurs(parse_expression(f"x > {n}"))) for n in range(20)]
    found = log.cases(*many)
    assert found.who is not None
    assert found.who.case_ids.to_pylist() == ["2", "3"]
    assert [found.columns[each].tolist() for each in (many[0], many[-1])] == [[1, 1], [0, 1]]


def test_a_frozen_server_fails_a_release_and_the_same_request_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = in_postgres("x int", "VALUES ('1', 'A', '2024-01-05Z'::timestamptz, 1)")
    log = added(tmp_path, given)
    with _frozen(monkeypatch) as frozen:
        with pytest.raises(ReleaseFailed):
            log.release()
        assert frozen, "it failed while the server stands still, and not once it goes on"
        assert log.spent() == ["0.5"]
    log.release()
    assert log.spent() == ["0.5"]


@contextmanager
def _frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The server stops in the middle of the first query that looks at events."""
    frozen: list[int] = []
    closed = threading.Event()
    fetched, close = PostgresSession._fetched, PostgresSession._close

    def freezing(session: PostgresSession, sql: str) -> pa.Table:
        if "GROUP BY" in sql:
            (row,) = fetched(session, "SELECT PG_BACKEND_PID() AS pid").to_pylist()
            frozen.append(row["pid"])
            os.kill(row["pid"], signal.SIGSTOP)
        return fetched(session, sql)

    def closing_it(session: PostgresSession) -> None:
        close(session)
        closed.set()

    with monkeypatch.context() as patched:
        patched.setattr("pappi.engine.postgres.STATEMENT_SECONDS", 0)
        patched.setattr("pappi.engine.postgres.GRACE_SECONDS", 4)
        patched.setattr(PostgresSession, "_fetched", freezing)
        patched.setattr(PostgresSession, "_close", closing_it)
        try:
            yield frozen
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
        assert closed.wait(120)  # what was left behind ends by itself


def test_what_never_answers_is_given_up_and_left_to_itself() -> None:
    left: list[object] = []
    never = threading.Event()
    with pytest.raises(TimeoutError):
        answered(never.wait, 0.01, left.append)
    assert len(left) == 1
    never.set()
    assert answered(lambda: 5, 5, left.append) == 5
    with pytest.raises(ZeroDivisionError):
        answered(lambda: 1 // 0, 5, left.append)
    assert len(left) == 1


# --- what it costs, and what is said --------------------------------------------------


def test_operands_are_copied_only_where_they_stand_twice() -> None:
    operand = exp.column("a", quoted=True)
    assert filled("ABS(:x)", "postgres", x=operand).this is operand
    both = filled(":x + :x", "postgres", x=operand)
    assert both.this is operand
    assert both.sql("postgres") == '"a" + "a"'


@pytest.mark.parametrize("engine", ENGINES)
def test_more_activities_than_can_be_declared_are_not_fetched(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"a{n}" for n in range(9)]
    times = pa.array([DAY] * 9, INSTANT)
    table = pa.table({"case_id": names, "activity": names, "timestamp": times})
    log = added(tmp_path, placed(engine, table, tmp_path))
    source = log.workspace.log("l").source
    assert source is not None
    monkeypatch.setattr("pappi.engine.cases._MOST_ACTIVITIES", 4)
    assert len(survey(SourceRead(source)).activities) == 4


def test_what_is_put_aside_meanwhile_stays_in_the_workspace(tmp_path: Path) -> None:
    settings = "SELECT current_setting('temp_directory'), current_setting('enable_external_access')"
    for scratch, told in ((tmp_path, str(tmp_path)), (None, "")):
        with closing(foreign._connection(scratch)) as connection:
            assert connection.execute(settings).fetchall() == [(told, False)]


@pytest.mark.parametrize("said", ["no such user: p@ss/word", "postgresql://ann:p%40ss%2Fword@h/d"])
def test_no_password_is_in_what_a_driver_says(said: str) -> None:
    with pytest.raises(WorkspaceError) as failed, explained("postgres", "p@ss/word"):
        raise OSError(said)
    assert failed.value.detail in ("OSError: no such user: …", "OSError: postgresql://ann:…@h/d")


def test_a_table_of_spark_may_be_in_a_catalogue() -> None:
    tables: Mapping[tuple[str, ...], str] = {
        ("visits",): "`visits`",
        ("lake", "visits"): "`lake`.`visits`",
        ("main.lake", "visits"): "`main`.`lake`.`visits`",
    }
    assert {names: Spark().table(names).sql("spark") for names in tables} == tables
