"""Reads whole traces of an XES file at once, if they have the usual form.

    "/></event><event><string key="concept:name" value="
    "/><date key="time:timestamp" value="

From the quote that ends one value to the quote that begins the next there is only markup: a
*separator*. A log has few different ones; each is read once, strictly. An attribute has four
double quotes, around its key and around its value, so the quotes cut a piece of the file into
values and separators alternately, and whole columns of positions are computed at once instead
of calling a function for every element (`layout_of`).

Every character lies in a separator that was read strictly or in a value without markup, so what
is accepted here is well-formed XML, and means what the layout says. Whatever needs a decision
(a name that was used before, a second attribute of the same key, an invalid number) is
Irregular: nothing has been changed then, and `xes.XesDocument` reads that piece.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pappi.eventlog.log import ACTIVITY, CASE, TIME, ArrowArray, RecordBatch
from pappi.eventlog.xes_columns import ARROW_TYPES, ColumnSet, DateReader, value_readers

Integers: TypeAlias = NDArray[np.int64]

_NAME = "concept:name"
_CORE = {_NAME: "string", "time:timestamp": "date"}
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
        """The events of whole traces; raises Irregular if the parser has to read them."""
        return _Piece(piece, layout_of(piece), self.dates).taken_into(self.columns, self.case_ids)


class _Piece:
    """One piece: everything is read before anything is kept."""

    def __init__(self, piece: bytes, layout: Layout, dates: DateReader) -> None:
        self._layout = layout
        # Texts may have the entities that every XML has, or numeric ones.
        ampersands = piece.count(b"&")
        if ampersands and len(_ENTITY_BYTES.findall(piece)) != ampersands:
            raise Irregular
        self._escaped = ampersands > 0
        self._dates = dates
        self._seen = DateReader(dates.zone)
        self._readers = value_readers(self._seen)

    def taken_into(self, columns: ColumnSet, case_ids: set[str]) -> RecordBatch:
        attributes = [(of, self._values(of)) for of in self._layout.attributes]
        case_names = [values for of, values in attributes if _names_case(of)]
        if len(case_names) != 1 or len(case_names[0]) != self._layout.traces:
            raise Irregular
        names: list[str] = case_names[0].to_pylist()
        if len({*names}) != len(names) or not case_ids.isdisjoint(names):
            raise Irregular
        events = self._layout.events
        arrays = {
            CASE: pa.array(names, pa.string()).take(pa.array(self._layout.trace_of_event)),
            ACTIVITY: pa.nulls(events, pa.string()),
            TIME: pa.nulls(events, pa.int64()),
        }
        spread = [
            (of, self._spread(of, values)) for of, values in attributes if not _names_case(of)
        ]
        for of, array in spread:
            column = columns.event_column if of.of_event else columns.trace_column
            buffer = column(of.tag, of.key)
            buffer.count += len(array) - array.null_count
            arrays[buffer.field] = array
        case_ids.update(names)
        self._dates.add(self._seen)
        return pa.record_batch(arrays)

    def _values(self, of: Attributes) -> ArrowArray:
        """One value for every attribute of the group, in the order of the file."""
        if of.key in _CORE and of.tag != _CORE[of.key] and (of.of_event or of.key == _NAME):
            raise Irregular
        if not np.all(np.diff(of.owners) > 0):
            raise Irregular  # a second one in the same trace or event
        texts = self._layout.segments.take(pa.array(of.segments))
        try:
            return self._read(of.tag, texts)
        except (ValueError, OverflowError):
            raise Irregular from None

    def _read(self, tag: str, texts: ArrowArray) -> ArrowArray:
        if tag in ("string", "id"):
            return _unescaped(texts) if self._escaped else texts
        if tag == "date":
            return self._seen.read_all(texts)
        encoded = texts.dictionary_encode()
        values = [self._readers[tag](text) for text in encoded.dictionary.to_pylist()]
        return pa.array(values, ARROW_TYPES[tag]).take(encoded.indices)

    def _spread(self, of: Attributes, values: ArrowArray) -> ArrowArray:
        """The values where their events are, or the events of their traces; null elsewhere."""
        layout = self._layout
        owners = layout.events if of.of_event else layout.traces
        if of.of_event and len(values) == owners:
            return values
        number = np.full(owners, -1)
        number[of.owners] = np.arange(len(values))
        if not of.of_event:
            number = number[layout.trace_of_event]
        return values.take(pa.array(number, mask=number < 0))


def _names_case(of: Attributes) -> bool:
    return of.key == _NAME and not of.of_event


def _unescaped(texts: ArrowArray) -> ArrowArray:
    encoded = texts.dictionary_encode()
    values = [_ENTITY.sub(_character, text) for text in encoded.dictionary.to_pylist()]
    return pa.array(values, pa.string()).take(encoded.indices)


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
    if (before, after, opened) != (Place(int(places[-1])), Place.BETWEEN_TRACES, ""):
        raise Irregular
    _require_plain_values(data, kinds, codes, segments)
    opens_event = np.array([kind.opens_event for kind in kinds])[codes]
    opens_trace = np.array([kind.opens_trace for kind in kinds])[codes]
    event, trace = np.cumsum(opens_event) - 1, np.cumsum(opens_trace) - 1
    trace_of_event = trace[opens_event]
    traces = int(trace[-1]) + 1
    if len(np.unique(trace_of_event)) != traces:
        raise Irregular  # a trace without events
    in_event = places == Place.IN_EVENT
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
    if first.before != Place.BETWEEN_TRACES:
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
    changed = np.where(after != Place.UNCHANGED, np.arange(len(after)), 0)
    places: Integers = after[np.maximum.accumulate(changed)]
    expected = before[1:]
    if not np.all((expected == Place.UNCHANGED) | (expected == places[:-1])):
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


class Place(IntEnum):
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

    before: Place
    after: Place
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
    "<trace>": (Place.BETWEEN_TRACES, Place.IN_TRACE),
    "</trace>": (Place.IN_TRACE, Place.BETWEEN_TRACES),
    "<event>": (Place.IN_TRACE, Place.IN_EVENT),
    "</event>": (Place.IN_EVENT, Place.IN_TRACE),
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
    if opened not in ("", "<trace>", "<event>", "<trace><event>") or after == Place.BETWEEN_TRACES:
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


def _walked(markup: str) -> tuple[Place, Place, str]:
    """The levels these tags lead from and to, and the opening tags among them."""
    before = after = Place.UNCHANGED
    opened = ""
    for tag in _TAG.findall(markup):
        source, target = _MOVES[tag]
        if before == Place.UNCHANGED:
            before = source
        elif source != after:
            raise Irregular
        after = target
        opened += "" if tag.startswith("</") else tag
    return before, after, opened
