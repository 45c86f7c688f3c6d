"""The value of a formula over values that are already known.

Total: every expression has a value for every input, and None is the missing
one. Missing spreads through arithmetic, makes a comparison false and counts as
false where a truth value is needed; so does what has no value (a division by
zero, an overflow). Durations and points in time are microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from pappi.ppinot.expressions.nodes import (
    Apply,
    Binary,
    Choose,
    Duration,
    Expression,
    Function,
    Instant,
    IsMissing,
    Literal,
    Name,
    Negate,
    Not,
    Number,
    OneOf,
    Operator,
)

Value = float | bool | str | None
Values = Mapping[str, Value]


def evaluate(expression: Expression, values: Values) -> Value:
    """The value of an expression; a name without a value is missing.

    >>> from pappi.ppinot.expressions.parser import parse_expression
    >>> evaluate(parse_expression("100 * a / b"), {"a": 1, "b": 4})
    25.0
    >>> evaluate(parse_expression("a / b"), {"a": 1, "b": 0}) is None
    True
    """
    match expression:
        case Name():
            return _finite(values.get(expression.name))
        case Negate():
            return _calculate(lambda a: -a, evaluate(expression.operand, values))
        case Not():
            return evaluate(expression.operand, values) is not True
        case Binary():
            return _binary(expression, values)
        case OneOf():
            operand = evaluate(expression.operand, values)
            return any(_same(operand, _literal(choice)) for choice in expression.choices)
        case IsMissing():
            return evaluate(expression.operand, values) is None
        case Choose():
            chosen = evaluate(expression.condition, values) is True
            return evaluate(expression.then if chosen else expression.otherwise, values)
        case Apply():
            arguments = [evaluate(argument, values) for argument in expression.arguments]
            return _apply(expression.function, arguments)
        case _:
            return _literal(expression)


def divide(a: float, b: float) -> float:
    return a / b if b else math.nan


def remainder(a: float, b: float) -> float:
    """What is left of `a`, with its sign, as SQL and Java have it: -7 % 3 is -1."""
    return math.fmod(a, b) if b else math.nan


def round_half_away(a: float, *_: float) -> float:
    """To the nearest whole number, halves away from zero, as SQL has it."""
    whole = float(math.trunc(a))
    return whole if abs(a - whole) < 0.5 else whole + math.copysign(1, a)


_FUNCTIONS: dict[Function, Callable[..., float]] = {
    Function.MIN: lambda *values: min(values),
    Function.MAX: lambda *values: max(values),
    Function.ABS: lambda a, *_: abs(a),
    Function.ROUND: round_half_away,
}

_ARITHMETIC: dict[Operator, Callable[[float, float], float]] = {
    Operator.ADD: lambda a, b: a + b,
    Operator.SUBTRACT: lambda a, b: a - b,
    Operator.MULTIPLY: lambda a, b: a * b,
    Operator.DIVIDE: divide,
    Operator.REMAINDER: remainder,
}

_ORDER: dict[Operator, Callable[[float, float], bool]] = {
    Operator.LESS: lambda a, b: a < b,
    Operator.AT_MOST: lambda a, b: a <= b,
    Operator.GREATER: lambda a, b: a > b,
    Operator.AT_LEAST: lambda a, b: a >= b,
}


def _binary(expression: Binary, values: Values) -> Value:
    left, right = evaluate(expression.left, values), evaluate(expression.right, values)
    match expression.operator:
        case Operator.AND:
            return left is True and right is True
        case Operator.OR:
            return left is True or right is True
        case Operator.EQUAL:
            return _same(left, right)
        case Operator.UNEQUAL:
            return _comparable(left, right) and left != right
        case operator if operator in _ORDER:
            a, b = _number(left), _number(right)
            return a is not None and b is not None and _ORDER[operator](a, b)
        case operator:
            return _calculate(_ARITHMETIC[operator], left, right)


def _apply(function: Function, arguments: list[Value]) -> float | None:
    """`min` and `max` are of the values that are present, as in SQL."""
    if function in (Function.MIN, Function.MAX):
        arguments = [value for value in arguments if value is not None]
    return _calculate(_FUNCTIONS[function], *arguments)


def _calculate(function: Callable[..., float], *operands: Value) -> float | None:
    """A function of numbers: missing if one is, or if the result is no finite number."""
    numbers = [number for number in map(_number, operands) if number is not None]
    if len(numbers) < len(operands) or not numbers:
        return None
    result = function(*numbers)
    return result if math.isfinite(result) else None


def _number(value: Value) -> float | None:
    return value if isinstance(value, float) else None


def _same(left: Value, right: Value) -> bool:
    return _comparable(left, right) and left == right


def _comparable(left: Value, right: Value) -> bool:
    return left is not None and type(left) is type(right)


def _literal(literal: Literal) -> Value:
    match literal:
        case Number():
            return _finite(literal.value)
        case Duration():
            return _finite(literal.microseconds)
        case Instant():
            return float(literal.ts_us)
        case _:
            return literal.value


def _finite(value: Value | Fraction) -> Value:
    """The value, with numbers as floats and what no finite float can hold as missing."""
    if value is None or isinstance(value, bool | str):
        return value
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
