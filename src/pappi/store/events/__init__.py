"""Event logs in a workspace's DuckDB file: import, delete, open for reading.

Every change is all or nothing: it is made on a copy that takes the file's place at the
end (`replacing`), so an import that fails leaves the file exactly as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

import duckdb

from pappi.errors import WorkspaceError
from pappi.eventlog.log import Description, EventReader, Progress, no_progress
from pappi.eventlog.report import ImportReport, StoredColumn
from pappi.store.events.canonical import (
    Facts,
    copied_table,
    facts,
    is_in_order,
    order_table,
    sorted_table,
)
from pappi.store.events.names import CANONICAL, table_names
from pappi.store.events.replacing import open_file, staging, successor, swap_in
from pappi.store.events.spool import Spool
from pappi.store.events.sql import attach, detach, table

__all__ = ["CANONICAL", "drop_events", "event_tables", "import_events", "open_readonly"]

Accept: TypeAlias = Callable[[ImportReport], None]

_NEXT = "successor"
_COMPACT = "compact"


def _accept_all(report: ImportReport) -> None:
    """For callers that take any log."""


def import_events(
    database: Path,
    name: str,
    reader: EventReader,
    progress: Progress = no_progress,
    accept: Accept = _accept_all,
) -> ImportReport:
    """Reads a whole log into a new event table of the workspace's file.

    `accept` sees the report before the table takes its place; what it raises stops the import.
    Raises LogFormatError for a log that cannot be read, WorkspaceError if the table is
    there already or cannot be written; the file is then as it was, to the byte.
    """
    with changing(database) as folder:
        if name.casefold() in map(str.casefold, event_tables(database)):
            raise WorkspaceError(
                f"the workspace has a log called {name!r} already",
                hint="choose another name, or delete the old log first",
            )
        with closing(Spool(folder)) as spool:
            spool.fill(reader, progress)
            description = reader.description()
            new = successor(database, folder)
            report = _report(name, description, _store(spool, new, name, description))
        accept(report)
        swap_in(new, database)
    return report


def drop_events(database: Path, name: str) -> None:
    """Deletes an event table for good: the file is rewritten without its rows."""
    with changing(database) as folder:
        tables = event_tables(database)
        if name not in tables:
            raise WorkspaceError(
                f"the workspace has no log called {name!r}",
                hint=f"its logs are: {', '.join(tables) or 'none'}",
            )
        compact, spill = folder / "compact.duckdb", str(folder / "spill")
        with closing(duckdb.connect(config={"temp_directory": spill})) as connection:
            connection.execute(attach(str(successor(database, folder)), _NEXT))
            connection.execute(attach(str(compact), _COMPACT))
            connection.execute(f"DROP TABLE {table(name, _NEXT).sql('duckdb')}")
            connection.execute(f"COPY FROM DATABASE {_NEXT} TO {_COMPACT}")
            connection.execute(detach(_COMPACT))
        swap_in(compact, database)


def event_tables(database: Path) -> tuple[str, ...]:
    """The names of the logs in the file; none if there is no file yet."""
    if not database.exists():
        return ()
    with closing(open_readonly(database)) as connection:
        names = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1")
        return tuple(name for (name,) in names.fetchall())


def open_readonly(database: Path) -> duckdb.DuckDBPyConnection:
    """A connection that cannot change anything. Open one per piece of work, and close it:
    a connection that stays open goes on seeing the file as it was."""
    return open_file(database)


@contextmanager
def changing(database: Path) -> Iterator[Path]:
    """A folder to make the file's successor in, as `replacing.staging`; with the database's own
    failures explained."""
    try:
        with staging(database) as folder:
            yield folder
    except duckdb.Error as error:
        raise WorkspaceError(
            "the events file could not be changed",
            hint="check the free space on the disk; nothing was changed",
            detail=str(error),
        ) from error


def _store(spool: Spool, new: Path, name: str, description: Description) -> Facts:
    """Brings the spool into the successor, in order and at once, and counts what is there."""
    names = table_names(column.name for column in description.columns)
    fields = [column.field for column in description.columns]
    target = table(name, _NEXT)
    connection = spool.connection
    in_order = is_in_order(connection)
    if not in_order:
        connection.execute(order_table())
    connection.execute(attach(str(new), _NEXT))
    connection.begin()
    attributes = list(zip(fields, names, strict=True))
    if in_order:
        connection.execute(copied_table(target, attributes))
    else:
        spool.make_room_to_sort()
        connection.execute(sorted_table(target, attributes))
    found = facts(connection, target, names)
    connection.commit()
    connection.execute(detach(_NEXT))
    return found


def _report(name: str, description: Description, found: Facts) -> ImportReport:
    names = table_names(column.name for column in description.columns)
    stored = zip(description.columns, names, found.missing, strict=True)
    renamed = (
        f"the attribute {column.name!r} is called {new!r} in the event table, because that name "
        "was taken"
        for column, new in zip(description.columns, names, strict=True)
        if column.name != new
    )
    return ImportReport(
        table=name,
        events=found.events,
        cases=found.cases,
        first_us=found.first_us,
        last_us=found.last_us,
        tied=found.tied,
        without_time=found.without_time,
        without_activity=found.without_activity,
        activities=found.activities,
        columns=tuple(
            StoredColumn(new, column.name, column.kind, column.source_type, missing)
            for column, new, missing in stored
        ),
        guesses=description.guesses,
        notices=(*description.notices, *renamed),
    )
