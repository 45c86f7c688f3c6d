"""The ledger: what was declared, charged and released, and that no budget is overspent.

The two steps of the release protocol are two transactions. `charge` checks every account
and writes the charges, all or none, and returns only when they are durable; after that the
draw may happen. `record` puts the results on record; the first result stays. A crash
between the two leaves a charge without a result: the same query finds it pending, and
completes it at no new cost. Nothing is ever refunded.

Future releases can be reserved: their price is set aside, so that nothing else spends it, and
becomes spent when it is charged. Nothing is drawn for a reservation, so it can be cancelled.

Verifying in full (`verify`) finds every change of a stored value, entries cut off the end, and
projections that differ from the journal. It cannot notice a database replaced as a whole by an
older copy: that is what a workspace's mark is for (`ledger/snapshots.py`). Nor one replaced by a
consistent forgery, mark and all: compare the head with one noted elsewhere.

Opening does not read the whole past again. It starts from a snapshot that the workspace's key
has signed, and checks the tables' shape, that the journal still has the snapshot's entry, the
chain and the meaning of every entry since, that the journal ends where its head says, and that
every account holds what the snapshot and the entries since add up to. So no limit is checked
against a wrong sum. What it does not see is damage to older entries and to the cells of older
keys. Those are checked when they are used: an entry is used only if its digest matches its
content and the digest before it, and if it is about the right key; and a cell that seems to be
charged and not released is drawn for only if the journal has no release of it. So no answer
differs from what was recorded, and nothing is drawn twice for one charge. What remains until the
next full verification: a cell that has disappeared is taken for new, charged once more (within
the limits) and drawn again; and whoever can write the database can change an old entry and its
digest so that it passes by itself, though not in its chain. Without a key or a snapshot, opening
verifies in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from pappi.errors import LedgerBroken, LedgerRolledBack, LedgerUnavailable
from pappi.ledger.accounts import (
    Account,
    Charge,
    KeyState,
    budget_exceeded,
    demand,
    distinct,
    shortfalls,
)
from pappi.ledger.journal import (
    DAMAGED,
    FORMAT,
    LEDGERS_OWN,
    Balance,
    ChargeRecord,
    Clock,
    Entry,
    EntryKind,
    Flaw,
    Journal,
    KeyHistory,
    Tally,
    broken,
    cancel_payload,
    charge_of,
    charge_payload,
    charges_in,
    is_known,
    keys_in,
    payload_in,
    release_payload,
    reserve_payload,
    reserved_in,
    result_of,
    utc_now,
    verified,
)
from pappi.ledger.snapshots import Mark, MarkFile, Snapshot, keep_snapshot, read_snapshot
from pappi.ledger.sqlite import SqliteJournal
from pappi.values import JSON, ZERO, Epsilon

if TYPE_CHECKING:
    from pappi.ledger.postgres import PostgresJournal


Limits: TypeAlias = Mapping[Account, Epsilon] | Callable[[Account], Epsilon | None]
"""The limit of each account; None for one that has no limit beside those of its blocks."""

Permit: TypeAlias = Callable[[], None]
"""Raises if the request is not allowed at this moment; called inside the transaction."""

Act: TypeAlias = Callable[[], Mapping[str, JSON]]
"""Makes the payload of an act inside the transaction, from what holds then."""

Progress: TypeAlias = Callable[[int], None]
"""Called with the number of the entry that verifying has reached."""

Written: TypeAlias = tuple[str, Mapping[str, JSON]]
"""An act: its kind and its payload."""

_CELL = "SELECT reserved, charged, released FROM cell WHERE key = ?"
_KEYS_PER_QUERY = 250
_MOST_READ = 4_000  # charges, of some kilobytes each
_CELLS = "SELECT key, reserved, charged, released FROM cell WHERE key IN "
_COUNTS = "SELECT count(*), count(reserved), count(charged), count(released) FROM cell"
_RESERVE_CELL = "INSERT INTO cell (key, reserved) VALUES (?, ?)"
_CHARGE_CELL = """
INSERT INTO cell (key, charged) VALUES (?, ?)
ON CONFLICT (key) DO UPDATE SET charged = excluded.charged
"""
_RELEASE_CELL = "UPDATE cell SET released = ? WHERE key = ?"
_CANCEL_CELL = "DELETE FROM cell WHERE key = ?"
_ACCOUNTS = "SELECT log, block, analyst, spent, held FROM account"
_ACCOUNTS_OF = "SELECT log, block, analyst, spent, held FROM account WHERE log = ?"
# Of many accounts at once: a release of the whole time is charged to every block.
_SPENT = (
    "SELECT spent, held, log, block, analyst FROM account "
    "WHERE (log, block, analyst) IN (VALUES {rows})"
)
_ADD = """
INSERT INTO account (log, block, analyst, spent, held) VALUES {rows}
ON CONFLICT (log, block, analyst) DO UPDATE
SET spent = account.spent + excluded.spent, held = account.held + excluded.held
"""
_AT_ONCE = 100
NOTHING: Mapping[Account, Epsilon] = {}
_OTHER_KEYS = "the charged and released keys are not those of the journal"

_UNHOLD = "UPDATE account SET held = held - ? WHERE log = ? AND block = ? AND analyst = ?"


class LedgerStep(StrEnum):
    """The moments at which a crash or a rival matters; passed to `on_step`, for tests."""

    CHARGE_ASKED = "charge asked"
    CHARGE_CHECKED = "charge checked"
    CHARGE_WRITTEN = "charge written, not committed"
    UNMARKED = "committed, not marked"
    CHARGE_COMMITTED = "charge committed"
    RESULT_WRITTEN = "result written, not committed"
    RESULT_COMMITTED = "result committed"


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying.

    `entries` counts the sound entries before the problem (0 if the problem is not in an entry),
    `seq` is the entry with the problem, `head` the last digest, worth noting elsewhere.
    """

    entries: int
    head: str
    problem: str = ""
    seq: int | None = None

    @property
    def ok(self) -> bool:
        return not self.problem


def no_step(_step: str) -> None:
    """Do nothing: only tests watch the steps."""


def no_progress(_seq: int) -> None:
    """Do nothing."""


def allowed() -> None:
    """A permit that allows everything."""


class Ledger:
    """A ledger in some database, shared by any number of processes and threads."""

    snapshot_every: ClassVar[int] = 2_000
    """How many entries opening adds up before it stores a snapshot for the next one."""

    def __init__(
        self,
        journal: Journal,
        on_step: Callable[[str], None] = no_step,
        key: bytes | None = None,
        mark: MarkFile | None = None,
    ) -> None:
        """With the key and the mark of the workspace it belongs to (`ledger/snapshots.py`)."""
        self._journal = journal
        self._step = on_step
        self._key = key
        self._mark = mark
        self._marked = 0  # as it was read last
        self._verified: _Verified | None = None
        self._read_charges: dict[int, tuple[Charge, ...]] = {}

    def close(self) -> None:
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def opening(self) -> str:
        """The digest of the first entry: no two ledgers begin alike."""
        return self._journal.entry(1).digest

    def append(self, kind: str, payload: Mapping[str, JSON] | Act) -> int:
        """Record an act of the owner; returns its number in the journal.

        A callable payload is made inside the transaction, from the earlier acts, and may raise.
        """
        _require_act(kind)
        with self._writing():
            return self._journal.append(kind, payload() if callable(payload) else payload).seq

    def acts(self, kind: str) -> tuple[Entry, ...]:
        """The entries of a kind, oldest first."""
        return tuple(self._journal.entries_of(kind))

    def entries(self, first: int = 1) -> Iterator[Entry]:
        """The entries from a number on, each checked to follow the one before it.

        Empty if the journal ends before that.
        """
        if first - 1 > self.head().seq:
            return
        before = self._journal.entry(first - 1) if first > 1 else None
        try:
            yield from verified(self._journal.entries(first), before)
        except Flaw as fault:
            raise broken(self._journal.name, fault.sentence) from fault

    def news(self, after: Entry | None) -> Iterator[Entry]:
        """The entries since one that was read before, each checked to follow the one before it.

        Refuses a journal in which that entry has changed.
        """
        mark = self._read_mark()
        entries = self._journal.entries(after.seq if after else 1)
        before = None if after is None else next(entries, None)
        self._require(mark, before)
        if after != before:
            raise broken(
                self._journal.name, f"entry {after.seq if after else 1} is not what it was"
            )
        try:
            for entry in verified(entries, after):
                # A newer version may write into the same ledger, and its decisions must not
                # be missed.
                if entry.kind == EntryKind.REFORMAT:
                    self._refuse_other_format()
                elif not is_known(entry.kind):
                    raise LedgerUnavailable(
                        f"entry {entry.seq} of the ledger {self._journal.name} is of a kind that "
                        "this version of pappi does not know",
                        hint="use the version of pappi that wrote it, or a later one",
                    )
                yield entry
        except Flaw as fault:
            raise broken(self._journal.name, fault.sentence) from fault

    def charge(
        self, charges: Sequence[Charge], limits: Limits, permit: Permit = allowed
    ) -> Mapping[str, KeyState]:
        """Charge all keys that are not charged yet, or none; returns the state of each before.

        Callable limits and the permit are called inside the transaction: what they read of the
        owner's acts from this ledger is what holds at that moment.
        """
        by_key = distinct(charges)
        self._step(LedgerStep.CHARGE_ASKED)
        with self._writing():
            permit()
            states = {key: self._state_of(charge) for key, charge in by_key.items()}
            self._refuse_lost_releases(_in_state(KeyState.PENDING, by_key, states))
            new = _in_state(KeyState.NEW, by_key, states)
            in_reserve = _in_state(KeyState.RESERVED, by_key, states)
            reserved = list(self._reserved(charge.key for charge in in_reserve).values())
            due = [*reserved, *new]
            wanted = demand(due)
            self._refuse_overspending(wanted, limits, demand(reserved))
            self._step(LedgerStep.CHARGE_CHECKED)
            for charge in reserved:
                self._unhold(charge)
            self._write_charges(due, wanted)
            self._step(LedgerStep.CHARGE_WRITTEN)
        self._step(LedgerStep.CHARGE_COMMITTED)
        return states

    def reserve(
        self, charges: Sequence[Charge], limits: Limits, act: Written, permit: Permit = allowed
    ) -> Mapping[str, KeyState]:
        """Set the price of all new keys aside, or of none; returns the state of each before.

        The act that asks for it is recorded in the same transaction.
        """
        by_key = distinct(charges)
        _require_act(act[0])
        with self._writing():
            permit()
            states = {key: self._state_of(charge) for key, charge in by_key.items()}
            new = _in_state(KeyState.NEW, by_key, states)
            wanted = demand(new)
            self._refuse_overspending(wanted, limits)
            self._journal.append(*act)
            if new:
                entry = self._journal.append(EntryKind.RESERVE, reserve_payload(new))
                for charge in new:
                    self._journal.run(_RESERVE_CELL, charge.key, entry.seq)
                self._add((account, 0, amount.nano) for account, amount in wanted.items())
        return states

    def cancel(self, keys: Iterable[str], analyst: str, act: Written) -> int:
        """Give up the keys that are still reserved for an analyst; returns how many."""
        _require_act(act[0])
        with self._writing():
            states = self.states(keys)
            in_reserve = [key for key, state in states.items() if state is KeyState.RESERVED]
            reserved = self._reserved(in_reserve).values()
            own = [charge for charge in reserved if charge.analyst == analyst]
            if own:
                places = {charge.key: self._place_of(charge.key) for charge in own}
                for charge in own:
                    self._unhold(charge)
                    self._journal.run(_CANCEL_CELL, charge.key)
                self._journal.append(EntryKind.CANCEL, cancel_payload(places))
            self._journal.append(*act)
        return len(own)

    def record(self, results: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Put results of charged keys on record; returns what is on record for each of them.

        The first result stays: if another process was faster, its result comes back,
        and that is the one to show.
        """
        with self._writing():
            pending = [key for key in results if self._is_pending(key)]
            payloads = (release_payload(key, results[key]) for key in pending)
            for key, entry in zip(
                pending, self._journal.append_all(EntryKind.RELEASE, payloads), strict=True
            ):
                self._journal.run(_RELEASE_CELL, entry.seq, key)
            self._step(LedgerStep.RESULT_WRITTEN)
        self._step(LedgerStep.RESULT_COMMITTED)
        written = {key: results[key] for key in pending}
        return written | dict(self.results(results.keys() - written.keys()))

    def results(self, keys: Iterable[str]) -> Mapping[str, JSON]:
        """The released results among the keys."""
        return {
            key: result_of(self._entry_about(key, EntryKind.RELEASE, seq))
            for key, seq in self.released_at(keys).items()
        }

    def states(self, keys: Iterable[str]) -> Mapping[str, KeyState]:
        """How far each of the keys has come, at this moment."""
        states = dict.fromkeys(keys, KeyState.NEW)
        cells = _cells_of(self._journal, states)
        return states | {key: cell.state for key, cell in cells.items()}

    def spent(self, log: str) -> Mapping[Account, Epsilon]:
        """What the blocks of a log have spent; blocks that spent nothing are left out."""
        return {
            account: balance.spent
            for account, balance in self.balances(log).items()
            if account.is_block and balance.spent.nano
        }

    def used(self, accounts: Iterable[Account]) -> dict[Account, Epsilon]:
        """What each of the accounts has spent or holds; nothing where nothing was ever charged."""
        used = dict.fromkeys(accounts, ZERO)
        for spent, held, *name in self._run_for_all(_SPENT, list(used)):
            used[Account(*name)] = Epsilon(spent + held)
        return used

    def balances(self, log: str) -> Mapping[Account, Balance]:
        """Every account of a log that was ever used."""
        return dict(map(_balance, self._journal.run(_ACCOUNTS_OF, log)))

    def charges(
        self, log: str, after: int = 0, limit: int | None = None
    ) -> tuple[ChargeRecord, ...]:
        """The charges that touched a log, after an entry, oldest first; with their releases."""
        touching = (
            self.charge_record(entry)
            for entry in self._journal.entries_of(EntryKind.CHARGE, after)
            if any(account.log == log for account in charge_of(entry).accounts)
        )
        return tuple(islice(touching, limit))

    def charges_at(self, seq: int) -> tuple[Charge, ...]:
        """The charges that an entry makes or reserves; as far as there is room, read once."""
        charges = self._read_charges.get(seq)
        if charges is None:
            charges = charges_in(self._journal.entry(seq))
            if len(charges) == 1 and len(self._read_charges) < _MOST_READ:
                self._read_charges[seq] = charges
        return charges

    def charged_at(self, keys: Iterable[str]) -> Mapping[str, int]:
        """The entry that charged each key, for keys that were charged."""
        cells = _cells_of(self._journal, dict.fromkeys(keys)).items()
        return {key: cell.charged for key, cell in cells if cell.charged is not None}

    def released_at(self, keys: Iterable[str]) -> Mapping[str, int]:
        """The entry that released each key, for keys that were released."""
        cells = _cells_of(self._journal, dict.fromkeys(keys)).items()
        return {key: cell.released for key, cell in cells if cell.released is not None}

    def charge_record(self, entry: Entry) -> ChargeRecord:
        """A charge by its entry, with when its result was put on record."""
        charge = charge_of(entry)
        cell = self._cell(charge.key)
        released_at = None
        if cell is not None and cell.released is not None:
            released_at = self._entry_about(charge.key, EntryKind.RELEASE, cell.released).at
        return ChargeRecord(entry.seq, entry.at, charge, released_at)

    def verify(self, progress: Progress = no_progress) -> Verification:
        """Check the file, the whole chain, what its entries mean, and the projections of it.

        Blocks whoever shares this connection, so use a separate one for a long journal. A
        database that is out of reach (locked, unreadable) raises WorkspaceError: that says
        nothing about its content.
        """
        try:
            with self._journal.reading():
                self._journal.check_shape()
                self._journal.check_file()
                sound = self._added_up(None, progress)
        except Flaw as fault:
            return Verification((fault.seq or 1) - 1, "", fault.sentence, fault.seq)
        except LedgerBroken:
            return Verification(0, "", DAMAGED)
        return Verification(sound.last.seq, sound.last.digest)

    def require_sound(self) -> None:
        """Refuse a ledger of another format, or that does not verify from its snapshot on."""
        self._refuse_other_format()
        try:
            with self._journal.reading():
                self._journal.check_shape()
                snapshot = None if self._key is None else read_snapshot(self._journal, self._key)
                if snapshot is None:
                    self._journal.check_file()
                self._verified = self._added_up(snapshot)
        except Flaw as fault:
            raise broken(self._journal.name, fault.sentence) from fault

    def refusal(self, verification: Verification) -> LedgerBroken | None:
        """The error for a ledger that did not verify; None if it is sound."""
        return None if verification.ok else broken(self._journal.name, verification.problem)

    @property
    def brought_forward(self) -> tuple[Entry, JSON] | None:
        """The entry of the snapshot that opening started from, and the registry stored with it."""
        return None if self._verified is None else self._verified.brought_forward

    @property
    def verified_to(self) -> int:
        """The entry that opening ended at."""
        return 0 if self._verified is None else self._verified.last.seq

    @property
    def snapshot_is_due(self) -> bool:
        """Whether opening had enough to add up to store a snapshot for the next one."""
        if self._verified is None or self._key is None:
            return False
        start = self._verified.brought_forward
        return self._verified.last.seq - (start[0].seq if start else 0) >= self.snapshot_every

    def keep_snapshot(self, register: JSON) -> None:
        """Store what opening has verified, with the registry at that entry, for the next time."""
        if self._verified is None or self._key is None:
            raise ValueError("only what is verified is kept, under the workspace's key")
        last = self._verified.last
        snapshot = Snapshot(last.seq, last.digest, self._verified.balances, register)
        keep_snapshot(self._journal, snapshot, self._key)

    def contains(self, mark: Mark) -> bool:
        """Whether the journal has this entry."""
        entry = self._journal.found(mark.seq)
        return entry is not None and mark.is_of(entry.digest)

    def head(self) -> Mark:
        """The newest entry."""
        last = self._journal.last()
        if last is None:
            raise broken(self._journal.name, "the journal is empty")
        return Mark(last.seq, last.digest)

    def remember(self, entry: Entry | None) -> None:
        """Mark an entry that was read: another process may have committed and not yet marked it."""
        if self._mark is not None and entry is not None and entry.seq > self._marked:
            self._mark.move_on(Mark(entry.seq, entry.digest))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction; when it returns, what was written is durable, and the mark says so.

        The mark then also covers what others have written before, which may be answered next.
        """
        with self._journal.writing():
            self._require(self._read_mark(), self._journal.newest())
            yield
            newest = self._journal.newest()
        self._step(LedgerStep.UNMARKED)
        if self._mark is not None and newest is not None:
            self._mark.move_on(Mark(newest.seq, newest.digest))

    def require_marked(self) -> None:
        """Refuse a ledger that lacks the marked entry."""
        self._require(self._read_mark())

    def _read_mark(self) -> Mark | None:
        """To be read before the journal: an entry is committed before it is marked."""
        if self._mark is None:
            return None
        mark = self._mark.read()
        self._marked = mark.seq
        return mark

    def _require(self, mark: Mark | None, present: Entry | None = None) -> None:
        """Refuse a ledger that lacks the marked entry, which is mostly one that was just read."""
        if mark is not None and (present is None or present.digest != mark.digest):
            self.require(mark)

    def require(self, mark: Mark) -> None:
        """Refuse a ledger that lacks this entry."""
        if not self.contains(mark):
            raise LedgerRolledBack(
                f"the ledger {self._journal.name} once had at least {mark.seq} entries, "
                "but the latest are missing: what was charged there is not in it",
                hint="nothing is released until the owner has put back the newest ledger, with "
                "its -wal file; if it is lost: pappi ledger accept-rollback",
            )

    def _refuse_other_format(self) -> None:
        number = self._journal.format()
        if number < FORMAT:
            raise LedgerUnavailable(
                f"the ledger {self._journal.name} has format {number}, "
                f"this version of pappi reads format {FORMAT}",
                hint="upgrade the workspace with: pappi migrate",
            )
        if number > FORMAT:
            raise LedgerUnavailable(
                f"the ledger {self._journal.name} has format {number}, which is newer than "
                f"this version of pappi, which reads format {FORMAT}",
                hint="use the version of pappi that wrote it, or a later one",
            )

    def _cell(self, key: str) -> KeyHistory | None:
        rows = self._journal.run(_CELL, key)
        return KeyHistory(*rows[0]) if rows else None

    def _state_of(self, charge: Charge) -> KeyState:
        cell = self._cell(charge.key)
        if cell is None:
            return KeyState.NEW
        # What is still to be drawn must be drawn at the price that was paid.
        if cell.released is None and (cell.charged is not None or cell.reserved is not None):
            if cell.charged is None:
                paid = self._reserved([charge.key])[charge.key]
            else:
                paid = charge_of(self._entry_about(charge.key, EntryKind.CHARGE, cell.charged))
            if not charge.costs_the_same_as(paid):
                raise ValueError(f"the key {charge.key} was charged at another price")
        return cell.state

    def _refuse_overspending(
        self,
        wanted: Mapping[Account, Epsilon],
        limits: Limits,
        held: Mapping[Account, Epsilon] = NOTHING,
    ) -> None:
        """What is held for it already is refused only if a limit was cut below that."""
        bounds = _limits_of(limits, wanted)
        used = self.used(account for account in wanted if account in bounds or account.is_block)
        for account in used.keys() & held:
            used[account] -= held[account]
        if short := shortfalls(wanted, used, bounds):
            raise budget_exceeded(wanted, short)

    def _run_for_all(self, statement: str, rows: Sequence[tuple[object, ...]]) -> list[Any]:
        """What a statement gives for rows of values, of which it takes some at once."""
        given = []
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            places = f"({', '.join('?' * len(some[0]))})"
            filled = statement.format(rows=", ".join([places] * len(some)))
            given += self._journal.run(filled, *chain.from_iterable(some))
        return given

    def _reserved(self, keys: Iterable[str]) -> Mapping[str, Charge]:
        """The reserved charge of each key; an entry that reserved many is read once."""
        places = {key: self._place_of(key) for key in keys}
        entries = {seq: self._reservation(seq) for seq in set(places.values())}
        missing = [key for key, seq in places.items() if key not in entries[seq]]
        if missing:
            raise broken(
                self._journal.name, f"the key {missing[0]} is not in the entry it points to"
            )
        return {key: entries[seq][key] for key, seq in places.items()}

    def _place_of(self, key: str) -> int:
        """The entry that reserved a key."""
        cell = self._cell(key)
        if cell is None or cell.reserved is None:
            raise ValueError(f"the key {key} is not reserved")
        return cell.reserved

    def _reservation(self, seq: int) -> Mapping[str, Charge]:
        entry = self._journal.entry(seq)
        if entry.kind != EntryKind.RESERVE:
            raise broken(self._journal.name, f"entry {seq} is no reservation")
        return reserved_in(entry.payload)

    def _entry_about(self, key: str, kind: str, seq: int) -> Entry:
        """An entry that a cell points to, checked: a damaged cell may point to another key's."""
        entry = self._journal.entry(seq)
        if entry.kind != kind or entry.payload.get("key") != key:
            raise broken(self._journal.name, f"the key {key} is not in the entry it points to")
        return entry

    def _refuse_lost_releases(self, pending: Sequence[Charge]) -> None:
        """Refuse to draw again for a cell that has lost the record of its release."""
        if not pending:
            return
        keys = {charge.key for charge in pending}
        cells = filter(None, map(self._cell, keys))
        first = min(cell.charged or 0 for cell in cells)
        for entry in self._journal.entries_of(EntryKind.RELEASE, first):
            if (key := entry.payload["key"]) in keys:
                raise broken(self._journal.name, f"the key {key} is released, but its cell is not")

    def _unhold(self, charge: Charge) -> None:
        for account, amount in demand([charge]).items():
            self._journal.run(_UNHOLD, amount.nano, account.log, account.block, account.analyst)

    def _write_charges(self, charges: Sequence[Charge], wanted: Mapping[Account, Epsilon]) -> None:
        entries = self._journal.append_all(EntryKind.CHARGE, map(charge_payload, charges))
        for charge, entry in zip(charges, entries, strict=True):
            self._journal.run(_CHARGE_CELL, charge.key, entry.seq)
        self._add((account, amount.nano, 0) for account, amount in wanted.items())

    def _add(self, rows: Iterable[tuple[Account, int, int]]) -> None:
        """What accounts have spent, and hold, beyond what they had."""
        self._run_for_all(_ADD, [(*account, spent, held) for account, spent, held in rows])

    def _is_pending(self, key: str) -> bool:
        """Whether a charged key has no result yet."""
        cell = self._cell(key)
        if cell is None or cell.charged is None:
            raise ValueError(f"a result for the key {key}, which was never charged")
        return cell.state is KeyState.PENDING

    def _added_up(self, start: Snapshot | None, progress: Progress = no_progress) -> _Verified:
        """The journal after a snapshot, or all of it, checked against head and projections."""
        if start is None:
            last, cells_of_batch = None, _BatchCells(self._journal, 0)
            tally = Tally(before=cells_of_batch.before)
        else:
            last, cells_of_batch = self._anchor(start), _BatchCells(self._journal, start.seq)
            tally = Tally(start.balances, cells_of_batch.before, self._reserved_in)
        forward = None if start is None or last is None else (last, start.register)
        for batch in self._journal.batches(last.seq + 1 if last else 1):
            entries = [(entry, payload_in(entry)) for entry in verified(batch, last)]
            cells_of_batch.begin(entries)
            for entry, payload in entries:
                tally.take(entry, payload)
            cells_of_batch.end(tally)
            last = entries[-1][0]
            progress(last.seq)
        if last is None:
            raise Flaw(1, "the journal is empty")
        self._journal.check_head(last)
        if dict(map(_balance, self._journal.run(_ACCOUNTS))) != tally.balances:
            raise Flaw(None, "what is spent per block is not what the journal adds up to")
        # What is still reserved at the end is reserved, and nothing more, in the database.
        cells = _cells_of(self._journal, tally.held)
        if any(cells.get(key) != KeyHistory(reserved=seq) for key, (seq, _) in tally.held.items()):
            raise Flaw(None, _OTHER_KEYS)
        if start is None:
            # Every entry was found in its cell, so if cells say more, they are more in number.
            held = len(tally.held)
            expected = (
                tally.charged + held,
                tally.charged_from_reserve + held,
                tally.charged,
                tally.released,
            )
            if self._journal.run(_COUNTS) != [expected]:
                raise Flaw(None, _OTHER_KEYS)
        return _Verified(last, tally.balances, forward)

    def _anchor(self, start: Snapshot) -> Entry:
        """The entry a snapshot was made at, if the journal still has it."""
        anchor = self._journal.entry(start.seq)
        if anchor.digest != start.digest:
            raise Flaw(start.seq, f"entry {start.seq} is not the one its snapshot was made at")
        return anchor

    def _reserved_in(self, key: str, seq: int) -> Charge | None:
        return self._reservation(seq).get(key)


@dataclass(frozen=True, slots=True)
class _Verified:
    """What opening has verified, and the snapshot it started from."""

    last: Entry
    balances: Mapping[Account, Balance]
    brought_forward: tuple[Entry, JSON] | None


class _BatchCells:
    """The database's cells for the keys in a batch of entries, to compare with a tally of them.

    Later entries have changed these cells since, so they are compared as of the entry before the
    batch, and as of its last one.
    """

    def __init__(self, journal: Journal, last: int) -> None:
        self._journal = journal
        self._last = last
        self._cells: Mapping[str, KeyHistory] = {}

    def begin(self, entries: Sequence[tuple[Entry, Mapping[str, Any]]]) -> None:
        try:
            keys = {key for entry, payload in entries for key in keys_in(entry.kind, payload)}
        except (KeyError, TypeError, ValueError) as error:
            first = entries[0][0].seq
            raise Flaw(first, f"an entry from {first} on is invalid: {error}") from error
        self._cells = _cells_of(self._journal, keys)

    def before(self, key: str) -> KeyHistory | None:
        cell = self._cells.get(key)
        return None if cell is None else cell.as_of(self._last)

    def end(self, tally: Tally) -> None:
        if tally.last is not None:
            self._last = tally.last.seq
        for key, cell in tally.cells.items():
            stored = self.before(key)
            # A reservation may be given up in a later batch.
            if stored != cell and not (stored is None and key in tally.held):
                raise Flaw(None, _OTHER_KEYS)
        tally.end_batch()


def _cells_of(journal: Journal, keys: Iterable[str]) -> Mapping[str, KeyHistory]:
    cells: dict[str, KeyHistory] = {}
    wanted = list(keys)
    for start in range(0, len(wanted), _KEYS_PER_QUERY):
        chunk = wanted[start : start + _KEYS_PER_QUERY]
        for key, *numbers in journal.run(f"{_CELLS}({', '.join('?' * len(chunk))})", *chunk):
            cells[key] = KeyHistory(*numbers)
    return cells


def _require_act(kind: str) -> None:
    """Refuse to write a kind that readers would refuse."""
    if kind in LEDGERS_OWN:
        raise ValueError(f"entries of kind {kind!r} are written by the ledger alone")
    if not is_known(kind):
        raise ValueError(f"acts of kind {kind!r} are not named in ledger/journal.py")


def _in_state(
    state: KeyState, charges: Mapping[str, Charge], states: Mapping[str, KeyState]
) -> list[Charge]:
    return [charge for key, charge in charges.items() if states[key] is state]


def _limits_of(limits: Limits, accounts: Iterable[Account]) -> Mapping[Account, Epsilon]:
    if isinstance(limits, Mapping):
        return limits
    return {account: limit for account in accounts if (limit := limits(account)) is not None}


def _balance(row: tuple[str, str, str, int, int]) -> tuple[Account, Balance]:
    log, block, analyst, spent, held = row
    return Account(log, block, analyst), Balance(Epsilon(spent), Epsilon(held))


OnStep: TypeAlias = Callable[[str], None]
Place: TypeAlias = Path | str
"""Where a ledger is: a SQLite file, or the address of a PostgreSQL database."""


def create_ledger(place: Place, *, clock: Clock = utc_now, on_step: OnStep = no_step) -> Ledger:
    """A new ledger with nothing spent: in a new file, or in a database that has none yet."""
    if isinstance(place, Path):
        return Ledger(SqliteJournal.create(place, clock), on_step)
    return Ledger(_postgres().create(place, clock), on_step)


def open_ledger(
    place: Place,
    *,
    clock: Clock = utc_now,
    on_step: OnStep = no_step,
    key: bytes | None = None,
    mark: MarkFile | None = None,
) -> Ledger:
    """An existing ledger that verifies, from its snapshot on; LedgerBroken otherwise.

    The workspace's key is needed to read a snapshot and to store one.
    """
    ledger = Ledger(bare_journal(place, clock), on_step, key, mark)
    try:
        ledger.require_sound()
    except BaseException:
        ledger.close()
        raise
    return ledger


def unverified_ledger(place: Place, mark: MarkFile | None = None) -> Ledger:
    """A ledger on a connection of its own, to be verified in full."""
    return Ledger(bare_journal(place), mark=mark)


def bare_journal(place: Place, clock: Clock = utc_now) -> Journal:
    """The journal alone, of any format and not verified."""
    if isinstance(place, Path):
        return SqliteJournal.open(place, clock)
    return _postgres().open(place, clock)


def _postgres() -> type[PostgresJournal]:
    try:
        from pappi.ledger.postgres import PostgresJournal
    except ImportError as error:
        raise LedgerUnavailable(
            "a ledger in PostgreSQL needs the extra 'postgres'",
            hint='install it with: pip install "pappi[postgres]"',
            detail=str(error),
        ) from error
    return PostgresJournal
