"""The XES reader: streams `.xes` and `.xes.gz` in constant memory.

Traces in the usual form are read by the megabyte, everything else by an XML parser (`xes_parser`);
both give the same rows, and only the parser decides where the traces are. It need not see
the whole file: right after the end of a trace, whole traces may be left out, because nothing
inside them changes how the rest is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pappi.errors import LogFormatError, Option
from pappi.eventlog.files import Place, open_log_file, refuse_long_texts
from pappi.eventlog.inference import (
    ALL_TIMES,
    WITHOUT_OFFSET,
    ColumnType,
    LogClock,
    Tally,
    TypeInference,
    changed_clocks,
    format_guess,
    requested_formats,
)
from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    TIME,
    ArrowArray,
    Batches,
    Description,
    Guess,
    Kinds,
    Progress,
    ReadOptions,
    RecordBatch,
    no_progress,
)
from pappi.eventlog.xes_parser import (
    CASE_EXTRA,
    END_OF_TRACE,
    EVENT_EXTRA,
    NAME,
    NOTICES,
    TIME_KEY,
    TYPES,
    UNTYPED_TIME,
    Buffer,
    ColumnSet,
    DateReader,
    XesParser,
    value_readers,
)

Integers: TypeAlias = NDArray[np.int64]

_BLOCK = 1 << 22
# A trace longer than this is given to the parser as it comes, without waiting for its end.
_LONGEST = 1 << 24


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
        self._bulk = BulkReader(self._parser.columns, self._parser.case_ids, self._dates)
        self._clock = LogClock(options, learns=kinds is None)
        self._seen: TypeInference | None = None
        self._written: ColumnType | None = None
        self._timed = 0

    @property
    def name(self) -> str:
        return self._path.name

    def batches(self, progress: Progress = no_progress) -> Batches:
        for batch in self._stream(progress):
            names = {column.field: column.name for column in self._parser.columns.by_key()}
            refuse_long_texts(batch, names, self._options, self._too_long)
            timed = self._with_times(batch)
            self._timed += len(timed) - timed.column(TIME).null_count
            yield timed
        if self._seen is not None and not self._timed:
            raise self._no_times(self._seen)

    def description(self) -> Description:
        column_set = self._parser.columns
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
        return self._parser.columns.of_event["string"].get(TIME_KEY)

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
            f"{TIME_KEY} is a text in this file, {cause}",
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
        if count := self._dates.tally[WITHOUT_OFFSET]:
            zone = self._options.timezone or "UTC"
            yield Guess(f"{count} dates without an offset", f"read as {zone}", "timezone")
        if self._seen is not None and self._written is not None:
            yield from format_guess(self._written, self._seen, self._options)
            yield from self._clock.guesses()

    def _notices(self) -> Iterator[str]:
        columns = self._parser.columns
        extra = {EVENT_EXTRA: columns.event_extra.count, CASE_EXTRA: columns.case_extra.count}
        counts = self._parser.tally + self._dates.tally + Tally(extra)
        yield from (f"{counts[notice]} × {notice}" for notice in NOTICES if counts[notice])
        if untyped := counts[UNTYPED_TIME]:
            became = (
                "kept as an attribute; the event counts as without time"
                if self._written is None
                else "texts were read as times"
            )
            yield f"{untyped} × {UNTYPED_TIME}: {became}"
        yield from changed_clocks(self._dates.tally, self._options.timezone)
        yield from self._clock.notices()


def _behind(place: int) -> int:
    """The place after the end of a trace; 0 if there is none."""
    return place + len(END_OF_TRACE) if place >= 0 else 0


# --- whole traces at once, if they have the usual form -------------------------------
#
#     "/></event><event><string key="concept:name" value="
#     "/><date key="time:timestamp" value="
#
# From the quote that ends one value to the quote that begins the next there is only markup: a
# *separator*. A log has few different ones; each is read once, strictly. An attribute has four
# double quotes, around its key and around its value, so the quotes cut a piece of the file into
# values and separators alternately, and whole columns of positions are computed at once instead
# of calling a function for every element (`layout_of`).
#
# Every character lies in a separator that was read strictly or in a value without markup, so what
# is accepted here is well-formed XML, and means what the layout says. Whatever needs a decision
# (a name that was used before, a second attribute of the same key, an invalid number) is
# Irregular: nothing has been changed then, and the parser reads that piece.


_CORE = {NAME: "string", TIME_KEY: "date"}
_ENTITIES = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}
_ENTITY = re.compile(r"&(?:(lt|gt|quot|apos|amp)|#([0-9]{1,7}));")
_ENTITY_BYTES = re.compile(_ENTITY.pattern.encode())


class Irregular(Exception):
    """This part of the file does not have the usual form."""


@dataclass(frozen=True, slots=True)
class BulkReader:
    """Reads pieces of one file into the same columns as its parser."""

    columns: ColumnSet
    case_ids: set[str]
    dates: DateReader

    def batch(self, piece: bytes) -> RecordBatch:
        """The events of whole traces; raises Irregular if the parser has to read them.

        Everything is read before anything is kept.
        """
        layout, seen = layout_of(piece), DateReader(self.dates.zone)
        # Texts may have the entities that every XML has, or numeric ones.
        ampersands = piece.count(b"&")
        if ampersands and len(_ENTITY_BYTES.findall(piece)) != ampersands:
            raise Irregular
        attributes = [
            (of, _values(of, layout, seen, escaped=ampersands > 0)) for of in layout.attributes
        ]
        case_names = [values for of, values in attributes if _names_case(of)]
        if len(case_names) != 1 or len(case_names[0]) != layout.traces:
            raise Irregular
        names: list[str] = case_names[0].to_pylist()
        if len({*names}) != len(names) or not self.case_ids.isdisjoint(names):
            raise Irregular
        arrays = {
            CASE: pa.array(names, pa.string()).take(pa.array(layout.trace_of_event)),
            ACTIVITY: pa.nulls(layout.events, pa.string()),
            TIME: pa.nulls(layout.events, pa.int64()),
        }
        for of, values in attributes:
            if not _names_case(of):
                column = self.columns.event_column if of.of_event else self.columns.trace_column
                buffer, array = column(of.tag, of.key), _spread(of, values, layout)
                buffer.count += len(array) - array.null_count
                arrays[buffer.field] = array
        self.case_ids.update(names)
        self.dates.tally += seen.tally
        return pa.record_batch(arrays)


def _values(of: Attributes, layout: Layout, dates: DateReader, *, escaped: bool) -> ArrowArray:
    """One value for every attribute of the group, in the order of the file."""
    if of.key in _CORE and of.tag != _CORE[of.key] and (of.of_event or of.key == NAME):
        raise Irregular
    if not np.all(np.diff(of.owners) > 0):
        raise Irregular  # a second one in the same trace or event
    texts = layout.segments.take(pa.array(of.segments))
    try:
        if of.tag == "date":
            return dates.read_all(texts)
        if of.tag in ("string", "id") and not escaped:
            return texts
        read = value_readers(dates)[of.tag]
        encoded = texts.dictionary_encode()
        different = encoded.dictionary.to_pylist()
        if escaped:
            different = [_ENTITY.sub(_character, text) for text in different]
        values = [read(text) for text in different]
    except (ValueError, OverflowError):
        raise Irregular from None
    return pa.array(values, TYPES[of.tag].arrow).take(encoded.indices)


def _spread(of: Attributes, values: ArrowArray, layout: Layout) -> ArrowArray:
    """The values where their events are, or the events of their traces; null elsewhere."""
    owners = layout.events if of.of_event else layout.traces
    if of.of_event and len(values) == owners:
        return values
    number = np.full(owners, -1)
    number[of.owners] = np.arange(len(values))
    if not of.of_event:
        number = number[layout.trace_of_event]
    return values.take(pa.array(number, mask=number < 0))


def _names_case(of: Attributes) -> bool:
    return of.key == NAME and not of.of_event


def _character(entity: re.Match[str]) -> str:
    """The character of an entity; only numbers that every parser accepts."""
    if entity[1]:
        return _ENTITIES[entity[1]]
    number = int(entity[2])
    if number not in (9, 10, 13) and not 0x20 <= number < 0xD800:
        raise Irregular
    return chr(number)


# --- the layout of a piece -----------------------------------------------------------


_QUOTE, _LESS_THAN, _SPACE = b'"< '
# Characters that XML forbids, though UTF-8 can encode them.
_NO_CHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")
# With more different separators than this, reading them costs as much as the parser.
_MOST_SEPARATORS = 1000


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of one level, type and key, in the order of the file.

    Each belongs to the event or trace number `owners[i]`, and its text is `segments[i]`.
    """

    of_event: bool
    tag: str
    key: str
    owners: Integers
    segments: Integers


@dataclass(frozen=True, slots=True)
class Layout:
    """Traces and their events, numbered; attributes in the order in which each first occurs."""

    segments: ArrowArray
    traces: int
    trace_of_event: Integers
    attributes: tuple[Attributes, ...]

    @property
    def events(self) -> int:
        return len(self.trace_of_event)


def layout_of(piece: bytes) -> Layout:
    """The layout of whole traces, each with an event and an attribute; Irregular otherwise."""
    try:
        piece.decode()
    except UnicodeDecodeError:
        raise Irregular from None
    if any(character in piece for character in _NO_CHARACTERS):
        raise Irregular
    data = np.frombuffer(piece, np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    if len(quotes) == 0 or len(quotes) % 4:
        raise Irregular
    segments = _segments(piece, quotes.reshape(-1, 4))
    kinds, codes = _separators(segments)
    places = _places(kinds, codes)
    # The markup after the last value must end the trace.
    match = _LAST.fullmatch(segments[-1].as_py())
    if match is None:
        raise Irregular
    before, after, opened = _walked(match[1])
    if (before, after, opened) != (Level(int(places[-1])), Level.BETWEEN_TRACES, ""):
        raise Irregular
    _require_plain_values(data, kinds, codes, segments)
    opens_event = np.array([kind.opens_event for kind in kinds])[codes]
    opens_trace = np.array([kind.opens_trace for kind in kinds])[codes]
    event, trace = np.cumsum(opens_event) - 1, np.cumsum(opens_trace) - 1
    trace_of_event = trace[opens_event]
    traces = int(trace[-1]) + 1
    if len(np.unique(trace_of_event)) != traces:
        raise Irregular  # a trace without events
    in_event = places == Level.IN_EVENT
    owners = np.where(in_event, event, trace)
    attributes = _grouped(kinds, codes, in_event, owners)
    return Layout(segments, traces, trace_of_event, attributes)


def _segments(piece: bytes, quotes: Integers) -> ArrowArray:
    """Separator, value, separator, …, value, end: as texts, without copying any."""
    borders = np.empty(2 * len(quotes) + 2, np.int32)
    borders[0], borders[-1] = 0, len(piece)
    borders[1:-1:2] = quotes[:, 2] + 1
    borders[2:-1:2] = quotes[:, 3]
    buffers = [None, pa.py_buffer(borders), pa.py_buffer(piece)]
    return pa.StringArray.from_buffers(len(borders) - 1, *buffers[1:])


def _separators(segments: ArrowArray) -> tuple[list[Separator], Integers]:
    """The different separators, and which of them stands before each value."""
    first = read_separator(f'"/>{segments[0].as_py()}')
    if first.before != Level.BETWEEN_TRACES:
        raise Irregular
    encoded = segments.take(pa.array(np.arange(2, len(segments) - 1, 2))).dictionary_encode()
    if len(encoded.dictionary) > _MOST_SEPARATORS:
        raise Irregular
    others = [read_separator(text) for text in encoded.dictionary.to_pylist()]
    codes = np.zeros(len(encoded) + 1, np.int64)
    codes[1:] = encoded.indices.to_numpy() + 1
    return [first, *others], codes


def _places(kinds: list[Separator], codes: Integers) -> Integers:
    """The level of each attribute; raises Irregular if a tag closes what is not open."""
    before = np.array([kind.before for kind in kinds])[codes]
    after = np.array([kind.after for kind in kinds])[codes]
    changed = np.where(after != Level.UNCHANGED, np.arange(len(after)), 0)
    places: Integers = after[np.maximum.accumulate(changed)]
    expected = before[1:]
    if not np.all((expected == Level.UNCHANGED) | (expected == places[:-1])):
        raise Irregular
    return places


def _require_plain_values(
    data: NDArray[np.uint8], kinds: list[Separator], codes: Integers, segments: ArrowArray
) -> None:
    """Raise Irregular unless all markup and control characters are in separators."""
    weights = np.array([kind.special for kind in kinds])
    in_separators = int(np.bincount(codes, minlength=len(kinds)) @ weights)
    everywhere = int(np.count_nonzero((data < _SPACE) | (data == _LESS_THAN)))
    if everywhere != in_separators + specials(segments[-1].as_py()):
        raise Irregular


def _grouped(
    kinds: list[Separator], codes: Integers, in_event: NDArray[np.bool_], owners: Integers
) -> tuple[Attributes, ...]:
    names = list(dict.fromkeys((kind.tag, kind.key) for kind in kinds))
    number = {name: 2 * n for n, name in enumerate(names)}
    group = np.array([number[kind.tag, kind.key] for kind in kinds])[codes] + in_event
    order = np.argsort(group.astype(np.uint16), kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    attributes = []
    for member in sorted(members, key=lambda member: int(member[0])):
        tag, key = names[group[member[0]] // 2]
        attributes.append(
            Attributes(bool(in_event[member[0]]), tag, key, owners[member], 2 * member + 1)
        )
    return tuple(attributes)


# --- separators ----------------------------------------------------------------------


class Level(IntEnum):
    """The level of an attribute; UNCHANGED is that of the one before it."""

    UNCHANGED = 0
    BETWEEN_TRACES = 1
    IN_TRACE = 2
    IN_EVENT = 3


@dataclass(frozen=True, slots=True)
class Separator:
    """The markup before a value: what it closes and opens, and the attribute it begins.

    `special` counts the characters that no value may have in this form.
    """

    before: Level
    after: Level
    opens_trace: bool
    opens_event: bool
    tag: str
    key: str
    special: int


_MARKUP = r"((?:[ \t\r\n]|</?(?:trace|event)>)*+)"
_SEPARATOR = re.compile(
    rf'" ?/>{_MARKUP}<(string|date|int|float|boolean|id) key="([^"<&\x00-\x1f]*+)" value="'
)
_LAST = re.compile(rf'" ?/>{_MARKUP}')
_TAG = re.compile(r"</?[a-z]+>")
_SPECIAL = re.compile(r"[<\x00-\x1f]")
_MOVES = {
    "<trace>": (Level.BETWEEN_TRACES, Level.IN_TRACE),
    "</trace>": (Level.IN_TRACE, Level.BETWEEN_TRACES),
    "<event>": (Level.IN_TRACE, Level.IN_EVENT),
    "</event>": (Level.IN_EVENT, Level.IN_TRACE),
}


def read_separator(text: str) -> Separator:
    """The separator, from the quote that ends the value before it.

    >>> found = read_separator('"/></event> <event><int key="n" value="')
    >>> (found.before.name, found.after.name, found.opens_event, found.tag, found.key)
    ('IN_EVENT', 'IN_EVENT', True, 'int', 'n')
    """
    match = _SEPARATOR.fullmatch(text)
    if match is None:
        raise Irregular
    before, after, opened = _walked(match[1])
    # At most one event begins here, and if a trace does, the event is in it.
    if opened not in ("", "<trace>", "<event>", "<trace><event>") or after == Level.BETWEEN_TRACES:
        raise Irregular
    return Separator(
        before=before,
        after=after,
        opens_trace=opened.startswith("<trace>"),
        opens_event=opened.endswith("<event>"),
        tag=match[2],
        key=match[3],
        special=specials(text),
    )


def specials(text: str) -> int:
    return len(_SPECIAL.findall(text))


def _walked(markup: str) -> tuple[Level, Level, str]:
    """The levels these tags lead from and to, and the opening tags among them."""
    before = after = Level.UNCHANGED
    opened = ""
    for tag in _TAG.findall(markup):
        source, target = _MOVES[tag]
        if before == Level.UNCHANGED:
            before = source
        elif source != after:
            raise Irregular
        after = target
        opened += "" if tag.startswith("</") else tag
    return before, after, opened
