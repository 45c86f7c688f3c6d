"""Opening a log: the reader for its format, and a log read as it was declared beforehand.

An option that does not apply to a file is refused, since it would otherwise be ignored silently.

Of a log that was declared beforehand nothing else is imported. Events of undeclared activities
stay, without a name, so that a case keeps its beginning, end and duration. Undeclared attributes
are left out, and a value that is not of the declared kind is missing. Each value is read by itself:
a number stays a number whatever some other case has in the same column, and a Z at the end of a
time does not mean something else because another time has an offset. Only the format of event times
is still inferred from all of them, unless it is given.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from pappi.errors import InputError, LogFormatError, Option, UsageError
from pappi.eventlog.files import Place, ZipMember, listed, open_log_file
from pappi.eventlog.inference import (
    CONFUSABLE,
    FORMATS,
    Clock,
    read_times,
    time_format,
    written_numbers,
)
from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    TIME,
    ArrowArray,
    ArrowType,
    Batches,
    Column,
    Description,
    EventReader,
    Kinds,
    Progress,
    ReadOptions,
    RecordBatch,
    attribute_field,
    no_progress,
)
from pappi.eventlog.ocel import json_source, sqlite_source, xml_source
from pappi.eventlog.tables import Frame, TableReader
from pappi.eventlog.texts import CsvSource, JsonLines, TableSource, Workbook
from pappi.eventlog.xes import XesReader
from pappi.values import Kind, Vocabulary, did_you_mean


@dataclass(frozen=True, slots=True)
class _Format:
    """A kind of file: its name in messages, the options that apply, and its reader."""

    called: str
    options: frozenset[str]
    reader: Callable[[Place, ReadOptions, Kinds | None], EventReader]


def _table(
    source: Callable[[Place, ReadOptions], TableSource],
) -> Callable[[Place, ReadOptions, Kinds | None], EventReader]:
    return lambda place, options, kinds: TableReader(source(place, options), options, kinds)


def _xml(place: Place, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    with open_log_file(place) as file:
        head = file.content.read(1 << 16)
    if b"<object" in head or b"ocel" in head:
        return _table(xml_source)(place, options, kinds)
    _require_concerned(options, _XES)
    return XesReader(place, options, kinds)


_ANY = frozenset({"time_format", "timezone", "missing", "z_is_utc", "most_columns", "longest_text"})
_TABLE = _ANY | {
    "case", "activity", "timestamp", "time_of_day", "start", "wide", "milestones", "decimal",
    "skip_invalid",
}  # fmt: skip
_XES = _Format("an XES file", _ANY, XesReader)
_CSV = _Format("a CSV file", _TABLE | {"delimiter", "encoding"}, _table(CsvSource))
_PARQUET = _Format("a Parquet file", _TABLE, _table(Frame.in_parquet))
_BOOK = _Format("a workbook", _TABLE | {"sheet"}, _table(Workbook))
_LINES = _Format("a JSON file", _TABLE | {"encoding"}, _table(JsonLines))
_OBJECTS = _ANY | {"object_type", "decimal"}
_SQLITE = _Format("an OCEL database", _OBJECTS, _table(sqlite_source))
_FORMATS: Mapping[str, _Format] = {
    ".xes": _XES,
    ".csv": _CSV, ".tsv": _CSV, ".txt": _CSV,
    ".parquet": _PARQUET, ".pq": _PARQUET,
    ".xlsx": _BOOK, ".xlsm": _BOOK, ".xls": _BOOK,
    ".jsonl": _LINES, ".ndjson": _LINES,
    ".json": _Format("a JSON file", _TABLE | _OBJECTS, _table(json_source)),
    ".jsonocel": _Format("an OCEL file", _OBJECTS, _table(json_source)),
    ".xml": _Format("an OCEL file", _OBJECTS, _xml),
    ".xmlocel": _Format("an OCEL file", _OBJECTS, _table(xml_source)),
    ".sqlite": _SQLITE, ".sqlite3": _SQLITE, ".db": _SQLITE,
}  # fmt: skip
_KNOWN = (
    "XES (.xes), CSV (.csv, .tsv, .txt), Parquet (.parquet), Excel (.xlsx, .xls), JSON "
    "(.jsonl, .json), OCEL (.sqlite, .json, .xml), and these inside .gz or .zip"
)
_DEFAULTS = ReadOptions()


def _ending(name: str) -> str:
    endings = [suffix.lower() for suffix in Path(name).suffixes if suffix.lower() != ".gz"]
    return endings[-1] if endings else ""


def _require_concerned(
    options: ReadOptions, of: _Format, also: frozenset[str] = frozenset()
) -> None:
    for name in ReadOptions.__dataclass_fields__:
        changed = getattr(options, name) != getattr(_DEFAULTS, name)
        if changed and name not in of.options | also:
            raise UsageError(
                _UNCONCERNED.get(name, "{} needs no such option").format(of.called),
                hint="leave this option out",
                options=(Option(name, flag="milestone" if name == "milestones" else ""),),
            )


_UNCONCERNED = {
    "case": "{} already says what its case is",
    "activity": "{} already says what its activity is",
    "timestamp": "{} already says what its timestamp is",
    "delimiter": "{} has no delimiter",
    "sheet": "{} has no sheets",
    "member": "{} is not a zip archive",
    "object_type": "{} has no object types",
    "encoding": "{} already says what its encoding is",
    "skip_invalid": "{} has no rows to skip",
}


def open_log(
    source: object, options: ReadOptions | None = None, declared: Vocabulary | None = None
) -> EventReader:
    """A reader for a path, or for anything that exports Arrow data, such as a data frame.

    With `declared` names and kinds, nothing else of the log is read.
    """
    options = options or ReadOptions()
    kinds = None if declared is None else declared.attributes
    reader = _reader(source, options, kinds)
    return reader if declared is None else DeclaredReader(reader, declared, options)


def _reader(source: object, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.is_file():
            problem = "is a folder, not a file" if path.is_dir() else "does not exist"
            raise InputError(f"{path} {problem}", hint="check the path of the event log")
        place: Place = path
        also = frozenset[str]()
        if _ending(path.name) == ".zip":
            place, also = _chosen_member(path, options.member), frozenset({"member"})
        of = _FORMATS.get(_ending(place.name))
        if of is None:
            raise InputError(
                f"{place.name}: cannot tell from the name what kind of event log this is",
                hint=f"PaPPI reads {_KNOWN}; rename the file if it is one of these, else export or "
                "save it as CSV",
            )
        _require_concerned(options, of, also)
        return of.reader(place, options, kinds)
    if hasattr(source, "__arrow_c_stream__"):
        _require_concerned(options, replace(_PARQUET, called="a data frame"))
        return TableReader(Frame.of(source, options), options, kinds)
    raise UsageError(
        f"cannot read an event log from a {type(source).__name__}",
        hint=f"give a path ({_KNOWN}), an Arrow table, or a pandas or polars data frame",
    )


def _chosen_member(path: Path, requested: str | None) -> ZipMember:
    """The requested file of an archive, or the only one that can be a log."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info.filename for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise LogFormatError(
            path.name, None, f"not a readable zip archive: {error}", hint="copy it again"
        ) from None
    names = [
        name
        for name in members
        if not name.startswith("__MACOSX/") and not Path(name).name.startswith(".")
    ]
    if requested is not None:
        matches = [name for name in names if requested in (name, Path(name).name)]
        if len(matches) != 1:
            raise UsageError(
                f"{path.name} has no file {requested!r}",
                hint=did_you_mean(requested, names, f"it has {listed(names)}"),
            )
        return ZipMember(path, matches[0])
    logs = [name for name in names if _ending(name) in _FORMATS] or names
    if len(logs) == 1:
        return ZipMember(path, logs[0])
    raise LogFormatError(
        path.name,
        None,
        f"the archive has {len(logs)} files: {listed(logs)}" if logs else "the archive is empty",
        hint="say which of them is the event log, e.g." if logs else "check how it was made",
        options=(Option("member", logs[0]),) if logs else (),
    )


# --- a log as it was declared beforehand ------------------------------------------------


# Up to fifteen digits before the point: what a double holds without loss.
_NUMBER = r"^[-+]?(\d{1,15}(\.\d*)?|\.\d+)([eE][-+]?\d{1,2})?$"
# With a decimal comma given as an option, thousands may be in groups.
_COMMA_NUMBER = r"^[-+]?(\d{1,15}|\d{1,3}(\.\d{3}){1,4})(,\d*)?$"
_TRUTH = r"^(true|false|True|False|TRUE|FALSE)$"
# No text fits two of these, so other values are not needed to decide.
_PLAIN_TIMES = tuple(f for f in FORMATS.values() if f.name not in CONFUSABLE)
_EXACT = 2**53
_SECOND_US = 1_000_000
_LONGEST_SECONDS = _EXACT // _SECOND_US
# Columns that the event table already has: an attribute of such a name becomes "name (2)".
_TAKEN = ("case_id", "pos", "ts_us", "activity", "first_pos", "timestamp")


class DeclaredReader:
    """The events of another reader, as far as they were declared."""

    def __init__(self, reader: EventReader, declared: Vocabulary, options: ReadOptions) -> None:
        self._reader = reader
        self._declared = declared
        self._options = options
        self._unfit: Counter[str] = Counter()
        self._found: set[str] = set()
        self._activities: set[str] = set()
        self._unnamed = 0

    @property
    def name(self) -> str:
        return self._reader.name

    def batches(self, progress: Progress = no_progress) -> Batches:
        arrays = {CASE: pa.array([], pa.string()), ACTIVITY: pa.array([], pa.string())}
        arrays[TIME] = pa.array([], pa.int64())
        for number, kind in enumerate(self._declared.attributes.values()):
            arrays[attribute_field(number)] = pa.array([], _stored(kind))
        yield pa.record_batch(arrays)  # the columns are there, whatever the file holds
        for batch in self._reader.batches(progress):
            yield self._as_declared(batch)

    def description(self) -> Description:
        described = self._reader.description()
        columns = (
            Column(attribute_field(number), name, kind, str(kind))
            for number, (name, kind) in enumerate(self._declared.attributes.items())
        )
        return Description(
            tuple(columns), described.guesses, (*described.notices, *self._notices())
        )

    def _as_declared(self, batch: RecordBatch) -> RecordBatch:
        arrays = {name: batch.column(name) for name in (CASE, TIME)}
        activity = batch.column(ACTIVITY)
        names = pa.array(self._declared.activities, pa.string())
        is_declared = pc.is_in(activity, value_set=names)
        named = pc.if_else(is_declared, activity, pa.scalar(None, pa.string()))
        self._unnamed += named.null_count - activity.null_count
        self._activities.update(pc.unique(named.drop_null()).to_pylist())
        arrays[ACTIVITY] = named
        present = [c for c in self._reader.description().columns if c.field in batch.schema.names]
        sources = _sources(present, self._declared.attributes)
        for number, (name, kind) in enumerate(self._declared.attributes.items()):
            columns = [(batch.column(c.field), c.kind) for c in sources.get(name, ())]
            arrays[attribute_field(number)] = self._values(name, kind, columns, batch.num_rows)
        return pa.record_batch(arrays)

    def _values(
        self, name: str, kind: Kind, columns: Sequence[tuple[ArrowArray, Kind]], rows: int
    ) -> ArrowArray:
        if not columns:
            return pa.nulls(rows, _stored(kind))
        self._found.add(name)
        fitting = [self._fitting(column, of, kind) for column, of in columns]
        for (column, _), values in zip(columns, fitting, strict=True):
            self._unfit[name] += values.null_count - column.null_count
        return fitting[0] if len(fitting) == 1 else pc.coalesce(*fitting)

    def _fitting(self, column: ArrowArray, of: Kind, kind: Kind) -> ArrowArray:
        """The values of a column as those of a kind; null where one is not of that kind."""
        if kind is Kind.NUMBER:
            return self._numbers(column, of)
        if kind is of:
            return column
        match kind:
            case Kind.TEXT:
                timed = column.cast(pa.timestamp("us", "UTC")) if of is Kind.TIME else column
                return timed.cast(pa.string())
            case Kind.TRUTH if of is Kind.TEXT:
                return pc.equal(pc.utf8_lower(_matching(column, _TRUTH)), "true")
            case Kind.DURATION if of in (Kind.NUMBER, Kind.TEXT):
                # A duration given as a number is in seconds, as everywhere.
                seconds = self._numbers(column, of)
                within = pc.less_equal(pc.abs(seconds), float(_LONGEST_SECONDS))
                in_range = pc.if_else(within, seconds, pa.scalar(None, pa.float64()))
                return pc.round(pc.multiply(in_range, float(_SECOND_US))).cast(pa.int64())
            case Kind.TIME if of is Kind.TEXT:
                # In the requested format, or in any that needs no guess.
                requested = self._options.time_format
                clock = Clock(self._options.zone, self._options.z_is_utc)
                formats = _PLAIN_TIMES if requested is None else (time_format(requested),)
                readings = (read_times(column, format_, clock) for format_ in formats)
                columns = (pa.array(r.us, pa.int64(), mask=~r.readable) for r in readings)
                return pc.coalesce(*columns)
        return pa.nulls(len(column), _stored(kind))

    def _numbers(self, column: ArrowArray, of: Kind) -> ArrowArray:
        """With the requested decimal sign, or a point: it is not inferred from other values."""
        if of is Kind.TEXT and self._options.decimal == ",":
            return written_numbers(_matching(column, _COMMA_NUMBER), ",")
        if of is Kind.TEXT:
            column = _matching(column, _NUMBER)
        elif of is not Kind.NUMBER:
            return pa.nulls(len(column), pa.float64())
        elif pa.types.is_integer(column.type):
            exact = pc.and_(pc.less_equal(column, _EXACT), pc.greater_equal(column, -_EXACT))
            column = pc.if_else(exact, column, pa.scalar(None, column.type))
        return column.cast(pa.float64())

    def _notices(self) -> Iterator[str]:
        if self._unnamed:
            yield (
                f"{self._unnamed:,} events have undeclared activities: they stay in "
                "their cases, without a name"
            )
        for name, count in self._unfit.items():
            if count:
                kind = self._declared.attributes[name]
                yield f"{count:,} values of {name!r} are not of kind {kind}: they count as missing"
        absent = [name for name in self._declared.attributes if name not in self._found]
        absent += [name for name in self._declared.activities if name not in self._activities]
        if absent:
            yield f"declared, but not in this file: {', '.join(map(repr, absent))}"


def _sources(columns: Sequence[Column], declared: Collection[str]) -> dict[str, list[Column]]:
    """The columns that each declared attribute is read from, in an order that is always the same.

    If a key has values of several types, as XES allows, all are read: which type is the most
    frequent must not matter. Nor must it matter which of two keys came first that differ only in
    upper and lower case: each is identified by its spelling.
    """
    alike = Counter((column.name, column.source_type) for column in columns)
    uses = Counter(name.casefold() for name in _TAKEN)
    seen: set[tuple[str, str]] = set()
    sources: dict[str, list[Column]] = {}
    for column in columns:
        uses[column.name.casefold()] += 1
        choices = [f"{column.name} ({column.source_type})"]
        kind = (column.name, column.source_type)
        # A second column of the same name and type is another attribute: they come from a header,
        # whose order does not depend on cases.
        choices += [] if kind in seen else [column.name]
        if alike[kind] > 1:
            choices.append(f"{column.name} ({uses[column.name.casefold()]})")
        else:
            choices += [
                attribute
                for attribute in declared
                if re.fullmatch(rf"{re.escape(column.name)} \([0-9]+\)", attribute)
            ]
        seen.add(kind)
        name = next((choice for choice in choices if choice in declared), None)
        if name is not None:
            sources.setdefault(name, []).append(column)
    return {name: sorted(group, key=lambda c: c.source_type) for name, group in sources.items()}


def _stored(kind: Kind) -> ArrowType:
    types: Mapping[Kind, ArrowType] = {
        Kind.TEXT: pa.string(),
        Kind.TRUTH: pa.bool_(),
        Kind.NUMBER: pa.float64(),
    }
    return types.get(kind, pa.int64())


def _matching(column: ArrowArray, pattern: str) -> ArrowArray:
    fits = pc.match_substring_regex(column, pattern)
    return pc.if_else(fits, column, pa.scalar(None, pa.string()))
