"""Conditions on events, as they are written: in Java's words where it has them."""

from __future__ import annotations

from pappi.ppinot.expressions.nodes import Binary, Expression, Operator
from pappi.ppinot.java.conditions import INSTANT, ORDERS, PROPERTY, STATE
from pappi.ppinot.java.mvel import expression_text
from pappi.ppinot.java.states import COMPLEX, DATA, GENERIC, OF_DATA, activity_in, state_in
from pappi.ppinot.model import (
    CaseBorder,
    ConditionMeasure,
    EventCondition,
    Moment,
    Occurrence,
    Occurs,
    Sequence,
    StateMeasure,
)

Json = dict[str, object]

_BORDERS = {CaseBorder.START: "START", CaseBorder.END: "END"}
_ORDERS = {order: word for word, order in ORDERS.items()}


def moment_json(moment: Moment, process: str) -> Json:
    """An instant of a time measure; `process` is what the process is called, if anything."""
    if not isinstance(moment, CaseBorder):
        return events_json(moment, process)
    element: Json = {} if process else {"element": "process"}
    state = {GENERIC: _BORDERS[moment]}
    return _instant(process or "Process", state) | element


def events_json(condition: EventCondition, process: str) -> Json:
    if isinstance(condition, Sequence):
        return _sequence(condition, process)
    found = _of_activity(condition, process) or _of_data(condition)
    among: Json = {}
    if condition.among is not None:
        among = {"among": expression_text(condition.among)}
    return found | among


def wrapped(condition: EventCondition, process: str) -> Json:
    """A condition inside its name, which is how Java writes the precondition of a data measure."""
    expression = _property_of(condition, process)
    if expression is not None:
        return {PROPERTY: _property(expression)}
    inner = events_json(condition, process)
    return {INSTANT: {key: value for key, value in inner.items() if key != "kind"}}


def condition_measure_json(measure: ConditionMeasure, process: str) -> Json:
    expression = _property_of(measure.when, process)
    if expression is not None:
        return {"kind": "DataPropertyConditionMeasure", "condition": property_json(expression)}
    return {"kind": "ConditionMeasure", "condition": events_json(measure.when, process)}


def state_measure_json(measure: StateMeasure) -> Json:
    of = None if measure.of is None else activity_in(measure.of)
    state = state_in(measure.holds)
    condition: Json
    if of is not None and state is not None:
        condition = {"kind": STATE, "appliesTo": of, "state": state}
    else:
        written = {DATA: {"name": expression_text(measure.holds)}}
        condition = {"kind": STATE, "appliesTo": OF_DATA, "state": written}
        condition |= {} if measure.of is None else {"of": expression_text(measure.of)}
    return {"kind": "StateConditionMeasure", "condition": condition}


def _property_of(condition: EventCondition, process: str) -> Expression | None:
    """What every event has to satisfy, if that is all a condition says and of no activity."""
    match condition:
        case Occurs(expression, Occurrence.EVERY, None):
            return expression if _of_activity(condition, process) is None else None
    return None


def property_json(expression: Expression) -> Json:
    return {"kind": PROPERTY, **_property(expression)}


def _property(expression: Expression) -> Json:
    return {"appliesTo": OF_DATA, "restriction": expression_text(expression)}


def _instant(applies_to: str, state: object) -> Json:
    return {"kind": INSTANT, "appliesTo": applies_to, "changesToState": state}


def _sequence(sequence: Sequence, process: str) -> Json:
    state = {
        "first": events_json(sequence.first, process),
        "last": events_json(sequence.then, process),
        "type": _ORDERS[sequence.order],
    }
    return _instant(OF_DATA, {COMPLEX: state})


def _of_activity(occurs: Occurs, process: str) -> Json | None:
    """An activity, its state and a precondition, if the condition is made of these."""
    if occurs.occurrence is not Occurrence.EVERY:
        return None
    found = _entered(occurs.condition, process)
    if found is not None:
        return found
    match occurs.condition:
        case Binary(Operator.AND, left, right):
            found = _entered(left, process)
            if found is not None:
                return found | {"precondition": property_json(right)}
    return None


def _entered(expression: Expression, process: str) -> Json | None:
    """An activity at all its events, or at those by which it enters a state."""
    activity, state = activity_in(expression), None
    match expression:
        case Binary(Operator.AND, left, right):
            activity, state = activity_in(left), state_in(right)
            if state is None:
                return None
    if activity is None:
        return None
    found = _instant(activity, state or {GENERIC: "END"})
    found |= {} if state else {"lifecycle": "any"}
    return found | ({"element": "activity"} if activity == process else {})


def _of_data(occurs: Occurs) -> Json:
    found = _instant(OF_DATA, {DATA: {"name": expression_text(occurs.condition)}})
    every = occurs.occurrence is Occurrence.EVERY
    return found | ({"occurrence": Occurrence.EVERY.value} if every else {})
