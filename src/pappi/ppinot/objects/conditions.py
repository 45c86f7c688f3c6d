"""Conditions of ppinot4py.

A condition occurs where it becomes true: at an onset. Only a `DataCondition` occurs at every
event. The states START and END of an activity are, there, the transitions `Assigned` and
`Completed`; in a log without transitions every event is an end.
"""

from __future__ import annotations

from collections.abc import Iterator

from pappi.ppinot.expressions.nodes import (
    Binary,
    Expression,
    Literal,
    Name,
    OneOf,
    Operator,
    Text,
)
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.java.states import TRANSITION, both, is_activity
from pappi.ppinot.model import (
    CaseBorder,
    EventCondition,
    Moment,
    Occurrence,
    Occurs,
    Order,
    Sequence,
)
from pappi.ppinot.objects.foreign import Foreign
from pappi.ppinot.objects.queries import read_query
from pappi.ppinot.wording import quoted

_ORDERS = {"FOLLOWS": Order.FOLLOWS, "LEADSTO": Order.LEADS_TO_CYCLICALLY}
_TRANSITIONS = {"START": "Assigned", "END": "Completed"}
_IN_ORDER = "conditions on one column with different values, as in `concept:name` == 'A', are apart"


def read_events(
    found: Foreign, *, lifecycle: bool, among: Expression | None = None
) -> EventCondition:
    moment = read_moment(found, lifecycle=lifecycle, among=among)
    if isinstance(moment, CaseBorder):
        message = "the start or the end of a case is no event that could be looked for here"
        raise found.refusal(message, "name an activity")
    return moment


def read_moment(found: Foreign, *, lifecycle: bool, among: Expression | None = None) -> Moment:
    """What a condition occurs at, among the events that satisfy `among`."""
    if isinstance(found.value, str | bool):
        return Occurs(read_query(found), among=among)
    border = border_of(found)
    if border is not None:
        # Events that are left out before cannot be the first or the last of the case.
        return border if among is None else Occurs(among)
    match found.kind:
        case "DataCondition":
            return Occurs(read_query(found.get("condition")), among=among)
        case "TimeInstantCondition":
            return _instant(found, lifecycle=lifecycle, among=among)
        case "SeriesCondition" | "Series":
            message = "a series says which rows of one table, and of no other log, are meant"
            raise found.refusal(message, "write the query that it came from")
    raise found.refusal(f"{quoted(found.kind)} is no condition of ppinot4py")


def _instant(found: Foreign, *, lifecycle: bool, among: Expression | None) -> EventCondition:
    match found.get("applies_to").word():
        case "DATA":
            return _of_data(found.get("changes_to_state"), among)
        case "ACTIVITY":
            condition = _of_activity(found, lifecycle=lifecycle)
            return Occurs(condition, Occurrence.ONSET, among)
    raise found.refusal("a condition applies to DATA, PROCESS or ACTIVITY")


# --- data -----------------------------------------------------------------------------


def _of_data(state: Foreign, among: Expression | None) -> EventCondition:
    if state.kind == "ComplexState":
        return _sequence(state, among)
    return Occurs(_query_of(state), Occurrence.ONSET, among)


def _query_of(state: Foreign) -> Expression:
    return read_query(state.get("name") if state.kind == "DataObjectState" else state)


def _sequence(state: Foreign, among: Expression | None) -> Sequence:
    word = state.get("type").word()
    if word not in _ORDERS:
        raise state.refusal("a complex state is of the type FOLLOWS or LEADSTO")
    first, last = _query_of(state.get("first")), _query_of(state.get("last"))
    if not _are_apart(first, last):
        message = "both conditions of this complex state may hold at the same event"
        raise state.refusal(f"{message}, of which ppinot4py makes something else", _IN_ORDER)
    return Sequence(Occurs(first, among=among), Occurs(last, among=among), _ORDERS[word])


def _are_apart(one: Expression, other: Expression) -> bool:
    """Whether no event surely satisfies both: they want different values of one column."""
    wanted, others = dict(_wanted(one)), dict(_wanted(other))
    return any(wanted[name].isdisjoint(others[name]) for name in wanted.keys() & others.keys())


def _wanted(expression: Expression) -> Iterator[tuple[str, frozenset[Literal]]]:
    """The values an expression wants of a column, in conditions that all have to hold."""
    match expression:
        case Binary(Operator.AND, left, right):
            yield from _wanted(left)
            yield from _wanted(right)
        case Binary(Operator.EQUAL, Name(name), Text() as value):
            yield name, frozenset({value})
        case OneOf(Name(name), choices):
            yield name, frozenset(choices)


# --- the case and its activities --------------------------------------------------------


def border_of(found: Foreign) -> CaseBorder | None:
    """The start or the end of the case, if a condition applies to the process."""
    if found.kind != "TimeInstantCondition" or found.get("applies_to").word() != "PROCESS":
        return None
    is_start = _runtime(found.get("changes_to_state")) == "START"
    return CaseBorder.START if is_start else CaseBorder.END


def _runtime(state: Foreign) -> str:
    if state.kind != "RuntimeState":
        raise state.refusal(f"expected a RuntimeState, found {quoted(state.kind)}")
    return state.get("state").text("a state")


def _of_activity(found: Foreign, *, lifecycle: bool) -> Expression:
    activity = is_activity(_activity_name(found.get("activity_name")), found.position)
    state = found.get("changes_to_state")
    word = _runtime(state)
    if lifecycle:
        return both(activity, _transition(state, word))
    if word == "END":
        return activity
    raise state.refusal(f"in a log without transitions nothing is {quoted(word)}, only at its end")


def _activity_name(found: Foreign) -> str:
    """A name in quotes of its own, as ppinot4py needs it; or without, as its manual has it."""
    written = found.text("the name of an activity")
    if written[:1] not in ("'", '"'):
        return written
    literal = parse_expression(written, found.position)
    if isinstance(literal, Text):
        return literal.value
    raise found.refusal("expected one name in quotes")


def _transition(state: Foreign, word: str) -> Expression:
    place = state.position
    if word in _TRANSITIONS:
        value: Expression = Text(_TRANSITIONS[word], position=place)
    else:
        value = parse_expression(word, place)
    if not isinstance(value, Text):
        message = f"expected START, END or a transition in quotes, found {quoted(word)}"
        raise state.refusal(message, "as in RuntimeState(\"'complete'\")")
    return Binary(Operator.EQUAL, Name(TRANSITION, position=place), value, position=place)
