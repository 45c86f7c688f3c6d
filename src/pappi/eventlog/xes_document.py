"""From expat's calls to rows: the part of the XES reader that runs once per element.

    <log>                    depth 1
      <trace>                depth 2
        attribute            depth 3, with children below
        <event>              depth 3
          attribute          depth 4, with children below

Everything else directly under <log> (extensions, globals, classifiers, attributes of
the log) is skipped: global defaults in particular are never filled in, since a value
that no one recorded would move durations and counts. Rows are handed over at the end
of a trace, so memory holds one batch and the longest trace.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from typing import Protocol

from pappi.errors import LogFormatError, Option
from pappi.eventlog.log import RecordBatch
from pappi.eventlog.xes_columns import Buffer, ColumnSet
from pappi.eventlog.xes_extra import Node, extra_json, stub_node, whole_node
from pappi.eventlog.xes_values import EXPECTED, KINDS, DateReader, Value, value_readers


class Defect(Protocol):
    """Makes the error for what is wrong at the present place."""

    def __call__(self, cause: str, hint: str, options: Sequence[Option] = ()) -> LogFormatError: ...


_ROWS_PER_BATCH = 20_000
_DEEPEST = 100
_NAME = "concept:name"


class XesDocument:
    """Handlers for one file: `start` and `end` of every element; complete batches are `taken`.

    `at_trace_end` is told of the end of every trace.
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
        self._columns = ColumnSet(value_readers(dates), self._refuse_columns)
        self._event_columns = self._columns.of_event
        self._ready: list[RecordBatch] = []
        self.case_ids: set[str] = set()
        self.duplicate_names = 0
        self.unnamed_traces = 0
        self.empty_traces = 0
        self.too_long_numbers = 0
        self.untyped_times = 0

    @property
    def columns(self) -> ColumnSet:
        return self._columns

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
            self._end_event()
        elif self._depth == 1 and self._in_trace:
            self._end_trace()

    def hand_over(self) -> None:
        """Makes a batch of the rows of all traces so far."""
        if self._row:
            self._ready.append(self._columns.take(self._row))
            self._row = self._first_row = 0

    def taken(self) -> list[RecordBatch]:
        """The batches that are complete, once."""
        ready, self._ready = self._ready, []
        return ready

    def _refuse_columns(self, count: int) -> None:
        if count > self._most_columns:
            raise self._defect(
                f"more than {self._most_columns:,} different attributes",
                "check how the log was made: keys are names of attributes, not their values",
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
        """A column not seen before, or something that does not fit a column."""
        key = self._key(tag, attributes)
        if tag not in KINDS or "value" not in attributes:
            self._keep(tag, attributes)
            return
        column = self._columns.event_column(tag, key)
        value = self._value(tag, attributes, column)
        if value is None or len(column.values) > self._row:
            self._keep(tag, attributes)
            return
        column.put(self._row, value)
        self._attribute = (tag, attributes)
        self.untyped_times += key == "time:timestamp"

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
        column = self._columns.trace_column(tag, key)
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

    def _end_event(self) -> None:
        if self._extra:
            self._columns.event_extra.put(self._row, extra_json(self._extra))
        if len(self._columns.activity.values) <= self._row:
            self._name_by_other_type()
        self._in_event = False
        self._row += 1

    def _name_by_other_type(self) -> None:
        """An activity written as a number, say, is the activity too, as text."""
        for typed in self._event_columns.values():
            column = typed.get(_NAME)
            if column is not None and len(column.values) > self._row:
                self._columns.activity.put(self._row, str(column.values[self._row]))
                return

    def _end_trace(self) -> None:
        events = self._row - self._first_row
        if events:
            self._spread_over_case(events)
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

    def _spread_over_case(self, events: int) -> None:
        """The trace's own attributes, repeated on each of its events."""
        self._columns.case.put(self._first_row, self._new_case_id(), events)
        if self._trace_extra:
            extra = extra_json(self._trace_extra)
            self._columns.case_extra.put(self._first_row, extra, events)
        for column, value in self._trace_values.items():
            column.put(self._first_row, value, events)

    def _new_case_id(self) -> str:
        """The trace's name, or something distinct if it has none or a used one.

        By what the trace holds, and not by how many there were before: chance deals cases into
        buckets by their ids, and one trace more must not deal all that follow anew.
        """
        name = self._case_name
        if name is None:
            self.unnamed_traces += 1
            case_id = self._unused(f"unnamed ({self._digest()})")
        elif name in self.case_ids:
            self.duplicate_names += 1
            case_id = self._unused(f"{name} ({self._digest()})")
            if not self._name_in_column:
                self._trace_values.setdefault(self._columns.trace_column("string", _NAME), name)
        else:
            case_id = name
        self.case_ids.add(case_id)
        return case_id

    def _digest(self) -> str:
        """Of the trace that ends here; the columns in an order of their own."""
        held = [(*each, "event") for each in self._columns.held(self._first_row)]
        held += [(b.name, b.type, repr(value), "trace") for b, value in self._trace_values.items()]
        held.append(("", "", repr(self._trace_extra), "trace"))
        return hashlib.blake2b(repr(sorted(held)).encode(), digest_size=6).hexdigest()

    def _unused(self, candidate: str) -> str:
        """The candidate; of traces that are alike in all they hold, each with a number."""
        numbered = (f"{candidate} ({number})" for number in count(2))
        return next(each for each in chain([candidate], numbered) if each not in self.case_ids)
