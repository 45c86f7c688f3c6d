"""Events on their way in: batches of a reader, kept in a staging file in file order.

Attributes turn up while reading, so the table grows columns. Nothing here touches the
workspace; a reader that fails halfway leaves only a folder to delete.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from sqlglot import exp

from pappi.eventlog.log import ACTIVITY, CASE, TIME, EventReader, Progress, RecordBatch
from pappi.store.events.sql import attach, column, table

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
        self._create(schema)
        with closing(reader.batches(progress)) as batches:
            for batch in batches:
                self._add(batch)  # commits each: an open transaction would sit in memory
        self._limit_memory()

    def make_room_to_sort(self) -> None:
        self._limit_memory(_TO_SORT_MB)

    def close(self) -> None:
        self.connection.close()

    def _create(self, schema: pa.Schema) -> None:
        definition = exp.Schema(this=table(SPOOL), expressions=[_definition(f) for f in schema])
        self._run(exp.Create(this=definition, kind="TABLE"))
        self.fields = schema.names
        self._limit_memory()

    def _add(self, batch: RecordBatch) -> None:
        numbers = pa.array(np.arange(self.events, self.events + batch.num_rows))
        numbered = batch.append_column(SEQUENCE, numbers)
        for field in numbered.schema:
            if field.name not in self.fields:
                self._run(exp.Alter(this=table(SPOOL), kind="TABLE", actions=[_definition(field)]))
                self.fields.append(field.name)
                self._limit_memory()
        self._insert(numbered)
        self.events += batch.num_rows

    def _limit_memory(self, most: int = _MOST_MEMORY_MB) -> None:
        wide = max(0, len(self.fields) - _NARROW)
        millions = max(0, self.events // 1_000_000 - 1)
        narrow = _MEMORY_MB + _MEMORY_MB_PER_MILLION * millions
        limit = min(narrow, most) + _MEMORY_MB_PER_COLUMN * wide
        self.connection.execute(f"SET memory_limit = '{limit}MB'")

    def _insert(self, batch: RecordBatch) -> None:
        names = batch.schema.names
        rows = exp.select(*map(column, names)).from_(table("batch"))
        self.connection.register("batch", batch)
        self._run(exp.insert(rows, into=table(SPOOL), columns=[column(n).this for n in names]))
        self.connection.unregister("batch")

    def _run(self, statement: exp.Expression) -> None:
        self.connection.execute(statement.sql("duckdb"))


def _definition(field: pa.Field) -> exp.ColumnDef:
    sql_type = exp.DataType.build(_SQL_TYPES[str(field.type)], dialect="duckdb")
    return exp.ColumnDef(this=column(field.name).this, kind=sql_type)
