"""What the entries of a ledger's journal mean, and what they add up to.

Three kinds belong to the ledger itself: `ledger` opens the journal, `charge` spends,
`release` puts the result of a charged cell on record. Every other kind is an act of the
owner and is only kept. `standing` adds a whole journal up again, and in doing so checks
that it tells a possible story: nothing is charged twice, and nothing is released that
was not charged before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pappi.budget.accounts import Account, Charge, KeyState
from pappi.budget.chain import Entry, Fault
from pappi.values.epsilon import ZERO, Epsilon
from pappi.values.plain_data import JSON

OPENING = "ledger"
CHARGE = "charge"
RELEASE = "release"
RESERVED = frozenset({OPENING, CHARGE, RELEASE})

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Cell:
    """Where in the journal a key was charged and, perhaps, released."""

    charged: int
    released: int | None = None

    @property
    def state(self) -> KeyState:
        return KeyState.PENDING if self.released is None else KeyState.RELEASED


@dataclass(frozen=True, slots=True)
class ChargeRecord:
    """A charge as it stands in the journal; `released_at` is None while it is pending."""

    seq: int
    at: str
    charge: Charge
    released_at: str | None


@dataclass(frozen=True, slots=True)
class Standing:
    """What a journal adds up to."""

    last: Entry
    spent: Mapping[Account, Epsilon]
    cells: Mapping[str, Cell]


def opening_payload() -> Mapping[str, JSON]:
    return {"format": FORMAT}


def charge_payload(charge: Charge) -> Mapping[str, JSON]:
    return {
        "key": charge.key,
        "accounts": [[account.log, account.block] for account in charge.accounts],
        "amount": charge.amount.nano,
        "question": charge.question,
    }


def charge_of(entry: Entry) -> Charge:
    """The charge an entry stands for."""
    payload = entry.payload
    accounts = tuple(Account(log, block) for log, block in payload["accounts"])
    return Charge(payload["key"], accounts, Epsilon(payload["amount"]), payload["question"])


def release_payload(key: str, result: JSON) -> Mapping[str, JSON]:
    return {"key": key, "result": result}


def result_of(entry: Entry) -> JSON:
    """The released result an entry put on record."""
    result: JSON = entry.payload["result"]
    return result


def standing(entries: Iterable[Entry]) -> Standing:
    """Add a journal up, or raise the first Fault in its story."""
    spent: dict[Account, Epsilon] = {}
    cells: dict[str, Cell] = {}
    last = None
    for last in entries:
        try:
            _take(last, spent, cells)
        except (KeyError, TypeError, ValueError) as error:
            raise Fault(last.seq, f"entry {last.seq} makes no sense: {error}") from error
    if last is None:
        raise Fault(1, "the journal is empty")
    return Standing(last, spent, cells)


def _take(entry: Entry, spent: dict[Account, Epsilon], cells: dict[str, Cell]) -> None:
    if (entry.kind == OPENING) is not (entry.seq == 1):
        raise Fault(entry.seq, f"entry {entry.seq} is out of place: one opening, at the start")
    if entry.kind == CHARGE:
        _take_charge(entry, spent, cells)
    elif entry.kind == RELEASE:
        _take_release(entry, cells)


def _take_charge(entry: Entry, spent: dict[Account, Epsilon], cells: dict[str, Cell]) -> None:
    charge = charge_of(entry)
    if charge.key in cells:
        raise Fault(entry.seq, f"entry {entry.seq} charges the same key a second time")
    cells[charge.key] = Cell(charged=entry.seq)
    for account in charge.accounts:
        spent[account] = spent.get(account, ZERO) + charge.amount


def _take_release(entry: Entry, cells: dict[str, Cell]) -> None:
    key = entry.payload["key"]
    cell = cells.get(key)
    if cell is None:
        raise Fault(entry.seq, f"entry {entry.seq} releases what was never charged")
    if cell.released is not None:
        raise Fault(entry.seq, f"entry {entry.seq} releases the same key a second time")
    cells[key] = Cell(cell.charged, released=entry.seq)
