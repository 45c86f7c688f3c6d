"""Expressions as Java can read them too, as far as it can.

Java PPINOT evaluates MVEL, whose logic is written && || !; the grammar here reads these as well
as the words. What only the grammar here has (`in (…)`, `is missing`, `90 days`) stays as it is.
"""

from __future__ import annotations

from pappi.errors import UsageError
from pappi.ppinot.expressions.nodes import (
    Binary,
    Choose,
    Expression,
    IsMissing,
    Not,
    OneOf,
    Operator,
)
from pappi.ppinot.expressions.parser import MAX_DEPTH
from pappi.ppinot.expressions.render import render
from pappi.ppinot.expressions.walk import height

_LOGIC = {Operator.AND: "&&", Operator.OR: "||"}


def expression_text(expression: Expression) -> str:
    """
    >>> from pappi.ppinot.expressions.parser import parse_expression
    >>> expression_text(parse_expression("a and not (b == 1 or c is missing)"))
    'a && !(b == 1 || c is missing)'
    """
    require_readable(expression)
    return _text(expression)


def require_readable(expression: Expression) -> None:
    """UsageError for an expression, made by a program, that the grammar could not read."""
    if height(expression) > MAX_DEPTH:
        raise UsageError(f"an expression is more than {MAX_DEPTH} operations deep")


def _text(expression: Expression) -> str:
    match expression:
        case Not(OneOf() | IsMissing()):
            return render(expression)
        case Not(operand):
            return f"!({_text(operand)})"
        case Binary(Operator.AND | Operator.OR as operator, left, right):
            first, second = _operand(left, operator), _operand(right, operator, is_second=True)
            return f"{first} {_LOGIC[operator]} {second}"
        case Choose(condition, then, otherwise):
            return f"{_operand(condition)} ? {_text(then)} : {_text(otherwise)}"
        case _:
            return render(expression)


def _operand(
    expression: Expression, operator: Operator | None = None, *, is_second: bool = False
) -> str:
    """An operand of logic, in parentheses where it would be read as something else."""
    text = _text(expression)
    match expression:
        case Choose():
            return f"({text})"
        case Binary(inner, _, _) if inner in _LOGIC and operator is not None:
            looser = inner is Operator.OR and operator is Operator.AND
            again = is_second and inner is operator
            return f"({text})" if looser or again else text
        case _:
            return text
