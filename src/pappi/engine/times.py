"""Time measures that need more than one look at the events of a case.

Which event is the first *after* another depends on where that other one is, so it is found
first: by a window over the case. Cycles are found by numbering the ends. Both read the
events in the order of `pos`, once more each; a plain first-to-last duration needs neither.
"""

from __future__ import annotations

from sqlglot import exp

from pappi.engine.expressions import as_double, when
from pappi.engine.nodes import CASE_ID, POSITION, alias, column_named
from pappi.ppinot.model import Cycles, Pick, TimeMeasure

_ROUND, _OPENED, _CLOSED, _NEXT, _LASTED = "round", "opened", "closed", "next_closed", "lasted"

_AGGREGATES: dict[Cycles, type[exp.AggFunc]] = {
    Cycles.SUM: exp.Sum,
    Cycles.MEAN: exp.Avg,
    Cycles.MIN: exp.Min,
    Cycles.MAX: exp.Max,
    Cycles.MEDIAN: exp.Median,
}


def onset(holds: exp.Expr) -> exp.Expr:
    """Whether a condition holds at an event, and did not at the one before it in its case."""
    before = exp.Window(
        this=exp.Lag(this=holds.copy()),
        partition_by=[column_named(CASE_ID)],
        order=exp.Order(expressions=[exp.Ordered(this=POSITION.copy())]),
    )
    held = exp.Coalesce(this=before, expressions=[exp.false()])
    return exp.And(this=exp.Paren(this=holds), expression=exp.Not(this=held))


def needs_start(measure: TimeMeasure) -> bool:
    """Whether the place of the start must be known before the end can be found."""
    return measure.cycles is None and measure.end_pick is Pick.FIRST


def start_position(measure: TimeMeasure, at_start: exp.Expr) -> exp.Expr:
    """The position of the start in its case, on every event of the case."""
    return _over_case(_picked(measure.start_pick, at_start))


def elapsed(
    measure: TimeMeasure, start: exp.Expr, start_time: exp.Expr, end: exp.Expr, end_time: exp.Expr
) -> exp.Expr:
    """From the chosen start to the last end at or after it.

    `start` and `end` are positions at the instants, missing elsewhere; the others are times.
    """
    first, last = _picked(measure.start_pick, start), exp.Max(this=end)
    # As DOUBLE, which cannot overflow: an error here would depend on data.
    started = as_double(_picked(measure.start_pick, start_time))
    ended = as_double(exp.Max(this=end_time))
    return when(exp.GTE(this=last, expression=first), exp.Sub(this=ended, expression=started))


def elapsed_to_next(
    measure: TimeMeasure, known_start: exp.Expr, start_time: exp.Expr, end_time: exp.Expr
) -> exp.Expr:
    """From the chosen start, whose position is known, to the first end after it."""
    later = exp.GT(this=POSITION.copy(), expression=known_start)
    started = as_double(_picked(measure.start_pick, start_time))
    ended = as_double(exp.Min(this=when(later, end_time)))
    return exp.Sub(this=ended, expression=started)


def cycles_of(
    measure: TimeMeasure, events: exp.Expr, opens: exp.Expr, closes: exp.Expr, name: str
) -> exp.Select:
    """One row per case with closed cycles: their durations, made one.

    Ends are numbered; all events from one end up to the next are a round. A round's first
    start opens its cycle, and the end that begins the next round closes it. An event that
    both ends and starts closes one cycle and opens the next.
    """
    if measure.cycles is None:
        raise AssertionError("this time measure has no cycles")
    numbered = exp.select(
        column_named(CASE_ID),
        alias(_over_case(exp.Count(this=closes.copy()), so_far=True), _ROUND),
        alias(opens, _OPENED),
        alias(closes, _CLOSED),
    ).from_(events)
    rounds = (
        exp.select(
            column_named(CASE_ID),
            column_named(_ROUND),
            alias(exp.Min(this=column_named(_OPENED)), _OPENED),
            alias(exp.Min(this=column_named(_CLOSED)), _CLOSED),
        )
        .from_(numbered.subquery("numbered", copy=False), copy=False)
        .group_by(column_named(CASE_ID), column_named(_ROUND))
    )
    lead = exp.Window(
        this=exp.Lead(this=column_named(_CLOSED)),
        partition_by=[column_named(CASE_ID)],
        order=exp.Order(expressions=[exp.Ordered(this=column_named(_ROUND))]),
    )
    paired = exp.select(column_named(CASE_ID), column_named(_OPENED), alias(lead, _NEXT)).from_(
        rounds.subquery("rounds", copy=False), copy=False
    )
    lasted = exp.Sub(
        this=as_double(column_named(_NEXT)), expression=as_double(column_named(_OPENED))
    )
    return (
        exp.select(column_named(CASE_ID), alias(_AGGREGATES[measure.cycles](this=lasted), name))
        .from_(paired.subquery("paired", copy=False), copy=False)
        .group_by(column_named(CASE_ID))
    )


def _picked(pick: Pick, value: exp.Expr) -> exp.Expr:
    return exp.Min(this=value) if pick is Pick.FIRST else exp.Max(this=value)


def _over_case(aggregate: exp.Expr, *, so_far: bool = False) -> exp.Expr:
    order = exp.Order(expressions=[exp.Ordered(this=POSITION.copy())]) if so_far else None
    spec = (
        exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
        if so_far
        else None
    )
    return exp.Window(this=aggregate, partition_by=[column_named(CASE_ID)], order=order, spec=spec)
