"""Which blocks a scope touches, what is released together, and how many cases are expected there.

The owner cuts a log into blocks (months, say), and a case lies in exactly one.
A case lies in at most one period of a scope as well. So one PPI costs a block
its epsilon once, however many periods lie inside it, and a period that reaches
over several blocks costs each of them.

A *cell* is a smallest set of periods that shares no block with any other: it is
charged, released and replayed as one.

Blocks go by the log's own anchor. If a scope cuts by another, a case of any block can lie in
any period, so the whole series is one cell, which costs every block of the log.

**Expected cases** are what every forecast rests on. The owner declares the cases of a block. A
figure is about one period and one group of a PPI, and has as many as its period has blocks, times
the share that is in its group and passes its filters. All of it follows from the definition and
from what is declared. Groups have the weights that the owner declared, and the smallest one counts,
so that no group does worse than told; without weights the cases are divided evenly. Of a filter
nothing is declared, so the analyst may guess (`Ppi.expected`), and else all cases are assumed to
pass.

A period of a grid has its usual length; what is not cut by a grid is as long as it is in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache
from itertools import islice

from pappi.errors import Refused
from pappi.ppinot import Ppi, Scope, aggregated_measures
from pappi.values import Calendar, Grid, Horizon, Period, PublicLog

# --- periods, blocks and cells --------------------------------------------------------

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
            # Periods come in order, so a new one can only share blocks with the latest cell.
            blocks = tuple(dict.fromkeys((*cells[-1].blocks, *touched)))
            cells[-1] = Cell((*cells[-1].periods, period), blocks)
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


# --- expected cases -------------------------------------------------------------------

_YEAR = Fraction(3_652_425, 10_000)
_DAYS = {
    Calendar.DAY: Fraction(1),
    Calendar.WEEK: Fraction(7),
    Calendar.MONTH: _YEAR / 12,
    Calendar.QUARTER: _YEAR / 4,
    Calendar.YEAR: _YEAR,
}
"""The usual length of a calendar's units; so a quarter has three months, exactly."""


@dataclass(frozen=True, slots=True)
class ExpectedCases:
    """How many cases a figure is assumed to have, at least one, and what that rests on."""

    cases: int
    because: str


def expected_cases(log: PublicLog, ppi: Ppi, counted: int | None = None) -> ExpectedCases:
    """The cases of one period and group; `counted`, where an earlier release has told them.

    >>> from pappi.ppinot import parse_catalogue
    >>> from pappi.values import Terms, Vocabulary
    >>> days = {"first": date(2024, 1, 1), "until": date(2025, 1, 1)}
    >>> names, terms = Vocabulary(("Pay",)), Terms(expected_cases=100)
    >>> log = PublicLog(name="orders", vocabulary=names, terms=terms, **days)
    >>> text = "log: orders\\nppis: [{id: n, measure: {number: cases}, scope: every quarter}]"
    >>> expected_cases(log, parse_catalogue(text).ppis[0])
    ExpectedCases(cases=300, because='about 300 cases in a quarter: 100 declared per month')
    """
    group = _smallest_group(log, ppi)
    where = _period_words(ppi.scope) + ("" if group is None else " and group")
    if counted is not None:
        return _told(Fraction(counted), where, ["a noisy count that is on record"])
    terms, latest = log.terms, ppi.scope.last_cases
    cases = terms.cases * blocks_in(log, ppi.scope)
    how = "assumed" if terms.expected_cases is None else "declared"
    reasons = [f"{terms.cases:,} {how} per {_length(terms.blocks)}"]
    guess = _Part(Fraction(1), "")
    if ppi.expected is not None:
        said = f"{100 * float(ppi.expected):g} % of them, as you guessed"
        guess = _Part(ppi.expected, said)
    elif ppi.scope.cases is not None or _filters(ppi):
        guess = _Part(Fraction(1), "assuming that all pass the filter")
    # The latest are the latest of those that a scope lets pass; a measure's filter comes after.
    parts = [part for part in (group, guess) if part is not None]
    if latest is not None and not _filters(ppi):
        cases, parts = cases * guess.share, parts[:-1]
        reasons.append(guess.because)
    if latest is not None:
        cases = min(cases, Fraction(latest))
        reasons.append(f"the latest {latest:,} of them")
    for part in parts:
        cases *= part.share
        reasons.append(part.because)
    return _told(cases, where, list(filter(None, reasons)))


def blocks_in(log: PublicLog, scope: Scope) -> Fraction:
    """How many of the log's blocks a period of a scope is as long as."""
    if scope.grid is not None:
        return grid_days(scope.grid) / grid_days(log.terms.blocks)
    first, until = scope.start or log.first, scope.until or log.until
    whole = blocks_between(log, max(first, log.first), min(until, log.until))
    if scope.recent is None:
        return whole
    recent = grid_days(Grid(scope.recent.unit, scope.recent.count)) / grid_days(log.terms.blocks)
    return min(recent, whole)


def blocks_between(log: PublicLog, first: date, until: date) -> Fraction:
    """Whole blocks and parts of blocks; one, if there is no such time yet."""
    return _blocks_between(log.terms.blocks, first, until)


@lru_cache(maxsize=256)
def _blocks_between(blocks: Grid, first: date, until: date) -> Fraction:
    parts = (_part(block, first, until) for block in blocks.walk(first, until))
    return sum(parts, Fraction(0)) or Fraction(1)


def _part(block: Period, first: date, until: date) -> Fraction:
    inside = min(block.end, until) - max(block.start, first)
    return Fraction(inside.days, (block.end - block.start).days)


def grid_days(grid: Grid) -> Fraction:
    """How long a period of a grid usually is."""
    return grid.count * _DAYS[grid.unit]


@dataclass(frozen=True, slots=True)
class _Part:
    """What share of all cases a group, or a filter, is expected to have, and why."""

    share: Fraction
    because: str


def _smallest_group(log: PublicLog, ppi: Ppi) -> _Part | None:
    """Of the groups that are asked for, among all that are declared; None where there is one."""
    groupings = (measure.grouping for _, measure in aggregated_measures(ppi.measure))
    grouping = next(filter(None, groupings), None)
    if grouping is None:
        return None
    attribute = grouping.by.attribute
    keys = {*log.vocabulary.keys.get(attribute, ()), *grouping.keys}
    weights = log.terms.weights.get(attribute)
    if len(keys) == 1:
        return None
    if weights is None:
        return _Part(Fraction(1, len(keys)), f"evenly over {len(keys):,} groups")
    smallest = min(grouping.keys, key=lambda key: weights.get(key, 1))
    share = Fraction(weights.get(smallest, 1), sum(weights.get(key, 1) for key in keys))
    because = f"{100 * float(share):.3g} % of them in '{smallest}', the smallest group"
    return _Part(share, because)


def _filters(ppi: Ppi) -> bool:
    """Whether a measure is about some of the cases of the scope only."""
    return any(measure.filter is not None for _, measure in aggregated_measures(ppi.measure))


def _told(cases: Fraction, where: str, reasons: Sequence[str]) -> ExpectedCases:
    whole = max(1, round(cases))
    said = "1 case" if whole == 1 else f"{whole:,} cases"
    return ExpectedCases(whole, f"about {said} in {where}: {', '.join(reasons)}")


def _period_words(scope: Scope) -> str:
    if scope.grid is not None:
        return f"{'a ' if scope.grid.count == 1 else ''}{_length(scope.grid)}"
    if scope.recent is not None:
        return f"the last {_length(Grid(scope.recent.unit, scope.recent.count))}"
    return "the whole time" if scope.start is None and scope.until is None else "the time asked for"


def _length(grid: Grid) -> str:
    return str(grid.unit) if grid.count == 1 else f"{grid.count} {grid.unit}s"
