"""A ledger in a SQLite file: transactions, and what SQLite's complaints mean."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from pappi.budget.chain import Fault
from pappi.errors import LedgerBroken, LedgerUnavailable
from pappi.store.ledger.journal import DAMAGED, Clock, Journal, broken
from pappi.store.ledger.sqlite_schema import GUARDS, SNAPSHOTS, TABLES, has_ledger_shape

# SQLite does not queue those who wait: with many of them, one may be passed over for long.
_BUSY_SECONDS = 120
_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a commit is on the disk before it returns
    "PRAGMA fullfsync = ON",  # … on macOS too
    "PRAGMA foreign_keys = ON",
)

_CAUSES = {
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write",
    sqlite3.SQLITE_PERM: "the file may not be accessed",
    sqlite3.SQLITE_READONLY: "the file cannot be written",
}
_FAILURES = (sqlite3.Error, OverflowError, UnicodeDecodeError)
# A plain SQL error too: our statements are fixed, so it is the tables that have changed.
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


class SqliteJournal(Journal):
    """One open connection; threads take turns, a forked child must open its own."""

    def __init__(self, connection: sqlite3.Connection, path: Path, clock: Clock) -> None:
        super().__init__(path.name, clock)
        self._connection = connection
        self._path = path
        self._turn = threading.RLock()
        self._process = os.getpid()
        self._opened = _identity(path)

    @classmethod
    def create(cls, path: Path, clock: Clock) -> Self:
        """A new file with the opening entry; never in the place of one that exists."""
        _claim(path)
        journal = cls.open(path, clock)
        try:
            with journal.writing():
                for statement in TABLES + GUARDS:
                    journal.run(statement)
                journal.begin()
        except BaseException:
            journal.close()
            path.unlink()
            raise
        return journal

    @classmethod
    def open(cls, path: Path, clock: Clock) -> Self:
        """The file as it is, not yet verified."""
        if not path.is_file():
            raise LedgerBroken(
                f"the ledger {path.name} is missing",
                hint="without it nobody knows what is already spent: restore it from a backup",
                detail=str(path),
            )
        with _explained(path):
            return cls(_connect(path), path, clock)

    def close(self) -> None:
        with self._turn:
            self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, alone among all processes: on the disk at the end, or undone."""
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One moment of the file, whatever others write meanwhile."""
        with self._transaction("BEGIN"):
            yield

    def run(self, statement: str, *values: object) -> list[Any]:
        """Run one statement and fetch all it gives."""
        with self._turn:
            self._refuse_forked()
            try:
                return self._connection.execute(statement, values).fetchall()
            except _FAILURES as error:
                raise _explanation(error, self._path) from error

    def check_file(self) -> None:
        """Raise the first Fault that SQLite itself finds in any page."""
        ((verdict,),) = self.run("PRAGMA integrity_check(1)")
        if verdict != "ok":
            self._refuse_unread(verdict)
            raise Fault(None, f"{DAMAGED}: {verdict}")

    def check_shape(self) -> None:
        """Raise a Fault if the tables or their guards are not those of a ledger."""
        if not has_ledger_shape(self._connection):
            raise Fault(None, "its tables or their guards are not those of a PaPPI ledger")

    def add_snapshots(self) -> None:
        """The table for snapshots, which came with format 3; only while `writing`."""
        for statement in SNAPSHOTS:
            self.run(statement)

    def _refuse_unread(self, verdict: str) -> None:
        """What could not be read is not damaged: SQLite names the cause by its number."""
        for number in map(int, re.findall(r"error code=? ?([0-9]+)", verdict)):
            code = number & 0xFF
            if code in _CAUSES or code == sqlite3.SQLITE_NOMEM:
                raise _unusable(code, self._path, verdict)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._turn, _explained(self._path):
            self._refuse_forked()
            self._refuse_nested()
            self._connection.execute(begin)
            try:
                # Only now: it may have waited for long, and the file been replaced meanwhile.
                self._refuse_other_file()
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _refuse_forked(self) -> None:
        # SQLite's locks do not survive a fork: two processes would believe they hold one.
        if os.getpid() != self._process:
            raise LedgerUnavailable("the ledger was opened by another process; open it anew")

    def _refuse_nested(self) -> None:
        if self._connection.in_transaction:
            raise RuntimeError("a transaction of the ledger inside another one")

    def _refuse_other_file(self) -> None:
        # What is written into a file that has lost its name is lost with it.
        if _identity(self._path) != self._opened:
            raise LedgerBroken(
                f"the ledger {self.name} was moved or replaced while it was in use",
                hint="nothing was released; put the ledger back and ask again",
            )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _claim(path: Path) -> None:
    try:
        path.touch(mode=0o600, exist_ok=False)  # SQLite gives its -wal and -shm the same mode
    except OSError as error:
        raise LedgerUnavailable(
            f"cannot create the ledger {path.name}: {error.strerror}",
            hint="a ledger is never overwritten; choose another place",
            detail=str(error),
        ) from error


def _connect(path: Path) -> sqlite3.Connection:
    # mode=rw: a ledger that is not there must be an error, not a fresh, unspent one.
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=rw",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    # Damaged text must come out as different text, for the chain to judge.
    connection.text_factory = _any_text
    try:
        for setting in _SETTINGS:
            connection.execute(setting).close()
    except BaseException:
        connection.close()
        raise
    return connection


def _any_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except _FAILURES as error:
        raise _explanation(error, path) from error


def _explanation(error: Exception, path: Path) -> LedgerUnavailable:
    if isinstance(error, UnicodeDecodeError):
        # Where damage leaves text in no encoding, Python cannot even read SQLite's complaint.
        return broken(path.name, DAMAGED)
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
    if code in _DAMAGE_CODES:
        return broken(path.name, DAMAGED)
    return _unusable(code, path, str(error))


def _unusable(code: int, path: Path, said: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"the ledger {path.name} could not be used: {_CAUSES.get(code, 'SQLite refused')}",
        hint="nothing was released; put this right and ask again",
        detail=f"{path}: {said}",
    )
