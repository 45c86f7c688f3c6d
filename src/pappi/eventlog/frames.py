"""Parquet files, Arrow tables and data frames: columns that come with types.

Data frames are taken through the Arrow interface they export (`__arrow_c_stream__`),
so neither pandas nor polars is ever imported here. Types are kept; only times without
a zone, and event times that are texts, need to be interpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pappi.errors import LogFormatError, Option
from pappi.eventlog.arrow_types import StoredType, stored_type
from pappi.eventlog.clocks import LogClock, format_guess
from pappi.eventlog.inference import ALL_TIMES, ColumnType, TypeInference
from pappi.eventlog.limits import first_too_long, too_long
from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    TIME,
    ArrowArray,
    ArrowSchema,
    ArrowType,
    Batches,
    Column,
    Description,
    Guess,
    Kinds,
    Progress,
    RecordBatch,
    attribute_field,
    no_progress,
)
from pappi.eventlog.options import ReadOptions
from pappi.eventlog.roles import no_such_role, required_role, role_by_name, role_guess
from pappi.eventlog.times import time_format
from pappi.values.vocabulary import Kind

_ROWS = 50_000


class FrameReader:
    """A table with typed columns; `scan` gives its batches as often as asked.

    With `kinds`, what was declared, nothing is learned of one time from another.
    """

    def __init__(
        self,
        name: str,
        schema: ArrowSchema,
        rows: int,
        scan: Callable[[], Iterator[RecordBatch]],
        options: ReadOptions,
        kinds: Kinds | None = None,
    ) -> None:
        self._name = name
        self._schema = schema
        self._rows = rows
        self._scan = scan
        self._options = options
        self._clock = LogClock(options, learns=kinds is None)
        if len(schema.names) > options.most_columns:
            raise LogFormatError(
                name,
                None,
                f"{len(schema):,} columns, where {options.most_columns:,} are expected at most",
                hint="leave out what is no attribute of an event, or say that there are more",
                options=(Option("most_columns", str(len(schema))),),
            )
        self._case = required_role(name, "case", schema.names, options.case)
        self._activity = required_role(
            name, "activity", schema.names, options.activity, (self._case,)
        )
        self._time = self._time_column()
        self._written: ColumnType | None = None
        self._seen = TypeInference(options.missing, ALL_TIMES)
        taken = (self._case, self._activity, self._time)
        self._attributes: dict[int, StoredType] = {
            number: stored_type(field.type)
            for number, field in enumerate(schema)
            if number not in taken
        }

    @classmethod
    def of_frame(
        cls, frame: object, options: ReadOptions, kinds: Kinds | None = None
    ) -> FrameReader:
        import pyarrow as pa

        table = pa.table(frame)
        name = f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}"
        return cls(
            name,
            table.schema,
            table.num_rows,
            lambda: iter(table.to_batches(max_chunksize=_ROWS)),
            options,
            kinds,
        )

    @classmethod
    def of_parquet(
        cls, path: Path, options: ReadOptions, kinds: Kinds | None = None
    ) -> FrameReader:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            with parquet.ParquetFile(path) as file:
                schema, rows = file.schema_arrow, file.metadata.num_rows
        except (pa.ArrowException, OSError) as error:
            raise _damaged(path, error) from None
        return cls(path.name, schema, rows, lambda: _parquet_batches(path), options, kinds)

    @property
    def name(self) -> str:
        return self._name

    def batches(self, progress: Progress = no_progress) -> Batches:
        """As every reader; progress counts rows, since there may be no file."""
        if _is_text(self._schema.field(self._time).type):
            self._learn_time_format()
        done = 0
        for batch in self._scan():
            self._refuse_null_case(batch.column(self._case), done)
            canonical = self._canonical(batch)
            self._refuse_long_texts(canonical, done)
            yield canonical
            done += batch.num_rows
            progress(done, self._rows)

    def description(self) -> Description:
        columns = (
            Column(attribute_field(number), self._schema.names[number], of.kind, of.source)
            for number, of in self._attributes.items()
        )
        notices = (
            f"{self._schema.names[number]!r} {of.notice}"
            for number, of in self._attributes.items()
            if of.notice
        )
        told = (*notices, *self._clock.notices())
        return Description(tuple(columns), tuple(self._guesses()), told)

    def _time_column(self) -> int:
        names, taken = self._schema.names, (self._case, self._activity)
        found = role_by_name("timestamp", names, self._options.timestamp, taken)
        if found is not None:
            return found
        for number, field in enumerate(self._schema):
            if number not in taken and stored_type(field.type).kind == Kind.TIME:
                return number
        raise no_such_role(self._name, "timestamp", names, taken)

    def _learn_time_format(self) -> None:
        options = self._options
        said = () if options.time_format is None else (time_format(options.time_format),)
        self._seen = TypeInference(options.missing, said or ALL_TIMES)
        for batch in self._scan():
            self._seen.observe(_texts(batch.column(self._time)))
        if bad := self._seen.unreadable:
            raise self._defect(
                bad.row,
                f"{self._schema.names[self._time]!r} is {bad.text[:80]!r}, which is {bad.why}",
                "correct the value, or say how times are written, that another column has them, "
                "or what means no value",
                (Option("time_format"), Option("timestamp"), Option("missing")),
            )
        if self._seen.offsets:
            self._clock.trust_z()
        self._written = self._seen.time_type()

    def _refuse_long_texts(self, batch: RecordBatch, row: int) -> None:
        if batch.nbytes <= self._options.longest_text:
            return
        names = {attribute_field(number): self._schema.names[number] for number in self._attributes}
        for field, column in zip(batch.schema, batch.columns, strict=True):
            if str(field.type) != "string":
                continue
            if place := first_too_long(column, self._options.longest_text):
                name = names.get(field.name, field.name)
                raise self._defect(row + place - 1, *too_long(name, self._options))

    def _refuse_null_case(self, column: ArrowArray, row: int) -> None:
        import pyarrow.compute as pc

        if column.null_count:
            missing = pc.index(pc.is_null(column), value=True).as_py()
            raise self._defect(
                row + missing,
                f"the case ({self._schema.names[self._case]!r}) is missing",
                "every event must belong to a case; fill it in or leave the row out",
            )

    def _defect(
        self, row: int, cause: str, hint: str, options: Sequence[Option] = ()
    ) -> LogFormatError:
        where = f"in row {row + 1}, {cause}"
        return LogFormatError(self._name, None, where, hint=hint, options=options)

    def _canonical(self, batch: RecordBatch) -> RecordBatch:
        import pyarrow as pa

        arrays = {
            CASE: _texts(batch.column(self._case)),
            ACTIVITY: _texts(batch.column(self._activity)),
            TIME: self._times(batch.column(self._time)),
        }
        for number, of in self._attributes.items():
            arrays[attribute_field(number)] = of.convert(batch.column(number), self._clock)
        return pa.record_batch(arrays)

    def _times(self, column: ArrowArray) -> ArrowArray:
        import pyarrow as pa

        if self._written is not None:
            return self._clock.read(_texts(column), self._written)
        of = stored_type(column.type)
        if of.kind == Kind.TIME:
            return of.convert(column, self._clock)
        if column.null_count == len(column):
            return pa.nulls(len(column), pa.int64())
        return self._counted(column)

    def _counted(self, column: ArrowArray) -> ArrowArray:
        """Whole numbers as event times: only if the owner says what they count."""
        import pyarrow as pa

        said = self._options.time_format
        if said is None or not pa.types.is_integer(column.type):
            raise LogFormatError(
                self._name,
                None,
                f"{self._schema.names[self._time]!r} holds {column.type}, not times",
                hint="convert the column, name another one, or, if it counts from 1970, say in "
                "what: epoch-s, epoch-ms or epoch-us",
                options=(Option("timestamp"), Option("time_format", "epoch-s")),
            )
        return self._clock.read(_texts(column), ColumnType("time", (), time_format(said)))

    def _guesses(self) -> Iterator[Guess]:
        names, options = self._schema.names, self._options
        yield from role_guess("case", names[self._case], options.case)
        yield from role_guess("activity", names[self._activity], options.activity)
        yield from role_guess("timestamp", names[self._time], options.timestamp)
        if self._written is not None:
            yield from format_guess(self._written, self._seen, options)
        yield from self._clock.guesses()


def _parquet_batches(path: Path) -> Iterator[RecordBatch]:
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        try:
            yield from file.iter_batches(batch_size=_ROWS)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> LogFormatError:
    return LogFormatError(
        path.name,
        None,
        f"not a readable Parquet file: {error}",
        hint="write the file again, or copy it again",
    )


def _is_text(arrow_type: ArrowType) -> bool:
    return stored_type(arrow_type).source == "text"


def _texts(column: ArrowArray) -> ArrowArray:
    import pyarrow as pa

    return column.cast(pa.string())
