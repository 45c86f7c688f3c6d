"""The contract between the ledger's rules and the database it lives in.

A database provides transactions and runs fixed statements in a small common SQL with `?` for
values; how a journal is built on that is the same everywhere, and is here. Everything fails
closed: whatever a database reports becomes an error, never a permission. A commit that
failed half-way may have reached the disk; then an epsilon is charged without a result, and the
same query completes it. The opposite cannot happen.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, TypeAlias

from pappi.errors import LedgerBroken, LedgerUnavailable
from pappi.ledger.entries import (
    FORMAT,
    START,
    Entry,
    EntryKind,
    Flaw,
    extend,
    format_of,
    opening_payload,
    require_follows,
)
from pappi.mechanisms import secret_bytes
from pappi.values import JSON

Clock: TypeAlias = Callable[[], datetime]

DAMAGED = "what is stored is damaged"

_BATCH = 1_000
_IDENTITY_BYTES = 16
_COLUMNS = "seq, at, kind, body, digest"
# Each entry with the digest before it, so that an entry read alone can be checked alone.
_WITH_PREVIOUS = """
SELECT entry.seq, entry.at, entry.kind, entry.body, entry.digest, earlier.digest
FROM journal AS entry LEFT JOIN journal AS earlier ON earlier.seq = entry.seq - 1
"""
_FROM = f"SELECT {_COLUMNS} FROM journal WHERE seq >= ? ORDER BY seq LIMIT ?"  # noqa: S608
_OF_KIND = f"""
{_WITH_PREVIOUS}
WHERE entry.kind = ? AND entry.seq > ? ORDER BY entry.seq LIMIT {_BATCH}
"""
_ENTRY = f"{_WITH_PREVIOUS} WHERE entry.seq = ?"
_LAST = f"{_WITH_PREVIOUS} ORDER BY entry.seq DESC LIMIT 1"
_ADD = f"INSERT INTO journal ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)"  # noqa: S608
_HEAD = "SELECT seq, digest FROM head"
_START_HEAD = "INSERT INTO head (id, seq, digest) VALUES (1, ?, ?)"
_MOVE_HEAD = "UPDATE head SET seq = ?, digest = ?"


def utc_now() -> datetime:
    return datetime.now(UTC)


def broken(name: str, sentence: str) -> LedgerBroken:
    """The refusal to work with a ledger that contradicts itself."""
    return LedgerBroken(
        f"the ledger {name} does not verify: {sentence}",
        hint="nothing is released until the owner has restored it from a backup",
    )


class Journal(ABC):
    """One open connection to a ledger's database; threads take turns."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self._clock = clock
        self._turn = threading.RLock()
        self._process = os.getpid()
        self._newest: Entry | None = None

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def writing(self) -> AbstractContextManager[None]:
        """One transaction, exclusive among all processes: durable at the end, or undone."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """A consistent view of the ledger, whatever others write meanwhile."""

    @abstractmethod
    def run(self, statement: str, *values: object) -> list[Any]:
        """Run one statement and fetch all its rows."""

    @abstractmethod
    def check_file(self) -> None:
        """Raise the first Flaw that the database's own check finds; reads everything."""

    @abstractmethod
    def has_ledger_shape(self) -> bool:
        """Whether the tables and their guards are exactly those of a ledger."""

    @abstractmethod
    def add_snapshots(self) -> None:
        """Add the table for snapshots, new in format 3; only while `writing`."""

    def check_shape(self) -> None:
        """Raise a Flaw if the tables or their guards are not those of a ledger."""
        if not self.has_ledger_shape():
            raise Flaw(None, "its tables or their guards are not those of a PaPPI ledger")

    def _refuse_forked(self) -> None:
        # No database connection survives a fork: two processes would believe they hold the
        # same lock, or read each other's results.
        if os.getpid() != self._process:
            raise LedgerUnavailable("the ledger was opened by another process; open it again")

    def begin(self) -> None:
        """Write the first entry; only while `writing`."""
        self.append(EntryKind.OPENING, opening_payload(secret_bytes(_IDENTITY_BYTES).hex()))

    def append(self, kind: str, payload: Mapping[str, JSON]) -> Entry:
        """Extend the chain; only while `writing`."""
        (entry,) = self.append_all(kind, [payload])
        return entry

    def append_all(self, kind: str, payloads: Iterable[Mapping[str, JSON]]) -> list[Entry]:
        """Extend the chain by one entry per payload; the head moves once, to the last of them."""
        before = last = self.newest()
        added = []
        for payload in payloads:
            at = self._clock().astimezone(UTC).isoformat(timespec="microseconds")
            last = extend(last, at, kind, payload)
            self.run(_ADD, last.seq, last.at, last.kind, last.body, last.digest)
            added.append(last)
        if added:
            move = _START_HEAD if before is None else _MOVE_HEAD
            self.run(move, added[-1].seq, added[-1].digest)
            self._newest = last
        return added

    def newest(self) -> Entry | None:
        """The newest entry; only while `writing`, when nobody else adds one: read once."""
        if self._newest is None:
            self._newest = self.last()
        return self._newest

    def format(self) -> int:
        """The format this journal was created in, or last upgraded to; ours if it is empty."""
        entries = (*self.entries_of(EntryKind.OPENING), *self.entries_of(EntryKind.REFORMAT))
        try:
            return max(map(format_of, entries), default=FORMAT)
        except (Flaw, ValueError) as problem:
            raise broken(self.name, DAMAGED) from problem

    def last(self) -> Entry | None:
        """The newest entry; refused if the head record disagrees."""
        last = self._one(_LAST)
        try:
            self.check_head(last)
        except Flaw as fault:
            raise broken(self.name, fault.sentence) from fault
        return last

    def found(self, seq: int) -> Entry | None:
        return self._one(_ENTRY, seq)

    def entry(self, seq: int) -> Entry:
        """One entry, its digest checked against its content and the digest before it."""
        stored = self.found(seq)
        if stored is None:
            raise broken(self.name, f"entry {seq} is missing")
        return stored

    def entries(self, first: int = 1) -> Iterator[Entry]:
        """The entries from a number on, fetched in batches; the caller checks the chain."""
        for batch in self.batches(first):
            yield from batch

    def batches(self, first: int = 1) -> Iterator[list[Entry]]:
        """The same, batch by batch."""
        more = True
        while more and (rows := self.run(_FROM, first, _BATCH)):
            yield [self._entry(row) for row in rows]
            first, more = rows[-1][0] + 1, len(rows) == _BATCH

    def entries_of(self, kind: str, after: int = 0) -> Iterator[Entry]:
        """The entries of a kind after a number, fetched in batches, each checked."""
        while rows := self.run(_OF_KIND, kind, after):
            yield from map(self._checked, rows)
            after = rows[-1][0]

    def check_head(self, last: Entry | None) -> None:
        """Raise a Flaw unless the head record agrees that the journal ends here."""
        if self.run(_HEAD) != ([(last.seq, last.digest)] if last else []):
            end = last.seq if last else 0
            raise Flaw(end + 1, f"the journal ends at entry {end}, but its head record does not")

    def _one(self, statement: str, *values: object) -> Entry | None:
        rows = self.run(statement, *values)
        return self._checked(rows[0]) if rows else None

    def _checked(self, row: tuple[object, ...]) -> Entry:
        *columns, before = row
        entry = self._entry(tuple(columns))
        try:
            require_follows(entry, START if entry.seq == 1 else str(before))
        except Flaw as fault:
            raise broken(self.name, fault.sentence) from fault
        return entry

    def _entry(self, row: tuple[object, ...]) -> Entry:
        match row:
            case (int(seq), str(at), str(kind), str(body), str(digest)):
                return Entry(seq, at, kind, body, digest)
            case _:
                raise broken(self.name, DAMAGED)
