"""Looking into a log's events: cases by anchor, by person, by id; and whether they can be read.

`require_events` looks at the file, the names and types of columns, never at a row: no refusal
depends on data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from pappi.errors import WorkspaceError
from pappi.eventlog import CASE, TIME
from pappi.store.events.file import CANONICAL, POSITION, STORED, column, open_readonly, table
from pappi.values import CaseBorder, Kind

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
