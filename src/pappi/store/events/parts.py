"""A log that grows: part tables, and views that unite them.

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
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from pappi.errors import WorkspaceError
from pappi.eventlog import ACTIVITY, CASE, TIME, EventReader, no_progress
from pappi.store.events.file import (
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
from pappi.store.events.importing import (
    SPOOL,
    Spool,
    numbered_cases,
    running_number,
)
from pappi.values import Kind

# A query over more parts than this spends its time on planning: then they become one.
MOST_PARTS = 32
# Whoever decided by an older declaration is done within far fewer seals than these.
_KEPT_VERSIONS = 4

SUCCESSOR = "successor"
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
    fields = [
        exp.ColumnDef(this=column(field).this, kind=exp.DataType.build(of, dialect="duckdb"))
        for field, of in types.items()
    ]
    with changing(database) as folder:
        if name in event_tables(database):
            raise WorkspaceError(f"the workspace has a log called {name!r} already")
        new = successor(database, folder)
        with closing(duckdb.connect(str(new))) as connection:
            schema = exp.Schema(this=table(name), expressions=fields)
            connection.execute(exp.Create(this=schema, kind="TABLE").sql("duckdb"))
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
        joined = bool(self.reopened) or len(older) >= MOST_PARTS
        following = self.current.next
        # Stored in their order: the engine reads a log from one position to another.
        rows: exp.Query = self._with_older() if joined else self._numbered()
        rows_of = rows.order_by(column(POSITION))
        part = table(following.part, SUCCESSOR)
        created = exp.Create(this=part, kind="TABLE", expression=rows_of)
        connection.execute(created.sql("duckdb"))
        parts = (following.part,) if joined else (*older, following.part)
        connection.execute(f"USE {SUCCESSOR}")  # so that the view names its parts without the file
        united = " UNION ALL ".join(
            exp.select(*map(column, self._columns)).from_(table(part)).sql("duckdb")
            for part in parts
        )
        connection.execute(f"CREATE VIEW {table(following.view).sql('duckdb')} AS {united}")
        connection.execute("USE staging")
        _drop_outdated(connection, following)

    def _numbered(self) -> exp.Select:
        """The new events in canonical order, `pos` going on where the current version ends."""
        last = exp.select(exp.Max(this=column(POSITION))).from_(table(self.current.view, SUCCESSOR))
        begun = exp.Coalesce(this=last.subquery(), expressions=[exp.Literal.number(0)])
        fields = [
            exp.alias_(column(f"a{n}", "e"), name, quoted=True)
            for n, name in enumerate(self.attributes)
        ]
        return (
            exp.select(
                column(CASE, "e"),
                exp.alias_(running_number() + begun, POSITION, quoted=True),
                column(TIME, "e"),
                column(ACTIVITY, "e"),
                exp.alias_(column(FIRST_POSITION, "c") + begun, FIRST_POSITION, quoted=True),
                *fields,
            )
            .from_(exp.alias_(table(SPOOL), "e", table=True))
            .join(numbered_cases(), on=column(CASE, "e").eq(column(CASE, "c")))
        )

    def _with_older(self) -> exp.Query:
        """One part instead of all: the current version without the reopened cases, and the new."""
        kept = (
            exp.select(*map(column, self._columns))
            .from_(table(self.current.view, SUCCESSOR))
            .where(column(CASE).isin(query=exp.select(column(CASE)).from_(_LEFT_OUT)).not_())
        )
        return exp.union(kept, self._numbered(), distinct=False)

    @property
    def _columns(self) -> tuple[str, ...]:
        return (*STORED, *self.attributes)


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
    # What queries that were killed had put aside. One that runs now may fail, and be repeated.
    for left in spill_folder(database).glob("*"):
        left.unlink(missing_ok=True)
