"""Whether a log's events could be read: found out before anything is charged.

Looks at the file, the names and types of columns, never at a row: no refusal depends on data.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path

import duckdb
from sqlglot import exp

from pappi.errors import WorkspaceError
from pappi.store.events.names import CANONICAL, STORED
from pappi.store.events.replacing import open_file
from pappi.store.events.sql import column, table
from pappi.values.vocabulary import Kind

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
        found = database.stat()
    except OSError as error:
        raise WorkspaceError(
            f"the events file {database.name} is missing", hint=_HINT, detail=str(error)
        ) from None
    identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    _require(database, identity, name, tuple(attributes.items()))


@lru_cache(maxsize=256)
def _require(
    database: Path, identity: tuple[int, ...], name: str, attributes: tuple[tuple[str, Kind], ...]
) -> None:
    kinds = {each: kind for each, kind in attributes if each not in CANONICAL}
    columns = (*STORED, *kinds)
    with closing(open_file(database)) as connection:
        try:
            ((block, count),) = connection.execute(_SIZE).fetchall()
            asked = exp.select(*map(column, columns)).from_(table(name)).sql("duckdb")
            types = connection.execute(f"DESCRIBE {asked}").fetchall()
        except duckdb.Error as error:
            raise WorkspaceError(
                f"the events file {database.name} does not hold this log as it is declared",
                hint=_HINT,
                detail=str(error),
            ) from None
    if _HEADERS + block * count > identity[2]:
        raise WorkspaceError(f"the events file {database.name} is cut off", hint=_HINT)
    found = [row[1] for row in types]
    expected: list[tuple[str, ...]] = [(each,) for each in _TYPES.values()]
    expected += [_ATTRIBUTE_TYPES.get(kind, (_WHOLE,)) for kind in kinds.values()]
    if any(one not in allowed for one, allowed in zip(found, expected, strict=True)):
        raise WorkspaceError(
            f"the events file {database.name} does not have the columns this version reads",
            hint=_HINT,
        )
