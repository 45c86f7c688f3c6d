"""Writing event tables: a whole log at once, or part by part as it grows; erasing cases.

    case_id VARCHAR, pos BIGINT, ts_us BIGINT, activity VARCHAR, first_pos BIGINT, <attributes…>

Cases stand in the order of their first event in the file; within a case, events are
ordered by time, those without time last, and by file order where times tie. `pos` is
the running number of that order over the whole log: unique, and rising within a case.
`first_pos` is that of the first event of the same case: a number for each case, far quicker
to read and to compare than its id.

On their way in, the batches of a reader are spooled into a staging file, in file order. Attributes
turn up while reading, so the spool grows columns. An import that fails leaves the workspace's
events exactly as they were.

A log that grows has versions, each a list of parts (`event_file`):

    events_3       the log as it was imported or created: version 1
    events_3_v2    the same with what was sealed since in a part of its own, a case wholly in one

A new version never changes what an older one shows, so whoever still has the older declaration
reads a consistent log. What has a higher version than the declared one is left over from a seal
that was cut off: nobody's, and dropped with the next change.

A seal writes what is new and reads nothing that is old. So that a log does not come to have parts
without end, every eighth seal writes its part and the seven before it as one, and every eighth of
those likewise: an event is written again at most once for every power of eight of seals. What was
imported is left as it is; but where a horizon cut cases off that go on, the first seal writes the
import again without them.

Erasing cases must leave no byte of them in any file. The parts that have some are written anew
without them, and the list of the log puts these in their places: all at once, as a person of whom
one part still had cases and another had not would count otherwise than promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
import pyarrow as pa

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
    EVENTS,
    FIRST_POSITION,
    POSITION,
    STORED,
    Part,
    PartsList,
    Successor,
    Versioned,
    attach,
    changing,
    column,
    delete_list,
    delete_parts,
    detach,
    spill_folder,
    stored_logs,
    table,
    table_names,
    united,
)
from pappi.values import Kind

Accept: TypeAlias = Callable[[ImportReport], None]

_NEW = "new"


def import_events(
    events: Path,
    name: str,
    reader: EventReader,
    progress: Progress = no_progress,
    accept: Accept = lambda _report: None,
) -> ImportReport:
    """Reads a whole log, as one part, into a new log of the workspace's events.

    `accept` sees the report before the log takes its place; what it raises stops the import.
    Raises LogFormatError for a log that cannot be read, WorkspaceError if the log is there
    already or cannot be written; the events are then as they were, to the byte.
    """
    with changing(events) as folder:
        _refuse_stored(events, name)
        successor = _first(events, name, folder)
        (new,) = successor.new
        with closing(Spool(folder)) as spool:
            spool.fill(reader, progress)
            report = _store(spool, new, name, reader.description())
        accept(report)
        replace(successor, log=_imported(successor.log, report.events)).swap_in()
    return report


def adopt_events(passing: Path, events: Path, name: str) -> None:
    """Take over a log that was imported into a staging folder of these events."""
    _refuse_stored(events, name)
    log = PartsList.read(passing, name)
    Successor(events, log, [passing / part.file for part in log.parts]).swap_in()


def _refuse_stored(events: Path, name: str) -> None:
    if name.casefold() in map(str.casefold, stored_logs(events)):
        raise WorkspaceError(
            f"the workspace has a log called {name!r} already",
            hint="choose another name, or delete the old log first",
        )


def _first(events: Path, name: str, folder: Path) -> Successor:
    """A log of one part, which is still to be written."""
    file = next(PartsList(name, {}).new_files())
    return Successor(events, PartsList(name, {1: (Part(file, 0, 0),)}), [folder / file])


def _imported(log: PartsList, events: int) -> PartsList:
    return PartsList(log.base, {1: tuple(replace(part, last=events) for part in log.parts)})


def _store(spool: Spool, new: Path, name: str, description: Description) -> ImportReport:
    """Brings the spool into a part, in order and at once, and reports what is there."""
    names = table_names(column.name for column in description.columns)
    fields = (column.field for column in description.columns)
    attributes = dict(zip(fields, names, strict=True))
    target = table(EVENTS, _NEW).sql("duckdb")
    connection = spool.connection
    (in_order,) = _row(connection, _IN_ORDER)
    if not in_order:
        connection.execute(_NUMBER)
    connection.execute(attach(str(new), _NEW))
    connection.begin()
    if not in_order:
        spool.limit_memory(_TO_SORT_MB)
    rows = copied_rows(attributes) if in_order else sorted_rows(attributes)
    connection.execute(f"CREATE TABLE {target} AS {rows}")
    report = _report(connection, target, name, description)
    connection.commit()
    connection.execute(detach(_NEW))
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


# So many parts of as many seals become one: a query over more spends its time on planning.
UNITED = 8
# Whoever decided by an older declaration is done within far fewer seals than these.
_KEPT_VERSIONS = 4

_LEFT_OUT = "left_out"
_TYPES = {Kind.TEXT: "VARCHAR", Kind.TRUTH: "BOOLEAN"}


def create_events(events: Path, name: str, attributes: Mapping[str, Kind]) -> None:
    """A log without events, to be fed by capture.

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
    with changing(events) as folder:
        _refuse_stored(events, name)
        successor = _first(events, name, folder)
        (new,) = successor.new
        with closing(duckdb.connect(str(new))) as connection:
            connection.execute(f"CREATE TABLE {EVENTS} ({', '.join(columns)})")
        successor.swap_in()


@dataclass(frozen=True, slots=True)
class NewVersion:
    """The next version of a log: what `reader` gives, after what the current version has.

    Cases that are `reopened` are read again: the current version has them, the next one only
    what the reader gives of them.
    """

    current: Versioned
    attributes: Mapping[str, Kind]
    reopened: frozenset[str]

    def write(self, events: Path, reader: EventReader, folder: Path) -> Successor:
        """The new part and the list with it, finished, to be swapped in."""
        log = PartsList.read(events, self.current.base)
        current = log.of(self.current)
        kept = 0 if self.reopened else _kept(current)
        seals = 0 if self.reopened else 1 + sum(part.seals for part in current[kept:])
        new = folder / next(log.new_files())
        with closing(Spool(folder)) as spool:
            spool.fill(reader, no_progress)
            connection = spool.connection
            connection.execute(_NUMBER)
            connection.execute(attach(str(new), _NEW))
            left_out = pa.table({CASE: pa.array(sorted(self.reopened), pa.string())})
            connection.register(_LEFT_OUT, left_out)
            old = united(connection, events, current[kept:])
            rows = self._rows(old, max(part.last for part in current))
            connection.execute(f"CREATE TABLE {table(EVENTS, _NEW).sql('duckdb')} AS {rows}")
            last = _last(connection)
            connection.execute(detach(_NEW))
        following = self.current.next.number
        versions = {
            number: parts
            for number, parts in log.versions.items()
            if following - _KEPT_VERSIONS < number < following
        }
        versions[following] = (*current[:kept], Part(new.name, last, seals))
        return Successor(events, PartsList(log.base, versions), [new])

    def _rows(self, old: str, begun: int) -> str:
        """What is new, after what is united with it and not left out."""
        fields = {f"a{number}": name for number, name in enumerate(self.attributes)}
        new = sorted_rows(fields, str(begun))
        if not old:
            return new
        columns = ", ".join(column(name).sql("duckdb") for name in (*STORED, *self.attributes))
        # Stored in their order: the engine reads a log from one position to another.
        return (
            f"SELECT {columns} FROM ({old}) WHERE case_id NOT IN "  # noqa: S608
            f"(SELECT case_id FROM {_LEFT_OUT}) UNION ALL (FROM ({new})) ORDER BY pos"
        )


def _kept(parts: Sequence[Part]) -> int:
    """How many of the parts stay as they are; the others become one with the next part.

    >>> sealed = [Part("", 0, seals) for seals in (0, 8, 8, *[1] * 7)]
    >>> _kept(sealed), _kept(sealed[:-1])
    (3, 9)
    >>> _kept([Part("", 0, seals) for seals in (0, *[8] * 7, *[1] * 7)])
    1
    """
    kept, seals = len(parts), 1
    while True:
        start = kept
        while start and 0 < parts[start - 1].seals <= seals:
            start -= 1
        if kept - start < UNITED - 1:
            return kept
        kept, seals = start, seals * UNITED


def _last(connection: duckdb.DuckDBPyConnection) -> int:
    """The last position in the new part."""
    (last,) = _row(
        connection,
        f"SELECT coalesce(max(pos), 0) FROM {table(EVENTS, _NEW).sql('duckdb')}",  # noqa: S608
    )
    return last


# --- erasing -------------------------------------------------------------------------


_ERASED = "erased"


def drop_events(events: Path, name: str) -> None:
    """Delete a log for good: its list, which is the moment it happens, and all its parts."""
    with changing(events):
        if name not in stored_logs(events):
            raise WorkspaceError(
                f"the workspace has no log called {name!r}",
                hint=f"its logs are: {', '.join(stored_logs(events)) or 'none'}",
            )
        delete_list(events, name)
        delete_parts(events, name)
    _clear_spill(events)


def _clear_spill(events: Path) -> None:
    """What queries that were killed had put aside. One that runs now may fail, and be repeated."""
    for left in spill_folder(events).glob("*"):
        left.unlink(missing_ok=True)


def erase_cases(events: Path, declared: Versioned, cases: Iterable[str]) -> None:
    """Write the parts that have some of these cases without them, in every version of the log."""
    gone = pa.table({CASE: pa.array(list(cases), pa.string())})
    with changing(events) as folder:
        log = PartsList.read(events, declared.base)
        versions = {n: parts for n, parts in log.versions.items() if n <= declared.number}
        log, files = PartsList(log.base, versions), log.new_files()
        written = {}
        for part in log.parts:
            new = _without(part, events, gone, folder, files)
            if new is not None:
                written[part] = new
        for number, parts in versions.items():
            versions[number] = tuple(written.get(part, part) for part in parts)
        new_parts = [folder / part.file for part in written.values()]
        Successor(events, PartsList(log.base, versions), new_parts).swap_in()
    _clear_spill(events)


def _without(
    part: Part, events: Path, gone: pa.Table, folder: Path, files: Iterator[str]
) -> Part | None:
    """The part without cases, or None if it has none of them."""
    case, spill = column(CASE).sql("duckdb"), str(folder / "spill")
    with closing(duckdb.connect(config={"temp_directory": spill})) as connection:
        connection.register(_ERASED, gone)
        old = f"{united(connection, events, [part])} WHERE {case}"
        erased = f"(SELECT {case} FROM {_ERASED})"  # noqa: S608
        if not connection.execute(f"{old} IN {erased} LIMIT 1").fetchall():
            return None
        file = next(files)
        connection.execute(attach(str(folder / file), _NEW))
        target = table(EVENTS, _NEW).sql("duckdb")
        connection.execute(f"CREATE TABLE {target} AS {old} NOT IN {erased}")
        last = _last(connection)
        connection.execute(detach(_NEW))
    return Part(file, last, part.seals)
