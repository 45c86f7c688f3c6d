"""Changing an events file by making its successor and swapping it in.

The change is made on a copy inside a staging folder next to the file; the copy takes
the file's place in one atomic step at the very end. Whatever goes wrong before that
step, even a power cut, leaves the file exactly as it was, to the byte. Connections
that are open meanwhile go on seeing the old content; open a new one to see the new.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from pappi.errors import WorkspaceError
from pappi.store.events.lock import exclusive
from pappi.store.events.sql import attach

_SUCCESSOR = "successor.duckdb"
_EVENTS = "events"
# Several queries run at once; what does not fit is put aside on the disk.
_MEMORY = "20%"


def staging_prefix(database: Path) -> str:
    return f".{database.name}.staging-"


@contextmanager
def staging(database: Path) -> Iterator[Path]:
    """A folder for work in progress, ours alone, gone afterwards; sweeps what was left."""
    with exclusive(database):
        prefix = staging_prefix(database)
        for entry in list(database.parent.iterdir()):
            if entry.name.startswith(prefix):
                shutil.rmtree(entry, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=database.parent) as folder:
            yield Path(folder)


def successor(database: Path, folder: Path) -> Path:
    """A copy of the file to change at will, or the place for the first one."""
    log = database.with_name(f"{database.name}.wal")
    if log.exists():  # never ours: what we change, we change in a copy
        raise WorkspaceError(
            f"another program has unfinished changes in {database.name}",
            hint=f"close it; if none is running, open the file once with DuckDB to end {log.name}",
        )
    copy = folder / _SUCCESSOR
    if database.exists():
        with _explained():
            shutil.copyfile(database, copy)
    return copy


def swap_in(new: Path, database: Path) -> None:
    """Puts the finished, closed successor in the file's place, durably."""
    with _explained():
        new.chmod(0o600)
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        new.replace(database)
    if sys.platform != "win32":
        descriptor = os.open(database.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WorkspaceError(
            f"the events file could not be changed: {error.strerror}",
            hint="check the free space on the disk; nothing was changed",
            detail=str(error),
        ) from error


def spill_folder(path: Path) -> Path:
    """Where queries put aside what does not fit in memory: never outside the workspace."""
    return path.with_name(f"{path.name}.tmp")


def open_file(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection for reading, or an error that says which file cannot be opened and why.

    The file is attached to a database of its own. Opened directly, it would be the one that
    another connection of this process still has open under the same name: perhaps the old one.
    """
    spill = str(spill_folder(path))
    connection = duckdb.connect(config={"temp_directory": spill, "memory_limit": _MEMORY})
    try:
        connection.execute(f"{attach(str(path), _EVENTS)} (READ_ONLY)")
        connection.execute(f"USE {_EVENTS}")
    except duckdb.Error as error:
        connection.close()
        raise WorkspaceError(
            f"the events file {path.name} cannot be opened",
            hint="check that the file exists, is readable and was made by PaPPI",
            detail=str(error),
        ) from None
    return connection


def open_beside(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Another connection to the file as the first one sees it, for another thread."""
    beside = connection.cursor()
    beside.execute(f"USE {_EVENTS}")
    return beside
