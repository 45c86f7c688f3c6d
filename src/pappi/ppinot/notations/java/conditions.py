"""Conditions on events, read and written: in Java's words where it has them.

An activity's state is entered at every event that says so; a state of data is entered where an
expression becomes true. Where Java has no word, these fields of ours stand in a
`TimeInstantCondition`:

    occurrence   every or onset, where the other one is meant
    among        only events that satisfy this are looked at
    lifecycle    any: at every event of the activity, whatever its transition
    element      process or activity, where the name in `appliesTo` could be either
"""

from __future__ import annotations

from pappi.errors import Position, UsageError
from pappi.ppinot.expressions import (
    NOWHERE,
    TRANSITION_ATTRIBUTE,
    Binary,
    Expression,
    Operator,
    TruthLiteral,
    activity_of,
    both,
    height,
    is_activity,
    is_transition,
)
from pappi.ppinot.grammar import MAX_DEPTH, SIGNS, render
from pappi.ppinot.model import (
    ConditionMeasure,
    EventCondition,
    EventSequence,
    Moment,
    Occurrence,
    Occurs,
    Order,
    StateMeasure,
)
from pappi.ppinot.notations.document import MapNode
from pappi.ppinot.notations.java.fields import Fields
from pappi.ppinot.notations.shapes import Json
from pappi.values import CaseBorder, did_you_mean, listed, quoted

# --- states ---------------------------------------------------------------------------
# States of activities, and the life-cycle transitions in a log that lead to them.
#
#     state                     Java's log types       here, as XES writes transitions
#     START                     ready, assign          ready, assign, start
#     END                       complete               complete
#     ACTIVE, EXECUTING         assign                 assign, start
#     COMPLETED                 complete               complete
#     WITHDRAWN, FAILED,        complete               refused: a completion is none of these
#     DELETED, COMPENSATED
#     all other BPMN states     none                   refused: Java never reaches them
#
# Java stops at an event of the type `start`, so that counting it changes no value that Java
# gives. Logs write transitions in small letters, in capitals or with one capital.

GENERIC, BPMN = "genericState", "bpmnState"
DATA, COMPLEX = "dataObjectState", "complexState"
OF_DATA = "Data"

_STARTED, _DONE = ("assign", "start"), ("complete",)
_TRANSITIONS: dict[str, tuple[str, ...]] = {
    "START": ("ready", *_STARTED),
    "END": _DONE,
    "ACTIVE": _STARTED,
    "EXECUTING": _STARTED,
    "COMPLETED": _DONE,
}
_GENERIC = ("START", "END")
_COMPLETIONS = ("WITHDRAWN", "FAILED", "DELETED", "COMPENSATED")
_UNREACHED = ("READY", "COMPLETING", "FAILING", "TERMINATING", "TERMINATED", "COMPENSATING")
STATES = (*_TRANSITIONS, *_COMPLETIONS, *_UNREACHED)

_SAY_IT = (
    f'say it of the event itself: "dataObjectState": {{"name": "`{TRANSITION_ATTRIBUTE}` == …"}}'
)


def in_state(state: str, position: Position = NOWHERE) -> Expression:
    """What is true of an event by which an activity enters the state."""
    return is_transition(*_TRANSITIONS[state], position=position)


def read_state(fields: Fields, key: str) -> Expression | None:
    """What is true of an event that enters the generic or BPMN state of a wrapper object."""
    node = fields.scalar(key, "a state")
    if node is None:
        return None
    word, state = node.text.upper(), quoted(node.text)
    if word in _TRANSITIONS and fields.context.lifecycle:
        return in_state(word, node.position)
    if _TRANSITIONS.get(word) == _DONE:
        return TruthLiteral(value=True, position=node.position)
    if word in _TRANSITIONS:
        message = f"a log without a life cycle has no event for the state {state}"
        hint = f"events are completions there; {_SAY_IT}"
    elif word in _COMPLETIONS:
        message = f"Java PPINOT takes any completion for the state {state}"
        hint = f"write COMPLETED for that; or {_SAY_IT}"
    elif word in _UNREACHED:
        message, hint = f"Java PPINOT knows no event that enters the state {state}", _SAY_IT
    else:
        message, known = f"there is no state {state}", listed(_TRANSITIONS, "and")
        hint = did_you_mean(node.text, STATES, f"the states are {known}")
    fields.refuse(key, message, hint)
    return None


def state_in(expression: Expression) -> dict[str, str] | None:
    """The state of a test for its transitions, as a wrapper object."""
    for state in _TRANSITIONS:
        if expression == in_state(state):
            return {GENERIC if state in _GENERIC else BPMN: state}
    return None


INSTANT, PROPERTY, STATE = "TimeInstantCondition", "DataPropertyCondition", "StateCondition"
KINDS = (INSTANT, PROPERTY, STATE)

ORDERS = {
    "FOLLOWS": Order.FOLLOWS,
    "LEADSTO": Order.LEADS_TO,
    "LEADSTOCYCLIC": Order.LEADS_TO_CYCLICALLY,
}
_OCCURRENCES = {occurrence.value: occurrence for occurrence in Occurrence}
_BORDERS = {"START": CaseBorder.START, "END": CaseBorder.END}
_STATES_OF_DATA = ("statesConsidered", "stateConsidered", "states")


def opened(fields: Fields, key: str, usual: str) -> tuple[str, Fields] | None:
    """The kind and the fields of a condition, written with `kind` or inside its name."""
    condition = fields.object(key, "a condition")
    if condition is None:
        return None
    match fields.get(key):
        case MapNode(entries=((name, _),)) if name.text in KINDS:
            kind, condition = name.text, condition.object(name.text, "a condition")
            if condition is None:
                return None
        case _:
            kind = condition.text("kind") or (PROPERTY if "restriction" in condition else usual)
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS, f"the kinds are {listed(KINDS, 'and')}")
        condition.refuse("kind", f"there is no condition of the kind {quoted(kind)}", hint)
        return None
    # Java wants to be told a data object, and a log has none: this is what we write there.
    condition.pass_over("appliesTo", OF_DATA)
    return kind, condition


def read_moment(fields: Fields, key: str, usual: str = INSTANT) -> Moment | None:
    """The instant or the events a condition is about; None with a problem, or if it is absent."""
    condition_of_kind = opened(fields, key, usual)
    if condition_of_kind is None:
        return None
    kind, condition = condition_of_kind
    if kind == INSTANT:
        return _instant(condition)
    if kind == PROPERTY:
        expression = read_property(condition)
        return None if expression is None else Occurs(expression)
    message = "a state that lasts cannot be the condition of an event"
    condition.refuse("kind", message, f"write a {INSTANT}, for when it is entered")
    return None


def read_events(fields: Fields, key: str, usual: str = INSTANT) -> EventCondition | None:
    """As `read_moment`, where the start and the end of a case cannot stand."""
    moment = read_moment(fields, key, usual)
    if isinstance(moment, CaseBorder):
        message = "the start or end of a case is not an event that can be used here"
        fields.refuse(key, message, "name an activity")
        return None
    return moment


def read_property(condition: Fields) -> Expression | None:
    """What is true of an event with a property of its data."""
    for key in _STATES_OF_DATA:
        if condition.filled(key):
            message = "a log does not record the state of a data object"
            condition.refuse(
                key, message, "write it as a condition on attributes, in 'restriction'"
            )
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
        entered = _state_of_data(state)
        return None if entered is None else _occurs(condition, entered, Occurrence.ONSET)
    key = BPMN if BPMN in state else GENERIC
    state.require(key, "a state")
    elements = {"process": True, "activity": False}
    is_named_process = condition.word("element", elements, "'process' or 'activity'")
    named = condition.text("appliesTo") in condition.context.processes
    is_process = named if is_named_process is None else is_named_process
    return (_of_process if is_process else _of_activity)(condition, state, key)


def _state_of_data(state: Fields) -> Expression | None:
    data = state.object(DATA, "a state such as {'name': 'amount > 100'}")
    if data is None:
        return None
    data.require("name", "a state of data")
    return data.expression("name")


def _of_process(condition: Fields, state: Fields, key: str) -> CaseBorder | None:
    if condition.filled("precondition"):
        message = "the start and the end of a case have no precondition"
        condition.refuse("precondition", message, "name an activity, or filter the cases")
    if key == GENERIC:
        return state.word(key, _BORDERS, "'START' or 'END'")
    state.refuse(key, "a log records only when a case starts and ends, not its state")
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
        activity = activity if isinstance(entered, TruthLiteral) else both(activity, entered)
    return _occurs(condition, activity, Occurrence.EVERY)


def _occurs(condition: Fields, expression: Expression, usual: Occurrence) -> Occurs | None:
    occurrence = condition.word("occurrence", _OCCURRENCES, "'every' or 'onset'") or usual
    precondition = opened(condition, "precondition", PROPERTY)
    if precondition is not None:
        restriction = read_property(precondition[1])
        if occurrence is Occurrence.ONSET:
            message = "a precondition cannot be combined with a state that data enters"
            hint = "whether the state was entered here or before would depend on both"
            condition.refuse("precondition", message, hint)
        if restriction is None:
            return None
        expression = both(expression, restriction)
    return Occurs(expression, occurrence, condition.expression("among"))


def _sequence(condition: Fields, state: Fields) -> EventSequence | None:
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
    return EventSequence(first, last, order)


def _part(inner: Fields, key: str) -> Occurs | None:
    part = read_events(inner, key)
    if isinstance(part, EventSequence):
        inner.refuse(key, "a complex state cannot be part of another one")
        return None
    return part


def read_state_measure(fields: Fields) -> StateMeasure | None:
    """Whether an element is in a state at last: the condition of a measure of its own."""
    fields.require("condition", "a state condition measure")
    kind_and_fields = opened(fields, "condition", STATE)
    if kind_and_fields is None:
        return None
    condition = kind_and_fields[1]
    condition.require("state", "a state condition")
    state = condition.object("state", "a state such as {'genericState': 'END'}")
    if state is None:
        return None
    if DATA in state:
        holds = _state_of_data(state)
        return None if holds is None else StateMeasure(holds, condition.expression("of"))
    key = BPMN if BPMN in state else GENERIC
    state.require(key, "a state")
    condition.require("appliesTo", "a state condition")
    name = condition.text("appliesTo")
    if name in condition.context.processes:
        message = "a log does not record whether a case has ended"
        condition.refuse("appliesTo", message, "name an activity that ends it")
        return None
    holds = read_state(state, key)
    of = is_activity(name, condition.place("appliesTo"))
    return None if holds is None else StateMeasure(holds, of)


# --- expressions as Java can read them too, as far as it can --------------------------
# What only the grammar here has (`in (…)`, `is missing`, `90 days`) stays as it is.


def expression_text(expression: Expression) -> str:
    require_readable(expression)
    return render(expression, SIGNS)


def require_readable(expression: Expression) -> None:
    """UsageError for an expression, made by a program, that the grammar could not read."""
    if height(expression) > MAX_DEPTH:
        raise UsageError(f"an expression is more than {MAX_DEPTH} operations deep")


# --- writing --------------------------------------------------------------------------

_BORDER_STATES = {border: state for state, border in _BORDERS.items()}
_ORDERS = {order: word for word, order in ORDERS.items()}


def moment_json(moment: Moment, process: str) -> Json:
    """An instant of a time measure; `process` is what the process is called, if anything."""
    if not isinstance(moment, CaseBorder):
        return events_json(moment, process)
    element: Json = {} if process else {"element": "process"}
    state = {GENERIC: _BORDER_STATES[moment]}
    return _instant_json(process or "Process", state) | element


def events_json(condition: EventCondition, process: str) -> Json:
    if isinstance(condition, EventSequence):
        sequence = {
            "first": events_json(condition.first, process),
            "last": events_json(condition.then, process),
            "type": _ORDERS[condition.order],
        }
        return _instant_json(OF_DATA, {COMPLEX: sequence})
    written = _of_activity_json(condition, process)
    if written is None:
        written = _instant_json(OF_DATA, {DATA: {"name": expression_text(condition.condition)}})
        every = condition.occurrence is Occurrence.EVERY
        written |= {"occurrence": Occurrence.EVERY.value} if every else {}
    among = condition.among
    return written if among is None else written | {"among": expression_text(among)}


def wrapped(condition: EventCondition, process: str) -> Json:
    """A condition inside its name, which is how Java writes the precondition of a data measure."""
    expression = _property_of(condition, process)
    inner = events_json(condition, process) if expression is None else property_json(expression)
    return {str(inner.pop("kind")): inner}


def condition_measure_json(measure: ConditionMeasure, process: str) -> Json:
    expression = _property_of(measure.when, process)
    if expression is not None:
        return {"kind": "DataPropertyConditionMeasure", "condition": property_json(expression)}
    return {"kind": "ConditionMeasure", "condition": events_json(measure.when, process)}


def state_measure_json(measure: StateMeasure) -> Json:
    of = None if measure.of is None else activity_of(measure.of)
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
            return expression if _of_activity_json(condition, process) is None else None
    return None


def property_json(expression: Expression) -> Json:
    return {"kind": PROPERTY, "appliesTo": OF_DATA, "restriction": expression_text(expression)}


def _instant_json(applies_to: str, state: object) -> Json:
    return {"kind": INSTANT, "appliesTo": applies_to, "changesToState": state}


def _of_activity_json(occurs: Occurs, process: str) -> Json | None:
    """An activity, its state and a precondition, if the condition is made of these."""
    if occurs.occurrence is not Occurrence.EVERY:
        return None
    entered = _entered(occurs.condition, process)
    if entered is not None:
        return entered
    match occurs.condition:
        case Binary(Operator.AND, left, right):
            entered = _entered(left, process)
            if entered is not None:
                return entered | {"precondition": property_json(right)}
    return None


def _entered(expression: Expression, process: str) -> Json | None:
    """An activity at all its events, or at those by which it enters a state."""
    activity, state = activity_of(expression), None
    match expression:
        case Binary(Operator.AND, left, right):
            activity, state = activity_of(left), state_in(right)
            if state is None:
                return None
    if activity is None:
        return None
    written = _instant_json(activity, state or {GENERIC: "END"})
    written |= {} if state else {"lifecycle": "any"}
    return written | ({"element": "activity"} if activity == process else {})
