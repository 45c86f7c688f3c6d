"""Measures, scopes and whole PPIs in words, after the linguistic patterns of PPINOT.

The wording is that of ppinot4py's `str()` where it has one. Two forms of each
truth value: a phrase can stand for the value ("whether activity "A" occurs"), a
statement can stand behind "in which" ("activity "A" occurs").
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from pappi.ppinot.expressions.nodes import (
    Binary,
    DurationLiteral,
    Expression,
    InstantLiteral,
    Name,
    NumberLiteral,
    Operator,
    TextLiteral,
)
from pappi.ppinot.expressions.parser import KEYWORDS
from pappi.ppinot.expressions.render import quote_text, render
from pappi.ppinot.model import (
    EVERY_CASE,
    AggregatedMeasure,
    Aggregation,
    Bounding,
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    EventCondition,
    Grouping,
    Measure,
    Missing,
    Moment,
    MultiInstance,
    Occurrence,
    Occurs,
    OpenCycle,
    Order,
    Pick,
    Ppi,
    Scope,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
    measure_kind,
)
from pappi.ppinot.notations.building import activity_of, usual_bounds
from pappi.ppinot.notations.sentences.events import attribute_words
from pappi.ppinot.notations.sentences.expressions import spoken
from pappi.values import DURATIONS, Bounds, CaseBorder, Kind

MISSING = {
    Missing.TRUE: "(true if a value is missing)",
    Missing.FALSE: "(false if a value is missing)",
    Missing.LEFT_OUT: "(left out if a value is missing)",
}
# Of the values of cases, and of the cycles of one.
_FUNCTIONS = {
    "min": "minimum",
    "max": "maximum",
    "mean": "average",
    "sum": "sum",
    "median": "median",
}
_FITS = {
    Bounding.DECLARED: "",
    Bounding.LOOSE: "loosely ",
    Bounding.PRIVATE: "privately ",
}
_COMPARISONS = {
    Operator.LESS: "is less than",
    Operator.AT_MOST: "is at most",
    Operator.GREATER: "is more than",
    Operator.AT_LEAST: "is at least",
    Operator.EQUAL: "is",
    Operator.UNEQUAL: "is not",
}
_BORDERS = {CaseBorder.START: "the start of the case", CaseBorder.END: "the end of the case"}
_BORDER_EVENTS = {CaseBorder.START: "the case starts", CaseBorder.END: "the case ends"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN = KEYWORDS | {"null", "none", "nil", "nan", "na", "derive", "value", "missing"}


def sentence(ppi: Ppi) -> str:
    """What a PPI says: "the average of the duration between …, for every month"."""
    return f"{definition(ppi)}, for {scope_words(ppi.scope)}"


def definition(ppi: Ppi) -> str:
    """The measure of a PPI; its unit tells the kind of attributes that are not declared."""
    in_time = DURATIONS.get(ppi.unit.name) == ppi.unit.factor and ppi.unit.name != "microseconds"
    return _of_many(ppi.measure, Kind.DURATION if in_time else None)


def phrase(measure: Measure) -> str:
    """A measure of any kind, as part of a sentence."""
    if isinstance(measure, AggregatedMeasure | DerivedMultiInstance):
        return _of_many(measure, None)
    return _of_case(measure)


# --- scopes ---------------------------------------------------------------------------


def scope_words(scope: Scope) -> str:
    """The cases of a scope: "every month from 2014-01-01", "the last 100 cases"."""
    cases = f", only cases in which {_statement(scope.cases)}" if scope.cases else ""
    anchor = scope.anchor
    placed = f", placed at {_instant(anchor.moment, anchor.pick, Pick.LAST)}" if anchor else ""
    return _periods(scope) + cases + placed


def _periods(scope: Scope) -> str:
    recent = _last(scope.recent.count, str(scope.recent.unit)) if scope.recent else ""
    start = f" from {scope.start}" if scope.start else ""
    until = f" until {scope.until}" if scope.until else ""
    if scope.last_cases is not None:
        cut = _last(scope.last_cases, "case")
    elif scope.grid is not None:
        cut = str(scope.grid)
    elif recent:
        return recent
    else:
        if scope.until and scope.until != date.min:
            until = f" to {scope.until - timedelta(days=1)}"
        return f"the whole time{start}{until}"
    return f"{cut}{start}{until}" + (f" of {recent}" if recent else "")


def _last(count: int, unit: str) -> str:
    return f"the last {unit}" if count == 1 else f"the last {count} {unit}s"


# --- measures of many cases -----------------------------------------------------------


def _of_many(measure: MultiInstance, hidden: Kind | None) -> str:
    """`hidden` is the kind of values whose kind the measure itself does not tell."""
    if isinstance(measure, AggregatedMeasure):
        return _aggregated(measure, hidden)
    variables = [
        (name, _of_many(inner, hidden), _has_commas(inner, hidden))
        for name, inner in measure.variables
    ]
    return f"the function {spoken(measure.formula)}{_where(variables)}"


def _has_commas(measure: MultiInstance, hidden: Kind | None) -> bool:
    """Whether the words for a measure hold a list of variables, or say more behind a comma."""
    if isinstance(measure, DerivedMultiInstance):
        return bool(measure.variables)
    parts = (measure.base, measure.filter) if measure.filter else (measure.base,)
    return any(map(_has_list, parts)) or bool(_behind_comma(measure, hidden))


def _aggregated(measure: AggregatedMeasure, hidden: Kind | None) -> str:
    modifiers = _grouped(measure.grouping)
    chosen = _statement(measure.filter) if measure.filter else ""
    match measure.function:
        case Aggregation.SHARE:
            among = f" among the cases in which {chosen}" if chosen else ""
            said = f"the share of cases in which {_statement(measure.base)}{among}"
        case Aggregation.COUNT if measure.base == EVERY_CASE:
            said = "the number of cases" + (f" in which {chosen}" if chosen else "")
        case function:
            head = f"{_FUNCTIONS.get(function.value)} of"
            if function is Aggregation.COUNT:
                head = "number of cases with a value of"
            if measure.percent is not None:
                head = f"{_ordinal(measure.percent)} percentile of"
            said = f"the {head} {_of_case(measure.base)}"
            modifiers += f" filtered by {_of_case(measure.filter)}" if measure.filter else ""
    return said + modifiers + _behind_comma(measure, hidden)


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
    return f" grouped by {_of_case(grouping.by)} into {keys}"


def _behind_comma(measure: AggregatedMeasure, hidden: Kind | None) -> str:
    """Bounds, and of what a sum is a part."""
    within = "" if measure.within is None else f", as part of {render(Name(measure.within))}"
    is_declared = measure.bounding is Bounding.DECLARED
    if is_declared and measure.bounds == usual_bounds(measure.function, measure.base):
        return within
    if measure.bounds is None:
        counting = "any amount" if is_declared else f"within {measure.bounding} bounds"
    else:
        kind = measure_kind(measure.base, None) or hidden
        counting = _FITS[measure.bounding] + _bounds(measure.bounds, kind)
    return f", each case counting {counting}{within}"


def _bounds(bounds: Bounds, kind: Kind | None) -> str:
    """
    >>> from fractions import Fraction
    >>> _bounds(Bounds(Fraction(0), Fraction(5 * DURATIONS["days"])), Kind.DURATION)
    'at least 0 days and at most 5 days'
    """
    if kind is not Kind.DURATION:
        low, high = render(NumberLiteral(bounds.low)), render(NumberLiteral(bounds.high))
        return f"at least {low} and at most {high}"
    low, high = render(DurationLiteral(bounds.low)), render(DurationLiteral(bounds.high))
    if bounds.low == 0 and "/" not in high:
        low = f"0 {high.split()[-1].removesuffix('s')}s"
    return f"at least {low} and at most {high}"


# --- measures of one case -------------------------------------------------------------


def _of_case(measure: SingleInstance) -> str:
    """A measure of one case as a noun phrase."""
    match measure:
        case CountMeasure():
            return f"the number of times {condition_words(measure.when)}"
        case TimeMeasure():
            return _duration(measure)
        case DataMeasure():
            when = f" when {condition_words(measure.when)}" if measure.when else ""
            return f"the {measure.pick} value of {attribute_words(measure.attribute)}{when}"
        case ConditionMeasure() | StateMeasure():
            return f"whether {_statement(measure)}"
        case DerivedSingleInstance():
            short = _comparison(measure)
            return f"whether {short}" if short else f"the function {_formula(measure)}"


def _duration(measure: TimeMeasure) -> str:
    calendar = measure.calendar
    worked = "" if calendar is None else f" in working time {quote_text(str(calendar))}"
    running = "" if measure.running is None else f" while {spoken(measure.running)}"
    is_open = measure.open_cycle is OpenCycle.NO_VALUE
    stays_open = " (no value if a pair stays open)" if is_open else ""
    if measure.cycles is None:
        start = _instant(measure.start, measure.start_pick, Pick.FIRST)
        end = _instant(measure.end, measure.end_pick, Pick.LAST)
        return f"the duration{worked}{running} between {start} and {end}{stays_open}"
    # Which instants are picked means nothing for pairs, but is part of the measure.
    first = "" if measure.start_pick is Pick.FIRST else "last "
    last = "" if measure.end_pick is Pick.LAST else "first "
    return (
        f"the {_FUNCTIONS[measure.cycles.value]} duration{worked}{running} between the pairs of "
        f"{first}time instants when {_when(measure.start)} "
        f"and {last}when {_when(measure.end)}{stays_open}"
    )


def _formula(measure: DerivedSingleInstance) -> str:
    missing = "" if measure.missing is None else f" {MISSING[measure.missing]}"
    variables = [(name, _of_case(inner), _has_list(inner)) for name, inner in measure.variables]
    return spoken(measure.formula) + missing + _where(variables)


def _where(variables: list[tuple[str, str, bool]]) -> str:
    """What each name stands for; in parentheses where its own commas would mislead."""
    said = [
        f"{render(Name(name))} is {f'({words})' if has_commas else words}"
        for name, words, has_commas in variables
    ]
    return f" where {', '.join(said)}" if said else ""


def _has_list(measure: SingleInstance) -> bool:
    """Whether the words for a measure hold a list of variables that nothing closes."""
    if not isinstance(measure, DerivedSingleInstance):
        return False
    return bool(measure.variables) and not _comparison(measure)


def _statement(measure: SingleInstance) -> str:
    """What is so in a case in which the measure is true."""
    match measure:
        case ConditionMeasure():
            said = condition_words(measure.when)
            return said if said.startswith('activity "') else f"at some time {said}"
        case StateMeasure(of=None):
            return f"at the last event of the case {spoken(measure.holds)}"
        case StateMeasure(of=of) if of is not None:
            return f"at the last event where {spoken(of)}, {spoken(measure.holds)}"
        case DerivedSingleInstance():
            return _comparison(measure) or _formula(measure)
        case _:
            return f"{_of_case(measure)} is true"


def _comparison(measure: DerivedSingleInstance) -> str:
    """The short form of a formula that compares one measure with a fixed value, or nothing."""
    match measure.formula, measure.variables:
        case Binary(left=Name() as name) as formula, ((variable, about),) if (
            formula.operator in _COMPARISONS
            and name.name == variable == variable_name(about)
            and _is_short(formula.right)
        ):
            missing = "" if measure.missing is None else f" {MISSING[measure.missing]}"
            verb = _COMPARISONS[formula.operator]
            return f"{_of_case(about)} {verb} {render(formula.right)}{missing}"
        case _:
            return ""


def _is_short(value: Expression) -> bool:
    """Whether a value is written in one piece; a third is not."""
    if isinstance(value, NumberLiteral | DurationLiteral):
        return "/" not in render(value)
    return isinstance(value, TextLiteral | InstantLiteral)


def variable_name(measure: SingleInstance) -> str | None:
    """What a comparison calls the one measure that it is about."""
    match measure:
        case TimeMeasure():
            return "duration"
        case CountMeasure():
            return "times"
        case DataMeasure(attribute=name):
            return name if _VARIABLE.fullmatch(name) and name.lower() not in _TAKEN else "data"
        case _:
            return None


# --- conditions on events -------------------------------------------------------------


def condition_words(when: EventCondition) -> str:
    """
    >>> from pappi.ppinot.expressions.parser import parse_expression
    >>> condition_words(Occurs(parse_expression('activity == "Pay"'), Occurrence.ONSET))
    'activity "Pay" begins to occur'
    """
    if isinstance(when, Occurs):
        return _occurs(when)
    first, then = _occurs(when.first), _occurs(when.then)
    match when.order:
        case Order.FOLLOWS:
            return f"{then} immediately follows {first}"
        case Order.LEADS_TO:
            return f"{first} leads to {then}"
        case Order.LEADS_TO_CYCLICALLY:
            return f"{first} leads to {then} (one match per {first})"


def _occurs(occurs: Occurs) -> str:
    activity = activity_of(occurs.condition)
    onset = occurs.occurrence is Occurrence.ONSET
    if activity is not None:
        said = f"activity {quote_text(activity)} {'begins to occur' if onset else 'occurs'}"
    else:
        said = spoken(occurs.condition) + (" begins to hold" if onset else "")
    among = "" if occurs.among is None else f" (among the events where {spoken(occurs.among)})"
    return said + among


def _instant(moment: Moment, pick: Pick, usual: Pick) -> str:
    """One instant of a case; a border of the case is one whichever is picked."""
    if isinstance(moment, CaseBorder) and pick is usual:
        return _BORDERS[moment]
    return f"the {pick} time instant when {_when(moment)}"


def _when(moment: Moment) -> str:
    return _BORDER_EVENTS[moment] if isinstance(moment, CaseBorder) else condition_words(moment)
