"""What the inbox holds for one log.

An event comes in once: its id again with the same content is a duplicate, with other content
a conflict, also after it was sealed. Numbers rise in the order of arrival.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pappi.errors import Conflict, InputError
from pappi.ppinot.model import CaseBorder
from pappi.store.capture.file import emptied, opened, writing

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
                    hint="nothing of this batch was taken in; give every event an id of its own",
                )
            return False
        if person is not None:
            self._require_same_person(event.case, person, number)
        self._connection.execute(_ADD, row)
        return True

    def _require_same_person(self, case: str, person: object, number: int) -> None:
        """A case of several persons would count for each: leaving one out would move the others."""
        found = self._connection.execute(_PERSON, (self._data, case)).fetchone()
        if found is not None and found[0] != person:
            raise InputError(
                f"event {number} gives its case a second person",
                hint="nothing of this batch was taken in; the attribute of the privacy unit has "
                "one value in all events of a case",
            )

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
        with writing(self._connection), self._chosen(cases):
            self._connection.execute(_PUT_INTO_PART, (part, self._data, last))

    def settle(self, declared: int) -> None:
        """Bring the inbox to where the declared part says that it is, after whatever happened."""
        with writing(self._connection):
            if declared == AS_IMPORTED:
                self._connection.execute(_UNDO_IMPORTED, (self._data,))
            self._connection.execute(_UNDO, (self._data, declared))
            self._connection.execute(_SEAL, (self._data, declared))

    def fractional(self, part: int) -> frozenset[str]:
        """The attributes that have a value which is no whole number."""
        found = self._connection.execute(_FRACTIONAL, (self._data, part))
        return frozenset(name for (name,) in found)

    def events_of_part(self, part: int) -> sqlite3.Cursor:
        """Case, activity, time and attributes as JSON: imported ones first, then by arrival."""
        return self._connection.execute(_OF_PART, (self._data, part))

    # --- removing ---------------------------------------------------------------------

    def cases_of_persons(self, persons: Iterable[str]) -> list[str]:
        """The cases that have an event of one of these persons."""
        with writing(self._connection), self._chosen(persons):
            found = self._connection.execute(
                "SELECT DISTINCT case_id FROM event WHERE data = ?"
                " AND person IN (SELECT value FROM temp.chosen)",
                (self._data,),
            )
            return [case for (case,) in found]

    def unsealed_events(self, cases: Iterable[str]) -> dict[str, int]:
        """How many events that are not sealed these cases have; not those that have none."""
        with writing(self._connection), self._chosen(cases):
            found = self._connection.execute(
                "SELECT case_id, count(*) FROM event WHERE data = ? AND sealed = 0"
                " AND case_id IN (SELECT value FROM temp.chosen) GROUP BY case_id",
                (self._data,),
            )
            return dict(found.fetchall())

    def remove(self, cases: Iterable[str]) -> None:
        """Every trace of these cases, in the file too; also if they were removed before."""
        with writing(self._connection), self._chosen(cases):
            self._connection.execute(
                "DELETE FROM event WHERE data = ? AND case_id IN (SELECT value FROM temp.chosen)",
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
        found = self._connection.execute("SELECT digest FROM erased WHERE data = ?", (self._data,))
        return frozenset(digest for (digest,) in found)

    @contextmanager
    def _chosen(self, values: Iterable[str]) -> Iterator[None]:
        """Values as a table, as a statement takes only so many of them; in memory alone."""
        run = self._connection.execute
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


def person_text(value: Value) -> str | None:
    """Who a person is, in one writing: 7 and 7.0 are the same."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)
