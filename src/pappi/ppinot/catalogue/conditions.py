"""Conditions on events, and formulas: the places where expressions stand.

A *test* is true or false of one event. A *condition* says at which events a test
occurs; a sequence of two such conditions is a condition as well.
"""

from __future__ import annotations

import re

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.shapes import (
    Field,
    ListOf,
    Named,
    OneOf,
    Problems,
    Record,
    Tagged,
    Values,
    Written,
    one_word_of,
)
from pappi.ppinot.expressions import nodes
from pappi.ppinot.expressions.nodes import Binary, Expression, Name, Operator, Text
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.model import EventCondition, Occurrence, Occurs, Order, Sequence

TRANSITION_ATTRIBUTE = "lifecycle:transition"

# --- expressions ----------------------------------------------------------------------


def parse_formula(node: ScalarNode, problems: Problems) -> Expression | None:
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


FORMULA: Written[Expression] = Written(
    "a formula", parse_formula, example="100 * a / b", types=("string", "number", "boolean")
)

# --- tests of one event ---------------------------------------------------------------


def _located(node: ScalarNode, _: Problems) -> tuple[str, Position]:
    return node.text.strip(), node.position


ATTRIBUTE = Written("an attribute", _located, example="amount")
_ACTIVITY = Written("an activity", _located, example="Pay claim")
_TRANSITION = Written("a transition", _located, example="complete")

ACTIVITY = Field("activity", _ACTIVITY, "the activity", required=True)
TRANSITION = Field(
    "transition",
    _TRANSITION,
    f"the transition of the activity's life cycle ({TRANSITION_ATTRIBUTE}), in any capitals",
    required=True,
)
OF_TRANSITION = Field("transition", _TRANSITION, TRANSITION.doc)


def is_activity(name: str, position: Position) -> Expression:
    left, right = Name("activity", position=position), Text(name, position=position)
    return Binary(Operator.EQUAL, left, right, position=position)


def is_transition(transition: str, position: Position) -> Expression:
    """Logs write a transition in various capitals."""
    name = Name(TRANSITION_ATTRIBUTE, position=position)
    ways = tuple(Text(way, position=position) for way in spellings(transition))
    if len(ways) == 1:
        return Binary(Operator.EQUAL, name, ways[0], position=position)
    return nodes.OneOf(name, ways, position=position)


def spellings(transition: str) -> tuple[str, ...]:
    """
    >>> spellings("Complete"), spellings("5")
    (('Complete', 'complete', 'COMPLETE'), ('5',))
    """
    ways = (transition, transition.lower(), transition.upper(), transition.capitalize())
    return tuple(dict.fromkeys(ways))


def _test_of_activity(values: Values, _: Problems) -> Expression:
    is_it, transition = is_activity(*values[ACTIVITY]), values.get(OF_TRANSITION)
    if transition is None:
        return is_it
    return Binary(Operator.AND, is_it, is_transition(*transition), position=values.position)


def _test_of_transition(values: Values, _: Problems) -> Expression:
    return is_transition(*values[TRANSITION])


_TESTS: dict[str, Record[Expression]] = {
    "activity": Record("a test of an event", (ACTIVITY, OF_TRANSITION), _test_of_activity),
    "transition": Record("a test of an event", (TRANSITION,), _test_of_transition),
}
_TEXT_TYPES = ("string", "boolean")
_EXAMPLE = 'activity == "Pay claim"'
_TEST: OneOf[Expression] = OneOf(
    "a test of an event",
    text=Written("a test of an event", parse_formula, example=_EXAMPLE, types=_TEXT_TYPES),
    mapping=Tagged("a test of an event", _TESTS),
)
TEST: Named[Expression] = Named("test", lambda: _TEST)

# --- conditions on events -------------------------------------------------------------

WHEN: Field[Expression] = Field("when", FORMULA, "the condition", required=True)
OCCURRENCE = Field(
    "occurrence",
    one_word_of("'every' or 'onset'", {each.value: each for each in Occurrence}),
    "at every event at which it holds, or only where it did not hold just before; every if "
    "not given",
)
AMONG_EVENTS: Field[Expression] = Field("among", TEST, "looking only at events that satisfy this")
_OPTIONS = (OCCURRENCE, AMONG_EVENTS)


def _with_options(test: Expression, values: Values) -> Occurs:
    return Occurs(test, values.get(OCCURRENCE) or Occurrence.EVERY, values.get(AMONG_EVENTS))


def _tested(record: Record[Expression]) -> Record[Occurs]:
    """A test as a condition, which has more to say."""

    def build(values: Values, problems: Problems) -> Occurs | None:
        test = record.build(values, problems)
        return None if test is None else _with_options(test, values)

    return Record("a condition", (*record.fields, *_OPTIONS), build)


_OCCURS_RECORDS: dict[str, Record[Occurs]] = {
    **{tag: _tested(record) for tag, record in _TESTS.items()},
    "when": Record(
        "a condition", (WHEN, *_OPTIONS), lambda values, _: _with_options(values[WHEN], values)
    ),
}


def _occurs(node: ScalarNode, problems: Problems) -> Occurs | None:
    test = parse_formula(node, problems)
    return None if test is None else Occurs(test)


_OCCURS_TEXT = Written("a condition on events", _occurs, example=_EXAMPLE, types=_TEXT_TYPES)
_OCCURS: OneOf[Occurs] = OneOf(
    "a condition on events",
    text=_OCCURS_TEXT,
    mapping=Tagged(
        "a condition on events",
        _OCCURS_RECORDS,
        strangers={"sequence": "a sequence has two steps, which are no sequences themselves"},
    ),
)
OCCURS: Named[Occurs] = Named("occurrence", lambda: _OCCURS)

SEQUENCE = Field(
    "sequence",
    ListOf("a list of two conditions", OCCURS, least=2, most=2),
    "the events at which the second condition occurs after the first has",
    required=True,
)
ORDER = Field(
    "order",
    one_word_of("how the second comes after the first", {each.value: each for each in Order}),
    "follows: at the very next event; leads to: at any later event; leads to cyclically: at the "
    "next later one, each with a first of its own",
    required=True,
)


def _sequence(values: Values, _: Problems) -> Sequence:
    first, then = values[SEQUENCE]
    return Sequence(first, then, values[ORDER])


CONDITION_RECORDS: dict[str, Record[EventCondition]] = {
    **_OCCURS_RECORDS,
    "sequence": Record("a sequence", (SEQUENCE, ORDER), _sequence),
}
_CONDITION: OneOf[EventCondition] = OneOf(
    "a condition on events",
    text=_OCCURS_TEXT,
    mapping=Tagged("a condition on events", CONDITION_RECORDS),
)
CONDITION: Named[EventCondition] = Named("condition", lambda: _CONDITION)
