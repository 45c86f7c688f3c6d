"""Measures back into the notation."""

from __future__ import annotations

from collections.abc import Mapping

from pappi.ppinot.catalogue.measures import ALL_CASES, EVERY_CASE
from pappi.ppinot.catalogue.plain import Bare, Literal, Plain
from pappi.ppinot.catalogue.written_conditions import condition, event_test, formula, instant
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    DerivedSingleInstance,
    Grouping,
    Missing,
    MultiInstance,
    OpenCycle,
    Pick,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
)
from pappi.values.working_time import WorkingCalendar

CalendarNames = Mapping[WorkingCalendar, str]
"""Calendars that the catalogue names; any other is written where it is used."""


def single(measure: SingleInstance, calendars: CalendarNames) -> dict[str, Plain]:
    match measure:
        case CountMeasure():
            return {"count": condition(measure.when)}
        case ConditionMeasure():
            return {"condition": condition(measure.when)}
        case TimeMeasure():
            return {"time": _time(measure, calendars)}
        case DataMeasure():
            return {"data": _data(measure)}
        case StateMeasure():
            return {"state": _state(measure)}
        case DerivedSingleInstance():
            return _derived(measure, calendars)


def _time(measure: TimeMeasure, calendars: CalendarNames) -> Plain:
    written: dict[str, Plain] = {
        "from": instant(measure.start, measure.start_pick, Pick.FIRST),
        "to": instant(measure.end, measure.end_pick, Pick.LAST),
    }
    if measure.cycles is not None:
        written["cycles"] = Bare(measure.cycles)
    if measure.open_cycle is not OpenCycle.LEFT_OUT:
        written["open"] = Bare(measure.open_cycle)
    if measure.running is not None:
        written["while"] = event_test(measure.running)
    if measure.calendar is not None:
        written["calendar"] = calendars.get(measure.calendar) or str(measure.calendar)
    return written


def _data(measure: DataMeasure) -> Plain:
    if measure.pick is Pick.LAST and measure.when is None:
        return measure.attribute
    written: dict[str, Plain] = {"attribute": measure.attribute}
    if measure.pick is not Pick.LAST:
        written["pick"] = Bare(measure.pick)
    if measure.when is not None:
        written["when"] = condition(measure.when)
    return written


def _state(measure: StateMeasure) -> Plain:
    holds = event_test(measure.holds)
    if measure.of is None:
        return {"is": holds}
    match (event_test(measure.of), holds):
        case ({"activity": of, **more}, {"transition": way, **others}) if not (more or others):
            return {"activity": of, "transition": way}
        case (of, _):
            return {"of": of, "is": holds}


def _derived(measure: DerivedSingleInstance, calendars: CalendarNames) -> dict[str, Plain]:
    written: dict[str, Plain] = {"derive": formula(measure.formula)}
    match measure.missing:
        case Missing.LEFT_OUT:
            written["missing"] = Bare(measure.missing)
        case Missing.TRUE | Missing.FALSE:
            written["missing"] = Literal(measure.missing)
    return written | {name: single(inner, calendars) for name, inner in measure.variables}


def multi(measure: MultiInstance, calendars: CalendarNames) -> dict[str, Plain]:
    """A measure of many cases without its bounds, which are written on the PPI."""
    if isinstance(measure, AggregatedMeasure):
        return _aggregated(measure, calendars)
    variables = {name: multi(inner, calendars) for name, inner in measure.variables}
    return {"derive": formula(measure.formula), **variables}


def _aggregated(measure: AggregatedMeasure, calendars: CalendarNames) -> dict[str, Plain]:
    base: Plain = single(measure.base, calendars)
    written: dict[str, Plain] = {measure.function.value: base}
    if measure.function is Aggregation.COUNT:
        written = {"number": Bare(ALL_CASES) if measure.base == EVERY_CASE else base}
    if measure.percent is not None:
        written["percent"] = Literal(measure.percent)
    if measure.filter is not None:
        word = "among" if measure.function is Aggregation.SHARE else "where"
        written[word] = single(measure.filter, calendars)
    if measure.grouping is not None:
        written["by"] = _grouping(measure.grouping)
    if measure.within is not None:
        written["within"] = measure.within
    return written


def _grouping(grouping: Grouping) -> Plain:
    return {"data": _data(grouping.by), "keys": list(grouping.keys)}
