"""Erasing cases from a log's events, so that no byte of the file still holds them.

Deleting rows would only mark them: what stays is copied into a fresh file, which takes the
old one's place.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa

from pappi.eventlog.log import CASE
from pappi.store.events import changing
from pappi.store.events.parts import SUCCESSOR, Versioned, drop_leftovers, relations
from pappi.store.events.replacing import spill_folder, successor, swap_in
from pappi.store.events.sql import attach, column, detach, table

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
                    connection.execute(_without(name))
            connection.execute(f"COPY FROM DATABASE {SUCCESSOR} TO {_FRESH}")
            connection.execute(detach(_FRESH))
        swap_in(fresh, database)
    _sweep_spilled(database)


def _sweep_spilled(database: Path) -> None:
    """What queries that were killed had put aside. One that runs now may fail, and be repeated."""
    for left in spill_folder(database).glob("*"):
        left.unlink(missing_ok=True)


def _without(name: str) -> str:
    source, case = table(name, SUCCESSOR).sql("duckdb"), column(CASE).sql("duckdb")
    return f"DELETE FROM {source} WHERE {case} IN (SELECT {case} FROM {_ERASED})"  # noqa: S608
