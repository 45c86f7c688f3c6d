"""Parses an XES file with expat, and collects the values in columns for Arrow batches.

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

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count, repeat
from typing import Any, NamedTuple, TypeAlias
from xml.parsers import expat
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pappi.errors import LogFormatError, Option
from pappi.eventlog.inference import SKIPPED, TWICE, WITHOUT_OFFSET, Tally, instants
from pappi.eventlog.log import (
    ACTIVITY,
    CASE,
    TIME,
    ArrowArray,
    Column,
    ReadOptions,
    RecordBatch,
    attribute_field,
)
from pappi.values import Kind

Value: TypeAlias = str | int | float | bool
Node: TypeAlias = dict[str, Any]


class XesType(NamedTuple):
    """What a type of XES is stored as, and what a value of it is, in words."""

    kind: Kind
    arrow: str
    expected: str = "a text"


TYPES: Mapping[str, XesType] = {
    "string": XesType(Kind.TEXT, "string"),
    "id": XesType(Kind.TEXT, "string"),
    "date": XesType(Kind.TIME, "int64", "a date such as 2010-09-30T17:24:07.000+02:00"),
    "int": XesType(Kind.NUMBER, "int64", "a whole number"),
    "float": XesType(Kind.NUMBER, "double", "a number"),
    "boolean": XesType(Kind.TRUTH, "bool", "true or false"),
}
_JSON = XesType(Kind.TEXT, "string")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The second day of the year 1: on the first, an offset may lead into the year 0.
_EARLIEST_US = -62_135_510_400_000_000
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_NANOSECONDS = re.compile(r"[.,][0-9]{6}[0-9]*[1-9]")
_LONGEST_MICROSECOND_DATE = len("2010-09-30T17:24:07.000000+02:00")
_WITHOUT_VALUE = frozenset({"list", "container", "values"})
NAME = "concept:name"
TIME_KEY = "time:timestamp"
END_OF_TRACE = b"</trace>"

# What is counted while reading, in the words in which the owner is told.
_DUPLICATE_NAME = "a trace has the name of an earlier one: kept as a case of its own, as “name (…)”"
_UNNAMED_TRACE = "a trace has no name: kept as a case “unnamed (…)”"
_EMPTY_TRACE = "a trace has no events: nothing to import from it"
_LONG_NUMBER = "a whole number does not fit into 64 bits: kept as text in the extra column"
_FINER = "a date is finer than a microsecond: it was truncated"
EVENT_EXTRA = (
    "an event has lists, nested or repeated attributes: kept as JSON in the attribute “extra”"
)
CASE_EXTRA = "an event's trace has such attributes: kept as JSON in the attribute “case:extra”"
NOTICES = (
    *(_DUPLICATE_NAME, _UNNAMED_TRACE, _EMPTY_TRACE, _LONG_NUMBER, _FINER),
    *(EVENT_EXTRA, CASE_EXTRA),
)
UNTYPED_TIME = f"a {TIME_KEY} is not a date"

_STEP = 1 << 17
# The most bytes of a character in UTF-8.
_BYTES = 4
_ROWS_PER_BATCH = 20_000
_DEEPEST = 100


class XesParser:
    """Parses one file, from elements to rows; defects become LogFormatError.

        <log>                    depth 1
          <trace>                depth 2
            attribute            depth 3, with children below
            <event>              depth 3
              attribute          depth 4, with children below

    Everything else directly under <log> (extensions, globals, classifiers, attributes of
    the log) is skipped: global defaults in particular are never filled in, since a value
    that nobody recorded would change durations and counts. Rows are handed over at the end
    of a trace, so memory holds one batch and the longest trace.
    """

    def __init__(self, file: str, dates: DateReader, options: ReadOptions) -> None:
        self._file = file
        self._most_columns = options.most_columns
        self._longest = _BYTES * options.longest_text + _STEP
        self._parser = parser = expat.ParserCreate()
        self._fed = 0
        self._lines_skipped = 0
        self._utf8 = True
        self._trace_end = -1
        parser.StartElementHandler = self._start_root
        parser.EndElementHandler = self._end
        parser.XmlDeclHandler = self._declared
        parser.StartDoctypeDeclHandler = self._refuse_declarations
        parser.EntityDeclHandler = self._refuse_declarations
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
        self.tally = Tally()

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
            yield from self._taken()

    def skip(self, traces: bytes) -> Iterator[RecordBatch]:
        """Leave out traces that were read elsewhere; yields what was read before them."""
        if b"\r" in traces:  # a line ends with LF, CR LF or CR
            traces = traces.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._lines_skipped += int(np.count_nonzero(np.frombuffer(traces, np.uint8) == ord("\n")))
        self._hand_over()
        yield from self._taken()

    def finish(self) -> Iterator[RecordBatch]:
        self._parse(b"", final=True)
        self._hand_over()
        yield from self._taken()

    def _hand_over(self) -> None:
        """Make a batch of the rows of all traces so far."""
        if self._row:
            self._ready.append(self.columns.take(self._row))
            self._row = self._first_row = 0

    def _taken(self) -> list[RecordBatch]:
        """The complete batches, each returned once."""
        ready, self._ready = self._ready, []
        return ready

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
        self._parser.StartElementHandler = (
            (lambda tag, attributes: self._start(tag.removeprefix(prefix), attributes))
            if prefix
            else self._start
        )
        self._start(tag.removeprefix(prefix), attributes)

    def _declared(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self._utf8 = encoding is None or encoding.lower() == "utf-8"

    def _refuse_declarations(self, *_declaration: object) -> None:
        raise self._defect(
            "document type and entity declarations are not accepted in an event log",
            "remove the <!DOCTYPE …> part: entities can expand without bound",
        )

    # --- from elements to rows --------------------------------------------------------

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
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

    def _end(self, _tag: str) -> None:
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
        key = self._key_of_value(tag, attributes)
        if key is None:
            return
        column = self.columns.event_column(tag, key)
        value = self._value(tag, attributes, column)
        if value is None or len(column.values) > self._row:
            self._keep(tag, attributes)
            return
        column.put(self._row, value)
        self._attribute = (tag, attributes)
        self.tally[UNTYPED_TIME] += key == TIME_KEY

    def _trace_attribute(self, tag: str, attributes: Mapping[str, str]) -> None:
        key = self._key_of_value(tag, attributes)
        if key is None:
            return
        self._attribute = (tag, attributes)
        if key == NAME and self._case_name is None:
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

    def _key_of_value(self, tag: str, attributes: Mapping[str, str]) -> str | None:
        """The key, if a column can hold such a value; otherwise None, and the element is kept."""
        if "key" not in attributes and tag in TYPES:
            raise self._defect(
                f"a <{tag}> attribute has no key", "every XES attribute needs key and value"
            )
        if tag in TYPES and "value" in attributes:
            return attributes["key"]
        self._keep(tag, attributes)
        return None

    def _value(self, tag: str, attributes: Mapping[str, str], column: Buffer) -> Value | None:
        """The value, or None if it is a number that no column can hold."""
        text = attributes["value"]
        try:
            return column.read(text)
        except OverflowError:
            self.tally[_LONG_NUMBER] += 1
            return None
        except ValueError:
            raise self._defect(
                f"{attributes['key']!r} is {text[:80]!r}, which is not {TYPES[tag].expected}",
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
            column = typed.get(NAME)
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
                self.tally[_UNNAMED_TRACE] += 1
                case_id = self._unused(f"unnamed ({self._digest()})")
            elif name in self.case_ids:
                self.tally[_DUPLICATE_NAME] += 1
                case_id = self._unused(f"{name} ({self._digest()})")
                if not self._name_in_column:
                    self._trace_values.setdefault(self.columns.trace_column("string", NAME), name)
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
            self.tally[_EMPTY_TRACE] += 1
        self._in_trace = False
        self._case_name = None
        self._trace_values = {}
        self._trace_extra = []
        self._first_row = self._row
        if self._row >= _ROWS_PER_BATCH:
            self._hand_over()
        self._trace_end = self._parser.CurrentByteIndex

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
    tally: Tally = field(default_factory=Counter)

    def read(self, text: str) -> int:
        """Exact microseconds; a date without an offset is wall-clock time of the zone, or UTC.

        >>> DateReader(None).read("1970-01-01T01:00:00.000+01:00")
        0
        """
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            self.tally[WITHOUT_OFFSET] += 1
            moment = moment.replace(tzinfo=self.zone or UTC)
            first, second = moment.utcoffset(), moment.replace(fold=1).utcoffset()
            if first is not None and second is not None and first != second:
                self.tally[SKIPPED] += first < second
                self.tally[TWICE] += first > second
        if len(text) > _LONGEST_MICROSECOND_DATE:
            self.tally[_FINER] += _NANOSECONDS.search(text) is not None
        since = moment - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds

    def read_all(self, texts: ArrowArray) -> ArrowArray:
        """What `read` gives for each; ValueError unless all have the same common form.

        Arrow reads a subset of what Python does, with the same result except for the year 0.
        """
        try:
            us = texts.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        except pa.ArrowInvalid:  # without offsets; a mixture is not a common form
            wall = texts.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
            self.tally[WITHOUT_OFFSET] += len(wall)
            us = pa.array(instants(wall, self.zone, self.tally))
        if len(us) and pc.min(us).as_py() < _EARLIEST_US:
            raise ValueError("a year that Python cannot represent")
        return us


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
            arrays[buffer.field] = pa.array(buffer.values, TYPES.get(buffer.type, _JSON).arrow)
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
                TYPES.get(buffer.type, _JSON).kind,
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
