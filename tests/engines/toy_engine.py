"""An engine by the recipe in CONTRIBUTING.md: a database whose tables live in this process.

It is DuckDB under another name, and told so only what any other database is told: the closed list
of nodes, with what databases say differently in a `Dialect` of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import duckdb
import pyarrow as pa
from sqlglot import exp

from pappi.engine.bases import Calendars, Days
from pappi.engine.expressions import as_double, source_table, table_named
from pappi.engine.foreign import ColumnReader, Foreign, explained, in_memory
from pappi.store import ColumnForm, SourceRead

SYSTEM = "toy"
TABLES: dict[str, pa.Table] = {}
"""What the database holds, by the names of its tables."""

_FORMS: Mapping[str, ColumnForm] = {
    "VARCHAR": ColumnForm.TEXT,
    "BIGINT": ColumnForm.WHOLE,
    "DOUBLE": ColumnForm.FLOAT,
    "BOOLEAN": ColumnForm.TRUTH,
    "TIMESTAMP WITH TIME ZONE": ColumnForm.INSTANT,
}
_READ: Mapping[ColumnForm, str] = {
    **dict.fromkeys((ColumnForm.TEXT, ColumnForm.WHOLE, ColumnForm.TRUTH), ":x"),
    ColumnForm.FLOAT: ":x + CAST(0 AS DOUBLE)",  # a zero has no sign
    ColumnForm.INSTANT: "EPOCH_US(:x)",
}


class Toy:
    """How it says what others say differently (`foreign.Dialect`)."""

    name: Final = "duckdb"
    columns: Final = ColumnReader(name, _READ)

    def table(self, names: tuple[str, ...]) -> exp.Table:
        return source_table(names)

    def text(self, value: str) -> exp.Expr:
        return exp.Literal.string(value)

    def double(self, written: str) -> exp.Expr:
        return exp.Paren(this=as_double(exp.Literal.number(written)))

    def picked(self, value: exp.Expr, key: exp.Expr, *, last: bool) -> exp.Expr:
        return exp.Anonymous(this="ARG_MAX" if last else "ARG_MIN", expressions=[value, key])

    def median(self, value: exp.Expr) -> exp.Expr:
        return exp.Median(this=value)

    def rounded(self, value: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="ROUND", expressions=[value])

    def unless_zero(self, value: exp.Expr) -> exp.Expr:
        return exp.Nullif(this=value, expression=self.double("0"))

    def total(self, operation: exp.Binary) -> exp.Expr:
        return operation

    def among(self, node: exp.In) -> exp.Expr:
        return node

    def days(self, days: Days) -> exp.Expr:
        return table_named(days.name)


class ToyRemote:
    """A session of the database (`foreign.Remote`)."""

    dialect: Final = Toy()

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        for name, table in TABLES.items():
            connection.register(name, table)

    def arrow(self, sql: str) -> pa.Table:
        return self._connection.sql(sql).to_arrow_table()

    def add_days(self, days: Days) -> None:
        self._connection.register(days.name, days.arrow())

    def forms(self, table: tuple[str, ...]) -> dict[str, ColumnForm | None]:
        query = exp.select(exp.Star()).from_(self.dialect.table(table)).sql(Toy.name)
        rows = self._connection.execute(f"DESCRIBE {query}").fetchall()
        return {name: _FORMS.get(kind) for name, kind, *_ in rows}

    def forms_now(
        self, table: tuple[str, ...], columns: Iterable[str]
    ) -> Mapping[str, ColumnForm | None]:
        now = self.forms(table)
        return {name: now.get(name) for name in columns}


@contextmanager
def opened(reading: SourceRead, calendars: Calendars) -> Iterator[Foreign]:
    with explained(), in_memory() as connection:
        yield Foreign(ToyRemote(connection), reading, calendars)


def forms(_url: str, table: tuple[str, ...], _password: str | None) -> dict[str, ColumnForm | None]:
    with explained(), in_memory() as connection:
        return ToyRemote(connection).forms(table)
