"""What the entries of a ledger's journal mean, and what they add up to.

Six kinds belong to the ledger itself: `ledger` opens the journal, `reserve` sets a price
aside, `cancel` gives up what was set aside, `charge` spends, `release` puts the result of
a charged cell on record, `format` says from where on the journal is of a newer format. The
other kinds are acts of the owner and are only kept. What an unknown kind means nobody can
know, so a journal that has one is refused.

`standing` adds a whole journal up again, and in doing so checks that it tells a possible
story: nothing is charged twice, and nothing is released that was not charged before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pappi.budget.accounts import Account, Charge, KeyState
from pappi.budget.chain import Entry, Fault
from pappi.values.epsilon import ZERO, Epsilon
from pappi.values.plain_data import JSON

OPENING = "ledger"
RESERVE = "reserve"
CANCEL = "cancel"
CHARGE = "charge"
RELEASE = "release"
REFORMAT = "format"
LEDGERS_OWN = frozenset({OPENING, RESERVE, CANCEL, CHARGE, RELEASE, REFORMAT})

# What the register folds (`store/register.py`), and what is only kept. A new kind is named
# here, and is a new format: whoever does not know it must not go on.
ACTS = frozenset(
    {
        *("declare", "grant", "withdraw", "key", "revoke", "stop", "resume"),
        *("stand", "end", "keep", "forget", "erase", "rollback"),
        *("withdraw-names", "exact"),
    }
)
# Unless it decides nothing, whoever reads it: then it begins like this.
HARMLESS = "note-"

FORMAT = 3


@dataclass(frozen=True, slots=True)
class Cell:
    """Where in the journal a key was reserved, charged and released, as far as it has come."""

    reserved: int | None = None
    charged: int | None = None
    released: int | None = None

    @property
    def state(self) -> KeyState:
        if self.released is not None:
            return KeyState.RELEASED
        return KeyState.RESERVED if self.charged is None else KeyState.PENDING


@dataclass(frozen=True, slots=True)
class Balance:
    """What an account has spent, and what is set aside in it for standing questions."""

    spent: Epsilon = ZERO
    held: Epsilon = ZERO

    @property
    def used(self) -> Epsilon:
        return self.spent + self.held


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
    balances: Mapping[Account, Balance]
    cells: Mapping[str, Cell]


def opening_payload(identity: str) -> Mapping[str, JSON]:
    """With an identity of its own no ledger can be taken for another."""
    return {"format": FORMAT, "identity": identity}


def reformat_payload() -> Mapping[str, JSON]:
    return {"format": FORMAT}


def format_of(entry: Entry) -> int:
    """The format that an opening or a `format` entry says the journal has from there on."""
    written = entry.payload.get("format")
    if type(written) is not int:
        raise Fault(entry.seq, f"entry {entry.seq} names no format")
    return written


def is_known(kind: str) -> bool:
    """Whether this version can tell what an entry of that kind decides."""
    return kind in LEDGERS_OWN or kind in ACTS or kind.startswith(HARMLESS)


def charge_payload(charge: Charge) -> Mapping[str, JSON]:
    """Of a charge, and of a reservation: a charge to be made later."""
    return {
        "key": charge.key,
        "accounts": [[account.log, account.block] for account in charge.accounts],
        "amount": charge.amount.nano,
        "analyst": charge.analyst,
        "question": charge.question,
    }


def charge_of(entry: Entry) -> Charge:
    """The charge an entry stands for."""
    payload = entry.payload
    return Charge(
        payload["key"],
        tuple(Account(log, block) for log, block in payload["accounts"]),
        Epsilon(payload["amount"]),
        payload["question"],
        payload["analyst"],
    )


def release_payload(key: str, result: JSON) -> Mapping[str, JSON]:
    return {"key": key, "result": result}


def cancel_payload(key: str) -> Mapping[str, JSON]:
    return {"key": key}


def result_of(entry: Entry) -> JSON:
    """The released result an entry put on record."""
    result: JSON = entry.payload["result"]
    return result


def standing(entries: Iterable[Entry]) -> Standing:
    """Add a journal up, or raise the first Fault in its story."""
    story = _Story()
    last = None
    for last in entries:
        try:
            story.take(last)
        except (KeyError, TypeError, ValueError) as error:
            raise Fault(last.seq, f"entry {last.seq} makes no sense: {error}") from error
    if last is None:
        raise Fault(1, "the journal is empty")
    return Standing(last, story.balances, story.cells)


class _Story:
    """The sums so far."""

    def __init__(self) -> None:
        self.balances: dict[Account, Balance] = {}
        self.cells: dict[str, Cell] = {}
        self._held: dict[str, Charge] = {}

    def take(self, entry: Entry) -> None:
        if (entry.kind == OPENING) is not (entry.seq == 1):
            raise Fault(entry.seq, f"entry {entry.seq} is out of place: one opening, at the start")
        if not is_known(entry.kind):
            raise Fault(entry.seq, f"entry {entry.seq} is of a kind this version does not know")
        match entry.kind:
            case "reserve":
                self._reserve(entry)
            case "cancel":
                self._cancel(entry)
            case "charge":
                self._charge(entry)
            case "release":
                self._release(entry)

    def _reserve(self, entry: Entry) -> None:
        charge = charge_of(entry)
        if charge.key in self.cells:
            raise Fault(entry.seq, f"entry {entry.seq} reserves a key that is known already")
        self.cells[charge.key] = Cell(reserved=entry.seq)
        self._held[charge.key] = charge
        self._add(charge, held=1)

    def _cancel(self, entry: Entry) -> None:
        charge = self._held.pop(entry.payload["key"], None)
        if charge is None:
            raise Fault(entry.seq, f"entry {entry.seq} gives up what was not reserved")
        del self.cells[charge.key]
        self._add(charge, held=-1)

    def _charge(self, entry: Entry) -> None:
        charge = charge_of(entry)
        cell = self.cells.get(charge.key, Cell())
        if cell.charged is not None:
            raise Fault(entry.seq, f"entry {entry.seq} charges the same key a second time")
        held = self._held.pop(charge.key, None)
        if held is not None:
            if not charge.costs_the_same_as(held):
                raise Fault(entry.seq, f"entry {entry.seq} charges another price than was reserved")
            self._add(held, held=-1)
        self.cells[charge.key] = replace(cell, charged=entry.seq)
        self._add(charge, spent=1)

    def _release(self, entry: Entry) -> None:
        key = entry.payload["key"]
        cell = self.cells.get(key)
        if cell is None or cell.charged is None:
            raise Fault(entry.seq, f"entry {entry.seq} releases what was never charged")
        if cell.released is not None:
            raise Fault(entry.seq, f"entry {entry.seq} releases the same key a second time")
        self.cells[key] = replace(cell, released=entry.seq)

    def _add(self, charge: Charge, *, spent: int = 0, held: int = 0) -> None:
        for account, amount in charge.costs:
            now = self.balances.get(account, Balance())
            self.balances[account] = Balance(
                Epsilon(now.spent.nano + spent * amount.nano),
                Epsilon(now.held.nano + held * amount.nano),
            )
