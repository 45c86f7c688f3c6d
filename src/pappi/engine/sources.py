"""A source's own table, seen as the events every query expects, and what goes wrong with it.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard, TypeVar
from urllib.parse import quote

import duckdb
import sqlglot
from sqlglot import exp

from pappi.engine.bases import ORDER
from pappi.engine.duck import Duck
from pappi.engine.expressions import CASE_ID, POSITION, TIME, alias, column_named, present, when
from pappi.engine.occurrences import Source
from pappi.engine.query import CaseQuery, Engine
from pappi.engine.table import Column
from pappi.errors import PappiError, UsageError, WorkspaceError
from pappi.store import EventSource, Form, MappedColumn, SourceRead

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
_TIMES = frozenset({Form.INSTANT, Form.WALL_CLOCK, Form.DAY, Form.MICROSECONDS})
# As what a column may be written for what was declared; for the rest, as exactly that.
_WRITTEN: Mapping[Form, frozenset[Form]] = {
    Form.TEXT: frozenset(Form),  # whatever it is, it has a text
    Form.MICROSECONDS: frozenset({Form.WHOLE}),
    Form.SECONDS: frozenset({Form.WHOLE, Form.FLOAT, Form.DECIMAL}),
}

Named = Callable[[str], str]
"""What a column is called in the query that reads it."""
T = TypeVar("T")


# --- columns of a source -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ColumnReader:
    """How a database reads the columns of a source: a template of its SQL for each form."""

    dialect: str
    templates: Mapping[Form, str]

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


def require_declared(source: EventSource, forms: Mapping[str, Form | None]) -> None:
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


# --- a database's own SQL ------------------------------------------------------------


def filled(template: str, dialect: str, **operands: exp.Expr) -> exp.Expr:
    """The template with an operand wherever it says `:name`; each may stand in several places.

    Operands are used up: copied at every level, they would cost the square of a formula's depth.

    >>> filled("COALESCE(:x, 0)", "postgres", x=exp.column("a", quoted=True)).sql("postgres")
    'COALESCE("a", 0)'
    """
    tree = exp.Paren(this=_read(template, dialect).copy())
    used: set[str] = set()
    for place in list(tree.find_all(exp.Placeholder)):
        operand = operands[place.name]
        place.replace(operand.copy() if place.name in used else operand)
        used.add(place.name)
    sql: exp.Expr = tree.this
    return sql.pop()


@cache
def _read(template: str, dialect: str) -> exp.Expr:
    return sqlglot.parse_one(template, read=dialect)


# --- a database of our own -------------------------------------------------------------


class SourceEngine(ABC):
    """The engine of events that are not ours: a query is answered by a `Duck`, prepared for it."""

    @abstractmethod
    def _prepared(self, query: exp.Expr) -> AbstractContextManager[Duck]:
        """What answers a query, once its events are at hand there; the tree may be changed."""

    def cases(self, query: CaseQuery, source: Source) -> dict[str, Column]:
        return self.columns(query.select(source))

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
