"""Formulas over durations: in Java a duration is a number, of the unit its measure has.

`t < 28` over a time measure in days means 28 days there. Here durations have their own kind, so
the formula is read as `t / 1 day < 28`: the same number, and nothing else in it has to change.
A formula that is over durations as such says so with the field `typed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from pappi.ppinot.expressions.nodes import (
    Apply,
    Binary,
    Choose,
    Duration,
    Expression,
    IsMissing,
    Name,
    Negate,
    Not,
    OneOf,
    Operator,
)
from pappi.ppinot.expressions.parser import MAX_DEPTH, MAX_DIVISORS
from pappi.ppinot.expressions.walk import divisor_depth, height, walk

Sizes = Mapping[str, Fraction]
"""For each variable that is a duration: how many microseconds its unit has."""


def in_numbers(formula: Expression, sizes: Sizes) -> Expression:
    """The formula with each duration turned into the number it is in its unit."""

    def number(node: Expression) -> Expression | None:
        if not isinstance(node, Name) or node.name not in sizes:
            return None
        unit = Duration(sizes[node.name], position=node.position)
        return Binary(Operator.DIVIDE, node, unit, position=node.position)

    return rewritten(formula, number)


def is_too_large(formula: Expression) -> bool:
    """Whether the grammar could no longer read the formula."""
    return height(formula) > MAX_DEPTH or divisor_depth(formula) > MAX_DIVISORS


def out_of_numbers(formula: Expression, names: frozenset[str]) -> tuple[Expression, Sizes] | None:
    """What `in_numbers` was given: the inverse, where there is one.

    Every duration has to be divided by its unit, always by the same one.
    """
    sizes: dict[str, Fraction] = {}

    def plain(node: Expression) -> Expression | None:
        match node:
            case Binary(Operator.DIVIDE, Name(name), Duration(size)) if name in names:
                if sizes.setdefault(name, size) == size:
                    return node.left
        return None

    found = rewritten(formula, plain)
    # What was replaced is read again as what it was; a duration left alone would not be.
    again = in_numbers(found, sizes)
    used = {node.name for node in walk(formula) if isinstance(node, Name)}
    return (found, sizes) if again == formula and used & names <= sizes.keys() else None


def rewritten(
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """The expression with `change` made, outermost first, where it gives something."""
    changed = change(expression)
    if changed is not None:
        return changed

    def inner(node: Expression) -> Expression:
        return rewritten(node, change)

    match expression:
        case Negate() | Not() | IsMissing() | OneOf():
            return replace(expression, operand=inner(expression.operand))
        case Binary():
            return replace(expression, left=inner(expression.left), right=inner(expression.right))
        case Choose():
            return Choose(
                inner(expression.condition),
                inner(expression.then),
                inner(expression.otherwise),
                position=expression.position,
            )
        case Apply():
            return replace(expression, arguments=tuple(map(inner, expression.arguments)))
        case _:
            return expression
