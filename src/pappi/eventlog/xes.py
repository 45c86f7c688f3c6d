"""The XES reader: streams `.xes` and `.xes.gz` in constant memory.

Traces in the usual form are read by the megabyte (`xes_bulk`), everything else by an XML parser,
expat; both give the same rows, and only the parser decides where the traces are. It need not see
the whole file: right after the end of a trace, whole traces may be left out, because nothing
inside them changes how the rest is parsed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import count
from typing import Protocol
from xml.parsers import expat

import numpy as np
import pyarrow.compute as pc

from pappi.errors import LogFormatError, Option
from pappi.eventlog.files import Place, open_log_file, refuse_long_texts
from pappi.eventlog.inference import (
    ALL_TIMES,
    ColumnType,
    LogClock,
    TypeInference,
    changed_clocks,
    format_guess,
    requested_formats,
)
from pappi.eventlog.log import (
    TIME,
    Batches,
    Description,
    Guess,
    Kinds,
    Progress,
    ReadOptions,
    RecordBatch,
    no_progress,
)
from pappi.eventlog.xes_bulk import BulkReader, Irregular
from pappi.eventlog.xes_columns import (
    EXPECTED,
    KINDS,
    Buffer,
    ColumnSet,
    DateReader,
    Node,
    Value,
    extra_json,
    stub_node,
    value_readers,
    whole_node,
)

END_OF_TRACE = b"</trace>"

_BLOCK = 1 << 22
# A trace longer than this is given to the parser as it comes, without waiting for its end.
_LONGEST = 1 << 24
_STEP = 1 << 17
# The most bytes of a character in UTF-8.
_BYTES = 4
_ROWS_PER_BATCH = 20_000
_DEEPEST = 100

_NAME = "concept:name"
_TIME_KEY = "time:timestamp"

# The texts of the counts in `_notices`.
_NOTICES = (
    "× a trace has the name of an earlier one: kept as a case of its own, as “name (…)”",
    "× a trace has no name: kept as a case “unnamed (…)”",
    "× a trace has no events: nothing to import from it",
    "× a whole number does not fit into 64 bits: kept as text in the extra column",
    "× a date is finer than a microsecond: it was truncated",
    "× an event has lists, nested or repeated attributes: kept as JSON in the attribute “extra”",
    "× an event's trace has such attributes: kept as JSON in the attribute “case:extra”",
)


class XesReader:
    """One XES file. The format itself defines case, activity and time, and the types of values.

    Some tools write times as texts: these are read like those of a CSV file, in a format inferred
    from all of them. With `kinds`, attributes are named by their keys only.
    """

    def __init__(self, path: Place, options: ReadOptions, kinds: Kinds | None = None) -> None:
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
            names = {column.field: column.name for column in self._document.columns.by_key()}
            refuse_long_texts(batch, names, self._options, self._too_long)
            timed = self._with_times(batch)
            self._timed += len(timed) - timed.column(TIME).null_count
            yield timed
        if self._seen is not None and not self._timed:
            raise self._no_times(self._seen)

    def description(self) -> Description:
        column_set = self._document.columns
        columns = column_set.described() if self._kinds is None else column_set.by_key()
        times = self._time_texts()
        if self._written is not None and times is not None:
            columns = tuple(column for column in columns if column.field != times.field)
        return Description(columns, tuple(self._guesses()), tuple(self._notices()))

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
        """The batch, with times that are texts read if possible."""
        texts = self._time_texts()
        if texts is None or texts.field not in batch.schema.names:
            return batch
        if self._seen is None:
            self._seen = self._learned()
            self._written = self._seen.time_type()
        if self._written is None:
            return batch
        times = self._written.read(batch.column(texts.field), self._clock)
        place = batch.schema.get_field_index(TIME)
        timed = batch.set_column(place, TIME, pc.coalesce(batch.column(TIME), times))
        return timed.drop_columns([texts.field])

    def _learned(self) -> TypeInference:
        """Infer the format of times from all of them: the file is read once more."""
        options = self._options
        inference = TypeInference(options.missing, requested_formats(options) or ALL_TIMES)
        reader = XesReader(self._path, options)
        for batch in reader._stream(no_progress):
            texts = reader._time_texts()
            if texts is not None and texts.field in batch.schema.names:
                inference.observe(batch.column(texts.field).drop_null())
        if options.time_format is not None and inference.time_type() is None:
            raise self._no_times(inference)
        if inference.offsets:
            self._clock.trust_z()
        return inference

    def _no_times(self, inference: TypeInference) -> LogFormatError:
        bad = inference.unreadable
        cause = f"such as {bad.text[:80]!r}, which is {bad.why}" if bad else "all of them empty"
        return LogFormatError(
            self.name,
            None,
            f"{_TIME_KEY} is a text in this file, {cause}",
            hint="export it as a date, give the time format, or say which text means no value",
            options=(Option("time_format"), Option("missing")),
        )

    def _too_long(
        self, _row: int, cause: str, hint: str, options: Sequence[Option]
    ) -> LogFormatError:
        return LogFormatError(self.name, None, cause, hint=hint, options=options)

    # --- the stream -------------------------------------------------------------------

    def _read(self, text: bytes) -> Generator[RecordBatch, None, bytes]:
        """Read as much as possible so far; returns the rest."""
        begin = 0
        while begin < len(text) and not self._parser.between_traces:
            end = _behind(text.find(END_OF_TRACE, begin)) or len(text)
            yield from self._parser.feed(text[begin:end])
            begin = end
        end = _behind(text.rfind(END_OF_TRACE, begin)) or begin
        # Whole traces, if the file is well-formed; read at once, if they have the usual form.
        traces = text[begin:end]
        try:
            batch = self._bulk.batch(traces)
        except Irregular:
            yield from self._parser.feed(traces)
        else:
            yield from self._parser.skip(traces)
            yield batch
        if len(text) - end > _LONGEST:
            yield from self._parser.feed(text[end:])
            return b""
        return text[end:]

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
            f"{count} {notice}" for count, notice in zip(counts, _NOTICES, strict=True) if count
        )
        if untyped := self._document.untyped_times:
            became = (
                "kept as an attribute; the event counts as without time"
                if self._written is None
                else "texts were read as times"
            )
            yield f"{untyped} × a {_TIME_KEY} is not a date: {became}"
        yield from changed_clocks(self._dates.skipped, self._dates.twice, self._options.timezone)
        yield from self._clock.notices()


def _behind(place: int) -> int:
    """The place after the end of a trace; 0 if there is none."""
    return place + len(END_OF_TRACE) if place >= 0 else 0


# --- the parser ----------------------------------------------------------------------


class XesParser:
    """Parses one file with the document's handlers; defects become LogFormatError."""

    def __init__(self, file: str, dates: DateReader, options: ReadOptions) -> None:
        self._file = file
        self._longest = _BYTES * options.longest_text + _STEP
        self._parser = parser = expat.ParserCreate()
        self._fed = 0
        self._lines_skipped = 0
        self._utf8 = True
        self._trace_end = -1
        self.document = XesDocument(dates, self._defect, self._at_trace_end, options.most_columns)
        parser.StartElementHandler = self._start_root
        parser.EndElementHandler = self.document.end
        parser.XmlDeclHandler = self._declared
        parser.StartDoctypeDeclHandler = self._refuse_declarations
        parser.EntityDeclHandler = self._refuse_declarations

    @property
    def between_traces(self) -> bool:
        """Whether everything fed was parsed and ended in `</trace>`, in UTF-8."""
        return self._utf8 and self._trace_end + len(END_OF_TRACE) == self._fed

    def feed(self, text: bytes) -> Iterator[RecordBatch]:
        """Parse more text; yields the batches that are complete."""
        for begin in range(0, len(text), _STEP):
            step = text[begin : begin + _STEP]
            self._fed += len(step)
            self._parse(step, final=False)
            # expat reads an unfinished tag again from its beginning at every step.
            if self._fed - self._parser.CurrentByteIndex > self._longest:
                raise self._defect(
                    f"a tag or text that does not end within {self._longest >> 20} MB",
                    "shorten such values, or raise the limit",
                    (Option("longest_text"),),
                )
            yield from self.document.taken()

    def skip(self, traces: bytes) -> Iterator[RecordBatch]:
        """Leave out traces that were read elsewhere; yields what was read before them."""
        self._lines_skipped += _lines(traces)
        self.document.hand_over()
        yield from self.document.taken()

    def finish(self) -> Iterator[RecordBatch]:
        self._parse(b"", final=True)
        self.document.hand_over()
        yield from self.document.taken()

    def _parse(self, text: bytes, *, final: bool) -> None:
        try:
            self._parser.Parse(text, final)
        except expat.ExpatError as error:
            if final:
                cause = "the XML ends too early: the file is truncated"
                hint = "copy or download it again, and compare the size with the original"
            else:
                cause = f"malformed XML: {expat.ErrorString(error.code)}"
                hint = "export the log again, or correct the file at this line"
            raise LogFormatError(
                self._file, error.lineno + self._lines_skipped, cause, hint=hint
            ) from None

    def _defect(self, cause: str, hint: str, options: Sequence[Option] = ()) -> LogFormatError:
        line = self._parser.CurrentLineNumber + self._lines_skipped
        return LogFormatError(self._file, line, cause, hint=hint, options=options)

    def _start_root(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Learn from the first element whether tags have a prefix: <log> or <xes:log>."""
        prefix = tag[: tag.rfind(":") + 1]
        start = self.document.start
        if prefix:
            self._parser.StartElementHandler = lambda tag, attributes: start(
                tag.removeprefix(prefix), attributes
            )
        else:
            self._parser.StartElementHandler = start
        start(tag.removeprefix(prefix), attributes)

    def _at_trace_end(self) -> None:
        self._trace_end = self._parser.CurrentByteIndex

    def _declared(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self._utf8 = encoding is None or encoding.lower() == "utf-8"

    def _refuse_declarations(self, *_declaration: object) -> None:
        raise self._defect(
            "document type and entity declarations are not accepted in an event log",
            "remove the <!DOCTYPE …> part: entities can expand without bound",
        )


def _lines(text: bytes) -> int:
    """The number of line ends in the text: LF, CR LF or CR."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


# --- from elements to rows -----------------------------------------------------------


class Defect(Protocol):
    """Makes the error for a defect at the current place."""

    def __call__(self, cause: str, hint: str, options: Sequence[Option] = ()) -> LogFormatError: ...


class XesDocument:
    """Handlers for one file: `start` and `end` of every element; complete batches are `taken`.

        <log>                    depth 1
          <trace>                depth 2
            attribute            depth 3, with children below
            <event>              depth 3
              attribute          depth 4, with children below

    Everything else directly under <log> (extensions, globals, classifiers, attributes of
    the log) is skipped: global defaults in particular are never filled in, since a value
    that nobody recorded would change durations and counts. Rows are handed over at the end
    of a trace, so memory holds one batch and the longest trace.

    `at_trace_end` is called at the end of every trace.
    """

    def __init__(
        self,
        dates: DateReader,
        defect: Defect,
        at_trace_end: Callable[[], None],
        most_columns: int,
    ) -> None:
        self._defect = defect
        self._most_columns = most_columns
        self._at_trace_end = at_trace_end
        self._depth = 0
        self._in_trace = False
        self._in_event = False
        self._attribute: tuple[str, Mapping[str, str]] = ("", {})
        self._nodes: list[Node] = []
        self._extra: list[Node] = []
        self._trace_extra: list[Node] = []
        self._trace_values: dict[Buffer, Value] = {}
        self._case_name: str | None = None
        self._name_in_column = False
        self._row = 0
        self._first_row = 0
        self.columns = ColumnSet(value_readers(dates), self._refuse_columns)
        self._event_columns = self.columns.of_event
        self._ready: list[RecordBatch] = []
        self.case_ids: set[str] = set()
        self._numbers: dict[str, int] = {}
        self.duplicate_names = 0
        self.unnamed_traces = 0
        self.empty_traces = 0
        self.too_long_numbers = 0
        self.untyped_times = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        depth = self._depth = self._depth + 1
        if self._in_event:
            if depth == 4:
                self._event_attribute(tag, attributes)
            else:
                self._nested(tag, attributes)
        elif self._in_trace:
            if depth > 3:
                self._nested(tag, attributes)
            elif tag == "event":
                self._in_event = True
                self._extra = []
            else:
                self._trace_attribute(tag, attributes)
        elif depth <= 2:
            self._outside(tag, depth)

    def end(self, _tag: str) -> None:
        self._depth -= 1
        if self._nodes:
            self._nodes.pop()
        if self._depth == 2 and self._in_event:
            if self._extra:
                self.columns.event_extra.put(self._row, extra_json(self._extra))
            if len(self.columns.activity.values) <= self._row:
                self._name_by_other_type()
            self._in_event = False
            self._row += 1
        elif self._depth == 1 and self._in_trace:
            self._end_trace()

    def hand_over(self) -> None:
        """Make a batch of the rows of all traces so far."""
        if self._row:
            self._ready.append(self.columns.take(self._row))
            self._row = self._first_row = 0

    def taken(self) -> list[RecordBatch]:
        """The complete batches, each returned once."""
        ready, self._ready = self._ready, []
        return ready

    def _refuse_columns(self, count: int) -> None:
        if count > self._most_columns:
            raise self._defect(
                f"more than {self._most_columns:,} different attributes",
                "check the export: keys must be attribute names, not values",
                (Option("most_columns"),),
            )

    def _outside(self, tag: str, depth: int) -> None:
        if depth == 1:
            if tag != "log":
                raise self._defect(
                    f"this is XML but not XES: it begins with <{tag}>, not <log>",
                    "give a log in XES format, or export it again as XES",
                )
        elif tag == "trace":
            self._in_trace = True
        elif tag == "event":
            raise self._defect(
                "an <event> outside any <trace> belongs to no case",
                "export the log with its events grouped into traces",
            )

    def _event_attribute(self, tag: str, attributes: Mapping[str, str]) -> None:
        try:
            column = self._event_columns[tag][attributes["key"]]
            value = column.read(attributes["value"])
        except (KeyError, ValueError, OverflowError):
            self._unusual_event_attribute(tag, attributes)
            return
        if len(column.values) > self._row:
            self._keep(tag, attributes)
            return
        column.put(self._row, value)
        self._attribute = (tag, attributes)

    def _unusual_event_attribute(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An attribute of a new column, or one that does not fit a column."""
        key = self._key(tag, attributes)
        if tag not in KINDS or "value" not in attributes:
            self._keep(tag, attributes)
            return
        column = self.columns.event_column(tag, key)
        value = self._value(tag, attributes, column)
        if value is None or len(column.values) > self._row:
            self._keep(tag, attributes)
            return
        column.put(self._row, value)
        self._attribute = (tag, attributes)
        self.untyped_times += key == _TIME_KEY

    def _trace_attribute(self, tag: str, attributes: Mapping[str, str]) -> None:
        key = self._key(tag, attributes)
        if tag not in KINDS or "value" not in attributes:
            self._keep(tag, attributes)
            return
        self._attribute = (tag, attributes)
        if key == _NAME and self._case_name is None:
            self._case_name = attributes["value"]
            self._name_in_column = tag != "string"
            if not self._name_in_column:
                return
        column = self.columns.trace_column(tag, key)
        value = self._value(tag, attributes, column)
        if value is None or column in self._trace_values:
            self._keep(tag, attributes)
            return
        self._trace_values[column] = value

    def _key(self, tag: str, attributes: Mapping[str, str]) -> str:
        if "key" not in attributes and tag in KINDS:
            raise self._defect(
                f"a <{tag}> attribute has no key", "every XES attribute needs key and value"
            )
        return attributes.get("key", "")

    def _value(self, tag: str, attributes: Mapping[str, str], column: Buffer) -> Value | None:
        """The value, or None if it is a number that no column can hold."""
        text = attributes["value"]
        try:
            return column.read(text)
        except OverflowError:
            self.too_long_numbers += 1
            return None
        except ValueError:
            raise self._defect(
                f"{attributes['key']!r} is {text[:80]!r}, which is not {EXPECTED[tag]}",
                "correct the value in the source system or leave the attribute out",
            ) from None

    def _keep(self, tag: str, attributes: Mapping[str, str]) -> None:
        """The element goes to the extra column, with whatever is inside it."""
        node = whole_node(tag, attributes)
        self._scope().append(node)
        self._nodes = [node]

    def _nested(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._depth > _DEEPEST:
            raise self._defect(
                f"attributes are nested more than {_DEEPEST} levels deep",
                "this does not look like an event log; check how it was made",
            )
        if not self._nodes:
            parent = stub_node(*self._attribute)
            self._scope().append(parent)
            self._nodes = [parent]
        node = whole_node(tag, attributes)
        self._nodes[-1].setdefault("children", []).append(node)
        self._nodes.append(node)

    def _scope(self) -> list[Node]:
        return self._extra if self._in_event else self._trace_extra

    def _name_by_other_type(self) -> None:
        """An activity of another type, such as a number, becomes the activity as text."""
        for typed in self._event_columns.values():
            column = typed.get(_NAME)
            if column is not None and len(column.values) > self._row:
                self.columns.activity.put(self._row, str(column.values[self._row]))
                return

    def _end_trace(self) -> None:
        events = self._row - self._first_row
        if events:
            # The trace's name, or a unique one if it has none or one in use: made from what the
            # trace holds, and not from how many came before. Cases are sampled into buckets by
            # their ids, and one more trace must not change the buckets of all that follow.
            name = self._case_name
            if name is None:
                self.unnamed_traces += 1
                case_id = self._unused(f"unnamed ({self._digest()})")
            elif name in self.case_ids:
                self.duplicate_names += 1
                case_id = self._unused(f"{name} ({self._digest()})")
                if not self._name_in_column:
                    self._trace_values.setdefault(self.columns.trace_column("string", _NAME), name)
            else:
                case_id = name
            self.case_ids.add(case_id)
            # The trace's own attributes, repeated on each of its events.
            self.columns.case.put(self._first_row, case_id, events)
            if self._trace_extra:
                extra = extra_json(self._trace_extra)
                self.columns.case_extra.put(self._first_row, extra, events)
            for column, value in self._trace_values.items():
                column.put(self._first_row, value, events)
        else:
            self.empty_traces += 1
        self._in_trace = False
        self._case_name = None
        self._trace_values = {}
        self._trace_extra = []
        self._first_row = self._row
        if self._row >= _ROWS_PER_BATCH:
            self.hand_over()
        self._at_trace_end()

    def _digest(self) -> str:
        """A digest of the trace that ends here, whatever the order of its columns."""
        content = [(*column, "event") for column in self.columns.held(self._first_row)]
        values = self._trace_values.items()
        content += [(b.name, b.type, repr(value), "trace") for b, value in values]
        content.append(("", "", repr(self._trace_extra), "trace"))
        return hashlib.blake2b(repr(sorted(content)).encode(), digest_size=6).hexdigest()

    def _unused(self, candidate: str) -> str:
        """The candidate, with a number if traces with the same content have taken it."""
        if candidate not in self.case_ids:
            return candidate
        # On from the last number: starting at 2 each time, many equal traces would take forever.
        for number in count(self._numbers.get(candidate, 1) + 1):
            if (name := f"{candidate} ({number})") not in self.case_ids:
                self._numbers[candidate] = number
                return name
        raise AssertionError("there is always another number")
