"""Event tables that an earlier version wrote, brought to the canonical columns."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

from pappi.errors import WorkspaceError
from pappi.store.events.names import CANONICAL, FIRST_POSITION, POSITION, STORED
from pappi.store.events.sql import attach, column, detach, table

_FILE = "upgraded"
_FILLED = "pappi_filled"
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE database_name = $1"
_VIEWS = "SELECT view_name, sql FROM duckdb_views() WHERE database_name = $1 AND NOT internal"
_COLUMNS = """
SELECT column_name FROM duckdb_columns() WHERE database_name = $1 AND table_name = $2
ORDER BY column_index
"""


def lacks_first_positions(database: Path) -> bool:
    """Whether some event table was written before there was the column `first_pos`."""
    with closing(duckdb.connect()) as connection:
        connection.execute(f"{attach(str(database), _FILE)} (READ_ONLY)")
        return bool(_lacking(connection))


def add_first_positions(database: Path) -> None:
    """Give every event table of the file the column, and every view that unites tables.

    A case lies wholly in one table, and its positions follow on each other.
    """
    with closing(duckdb.connect()) as connection:
        connection.execute(attach(str(database), _FILE))
        connection.execute(f"USE {_FILE}")
        connection.begin()
        views = connection.execute(_VIEWS, [_FILE]).fetchall()
        for name, _ in views:
            connection.execute(f"DROP VIEW {table(name).sql('duckdb')}")
        for name in _lacking(connection):
            _fill(connection, name)
        for _, written in views:
            connection.execute(_with_first_position(written))
        connection.commit()
        connection.execute("USE memory")
        connection.execute(detach(_FILE))


def _lacking(connection: duckdb.DuckDBPyConnection) -> list[str]:
    tables = [name for (name,) in connection.execute(_TABLES, [_FILE]).fetchall()]
    found = [name for name in tables if not _has_first_positions(connection, name)]
    for name in found:
        attributes = _columns(connection, name)[len(CANONICAL) :]
        if FIRST_POSITION in map(str.casefold, attributes):
            raise WorkspaceError(
                f"a log has an attribute called {FIRST_POSITION}, which is now the name of a "
                "column of PaPPI's own",
                hint="nothing was changed; this workspace can be used with the version of pappi "
                "that wrote it",
            )
    return found


def _has_first_positions(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """By its values, too: an attribute may have had that name before."""
    if _columns(connection, name)[: len(STORED)] != STORED:
        return False
    said = exp.cast(column(FIRST_POSITION), "VARCHAR")
    first = exp.cast(_first_position(), "VARCHAR")
    pairs = exp.select(exp.alias_(said, "said"), exp.alias_(first, "first"))
    rows = pairs.from_(table(name, _FILE)).subquery("pairs")
    different = exp.select("1").from_(rows).where("said IS DISTINCT FROM first").limit(1)
    return not connection.execute(different.sql("duckdb")).fetchall()


def _columns(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[str, ...]:
    return tuple(c for (c,) in connection.execute(_COLUMNS, [_FILE, name]).fetchall())


def _first_position() -> exp.Window:
    return exp.Window(this=exp.Min(this=column(POSITION)), partition_by=[column(CANONICAL[0])])


def _fill(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    attributes = _columns(connection, name)[len(CANONICAL) :]
    rows = (
        exp.select(
            *map(column, CANONICAL),
            exp.alias_(_first_position(), FIRST_POSITION, quoted=True),
            *map(column, attributes),
        )
        .from_(table(name))
        .order_by(column(POSITION))
    )
    created = exp.Create(this=table(_FILLED), kind="TABLE", expression=rows)
    connection.execute(created.sql("duckdb"))
    connection.execute(f"DROP TABLE {table(name).sql('duckdb')}")
    renamed = f"ALTER TABLE {table(_FILLED).sql('duckdb')} RENAME TO {table(name).sql('duckdb')}"
    connection.execute(renamed)


def _with_first_position(view: str) -> str:
    """The same view, each of its SELECTs with the column behind the canonical ones."""
    written = sqlglot.parse_one(view, dialect="duckdb")
    for select in written.find_all(exp.Select):
        named = [one.name for one in select.expressions]
        if tuple(named[:5]) != STORED:
            select.expressions.insert(len(CANONICAL), column(FIRST_POSITION))
    return written.sql("duckdb")
