"""Conditions on events, instants and formulas: the places where expressions stand."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.shapes import (
    Field,
    Named,
    OneOf,
    Problems,
    Record,
    Tagged,
    Values,
    Written,
    one_word_of,
)
from pappi.ppinot.expressions.nodes import Binary, Expression, Name, Operator, Text
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.model import CaseBorder, Moment, Occurrence, Occurs, Pick

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


def _is_activity(name: str, position: Position) -> Expression:
    left, right = Name("activity", position=position), Text(name, position=position)
    return Binary(Operator.EQUAL, left, right, position=position)


OCCURRENCE = Field(
    "occurrence",
    one_word_of("'every' or 'onset'", {each.value: each for each in Occurrence}),
    "at every event at which it holds, or only where it did not hold just before; every if "
    "not given",
)


def _of_activity(values: Values, _: Problems) -> Occurs:
    expression = _is_activity(*values[ACTIVITY])
    return Occurs(expression, values.get(OCCURRENCE) or Occurrence.EVERY)


FORMULA: Written[Expression] = Written(
    "a formula", _formula, example="100 * a / b", types=("string", "number", "boolean")
)

WHEN: Field[Expression] = Field("when", FORMULA, "the condition", required=True)


def _written_out(values: Values, _: Problems) -> Occurs:
    return Occurs(values[WHEN], values.get(OCCURRENCE) or Occurrence.EVERY)


_CONDITIONS: dict[str, Record[Occurs]] = {
    "activity": Record("a condition", (ACTIVITY, OCCURRENCE), _of_activity),
    "when": Record("a condition", (WHEN, OCCURRENCE), _written_out),
}
_CONDITION_RECORDS: Tagged[Occurs] = Tagged("a condition on events", _CONDITIONS)
_CONDITION: OneOf[Occurs] = OneOf(
    "a condition on events",
    text=Written("a condition on events", _occurs, example=_EXAMPLE, types=("string", "boolean")),
    mapping=_CONDITION_RECORDS,
)
CONDITION: Named[Occurs] = Named("condition", lambda: _CONDITION)


@dataclass(frozen=True, slots=True)
class Instant:
    """One end of a time measure; `pick` is which of several instants, if that is written."""

    moment: Moment
    pick: Pick | None
    position: Position


def _instant(node: ScalarNode, problems: Problems) -> Instant | None:
    moment = _moment(node, problems)
    return None if moment is None else Instant(moment, None, node.position)


def _picked(pick: Pick) -> Record[Instant]:
    which = Field(pick.value, CONDITION, f"the {pick} event that satisfies this", required=True)
    return Record(
        "an instant", (which,), lambda values, _: Instant(values[which], pick, values.position)
    )


def _at_each(record: Record[Occurs]) -> Record[Instant]:
    """A condition as an instant, which of several left open."""

    def build(values: Values, problems: Problems) -> Instant | None:
        occurs = record.build(values, problems)
        return None if occurs is None else Instant(occurs, None, values.position)

    return Record("an instant", record.fields, build)


_INSTANTS: Tagged[Instant] = Tagged(
    "an instant",
    {
        **{tag: _at_each(record) for tag, record in _CONDITIONS.items()},
        **{pick.value: _picked(pick) for pick in Pick},
    },
)
_INSTANT: OneOf[Instant] = OneOf(
    "an instant",
    text=Written(
        "an instant: case start, case end or a condition on events",
        _instant,
        example="case start",
        types=("string", "boolean"),
    ),
    mapping=_INSTANTS,
)
INSTANT: Named[Instant] = Named("instant", lambda: _INSTANT)
