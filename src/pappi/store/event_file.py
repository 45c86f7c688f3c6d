"""The workspace's DuckDB file of events: its names, one change at a time, all or nothing.

A change is made on a copy inside a staging folder next to the file; the copy takes the file's place
in one atomic step at the very end. Whatever goes wrong before that step, even a power cut, leaves
the file exactly as it was, to the byte. Connections that are open meanwhile go on seeing the old
content; open a new one to see the new. The lock is the operating system's and dies with its holder,
so whatever an earlier change left behind can be swept as soon as the lock is held.

Attribute names are anything a source system allows; the database folds upper and lower case
together and the canonical columns are taken. Whoever comes later gets a number, so that every
attribute keeps a column of its own.

`Lookup` finds cases by anchor, by person, by id. `require_events` says whether they can be read: it
looks at the file, the names and types of columns, never at a row, so no refusal depends on data.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa
from sqlglot import exp

from pappi.errors import WorkspaceError
from pappi.eventlog import CASE, TIME
from pappi.store.workspace import sync_folder
from pappi.values import CaseBorder, Kind

POSITION = "pos"
FIRST_POSITION = "first_pos"
CANONICAL = ("case_id", POSITION, "ts_us", "activity")
STORED = (*CANONICAL, FIRST_POSITION)
# Not a column, but what conditions call the time of an event: it must not mean two things.
RESERVED = (*STORED, "timestamp")


def table_names(wanted: Iterable[str]) -> tuple[str, ...]:
    """The names as they can stand in the table, in the same order.

    >>> table_names(["cost", "Cost", "POS", "timestamp", ""])
    ('cost', 'Cost (2)', 'POS (2)', 'timestamp (2)', 'unnamed')
    """
    taken = {name.casefold() for name in RESERVED}
    names = []
    for name in wanted:
        wanted_name = name or "unnamed"
        candidate, number = wanted_name, 1
        while candidate.casefold() in taken:
            number += 1
            candidate = f"{wanted_name} ({number})"
        chosen = candidate
        taken.add(chosen.casefold())
        names.append(chosen)
    return tuple(names)


# --- names as SQL, always quoted: an attribute may be called anything ----------------


def column(name: str, of: str | None = None) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=of, quoted=True)


def table(name: str, catalog: str | None = None) -> exp.Table:
    identifier = exp.to_identifier(name, quoted=True)
    if catalog is None:
        return exp.Table(this=identifier)
    return exp.Table(
        this=identifier,
        db=exp.to_identifier("main", quoted=True),
        catalog=exp.to_identifier(catalog, quoted=True),
    )


def attach(path: str, catalog: str) -> str:
    name = exp.to_identifier(catalog, quoted=True).sql("duckdb")
    return f"ATTACH {exp.Literal.string(path).sql('duckdb')} AS {name}"


def detach(catalog: str) -> str:
    return f"DETACH {exp.to_identifier(catalog, quoted=True).sql('duckdb')}"


# --- one change at a time, among threads and among processes -------------------------


if sys.platform == "win32":
    import msvcrt

    def _acquire(file: BinaryIO) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _acquire(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def exclusive(database: Path) -> Iterator[None]:
    """Holds the right to change this events file, or says that somebody else does."""
    with _lock_file(database) as file:
        try:
            _acquire(file)
        except OSError:
            raise WorkspaceError(
                "another import, seal or deletion is changing this workspace",
                hint="wait until it has finished, then try again",
            ) from None
        yield


def _lock_file(database: Path) -> BinaryIO:
    try:
        return database.with_name(f".{database.name}.lock").open("ab")
    except OSError as error:
        raise WorkspaceError(
            f"the folder of {database.name} cannot be written: {error.strerror}",
            hint="check that the workspace exists and that you may write to it",
        ) from None


# --- changing the file by making its successor and swapping it in --------------------


_SUCCESSOR = "successor.duckdb"
_EVENTS = "events"
# Several queries run at once; what does not fit is put aside on the disk.
_MEMORY = "20%"


@contextmanager
def staging(database: Path) -> Iterator[Path]:
    """A folder for work in progress, ours alone, gone afterwards; sweeps what was left."""
    with exclusive(database):
        prefix = f".{database.name}.staging-"
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
    sync_folder(database.parent)


@contextmanager
def changing(database: Path) -> Iterator[Path]:
    """A folder to make the file's successor in; with the database's own failures explained."""
    try:
        with staging(database) as folder:
            yield folder
    except duckdb.Error as error:
        raise WorkspaceError(
            "the events file could not be changed",
            hint="check the free space on the disk; nothing was changed",
            detail=str(error),
        ) from error


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


def open_readonly(database: Path) -> duckdb.DuckDBPyConnection:
    """A connection that cannot change anything. Open one per piece of work, and close it:
    a connection that stays open goes on seeing the file as it was.

    The file is attached to a database of its own. Opened directly, it would be the one that
    another connection of this process still has open under the same name: perhaps the old one.
    """
    spill = str(spill_folder(database))
    connection = duckdb.connect(config={"temp_directory": spill, "memory_limit": _MEMORY})
    try:
        connection.execute(f"{attach(str(database), _EVENTS)} (READ_ONLY)")
        connection.execute(f"USE {_EVENTS}")
    except duckdb.Error as error:
        connection.close()
        raise WorkspaceError(
            f"the events file {database.name} cannot be opened",
            hint="check that the file exists, is readable and was made by PaPPI",
            detail=str(error),
        ) from None
    return connection


def open_beside(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Another connection to the file as the first one sees it, for another thread."""
    beside = connection.cursor()
    beside.execute(f"USE {_EVENTS}")
    return beside


# --- the logs in the file ------------------------------------------------------------


def event_tables(database: Path) -> tuple[str, ...]:
    """The names of the logs in the file; none if there is no file yet."""
    if not database.exists():
        return ()
    with closing(open_readonly(database)) as connection:
        names = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1")
        return tuple(name for (name,) in names.fetchall())


# --- looking into the events of a log -----------------------------------------------------


_GIVEN = "given"
_BATCH = 20_000


class Lookup:
    """One version of a log, in one events file."""

    def __init__(self, database: Path, name: str, anchor: CaseBorder) -> None:
        self._database = database
        self._source = table(name)
        self._border = exp.Max if anchor is CaseBorder.END else exp.Min

    def anchored(self, start_us: int | None, end_us: int | None) -> exp.Select:
        """The cases whose anchor lies in [start, end)."""
        cases = exp.select(column(CASE)).from_(self._source.copy()).group_by(column(CASE))
        if start_us is not None:
            cases = cases.having(self._anchor() >= _number(start_us))
        if end_us is not None:
            cases = cases.having(self._anchor() < _number(end_us))
        return cases

    def cases(self, query: exp.Select) -> list[str]:
        return [case for (case,) in self._rows(query)]

    def known(self, cases: Iterable[str], before_us: int) -> set[str]:
        """Those of the given cases that the log has, unless their anchor is later."""
        later = column(CASE).isin(query=self.anchored(before_us, None)).not_()
        among = column(CASE).isin(query=_all_given())
        query = exp.select(column(CASE)).distinct().from_(self._source.copy()).where(among, later)
        return {case for (case,) in self._rows(query, _given(cases))}

    def cases_of_persons(self, attribute: str, persons: Iterable[str]) -> list[str]:
        """The cases of persons, whether their numbers are written 7 or 7.0."""
        written = [text for person in persons for text in (person, f"{person}.0")]
        among = exp.cast(column(attribute), "VARCHAR").isin(query=_all_given())
        query = exp.select(column(CASE)).distinct().from_(self._source.copy()).where(among)
        return [case for (case,) in self._rows(query, _given(written))]

    def event_counts(self, cases: Iterable[str]) -> dict[str, int]:
        """How many events each of the cases has; not those that have none."""
        among = column(CASE).isin(query=_all_given())
        query = exp.select(column(CASE), exp.Count(this=exp.Star())).from_(self._source.copy())
        return dict(self._rows(query.where(among).group_by(column(CASE)), _given(cases)))

    def events(
        self, cases: exp.Select, attributes: Mapping[str, Kind]
    ) -> Iterator[tuple[Any, ...]]:
        """Case, position, time, activity and attributes, in the order of the log."""
        names = (*CANONICAL, *attributes)
        query = exp.select(*map(column, names)).from_(self._source.copy())
        query = query.where(column(CASE).isin(query=cases)).order_by(column(POSITION))
        return self._rows(query)

    def _anchor(self) -> exp.Expression:
        return self._border(this=column(TIME))

    def _rows(
        self, query: exp.Expression, given: pa.Table | None = None
    ) -> Iterator[tuple[Any, ...]]:
        with closing(open_readonly(self._database)) as connection:
            if given is not None:
                connection.register(_GIVEN, given)
            try:
                cursor = connection.execute(query.sql("duckdb"))
                while rows := cursor.fetchmany(_BATCH):
                    yield from rows
            except duckdb.Error as error:
                raise WorkspaceError(
                    "the events file could not be read",
                    hint="restore it and the ledger from the same backup",
                    detail=str(error),
                ) from error


def _given(values: Iterable[str]) -> pa.Table:
    return pa.table({CASE: pa.array(list(values), pa.string())})


def _all_given() -> exp.Select:
    return exp.select(column(CASE)).from_(table(_GIVEN))


def _number(value: int) -> exp.Expression:
    return exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))


# --- whether the events could be read, found out before anything is charged ----------


_TYPES = dict(zip(STORED, ("VARCHAR", "BIGINT", "BIGINT", "VARCHAR", "BIGINT"), strict=True))
_WHOLE, _FLOAT = "BIGINT", "DOUBLE"
_ATTRIBUTE_TYPES = {
    Kind.TEXT: ("VARCHAR",),
    Kind.TRUTH: ("BOOLEAN",),
    Kind.NUMBER: (_WHOLE, _FLOAT),
}
_HEADERS = 3 * 4096  # in front of a DuckDB file's blocks
# Blocks that are free may lie beyond the end of the file.
_SIZE = """
SELECT block_size, used_blocks FROM pragma_database_size() WHERE database_name = 'events'
"""
_HINT = "nothing was charged; the owner restores the file from a backup, or imports the log again"


def require_events(database: Path, name: str, attributes: Mapping[str, Kind]) -> None:
    """Refuse a file that is missing, cut off or foreign, or that lacks the log as it is declared.

    A file that was looked at is looked at again only if it has changed.
    """
    try:
        status = database.stat()
    except OSError as error:
        raise WorkspaceError(
            f"the events file {database.name} is missing", hint=_HINT, detail=str(error)
        ) from None
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    _require(database, identity, name, tuple(attributes.items()))


@lru_cache(maxsize=256)
def _require(
    database: Path, identity: tuple[int, ...], name: str, attributes: tuple[tuple[str, Kind], ...]
) -> None:
    kinds = {attribute: kind for attribute, kind in attributes if attribute not in CANONICAL}
    columns = (*STORED, *kinds)
    with closing(open_readonly(database)) as connection:
        try:
            ((block, count),) = connection.execute(_SIZE).fetchall()
            query = exp.select(*map(column, columns)).from_(table(name)).sql("duckdb")
            types = connection.execute(f"DESCRIBE {query}").fetchall()
        except duckdb.Error as error:
            raise WorkspaceError(
                f"the events file {database.name} does not hold this log as it is declared",
                hint=_HINT,
                detail=str(error),
            ) from None
    if _HEADERS + block * count > identity[2]:
        raise WorkspaceError(f"the events file {database.name} is cut off", hint=_HINT)
    actual = [row[1] for row in types]
    expected: list[tuple[str, ...]] = [(sql_type,) for sql_type in _TYPES.values()]
    expected += [_ATTRIBUTE_TYPES.get(kind, (_WHOLE,)) for kind in kinds.values()]
    if any(sql_type not in allowed for sql_type, allowed in zip(actual, expected, strict=True)):
        raise WorkspaceError(
            f"the events file {database.name} does not have the columns this version reads",
            hint=_HINT,
        )
