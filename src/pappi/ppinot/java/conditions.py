"""Conditions on events, as they are read.

An activity's state is entered at every event that says so; a state of data is entered where an
expression becomes true. Where Java has no word, these fields of ours stand in a
`TimeInstantCondition`:

    occurrence   every or onset, where the other one is meant
    among        only events that satisfy this are looked at
    lifecycle    any: at every event of the activity, whatever its transition
    element      process or activity, where the name in `appliesTo` could be either
"""

from __future__ import annotations

from pappi.ppinot.catalogue.document import MapNode
from pappi.ppinot.expressions.nodes import Expression, Truth
from pappi.ppinot.java.fields import Fields
from pappi.ppinot.java.states import (
    BPMN,
    COMPLEX,
    DATA,
    GENERIC,
    OF_DATA,
    both,
    is_activity,
    read_state,
)
from pappi.ppinot.model import (
    CaseBorder,
    EventCondition,
    Moment,
    Occurrence,
    Occurs,
    Order,
    Sequence,
    StateMeasure,
)
from pappi.ppinot.wording import did_you_mean, listed, quoted

INSTANT, PROPERTY, STATE = "TimeInstantCondition", "DataPropertyCondition", "StateCondition"
KINDS = (INSTANT, PROPERTY, STATE)

ORDERS = {
    "FOLLOWS": Order.FOLLOWS,
    "LEADSTO": Order.LEADS_TO,
    "LEADSTOCYCLIC": Order.LEADS_TO_CYCLICALLY,
}
_OCCURRENCES = {each.value: each for each in Occurrence}
_BORDERS = {"START": CaseBorder.START, "END": CaseBorder.END}
_STATES_OF_DATA = ("statesConsidered", "stateConsidered", "states")


def opened(fields: Fields, key: str, usual: str) -> tuple[str, Fields] | None:
    """The kind and the fields of a condition, written with `kind` or inside its name."""
    found = _unwrapped(fields, key, usual)
    if found is not None:
        # Java wants to be told a data object, and a log has none: this is what we write there.
        found[1].pass_over("appliesTo", OF_DATA)
    return found


def _unwrapped(fields: Fields, key: str, usual: str) -> tuple[str, Fields] | None:
    node = fields.get(key)
    inner = None if node is None else fields.opened(node, "a condition")
    if inner is None:
        return None
    match node:
        case MapNode(entries=((name, _),)) if name.text in KINDS:
            unwrapped = inner.object(name.text, "a condition")
            return None if unwrapped is None else (name.text, unwrapped)
    kind = inner.text("kind") or (PROPERTY if "restriction" in inner else usual)
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS, f"the kinds are {listed(KINDS, 'and')}")
        inner.refuse("kind", f"there is no condition of the kind {quoted(kind)}", hint)
        return None
    return kind, inner


def read_moment(fields: Fields, key: str, usual: str = INSTANT) -> Moment | None:
    """The instant or the events a condition is about; None with a problem, or if it is absent."""
    found = opened(fields, key, usual)
    if found is None:
        return None
    kind, condition = found
    match kind:
        case "TimeInstantCondition":
            return _instant(condition)
        case "DataPropertyCondition":
            expression = read_property(condition)
            return None if expression is None else Occurs(expression)
    message = "a state that lasts cannot be the condition of an event"
    condition.refuse("kind", message, f"write a {INSTANT}, for when it is entered")
    return None


def read_events(fields: Fields, key: str, usual: str = INSTANT) -> EventCondition | None:
    """As `read_moment`, where the start and the end of a case cannot stand."""
    moment = read_moment(fields, key, usual)
    if isinstance(moment, CaseBorder):
        message = "the start or the end of a case is no event that could be looked for here"
        fields.refuse(key, message, "name an activity")
        return None
    return moment


def read_property(condition: Fields) -> Expression | None:
    """What is true of an event with a property of its data."""
    for key in _STATES_OF_DATA:
        if condition.filled(key):
            message = "a log does not say in which state a data object is"
            condition.refuse(key, message, "say it of the attributes, in 'restriction'")
    condition.require("restriction", "a condition on data")
    return condition.expression("restriction")


def _instant(condition: Fields) -> Moment | None:
    condition.require("changesToState", "a time instant")
    state = condition.object("changesToState", "a state such as {'genericState': 'END'}")
    if state is None:
        return None
    if COMPLEX in state:
        return _sequence(condition, state)
    if DATA in state:
        return _of_data(condition, state)
    key = BPMN if BPMN in state else GENERIC
    state.require(key, "a state")
    of_element = _of_process if _is_process(condition) else _of_activity
    return of_element(condition, state, key)


def _is_process(condition: Fields) -> bool:
    elements = {"process": True, "activity": False}
    said = condition.word("element", elements, "'process' or 'activity'")
    named = condition.text("appliesTo") in condition.context.processes
    return named if said is None else said


def _of_process(condition: Fields, state: Fields, key: str) -> CaseBorder | None:
    if condition.filled("precondition"):
        message = "the start and the end of a case have no precondition"
        condition.refuse("precondition", message, "name an activity, or filter the cases")
    if key == GENERIC:
        return state.word(key, _BORDERS, "'START' or 'END'")
    state.refuse(key, "a log says only when a case starts and ends, not in which state it is")
    return None


def _of_activity(condition: Fields, state: Fields, key: str) -> Occurs | None:
    condition.require("appliesTo", "a condition on an activity")
    activity = is_activity(condition.text("appliesTo"), condition.place("appliesTo"))
    if condition.word("lifecycle", {"any": True}, "'any'"):
        state.get(key)  # for Java alone: here every event of the activity counts
    else:
        entered = read_state(state, key)
        if entered is None:
            return None
        activity = activity if isinstance(entered, Truth) else both(activity, entered)
    return _occurs(condition, activity, Occurrence.EVERY)


def _of_data(condition: Fields, state: Fields) -> Occurs | None:
    data = state.object(DATA, "a state such as {'name': 'amount > 100'}")
    if data is None:
        return None
    data.require("name", "a state of data")
    expression = data.expression("name")
    return None if expression is None else _occurs(condition, expression, Occurrence.ONSET)


def _occurs(condition: Fields, expression: Expression, usual: Occurrence) -> Occurs | None:
    said = condition.word("occurrence", _OCCURRENCES, "'every' or 'onset'")
    occurrence = usual if said is None else said
    found = opened(condition, "precondition", PROPERTY)
    if found is not None:
        restriction = read_property(found[1])
        if occurrence is Occurrence.ONSET:
            message = "a precondition cannot stand beside a state that data enters"
            hint = "whether the state was entered here or before would depend on both"
            condition.refuse("precondition", message, hint)
        if restriction is None:
            return None
        expression = both(expression, restriction)
    return Occurs(expression, occurrence, condition.expression("among"))


def _sequence(condition: Fields, state: Fields) -> Sequence | None:
    inner = state.object(COMPLEX, "two conditions and how they follow each other")
    if inner is None:
        return None
    if "precondition" in condition:
        hint = "put it into 'last'"
        condition.refuse("precondition", "a complex state has no precondition of its own", hint)
    for key in ("first", "last", "type"):
        inner.require(key, "a complex state")
    first, last = (_part(inner, key) for key in ("first", "last"))
    order = inner.word("type", ORDERS, "how one follows the other")
    if first is None or last is None or order is None:
        return None
    return Sequence(first, last, order)


def _part(inner: Fields, key: str) -> Occurs | None:
    part = read_events(inner, key)
    if isinstance(part, Sequence):
        inner.refuse(key, "a complex state cannot be part of another one")
        return None
    return part


def read_state_measure(fields: Fields) -> StateMeasure | None:
    """Whether an element is in a state at last: the condition of a measure of its own."""
    fields.require("condition", "a state condition measure")
    found = opened(fields, "condition", STATE)
    if found is None:
        return None
    condition = found[1]
    condition.require("state", "a state condition")
    state = condition.object("state", "a state such as {'genericState': 'END'}")
    if state is None:
        return None
    if DATA in state:
        return _state_of_data(condition, state)
    key = BPMN if BPMN in state else GENERIC
    state.require(key, "a state")
    return _state_of_activity(condition, state, key)


def _state_of_data(condition: Fields, state: Fields) -> StateMeasure | None:
    data = state.object(DATA)
    if data is None:
        return None
    data.require("name", "a state of data")
    holds = data.expression("name")
    return None if holds is None else StateMeasure(holds, condition.expression("of"))


def _state_of_activity(condition: Fields, state: Fields, key: str) -> StateMeasure | None:
    condition.require("appliesTo", "a state condition")
    name = condition.text("appliesTo")
    if name in condition.context.processes:
        message = "a log does not say whether a case has ended"
        condition.refuse("appliesTo", message, "name an activity that ends it")
        return None
    holds = read_state(state, key)
    of = is_activity(name, condition.place("appliesTo"))
    return None if holds is None else StateMeasure(holds, of)
