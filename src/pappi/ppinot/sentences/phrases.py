"""Measures of one case in words, after the linguistic patterns of PPINOT.

The wording is that of ppinot4py's `str()` where it has one. Two forms of each
truth value: a phrase can stand for the value ("whether activity "A" occurs"), a
statement can stand behind "in which" ("activity "A" occurs").
"""

from __future__ import annotations

import re

from pappi.ppinot.expressions.lexer import KEYWORDS
from pappi.ppinot.expressions.nodes import (
    Binary,
    Duration,
    Expression,
    Instant,
    Name,
    Number,
    Operator,
    Text,
)
from pappi.ppinot.expressions.render import quote_text, render
from pappi.ppinot.model import (
    CaseBorder,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedSingleInstance,
    EventCondition,
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
)
from pappi.ppinot.sentences.naming import activity_of, attribute_words
from pappi.ppinot.sentences.spans import spoken

CYCLES = {
    Cycles.SUM: "sum",
    Cycles.MEAN: "average",
    Cycles.MIN: "minimum",
    Cycles.MAX: "maximum",
    Cycles.MEDIAN: "median",
}
COMPARISONS = {
    Operator.LESS: "is less than",
    Operator.AT_MOST: "is at most",
    Operator.GREATER: "is more than",
    Operator.AT_LEAST: "is at least",
    Operator.EQUAL: "is",
    Operator.UNEQUAL: "is not",
}
MISSING = {
    Missing.TRUE: "(true if a value is missing)",
    Missing.FALSE: "(false if a value is missing)",
    Missing.LEFT_OUT: "(left out if a value is missing)",
}
STAYS_OPEN = "(no value if a pair stays open)"
_BORDERS = {CaseBorder.START: "the start of the case", CaseBorder.END: "the end of the case"}
_BORDER_EVENTS = {CaseBorder.START: "the case starts", CaseBorder.END: "the case ends"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN = KEYWORDS | {"null", "none", "nil", "nan", "na", "derive", "value", "missing"}

# --- conditions on events -------------------------------------------------------------


def condition_words(when: EventCondition) -> str:
    """
    >>> from pappi.ppinot.expressions.parser import parse_expression
    >>> condition_words(Occurs(parse_expression('activity == "Pay"'), Occurrence.ONSET))
    'activity "Pay" begins to occur'
    """
    if isinstance(when, Occurs):
        return _occurs_words(when)
    first, then = _occurs_words(when.first), _occurs_words(when.then)
    match when.order:
        case Order.FOLLOWS:
            return f"{then} immediately follows {first}"
        case Order.LEADS_TO:
            return f"{first} leads to {then}"
        case Order.LEADS_TO_CYCLICALLY:
            return f"{first} leads to {then} (one match per {first})"


def _occurs_words(occurs: Occurs) -> str:
    activity = activity_of(occurs.condition)
    onset = occurs.occurrence is Occurrence.ONSET
    if activity is not None:
        said = f"activity {quote_text(activity)} {'begins to occur' if onset else 'occurs'}"
    else:
        said = spoken(occurs.condition) + (" begins to hold" if onset else "")
    among = "" if occurs.among is None else f" (among the events where {spoken(occurs.among)})"
    return said + among


def moment_words(moment: Moment, pick: Pick, usual: Pick) -> str:
    """One instant of a case; a border of the case is one whichever is picked."""
    if isinstance(moment, CaseBorder):
        if pick is usual:
            return _BORDERS[moment]
        return f"the {pick} time instant when {_BORDER_EVENTS[moment]}"
    return f"the {pick} time instant when {condition_words(moment)}"


def _each_moment(moment: Moment) -> str:
    return _BORDER_EVENTS[moment] if isinstance(moment, CaseBorder) else condition_words(moment)


# --- measures as phrases --------------------------------------------------------------


def case_phrase(measure: SingleInstance) -> str:
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
            return f"whether {statement(measure)}"
        case DerivedSingleInstance():
            return _derived_phrase(measure)


def _duration(measure: TimeMeasure) -> str:
    calendar = measure.calendar
    worked = "" if calendar is None else f" in working time {quote_text(str(calendar))}"
    running = "" if measure.running is None else f" while {spoken(measure.running)}"
    stays_open = f" {STAYS_OPEN}" if measure.open_cycle is OpenCycle.NO_VALUE else ""
    if measure.cycles is None:
        start = moment_words(measure.start, measure.start_pick, Pick.FIRST)
        end = moment_words(measure.end, measure.end_pick, Pick.LAST)
        return f"the duration{worked}{running} between {start} and {end}{stays_open}"
    # Which instants are picked means nothing for pairs, but is part of the measure.
    first = "" if measure.start_pick is Pick.FIRST else "last "
    last = "" if measure.end_pick is Pick.LAST else "first "
    return (
        f"the {CYCLES[measure.cycles]} duration{worked}{running} between the pairs of "
        f"{first}time instants when {_each_moment(measure.start)} "
        f"and {last}when {_each_moment(measure.end)}{stays_open}"
    )


def _derived_phrase(measure: DerivedSingleInstance) -> str:
    short = _comparison(measure)
    return f"whether {short}" if short else f"the function {formula_words(measure)}"


def formula_words(measure: DerivedSingleInstance) -> str:
    missing = "" if measure.missing is None else f" {MISSING[measure.missing]}"
    names = [(name, case_phrase(each), has_list(each)) for name, each in measure.variables]
    return spoken(measure.formula) + missing + variable_words(names)


def variable_words(variables: list[tuple[str, str, bool]]) -> str:
    """What each name stands for; in parentheses where its own commas would mislead."""
    said = (f"({words})" if is_open else words for _, words, is_open in variables)
    names = (render(Name(name)) for name, _, _ in variables)
    listed = ", ".join(f"{name} is {words}" for name, words in zip(names, said, strict=True))
    return f" where {listed}" if listed else ""


def has_list(measure: SingleInstance) -> bool:
    """Whether the words for a measure hold a list of variables that nothing closes."""
    if not isinstance(measure, DerivedSingleInstance):
        return False
    return bool(measure.variables) and not _comparison(measure)


# --- truth values as statements -------------------------------------------------------


def statement(measure: SingleInstance) -> str:
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
            return _comparison(measure) or formula_words(measure)
        case _:
            return f"{case_phrase(measure)} is true"


def _comparison(measure: DerivedSingleInstance) -> str:
    """The short form of a formula that compares one measure with a fixed value, or nothing."""
    match measure.formula, measure.variables:
        case Binary(left=Name() as name) as formula, ((variable, about),) if (
            formula.operator in COMPARISONS
            and name.name == variable == variable_name(about)
            and _is_short(formula.right)
        ):
            missing = "" if measure.missing is None else f" {MISSING[measure.missing]}"
            verb = COMPARISONS[formula.operator]
            return f"{case_phrase(about)} {verb} {render(formula.right)}{missing}"
        case _:
            return ""


def _is_short(value: Expression) -> bool:
    """Whether a value is written in one piece; a third is not."""
    if isinstance(value, Number | Duration):
        return "/" not in render(value)
    return isinstance(value, Text | Instant)


def variable_name(measure: SingleInstance) -> str | None:
    """What a comparison calls the one measure that it is about."""
    match measure:
        case TimeMeasure():
            return "duration"
        case CountMeasure():
            return "times"
        case DataMeasure():
            name = measure.attribute
            return name if _VARIABLE.fullmatch(name) and name.lower() not in _TAKEN else "data"
        case _:
            return None
