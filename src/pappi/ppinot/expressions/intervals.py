"""The range of a formula whose variables lie in known ranges.

Interval arithmetic with the very floating-point operations `evaluate` uses.
Each of them is monotone, rounding included, so every value `evaluate` can give
lies inside the bound, without slack. The bound may be wider than the true
range: a variable that occurs twice is treated as two.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from pappi.ppinot.expressions.evaluate import divide, evaluate, round_half_away
from pappi.ppinot.expressions.nodes import (
    Apply,
    Binary,
    Choose,
    Expression,
    Function,
    IsMissing,
    Name,
    Negate,
    Not,
    OneOf,
    Operator,
)

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

    >>> from pappi.ppinot.expressions.parser import parse_expression
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
            operand = _settled(_span(expression.operand, names))
            return _Span(1 - operand.high, 1 - operand.low)
        case Binary():
            return _binary(expression, names)
        case OneOf():
            operand = _span(expression.operand, names)
            equal = (_equal(operand, _span(choice, names)) for choice in expression.choices)
            return _any(equal)
        case IsMissing():
            return _EITHER if _span(expression.operand, names).gaps else _FALSE
        case Choose():
            return _choose(expression, names)
        case Apply():
            return _apply(expression, names)
        case _:
            return _literal(expression)


def _literal(expression: Expression) -> _Span:
    value = evaluate(expression, {})
    if value is None or isinstance(value, str):
        return replace(_ANYTHING, gaps=value is None)
    return _Span(float(value), float(value))


def _binary(expression: Binary, names: Mapping[str, _Span]) -> _Span:
    left, right = _span(expression.left, names), _span(expression.right, names)
    match expression.operator:
        case Operator.AND:
            left, right = _settled(left), _settled(right)
            return _Span(min(left.low, right.low), min(left.high, right.high))
        case Operator.OR:
            return _any([_settled(left), _settled(right)])
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


# --- truth values ---------------------------------------------------------------------


def _settled(truth: _Span) -> _Span:
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


def _choose(expression: Choose, names: Mapping[str, _Span]) -> _Span:
    condition = _settled(_span(expression.condition, names))
    possible = []
    if condition.high == 1:
        possible.append(_span(expression.then, names))
    if condition.low == 0:
        possible.append(_span(expression.otherwise, names))
    return _hull(possible)


def _hull(spans: list[_Span]) -> _Span:
    return _Span(
        min(span.low for span in spans),
        max(span.high for span in spans),
        any(span.gaps for span in spans),
    )


# --- numbers --------------------------------------------------------------------------


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


def _apply(expression: Apply, names: Mapping[str, _Span]) -> _Span:
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
            return _absolute(spans[0])
        case Function.ROUND:
            return _Span(_rounded(lows[0]), _rounded(highs[0]), gaps)


def _absolute(span: _Span) -> _Span:
    ends = (abs(span.low), abs(span.high))
    least = 0.0 if span.low <= 0 <= span.high else min(ends)
    return _Span(least, max(ends), span.gaps)


def _rounded(value: float) -> float:
    return value if math.isinf(value) else round_half_away(value)
