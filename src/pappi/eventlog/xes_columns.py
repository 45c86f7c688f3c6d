"""The values of an XES file, and the columns that collect them for Arrow batches.

Values are read strictly. An invalid value is a ValueError, and a whole number beyond 64 bits an
OverflowError, so that nothing is ever rounded, emptied or turned into 0 on import.

Every combination of level (trace or event), key and type is a column of its own, so
no value is ever converted to fit another. If a key has several types, the most frequent one
gets the plain name, which is decided at the end.

What a table cell cannot hold (lists, containers, attributes of attributes, a second attribute
of the same key, whole numbers beyond 64 bits, unknown elements) is kept without loss in the
text column `extra` (trace level: `case:extra`), as a JSON list of nodes

    {"type": "int", "key": "cost", "value": "0", "children": [ … ]}

`value` is the text exactly as in the file, or null if the file has none. An attribute
that has children and whose own value *is* in its column appears without `value`.
`children` appears only if there are any; lists and containers have neither value.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import repeat
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from pappi.eventlog.inference import instants
from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    TIME,
    ArrowArray,
    Column,
    RecordBatch,
    attribute_field,
)
from pappi.values import Kind

Value: TypeAlias = str | int | float | bool
Node: TypeAlias = dict[str, Any]

KINDS: Mapping[str, Kind] = {
    "string": Kind.TEXT,
    "id": Kind.TEXT,
    "date": Kind.TIME,
    "int": Kind.NUMBER,
    "float": Kind.NUMBER,
    "boolean": Kind.TRUTH,
}
EXPECTED: Mapping[str, str] = {
    "date": "a date such as 2010-09-30T17:24:07.000+02:00",
    "int": "a whole number",
    "float": "a number",
    "boolean": "true or false",
}
ARROW_TYPES = {
    "string": "string",
    "id": "string",
    "json": "string",
    "date": "int64",
    "int": "int64",
    "float": "float64",
    "boolean": "bool",
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The second day of the year 1: on the first, an offset may lead into the year 0.
_EARLIEST_US = -62_135_510_400_000_000
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_LONGEST_MICROSECOND_DATE = len("2010-09-30T17:24:07.000000+02:00")
_WITHOUT_VALUE = frozenset({"list", "container", "values"})


# --- values --------------------------------------------------------------------------


def value_readers(dates: DateReader) -> Mapping[str, Callable[[str], Value]]:
    """For every type that fits a flat column, the function that reads its text."""
    return {
        "string": str,
        "id": str,
        "date": dates.read,
        "int": _whole_number,
        "float": _number,
        "boolean": _truth,
    }


def _whole_number(text: str) -> int:
    _refuse_underscores(text)
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise OverflowError(text)
    return number


def _number(text: str) -> float:
    _refuse_underscores(text)
    return float(text)


def _truth(text: str) -> bool:
    try:
        return _TRUTH[text.strip().lower()]
    except KeyError:
        raise ValueError(text) from None


def _refuse_underscores(text: str) -> None:
    if "_" in text:  # Python reads 1_000 as a number; XML does not
        raise ValueError(text)


@dataclass(slots=True)
class DateReader:
    """Dates as UTC microseconds, and what had to be decided to read them."""

    zone: ZoneInfo | None
    without_offset: int = 0
    finer: int = 0
    skipped: int = 0
    twice: int = 0

    def read(self, text: str) -> int:
        """Exact microseconds; a date without an offset is wall-clock time of the zone, or UTC.

        >>> DateReader(None).read("1970-01-01T01:00:00.000+01:00")
        0
        """
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            self.without_offset += 1
            moment = moment.replace(tzinfo=self.zone or UTC)
            first, second = moment.utcoffset(), moment.replace(fold=1).utcoffset()
            if first is not None and second is not None and first != second:
                self.skipped += first < second
                self.twice += first > second
        if len(text) > _LONGEST_MICROSECOND_DATE:
            digits = text.replace(",", ".").partition(".")[2]
            fraction = digits[
                : next((i for i, c in enumerate(digits) if not c.isdigit()), len(digits))
            ]
            self.finer += fraction[6:].strip("0") != ""
        since = moment - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds

    def read_all(self, texts: ArrowArray) -> ArrowArray:
        """What `read` gives for each; ValueError unless all have the same common form.

        Arrow reads a subset of what Python does, with the same result except for the year 0.
        """
        try:
            us = texts.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        except pa.ArrowInvalid:  # without offsets; a mixture is not a common form
            us = self._wall_clock(texts.cast(pa.timestamp("us")).cast(pa.int64()))
        if len(us) and pc.min(us).as_py() < _EARLIEST_US:
            raise ValueError("a year that Python cannot represent")
        return us

    def _wall_clock(self, wall: ArrowArray) -> ArrowArray:
        self.without_offset += len(wall)
        if self.zone is None:
            return wall
        converted = instants(wall.to_numpy(), self.zone)
        self.skipped += converted.skipped
        self.twice += converted.twice
        return pa.array(converted.us)

    def add(self, other: DateReader) -> None:
        """Add the counts of another reader of the same log."""
        self.without_offset += other.without_offset
        self.finer += other.finer
        self.skipped += other.skipped
        self.twice += other.twice


# --- columns -------------------------------------------------------------------------


class Buffer:
    """One column: the values of the current batch, None where there is none."""

    __slots__ = ("count", "field", "name", "read", "type", "values")

    def __init__(self, field: str, name: str, xes_type: str, read: Callable[[str], Value]) -> None:
        self.field = field
        self.name = name
        self.type = xes_type
        self.read = read
        self.values: list[Value | None] = []
        self.count = 0

    def put(self, row: int, value: Value, times: int = 1) -> None:
        """Put the value into `times` rows from `row`; skipped rows before have none."""
        values = self.values
        if len(values) < row:
            values.extend(repeat(None, row - len(values)))
        values.extend(repeat(value, times))
        self.count += times


class ColumnSet:
    """All columns of a log, by level, type and key.

    `at_new` is called with their number whenever one is added, and may refuse.
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
        column = self.of_event[xes_type].get(key)
        return column or self._added(self.of_event, xes_type, key, key)

    def trace_column(self, xes_type: str, key: str) -> Buffer:
        column = self.of_trace[xes_type].get(key)
        return column or self._added(self.of_trace, xes_type, key, f"case:{key}")

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
        filled = [buffer for buffer in self._optional() if buffer.values]
        arrays = {}
        for buffer in (*self._core, *filled):
            buffer.values.extend(repeat(None, rows - len(buffer.values)))
            arrays[buffer.field] = pa.array(buffer.values, ARROW_TYPES[buffer.type])
            buffer.values.clear()
        return pa.record_batch(arrays)

    def described(self) -> tuple[Column, ...]:
        """The attribute columns that hold anything, each with its final name."""
        families: dict[str, list[Buffer]] = defaultdict(list)
        for buffer in self._attributes:
            if buffer.count:
                families[buffer.name].append(buffer)
        names = {}
        for family in families.values():
            family.sort(key=lambda buffer: -buffer.count)
            names.update({buffer.field: f"{buffer.name} ({buffer.type})" for buffer in family[1:]})
        return self._columns(names)

    def by_key(self) -> tuple[Column, ...]:
        """The same, named by their keys only: columns of several types share a name."""
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


# --- the extra columns ---------------------------------------------------------------


def whole_node(tag: str, attributes: Mapping[str, str]) -> Node:
    """A node with everything in the element."""
    node: Node = {"type": tag, "key": attributes.get("key")}
    if tag not in _WITHOUT_VALUE or "value" in attributes:
        node["value"] = attributes.get("value")
    return node


def stub_node(tag: str, attributes: Mapping[str, str]) -> Node:
    """A node for an attribute whose value is in its column: it only holds its children."""
    return {"type": tag, "key": attributes.get("key")}


def extra_json(nodes: list[Node]) -> str:
    return json.dumps(nodes, ensure_ascii=False, separators=(",", ":"))
