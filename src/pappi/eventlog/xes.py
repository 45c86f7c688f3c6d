"""The XES reader: streams `.xes` and `.xes.gz` in constant memory.

Traces that are written in the usual way are read by the megabyte (`xes_bulk`), all else by
an XML parser (`xes_parser`); both give the same rows, and the parser alone decides where
the traces are.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

from pappi.eventlog.files import open_log_file
from pappi.eventlog.log import Batches, Description, Guess, Progress, RecordBatch, no_progress
from pappi.eventlog.options import ReadOptions
from pappi.eventlog.xes_bulk import BulkReader
from pappi.eventlog.xes_parser import END_OF_TRACE, XesParser
from pappi.eventlog.xes_separators import Irregular
from pappi.eventlog.xes_values import DateReader

_BLOCK = 1 << 22
# A trace longer than this is not waited for, but given to the parser as it comes.
_LONGEST = 1 << 24

# What the counts of `_notices` are counts of.
_NOTICES = (
    "× a trace has the name of an earlier one: kept as a case of its own, as “name (2)”",
    "× a trace has no name: kept as the case “unnamed (1)”, “unnamed (2)”, …",
    "× a trace has no events: nothing to import from it",
    "× a whole number does not fit into 64 bits: kept as text in the extra column",
    "× a time:timestamp is no date: kept as an attribute; the event counts as without time",
    "× a date is finer than a microsecond: the rest was cut off",
)


class XesReader:
    """One XES file. Options other than the time zone do not apply: XES says the rest."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self._path = path
        self._options = options
        self._dates = DateReader(options.zone)
        self._parser = XesParser(path.name, self._dates)
        self._document = self._parser.document
        self._bulk = BulkReader(self._document.columns, self._document.case_ids, self._dates)

    @property
    def name(self) -> str:
        return self._path.name

    def batches(self, progress: Progress = no_progress) -> Batches:
        with open_log_file(self._path) as file:
            text = b""
            while block := file.content.read(_BLOCK):
                text = yield from self._read(text + block)
                progress(file.done, file.total)
            yield from self._parser.feed(text)
            yield from self._parser.finish()

    def description(self) -> Description:
        return Description(
            self._document.columns.described(), tuple(self._guesses()), tuple(self._notices())
        )

    def _read(self, text: bytes) -> Generator[RecordBatch, None, bytes]:
        """Reads as much as can be read by now; returns the rest."""
        begin = 0
        while begin < len(text) and not self._parser.between_traces:
            end = _behind(text.find(END_OF_TRACE, begin)) or len(text)
            yield from self._parser.feed(text[begin:end])
            begin = end
        end = _behind(text.rfind(END_OF_TRACE, begin)) or begin
        yield from self._traces(text[begin:end])
        if len(text) - end > _LONGEST:
            yield from self._parser.feed(text[end:])
            return b""
        return text[end:]

    def _traces(self, text: bytes) -> Iterator[RecordBatch]:
        """Whole traces, if the file is well-formed; at once, if they are written as usual."""
        try:
            batch = self._bulk.batch(text)
        except Irregular:
            yield from self._parser.feed(text)
        else:
            yield from self._parser.skip(text)
            yield batch

    def _guesses(self) -> Iterator[Guess]:
        if count := self._dates.without_offset:
            zone = self._options.timezone or "UTC"
            yield Guess(f"{count} dates without an offset", f"read as {zone}", "timezone")

    def _notices(self) -> Iterator[str]:
        counts = (
            self._document.duplicate_names,
            self._document.unnamed_traces,
            self._document.empty_traces,
            self._document.too_long_numbers,
            self._document.untyped_times,
            self._dates.finer,
        )
        return (f"{count} {what}" for count, what in zip(counts, _NOTICES, strict=True) if count)


def _behind(found: int) -> int:
    """The place behind the end of a trace that was found; 0 if none was."""
    return found + len(END_OF_TRACE) if found >= 0 else 0
