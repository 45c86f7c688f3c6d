"""Base measures of a log that is stored case by case: read event by event, and folded.

What a condition or an attribute is at an event, the database says, and knows nothing of cases;
what a case makes of its events is found here, as arrays, for many whole cases at once. Events
come in the order of their positions, those of a case next to each other. So what a case has of
anything is a slice, and found without sorting or hashing: at which places it holds, and how many
of these there are up to the end of each case. That is several times as quick as a GROUP BY, and
means the same: `bases` says it in SQL, and tests hold the two against each other. Measures that
look at neighbouring events, and clocks that stop, are left to the database as a whole: see
`foldable`.

Times within a case never fall, and events without one are its last; what is missing is NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from pappi.engine.bases import ANCHOR, ORDER, PERSON, BaseMeasure, Bases, Identify
from pappi.engine.expressions import (
    CASE_ID,
    FIRST_POSITION,
    POSITION,
    TIME,
    Source,
    alias,
    as_double,
    as_text,
    column_named,
    event_column,
    when,
)
from pappi.ppinot import (
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    EventCondition,
    Expression,
    Moment,
    OpenCycle,
    Pick,
    StateMeasure,
    TimeMeasure,
)
from pappi.values import CaseBorder, Kind

Mark: TypeAlias = EventCondition | Expression
"""What holds at an event or does not."""
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

Folded = Mapping[str, Sequence[NDArray[Any] | pa.Array]]
"""Columns as they were folded, batch after batch: numbers are arrays, in which NaN is missing."""

NONE = -1
"""The place of what a case does not have."""
KeysOf = Mapping[DataMeasure, tuple[str, ...]]
"""Texts that cases are grouped by: which values are told apart, all others being alike."""
_FIRST_KEY = 2
_MOST_CODES = 255


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
    value: _Value | None


@dataclass(frozen=True, slots=True)
class _Value:
    """An attribute of events; of a text of which only some values matter, which of these it is."""

    attribute: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Folding:
    """Base measures that can be folded, and what has to be known of every event for them."""

    bases: Bases
    anchor: CaseBorder
    identify: Identify | None
    marks: Mapping[Mark, str]
    codes: Mapping[str, tuple[str, int]]
    """Marks that come as one column, as no two of them hold at once: its name, and which it is."""
    values: Mapping[_Value, str]
    steps: tuple[_Step, ...]

    @classmethod
    def of(
        cls, bases: Bases, anchor: CaseBorder, identify: Identify | None, keys: KeysOf
    ) -> Folding:
        wanted = (mark for part in bases.names for mark in _marks(part) if mark is not None)
        marks = {mark: f"mark {n}" for n, mark in enumerate(dict.fromkeys(wanted))}
        steps = tuple(
            _Step(
                part,
                name,
                tuple(None if mark is None else marks[mark] for mark in _marks(part)),
                _Value(part.attribute, keys.get(part, ()))
                if isinstance(part, DataMeasure)
                else None,
            )
            for part, name in bases.names.items()
        )
        data = dict.fromkeys(step.value for step in steps if step.value)
        values = {value: f"value {n}" for n, value in enumerate(data)}
        codes = _codes({name: _holds(bases, mark) for mark, name in marks.items()})
        return cls(bases, anchor, identify, marks, codes, values, steps)

    def events(self, source: Source) -> exp.Select:
        """What has to be known of each event, in the order of their positions."""
        return exp.select(
            column_named(FIRST_POSITION),
            TIME.copy(),
            *self._marks(),
            *(alias(self._value(value), name) for value, name in self.values.items()),
            *(self._who() if self.identify else ()),
            copy=False,
        ).from_(source.events(), copy=False)

    def cases(self, events: pa.RecordBatchReader) -> Folded:
        """One row for each case, with the columns that `Bases.select` has."""
        folded = [_Folder(self, batch).cases() for batch in _whole_cases(events)]
        if not folded:
            no_event = pa.RecordBatch.from_pylist([], schema=events.schema)
            folded = [_Folder(self, no_event).cases()]
        return {name: [batch[name] for batch in folded] for name in folded[0]}

    def _marks(self) -> Iterator[exp.Expr]:
        """As bytes, which are 0 if nothing is known: so they are arrays as they come."""
        together: dict[str, list[exp.If]] = {}
        for mark, name in self.marks.items():
            column, number = self.codes.get(name, (name, 1))
            true = exp.Literal.number(number)
            branches = together.setdefault(column, [])
            branches.append(exp.If(this=_holds(self.bases, mark), true=true))
        for column, branches in together.items():
            chosen = exp.Case(ifs=branches, default=exp.Literal.number(0))
            yield alias(exp.Cast(this=chosen, to=exp.DType.UTINYINT.into_expr()), column)

    def _value(self, value: _Value) -> exp.Expr:
        column, kind = event_column(self.bases.vocabulary, value.attribute)
        if value.keys:
            return _key_numbered(column, value.keys)
        return column if kind in (Kind.TEXT, Kind.TRUTH) else as_double(column)

    def _who(self) -> Iterator[exp.Expr]:
        # An id is the same at all events of a case: it is copied at the first of them alone.
        begins = exp.EQ(this=POSITION.copy(), expression=column_named(FIRST_POSITION))
        yield alias(when(begins, column_named(CASE_ID)), CASE_ID)
        if self.identify is not None and self.identify.person is not None:
            yield alias(as_text(self.bases.vocabulary, self.identify.person), PERSON)


def _holds(bases: Bases, mark: Mark) -> exp.Expr:
    occurrences = bases.occurrences
    return (
        occurrences.holds(mark) if isinstance(mark, EventCondition) else occurrences.true_at(mark)
    )


def _codes(marks: Mapping[str, exp.Expr]) -> dict[str, tuple[str, int]]:
    """The marks that say which of several texts an attribute is: so it is looked at once."""
    texts: dict[str, dict[str, list[str]]] = {}
    for name, holds in marks.items():
        if isinstance(holds, exp.EQ):
            column, text = holds.this.unnest(), holds.expression.unnest()
            if isinstance(column, exp.Column) and isinstance(text, exp.Literal) and text.is_string:
                texts.setdefault(column.name, {}).setdefault(text.this, []).append(name)
    return {
        name: (f"codes {column}", number)
        for column, (_, by_text) in enumerate(texts.items())
        for number, names in enumerate(by_text.values(), start=1)
        for name in names
        if len(by_text) > 1 and number <= _MOST_CODES
    }


def _key_numbered(text: exp.Expr, keys: tuple[str, ...]) -> exp.Expr:
    """0 for a text that is missing, 1 for one that is no key, then the keys: without the text
    itself, which would have to be copied twice for every event.
    """
    among = exp.DataType(this=exp.DType.ENUM, expressions=list(map(exp.Literal.string, keys)))
    place = exp.Anonymous(this="enum_code", expressions=[exp.TryCast(this=text.copy(), to=among)])
    number = exp.Add(
        this=exp.Cast(this=place, to=exp.DType.INT.into_expr()),
        expression=exp.Literal.number(_FIRST_KEY),
    )
    known = exp.Coalesce(this=number, expressions=[exp.Literal.number(_FIRST_KEY - 1)])
    missing = exp.If(this=exp.Is(this=text, expression=exp.null()), true=exp.Literal.number(0))
    return exp.Case(ifs=[missing], default=known)


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
    for batch in (batch for batch in events if batch.num_rows):
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


# --- a batch of whole cases ----------------------------------------------------------


class _Folder:
    """Events of whole cases, and what has been found of them so far."""

    def __init__(self, folding: Folding, events: pa.RecordBatch) -> None:
        self._folding = folding
        self._events = events
        self._cases = Cases.of(_array(events, FIRST_POSITION))
        self._times = _array(events, TIME.name)
        self._timed = None if self._times.dtype.kind == "i" else ~np.isnan(self._times)
        self._hits: dict[tuple[str | None, bool], Hits] = {}

    def cases(self) -> dict[str, NDArray[Any] | pa.Array]:
        columns: dict[str, NDArray[Any] | pa.Array] = {
            ANCHOR: self._anchor(),
            ORDER: _array(self._events, FIRST_POSITION)[self._cases.starts],
        }
        columns.update(self._who())
        for step in self._folding.steps:
            columns.update(self._folded(step))
        return columns

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
        first, named = self._cases.starts, _mask(pc.is_valid(persons))
        if persons.null_count:
            first, persons = Hits.of(named, self._cases).first, persons.drop_null()
        differs = np.zeros(named.size, dtype=np.bool_)
        if len(persons) > 1:
            changes = _mask(pc.not_equal(persons[1:], persons[:-1]))
            differs[named] = np.concatenate(([False], changes))
        # The first of a case differs from another case's, if at all.
        differs[first[first != NONE]] = False
        if not differs.any():
            return first
        return np.where(Hits.of(differs, self._cases).counts == 0, first, NONE)

    def _folded(self, step: _Step) -> Iterator[tuple[str, NDArray[Any] | pa.Array]]:
        match step.part:
            case CountMeasure():
                yield step.name, self._found(step.marks[0]).counts
            case ConditionMeasure():
                yield step.name, self._found(step.marks[0]).counts > 0
            case StateMeasure():
                yield step.name, self._state(*step.marks)
            case DataMeasure(pick=pick):
                if step.value is None:
                    raise AssertionError("an attribute was not read")
                column = self._folding.values[step.value]
                places = self._places(column, pick, *step.marks)
                if step.value.keys:
                    yield step.name, self._keys(column, step.value.keys, places)
                elif pa.types.is_floating(self._events.schema.field(column).type):
                    yield step.name, picked(_array(self._events, column), places)
                else:
                    yield step.name, _taken(self._events, column, places)
            case TimeMeasure(cycles=None):
                yield from self._elapsed(step.part, step.name, *step.marks)
            case TimeMeasure():
                yield step.name, self._cycles(step.part, *step.marks)

    def _state(self, holds: str | None, among: str | None) -> Mask:
        judged = self._cases.ends if among is None else self._found(among).last
        there = judged != NONE
        held = self._marked(holds)
        return np.asarray(there & held[np.where(there, judged, 0)])

    def _places(self, name: str, pick: Pick, when: str | None) -> Places:
        """The first or last event that satisfies the condition and carries the attribute."""
        carried = self._carried(name)
        if when is not None:
            carried = carried & self._marked(when)
        first = pick is Pick.FIRST
        if carried.all():
            return self._cases.starts if first else self._cases.ends
        hits = Hits.of(carried, self._cases)
        return hits.first if first else hits.last

    def _carried(self, name: str) -> Mask:
        column = self._events.column(name)
        if pa.types.is_floating(column.type):
            return np.asarray(np.isfinite(_array(self._events, name)))
        if pa.types.is_integer(column.type):
            return np.asarray(_array(self._events, name) > 0)
        return _mask(pc.is_valid(column))

    def _keys(self, name: str, keys: tuple[str, ...], places: Places) -> pa.Array:
        """What a text is, if it is one of the keys: null for every other, and for none."""
        numbers = _array(self._events, name)[places] - _FIRST_KEY
        texts = pa.array(keys, pa.large_string())
        absent = (numbers < 0) | (places == NONE)
        return pa.DictionaryArray.from_arrays(pa.array(numbers, mask=absent), texts)

    def _elapsed(
        self, part: TimeMeasure, name: str, starting: str | None, ending: str | None
    ) -> Iterator[tuple[str, Floats]]:
        starts, ends = (self._found(mark, timed=True) for mark in (starting, ending))
        start = starts.first if part.start_pick is Pick.FIRST else starts.last
        first = part.end_pick is Pick.FIRST
        end = ends.first_after(start) if first else in_order(start, ends.last)
        begun, ended = picked(self._times, start), picked(self._times, end)
        bases = self._folding.bases
        if bases.is_span(part):
            yield bases.own("start", part), begun
            yield bases.own("end", part), ended
        else:
            yield name, ended - begun

    def _cycles(
        self, part: TimeMeasure, starting: str | None, ending: str | None
    ) -> NDArray[np.float64]:
        if part.cycles is None:
            raise AssertionError("this time measure has no cycles")
        starts, ends = self._instants(starting), self._instants(ending)
        lasted = Lasted.of(starts, ends, self._times, self._cases)
        values = lasted.made_one(part.cycles)
        if part.open_cycle is OpenCycle.NO_VALUE:
            values[lasted.opened != lasted.closed] = np.nan
        return values

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
        if mark in self._folding.codes:
            column, number = self._folding.codes[mark]
            return np.asarray(_array(self._events, column) == number)
        return _array(self._events, mark).view(np.bool_)


def _array(events: pa.RecordBatch, name: str) -> NDArray[Any]:
    """A column as it is; missing numbers become NaN, which makes whole ones floats."""
    return np.asarray(events.column(name).to_numpy(zero_copy_only=False))


def _mask(known: pa.Array) -> Mask:
    return np.asarray(known.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _taken(events: pa.RecordBatch, name: str, places: Places) -> pa.Array:
    """What a column has at places; null for none."""
    return events.column(name).take(pa.array(places, mask=places == NONE))


# --- places of events ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cases:
    """The places of the first and the last event of each case."""

    starts: Places
    ends: Places

    @classmethod
    def of(cls, numbers: NDArray[np.int64]) -> Cases:
        """From a number for every event that is the same within a case, and rises from one on."""
        (starts,) = begins(numbers).nonzero()
        if np.any(numbers[starts[1:]] < numbers[starts[:-1]]):
            raise LookupError("the events of a log came out of order")
        return cls(starts, np.append(starts[1:], numbers.size)[: starts.size] - 1)

    def numbers(self) -> Places:
        """Of every event, the number of its case, from 0."""
        return np.repeat(np.arange(self.starts.size), self.ends - self.starts + 1)


@dataclass(frozen=True)
class Hits:
    """Where something holds, and how many such places there are before and up to each case."""

    holds: Mask
    before: NDArray[np.int32]
    up_to: NDArray[np.int32]

    @classmethod
    def of(cls, holds: Mask, cases: Cases) -> Hits:
        # Narrow, which is several times as quick: no case is as long as that.
        up_to = np.cumsum(holds, dtype=np.int32)[cases.ends]
        before = np.zeros_like(up_to)
        before[1:] = up_to[:-1]
        return cls(holds, before, up_to)

    @cached_property
    def places(self) -> Places:
        return self.holds.nonzero()[0]

    @property
    def counts(self) -> NDArray[np.int32]:
        return np.asarray(self.up_to - self.before)

    @property
    def first(self) -> Places:
        return self._at(self.before)

    @property
    def last(self) -> Places:
        return self._at(self.up_to - 1)

    def first_after(self, start: Places) -> Places:
        """The first behind a place of each case; none where there is no such place."""
        following = np.searchsorted(self.places, start, side="right")
        return self._at(following, (start != NONE) & (following < self.up_to))

    def _at(self, which: NDArray[Any], there: Mask | None = None) -> Places:
        if not self.places.size:
            return np.full(self.up_to.size, NONE, dtype=np.intp)
        if there is None:
            there = self.up_to > self.before
        # What is not there is looked up too, at the nearest place, and left out afterwards.
        return np.where(there, self.places.take(which, mode="clip"), NONE)


def begins(numbers: NDArray[Any]) -> Mask:
    """Where a number differs from the one before it; so does the first."""
    differs = np.ones(numbers.size, dtype=np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=differs[1:])
    return differs


def picked(values: NDArray[Any], places: Places) -> Floats:
    """What stands at places; NaN for none."""
    if not values.size:
        return np.full(places.size, np.nan)
    return np.where(places != NONE, values.take(places, mode="clip"), np.nan)


def in_order(start: Places, end: Places) -> Places:
    """The ends that do not lie before their starts; none where either is missing."""
    return np.where((start != NONE) & (end >= start), end, NONE)


# --- cycles --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lasted:
    """How long each cycle lasted, the number of its case, and how many each case has opened."""

    durations: Floats
    cases: Places
    opened: Places

    @classmethod
    def of(cls, starts: Mask, ends: Mask, times: NDArray[Any], cases: Cases) -> Lasted:
        """A start opens a cycle unless one is open; an end closes the one that is.

        Only starts and ends matter, and of each only whether the one before it was a start. An
        event that both ends and starts closes one cycle and opens the next.
        """
        places = np.flatnonzero(starts | ends)
        case, start, end = cases.numbers()[places], starts[places], ends[places]
        running = np.zeros(places.size, dtype=np.bool_)
        running[1:] = start[:-1] & ~begins(case)[1:]
        opens, closes = start & (end | ~running), end & running
        borders = np.flatnonzero(opens | closes)
        # Each border that closes a cycle follows the one that opened it.
        closing = np.flatnonzero(closes[borders])
        closed, opened = places[borders[closing]], places[borders[closing - 1]]
        return cls(
            times[closed].astype(np.float64) - times[opened].astype(np.float64),
            case[borders[closing]],
            np.bincount(case[opens], minlength=cases.starts.size),
        )

    @property
    def closed(self) -> Places:
        return np.bincount(self.cases, minlength=self.opened.size)

    def made_one(self, how: Cycles) -> Floats:
        """One value for each case; NaN for one without cycles."""
        values = np.full(self.opened.size, np.nan)
        has = self.closed > 0
        values[has] = self._of_those(how, has)
        return values

    def _of_those(self, how: Cycles, has: Mask) -> Floats:
        count = self.closed[has]
        starts = np.cumsum(count) - count
        if not starts.size:
            return np.empty(0)
        match how:
            case Cycles.SUM | Cycles.MEAN:
                # As whole microseconds: doubles would round a sum beyond 285 years.
                sums = np.add.reduceat(self.durations.astype(np.int64), starts).astype(np.float64)
                return np.asarray(sums if how is Cycles.SUM else sums / count)
            case Cycles.MIN:
                return np.minimum.reduceat(self.durations, starts)
            case Cycles.MAX:
                return np.maximum.reduceat(self.durations, starts)
            case Cycles.MEDIAN:
                ascending = self.durations[np.lexsort((self.durations, self.cases))]
                low = ascending[starts + (count - 1) // 2]
                return np.asarray(low + (ascending[starts + count // 2] - low) * 0.5)
