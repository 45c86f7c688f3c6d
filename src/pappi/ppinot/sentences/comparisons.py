"""Comparing a measure of a case with a fixed value: "is less than 90 days", "at least twice"."""

from __future__ import annotations

from fractions import Fraction

from pappi.ppinot.expressions.nodes import (
    Binary,
    Duration,
    Expression,
    Instant,
    Literal,
    Name,
    Number,
    Operator,
    Text,
)
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.model import DerivedSingleInstance, Missing, SingleInstance
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.phrases import MISSING, variable_name
from pappi.ppinot.sentences.quantities import amount, plain_number
from pappi.ppinot.sentences.spans import text_of
from pappi.ppinot.sentences.words import WordKind

_PHRASES = {
    Operator.LESS: (
        *("less than", "below", "under", "fewer than", "shorter than", "lower than"),
        *("smaller than", "faster than", "<"),
    ),
    Operator.AT_MOST: (
        *("at most", "no more than", "not more than", "no longer than", "not longer than"),
        *("up to", "within", "a maximum of", "less than or equal to", "<="),
    ),
    Operator.GREATER: (
        *("more than", "over", "above", "longer than", "greater than", "higher than"),
        *("larger than", ">"),
    ),
    Operator.AT_LEAST: (
        *("at least", "no less than", "not less than", "no fewer than", "a minimum of"),
        *("greater than or equal to", "more than or equal to", ">="),
    ),
    Operator.EQUAL: ("equal to", "exactly", "=="),
    Operator.UNEQUAL: ("not equal to", "different from", "not", "!="),
}
# "less than or equal to" must be tried before "less than".
_LONGEST = sorted(
    ((phrase, operator) for operator, phrases in _PHRASES.items() for phrase in phrases),
    key=lambda pair: -len(pair[0].split()),
)
_VERBS = {"exceeds": Operator.GREATER, "exceed": Operator.GREATER, "equals": Operator.EQUAL}
_BEING = ("is", "are", "was", "were", "takes", "take", "took", "lasts", "lasted", "of")
_OFTEN = {"once": 1, "twice": 2}


def comparator(cursor: Cursor) -> Operator | None:
    """How to compare, if that comes next."""
    for phrase, operator in _LONGEST:
        if cursor.also(phrase):
            return operator
    return None


def comparison(cursor: Cursor) -> Operator:
    """How to compare, with the verb before it: "is less than", "takes", "exceeds"."""
    verb = cursor.also(*_VERBS)
    if verb is not None:
        return _VERBS[verb]
    being = cursor.accept(*_BEING)
    operator = comparator(cursor)
    if operator is None and being is None:
        raise cursor.unexpected()
    return operator or Operator.EQUAL


def fixed_value(cursor: Cursor) -> Literal:
    """A number, a duration, a text or a point in time."""
    word, place = cursor.next, cursor.position
    if word.kind is WordKind.TEXT:
        return Text(text_of(cursor, cursor.take()), position=place)
    if word.kind is WordKind.DATE:
        return date_value(cursor)
    cursor.want_thing("a value")
    found = amount(cursor)
    if found.unit:
        return Duration(found.internal, position=place)
    return Number(found.number, position=place)


def date_value(cursor: Cursor) -> Instant:
    place, word = cursor.position, cursor.take()
    match parse_expression(word.written, place):
        case Instant() as instant:
            return instant
    raise AssertionError("a date is a point in time")


def frequency(cursor: Cursor) -> Number:
    """How often something happens: "twice", "3 times"."""
    place = cursor.position
    if cursor.next.is_word(*_OFTEN):
        return Number(Fraction(_OFTEN[cursor.take().said]), position=place)
    found = Number(plain_number(cursor), position=place)
    cursor.also("times", "time")
    return found


def compared(
    about: SingleInstance, operator: Operator, value: Expression, missing: Missing | None = None
) -> DerivedSingleInstance:
    """A truth value: whether a measure compares so with a value."""
    name = variable_name(about) or "measured"
    formula = Binary(operator, Name(name), value, position=value.position)
    return DerivedSingleInstance(formula, ((name, about),), missing)


def if_missing(cursor: Cursor) -> Missing | None:
    """What a formula gives without a value of its variables, if that is said here."""
    for choice, words in MISSING.items():
        if cursor.also(words.replace("(", "( ").replace(")", " )")):
            return choice
    return None
