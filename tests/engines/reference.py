"""Measures of one case, computed event by event: slow, plain, and only for comparison.

Written from the meaning of each measure in `ppinot.model`, not from the engine's SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median

from pappi.ppinot import (
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedSingleInstance,
    EventCondition,
    Expression,
    Missing,
    Moment,
    Occurrence,
    Occurs,
    OpenCycle,
    Order,
    Pick,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
    model,
)
from pappi.ppinot.evaluation import Value, ValuesByName, evaluate
from pappi.values import CaseBorder, WorkingCalendar

Worked = Callable[[WorkingCalendar, int, int], float]
"""The working time of a calendar between two instants."""

_CYCLES: dict[Cycles, Callable[[Sequence[float]], float]] = {
    Cycles.SUM: sum,
    Cycles.MEAN: mean,
    Cycles.MIN: min,
    Cycles.MAX: max,
    Cycles.MEDIAN: median,
}


@dataclass(frozen=True, slots=True)
class Case:
    """The events of one case in their order; `timestamp` in microseconds."""

    events: Sequence[ValuesByName]
    worked: Worked

    def value(self, measure: SingleInstance) -> Value:
        match measure:
            case CountMeasure():
                return float(len(self._at(measure.when)))
            case ConditionMeasure():
                return bool(self._at(measure.when))
            case StateMeasure():
                of = [e for e in self.events if measure.of is None or _true(measure.of, e)]
                return bool(of) and _true(measure.holds, of[-1])
            case DataMeasure():
                return self._data(measure)
            case TimeMeasure():
                return self._cyclic(measure) if measure.cycles else self._linear(measure)
            case DerivedSingleInstance():
                return self._derived(measure)

    def _at(self, condition: EventCondition) -> list[int]:
        if isinstance(condition, model.EventSequence):
            return list(self._after(condition))
        return list(self._occurs(condition))

    def _occurs(self, occurs: Occurs) -> Iterator[int]:
        held = False
        for place, event in enumerate(self.events):
            if occurs.among is not None and not _true(occurs.among, event):
                continue
            holds = _true(occurs.condition, event)
            if holds and not (held and occurs.occurrence is Occurrence.ONSET):
                yield place
            held = holds

    def _after(self, sequence: model.EventSequence) -> Iterator[int]:
        first, then = self._at(sequence.first), self._at(sequence.then)
        is_open = False
        for place in range(len(self.events)):
            if place in then:
                if sequence.order is Order.FOLLOWS and place - 1 in first:
                    yield place
                if sequence.order is Order.LEADS_TO and any(each < place for each in first):
                    yield place
                if sequence.order is Order.LEADS_TO_CYCLICALLY and is_open:
                    yield place
                is_open = False
            is_open = is_open or place in first

    def _data(self, measure: DataMeasure) -> Value:
        places = range(len(self.events)) if measure.when is None else self._at(measure.when)
        carried = [self.events[place].get(measure.attribute) for place in places]
        values = [each for each in carried if each is not None]
        return None if not values else values[0 if measure.pick is Pick.FIRST else -1]

    # --- times ------------------------------------------------------------------------

    def _linear(self, measure: TimeMeasure) -> float | None:
        starts, ends = self._moments(measure.start), self._moments(measure.end)
        if not starts:
            return None
        start = starts[0 if measure.start_pick is Pick.FIRST else -1]
        if measure.end_pick is Pick.FIRST:
            ends = [each for each in ends if each > start][:1]
        ends = [each for each in ends if each >= start]
        if not ends:
            return None
        if measure.running is None:
            return self._between(measure, start, ends[-1])
        runs = [p for p in range(start, ends[-1]) if _true(measure.running, self.events[p])]
        return sum(self._between(measure, place, place + 1) for place in runs)

    def _cyclic(self, measure: TimeMeasure) -> float | None:
        starts, ends = self._moments(measure.start), self._moments(measure.end)
        opened: int | None = None
        lasted = []
        for place in range(len(self.events)):
            if place in ends and opened is not None:
                lasted.append(self._between(measure, opened, place))
                opened = None
            if place in starts and opened is None:
                opened = place
        if not lasted or (opened is not None and measure.open_cycle is OpenCycle.NO_VALUE):
            return None
        return None if measure.cycles is None else float(_CYCLES[measure.cycles](lasted))

    def _moments(self, moment: Moment) -> list[int]:
        return list(range(len(self.events))) if isinstance(moment, CaseBorder) else self._at(moment)

    def _between(self, measure: TimeMeasure, start: int, end: int) -> float:
        from_us, to_us = (_instant(self.events[place]) for place in (start, end))
        if measure.calendar is not None:
            return self.worked(measure.calendar, from_us, to_us)
        return float(to_us - from_us)

    # --- formulas ---------------------------------------------------------------------

    def _derived(self, measure: DerivedSingleInstance) -> Value:
        values = {name: self.value(variable) for name, variable in measure.variables}
        if measure.missing is None or None not in values.values():
            return evaluate(measure.formula, values)
        return {Missing.TRUE: True, Missing.FALSE: False, Missing.LEFT_OUT: None}[measure.missing]


def _true(expression: Expression, event: ValuesByName) -> bool:
    return evaluate(expression, event) is True


def _instant(event: ValuesByName) -> int:
    found = event["timestamp"]
    if not isinstance(found, int):
        raise TypeError("an event of the reference has its time in whole microseconds")
    return found
