"""Where everything is in a piece of an XES file: whole traces, written in the usual way.

An attribute has four double quotes, around its key and around its value, so the quotes cut
the piece into values and separators (`xes_separators`) alternately. Whole columns of
positions are then computed at once instead of calling a function for every element. Every
character lies in a separator that was read strictly or in a value without markup, so what is
accepted here is well-formed XML, and says what the layout says; all else is Irregular.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pappi.eventlog.log import ArrowArray
from pappi.eventlog.xes_separators import (
    Irregular,
    Place,
    Separator,
    read_first,
    read_separator,
    require_end,
    specials,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers: TypeAlias = NDArray[np.int64]
    Bytes: TypeAlias = NDArray[np.uint8]

_QUOTE, _LESS_THAN, _SPACE = b'"< '
# Characters that no XML may hold, though UTF-8 can write them.
_NO_CHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")
# More different separators than this, and reading them costs what the parser costs.
_MOST_SEPARATORS = 1000


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of one level, type and key, in the order of the file.

    Each stands in the event or trace of number `owners[i]`, its text in `segments[i]`.
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
    """The layout of whole traces, each with an event and an attribute; else raises Irregular."""
    import numpy as np

    _require_characters(piece)
    data = np.frombuffer(piece, np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    if len(quotes) == 0 or len(quotes) % 4:
        raise Irregular
    segments = _segments(piece, quotes.reshape(-1, 4))
    kinds, codes = _separators(segments)
    places = _places(kinds, codes)
    require_end(segments[-1].as_py(), Place(int(places[-1])))
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


def _require_characters(piece: bytes) -> None:
    if piece.isascii():
        return
    try:
        piece.decode()
    except UnicodeDecodeError:
        raise Irregular from None
    if any(character in piece for character in _NO_CHARACTERS):
        raise Irregular


def _segments(piece: bytes, quotes: Integers) -> ArrowArray:
    """Separator, value, separator, …, value, end: as texts, without copying any."""
    import numpy as np
    import pyarrow as pa

    borders = np.empty(2 * len(quotes) + 2, np.int32)
    borders[0], borders[-1] = 0, len(piece)
    borders[1:-1:2] = quotes[:, 2] + 1
    borders[2:-1:2] = quotes[:, 3]
    buffers = [None, pa.py_buffer(borders), pa.py_buffer(piece)]
    return pa.StringArray.from_buffers(len(borders) - 1, *buffers[1:])


def _separators(segments: ArrowArray) -> tuple[list[Separator], Integers]:
    """The different separators, and which of them stands before each value."""
    import numpy as np
    import pyarrow as pa

    first = read_first(segments[0].as_py())
    encoded = segments.take(pa.array(np.arange(2, len(segments) - 1, 2))).dictionary_encode()
    if len(encoded.dictionary) > _MOST_SEPARATORS:
        raise Irregular
    others = [read_separator(text) for text in encoded.dictionary.to_pylist()]
    codes = np.zeros(len(encoded) + 1, np.int64)
    codes[1:] = encoded.indices.to_numpy() + 1
    return [first, *others], codes


def _places(kinds: list[Separator], codes: Integers) -> Integers:
    """Where each attribute stands; raises Irregular if a tag closes what is not open."""
    import numpy as np

    before = np.array([kind.before for kind in kinds])[codes]
    after = np.array([kind.after for kind in kinds])[codes]
    changed = np.where(after != Place.UNCHANGED, np.arange(len(after)), 0)
    places: Integers = after[np.maximum.accumulate(changed)]
    expected = before[1:]
    if not np.all((expected == Place.UNCHANGED) | (expected == places[:-1])):
        raise Irregular
    return places


def _require_plain_values(
    data: Bytes, kinds: list[Separator], codes: Integers, segments: ArrowArray
) -> None:
    """All markup and control characters of the piece are in separators: none in a value."""
    import numpy as np

    weights = np.array([kind.special for kind in kinds])
    in_separators = int(np.bincount(codes, minlength=len(kinds)) @ weights)
    everywhere = int(np.count_nonzero((data < _SPACE) | (data == _LESS_THAN)))
    if everywhere != in_separators + specials(segments[-1].as_py()):
        raise Irregular


def _grouped(
    kinds: list[Separator], codes: Integers, in_event: NDArray[np.bool_], owners: Integers
) -> tuple[Attributes, ...]:
    import numpy as np

    names = list(dict.fromkeys((kind.tag, kind.key) for kind in kinds))
    number = {name: 2 * n for n, name in enumerate(names)}
    group = np.array([number[kind.tag, kind.key] for kind in kinds])[codes] + in_event
    order = np.argsort(group.astype(np.uint16), kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    found = []
    for some in sorted(members, key=lambda some: int(some[0])):
        tag, key = names[group[some[0]] // 2]
        found.append(Attributes(bool(in_event[some[0]]), tag, key, owners[some], 2 * some + 1))
    return tuple(found)
