"""What the owner reads in the journal: its entries in words, and what was spent and by whom.

Spending is read from the ledger's accounts and, for the charges themselves, from the end of its
journal backwards: the newest is what the owner looks for, and a long past need not be read for it.

The data-protection pack is one walk through the verified journal. Everything in it is of one
moment, the entry the verification ended at. Events are not read, and of released results only that
they exist.
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
    Asked,
    Chain,
    Erasure,
    LogFacts,
    Look,
    Pack,
    Share,
    State,
    question_digest,
    rows_of,
)
from pappi.store import LedgerSession, LogDeclaration, Registry, place_text
from pappi.values import ZERO, BudgetLine, Epsilon

What = Mapping[str, Any]
_DIGITS = 12
_NO_LONGER = ""
"""Instead of the name of a log that is gone."""


def entry_text(kind: str, what: What, before: What | None = None) -> str:
    """An entry in words; of a log declared anew what changed, if what was `before` is given."""
    if kind == EntryKind.DECLARE:
        if before is not None:
            parts = ((part(what), part(before)) for part in (_sealed, _budget))
            changes = [f"{now} (before: {then})" for now, then in parts if now != then]
            return f"Log {what['name']}: {'; '.join(changes) or 'declared again'}"
        return f"Log {what['name']} declared: {_sealed(what)}, {_budget(what)}{_read_at(what)}"
    words = _WORDS.get(kind)
    return words(what) if words else kind


def _read_at(what: What) -> str:
    source = what.get("source")
    return f", read from {place_text(source['url'], source['table'])}" if source else ""


def _sealed(what: What) -> str:
    began = what["first"] == what["until"]
    return "nothing sealed yet" if began else f"sealed until {what['until']}"


def _budget(what: What) -> str:
    total = what["total_budget"]
    in_all = "" if total is None else f", ε {Epsilon(total)} in all"
    return f"ε {Epsilon(what['block_budget'])} per block{in_all}"


def _granted(what: What) -> str:
    share = Epsilon(what["per_block"])
    return f"{what['analyst']} granted ε {share} of each block of {what['log']}"


def _key(what: What) -> str:
    until = f", until {what['expires'][:10]}" if what["expires"] else ""
    rights = ", ".join(what["rights"])
    return f"Key {what['id']} issued to {what['role']} {what['name']}: {rights}{until}"


def _erased(what: What) -> str:
    counts = f"{what['cases']:,} cases with {what['events']:,} events"
    return f"{counts} of {what['log']} deleted, named by {', '.join(what['by what'])}"


def _withdrawn(what: What) -> str:
    names = ", ".join(map(repr, (*what["activities"], *what["attributes"])))
    return f"Names withdrawn from {what['log']}: {names}"


def _removed(what: What) -> str:
    events = "its events are deleted, what was released stays"
    return f"Log {what['log']} removed: {events if what['charged'] else 'nothing was charged'}"


def _looked(what: What) -> str:
    more = what["count"] - len(what["ppis"])
    named = ", ".join(what["ppis"]) + (f" and {more:,} more" if more else "")
    return f"Exact values of {what['log']} viewed: {named}"


def _reserved(what: What) -> str:
    if "charges" in what:
        log = what["charges"][0]["accounts"][0][0]
        return f"{len(what['charges']):,} cells of {log} reserved"
    return f"{what['question']['ppi']} reserved: {_price(what)}"


def _given_up(what: What) -> str:
    if "cells" in what:
        return f"{len(what['cells']):,} reservations released"
    return f"Reservation {what['key'][:_DIGITS]}… released"


def _rolled_back(what: What) -> str:
    lost = what["lost"]
    first, mark = lost["from"], lost["mark"]
    gone = "an unknown part" if first is None or mark is None else f"entries {first} to {mark}"
    return f"Loss of {gone} of the ledger accepted; blocks up to then frozen: {_frozen(what)}"


def _frozen(what: What) -> str:
    frozen = (
        f"all of {log}" if whole else f"{log} until {day}"
        for log, (day, whole) in what["frozen"].items()
    )
    return ", ".join(frozen) or "there was no log"


def _price(what: What) -> str:
    log = what["accounts"][0][0]
    blocks = [block for _, block in what["accounts"]]
    where = blocks[0] if len(blocks) == 1 else f"each of {len(blocks)} blocks"
    return f"ε {Epsilon(what['amount'])} in {where} of {log}"


_WORDS: Mapping[str, Callable[[What], str]] = {
    EntryKind.OPENING: lambda _what: "Ledger opened",
    EntryKind.GRANT: _granted,
    EntryKind.WITHDRAW: lambda what: f"Grant of {what['analyst']} for {what['log']} withdrawn",
    EntryKind.KEY: _key,
    EntryKind.REVOKE: lambda what: f"Key {what['id']} revoked",
    EntryKind.STOP: lambda what: f"All answers stopped: {what['reason']}",
    EntryKind.RESUME: lambda _what: "Answers resumed",
    EntryKind.STAND: lambda what: (
        f"Subscription to {what['log']} from {what['first']} up to {what['until']}"
    ),
    EntryKind.END: lambda _what: "Subscription ended",
    EntryKind.KEEP: lambda what: f"Query about {what['log']} saved",
    EntryKind.FORGET: lambda _what: "Saved query removed",
    EntryKind.ERASE: _erased,
    EntryKind.ROLLBACK: _rolled_back,
    EntryKind.REFORMAT: lambda what: f"Ledger upgraded to format {what['format']}",
    EntryKind.WITHDRAW_NAMES: _withdrawn,
    EntryKind.EXACT: _looked,
    EntryKind.PROFILE: lambda what: f"Profile of {what['log']} viewed",
    EntryKind.RENAME: lambda what: f"Log {what['log']} renamed: now {what['to']}",
    EntryKind.REMOVE: _removed,
    EntryKind.CHARGE: lambda what: f"{what['question']['ppi']} charged: {_price(what)}",
    EntryKind.RESERVE: _reserved,
    EntryKind.RELEASE: lambda what: f"Result recorded for {what['key'][:_DIGITS]}…",
    EntryKind.CANCEL: _given_up,
}


# --- what was spent ------------------------------------------------------------------


# Journal entries looked at for one page of charges: a few tens of milliseconds.
_WINDOW = 5_000
_WINDOWS = 4

Balances = Mapping[Account, Balance]


@dataclass(frozen=True, slots=True)
class AnalystSpending:
    """What one analyst may spend of each block, and has spent.

    `per_block` is None for one who was never granted a share, or no longer has one.
    """

    analyst: str
    per_block: Epsilon | None
    most: Epsilon
    blocks: int


@dataclass(frozen=True, slots=True)
class Spending:
    """A log's accounts: every block, all blocks together, every analyst."""

    lines: tuple[BudgetLine, ...]
    in_all: Balance
    analysts: tuple[AnalystSpending, ...]


@dataclass(frozen=True, slots=True)
class ChargePage:
    """Charges, newest first; `older` is before which entry to look for more, if any."""

    charges: tuple[ChargeRecord, ...]
    older: int | None


def spending_of(log: LogDeclaration, balances: Balances, registry: Registry) -> Spending:
    return Spending(
        lines=tuple(_lines(log, balances, registry)),
        in_all=balances.get(Account(log.name), Balance()),
        analysts=tuple(_analysts(log, balances, registry)),
    )


def _lines(log: LogDeclaration, balances: Balances, registry: Registry) -> Iterator[BudgetLine]:
    """A line per block of the time that is sealed, and of what was charged or held beyond."""
    labels = dict.fromkeys(
        block.label for block in log.terms.blocks.periods(log.public.first, log.public.until)
    )
    labels |= dict.fromkeys(sorted(account.block for account in balances if account.is_block))
    for label in labels:
        balance = balances.get(Account(log.name, label), Balance())
        frozen = registry.is_frozen(log, label)
        yield BudgetLine(label, log.terms.block_budget, balance.spent, balance.held, frozen=frozen)


def _analysts(
    log: LogDeclaration, balances: Balances, registry: Registry
) -> Iterator[AnalystSpending]:
    """Everybody who was granted a share, or has spent or reserved something without one."""
    spent: dict[str, list[Epsilon]] = {}
    for account, balance in balances.items():
        if account.analyst:
            spent.setdefault(account.analyst, []).append(balance.spent)
    granted = {
        who: grant.per_block for (of, who), grant in registry.grants.items() if of == log.name
    }
    for who in sorted(granted.keys() | spent.keys()):
        amounts = [amount for amount in spent.get(who, ()) if amount.nano]
        most = max(amounts, default=ZERO)
        yield AnalystSpending(who, granted.get(who), most, len(amounts))


def charges_before(ledger: Ledger, log: str | None, before: int, limit: int) -> ChargePage:
    """The charges of a log, or of all, in the entries before a number: newest first.

    Looks back only so far at once: the page may be short and yet not the last.
    """
    end = max(before - _WINDOWS * _WINDOW, 1)
    charged = _backwards(ledger, before, end)
    touching = (entry for entry in charged if log is None or charge_of(entry).log == log)
    page = tuple(map(ledger.charge_record, islice(touching, limit)))
    older = page[-1].seq if len(page) == limit else end
    return ChargePage(page, older if older > 1 else None)


def _backwards(ledger: Ledger, before: int, end: int) -> Iterator[Entry]:
    """The charges among the entries before a number, from the newest on."""
    while before > end:
        start = max(before - _WINDOW, end)
        entries = list(islice(ledger.entries(start), before - start))
        yield from (entry for entry in reversed(entries) if entry.kind == EntryKind.CHARGE)
        before = start


# --- the data-protection pack -------------------------------------------------------------


def gather_pack(session: LedgerSession, log: str | None) -> Pack:
    """The facts about a log, or about all; of a ledger that does not verify, only that."""
    workspace = session.files.root.name
    try:
        # All of a long journal is read: on a connection of its own, nobody waits for that.
        with session.files.ledger_to_verify() as ledger:
            verified = ledger.verify()
            chain = Chain(verified.entries, verified.head, verified.problem)
            if not chain.ok:
                return Pack(workspace, chain)
            walk = _Walk()
            last = None
            # What others write meanwhile is left to the next pack.
            for last in islice(ledger.entries(), verified.entries):
                walk.take(last)
            if last is None or last.digest != verified.head:
                changed = "the journal was changed while it was being read"
                return Pack(workspace, Chain(0, "", changed))
            return walk.pack(workspace, chain, log)
    except LedgerBroken as error:
        return Pack(workspace, Chain(0, "", error.message))


class _Walk:
    """What the entries so far add up to."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.acts: list[Act] = []
        self.erasures: dict[str, list[Erasure]] = {}
        self.looks: dict[str, list[Look]] = {}
        self.asked: dict[str, Asked] = {}

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
                self.asked[key] = _asked(charge, entry.at, State.RESERVED)
        elif entry.kind == EntryKind.CHARGE:
            charge = charge_of(entry)
            self.asked[charge.key] = _asked(charge, entry.at, State.INCOMPLETE)
        elif entry.kind == EntryKind.RELEASE:
            key = entry.payload["key"]
            self.asked[key] = replace(self.asked[key], state=State.RELEASED)
        elif entry.kind == EntryKind.CANCEL:
            for key in cancelled_in(entry.payload):
                del self.asked[key]
        elif entry.kind == EntryKind.EXACT:
            # Apart from the acts: a look a minute would leave nothing else to be seen of them.
            what = entry.payload
            look = Look(entry.seq, entry.at, what["by"], tuple(what["ppis"]), what["count"])
            self.looks.setdefault(what["log"], []).append(look)
        elif entry.kind == EntryKind.PROFILE:
            what = entry.payload
            look = Look(entry.seq, entry.at, what["by"], ("profile of the log",), 1)
            self.looks.setdefault(what["log"], []).append(look)
        elif entry.kind != EntryKind.OPENING:
            self._act(entry)

    def _act(self, entry: Entry) -> None:
        before, self.registry = self.registry, self.registry.advanced([entry])
        payload = entry.payload
        log = _log_of(entry.kind, payload, before)
        by = payload.get("by") or payload.get("analyst") or ""
        earlier = before.logs.get(payload["name"]) if entry.kind == EntryKind.DECLARE else None
        what = entry_text(entry.kind, payload, earlier.to_json() if earlier else None)
        self.acts.append(Act(entry.seq, entry.at, by, what, log))
        if entry.kind == EntryKind.ERASE:
            kinds = tuple(payload["by what"])
            erasure = Erasure(entry.at, payload["by"], kinds, payload["cases"], payload["events"])
            self.erasures.setdefault(payload["log"], []).append(erasure)
        elif entry.kind == EntryKind.RENAME:
            self._move(payload["log"], payload["to"])
        elif entry.kind == EntryKind.REMOVE and not payload["charged"]:
            self._move(payload["log"], _NO_LONGER)

    def _move(self, old: str, new: str) -> None:
        """What was done to a log goes with it: another may have its name from now on."""
        self.acts = [replace(act, log=new) if act.log == old else act for act in self.acts]
        self.erasures[new] = self.erasures.pop(old, [])
        self.looks[new] = self.looks.pop(old, [])

    def _log(self, log: LogDeclaration) -> LogFacts:
        asked = [query for query in self.asked.values() if query.log == log.name]
        spending = spending_of(log, _balances(asked), self.registry)
        return LogFacts(
            public=log.public,
            source="" if log.source is None else log.source.where,
            removed=log.removed,
            accounts=spending.lines,
            spent_in_all=spending.in_all.spent,
            shares=tuple(Share(who.analyst, who.per_block, who.most) for who in spending.analysts),
            releases=rows_of(asked),
            erasures=tuple(self.erasures.get(log.name, ())),
            looks=tuple(self.looks.get(log.name, ())),
        )


def _asked(charge: Charge, at: str, state: State) -> Asked:
    question: Mapping[str, Any] = charge.question
    periods = question["periods"]
    return Asked(
        log=question["log"],
        question=question_digest(question),
        ppi=question["ppi"],
        analyst=charge.analyst,
        mechanism=", ".join(dict.fromkeys(part["mechanism"] for part in question["parts"])),
        amount=charge.amount,
        at=at,
        first=date.fromisoformat(min(period["start"] for period in periods)),
        end=date.fromisoformat(max(period["end"] for period in periods)),
        blocks=tuple(account.block for account in charge.accounts),
        state=state,
    )


def _balances(queries: Iterable[Asked]) -> Balances:
    """What the cells add up to in every account; the ledger has verified the same sums."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for query in queries:
        log, held = query.log, int(query.state is State.RESERVED)
        for block in query.blocks:
            # A set: without an analyst there is no account of the analyst's.
            for place in {(log, block, ""), (log, "", ""), (log, block, query.analyst)}:
                sums.setdefault(place, [0, 0])[held] += query.amount.nano
    return {
        Account(*at): Balance(Epsilon(spent), Epsilon(held)) for at, (spent, held) in sums.items()
    }


def _log_of(kind: str, payload: Mapping[str, Any], before: Registry) -> str | None:
    if kind == EntryKind.DECLARE:
        return str(payload["name"])
    if kind == EntryKind.END:
        return before.subscriptions[payload["id"]].log
    return payload.get("log")
