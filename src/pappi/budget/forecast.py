"""How long a budget lasts: from what is left and what a question costs, and nothing else.

A question costs its price once in every block it touches. Blocks to come have budgets of
their own, so a question about each of them can be asked for ever; unless the log has a
total besides, which every block draws on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import islice

from pappi.values.epsilon import ZERO, Epsilon
from pappi.values.periods import Grid

# Further ahead than this nobody plans: a budget that lasts so long lasts for ever.
_MOST_BLOCKS = 10_000
_LAST_DAY = date(9_000, 1, 1)


@dataclass(frozen=True, slots=True)
class Purse:
    """What one who asks has left: by block, own share and common budget alike.

    `coming` is what each block to come will have, the own share included; `total` what all
    blocks together have left, if they have a total.
    """

    left: Mapping[str, Epsilon]
    limit: Epsilon
    coming: Epsilon
    total: Epsilon | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """How often a question fits, and until when it can be asked about each block to come.

    `more` counts the question at hand; `tightest` is the block that ends it, None if the total
    does. `share` is what it takes of a block's budget. `asks_coming` says whether it fits into
    a block to come at all; `until` is the first day it can no longer be asked about, None if
    there is no such day.
    """

    price: Epsilon
    more: int
    tightest: str | None
    share: float
    asks_coming: bool
    until: date | None


def forecast(
    purse: Purse, price: Epsilon, touched: Collection[str], grid: Grid, start: date
) -> Forecast:
    """For a question of that price in each block it touches; blocks to come begin at `start`.

    >>> from pappi.values.periods import Calendar
    >>> one, tenth = Epsilon.of(1), Epsilon.of("0.1")
    >>> purse = Purse({"2024-01": one}, one, one, total=Epsilon.of("0.35"))
    >>> found = forecast(purse, tenth, ["2024-01"], Grid(Calendar.MONTH), date(2024, 2, 1))
    >>> found.more, found.tightest, found.until
    (3, None, datetime.date(2024, 5, 1))
    """
    if price <= ZERO:
        raise ValueError(f"a question costs more than 0, not {price}")
    more, tightest = _fitting(purse, price, touched)
    return Forecast(
        price=price,
        more=more,
        tightest=tightest,
        share=price.nano / purse.limit.nano if purse.limit.nano else 1.0,
        asks_coming=price <= purse.coming and (purse.total is None or price <= purse.total),
        until=_until(purse, price, grid, start),
    )


def _fitting(purse: Purse, price: Epsilon, touched: Collection[str]) -> tuple[int, str | None]:
    """The worst block, or the total if that is worse: it pays for all blocks at once."""
    times = {block: purse.left.get(block, purse.coming).nano // price.nano for block in touched}
    tightest = min(times, key=lambda block: (times[block], block), default=None)
    more = times[tightest] if tightest is not None else 0
    if purse.total is None or not touched:
        return max(more, 0), tightest
    together = max(purse.total.nano, 0) // (price.nano * len(set(touched)))
    return (together, None) if together < more else (max(more, 0), tightest)


def _until(purse: Purse, price: Epsilon, grid: Grid, start: date) -> date | None:
    """The end of the last block that can be asked about; `start` itself if there is none."""
    if price > purse.coming:
        return start
    if purse.total is None:
        return None
    blocks = max(purse.total.nano, 0) // price.nano
    if blocks > _MOST_BLOCKS:
        return None
    ends = [period.end for period in islice(grid.walk(start, _LAST_DAY), blocks)]
    if len(ends) < blocks:
        return None
    return ends[-1] if ends else start
