"""The XES reader: streams `.xes` and `.xes.gz` in constant memory.

Traces that are written in the usual way are read by the megabyte (`xes_bulk`), all else by
an XML parser (`xes_parser`); both give the same rows, and the parser alone decides where
the traces are.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

from pappi.errors import LogFormatError, Option, UsageError
from pappi.eventlog.clocks import LogClock, changed_clocks, format_guess
from pappi.eventlog.files import open_log_file
from pappi.eventlog.inference import ALL_TIMES, ColumnType, TypeInference
from pappi.eventlog.limits import first_too_long, too_long
from pappi.eventlog.log import (
    TIME,
    Batches,
    Description,
    Guess,
    Kinds,
    Progress,
    RecordBatch,
    no_progress,
)
from pappi.eventlog.options import ReadOptions
from pappi.eventlog.times import time_format
from pappi.eventlog.xes_bulk import BulkReader
from pappi.eventlog.xes_columns import Buffer
from pappi.eventlog.xes_parser import END_OF_TRACE, XesParser
from pappi.eventlog.xes_separators import Irregular
from pappi.eventlog.xes_values import DateReader

_BLOCK = 1 << 22
# A trace longer than this is not waited for, but given to the parser as it comes.
_LONGEST = 1 << 24

_TIME_KEY = "time:timestamp"

# What the counts of `_notices` are counts of.
_NOTICES = (
    "× a trace has the name of an earlier one: kept as a case of its own, as “name (…)”",
    "× a trace has no name: kept as a case “unnamed (…)”",
    "× a trace has no events: nothing to import from it",
    "× a whole number does not fit into 64 bits: kept as text in the extra column",
    "× a date is finer than a microsecond: the rest was cut off",
    "× an event has lists, nested or repeated attributes: kept as JSON in the attribute “extra”",
    "× an event is of a trace that has such: kept as JSON in the attribute “case:extra”",
)


class XesReader:
    """One XES file. It says itself what is case, activity and time, and of what types values are.

    Some tools write times as texts: these are read as those of a CSV file are, in a format that
    all of them decide. With `kinds`, attributes are called by their keys alone.
    """

    def __init__(self, path: Path, options: ReadOptions, kinds: Kinds | None = None) -> None:
        _refuse_options(options)
        self._path = path
        self._options = options
        self._kinds = kinds
        self._dates = DateReader(options.zone)
        self._parser = XesParser(path.name, self._dates, options)
        self._document = self._parser.document
        self._bulk = BulkReader(self._document.columns, self._document.case_ids, self._dates)
        self._clock = LogClock(options, learns=kinds is None)
        self._seen: TypeInference | None = None
        self._written: ColumnType | None = None
        self._timed = 0

    @property
    def name(self) -> str:
        return self._path.name

    def batches(self, progress: Progress = no_progress) -> Batches:
        for batch in self._stream(progress):
            self._refuse_long_texts(batch)
            timed = self._with_times(batch)
            self._timed += len(timed) - timed.column(TIME).null_count
            yield timed
        if self._seen is not None and not self._timed:
            raise self._no_times(self._seen)

    def description(self) -> Description:
        columns = self._document.columns
        found = columns.described() if self._kinds is None else columns.by_key()
        times = self._time_texts()
        if self._written is not None and times is not None:
            found = tuple(column for column in found if column.field != times.field)
        return Description(found, tuple(self._guesses()), tuple(self._notices()))

    def _stream(self, progress: Progress) -> Batches:
        with open_log_file(self._path) as file:
            text = b""
            while block := file.content.read(_BLOCK):
                text = yield from self._read(text + block)
                progress(file.done, file.total)
            yield from self._parser.feed(text)
            yield from self._parser.finish()

    # --- times that are texts ---------------------------------------------------------

    def _time_texts(self) -> Buffer | None:
        return self._document.columns.of_event["string"].get(_TIME_KEY)

    def _with_times(self, batch: RecordBatch) -> RecordBatch:
        """The batch with times that are texts read, if they can be."""
        import pyarrow.compute as pc

        texts = self._time_texts()
        if texts is None or texts.field not in batch.schema.names:
            return batch
        if self._seen is None:
            self._seen = self._learned()
            self._written = self._seen.time_type()
        if self._written is None:
            return batch
        read = self._clock.read(batch.column(texts.field), self._written)
        place = batch.schema.get_field_index(TIME)
        timed = batch.set_column(place, TIME, pc.coalesce(batch.column(TIME), read))
        return timed.drop_columns([texts.field])

    def _learned(self) -> TypeInference:
        """How times are written, by all of them: the file is read once more."""
        options = self._options
        said = () if options.time_format is None else (time_format(options.time_format),)
        seen = TypeInference(options.missing, said or ALL_TIMES)
        other = XesReader(self._path, options)
        for batch in other._stream(no_progress):
            texts = other._time_texts()
            if texts is not None and texts.field in batch.schema.names:
                seen.observe(batch.column(texts.field).drop_null())
        if said and seen.time_type() is None:
            raise self._no_times(seen)
        if seen.offsets:
            self._clock.trust_z()
        return seen

    def _no_times(self, seen: TypeInference) -> LogFormatError:
        bad = seen.unreadable
        cause = f"such as {bad.text[:80]!r}, which is {bad.why}" if bad else "all of them empty"
        return LogFormatError(
            self.name,
            None,
            f"{_TIME_KEY} is a text in this file, {cause}",
            hint="export it as a date, or say how times are written, or what means no value",
            options=(Option("time_format"), Option("missing")),
        )

    def _refuse_long_texts(self, batch: RecordBatch) -> None:
        if batch.nbytes <= self._options.longest_text:
            return
        names = {column.field: column.name for column in self._document.columns.by_key()}
        for field, column in zip(batch.schema, batch.columns, strict=True):
            long = str(field.type) == "string"
            if long and first_too_long(column, self._options.longest_text):
                cause, hint, options = too_long(names.get(field.name, field.name), self._options)
                raise LogFormatError(self.name, None, cause, hint=hint, options=options)

    # --- the stream -------------------------------------------------------------------

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
        if self._seen is not None and self._written is not None:
            yield from format_guess(self._written, self._seen, self._options)
            yield from self._clock.guesses()

    def _notices(self) -> Iterator[str]:
        columns = self._document.columns
        counts = (
            self._document.duplicate_names,
            self._document.unnamed_traces,
            self._document.empty_traces,
            self._document.too_long_numbers,
            self._dates.finer,
            columns.event_extra.count,
            columns.case_extra.count,
        )
        yield from (
            f"{count} {what}" for count, what in zip(counts, _NOTICES, strict=True) if count
        )
        if untyped := self._document.untyped_times:
            yield f"{untyped} × a {_TIME_KEY} is no date: {self._what_became_of_texts()}"
        yield from changed_clocks(self._dates.skipped, self._dates.twice, self._options.timezone)
        yield from self._clock.notices()

    def _what_became_of_texts(self) -> str:
        if self._written is not None:
            return "texts were read as times"
        return "kept as an attribute; the event counts as without time"


def _refuse_options(options: ReadOptions) -> None:
    """What would be passed over in silence."""
    for name in ("delimiter", "case", "activity", "timestamp"):
        if getattr(options, name) is not None:
            raise UsageError(
                f"an XES file says itself what its {name} is",
                hint="leave this out",
                options=(Option(name),),
            )


def _behind(found: int) -> int:
    """The place behind the end of a trace that was found; 0 if none was."""
    return found + len(END_OF_TRACE) if found >= 0 else 0
