"""Base measures, each an aggregate over the events of a case, in one GROUP BY.

Events are ordered by `pos`, which follows time and, within a tie, the order of the log. So the
first and last instant of a condition are plain MIN and MAX. What looks at neighbouring events
gets columns from windows first; cycles are found apart and joined.

Time measures lead from one instant of a case to another, in all time or in working time.
A plain duration from the first start to the last end is two aggregates and a subtraction.
What is more needs another look at the events, in the order of `pos`:

    the first end *after* a start   the place of the start, on every event of its case
    a clock that stops              also the place of the end, and the time of the next event
    cycles                          starts and ends alone, each beside the one before it

The working time from some fixed start up to an instant grows only inside working windows.
`values.working_days_of` cuts it into days: what was worked before each day, and the day's
windows. So a calendar becomes a small table, joined by the number of the day; holidays and
summer time are all in the table. Working time between two instants is two look-ups of a day each,
and a subtraction. An instant before the table counts as its start, one after it as its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeGuard

import pyarrow as pa
from sqlglot import exp

from pappi.engine.expressions import (
    CASE_ID,
    POSITION,
    TIME,
    Occurrences,
    Source,
    alias,
    as_double,
    as_text,
    column_named,
    double,
    event_column,
    filled,
    filled_query,
    is_finite,
    over_case,
    present,
    table_named,
    unused,
    when,
    widened,
)
from pappi.ppinot import (
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    EventCondition,
    Expression,
    Moment,
    OpenCycle,
    Pick,
    StateMeasure,
    TimeMeasure,
)
from pappi.values import CaseBorder, DayTable, Kind, Vocabulary, WorkingCalendar

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


def end_position(measure: TimeMeasure, known_start: exp.Expr, ends: Ends) -> exp.Expr:
    """The position of the end that belongs to a start, on every event of the case."""
    place = when(ends.end.timed, POSITION.copy())
    if measure.end_pick is Pick.LAST:
        at_or_after = exp.GTE(this=POSITION.copy(), expression=known_start)
        return over_case(exp.Max(this=when(at_or_after, place)))
    after = exp.GT(this=POSITION.copy(), expression=known_start)
    return over_case(exp.Min(this=when(after, place)))


def instants(measure: TimeMeasure, ends: Ends) -> tuple[exp.Expr, exp.Expr]:
    """The times of the chosen start and of the last end at or after it."""
    first, last = ends.start.position_if_timed(measure.start_pick), ends.end.position(Pick.LAST)
    in_order = exp.GTE(this=last, expression=first)
    return ends.start.time(measure.start_pick), when(in_order, ends.end.time(Pick.LAST))


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


# Starts and ends alone, each beside the one before it: a cycle is open if that was a start. Each
# that closes a cycle follows the one that opened it, and gets its time; both are NULL at one that
# only opens.
_CYCLES = """
SELECT "case_id", "opens",
    CASE WHEN "closes" THEN CAST(:opened AS DOUBLE) END AS "opened",
    CASE WHEN "closes" THEN CAST("ts_us" AS DOUBLE) END AS "closed"
FROM (
    SELECT "case_id", "pos", "ts_us", "starts" AND ("ends" OR NOT "running") AS "opens",
        "ends" AND "running" AS "closes"
    FROM (
        SELECT *, COALESCE(:running, FALSE) AS "running"
        FROM (
            SELECT "case_id", "pos", "ts_us", COALESCE(:start, FALSE) AS "starts",
                COALESCE(:end, FALSE) AS "ends"
            FROM :events WHERE (:start) OR (:end)
        ) AS "below"
    ) AS "below"
    WHERE "starts" AND ("ends" OR NOT "running") OR "ends" AND "running"
) AS "below"
"""
_LASTED = 'SELECT *, "closed" - "opened" AS "lasted" FROM :paired'
_ALL_CLOSED = 'CASE WHEN COUNT(CASE WHEN "opens" THEN 1 END) = COUNT("closed") THEN :lasted END'


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
    lasted = _made_one(measure.cycles, column_named("lasted"))
    if measure.open_cycle is OpenCycle.NO_VALUE:
        lasted = filled(_ALL_CLOSED, lasted=lasted)
    paired = filled_query(
        _CYCLES,
        events=events,
        start=ends.start.timed,
        end=ends.end.timed,
        running=source.previous(column_named("starts")),
        opened=source.previous(TIME),
    )
    if days is None:
        lasting = filled_query(_LASTED, paired=paired.subquery("below", copy=False))
    else:
        lasting = with_worked(paired, [Span("opened", "closed", "lasted", days)])
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


# --- base measures ------------------------------------------------------------------------


ANCHOR = "anchor_us"
ORDER = "first_pos"
PERSON = "person"
_JOINED = "joined_case"

BaseMeasure = CountMeasure | TimeMeasure | DataMeasure | ConditionMeasure | StateMeasure


@dataclass(frozen=True, slots=True)
class Identify:
    """Asks for who each case is: its id and, where an attribute tells persons apart, its person.

    The key is for what is chosen by these; the query does without.
    """

    key: bytes = field(repr=False)
    person: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return (CASE_ID,) if self.person is None else (CASE_ID, PERSON)


@dataclass(frozen=True, slots=True)
class Bases:
    """The distinct base measures of a query, each one column."""

    vocabulary: Vocabulary
    names: Mapping[BaseMeasure, str]
    occurrences: Occurrences
    calendars: Calendars

    @classmethod
    def of(
        cls, names: Mapping[BaseMeasure, str], vocabulary: Vocabulary, calendars: Calendars
    ) -> Bases:
        occurrences = Occurrences.of(
            (condition for measure in names for condition in _conditions(measure)),
            partial(event_column, vocabulary),
            partial(unused, vocabulary),
        )
        return cls(vocabulary, names, occurrences, calendars)

    def select(
        self, source: Source, anchor: CaseBorder, identify: Identify | None, *, placed: bool
    ) -> exp.Select:
        bases = list(self.names)
        cyclic = [part for part in bases if isinstance(part, TimeMeasure) and part.cycles]
        plain = [part for part in bases if part not in cyclic]
        border = exp.Max if anchor is CaseBorder.END else exp.Min
        query = (
            exp.select(
                alias(border(this=TIME.copy()), ANCHOR),
                *((alias(exp.Min(this=POSITION.copy()), ORDER),) if placed else ()),
                *((alias(column_named(CASE_ID), _JOINED),) if cyclic else ()),
                *(self._who(identify) if identify else ()),
                *(column for part in plain for column in self._columns(part)),
                copy=False,
            )
            .from_(self._events(source, plain), copy=False)
            .group_by(column_named(CASE_ID), copy=False)
        )
        return self._with_cycles(self.with_working_time(query), cyclic, source)

    def with_working_time(self, query: exp.Select) -> exp.Select:
        """What has the instants of measures that count working time, with that time."""
        return with_worked(query, self.spans)

    @property
    def spans(self) -> list[Span]:
        return [self._span(part) for part in self.names if self.is_span(part)]

    # --- the events, wide enough ------------------------------------------------------

    def _events(self, source: Source, bases: Iterable[BaseMeasure]) -> exp.Expr:
        """The events, with the places of starts and ends where something depends on them."""
        placed = [part for part in bases if isinstance(part, TimeMeasure) and needs_start(part)]
        stopping = [part for part in placed if part.running is not None]
        starts = [
            alias(
                over_case(self._ends(part).start.position(part.start_pick)), self.own("start", part)
            )
            for part in placed
        ]
        ahead = (
            [alias(over_case(exp.Lead(this=TIME.copy()), ordered=True), self._next)]
            if stopping
            else []
        )
        ends = [
            alias(
                end_position(part, column_named(self.own("start", part)), self._ends(part)),
                self.own("end", part),
            )
            for part in stopping
        ]
        events = self.occurrences.marked(source.events())
        wide = widened(widened(events, [*starts, *ahead]), ends)
        spans = [
            Span(TIME.name, self._next, self.own("worked", part), self.calendars[part.calendar])
            for part in stopping
            if part.calendar is not None
        ]
        if not spans:
            return wide
        selected = exp.select(exp.Star(), copy=False).from_(wide, copy=False)
        return with_worked(selected, spans).subquery("events", copy=False)

    def _with_cycles(
        self, query: exp.Select, cyclic: Sequence[TimeMeasure], source: Source
    ) -> exp.Select:
        """The query with a column for each measure of cycles, which are found apart from it.

        Side by side, and each with the windows of its own conditions alone: nested, or with all
        of them, a query would outgrow its definition.
        """
        if not cyclic:
            return query
        whole = exp.select(
            exp.Column(this=exp.Star(), table=exp.to_identifier("cases")),
            *(
                exp.column(self.names[part], table=f"cycles_{index}", quoted=True)
                for index, part in enumerate(cyclic)
            ),
            copy=False,
        ).from_(query.subquery("cases", copy=False), copy=False)
        for index, part in enumerate(cyclic):
            alone = Bases.of({part: self.names[part]}, self.vocabulary, self.calendars)
            whole.join(
                alone._cycles(part, source).subquery(f"cycles_{index}", copy=False),  # noqa: SLF001
                on=exp.EQ(
                    this=exp.column(_JOINED, table="cases", quoted=True),
                    expression=exp.column(CASE_ID, table=f"cycles_{index}", quoted=True),
                ),
                join_type="left",
                copy=False,
            )
        return whole

    def _cycles(self, part: TimeMeasure, source: Source) -> exp.Select:
        events = self.occurrences.marked(source.events())
        if self.occurrences.need_windows:
            source = replace(source, in_order=False)  # what comes out of those is in no order
        days = None if part.calendar is None else self.calendars[part.calendar]
        return cycles_of(part, events, source, self._ends(part), self.names[part], days)

    def own(self, what: str, part: TimeMeasure) -> str:
        """A column for one measure, called as no attribute is."""
        return unused(self.vocabulary, f"{what}_{self.names[part]}")

    @property
    def _next(self) -> str:
        return unused(self.vocabulary, "next_ts_us")

    # --- base measures ----------------------------------------------------------------

    def _columns(self, measure: BaseMeasure) -> Iterator[exp.Expr]:
        """A base measure, as an aggregate over the events of one case, or as its two instants."""
        match measure:
            case CountMeasure(when=condition):
                yield self._named(measure, self._times(condition))
            case ConditionMeasure(when=condition):
                count = self._times(condition)
                occurs = exp.GT(this=count, expression=exp.Literal.number(0))
                yield self._named(measure, occurs)
            case StateMeasure():
                yield self._named(measure, self._state(measure))
            case TimeMeasure():
                yield from self._elapsed(measure)
            case DataMeasure():
                # At the first or last event that satisfies the condition and carries it.
                column, kind = event_column(self.vocabulary, measure.attribute)
                plain = kind in (Kind.TEXT, Kind.TRUTH)
                value = column if plain else as_double(column)
                carried = present(column) if plain else is_finite(column)
                if measure.when is not None:
                    carried = exp.and_(carried, self.occurrences.holds(measure.when), copy=False)
                pick = exp.ArgMin if measure.pick is Pick.FIRST else exp.ArgMax
                yield self._named(
                    measure, pick(this=value, expression=when(carried, POSITION.copy()))
                )

    def _times(self, condition: EventCondition) -> exp.Expr:
        return exp.Count(this=when(self.occurrences.holds(condition), exp.Literal.number(1)))

    def _state(self, measure: StateMeasure) -> exp.Expr:
        place: exp.Expr = POSITION.copy()
        if measure.of is not None:
            place = when(self.occurrences.true_at(measure.of), place)
        latest = exp.ArgMax(this=self.occurrences.true_at(measure.holds), expression=place)
        return exp.Coalesce(this=latest, expressions=[exp.false()])

    def _elapsed(self, measure: TimeMeasure) -> Iterator[exp.Expr]:
        if measure.running is not None:
            yield self._named(measure, self._running(measure, measure.running))
            return
        start, end = self._instants(measure)
        if self.is_span(measure):
            yield alias(start, self.own("start", measure))
            yield alias(end, self.own("end", measure))
        else:
            yield self._named(measure, exp.Sub(this=end, expression=start))

    def _running(self, measure: TimeMeasure, running: Expression) -> exp.Expr:
        start, end, worked = (
            column_named(self.own(w, measure)) for w in ("start", "end", "worked")
        )
        ahead = exp.Sub(this=as_double(column_named(self._next)), expression=as_double(TIME.copy()))
        until_next = ahead if measure.calendar is None else worked
        return time_running(start, end, self.occurrences.true_at(running), until_next)

    def _instants(self, measure: TimeMeasure) -> tuple[exp.Expr, exp.Expr]:
        if needs_start(measure):
            known = column_named(self.own("start", measure))
            ends = self._ends(measure)
            later = exp.GT(this=POSITION.copy(), expression=known)
            after = exp.Min(this=when(later, when(ends.end.timed, TIME.copy())))
            return ends.start.time(measure.start_pick), as_double(after)
        return instants(measure, self._ends(measure))

    def is_span(self, part: BaseMeasure) -> TypeGuard[TimeMeasure]:
        """Whether the working time between the instants of a measure is found around the bases."""
        if not isinstance(part, TimeMeasure) or part.calendar is None:
            return False
        return part.running is None and part.cycles is None

    def _span(self, part: TimeMeasure) -> Span:
        if part.calendar is None:
            raise AssertionError("without a calendar all time counts")
        start, end = self.own("start", part), self.own("end", part)
        return Span(start, end, self.names[part], self.calendars[part.calendar])

    def _ends(self, measure: TimeMeasure) -> Ends:
        return Ends(self._end(measure.start), self._end(measure.end))

    def _end(self, moment: Moment) -> End:
        return End(None if isinstance(moment, CaseBorder) else self.occurrences.holds(moment))

    def _who(self, identify: Identify) -> Iterator[exp.Expr]:
        yield column_named(CASE_ID)
        if identify.person is not None:
            # A case of two persons is nobody's, and counts nowhere: if it were one's, the other
            # could change whose it is, and so which cases of a third count.
            text = as_text(self.vocabulary, identify.person)
            least, most = exp.Min(this=text), exp.Max(this=text.copy())
            same = exp.EQ(this=least.copy(), expression=most)
            yield alias(when(same, least), PERSON)

    def _named(self, measure: BaseMeasure, value: exp.Expr) -> exp.Expr:
        return alias(value, self.names[measure])


def _conditions(measure: BaseMeasure) -> Iterator[EventCondition]:
    """Those of a base measure."""
    match measure:
        case CountMeasure() | ConditionMeasure():
            yield measure.when
        case TimeMeasure():
            ends = (measure.start, measure.end)
            yield from (moment for moment in ends if not isinstance(moment, CaseBorder))
        case DataMeasure() if measure.when is not None:
            yield measure.when
