"""What was spent on a log, and by whom: what the owner sees at a glance.

Read from the ledger's accounts and, for the charges themselves, from the end of its journal
backwards: the newest is what the owner looks for, and a long past need not be read for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from pappi.budget.accounts import Account, Charge, KeyState
from pappi.budget.chain import Entry
from pappi.budget.journal import CHARGE, Balance, charge_of
from pappi.report.budgets import BudgetLine
from pappi.store.declarations import LogDeclaration
from pappi.store.ledger import Ledger
from pappi.store.register import Register
from pappi.values.epsilon import ZERO, Epsilon

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
class Charged:
    """A charge as it stands in the journal, and whether its result is on record."""

    seq: int
    at: str
    charge: Charge
    released: bool


@dataclass(frozen=True, slots=True)
class ChargePage:
    """Charges, newest first; `older` is before which entry to look for more, if any."""

    charges: tuple[Charged, ...]
    older: int | None


def spending_of(log: LogDeclaration, balances: Balances, register: Register) -> Spending:
    return Spending(
        lines=_lines(log, balances),
        in_all=balances.get(Account(log.name), Balance()),
        analysts=_analysts(log, balances, register),
    )


def _lines(log: LogDeclaration, balances: Balances) -> tuple[BudgetLine, ...]:
    """A line per block of the time that is sealed, and of what was charged or held beyond."""
    labels = dict.fromkeys(block.label for block in log.blocks.periods(log.first, log.until))
    labels |= dict.fromkeys(sorted(account.block for account in balances if account.is_block))
    found = ((label, balances.get(Account(log.name, label), Balance())) for label in labels)
    return tuple(BudgetLine(label, log.block_budget, one.spent, one.held) for label, one in found)


def _analysts(
    log: LogDeclaration, balances: Balances, register: Register
) -> tuple[AnalystSpending, ...]:
    spent: dict[str, list[Epsilon]] = {}
    for account, balance in balances.items():
        if account.analyst and balance.spent.nano:
            spent.setdefault(account.analyst, []).append(balance.spent)
    granted = {
        who: grant.per_block for (of, who), grant in register.grants.items() if of == log.name
    }
    return tuple(
        AnalystSpending(who, granted.get(who), max(amounts, default=ZERO), len(amounts))
        for who in sorted(granted.keys() | spent.keys())
        for amounts in [spent.get(who, [])]
    )


def charges_before(ledger: Ledger, log: str | None, before: int, limit: int) -> ChargePage:
    """The charges of a log, or of all, in the entries before a number: newest first.

    Looks back only so far at once: the page may be short and yet not the last.
    """
    end = max(before - _WINDOWS * _WINDOW, 1)
    touching = (
        (entry, charge) for entry, charge in _backwards(ledger, before, end)
        if log is None or charge.log == log
    )  # fmt: skip
    found = list(islice(touching, limit))
    states = ledger.states(charge.key for _, charge in found)
    charges = tuple(
        Charged(entry.seq, entry.at, charge, states[charge.key] is KeyState.RELEASED)
        for entry, charge in found
    )
    older = found[-1][0].seq if len(found) == limit else end
    return ChargePage(charges, older if older > 1 else None)


def _backwards(ledger: Ledger, before: int, end: int) -> Iterator[tuple[Entry, Charge]]:
    while before > end:
        start = max(before - _WINDOW, end)
        entries = list(islice(ledger.entries(start), before - start))
        yield from ((one, charge_of(one)) for one in reversed(entries) if one.kind == CHARGE)
        before = start
