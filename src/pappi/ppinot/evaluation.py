"""The value of a formula: `evaluate` over known values, `bound` over values in known ranges.

Total: every expression has a value for every input, and None is the missing
one. Missing spreads through arithmetic, makes a comparison false and counts as
false where a truth value is needed; so does what has no value (a division by
zero, an overflow). Durations and points in time are microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from pappi.ppinot.expressions import (
    AnyLiteral,
    Apply,
    Binary,
    Choose,
    DurationLiteral,
    Expression,
    Function,
    InstantLiteral,
    IsMissing,
    Name,
    Negate,
    Not,
    NumberLiteral,
    OneOf,
    Operator,
)

Value = float | bool | str | None
ValuesByName = Mapping[str, Value]


def evaluate(expression: Expression, values: ValuesByName) -> Value:
    """The value of an expression; a name without a value is missing.

    >>> from pappi.ppinot.grammar import parse_expression
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


def _binary(expression: Binary, values: ValuesByName) -> Value:
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


def _literal(literal: AnyLiteral) -> Value:
    match literal:
        case NumberLiteral():
            return _finite(literal.value)
        case DurationLiteral():
            return _finite(literal.microseconds)
        case InstantLiteral():
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


# --- ranges ---------------------------------------------------------------------------
#
# Interval arithmetic with the very floating-point operations `evaluate` uses.
# Each of them is monotone, rounding included, so every value `evaluate` can give
# lies inside the bound, without slack. The bound may be wider than the true
# range: a variable that occurs twice is treated as two.


Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class _Span:
    """All values between low and high; truth values are 0 and 1.

    `gaps` says that the value may be missing, which makes comparisons false.
    """

    low: float
    high: float
    gaps: bool = False


_ANYTHING = _Span(-math.inf, math.inf, gaps=True)
_FALSE, _TRUE, _EITHER = _Span(0, 0), _Span(1, 1), _Span(0, 1)


def bound(
    expression: Expression, ranges: Ranges, may_be_missing: Collection[str] = ()
) -> tuple[float, float]:
    """Where the value of an expression lies whenever it has one.

    A name with a range is taken to have a value unless `may_be_missing` lists
    it; a name without a range may be anything. A truth value is 0 or 1.

    >>> from pappi.ppinot.grammar import parse_expression
    >>> bound(parse_expression("100 * a / b"), {"a": (0, 1), "b": (1, 2)})
    (0.0, 100.0)
    """
    spans = {
        name: _Span(float(low), float(high), gaps=name in may_be_missing)
        for name, (low, high) in ranges.items()
    }
    span = _span(expression, spans)
    return span.low, span.high


def _span(expression: Expression, names: Mapping[str, _Span]) -> _Span:
    match expression:
        case Name():
            return names.get(expression.name, _ANYTHING)
        case Negate():
            operand = _span(expression.operand, names)
            return _Span(-operand.high, -operand.low, operand.gaps)
        case Not():
            operand = _as_truth(_span(expression.operand, names))
            return _Span(1 - operand.high, 1 - operand.low)
        case Binary():
            return _binary_span(expression, names)
        case OneOf():
            operand = _span(expression.operand, names)
            return _any(_equal(operand, _span(choice, names)) for choice in expression.choices)
        case IsMissing():
            return _EITHER if _span(expression.operand, names).gaps else _FALSE
        case Choose():
            condition = _as_truth(_span(expression.condition, names))
            sides = [expression.then] * (condition.high == 1)
            sides += [expression.otherwise] * (condition.low == 0)
            spans = [_span(side, names) for side in sides]
            low, high = min(span.low for span in spans), max(span.high for span in spans)
            return _Span(low, high, any(span.gaps for span in spans))
        case Apply():
            return _applied_span(expression, names)
        case _:
            value = _literal(expression)
            if value is None or isinstance(value, str):
                return replace(_ANYTHING, gaps=value is None)
            return _Span(float(value), float(value))


def _binary_span(expression: Binary, names: Mapping[str, _Span]) -> _Span:
    left, right = _span(expression.left, names), _span(expression.right, names)
    match expression.operator:
        case Operator.AND:
            left, right = _as_truth(left), _as_truth(right)
            return _Span(min(left.low, right.low), min(left.high, right.high))
        case Operator.OR:
            return _any([_as_truth(left), _as_truth(right)])
        case Operator.EQUAL:
            return _equal(left, right)
        case Operator.UNEQUAL:
            equal = _equal(left, right)
            return _unsure_if_missing(_Span(1 - equal.high, 1 - equal.low), left, right)
        case Operator.LESS | Operator.AT_MOST:
            return _less(left, right, or_equal=expression.operator is Operator.AT_MOST)
        case Operator.GREATER | Operator.AT_LEAST:
            return _less(right, left, or_equal=expression.operator is Operator.AT_LEAST)
        case operator:
            return _arithmetic(operator, left, right)


# Truth values.


def _as_truth(truth: _Span) -> _Span:
    """A truth value where one is needed: a missing one counts as false."""
    certain = truth.low == truth.high == 1 and not truth.gaps
    possible = truth.low <= 1 <= truth.high
    return _TRUE if certain else _EITHER if possible else _FALSE


def _any(truths: Iterable[_Span]) -> _Span:
    known = list(truths)
    return _Span(max(truth.low for truth in known), max(truth.high for truth in known))


def _unsure_if_missing(truth: _Span, left: _Span, right: _Span) -> _Span:
    return _Span(0, truth.high) if left.gaps or right.gaps else truth


def _equal(left: _Span, right: _Span) -> _Span:
    if left.high < right.low or right.high < left.low:
        return _FALSE
    certain = left.low == left.high == right.low == right.high
    return _unsure_if_missing(_TRUE if certain else _EITHER, left, right)


def _less(left: _Span, right: _Span, *, or_equal: bool) -> _Span:
    always = left.high < right.low or (or_equal and left.high == right.low)
    never = left.low > right.high or (not or_equal and left.low == right.high)
    if never:
        return _FALSE
    return _unsure_if_missing(_TRUE if always else _EITHER, left, right)


# Numbers.


def _arithmetic(operator: Operator, left: _Span, right: _Span) -> _Span:
    gaps = left.gaps or right.gaps
    match operator:
        case Operator.ADD:
            return _enclosing([left.low + right.low, left.high + right.high], gaps=gaps)
        case Operator.SUBTRACT:
            return _enclosing([left.low - right.high, left.high - right.low], gaps=gaps)
        case Operator.MULTIPLY:
            return _enclosing([_product(a, b) for a, b in _corners(left, right)], gaps=gaps)
        case Operator.DIVIDE if right.low > 0 or right.high < 0:
            return _enclosing([_quotient(a, b) for a, b in _corners(left, right)], gaps=gaps)
        case Operator.REMAINDER:
            return _remainder(left, right)
        case _:
            return _ANYTHING


def _corners(left: _Span, right: _Span) -> list[tuple[float, float]]:
    return [(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]


def _enclosing(values: list[float], *, gaps: bool) -> _Span:
    """From the least to the greatest; what overflows is missing when evaluated."""
    if any(map(math.isnan, values)):
        return _ANYTHING
    low, high = min(values), max(values)
    return _Span(low, high, gaps or math.isinf(low) or math.isinf(high))


def _product(a: float, b: float) -> float:
    # An infinite end stands for arbitrarily large finite values: 0 times those is 0.
    return 0.0 if a == 0 or b == 0 else a * b


def _quotient(a: float, b: float) -> float:
    # Dividing ever larger values by ever larger ones can come near any value from 0 on.
    return 0.0 if math.isinf(b) else divide(a, b)


def _remainder(left: _Span, right: _Span) -> _Span:
    """Between 0 and the dividend, and smaller than the divisor."""
    reach = max(abs(right.low), abs(right.high))
    low, high = max(min(left.low, 0.0), -reach), min(max(left.high, 0.0), reach)
    divides = right.low > 0 or right.high < 0
    return _Span(low, high, left.gaps or right.gaps or not divides)


def _applied_span(expression: Apply, names: Mapping[str, _Span]) -> _Span:
    spans = [_span(argument, names) for argument in expression.arguments]
    gaps = any(span.gaps for span in spans)
    lows, highs = [span.low for span in spans], [span.high for span in spans]
    match expression.function:
        case Function.MIN:
            surely = [span.high for span in spans if not span.gaps]
            return _Span(min(lows), min(surely, default=max(highs)), not surely)
        case Function.MAX:
            surely = [span.low for span in spans if not span.gaps]
            return _Span(max(surely, default=min(lows)), max(highs), not surely)
        case Function.ABS:
            ends = abs(lows[0]), abs(highs[0])
            return _Span(0.0 if lows[0] <= 0 <= highs[0] else min(ends), max(ends), gaps)
        case Function.ROUND:
            return _Span(_rounded(lows[0]), _rounded(highs[0]), gaps)


def _rounded(value: float) -> float:
    return value if math.isinf(value) else round_half_away(value)
