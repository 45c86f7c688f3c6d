"""Which reader for which source."""

from __future__ import annotations

from pathlib import Path

from pappi.errors import InputError, UsageError
from pappi.eventlog.log import EventReader, Kinds
from pappi.eventlog.options import ReadOptions
from pappi.values.vocabulary import Vocabulary

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
        return _file_reader(Path(source), options, kinds)
    if hasattr(source, "__arrow_c_stream__"):
        from pappi.eventlog.frames import FrameReader

        return FrameReader.of_frame(source, options, kinds)
    raise UsageError(
        f"cannot read an event log from a {type(source).__name__}",
        hint=f"give a path ({_KNOWN}), an Arrow table, or a pandas or polars data frame",
    )


def _file_reader(path: Path, options: ReadOptions, kinds: Kinds | None) -> EventReader:
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise InputError(f"{path} {what}", hint="check the path of the event log")
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    match suffixes[-1:]:
        case [".xes"]:
            from pappi.eventlog.xes import XesReader

            return XesReader(path, options, kinds)
        case [".csv" | ".tsv" | ".txt"]:
            from pappi.eventlog.csv_reader import CsvReader

            return CsvReader(path, options, kinds)
        case [".parquet" | ".pq"]:
            from pappi.eventlog.frames import FrameReader

            return FrameReader.of_parquet(path, options, kinds)
    raise InputError(
        f"{path.name}: cannot tell from the name what kind of event log this is",
        hint=f"PaPPI reads {_KNOWN}; rename the file if it is one of these",
    )
