"""Derived measures of ppinot4py.

A duration in a formula is a number of seconds there, and a number that comes out of a formula
with durations in it is a duration again. Where a formula makes sense over durations themselves
it is kept as it is, since the result is the same: `a - b < limit`. Where it does not, as in
`t < 3600`, durations are turned into seconds first, and the result back. A time measure with a
unit is a number of that unit. Constants among the variables are written into the formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from pappi.ppinot.expressions.kinds import kind_of
from pappi.ppinot.expressions.lexer import MAX_DIGITS
from pappi.ppinot.expressions.nodes import (
    Binary,
    Duration,
    Expression,
    Name,
    Negate,
    Number,
    Operator,
    Text,
    Truth,
)
from pappi.ppinot.expressions.walk import walk
from pappi.ppinot.java.formulas import in_numbers, is_too_large, rewritten
from pappi.ppinot.objects.foreign import Foreign
from pappi.ppinot.wording import did_you_mean, quoted
from pappi.values.units import SECOND
from pappi.values.vocabulary import Kind

Constants = Mapping[str, Expression]
Kinds = Mapping[str, Kind | None]


def constant(found: Foreign) -> Expression | None:
    """A value among the variables that is no measure; None if it is no value either."""
    place = found.position
    if isinstance(found.value, bool):
        return Truth(found.value, position=place)
    if found.is_text:
        return Text(found.text("a text"), position=place)
    number, span = found.number(), found.span()
    size = span if number is None else number
    if size is None:
        return None
    if max(abs(size.numerator), size.denominator) >= 10**MAX_DIGITS:
        raise found.refusal(f"this number has more than {MAX_DIGITS} digits")
    kind = Duration if number is None else Number
    value = kind(abs(size), position=place)
    # The grammar has no negative numbers, only a minus before one.
    return value if size >= 0 else Negate(value, position=place)


def settled(
    formula: Expression,
    constants: Constants,
    kinds: Kinds,
    sizes: Mapping[str, Fraction],
    found: Foreign,
) -> Expression:
    """The formula over measures alone, which means what it means to ppinot4py.

    `sizes` are the units of the time measures that have one, in microseconds.
    """
    _check_names(formula, [*constants, *kinds], found)
    typed = _filled(in_numbers(formula, sizes), constants)
    if kind_of(typed, kinds)[1]:
        durations = [name for name, kind in kinds.items() if kind is Kind.DURATION]
        seconds = dict.fromkeys(durations, Fraction(SECOND)) | dict(sizes)
        typed = _filled(in_numbers(formula, seconds), _in_seconds(constants))
        has_time = durations != [*sizes] or _in_seconds(constants) != constants
        if has_time and kind_of(typed, kinds)[0] is Kind.NUMBER:
            typed = Binary(Operator.MULTIPLY, typed, Duration(Fraction(SECOND)))
    if is_too_large(typed):
        raise found.refusal("this formula is too large")
    return typed


def _check_names(formula: Expression, known: list[str], found: Foreign) -> None:
    for node in walk(formula):
        if isinstance(node, Name) and node.name not in known:
            hint = did_you_mean(node.name, known, "give it in the measure map")
            raise found.refusal(f"unknown variable {quoted(node.name)}", hint)


def _filled(formula: Expression, constants: Constants) -> Expression:
    def value(node: Expression) -> Expression | None:
        return constants.get(node.name) if isinstance(node, Name) else None

    return rewritten(formula, value)


def _in_seconds(constants: Constants) -> Constants:
    def seconds(node: Expression) -> Expression | None:
        if not isinstance(node, Duration):
            return None
        return Number(node.microseconds / SECOND, position=node.position)

    return {name: rewritten(value, seconds) for name, value in constants.items()}
