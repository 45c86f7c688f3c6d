"""How long the budget lasts at the pace of a question: of declarations and the ledger alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pappi.budget.accounts import Account, demand
from pappi.budget.forecast import Forecast, Purse, forecast
from pappi.budget.journal import Balance
from pappi.checkpoint.questions import CellQuestion
from pappi.store.declarations import LogDeclaration
from pappi.values.epsilon import ZERO, Epsilon


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
