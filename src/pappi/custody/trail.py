"""What the owner reads in the journal: its entries in words, and who spent what.

Spending is read from the ledger's accounts. The charges themselves are read from the end of the
journal backwards: the owner looks for the newest, and a long past need not be read for them.

The data-protection pack is one walk through the verified journal. Everything in it is as of one
moment, the entry at which the verification ended. It reads no events, and of released results only
that they exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from typing import Any

from pappi.errors import LedgerBroken
from pappi.ledger import (
    Account,
    Balance,
    Charge,
    ChargeRecord,
    Entry,
    EntryKind,
    Ledger,
    cancelled_in,
    charge_of,
    reserved_in,
)
from pappi.report import (
    Act,
    Chain,
    Erasure,
    LogFacts,
    Look,
    Pack,
    RecordedCell,
    Share,
    State,
    query_digest,
    rows_of,
)
from pappi.store import LedgerSession, LogDeclaration, Registry, place_text
from pappi.values import ZERO, BudgetLine, Epsilon

Payload = Mapping[str, Any]
_DIGITS = 12
_NO_LONGER = ""
"""Stands for the name of a removed log."""


def entry_text(kind: str, payload: Payload, before: Payload | None = None) -> str:
    """An entry in words; for a log declared again, what changed since its payload `before`."""
    if kind == EntryKind.DECLARE:
        if before is not None:
            parts = ((part(payload), part(before)) for part in (_sealed, _budget))
            changes = [f"{now} (before: {then})" for now, then in parts if now != then]
            return f"Log {payload['name']}: {'; '.join(changes) or 'declared again'}"
        source = payload.get("source")
        place = f", read from {place_text(source['url'], source['table'])}" if source else ""
        terms = f"{_sealed(payload)}, {_budget(payload)}{place}"
        return f"Log {payload['name']} declared: {terms}"
    words = _WORDS.get(kind)
    return words(payload) if words else kind


def done_by(payload: Payload) -> str:
    """Who did what an entry says; empty if it names nobody."""
    return str(payload.get("by") or payload.get("analyst") or "")


def _sealed(payload: Payload) -> str:
    began = payload["first"] == payload["until"]
    return "nothing sealed yet" if began else f"sealed until {payload['until']}"


def _budget(payload: Payload) -> str:
    total = payload["total_budget"]
    in_all = "" if total is None else f", ε {Epsilon(total)} in all"
    return f"ε {Epsilon(payload['block_budget'])} per block{in_all}"


def _key(payload: Payload) -> str:
    until = f", until {payload['expires'][:10]}" if payload["expires"] else ""
    rights = ", ".join(payload["rights"])
    return f"Key {payload['id']} issued to {payload['role']} {payload['name']}: {rights}{until}"


def _looked(payload: Payload) -> str:
    more = payload["count"] - len(payload["ppis"])
    named = ", ".join(payload["ppis"]) + (f" and {more:,} more" if more else "")
    return f"Exact values of {payload['log']} viewed: {named}"


def _reserved(payload: Payload) -> str:
    if "charges" in payload:
        log = payload["charges"][0]["accounts"][0][0]
        return f"{len(payload['charges']):,} cells of {log} reserved"
    return f"{payload['question']['ppi']} reserved: {_price(payload)}"


def _rolled_back(payload: Payload) -> str:
    lost = payload["lost"]
    first, mark = lost["from"], lost["mark"]
    gone = "an unknown part" if first is None or mark is None else f"entries {first} to {mark}"
    frozen = (
        f"all of {log}" if whole else f"{log} until {day}"
        for log, (day, whole) in payload["frozen"].items()
    )
    until = ", ".join(frozen) or "there was no log"
    return f"Loss of {gone} of the ledger accepted; blocks up to then frozen: {until}"


def _price(payload: Payload) -> str:
    log = payload["accounts"][0][0]
    blocks = [block for _, block in payload["accounts"]]
    where = blocks[0] if len(blocks) == 1 else f"each of {len(blocks)} blocks"
    return f"ε {Epsilon(payload['amount'])} in {where} of {log}"


_WORDS: Mapping[str, Callable[[Payload], str]] = {
    EntryKind.OPENING: lambda _payload: "Ledger opened",
    EntryKind.GRANT: lambda payload: (
        f"{payload['analyst']} granted ε {Epsilon(payload['per_block'])} of each block of "
        f"{payload['log']}"
    ),
    EntryKind.WITHDRAW: lambda payload: (
        f"Grant of {payload['analyst']} for {payload['log']} withdrawn"
    ),
    EntryKind.KEY: _key,
    EntryKind.REVOKE: lambda payload: f"Key {payload['id']} revoked",
    EntryKind.STOP: lambda payload: f"All answers stopped: {payload['reason']}",
    EntryKind.RESUME: lambda _payload: "Answers resumed",
    EntryKind.STAND: lambda payload: (
        f"Subscription to {payload['log']} from {payload['first']} up to {payload['until']}"
    ),
    EntryKind.END: lambda _payload: "Subscription ended",
    EntryKind.KEEP: lambda payload: f"Query about {payload['log']} saved",
    EntryKind.FORGET: lambda _payload: "Saved query removed",
    EntryKind.ERASE: lambda payload: (
        f"{payload['cases']:,} cases with {payload['events']:,} events of {payload['log']} "
        f"deleted, named by {', '.join(payload['by what'])}"
    ),
    EntryKind.ROLLBACK: _rolled_back,
    EntryKind.REFORMAT: lambda payload: f"Ledger upgraded to format {payload['format']}",
    EntryKind.WITHDRAW_NAMES: lambda payload: (
        f"Names withdrawn from {payload['log']}: "
        f"{', '.join(map(repr, (*payload['activities'], *payload['attributes'])))}"
    ),
    EntryKind.EXACT: _looked,
    EntryKind.PROFILE: lambda payload: f"Profile of {payload['log']} viewed",
    EntryKind.RENAME: lambda payload: f"Log {payload['log']} renamed: now {payload['to']}",
    EntryKind.REMOVE: lambda payload: (
        f"Log {payload['log']} removed: its events are deleted, what was released stays"
        if payload["charged"]
        else f"Log {payload['log']} removed: nothing was charged"
    ),
    EntryKind.CHARGE: lambda payload: f"{payload['question']['ppi']} charged: {_price(payload)}",
    EntryKind.RESERVE: _reserved,
    EntryKind.RELEASE: lambda payload: f"Result recorded for {payload['key'][:_DIGITS]}…",
    EntryKind.CANCEL: lambda payload: (
        f"{len(payload['cells']):,} reservations released"
        if "cells" in payload
        else f"Reservation {payload['key'][:_DIGITS]}… released"
    ),
}


# --- what was spent ------------------------------------------------------------------


# Journal entries read for one page of charges, at most `_WINDOWS` times: tens of milliseconds.
_WINDOW = 5_000
_WINDOWS = 4

Balances = Mapping[Account, Balance]


@dataclass(frozen=True, slots=True)
class Spending:
    """A log's accounts: every block, all blocks together, every analyst."""

    lines: tuple[BudgetLine, ...]
    in_all: Balance
    analysts: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class ChargePage:
    """Charges, newest first; more of them are before the entry `older`, if any."""

    charges: tuple[ChargeRecord, ...]
    older: int | None


def spending_of(log: LogDeclaration, balances: Balances, registry: Registry) -> Spending:
    """A line for each sealed block, and for other blocks with charges or reservations; a share
    for every analyst who was granted one, or has spent or reserved something without one.
    """
    labels = dict.fromkeys(
        block.label for block in log.terms.blocks.periods(log.public.first, log.public.until)
    )
    labels |= dict.fromkeys(sorted(account.block for account in balances if account.is_block))
    of_blocks = {label: balances.get(Account(log.name, label), Balance()) for label in labels}
    frozen = {label: registry.is_frozen(log, label) for label in labels}
    spent: dict[str, list[Epsilon]] = {}
    for account, balance in balances.items():
        if account.analyst:
            spent.setdefault(account.analyst, []).append(balance.spent)
    granted = {
        who: grant.per_block for (of, who), grant in registry.grants.items() if of == log.name
    }
    shares = []
    for who in sorted(granted.keys() | spent.keys()):
        amounts = [amount for amount in spent.get(who, ()) if amount.nano]
        shares.append(Share(who, granted.get(who), max(amounts, default=ZERO), len(amounts)))
    return Spending(
        lines=tuple(
            BudgetLine(label, log.terms.block_budget, of.spent, of.held, frozen=frozen[label])
            for label, of in of_blocks.items()
        ),
        in_all=balances.get(Account(log.name), Balance()),
        analysts=tuple(shares),
    )


def charges_before(ledger: Ledger, log: str | None, before: int, limit: int) -> ChargePage:
    """The charges of a log, or of all, in the entries before a number: newest first.

    Only so many entries are read at once: a short page need not be the last.
    """
    end = max(before - _WINDOWS * _WINDOW, 1)
    charged = _backwards(ledger, before, end)
    touching = (entry for entry in charged if log is None or charge_of(entry).log == log)
    page = tuple(map(ledger.charge_record, islice(touching, limit)))
    older = page[-1].seq if len(page) == limit else end
    return ChargePage(page, older if older > 1 else None)


def _backwards(ledger: Ledger, before: int, end: int) -> Iterator[Entry]:
    """The charges among the entries before a number, newest first."""
    while before > end:
        start = max(before - _WINDOW, end)
        entries = list(islice(ledger.entries(start), before - start))
        yield from (entry for entry in reversed(entries) if entry.kind == EntryKind.CHARGE)
        before = start


# --- the data-protection pack -------------------------------------------------------------


def gather_pack(session: LedgerSession, log: str | None) -> Pack:
    """The facts about a log, or about all; if the ledger does not verify, only that."""
    workspace = session.files.root.name
    try:
        # Reads the whole journal, so on a connection of its own: nobody has to wait.
        with session.files.ledger_to_verify() as ledger:
            verified = ledger.verify()
            chain = Chain(verified.entries, verified.head, verified.problem)
            if not chain.ok:
                return Pack(workspace, chain)
            walk = _Walk()
            last = None
            # What others write meanwhile is for the next pack.
            for last in islice(ledger.entries(), verified.entries):
                walk.take(last)
            if last is None or last.digest != verified.head:
                changed = "the journal was changed while it was being read"
                return Pack(workspace, Chain(0, "", changed))
            return walk.pack(workspace, chain, log)
    except LedgerBroken as error:
        return Pack(workspace, Chain(0, "", error.message))


class _Walk:
    """What the entries read so far add up to."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.acts: list[Act] = []
        self.erasures: dict[str, list[Erasure]] = {}
        self.looks: dict[str, list[Look]] = {}
        self.cells: dict[str, RecordedCell] = {}

    def pack(self, workspace: str, chain: Chain, log: str | None) -> Pack:
        registry = self.registry
        logs = tuple(registry.logs.values()) if log is None else (registry.log(log),)
        names = {None, *(declared.name for declared in logs)}
        return Pack(
            workspace=workspace,
            chain=chain,
            logs=tuple(map(self._log, logs)),
            keys=tuple(registry.keys.values()),
            stopped=registry.stopped,
            acts=tuple(act for act in self.acts if log is None or act.log in names),
        )

    def take(self, entry: Entry) -> None:
        if entry.kind == EntryKind.RESERVE:
            for key, charge in reserved_in(entry.payload).items():
                self.cells[key] = _recorded_cell(charge, entry.at, State.RESERVED)
        elif entry.kind == EntryKind.CHARGE:
            charge = charge_of(entry)
            self.cells[charge.key] = _recorded_cell(charge, entry.at, State.INCOMPLETE)
        elif entry.kind == EntryKind.RELEASE:
            key = entry.payload["key"]
            self.cells[key] = replace(self.cells[key], state=State.RELEASED)
        elif entry.kind == EntryKind.CANCEL:
            for key in cancelled_in(entry.payload):
                del self.cells[key]
        elif entry.kind in (EntryKind.EXACT, EntryKind.PROFILE):
            # Apart from the acts, which frequent views would otherwise hide.
            view = {"ppis": ["profile of the log"], "count": 1, **entry.payload}
            look = Look(entry.seq, entry.at, view["by"], tuple(view["ppis"]), view["count"])
            self.looks.setdefault(view["log"], []).append(look)
        elif entry.kind != EntryKind.OPENING:
            self._act(entry)

    def _act(self, entry: Entry) -> None:
        before, self.registry = self.registry, self.registry.advanced([entry])
        payload = entry.payload
        log = _log_of(entry.kind, payload, before)
        earlier = before.logs.get(payload["name"]) if entry.kind == EntryKind.DECLARE else None
        words = entry_text(entry.kind, payload, earlier.to_json() if earlier else None)
        self.acts.append(Act(entry.seq, entry.at, done_by(payload), words, log))
        if entry.kind == EntryKind.ERASE:
            kinds = tuple(payload["by what"])
            erasure = Erasure(entry.at, payload["by"], kinds, payload["cases"], payload["events"])
            self.erasures.setdefault(payload["log"], []).append(erasure)
        elif entry.kind == EntryKind.RENAME:
            self._move(payload["log"], payload["to"])
        elif entry.kind == EntryKind.REMOVE and not payload["charged"]:
            self._move(payload["log"], _NO_LONGER)

    def _move(self, old: str, new: str) -> None:
        """The history of a log moves with it: another log may get its name."""
        self.acts = [replace(act, log=new) if act.log == old else act for act in self.acts]
        self.erasures[new] = self.erasures.pop(old, [])
        self.looks[new] = self.looks.pop(old, [])

    def _log(self, log: LogDeclaration) -> LogFacts:
        cells = [cell for cell in self.cells.values() if cell.log == log.name]
        spending = spending_of(log, _balances(cells), self.registry)
        return LogFacts(
            public=log.public,
            source="" if log.source is None else log.source.where,
            removed=log.removed,
            accounts=spending.lines,
            spent_in_all=spending.in_all.spent,
            shares=spending.analysts,
            releases=rows_of(cells),
            erasures=tuple(self.erasures.get(log.name, ())),
            looks=tuple(self.looks.get(log.name, ())),
        )


def _recorded_cell(charge: Charge, at: str, state: State) -> RecordedCell:
    periods = charge.query["periods"]
    return RecordedCell(
        log=charge.query["log"],
        query=query_digest(charge.query),
        ppi=charge.ppi,
        analyst=charge.analyst,
        mechanism=", ".join(dict.fromkeys(charge.mechanisms)),
        amount=charge.amount,
        at=at,
        first=date.fromisoformat(min(period["start"] for period in periods)),
        end=date.fromisoformat(max(period["end"] for period in periods)),
        blocks=charge.blocks,
        state=state,
    )


def _balances(cells: Iterable[RecordedCell]) -> Balances:
    """What the cells add up to in every account; the ledger has verified the same sums."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for cell in cells:
        log, held = cell.log, int(cell.state is State.RESERVED)
        for block in cell.blocks:
            # A set: without an analyst there is no account of the analyst's.
            for place in {(log, block, ""), (log, "", ""), (log, block, cell.analyst)}:
                sums.setdefault(place, [0, 0])[held] += cell.amount.nano
    return {
        Account(*at): Balance(Epsilon(spent), Epsilon(held)) for at, (spent, held) in sums.items()
    }


def _log_of(kind: str, payload: Mapping[str, Any], before: Registry) -> str | None:
    if kind == EntryKind.DECLARE:
        return str(payload["name"])
    if kind == EntryKind.END:
        return before.subscriptions[payload["id"]].log
    return payload.get("log")
