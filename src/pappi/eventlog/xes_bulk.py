"""Whole traces at once: from the layout of a piece of an XES file to a batch of events.

It does what `xes_document` does for the ordinary, and knows its limits: whatever asks for a
decision (a name that was used before, a second attribute of the same key, a number that is
none) is Irregular, and nothing has been changed then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pappi.eventlog.log import ACTIVITY, CASE, TIME, ArrowArray, RecordBatch
from pappi.eventlog.xes_columns import ARROW_TYPES, ColumnSet
from pappi.eventlog.xes_layout import Attributes, Layout, layout_of
from pappi.eventlog.xes_separators import Irregular
from pappi.eventlog.xes_values import DateReader, value_readers

_NAME = "concept:name"
_CORE = {_NAME: "string", "time:timestamp": "date"}
_ENTITIES = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}
_ENTITY = re.compile(r"&(?:(lt|gt|quot|apos|amp)|#([0-9]{1,7}));")
_ENTITY_BYTES = re.compile(_ENTITY.pattern.encode())


@dataclass(frozen=True, slots=True)
class BulkReader:
    """Reads pieces of one file into the columns that its parser fills as well."""

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
        self._escaped = _has_entities(piece)
        self._dates = dates
        self._seen = DateReader(dates.zone)
        self._readers = value_readers(self._seen)

    def taken_into(self, columns: ColumnSet, case_ids: set[str]) -> RecordBatch:
        import pyarrow as pa

        found = [(of, self._values(of)) for of in self._layout.attributes]
        names = self._case_names([values for of, values in found if _names_case(of)])
        if len({*names}) != len(names) or not case_ids.isdisjoint(names):
            raise Irregular
        arrays = self._core(names)
        spread = [(of, self._spread(of, values)) for of, values in found if not _names_case(of)]
        for of, array in spread:
            column = columns.event_column if of.of_event else columns.trace_column
            buffer = column(of.tag, of.key)
            buffer.count += len(array) - array.null_count
            arrays[buffer.field] = array
        case_ids.update(names)
        self._dates.add(self._seen)
        return pa.record_batch(arrays)

    def _core(self, names: list[str]) -> dict[str, ArrowArray]:
        import pyarrow as pa

        cases = pa.array(names, pa.string()).take(pa.array(self._layout.trace_of_event))
        events = self._layout.events
        return {
            CASE: cases,
            ACTIVITY: pa.nulls(events, pa.string()),
            TIME: pa.nulls(events, pa.int64()),
        }

    def _case_names(self, found: list[ArrowArray]) -> list[str]:
        """The names of all traces: each has one, and it is a text."""
        if len(found) != 1 or len(found[0]) != self._layout.traces:
            raise Irregular
        names: list[str] = found[0].to_pylist()
        return names

    def _values(self, of: Attributes) -> ArrowArray:
        """One value for every attribute of the group, in the order of the file."""
        import numpy as np
        import pyarrow as pa

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
        import pyarrow as pa

        if tag in ("string", "id"):
            return _unescaped(texts) if self._escaped else texts
        if tag == "date":
            return self._seen.read_all(texts)
        encoded = texts.dictionary_encode()
        values = [self._readers[tag](text) for text in encoded.dictionary.to_pylist()]
        return pa.array(values, ARROW_TYPES[tag]).take(encoded.indices)

    def _spread(self, of: Attributes, values: ArrowArray) -> ArrowArray:
        """The values where their events are, or the events of their traces; null elsewhere."""
        import numpy as np
        import pyarrow as pa

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


def _has_entities(piece: bytes) -> bool:
    """Whether any text is escaped; by names that every XML has, or by numbers."""
    found = piece.count(b"&")
    if found and len(_ENTITY_BYTES.findall(piece)) != found:
        raise Irregular
    return found > 0


def _unescaped(texts: ArrowArray) -> ArrowArray:
    import pyarrow as pa

    encoded = texts.dictionary_encode()
    values = [_ENTITY.sub(_character, text) for text in encoded.dictionary.to_pylist()]
    return pa.array(values, pa.string()).take(encoded.indices)


def _character(entity: re.Match[str]) -> str:
    """What an entity stands for; only numbers that are surely characters to every parser."""
    if entity[1]:
        return _ENTITIES[entity[1]]
    number = int(entity[2])
    if number not in (9, 10, 13) and not 0x20 <= number < 0xD800:
        raise Irregular
    return chr(number)
