"""Logs that are tables: delimited text, Parquet files, Arrow tables and data frames.

A CSV file is read twice. The first pass decides types, time format and missing-value markers by
the whole file; the second gives typed batches. Memory holds one block of the file at a time.

Arrow reads the file as texts; the standard library's reader, which counts lines, is used for
the header and, when something is wrong, to find the line to name.

Data frames are taken through the Arrow interface they export (`__arrow_c_stream__`),
so neither pandas nor polars is ever imported here. Types are kept; only times without
a zone, and event times that are texts, need to be interpreted.

Four storage types are enough for every engine (64-bit integers, doubles, truth values,
text); what cannot be one of them without loss becomes JSON text, and is reported.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet, types

from pappi.errors import LogFormatError, Option, UsageError
from pappi.eventlog.files import (
    LogFile,
    open_log_file,
    refuse_long_texts,
    refuse_many_columns,
)
from pappi.eventlog.inference import (
    ALL_TIMES,
    FORMATS,
    ColumnType,
    LogClock,
    TimeFormat,
    TypeInference,
    blanked,
    format_guess,
    instants,
    time_format,
    typed,
)
from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    DELIMITERS,
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
)
from pappi.values import Kind

# --- which column is the case, which the activity, which the time --------------------


_SHOWN = 30
# Best first, written without case, blanks and punctuation.
_USUAL_NAMES = {
    "case": (
        "caseconceptname", "caseid", "case", "casename", "casenumber", "casekey", "idcase",
        "caseidentifier", "traceid", "trace", "tracename", "processinstanceid", "processinstance",
        "instanceid", "caseuid", "ticketid", "ticket", "incidentid", "orderid", "patientid",
    ),
    "activity": (
        "conceptname", "activity", "activityname", "activityid", "activitytype", "activitylabel",
        "eventname", "event", "eventtype", "eventlabel", "task", "taskname", "action", "step",
        "operation", "label",
    ),
    "timestamp": (
        "timetimestamp", "timestamp", "completetimestamp", "completiontimestamp", "endtimestamp",
        "eventtimestamp", "eventtime", "completetime", "completiontime", "endtime", "time",
        "datetime", "eventdatetime", "eventdate", "ts", "tsus", "date", "enddate", "end",
        "complete", "starttimestamp", "starttime", "startdate", "start", "when",
    ),
}  # fmt: skip


class _Table:
    """Which of a table's columns is the case, which the activity, which the time: said or guessed.

    With `kinds`, what was declared, nothing is learned of one value from another.
    """

    def __init__(
        self, name: str, names: Sequence[str], options: ReadOptions, kinds: Kinds | None
    ) -> None:
        self.name = name
        self._names = names
        self._options = options
        self._clock = LogClock(options, learns=kinds is None)
        self._case = self._required("case")
        self._activity = self._required("activity", self._case)
        self._timestamp = self._by_name("timestamp", self._case, self._activity)

    def _by_name(self, role: str, *taken: int) -> int | None:
        """The position of the column in that role: the one said, or the most usual name."""
        names, said = self._names, getattr(self._options, role)
        if said is not None:
            if said in names:
                return names.index(said)
            close = difflib.get_close_matches(said, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"columns are {_some_of(names)}"
            raise UsageError(f"there is no column {said!r} to take the {role} from", hint=hint)
        plain = {
            _plain(name): position
            for position, name in reversed(list(enumerate(names)))
            if position not in taken
        }
        return next((plain[usual] for usual in _USUAL_NAMES[role] if usual in plain), None)

    def _required(self, role: str, *taken: int) -> int:
        position = self._by_name(role, *taken)
        if position is None:
            raise self._lacks(role, *taken)
        return position

    def _lacks(self, role: str, *taken: int) -> LogFormatError:
        return LogFormatError(
            self.name,
            1,
            f"no column looks like the {role}; the columns are {_some_of(self._names)}",
            hint=f"say which column is the {role}, e.g.",
            options=(Option(role, _likeliest(role, self._names, taken)),),
        )

    def _role_guesses(self, *positions: int) -> Iterator[Guess]:
        """What to report about the roles that nobody named."""
        for role, position in zip(("case", "activity", "timestamp"), positions, strict=False):
            if getattr(self._options, role) is None:
                yield Guess(f"{role} column", repr(self._names[position]), role)


def _likeliest(role: str, names: Sequence[str], taken: Sequence[int]) -> str:
    """A column whose name holds one of the usual ones, such as ocel:activity; else the first."""
    free = [name for position, name in enumerate(names) if position not in taken] or list(names)
    plain = {_plain(name): name for name in reversed(free)}
    for fits in (str.endswith, str.__contains__):
        for usual in _USUAL_NAMES[role]:
            likely = next((name for bare, name in plain.items() if fits(bare, usual)), None)
            if likely is not None:
                return likely
    return free[0]


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _some_of(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_SHOWN]))
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


# --- delimited text ------------------------------------------------------------------


_BLOCK = 1 << 22
_SAMPLE = 1 << 16
_DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}


class CsvReader(_Table):
    """One delimited text file with a header line.

    With `kinds`, what was declared, the types of attributes are not learned: they come as texts.
    """

    def __init__(self, path: Path, options: ReadOptions, kinds: Kinds | None = None) -> None:
        self._kinds = kinds
        self._format = None if options.time_format is None else time_format(options.time_format)
        self._source = CsvSource(path, options)
        super().__init__(path.name, self._source.names, options, kinds)
        self._time = self._timestamp
        self._seen = [
            TypeInference(options.missing, self._possible_times(number))
            for number in range(len(self._names))
        ]
        self._attributes: dict[int, ColumnType] = {}
        self._time_type: ColumnType | None = None

    def batches(self, progress: Progress = no_progress) -> Batches:
        self._learn(lambda done, total: progress(done, 2 * total))
        row = 0
        for texts in self._source.batches(lambda done, total: progress(total + done, 2 * total)):
            empty = pc.index(texts.column(self._case), "").as_py()
            if empty >= 0:
                raise self._source.defect(
                    row + empty,
                    f"the case ({self._names[self._case]!r}) is empty",
                    "every event must belong to a case; fill it in or remove the line",
                )
            arrays = {
                CASE: texts.column(self._case),
                ACTIVITY: blanked(texts.column(self._activity), ()),
                TIME: self._times(texts),
            }
            for number, of in self._attributes.items():
                read = self._clock.read if of.name == "time" else typed
                arrays[attribute_field(number)] = read(texts.column(number), of)
            yield pa.record_batch(arrays)
            row += texts.num_rows

    def description(self) -> Description:
        columns = (
            Column(attribute_field(number), self._names[number], of.kind, of.name)
            for number, of in self._attributes.items()
        )
        return Description(tuple(columns), tuple(self._guesses()), tuple(self._notices()))

    def _possible_times(self, number: int) -> Sequence[TimeFormat]:
        """A format that was said is the only one for event times, the first for others.

        A count since 1970 can be the time of events, but as an attribute it is just a number.
        """
        if number == self._time:
            return ALL_TIMES if self._format is None else (self._format,)
        said = () if self._format is None else (self._format,)
        return (*said, *FORMATS.values())

    def _learn(self, progress: Progress) -> None:
        observed = [n for n in range(len(self._seen)) if self._to_be_learned(n)]
        for texts in self._source.batches(progress):
            for number in observed:
                self._seen[number].observe(texts.column(number))
        time = self._time_column()
        self._time = time
        seen = self._seen[time]
        if bad := seen.unreadable:
            raise self._source.defect(bad.row, *bad.defect(self._names[time]))
        self._time_type = seen.time_type()
        self._attributes = {
            number: self._attribute_type(number)
            for number in range(len(self._seen))
            if number not in (self._case, self._activity, time)
        }
        times = [n for n, of in self._attributes.items() if of.name == "time"]
        if any(self._seen[number].offsets for number in (time, *times)):
            self._clock.trust_z()

    def _to_be_learned(self, number: int) -> bool:
        if number in (self._case, self._activity):
            return False
        return self._kinds is None or self._time in (None, number)

    def _attribute_type(self, number: int) -> ColumnType:
        if self._kinds is None:
            return self._seen[number].attribute_type()
        return ColumnType("text", self._options.missing or ())

    def _time_column(self) -> int:
        """The column named or usually named so, or else the first that holds times."""
        if self._time is not None:
            return self._time
        taken = (self._case, self._activity)
        for number, seen in enumerate(self._seen):
            if number not in taken and seen.attribute_type().name == "time":
                return number
        raise self._lacks("timestamp", *taken)

    def _times(self, texts: RecordBatch) -> ArrowArray:
        if self._time is None or self._time_type is None:  # the column has no values at all
            return pa.nulls(texts.num_rows, pa.int64())
        return self._clock.read(texts.column(self._time), self._time_type)

    def _guesses(self) -> Iterator[Guess]:
        options = self._options
        if options.delimiter is None:
            yield Guess("delimiter", _DELIMITER_NAMES[self._source.delimiter], "delimiter")
        if self._time is None or self._time_type is None:
            yield from self._role_guesses(self._case, self._activity)
        else:
            yield from self._role_guesses(self._case, self._activity, self._time)
            yield from format_guess(self._time_type, self._seen[self._time], options)
        yield from self._clock.guesses()
        if options.missing is None:
            types = dict(self._attributes)
            if self._time is not None and self._time_type is not None:
                types[self._time] = self._time_type
            columns: dict[str, list[str]] = {}
            for number, of in sorted(types.items()):
                for marker in of.missing:
                    columns.setdefault(marker, []).append(self._names[number])
            for marker, holders in columns.items():
                yield Guess(repr(marker), f"means no value in {_listed(holders)}", "missing")

    def _notices(self) -> Iterator[str]:
        yield from self._clock.notices()
        texts = [number for number, of in self._attributes.items() if of.name == "text"]
        if self._options.missing is not None or self._kinds is not None:
            return
        for number in texts:
            for marker in sorted(self._seen[number].markers_seen):
                yield (
                    f"{marker!r} in the text column {self._names[number]!r} was kept as a "
                    f"text; name it with the option missing if it means no value"
                )


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:3]))
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} other columns"


# --- the file as texts ---------------------------------------------------------------


class CsvSource:
    """One file: its header, and its rows as often as they are needed."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path = path
        self._options = options
        self.delimiter = options.delimiter or _guessed_delimiter(path)
        with open_log_file(self.path) as file, _text(file) as text:
            reader = csv.reader(self._lines(text), delimiter=self.delimiter)
            names = next((row for row in _patiently(reader) if row), [])
            lines = reader.line_num
        if not any(names):
            raise LogFormatError(
                self.path.name, 1, "the file is empty", hint="give a CSV file with a header line"
            )
        self.names, self._header_lines = (
            tuple(name or f"column {number}" for number, name in enumerate(names, 1)),
            lines,
        )
        refuse_many_columns(path.name, 1, len(self.names), options)

    def batches(self, progress: Progress) -> Iterator[RecordBatch]:
        """All columns as text, nothing turned into null; columns are called 0, 1, 2, …."""
        names = {str(number): name for number, name in enumerate(self.names)}
        rows = 0
        with open_log_file(self.path) as file:
            try:
                for batch in self._arrow_reader(file):
                    progress(file.done, file.total)
                    refuse_long_texts(batch, names, self._options, self.defect, rows)
                    rows += batch.num_rows
                    yield batch
            except pa.ArrowInvalid as error:
                raise self._explained(str(error)) from None

    def defect(
        self, row: int, cause: str, hint: str, options: Sequence[Option] = ()
    ) -> LogFormatError:
        """What is wrong with a data row, counted from 0, at the line on which it begins."""
        line = next((line for line, _fields in islice(self._rows(), row, None)), None)
        return LogFormatError(self.path.name, line, cause, hint=hint, options=options)

    def _arrow_reader(self, file: LogFile) -> Iterator[RecordBatch]:
        fields = [str(number) for number in range(len(self.names))]
        reader = arrow_csv.open_csv(
            file.content,
            read_options=arrow_csv.ReadOptions(
                block_size=_BLOCK, skip_rows=self._header_lines, column_names=fields
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(fields, pa.string()), strings_can_be_null=False
            ),
        )
        with reader:
            yield from reader

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line and fields of every data row, the way Arrow counts rows."""
        with open_log_file(self.path) as file, _text(file) as text:
            reader = csv.reader(self._lines(text), delimiter=self.delimiter)
            line = 1
            for fields in _patiently(reader):
                if fields and line > self._header_lines:
                    yield line, fields
                line = reader.line_num + 1

    def _lines(self, text: io.TextIOWrapper) -> Iterator[str]:
        """The lines of the file, none of which is longer than any row that is read."""
        for number in count(1):
            line = text.readline(_BLOCK)
            if not line:
                return
            if len(line) == _BLOCK and not line.endswith(("\n", "\r")):
                raise self._too_long_a_row(number)
            yield line

    def _too_long_a_row(self, line: int | None) -> LogFormatError:
        return LogFormatError(
            self.path.name,
            line,
            f"a row is longer than {_BLOCK >> 20} MB",
            hint="look for a double quote that is never closed; if it is right, use Parquet",
        )

    def _explained(self, arrow_message: str) -> LogFormatError:
        """Arrow's complaint in our words, with the line it is about."""
        width = len(self.names)
        if "UTF8" in arrow_message:
            return LogFormatError(
                self.path.name,
                self._first_line_not_utf8(),
                "the text is not encoded in UTF-8",
                hint="save the file as UTF-8, e.g. with iconv -f latin1 -t utf-8",
            )
        if "straddling" in arrow_message:
            return self._too_long_a_row(None)
        for line, fields in self._rows():
            if len(fields) != width:
                return LogFormatError(
                    self.path.name,
                    line,
                    f"{len(fields)} fields where the header has {width}",
                    hint="correct the line; put a field that contains the delimiter "
                    f"{self.delimiter!r} in double quotes",
                )
        return LogFormatError(
            self.path.name,
            None,
            f"not a well-formed CSV file: {arrow_message}",
            hint="look for a double quote that is never closed",
        )

    def _first_line_not_utf8(self) -> int | None:
        with open_log_file(self.path) as file:
            for number, line in enumerate(file.content, 1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    return number
        return None


def _text(file: LogFile) -> io.TextIOWrapper:
    return io.TextIOWrapper(file.content, encoding="utf-8-sig", errors="replace", newline="")


def _patiently(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """The rows up to the first that the standard library gives up on."""
    try:
        yield from reader
    except csv.Error:
        return


def _guessed_delimiter(path: Path) -> str:
    """The one that cuts header and first rows into the same number of fields, and most."""
    with open_log_file(path) as file:
        sample = file.content.read(_SAMPLE).decode("utf-8-sig", errors="replace")
    complete = sample[: sample.rfind("\n") + 1] or sample

    def merit(delimiter: str) -> tuple[bool, int]:
        rows = _patiently(csv.reader(io.StringIO(complete, newline=""), delimiter=delimiter))
        widths = [len(row) for row in rows if row][:20] or [0]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0]

    return max(DELIMITERS, key=merit)


# --- columns that come with types: Parquet, Arrow, data frames ----------------------------


_ROWS = 50_000


class FrameReader(_Table):
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
        self._schema = schema
        self._rows = rows
        self._scan = scan
        refuse_many_columns(name, None, len(schema), options)
        super().__init__(name, schema.names, options, kinds)
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

    def batches(self, progress: Progress = no_progress) -> Batches:
        """As every reader; progress counts rows, since there may be no file."""
        if stored_type(self._schema.field(self._time).type).source == "text":
            self._learn_time_format()
        names = {attribute_field(number): self._names[number] for number in self._attributes}
        done = 0
        for batch in self._scan():
            column = batch.column(self._case)
            if column.null_count:
                missing = pc.index(pc.is_null(column), value=True).as_py()
                raise self._defect(
                    done + missing,
                    f"the case ({self._names[self._case]!r}) is missing",
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
            Column(attribute_field(number), self._names[number], of.kind, of.source)
            for number, of in self._attributes.items()
        )
        notices = (
            f"{self._names[number]!r} {of.notice}"
            for number, of in self._attributes.items()
            if of.notice
        )
        told = (*notices, *self._clock.notices())
        return Description(tuple(columns), tuple(self._guesses()), told)

    def _time_column(self) -> int:
        taken = (self._case, self._activity)
        if self._timestamp is not None:
            return self._timestamp
        for number, field in enumerate(self._schema):
            if number not in taken and stored_type(field.type).kind == Kind.TIME:
                return number
        raise self._lacks("timestamp", *taken)

    def _learn_time_format(self) -> None:
        options = self._options
        said = () if options.time_format is None else (time_format(options.time_format),)
        self._seen = TypeInference(options.missing, said or ALL_TIMES)
        for batch in self._scan():
            self._seen.observe(_texts(batch.column(self._time)))
        if bad := self._seen.unreadable:
            raise self._defect(bad.row, *bad.defect(self._names[self._time]))
        if self._seen.offsets:
            self._clock.trust_z()
        self._written = self._seen.time_type()

    def _defect(
        self, row: int, cause: str, hint: str, options: Sequence[Option] = ()
    ) -> LogFormatError:
        where = f"in row {row + 1}, {cause}"
        return LogFormatError(self.name, None, where, hint=hint, options=options)

    def _times(self, column: ArrowArray) -> ArrowArray:
        if self._written is not None:
            return self._clock.read(_texts(column), self._written)
        of = stored_type(column.type)
        if of.kind == Kind.TIME:
            return of.convert(column, self._clock)
        if column.null_count == len(column):
            return pa.nulls(len(column), pa.int64())
        # Whole numbers are event times only if the owner says what they count.
        said = self._options.time_format
        if said is None or not pa.types.is_integer(column.type):
            raise LogFormatError(
                self.name,
                None,
                f"{self._names[self._time]!r} holds {column.type}, not times",
                hint="convert the column, name another one, or, if it counts from 1970, say in "
                "what: epoch-s, epoch-ms or epoch-us",
                options=(Option("timestamp"), Option("time_format", "epoch-s")),
            )
        return self._clock.read(_texts(column), ColumnType("time", (), time_format(said)))

    def _guesses(self) -> Iterator[Guess]:
        yield from self._role_guesses(self._case, self._activity, self._time)
        if self._written is not None:
            yield from format_guess(self._written, self._seen, self._options)
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
