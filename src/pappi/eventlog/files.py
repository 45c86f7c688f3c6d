"""Opening log files, compressed or not; damaged files and those of absurd size are refused.

Also which reader is for which file, and its options: an option that does not apply to a file is
refused, since it would otherwise be ignored silently.
"""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, TypeAlias

from pappi.errors import InputError, LogFormatError, Option, UsageError
from pappi.eventlog.log import EventReader, Kinds, ReadOptions, RecordBatch
from pappi.values import Vocabulary, did_you_mean

if TYPE_CHECKING:
    from pappi.eventlog.ocel import Ocel

_GZIP_MAGIC = b"\x1f\x8b"
# Event logs compress to a tenth, repetitive ones to a hundredth. A file that expands more than
# this, and beyond a harmless size, was made to exhaust its reader.
_EXPANSION = 400
_HARMLESS = 1 << 28
_ENDLESS = 1 << 62
_STEP = 1 << 17
# The position of a row or a cell in a workbook.
_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Z]{0,3})([0-9]{1,7})["']""")
_MOST_CELLS = 100_000_000


@dataclass(frozen=True, slots=True)
class ZipMember:
    """A file inside a zip archive."""

    archive: Path
    member: str

    @property
    def name(self) -> str:
        return f"{self.archive.name}/{self.member}"


Place: TypeAlias = Path | ZipMember


class LogFile:
    """The plain bytes of a log file, counting the bytes taken from the disk."""

    def __init__(self, raw: BinaryIO, content: BinaryIO, total: int) -> None:
        self._raw = raw
        self.content = content
        self.total = total

    @property
    def done(self) -> int:
        return self._raw.tell()


@contextmanager
def open_log_file(place: Place) -> Iterator[LogFile]:
    """The file, decompressed if its content says so; defects raise LogFormatError."""
    path = place.archive if isinstance(place, ZipMember) else place
    try:
        with path.open("rb") as raw:
            size = path.stat().st_size
            content = _member(place, raw, size) if isinstance(place, ZipMember) else raw
            if content.peek(2)[:2] == _GZIP_MAGIC:
                unpacked = _checked(path.name, gzip.GzipFile(fileobj=content), _most(size))
                yield LogFile(raw, unpacked, size)
                return
            yield LogFile(raw, content, size)
    except EOFError:
        raise LogFormatError(
            place.name,
            None,
            "the compressed file ends too early: it is truncated",
            hint="copy or download it again, and compare the size with the original",
        ) from None
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error) as error:
        raise LogFormatError(
            place.name,
            None,
            f"the compressed file is damaged: {error}",
            hint="copy or download it again",
        ) from None
    except OSError as error:
        raise LogFormatError(
            place.name,
            None,
            f"cannot be read: {error.strerror or error}",
            hint="check the path and its permissions",
        ) from None


def log_bytes(place: Place) -> bytes:
    """All of a file at once, for readers that need it."""
    with open_log_file(place) as file:
        return file.content.read()


class _Checked(io.RawIOBase):
    """What a compressed file holds, refused as soon as it expands too much."""

    def __init__(self, name: str, content: IO[bytes] | gzip.GzipFile, most: int) -> None:
        self._name = name
        self._content = content
        self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        content = self._content.read(len(buffer))
        self._left -= len(content)
        if self._left < 0:
            raise LogFormatError(
                self._name,
                None,
                f"the compressed file grows to more than {_EXPANSION} times its size",
                hint="such files can be built to exhaust the reader; if you trust this one, "
                "decompress it first",
            )
        buffer[: len(content)] = content
        return len(content)


def _checked(name: str, content: IO[bytes] | gzip.GzipFile, most: int) -> io.BufferedReader:
    return io.BufferedReader(_Checked(name, content, most), _STEP)


# --- zip archives --------------------------------------------------------------------


def _member(place: ZipMember, raw: BinaryIO, size: int) -> io.BufferedReader:
    try:
        archive = zipfile.ZipFile(raw)
    except (NotImplementedError, ValueError) as error:
        raise zipfile.BadZipFile(str(error)) from None
    return _opened_member(archive, archive.getinfo(place.member), place.name, _most(size))


def _opened_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, most: int
) -> io.BufferedReader:
    # The size in an archive may be false: read on to the real end of the file.
    info.file_size = _ENDLESS
    try:
        content = archive.open(info)
    except (RuntimeError, ValueError) as error:
        why = "it needs a password" if info.flag_bits & 1 else str(error)
        raise LogFormatError(
            name, None, f"cannot be unpacked: {why}", hint="unpack it first"
        ) from None
    return _checked(name, content, most)


def _most(size: int) -> int:
    return max(_HARMLESS, size * _EXPANSION)


def require_harmless(name: str, content: bytes) -> None:
    """Refuse a workbook, which is an archive, that would exhaust its reader.

    Also one in which a single distant cell makes a table of millions of columns and rows.
    """
    allowance = _most(len(content))
    rows = columns = 0
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for info in archive.infolist():
                overlap = b""
                with _opened_member(archive, info, name, allowance) as member:
                    while block := member.read(1 << 20):
                        allowance -= len(block)
                        for letters, digits in _PLACE.findall(overlap + block):
                            rows = max(rows, int(digits))
                            columns = max(columns, _column(letters))
                        overlap = block[-40:]
    except (zipfile.BadZipFile, NotImplementedError, ValueError, zlib.error, EOFError) as error:
        raise LogFormatError(
            name, None, f"the file is damaged: {error}", hint="copy or download it again"
        ) from None

    if rows * columns > _MOST_CELLS:
        raise LogFormatError(
            name,
            None,
            f"a sheet of {rows:,} rows and {columns:,} columns",
            hint="delete cells far away from the table, or save the table as CSV",
        )


def _column(letters: bytes) -> int:
    """
    >>> _column(b"A"), _column(b"XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


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


def listed(names: Sequence[str], most: int = 10) -> str:
    """The first names, and how many more there are."""
    listing = ", ".join(map(repr, names[:most]))
    return listing if len(names) <= most else f"{listing} and {len(names) - most} more"


def refuse_many_columns(file: str, line: int | None, count: int, options: ReadOptions) -> None:
    if count > options.most_columns:
        raise LogFormatError(
            file,
            line,
            f"{count:,} columns; at most {options.most_columns:,} are allowed",
            hint="remove columns that are not event attributes, or raise the limit",
            options=(Option("most_columns", str(count)),),
        )


def refuse_long_texts(
    batch: RecordBatch,
    names: Mapping[str, str],
    options: ReadOptions,
    defect: Callable[[int, str, str, Sequence[Option]], LogFormatError],
    first_row: int = 0,
) -> None:
    """Raise `defect(row, cause, hint, options)` at the first text that is too long."""
    import pyarrow.compute as pc  # nothing that only opens a log needs it

    longest = options.longest_text
    if batch.nbytes <= longest:
        return
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if (
            str(field.type) != "string"
            or (pc.max(pc.binary_length(column)).as_py() or 0) <= longest
        ):
            continue
        row = pc.index(pc.greater(pc.utf8_length(column), longest), value=True).as_py()
        if row >= 0:
            cause = f"{names.get(field.name, field.name)!r} has more than {longest:,} characters"
            hint = "shorten such texts, or raise the limit"
            raise defect(first_row + row, cause, hint, (Option("longest_text"),))


# --- which reader for which source ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Format:
    """A kind of file: its name in messages, the options that apply, and its reader."""

    called: str
    options: frozenset[str]
    reader: Callable[[Place, ReadOptions, Kinds | None], EventReader]


def _xes(place: Place, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    from pappi.eventlog.xes import XesReader

    return XesReader(place, options, kinds)


def _csv(place: Place, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    from pappi.eventlog.tables import TableReader
    from pappi.eventlog.texts import CsvSource

    return TableReader(CsvSource(place, options), options, kinds)


def _parquet(place: Place, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    from pappi.eventlog.tables import Frame, TableReader

    return TableReader(Frame.in_parquet(place, options), options, kinds)


def _workbook(place: Place, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    from pappi.eventlog.tables import TableReader
    from pappi.eventlog.texts import Workbook

    return TableReader(Workbook(place, options), options, kinds)


def _json_lines(place: Place, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    from pappi.eventlog.tables import TableReader
    from pappi.eventlog.texts import JsonLines

    return TableReader(JsonLines(place, options), options, kinds)


def _json(place: Place, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    from pappi.eventlog.ocel import json_source
    from pappi.eventlog.tables import TableReader

    source, reading = json_source(place, options)
    return TableReader(source, reading, kinds)


def _xml(place: Place, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    with open_log_file(place) as file:
        head = file.content.read(1 << 16)
    if b"<object" in head or b"ocel" in head:
        return _ocel_xml(place, options, kinds)
    _require_concerned(options, _FORMATS[".xes"])
    return _xes(place, options, kinds)


def _ocel_xml(place: Place, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    from pappi.eventlog.ocel import ocel_in_xml

    return _ocel(ocel_in_xml(place), options, kinds)


def _ocel_sqlite(place: Place, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    from pappi.eventlog.ocel import ocel_in_sqlite

    return _ocel(ocel_in_sqlite(place), options, kinds)


def _ocel(log: Ocel, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    from pappi.eventlog.tables import TableReader

    return TableReader(log.source(options), log.reading(options), kinds)


_ANY = frozenset({"time_format", "timezone", "missing", "z_is_utc", "most_columns", "longest_text"})
_TABLE = _ANY | {
    "case", "activity", "timestamp", "time_of_day", "start", "wide", "milestones", "decimal",
    "skip_invalid",
}  # fmt: skip
_CSV = _Format("a CSV file", _TABLE | {"delimiter", "encoding"}, _csv)
_PARQUET = _Format("a Parquet file", _TABLE, _parquet)
_BOOK = _Format("a workbook", _TABLE | {"sheet"}, _workbook)
_LINES = _Format("a JSON file", _TABLE | {"encoding"}, _json_lines)
_OBJECTS = _ANY | {"object_type", "decimal"}
_SQLITE = _Format("an OCEL database", _OBJECTS, _ocel_sqlite)
_FORMATS: Mapping[str, _Format] = {
    ".xes": _Format("an XES file", _ANY, _xes),
    ".csv": _CSV, ".tsv": _CSV, ".txt": _CSV,
    ".parquet": _PARQUET, ".pq": _PARQUET,
    ".xlsx": _BOOK, ".xlsm": _BOOK, ".xls": _BOOK,
    ".jsonl": _LINES, ".ndjson": _LINES,
    ".json": _Format("a JSON file", _TABLE | _OBJECTS, _json),
    ".jsonocel": _Format("an OCEL file", _OBJECTS, _json),
    ".xml": _Format("an OCEL file", _OBJECTS, _xml),
    ".xmlocel": _Format("an OCEL file", _OBJECTS, _ocel_xml),
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
    if declared is None:
        return reader
    from pappi.eventlog.declared import DeclaredReader

    return DeclaredReader(reader, declared, options)


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
        from pappi.eventlog.tables import Frame, TableReader

        _require_concerned(options, _Format("a data frame", _TABLE, _parquet))
        return TableReader(Frame.of(source, options), options, kinds)
    raise UsageError(
        f"cannot read an event log from a {type(source).__name__}",
        hint=f"give a path ({_KNOWN}), an Arrow table, or a pandas or polars data frame",
    )
