"""The SQLite file of captured events.

A commit is on the disk before it returns. What is deleted is overwritten, and `emptied`
rewrites the file, so that no page and no log of changes still holds it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from pappi.errors import WorkspaceError

_BUSY_SECONDS = 30
_SETTINGS = (
    "PRAGMA synchronous = FULL",  # a commit is on the disk before it returns
    "PRAGMA fullfsync = ON",  # … on macOS too
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",  # personal data goes into no file but this one
)
# An event is open while `part` is null. It is being sealed once it has the number of a part,
# and sealed once it has lost its content: then its id, case and digest are all that is left.
_SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS event (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        data TEXT NOT NULL,
        imported INTEGER NOT NULL,
        id TEXT NOT NULL,
        case_id TEXT NOT NULL,
        digest BLOB NOT NULL,
        part INTEGER,
        sealed INTEGER NOT NULL DEFAULT 0,
        ts_us INTEGER,
        activity TEXT,
        attributes TEXT,
        person TEXT,
        UNIQUE (data, imported, id)
    )
    """,
    "CREATE INDEX IF NOT EXISTS event_case ON event (data, case_id, person)",
    "CREATE INDEX IF NOT EXISTS event_open ON event (data, part) WHERE sealed = 0",
    """
    CREATE TABLE IF NOT EXISTS erased (
        data TEXT NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (data, digest)
    ) WITHOUT ROWID
    """,
)
_VERSION = 1

_CAUSES = {
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_LOCKED: "another process keeps it locked",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
    sqlite3.SQLITE_ERROR: "the file is damaged",  # our statements are fixed: its tables are not
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write",
    sqlite3.SQLITE_NOTADB: "the file is damaged",
    sqlite3.SQLITE_PERM: "the file may not be accessed",
    sqlite3.SQLITE_READONLY: "the file cannot be written",
}


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for one piece of work; SQLite's complaints come out as WorkspaceError."""
    with _explained(path), closing(_connect(path)) as connection:
        yield connection


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction, alone among all processes: on the disk at the end, or undone."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def emptied(connection: sqlite3.Connection) -> None:
    """Rewrite the file, so that what was deleted is in no page of it and in no log."""
    connection.execute("VACUUM")
    ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if busy:
        raise WorkspaceError(
            "captured events are being read, so that what was deleted may still be on the disk",
            hint="do the same again when that has ended",
        )


def _connect(path: Path) -> sqlite3.Connection:
    if not path.exists():
        with suppress(OSError):  # of what is wrong here SQLite will complain
            path.touch(mode=0o600)  # and SQLite gives its -wal and -shm the same
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        for setting in _SETTINGS:
            connection.execute(setting).close()
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        if version != _VERSION:
            _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    _keep_changes_in_a_log(connection)
    with writing(connection):
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_VERSION}")


def _keep_changes_in_a_log(connection: sqlite3.Connection) -> None:
    """So that reading and writing do not wait for each other. The file remembers it.

    Of two processes that make the file at once, SQLite lets one fail without waiting.
    """
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
        raise WorkspaceError(
            f"the inbox {path.name} could not be used: {_CAUSES.get(code, 'SQLite refused')}",
            hint="put this right and do the same again: nothing is taken in or erased twice",
            detail=f"{path}: {error}",
        ) from error
