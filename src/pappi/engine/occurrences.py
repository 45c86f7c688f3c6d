"""The events that a query reads, and where conditions occur among those of a case.

`Source` says which table and which of its rows, and what is known of their order: what one
engine does differently, or can spare itself, is said there, and all else is built for any.

Most conditions are judged at each event alone. An onset looks at the event before, and a
sequence at all events before: such a condition gets a column of its own, from a window over
the case, so that it is computed once wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from pappi.engine.expressions import (
    CASE_ID,
    POSITION,
    TIME,
    Columns,
    alias,
    column_named,
    compile_expression,
    compile_test,
    finite,
    table_named,
    when,
)
from pappi.ppinot import EventCondition, EventSequence, Expression, Occurrence, Occurs, Order
from pappi.values import Kind, Vocabulary

FIRST, UNTIL = "first", "until"


@dataclass(frozen=True, slots=True)
class Source:
    """A table of events, or a range of its rows, which are of whole cases.

    `ranged`: from the position `$first` on and before `$until`, which the engine says.
    `in_order`: the engine reads them in the order of their positions, the events of a case next
    to each other, and windows without an order keep to that. Each knows `first_pos`, the position
    of the first event of its case.
    """

    table: str
    ranged: bool = False
    in_order: bool = False

    def events(self) -> exp.Expr:
        whole = table_named(self.table)
        if not self.ranged:
            return whole
        first, until = exp.Placeholder(this=FIRST), exp.Placeholder(this=UNTIL)
        within = exp.And(
            this=exp.GTE(this=POSITION.copy(), expression=first),
            expression=exp.LT(this=POSITION.copy(), expression=until),
        )
        chosen = exp.select(exp.Star(), copy=False).from_(whole, copy=False)
        return chosen.where(within, copy=False).subquery("events", copy=False)

    def previous(self, column: exp.Column) -> exp.Expr:
        """The column at the row before that is of the same case; NULL at a case's first row."""
        before = exp.Lag(this=column.copy())
        if self.in_order:
            # Sorting costs several times the rest, and the rows are sorted.
            case = exp.Window(this=exp.Lag(this=column_named(CASE_ID)))
            same = exp.EQ(this=case, expression=column_named(CASE_ID))
            return when(same, exp.Window(this=before))
        return exp.Window(
            this=before,
            partition_by=[column_named(CASE_ID)],
            order=exp.Order(expressions=[exp.Ordered(this=POSITION.copy())]),
        )


# --- what names stand for ------------------------------------------------------------


def event_column(vocabulary: Vocabulary, name: str) -> tuple[exp.Expr, Kind]:
    """What a name stands for in a condition on events."""
    if name == "activity":
        return column_named("activity"), Kind.TEXT
    if name == "timestamp":
        return TIME.copy(), Kind.TIME
    return column_named(name), vocabulary.attributes[name]


def unused(vocabulary: Vocabulary, name: str) -> str:
    """A name that no attribute has, in whatever case: databases take them for the same."""
    taken = {attribute.casefold() for attribute in vocabulary.attributes}
    while name in taken:
        name += "_"
    return name


def as_text(vocabulary: Vocabulary, attribute: str) -> exp.Expr:
    """An attribute as text, so that large numbers stay apart; no finite number, no value."""
    column, kind = event_column(vocabulary, attribute)
    text = exp.Cast(this=column.copy(), to=exp.DType.VARCHAR.into_expr())
    if kind in (Kind.TEXT, Kind.TRUTH):
        return text
    present = exp.Is(this=finite(column), expression=exp.Not(this=exp.null()))
    return when(present, text)


# --- conditions ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The conditions of a query, and the columns of those that need one."""

    event_column: Columns
    onsets: Mapping[Occurs, str]
    sequences: Mapping[EventSequence, str]

    @classmethod
    def of(
        cls,
        conditions: Iterable[EventCondition],
        event_column: Columns,
        unused: Callable[[str], str],
    ) -> Occurrences:
        """`unused` makes a name of one that no column of the events has."""
        distinct = dict.fromkeys(part for each in conditions for part in _parts(each))
        onsets = [
            each
            for each in distinct
            if isinstance(each, Occurs) and each.occurrence is Occurrence.ONSET
        ]
        sequences = [each for each in distinct if isinstance(each, EventSequence)]
        return cls(
            event_column,
            {each: unused(f"onset_{index}") for index, each in enumerate(onsets)},
            {each: unused(f"sequence_{index}") for index, each in enumerate(sequences)},
        )

    @property
    def need_windows(self) -> bool:
        return bool(self.onsets or self.sequences)

    def marked(self, events: exp.Expr) -> exp.Expr:
        """The events, with the columns of the conditions that have one."""
        onsets = [alias(self._onset(each), name) for each, name in self.onsets.items()]
        sequences = [alias(self._sequence(each), name) for each, name in self.sequences.items()]
        return widened(widened(events, onsets), sequences)

    def holds(self, condition: EventCondition) -> exp.Expr:
        """Whether a condition occurs at an event: true, or else false or NULL."""
        if isinstance(condition, EventSequence):
            return column_named(self.sequences[condition])
        if condition in self.onsets:
            return column_named(self.onsets[condition])
        return self._here(condition)

    def true_at(self, expression: Expression) -> exp.Expr:
        """Whether it is true at an event, and never NULL."""
        return compile_expression(expression, self.event_column)

    def _here(self, occurs: Occurs) -> exp.Expr:
        """Whether a condition holds at an event, and the event is looked at."""
        holds = self._tested(occurs.condition)
        if occurs.among is None:
            return holds
        return exp.and_(self._tested(occurs.among), holds, copy=False)

    def _tested(self, expression: Expression) -> exp.Expr:
        return compile_test(expression, self.event_column)

    def _onset(self, occurs: Occurs) -> exp.Expr:
        """Whether it holds here, and did not at the event before it that is looked at.

        Events that are looked at are a partition of their own.
        """
        apart = () if occurs.among is None else (self.true_at(occurs.among),)
        before = over_case(exp.Lag(this=self.true_at(occurs.condition)), ordered=True, apart=apart)
        held = exp.Coalesce(this=before, expressions=[exp.false()])
        return exp.And(this=exp.Paren(this=self._here(occurs)), expression=exp.Not(this=held))

    def _sequence(self, sequence: EventSequence) -> exp.Expr:
        then = exp.Paren(this=self.holds(sequence.then))
        first = self.holds(sequence.first)
        if sequence.order is Order.FOLLOWS:
            directly = over_case(exp.Lag(this=first), ordered=True)
            return exp.And(
                this=then, expression=exp.Coalesce(this=directly, expressions=[exp.false()])
            )
        opened = _latest_before(first)
        exists = exp.Is(this=opened, expression=exp.Not(this=exp.null()))
        if sequence.order is Order.LEADS_TO:
            return exp.And(this=then, expression=exists)
        # The one before it took every first up to itself; the event itself may be a first again.
        closed = _latest_before(self.holds(sequence.then))
        is_new = exp.GTE(this=opened.copy(), expression=closed)
        return exp.And(
            this=then,
            expression=exp.And(
                this=exists, expression=exp.Coalesce(this=is_new, expressions=[exp.true()])
            ),
        )


def widened(events: exp.Expr, columns: Sequence[exp.Expr]) -> exp.Expr:
    """The events with more columns; as they are if there are none."""
    if not columns:
        return events
    wide = exp.select(exp.Star(), *columns, copy=False).from_(events, copy=False)
    return wide.subquery("events", copy=False)


def over_case(
    value: exp.Expr,
    *,
    ordered: bool = False,
    frame: exp.WindowSpec | None = None,
    apart: Iterable[exp.Expr] = (),
) -> exp.Expr:
    """A window function over the events of a case."""
    return exp.Window(
        this=value,
        partition_by=[column_named(CASE_ID), *apart],
        order=exp.Order(expressions=[exp.Ordered(this=POSITION.copy())]) if ordered else None,
        spec=frame,
    )


def rows_up_to(end: str, side: str | None = None) -> exp.WindowSpec:
    """A frame from the start of the case to a row: `CURRENT ROW`, or `1` `PRECEDING`."""
    return exp.WindowSpec(
        kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end=end, end_side=side
    )


def _latest_before(holds: exp.Expr) -> exp.Expr:
    """The position of the latest event before this one at which something holds."""
    latest = exp.Max(this=when(holds, POSITION.copy()))
    return over_case(latest, ordered=True, frame=rows_up_to("1", "PRECEDING"))


def _parts(condition: EventCondition) -> Iterator[EventCondition]:
    yield condition
    if isinstance(condition, EventSequence):
        yield condition.first
        yield condition.then
