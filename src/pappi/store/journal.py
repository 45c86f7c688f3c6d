"""The SQLite file a ledger lives in: transactions, and the journal at its heart.

Everything fails closed: whatever SQLite reports becomes an error, never a permission. A
commit that failed half-way may have reached the disk; then epsilon is charged that was
not used, which the same question completes. The other way round cannot happen.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeAlias

from pappi.budget.chain import Entry, Fault, extend
from pappi.budget.journal import OPENING, opening_payload
from pappi.errors import LedgerBroken, WorkspaceError
from pappi.store.ledger_schema import GUARDS, TABLES, has_ledger_shape
from pappi.values.plain_data import JSON

Clock: TypeAlias = Callable[[], datetime]

DAMAGED = "the file is damaged"

_BUSY_SECONDS = 30
_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a commit is on the disk before it returns
    "PRAGMA fullfsync = ON",  # … on macOS too
    "PRAGMA foreign_keys = ON",
)

_ENTRIES = "SELECT seq, at, kind, body, digest FROM journal ORDER BY seq"
_ENTRIES_OF = "SELECT seq, at, kind, body, digest FROM journal WHERE kind = ? ORDER BY seq"
_ENTRY = "SELECT seq, at, kind, body, digest FROM journal WHERE seq = ?"
_LAST = "SELECT seq, at, kind, body, digest FROM journal ORDER BY seq DESC LIMIT 1"
_ADD = "INSERT INTO journal (seq, at, kind, body, digest) VALUES (?, ?, ?, ?, ?)"
_HEAD = "SELECT seq, digest FROM head"
_START_HEAD = "INSERT INTO head (id, seq, digest) VALUES (1, ?, ?)"
_MOVE_HEAD = "UPDATE head SET seq = ?, digest = ?"

_CAUSES = {
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write",
    sqlite3.SQLITE_PERM: "the file may not be accessed",
    sqlite3.SQLITE_READONLY: "the file cannot be written",
}
# A plain SQL error too: our statements are fixed, so it is the tables that have changed.
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def utc_now() -> datetime:
    return datetime.now(UTC)


class JournalFile:
    """One open connection; threads take turns, a forked child must open its own."""

    def __init__(self, connection: sqlite3.Connection, path: Path, clock: Clock) -> None:
        self._connection = connection
        self._path = path
        self._clock = clock
        self._turn = threading.RLock()
        self._process = os.getpid()

    @classmethod
    def create(cls, path: Path, clock: Clock) -> Self:
        """A new file with the opening entry; never in the place of one that exists."""
        _claim(path)
        journal = cls.open(path, clock)
        try:
            with journal.writing():
                for statement in TABLES + GUARDS:
                    journal.run(statement)
                journal.append(OPENING, opening_payload())
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
        with self._turn, _explained(self._path):
            self._refuse_forked()
            return self._connection.execute(statement, values).fetchall()

    def append(self, kind: str, payload: Mapping[str, JSON]) -> Entry:
        """Extend the chain; only while `writing`."""
        last = self._last()
        at = self._clock().astimezone(UTC).isoformat(timespec="microseconds")
        entry = extend(last, at, kind, payload)
        self.run(_ADD, entry.seq, entry.at, entry.kind, entry.body, entry.digest)
        self.run(_MOVE_HEAD if last else _START_HEAD, entry.seq, entry.digest)
        return entry

    def entry(self, seq: int) -> Entry:
        found = self._one(_ENTRY, seq)
        if found is None:
            raise broken(self._path, f"entry {seq} is missing")
        return found

    def entries(self) -> Iterator[Entry]:
        """All entries, one at a time; only while `reading`."""
        return map(self._entry, self._connection.execute(_ENTRIES))

    def entries_of(self, kind: str) -> tuple[Entry, ...]:
        return tuple(self._entry(row) for row in self.run(_ENTRIES_OF, kind))

    def check_file(self) -> None:
        """Raise the first Fault that SQLite itself finds, or that the tables' shape shows."""
        ((verdict,),) = self.run("PRAGMA integrity_check(1)")
        if verdict != "ok":
            raise Fault(None, f"{DAMAGED}: {verdict}")
        if not has_ledger_shape(self._connection):
            raise Fault(None, "its tables or their guards are not those of a PaPPI ledger")

    def check_head(self, last: Entry | None) -> None:
        """Raise a Fault unless the head record agrees that the journal ends here."""
        if self.run(_HEAD) != ([(last.seq, last.digest)] if last else []):
            end = last.seq if last else 0
            raise Fault(end + 1, f"the journal ends at entry {end}, but its head record does not")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._turn, _explained(self._path):
            self._refuse_forked()
            self._refuse_nested()
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _refuse_forked(self) -> None:
        # SQLite's locks do not survive a fork: two processes would believe they hold one.
        if os.getpid() != self._process:
            raise WorkspaceError("the ledger was opened by another process; open it anew")

    def _refuse_nested(self) -> None:
        if self._connection.in_transaction:
            raise RuntimeError("a transaction of the ledger inside another one")

    def _last(self) -> Entry | None:
        last = self._one(_LAST)
        try:
            self.check_head(last)
        except Fault as fault:
            raise broken(self._path, fault.sentence) from fault
        return last

    def _one(self, statement: str, *values: object) -> Entry | None:
        rows = self.run(statement, *values)
        return self._entry(rows[0]) if rows else None

    def _entry(self, row: tuple[object, ...]) -> Entry:
        match row:
            case (int(seq), str(at), str(kind), str(body), str(digest)):
                return Entry(seq, at, kind, body, digest)
            case _:
                raise broken(self._path, DAMAGED)


def broken(path: Path, sentence: str) -> LedgerBroken:
    """The refusal to work with a ledger that contradicts itself."""
    return LedgerBroken(
        f"the ledger {path.name} does not verify: {sentence}",
        hint="nothing is released until the owner has restored it from a backup",
        detail=str(path),
    )


def _claim(path: Path) -> None:
    try:
        path.touch(exist_ok=False)
    except OSError as error:
        raise WorkspaceError(
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
    except (sqlite3.Error, OverflowError) as error:
        raise _explanation(error, path) from error
    except UnicodeDecodeError as error:
        # Where damage leaves text in no encoding, Python cannot even read SQLite's complaint.
        raise broken(path, DAMAGED) from error


def _explanation(error: Exception, path: Path) -> WorkspaceError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
    if code in _DAMAGE_CODES:
        return broken(path, DAMAGED)
    return WorkspaceError(
        f"the ledger {path.name} could not be used: {_CAUSES.get(code, 'SQLite refused')}",
        hint="nothing was released; put this right and ask again",
        detail=f"{path}: {error}",
    )
