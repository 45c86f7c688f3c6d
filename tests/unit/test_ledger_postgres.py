"""A ledger in PostgreSQL: safe settings, shape, locks, and errors that give nothing away."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pappi.errors import LedgerBroken, LedgerUnavailable, WorkspaceError
from pappi.ledger import KeyState, Ledger, open_ledger, utc_now
from pappi.ledger.postgres import PostgresJournal
from pappi.values import Epsilon
from tests.ledgers import (
    OCTOBER,
    InPostgres,
    charge,
    server,
)

pytestmark = pytest.mark.outside

LIMITS = {OCTOBER: Epsilon.of(1)}


@pytest.fixture
def place() -> Iterator[InPostgres]:
    with server().database() as place:
        yield place


@pytest.fixture
def ledger(place: InPostgres) -> Iterator[Ledger]:
    with place.create() as ledger:
        ledger.charge([charge("paid")], LIMITS)
        yield ledger


def has_connections(place: InPostgres, number: int) -> bool:
    """Whether the server comes to have so many of ours: it closes one after its client has gone."""
    return any(_connections(place) == number for _ in range(1_000))


def _connections(place: InPostgres) -> int:
    ((count,),) = place.execute(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE application_name = 'pappi' AND datname = current_database()"
    )
    return int(count)


# Settings


def test_commits_reach_the_disk_whatever_the_server_and_the_address_say(place: InPostgres) -> None:
    place.execute("ALTER ROLE postgres SET synchronous_commit = off")
    try:
        lazy = InPostgres(f"{place.url}&options=-c%20synchronous_commit%3Doff")
        with lazy.create() as ledger:
            assert ledger._journal.run("SHOW synchronous_commit") == [("on",)]
            assert ledger._journal.run("SHOW lock_timeout") == [("30s",)]
    finally:
        place.execute("ALTER ROLE postgres RESET synchronous_commit")


def test_a_server_that_may_lose_what_is_committed_is_refused(place: InPostgres) -> None:
    place.create().close()
    with without_fsync(place), pytest.raises(WorkspaceError, match="flush commits to disk"):
        place.open()
    place.open().close()


class without_fsync:  # noqa: N801 - reads as a condition
    """While this lasts, the server does not wait for the disk."""

    def __init__(self, place: InPostgres) -> None:
        self._place = place

    def __enter__(self) -> None:
        self._set("ALTER SYSTEM SET fsync = off", "off")

    def __exit__(self, *_error: object) -> None:
        self._set("ALTER SYSTEM RESET fsync", "on")

    def _set(self, statement: str, expected: str) -> None:
        self._place.execute(statement)
        self._place.execute("SELECT pg_reload_conf()")
        while self._place.execute("SHOW fsync") != [(expected,)]:
            pass


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ("SELECT false, true, true", "flush commits to disk"),
        ("SELECT true, false, true", "every text"),
        ("SELECT true, true, false", "read-only"),
    ],
)
def test_a_server_that_does_not_fit_gets_no_ledger(
    place: InPostgres, monkeypatch: pytest.MonkeyPatch, facts: str, sentence: str
) -> None:
    monkeypatch.setattr("pappi.ledger.postgres._FACTS", facts)
    with pytest.raises(WorkspaceError, match=sentence):
        place.create()
    assert has_connections(place, 0)


def test_temporary_tables_cannot_stand_in_for_the_ledgers(ledger: Ledger) -> None:
    ledger._journal.run("CREATE TEMPORARY TABLE account (log TEXT, block TEXT, analyst TEXT)")
    assert ledger.spent("hospital") == {OCTOBER: Epsilon.of("0.1")}


# Transactions


def test_a_writer_reads_what_the_one_before_it_wrote_whatever_the_address_says(
    place: InPostgres,
) -> None:
    """A snapshot taken before the wait for the lock would show a budget that is spent."""
    option = "options=-c%20default_transaction_isolation%3Dserializable"
    with InPostgres(f"{place.url}&{option}").create() as ledger, ledger._journal.writing():
        assert ledger._journal.run("SHOW transaction_isolation") == [("read committed",)]


def test_a_forked_child_leaves_the_connection_to_its_parent(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as child:
        child.setattr("os.getpid", lambda: -1)
        ledger.close()
    assert ledger.charge([charge("a")], LIMITS) == {"a": KeyState.NEW}


def test_a_transaction_that_postgresql_undid_is_not_taken_for_committed(ledger: Ledger) -> None:
    """After a failed statement COMMIT is answered, too: with a rollback."""

    def permit() -> None:
        with pytest.raises(WorkspaceError):
            ledger._journal.run("SELECT 1 / 0")

    with pytest.raises(WorkspaceError):
        ledger.charge([charge("a")], LIMITS, permit)
    with pytest.raises(WorkspaceError, match="rolled back"), ledger._journal.writing():
        permit()
    assert ledger.states(["a"]) == {"a": KeyState.NEW}
    assert ledger.append("grant", {}) == 3


def test_a_reader_sees_one_moment_while_others_write(ledger: Ledger, place: InPostgres) -> None:
    with ledger._journal.reading():
        before = ledger.acts("charge")
        with place.open() as other:
            other.charge([charge("b")], LIMITS)
        assert ledger.acts("charge") == before
    assert len(ledger.acts("charge")) == 2


def test_a_reader_cannot_write(ledger: Ledger) -> None:
    with pytest.raises(WorkspaceError, match="read-only"), ledger._journal.reading():
        ledger._journal.run("DELETE FROM cell")


def test_a_writer_that_waits_too_long_is_told_who_is_in_the_way(
    ledger: Ledger, place: InPostgres
) -> None:
    ledger._journal.run("SET lock_timeout = '10ms'")
    with place.locked(), pytest.raises(WorkspaceError, match="another process has") as caught:
        ledger.charge([charge("a")], LIMITS)
    assert "ask again" in caught.value.hint
    ledger._journal.run("SET lock_timeout = '30s'")
    assert ledger.charge([charge("a")], LIMITS) == {"a": KeyState.NEW}


def test_vacuuming_and_writing_do_not_wait_for_each_other(
    ledger: Ledger, place: InPostgres
) -> None:
    with ledger._journal.writing():
        ledger._journal.append("grant", {})
        vacuuming = threading.Thread(target=place.execute, args=("VACUUM journal",))
        vacuuming.start()
        vacuuming.join(timeout=120)
        assert not vacuuming.is_alive()


@pytest.mark.parametrize("when", ["before", "within"])
def test_a_lost_connection_grants_nothing_and_a_new_one_goes_on(
    ledger: Ledger, place: InPostgres, when: str
) -> None:
    def lose() -> None:
        place.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE application_name = 'pappi' AND datname = current_database()"
        )

    if when == "before":
        lose()
    with pytest.raises(WorkspaceError, match="cannot be reached"):
        ledger.charge([charge("a")], LIMITS, lose)
    with pytest.raises(WorkspaceError, match="cannot be reached"):
        ledger.states(["a"])
    with place.open() as anew:
        assert anew.states(["a", "paid"]) == {"a": KeyState.NEW, "paid": KeyState.PENDING}


def test_a_ledger_replaced_while_in_use_grants_nothing(ledger: Ledger, place: InPostgres) -> None:
    place.remove()
    place.create().close()
    with pytest.raises(LedgerUnavailable, match="moved or replaced"):
        ledger.charge([charge("a")], LIMITS)


# Shape


@pytest.mark.parametrize("table", ["journal", "head", "account", "cell"])
def test_no_table_can_be_emptied(ledger: Ledger, place: InPostgres, table: str) -> None:
    before = ledger.verify()
    with pytest.raises(psycopg.Error, match=r"append-only|moves on|refunded|never forgotten"):
        place.execute(f"TRUNCATE {table} CASCADE")
    assert ledger.verify() == before


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE account",
        "DROP TRIGGER head_stays ON head",
        "ALTER TABLE journal DISABLE TRIGGER journal_is_not_cut",
        "ALTER TABLE journal DISABLE TRIGGER ALL",
        "CREATE OR REPLACE FUNCTION head_stays() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
        "ALTER FUNCTION head_stays() SECURITY DEFINER",
        "ALTER FUNCTION head_stays() SET search_path = public",
        "ALTER TABLE head SET UNLOGGED",
        "ALTER TABLE account DROP CONSTRAINT account_is_spent",
        "ALTER TABLE account ALTER COLUMN spent TYPE numeric",
        "ALTER TABLE account ALTER COLUMN spent SET DEFAULT 0",
        "ALTER TABLE cell ALTER COLUMN charged SET NOT NULL",
        "ALTER TABLE cell ENABLE ROW LEVEL SECURITY",
        "CREATE RULE forget AS ON INSERT TO account DO INSTEAD NOTHING",
        "CREATE TABLE more () INHERITS (journal)",
        "CREATE TABLE public.more () INHERITS (pappi.journal)",
        "CREATE VIEW extra AS SELECT 1",
        "CREATE FUNCTION extra() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "CREATE TRIGGER extra BEFORE INSERT ON cell FOR EACH ROW EXECUTE FUNCTION head_stays()",
    ],
)
def test_tables_and_guards_that_are_not_ours_are_found(
    ledger: Ledger, place: InPostgres, statement: str
) -> None:
    place.execute(statement)
    try:
        assert not ledger.verify().ok
        with pytest.raises(LedgerBroken, match=r"guards|damaged"):
            place.open()
    finally:
        place.execute("DROP TABLE IF EXISTS public.more")


def test_a_schema_with_other_things_in_it_does_not_become_a_ledger(place: InPostgres) -> None:
    place.execute("CREATE SCHEMA pappi")
    place.execute("CREATE TABLE pappi.precious (x TEXT)")
    with pytest.raises(WorkspaceError, match="cannot create"):
        place.create()
    assert place.execute("SELECT * FROM pappi.precious") == []
    place.execute("DROP TABLE pappi.precious")
    place.create().close()
    place.open().close()


def test_a_creation_that_fails_leaves_no_half_ledger(
    place: InPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    nonsense = ("CREATE TABLE journal (seq BIGINT)", "CREATE TABLE nonsense (")
    monkeypatch.setattr("pappi.ledger.postgres.statements", lambda: iter(nonsense))
    with pytest.raises(WorkspaceError):
        place.create()
    assert place.execute("SELECT to_regnamespace('pappi')") == [(None,)]


# The password


def connected_with(monkeypatch: pytest.MonkeyPatch, url: str) -> dict[str, object]:
    """What libpq would be given to connect with."""
    given: list[str] = []

    def connect(whole: str, **_: object) -> None:
        given.append(whole)
        raise psycopg.OperationalError

    monkeypatch.setattr(psycopg, "connect", connect)
    with pytest.raises(WorkspaceError):
        open_ledger(url)
    return {**conninfo_to_dict(given[0])}


@pytest.mark.parametrize("password", ["a@b/c:d#e?f%g", 'it\'s \\ "x"', " blanks ", "ε"])
def test_a_password_of_any_characters_comes_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    file = tmp_path / "password"
    file.write_text(f"{password}\n", encoding="utf-8")
    monkeypatch.setenv("PAPPI_LEDGER_PASSWORD_FILE", str(file))
    found = connected_with(monkeypatch, "postgresql://pappi@db/ledger?sslmode=verify-full")
    assert found["password"] == password
    assert (found["user"], found["host"], found["dbname"]) == ("pappi", "db", "ledger")
    assert found["sslmode"] == "verify-full"
    own = connected_with(monkeypatch, "postgresql://pappi:own@db/ledger")
    assert own["password"] == "own"  # noqa: S105 - made up


def test_a_password_file_that_cannot_be_read_is_one_clear_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAPPI_LEDGER_PASSWORD_FILE", str(tmp_path / "none"))
    with pytest.raises(WorkspaceError, match="password cannot be read"):
        open_ledger("postgresql://pappi@db/ledger")


# Errors


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pappi.ledger.postgres")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(WorkspaceError, match="extra 'postgres'") as caught:
        open_ledger("postgresql:///ledger")
    assert "pappi[postgres]" in caught.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@127.0.0.1:1/ledger",
        "postgresql://ann:hunter2@nowhere.invalid/ledger",
        "postgresql://ann:hunter2%@127.0.0.1/ledger",
        "postgresql://ann@127.0.0.1/ledger?hunter2=1",
        "password=hunter2 hunter2",
        "hunter2",
    ],
)
def test_no_error_gives_a_password_away(url: str) -> None:
    with pytest.raises(WorkspaceError, match=r"cannot be (reached|read)") as caught:
        open_ledger(url)
    error: BaseException | None = caught.value
    assert "127.0.0.1" not in caught.value.message
    while error is not None:
        assert "hunter2" not in f"{error!r} {error} {vars(error)}"
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("53100", "is full"),
        ("53300", "no connection left"),
        ("25006", "read-only"),
        ("58030", "failed to read or write"),
        ("57P01", "cannot be reached"),
        ("28P01", "denied access"),
        ("42501", "denied access"),
        ("40P01", "refused"),
    ],
)
def test_each_complaint_of_the_server_becomes_one_clear_sentence(
    ledger: Ledger, state: str, sentence: str
) -> None:
    complaint = psycopg.errors.lookup(state)("in the server's words")

    def complain() -> None:
        raise complaint

    with pytest.raises(WorkspaceError, match=sentence) as caught:
        ledger.charge([charge("a")], LIMITS, complain)
    assert not isinstance(caught.value, LedgerBroken)
    assert "server's words" not in caught.value.message
    assert caught.value.detail == "in the server's words"
    assert ledger.states(["a"]) == {"a": KeyState.NEW}


@pytest.mark.parametrize("state", ["XX001", "XX002", "42P01", "42703", "3F000"])
def test_damage_the_server_reports_is_a_broken_ledger(ledger: Ledger, state: str) -> None:
    def complain() -> None:
        raise psycopg.errors.lookup(state)("in the server's words")

    with pytest.raises(LedgerBroken, match="damaged"):
        ledger.charge([charge("a")], LIMITS, complain)


def test_a_role_that_may_only_read_is_told_so(ledger: Ledger, place: InPostgres) -> None:
    for statement in (
        "CREATE ROLE reader LOGIN",
        "GRANT USAGE ON SCHEMA pappi TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA pappi TO reader",
    ):
        place.execute(statement)
    try:
        reader = place.url.replace("postgres:@", "reader:@")
        with open_ledger(reader) as reading:
            assert reading.states(["paid"]) == {"paid": KeyState.PENDING}
            with pytest.raises(WorkspaceError, match="denied access"):
                reading.charge([charge("a")], LIMITS)
    finally:
        ledger.close()
        place.execute("DROP OWNED BY reader")
        place.execute("DROP ROLE reader")


def test_a_connection_that_fails_its_checks_is_closed(place: InPostgres) -> None:
    with pytest.raises(LedgerBroken, match="missing"):
        place.open()
    assert has_connections(place, 0)


def test_a_journal_is_one_connection(place: InPostgres) -> None:
    place.create().close()
    with closing(PostgresJournal.open(place.url, utc_now)):
        assert has_connections(place, 1)
