"""The inbox: events as they were captured, until time is sealed over them.

An event comes in once: its id again with the same content is a duplicate, with other content
a conflict, also after it was sealed. Numbers rise in the order of arrival.

The file is SQLite. A commit is on the disk before it returns. What is deleted is overwritten, and
`emptied` rewrites the file, so that no page and no log of changes still holds it.

Which cases the log has is asked with every seal, and is known here, so that no seal has to read
them: those of captured events, which keep the id of their case, and beside them (`stored`) those
that came with an import. `known` says for which version of the log this is complete; for another,
as in an inbox that is older than the log or was lost, the ids are read from the events again.

Of what was erased, keyed hashes stay. An erased case may be among released answers. If the same
case came back and were sealed into another block, it would count in two; and so would an erased
person whose cases are counted over the whole log. The hashes keep them out; without the workspace's
key they say nothing.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from pappi.errors import Conflict, InputError, WorkspaceError
from pappi.eventlog import (
    ACTIVITY,
    CASE,
    TIME,
    ArrowType,
    Batches,
    Column,
    Description,
    Progress,
    RecordBatch,
    attribute_field,
    no_progress,
)
from pappi.values import CaseBorder, Kind

Value: TypeAlias = str | int | float | bool | None

AS_IMPORTED = 1
"""The version of a log before anything was sealed: its first part is the next number."""

_ANY = "SELECT EXISTS (SELECT 1 FROM event WHERE data = ? AND imported = 0)"
_DIGEST = "SELECT digest FROM event WHERE data = ? AND imported = 0 AND id = ?"
_PERSON = """
    SELECT person FROM event WHERE data = ? AND case_id = ? AND person IS NOT NULL LIMIT 1
"""
_ADD = """
    INSERT INTO event (data, imported, id, case_id, digest, ts_us, activity, attributes, person)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_MISSING = f"{_ADD} ON CONFLICT DO NOTHING"
# Without being told, SQLite would read all events that were ever sealed, to find the open ones.
_OPEN_CASES = """
    SELECT case_id, {anchor}(ts_us), count(*), min(person), max(person)
    FROM event INDEXED BY event_open
    WHERE data = ? AND sealed = 0 AND seq <= ? GROUP BY case_id ORDER BY min(seq)
"""
_PUT_INTO_PART = """
    UPDATE event SET part = ?
    WHERE data = ? AND sealed = 0 AND seq <= ? AND case_id IN (SELECT value FROM temp.chosen)
"""
_UNDO_IMPORTED = "DELETE FROM event WHERE data = ? AND imported = 1"
_UNDO = "UPDATE event SET part = NULL WHERE data = ? AND sealed = 0 AND part > ?"
_SEAL = """
    UPDATE event SET sealed = 1, ts_us = NULL, activity = NULL, attributes = NULL, person = NULL
    WHERE data = ? AND sealed = 0 AND part <= ?
"""
_FRACTIONAL = """
    SELECT DISTINCT json_each.key
    FROM event INDEXED BY event_open, json_each(event.attributes)
    WHERE data = ? AND sealed = 0 AND part = ? AND json_each.type = 'real'
"""
_OF_PART = """
    SELECT case_id, activity, ts_us, attributes FROM event INDEXED BY event_open
    WHERE data = ? AND sealed = 0 AND part = ? ORDER BY imported DESC, seq
"""


_KNOWN = "SELECT version FROM known WHERE data = ?"
_NOTE = "UPDATE known SET noted = ? WHERE data = ?"
# Only what was noted here: of another part that was declared, this inbox does not know the cases.
_SETTLE_KNOWN = "UPDATE known SET version = noted WHERE data = ? AND noted = ?"
_STORED = """
    SELECT value FROM temp.chosen WHERE
    EXISTS (SELECT 1 FROM stored WHERE data = ?1 AND case_id = value)
    OR EXISTS (SELECT 1 FROM event WHERE data = ?1 AND case_id = value AND sealed = 1)
"""


@dataclass(frozen=True, slots=True)
class CapturedEvent:
    """One event as it was sent; times are UTC microseconds."""

    id: str
    case: str
    activity: str | None
    time_us: int | None
    attributes: Mapping[str, Value]

    def content(self) -> str:
        """Everything but the id and the attributes that are missing, in one order."""
        present = {name: value for name, value in self.attributes.items() if value is not None}
        return json.dumps([self.case, self.activity, self.time_us, present], sort_keys=True)


@dataclass(frozen=True, slots=True)
class Captured:
    """How many events of a batch are new, and how many had come before."""

    accepted: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class OpenCase:
    """A case in the inbox: its anchor, by what is known now, and its events that are not sealed.

    A case has one person or none, unless an import and what was captured disagree.
    """

    id: str
    anchor_us: int | None
    events: int
    person: str | None
    other_person: str | None


class Inbox:
    """One log's part of an open inbox; `data` is what the log's declaration calls its data."""

    def __init__(self, connection: sqlite3.Connection, data: str) -> None:
        self._connection = connection
        self._data = data

    # --- coming in --------------------------------------------------------------------

    def add(self, events: Sequence[CapturedEvent], person_column: str | None) -> Captured:
        """All of them, durably, or none."""
        with writing(self._connection):
            accepted = sum(
                self._add_one(event, person_column, number)
                for number, event in enumerate(events, 1)
            )
        return Captured(accepted, len(events) - accepted)

    def add_imported(self, events: Iterable[CapturedEvent], person_column: str | None) -> None:
        """Events of the log itself that no block has sealed; again is the same as once."""
        with writing(self._connection):
            rows = (self._row(event, 1, person_column) for event in events)
            self._connection.executemany(_ADD_MISSING, rows)

    def _add_one(self, event: CapturedEvent, person_column: str | None, number: int) -> bool:
        """Whether it is new."""
        row = self._row(event, 0, person_column)
        digest, person = row[4], row[8]
        before = self._connection.execute(_DIGEST, (self._data, event.id)).fetchone()
        if before is not None:
            if before[0] != digest:
                raise Conflict(
                    f"event {number} has the id of an earlier event, but other content",
                    hint="nothing in this batch was stored; give every event its own id",
                )
            return False
        if person is not None:
            # A case of several persons would count for each: leaving one out would
            # move the others.
            known = self._connection.execute(_PERSON, (self._data, event.case)).fetchone()
            if known is not None and known[0] != person:
                raise InputError(
                    f"event {number} gives its case a second person",
                    hint="nothing in this batch was stored; the attribute of the privacy unit has "
                    "one value in all events of a case",
                )
        self._connection.execute(_ADD, row)
        return True

    def _row(
        self, event: CapturedEvent, imported: int, person_column: str | None
    ) -> tuple[object, ...]:
        present = {name: value for name, value in event.attributes.items() if value is not None}
        person = None if person_column is None else present.get(person_column)
        return (
            *(self._data, imported, event.id, event.case),
            hashlib.sha256(event.content().encode()).digest(),
            *(event.time_us, event.activity, json.dumps(present), person_text(person)),
        )

    def has_captured(self) -> bool:
        """Whether an event of this log ever came in, sealed or not."""
        return bool(self._connection.execute(_ANY, (self._data,)).fetchone()[0])

    # --- sealing ----------------------------------------------------------------------

    def last(self) -> int:
        """The number of the last event that came in: later ones do not count yet."""
        ((seq,),) = self._connection.execute("SELECT coalesce(max(seq), 0) FROM event").fetchall()
        return int(seq)

    def open_cases(self, anchor: CaseBorder, last: int) -> list[OpenCase]:
        """The cases that have events which are not sealed, in the order of their first one."""
        query = _OPEN_CASES.format(anchor="max" if anchor is CaseBorder.END else "min")
        return [OpenCase(*row) for row in self._connection.execute(query, (self._data, last))]

    def put_into_part(self, part: int, cases: Iterable[str], last: int) -> None:
        """These cases' events go into a part, if it comes to be declared: see `settle`."""
        with self._chosen(cases):
            self._connection.execute(_PUT_INTO_PART, (part, self._data, last))
            self._connection.execute(_NOTE, (part, self._data))

    def settle(self, declared: int) -> None:
        """Bring the inbox to where the declared part says that it is, after whatever happened."""
        with writing(self._connection):
            if declared == AS_IMPORTED:
                self._connection.execute(_UNDO_IMPORTED, (self._data,))
            self._connection.execute(_UNDO, (self._data, declared))
            self._connection.execute(_SEAL, (self._data, declared))
            self._connection.execute(_SETTLE_KNOWN, (self._data, declared))

    def knows(self, version: int) -> bool:
        """Whether it is known here which cases this version of the log has."""
        return self._connection.execute(_KNOWN, (self._data,)).fetchall() == [(version,)]

    def learn(self, version: int, cases: Iterable[str]) -> None:
        """These are the cases of this version, beside those that were captured.

        Some at a time, so that nobody who captures has to wait; it counts with the last.
        """
        run = self._connection.execute
        with writing(self._connection):
            run("DELETE FROM known WHERE data = ?", (self._data,))
            run("DELETE FROM stored WHERE data = ?", (self._data,))
        rows = ((self._data, case) for case in cases)
        while some := [*islice(rows, _BATCH)]:
            with writing(self._connection):
                self._connection.executemany("INSERT INTO stored VALUES (?, ?)", some)
        with writing(self._connection):
            run("INSERT INTO known VALUES (?, ?, NULL)", (self._data, version))

    def stored(self, cases: Iterable[str]) -> set[str]:
        """Those of the cases that the log has."""
        with self._chosen(cases):
            return {case for (case,) in self._connection.execute(_STORED, (self._data,))}

    def fractional(self, part: int) -> frozenset[str]:
        """The attributes that have a value which is no whole number."""
        names = self._connection.execute(_FRACTIONAL, (self._data, part))
        return frozenset(name for (name,) in names)

    def events_of_part(self, part: int) -> sqlite3.Cursor:
        """Case, activity, time and attributes as JSON: imported ones first, then by arrival."""
        return self._connection.execute(_OF_PART, (self._data, part))

    # --- removing ---------------------------------------------------------------------

    def cases_of_persons(self, persons: Iterable[str]) -> list[str]:
        """The cases that have an event of one of these persons."""
        with self._chosen(persons):
            cases_found = self._connection.execute(
                "SELECT DISTINCT case_id FROM event WHERE data = ?"
                " AND person IN (SELECT value FROM temp.chosen)",
                (self._data,),
            )
            return [case for (case,) in cases_found]

    def unsealed_events(self, cases: Iterable[str]) -> dict[str, int]:
        """How many events that are not sealed these cases have; not those that have none."""
        with self._chosen(cases):
            counts = self._connection.execute(
                "SELECT case_id, count(*) FROM event WHERE data = ? AND sealed = 0"
                " AND case_id IN (SELECT value FROM temp.chosen) GROUP BY case_id",
                (self._data,),
            )
            return dict(counts.fetchall())

    def remove(self, cases: Iterable[str], late: Iterable[str] = ()) -> None:
        """Every trace of these cases, in the file too; also if they were removed before.

        Of `late` ones, which the log keeps, only what is not sealed: that it has them, stays known.
        """
        with self._chosen(late):
            self._connection.execute(
                "DELETE FROM event WHERE data = ? AND sealed = 0"
                " AND case_id IN (SELECT value FROM temp.chosen)",
                (self._data,),
            )
        with self._chosen(cases):
            for held in ("event", "stored"):
                self._connection.execute(
                    f"DELETE FROM {held} WHERE data = ?"  # noqa: S608
                    " AND case_id IN (SELECT value FROM temp.chosen)",
                    (self._data,),
                )
        emptied(self._connection)

    def remember_erased(self, digests: Iterable[bytes]) -> None:
        with writing(self._connection):
            self._connection.executemany(
                "INSERT INTO erased (data, digest) VALUES (?, ?) ON CONFLICT DO NOTHING",
                ((self._data, digest) for digest in digests),
            )

    def erased(self) -> frozenset[bytes]:
        digests = self._connection.execute(
            "SELECT digest FROM erased WHERE data = ?", (self._data,)
        )
        return frozenset(digest for (digest,) in digests)

    @contextmanager
    def _chosen(self, values: Iterable[str]) -> Iterator[None]:
        """A transaction with values as a table, as a statement takes only so many of them; in
        memory alone.
        """
        run = self._connection.execute
        with writing(self._connection):
            run("CREATE TEMP TABLE chosen (value TEXT PRIMARY KEY) WITHOUT ROWID")
            self._connection.executemany(
                "INSERT INTO temp.chosen VALUES (?) ON CONFLICT DO NOTHING",
                ((v,) for v in values),
            )
            yield
            run("DROP TABLE temp.chosen")


@contextmanager
def open_inbox(path: Path, data: str) -> Iterator[Inbox]:
    """The inbox of one log, for one piece of work; made when it is not there yet."""
    with opened(path) as connection:
        yield Inbox(connection, data)


def drop_captured(path: Path, kept: Collection[str]) -> tuple[str, ...]:
    """Delete what was captured for logs that are not kept, in the file too; gives those logs."""
    if not path.exists():
        return ()
    with opened(path) as connection:
        stored = {data for held in _HELD for data in _logs_in(connection, held)}
        gone = tuple(sorted(stored.difference(kept)))
        named = [(data,) for data in gone]
        if gone:
            with writing(connection):
                for held in _HELD:
                    connection.executemany(f"DELETE FROM {held} WHERE data = ?", named)  # noqa: S608
                # Until the file is rewritten too: cut off before, it is seen and done again.
                connection.executemany("INSERT INTO erased VALUES (?, x'')", named)
            emptied(connection)
            with writing(connection):
                connection.executemany("DELETE FROM erased WHERE data = ?", named)
    return gone


# The tables that hold something of a log.
_HELD = ("event", "stored", "known", "erased")


def _logs_in(connection: sqlite3.Connection, held: str) -> Iterator[str]:
    """By hops along the index: reading every event would take its time."""
    last = ""
    while last is not None:
        query = f"SELECT min(data) FROM {held} WHERE data > ?"  # noqa: S608
        ((last,),) = connection.execute(query, (last,)).fetchall()
        if last is not None:
            yield last


def person_text(value: Value) -> str | None:
    """Who a person is, in one writing: 7 and 7.0 are the same."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)


# --- the events that are being sealed, read like any other log -----------------------


_BATCH = 20_000


class InboxReader:
    """The events of one part, imported ones first, then in the order of their arrival."""

    name = "captured events"

    def __init__(self, inbox: Inbox, part: int, attributes: Mapping[str, Kind]) -> None:
        self._inbox = inbox
        self._part = part
        self._attributes = attributes

    def batches(self, progress: Progress = no_progress) -> Batches:
        types = self._types()
        yield self._batch([], types)  # the columns are there, whatever the events hold
        rows = self._inbox.events_of_part(self._part)
        done = 0
        while chunk := rows.fetchmany(_BATCH):
            yield self._batch(chunk, types)
            done += len(chunk)
            progress(done, done)

    def description(self) -> Description:
        return Description(
            tuple(
                Column(attribute_field(number), name, kind, str(kind))
                for number, (name, kind) in enumerate(self._attributes.items())
            )
        )

    def _types(self) -> list[ArrowType]:
        fractional = self._inbox.fractional(self._part)
        whole = {Kind.TEXT: pa.string(), Kind.TRUTH: pa.bool_()}
        return [
            pa.float64() if name in fractional else whole.get(kind, pa.int64())
            for name, kind in self._attributes.items()
        ]

    def _batch(self, rows: Sequence[Sequence[Any]], types: Sequence[ArrowType]) -> RecordBatch:
        values = [json.loads(attributes) for *_, attributes in rows]
        arrays = {
            CASE: pa.array([row[0] for row in rows], pa.string()),
            ACTIVITY: pa.array([row[1] for row in rows], pa.string()),
            TIME: pa.array([row[2] for row in rows], pa.int64()),
        }
        for number, (name, of) in enumerate(zip(self._attributes, types, strict=True)):
            column = [event.get(name) for event in values]
            if of == pa.float64():  # of an integer that no double holds, Arrow would complain
                column = [None if value is None else float(value) for value in column]
            arrays[attribute_field(number)] = pa.array(column, of)
        return pa.record_batch(arrays)


# --- keyed hashes of what was erased -------------------------------------------------


_SIZE = 16


def case_digests(key: bytes, cases: Iterable[str]) -> list[bytes]:
    return [_digest(key, b"erased case", case) for case in cases]


def person_digests(key: bytes, persons: Iterable[str]) -> list[bytes]:
    return [_digest(key, b"erased person", person) for person in persons]


def _digest(key: bytes, purpose: bytes, value: str) -> bytes:
    return hashlib.blake2b(value.encode(), key=key, person=purpose, digest_size=_SIZE).digest()


# --- the SQLite file -----------------------------------------------------------------


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
    """
    CREATE TABLE IF NOT EXISTS stored (
        data TEXT NOT NULL, case_id TEXT NOT NULL, PRIMARY KEY (data, case_id)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS known (
        data TEXT PRIMARY KEY, version INTEGER NOT NULL, noted INTEGER
    ) WITHOUT ROWID
    """,
)
_VERSION = 2

_CAUSES = {
    sqlite3.SQLITE_BUSY: "another process has it locked",
    sqlite3.SQLITE_LOCKED: "another process has it locked",
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
    try:
        with closing(_connect(path)) as connection:
            yield connection
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
        raise WorkspaceError(
            f"the inbox {path.name} could not be used: {_CAUSES.get(code, 'SQLite refused')}",
            hint="fix this and try again: nothing is stored or erased twice",
            detail=f"{path}: {error}",
        ) from error


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
            "captured events are being read, so deleted data may still be on disk",
            hint="try again when that has finished",
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
            _keep_changes_in_a_log(connection)
            with writing(connection):
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {_VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


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
