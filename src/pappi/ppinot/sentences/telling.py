"""Measures of many cases, scopes and whole PPIs in words."""

from __future__ import annotations

from datetime import date, timedelta

from pappi.ppinot.expressions.nodes import Name, Truth
from pappi.ppinot.expressions.render import quote_text, render
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Bounding,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Grouping,
    Measure,
    MultiInstance,
    Pick,
    Ppi,
    Scope,
)
from pappi.ppinot.sentences.phrases import (
    case_phrase,
    has_list,
    moment_words,
    statement,
    variable_words,
)
from pappi.ppinot.sentences.quantities import bounds_words
from pappi.ppinot.sentences.spans import spoken
from pappi.values.bounds import UNIT_INTERVAL
from pappi.values.units import DURATIONS
from pappi.values.vocabulary import Kind

EVERY_CASE = DerivedSingleInstance(Truth(value=True), ())
"""What is counted by the number of cases."""

AGGREGATIONS = {
    Aggregation.MIN: "minimum",
    Aggregation.MAX: "maximum",
    Aggregation.MEAN: "average",
    Aggregation.SUM: "sum",
    Aggregation.MEDIAN: "median",
}
FITS = {
    Bounding.DECLARED: "",
    Bounding.LOOSE: "loosely ",
    Bounding.PRIVATE: "privately ",
}


def sentence(ppi: Ppi) -> str:
    """What a PPI says: "the average of the duration between …, for every month"."""
    return f"{definition(ppi)}, for {scope_words(ppi.scope)}"


def definition(ppi: Ppi) -> str:
    """The measure of a PPI; its unit tells the kind of attributes that are not declared."""
    in_time = DURATIONS.get(ppi.unit.name) == ppi.unit.factor and ppi.unit.name != "microseconds"
    return _multi(ppi.measure, Kind.DURATION if in_time else None)


def phrase(measure: Measure) -> str:
    """A measure of any kind, as part of a sentence."""
    if isinstance(measure, AggregatedMeasure | DerivedMultiInstance):
        return _multi(measure, None)
    return case_phrase(measure)


# --- measures of many cases -----------------------------------------------------------


def _multi(measure: MultiInstance, hidden: Kind | None) -> str:
    """`hidden` is the kind of values whose kind the measure itself does not tell."""
    if isinstance(measure, AggregatedMeasure):
        return _aggregated(measure, hidden)
    variables = [
        (name, _multi(each, hidden), _has_commas(each, hidden)) for name, each in measure.variables
    ]
    return f"the function {spoken(measure.formula)}{variable_words(variables)}"


def _has_commas(measure: MultiInstance, hidden: Kind | None) -> bool:
    """Whether the words for a measure hold a list of variables, or say more behind a comma."""
    if isinstance(measure, DerivedMultiInstance):
        return bool(measure.variables)
    parts = (measure.base, measure.filter) if measure.filter else (measure.base,)
    return any(map(has_list, parts)) or bool(_tail(measure, hidden))


def _aggregated(measure: AggregatedMeasure, hidden: Kind | None) -> str:
    grouped, tail = _grouped(measure.grouping), _tail(measure, hidden)
    chosen = statement(measure.filter) if measure.filter else ""
    match measure.function:
        case Aggregation.SHARE:
            among = f" among the cases in which {chosen}" if chosen else ""
            return f"the share of cases in which {statement(measure.base)}{among}{grouped}{tail}"
        case Aggregation.COUNT if measure.base == EVERY_CASE:
            among = f" in which {chosen}" if chosen else ""
            return f"the number of cases{among}{grouped}{tail}"
        case Aggregation.COUNT:
            said = f"the number of cases with a value of {case_phrase(measure.base)}"
        case _:
            said = f"the {_function(measure)} of {case_phrase(measure.base)}"
    filtered = f" filtered by {case_phrase(measure.filter)}" if measure.filter else ""
    return said + grouped + filtered + tail


def _function(measure: AggregatedMeasure) -> str:
    if measure.percent is not None:
        return f"{_ordinal(measure.percent)} percentile"
    return AGGREGATIONS[measure.function]


def _ordinal(number: int) -> str:
    """
    >>> [_ordinal(number) for number in (1, 12, 22, 93, 90)]
    ['1st', '12th', '22nd', '93rd', '90th']
    """
    teens = number // 10 == 1
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _grouped(grouping: Grouping | None) -> str:
    if grouping is None:
        return ""
    *others, last = map(quote_text, grouping.keys)
    keys = f"{', '.join(others)} and {last}" if others else last
    return f" grouped by {case_phrase(grouping.by)} into {keys}"


def _tail(measure: AggregatedMeasure, hidden: Kind | None) -> str:
    within = "" if measure.within is None else f", as part of {render(Name(measure.within))}"
    return _bounded(measure, hidden) + within


def counts_truth(measure: AggregatedMeasure) -> bool:
    """Whether a case contributes 0 or 1 by the nature of the measure."""
    counted = measure.function in (Aggregation.SHARE, Aggregation.COUNT)
    return counted or measure_kind(measure.base, None) is Kind.TRUTH


def _bounded(measure: AggregatedMeasure, hidden: Kind | None) -> str:
    usual = UNIT_INTERVAL if counts_truth(measure) else None
    if measure.bounds == usual and measure.bounding is Bounding.DECLARED:
        return ""
    if measure.bounds is None:
        declared = measure.bounding is Bounding.DECLARED
        fit = "any amount" if declared else f"within {measure.bounding} bounds"
        return f", each case counting {fit}"
    kind = measure_kind(measure.base, None) or hidden
    return f", each case counting {FITS[measure.bounding]}{bounds_words(measure.bounds, kind)}"


# --- scopes ---------------------------------------------------------------------------


def scope_words(scope: Scope) -> str:
    """The cases of a scope: "every month from 2014-01-01", "the last 100 cases"."""
    cases = f", only cases in which {statement(scope.cases)}" if scope.cases else ""
    anchor = scope.anchor
    placed = f", placed at {moment_words(anchor.moment, anchor.pick, Pick.LAST)}" if anchor else ""
    return _periods(scope) + cases + placed


def _periods(scope: Scope) -> str:
    recent = _last(scope.recent.count, str(scope.recent.unit)) if scope.recent else ""
    if scope.last_cases is not None:
        cut = _last(scope.last_cases, "case")
    elif scope.grid is not None:
        cut = str(scope.grid)
    elif recent:
        return recent
    else:
        return f"the whole time{_from(scope.start)}{_to(scope.until)}"
    until = f" until {scope.until}" if scope.until else ""
    return f"{cut}{_from(scope.start)}{until}" + (f" of {recent}" if recent else "")


def _last(count: int, unit: str) -> str:
    return f"the last {unit}" if count == 1 else f"the last {count} {unit}s"


def _from(day: date | None) -> str:
    return f" from {day}" if day else ""


def _to(until: date | None) -> str:
    """The last day that belongs to a time, which ends before the day `until`."""
    if until is None:
        return ""
    return f" until {until}" if until == date.min else f" to {until - timedelta(days=1)}"
