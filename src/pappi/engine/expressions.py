"""Expressions of the closed grammar and names as SQL; the events read, and where conditions occur.

The subset of SQL is kept small, so that every engine gives the same answer, and
everything is total: an error that depends on data would be a leak. Numbers are
DOUBLE, which overflows into infinity and not into an error (and an infinite result
is missing); a division by zero is NULL, that is, missing; a truth value is never
NULL, because a comparison with a missing value is false; `min` and `max` take the
values that are present. Names and literals become sqlglot nodes and are never pasted.

A database may copy the operand of NULLIF and CASE when it plans. The only operand
that is tested here is a divisor, and `ppinot` bounds how deep divisors nest, so a
query stays in proportion to its definition.

`Source` says which table and which of its rows, and what is known of their order: what one
engine does differently, or can spare itself, is said there, and all else is built for any.

Most conditions are judged at each event alone. An onset looks at the event before, and a
sequence at all events before: such a condition gets a column of its own, from a window over
the case, so that it is computed once wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import sqlglot
from sqlglot import exp

from pappi.ppinot import (
    AnyLiteral,
    Apply,
    Binary,
    Choose,
    DurationLiteral,
    EventCondition,
    EventSequence,
    Expression,
    Function,
    InstantLiteral,
    IsMissing,
    Name,
    Negate,
    Not,
    NumberLiteral,
    Occurrence,
    Occurs,
    OneOf,
    Operator,
    Order,
    TextLiteral,
    TruthLiteral,
)
from pappi.values import Kind, Vocabulary

TOTAL = "total"
"""Marks arithmetic of a definition, which has a result whatever its operands are."""
_COMPARISONS: dict[Operator, type[exp.Binary]] = {
    Operator.EQUAL: exp.EQ,
    Operator.UNEQUAL: exp.NEQ,
    Operator.LESS: exp.LT,
    Operator.AT_MOST: exp.LTE,
    Operator.GREATER: exp.GT,
    Operator.AT_LEAST: exp.GTE,
}
_ARITHMETIC: dict[Operator, type[exp.Binary]] = {
    Operator.ADD: exp.Add,
    Operator.SUBTRACT: exp.Sub,
    Operator.MULTIPLY: exp.Mul,
    Operator.DIVIDE: exp.Div,
    Operator.REMAINDER: exp.Mod,
}
_LOGIC: dict[Operator, type[exp.Connector]] = {Operator.AND: exp.And, Operator.OR: exp.Or}


# --- names, and the columns every event table has ------------------------------------


def column_named(name: str) -> exp.Column:
    return exp.column(name, quoted=True)


def table_named(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def source_table(names: tuple[str, ...]) -> exp.Table:
    """A table of another database: a name, or a schema and a name."""
    *schema, name = (exp.to_identifier(part, quoted=True) for part in names)
    return exp.Table(this=name, db=schema[-1] if schema else None)


def alias(value: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(value, name, quoted=True, copy=False)


CASE_ID = "case_id"
FIRST_POSITION = "first_pos"
TIME = column_named("ts_us")
POSITION = column_named("pos")


# --- values --------------------------------------------------------------------------


def double(value: Fraction | int) -> exp.Expr:
    return as_double(exp.Literal.number(repr(float(value))))


# sqlglot's helpers copy what they are given, which costs the square of a formula's depth. Nodes
# are built directly instead; whatever stands in two places is copied where that happens.


def as_double(column: exp.Expr) -> exp.Expr:
    return exp.Cast(this=column, to=exp.DType.DOUBLE.into_expr())


def finite(column: exp.Expr) -> exp.Expr:
    """A column as DOUBLE, with what is no finite number missing.

    For columns alone: a database may copy the operand, and nested copies multiply.
    """
    return when(is_finite(column), as_double(column.copy()))


def is_finite(column: exp.Expr) -> exp.Expr:
    """Only of a finite number x - x is zero."""
    number = as_double(column.copy())
    return exp.EQ(this=exp.Sub(this=number, expression=number.copy()), expression=double(0))


def present(column: exp.Expr) -> exp.Expr:
    return exp.Is(this=column.copy(), expression=exp.Not(this=exp.null()))


def when(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """The value where the condition holds, NULL elsewhere."""
    return exp.Case(ifs=[exp.If(this=condition, true=value)])


def never_null(condition: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=condition, expressions=[exp.false()])


# --- SQL with operands ---------------------------------------------------------------


def filled(template: str, dialect: str = "duckdb", **operands: exp.Expr) -> exp.Expr:
    """The template with an operand wherever it says `:name`; each may stand in several places.

    Operands are used up: copied at every level, they would cost the square of a formula's depth.

    >>> filled("COALESCE(:x, 0)", "postgres", x=exp.column("a", quoted=True)).sql("postgres")
    'COALESCE("a", 0)'
    """
    tree = exp.Paren(this=_parsed(template, dialect).copy())
    used: set[str] = set()
    for place in list(tree.find_all(exp.Placeholder)):
        operand = operands[place.name]
        table = place.parent if isinstance(place.parent, exp.Table) else place
        table.replace(operand.copy() if place.name in used else operand)
        used.add(place.name)
    sql: exp.Expr = tree.this
    return sql.pop()


def filled_query(template: str, **operands: exp.Expr) -> exp.Select:
    """The same of a whole query."""
    query = filled(template, "duckdb", **operands)
    if not isinstance(query, exp.Select):
        raise TypeError("the template is no query")
    return query


@cache
def _parsed(template: str, dialect: str) -> exp.Expr:
    return sqlglot.parse_one(template, read=dialect)


# --- expressions ---------------------------------------------------------------------


Columns = Callable[[str], tuple[exp.Expr, Kind]]
"""What a name stands for: a raw SQL column and its kind."""


def compile_expression(expression: Expression, columns: Columns) -> exp.Expr:
    """The SQL of an expression that has been checked; see `ppinot.checks`."""
    return _Compiler(columns).compile(expression)


def compile_test(expression: Expression, columns: Columns) -> exp.Expr:
    """The same where it is only asked whether it is true, and NULL is as good as false.

    That is so in CASE WHEN and WHERE, where it spares a test for NULL at every event.
    """
    return _Compiler(columns).test(expression)


class _Compiler:
    """One visit of an expression; holds what its names stand for."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def compile(self, node: Expression) -> exp.Expr:
        match node:
            case (
                NumberLiteral()
                | TextLiteral()
                | TruthLiteral()
                | DurationLiteral()
                | InstantLiteral()
            ):
                return _literal(node)
            case Name(name=name):
                return self._name(name)
            case Negate(operand=operand):
                return exp.Neg(this=_paren(self.compile(operand)))
            case Not(operand=operand):
                return exp.Not(this=_paren(self.compile(operand)))
            case Binary():
                return self._binary(node)
            case OneOf():
                return never_null(self._among(node))
            case IsMissing(operand=operand):
                return _paren(exp.Is(this=self._raw(operand), expression=exp.null()))
            case Choose(condition=condition, then=then, otherwise=otherwise):
                chosen = exp.If(this=self.compile(condition), true=self.compile(then))
                return exp.Case(ifs=[chosen], default=self.compile(otherwise))
            case Apply():
                return self._apply(node)

    def test(self, node: Expression) -> exp.Expr:
        match node:
            case Binary(operator=operator) if operator in _LOGIC:
                left, right = _paren(self.test(node.left)), _paren(self.test(node.right))
                return _paren(_LOGIC[operator](this=left, expression=right))
            case Binary(operator=operator) if operator in _COMPARISONS:
                return self._compared(node)
            case OneOf():
                return self._among(node)
            case _:
                return self.compile(node)

    def _name(self, name: str) -> exp.Expr:
        column, kind = self._columns(name)
        match kind:
            case Kind.TRUTH:
                return never_null(column.copy())
            case Kind.TEXT:
                return column.copy()
            case _:
                return finite(column)

    def _raw(self, operand: Expression) -> exp.Expr:
        """A bare truth attribute may be missing, though as a condition it is false."""
        if isinstance(operand, Name):
            column, kind = self._columns(operand.name)
            if kind is Kind.TRUTH:
                return column.copy()
        if isinstance(operand, Choose):
            chosen = exp.If(this=self.compile(operand.condition), true=self._raw(operand.then))
            return exp.Case(ifs=[chosen], default=self._raw(operand.otherwise))
        return _paren(self.compile(operand))

    def _binary(self, node: Binary) -> exp.Expr:
        operator = node.operator
        if operator in _COMPARISONS:
            return never_null(self._compared(node))
        left, right = _paren(self.compile(node.left)), _paren(self.compile(node.right))
        if operator in _LOGIC:
            return _paren(_LOGIC[operator](this=left, expression=right))
        if operator in (Operator.DIVIDE, Operator.REMAINDER):
            right = exp.Nullif(this=right, expression=double(0))
        result = _ARITHMETIC[operator](this=left, expression=right)
        result.meta[TOTAL] = True
        return _paren(result)

    def _compared(self, node: Binary) -> exp.Expr:
        left, right = self._raw(node.left), self._raw(node.right)
        return _COMPARISONS[node.operator](this=left, expression=right)

    def _among(self, node: OneOf) -> exp.Expr:
        choices = [_literal(choice) for choice in node.choices]
        return exp.In(this=self._raw(node.operand), expressions=choices)

    def _apply(self, node: Apply) -> exp.Expr:
        first, *rest = (self.compile(argument) for argument in node.arguments)
        match node.function:
            case Function.ABS:
                return exp.Abs(this=first)
            case Function.ROUND:
                return exp.Round(this=first)
            case Function.MIN:
                return exp.Least(this=first, expressions=rest, ignore_nulls=True)
            case Function.MAX:
                return exp.Greatest(this=first, expressions=rest, ignore_nulls=True)


def _paren(inner: exp.Expr) -> exp.Expr:
    return exp.Paren(this=inner)


def _literal(node: AnyLiteral) -> exp.Expr:
    match node:
        case NumberLiteral(value=value):
            return double(value)
        case TextLiteral(value=text):
            return exp.Literal.string(text)
        case TruthLiteral(value=truth):
            return exp.Boolean(this=truth)
        case DurationLiteral(microseconds=microseconds):
            return double(microseconds)
        case InstantLiteral(ts_us=ts_us):
            return double(ts_us)


# --- the events a query reads, and where conditions occur among them ----------------------


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
        distinct = dict.fromkeys(part for condition in conditions for part in _parts(condition))
        onsets = [
            condition
            for condition in distinct
            if isinstance(condition, Occurs) and condition.occurrence is Occurrence.ONSET
        ]
        sequences = [part for part in distinct if isinstance(part, EventSequence)]
        return cls(
            event_column,
            {onset: unused(f"onset_{index}") for index, onset in enumerate(onsets)},
            {part: unused(f"sequence_{index}") for index, part in enumerate(sequences)},
        )

    @property
    def need_windows(self) -> bool:
        return bool(self.onsets or self.sequences)

    def marked(self, events: exp.Expr) -> exp.Expr:
        """The events, with the columns of the conditions that have one."""
        onsets = [alias(self._onset(onset), name) for onset, name in self.onsets.items()]
        sequences = [alias(self._sequence(part), name) for part, name in self.sequences.items()]
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
