"""Base measures, each an aggregate over the events of a case, in one GROUP BY.

Events are ordered by `pos`, which follows time and, within a tie, the order of the log. So the
first and last instant of a condition are plain MIN and MAX. What looks at neighbouring events
gets columns from windows first; cycles are found apart and joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeGuard

from sqlglot import exp

from pappi.engine.expressions import (
    CASE_ID,
    POSITION,
    TIME,
    alias,
    as_double,
    column_named,
    is_finite,
    present,
    when,
)
from pappi.engine.occurrences import Occurrences, Source, as_text, event_column, unused, widened
from pappi.engine.times import (
    Calendars,
    End,
    Ends,
    Span,
    cycles_of,
    end_position,
    instants,
    instants_after,
    needs_start,
    next_time,
    start_position,
    time_running,
    with_worked,
)
from pappi.ppinot import (
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    EventCondition,
    Expression,
    Moment,
    Pick,
    StateMeasure,
    TimeMeasure,
)
from pappi.values import CaseBorder, Kind, Vocabulary

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
            alias(start_position(part, self._ends(part)), self.own("start", part))
            for part in placed
        ]
        ahead = [alias(next_time(), self._next)] if stopping else []
        ends = [
            alias(
                end_position(part, column_named(self.own("start", part)), self._ends(part)),
                self.own("end", part),
            )
            for part in stopping
        ]
        events = self.occurrences.marked(source.events())
        return self._worked_events(widened(widened(events, [*starts, *ahead]), ends), stopping)

    def _worked_events(self, events: exp.Expr, stopping: Sequence[TimeMeasure]) -> exp.Expr:
        """The events, with the working time up to the next one where a clock wants that."""
        spans = [
            Span(TIME.name, self._next, self.own("worked", part), self.calendars[part.calendar])
            for part in stopping
            if part.calendar is not None
        ]
        if not spans:
            return events
        every = exp.select(exp.Star(), copy=False).from_(events, copy=False)
        return with_worked(every, spans).subquery("events", copy=False)

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
            return instants_after(measure, known, self._ends(measure))
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
