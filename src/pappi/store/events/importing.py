"""Reading a whole log into a canonical event table of the workspace's DuckDB file.

    case_id VARCHAR, pos BIGINT, ts_us BIGINT, activity VARCHAR, first_pos BIGINT, <attributes…>

Cases stand in the order of their first event in the file; within a case, events are
ordered by time, those without time last, and by file order where times tie. `pos` is
the running number of that order over the whole log: unique, and rising within a case.
`first_pos` is that of the first event of the same case: a number for each case, far quicker
to read and to compare than its id.

On their way in, the batches of a reader are spooled into a staging file, in file order. Attributes
turn up while reading, so the spool grows columns. An import that fails leaves the workspace's file
exactly as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
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
from pappi.store.events.file import (
    FIRST_POSITION,
    POSITION,
    attach,
    changing,
    column,
    detach,
    event_tables,
    successor,
    swap_in,
    table,
    table_names,
)

Accept: TypeAlias = Callable[[ImportReport], None]

_NEXT = "successor"


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
        spool.limit_memory(_TO_SORT_MB)
        connection.execute(sorted_table(target, attributes))
    report = _report(connection, target, name, description)
    connection.commit()
    connection.execute(detach(_NEXT))
    return report


def _report(
    connection: duckdb.DuckDBPyConnection, source: exp.Table, name: str, description: Description
) -> ImportReport:
    """What an event table holds, by counting, and what its reader said of it."""
    attributes = description.columns
    names = table_names(attribute.name for attribute in attributes)
    counted = exp.select(
        exp.Count(this=exp.Star()),
        exp.Min(this=column(TIME)),
        exp.Max(this=column(TIME)),
        *(
            exp.Count(this=exp.Star()) - exp.Count(this=column(of))
            for of in (TIME, ACTIVITY, *names)
        ),
    ).from_(source)
    events, first, last, timeless, nameless, *missing = _row(connection, counted)
    cases, tied = _cases_and_ties(connection, source)
    named = column(ACTIVITY).is_(exp.null()).not_()
    activities = exp.select(column(ACTIVITY)).distinct().from_(source).where(named).sql("duckdb")
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
        activities=tuple(sorted(name for (name,) in connection.execute(activities).fetchall())),
        columns=tuple(
            StoredColumn(new, attribute.name, attribute.kind, attribute.source_type, absent)
            for attribute, new, absent in zip(attributes, names, missing, strict=True)
        ),
        guesses=description.guesses,
        notices=(*description.notices, *renamed),
    )


# --- events on their way in ----------------------------------------------------------


SPOOL = "spool"
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
        schema = pa.schema(
            {CASE: pa.string(), ACTIVITY: pa.string(), TIME: pa.int64(), SEQUENCE: pa.int64()}
        )
        definition = exp.Schema(this=table(SPOOL), expressions=[_definition(f) for f in schema])
        self._run(exp.Create(this=definition, kind="TABLE"))
        self.fields = schema.names
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
                self._run(exp.Alter(this=table(SPOOL), kind="TABLE", actions=[_definition(field)]))
                self.fields.append(field.name)
                self.limit_memory()
        names = numbered.schema.names
        rows = exp.select(*map(column, names)).from_(table("batch"))
        self.connection.register("batch", numbered)
        self._run(exp.insert(rows, into=table(SPOOL), columns=[column(n).this for n in names]))
        self.connection.unregister("batch")
        self.events += batch.num_rows

    def limit_memory(self, most: int = _MOST_MEMORY_MB) -> None:
        wide = max(0, len(self.fields) - _NARROW)
        millions = max(0, self.events // 1_000_000 - 1)
        narrow = _MEMORY_MB + _MEMORY_MB_PER_MILLION * millions
        limit = min(narrow, most) + _MEMORY_MB_PER_COLUMN * wide
        self.connection.execute(f"SET memory_limit = '{limit}MB'")

    def _run(self, statement: exp.Expression) -> None:
        self.connection.execute(statement.sql("duckdb"))


def _definition(field: pa.Field) -> exp.ColumnDef:
    sql_type = exp.DataType.build(_SQL_TYPES[str(field.type)], dialect="duckdb")
    return exp.ColumnDef(this=column(field.name).this, kind=sql_type)


# --- the canonical table -------------------------------------------------------------


_ORDER = "event_order"
_FIRST, _SIZE, _BEFORE = "first", "size", "case_before"


def order_table() -> str:
    """The statement that numbers the spooled events; narrow, so that it fits in memory."""
    rows = (
        exp.select(
            column(SEQUENCE, "e"),
            exp.alias_(running_number(), POSITION, quoted=True),
            column(FIRST_POSITION, "c"),
        )
        .from_(exp.alias_(table(SPOOL), "e", table=True))
        .join(numbered_cases(), on=column(CASE, "e").eq(column(CASE, "c")))
    )
    return exp.Create(this=table(_ORDER), kind="TABLE", expression=rows).sql("duckdb")


def numbered_cases() -> exp.Subquery:
    """As `c`, each case of the spool: where it came first, and its first position in the order."""
    first, size = column(_FIRST), column(_SIZE)
    cases = exp.select(
        column(CASE),
        exp.alias_(exp.Min(this=column(SEQUENCE)), first.name),
        exp.alias_(exp.Count(this=exp.Star()), size.name),
    )
    cases = cases.from_(table(SPOOL)).group_by(column(CASE))
    up_to_here = exp.Window(
        this=exp.Sum(this=size), order=exp.Order(expressions=[exp.Ordered(this=first)])
    )
    before = exp.Sub(this=up_to_here, expression=size.copy())
    begins = exp.cast(exp.Add(this=before, expression=exp.Literal.number(1)), "BIGINT")
    return (
        exp.select(column(CASE), first.copy(), exp.alias_(begins, FIRST_POSITION, quoted=True))
        .from_(cases.subquery("sized"))
        .subquery("c")
    )


def running_number() -> exp.Expression:
    """Of events `e` and their cases `c`."""
    order = [
        exp.Ordered(this=column(_FIRST, "c")),
        exp.Ordered(this=column(TIME, "e"), nulls_first=False),
        exp.Ordered(this=column(SEQUENCE, "e")),
    ]
    return exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))


def is_in_order(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the spooled events came in the order they are to have, as most logs do.

    Looks at each event and the one before it, as they are stored; should they be given in
    another order than stored, `seq` shows it, and the answer is no.
    """
    pairs = (
        f"SELECT {CASE} AS c, {TIME} AS t, {SEQUENCE} AS n, lag({CASE}) OVER () AS c0, "  # noqa: S608
        f"lag({TIME}) OVER () AS t0, lag({SEQUENCE}) OVER () AS n0 FROM {SPOOL}"
    )
    row = connection.execute(
        "SELECT count(*) FILTER (c IS DISTINCT FROM c0) = count(DISTINCT c) "  # noqa: S608
        "AND count(*) FILTER (c = c0 AND (t < t0 OR t0 IS NULL AND t IS NOT NULL)) = 0 "
        f"AND count(*) FILTER (n <> n0 + 1) = 0 FROM ({pairs})"
    ).fetchone()
    return row is not None and bool(row[0])


def copied_table(target: exp.Table, attributes: Sequence[tuple[str, str]]) -> str:
    """The statement that copies a spool that is in order; attributes are (field, name)."""
    number = exp.Add(this=column(SEQUENCE, "e"), expression=exp.Literal.number(1))
    begins = exp.NullSafeNEQ(this=column(CASE, "e"), expression=column(_BEFORE, "e"))
    # The last number at which a case began: found on the way, as it is the largest so far.
    first = exp.Window(
        this=exp.Max(this=exp.Case(ifs=[exp.If(this=begins, true=number.copy())])),
        spec=exp.WindowSpec(
            kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW"
        ),
    )
    before = exp.Window(this=exp.Lag(this=column(CASE)))
    spooled = exp.select(exp.Star(), exp.alias_(before, _BEFORE)).from_(table(SPOOL))
    rows = _canonical(number, first, attributes).from_(spooled.subquery("e"))
    return exp.Create(this=target, kind="TABLE", expression=rows).sql("duckdb")


def sorted_table(target: exp.Table, attributes: Sequence[tuple[str, str]]) -> str:
    """The statement that sorts the spool into `target`; attributes are (field, name)."""
    ordered = exp.alias_(table(_ORDER), "o", table=True)
    rows = (
        _canonical(column(POSITION, "o"), column(FIRST_POSITION, "o"), attributes)
        .from_(exp.alias_(table(SPOOL), "e", table=True))
        .join(ordered, on=column(SEQUENCE, "e").eq(column(SEQUENCE, "o")))
        .order_by(column(POSITION, "o"))
    )
    return exp.Create(this=target, kind="TABLE", expression=rows).sql("duckdb")


def _canonical(
    number: exp.Expr, first: exp.Expr, attributes: Sequence[tuple[str, str]]
) -> exp.Select:
    return exp.select(
        column(CASE, "e"),
        exp.alias_(number, POSITION, quoted=True),
        column(TIME, "e"),
        column(ACTIVITY, "e"),
        exp.alias_(first, FIRST_POSITION, quoted=True),
        *(exp.alias_(column(field, "e"), name, quoted=True) for field, name in attributes),
    )


def _cases_and_ties(connection: duckdb.DuckDBPyConnection, source: exp.Table) -> tuple[int, ...]:
    """How many events begin a case, and how many share their time with a neighbour in theirs.

    Events are stored in order, so that both neighbours are at hand: no group has to be found.
    """
    stored = source.sql("duckdb")
    beside = (
        f"SELECT {POSITION} AS n, {FIRST_POSITION} AS c, {TIME} AS t, "  # noqa: S608
        f"lag({FIRST_POSITION}) OVER () AS c0, lag({TIME}) OVER () AS t0, "
        f"lead({FIRST_POSITION}) OVER () AS c1, lead({TIME}) OVER () AS t1 FROM {stored}"
    )
    return _row(
        connection,
        "SELECT count(*) FILTER (n = c), "  # noqa: S608
        f"count(*) FILTER (c = c0 AND t = t0 OR c = c1 AND t = t1) FROM ({beside})",
    )


def _row(connection: duckdb.DuckDBPyConnection, query: exp.Expression | str) -> tuple[int, ...]:
    text = query if isinstance(query, str) else query.sql("duckdb")
    row = connection.execute(text).fetchone()
    return tuple(row or ())
