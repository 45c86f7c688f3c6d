"""Going through an expression without caring what each node means."""

from __future__ import annotations

from collections.abc import Iterator

from pappi.ppinot.expressions.nodes import (
    Apply,
    Binary,
    Choose,
    Expression,
    IsMissing,
    Name,
    Negate,
    Not,
    OneOf,
    Operator,
)

_DIVISIONS = (Operator.DIVIDE, Operator.REMAINDER)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The operands of a node, in the order they are written."""
    match expression:
        case Negate() | Not() | IsMissing():
            return (expression.operand,)
        case Binary():
            return (expression.left, expression.right)
        case OneOf():
            return (expression.operand, *expression.choices)
        case Choose():
            return (expression.condition, expression.then, expression.otherwise)
        case Apply():
            return expression.arguments
        case _:
            return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """Every node, a node before its operands; without recursion."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def names_in(expression: Expression) -> frozenset[str]:
    """The names an expression depends on."""
    return frozenset(node.name for node in walk(expression) if isinstance(node, Name))


def divisor_depth(expression: Expression) -> int:
    """How often a divisor lies inside a divisor: 1 in a / b, 2 in a / (b / c)."""
    deepest = 0
    waiting = [(expression, 0)]
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        divides = isinstance(node, Binary) and node.operator in _DIVISIONS
        inner = [level] * len(children(node))
        if divides:
            inner[-1] += 1
        waiting.extend(zip(children(node), inner, strict=True))
    return deepest


def height(expression: Expression) -> int:
    """The longest way down from the root, in nodes; without recursion."""
    tallest = 0
    waiting = [(expression, 1)]
    while waiting:
        node, level = waiting.pop()
        tallest = max(tallest, level)
        waiting.extend((child, level + 1) for child in children(node))
    return tallest
