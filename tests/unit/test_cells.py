"""A PPI costs a block its epsilon once, and every block it may touch."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.errors import Refused
from pappi.planning import Cell, cells_of
from pappi.ppinot import Scope
from pappi.values import Calendar, Grid, Horizon

YEAR = Horizon(date(2024, 1, 1), date(2025, 1, 1), Grid(Calendar.MONTH))


def labels(cell: Cell) -> tuple[list[str], list[str]]:
    return [p.label for p in cell.periods], [b.label for b in cell.blocks]


def test_a_monthly_scope_over_monthly_blocks_is_one_cell_a_month() -> None:
    cells = cells_of(Scope(Grid(Calendar.MONTH)), YEAR)
    assert len(cells) == 12
    assert labels(cells[2]) == (["2024-03"], ["2024-03"])


def test_a_quarter_touches_three_blocks() -> None:
    cells = cells_of(Scope(Grid(Calendar.QUARTER)), YEAR)
    assert [labels(cell)[1] for cell in cells][1] == ["2024-04", "2024-05", "2024-06"]


def test_the_days_of_a_month_are_released_together_and_cost_it_once() -> None:
    cells = cells_of(Scope(Grid(Calendar.DAY)), YEAR)
    assert [len(cell.periods) for cell in cells][:3] == [31, 29, 31]
    assert all(len(cell.blocks) == 1 for cell in cells)


def test_weeks_that_straddle_months_tie_them_together() -> None:
    """In 2024 a month begins with a Monday in January, April and July."""
    cells = cells_of(Scope(Grid(Calendar.WEEK)), YEAR)
    assert [labels(cell)[1][0] for cell in cells] == ["2024-01", "2024-04", "2024-07"]
    # The last week ends in January, whose block it may touch and so pays for.
    assert labels(cells[-1])[1][-1] == "2025-01"


def test_a_scope_outside_the_horizon_is_refused_from_public_facts() -> None:
    with pytest.raises(Refused, match="does not overlap the log"):
        cells_of(Scope(None, date(2030, 1, 1), date(2031, 1, 1)), YEAR)


grids = st.builds(Grid, st.sampled_from(Calendar), st.integers(1, 5))
days = st.dates(date(1990, 1, 1), date(2030, 1, 1))


@given(grids, grids, days, st.integers(1, 500))
def test_cells_share_no_block_and_blocks_cover_their_periods(
    grid: Grid, blocks: Grid, first: date, length: int
) -> None:
    until = date.fromordinal(first.toordinal() + length)
    cells = cells_of(Scope(grid), Horizon(first, until, blocks))
    charged = [block for cell in cells for block in cell.blocks]
    assert len(charged) == len(set(charged))
    periods = [period for cell in cells for period in cell.periods]
    assert periods[0].start <= first
    assert periods[-1].end >= until
    assert all(one.end == other.start for one, other in pairwise(periods))
    for cell in cells:
        for period in cell.periods:
            touched = [
                block
                for block in cell.blocks
                if block.start < period.end and period.start < block.end
            ]
            assert touched[0].start <= period.start
            assert touched[-1].end >= period.end
