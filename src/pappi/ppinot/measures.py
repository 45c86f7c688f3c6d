"""What can be said of a measure without looking at any data.

The kind of its value, and whether it can be missing for a case.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pappi.ppinot.expressions.kinds import kind_of
from pappi.ppinot.expressions.nodes import (
    Apply,
    Binary,
    Choose,
    Expression,
    IsMissing,
    Name,
    Negate,
    Not,
    OneOf,
    Operator,
    Truth,
)
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Measure,
    Missing,
    StateMeasure,
    TimeMeasure,
)
from pappi.values.vocabulary import Kind, Vocabulary

EVENT_NAMES: Mapping[str, Kind] = {"activity": Kind.TEXT, "timestamp": Kind.TIME}
"""What every event has, whatever the log declares."""

_LOSSY = (Operator.MULTIPLY, Operator.DIVIDE, Operator.REMAINDER)


def attribute_kind(attribute: str, vocabulary: Vocabulary | None) -> Kind | None:
    """The kind of an event attribute; None if it is unknown or not declared."""
    if attribute in EVENT_NAMES:
        return EVENT_NAMES[attribute]
    return vocabulary.attributes.get(attribute) if vocabulary else None


def measure_kind(measure: Measure, vocabulary: Vocabulary | None) -> Kind | None:
    """The kind of a measure's value; None if it depends on attributes not declared."""
    match measure:
        case CountMeasure():
            return Kind.NUMBER
        case TimeMeasure():
            return Kind.DURATION
        case ConditionMeasure() | StateMeasure():
            return Kind.TRUTH
        case DataMeasure():
            return attribute_kind(measure.attribute, vocabulary)
        case AggregatedMeasure() if measure.function is Aggregation.COUNT:
            return Kind.NUMBER
        case AggregatedMeasure():
            kind = measure_kind(measure.base, vocabulary)
            return Kind.NUMBER if kind is Kind.TRUTH else kind
        case DerivedSingleInstance() | DerivedMultiInstance():
            return kind_of(measure.formula, variable_kinds(measure, vocabulary))[0]


def variable_kinds(
    measure: DerivedSingleInstance | DerivedMultiInstance, vocabulary: Vocabulary | None
) -> dict[str, Kind | None]:
    return {name: measure_kind(variable, vocabulary) for name, variable in measure.variables}


def all_present(measure: DerivedSingleInstance) -> Expression:
    """Whether every variable of a formula has a value."""
    present: list[Expression] = [Not(IsMissing(Name(name))) for name, _ in measure.variables]
    if not present:
        return Truth(value=True)
    return reduce(lambda left, right: Binary(Operator.AND, left, right), present)


def is_total(measure: Measure) -> bool:
    """Whether a measure surely has a value, for every case or in every period.

    A time has none in a case without the events (and an event may lack its
    timestamp), an aggregate none over no cases.
    """
    match measure:
        case CountMeasure() | ConditionMeasure() | StateMeasure():
            return True
        case DerivedSingleInstance(missing=Missing.TRUE | Missing.FALSE):
            return True
        case DerivedSingleInstance(missing=Missing.LEFT_OUT):
            present = {name: True for name, _ in measure.variables}
            every = all(is_total(variable) for _, variable in measure.variables)
            return every and _is_total(measure.formula, present)
        case DerivedSingleInstance() | DerivedMultiInstance():
            total = {name: is_total(variable) for name, variable in measure.variables}
            return _is_total(measure.formula, total)
        case _:
            return False


def _is_total(expression: Expression, names: Mapping[str, bool]) -> bool:
    match expression:
        case Name():
            return names.get(expression.name, False)
        case Not() | OneOf() | IsMissing():
            return True
        case Negate():
            return _is_total(expression.operand, names)
        case Binary() if expression.operator in _LOSSY:
            # A product can overflow, a quotient can be by zero: both are missing then.
            return False
        case Binary() if expression.operator in (Operator.ADD, Operator.SUBTRACT):
            return _is_total(expression.left, names) and _is_total(expression.right, names)
        case Choose():
            # A missing condition counts as false, so only the two sides matter.
            return _is_total(expression.then, names) and _is_total(expression.otherwise, names)
        case Apply():
            return all(_is_total(argument, names) for argument in expression.arguments)
        case _:
            return True
