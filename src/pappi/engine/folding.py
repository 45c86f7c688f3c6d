"""Base measures of a log that is stored case by case: read event by event, and folded.

What a condition or an attribute is at an event, the database says, and knows nothing of cases;
what a case makes of its events is in `folds`. Measures that look at neighbouring events, and
clocks that stop, are left to the database as a whole: see `foldable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from pappi.engine.attributes import as_text, event_column
from pappi.engine.bases import ANCHOR, ORDER, PERSON, BaseMeasure, Bases, Identify
from pappi.engine.expressions import as_double
from pappi.engine.folds import NONE, Cases, Hits, Lasted, Mask, Places, in_order, picked
from pappi.engine.nodes import CASE_ID, FIRST_POSITION, TIME, alias, column_named
from pappi.engine.sources import Source
from pappi.ppinot.expressions.nodes import Expression
from pappi.ppinot.model import (
    CaseBorder,
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    EventCondition,
    Moment,
    OpenCycle,
    Pick,
    StateMeasure,
    TimeMeasure,
)
from pappi.values.vocabulary import Kind

Mark: TypeAlias = EventCondition | Expression
"""What holds at an event or does not."""


def foldable(bases: Bases) -> bool:
    return not bases.occurrences.need_windows and all(map(_folds, bases.names))


def _folds(part: BaseMeasure) -> bool:
    if not isinstance(part, TimeMeasure):
        return True
    return part.running is None and (part.cycles is None or part.calendar is None)


@dataclass(frozen=True, slots=True)
class _Step:
    """A base measure, the column it becomes, and those of the events that it is folded from."""

    part: BaseMeasure
    name: str
    marks: tuple[str | None, ...]
    value: str | None


@dataclass(frozen=True, slots=True)
class Folding:
    """Base measures that can be folded, and what has to be known of every event for them."""

    bases: Bases
    anchor: CaseBorder
    identify: Identify | None
    marks: Mapping[Mark, str]
    values: Mapping[str, str]
    steps: tuple[_Step, ...]

    @classmethod
    def of(cls, bases: Bases, anchor: CaseBorder, identify: Identify | None) -> Folding:
        wanted = (mark for part in bases.names for mark in _marks(part) if mark is not None)
        marks = {mark: f"mark {n}" for n, mark in enumerate(dict.fromkeys(wanted))}
        data = (part.attribute for part in bases.names if isinstance(part, DataMeasure))
        values = {name: f"value {n}" for n, name in enumerate(dict.fromkeys(data))}
        steps = (
            _Step(
                part,
                name,
                tuple(None if mark is None else marks[mark] for mark in _marks(part)),
                values[part.attribute] if isinstance(part, DataMeasure) else None,
            )
            for part, name in bases.names.items()
        )
        return cls(bases, anchor, identify, marks, values, tuple(steps))

    def events(self, source: Source) -> exp.Select:
        """What has to be known of each event, in the order of their positions."""
        return exp.select(
            column_named(FIRST_POSITION),
            TIME.copy(),
            *(alias(self._mark(mark), name) for mark, name in self.marks.items()),
            *(alias(self._value(attribute), name) for attribute, name in self.values.items()),
            *(self._who() if self.identify else ()),
            copy=False,
        ).from_(source.events(), copy=False)

    def cases(self, events: pa.RecordBatchReader) -> pa.Table:
        """One row for each case, with the columns that `Bases.select` has."""
        folded = [_Folder(self, batch).cases() for batch in _whole_cases(events)]
        return pa.Table.from_batches(folded or [_Folder(self, _no_event(events.schema)).cases()])

    def _mark(self, mark: Mark) -> exp.Expr:
        """As a byte, which is 0 if nothing is known: so it is an array as it comes."""
        occurrences = self.bases.occurrences
        if isinstance(mark, EventCondition):
            holds = occurrences.holds(mark)
        else:
            holds = occurrences.true_at(mark)
        one, zero = exp.Literal.number(1), exp.Literal.number(0)
        chosen = exp.Case(ifs=[exp.If(this=holds, true=one)], default=zero)
        return exp.Cast(this=chosen, to=exp.DType.UTINYINT.into_expr())

    def _value(self, attribute: str) -> exp.Expr:
        column, kind = event_column(self.bases.vocabulary, attribute)
        return column if kind in (Kind.TEXT, Kind.TRUTH) else as_double(column)

    def _who(self) -> Iterator[exp.Expr]:
        yield column_named(CASE_ID)
        if self.identify is not None and self.identify.person is not None:
            yield alias(as_text(self.bases.vocabulary, self.identify.person), PERSON)


class _Folder:
    """Events of whole cases, and what has been found of them so far."""

    def __init__(self, folding: Folding, events: pa.RecordBatch) -> None:
        self._folding = folding
        self._events = events
        self._cases = Cases.of(_array(events, FIRST_POSITION))
        self._times = _array(events, TIME.name)
        self._timed = None if self._times.dtype.kind == "i" else ~np.isnan(self._times)
        self._hits: dict[tuple[str | None, bool], Hits] = {}

    def cases(self) -> pa.RecordBatch:
        columns: dict[str, pa.Array] = {
            ANCHOR: _missing_as_null(self._anchor()),
            ORDER: pa.array(_array(self._events, FIRST_POSITION)[self._cases.starts]),
        }
        columns.update(self._who())
        for step in self._folding.steps:
            columns.update(self._folded(step))
        return pa.RecordBatch.from_pydict(columns)

    def _anchor(self) -> NDArray[Any]:
        if self._folding.anchor is CaseBorder.START:
            return picked(self._times, self._cases.starts)
        ends = self._cases.ends if self._timed is None else self._found(None, timed=True).last
        return picked(self._times, ends)

    def _who(self) -> Iterator[tuple[str, pa.Array]]:
        identify = self._folding.identify
        if identify is not None:
            yield CASE_ID, _taken(self._events, CASE_ID, self._cases.starts)
        if identify is not None and identify.person is not None:
            yield PERSON, _taken(self._events, PERSON, self._one_person())

    def _one_person(self) -> Places:
        """Where the person of each case is named; nowhere if there are two, as in `bases`."""
        persons = self._events.column(PERSON)
        known = Hits.of(_mask(pc.is_valid(persons)), self._cases)
        names = persons.drop_null()
        differs = np.zeros(self._events.num_rows, dtype=np.bool_)
        if len(names) > 1:
            differs[known.places[1:]] = _mask(pc.not_equal(names[1:], names[:-1]))
        # The first of a case differs from another case's, if at all.
        first = known.first
        differs[first[first != NONE]] = False
        return np.where(Hits.of(differs, self._cases).counts == 0, first, NONE)

    def _folded(self, step: _Step) -> Iterator[tuple[str, pa.Array]]:
        match step.part:
            case CountMeasure():
                yield step.name, pa.array(self._found(step.marks[0]).counts)
            case ConditionMeasure():
                yield step.name, pa.array(self._found(step.marks[0]).counts > 0)
            case StateMeasure():
                yield step.name, pa.array(self._state(*step.marks))
            case DataMeasure(pick=pick):
                yield step.name, self._attribute(str(step.value), pick, *step.marks)
            case TimeMeasure(cycles=None):
                yield from self._elapsed(step.part, step.name, *step.marks)
            case TimeMeasure():
                yield step.name, _missing_as_null(self._cycles(step.part, *step.marks))

    def _state(self, holds: str | None, among: str | None) -> Mask:
        judged = self._cases.ends if among is None else self._found(among).last
        there = judged != NONE
        held = self._marked(holds)
        return np.asarray(there & held[np.where(there, judged, 0)])

    def _attribute(self, name: str, pick: Pick, when: str | None) -> pa.Array:
        """At the first or last event that satisfies the condition and carries the attribute."""
        carried = self._carried(name)
        if when is not None:
            carried = carried & self._marked(when)
        first = pick is Pick.FIRST
        if carried.all():
            places = self._cases.starts if first else self._cases.ends
        else:
            hits = Hits.of(carried, self._cases)
            places = hits.first if first else hits.last
        return _taken(self._events, name, places)

    def _carried(self, name: str) -> Mask:
        column = self._events.column(name)
        if pa.types.is_floating(column.type):
            return np.asarray(np.isfinite(_array(self._events, name)))
        return _mask(pc.is_valid(column))

    def _elapsed(
        self, part: TimeMeasure, name: str, starting: str | None, ending: str | None
    ) -> Iterator[tuple[str, pa.Array]]:
        starts, ends = (self._found(mark, timed=True) for mark in (starting, ending))
        start = starts.first if part.start_pick is Pick.FIRST else starts.last
        first = part.end_pick is Pick.FIRST
        end = ends.first_after(start) if first else in_order(start, ends.last)
        begun, ended = picked(self._times, start), picked(self._times, end)
        bases = self._folding.bases
        if bases.is_span(part):
            yield bases.own("start", part), _missing_as_null(begun)
            yield bases.own("end", part), _missing_as_null(ended)
        else:
            yield name, _missing_as_null(ended - begun)

    def _cycles(
        self, part: TimeMeasure, starting: str | None, ending: str | None
    ) -> NDArray[np.float64]:
        if part.cycles is None:
            raise AssertionError("this time measure has no cycles")
        starts, ends = self._instants(starting), self._instants(ending)
        lasted = Lasted.of(starts, ends, self._times, self._cases)
        found = lasted.made_one(part.cycles)
        if part.open_cycle is OpenCycle.NO_VALUE:
            found[lasted.opened != lasted.closed] = np.nan
        return found

    def _found(self, mark: str | None, *, timed: bool = False) -> Hits:
        """Where it holds, and, if asked for, an event has a time; None holds at all events."""
        key = mark, timed and self._timed is not None
        if key not in self._hits:
            holds = self._instants(mark) if timed else self._marked(mark)
            self._hits[key] = Hits.of(holds, self._cases)
        return self._hits[key]

    def _instants(self, mark: str | None) -> Mask:
        """An event without a time is no instant."""
        holds = self._marked(mark)
        return holds if self._timed is None else holds & self._timed

    def _marked(self, mark: str | None) -> Mask:
        if mark is None:
            return np.ones(self._events.num_rows, dtype=np.bool_)
        return _array(self._events, mark).view(np.bool_)


def _marks(part: BaseMeasure) -> tuple[Mark | None, ...]:
    """What must be known of events, in the order in which it is folded; None holds at all."""
    match part:
        case CountMeasure() | ConditionMeasure():
            return (part.when,)
        case StateMeasure():
            return part.holds, part.of
        case TimeMeasure():
            return _of(part.start), _of(part.end)
        case DataMeasure():
            return (part.when,)


def _of(moment: Moment) -> EventCondition | None:
    """None for a border of the case: every event may be that."""
    return None if isinstance(moment, CaseBorder) else moment


def _whole_cases(events: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same events, in batches that end where a case does."""
    begun: list[pa.RecordBatch] = []
    for batch in (each for each in events if each.num_rows):
        numbers = _array(batch, FIRST_POSITION)
        last = int(np.searchsorted(numbers, numbers[-1]))
        if last == 0 and begun and _array(begun[0], FIRST_POSITION)[0] == numbers[0]:
            begun.append(batch)  # of a long case, which is not over yet
            continue
        if last or begun:
            yield pa.concat_batches([*begun, batch.slice(0, last)])
        begun = [batch.slice(last)]
    if begun:
        yield pa.concat_batches(begun)


def _no_event(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)


def _array(events: pa.RecordBatch, name: str) -> NDArray[Any]:
    """A column as it is; missing numbers become NaN, which makes whole ones floats."""
    return np.asarray(events.column(name).to_numpy(zero_copy_only=False))


def _mask(known: pa.Array) -> Mask:
    return np.asarray(known.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _taken(events: pa.RecordBatch, name: str, places: Places) -> pa.Array:
    """What a column has at places; null for none."""
    return events.column(name).take(pa.array(places, mask=places == NONE))


def _missing_as_null(values: NDArray[Any]) -> pa.Array:
    return pa.array(values, from_pandas=True)
