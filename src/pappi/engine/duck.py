"""The embedded engine: case queries on a workspace's DuckDB file.

All that is DuckDB's own is here: its dialect, how results become arrays, and that its tables
are stored in the order of `pos`, so that a log can be cut into ranges of positions which hold
whole cases. Each is small enough for the caches, and what a range needs of memory does not grow
with the log. They are read side by side, one thread each: two threads in one range would have
to put their cases together again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sqlglot import exp

from pappi.engine.nodes import CASE_ID, POSITION, alias, column_named, table_named
from pappi.engine.query import written
from pappi.engine.sources import Source
from pappi.engine.table import Column
from pappi.engine.working import Calendars
from pappi.store.events import open_readonly
from pappi.store.events.replacing import open_beside

if TYPE_CHECKING:
    import duckdb

    from pappi.engine.engines import Engine

EVENTS_PER_RANGE = 2**20
MOST_AT_ONCE = 8

_LOOK_BACK = 1024

T = TypeVar("T")


@contextmanager
def opened(database: Path, calendars: Calendars) -> Iterator[Duck]:
    """An events file and the calendars that queries join."""
    with open_readonly(database) as connection:
        yield Duck(connection, calendars)


class Duck:
    """An open events file."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, calendars: Calendars) -> None:
        self._connection = connection
        self._calendars = calendars
        for days in calendars.values():
            connection.register(days.name, days.arrow())

    def columns(self, query: exp.Expr) -> dict[str, Column]:
        """The columns of a result: NaN is a missing number, None a missing text."""
        found = self._connection.execute(written(query)).fetchnumpy()
        return {name: _with_gaps(column) for name, column in found.items()}

    def row(self, query: exp.Expr) -> tuple[Any, ...]:
        return self._connection.execute(written(query)).fetchone() or ()

    def each_range(self, table: str, read: Callable[[Engine, Source], T]) -> Iterator[T]:
        """What is read of every range of a log, in their order."""
        sources = list(self._sources(table))
        if len(sources) == 1:
            yield read(self, sources[0])
            return
        self._connection.execute("SET threads = 1")  # each that reads brings its own
        with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_AT_ONCE)) as pool:
            yield from pool.map(lambda source: self._apart(source, read), sources)

    def _apart(self, source: Source, read: Callable[[Engine, Source], T]) -> T:
        with open_beside(self._connection) as own:
            return read(Duck(own, self._calendars), source)

    def _sources(self, table: str) -> Iterator[Source]:
        """The log in ranges of whole cases; one if it is small, or empty."""
        first, last = self.row(_ends_of(table_named(table)))
        if first is None or last - first < EVENTS_PER_RANGE:
            yield Source(table, in_order=True)
            return
        cuts = range(first + EVENTS_PER_RANGE, last + 1, EVENTS_PER_RANGE)
        borders = sorted({first, *(self._case_start(table, cut) for cut in cuts)})
        for rows in pairwise((*borders, last + 1)):
            yield Source(table, rows, in_order=True)

    def _case_start(self, table: str, position: int) -> int:
        """Where the case begins that has the last event up to a position."""
        back = _LOOK_BACK
        while True:
            begins, looked_from = self.row(_start_query(table, position, back))
            if begins is None:
                return position
            if begins > looked_from:
                return int(begins)
            lowest, _ = self.row(_ends_of(table_named(table)))
            if position - back < lowest:
                return int(begins)
            back *= 16


def _ends_of(events: exp.Expr) -> exp.Select:
    ends = exp.Min(this=POSITION.copy()), exp.Max(this=POSITION.copy())
    return exp.select(*ends, copy=False).from_(events, copy=False)


def _start_query(table: str, position: int, back: int) -> exp.Select:
    """The first event of a position's case among so many before it, and the first of all those."""
    rows = position - back + 1, position + 1
    case = exp.ArgMax(this=column_named(CASE_ID), expression=POSITION.copy())
    last = exp.select(alias(case, "last"), copy=False).from_(
        Source(table, rows).events(), copy=False
    )
    same = exp.EQ(this=column_named(CASE_ID), expression=last.subquery(copy=False))
    begins = exp.Filter(this=exp.Min(this=POSITION.copy()), expression=exp.Where(this=same))
    found = exp.select(begins, exp.Min(this=POSITION.copy()), copy=False)
    return found.from_(Source(table, rows).events(), copy=False)


def _with_gaps(column: Column) -> Column:
    """Masked entries as NaN or None."""
    if not isinstance(column, np.ma.MaskedArray):
        return column
    plain = column.data
    # Not `filled(None)`, which means numpy's own filler: a question mark.
    plain[np.ma.getmaskarray(column)] = np.nan if column.dtype.kind == "f" else None
    return plain
