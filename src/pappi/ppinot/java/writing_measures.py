"""Measures, as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from pappi.ppinot.expressions.nodes import Name
from pappi.ppinot.java.case_measures import CYCLES
from pappi.ppinot.java.formulas import out_of_numbers
from pappi.ppinot.java.measures import FUNCTIONS, usual_bounds
from pappi.ppinot.java.mvel import expression_text
from pappi.ppinot.java.numbers import as_json, duration_text
from pappi.ppinot.java.schedules import written_schedule
from pappi.ppinot.java.units import java_unit, timed_by, unit_of_time
from pappi.ppinot.java.writing_conditions import (
    Json,
    condition_measure_json,
    events_json,
    moment_json,
    property_json,
    state_measure_json,
    wrapped,
)
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Anchor,
    Bounding,
    CaseBorder,
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Measure,
    OpenCycle,
    Pick,
    StateMeasure,
    TimeMeasure,
)
from pappi.values.bounds import Bounds
from pappi.values.units import DURATIONS
from pappi.values.vocabulary import Kind

Derived = DerivedSingleInstance | DerivedMultiInstance

_FUNCTIONS = {function: word for word, function in FUNCTIONS.items()}
_CYCLES = {cycles: word for word, cycles in CYCLES.items()}
_HOUR = Fraction(DURATIONS["hours"])


def measure_json(measure: Measure, process: str, size: Fraction = _HOUR) -> Json:
    """A measure; `size` is that of the unit its time is to be in."""
    match measure:
        case CountMeasure():
            return {"kind": "CountMeasure", "when": events_json(measure.when, process)}
        case TimeMeasure():
            return _time(measure, process, size)
        case DataMeasure():
            return _data(measure, process)
        case ConditionMeasure():
            return condition_measure_json(measure, process)
        case StateMeasure():
            return state_measure_json(measure)
        case AggregatedMeasure():
            return _aggregated(measure, process, size)
        case DerivedSingleInstance():
            missing = {} if measure.missing is None else {"missing": measure.missing.value}
            return {"kind": "DerivedSingleInstanceMeasure", **_derived(measure, process), **missing}
        case DerivedMultiInstance():
            return {"kind": "DerivedMultiInstanceMeasure", **_derived(measure, process)}


def _time(measure: TimeMeasure, process: str, size: Fraction) -> Json:
    found: Json = {
        "kind": "TimeMeasure",
        "unitOfMeasure": java_unit(unit_of_time(size).factor),
        "from": moment_json(measure.start, process),
        "to": moment_json(measure.end, process),
        "timeMeasureType": "LINEAR" if measure.cycles is None else "CYCLIC",
    }
    usual = OpenCycle.LEFT_OUT
    if measure.cycles is not None:
        found["singleInstanceAggFunction"] = _CYCLES[measure.cycles]
        usual = OpenCycle.NO_VALUE
    if measure.open_cycle is not usual:
        found["openCycle"] = measure.open_cycle.value
    found |= _picks(measure)
    if measure.running is not None:
        found["precondition"] = property_json(measure.running)
    return found | ({} if measure.calendar is None else written_schedule(measure.calendar))


def _picks(measure: TimeMeasure) -> Json:
    start = {} if measure.start_pick is Pick.FIRST else {"startPick": Pick.LAST.value}
    if measure.end_pick is Pick.LAST:
        return {**start}
    # Java takes no notice of `firstTo` beside a precondition.
    end = {"firstTo": True} if measure.running is None else {"endPick": Pick.FIRST.value}
    return {**start, **end}


def _data(measure: DataMeasure, process: str) -> Json:
    found: Json = {
        "kind": "DataMeasure",
        "dataContentSelection": {"selection": expression_text(Name(measure.attribute))},
        "first": measure.pick is Pick.FIRST,
    }
    return found | (
        {} if measure.when is None else {"precondition": wrapped(measure.when, process)}
    )


def anchor_json(anchor: Anchor, process: str) -> Json:
    """The instant that decides on the period of a case, as a data measure of its timestamp."""
    if isinstance(anchor.moment, CaseBorder):
        pick = Pick.FIRST if anchor.moment is CaseBorder.START else Pick.LAST
        return _data(DataMeasure("timestamp", pick), process)
    return _data(DataMeasure("timestamp", anchor.pick, anchor.moment), process)


# --- measures of many cases -----------------------------------------------------------


def _aggregated(measure: AggregatedMeasure, process: str, size: Fraction) -> Json:
    found: Json = {
        "kind": "AggregatedMeasure",
        "aggregationFunction": _FUNCTIONS[measure.function],
        "baseMeasure": measure_json(measure.base, process, size),
    }
    if measure.filter is not None:
        found["filter"] = measure_json(measure.filter, process)
    if measure.grouping is not None:
        found["groupedBy"] = [_data(measure.grouping.by, process)]
        found["keys"] = list(measure.grouping.keys)
    if measure.percent is not None:
        found["percent"] = measure.percent
    if measure.within is not None:
        found["within"] = measure.within
    return found | _bounds(measure)


def _bounds(measure: AggregatedMeasure) -> Json:
    is_declared = measure.bounding is Bounding.DECLARED
    if is_declared and measure.bounds == usual_bounds(measure.function, measure.base):
        return {}
    limits = {} if measure.bounds is None else range_json(measure.bounds, _base_kind(measure))
    said = {} if limits and is_declared else {"bounding": measure.bounding.value}
    return {"bounds": {**limits, **said}}


def _base_kind(measure: AggregatedMeasure) -> Kind | None:
    counts = measure.function is Aggregation.COUNT
    return Kind.NUMBER if counts else measure_kind(measure.base, None)


def range_json(bounds: Bounds, kind: Kind | None, scale: Fraction = Fraction(1)) -> Json:
    """Two limits: durations with their units, other values as numbers of which each is so much."""
    if kind is Kind.DURATION:
        return {"low": duration_text(bounds.low), "high": duration_text(bounds.high)}
    return {"low": as_json(bounds.low / scale), "high": as_json(bounds.high / scale)}


# --- derived measures -----------------------------------------------------------------


def _derived(measure: Derived, process: str) -> Json:
    durations = frozenset(
        name
        for name, variable in measure.variables
        if measure_kind(variable, None) is Kind.DURATION
    )
    plain = out_of_numbers(measure.formula, durations)
    if plain is None or not _are_java(measure, durations, plain[1]):
        formula, sizes, typed = measure.formula, {}, {"typed": True}
    else:
        formula, sizes, typed = plain[0], dict(plain[1]), {}
    used = {
        name: measure_json(variable, process, sizes.get(name, _HOUR))
        for name, variable in measure.variables
    }
    return {"function": expression_text(formula), **typed, "usedMeasureMap": used}


def _are_java(measure: Derived, durations: frozenset[str], sizes: Mapping[str, Fraction]) -> bool:
    """Whether each duration is that of a time measure, in a unit that Java has."""
    timed = {name for name, variable in measure.variables if timed_by(variable) is not None}
    return durations <= timed and all(java_unit(size) for size in sizes.values())
