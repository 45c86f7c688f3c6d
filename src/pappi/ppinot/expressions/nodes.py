"""The abstract syntax of expressions.

Positions take part in error messages, never in equality: the same expression
written in two places is one expression.
"""

from __future__ import annotations

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
class Number(Located):
    value: Fraction


@dataclass(frozen=True, slots=True)
class Text(Located):
    value: str


@dataclass(frozen=True, slots=True)
class Truth(Located):
    value: bool


@dataclass(frozen=True, slots=True)
class Duration(Located):
    """A literal such as `90 days`, in microseconds."""

    microseconds: Fraction


@dataclass(frozen=True, slots=True)
class Instant(Located):
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
    choices: tuple[Literal, ...]


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


Literal = Number | Text | Truth | Duration | Instant
Expression = Literal | Name | Negate | Not | Binary | OneOf | IsMissing | Choose | Apply
