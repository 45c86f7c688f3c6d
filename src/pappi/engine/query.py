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
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import (
    CaseBorder,
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    DerivedSingleInstance,
    Moment,
    Occurs,
    Pick,
    SingleInstance,
    TimeMeasure,
)
from pappi.values.vocabulary import Kind, Vocabulary

ANCHOR = "anchor_us"
ORDER = "first_pos"
CASE_ID = "case_id"
PERSON = "person"

_TIME = exp.column("ts_us", quoted=True)
_POSITION = exp.column("pos", quoted=True)


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
        _alias(columns.output(measure), f"m{index}") for index, measure in enumerate(measures)
    ]
    who = map(_column, identify.names if identify else ())
    return exp.select(_column(ANCHOR), _column(ORDER), *who, *outputs).from_(
        query.subquery("cases", copy=False), copy=False
    )


def variation_query(table: str, attributes: Sequence[str], vocabulary: Vocabulary) -> exp.Select:
    """One row: whether each attribute, `v0`, `v1`, …, has two values within some case."""
    columns = _Columns.of((), vocabulary)
    texts = [columns.text(attribute) for attribute in attributes]
    per_case = exp.select(
        *(
            _alias(exp.NEQ(this=exp.Min(this=text), expression=exp.Max(this=text.copy())), f"v{i}")
            for i, text in enumerate(texts)
        )
    )
    cases = per_case.from_(_table(table)).group_by(_column(CASE_ID))
    found = (exp.LogicalOr(this=_column(f"v{index}")) for index in range(len(texts)))
    return exp.select(*found).from_(cases.subquery("cases", copy=False), copy=False)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The distinct measures of a query, each one column, formulas above what they use.

    A formula is computed in a SELECT around its variables instead of with their
    text inside its own, because pasting formulas into formulas grows exponentially.
    """

    vocabulary: Vocabulary
    names: Mapping[SingleInstance, str]

    @classmethod
    def of(cls, measures: Iterable[SingleInstance], vocabulary: Vocabulary) -> _Columns:
        distinct = dict.fromkeys(part for measure in measures for part in _parts(measure))
        return cls(vocabulary, {part: f"c{index}" for index, part in enumerate(distinct)})

    def bases_of(self, table: str, anchor: CaseBorder, identify: Identify | None) -> exp.Select:
        bases = [part for part in self.names if not isinstance(part, DerivedSingleInstance)]
        return (
            exp.select(
                _alias(_anchor_time(anchor), ANCHOR),
                _alias(exp.Min(this=_POSITION.copy()), ORDER),
                *(self._who(identify) if identify else ()),
                *(self._named(part, _aggregate(part, self)) for part in bases),
            )
            .from_(_table(table))
            .group_by(_column(CASE_ID))
        )

    def _who(self, identify: Identify) -> Iterator[exp.Expr]:
        yield _column(CASE_ID)
        if identify.person is not None:
            # Import has made sure that a case has one value; MIN is that one.
            yield _alias(exp.Min(this=self.text(identify.person)), PERSON)

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
        column = _column(self.names[measure])
        return column if self.kind(measure) is Kind.TEXT else as_double(column)

    def kind(self, measure: SingleInstance) -> Kind:
        kind = measure_kind(measure, self.vocabulary)
        if kind is None:
            raise LookupError("a measure reached the engine unchecked")
        return kind

    def event_column(self, name: str) -> tuple[exp.Expr, Kind]:
        if name == "activity":
            return _column("activity"), Kind.TEXT
        if name == "timestamp":
            return _TIME.copy(), Kind.TIME
        return _column(name), self.vocabulary.attributes[name]

    def text(self, attribute: str) -> exp.Expr:
        """An attribute as text, so that large numbers stay apart; no finite number, no value."""
        column, kind = self.event_column(attribute)
        text = exp.Cast(this=column.copy(), to=exp.DType.VARCHAR.into_expr())
        if kind in (Kind.TEXT, Kind.TRUTH):
            return text
        present = exp.Is(this=finite(column), expression=exp.Not(this=exp.null()))
        return when(present, text)

    def holds(self, condition: Occurs) -> exp.Expr:
        return compile_expression(condition.condition, self.event_column)

    def _formula(self, measure: DerivedSingleInstance) -> exp.Expr:
        columns = {
            name: (_column(self.names[variable]), self.kind(variable))
            for name, variable in measure.variables
        }
        return compile_expression(measure.formula, columns.__getitem__)

    def _named(self, measure: SingleInstance, value: exp.Expr) -> exp.Expr:
        return _alias(value, self.names[measure])


def _column(name: str) -> exp.Column:
    return exp.column(name, quoted=True)


def _table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def _alias(value: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(value, name, quoted=True, copy=False)


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


def _aggregate(measure: SingleInstance, columns: _Columns) -> exp.Expr:
    """A base measure, as an aggregate over the events of one case."""
    match measure:
        case CountMeasure(when=condition):
            return exp.Count(this=when(columns.holds(condition), _POSITION.copy()))
        case ConditionMeasure(when=condition):
            count = exp.Count(this=when(columns.holds(condition), _POSITION.copy()))
            return exp.GT(this=count, expression=exp.Literal.number(0))
        case TimeMeasure(start=start, end=end):
            return _elapsed(start, end, columns)
        case DataMeasure():
            return _attribute(measure, columns)
        case DerivedSingleInstance():
            raise AssertionError("derived measures are computed around the bases")


def _elapsed(start: Moment, end: Moment, columns: _Columns) -> exp.Expr:
    """From the first `start` to the last `end` at or after it, in the order of the log."""
    first = exp.Min(this=_at(start, _POSITION, columns))
    last = exp.Max(this=_at(end, _POSITION, columns))
    # As DOUBLE, which cannot overflow: an error here would depend on data.
    started = as_double(exp.Min(this=_at(start, _TIME, columns)))
    ended = as_double(exp.Max(this=_at(end, _TIME, columns)))
    elapsed = exp.Sub(this=ended, expression=started)
    return when(exp.GTE(this=last, expression=first), elapsed)


def _at(moment: Moment, column: exp.Expr, columns: _Columns) -> exp.Expr:
    """The column at the events of a moment; an event without a time is no instant."""
    timed = exp.Is(this=_TIME.copy(), expression=exp.Not(this=exp.null()))
    if isinstance(moment, Occurs):
        return when(exp.and_(timed, columns.holds(moment), copy=False), column.copy())
    return when(timed, column.copy())


def _attribute(measure: DataMeasure, columns: _Columns) -> exp.Expr:
    """The attribute at the first or last event that satisfies the condition and carries it."""
    column, kind = columns.event_column(measure.attribute)
    value = column if kind in (Kind.TEXT, Kind.TRUTH) else finite(column)
    carried: exp.Expr = exp.Is(this=value.copy(), expression=exp.Not(this=exp.null()))
    if measure.when is not None:
        carried = exp.and_(carried, columns.holds(measure.when), copy=False)
    pick = exp.ArgMin if measure.pick is Pick.FIRST else exp.ArgMax
    return pick(this=value, expression=when(carried, _POSITION.copy()))


def _anchor_time(anchor: CaseBorder) -> exp.Expr:
    return exp.Max(this=_TIME.copy()) if anchor is CaseBorder.END else exp.Min(this=_TIME.copy())
