"""Writing event tables: a whole log at once, or part by part as it grows; erasing cases.

    case_id VARCHAR, pos BIGINT, ts_us BIGINT, activity VARCHAR, first_pos BIGINT, <attributes…>

Cases stand in the order of their first event in the file; within a case, events are
ordered by time, those without time last, and by file order where times tie. `pos` is
the running number of that order over the whole log: unique, and rising within a case.
`first_pos` is that of the first event of the same case: a number for each case, far quicker
to read and to compare than its id.

On their way in, the batches of a reader are spooled into a staging file, in file order. Attributes
turn up while reading, so the spool grows columns. An import that fails leaves the workspace's file
exactly as it was.

A log that grows has part tables, and views that unite them:

    events_3                 the log as it was imported or created: version 1
    events_3_p2, events_3_p3 what was sealed since, a case wholly in one part
    events_3_v2, events_3_v3 the log as of each version: all parts up to it

A new version never changes what an older one shows, so whoever still has the older declaration
reads a consistent log. What has a higher version than the declared one is left over from a seal
that was cut off: nobody's, and dropped with the next change.

Erasing cases must leave no byte of them in the file. Deleting rows would only mark them: what stays
is copied into a fresh file, which takes the old one's place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
import sqlglot
from sqlglot import exp

from pappi.errors import WorkspaceError
from pappi.eventlog import (
    ACTIVITY,
    CASE,
    TIME,
    Description,
    EventReader,
    ImportReport,
    Progress,
    RecordBatch,
    StoredColumn,
    no_progress,
)
from pappi.store.event_file import (
    FIRST_POSITION,
    POSITION,
    STORED,
    attach,
    changing,
    column,
    detach,
    event_tables,
    spill_folder,
    successor,
    swap_in,
    table,
    table_names,
)
from pappi.values import Kind

Accept: TypeAlias = Callable[[ImportReport], None]

SUCCESSOR = "successor"


def import_events(
    database: Path,
    name: str,
    reader: EventReader,
    progress: Progress = no_progress,
    accept: Accept = lambda _report: None,
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
            new = successor(database, folder)
            report = _store(spool, new, name, reader.description())
        accept(report)
        swap_in(new, database)
    return report


def _store(spool: Spool, new: Path, name: str, description: Description) -> ImportReport:
    """Brings the spool into the successor, in order and at once, and reports what is there."""
    names = table_names(column.name for column in description.columns)
    fields = (column.field for column in description.columns)
    attributes = dict(zip(fields, names, strict=True))
    target = table(name, SUCCESSOR).sql("duckdb")
    connection = spool.connection
    (in_order,) = _row(connection, _IN_ORDER)
    if not in_order:
        connection.execute(_NUMBER)
    connection.execute(attach(str(new), SUCCESSOR))
    connection.begin()
    if not in_order:
        spool.limit_memory(_TO_SORT_MB)
    rows = copied_rows(attributes) if in_order else sorted_rows(attributes)
    connection.execute(f"CREATE TABLE {target} AS {rows}")
    report = _report(connection, target, name, description)
    connection.commit()
    connection.execute(detach(SUCCESSOR))
    return report


def _report(
    connection: duckdb.DuckDBPyConnection, stored: str, name: str, description: Description
) -> ImportReport:
    """What an event table holds, by counting, and what its reader said of it."""
    attributes = description.columns
    names = table_names(attribute.name for attribute in attributes)
    absent = (f"count(*) - count({column(of).sql('duckdb')})" for of in (TIME, ACTIVITY, *names))
    events, first, last, timeless, nameless, *missing = _row(
        connection,
        f"SELECT count(*), min({TIME}), max({TIME}), {', '.join(absent)} FROM {stored}",  # noqa: S608
    )
    # Events are stored in order, so that both neighbours are at hand: no group has to be found.
    beside = (
        f"SELECT {POSITION} AS n, {FIRST_POSITION} AS c, {TIME} AS t, "  # noqa: S608
        f"lag({FIRST_POSITION}) OVER () AS c0, lag({TIME}) OVER () AS t0, "
        f"lead({FIRST_POSITION}) OVER () AS c1, lead({TIME}) OVER () AS t1 FROM {stored}"
    )
    cases, tied = _row(
        connection,
        "SELECT count(*) FILTER (n = c), "  # noqa: S608
        f"count(*) FILTER (c = c0 AND t = t0 OR c = c1 AND t = t1) FROM ({beside})",
    )
    activities = connection.execute(
        f"SELECT DISTINCT {ACTIVITY} FROM {stored} WHERE {ACTIVITY} IS NOT NULL"  # noqa: S608
    ).fetchall()
    renamed = (
        f"the attribute {attribute.name!r} is called {new!r} in the event table, because that "
        "name was taken"
        for attribute, new in zip(attributes, names, strict=True)
        if attribute.name != new
    )
    return ImportReport(
        table=name,
        events=events,
        cases=cases,
        first_us=first,
        last_us=last,
        tied=tied,
        without_time=timeless,
        without_activity=nameless,
        activities=tuple(sorted(activity for (activity,) in activities)),
        columns=tuple(
            StoredColumn(new, attribute.name, attribute.kind, attribute.source_type, absent_here)
            for attribute, new, absent_here in zip(attributes, names, missing, strict=True)
        ),
        guesses=description.guesses,
        notices=(*description.notices, *renamed),
    )


def _row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[int, ...]:
    return tuple(connection.execute(query).fetchone() or ())


# --- events on their way in ----------------------------------------------------------


SEQUENCE = "seq"

# Sorting spills to the staging folder beyond the limit, but holds some rows of every
# column; small row groups keep the spool itself from holding more than a few thousand.
# What spills is found again by blocks in memory, so millions of events need some more.
_MEMORY_MB = 56
_MEMORY_MB_PER_COLUMN = 8
_NARROW = 8
_MEMORY_MB_PER_MILLION = 48
_MOST_MEMORY_MB, _TO_SORT_MB = 1024, 4096
_ROW_GROUP = 8192
_SQL_TYPES = {"string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN"}


class Spool:
    """The staging file of one import, and the connection everything happens on."""

    def __init__(self, folder: Path) -> None:
        self.connection = duckdb.connect(config={"temp_directory": str(folder / "spill")})
        self.connection.execute(
            f"{attach(str(folder / 'spool.duckdb'), 'staging')} (ROW_GROUP_SIZE {_ROW_GROUP})"
        )
        self.connection.execute("USE staging")
        self.events = 0
        self.fields: list[str] = []

    def fill(self, reader: EventReader, progress: Progress) -> None:
        """Reads the log to its end, or raises what the reader raises."""
        types = {CASE: "VARCHAR", ACTIVITY: "VARCHAR", TIME: "BIGINT", SEQUENCE: "BIGINT"}
        columns = ", ".join(f"{name} {sql_type}" for name, sql_type in types.items())
        self.connection.execute(f"CREATE TABLE spool ({columns})")
        self.fields = [*types]
        self.limit_memory()
        with closing(reader.batches(progress)) as batches:
            for batch in batches:
                self._add(batch)  # commits each: an open transaction would sit in memory
        self.limit_memory()

    def close(self) -> None:
        self.connection.close()

    def _add(self, batch: RecordBatch) -> None:
        numbers = pa.array(np.arange(self.events, self.events + batch.num_rows))
        numbered = batch.append_column(SEQUENCE, numbers)
        for field in numbered.schema:
            if field.name not in self.fields:
                new = f"{column(field.name).sql('duckdb')} {_SQL_TYPES[str(field.type)]}"
                self.connection.execute(f"ALTER TABLE spool ADD COLUMN {new}")
                self.fields.append(field.name)
                self.limit_memory()
        self.connection.register("batch", numbered)
        self.connection.execute("INSERT INTO spool BY NAME FROM batch")
        self.connection.unregister("batch")
        self.events += batch.num_rows

    def limit_memory(self, most: int = _MOST_MEMORY_MB) -> None:
        wide = max(0, len(self.fields) - _NARROW)
        millions = max(0, self.events // 1_000_000 - 1)
        narrow = _MEMORY_MB + _MEMORY_MB_PER_MILLION * millions
        limit = min(narrow, most) + _MEMORY_MB_PER_COLUMN * wide
        self.connection.execute(f"SET memory_limit = '{limit}MB'")


# --- the canonical table -------------------------------------------------------------


# Whether the spooled events came in the order they are to have, as most logs do. Looks at each
# event and the one before it, as they are stored; should they be given in another order than
# stored, `seq` shows it, and the answer is no.
_IN_ORDER = """
SELECT count(*) FILTER (c IS DISTINCT FROM c0) = count(DISTINCT c)
    AND count(*) FILTER (c = c0 AND (t < t0 OR t0 IS NULL AND t IS NOT NULL)) = 0
    AND count(*) FILTER (n <> n0 + 1) = 0
FROM (
    SELECT case_id AS c, ts_us AS t, seq AS n, lag(case_id) OVER () AS c0,
        lag(ts_us) OVER () AS t0, lag(seq) OVER () AS n0
    FROM spool
)
"""
# Numbers the spooled events: in a narrow table, so that it fits in memory.
_NUMBER = """
CREATE TABLE event_order AS
SELECT e.seq, row_number() OVER (ORDER BY c.first, e.ts_us NULLS LAST, e.seq) AS pos, c.first_pos
FROM spool AS e JOIN (
    SELECT case_id, first, CAST(sum(size) OVER (ORDER BY first) - size + 1 AS BIGINT) AS first_pos
    FROM (SELECT case_id, min(seq) AS first, count(*) AS size FROM spool GROUP BY case_id)
) AS c ON e.case_id = c.case_id
"""


def copied_rows(attributes: Mapping[str, str]) -> str:
    """The events of a spool that is in order; attributes are their fields and names."""
    # The last number at which a case began: found on the way, as it is the largest so far.
    return (
        "SELECT e.case_id, e.seq + 1 AS pos, e.ts_us, e.activity,"  # noqa: S608
        " max(CASE WHEN e.case_id IS DISTINCT FROM e.case_before THEN e.seq + 1 END)"
        f" OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS first_pos{_named(attributes)}"
        " FROM (SELECT *, lag(case_id) OVER () AS case_before FROM spool) AS e"
    )


def sorted_rows(attributes: Mapping[str, str], begun: str = "0") -> str:
    """The events of a spool that was numbered; positions go on after those that have begun."""
    return (
        f"SELECT e.case_id, o.pos + {begun} AS pos, e.ts_us, e.activity,"  # noqa: S608
        f" o.first_pos + {begun} AS first_pos{_named(attributes)}"
        " FROM spool AS e JOIN event_order AS o ON e.seq = o.seq ORDER BY o.pos"
    )


def _named(attributes: Mapping[str, str]) -> str:
    return "".join(
        f", {column(field, 'e').sql('duckdb')} AS {column(name).sql('duckdb')}"
        for field, name in attributes.items()
    )


# --- a log that grows, part by part -------------------------------------------------------


# A query over more parts than this spends its time on planning: then they become one.
MOST_PARTS = 32
# Whoever decided by an older declaration is done within far fewer seals than these.
_KEPT_VERSIONS = 4

_LEFT_OUT = "left_out"
_TYPES = {Kind.TEXT: "VARCHAR", Kind.TRUTH: "BOOLEAN"}


@dataclass(frozen=True, slots=True)
class Versioned:
    """The name of a log's table or view, taken apart.

    >>> Versioned.of("events_3_v2")
    Versioned(base='events_3', number=2)
    >>> Versioned.of("events_3").next.view
    'events_3_v2'
    """

    base: str
    number: int

    @classmethod
    def of(cls, name: str) -> Versioned:
        match = re.fullmatch(r"(.+)_v([0-9]+)", name)
        return cls(name, 1) if match is None else cls(match[1], int(match[2]))

    @property
    def next(self) -> Versioned:
        return Versioned(self.base, self.number + 1)

    @property
    def view(self) -> str:
        return self.base if self.number == 1 else f"{self.base}_v{self.number}"

    @property
    def part(self) -> str:
        return self.base if self.number == 1 else f"{self.base}_p{self.number}"

    def number_of(self, name: str) -> int | None:
        """The version that a part or view of this log belongs to; None for other logs'."""
        if name == self.base:
            return 1
        match = re.fullmatch(rf"{re.escape(self.base)}_[pv]([0-9]+)", name)
        return None if match is None else int(match[1])


def create_events(database: Path, name: str, attributes: Mapping[str, Kind]) -> None:
    """An event table without events, to be fed by capture.

    Its numbers are whole until a part has others: so whole ones of 64 bits stay exact.
    """
    if table_names(attributes) != tuple(attributes):
        raise WorkspaceError(
            "two attributes of this log cannot be told apart, or one has a reserved name",
            hint=f"upper and lower case are the same; {', '.join(STORED)} are taken",
        )
    types = {CASE: "VARCHAR", POSITION: "BIGINT", TIME: "BIGINT", ACTIVITY: "VARCHAR"}
    types[FIRST_POSITION] = "BIGINT"
    types |= {attribute: _TYPES.get(kind, "BIGINT") for attribute, kind in attributes.items()}
    columns = (f"{column(field).sql('duckdb')} {sql_type}" for field, sql_type in types.items())
    with changing(database) as folder:
        if name in event_tables(database):
            raise WorkspaceError(f"the workspace has a log called {name!r} already")
        new = successor(database, folder)
        with closing(duckdb.connect(str(new))) as connection:
            connection.execute(f"CREATE TABLE {table(name).sql('duckdb')} ({', '.join(columns)})")
        swap_in(new, database)


@dataclass(frozen=True, slots=True)
class NewVersion:
    """The next version of a log: what `reader` gives, after what the current version has.

    Cases that are `reopened` are read again: the current version has them, the next one only
    what the reader gives of them.
    """

    current: Versioned
    attributes: Mapping[str, Kind]
    reopened: frozenset[str]

    def write(self, database: Path, reader: EventReader, folder: Path) -> Path:
        """The successor of the events file, finished, to be swapped in."""
        with closing(Spool(folder)) as spool:
            spool.fill(reader, no_progress)
            new = successor(database, folder)
            connection = spool.connection
            connection.execute(_NUMBER)
            connection.execute(attach(str(new), SUCCESSOR))
            cases = pa.table({CASE: pa.array(sorted(self.reopened), pa.string())})
            connection.register(_LEFT_OUT, cases)
            connection.begin()
            self._add(connection)
            connection.commit()
            connection.execute(detach(SUCCESSOR))
        return new

    def _add(self, connection: duckdb.DuckDBPyConnection) -> None:
        drop_leftovers(connection, self.current)
        older = _parts(connection, self.current)
        following = self.current.next
        columns = ", ".join(column(name).sql("duckdb") for name in (*STORED, *self.attributes))
        current = table(self.current.view, SUCCESSOR).sql("duckdb")
        begun = f"(SELECT coalesce(max(pos), 0) FROM {current})"  # noqa: S608
        fields = {f"a{number}": name for number, name in enumerate(self.attributes)}
        rows = sorted_rows(fields, begun)
        joined = bool(self.reopened) or len(older) >= MOST_PARTS
        if joined:
            # One part instead of all: the current version without the reopened cases, and the new.
            # Stored in their order: the engine reads a log from one position to another.
            rows = (
                f"SELECT {columns} FROM {current} WHERE case_id NOT IN "  # noqa: S608
                f"(SELECT case_id FROM {_LEFT_OUT}) UNION ALL (FROM ({rows})) ORDER BY pos"
            )
        part = table(following.part, SUCCESSOR).sql("duckdb")
        connection.execute(f"CREATE TABLE {part} AS {rows}")
        united = " UNION ALL ".join(
            f"SELECT {columns} FROM {table(part).sql('duckdb')}"  # noqa: S608
            for part in ((following.part,) if joined else (*older, following.part))
        )
        connection.execute(f"USE {SUCCESSOR}")  # so that the view names its parts without the file
        connection.execute(f"CREATE VIEW {table(following.view).sql('duckdb')} AS {united}")
        connection.execute("USE staging")
        _drop_outdated(connection, following)


def drop_leftovers(connection: duckdb.DuckDBPyConnection, declared: Versioned) -> None:
    """What a seal left that was cut off before its declaration."""
    for name, kind in relations(connection, declared):
        if (declared.number_of(name) or 0) > declared.number:
            connection.execute(f"DROP {kind} {table(name, SUCCESSOR).sql('duckdb')}")


def _drop_outdated(connection: duckdb.DuckDBPyConnection, newest: Versioned) -> None:
    """Views that nobody reads any more, and parts that no view has."""
    stored = relations(connection, newest)
    oldest = newest.number - _KEPT_VERSIONS
    views = [name for name, kind in stored if kind == "VIEW"]
    kept = [name for name in views if (newest.number_of(name) or 0) > oldest]
    used = {part for view in kept for part in _parts(connection, Versioned.of(view))}
    if oldest < 1:
        used.add(newest.base)
    for name, kind in stored:
        if name not in used and name not in kept:
            connection.execute(f"DROP {kind} {table(name, SUCCESSOR).sql('duckdb')}")


def relations(connection: duckdb.DuckDBPyConnection, log: Versioned) -> list[tuple[str, str]]:
    """The log's tables and views in the successor: name, and TABLE or VIEW; views first."""
    stored = connection.execute(
        "SELECT view_name, 'VIEW' FROM duckdb_views() WHERE database_name = $1 AND NOT internal "
        "UNION ALL SELECT table_name, 'TABLE' FROM duckdb_tables() WHERE database_name = $1",
        [SUCCESSOR],
    ).fetchall()
    return [(name, kind) for name, kind in stored if log.number_of(name) is not None]


def _parts(connection: duckdb.DuckDBPyConnection, version: Versioned) -> tuple[str, ...]:
    """The tables that a version unites, in order."""
    if version.number == 1:
        return (version.base,)
    row = connection.execute(
        "SELECT sql FROM duckdb_views() WHERE database_name = $1 AND view_name = $2",
        [SUCCESSOR, version.view],
    ).fetchone()
    if row is None:
        raise WorkspaceError(
            f"the events file has no {version.view}",
            hint="it does not belong to this ledger: restore both from the same backup",
        )
    written = sqlglot.parse_one(row[0], dialect="duckdb")
    names = {named.name: None for named in written.find_all(exp.Table)}
    return tuple(sorted(names.keys() - {version.view}, key=lambda n: version.number_of(n) or 0))


# --- erasing -------------------------------------------------------------------------


_FRESH = "fresh"
_ERASED = "erased"


def drop_events(database: Path, name: str) -> None:
    """Delete a log for good, with its parts and views: the file is rewritten without its rows."""
    log = Versioned(name, 1)
    with changing(database) as folder:
        tables = event_tables(database)
        if all(log.number_of(stored) is None for stored in tables):
            raise WorkspaceError(
                f"the workspace has no log called {name!r}",
                hint=f"its logs are: {', '.join(tables) or 'none'}",
            )
        fresh, spill = folder / "fresh.duckdb", str(folder / "spill")
        with closing(duckdb.connect(config={"temp_directory": spill})) as connection:
            connection.execute(attach(str(successor(database, folder)), SUCCESSOR))
            connection.execute(attach(str(fresh), _FRESH))
            for stored, kind in relations(connection, log):
                connection.execute(f"DROP {kind} {table(stored, SUCCESSOR).sql('duckdb')}")
            connection.execute(f"COPY FROM DATABASE {SUCCESSOR} TO {_FRESH}")
            connection.execute(detach(_FRESH))
        swap_in(fresh, database)
    _clear_spill(database)


def _clear_spill(database: Path) -> None:
    """What queries that were killed had put aside. One that runs now may fail, and be repeated."""
    for left in spill_folder(database).glob("*"):
        left.unlink(missing_ok=True)


def erase_cases(database: Path, declared: Versioned, cases: Iterable[str]) -> None:
    """Rewrite the file without these cases, in every version of the log."""
    gone = pa.table({CASE: pa.array(list(cases), pa.string())})
    with changing(database) as folder:
        fresh = folder / "fresh.duckdb"
        spill = str(folder / "spill")
        with closing(duckdb.connect(config={"temp_directory": spill})) as connection:
            connection.execute(attach(str(successor(database, folder)), SUCCESSOR))
            connection.execute(attach(str(fresh), _FRESH))
            connection.register(_ERASED, gone)
            drop_leftovers(connection, declared)
            for name, kind in relations(connection, declared):
                if kind == "TABLE":
                    source, case = table(name, SUCCESSOR).sql("duckdb"), column(CASE).sql("duckdb")
                    connection.execute(
                        f"DELETE FROM {source} WHERE {case} IN (SELECT {case} FROM {_ERASED})"  # noqa: S608
                    )
            connection.execute(f"COPY FROM DATABASE {SUCCESSOR} TO {_FRESH}")
            connection.execute(detach(_FRESH))
        swap_in(fresh, database)
    _clear_spill(database)
