"""Time measures: from one instant of a case to another.

A plain duration from the first start to the last end is two aggregates and a subtraction.
What is more needs another look at the events, in the order of `pos`:

    the first end *after* a start   the place of the start, on every event of its case
    a clock that stops              also the place of the end, and the time of the next event
    cycles                          the ends, numbered: a round each
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from pappi.engine.expressions import as_double, double, when
from pappi.engine.nodes import CASE_ID, POSITION, TIME, alias, column_named
from pappi.engine.occurrences import over_case, rows_up_to
from pappi.engine.working import Days, Span, with_worked
from pappi.ppinot.model import Cycles, OpenCycle, Pick, TimeMeasure

_ROUND, _OPENED, _CLOSED, _NEXT, _LASTED = "round", "opened", "closed", "next_closed", "lasted"

_AGGREGATES: dict[Cycles, type[exp.AggFunc]] = {
    Cycles.SUM: exp.Sum,
    Cycles.MEAN: exp.Avg,
    Cycles.MIN: exp.Min,
    Cycles.MAX: exp.Max,
    Cycles.MEDIAN: exp.Median,
}


@dataclass(frozen=True, slots=True)
class Ends:
    """The two ends of a time measure at the events: positions and times there, else missing."""

    start: exp.Expr
    start_time: exp.Expr
    end: exp.Expr
    end_time: exp.Expr


# --- from one instant to another ------------------------------------------------------


def needs_start(measure: TimeMeasure) -> bool:
    """Whether the place of the start must be known before the rest can be found."""
    if measure.cycles is not None:
        return False
    return measure.end_pick is Pick.FIRST or measure.running is not None


def start_position(measure: TimeMeasure, ends: Ends) -> exp.Expr:
    """The position of the start in its case, on every event of the case."""
    return over_case(_picked(measure.start_pick, ends.start))


def end_position(measure: TimeMeasure, known_start: exp.Expr, ends: Ends) -> exp.Expr:
    """The position of the end that belongs to a start, on every event of the case."""
    if measure.end_pick is Pick.LAST:
        at_or_after = exp.GTE(this=POSITION.copy(), expression=known_start)
        return over_case(exp.Max(this=when(at_or_after, ends.end)))
    after = exp.GT(this=POSITION.copy(), expression=known_start)
    return over_case(exp.Min(this=when(after, ends.end)))


def next_time() -> exp.Expr:
    """The time of the next event of the case."""
    return over_case(exp.Lead(this=TIME.copy()), ordered=True)


def instants(measure: TimeMeasure, ends: Ends) -> tuple[exp.Expr, exp.Expr]:
    """The times of the chosen start and of the last end at or after it.

    As DOUBLE, which cannot overflow: an error here would depend on data.
    """
    first, last = _picked(measure.start_pick, ends.start), exp.Max(this=ends.end)
    in_order = exp.GTE(this=last, expression=first)
    started = as_double(_picked(measure.start_pick, ends.start_time))
    return started, when(in_order, as_double(exp.Max(this=ends.end_time)))


def instants_after(
    measure: TimeMeasure, known_start: exp.Expr, ends: Ends
) -> tuple[exp.Expr, exp.Expr]:
    """The times of the chosen start, whose position is known, and of the first end after it."""
    later = exp.GT(this=POSITION.copy(), expression=known_start)
    started = as_double(_picked(measure.start_pick, ends.start_time))
    return started, as_double(exp.Min(this=when(later, ends.end_time)))


def time_running(start: exp.Expr, end: exp.Expr, runs: exp.Expr, until_next: exp.Expr) -> exp.Expr:
    """The time between two positions after events at which the clock runs.

    0 if it never does; missing if there is no start or no end. An event without a time, or
    before one, adds nothing.
    """
    between = exp.And(
        this=exp.GTE(this=POSITION.copy(), expression=start),
        expression=exp.LT(this=POSITION.copy(), expression=end),
    )
    ran = exp.Sum(this=when(exp.and_(between, runs, copy=False), until_next))
    # The places are the same on every event of the case; none is NULL on all of them.
    paired = exp.GTE(this=exp.Max(this=end.copy()), expression=exp.Max(this=start.copy()))
    return when(paired, exp.Coalesce(this=ran, expressions=[double(0)]))


# --- cycles ---------------------------------------------------------------------------


def cycles_of(
    measure: TimeMeasure, events: exp.Expr, ends: Ends, name: str, days: Days | None
) -> exp.Select:
    """One row per case with cycles: their durations, made one.

    Ends are numbered; all events from one end up to the next are a round. A round's first
    start opens its cycle, and the end that begins the next round closes it. An event that
    both ends and starts closes one cycle and opens the next.
    """
    if measure.cycles is None:
        raise AssertionError("this time measure has no cycles")
    lasted: exp.Expr = _AGGREGATES[measure.cycles](this=column_named(_LASTED))
    if measure.open_cycle is OpenCycle.NO_VALUE:
        opened, closed = (exp.Count(this=column_named(each)) for each in (_OPENED, _LASTED))
        lasted = when(exp.EQ(this=opened, expression=closed), lasted)
    lasting = _lasting(_paired(_rounds(events, ends)), days)
    return (
        exp.select(column_named(CASE_ID), alias(lasted, name), copy=False)
        .from_(lasting.subquery("lasting", copy=False), copy=False)
        .group_by(column_named(CASE_ID), copy=False)
    )


def _rounds(events: exp.Expr, ends: Ends) -> exp.Select:
    ended = over_case(
        exp.Count(this=ends.end_time.copy()), ordered=True, frame=rows_up_to("CURRENT ROW")
    )
    numbered = exp.select(
        column_named(CASE_ID),
        alias(ended, _ROUND),
        alias(ends.start_time, _OPENED),
        alias(ends.end_time, _CLOSED),
        copy=False,
    ).from_(events, copy=False)
    return (
        exp.select(
            column_named(CASE_ID),
            column_named(_ROUND),
            alias(exp.Min(this=column_named(_OPENED)), _OPENED),
            alias(exp.Min(this=column_named(_CLOSED)), _CLOSED),
            copy=False,
        )
        .from_(numbered.subquery("numbered", copy=False), copy=False)
        .group_by(column_named(CASE_ID), column_named(_ROUND), copy=False)
    )


def _paired(rounds: exp.Select) -> exp.Select:
    """Each round's first start, with the end that begins the next round."""
    lead = exp.Window(
        this=exp.Lead(this=column_named(_CLOSED)),
        partition_by=[column_named(CASE_ID)],
        order=exp.Order(expressions=[exp.Ordered(this=column_named(_ROUND))]),
    )
    return exp.select(
        column_named(CASE_ID),
        alias(as_double(column_named(_OPENED)), _OPENED),
        alias(as_double(lead), _NEXT),
        copy=False,
    ).from_(rounds.subquery("rounds", copy=False), copy=False)


def _lasting(paired: exp.Select, days: Days | None) -> exp.Select:
    if days is not None:
        return with_worked(paired, [Span(_OPENED, _NEXT, _LASTED, days)])
    lasted = exp.Sub(this=column_named(_NEXT), expression=column_named(_OPENED))
    return exp.select(exp.Star(), alias(lasted, _LASTED), copy=False).from_(
        paired.subquery("paired", copy=False), copy=False
    )


def _picked(pick: Pick, value: exp.Expr) -> exp.Expr:
    return exp.Min(this=value) if pick is Pick.FIRST else exp.Max(this=value)
