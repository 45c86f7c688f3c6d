"""Accounts, charges, and the one rule: no account is ever charged beyond its limit.

An account is the budget of one calendar block of one log. A case lies in exactly one
block, so questions about different blocks compose in parallel (the worst block counts)
and questions about the same block compose sequentially (their epsilons add up). A
charge is what one release cell costs: the same amount in every block it may touch.

Two more kinds of account bound the same charges a second time: what one analyst may
spend in a block, and what all blocks of a log may spend together, which is what somebody
with a case in every block could lose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pappi.errors import BudgetExceeded
from pappi.values.epsilon import ZERO, Epsilon
from pappi.values.plain_data import JSON

_NAMED_IN_FULL = 3


class KeyState(StrEnum):
    """How far a release cell has come.

    NEW       never charged.
    RESERVED  its price is set aside: charge it, whatever else is spent by then.
    PENDING   charged, but no result on record: complete it, at no new cost.
    RELEASED  the result is on record: replay it, at no cost.
    """

    NEW = "new"
    RESERVED = "reserved"
    PENDING = "pending"
    RELEASED = "released"


@dataclass(frozen=True, slots=True, order=True)
class Account:
    """The budget of one block of one log, such as block 2014-10 of `hospital`.

    With an analyst, it is what this one may spend there; without a block, what all blocks
    together may.
    """

    log: str
    block: str = ""
    analyst: str = ""

    @property
    def is_block(self) -> bool:
        """Whether this is the account of a block itself, which never goes without a limit."""
        return bool(self.block) and not self.analyst

    def __str__(self) -> str:
        place = f"{self.block} of {self.log}" if self.block else f"all of {self.log}"
        return f"{place} for {self.analyst}" if self.analyst else place


@dataclass(frozen=True, slots=True)
class Charge:
    """The price of one release cell: `amount`, in each of the blocks it touches.

    The key stands for the canonical question, the cell and the data version; equal keys
    are the same release. A price that is not positive, or that no account bears, would
    be a way around the budget, so it cannot be written down. `analyst` is who pays, which
    the key does not depend on.
    """

    key: str
    accounts: tuple[Account, ...]
    amount: Epsilon
    question: Mapping[str, JSON] = field(hash=False)
    analyst: str = ""

    def __post_init__(self) -> None:
        if not self.key:
            raise ValueError("a charge needs a key")
        if self.amount <= ZERO:
            raise ValueError(f"a charge must be more than 0, not {self.amount}")
        if not self.accounts or len(set(self.accounts)) < len(self.accounts):
            raise ValueError("a charge names at least one account, and each of them once")
        if not all(account.is_block for account in self.accounts):
            raise ValueError("a charge names the blocks it touches, and nothing else")

    @property
    def log(self) -> str:
        """The log it is about."""
        return self.accounts[0].log

    @property
    def costs(self) -> Iterator[tuple[Account, Epsilon]]:
        """What every account bears: the blocks, all blocks together, and the analyst's own."""
        for block in self.accounts:
            yield block, self.amount
            yield Account(block.log), self.amount
            if self.analyst:
                yield Account(block.log, block.block, self.analyst), self.amount

    def costs_the_same_as(self, other: Charge) -> bool:
        return self.amount == other.amount and set(self.accounts) == set(other.accounts)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """An account that cannot bear what is asked of it.

    `missing` is what its limit would have to rise by; `left` is never below 0, even if
    the owner has lowered the limit under what is already spent.
    """

    account: Account
    asked: Epsilon
    left: Epsilon
    missing: Epsilon


def distinct(charges: Iterable[Charge]) -> Mapping[str, Charge]:
    """The charges by key: a key asked for twice is one release, and is paid once."""
    by_key: dict[str, Charge] = {}
    for charge in charges:
        if not by_key.setdefault(charge.key, charge).costs_the_same_as(charge):
            raise ValueError(f"two different prices for the same key {charge.key}")
    return by_key


def demand(charges: Iterable[Charge]) -> Mapping[Account, Epsilon]:
    """What the charges together ask of each account: sequential composition."""
    asked: dict[Account, Epsilon] = {}
    for charge in charges:
        for account, amount in charge.costs:
            asked[account] = asked.get(account, ZERO) + amount
    return asked


def shortfalls(
    charges: Iterable[Charge],
    spent: Mapping[Account, Epsilon],
    limits: Mapping[Account, Epsilon],
) -> tuple[Shortfall, ...]:
    """The accounts that the charges together would overdraw; none means they may be made.

    A block without a limit has no budget; other accounts need none, the blocks bound them.

    >>> october = Account("hospital", "2014-10")
    >>> ask = Charge("k", (october,), Epsilon.of("0.6"), {})
    >>> spent, limits = {october: Epsilon.of("0.6")}, {october: Epsilon.of(1)}
    >>> [str(short.missing) for short in shortfalls([ask], spent, limits)]
    ['0.2']
    """
    found = []
    for account, asked in sorted(demand(charges).items()):
        if account not in limits and not account.is_block:
            continue
        left = limits.get(account, ZERO) - spent.get(account, ZERO)
        if asked > left:
            found.append(Shortfall(account, asked, max(left, ZERO), asked - left))
    return tuple(found)


def budget_exceeded(charges: Iterable[Charge], short: Sequence[Shortfall]) -> BudgetExceeded:
    """The refusal, in words an analyst can act on; every account is in the detail."""
    return BudgetExceeded(
        f"{_asked(demand(charges))}; {_left(short)}",
        hint="ask with a smaller ε or for fewer PPIs or periods, or ask the owner for more budget",
        detail="; ".join(f"asked ε {one.asked}, left {_named(one)}" for one in short),
    )


def _asked(asked: Mapping[Account, Epsilon]) -> str:
    blocks = {account: amount for account, amount in asked.items() if account.is_block}
    amounts = set(blocks.values())
    if len(blocks) == 1:
        return f"asked ε {max(amounts)} in block {next(iter(blocks))}"
    if len(amounts) == 1:
        return f"asked ε {max(amounts)} in each of {len(blocks)} blocks"
    return f"asked up to ε {max(amounts)} in each of {len(blocks)} blocks"


def _left(short: Sequence[Shortfall]) -> str:
    if len(short) <= _NAMED_IN_FULL:
        return "left " + ", ".join(_named(one) for one in short)
    worst = max(short, key=lambda one: one.missing)
    return f"left {_named(worst)}, and too little in {len(short) - 1} other accounts"


def _named(short: Shortfall) -> str:
    return f"{short.left} in {short.account} (missing {short.missing})"
