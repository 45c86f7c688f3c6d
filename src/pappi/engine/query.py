"""All single-instance measures of a run, compiled into one query over the cases.

Sharing the scan is worth a factor of three to four, so every base measure of a
catalogue becomes a conditional aggregate of the same GROUP BY; formulas over
them are computed in the SELECT around it. An `Engine` runs the query where events are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Protocol, TypeVar

from sqlglot import exp

from pappi.engine.bases import ANCHOR, ORDER, Bases, Calendars, Days, DaysOf, Identify
from pappi.engine.expressions import (
    CASE_ID,
    Source,
    alias,
    as_double,
    as_text,
    column_named,
    compile_expression,
    table_named,
)
from pappi.engine.folding import Folding, KeysOf, foldable
from pappi.engine.table import Column, Scan
from pappi.ppinot import (
    DerivedSingleInstance,
    Missing,
    SingleInstance,
    TimeMeasure,
    all_present,
    measure_kind,
)
from pappi.values import CaseBorder, Kind, Vocabulary

T = TypeVar("T")
# Some frames of sqlglot's are needed for each level of a tree, of the thousand that Python allows.
_TALLEST = 40
# What has brackets, or an END, of its own: it is written alike wherever it stands.
_ENCLOSED = (
    *(exp.Paren, exp.Subquery, exp.Case, exp.Cast, exp.Coalesce, exp.Nullif, exp.Abs, exp.Round),
    *(exp.Least, exp.Greatest, exp.Anonymous),
)


@dataclass(frozen=True)
class CaseQuery:
    """What is asked of every case: `m0`, `m1`, … and the time of its anchor.

    Measures are DOUBLE, or text where they are text. Who a case is comes along if asked for,
    and its place in the log unless that is of no interest.
    Every calendar of the measures is among the `calendars`. Of texts with `keys`, other values
    may be left out.
    """

    anchor: CaseBorder
    measures: Sequence[SingleInstance]
    vocabulary: Vocabulary
    identify: Identify | None = None
    calendars: Calendars = field(default_factory=dict)
    placed: bool = True
    keys: KeysOf = field(default_factory=dict)
    _texts: dict[object, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def written(self, of: object, query: Callable[[], exp.Expr]) -> str:
        """A query as text, written once for all ranges of a log."""
        if of not in self._texts:
            self._texts[of] = written(query())
        return self._texts[of]

    def select(self, source: Source) -> exp.Select:
        """All of it, by the database alone."""
        bases = self.bases.select(source, self.anchor, self.identify, placed=self.placed)
        return self.around(bases)

    def around(self, bases: exp.Select) -> exp.Select:
        """The same from a query that gives the base measures of each case."""
        names = (
            *((ORDER,) if self.placed else ()),
            *(self.identify.names if self.identify else ()),
        )
        time = alias(as_double(column_named(ANCHOR)), ANCHOR)
        return self._outputs(range(len(self.measures)), bases, time, *map(column_named, names))

    def formulas(self, bases: exp.Select) -> exp.Select:
        """Only what is not a base measure itself."""
        return self._outputs(self.derived, bases)

    def _outputs(self, which: Iterable[int], bases: exp.Select, *besides: exp.Expr) -> exp.Select:
        columns, query = self._columns, bases
        derived = [part for part in columns.names if isinstance(part, DerivedSingleInstance)]
        derived.sort(key=_depth)
        for _, level in groupby(derived, key=_depth):
            query = columns.derive(level, query)
        outputs = (alias(columns.output(self.measures[index]), f"m{index}") for index in which)
        select = exp.select(*besides, *outputs, copy=False)
        return select.from_(query.subquery("cases", copy=False), copy=False)

    @cached_property
    def anonymous(self) -> CaseQuery:
        """The same without who the cases are, in whose place is where they stand."""
        return replace(self, identify=None, placed=True)

    @cached_property
    def derived(self) -> tuple[int, ...]:
        """The numbers of the measures that are formulas over others."""
        measures = enumerate(self.measures)
        return tuple(n for n, measure in measures if isinstance(measure, DerivedSingleInstance))

    @cached_property
    def in_formulas(self) -> frozenset[str]:
        """The columns of base measures that formulas are over."""
        parts = {part for number in self.derived for part in _parts(self.measures[number])}
        return frozenset(self._columns.names[part] for part in parts & self.bases.names.keys())

    @cached_property
    def folded(self) -> Mapping[str, str]:
        """What is as it was folded: the name it goes by, and that of its column."""
        names = {ANCHOR: ANCHOR, ORDER: ORDER} if self.placed else {ANCHOR: ANCHOR}
        names |= {name: name for name in (self.identify.names if self.identify else ())}
        plain = (n for n in range(len(self.measures)) if n not in self.derived)
        return names | {f"m{n}": self._columns.names[self.measures[n]] for n in plain}

    @cached_property
    def bases(self) -> Bases:
        names = self._columns.names.items()
        bases = {part: name for part, name in names if not isinstance(part, DerivedSingleInstance)}
        return Bases.of(bases, self.vocabulary, self.calendars)

    @cached_property
    def folding(self) -> Folding | None:
        """How the base measures are had from events in order, unless only a query can."""
        if not foldable(self.bases):
            return None
        keys = {
            part: keys
            for part, keys in self.keys.items()
            if self._columns.names.get(part) not in self.in_formulas
        }
        return Folding.of(self.bases, self.anchor, self.identify, keys)

    @cached_property
    def _columns(self) -> _Columns:
        return _Columns.of(self.measures, self.vocabulary)


class Engine(Protocol):
    """What reads events; the trees of queries are used up."""

    def cases(self, query: CaseQuery, source: Source) -> Scan:
        """What a query asks of each case, as columns."""

    def columns(self, query: exp.Expr) -> dict[str, Column]:
        """The columns of a result: NaN is a missing number, None a missing text."""

    def row(self, query: exp.Expr) -> tuple[Any, ...]: ...

    def each_range(self, table: str, read: Callable[[Engine, Source], T]) -> Iterator[T]:
        """What is read of every range of a log, each of whole cases."""


def written(query: exp.Expr, dialect: str = "duckdb") -> str:
    """A query as text, for which its tree is used up.

    sqlglot writes a tree by recursion, and a query may be some times deeper than its definition,
    which is bounded. So from the leaves up, what has grown tall is written first, and stands in
    the tree as its text.
    """
    heights: dict[int, int] = {}
    for node in reversed(list(query.walk())):
        height, parent = heights.pop(id(node), 0) + 1, node.parent
        if height > _TALLEST and isinstance(node, _ENCLOSED) and parent is not None:
            node.replace(exp.Var(this=node.sql(dialect, copy=False)))
            height = 1
        heights[id(parent)] = max(height, heights.get(id(parent), 0))
    return query.sql(dialect, copy=False)


def shared_scans(
    measures: Sequence[SingleInstance], bases: int
) -> Iterator[tuple[SingleInstance, ...]]:
    """The measures in lots that share a scan, of about so many base measures; at least one lot."""
    lot: list[SingleInstance] = []
    read: set[SingleInstance] = set()
    for measure in measures:
        own = {part for part in _parts(measure) if not isinstance(part, DerivedSingleInstance)}
        if lot and len(read | own) > bases:
            yield tuple(lot)
            lot, read = [], set()
        lot.append(measure)
        read |= own
    yield tuple(lot)


def calendars_of(measures: Iterable[SingleInstance], days: DaysOf) -> Calendars:
    """The tables of all calendars that measures count by."""
    parts = (part for measure in measures for part in _parts(measure))
    times = (part for part in parts if isinstance(part, TimeMeasure))
    distinct = dict.fromkeys(time.calendar for time in times if time.calendar is not None)
    return {calendar: Days(f"calendar {i}", days(calendar)) for i, calendar in enumerate(distinct)}


def variation_query(table: str, attributes: Sequence[str], vocabulary: Vocabulary) -> exp.Select:
    """One row: whether each attribute, `v0`, `v1`, …, has two values within some case."""
    texts = [as_text(vocabulary, attribute) for attribute in attributes]
    per_case = exp.select(
        *(
            alias(exp.NEQ(this=exp.Min(this=text), expression=exp.Max(this=text.copy())), f"v{i}")
            for i, text in enumerate(texts)
        )
    )
    cases = per_case.from_(table_named(table)).group_by(column_named(CASE_ID))
    varies = (exp.LogicalOr(this=column_named(f"v{index}")) for index in range(len(texts)))
    return exp.select(*varies).from_(cases.subquery("cases", copy=False), copy=False)


# --- formulas ------------------------------------------------------------------------


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

    def derive(self, level: Iterable[DerivedSingleInstance], below: exp.Select) -> exp.Select:
        formulas = [alias(self._formula(part), self.names[part]) for part in level]
        return exp.select(exp.Star(), *formulas, copy=False).from_(
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

    def _formula(self, measure: DerivedSingleInstance) -> exp.Expr:
        columns = {
            name: (column_named(self.names[variable]), self.kind(variable))
            for name, variable in measure.variables
        }
        value = compile_expression(measure.formula, columns.__getitem__)
        if measure.missing is None:
            return value
        present = compile_expression(all_present(measure), columns.__getitem__)
        known = exp.If(this=present, true=value)
        if measure.missing is Missing.LEFT_OUT:
            return exp.Case(ifs=[known])
        return exp.Case(ifs=[known], default=exp.Boolean(this=measure.missing is Missing.TRUE))


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
