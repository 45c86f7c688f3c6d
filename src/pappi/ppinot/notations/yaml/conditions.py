"""Conditions on events, and formulas: the places where expressions stand.

A *test* is true or false of one event. A *condition* says at which events a test occurs; a
sequence of two such conditions is a condition as well. An *instant* of a case is where a time
starts or ends, or what puts a case into a period: an event that satisfies a condition, or the
start or end of the case. Each is written in its short form, if it has one.
"""

from __future__ import annotations

import re
from dataclasses import replace

from pappi.errors import DefinitionError, Problem
from pappi.ppinot import expressions as nodes
from pappi.ppinot.expressions import (
    TRANSITION_ATTRIBUTE,
    Binary,
    Expression,
    Operator,
    TextLiteral,
    TruthLiteral,
    is_activity,
    is_transition,
)
from pappi.ppinot.grammar import parse_expression, render
from pappi.ppinot.model import (
    EventCondition,
    EventSequence,
    Instant,
    Moment,
    Occurrence,
    Occurs,
    Order,
    Pick,
)
from pappi.ppinot.notations.document import Bare, Literal, Problems, ScalarNode
from pappi.ppinot.notations.shapes import (
    ByForm,
    Field,
    ListOf,
    Named,
    Parts,
    Record,
    Tagged,
    Then,
    Values,
    Written,
    attributes_read,
    attributes_said,
    one_word_of,
    record_of,
    words_of,
)
from pappi.values import CaseBorder

# --- expressions ----------------------------------------------------------------------


def _parse(node: ScalarNode, problems: Problems) -> Expression | None:
    try:
        return parse_expression(node.text, node.origin)
    except DefinitionError as error:
        problems.extend([_explained(problem, node) for problem in error.problems])
        return None


def _explained(problem: Problem, node: ScalarNode) -> Problem:
    """The problem, with a hint at what YAML did to the text if that is the likely cause."""
    text = node.text
    is_cut_off = text.count("(") > text.count(")") or text.count("[") > text.count("]")
    if node.plain and node.in_braces and is_cut_off:
        hint = "inside { } a comma ends a text: put the whole expression in quotes"
    elif re.fullmatch(r"[\w\- ]+", text):
        hint = f"for an activity, write {{activity: {text.strip()}}}"
    else:
        return problem
    return replace(problem, hint=hint)


def _formula_text(expression: Expression) -> str:
    text = render(expression)
    return Literal(text) if isinstance(expression, TruthLiteral) else text


FORMULA: Written[Expression] = Written(
    "a formula",
    _parse,
    example="100 * a / b",
    types=("string", "number", "boolean"),
    text=_formula_text,
)

# --- tests of one event ---------------------------------------------------------------


def activity_in(test: Expression | None) -> str | None:
    """The activity that a test asks for and nothing else."""
    match test:
        case Binary(right=TextLiteral(name)) if _is_stripped(name) and is_activity(name) == test:
            return name
    return None


def transition_in(test: Expression) -> str | None:
    """The transition that a test asks for and nothing else."""
    match test:
        case Binary(right=TextLiteral(way)) | nodes.OneOf(choices=(TextLiteral(way), *_)):
            return way if _is_stripped(way) and is_transition(way) == test else None
    return None


def _is_stripped(text: str) -> bool:
    return bool(text) and text == text.strip()


_TESTS_ACTIVITY: Written[Expression] = Written(
    "an activity",
    lambda node, _: is_activity(node.text.strip(), node.position),
    example="Pay claim",
    text=activity_in,
)
_TESTS_TRANSITION: Written[Expression] = Written(
    "a transition",
    lambda node, _: is_transition(node.text.strip(), position=node.position),
    example="complete",
    text=transition_in,
)

ACTIVITY: Field[Expression] = Field("activity", _TESTS_ACTIVITY, "the activity", required=True)
TRANSITION: Field[Expression] = Field(
    "transition",
    _TESTS_TRANSITION,
    f"the transition of the activity's life cycle ({TRANSITION_ATTRIBUTE}), in upper or lower case",
    required=True,
)
OF_TRANSITION: Field[Expression] = Field("transition", _TESTS_TRANSITION, TRANSITION.doc)


def _test_of_activity(values: Values, _: Problems) -> Expression:
    is_it, transition = values[ACTIVITY], values.get(OF_TRANSITION)
    if transition is None:
        return is_it
    return Binary(Operator.AND, is_it, transition, position=values.position)


def _activity_parts(test: Expression) -> Parts | None:
    if activity_in(test) is not None:
        return {ACTIVITY: test}
    match test:
        case Binary(Operator.AND, left, right) if activity_in(left) and transition_in(right):
            return {ACTIVITY: left, OF_TRANSITION: right}
    return None


_TESTS: dict[str, Record[Expression]] = {
    "activity": Record(
        "a test of an event", (ACTIVITY, OF_TRANSITION), _test_of_activity, parts=_activity_parts
    ),
    "transition": Record(
        "a test of an event",
        (TRANSITION,),
        lambda values, _: values[TRANSITION],
        parts=lambda test: {TRANSITION: test} if transition_in(test) else None,
    ),
}
_TEXT_TYPES = ("string", "boolean")
_EXAMPLE = 'activity == "Pay claim"'


def _test_text(what: str) -> Written[Expression]:
    return Written(what, _parse, example=_EXAMPLE, types=_TEXT_TYPES, text=_formula_text)


_TEST: ByForm[Expression] = ByForm(
    "a test of an event",
    text=_test_text("a test of an event"),
    mapping=Tagged("a test of an event", _TESTS),
    mapping_first=True,
)
TEST: Named[Expression] = Named("test", lambda: _TEST)

# --- conditions on events -------------------------------------------------------------

WHEN: Field[Expression] = Field("when", FORMULA, "the condition", required=True)
OCCURRENCE = Field(
    "occurrence",
    one_word_of("'every' or 'onset'", words_of(Occurrence)),
    "at every event where it holds (the default), or only where it did not hold just before",
)
AMONG_EVENTS: Field[Expression] = Field("among", TEST, "considers only events that satisfy this")
_OPTIONS = {"occurrence": OCCURRENCE, "among": AMONG_EVENTS}


def _tested(record: Record[Expression]) -> Record[Occurs]:
    """A test as a condition, which has more to say."""

    def build(values: Values, problems: Problems) -> Occurs | None:
        test = record.build(values, problems)
        return None if test is None else Occurs(test, **attributes_read(values, **_OPTIONS))

    def parts(condition: Moment) -> Parts | None:
        if not isinstance(condition, Occurs):
            return None
        test = record.parts(condition.condition)
        return None if test is None else {**test, **attributes_said(condition, **_OPTIONS)}

    return Record("a condition", (*record.fields, *_OPTIONS.values()), build, parts=parts)


def _when_parts(condition: Moment) -> Parts | None:
    """With options only: without them, the text says it."""
    options = attributes_said(condition, **_OPTIONS) if isinstance(condition, Occurs) else {}
    return _WHEN.parts(condition) if options else None


_WHEN = record_of("a condition", Occurs, condition=WHEN, **_OPTIONS)
_OCCURS_RECORDS: dict[str, Record[Occurs]] = {
    **{tag: _tested(record) for tag, record in _TESTS.items()},
    "when": replace(_WHEN, parts=_when_parts),
}
_OCCURS_TEXT: Then[Expression, Occurs] = Then(
    _test_text("a condition on events"), Occurs, lambda condition: condition.condition
)
_OCCURS: ByForm[Occurs] = ByForm(
    "a condition on events",
    text=_OCCURS_TEXT,
    mapping=Tagged(
        "a condition on events",
        _OCCURS_RECORDS,
        strangers={"sequence": "a sequence has two steps, and neither can be a sequence"},
    ),
    mapping_first=True,
)
OCCURS: Named[Occurs] = Named("occurrence", lambda: _OCCURS)

SEQUENCE = Field(
    "sequence",
    ListOf("a list of two conditions", OCCURS, least=2, most=2),
    "the events where the second condition occurs after the first",
    required=True,
)
ORDER = Field(
    "order",
    one_word_of("how the second comes after the first", words_of(Order)),
    "follows: at the very next event; leads to: at any later event; leads to cyclically: at the "
    "next later one, where each first is matched only once",
    required=True,
)


def _sequence_parts(condition: Moment) -> Parts | None:
    if not isinstance(condition, EventSequence):
        return None
    return {SEQUENCE: (condition.first, condition.then), ORDER: condition.order}


CONDITION_RECORDS: dict[str, Record[EventCondition]] = {
    **_OCCURS_RECORDS,
    "sequence": Record(
        "a sequence",
        (SEQUENCE, ORDER),
        lambda values, _: EventSequence(values[SEQUENCE][0], values[SEQUENCE][1], values[ORDER]),
        parts=_sequence_parts,
    ),
}
_CONDITION: ByForm[EventCondition] = ByForm(
    "a condition on events",
    text=_OCCURS_TEXT,
    mapping=Tagged("a condition on events", CONDITION_RECORDS),
    mapping_first=True,
)
CONDITION: Named[EventCondition] = Named("condition", lambda: _CONDITION)


# --- instants of a case ---------------------------------------------------------------


def instant_of(moment: Moment, pick: Pick, usual: Pick) -> Instant:
    """An instant to write: which of several is meant goes without saying if it is the usual one."""
    unsaid = pick is usual or isinstance(moment, CaseBorder)
    return Instant(moment, None if unsaid else pick)


def _instant(node: ScalarNode, problems: Problems) -> Instant | None:
    words = " ".join(node.text.lower().split())
    if words in tuple(CaseBorder):
        return Instant(CaseBorder(words))
    test = _parse(node, problems)
    return None if test is None else Instant(Occurs(test))


def _picked(pick: Pick) -> Record[Instant]:
    doc = f"the {pick} event that satisfies this"
    which: Field[EventCondition] = Field(pick.value, CONDITION, doc, required=True)
    return Record(
        "an instant",
        (which,),
        lambda values, _: Instant(values[which], pick),
        parts=lambda instant: {which: instant.moment} if instant.pick is pick else None,
    )


def _at_each(record: Record[EventCondition]) -> Then[EventCondition, Instant]:
    """A condition as an instant, which of several left open."""
    named = replace(record, what="an instant")
    return Then(named, Instant, lambda instant: None if instant.pick else instant.moment)


def _instant_text(instant: Instant) -> str | None:
    match instant.moment:
        case CaseBorder() as border:
            return Bare(border)
        case Occurs(condition=test):
            return _formula_text(test)
        case _:
            return None


_INSTANTS: Tagged[Instant] = Tagged(
    "an instant",
    {
        **{tag: _at_each(record) for tag, record in CONDITION_RECORDS.items()},
        **{pick.value: _picked(pick) for pick in Pick},
    },
)
_INSTANT: ByForm[Instant] = ByForm(
    "an instant",
    text=Written(
        "an instant: case start, case end or a condition on events",
        _instant,
        example="case start",
        types=("string", "boolean"),
        text=_instant_text,
    ),
    mapping=_INSTANTS,
    mapping_first=True,
)
INSTANT: Named[Instant] = Named("instant", lambda: _INSTANT)
