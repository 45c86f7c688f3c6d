"""The measures of ppinot4py."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from pappi.ppinot.expressions.nodes import Expression
from pappi.ppinot.java.measures import usual_bounds
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    CaseBorder,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Grouping,
    Measure,
    MultiInstance,
    Pick,
    SingleInstance,
    TimeMeasure,
)
from pappi.ppinot.objects.calendars import read_calendar
from pappi.ppinot.objects.conditions import border_of, read_events, read_moment
from pappi.ppinot.objects.foreign import Foreign
from pappi.ppinot.objects.formulas import constant, settled
from pappi.ppinot.objects.queries import column, read_formula, read_query
from pappi.ppinot.wording import listed, quoted
from pappi.values.units import DURATIONS

_KINDS = ("CountMeasure", "DataMeasure", "TimeMeasure", "AggregatedMeasure", "DerivedMeasure")
_FUNCTIONS = {
    "SUM": Aggregation.SUM,
    "MIN": Aggregation.MIN,
    "MAX": Aggregation.MAX,
    "AVG": Aggregation.MEAN,
    "MEDIAN": Aggregation.MEDIAN,
}
_CYCLES = {
    "SUM": Cycles.SUM,
    "MIN": Cycles.MIN,
    "MAX": Cycles.MAX,
    "AVG": Cycles.MEAN,
    "MEDIAN": Cycles.MEDIAN,
}
_UNITS = {name: f"{name.lower()}s" for name in ("WEEK", "DAY", "HOUR", "MINUTE", "SECOND")}


@dataclass(frozen=True, slots=True)
class Options:
    keys: tuple[str, ...]
    lifecycle: bool


@dataclass(frozen=True, slots=True)
class Read:
    """A measure; `size` is that of the unit ppinot4py gives its time in, if in any."""

    measure: Measure
    size: Fraction | None = None


def read_measure(found: Foreign, options: Options) -> Read:
    match found.kind:
        case "CountMeasure":
            return Read(CountMeasure(read_events(found.get("when"), lifecycle=options.lifecycle)))
        case "DataMeasure":
            return Read(_data(found, options))
        case "TimeMeasure":
            return _time(found, options)
        case "AggregatedMeasure":
            return _aggregated(found, options)
        case "DerivedMeasure":
            return Read(_derived(found, options))
    known = f"the measures are {listed(_KINDS, 'and')}"
    raise found.refusal(f"{quoted(found.kind)} is no measure of ppinot4py", known)


def _single(found: Foreign, options: Options) -> tuple[SingleInstance, Fraction | None]:
    read = read_measure(found, options)
    if isinstance(read.measure, MultiInstance):
        raise found.refusal("this combines many cases, and a measure of one case is needed")
    return read.measure, read.size


# --- measures of one case -------------------------------------------------------------


def _data(found: Foreign, options: Options) -> DataMeasure:
    selection = found.get("data_content_selection")
    when = found.find("precondition")
    return DataMeasure(
        column(selection.text("the name of a column")),
        Pick.FIRST if found.get("first").flag() else Pick.LAST,
        None if when is None else read_events(when, lifecycle=options.lifecycle),
        position=selection.position,
    )


def _time(found: Foreign, options: Options) -> Read:
    precondition = found.find("precondition")
    among = None if precondition is None else read_query(precondition)
    ends = [found.get(name) for name in ("from_condition", "to_condition")]
    start, end = (read_moment(each, lifecycle=options.lifecycle, among=among) for each in ends)
    kind = found.get("time_measure_type").text("a type").upper()
    if kind not in ("LINEAR", "CYCLIC"):
        raise found.refusal("a time measure is LINEAR or CYCLIC")
    cycles = _cycles(found) if kind == "CYCLIC" else None
    is_first = cycles is None and found.get("first_to").flag()
    paired = is_first or cycles is not None
    _check_borders(border_of(ends[0]), border_of(ends[1]), found, paired=paired)
    if paired and start == end:
        raise found.refusal("ppinot4py gives this no value: from and to are the same events")
    calendar = found.find("business_duration")
    measure = TimeMeasure(
        start,
        end,
        end_pick=Pick.FIRST if is_first else Pick.LAST,
        cycles=cycles,
        calendar=None if calendar is None else read_calendar(calendar),
    )
    return Read(measure, _size(found.find("time_unit")))


def _check_borders(
    start: CaseBorder | None, end: CaseBorder | None, found: Foreign, *, paired: bool
) -> None:
    if start is CaseBorder.END or end is CaseBorder.START:
        raise found.refusal("nothing is after the end of a case, or before its start")
    if paired and (start or end):
        message = "a case starts and ends once: there are no pairs of that, and no first one"
        raise found.refusal(message, "leave out CYCLIC and first_to")


def _cycles(found: Foreign) -> Cycles:
    word = found.get("single_instance_agg_function")
    name = word.text("an aggregation").strip().upper()
    if name not in _CYCLES:
        raise word.refusal(f"cycles are taken by {listed(_CYCLES)}, not by {quoted(name)}")
    return _CYCLES[name]


def _size(unit: Foreign | None) -> Fraction | None:
    if unit is None:
        return None
    name = unit.word()
    if name not in _UNITS:
        raise unit.refusal(f"the units of time are {listed(_UNITS, 'and')}")
    return Fraction(DURATIONS[_UNITS[name]])


# --- measures of many cases -----------------------------------------------------------


def _aggregated(found: Foreign, options: Options) -> Read:
    base, size = _single(found.get("base_measure"), options)
    condition = found.find("filter_to_apply")
    if condition is not None and condition.is_text and not condition.text("a filter"):
        condition = None
    function, percent = _function(found.get("single_instance_agg_function"))
    measure = AggregatedMeasure(
        function,
        base,
        None if condition is None else _single(condition, options)[0],
        _grouping(found.find("grouper"), options),
        usual_bounds(function, base),
        percent=percent,
        position=found.position,
    )
    return Read(measure, size)


def _function(found: Foreign) -> tuple[Aggregation, int | None]:
    word = found.text("an aggregation").strip().upper()
    if word in _FUNCTIONS:
        return _FUNCTIONS[word], None
    match = re.fullmatch(r"P([0-9]{1,3})", word)
    if match and 1 <= int(match[1]) <= 99:
        return Aggregation.PERCENTILE, int(match[1])
    if word == "GROUPBY":
        raise found.refusal("GROUPBY gives back the values of single cases, which stay here")
    raise found.refusal(f"{quoted(word)} is no aggregation of ppinot4py")


def _grouping(found: Foreign | None, options: Options) -> Grouping | None:
    groupers = [] if found is None else found.items()
    if not groupers:
        return None
    if len(groupers) > 1:
        raise groupers[1].refusal("cases are grouped by one attribute at most")
    by, _ = _single(groupers[0], options)
    if not isinstance(by, DataMeasure):
        raise groupers[0].refusal("cases are grouped by a DataMeasure")
    if not options.keys:
        message = "which groups there are must not depend on the data: they are declared"
        raise groupers[0].refusal(message, "give their names as keys=[…]")
    return Grouping(by, options.keys)


# --- derived measures -----------------------------------------------------------------


def _derived(found: Foreign, options: Options) -> Measure:
    constants: dict[str, Expression] = {}
    variables: list[tuple[str, Read]] = []
    for name, value in found.get("measure_map").entries():
        fixed = constant(value)
        if fixed is not None:
            constants[name] = fixed
        else:
            variables.append((name, read_measure(value, options)))
    formula = _formula(found.get("function_expression"), constants, variables)
    are_multi = [isinstance(read.measure, MultiInstance) for _, read in variables]
    pairs = tuple((name, read.measure) for name, read in variables)
    if any(are_multi) and not all(are_multi):
        raise found.refusal("a formula is over measures of one case, or of many, not of both")
    if any(are_multi):
        return DerivedMultiInstance(formula, cast("tuple[tuple[str, MultiInstance], ...]", pairs))
    return DerivedSingleInstance(formula, cast("tuple[tuple[str, SingleInstance], ...]", pairs))


def _formula(
    found: Foreign, constants: dict[str, Expression], variables: list[tuple[str, Read]]
) -> Expression:
    kinds = {name: measure_kind(read.measure, None) for name, read in variables}
    sizes = {name: read.size for name, read in variables if read.size is not None}
    return settled(read_formula(found), constants, kinds, sizes, found)
