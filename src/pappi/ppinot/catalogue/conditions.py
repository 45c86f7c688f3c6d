"""Conditions on events, instants and formulas: the places where expressions stand."""

from __future__ import annotations

import re

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.shapes import Field, Named, OneOf, Problems, Record, Written
from pappi.ppinot.expressions.nodes import Binary, Expression, Name, Operator, Text
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.model import CaseBorder, Moment, Occurs

_EXAMPLE = 'activity == "Pay claim"'


def _formula(node: ScalarNode, problems: Problems) -> Expression | None:
    try:
        return parse_expression(node.text, node.origin)
    except DefinitionError as error:
        problems.extend([_explained(problem, node) for problem in error.problems])
        return None


def _explained(problem: Problem, node: ScalarNode) -> Problem:
    """The problem, with a hint at what YAML did to the text if that is the likely cause."""
    if node.plain and node.in_braces and _is_cut_off(node.text):
        hint = "inside { } a comma ends a text: put the whole expression in quotes"
    elif re.fullmatch(r"[\w\- ]+", node.text):
        hint = f"for an activity, write {{activity: {node.text.strip()}}}"
    else:
        return problem
    return Problem(problem.position, problem.message, hint)


def _is_cut_off(text: str) -> bool:
    return text.count("(") > text.count(")") or text.count("[") > text.count("]")


def _occurs(node: ScalarNode, problems: Problems) -> Occurs | None:
    expression = _formula(node, problems)
    return None if expression is None else Occurs(expression)


def _moment(node: ScalarNode, problems: Problems) -> Moment | None:
    words = " ".join(node.text.lower().split())
    if words in tuple(CaseBorder):
        return CaseBorder(words)
    return _occurs(node, problems)


def _located(node: ScalarNode, _: Problems) -> tuple[str, Position]:
    return node.text.strip(), node.position


ATTRIBUTE = Written("an attribute", _located, example="amount")

ACTIVITY = Field(
    "activity", Written("an activity", _located, example="Pay claim"), "the activity", required=True
)


def _is_activity(name: str, position: Position) -> Occurs:
    left, right = Name("activity", position=position), Text(name, position=position)
    return Occurs(Binary(Operator.EQUAL, left, right, position=position))


SHORTHAND = Record("a condition", (ACTIVITY,), lambda values, _: _is_activity(*values[ACTIVITY]))

FORMULA: Written[Expression] = Written(
    "a formula", _formula, example="100 * a / b", types=("string", "number", "boolean")
)

_CONDITION: OneOf[Occurs] = OneOf(
    "a condition on events",
    text=Written("a condition on events", _occurs, example=_EXAMPLE, types=("string", "boolean")),
    mapping=SHORTHAND,
)
CONDITION: Named[Occurs] = Named("condition", lambda: _CONDITION)

_MOMENT: OneOf[Moment] = OneOf(
    "an instant",
    text=Written(
        "an instant: case start, case end or a condition on events",
        _moment,
        example="case start",
        types=("string", "boolean"),
    ),
    mapping=SHORTHAND,
)
MOMENT: Named[Moment] = Named("moment", lambda: _MOMENT)
