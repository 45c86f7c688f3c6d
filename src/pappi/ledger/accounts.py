"""Accounts, charges, and the one rule: no account is ever charged beyond its limit.

An account is the budget of one calendar block of one log. A case lies in exactly one
block, so queries about different blocks compose in parallel (the worst block counts)
and queries about the same block compose sequentially (their epsilons add up). A
charge is what one release cell costs: the same amount in every block it may touch.

Two more kinds of account bound the same charges: what one analyst may spend in a block, and
what all blocks of a log may spend together, which is what somebody with a case in every
block could lose.

How long a budget lasts (`forecast`) follows from what is left and what a query costs, and from
nothing else. Future blocks have budgets of their own, so a query can be repeated for each of them
for ever, unless the log also has a total, which every block draws on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple

from pappi.errors import BudgetExceeded
from pappi.values import ZERO, Epsilon, Grid

_NAMED_IN_FULL = 3


class KeyState(StrEnum):
    """How far a release cell has come.

    NEW       never charged.
    RESERVED  its price is set aside: it can be charged, whatever else is spent by then.
    PENDING   charged, but no result on record: complete it, at no new cost.
    RELEASED  the result is on record: replay it, at no cost.
    """

    NEW = "new"
    RESERVED = "reserved"
    PENDING = "pending"
    RELEASED = "released"


class Account(NamedTuple):
    """The budget of one block of one log, such as block 2014-10 of `hospital`.

    With an analyst, it is what this analyst may spend there; without a block, what all blocks
    together may spend. A tuple, as every charge looks up each of its blocks several times.
    """

    log: str
    block: str = ""
    analyst: str = ""

    @property
    def is_block(self) -> bool:
        """Whether this is the account of a block itself, which always has a limit."""
        return bool(self.block) and not self.analyst

    def __str__(self) -> str:
        place = f"{self.block} of {self.log}" if self.block else f"all of {self.log}"
        return f"{place} for {self.analyst}" if self.analyst else place


@dataclass(frozen=True, slots=True)
class Charge:
    """The price of one release cell: `amount`, in each of the blocks it touches.

    The key stands for the canonical query, the cell and the data version; equal keys
    are the same release. A price that is not positive, or that no account bears, would
    be a way around the budget, so it cannot be constructed. `analyst` is who pays, which
    the key does not depend on.
    """

    key: str
    accounts: tuple[Account, ...]
    amount: Epsilon
    query: Mapping[str, Any] = field(hash=False)
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
    def blocks(self) -> tuple[str, ...]:
        return tuple(account.block for account in self.accounts)

    @property
    def ppi(self) -> str:
        """By its id; one draw for several PPIs has those of all."""
        return str(self.query["ppi"])

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """Of each of its noisy functions."""
        return tuple(part["mechanism"] for part in self.query["parts"])

    @property
    def costs(self) -> Iterator[tuple[Account, Epsilon]]:
        """What each account bears: the blocks, all blocks together, and the analyst's share."""
        for block in self.accounts:
            yield block, self.amount
            yield Account(block.log), self.amount
            if self.analyst:
                yield Account(block.log, block.block, self.analyst), self.amount

    def costs_the_same_as(self, other: Charge) -> bool:
        return self.amount == other.amount and set(self.accounts) == set(other.accounts)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """An account that cannot bear what is requested of it.

    `missing` is what its limit would have to rise by; `left` is never below 0, even if
    the owner has lowered the limit below what is already spent.
    """

    account: Account
    requested: Epsilon
    left: Epsilon
    missing: Epsilon


def distinct(charges: Iterable[Charge]) -> Mapping[str, Charge]:
    """The charges by key: a key that occurs twice is one release, and is paid once."""
    by_key: dict[str, Charge] = {}
    for charge in charges:
        if not by_key.setdefault(charge.key, charge).costs_the_same_as(charge):
            raise ValueError(f"two different prices for the same key {charge.key}")
    return by_key


def demand(charges: Iterable[Charge]) -> Mapping[Account, Epsilon]:
    """What the charges together cost each account: sequential composition."""
    needed: dict[Account, Epsilon] = {}
    for charge in charges:
        for account, amount in charge.costs:
            needed[account] = needed.get(account, ZERO) + amount
    return needed


def shortfalls(
    wanted: Mapping[Account, Epsilon],
    spent: Mapping[Account, Epsilon],
    limits: Mapping[Account, Epsilon],
) -> tuple[Shortfall, ...]:
    """The accounts that a demand would overdraw; none means that its charges may be made.

    A block without a limit has no budget. Other accounts need no limit: the blocks bound them.

    >>> october = Account("hospital", "2014-10")
    >>> ask = Charge("k", (october,), Epsilon.of("0.6"), {})
    >>> spent, limits = {october: Epsilon.of("0.6")}, {october: Epsilon.of(1)}
    >>> [str(short.missing) for short in shortfalls(demand([ask]), spent, limits)]
    ['0.2']
    """
    short = []
    for account, needed in wanted.items():
        if account not in limits and not account.is_block:
            continue
        left = limits.get(account, ZERO).nano - spent.get(account, ZERO).nano
        if needed.nano > left:
            missing = Epsilon(needed.nano - left)
            short.append(Shortfall(account, needed, Epsilon(max(left, 0)), missing))
    return tuple(sorted(short, key=lambda each: each.account))


def budget_exceeded(
    wanted: Mapping[Account, Epsilon], short: Sequence[Shortfall]
) -> BudgetExceeded:
    """The refusal, in words an analyst can act on; every account is in the detail."""
    return BudgetExceeded(
        f"{_requested_text(wanted)}; {_left_text(short)}",
        hint="use a smaller ε, fewer PPIs or fewer periods, or ask the owner for more budget",
        detail="; ".join(
            f"requested ε {account.requested}, left {_account_text(account)}" for account in short
        ),
    )


def _requested_text(costs: Mapping[Account, Epsilon]) -> str:
    blocks = {account: amount for account, amount in costs.items() if account.is_block}
    amounts = set(blocks.values())
    if len(blocks) == 1:
        return f"requested ε {max(amounts)} in block {next(iter(blocks))}"
    if len(amounts) == 1:
        return f"requested ε {max(amounts)} in each of {len(blocks)} blocks"
    return f"requested up to ε {max(amounts)} in each of {len(blocks)} blocks"


def _left_text(short: Sequence[Shortfall]) -> str:
    if len(short) <= _NAMED_IN_FULL:
        return "left " + ", ".join(map(_account_text, short))
    worst = max(short, key=lambda account: account.missing)
    return f"left {_account_text(worst)}, and too little in {len(short) - 1} other accounts"


def _account_text(short: Shortfall) -> str:
    return f"{short.left} in {short.account} (missing {short.missing})"


# Nobody plans further ahead: a budget that lasts this long is said to last for ever.
_MOST_BLOCKS = 10_000
_LAST_DAY = date(9_000, 1, 1)


@dataclass(frozen=True, slots=True)
class RemainingBudget:
    """What an analyst has left in each block, by their own share and by the common budget.

    `coming` is what each future block will have, likewise; `total` is what all blocks together
    have left, if they have a total.
    """

    left: Mapping[str, Epsilon]
    limit: Epsilon
    coming: Epsilon
    total: Epsilon | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """How often a query fits into the budget, and until when it can be repeated for new blocks.

    `price` is the most that a block pays, and `share` that of its budget. `more` includes the query
    at hand; `tightest` is the block that limits it, None if the total does. `asks_coming` says
    whether it fits into a future block at all; `until` is the first day it can no longer be
    released for, None if there is no such day.
    """

    price: Epsilon
    more: int
    tightest: str | None
    share: float
    asks_coming: bool
    until: date | None


def forecast(
    budget: RemainingBudget, prices: Mapping[str, Epsilon], grid: Grid, start: date
) -> Forecast:
    """For a query of these prices, one for each block it touches; future blocks begin at `start`.

    >>> from pappi.values.periods import Calendar
    >>> one, tenth = Epsilon.of(1), Epsilon.of("0.1")
    >>> left = RemainingBudget({"2024-01": one}, one, one, total=Epsilon.of("0.35"))
    >>> months = forecast(left, {"2024-01": tenth}, Grid(Calendar.MONTH), date(2024, 2, 1))
    >>> months.more, months.tightest, months.until
    (3, None, datetime.date(2024, 5, 1))
    """
    if not prices or min(prices.values()) <= ZERO:
        raise ValueError("a query costs more than 0 in each block it touches")
    price, (more, tightest) = max(prices.values()), _fitting(budget, prices)
    return Forecast(
        price=price,
        more=more,
        tightest=tightest,
        share=price.nano / budget.limit.nano if budget.limit.nano else 1.0,
        asks_coming=price <= budget.coming and (budget.total is None or price <= budget.total),
        until=_until(budget, price, grid, start),
    )


def _fitting(budget: RemainingBudget, prices: Mapping[str, Epsilon]) -> tuple[int, str | None]:
    """The worst block, or the total if that is worse: it pays for all blocks at once."""
    times = {
        block: budget.left.get(block, budget.coming).nano // price.nano
        for block, price in prices.items()
    }
    tightest = min(times, key=lambda block: (times[block], block))
    more = times[tightest]
    if budget.total is None:
        return max(more, 0), tightest
    together = max(budget.total.nano, 0) // sum(price.nano for price in prices.values())
    return (together, None) if together < more else (max(more, 0), tightest)


def _until(budget: RemainingBudget, price: Epsilon, grid: Grid, start: date) -> date | None:
    """The end of the last block that can be queried; `start` itself if there is none."""
    if price > budget.coming:
        return start
    if budget.total is None:
        return None
    blocks = max(budget.total.nano, 0) // price.nano
    if blocks > _MOST_BLOCKS:
        return None
    ends = [period.end for period in islice(grid.walk(start, _LAST_DAY), blocks)]
    if len(ends) < blocks:
        return None
    return ends[-1] if ends else start
