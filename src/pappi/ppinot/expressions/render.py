"""An expression as canonical text, with no more parentheses than it needs.

Reading the text gives the expression back. Two things the grammar has no
literal for are written as the operation that makes them: a negative number
outside a list, and a fraction that has no finite decimal form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from pappi.ppinot.expressions.nodes import (
    AnyLiteral,
    Apply,
    Binary,
    Choose,
    DurationLiteral,
    Expression,
    InstantLiteral,
    IsMissing,
    Name,
    Negate,
    Not,
    NumberLiteral,
    OneOf,
    Operator,
    TextLiteral,
    TruthLiteral,
)
from pappi.ppinot.expressions.parser import IDENTIFIER, KEYWORDS, NOTHING
from pappi.values import DURATIONS

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
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t"})
# Days are the largest: more people think in 28 days than in 4 weeks.
UNITS = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Logic:
    """How logic is written. Java's signs bind more tightly than words, so `!` takes brackets."""

    words: Mapping[Operator, str]
    negation: str


WORDS = Logic({}, "not ")
SIGNS = Logic({Operator.AND: "&&", Operator.OR: "||"}, "!")
"""As MVEL has it, which Java PPINOT evaluates; the grammar here reads both."""


def render(expression: Expression, logic: Logic = WORDS) -> str:
    """
    >>> from pappi.ppinot.expressions.parser import parse_expression
    >>> render(parse_expression("((a+b)) * 90min>=(1 day) && !(c in ['x'])"))
    '(a + b) * 90 minutes >= 1 day and c not in ("x")'
    >>> render(parse_expression("a and not (b == 1 or c is missing)"), SIGNS)
    'a && !(b == 1 || c is missing)'
    """
    text, _ = _render(expression, logic)
    return text


def quote_text(text: str) -> str:
    """A text as the grammar reads it back."""
    return '"' + text.translate(_ESCAPES).replace('"', '\\"') + '"'


def _within(expression: Expression, loosest: int, logic: Logic) -> str:
    """The text of an operand, in parentheses if it binds more loosely than `loosest`."""
    text, power = _render(expression, logic)
    return text if power >= loosest else f"({text})"


def _render(expression: Expression, logic: Logic) -> tuple[str, int]:
    match expression:
        case Name():
            return _name(expression.name), _ATOM
        case Negate():
            return "-" + _within(expression.operand, _SIGN, logic), _SIGN
        case Not():
            return _negation(expression.operand, logic)
        case Binary(operator, left, right):
            power = _POWERS.get(operator, _COMPARISON)
            # Comparisons do not chain, so their left operand must bind tighter as well.
            first = _within(left, power + (power == _COMPARISON), logic)
            word = logic.words.get(operator, operator)
            return f"{first} {word} {_within(right, power + 1, logic)}", power
        case OneOf():
            return _membership(expression, "in", logic), _COMPARISON
        case IsMissing():
            return _within(expression.operand, _SUM, logic) + " is missing", _COMPARISON
        case Choose():
            condition = _within(expression.condition, _OR, logic)
            then, otherwise = (render(it, logic) for it in (expression.then, expression.otherwise))
            return f"{condition} ? {then} : {otherwise}", _CHOOSE
        case Apply():
            arguments = ", ".join(render(argument, logic) for argument in expression.arguments)
            return f"{expression.function}({arguments})", _ATOM
        case _:
            return _literal(expression)


def _negation(operand: Expression, logic: Logic) -> tuple[str, int]:
    match operand:
        case OneOf():
            return _membership(operand, "not in", logic), _COMPARISON
        case IsMissing():
            return _within(operand.operand, _SUM, logic) + " is not missing", _COMPARISON
        case _ if logic is SIGNS:
            return f"{logic.negation}({render(operand, logic)})", _NOT
        case _:
            return logic.negation + _within(operand, _NOT, logic), _NOT


def _membership(expression: OneOf, word: str, logic: Logic) -> str:
    choices = ", ".join(_literal(choice)[0] for choice in expression.choices)
    return f"{_within(expression.operand, _SUM, logic)} {word} ({choices})"


def _literal(literal: AnyLiteral) -> tuple[str, int]:
    match literal:
        case NumberLiteral():
            return _number(literal.value)
        case DurationLiteral():
            unit = whole_unit(literal.microseconds)
            return _number(literal.microseconds / DURATIONS[unit], f" {unit}")
        case TextLiteral():
            return quote_text(literal.value), _ATOM
        case TruthLiteral():
            return ("true" if literal.value else "false"), _ATOM
        case InstantLiteral():
            return _instant(literal.ts_us), _ATOM


def _name(name: str) -> str:
    if IDENTIFIER.fullmatch(name) and name.lower() not in KEYWORDS | NOTHING:
        return name
    return "`" + name.translate(_ESCAPES).replace("`", "\\`") + "`"


def _number(value: Fraction, unit: str = "") -> tuple[str, int]:
    places = decimal_places(value)
    if places is None:
        return f"{value.numerator}{unit} / {value.denominator}", _PRODUCT
    digits = str(abs(value.numerator) * 10**places // value.denominator).zfill(places + 1)
    decimal = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    word = unit.removesuffix("s") if abs(value) == 1 else unit
    return (decimal + word, _ATOM) if value >= 0 else (f"-{decimal}{word}", _SIGN)


def whole_unit(microseconds: Fraction) -> str:
    """The largest unit of time of which a duration is a whole number."""
    whole = (unit for unit in UNITS if (microseconds / DURATIONS[unit]).denominator == 1)
    return next(whole, "microseconds") if microseconds else "seconds"


def decimal_places(value: Fraction) -> int | None:
    """How many digits a number has after its point; None if they never end.

    >>> decimal_places(Fraction(1, 8)), decimal_places(Fraction(1, 3))
    (3, None)
    """
    rest, places = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    return places if rest == 1 else None


def _instant(ts_us: int) -> str:
    moment = _EPOCH + timedelta(microseconds=ts_us)
    text = moment.replace(tzinfo=None).isoformat()
    return text.removesuffix("T00:00:00") if text.endswith("T00:00:00") else text + "Z"
