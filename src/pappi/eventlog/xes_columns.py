"""Columns that fill up while an XES file is read, and become Arrow batches.

Every combination of level (trace or event), key and type is a column of its own, so
no value is ever converted to fit another. Which of several types of one key gets the
plain name is decided at the end, by how many values each has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat

from pappi.eventlog.log import ACTIVITY, CASE, TIME, Column, RecordBatch, attribute_field
from pappi.eventlog.xes_values import KINDS, Value
from pappi.values.vocabulary import Kind

ARROW_TYPES = {
    "string": "string",
    "id": "string",
    "json": "string",
    "date": "int64",
    "int": "int64",
    "float": "float64",
    "boolean": "bool",
}


class Buffer:
    """One column: the values of the batch being filled, None where there is none."""

    __slots__ = ("count", "field", "name", "read", "type", "values")

    def __init__(self, field: str, name: str, xes_type: str, read: Callable[[str], Value]) -> None:
        self.field = field
        self.name = name
        self.type = xes_type
        self.read = read
        self.values: list[Value | None] = []
        self.count = 0

    def put(self, row: int, value: Value, times: int = 1) -> None:
        """The value in `times` rows from `row`; rows skipped before have none."""
        values = self.values
        if len(values) < row:
            values.extend(repeat(None, row - len(values)))
        values.extend(repeat(value, times))
        self.count += times


class ColumnSet:
    """All columns of a log, by level, type and key.

    `at_new` is told how many there are whenever one is added, and may refuse.
    """

    def __init__(
        self, readers: Mapping[str, Callable[[str], Value]], at_new: Callable[[int], None]
    ) -> None:
        self._readers = readers
        self._at_new = at_new
        self._attributes: list[Buffer] = []
        self.case = Buffer(CASE, CASE, "string", str)
        self._core = [
            self.case,
            Buffer(ACTIVITY, ACTIVITY, "string", str),
            Buffer(TIME, TIME, "date", readers["date"]),
        ]
        self.event_extra = Buffer("extra", "extra", "json", str)
        self.case_extra = Buffer("case_extra", "case:extra", "json", str)
        self.of_event: dict[str, dict[str, Buffer]] = defaultdict(dict)
        self.of_trace: dict[str, dict[str, Buffer]] = defaultdict(dict)
        self.of_event["string"]["concept:name"] = self._core[1]
        self.of_event["date"]["time:timestamp"] = self._core[2]

    @property
    def activity(self) -> Buffer:
        return self._core[1]

    def event_column(self, xes_type: str, key: str) -> Buffer:
        found = self.of_event[xes_type].get(key)
        return found or self._added(self.of_event, xes_type, key, key)

    def trace_column(self, xes_type: str, key: str) -> Buffer:
        found = self.of_trace[xes_type].get(key)
        return found or self._added(self.of_trace, xes_type, key, f"case:{key}")

    def _added(
        self, level: dict[str, dict[str, Buffer]], xes_type: str, key: str, name: str
    ) -> Buffer:
        field = attribute_field(len(self._attributes))
        buffer = Buffer(field, name, xes_type, self._readers[xes_type])
        self._attributes.append(buffer)
        self._at_new(len(self._attributes))
        level[xes_type][key] = buffer
        return buffer

    def held(self, first: int) -> Iterator[tuple[str, str, str]]:
        """Name, type and values of every column that has any, from a row on."""
        for buffer in (*self._core, *self._optional()):
            values = [*enumerate(buffer.values[first:])]
            present = [(row, value) for row, value in values if value is not None]
            if present:
                yield buffer.name, buffer.type, repr(present)

    def take(self, rows: int) -> RecordBatch:
        """The rows collected so far, leaving the columns empty."""
        import pyarrow as pa

        filled = [buffer for buffer in self._optional() if buffer.values]
        arrays = {}
        for buffer in (*self._core, *filled):
            buffer.values.extend(repeat(None, rows - len(buffer.values)))
            arrays[buffer.field] = pa.array(buffer.values, ARROW_TYPES[buffer.type])
            buffer.values.clear()
        return pa.record_batch(arrays)

    def described(self) -> tuple[Column, ...]:
        """The attribute columns that hold anything, each with its final name."""
        return self._columns(_final_names(self._attributes))

    def by_key(self) -> tuple[Column, ...]:
        """The same, called by their keys alone: values of several types have the same name."""
        return self._columns({})

    def _columns(self, names: Mapping[str, str]) -> tuple[Column, ...]:
        return tuple(
            Column(
                buffer.field,
                names.get(buffer.field, buffer.name),
                KINDS.get(buffer.type, Kind.TEXT),
                buffer.type,
            )
            for buffer in self._optional()
            if buffer.count
        )

    def _optional(self) -> Iterable[Buffer]:
        return (*self._attributes, self.event_extra, self.case_extra)


def _final_names(buffers: Iterable[Buffer]) -> dict[str, str]:
    """The plain name for the most frequent type of a key, `key (type)` for the others."""
    families: dict[str, list[Buffer]] = defaultdict(list)
    for buffer in buffers:
        if buffer.count:
            families[buffer.name].append(buffer)
    names = {}
    for family in families.values():
        family.sort(key=lambda buffer: -buffer.count)
        names.update({buffer.field: f"{buffer.name} ({buffer.type})" for buffer in family[1:]})
    return names
