"""Parquet files, Arrow tables and data frames: columns that come with types.

Data frames are taken through the Arrow interface they export (`__arrow_c_stream__`),
so neither pandas nor polars is ever imported here. Types are kept; only times without
a zone, and event times that are texts, need to be interpreted.

Four storage types are enough for every engine (64-bit integers, doubles, truth values,
text); what cannot be one of them without loss becomes JSON text, and is reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet, types

from pappi.errors import LogFormatError, Option
from pappi.eventlog.files import refuse_long_texts, refuse_many_columns
from pappi.eventlog.inference import ALL_TIMES, ColumnType, LogClock, TypeInference, format_guess
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
    ReadOptions,
    RecordBatch,
    attribute_field,
    no_progress,
    no_such_role,
    required_role,
    role_by_name,
    role_guess,
)
from pappi.eventlog.times import instants, time_format
from pappi.values import Kind

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
        refuse_many_columns(name, None, len(schema), options)
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
        if stored_type(self._schema.field(self._time).type).source == "text":
            self._learn_time_format()
        names = {attribute_field(number): self._schema.names[number] for number in self._attributes}
        done = 0
        for batch in self._scan():
            column = batch.column(self._case)
            if column.null_count:
                missing = pc.index(pc.is_null(column), value=True).as_py()
                raise self._defect(
                    done + missing,
                    f"the case ({self._schema.names[self._case]!r}) is missing",
                    "every event must belong to a case; fill it in or leave the row out",
                )
            arrays = {
                CASE: _texts(batch.column(self._case)),
                ACTIVITY: _texts(batch.column(self._activity)),
                TIME: self._times(batch.column(self._time)),
            }
            for n, of in self._attributes.items():
                arrays[attribute_field(n)] = of.convert(batch.column(n), self._clock)
            canonical = pa.record_batch(arrays)
            refuse_long_texts(canonical, names, self._options, self._defect, done)
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
        position = role_by_name("timestamp", names, self._options.timestamp, taken)
        if position is not None:
            return position
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
            raise self._defect(bad.row, *bad.defect(self._schema.names[self._time]))
        if self._seen.offsets:
            self._clock.trust_z()
        self._written = self._seen.time_type()

    def _defect(
        self, row: int, cause: str, hint: str, options: Sequence[Option] = ()
    ) -> LogFormatError:
        where = f"in row {row + 1}, {cause}"
        return LogFormatError(self._name, None, where, hint=hint, options=options)

    def _times(self, column: ArrowArray) -> ArrowArray:
        if self._written is not None:
            return self._clock.read(_texts(column), self._written)
        of = stored_type(column.type)
        if of.kind == Kind.TIME:
            return of.convert(column, self._clock)
        if column.null_count == len(column):
            return pa.nulls(len(column), pa.int64())
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


def _texts(column: ArrowArray) -> ArrowArray:
    return column.cast(pa.string())


# --- how each Arrow type is stored ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredType:
    """Kind, source type in plain words, conversion, and what the owner should know."""

    kind: Kind
    source: str
    convert: Callable[[ArrowArray, LogClock], ArrowArray]
    notice: str = ""


def stored_type(arrow_type: ArrowType) -> StoredType:
    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if str(arrow_type) in ("null", "string", "large_string", "string_view"):
        return StoredType(Kind.TEXT, "text", _cast_to("string"))
    if types.is_boolean(arrow_type):
        return StoredType(Kind.TRUTH, "boolean", _cast_to("bool"))
    if types.is_timestamp(arrow_type) or types.is_date(arrow_type):
        return StoredType(Kind.TIME, "time", _time)
    if types.is_duration(arrow_type):
        return StoredType(Kind.DURATION, "duration", _duration)
    return _stored_number(arrow_type) or StoredType(
        Kind.TEXT, "json", _json, f"holds {arrow_type}: kept as JSON text"
    )


def _stored_number(arrow_type: ArrowType) -> StoredType | None:
    if types.is_uint64(arrow_type):  # may exceed 64 bits with a sign
        return StoredType(Kind.TEXT, "text", _cast_to("string"), "holds uint64: kept as text")
    if types.is_integer(arrow_type):
        return StoredType(Kind.NUMBER, "integer", _cast_to("int64"))
    if types.is_floating(arrow_type):
        return StoredType(Kind.NUMBER, "float", _cast_to("float64"))
    if types.is_decimal(arrow_type):
        notice = f"holds {arrow_type}: kept as the nearest double"
        return StoredType(Kind.NUMBER, "float", _nearest_doubles, notice)
    return None


def _cast_to(name: str) -> Callable[[ArrowArray, LogClock], ArrowArray]:
    def cast(column: ArrowArray, _clock: LogClock) -> ArrowArray:
        return column.cast(pa.type_for_alias(name))

    return cast


def _nearest_doubles(column: ArrowArray, _clock: LogClock) -> ArrowArray:
    """By way of text: Arrow's own conversion scales by a double, and is off for one in ten prices.

    As whole numbers with an exponent, because Arrow writes no decimal of an unusual scale.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    of = column.type
    wide = {32: pa.decimal32, 64: pa.decimal64, 128: pa.decimal128, 256: pa.decimal256}
    digits = column.view(wide[of.bit_width](of.precision, 0)).cast(pa.string())
    written = pc.binary_join_element_wise(digits, f"e{-of.scale}", "")
    return written.cast(pa.float64())


def _time(column: ArrowArray, clock: LogClock) -> ArrowArray:
    """UTC microseconds; a time without zone is wall clock of the log's zone, or UTC."""
    us = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False)
    numbers = us.cast(pa.int64())
    if getattr(column.type, "tz", None) is not None:
        return numbers
    clock.without_offset += len(column) - column.null_count
    if clock.clock.zone is None:
        return numbers
    wall = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    absent = numbers.is_null().to_numpy(zero_copy_only=False)
    read = instants(wall[~absent], clock.clock.zone)
    clock.skipped += read.skipped
    clock.twice += read.twice
    us = np.zeros(len(wall), np.int64)
    us[~absent] = read.us
    return pa.array(us, pa.int64(), mask=absent)


def _duration(column: ArrowArray, _clock: LogClock) -> ArrowArray:
    return column.cast(pa.duration("us"), safe=False).cast(pa.int64())


def _json(column: ArrowArray, _clock: LogClock) -> ArrowArray:
    texts = (
        None if value is None else json.dumps(value, ensure_ascii=False, default=str)
        for value in column.to_pylist()
    )
    return pa.array(list(texts), pa.string())
