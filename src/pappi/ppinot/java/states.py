"""States of activities, and the life-cycle transitions in a log that lead to them.

    state                     Java's log types       here, as XES writes transitions
    START                     ready, assign          ready, assign, start
    END                       complete               complete
    ACTIVE, EXECUTING         assign                 assign, start
    COMPLETED                 complete               complete
    WITHDRAWN, FAILED,        complete               refused: a completion is none of these
    DELETED, COMPENSATED
    all other BPMN states     none                   refused: Java never reaches them

Java stops at an event of the type `start`, so that counting it changes no value that Java
gives. Logs write transitions in small letters, in capitals or with one capital.
"""

from __future__ import annotations

from pappi.errors import Position
from pappi.ppinot.catalogue.conditions import TRANSITION_ATTRIBUTE, spellings
from pappi.ppinot.expressions.nodes import (
    NOWHERE,
    Binary,
    Expression,
    Name,
    OneOf,
    Operator,
    Text,
    Truth,
)
from pappi.ppinot.java.fields import Fields
from pappi.ppinot.wording import did_you_mean, listed, quoted

TRANSITION = TRANSITION_ATTRIBUTE
ACTIVITY = "activity"

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

_SAY_IT = f'say it of the event itself: "dataObjectState": {{"name": "`{TRANSITION}` == …"}}'


def is_activity(name: str, position: Position = NOWHERE) -> Expression:
    left, right = Name(ACTIVITY, position=position), Text(name, position=position)
    return Binary(Operator.EQUAL, left, right, position=position)


def in_state(state: str, position: Position = NOWHERE) -> Expression:
    """What is true of an event by which an activity enters the state."""
    ways = [way for word in _TRANSITIONS[state] for way in spellings(word)]
    choices = tuple(Text(way, position=position) for way in ways)
    return OneOf(Name(TRANSITION, position=position), choices, position=position)


def both(left: Expression, right: Expression) -> Expression:
    return Binary(Operator.AND, left, right, position=left.position)


def read_state(fields: Fields, key: str) -> Expression | None:
    """What is true of an event that enters the generic or BPMN state of a wrapper object."""
    node = fields.scalar(key, "a state")
    if node is None:
        return None
    word = node.text.upper()
    if word not in _TRANSITIONS:
        _refuse(fields, key, node.text)
        return None
    if fields.context.lifecycle:
        return in_state(word, node.position)
    if _TRANSITIONS[word] == _DONE:
        return Truth(value=True, position=node.position)
    message = f"in a log without a life cycle nothing enters the state {quoted(node.text)}"
    fields.refuse(key, message, f"events are completions there; {_SAY_IT}")
    return None


def _refuse(fields: Fields, key: str, written: str) -> None:
    word = written.upper()
    if word in _COMPLETIONS:
        message = f"Java PPINOT takes any completion for the state {quoted(written)}"
        fields.refuse(key, message, f"write COMPLETED for that; or {_SAY_IT}")
    elif word in _UNREACHED:
        message = f"Java PPINOT knows no event that enters the state {quoted(written)}"
        fields.refuse(key, message, _SAY_IT)
    else:
        known = f"the states are {listed(_TRANSITIONS, 'and')}"
        hint = did_you_mean(written, STATES, known)
        fields.refuse(key, f"there is no state {quoted(written)}", hint)


def activity_in(expression: Expression) -> str | None:
    """The activity of `activity == "A"`; None if the expression is another one."""
    match expression:
        case Binary(Operator.EQUAL, Name(name), Text(activity)) if name == ACTIVITY:
            return activity
    return None


def state_in(expression: Expression) -> dict[str, str] | None:
    """The state of a test for its transitions, as a wrapper object."""
    for state in _TRANSITIONS:
        if expression == in_state(state):
            return {GENERIC if state in _GENERIC else BPMN: state}
    return None
