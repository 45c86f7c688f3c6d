"""Events in somebody else's database: what is asked of it, and what is done here.

Of a query, the database where the events are gets what touches events, and gives back one row
per case. Formulas over cases, and working time between two instants of a case, are computed here,
by DuckDB, for all engines alike. So only a small subset of SQL has to mean the same everywhere.

No name of a log, an attribute or a measure goes out: columns are numbered. Only what the owner
declared the source's own columns and table to be called does, quoted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import duckdb
import pyarrow as pa
from sqlglot import exp

from pappi.engine.bases import ORDER
from pappi.engine.canonical import (
    canonical_events,
    gathered_in,
    order_by_case,
    read_columns,
    require_declared,
)
from pappi.engine.dialects import TRUTH, Dialect, written_for
from pappi.engine.duck import Duck
from pappi.engine.failures import explained
from pappi.engine.nodes import alias, column_named, table_named
from pappi.engine.query import Asked
from pappi.engine.sources import Source
from pappi.engine.table import Column
from pappi.engine.working import Calendars, Days
from pappi.store.sources import Form, SourceRead

if TYPE_CHECKING:
    from pappi.engine.engines import Engine

T = TypeVar("T")

_DEPTH = 10_000
# Several queries run at once.
_MEMORY = "20%"


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


class Foreign:
    """A source, opened, as an engine. Its queries read one table of events, whatever its name."""

    def __init__(self, remote: Remote, reading: SourceRead, calendars: Calendars) -> None:
        self._remote = remote
        self._reading = reading
        self._calendars = calendars
        source = reading.source
        require_declared(source, remote.forms_now(source.table, read_columns(source)))
        for days in calendars.values():
            remote.add_days(days)

    def cases(self, asked: Asked, source: Source) -> dict[str, Column]:
        return self.columns(asked.query(source))

    def columns(self, query: exp.Expr) -> dict[str, Column]:
        with self._finished(query) as duck:
            return duck.columns(query)

    def row(self, query: exp.Expr) -> tuple[Any, ...]:
        with self._finished(query) as duck:
            return duck.row(query)

    def each_range(self, table: str, read: Callable[[Engine, Source], T]) -> Iterator[T]:
        """The log is read as a whole: the database has its own ways to divide it."""
        yield read(self, Source(table))

    @contextmanager
    def _finished(self, query: exp.Expr) -> Iterator[Duck]:
        """Where a query can be finished: what it asks of events has been answered."""
        with explained(), closing(_connection(self._reading.scratch)) as connection:
            for number, part in enumerate(list(gathered_in(query))):
                name = f"part {number}"
                part.replace(exp.select(exp.Star(), copy=False).from_(table_named(name)))
                connection.register(name, self._answered(part))
            yield Duck(connection, self._calendars)

    def _answered(self, part: exp.Select) -> pa.Table:
        """What a part of a query gives, from the database that has the events."""
        names = [each.alias_or_name for each in part.selects]
        order_by_case(part)
        found = self._remote.arrow(self._written(part)).rename_columns(names)
        return found.sort_by(ORDER) if ORDER in names else found

    def _written(self, part: exp.Select) -> str:
        dialect, numbers = self._remote.dialect, _Numbers()
        calendars = {each.name: each for each in self._calendars.values()}
        tables = list(part.find_all(exp.Table))
        self._mark_truths(part)
        numbers.rename(part)
        written_for(dialect, part)
        for table in (each for each in tables if each.name not in calendars):
            table.replace(self._events(numbers).subquery("source", copy=False))
        for name in sorted({table.name for table in tables} & calendars.keys()):
            # Once for a query, however often it looks at the days: they are many.
            rows = _days(dialect, calendars[name], numbers)
            part.with_(exp.to_identifier(name, quoted=True), rows, copy=False)
        # Raised for good: set back, it could fail another thread in the middle of a deep query.
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEPTH))
        return part.sql(dialect=dialect.name, copy=False)

    def _mark_truths(self, part: exp.Select) -> None:
        attributes = self._reading.source.attributes.items()
        truths = {name for name, column in attributes if column.form is Form.TRUTH}
        for column in part.find_all(exp.Column):
            if column.name in truths:
                column.meta[TRUTH] = True

    def _events(self, numbers: _Numbers) -> exp.Select:
        dialect = self._remote.dialect
        table = dialect.table(self._reading.source.table)
        return canonical_events(self._reading, table, dialect, numbers)


def _connection(scratch: Path | None) -> duckdb.DuckDBPyConnection:
    """What does not fit in memory is put aside in the workspace, or nowhere."""
    aside = str(scratch or "")
    connection = duckdb.connect(config={"temp_directory": aside, "memory_limit": _MEMORY})
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
        for each in list(query.find_all(exp.Identifier)):
            if not isinstance(each.parent, exp.Table):
                each.replace(exp.to_identifier(self(each.this), quoted=True))


def _days(dialect: Dialect, days: Days, numbers: _Numbers) -> exp.Select:
    names: Mapping[str, str] = {name: numbers(name) for name in days.arrow().column_names}
    renamed = (alias(column_named(name), number) for name, number in names.items())
    return exp.select(*renamed, copy=False).from_(dialect.days(days), copy=False)
