"""The unit a value is in, and the unit it is shown in.

A time measure of Java gives a number of its `unitOfMeasure`, milliseconds if it names none. The
same unit then is that of an aggregate over it, of its target and in formulas. On any other
measure `unitOfMeasure` is a label to show.
"""

from __future__ import annotations

from fractions import Fraction

from pappi.ppinot.java.fields import Fields
from pappi.ppinot.java.numbers import as_json, exact
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import AggregatedMeasure, Aggregation, Measure, MultiInstance, TimeMeasure
from pappi.ppinot.wording import quoted
from pappi.values.units import (
    DURATIONS,
    FRACTION,
    HOURS,
    NUMBER,
    PERCENT,
    Unit,
    duration_unit,
)
from pappi.values.vocabulary import Kind

MILLIS = "millis"
_NAMES = {
    MILLIS: "milliseconds",
    **{name: name for name in ("seconds", "minutes", "hours", "days")},
}
_COUNTING = (Aggregation.COUNT, Aggregation.SHARE)


def time_unit(fields: Fields) -> Unit | None:
    """The unit of a time measure."""
    written = fields.text("unitOfMeasure").strip().lower() or MILLIS
    if written in _NAMES:
        name = _NAMES[written]
        return Unit(name, Fraction(DURATIONS[name]))
    if written == "workingdays":
        message = "working days have no fixed length: a duration cannot be counted in them"
        fields.refuse("unitOfMeasure", message, "write hours")
    else:
        message = f"Java PPINOT measures no time in {quoted(written)}"
        fields.refuse("unitOfMeasure", message, f"the units are {', '.join(_NAMES)}")
    return None


def java_unit(size: Fraction) -> str | None:
    """Java's name of a unit of so many microseconds."""
    return next((java for java, name in _NAMES.items() if DURATIONS[name] == size), None)


def timed_by(measure: Measure) -> TimeMeasure | None:
    """The time measure whose unit the value of a measure is in, for Java."""
    match measure:
        case TimeMeasure():
            return measure
        case AggregatedMeasure(function=function, base=TimeMeasure() as base):
            return None if function in _COUNTING else base
    return None


def unit_of_time(size: Fraction) -> Unit:
    """The unit for a time measure: one of that size, or else one that Java has."""
    java = java_unit(size)
    larger = "days" if size > DURATIONS["days"] else "hours"
    name = larger if java is None else _NAMES[java]
    return Unit(name, Fraction(DURATIONS[name]))


def labelled(measure: MultiInstance, label: str) -> Unit:
    """The unit that a label stands for on a PPI; empty for the usual one."""
    if measure_kind(measure, None) is Kind.DURATION:
        return duration_unit(label) or HOURS
    is_share = isinstance(measure, AggregatedMeasure) and measure.function is Aggregation.SHARE
    if is_share:
        return FRACTION if label == FRACTION.name else PERCENT
    return Unit(label, Fraction(1)) if label else NUMBER


def read_unit(fields: Fields, measure: MultiInstance, usual: Unit) -> Unit:
    """The unit a PPI is shown in: its own field, or the usual one of its measure."""
    match fields.scalar_or_object("unit"):
        case None:
            return usual
        case str() as label:
            if measure_kind(measure, None) is Kind.DURATION and duration_unit(label) is None:
                fields.refuse("unit", f"{quoted(label)} is not a unit of time")
            return labelled(measure, label)
        case Fields() as whole:
            return _whole_unit(whole) or usual


def _whole_unit(fields: Fields) -> Unit | None:
    fields.require("factor", "a unit")
    factor = exact(fields.text("factor"))
    if factor is None or factor <= 0:
        fields.refuse("factor", "expected how many internal units it has")
        return None
    return Unit(fields.text("name"), factor)


def written_unit(unit: Unit, measure: MultiInstance, usual: Unit) -> dict[str, object]:
    """The field of a PPI that says its unit, if it is not the usual one of its measure."""
    if unit == usual:
        return {}
    if unit.name and labelled(measure, unit.name) == unit:
        return {"unit": unit.name}
    return {"unit": {"name": unit.name, "factor": as_json(unit.factor)}}
