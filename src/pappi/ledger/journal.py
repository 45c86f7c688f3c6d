"""The journal: its hash chain, what its entries mean and add up to, and the database it lives in.

Every entry carries the SHA-256 digest of its own content and of the digest before it.
Changing, inserting, removing or reordering an entry breaks every digest that follows.
The chain has no secret: it reveals damage and careless edits, not a forger who can rewrite
the whole journal. To detect that, note the last digest somewhere else.

Six kinds belong to the ledger itself: `ledger` opens the journal, `reserve` sets a price
aside, `cancel` gives a reservation up, `charge` spends, `release` puts the result of
a charged cell on record, `format` says from where on the journal has a newer format. The
other kinds are acts of the owner, which the ledger only stores. A journal with an unknown
kind is refused, because nobody can know what it means.

A `Tally` adds a journal up again, and checks on the way that it is possible: nothing is
charged twice, and nothing is released that was not charged before.

A database provides transactions and runs fixed statements in a small common SQL with `?` for
values; how a journal is built on that is the same everywhere, and is here (`Journal`). Everything
fails closed: whatever a database reports becomes an error, never a permission. A commit that
failed half-way may have reached the disk; then an epsilon is charged without a result, and the
same query completes it. The opposite cannot happen.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NoReturn, TypeAlias

from pappi.errors import LedgerBroken, LedgerUnavailable
from pappi.ledger.accounts import Account, Charge, KeyState
from pappi.mechanisms import secret_bytes
from pappi.values import JSON, ZERO, Epsilon

# --- the chain ----------------------------------------------------------------------------


_TEXTS = frozenset({str})
_ATOMS = frozenset({str, int, bool, type(None)})

START = "0" * 64  # the digest before the first entry


class Flaw(Exception):
    """The first thing wrong with a journal, and the entry where it shows."""

    def __init__(self, seq: int | None, sentence: str) -> None:
        super().__init__(sentence)
        self.seq = seq
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal. `body` is its payload in canonical JSON."""

    seq: int
    at: str
    kind: str
    body: str
    digest: str

    @property
    def payload(self) -> dict[str, Any]:
        """The payload, read back: lists, dicts, strings, whole numbers, truth values."""
        return json.loads(self.body, parse_float=_no_float)  # type: ignore[no-any-return]


def canonical_json(value: JSON) -> str:
    """The one way to write a value: sorted keys, no spaces, ASCII, and no floats.

    >>> canonical_json({"to": (1, 2), "from": "ε"})
    '{"from":"\\\\u03b5","to":[1,2]}'
    """
    plain = value if _is_plain(value) else _plain(value)
    return _CANONICAL.encode(plain)


# Made once: a release writes thousands of values.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_COMPACT = json.JSONEncoder(separators=(",", ":"))


def canonical_object(members: Mapping[str, str]) -> str:
    """The same for an object whose members are already written.

    >>> canonical_object({"to": canonical_json((1, 2)), "from": canonical_json("ε")})
    '{"from":"\\\\u03b5","to":[1,2]}'
    """
    pairs = (f"{json.dumps(name)}:{members[name]}" for name in sorted(members))
    return f"{{{','.join(pairs)}}}"


def extend(last: Entry | None, at: str, kind: str, payload: Mapping[str, JSON]) -> Entry:
    """The next entry of the chain that ends in `last`."""
    seq, previous = (last.seq + 1, last.digest) if last else (1, START)
    body = canonical_json(payload)
    return Entry(seq, at, kind, body, _digest(seq, at, kind, body, previous))


def verified(entries: Iterable[Entry], after: Entry | None = None) -> Iterator[Entry]:
    """The same entries, each passed on only after its place in the chain is checked.

    They begin the chain, or continue it `after` an entry that was checked before.
    """
    first, previous = (after.seq + 1, after.digest) if after else (1, START)
    for expected, entry in enumerate(entries, start=first):
        if entry.seq != expected:
            raise Flaw(expected, f"entry {expected} is missing")
        require_follows(entry, previous)
        previous = entry.digest
        yield entry


def require_follows(entry: Entry, previous: str) -> None:
    """Raise a Flaw unless an entry's digest matches its content and the digest before it."""
    if entry.digest != _digest(entry.seq, entry.at, entry.kind, entry.body, previous):
        raise Flaw(entry.seq, f"entry {entry.seq} or its digest has been changed")


def _digest(seq: int, at: str, kind: str, body: str, previous: str) -> str:
    # A JSON list, so that no two different entries run together into the same text.
    text = _COMPACT.encode([seq, at, kind, body, previous])
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _is_plain(value: object) -> bool:
    """Whether json.dumps can take it as it is, without guessing: a fast path for nearly all."""
    if type(value) in _ATOMS:
        return True
    unchecked: list[object] = [value]
    while unchecked:
        part = unchecked.pop()
        if isinstance(part, dict):
            if not _TEXTS.issuperset(map(type, part)):
                return False
            items: Iterable[object] = part.values()
        elif isinstance(part, list | tuple):
            items = part
        else:
            return False
        unchecked.extend(item for item in items if type(item) not in _ATOMS)
    return True


def _plain(value: object) -> object:
    """The value in a form json.dumps takes, or an error where it would guess."""
    match value:
        case None | bool() | int() | str():
            return value
        case Mapping():
            return {_name(name): _plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            raise TypeError(f"{type(value).__name__} cannot go into the journal: {value!r}")


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"names in the journal are text, not {name!r}")
    return name


def _no_float(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a whole number")


# --- what entries mean --------------------------------------------------------------------


class EntryKind:
    """The kinds of entries. A new kind is a new format: a version that lacks it must not go on."""

    OPENING = "ledger"
    RESERVE = "reserve"
    CANCEL = "cancel"
    CHARGE = "charge"
    RELEASE = "release"
    REFORMAT = "format"
    # Acts: folded by the registry (`store/registry.py`), or only kept.
    DECLARE = "declare"
    GRANT = "grant"
    WITHDRAW = "withdraw"
    KEY = "key"
    REVOKE = "revoke"
    STOP = "stop"
    RESUME = "resume"
    STAND = "stand"
    END = "end"
    KEEP = "keep"
    FORGET = "forget"
    ERASE = "erase"
    ROLLBACK = "rollback"
    WITHDRAW_NAMES = "withdraw-names"
    EXACT = "exact"
    PROFILE = "profile"
    RENAME = "rename"
    REMOVE = "remove"


LEDGERS_OWN = frozenset(
    {
        EntryKind.OPENING,
        EntryKind.RESERVE,
        EntryKind.CANCEL,
        EntryKind.CHARGE,
        EntryKind.RELEASE,
        EntryKind.REFORMAT,
    }
)
ACTS = frozenset(kind for name, kind in vars(EntryKind).items() if name.isupper()) - LEDGERS_OWN
# The prefix of kinds that decide nothing, and may therefore be unknown.
HARMLESS = "note-"

FORMAT = 3


@dataclass(frozen=True, slots=True)
class KeyHistory:
    """The entries that reserved, charged and released a key, as far as it has come."""

    reserved: int | None = None
    charged: int | None = None
    released: int | None = None

    def as_of(self, seq: int) -> KeyHistory | None:
        """The cell as it was after an entry; None if it was not there yet.

        A reservation that was given up later leaves no trace, so it does not show.
        """
        reserved, charged, released = (
            number if number is not None and number <= seq else None
            for number in (self.reserved, self.charged, self.released)
        )
        if reserved is None and charged is None and released is None:
            return None
        return KeyHistory(reserved, charged, released)

    @property
    def state(self) -> KeyState:
        if self.released is not None:
            return KeyState.RELEASED
        return KeyState.RESERVED if self.charged is None else KeyState.PENDING


@dataclass(frozen=True, slots=True)
class Balance:
    """What an account has spent, and what is reserved in it for subscriptions."""

    spent: Epsilon = ZERO
    held: Epsilon = ZERO

    @property
    def used(self) -> Epsilon:
        return self.spent + self.held


@dataclass(frozen=True, slots=True)
class ChargeRecord:
    """A charge in the journal; `released_at` is None while it is pending."""

    seq: int
    at: str
    charge: Charge
    released_at: str | None

    @property
    def released(self) -> bool:
        return self.released_at is not None


@dataclass(frozen=True, slots=True)
class Standing:
    """What a journal adds up to."""

    last: Entry
    balances: Mapping[Account, Balance]
    cells: Mapping[str, KeyHistory]


def opening_payload(identity: str) -> Mapping[str, JSON]:
    """With a random identity, so that no ledger can be taken for another."""
    return {"format": FORMAT, "identity": identity}


def reformat_payload() -> Mapping[str, JSON]:
    return {"format": FORMAT}


def format_of(entry: Entry) -> int:
    """The format the journal has from an opening or a `format` entry on."""
    number = entry.payload.get("format")
    if type(number) is not int:
        raise Flaw(entry.seq, f"entry {entry.seq} names no format")
    return number


def is_known(kind: str) -> bool:
    """Whether this version knows what an entry of that kind decides."""
    return kind in LEDGERS_OWN or kind in ACTS or kind.startswith(HARMLESS)


def charge_payload(charge: Charge) -> Mapping[str, JSON]:
    """The payload of a charge; also of a reservation, which is a charge to be made later."""
    return {
        "key": charge.key,
        "accounts": [[account.log, account.block] for account in charge.accounts],
        "amount": charge.amount.nano,
        "analyst": charge.analyst,
        "question": charge.query,
    }


def charge_of(entry: Entry) -> Charge:
    """The charge an entry stands for."""
    return _charge(entry.payload)


def reserve_payload(charges: Sequence[Charge]) -> Mapping[str, JSON]:
    """The payload of a reservation. What its queries have in common is written once."""
    names = sorted({name for charge in charges for name in charge.query})
    values: list[JSON] = []
    places: dict[str, int] = {}

    def place(value: JSON) -> int:
        number = places.setdefault(canonical_json(value), len(values))
        if number == len(values):
            values.append(value)
        return number

    def placed(query: Mapping[str, JSON]) -> JSON:
        return [place(query[name]) if name in query else None for name in names]

    compact = [{**charge_payload(charge), "question": placed(charge.query)} for charge in charges]
    return {"names": names, "values": values, "charges": compact}


def reserved_in(payload: Mapping[str, Any]) -> Mapping[str, Charge]:
    """The reserved charges by key; before format 3 each was an entry of its own."""
    if "charges" not in payload:
        charge = _charge(payload)
        return {charge.key: charge}
    names, values = payload["names"], payload["values"]
    reserved: dict[str, Charge] = {}
    for compact in payload["charges"]:
        parts = zip(names, compact["question"], strict=True)
        query = {name: values[place] for name, place in parts if place is not None}
        charge = _charge({**compact, "question": query})
        if charge.key in reserved:
            raise ValueError("it reserves a key twice")
        reserved[charge.key] = charge
    return reserved


def charges_in(entry: Entry) -> tuple[Charge, ...]:
    """The charges that an entry makes or reserves."""
    if entry.kind == EntryKind.RESERVE:
        return tuple(reserved_in(entry.payload).values())
    return (charge_of(entry),)


def _charge(payload: Mapping[str, Any]) -> Charge:
    return Charge(
        payload["key"],
        tuple(Account(log, block) for log, block in payload["accounts"]),
        Epsilon(payload["amount"]),
        payload["question"],
        payload["analyst"],
    )


def release_payload(key: str, result: JSON) -> Mapping[str, JSON]:
    return {"key": key, "result": result}


def cancel_payload(reserved: Mapping[str, int]) -> Mapping[str, JSON]:
    """The payload for keys that are given up, each with the entry that reserved it."""
    return {"cells": [[key, seq] for key, seq in reserved.items()]}


def cancelled_in(payload: Mapping[str, Any]) -> Mapping[str, int | None]:
    """The keys given up, with the entries that reserved them; before format 3 one key, no entry."""
    if "cells" not in payload:
        return {payload["key"]: None}
    return dict(payload["cells"])


def result_of(entry: Entry) -> JSON:
    """The released result an entry put on record."""
    result: JSON = entry.payload["result"]
    return result


def keys_in(kind: str, payload: Mapping[str, Any]) -> Iterable[str]:
    """The keys of the cells that an entry changes."""
    match kind:
        case EntryKind.CHARGE | EntryKind.RELEASE:
            return (payload["key"],)
        case EntryKind.RESERVE:
            return [charge["key"] for charge in payload.get("charges", (payload,))]
        case EntryKind.CANCEL:
            return cancelled_in(payload)
        case _:
            return ()


def standing(entries: Iterable[Entry]) -> Standing:
    """Add a whole journal up, or raise the first Flaw in it."""
    tally = Tally()
    for entry in entries:
        tally.take(entry, payload_in(entry))
    if tally.last is None:
        raise Flaw(1, "the journal is empty")
    cells = {key: cell for key, cell in tally.cells.items() if cell is not None}
    return Standing(tally.last, tally.balances, cells)


def payload_in(entry: Entry) -> Mapping[str, Any]:
    """The payload of an entry, or a Flaw if it has none."""
    try:
        payload = entry.payload
    except ValueError as error:
        raise Flaw(entry.seq, f"entry {entry.seq} is invalid: {error}") from error
    if not isinstance(payload, dict):
        raise Flaw(entry.seq, f"entry {entry.seq} is invalid: it has no payload")
    return payload


class Tally:
    """The sums so far, from a journal's beginning or from an entry up to which they are known.

    `before` gives the cell of a key as it was before the tally, or its present batch of entries;
    `reserved` gives what an entry from before the tally has reserved. At the beginning of a
    journal there is neither. A long journal is added up in batches, so that not all of its cells
    are in memory: `end_batch` forgets those of the batch.
    """

    def __init__(
        self,
        balances: Mapping[Account, Balance] | None = None,
        before: Callable[[str], KeyHistory | None] = lambda _key: None,
        reserved: Callable[[str, int], Charge | None] = lambda _key, _seq: None,
    ) -> None:
        self.last: Entry | None = None
        self.balances: dict[Account, Balance] = dict(balances or {})
        self.cells: dict[str, KeyHistory | None] = {}
        self.held: dict[str, tuple[int, Charge]] = {}
        self.charged = self.released = self.charged_from_reserve = 0
        self._before = before
        self._reserved = reserved

    def take(self, entry: Entry, payload: Mapping[str, Any]) -> None:
        if (entry.kind == EntryKind.OPENING) is not (entry.seq == 1):
            raise Flaw(entry.seq, f"entry {entry.seq} is out of place: one opening, at the start")
        if not is_known(entry.kind):
            raise Flaw(entry.seq, f"entry {entry.seq} is of a kind this version does not know")
        try:
            match entry.kind:
                case EntryKind.RESERVE:
                    self._reserve(entry, payload)
                case EntryKind.CANCEL:
                    self._cancel(entry, payload)
                case EntryKind.CHARGE:
                    self._charge(entry, payload)
                case EntryKind.RELEASE:
                    self._release(entry, payload)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Flaw(entry.seq, f"entry {entry.seq} is invalid: {error}") from error
        self.last = entry

    def end_batch(self) -> None:
        self.cells = {}

    def _cell(self, key: str) -> KeyHistory | None:
        if key in self.cells:
            return self.cells[key]
        if key in self.held:
            return KeyHistory(reserved=self.held[key][0])
        return self._before(key)

    def _reserve(self, entry: Entry, payload: Mapping[str, Any]) -> None:
        for key, charge in reserved_in(payload).items():
            if self._cell(key) is not None:
                raise Flaw(entry.seq, f"entry {entry.seq} reserves a key that is known already")
            self.cells[key] = KeyHistory(reserved=entry.seq)
            self.held[key] = entry.seq, charge
            self._add(charge, held=1)

    def _cancel(self, entry: Entry, payload: Mapping[str, Any]) -> None:
        for key, seq in cancelled_in(payload).items():
            cell = self._cell(key)
            charge = self._held(key, seq)
            if charge is None or (cell is not None and cell.charged is not None):
                raise Flaw(
                    entry.seq, f"entry {entry.seq} gives up a reservation that does not exist"
                )
            self.cells[key] = None
            self._add(charge, held=-1)

    def _charge(self, entry: Entry, payload: Mapping[str, Any]) -> None:
        charge = _charge(payload)
        cell = self._cell(charge.key) or KeyHistory()
        if cell.charged is not None:
            raise Flaw(entry.seq, f"entry {entry.seq} charges the same key a second time")
        if cell.reserved is not None:
            reserved = self._held(charge.key, cell.reserved)
            if reserved is None or not charge.costs_the_same_as(reserved):
                raise Flaw(entry.seq, f"entry {entry.seq} charges another price than was reserved")
            self._add(reserved, held=-1)
            self.charged_from_reserve += 1
        self.cells[charge.key] = replace(cell, charged=entry.seq)
        self.charged += 1
        self._add(charge, spent=1)

    def _release(self, entry: Entry, payload: Mapping[str, Any]) -> None:
        key = payload["key"]
        cell = self._cell(key)
        if cell is None or cell.charged is None:
            raise Flaw(entry.seq, f"entry {entry.seq} releases what was never charged")
        if cell.released is not None:
            raise Flaw(entry.seq, f"entry {entry.seq} releases the same key a second time")
        self.cells[key] = replace(cell, released=entry.seq)
        self.released += 1

    def _held(self, key: str, seq: int | None) -> Charge | None:
        """Take out what is set aside for a key."""
        reserved = self.held.pop(key, None)
        if reserved is None:
            return None if seq is None else self._reserved(key, seq)
        at, charge = reserved
        return charge if seq in (None, at) else None

    def _add(self, charge: Charge, *, spent: int = 0, held: int = 0) -> None:
        for account, amount in charge.costs:
            now = self.balances.get(account, Balance())
            self.balances[account] = Balance(
                Epsilon(now.spent.nano + spent * amount.nano),
                Epsilon(now.held.nano + held * amount.nano),
            )


# --- where it lives -----------------------------------------------------------------------

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
