"""What the owner reads in the journal: its entries in words, and what was spent and by whom.

Spending is read from the ledger's accounts and, for the charges themselves, from the end of its
journal backwards: the newest is what the owner looks for, and a long past need not be read for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pappi.ledger import Account, Balance, ChargeRecord, Entry, EntryKind, Ledger, charge_of
from pappi.store import LogDeclaration, Registry, place_text
from pappi.values import ZERO, BudgetLine, Epsilon

What = Mapping[str, Any]
_DIGITS = 12


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
