"""Opening log files, compressed or not; damaged files and those of absurd size are refused."""

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
from typing import IO, BinaryIO, TypeAlias

from pappi.errors import LogFormatError, Option
from pappi.eventlog.log import ReadOptions, RecordBatch

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
