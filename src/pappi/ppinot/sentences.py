"""A PPI as one English sentence, after the linguistic patterns of PPINOT."""

from __future__ import annotations

from datetime import timedelta

from pappi.ppinot.expressions.render import render
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    CaseBorder,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Measure,
    Moment,
    MultiInstance,
    Occurrence,
    Occurs,
    Ppi,
    Scope,
    SingleInstance,
    TimeMeasure,
)

_AGGREGATIONS = {
    Aggregation.MIN: "the minimum of",
    Aggregation.MAX: "the maximum of",
    Aggregation.MEAN: "the average of",
    Aggregation.SUM: "the sum of",
    Aggregation.MEDIAN: "the median of",
}


_CYCLES = {
    Cycles.SUM: "sum",
    Cycles.MEAN: "average",
    Cycles.MIN: "minimum",
    Cycles.MAX: "maximum",
    Cycles.MEDIAN: "median",
}


def sentence(ppi: Ppi) -> str:
    """What a PPI says: "the average of the duration between …, for every month"."""
    return f"{_multi(ppi.measure)}, {_scope(ppi.scope)}"


def _multi(measure: MultiInstance) -> str:
    if isinstance(measure, DerivedMultiInstance):
        return _derived(measure)
    if measure.function is Aggregation.SHARE:
        among = f" among the cases in which {_holds(measure.filter)}" if measure.filter else ""
        said = f"the share of cases in which {_holds(measure.base)}{among}"
    else:
        among = f" over the cases in which {_holds(measure.filter)}" if measure.filter else ""
        said = f"{_aggregation(measure)} {_single(measure.base)}{among}"
    return f"{said}, grouped by {_single(measure.grouping.by)}" if measure.grouping else said


def _aggregation(measure: AggregatedMeasure) -> str:
    if measure.percent is not None:
        return f"the {_ordinal(measure.percent)} percentile of"
    return _AGGREGATIONS[measure.function]


def _ordinal(number: int) -> str:
    """
    >>> [_ordinal(number) for number in (1, 12, 22, 93, 90)]
    ['1st', '12th', '22nd', '93rd', '90th']
    """
    teens = number // 10 == 1
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _single(measure: SingleInstance) -> str:
    match measure:
        case CountMeasure():
            return f"the number of times {_says(measure.when)}"
        case TimeMeasure():
            return _duration(measure)
        case DataMeasure():
            when = f" when {_says(measure.when)}" if measure.when else ""
            return f"the {measure.pick} value of {measure.attribute}{when}"
        case ConditionMeasure():
            return f"whether {_says(measure.when)}"
        case DerivedSingleInstance():
            return _derived(measure)


def _holds(measure: SingleInstance) -> str:
    """A truth value as a statement."""
    match measure:
        case ConditionMeasure():
            return f"at some time {_says(measure.when)}"
        case DerivedSingleInstance():
            return _derived(measure).removeprefix("the function ")
        case _:
            return f"{_single(measure)} is true"


def _duration(measure: TimeMeasure) -> str:
    if measure.cycles is None:
        start = _moment(measure.start, measure.start_pick)
        return f"the duration between {start} and {_moment(measure.end, measure.end_pick)}"
    start, end = _moment(measure.start, "each"), _moment(measure.end, "next")
    return f"the {_CYCLES[measure.cycles]} of the durations between {start} and {end}"


def _says(occurs: Occurs) -> str:
    begins = " begins to hold" if occurs.occurrence is Occurrence.ONSET else ""
    return render(occurs.condition) + begins


def _moment(moment: Moment, which: str) -> str:
    match moment:
        case CaseBorder.START:
            return "the start of the case"
        case CaseBorder.END:
            return "the end of the case"
        case Occurs():
            the = "" if which == "each" else "the "
            return f"{the}{which} time instant when {_says(moment)}"


def _derived(measure: DerivedSingleInstance | DerivedMultiInstance) -> str:
    said = f"the function {render(measure.formula)}"
    if not measure.variables:
        return said
    where = ", and ".join(f"{name} is {phrase(variable)}" for name, variable in measure.variables)
    return f"{said}, where {where}"


def phrase(measure: Measure) -> str:
    """A measure of any kind, as part of a sentence."""
    if isinstance(measure, AggregatedMeasure | DerivedMultiInstance):
        return _multi(measure)
    return _single(measure)


def _scope(scope: Scope) -> str:
    start = f" from {scope.start}" if scope.start else ""
    if scope.grid is not None:
        until = f" until {scope.until}" if scope.until else ""
        return f"for {scope.grid}{start}{until}"
    last = f" to {scope.until - timedelta(days=1)}" if scope.until else ""
    return f"for the whole time{start}{last}"
