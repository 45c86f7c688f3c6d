"""Time measures: from one instant of a case to another, in all time or in working time.

A plain duration from the first start to the last end is two aggregates and a subtraction.
What is more needs another look at the events, in the order of `pos`:

    the first end *after* a start   the place of the start, on every event of its case
    a clock that stops              also the place of the end, and the time of the next event
    cycles                          starts and ends alone, each beside the one before it

The working time from some fixed start up to an instant grows only inside working windows.
`values.working_days_of` cuts it into days: what was worked before each day, and the day's
windows. So a calendar becomes a small table, joined by the number of the day; holidays,
seasons and summer time are all in the table. Working time between two instants is two look-ups
of a day each, and a subtraction. An instant before the table counts as its start, one after
it as its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from pappi.engine.expressions import (
    CASE_ID,
    POSITION,
    TIME,
    alias,
    as_double,
    column_named,
    double,
    never_null,
    table_named,
    when,
)
from pappi.engine.occurrences import Source, over_case
from pappi.ppinot import Cycles, OpenCycle, Pick, TimeMeasure
from pappi.values import DayTable, WorkingCalendar

_STARTS, _ENDS, _RUNNING = "starts", "ends", "running"
_OPENS, _CLOSES, _OPENED, _CLOSED, _LASTED = "opens", "closes", "opened", "closed", "lasted"

_DAY_US = 86_400_000_000
_DAY, _BEFORE = "day", "before"


@dataclass(frozen=True, slots=True)
class End:
    """One end of a time measure: what holds at its events; None for all events of a case."""

    holds: exp.Expr | None

    @property
    def timed(self) -> exp.Expr:
        """An event without a time is no instant."""
        known = exp.Is(this=TIME.copy(), expression=exp.Not(this=exp.null()))
        return known if self.holds is None else exp.and_(known, self.holds.copy(), copy=False)

    def position(self, pick: Pick) -> exp.Expr:
        return _picked(pick, when(self.timed, POSITION.copy()))

    def position_if_timed(self, pick: Pick) -> exp.Expr:
        """The same, or anything if none of the events has a time.

        Events without a time are the last of their case, so the first needs no test for it.
        """
        if pick is Pick.LAST or self.holds is None:
            return self.position(pick)
        return exp.Min(this=when(self.holds.copy(), POSITION.copy()))

    def time(self, pick: Pick) -> exp.Expr:
        """As DOUBLE, which cannot overflow: an error here would depend on data."""
        # What is missing is passed over, so that it need not be tested for.
        here = TIME.copy() if self.holds is None else when(self.holds.copy(), TIME.copy())
        return as_double(_picked(pick, here))


@dataclass(frozen=True, slots=True)
class Ends:
    start: End
    end: End


# --- from one instant to another -----------------------------------------------------


def needs_start(measure: TimeMeasure) -> bool:
    """Whether the place of the start must be known before the rest can be found."""
    if measure.cycles is not None:
        return False
    return measure.end_pick is Pick.FIRST or measure.running is not None


def start_position(measure: TimeMeasure, ends: Ends) -> exp.Expr:
    """The position of the start in its case, on every event of the case."""
    return over_case(ends.start.position(measure.start_pick))


def end_position(measure: TimeMeasure, known_start: exp.Expr, ends: Ends) -> exp.Expr:
    """The position of the end that belongs to a start, on every event of the case."""
    place = when(ends.end.timed, POSITION.copy())
    if measure.end_pick is Pick.LAST:
        at_or_after = exp.GTE(this=POSITION.copy(), expression=known_start)
        return over_case(exp.Max(this=when(at_or_after, place)))
    after = exp.GT(this=POSITION.copy(), expression=known_start)
    return over_case(exp.Min(this=when(after, place)))


def next_time() -> exp.Expr:
    """The time of the next event of the case."""
    return over_case(exp.Lead(this=TIME.copy()), ordered=True)


def instants(measure: TimeMeasure, ends: Ends) -> tuple[exp.Expr, exp.Expr]:
    """The times of the chosen start and of the last end at or after it."""
    first, last = ends.start.position_if_timed(measure.start_pick), ends.end.position(Pick.LAST)
    in_order = exp.GTE(this=last, expression=first)
    return ends.start.time(measure.start_pick), when(in_order, ends.end.time(Pick.LAST))


def instants_after(
    measure: TimeMeasure, known_start: exp.Expr, ends: Ends
) -> tuple[exp.Expr, exp.Expr]:
    """The times of the chosen start, whose position is known, and of the first end after it."""
    later = exp.GT(this=POSITION.copy(), expression=known_start)
    after = exp.Min(this=when(later, when(ends.end.timed, TIME.copy())))
    return ends.start.time(measure.start_pick), as_double(after)


def time_running(start: exp.Expr, end: exp.Expr, runs: exp.Expr, until_next: exp.Expr) -> exp.Expr:
    """The time between two positions after events at which the clock runs.

    0 if it never does; missing if there is no start or no end. An event without a time, or
    before one, adds nothing.
    """
    between = exp.And(
        this=exp.GTE(this=POSITION.copy(), expression=start),
        expression=exp.LT(this=POSITION.copy(), expression=end),
    )
    ran = _total(when(exp.and_(between, runs, copy=False), until_next))
    # The places are the same on every event of the case; none is NULL on all of them.
    paired = exp.GTE(this=exp.Max(this=end.copy()), expression=exp.Max(this=start.copy()))
    return when(paired, exp.Coalesce(this=ran, expressions=[double(0)]))


def _picked(pick: Pick, value: exp.Expr) -> exp.Expr:
    return exp.Min(this=value) if pick is Pick.FIRST else exp.Max(this=value)


# --- cycles --------------------------------------------------------------------------


def cycles_of(
    measure: TimeMeasure, events: exp.Expr, source: Source, ends: Ends, name: str, days: Days | None
) -> exp.Select:
    """One row per case with cycles: their durations, made one.

    Only starts and ends matter, and of each only the kind of the one before it. A start opens
    a cycle unless one is open; an end closes the one that is. An event that both ends and
    starts closes one cycle and opens the next.
    """
    if measure.cycles is None:
        raise AssertionError("this time measure has no cycles")
    lasted = _made_one(measure.cycles, column_named(_LASTED))
    if measure.open_cycle is OpenCycle.NO_VALUE:
        opened = exp.Count(this=when(column_named(_OPENS), exp.Literal.number(1)))
        closed = exp.Count(this=column_named(_CLOSED))
        lasted = when(exp.EQ(this=opened, expression=closed), lasted)
    borders = _borders(_followed(_starts_and_ends(events, ends), source))
    lasting = _lasting(_paired(borders, source), days)
    return (
        exp.select(column_named(CASE_ID), alias(lasted, name), copy=False)
        .from_(lasting.subquery("lasting", copy=False), copy=False)
        .group_by(column_named(CASE_ID), copy=False)
    )


def _made_one(how: Cycles, lasted: exp.Column) -> exp.Expr:
    match how:
        case Cycles.SUM:
            return _total(lasted)
        case Cycles.MEAN:
            count = as_double(exp.Count(this=lasted.copy()))
            closed = exp.Nullif(this=count, expression=double(0))
            return exp.Div(this=_total(lasted), expression=closed)
        case Cycles.MIN:
            return exp.Min(this=lasted)
        case Cycles.MAX:
            return exp.Max(this=lasted)
        case Cycles.MEDIAN:
            return exp.Median(this=lasted)


def _total(durations: exp.Expr) -> exp.Expr:
    """Their sum as DOUBLE, but added up as the whole microseconds they are.

    Within 400 years these do not overflow, while doubles round beyond 285: by the order in which
    a database takes events, and that depends on the events of other cases.
    """
    whole = exp.Cast(this=durations, to=exp.DType.BIGINT.into_expr())
    return as_double(exp.Sum(this=whole))


def _starts_and_ends(events: exp.Expr, ends: Ends) -> exp.Select:
    either = exp.or_(ends.start.timed, ends.end.timed, copy=False)
    select = exp.select(
        *(column_named(CASE_ID), POSITION.copy(), TIME.copy()),
        alias(never_null(ends.start.timed), _STARTS),
        alias(never_null(ends.end.timed), _ENDS),
        copy=False,
    )
    return select.from_(events, copy=False).where(either, copy=False)


def _followed(events: exp.Select, source: Source) -> exp.Select:
    """Starts and ends, with whether a cycle is open before each: so if a start came last."""
    running = never_null(source.previous(column_named(_STARTS)))
    return _around(events, exp.Star(), alias(running, _RUNNING))


def _borders(followed: exp.Select) -> exp.Select:
    """The events that open a cycle or close one: each that closes follows the one that opened."""
    starts, ends, running = map(column_named, (_STARTS, _ENDS, _RUNNING))
    free = exp.Or(this=ends.copy(), expression=exp.Not(this=running.copy()))
    opens = exp.And(this=starts, expression=exp.Paren(this=free))
    closes = exp.And(this=ends, expression=running)
    borders = _around(
        followed,
        *(column_named(CASE_ID), POSITION.copy(), TIME.copy()),
        alias(opens, _OPENS),
        alias(closes, _CLOSES),
    )
    return borders.where(exp.or_(opens.copy(), closes.copy(), copy=False), copy=False)


def _paired(borders: exp.Select, source: Source) -> exp.Select:
    """Each end of a cycle with its start; NULL for both where one only opens."""
    closes = column_named(_CLOSES)
    return _around(
        borders,
        *(column_named(CASE_ID), column_named(_OPENS)),
        alias(when(closes, as_double(source.previous(TIME))), _OPENED),
        alias(when(closes.copy(), as_double(TIME.copy())), _CLOSED),
    )


def _lasting(paired: exp.Select, days: Days | None) -> exp.Select:
    if days is not None:
        return with_worked(paired, [Span(_OPENED, _CLOSED, _LASTED, days)])
    lasted = exp.Sub(this=column_named(_CLOSED), expression=column_named(_OPENED))
    return _around(paired, exp.Star(), alias(lasted, _LASTED))


def _around(query: exp.Select, *columns: exp.Expr) -> exp.Select:
    return exp.select(*columns, copy=False).from_(query.subquery("below", copy=False), copy=False)


# --- working time --------------------------------------------------------------------


Calendars = Mapping[WorkingCalendar, "Days"]
"""The tables of the calendars that a query reads."""
NO_CALENDARS: Calendars = {}
DaysOf = Callable[[WorkingCalendar], DayTable]
"""Where the days of a calendar come from."""


def no_calendars(calendar: WorkingCalendar) -> DayTable:
    raise LookupError(f"no days are known for the calendar {calendar}")


@dataclass(frozen=True, slots=True)
class Days:
    """A calendar as a table of a query: its name, its days, and how many windows a day has."""

    name: str
    table: DayTable

    def arrow(self) -> pa.Table:
        """In DOUBLE, which holds microseconds exactly."""
        columns = {_DAY: pa.array(range(self.first, self.until), pa.int64())}
        columns[_BEFORE] = pa.array(self.table.before, pa.float64())
        for index, (starts, ends) in enumerate(self.table.windows):
            columns[f"start_{index}"] = pa.array(starts, pa.float64())
            columns[f"end_{index}"] = pa.array(ends, pa.float64())
        return pa.table(columns)

    @property
    def first(self) -> int:
        return self.table.first_day

    @property
    def until(self) -> int:
        return self.table.first_day + len(self.table.before)

    def within(self, instant: exp.Expr) -> exp.Expr:
        """The instant, or the nearest one that the table knows."""
        late = exp.Least(this=as_double(instant), expressions=[double(self.until * _DAY_US - 1)])
        return exp.Case(
            ifs=[
                exp.If(
                    this=exp.Is(this=instant.copy(), expression=exp.Not(this=exp.null())),
                    true=exp.Greatest(this=late, expressions=[double(self.first * _DAY_US)]),
                )
            ]
        )

    def worked(self, instant: exp.Expr, days: str) -> exp.Expr:
        """Working time up to an instant, where `days` is the row of its day, or of the nearest."""
        worked: exp.Expr = exp.column(_BEFORE, table=days, quoted=True)
        for index in range(len(self.table.windows)):
            start = exp.column(f"start_{index}", table=days, quoted=True)
            end = exp.column(f"end_{index}", table=days, quoted=True)
            # Windows are DOUBLE, and so is what is greatest or least of them and an instant.
            begun = exp.Greatest(this=instant.copy(), expressions=[start])
            until = exp.Least(this=begun, expressions=[end])
            within = exp.Sub(this=until, expression=start.copy())
            worked = exp.Add(this=worked, expression=exp.Paren(this=within))
        return worked


@dataclass(frozen=True, slots=True)
class Span:
    """Two columns with instants, and the column that gets the working time between them."""

    start: str
    end: str
    name: str
    days: Days


def with_worked(query: exp.Select, spans: Sequence[Span]) -> exp.Select:
    """The query with a column of working time for every span; as it is without any."""
    if not spans:
        return query
    select = exp.select(
        exp.Column(this=exp.Star(), table=exp.to_identifier("below")),
        *(alias(_between(span, index), span.name) for index, span in enumerate(spans)),
        copy=False,
    ).from_(query.subquery("below", copy=False), copy=False)
    for index, span in enumerate(spans):
        select = _joined(select, span, span.start, f"start_day_{index}")
        select = _joined(select, span, span.end, f"end_day_{index}")
    return select


def _between(span: Span, index: int) -> exp.Expr:
    start = span.days.worked(_below(span.start), f"start_day_{index}")
    end = span.days.worked(_below(span.end), f"end_day_{index}")
    return exp.Sub(this=exp.Paren(this=end), expression=exp.Paren(this=start))


def _joined(query: exp.Select, span: Span, instant: str, days: str) -> exp.Select:
    quotient = exp.Div(this=span.days.within(_below(instant)), expression=double(_DAY_US))
    number = exp.Cast(this=exp.Floor(this=quotient), to=exp.DType.BIGINT.into_expr())
    same_day = exp.EQ(this=number, expression=exp.column(_DAY, table=days, quoted=True))
    table = table_named(span.days.name)
    table.set("alias", exp.TableAlias(this=exp.to_identifier(days, quoted=True)))
    return query.join(table, on=same_day, join_type="left", copy=False)


def _below(name: str) -> exp.Expr:
    return exp.column(name, table="below", quoted=True)
