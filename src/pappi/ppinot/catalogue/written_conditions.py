"""Tests, conditions and instants back into the notation, in its short forms."""

from __future__ import annotations

from pappi.ppinot.catalogue.conditions import is_activity, is_transition
from pappi.ppinot.catalogue.plain import Bare, Literal, Plain
from pappi.ppinot.expressions import nodes
from pappi.ppinot.expressions.nodes import NOWHERE, Binary, Expression, Operator, Text
from pappi.ppinot.expressions.render import render
from pappi.ppinot.model import (
    CaseBorder,
    EventCondition,
    Moment,
    Occurrence,
    Occurs,
    Pick,
)


def formula(expression: Expression) -> str:
    text = render(expression)
    return Literal(text) if isinstance(expression, nodes.Truth) else text


def event_test(expression: Expression) -> Plain:
    """What is asked of one event."""
    return _short_test(expression) or formula(expression)


def _short_test(expression: Expression) -> dict[str, Plain] | None:
    if isinstance(expression, Binary) and expression.operator is Operator.AND:
        activity, transition = _activity(expression.left), _transition(expression.right)
        return {**activity, **transition} if activity and transition else None
    return _activity(expression) or _transition(expression)


def _activity(expression: Expression) -> dict[str, Plain] | None:
    if not isinstance(expression, Binary) or not isinstance(expression.right, Text):
        return None
    name = expression.right.value
    fits = _is_stripped(name) and is_activity(name, NOWHERE) == expression
    return {"activity": name} if fits else None


def _transition(expression: Expression) -> dict[str, Plain] | None:
    match expression:
        case nodes.OneOf(choices=(Text(value=way), *_)) | Binary(right=Text(value=way)):
            fits = _is_stripped(way) and is_transition(way, NOWHERE) == expression
            return {"transition": way} if fits else None
        case _:
            return None


def _is_stripped(text: str) -> bool:
    return bool(text) and text == text.strip()


def condition(of: EventCondition) -> Plain:
    if not isinstance(of, Occurs):
        return {"sequence": [condition(of.first), condition(of.then)], "order": Bare(of.order)}
    options: dict[str, Plain] = {}
    if of.occurrence is not Occurrence.EVERY:
        options["occurrence"] = Bare(of.occurrence)
    if of.among is not None:
        options["among"] = event_test(of.among)
    if not options:
        return event_test(of.condition)
    return (_short_test(of.condition) or {"when": formula(of.condition)}) | options


def instant(moment: Moment, pick: Pick, usual: Pick) -> Plain:
    """An instant; which of several is meant is said unless it is the usual one."""
    if isinstance(moment, CaseBorder):
        return Bare(moment)
    return condition(moment) if pick is usual else {pick.value: condition(moment)}
