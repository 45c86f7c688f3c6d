"""Writing event tables: a whole log at once, or part by part as it grows; erasing cases.

    case_id VARCHAR, pos BIGINT, ts_us BIGINT, activity VARCHAR, first_pos BIGINT, <attributes…>

Cases stand in the order of their first event in the file; within a case, events are
ordered by time, those without time last, and by file order where times tie. `pos` is
the running number of that order over the whole log: unique, and rising within a case.
`first_pos` is that of the first event of the same case: a number for each case, far quicker
to read and to compare than its id.

On their way in, the batches of a reader are spooled into a staging file, numbered in file order. If
that is the order they are to have, as with most logs, the spool becomes the part as it is. From the
first batch on that shows another order, batches are put aside as they come, which costs a quarter
of storing them; then all rows are sorted into the part. Attributes turn up while reading, so the
spool grows columns. An import that fails leaves the workspace's events exactly as they were.

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
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from pappi.errors import WorkspaceError
from pappi.eventlog import (
    ACTIVITY,
    CASE,
    TIME,
    ArrowSchema,
    Batches,
    Description,
    DraftingReader,
    EventReader,
    ImportReport,
    Progress,
    RecordBatch,
    Reread,
    StoredColumn,
    no_progress,
)
from pappi.store.event_file import (
    EVENTS,
    FIRST_POSITION,
    FULL,
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
    explained,
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
        new = folder / next(PartsList(name, {}).new_files())
        with closing(Spool(folder)) as spool:
            spool.fill(reader, progress)
            report = _store(spool, new, name, reader.description())
        accept(report)
        _begun_with(new, report.events, events, name).swap_in()
    return report


def adopt_events(passing: Path, events: Path, name: str, person: str | None = None) -> None:
    """Take over a log that was imported into a staging folder of these events.

    `person` is the text that tells persons apart, if there is one.
    """
    _refuse_stored(events, name)
    log = replace(PartsList.read(passing, name), person=person)
    Successor(events, log, [passing / part.file for part in log.parts]).swap_in()


def _refuse_stored(events: Path, name: str) -> None:
    if name.casefold() in map(str.casefold, stored_logs(events)):
        raise WorkspaceError(
            f"the workspace has a log called {name!r} already",
            hint="choose another name, or delete the old log first",
        )


def _begun_with(
    new: Path, last: int, events: Path, name: str, person: str | None = None
) -> Successor:
    """A log of one part, with so many events."""
    versions = {1: (Part(new.name, last, seals=0),)}
    return Successor(events, PartsList(name, versions, person), [new])


def _store(spool: Spool, new: Path, name: str, description: Description) -> ImportReport:
    """Makes a part of the spool, in order and at once, and reports what is there."""
    names = table_names(column.name for column in description.columns)
    fields = (column.field for column in description.columns)
    attributes = dict(zip(fields, names, strict=True))
    connection = spool.connection
    if not spool.events:
        spool.complete(description)
    if spool.is_in_order() and spool.rename(attributes):
        _require_order(connection, SPOOL)
        report = _report(connection, SPOOL, name, description)
        spool.leave(new)
        return report
    target = table(EVENTS, _NEW).sql("duckdb")
    spool.find_cases()
    connection.execute(attach(str(new), _NEW))
    connection.begin()
    spool.limit_memory(_TO_SORT, _MORE_TO_SORT_MB)
    connection.execute(f"CREATE TABLE {target} AS {spool.sorted_rows(attributes)}")
    _require_order(connection, target)
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


# Sorting spills to the staging folder beyond the limit, but holds some rows of every column.
# What spills is found again by blocks in memory, so millions of events need some more.
_MEMORY_MB = 96
_MEMORY_MB_PER_COLUMN = 8
_NARROW = 8
_MEMORY_MB_PER_MILLION = 48
_MOST_MEMORY_MB = 1024
# A sort gets so many times as much, and some more: what it puts aside has to be read again.
_TO_SORT, _MORE_TO_SORT_MB = 4, 256
_SQL_TYPES = {"string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN"}
_STAGING = "staging"
SPOOL = table(EVENTS, _STAGING).sql("duckdb")
_BATCH = "batch"
# In front of the fields of attributes, so that none has the name that another is to have.
_MARK = "\x1f"
_LAST_OF_ALL = np.iinfo(np.int64).max


_CORE = {
    CASE: "VARCHAR",
    POSITION: "BIGINT",
    TIME: "BIGINT",
    ACTIVITY: "VARCHAR",
    FIRST_POSITION: "BIGINT",
}


class Spool:
    """The events of a reader as they came, numbered, and the connection everything happens on.

    Most logs come in the order they are to have: then this is the part, but for its name.
    """

    def __init__(self, folder: Path) -> None:
        self._path, self._folder = folder / "spool.duckdb", folder
        self.connection = duckdb.connect(config={"temp_directory": str(folder / "spill")})
        self._begin()

    def _begin(self) -> None:
        self.events = 0
        self._types = dict(_CORE)
        self._last: tuple[str | None, int, int] = (None, 0, 0)
        self._runs = 0
        self._orderly = True
        self._aside: list[_Aside] = []
        columns = ", ".join(f"{name} {sql_type}" for name, sql_type in self._types.items())
        self.connection.execute(attach(str(self._path), _STAGING))
        self.connection.execute(f"USE {_STAGING}")
        self.connection.execute(f"CREATE TABLE {SPOOL} ({columns})")

    def fill(self, reader: EventReader, progress: Progress) -> None:
        """Reads the log to its end, or raises what the reader raises."""
        self.connection.execute("SET threads = 1")  # batches come one by one: others would wait
        if isinstance(reader, DraftingReader):
            try:
                self._read(reader.draft(progress))
            except Reread:
                self._end()
                self._path.unlink()
                self._begin()
                self._read(reader.batches(progress))
        else:
            self._read(reader.batches(progress))
        self.connection.execute("RESET threads")
        self.limit_memory()

    def _read(self, given: Batches) -> None:
        with closing(given) as batches:
            numbered = map(self._numbered, batches)
            following = next(numbered, None)
            while following is not None:
                self._add_columns(following)
                take = self._insert if self._orderly else self._put_aside
                following = take(following, numbered)

    def _end(self) -> None:
        self.connection.execute("USE memory")
        self.connection.execute(detach(_STAGING))

    def close(self) -> None:
        self.connection.close()

    def is_in_order(self) -> bool:
        """Whether each case came in one run, and its events in the order of their times."""
        return self._orderly and _row(
            self.connection,
            f"SELECT count(DISTINCT case_id) FROM {SPOOL} WHERE pos = first_pos",  # noqa: S608
        ) == (self._runs,)

    def rename(self, attributes: Mapping[str, str]) -> bool:
        """Gives the columns their names, if the table has them all, and in their order."""
        fields = [_MARK + field for field in attributes]
        taken = any(name.startswith(_MARK) for name in attributes.values())
        if [*self._types][len(STORED) :] != fields or taken:
            return False
        for field, name in zip(fields, attributes.values(), strict=True):
            old, new = column(field).sql("duckdb"), column(name).sql("duckdb")
            self.connection.execute(f"ALTER TABLE {SPOOL} RENAME COLUMN {old} TO {new}")
        return True

    def leave(self, place: Path) -> None:
        """Closes the spool and puts it somewhere else, as a part."""
        self._end()
        self._path.replace(place)

    def complete(self, description: Description) -> None:
        """Adds the columns that no batch had, because there was none: of a header alone."""
        for of in description.columns:
            self._add_column(_field(of.field), _TYPES.get(of.kind, "BIGINT"))

    def _add_columns(self, batch: RecordBatch) -> None:
        for field in batch.schema:
            self._add_column(field.name, _SQL_TYPES[str(field.type)])
        self.limit_memory()

    def _add_column(self, name: str, sql_type: str) -> None:
        if name not in self._types:
            self._types[name] = sql_type
            new = f"{column(name).sql('duckdb')} {sql_type}"
            self.connection.execute(f"ALTER TABLE {SPOOL} ADD COLUMN {new}")

    def _insert(self, first: RecordBatch, batches: Iterator[RecordBatch]) -> RecordBatch | None:
        """Stores batches until one has a column or type that is new, or another order."""
        kept: list[RecordBatch | BaseException] = []

        def stream() -> Iterator[RecordBatch]:
            # What is raised in here, the database would tell in its own words.
            try:
                yield first
                for batch in batches:
                    if not (self._orderly and _is_like(batch, first)):
                        kept.append(batch)
                        return
                    yield _completed(batch, first.schema)
            except BaseException as error:
                kept.append(error)
                raise

        rows = pa.RecordBatchReader.from_batches(first.schema, stream())
        self.connection.register(_BATCH, rows)
        try:
            self.connection.execute(f"INSERT INTO {SPOOL} BY NAME FROM {_BATCH}")
        except BaseException as told:
            if kept and isinstance(kept[0], BaseException):
                raise kept[0] from told
            raise
        finally:
            self.connection.unregister(_BATCH)
        return kept[0] if kept else None

    def _put_aside(self, first: RecordBatch, batches: Iterator[RecordBatch]) -> RecordBatch | None:
        """Writes batches as they are, until one has a column or type that is new."""
        path = self._folder / f"aside-{len(self._aside)}.parquet"
        with _Aside.begun(path, first.schema) as aside:
            self._aside.append(aside)
            aside.append(first)
            for batch in batches:
                if not _is_like(batch, first):
                    return batch
                aside.append(_completed(batch, first.schema))
        return None

    def _numbered(self, batch: RecordBatch) -> RecordBatch:
        """The batch with positions, as if all came in their order; takes notice if they do not."""
        size = batch.num_rows
        positions = np.arange(self.events + 1, self.events + size + 1)
        firsts = np.zeros(size, np.int64)
        if size:
            case, timed = batch.column(CASE), pc.fill_null(batch.column(TIME), _LAST_OF_ALL)
            times = timed.to_numpy(zero_copy_only=False)
            last_case, last_time, last_first = self._last
            begins = np.ones(size, np.bool_)
            begins[0] = case[0].as_py() != last_case
            others = pc.not_equal(case.slice(1), case.slice(0, size - 1))
            begins[1:] = others.to_numpy(zero_copy_only=False)
            if self._orderly:
                earlier = np.concatenate(([last_time], times[:-1]))
                begun = case.filter(pa.array(begins))
                self._orderly = not np.any(~begins & (times < earlier)) and (
                    len(begun) == pc.count_distinct(begun).as_py()
                )
            self._runs += int(begins.sum())
            firsts = np.maximum.accumulate(np.where(begins, positions, last_first))
            self._last = case[size - 1].as_py(), int(times[-1]), int(firsts[-1])
            self.events += size
        columns = {_field(field.name): batch.column(field.name) for field in batch.schema}
        columns |= {POSITION: pa.array(positions), FIRST_POSITION: pa.array(firsts)}
        return pa.RecordBatch.from_pydict(columns)

    def find_cases(self) -> None:
        """Where each case is to begin, in a narrow table that fits in memory."""
        self.connection.execute(
            "CREATE TABLE cases AS SELECT case_id,"  # noqa: S608
            " CAST(sum(size) OVER (ORDER BY first) - size + 1 AS BIGINT) AS first_pos"
            " FROM (SELECT case_id, min(pos) AS first, count(*) AS size"
            f" FROM ({self._rows((CASE, POSITION))}) GROUP BY case_id)"
        )

    def sorted_rows(self, attributes: Mapping[str, str], begun: int = 0) -> str:
        """The query for all events in their order; positions go on after those that have begun.

        They are numbered as they come out of the sort: `_require_order` makes sure of that.
        """
        named = "".join(
            f", {column(_MARK + field, 'e').sql('duckdb')} AS {column(name).sql('duckdb')}"
            for field, name in attributes.items()
        )
        read = (CASE, POSITION, TIME, ACTIVITY, *(_MARK + field for field in attributes))
        return (
            f"SELECT case_id, row_number() OVER () + {begun} AS pos, ts_us, activity,"  # noqa: S608
            f" first_pos + {begun} AS first_pos,"
            " * EXCLUDE (case_id, ts_us, activity, first_pos)"
            f" FROM (SELECT e.case_id, e.ts_us, e.activity, c.first_pos{named}"
            f" FROM ({self._rows(read)}) AS e JOIN cases AS c ON e.case_id = c.case_id"
            " ORDER BY c.first_pos, e.ts_us NULLS LAST, e.pos)"
        )

    def _rows(self, names: Sequence[str]) -> str:
        """The query for columns of all events, in no order."""
        stored = ", ".join(column(name).sql("duckdb") for name in names)
        query = f"SELECT {stored} FROM {SPOOL}"  # noqa: S608
        if not self._aside:
            return query
        present = {name for aside in self._aside for name in aside.columns}
        aside = ", ".join(
            f"CAST({column(name).sql('duckdb') if name in present else 'NULL'}"
            f" AS {self._types[name]}) AS {column(name).sql('duckdb')}"
            for name in names
        )
        files = ", ".join(exp.Literal.string(str(kept.path)).sql("duckdb") for kept in self._aside)
        # Else a folder of a path that is called `activity=A` would be the activity of all.
        read = f"read_parquet([{files}], union_by_name = true, hive_partitioning = false)"
        return f"{query} UNION ALL SELECT {aside} FROM {read}"  # noqa: S608

    def limit_memory(self, times: int = 1, more: int = 0) -> None:
        wide = max(0, len(self._types) - _NARROW)
        millions = max(0, self.events // 1_000_000 - 1)
        narrow = _MEMORY_MB + _MEMORY_MB_PER_MILLION * millions
        limit = times * (min(narrow, _MOST_MEMORY_MB) + _MEMORY_MB_PER_COLUMN * wide) + more
        self.connection.execute(f"SET memory_limit = '{limit}MB'")


def _is_like(batch: RecordBatch, first: RecordBatch) -> bool:
    """Whether it has no column or type that the first one lacks."""
    types = {field.name: field.type for field in first.schema}
    return all(types.get(field.name) == field.type for field in batch.schema)


def _completed(batch: RecordBatch, schema: ArrowSchema) -> RecordBatch:
    """The batch with those columns of a schema that it lacks."""
    if batch.schema.names == schema.names:
        return batch
    present = {field.name: batch.column(field.name) for field in batch.schema}
    columns = [present.get(field.name, pa.nulls(batch.num_rows, field.type)) for field in schema]
    return pa.record_batch(columns, schema=schema)


@dataclass(frozen=True, slots=True)
class _Aside:
    """Batches with the same columns in a file of its own, as they came.

    Parquet takes a quarter of the time that a table of the database does, which works out
    statistics; and as its texts are a dictionary, they are sorted as quickly.
    """

    path: Path
    columns: Sequence[str]
    append: Callable[[RecordBatch], None]

    @classmethod
    @contextmanager
    def begun(cls, path: Path, schema: ArrowSchema) -> Iterator[_Aside]:
        from pyarrow.parquet import ParquetWriter

        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        with explained(FULL):
            writer = ParquetWriter(
                path, schema, compression="none", use_dictionary=texts, write_statistics=False
            )

        def append(batch: RecordBatch) -> None:
            with explained(FULL):
                writer.write_batch(batch)

        try:
            yield cls(path, schema.names, append)
        finally:
            with explained(FULL):
                writer.close()


def _field(name: str) -> str:
    """What the column of a batch's field is called on its way in."""
    return name if name in STORED else _MARK + name


def _require_order(connection: duckdb.DuckDBPyConnection, stored: str) -> None:
    """Each event stands after the one that it is to follow, as a part promises."""
    (astray,) = _row(
        connection,
        "SELECT count(*) FILTER (n <= n0 OR c < c0 OR n < c OR "  # noqa: S608
        "c = c0 AND (t < t0 OR t0 IS NULL AND t IS NOT NULL)) FROM ("
        f"SELECT {POSITION} AS n, {FIRST_POSITION} AS c, {TIME} AS t, "
        f"lag({POSITION}) OVER () AS n0, lag({FIRST_POSITION}) OVER () AS c0, "
        f"lag({TIME}) OVER () AS t0 FROM {stored})",
    )
    if astray:
        raise ValueError("events were not stored in their order")


# --- a log that grows, part by part -------------------------------------------------------


# So many parts of as many seals become one: a query over more spends its time on planning.
UNITED = 8
# Whoever decided by an older declaration is done within far fewer seals than these.
_KEPT_VERSIONS = 4

_LEFT_OUT = "left_out"
_TYPES = {Kind.TEXT: "VARCHAR", Kind.TRUTH: "BOOLEAN"}


def create_events(
    events: Path, name: str, attributes: Mapping[str, Kind], person: str | None = None
) -> None:
    """A log without events, to be fed by capture; `person` as in `adopt_events`.

    Its numbers are whole until a part has others: so whole ones of 64 bits stay exact.
    """
    if table_names(attributes) != tuple(attributes):
        raise WorkspaceError(
            "two attributes of this log cannot be told apart, or one has a reserved name",
            hint=f"upper and lower case are the same; {', '.join(STORED)} are taken",
        )
    types = _CORE | {of: _TYPES.get(kind, "BIGINT") for of, kind in attributes.items()}
    columns = (f"{column(field).sql('duckdb')} {sql_type}" for field, sql_type in types.items())
    with changing(events) as folder:
        _refuse_stored(events, name)
        new = folder / next(PartsList(name, {}).new_files())
        with closing(duckdb.connect(str(new))) as connection:
            connection.execute(f"CREATE TABLE {EVENTS} ({', '.join(columns)})")
        _begun_with(new, 0, events, name, person).swap_in()


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
            spool.find_cases()
            connection.execute(attach(str(new), _NEW))
            spool.limit_memory(_TO_SORT, _MORE_TO_SORT_MB)
            self._unite(spool, events, current[kept:], max(part.last for part in current))
            _require_order(connection, table(EVENTS, _NEW).sql("duckdb"))
            last = _last(connection)
            connection.execute(detach(_NEW))
        following = self.current.next.number
        versions = {
            number: parts
            for number, parts in log.versions.items()
            if following - _KEPT_VERSIONS < number < following
        }
        versions[following] = (*current[:kept], Part(new.name, last, seals))
        return Successor(events, replace(log, versions=versions), [new])

    def _unite(self, spool: Spool, events: Path, old: Sequence[Part], begun: int) -> None:
        """What is new, after what is united with it and not left out: in the order of positions,
        as the engine reads a log from one to another.
        """
        fields = {f"a{number}": name for number, name in enumerate(self.attributes)}
        target, connection = table(EVENTS, _NEW).sql("duckdb"), spool.connection
        new = spool.sorted_rows(fields, begun)
        if not old:
            connection.execute(f"CREATE TABLE {target} AS {new}")
            return
        left_out = pa.table({CASE: pa.array(sorted(self.reopened), pa.string())})
        connection.register(_LEFT_OUT, left_out)
        columns = ", ".join(column(name).sql("duckdb") for name in (*STORED, *self.attributes))
        every = f"SELECT {columns} FROM ({united(connection, events, old)})"  # noqa: S608
        connection.execute(f"CREATE TABLE {target} AS {every} UNION ALL (FROM ({new})) LIMIT 0")
        for part in old:
            stored = table(EVENTS, part.file).sql("duckdb")
            connection.execute(
                f"INSERT INTO {target} SELECT {columns} FROM {stored} "  # noqa: S608
                f"WHERE case_id NOT IN (SELECT case_id FROM {_LEFT_OUT})"
            )
        connection.execute(f"INSERT INTO {target} {new}")


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
        log, files = replace(log, versions=versions), log.new_files()
        written = {}
        for part in log.parts:
            new = _without(part, events, gone, folder, files)
            if new is not None:
                written[part] = new
        for number, parts in versions.items():
            versions[number] = tuple(written.get(part, part) for part in parts)
        new_parts = [folder / part.file for part in written.values()]
        Successor(events, replace(log, versions=versions), new_parts).swap_in()
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
