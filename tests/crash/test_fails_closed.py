"""Whatever ails the ledger: no charge, no case read, a clear error, and all is well after.

A long-running process asks through its open ledger, and a fresh one opens it anew. Both are
refused while the fault lasts; when it is gone, both go on, and nothing is lost.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pappi.errors import LedgerBroken, WorkspaceError
from pappi.store import LedgerSession
from tests.crash import faults
from tests.crash.campaign import MONTHS, findings, scene_on
from tests.crash.faults import Fault, failing, postgres_error, sqlite_error
from tests.crash.victims import LOG, Scene, Watched, ask, watched
from tests.ledgers import Database

Opened = tuple[Scene, LedgerSession, Watched]


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Opened]:
    yield from session_on("sqlite", tmp_path)


@pytest.fixture
def on_postgres(tmp_path: Path) -> Iterator[Opened]:
    yield from session_on("postgres", tmp_path)


def session_on(database: Database, folder: Path) -> Iterator[Opened]:
    with scene_on(database, folder) as scene:
        ledger_session, session = watched(scene)
        with closing(ledger_session):
            yield scene, ledger_session, session


def asked(scene: Scene, session: Watched, number: int) -> str:
    scene.write([f"asked {number}"])
    return ask(session, number)


def check_that_it_fails_closed(on: Opened, fault: Fault, sentence: str) -> WorkspaceError:
    scene, ledger_session, session = on
    shown = asked(scene, session, 1)
    drawn = scene.noted("drew")
    with fault(scene, ledger_session), pytest.raises(WorkspaceError, match=sentence) as caught:
        asked(scene, session, 2)
    assert scene.noted("drew") == drawn, "a case was read although nothing was charged"
    assert asked(scene, session, 1) == shown
    assert findings(scene) == []
    asked(scene, session, 2)
    assert findings(scene) == []
    assert charges_in(scene) == 2 * MONTHS
    return caught.value


def check_that_a_fresh_process_is_refused_too(on: Opened, fault: Fault, sentence: str) -> None:
    scene, ledger_session, session = on
    shown = asked(scene, session, 1)
    fresh, other = watched(scene)
    with closing(fresh):
        with fault(scene, ledger_session), pytest.raises(WorkspaceError, match=sentence):
            ask(other, 2)
        assert ask(other, 1) == shown
    assert charges_in(scene) == MONTHS


def charges_in(scene: Scene) -> int:
    ledger_session, _ = watched(scene)
    with closing(ledger_session), ledger_session.ledger() as ledger:
        return len(ledger.charges(LOG))


# Faults of an open ledger


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (faults.no_page_left, "the disk is full"),
        (faults.no_room_for_files, "the disk"),
        (faults.reading_only, "the file cannot be written"),
        (faults.locked, "another process has it locked"),
        (faults.missing, "moved or replaced"),
        (faults.replaced, "moved or replaced"),
        (faults.another_file, "moved or replaced"),
        (faults.turned_back, "moved or replaced"),
        (faults.edited, "entry"),
        (faults.cut, "head record"),
        (failing("BEGIN", sqlite_error(sqlite3.SQLITE_CANTOPEN)), "cannot be opened"),
        (failing("SELECT spent", sqlite_error(sqlite3.SQLITE_IOERR_READ)), "failed to read"),
        (failing("INSERT INTO journal", sqlite_error(sqlite3.SQLITE_IOERR_WRITE)), "failed to"),
        (failing("INSERT INTO journal", sqlite_error(sqlite3.SQLITE_CORRUPT)), "damaged"),
        (failing("COMMIT", sqlite_error(sqlite3.SQLITE_IOERR_FSYNC)), "failed to"),
        (failing("COMMIT", sqlite_error(sqlite3.SQLITE_FULL)), "the disk is full"),
    ],
)
def test_a_file_that_fails_grants_nothing_and_goes_on_after(
    on_sqlite: Opened, fault: Fault, sentence: str
) -> None:
    error = check_that_it_fails_closed(on_sqlite, fault, sentence)
    assert error.hint
    assert "SQLite's words" not in error.message


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (faults.locked, "another process has"),
        (faults.missing, "does not verify"),
        (faults.replaced, "the latest are missing"),
        (faults.edited, "entry"),
        (faults.cut, "head record"),
        (faults.lost_connection, "cannot be reached"),
        (failing("BEGIN ISOLATION LEVEL READ COMMITTED", postgres_error("25006")), "read-only"),
        (failing("SELECT spent", postgres_error("58030")), "failed to read"),
        (failing("INSERT INTO journal", postgres_error("53100")), "is full"),
        (failing("INSERT INTO journal", postgres_error("XX001")), "damaged"),
        (failing("COMMIT", postgres_error("53100")), "is full"),
        (failing("COMMIT", postgres_error("57P01")), "cannot be reached"),
    ],
)
def test_a_server_that_fails_grants_nothing_and_goes_on_after(
    on_postgres: Opened, fault: Fault, sentence: str
) -> None:
    error = check_that_it_fails_closed(on_postgres, fault, sentence)
    assert error.hint
    assert "PostgreSQL's words" not in error.message


def test_a_stopped_server_grants_nothing_and_goes_on_when_it_is_back(on_postgres: Opened) -> None:
    check_that_it_fails_closed(on_postgres, faults.stopped_server, "cannot be reached")


def test_an_address_that_leads_nowhere_grants_nothing(on_postgres: Opened) -> None:
    error = check_that_it_fails_closed(on_postgres, faults.wrong_address, "cannot be reached")
    assert "hunter2" not in f"{error} {error.hint} {error.detail}"


# A commit whose reply is lost: it has happened, and nobody knows


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_charge_that_was_written_although_it_seemed_to_fail_is_completed_for_nothing(
    tmp_path: Path, database: Database
) -> None:
    error = sqlite_error(sqlite3.SQLITE_IOERR) if database == "sqlite" else postgres_error("08006")
    lost = failing("COMMIT", error, after=True)
    for scene, ledger_session, session in session_on(database, tmp_path):
        with lost(scene, ledger_session), pytest.raises(WorkspaceError):
            asked(scene, session, 1)
        assert scene.noted("drew") == []
        assert charges_in(scene) == MONTHS
        shown = asked(scene, session, 1)
        assert (asked(scene, session, 1), charges_in(scene)) == (shown, MONTHS)
        assert findings(scene) == []


# Opening


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (faults.missing, "is missing"),
        (faults.replaced, "not the ledger the workspace was created with"),
        (faults.another_file, "does not verify"),
        (faults.edited, "does not verify"),
        (faults.cut, "does not verify"),
    ],
)
def test_a_fresh_process_does_not_begin_with_a_file_that_is_not_sound(
    on_sqlite: Opened, fault: Fault, sentence: str
) -> None:
    check_that_a_fresh_process_is_refused_too(on_sqlite, fault, sentence)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (faults.missing, "is missing"),
        (faults.replaced, "not the ledger the workspace was created with"),
        (faults.edited, "does not verify"),
        (faults.cut, "does not verify"),
        (faults.wrong_address, "cannot be reached"),
    ],
)
def test_a_fresh_process_does_not_begin_with_a_server_that_is_not_sound(
    on_postgres: Opened, fault: Fault, sentence: str
) -> None:
    check_that_a_fresh_process_is_refused_too(on_postgres, fault, sentence)


def test_deleting_the_ledger_gives_nobody_a_fresh_budget(on_sqlite: Opened) -> None:
    scene, ledger_session, session = on_sqlite
    asked(scene, session, 1)
    ledger_session.close()
    faults.empty_ledger(scene)
    with pytest.raises(LedgerBroken, match="not the ledger the workspace"):
        ask(session, 1)
