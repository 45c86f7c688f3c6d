"""A ledger in a SQLite file: its tables, transactions, and what SQLite's errors mean.

The journal is the truth. `account` and `cell` are projections of it, written in the same
transaction, so that checking a budget need not read the whole past; `head` repeats the
last digest, so that a journal whose end was cut off is noticed; `snapshot` holds what the
journal adds up to at one of its entries, signed, so that opening need not add it up again. The
triggers keep mistakes from changing the record: whoever can write the file can drop them, but
not unnoticed.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Self

from pappi.errors import LedgerBroken, LedgerUnavailable
from pappi.ledger.journal import DAMAGED, Clock, Flaw, Journal, broken

# New in format 3: a ledger of an earlier format gets it when it is migrated.
_SNAPSHOTS = """
    CREATE TABLE snapshot (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seq INTEGER NOT NULL,
        body TEXT NOT NULL,
        signature TEXT NOT NULL
    )
    """
_SNAPSHOT_GUARDS = (
    """
    CREATE TRIGGER snapshot_moves_on BEFORE UPDATE ON snapshot
    WHEN NEW.seq <= OLD.seq
    BEGIN SELECT RAISE(ABORT, 'a snapshot only moves on'); END
    """,
    """
    CREATE TRIGGER snapshot_stays BEFORE DELETE ON snapshot
    BEGIN SELECT RAISE(ABORT, 'a snapshot only moves on'); END
    """,
)

# A sum too large for 64 bits would silently become a float: hence the check of its type.
TABLES = (
    """
    CREATE TABLE journal (
        seq INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        digest TEXT NOT NULL
    )
    """,
    """
    CREATE INDEX journal_by_kind ON journal (kind)
    """,
    """
    CREATE TABLE head (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seq INTEGER NOT NULL,
        digest TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE account (
        log TEXT NOT NULL,
        block TEXT NOT NULL,
        analyst TEXT NOT NULL,
        spent INTEGER NOT NULL CHECK (spent >= 0 AND typeof(spent) = 'integer'),
        held INTEGER NOT NULL CHECK (held >= 0 AND typeof(held) = 'integer'),
        PRIMARY KEY (log, block, analyst)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE cell (
        key TEXT NOT NULL PRIMARY KEY,
        reserved INTEGER REFERENCES journal (seq),
        charged INTEGER REFERENCES journal (seq),
        released INTEGER REFERENCES journal (seq)
    ) WITHOUT ROWID
    """,
    _SNAPSHOTS,
)

# INSERT OR REPLACE deletes without asking a DELETE trigger: hence the guard on INSERT.
GUARDS = (
    """
    CREATE TRIGGER journal_grows_at_its_end BEFORE INSERT ON journal
    WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM journal)
    BEGIN SELECT RAISE(ABORT, 'the journal grows at its end only'); END
    """,
    """
    CREATE TRIGGER journal_is_not_changed BEFORE UPDATE ON journal
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END
    """,
    """
    CREATE TRIGGER journal_is_not_cut BEFORE DELETE ON journal
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END
    """,
    """
    CREATE TRIGGER head_moves_on BEFORE UPDATE ON head
    WHEN NEW.seq <= OLD.seq
    BEGIN SELECT RAISE(ABORT, 'the head only moves on'); END
    """,
    """
    CREATE TRIGGER head_stays BEFORE DELETE ON head
    BEGIN SELECT RAISE(ABORT, 'the head only moves on'); END
    """,
    """
    CREATE TRIGGER nothing_is_refunded BEFORE UPDATE ON account
    WHEN NEW.spent < OLD.spent OR NEW.log <> OLD.log OR NEW.block <> OLD.block
        OR NEW.analyst <> OLD.analyst
    BEGIN SELECT RAISE(ABORT, 'nothing is refunded'); END
    """,
    """
    CREATE TRIGGER no_account_is_forgotten BEFORE DELETE ON account
    BEGIN SELECT RAISE(ABORT, 'nothing is refunded'); END
    """,
    """
    CREATE TRIGGER cell_is_charged_and_released_once BEFORE UPDATE ON cell
    WHEN OLD.released IS NOT NULL OR NEW.key <> OLD.key OR NEW.reserved IS NOT OLD.reserved
        OR (OLD.charged IS NOT NULL AND NEW.charged IS NOT OLD.charged)
    BEGIN SELECT RAISE(ABORT, 'a cell is charged once and released once'); END
    """,
    """
    CREATE TRIGGER no_charge_is_forgotten BEFORE DELETE ON cell
    WHEN OLD.charged IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'a charge is never forgotten'); END
    """,
    *_SNAPSHOT_GUARDS,
)

_SHAPE = "SELECT type, name, tbl_name, sql, rootpage = 0 FROM sqlite_master ORDER BY type, name"


# SQLite does not queue waiting writers: with many of them, one may be passed over for long.
_BUSY_SECONDS = 120
_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a commit is on the disk before it returns
    "PRAGMA fullfsync = ON",  # … on macOS too
    "PRAGMA foreign_keys = ON",
)

_CAUSES = {
    sqlite3.SQLITE_BUSY: "another process has it locked",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write",
    sqlite3.SQLITE_PERM: "the file may not be accessed",
    sqlite3.SQLITE_READONLY: "the file cannot be written",
}
# A plain SQL error is one as well: our statements are fixed, so the tables must have changed.
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


class SqliteJournal(Journal):
    """One open connection; threads take turns, a forked child must open its own."""

    def __init__(self, connection: sqlite3.Connection, path: Path, clock: Clock) -> None:
        super().__init__(path.name, clock)
        self._connection = connection
        self._path = path
        self._opened = _identity(path)

    @classmethod
    def create(cls, path: Path, clock: Clock) -> Self:
        """A new file with the opening entry; never replaces an existing one."""
        try:
            path.touch(mode=0o600, exist_ok=False)  # SQLite gives its -wal and -shm the same mode
        except OSError as error:
            raise LedgerUnavailable(
                f"cannot create the ledger {path.name}: {error.strerror}",
                hint="a ledger is never overwritten; choose another place",
                detail=str(error),
            ) from error
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

    def writing(self) -> AbstractContextManager[None]:
        return self._transaction("BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[None]:
        return self._transaction("BEGIN")

    def run(self, statement: str, *values: object) -> list[Any]:
        with self._turn, _explained(self._path):
            self._refuse_forked()
            return self._connection.execute(statement, values).fetchall()

    def check_file(self) -> None:
        """Raise the first Flaw that SQLite's integrity check finds."""
        ((verdict,),) = self.run("PRAGMA integrity_check(1)")
        if verdict != "ok":
            # What could not be read need not be damaged: SQLite gives the cause as an error code.
            for number in map(int, re.findall(r"error code=? ?([0-9]+)", verdict)):
                code = number & 0xFF
                if code in _CAUSES or code == sqlite3.SQLITE_NOMEM:
                    raise _unusable(code, self._path, verdict)
            raise Flaw(None, f"{DAMAGED}: {verdict}")

    def has_ledger_shape(self) -> bool:
        with closing(sqlite3.connect(":memory:")) as pattern:
            for statement in TABLES + GUARDS:
                pattern.execute(statement)
            expected = pattern.execute(_SHAPE).fetchall()
        return self._connection.execute(_SHAPE).fetchall() == expected

    def add_snapshots(self) -> None:
        for statement in (_SNAPSHOTS, *_SNAPSHOT_GUARDS):
            self.run(statement)

    def _refuse_nested(self) -> None:
        if self._connection.in_transaction:
            raise RuntimeError("a transaction of the ledger inside another one")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._turn, _explained(self._path):
            self._refuse_forked()
            self._refuse_nested()
            self._connection.execute(begin)
            self._newest = None
            try:
                # Checked after waiting for the lock, as the file may have been replaced meanwhile:
                # what is written into a file without a name is lost.
                if _identity(self._path) != self._opened:
                    raise LedgerUnavailable(
                        f"the ledger {self.name} was moved or replaced while it was in use",
                        hint="nothing was released; put the ledger back and ask again",
                    )
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _connect(path: Path) -> sqlite3.Connection:
    # mode=rw: a missing ledger must be an error, not a new one with nothing spent.
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=rw",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    # Damaged text must be read as different text, so that the chain notices.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        for setting in _SETTINGS:
            connection.execute(setting).close()
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        # If damage has left invalid text, Python cannot even decode SQLite's error message.
        raise broken(path.name, DAMAGED) from error
    except (sqlite3.Error, OverflowError) as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
        if code in _DAMAGE_CODES:
            raise broken(path.name, DAMAGED) from error
        raise _unusable(code, path, str(error)) from error


def _unusable(code: int, path: Path, message: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"the ledger {path.name} could not be used: {_CAUSES.get(code, 'SQLite refused')}",
        hint="nothing was released; fix this and ask again",
        detail=f"{path}: {message}",
    )
