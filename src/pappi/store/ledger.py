"""The ledger: what was declared, charged and released, and that no budget is overspent.

The two steps of the release protocol are two transactions. `charge` checks every account
and writes the charges, all or none, and returns only when they are on the disk; after
that the draw may happen. `record` puts the results on record; the first result stays. A
crash between the two leaves a charge without a result: the same question finds it
pending, and completes it at no new cost. Nothing is ever refunded.

`open` refuses a ledger that does not verify. Verification finds every change of a stored
value, entries cut off the end, and projections that differ from the journal. It cannot
find a file replaced as a whole by an older copy or by a consistent forgery: compare the
head digest with one noted elsewhere. A copy made while the ledger is open must include
the `-wal` file next to it: it holds the latest charges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from pappi.budget.accounts import (
    Account,
    Charge,
    KeyState,
    budget_exceeded,
    demand,
    distinct,
    shortfalls,
)
from pappi.budget.chain import Entry, Fault, verified
from pappi.budget.journal import (
    CHARGE,
    RELEASE,
    RESERVED,
    Cell,
    ChargeRecord,
    Standing,
    charge_of,
    charge_payload,
    release_payload,
    result_of,
    standing,
)
from pappi.errors import LedgerBroken
from pappi.store.journal import DAMAGED, Clock, JournalFile, broken, utc_now
from pappi.values.epsilon import ZERO, Epsilon
from pappi.values.plain_data import JSON

__all__ = ["KeyState", "Limits", "SqliteLedger", "Step", "Verification"]

Limits: TypeAlias = Mapping[Account, Epsilon] | Callable[[Account], Epsilon]

_CELL = "SELECT charged, released FROM cell WHERE key = ?"
_CELLS = "SELECT key, charged, released FROM cell"
_NEW_CELL = "INSERT INTO cell (key, charged) VALUES (?, ?)"
_RELEASE_CELL = "UPDATE cell SET released = ? WHERE key = ?"
_SPENT = "SELECT log, block, nano FROM spent"
_SPENT_BY_LOG = "SELECT block, nano FROM spent WHERE log = ? ORDER BY block"
_SPENT_BY_ACCOUNT = "SELECT nano FROM spent WHERE log = ? AND block = ?"
_SPEND = """
INSERT INTO spent (log, block, nano) VALUES (?, ?, ?)
ON CONFLICT (log, block) DO UPDATE SET nano = nano + excluded.nano
"""


class Step(StrEnum):
    """The moments at which a crash or a rival matters; told to `on_step`, for tests."""

    CHARGE_ASKED = "charge asked"
    CHARGE_CHECKED = "charge checked"
    CHARGE_WRITTEN = "charge written, not committed"
    CHARGE_COMMITTED = "charge committed"
    RESULT_WRITTEN = "result written, not committed"
    RESULT_COMMITTED = "result committed"


@dataclass(frozen=True, slots=True)
class Verification:
    """What verifying found.

    `entries` counts those in order before the problem (0 if it lies outside of them),
    `seq` is the entry with the problem, `head` the last digest: worth noting elsewhere.
    """

    entries: int
    head: str
    problem: str = ""
    seq: int | None = None

    @property
    def ok(self) -> bool:
        return not self.problem


def _require_ok(found: Verification, path: Path) -> None:
    if not found.ok:
        raise broken(path, found.problem)


def _no_step(_step: str) -> None:
    """Outside of tests nobody watches the steps."""


class SqliteLedger:
    """A ledger in one SQLite file, shared by any number of processes and threads."""

    def __init__(self, file: JournalFile, on_step: Callable[[str], None]) -> None:
        self._file = file
        self._step = on_step

    @classmethod
    def create(
        cls, path: Path, *, clock: Clock = utc_now, on_step: Callable[[str], None] = _no_step
    ) -> Self:
        """A new ledger with nothing spent. A file that is already there is an error."""
        return cls(JournalFile.create(path, clock), on_step)

    @classmethod
    def open(
        cls, path: Path, *, clock: Clock = utc_now, on_step: Callable[[str], None] = _no_step
    ) -> Self:
        """A ledger that is there and verifies; LedgerBroken otherwise."""
        ledger = cls(JournalFile.open(path, clock), on_step)
        try:
            _require_ok(ledger.verify(), path)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def append(self, kind: str, payload: Mapping[str, JSON]) -> int:
        """Keep an act of the owner; gives its number in the journal."""
        if kind in RESERVED:
            raise ValueError(f"entries of kind {kind!r} are written by the ledger alone")
        with self._file.writing():
            return self._file.append(kind, payload).seq

    def acts(self, kind: str) -> tuple[Entry, ...]:
        """The entries of a kind, oldest first."""
        return self._file.entries_of(kind)

    def charge(self, charges: Sequence[Charge], limits: Limits) -> Mapping[str, KeyState]:
        """Charge all new keys or none; gives the state every key was in before.

        Callable limits are asked for inside the transaction: one that reads the owner's
        acts from this ledger sees them as they are at that moment.
        """
        wanted = distinct(charges)
        self._step(Step.CHARGE_ASKED)
        with self._file.writing():
            states = {key: self._state_of(charge) for key, charge in wanted.items()}
            new = [charge for key, charge in wanted.items() if states[key] is KeyState.NEW]
            self._refuse_overspending(new, limits)
            self._step(Step.CHARGE_CHECKED)
            self._write_charges(new)
            self._step(Step.CHARGE_WRITTEN)
        self._step(Step.CHARGE_COMMITTED)
        return states

    def record(self, results: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Put results of charged keys on record; gives what is on record for each of them.

        The first result stays: if another process was faster, its result comes back,
        and that is the one to show.
        """
        with self._file.writing():
            for key, result in results.items():
                self._write_result(key, result)
            self._step(Step.RESULT_WRITTEN)
        self._step(Step.RESULT_COMMITTED)
        return self.results(results)

    def results(self, keys: Iterable[str]) -> Mapping[str, JSON]:
        """The released results among the keys."""
        cells = ((key, self._cell(key)) for key in keys)
        return {
            key: result_of(self._file.entry(cell.released))
            for key, cell in cells
            if cell is not None and cell.released is not None
        }

    def states(self, keys: Iterable[str]) -> Mapping[str, KeyState]:
        """How far each of the keys has come, at this moment."""
        cells = ((key, self._cell(key)) for key in keys)
        return {key: cell.state if cell else KeyState.NEW for key, cell in cells}

    def spent(self, log: str) -> Mapping[Account, Epsilon]:
        """What the blocks of a log have spent; a block that is not named, nothing."""
        rows = self._file.run(_SPENT_BY_LOG, log)
        return {Account(log, block): Epsilon(nano) for block, nano in rows}

    def charges(self, log: str) -> tuple[ChargeRecord, ...]:
        """Every charge that touched a log, oldest first, with when it was released."""
        with self._file.reading():
            released = {entry.payload["key"]: entry.at for entry in self.acts(RELEASE)}
            records = [
                ChargeRecord(entry.seq, entry.at, charge, released.get(charge.key))
                for entry in self.acts(CHARGE)
                for charge in [charge_of(entry)]
            ]
        return tuple(
            one for one in records if any(account.log == log for account in one.charge.accounts)
        )

    def verify(self) -> Verification:
        """Check the file, the chain, its story, and what was projected from it.

        A file that is out of reach (locked, unreadable) raises WorkspaceError: that is
        no finding about what it holds.
        """
        try:
            with self._file.reading():
                found = self._verified_standing()
        except Fault as fault:
            return Verification((fault.seq or 1) - 1, "", fault.sentence, fault.seq)
        except LedgerBroken:
            return Verification(0, "", DAMAGED)
        return Verification(found.last.seq, found.last.digest)

    def _cell(self, key: str) -> Cell | None:
        rows = self._file.run(_CELL, key)
        return Cell(*rows[0]) if rows else None

    def _state_of(self, charge: Charge) -> KeyState:
        cell = self._cell(charge.key)
        if cell is None:
            return KeyState.NEW
        # A pending cell will be drawn at the price asked now: it must be the price paid.
        if cell.state is KeyState.PENDING and not charge.costs_the_same_as(
            charge_of(self._file.entry(cell.charged))
        ):
            raise ValueError(f"the key {charge.key} was charged at another price")
        return cell.state

    def _refuse_overspending(self, charges: Sequence[Charge], limits: Limits) -> None:
        accounts = demand(charges)
        spent = {account: self._spent_in(account) for account in accounts}
        allowed = limits if isinstance(limits, Mapping) else {a: limits(a) for a in accounts}
        if short := shortfalls(charges, spent, allowed):
            raise budget_exceeded(charges, short)

    def _spent_in(self, account: Account) -> Epsilon:
        rows = self._file.run(_SPENT_BY_ACCOUNT, account.log, account.block)
        return Epsilon(rows[0][0]) if rows else ZERO

    def _write_charges(self, charges: Sequence[Charge]) -> None:
        for charge in charges:
            entry = self._file.append(CHARGE, charge_payload(charge))
            self._file.run(_NEW_CELL, charge.key, entry.seq)
        for account, amount in demand(charges).items():
            self._file.run(_SPEND, account.log, account.block, amount.nano)

    def _write_result(self, key: str, result: JSON) -> None:
        cell = self._cell(key)
        if cell is None:
            raise ValueError(f"a result for the key {key}, which was never charged")
        if cell.state is KeyState.PENDING:
            entry = self._file.append(RELEASE, release_payload(key, result))
            self._file.run(_RELEASE_CELL, entry.seq, key)

    def _verified_standing(self) -> Standing:
        self._file.check_file()
        found = standing(verified(self._file.entries()))
        self._file.check_head(found.last)
        spent = {Account(log, block): Epsilon(nano) for log, block, nano in self._file.run(_SPENT)}
        if spent != found.spent:
            raise Fault(None, "what is spent per block is not what the journal adds up to")
        cells = {key: Cell(charged, released) for key, charged, released in self._file.run(_CELLS)}
        if cells != found.cells:
            raise Fault(None, "the charged and released keys are not those of the journal")
        return found
