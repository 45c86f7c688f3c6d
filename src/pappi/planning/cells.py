"""Which blocks a scope touches, and what can be released together.

The owner cuts a log into blocks (months, say), and a case lies in exactly one.
A case lies in at most one period of a scope as well. So one PPI costs a block
its epsilon once, however many periods lie inside it, and a period that reaches
over several blocks costs each of them.

A *cell* is a smallest set of periods that shares no block with any other: it is
charged, released and replayed as one.

Blocks go by the log's own anchor. If a scope cuts by another, a case of any block can lie in
any period, so the whole series is one cell, which costs every block of the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice

from pappi.errors import Refused
from pappi.ppinot import Scope
from pappi.values import Grid, Horizon, Period

MOST_PERIODS = 5_000


@dataclass(frozen=True, slots=True)
class Cell:
    periods: tuple[Period, ...]
    blocks: tuple[Period, ...]


def periods_of(scope: Scope, horizon: Horizon) -> tuple[Period, ...]:
    """The periods a scope asks for, within the log's declared horizon."""
    start, end = (scope.start, scope.until) if scope.recent is None else _recent(scope, horizon)
    first = max(start or horizon.first, horizon.first)
    until = min(end or horizon.until, horizon.until)
    if first >= until:
        raise Refused(
            f"the scope does not overlap the log, which covers {horizon.first} up to "
            f"{horizon.until}",
            hint="change the dates of the scope",
        )
    if scope.grid is None:
        return (Period(first, until),)
    periods = tuple(islice(scope.grid.walk(first, until), MOST_PERIODS + 1))
    if len(periods) > MOST_PERIODS:
        raise Refused(
            f"the scope has more than {MOST_PERIODS:,} periods",
            hint="choose longer periods, or a shorter time with 'from' and 'until'",
        )
    return periods


def cells_of(scope: Scope, horizon: Horizon) -> tuple[Cell, ...]:
    """The periods of a scope, gathered into cells that share no block."""
    if scope.anchor is not None:
        blocks = horizon.blocks.periods(horizon.first, horizon.until)
        return (Cell(periods_of(scope, horizon), blocks),)
    cells: list[Cell] = []
    for period in periods_of(scope, horizon):
        touched = horizon.blocks.periods(period.start, period.end)
        if cells and set(touched) & set(cells[-1].blocks):
            cells[-1] = _joined(cells[-1], period, touched)
        else:
            cells.append(Cell((period,), touched))
    return tuple(cells)


def _recent(scope: Scope, horizon: Horizon) -> tuple[date, date]:
    """The whole units before now that a scope asks for."""
    if scope.recent is None:
        raise AssertionError("this scope is not recent")
    grid = Grid(scope.recent.unit)
    until = grid.start_of(horizon.now)
    start = until
    for _ in range(scope.recent.count):
        start = grid.start_of(start - timedelta(days=1))
    return start, until


def _joined(cell: Cell, period: Period, touched: Sequence[Period]) -> Cell:
    """Periods come in order, so a new one can only share blocks with the latest cell."""
    blocks = dict.fromkeys((*cell.blocks, *touched))
    return Cell((*cell.periods, period), tuple(blocks))
