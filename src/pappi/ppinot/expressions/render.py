"""An expression as canonical text, with no more parentheses than it needs.

Reading the text gives the expression back. Two things the grammar has no
literal for are written as the operation that makes them: a negative number
outside a list, and a fraction that has no finite decimal form.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

from pappi.ppinot.expressions.lexer import IDENTIFIER, KEYWORDS
from pappi.ppinot.expressions.nodes import (
    Apply,
    Binary,
    Choose,
    Duration,
    Expression,
    Instant,
    IsMissing,
    Literal,
    Name,
    Negate,
    Not,
    Number,
    OneOf,
    Operator,
    Text,
    Truth,
)
from pappi.values.units import DURATIONS

_CHOOSE, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _ATOM = range(9)

_POWERS = {
    Operator.OR: _OR,
    Operator.AND: _AND,
    Operator.ADD: _SUM,
    Operator.SUBTRACT: _SUM,
    Operator.MULTIPLY: _PRODUCT,
    Operator.DIVIDE: _PRODUCT,
    Operator.REMAINDER: _PRODUCT,
}
_UNREADABLE = KEYWORDS | {"null", "none", "nil", "nan", "na"}
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t"})
# Days are the largest: more people think in 28 days than in 4 weeks.
_UNITS = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def render(expression: Expression) -> str:
    """
    >>> from pappi.ppinot.expressions.parser import parse_expression
    >>> render(parse_expression("((a+b)) * 90min>=(1 day) && !(c in ['x'])"))
    '(a + b) * 90 minutes >= 1 day and c not in ("x")'
    """
    text, _ = _render(expression)
    return text


def quote_text(text: str) -> str:
    """A text as the grammar reads it back."""
    return '"' + text.translate(_ESCAPES).replace('"', '\\"') + '"'


def _within(expression: Expression, loosest: int) -> str:
    """The text of an operand, in parentheses if it binds more loosely than `loosest`."""
    text, power = _render(expression)
    return text if power >= loosest else f"({text})"


def _render(expression: Expression) -> tuple[str, int]:
    match expression:
        case Name():
            return _name(expression.name), _ATOM
        case Negate():
            return "-" + _within(expression.operand, _SIGN), _SIGN
        case Not():
            return _negation(expression.operand)
        case Binary():
            return _binary(expression)
        case OneOf():
            return _membership(expression, "in"), _COMPARISON
        case IsMissing():
            return _within(expression.operand, _SUM) + " is missing", _COMPARISON
        case Choose():
            return _choice(expression), _CHOOSE
        case Apply():
            arguments = ", ".join(map(render, expression.arguments))
            return f"{expression.function}({arguments})", _ATOM
        case _:
            return _literal(expression)


def _negation(operand: Expression) -> tuple[str, int]:
    match operand:
        case OneOf():
            return _membership(operand, "not in"), _COMPARISON
        case IsMissing():
            return _within(operand.operand, _SUM) + " is not missing", _COMPARISON
        case _:
            return "not " + _within(operand, _NOT), _NOT


def _binary(expression: Binary) -> tuple[str, int]:
    power = _POWERS.get(expression.operator, _COMPARISON)
    # Comparisons do not chain, so their left operand must bind tighter as well.
    left = _within(expression.left, power + 1 if power == _COMPARISON else power)
    right = _within(expression.right, power + 1)
    return f"{left} {expression.operator} {right}", power


def _membership(expression: OneOf, word: str) -> str:
    choices = ", ".join(_literal(choice)[0] for choice in expression.choices)
    return f"{_within(expression.operand, _SUM)} {word} ({choices})"


def _choice(expression: Choose) -> str:
    condition = _within(expression.condition, _OR)
    return f"{condition} ? {render(expression.then)} : {render(expression.otherwise)}"


def _literal(literal: Literal) -> tuple[str, int]:
    match literal:
        case Number():
            return _number(literal.value)
        case Duration():
            return _duration(literal.microseconds)
        case Text():
            return quote_text(literal.value), _ATOM
        case Truth():
            return ("true" if literal.value else "false"), _ATOM
        case Instant():
            return _instant(literal.ts_us), _ATOM


def _name(name: str) -> str:
    if IDENTIFIER.fullmatch(name) and name.lower() not in _UNREADABLE:
        return name
    return "`" + name.translate(_ESCAPES).replace("`", "\\`") + "`"


def _number(value: Fraction) -> tuple[str, int]:
    decimal = _decimal(abs(value))
    if decimal is None:
        return f"{value.numerator} / {value.denominator}", _PRODUCT
    return (decimal, _ATOM) if value >= 0 else (f"-{decimal}", _SIGN)


def _duration(microseconds: Fraction) -> tuple[str, int]:
    unit = _largest_whole_unit(microseconds)
    count = microseconds / DURATIONS[unit]
    word = unit.removesuffix("s") if abs(count) == 1 else unit
    decimal = _decimal(abs(count))
    if decimal is None:
        return f"{count.numerator} {unit} / {count.denominator}", _PRODUCT
    return (f"{decimal} {word}", _ATOM) if count >= 0 else (f"-{decimal} {word}", _SIGN)


def _largest_whole_unit(microseconds: Fraction) -> str:
    if microseconds == 0:
        return "seconds"
    whole = (unit for unit in _UNITS if (microseconds / DURATIONS[unit]).denominator == 1)
    return next(whole, "microseconds")


def _decimal(value: Fraction) -> str | None:
    """The finite decimal form of a fraction, if it has one."""
    rest, places = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    if rest != 1:
        return None
    digits = str(value.numerator * 10**places // value.denominator).zfill(places + 1)
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def _instant(ts_us: int) -> str:
    moment = _EPOCH + timedelta(microseconds=ts_us)
    text = moment.replace(tzinfo=None).isoformat()
    return text.removesuffix("T00:00:00") if text.endswith("T00:00:00") else text + "Z"
