"""All single-instance measures of a run, compiled into one query over the cases.

Sharing the scan is worth a factor of three to four, so every base measure of a
catalogue becomes a conditional aggregate of the same GROUP BY; formulas over
them are computed in the SELECT around it.

Events are ordered by `pos`, which follows time and, within a tie, the order of
the log. So the first and last instant of a condition are plain MIN and MAX.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from sqlglot import exp

from pappi.engine.expressions import as_double, compile_expression, finite, when
from pappi.engine.nodes import CASE_ID, POSITION, TIME, alias, column_named, table_named
from pappi.engine.times import (
    cycles_of,
    elapsed,
    elapsed_to_next,
    needs_start,
    onset,
    start_position,
)
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import (
    CaseBorder,
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    DerivedSingleInstance,
    Moment,
    Occurrence,
    Occurs,
    Pick,
    SingleInstance,
    TimeMeasure,
)
from pappi.values.vocabulary import Kind, Vocabulary

ANCHOR = "anchor_us"
_JOINED = "joined_case"
ORDER = "first_pos"
PERSON = "person"


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


def case_query(
    table: str,
    anchor: CaseBorder,
    measures: Sequence[SingleInstance],
    vocabulary: Vocabulary,
    identify: Identify | None = None,
) -> exp.Select:
    """One row per case: its anchor's time, its place in the log, and `m0`, `m1`, …

    Measures are DOUBLE, or text where they are text. Who a case is comes along if asked for.
    """
    columns = _Columns.of(measures, vocabulary)
    query = columns.bases_of(table, anchor, identify)
    for level in columns.derived_levels():
        query = columns.derive(level, query)
    outputs = [
        alias(columns.output(measure), f"m{index}") for index, measure in enumerate(measures)
    ]
    who = map(column_named, identify.names if identify else ())
    return exp.select(column_named(ANCHOR), column_named(ORDER), *who, *outputs).from_(
        query.subquery("cases", copy=False), copy=False
    )


def variation_query(table: str, attributes: Sequence[str], vocabulary: Vocabulary) -> exp.Select:
    """One row: whether each attribute, `v0`, `v1`, …, has two values within some case."""
    columns = _Columns.of((), vocabulary)
    texts = [columns.text(attribute) for attribute in attributes]
    per_case = exp.select(
        *(
            alias(exp.NEQ(this=exp.Min(this=text), expression=exp.Max(this=text.copy())), f"v{i}")
            for i, text in enumerate(texts)
        )
    )
    cases = per_case.from_(table_named(table)).group_by(column_named(CASE_ID))
    found = (exp.LogicalOr(this=column_named(f"v{index}")) for index in range(len(texts)))
    return exp.select(*found).from_(cases.subquery("cases", copy=False), copy=False)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The distinct measures of a query, each one column, formulas above what they use.

    A formula is computed in a SELECT around its variables instead of with their
    text inside its own, because pasting formulas into formulas grows exponentially.
    """

    vocabulary: Vocabulary
    names: Mapping[SingleInstance, str]
    onsets: Mapping[Occurs, str]

    @classmethod
    def of(cls, measures: Iterable[SingleInstance], vocabulary: Vocabulary) -> _Columns:
        distinct = dict.fromkeys(part for measure in measures for part in _parts(measure))
        occurring = (occurs for part in distinct for occurs in _conditions(part))
        onsets = dict.fromkeys(o for o in occurring if o.occurrence is Occurrence.ONSET)
        return cls(
            vocabulary,
            {part: f"c{index}" for index, part in enumerate(distinct)},
            {each: _unused(f"onset_{i}", vocabulary) for i, each in enumerate(onsets)},
        )

    def bases_of(self, table: str, anchor: CaseBorder, identify: Identify | None) -> exp.Select:
        bases = [part for part in self.names if not isinstance(part, DerivedSingleInstance)]
        cyclic = [part for part in bases if isinstance(part, TimeMeasure) and part.cycles]
        plain = [part for part in bases if part not in cyclic]
        query = (
            exp.select(
                alias(_anchor_time(anchor), ANCHOR),
                alias(exp.Min(this=POSITION.copy()), ORDER),
                *((alias(column_named(CASE_ID), _JOINED),) if cyclic else ()),
                *(self._who(identify) if identify else ()),
                *(self._named(part, self._aggregate(part)) for part in plain),
            )
            .from_(self._events(table, plain))
            .group_by(column_named(CASE_ID))
        )
        for part in cyclic:
            query = self._with_cycles(query, part, table)
        return query

    def _events(self, table: str, bases: Iterable[SingleInstance]) -> exp.Expr:
        """The events, with the place of a start where an end is looked for after it."""
        placed = [
            alias(start_position(part, self.at(part.start, POSITION)), self._start_of(part))
            for part in bases
            if isinstance(part, TimeMeasure) and needs_start(part)
        ]
        return _widened(self._occurrences(table), placed)

    def _occurrences(self, table: str) -> exp.Expr:
        """The events, with a column for each condition that occurs only at its onset."""
        return _widened(
            table_named(table),
            [alias(onset(self._compiled(occurs)), name) for occurs, name in self.onsets.items()],
        )

    def _with_cycles(self, query: exp.Select, part: TimeMeasure, table: str) -> exp.Select:
        """The query with a column for the cycles of each case, which are found apart from it."""
        name = self.names[part]
        opens, closes = self.at(part.start, TIME), self.at(part.end, TIME)
        cycles = cycles_of(part, self._occurrences(table), opens, closes, name)
        same_case = exp.EQ(
            this=exp.column(_JOINED, table="cases", quoted=True),
            expression=exp.column(CASE_ID, table="cycles", quoted=True),
        )
        return (
            exp.select(
                exp.Column(this=exp.Star(), table=exp.to_identifier("cases")),
                exp.column(name, table="cycles", quoted=True),
            )
            .from_(query.subquery("cases", copy=False), copy=False)
            .join(cycles.subquery("cycles", copy=False), on=same_case, join_type="left", copy=False)
        )

    def _start_of(self, part: TimeMeasure) -> str:
        """A column that no attribute is called."""
        return _unused(f"start_{self.names[part]}", self.vocabulary)

    def at(self, moment: Moment, column: exp.Expr) -> exp.Expr:
        """The column at the events of a moment; an event without a time is no instant."""
        timed = exp.Is(this=TIME.copy(), expression=exp.Not(this=exp.null()))
        if isinstance(moment, Occurs):
            return when(exp.and_(timed, self.holds(moment), copy=False), column.copy())
        return when(timed, column.copy())

    def _aggregate(self, measure: SingleInstance) -> exp.Expr:
        """A base measure, as an aggregate over the events of one case."""
        match measure:
            case CountMeasure(when=condition):
                return exp.Count(this=when(self.holds(condition), POSITION.copy()))
            case ConditionMeasure(when=condition):
                count = exp.Count(this=when(self.holds(condition), POSITION.copy()))
                return exp.GT(this=count, expression=exp.Literal.number(0))
            case TimeMeasure():
                return self._elapsed(measure)
            case DataMeasure():
                return _attribute(measure, self)
            case DerivedSingleInstance():
                raise AssertionError("derived measures are computed around the bases")

    def _elapsed(self, measure: TimeMeasure) -> exp.Expr:
        start, start_time = self.at(measure.start, POSITION), self.at(measure.start, TIME)
        end, end_time = self.at(measure.end, POSITION), self.at(measure.end, TIME)
        if needs_start(measure):
            known = column_named(self._start_of(measure))
            return elapsed_to_next(measure, known, start_time, end_time)
        return elapsed(measure, start, start_time, end, end_time)

    def _who(self, identify: Identify) -> Iterator[exp.Expr]:
        yield column_named(CASE_ID)
        if identify.person is not None:
            # Import has made sure that a case has one value; MIN is that one.
            yield alias(exp.Min(this=self.text(identify.person)), PERSON)

    def derived_levels(self) -> list[list[DerivedSingleInstance]]:
        derived = [part for part in self.names if isinstance(part, DerivedSingleInstance)]
        derived.sort(key=_depth)
        return [list(level) for _, level in groupby(derived, key=_depth)]

    def derive(self, level: Sequence[DerivedSingleInstance], below: exp.Select) -> exp.Select:
        formulas = [self._named(part, self._formula(part)) for part in level]
        return exp.select(exp.Star(), *formulas).from_(
            below.subquery("below", copy=False), copy=False
        )

    def output(self, measure: SingleInstance) -> exp.Expr:
        column = column_named(self.names[measure])
        return column if self.kind(measure) is Kind.TEXT else as_double(column)

    def kind(self, measure: SingleInstance) -> Kind:
        kind = measure_kind(measure, self.vocabulary)
        if kind is None:
            raise LookupError("a measure reached the engine unchecked")
        return kind

    def event_column(self, name: str) -> tuple[exp.Expr, Kind]:
        if name == "activity":
            return column_named("activity"), Kind.TEXT
        if name == "timestamp":
            return TIME.copy(), Kind.TIME
        return column_named(name), self.vocabulary.attributes[name]

    def text(self, attribute: str) -> exp.Expr:
        """An attribute as text, so that large numbers stay apart; no finite number, no value."""
        column, kind = self.event_column(attribute)
        text = exp.Cast(this=column.copy(), to=exp.DType.VARCHAR.into_expr())
        if kind in (Kind.TEXT, Kind.TRUTH):
            return text
        present = exp.Is(this=finite(column), expression=exp.Not(this=exp.null()))
        return when(present, text)

    def holds(self, condition: Occurs) -> exp.Expr:
        onset_column = self.onsets.get(condition)
        return self._compiled(condition) if onset_column is None else column_named(onset_column)

    def _compiled(self, condition: Occurs) -> exp.Expr:
        return compile_expression(condition.condition, self.event_column)

    def _formula(self, measure: DerivedSingleInstance) -> exp.Expr:
        columns = {
            name: (column_named(self.names[variable]), self.kind(variable))
            for name, variable in measure.variables
        }
        return compile_expression(measure.formula, columns.__getitem__)

    def _named(self, measure: SingleInstance, value: exp.Expr) -> exp.Expr:
        return alias(value, self.names[measure])


def _widened(events: exp.Expr, columns: Sequence[exp.Expr]) -> exp.Expr:
    if not columns:
        return events
    wide = exp.select(exp.Star(), *columns).from_(events, copy=False)
    return wide.subquery("events", copy=False)


def _unused(name: str, vocabulary: Vocabulary) -> str:
    """A name that no attribute has, in whatever case: databases take them for the same."""
    taken = {attribute.casefold() for attribute in vocabulary.attributes}
    while name in taken:
        name += "_"
    return name


def _conditions(measure: SingleInstance) -> Iterator[Occurs]:
    """Those of a base measure."""
    match measure:
        case CountMeasure() | ConditionMeasure():
            yield measure.when
        case TimeMeasure():
            yield from (m for m in (measure.start, measure.end) if isinstance(m, Occurs))
        case DataMeasure() if measure.when is not None:
            yield measure.when


def _parts(measure: SingleInstance) -> Iterator[SingleInstance]:
    """A measure and everything it is derived from."""
    yield measure
    if isinstance(measure, DerivedSingleInstance):
        for _, variable in measure.variables:
            yield from _parts(variable)


def _depth(measure: SingleInstance) -> int:
    if not isinstance(measure, DerivedSingleInstance):
        return 0
    return 1 + max((_depth(variable) for _, variable in measure.variables), default=0)


def _attribute(measure: DataMeasure, columns: _Columns) -> exp.Expr:
    """The attribute at the first or last event that satisfies the condition and carries it."""
    column, kind = columns.event_column(measure.attribute)
    value = column if kind in (Kind.TEXT, Kind.TRUTH) else finite(column)
    carried: exp.Expr = exp.Is(this=value.copy(), expression=exp.Not(this=exp.null()))
    if measure.when is not None:
        carried = exp.and_(carried, columns.holds(measure.when), copy=False)
    pick = exp.ArgMin if measure.pick is Pick.FIRST else exp.ArgMax
    return pick(this=value, expression=when(carried, POSITION.copy()))


def _anchor_time(anchor: CaseBorder) -> exp.Expr:
    return exp.Max(this=TIME.copy()) if anchor is CaseBorder.END else exp.Min(this=TIME.copy())
