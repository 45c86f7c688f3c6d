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

A source's own table is seen as the events every query expects:

    case_id text, ts_us BIGINT, activity text, attributes…, pos BIGINT

`pos` numbers the events of a case: by time, those without one last; then by the declared order;
and then by everything else that is declared, so that events which still tie are alike in all a
query can ask, and the same question has the same answer whenever it is asked.

Every driver has errors of its own, which may quote data: `explained` makes one of all. And a
source may never answer. A server that is frozen keeps its connection alive, so no setting of a
driver ends the wait: only a clock on this side does (`answered`).
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeGuard, TypeVar
from urllib.parse import quote

import duckdb
import pyarrow as pa
from sqlglot import exp

from pappi.engine.bases import ORDER, Calendars, Days
from pappi.engine.duck import Duck
from pappi.engine.expressions import (
    CASE_ID,
    POSITION,
    TIME,
    TOTAL,
    Source,
    alias,
    column_named,
    filled,
    present,
    table_named,
    when,
)
from pappi.engine.query import CaseQuery, Engine, written
from pappi.engine.table import Column, Scan
from pappi.errors import PappiError, UsageError, WorkspaceError
from pappi.store import ColumnForm, EventSource, MappedColumn, SourceRead

# Beyond the years 1800 to 2200 a time is a mistake, and microseconds do not fit a double exactly.
EARLIEST_US, LATEST_US = -5_364_662_400_000_000, 7_258_118_400_000_000
GRACE_SECONDS = 30
"""How much longer than its own limit a server may take to say that it gave up."""
OPENING_SECONDS = 60
"""How long it may take to begin a session."""

# Several queries run at once.
_MEMORY = "20%"
_ACTIVITY = "activity"
_GATHERED = ([CASE_ID], [_ACTIVITY])
_TIMES = frozenset(
    {ColumnForm.INSTANT, ColumnForm.WALL_CLOCK, ColumnForm.DAY, ColumnForm.MICROSECONDS}
)
# As what a column may be written for what was declared; for the rest, as exactly that.
_WRITTEN: Mapping[ColumnForm, frozenset[ColumnForm]] = {
    ColumnForm.TEXT: frozenset(ColumnForm),  # whatever it is, it has a text
    ColumnForm.MICROSECONDS: frozenset({ColumnForm.WHOLE}),
    ColumnForm.SECONDS: frozenset({ColumnForm.WHOLE, ColumnForm.FLOAT, ColumnForm.DECIMAL}),
}

Named = Callable[[str], str]
"""What a column is called in the query that reads it."""
T = TypeVar("T")


# --- columns of a source -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ColumnReader:
    """How a database reads the columns of a source: a template of its SQL for each form."""

    dialect: str
    templates: Mapping[ColumnForm, str]

    def read(self, column: MappedColumn) -> exp.Expr:
        """A column as text, BIGINT of UTC microseconds, DOUBLE or truth value."""
        value = filled(self.templates[column.form], self.dialect, x=column_named(column.column))
        if column.form not in _TIMES:
            return value
        known = exp.And(
            this=exp.GTE(this=value, expression=exp.Literal.number(EARLIEST_US)),
            expression=exp.LT(this=value.copy(), expression=exp.Literal.number(LATEST_US)),
        )
        return when(known, value.copy())


def read_columns(source: EventSource) -> list[str]:
    """The source's own names of what is read of it."""
    return list(dict.fromkeys(column.column for column in _mapped(source)))


def require_declared(source: EventSource, forms: Mapping[str, ColumnForm | None]) -> None:
    """Refuse a source whose columns have changed: read as what they were, they may fail.

    And that would depend on what is in them.
    """
    wrong = [
        column.column
        for column in _mapped(source)
        if forms.get(column.column) not in _WRITTEN.get(column.form, {column.form})
    ]
    if wrong:
        raise WorkspaceError(
            "the columns of this log's source no longer have the declared types",
            hint="restore their types, or add the log again under another name",
            detail=f"changed: {', '.join(wrong)}",
        )


def _mapped(source: EventSource) -> list[MappedColumn]:
    order = () if source.order is None else (source.order,)
    return [source.case, source.activity, source.time, *order, *source.attributes.values()]


# --- its events ----------------------------------------------------------------------


def canonical_events(
    reading: SourceRead,
    table: exp.Expr,
    reader: ColumnReader,
    named: Named,
    ties: Sequence[exp.Expr] = (),
) -> exp.Select:
    """The events of a source, out of a table expression; columns are called as `named` says.

    `ties` are columns of the table that say more about the order of events than is declared.
    """
    source = reading.source
    columns = {
        CASE_ID: reader.read(source.case),
        TIME.name: reader.read(source.time),
        _ACTIVITY: reader.read(source.activity),
        **{name: reader.read(column) for name, column in source.attributes.items()},
    }
    order = [] if source.order is None else [reader.read(source.order)]
    kept = [alias(value, named(name)) for name, value in columns.items()]
    tied = [alias(value, _tie(source, number)) for number, value in enumerate((*order, *ties))]
    read = exp.select(*kept, *tied, copy=False).from_(table, copy=False)
    read = read.where(present(reader.read(source.case)), copy=False)
    keys = [named(TIME.name), *(tie.alias for tie in tied), *map(named, (*columns,)[2:])]
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column_named(named(CASE_ID))],
        order=exp.Order(expressions=[term for key in keys for term in _in_order(key)]),
    )
    events = exp.select(
        *(column_named(named(name)) for name in columns),
        alias(number, named(POSITION.name)),
        copy=False,
    ).from_(read.subquery("mapped", copy=False), copy=False)
    return events if reading.before_us is None else events.where(_before(reading.before_us, named))


def _tie(source: EventSource, number: int) -> str:
    """Called as no attribute is, in whatever case."""
    longest = max(map(len, source.attributes), default=0)
    return f"tie_{number}".ljust(longest + 1, "_")


def _in_order(key: str) -> Iterator[exp.Expr]:
    """What is missing comes last, in every database."""
    missing = exp.Is(this=column_named(key), expression=exp.null())
    one, zero = exp.Literal.number(1), exp.Literal.number(0)
    last = exp.Case(ifs=[exp.If(this=missing, true=one)], default=zero)
    yield exp.Ordered(this=last, nulls_first=False)
    yield exp.Ordered(this=column_named(key), nulls_first=False)


def _before(instant: int, named: Named) -> exp.Expr:
    time = column_named(named(TIME.name))
    earlier = exp.LT(this=time, expression=exp.Literal.number(instant))
    return exp.Or(this=exp.Is(this=time.copy(), expression=exp.null()), expression=earlier)


# --- what a query asks of events -----------------------------------------------------


def gathered_in(query: exp.Expr) -> Iterator[exp.Select]:
    """The parts of a query that make something fewer out of events: cases, or activities."""
    for node in query.walk(prune=_gathers):
        if _gathers(node):
            yield node


def _gathers(node: exp.Expr) -> TypeGuard[exp.Select]:
    group = node.args.get("group")
    return group is not None and [key.name for key in group.expressions] in _GATHERED


def order_by_case(part: exp.Select) -> None:
    """Put a case's id for its place in the log: positions here count within a case only.

    So of a log that stays where it is, cases are in the order of their ids.
    """
    for column in part.selects:
        if column.alias == ORDER:
            column.set("this", column_named(CASE_ID))


# --- a database of our own -------------------------------------------------------------


class SourceEngine(ABC):
    """The engine of events that are not ours: a query is answered by a `Duck`, prepared for it."""

    @abstractmethod
    def _prepared(self, query: exp.Expr) -> AbstractContextManager[Duck]:
        """What answers a query, once its events are at hand there; the tree may be changed."""

    def cases(self, query: CaseQuery, source: Source) -> Scan:
        return {**self.columns(query.select(source))}

    def columns(self, query: exp.Expr) -> dict[str, Column]:
        with self._prepared(query) as duck:
            return duck.columns(query)

    def row(self, query: exp.Expr) -> tuple[Any, ...]:
        with self._prepared(query) as duck:
            return duck.row(query)

    def each_range(self, table: str, read: Callable[[Engine, Source], T]) -> Iterator[T]:
        """The log is read as a whole: the database has its own ways to divide it."""
        yield read(self, Source(table))


def in_memory(scratch: Path | None = None, **config: str) -> duckdb.DuckDBPyConnection:
    """What does not fit in memory is put aside in the workspace, or nowhere."""
    ours = {"temp_directory": str(scratch or ""), "memory_limit": _MEMORY}
    return duckdb.connect(config={**ours, **config})


# --- failures ------------------------------------------------------------------------


@contextmanager
def explained(extra: str = "", secret: str | None = None) -> Iterator[None]:
    """One sentence, whatever a driver says; what it says is the owner's alone.

    `extra` is what the package calls the driver where it may be missing; the `secret` is nobody's.
    """
    try:
        yield
    except PappiError:
        raise
    except ImportError as error:
        raise UsageError(
            "the driver for this log's source is not installed",
            hint=f"pip install 'pappi[{extra}]'",
            detail=str(error),
        ) from None
    except Exception as error:  # noqa: BLE001 - see above
        text = f"{type(error).__name__}: {error}"
        for written in {secret, quote(secret, safe="")} if secret else ():
            text = text.replace(written, "…")
        raise WorkspaceError(
            "the source of this log cannot be read",
            hint="check its address, the password, and what its user may read",
            detail=text,
        ) from None


def answered(ask: Callable[[], T], seconds: float, leave: Callable[[Future[T]], None]) -> T:
    """What a driver gives, if it does within so many seconds.

    It is asked in a thread of its own. When time is up, or we are interrupted, that is left where
    it is: nothing can end it from outside. `leave` is told what it is that may still come.
    """
    answer: Future[T] = Future()
    threading.Thread(target=_fill, args=(answer, ask), daemon=True).start()
    try:
        return answer.result(seconds)
    finally:
        if not answer.done():
            leave(answer)


def _fill(answer: Future[T], ask: Callable[[], T]) -> None:
    try:
        answer.set_result(ask())
    except BaseException as error:  # noqa: BLE001 - it is raised where it was asked
        answer.set_exception(error)


# --- what other databases are asked -------------------------------------------------------


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
    ) -> Mapping[str, ColumnForm | None]:
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
        truths = {name for name, column in attributes if column.form is ColumnForm.TRUTH}
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
