"""Parquet files read in place, by DuckDB: nothing is copied, and nothing written beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb
from sqlglot import exp

from pappi.engine.bases import Calendars
from pappi.engine.duck import Duck
from pappi.engine.expressions import column_named, filled
from pappi.engine.foreign import (
    ColumnReader,
    SourceEngine,
    canonical_events,
    explained,
    gathered_in,
    in_memory,
    order_by_case,
    require_declared,
)
from pappi.store import ColumnForm, SourceRead, System

T = TypeVar("T")

_FILE, _ROW = "pappi file", "file_row_number"

_FORMS: Mapping[str, ColumnForm] = {
    **dict.fromkeys(("VARCHAR", "UUID"), ColumnForm.TEXT),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), ColumnForm.WHOLE),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER"), ColumnForm.WHOLE),
    **dict.fromkeys(("FLOAT", "DOUBLE"), ColumnForm.FLOAT),
    "DECIMAL": ColumnForm.DECIMAL,
    "BOOLEAN": ColumnForm.TRUTH,
    "TIMESTAMP WITH TIME ZONE": ColumnForm.INSTANT,
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S"), ColumnForm.WALL_CLOCK
    ),
    "DATE": ColumnForm.DAY,
}
# A file may come after the columns were looked at: what is of another type there is no error.
_FINITE = "CASE WHEN ISFINITE(:x) THEN {0} END"
_READ: Mapping[ColumnForm, str] = {
    ColumnForm.TEXT: "CAST(:x AS VARCHAR)",
    ColumnForm.WHOLE: "TRY_CAST(:x AS BIGINT)",
    ColumnForm.FLOAT: "TRY_CAST(:x AS DOUBLE)",
    ColumnForm.DECIMAL: "TRY_CAST(:x AS DOUBLE)",
    ColumnForm.TRUTH: "TRY_CAST(:x AS BOOLEAN)",
    ColumnForm.INSTANT: _FINITE.format("EPOCH_US(:x)"),
    # Nanoseconds are cut, as by an import; by itself, EPOCH_US would round them.
    ColumnForm.WALL_CLOCK: _FINITE.format(
        "CASE WHEN TYPEOF(:x) = 'TIMESTAMP_NS' THEN EPOCH_NS(:x) // 1000 ELSE EPOCH_US(:x) END"
    ),
    ColumnForm.DAY: (
        "CASE WHEN :x BETWEEN CAST('1800-01-01' AS DATE) AND CAST('2200-01-01' AS DATE)"
        " THEN EPOCH_US(:x) END"
    ),
    ColumnForm.MICROSECONDS: "TRY_CAST(:x AS BIGINT)",
    ColumnForm.SECONDS: (
        "CASE WHEN ABS(TRY_CAST(:x AS DOUBLE)) <= 1e11"
        " THEN FLOOR(TRY_CAST(:x AS DOUBLE) * CAST(1e6 AS DOUBLE) + CAST(0.5 AS DOUBLE)) END"
    ),
}


class Parquet(SourceEngine):
    """The files of a source as an engine; their rows are in an order that ties keep to."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, reading: SourceRead, calendars: Calendars
    ) -> None:
        self._duck = Duck(connection, calendars)
        self._reading = reading
        self._calendars = {days.name for days in calendars.values()}

    @contextmanager
    def _prepared(self, query: exp.Expr) -> Iterator[Duck]:
        with explained():
            for part in gathered_in(query):
                order_by_case(part)
            for table in list(query.find_all(exp.Table)):
                if table.name not in self._calendars:
                    table.replace(self._events().subquery("source", copy=False))
            yield self._duck

    def _events(self) -> exp.Select:
        files = _files(self._reading.source.url)
        ties = (column_named(_FILE), column_named(_ROW))
        return canonical_events(self._reading, files, ColumnReader("duckdb", _READ), str, ties)


@contextmanager
def opened(reading: SourceRead, calendars: Calendars) -> Iterator[Parquet]:
    with closing(_connection(reading.scratch)) as connection:
        require_declared(reading.source, _forms(connection, reading.source.url))
        yield Parquet(connection, reading, calendars)


def forms(url: str, _table: tuple[str, ...], _password: str | None) -> dict[str, ColumnForm | None]:
    """The columns of the files and how they are written; None for one that cannot be read."""
    with closing(_connection()) as connection:
        return _forms(connection, url)


def _forms(connection: duckdb.DuckDBPyConnection, source: str) -> dict[str, ColumnForm | None]:
    """Of all files together: a column that is a number here and a text there is a text."""
    query = exp.select(exp.Star()).from_(_files(source)).sql("duckdb")
    with explained():
        rows = connection.execute(f"DESCRIBE {query}").fetchall()
    return {name: _FORMS.get(kind.partition("(")[0]) for name, kind, *_ in rows if name != _FILE}


def _connection(scratch: Path | None = None) -> duckdb.DuckDBPyConnection:
    return in_memory(scratch, TimeZone="UTC", autoinstall_known_extensions="false")


def _files(url: str) -> exp.Expr:
    """What to select from: the files, each row with its file and its number there.

    Columns are those of the files, and not of the names of their folders.
    """
    place = exp.Literal.string(url.removeprefix(f"{System.PARQUET}:"))
    template = (
        "SELECT * FROM READ_PARQUET(:place, filename = :file, file_row_number = TRUE,"
        " union_by_name = TRUE, hive_partitioning = FALSE)"
    )
    read = filled(template, "duckdb", place=place, file=exp.Literal.string(_FILE))
    return exp.Subquery(this=read, alias=exp.TableAlias(this=exp.to_identifier("files")))
