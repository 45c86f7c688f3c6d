"""The abstract syntax of expressions, and ways to walk through them.

Positions take part in error messages, never in equality: the same expression
written in two places is one expression.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from pappi.errors import Position

NOWHERE = Position("<expression>", 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Something written at a place."""

    position: Position = field(default=NOWHERE, compare=False, repr=False)


class Operator(StrEnum):
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"
    EQUAL = "=="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    AND = "and"
    OR = "or"


class Function(StrEnum):
    MIN = "min"
    MAX = "max"
    ABS = "abs"
    ROUND = "round"


@dataclass(frozen=True, slots=True)
class NumberLiteral(Located):
    value: Fraction


@dataclass(frozen=True, slots=True)
class TextLiteral(Located):
    value: str


@dataclass(frozen=True, slots=True)
class TruthLiteral(Located):
    value: bool


@dataclass(frozen=True, slots=True)
class DurationLiteral(Located):
    """A literal such as `90 days`, in microseconds."""

    microseconds: Fraction


@dataclass(frozen=True, slots=True)
class InstantLiteral(Located):
    """A literal date or date and time, as UTC microseconds."""

    ts_us: int


@dataclass(frozen=True, slots=True)
class Name(Located):
    """An attribute of the event, or a variable of the formula."""

    name: str


@dataclass(frozen=True, slots=True)
class Negate(Located):
    """Arithmetic minus."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Not(Located):
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Located):
    """Arithmetic, comparison or logic on two operands."""

    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class OneOf(Located):
    """`operand in (choice, …)`; the choices are literals."""

    operand: Expression
    choices: tuple[AnyLiteral, ...]


@dataclass(frozen=True, slots=True)
class IsMissing(Located):
    operand: Expression


@dataclass(frozen=True, slots=True)
class Choose(Located):
    """`condition ? then : otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Apply(Located):
    function: Function
    arguments: tuple[Expression, ...]


AnyLiteral = NumberLiteral | TextLiteral | TruthLiteral | DurationLiteral | InstantLiteral
Expression = AnyLiteral | Name | Negate | Not | Binary | OneOf | IsMissing | Choose | Apply


# --- walking through an expression ----------------------------------------------------


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
        if isinstance(node, Binary) and node.operator in (Operator.DIVIDE, Operator.REMAINDER):
            waiting += [(node.left, level), (node.right, level + 1)]
        else:
            waiting.extend((child, level) for child in children(node))
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
