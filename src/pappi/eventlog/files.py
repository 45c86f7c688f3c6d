"""Opening log files, compressed or not; what is damaged or of absurd size is refused clearly."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from pappi.errors import InputError, LogFormatError, Option, UsageError
from pappi.eventlog.log import EventReader, Kinds, ReadOptions, RecordBatch
from pappi.values import Vocabulary

_GZIP_MAGIC = b"\x1f\x8b"
# Event logs shrink to a tenth, repetitive ones to a hundredth. What grows more than this, and
# beyond a size that harms nobody, was made to exhaust its reader.
_EXPANSION = 400
_HARMLESS = 1 << 28


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
def open_log_file(path: Path) -> Iterator[LogFile]:
    """The file, decompressed by content and not by name; its defects as LogFormatError."""
    try:
        with path.open("rb") as raw:
            compressed = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            content = cast("BinaryIO", _Unpacked(path, raw)) if compressed else raw
            yield LogFile(raw, content, path.stat().st_size)
    except EOFError:
        raise LogFormatError(
            path.name,
            None,
            "the compressed file ends too early: it is truncated",
            hint="copy or download it again, and compare the size with the original",
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise LogFormatError(
            path.name,
            None,
            f"the compressed file is damaged: {error}",
            hint="copy or download it again",
        ) from None
    except OSError as error:
        raise LogFormatError(
            path.name,
            None,
            f"cannot be read: {error.strerror or error}",
            hint="check the path and its permissions",
        ) from None


class _Unpacked(gzip.GzipFile):
    """The content of a compressed file, refused as soon as it is out of all proportion."""

    def __init__(self, path: Path, raw: BinaryIO) -> None:
        super().__init__(fileobj=raw)
        self._path = path
        self._most = max(_HARMLESS, path.stat().st_size * _EXPANSION)

    def read(self, size: int | None = -1) -> bytes:
        return self._checked(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._checked(super().read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        return self._checked(super().readline(size))

    def _checked(self, content: bytes) -> bytes:
        if self.tell() > self._most:
            raise LogFormatError(
                self._path.name,
                None,
                f"the compressed file grows to more than {_EXPANSION} times its size",
                hint="such files can be built to exhaust the reader; if you trust this one, "
                "decompress it first",
            )
        return content


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
    """Raises `defect(row, cause, hint, options)` at the first text of too many characters."""
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


_KNOWN = ".xes, .csv and .parquet files (.xes and .csv also with .gz)"


def open_log(
    source: object, options: ReadOptions | None = None, declared: Vocabulary | None = None
) -> EventReader:
    """A reader for a path, or for anything that exports Arrow data, such as a data frame.

    With names and kinds that were `declared` beforehand, nothing else of the log is read.
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
            what = "is a folder, not a file" if path.is_dir() else "does not exist"
            raise InputError(f"{path} {what}", hint="check the path of the event log")
        suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
        match suffixes[-1:]:
            case [".xes"]:
                from pappi.eventlog.xes import XesReader

                return XesReader(path, options, kinds)
            case [".csv" | ".tsv" | ".txt"]:
                from pappi.eventlog.tables import CsvReader

                return CsvReader(path, options, kinds)
            case [".parquet" | ".pq"]:
                from pappi.eventlog.tables import FrameReader

                return FrameReader.of_parquet(path, options, kinds)
        raise InputError(
            f"{path.name}: cannot tell from the name what kind of event log this is",
            hint=f"PaPPI reads {_KNOWN}; rename the file if it is one of these",
        )
    if hasattr(source, "__arrow_c_stream__"):
        from pappi.eventlog.tables import FrameReader

        return FrameReader.of_frame(source, options, kinds)
    raise UsageError(
        f"cannot read an event log from a {type(source).__name__}",
        hint=f"give a path ({_KNOWN}), an Arrow table, or a pandas or polars data frame",
    )
