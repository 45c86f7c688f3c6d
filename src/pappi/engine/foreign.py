"""Events in somebody else's database: what is asked of it, and what is done here.

Of a query, the database where the events are gets what touches events, and gives back one row
per case. Formulas over cases, and working time between two instants of a case, are computed here,
by DuckDB, for all engines alike. So only a small subset of SQL has to mean the same everywhere.

That subset is built once, from the kinds of nodes listed here and no others. Most of them mean
the same in every database. The rest are written anew for each, by hand (`Dialect`): translating
them automatically gives answers that differ in silence. What is not listed is refused, so that a
kind of node nobody has thought about never reaches a database.

No name of a log, an attribute or a measure goes out: columns are numbered. Only what the owner
declared the source's own columns and table to be called does, quoted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import duckdb
import pyarrow as pa
from sqlglot import exp

from pappi.engine.bases import ORDER
from pappi.engine.duck import Duck
from pappi.engine.expressions import TOTAL, alias, column_named, table_named
from pappi.engine.query import written
from pappi.engine.sources import (
    ColumnReader,
    SourceEngine,
    canonical_events,
    explained,
    gathered_in,
    in_memory,
    order_by_case,
    read_columns,
    require_declared,
)
from pappi.engine.times import Calendars, Days
from pappi.store import Form, SourceRead

T = TypeVar("T")
TRUTH = "truth"
"""Marks a column of truth values: of a column alone, nothing else tells."""

_ALIKE: tuple[type[exp.Expr], ...] = (
    *(exp.Select, exp.Subquery, exp.From, exp.Join, exp.Where, exp.Group, exp.Star),
    *(exp.Table, exp.TableAlias, exp.Column, exp.Identifier, exp.Alias, exp.Paren, exp.Tuple),
    *(exp.Boolean, exp.Null, exp.And, exp.Or, exp.Not, exp.Is, exp.Case, exp.If),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Coalesce),
    *(exp.Min, exp.Max, exp.Sum, exp.Count, exp.Least, exp.Greatest),
    *(exp.Window, exp.WindowSpec, exp.Lag, exp.Lead, exp.Order, exp.Ordered),
    *(exp.Abs, exp.Neg, exp.Floor, exp.DataType, exp.Limit),
)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_DOUBLE, _BIGINT, _TEXT = exp.DType.DOUBLE, exp.DType.BIGINT, exp.DType.VARCHAR


class Remote(Protocol):
    """A session of the database that has the events."""

    @property
    def dialect(self) -> Dialect: ...

    def arrow(self, sql: str) -> pa.Table: ...

    def add_days(self, days: Days) -> None:
        """Make a calendar's days known, if that is to be done before they are read."""

    def forms_now(
        self, table: tuple[str, ...], columns: Iterable[str]
    ) -> Mapping[str, Form | None]:
        """How columns are written at present; None, or nothing, for one that cannot be read."""


class Foreign(SourceEngine):
    """A source, opened, as an engine. Its queries read one table of events, whatever its name."""

    def __init__(self, remote: Remote, reading: SourceRead, calendars: Calendars) -> None:
        self._remote = remote
        self._reading = reading
        self._calendars = calendars
        source = reading.source
        require_declared(source, remote.forms_now(source.table, read_columns(source)))
        for days in calendars.values():
            remote.add_days(days)

    @contextmanager
    def _prepared(self, query: exp.Expr) -> Iterator[Duck]:
        """Where a query can be finished: what it asks of events has been answered."""
        with explained(), closing(_connection(self._reading.scratch)) as connection:
            for number, part in enumerate(list(gathered_in(query))):
                name = f"part {number}"
                part.replace(exp.select(exp.Star(), copy=False).from_(table_named(name)))
                names = [column.alias_or_name for column in part.selects]
                order_by_case(part)
                rows = self._remote.arrow(self._written(part)).rename_columns(names)
                connection.register(name, rows.sort_by(ORDER) if ORDER in names else rows)
            yield Duck(connection, self._calendars)

    def _written(self, part: exp.Select) -> str:
        dialect, numbers = self._remote.dialect, _Numbers()
        calendars = {days.name: days for days in self._calendars.values()}
        tables = list(part.find_all(exp.Table))
        attributes = self._reading.source.attributes.items()
        truths = {name for name, column in attributes if column.form is Form.TRUTH}
        for column in part.find_all(exp.Column):
            if column.name in truths:
                column.meta[TRUTH] = True
        numbers.rename(part)
        written_for(dialect, part)
        for table in (table for table in tables if table.name not in calendars):
            table.replace(self._events(numbers).subquery("source", copy=False))
        for name in sorted({table.name for table in tables} & calendars.keys()):
            # Once for a query, however often it looks at the days: they are many.
            rows = _days(dialect, calendars[name], numbers)
            part.with_(exp.to_identifier(name, quoted=True), rows, copy=False)
        return written(part, dialect.name)

    def _events(self, numbers: _Numbers) -> exp.Select:
        dialect = self._remote.dialect
        table = dialect.table(self._reading.source.table)
        return canonical_events(self._reading, table, dialect.columns, numbers)


def _connection(scratch: Path | None) -> duckdb.DuckDBPyConnection:
    connection = in_memory(scratch)
    connection.execute("SET enable_external_access = FALSE")  # after it knows that folder
    return connection


class _Numbers:
    """Names that carry nothing: every column and every alias of a query gets a number."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        return self._known.setdefault(name, f"n{len(self._known)}")

    def rename(self, query: exp.Expr) -> None:
        """All but the names of tables, which are about to be replaced."""
        for identifier in list(query.find_all(exp.Identifier)):
            if not isinstance(identifier.parent, exp.Table):
                identifier.replace(exp.to_identifier(self(identifier.this), quoted=True))


def _days(dialect: Dialect, days: Days, numbers: _Numbers) -> exp.Select:
    names: Mapping[str, str] = {name: numbers(name) for name in days.arrow().column_names}
    renamed = (alias(column_named(name), number) for name, number in names.items())
    return exp.select(*renamed, copy=False).from_(dialect.days(days), copy=False)


# --- dialects ------------------------------------------------------------------------


class Dialect(Protocol):
    """How one database says what others say differently; operands are used up."""

    @property
    def name(self) -> str:
        """What sqlglot calls it: for quoting, keywords and the spelling of types."""

    @property
    def columns(self) -> ColumnReader:
        """How it reads the columns of a source."""

    def table(self, names: tuple[str, ...]) -> exp.Table:
        """A table of the source, as the owner declared it to be called."""

    def text(self, value: str) -> exp.Expr:
        """A literal text."""

    def double(self, written: str) -> exp.Expr:
        """A literal double, from its shortest decimal."""

    def picked(self, value: exp.Expr, key: exp.Expr, *, last: bool) -> exp.Expr:
        """The value of a group at its greatest or least key, which is a position.

        A row without a key or a value is passed over. The value is a double, a text or a truth.
        """

    def median(self, value: exp.Expr) -> exp.Expr:
        """The middle of a group, or the mean of the two in the middle."""

    def rounded(self, value: exp.Expr) -> exp.Expr:
        """To a whole number, halves away from zero."""

    def unless_zero(self, value: exp.Expr) -> exp.Expr:
        """A divisor; NULL if it is zero, whatever its sign."""

    def total(self, operation: exp.Binary) -> exp.Expr:
        """Arithmetic of doubles that overflows into infinity and underflows into zero."""

    def among(self, node: exp.In) -> exp.Expr:
        """Whether a value is one of some literals."""

    def days(self, days: Days) -> exp.Expr:
        """A calendar's days, as something to select from, with its columns' own names."""


def written_for(dialect: Dialect, query: exp.Expr) -> exp.Expr:
    """The query with everything said as this database says it; the tree is used up."""
    # From the leaves up, so that whatever is built of operands finds them done.
    for node in reversed(list(query.walk())):
        # Asked beforehand: what is said may have the node itself as an operand.
        parent, key, index = node.parent, node.arg_key, node.index
        ours = _said(dialect, node)
        if ours is not node and parent is not None and key is not None:
            parent.set(key, ours, index)
    return query


def is_truth(value: exp.Expr) -> bool:
    """Whether a value that can be picked, and is no double, is a truth: or else it is a text."""
    return bool(value.meta.get(TRUTH)) if isinstance(value, exp.Column) else True


def _said(dialect: Dialect, node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Literal):
        return dialect.text(node.this) if node.is_string else node
    if isinstance(node, exp.Cast):
        operand = node.this
        if not any(node.to.is_type(kind) for kind in (_DOUBLE, _BIGINT, _TEXT)):
            raise AssertionError(f"no engine but DuckDB is known to cast to {node.to.sql()}")
        if node.to.is_type(_DOUBLE) and isinstance(operand, exp.Literal):
            return dialect.double(operand.this)
        if node.to.is_type(_DOUBLE) and isinstance(operand, exp.Neg) and operand.this.is_number:
            return dialect.double(f"-{operand.this.this}")
        return node
    if isinstance(node, _ARITHMETIC):
        return dialect.total(node) if node.meta.get(TOTAL) else node
    if isinstance(node, exp.In):
        return dialect.among(node)
    build = _BUILT.get(type(node))
    if build is not None:
        return build(dialect, node)
    if isinstance(node, _ALIKE):
        return node
    raise AssertionError(f"no engine but DuckDB is known to understand {type(node).__name__}")


_BUILT: dict[type[exp.Expr], Callable[[Dialect, exp.Expr], exp.Expr]] = {
    exp.ArgMax: lambda d, node: d.picked(node.this, node.expression, last=True),
    exp.ArgMin: lambda d, node: d.picked(node.this, node.expression, last=False),
    exp.Median: lambda d, node: d.median(node.this),
    exp.Round: lambda d, node: d.rounded(node.this),
    exp.Nullif: lambda d, node: d.unless_zero(node.this),
}
