"""What a question costs as a whole, and how long the budget lasts at its pace.

Of declarations and the ledger alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pappi.budget.accounts import Account, KeyState, demand
from pappi.budget.forecast import Forecast, Purse, forecast
from pappi.budget.journal import Balance
from pappi.checkpoint.questions import CellQuestion
from pappi.store.declarations import LogDeclaration
from pappi.values.epsilon import ZERO, Epsilon

_UNPAID = frozenset({KeyState.NEW, KeyState.RESERVED})


@dataclass(frozen=True, slots=True)
class Price:
    """What asking a catalogue costs: figures that are not on record, and what blocks pay.

    `reserved` of its cells were set aside for standing questions before, and are charged from
    there. `least` and `most` are what the blocks pay that pay least and most. `name` stands
    for exactly the cells that would be charged.
    """

    figures: int
    reserved: int
    blocks: int
    least: Epsilon
    most: Epsilon
    name: str

    @property
    def is_free(self) -> bool:
        return not self.figures


def price_of(questions: Sequence[CellQuestion], states: Mapping[str, KeyState]) -> Price:
    """Of all questions together; two that ask the same pay once."""
    open_ones = {q.key: q for q in questions if states[q.key] in _UNPAID}
    paid = demand(question.charge for question in open_ones.values())
    blocks = [amount for account, amount in paid.items() if account.is_block]
    return Price(
        figures=sum(len(q.cell.periods) * len(q.plan.groups) for q in open_ones.values()),
        reserved=sum(states[key] is KeyState.RESERVED for key in open_ones),
        blocks=len(blocks),
        least=min(blocks, default=ZERO),
        most=max(blocks, default=ZERO),
        name=hashlib.sha256("".join(sorted(open_ones)).encode("ascii")).hexdigest(),
    )


def purse_of(
    log: LogDeclaration,
    balances: Mapping[Account, Balance],
    analyst: str,
    share: Epsilon | None,
) -> Purse:
    """What an analyst has left in a log, of whose blocks they may have been granted a share."""
    blocks = {account.block for account in balances if account.block}
    coming = log.block_budget if share is None else min(log.block_budget, share)
    return Purse(
        left={block: _left(log, balances, block, analyst, share) for block in blocks},
        limit=coming,
        coming=coming,
        total=None
        if log.total_budget is None
        else max(log.total_budget - _used(balances, Account(log.name)), ZERO),
    )


def forecast_of(
    questions: Sequence[CellQuestion], purse: Purse, log: LogDeclaration
) -> Forecast | None:
    """For what is asked anew; its price is what it costs the block it costs most.

    None if nothing is: what is on record costs nothing.
    """
    if not questions:
        return None
    asked = demand(question.charge for question in questions)
    prices = {account.block: price for account, price in asked.items() if account.is_block}
    price = max(prices.values())
    return forecast(purse, price, prices, log.blocks, log.until)


def _left(
    log: LogDeclaration,
    balances: Mapping[Account, Balance],
    block: str,
    analyst: str,
    share: Epsilon | None,
) -> Epsilon:
    left = log.block_budget - _used(balances, Account(log.name, block))
    if share is not None:
        left = min(left, share - _used(balances, Account(log.name, block, analyst)))
    return max(left, ZERO)


def _used(balances: Mapping[Account, Balance], account: Account) -> Epsilon:
    return balances.get(account, Balance()).used
