"""The embedded engine: case queries on a workspace's DuckDB files.

All that is DuckDB's own is here: its dialect, how results become arrays, and that logs
are stored in the order of `pos`, so that a log can be cut into ranges of positions which hold
whole cases. What a range needs of memory does not grow with the log. They are read side by side,
one thread each: two threads in one range would have to put their cases together again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from pappi.engine.bases import ORDER, PERSON, Calendars
from pappi.engine.expressions import (
    CASE_ID,
    FIRST,
    FIRST_POSITION,
    UNTIL,
    Source,
    filled_query,
    table_named,
)
from pappi.engine.folding import Folded
from pappi.engine.query import CaseQuery, Engine, written
from pappi.engine.table import Column, Scan, Texts
from pappi.store import CASES, PERSONS, knows_cases, of_persons, open_beside, open_readonly

if TYPE_CHECKING:
    import duckdb

EVENTS_PER_RANGE = 2**20
MANY_RANGES, LONGER = 32, 4
MOST_AT_ONCE = 8

# Small enough for the caches of a core.
EVENTS_PER_BATCH = 2**16

WHOLE: Mapping[str, int] = {}
_ENDS = 'SELECT MIN("pos"), MAX("pos") FROM :log'
_START = 'SELECT "first_pos" FROM :log WHERE "pos" = :at'
_STORED = 'SELECT "part", "first_pos", "case_id", "person" FROM :stored'
_WITHIN = f'{_STORED} WHERE "first_pos" >= :{FIRST} AND "first_pos" < :{UNTIL}'
_SIZES = 'SELECT "part", COUNT(*) AS "size" FROM :stored GROUP BY "part" ORDER BY "part"'
_NAMES = 'SELECT "person" FROM :stored ORDER BY "part", "number"'
_FOLDED, _WORKED = "folded cases", "worked cases"

T = TypeVar("T")


@contextmanager
def opened_duck(events: Path, table: str, calendars: Calendars) -> Iterator[Duck]:
    """A log and the calendars that queries join."""
    with open_readonly(events, table) as connection:
        # Or reading would fail where the texts of a batch are longer than 2 GB.
        connection.execute("SET arrow_large_buffer_size = true")
        yield Duck(connection, calendars)


class Duck:
    """An open log, or a range of it."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        calendars: Calendars,
        rows: Mapping[str, int] = WHOLE,
        persons: dict[str, _Persons] | None = None,
    ) -> None:
        self._connection = connection
        self._calendars = calendars
        self._rows = rows
        self._persons = {} if persons is None else persons
        for days in calendars.values():
            connection.register(days.name, days.arrow())

    def cases(self, query: CaseQuery, source: Source) -> Scan:
        folding = query.folding if source.in_order else None
        person = query.identify.person if query.identify else None
        if folding and person is not None and knows_cases(self._connection, person):
            cases = self.cases(query.anonymous, source)
            return cases | self._who(person, cases[ORDER])
        if folding is None:
            return {
                **self._columns(query.written(source, lambda: query.select(source)), self._rows)
            }
        events = query.written(source, lambda: folding.events(source))
        with self._read(events) as batches:
            folded = folding.cases(batches)
        if query.bases.spans:
            worked = query.written(
                _WORKED, lambda: query.around(query.bases.with_working_time(_every_folded()))
            )
            return {**self._columns_of(folded, worked)}
        columns = {name: _unfolded(folded[column], name) for name, column in query.folded.items()}
        if query.derived:
            formulas = query.written(_FOLDED, lambda: query.formulas(_every_folded()))
            inputs = {name: folded[name] for name in (ORDER, *query.in_formulas)}
            columns |= self._columns_of(inputs, formulas)
        return columns

    def _who(self, person: str, places: Column) -> Scan:
        """Who the cases at these places are, as they are stored."""
        if person not in self._persons:
            self._persons[person] = _Persons.of(
                self._all(_SIZES, PERSONS, person), partial(self._all, _NAMES, PERSONS, person)
            )
        stored = self._all(_WITHIN if self._rows else _STORED, CASES, person, self._rows)
        there = stored[FIRST_POSITION].to_numpy()
        if there.size == places.size and not np.array_equal(there, places):
            # In the order of the log, in which a query that joins a calendar leaves no cases.
            in_order = np.argsort(there)
            rows = in_order.take(np.searchsorted(there, places, sorter=in_order), mode="clip")
            stored, there = stored.take(rows), there[rows]
        if not np.array_equal(there, places):
            raise LookupError("the cases of a log are not those of its events")
        return {CASE_ID: stored[CASE_ID], PERSON: self._persons[person].numbers(stored)}

    def _all(self, query: str, what: str, person: str, rows: Mapping[str, int] = WHOLE) -> pa.Table:
        borders = {name: exp.Placeholder(this=name) for name in rows}
        read = filled_query(query, stored=table_named(of_persons(what, person)), **borders)
        return self._connection.sql(written(read), params=dict(rows)).to_arrow_table()

    def columns(self, query: exp.Expr) -> dict[str, Column]:
        """The columns of a result: NaN is a missing number, None a missing text."""
        return self._columns(written(query), self._rows)

    def row(self, query: exp.Expr) -> tuple[Any, ...]:
        rows = self._connection.execute(written(query)).fetchall()
        return rows[0] if rows else ()

    def each_range(self, table: str, read: Callable[[Engine, Source], T]) -> Iterator[T]:
        """What is read of every range of a log, in their order."""
        ranges = list(self._ranges(table))
        if len(ranges) < 2:
            yield read(self, Source(table, in_order=True))
            return
        source = Source(table, ranged=True, in_order=True)
        self._connection.execute("SET threads = 1")  # each that reads brings its own

        def read_apart(rows: Mapping[str, int]) -> T:
            with open_beside(self._connection) as own:
                return read(Duck(own, self._calendars, rows, self._persons), source)

        with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_AT_ONCE)) as pool:
            yield from pool.map(read_apart, ranges)

    def _ranges(self, table: str) -> Iterator[Mapping[str, int]]:
        """The log in ranges of whole cases; none if it is empty."""
        first, last = self.row(filled_query(_ENDS, log=table_named(table)))
        if first is None:
            return
        # Each range costs something by itself, so that a large log is read in longer ones.
        longer = min((last - first) // MANY_RANGES, LONGER * EVENTS_PER_RANGE)
        length = max(EVENTS_PER_RANGE, longer)
        cuts = range(first + length, last + 1, length)
        borders = sorted({first, *(at for at in map(partial(self._start, table), cuts) if at)})
        for start, end in pairwise((*borders, last + 1)):
            yield {FIRST: start, UNTIL: end}

    def _start(self, table: str, position: int) -> int | None:
        """Where the case begins that has a position; None if that was erased."""
        at = exp.Literal.number(position)
        row = self.row(filled_query(_START, log=table_named(table), at=at))
        return int(row[0]) if row else None

    def _columns_of(self, folded: Folded, query: str) -> dict[str, Column]:
        table = {
            name: pa.chunked_array([_with_nulls(each) for each in chunks])
            for name, chunks in folded.items()
        }
        self._connection.register(_FOLDED, pa.table(table))
        return self._columns(query, WHOLE)

    def _columns(self, query: str, rows: Mapping[str, int]) -> dict[str, Column]:
        result = self._connection.execute(query, dict(rows)).fetchnumpy()
        return {name: _with_gaps(column) for name, column in result.items()}

    @contextmanager
    def _read(self, query: str) -> Iterator[pa.RecordBatchReader]:
        result = self._connection.sql(query, params=dict(self._rows))
        with result.to_arrow_reader(EVENTS_PER_BATCH) as batches:
            yield batches


@dataclass(frozen=True, slots=True)
class _Persons:
    """The numbers of the persons of a log, which are others in each of its parts."""

    begins: NDArray[np.int64]
    """Where the persons of each part begin among those of all."""
    known: NDArray[np.int64] | None
    """The number of each of them in the log; None where there is one part."""

    @classmethod
    def of(cls, sizes: pa.Table, names: Callable[[], pa.Table]) -> _Persons:
        part, size = (sizes[name].to_numpy() for name in ("part", "size"))
        begins = np.zeros(int(part.max(initial=0)) + 1, dtype=np.int64)
        begins[part] = np.cumsum(size) - size
        if part.size < 2:
            return cls(begins, None)
        coded = names()["person"].combine_chunks().dictionary_encode()
        return cls(begins, coded.indices.to_numpy().astype(np.int64))

    def numbers(self, cases: pa.Table) -> pa.Array:
        """For each case that of its person; null for none."""
        own = pc.fill_null(cases["person"], -1).to_numpy()
        if self.known is None:
            return pa.array(own, mask=own < 0)
        there = self.begins.take(cases["part"].to_numpy(), mode="clip") + own
        return pa.array(self.known.take(there, mode="clip"), mask=own < 0)


def _every_folded() -> exp.Select:
    return filled_query("SELECT * FROM :folded", folded=table_named(_FOLDED))


def _with_nulls(values: NDArray[Any] | pa.Array) -> pa.Array:
    return pa.array(values, from_pandas=True) if isinstance(values, np.ndarray) else values


def _unfolded(chunks: Sequence[NDArray[Any] | pa.Array], name: str) -> Column | Texts:
    """A column as queries give it: numbers are floats, and NaN if they are missing."""
    if isinstance(chunks[0], np.ndarray):
        dtype = np.int64 if name == ORDER else np.float64
        return np.concatenate(chunks, dtype=dtype, casting="unsafe")
    column = pa.chunked_array(chunks)
    if pa.types.is_dictionary(column.type):
        return column.unify_dictionaries().combine_chunks()
    if pa.types.is_boolean(column.type):
        return np.asarray(column.cast(pa.float64()).to_numpy())
    return column.cast(pa.large_string())


def _with_gaps(column: Column) -> Column:
    """Masked entries as NaN or None."""
    if not isinstance(column, np.ma.MaskedArray):
        return column
    plain = column.data
    # Not `filled(None)`, which means numpy's own filler: a question mark.
    plain[np.ma.getmaskarray(column)] = np.nan if column.dtype.kind == "f" else None
    return plain
