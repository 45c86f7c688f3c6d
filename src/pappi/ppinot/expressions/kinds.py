"""What kind of value an expression has, found without evaluating anything.

A kind of None is unknown (an attribute of a log whose vocabulary is not at
hand): it is accepted anywhere, and most of what is made from it is unknown too.
"""

from __future__ import annotations

from collections.abc import Mapping

from pappi.errors import Position, Problem
from pappi.ppinot.expressions.nodes import (
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
    TextLiteral,
    TruthLiteral,
)
from pappi.values import CONTROL, Kind, did_you_mean, listed, quoted

KindsByName = Mapping[str, Kind | None]

_LITERALS: dict[type[Expression], Kind] = {
    NumberLiteral: Kind.NUMBER,
    TextLiteral: Kind.TEXT,
    TruthLiteral: Kind.TRUTH,
    DurationLiteral: Kind.DURATION,
    InstantLiteral: Kind.TIME,
}

_ARITHMETIC: dict[tuple[Operator, Kind, Kind], Kind] = {
    (Operator.ADD, Kind.NUMBER, Kind.NUMBER): Kind.NUMBER,
    (Operator.ADD, Kind.DURATION, Kind.DURATION): Kind.DURATION,
    (Operator.ADD, Kind.TIME, Kind.DURATION): Kind.TIME,
    (Operator.ADD, Kind.DURATION, Kind.TIME): Kind.TIME,
    (Operator.SUBTRACT, Kind.NUMBER, Kind.NUMBER): Kind.NUMBER,
    (Operator.SUBTRACT, Kind.DURATION, Kind.DURATION): Kind.DURATION,
    (Operator.SUBTRACT, Kind.TIME, Kind.TIME): Kind.DURATION,
    (Operator.SUBTRACT, Kind.TIME, Kind.DURATION): Kind.TIME,
    (Operator.MULTIPLY, Kind.NUMBER, Kind.NUMBER): Kind.NUMBER,
    (Operator.MULTIPLY, Kind.DURATION, Kind.NUMBER): Kind.DURATION,
    (Operator.MULTIPLY, Kind.NUMBER, Kind.DURATION): Kind.DURATION,
    (Operator.DIVIDE, Kind.NUMBER, Kind.NUMBER): Kind.NUMBER,
    (Operator.DIVIDE, Kind.DURATION, Kind.NUMBER): Kind.DURATION,
    (Operator.DIVIDE, Kind.DURATION, Kind.DURATION): Kind.NUMBER,
    (Operator.REMAINDER, Kind.NUMBER, Kind.NUMBER): Kind.NUMBER,
    (Operator.REMAINDER, Kind.DURATION, Kind.DURATION): Kind.DURATION,
}

_VERBS = {
    Operator.ADD: "{left} and {right} cannot be added",
    Operator.SUBTRACT: "{right} cannot be subtracted from {left}",
    Operator.MULTIPLY: "{left} cannot be multiplied by {right}",
    Operator.DIVIDE: "{left} cannot be divided by {right}",
    Operator.REMAINDER: "{left} has no remainder by {right}",
}

_HINTS = {
    frozenset({Kind.NUMBER, Kind.DURATION}): "give the number a unit of time, as in 24 hours",
    frozenset({Kind.TEXT, Kind.TIME}): "write a date without quotes, as in 2014-01-31",
    frozenset({Kind.TEXT, Kind.NUMBER}): "write a number without quotes",
    frozenset({Kind.TRUTH, Kind.NUMBER}): "to count a condition c as 1 or 0, write (c ? 1 : 0)",
}
_EQUALITY = (Operator.EQUAL, Operator.UNEQUAL)
_LOGIC = (Operator.AND, Operator.OR)
_QUANTITIES = (Kind.NUMBER, Kind.DURATION)
_ORDERED = (Kind.NUMBER, Kind.DURATION, Kind.TIME)
_TAKES = {
    Function.ABS: _QUANTITIES,
    Function.ROUND: (Kind.NUMBER,),
    Function.MIN: _ORDERED,
    Function.MAX: _ORDERED,
}

_WITH_ARTICLE = {
    Kind.NUMBER: "a number",
    Kind.TEXT: "a text",
    Kind.TRUTH: "a truth value",
    Kind.DURATION: "a duration",
    Kind.TIME: "a point in time",
}


def kind_of(
    expression: Expression, names: KindsByName, noun: str = "name"
) -> tuple[Kind | None, list[Problem]]:
    """The kind of an expression over the given names, and everything wrong with it.

    `noun` is what a name is called in messages: an attribute, a variable.
    """
    finder = _Finder(names, noun)
    return finder.find(expression), finder.problems


def with_article(kind: Kind) -> str:
    """A kind as it stands in a sentence: "a duration"."""
    return _WITH_ARTICLE[kind]


def mismatch_hint(left: Kind, right: Kind) -> str:
    """What is usually meant when two kinds meet that do not go together."""
    return _HINTS.get(frozenset({left, right}), "")


class _Finder:
    def __init__(self, names: KindsByName, noun: str) -> None:
        self._names = names
        self._noun = noun
        self.problems: list[Problem] = []

    def _report(self, position: Position, message: str, hint: str = "") -> None:
        self.problems.append(Problem(position, message, hint))

    def find(self, expression: Expression) -> Kind | None:
        match expression:
            case Name():
                return self._name(expression)
            case Negate():
                return self._among(expression.operand, _QUANTITIES, "a minus needs")
            case Not():
                return self._truth(expression.operand, "'not' needs")
            case Binary():
                return self._binary(expression)
            case OneOf():
                return self._one_of(expression)
            case IsMissing():
                self.find(expression.operand)
                return Kind.TRUTH
            case Choose():
                return self._choose(expression)
            case Apply():
                return self._apply(expression)
            case TextLiteral() if CONTROL.search(expression.value):
                # Half a character is nothing that a database, or any notation, could take.
                self._report(expression.position, "this text contains a control character")
                return Kind.TEXT
            case _:
                return _LITERALS[type(expression)]

    def _name(self, name: Name) -> Kind | None:
        if name.name in self._names:
            return self._names[name.name]
        known = f"known here: {listed(self._names, 'and')}" if self._names else ""
        hint = did_you_mean(name.name, self._names, known)
        self._report(name.position, f"unknown {self._noun} {quoted(name.name)}", hint)
        return None

    def _among(self, operand: Expression, kinds: tuple[Kind, ...], need: str) -> Kind | None:
        """The kind of an operand that has to be one of `kinds`."""
        kind = self.find(operand)
        if kind is None or kind in kinds:
            return kind
        wanted = " or ".join(map(with_article, kinds))
        self._report(operand.position, f"{need} {wanted}, but this is {with_article(kind)}")
        return None

    def _truth(self, operand: Expression, need: str) -> Kind:
        self._among(operand, (Kind.TRUTH,), need)
        return Kind.TRUTH

    def _binary(self, expression: Binary) -> Kind | None:
        if expression.operator in _LOGIC:
            need = f"{quoted(expression.operator.value)} needs"
            self._truth(expression.left, need)
            return self._truth(expression.right, need)
        left, right = self.find(expression.left), self.find(expression.right)
        if expression.operator in _VERBS:
            return self._arithmetic(expression, left, right)
        self._alike(expression.position, left, right)
        if expression.operator not in _EQUALITY and (None in (left, right) or left == right):
            for kind in {left, right} & {Kind.TEXT, Kind.TRUTH}:
                message = f"{with_article(kind or Kind.TEXT)} has no order"
                self._report(expression.position, message, "compare it with == or != or in (…)")
        return Kind.TRUTH

    def _arithmetic(self, expression: Binary, left: Kind | None, right: Kind | None) -> Kind | None:
        if left is None or right is None:
            return None
        result = _ARITHMETIC.get((expression.operator, left, right))
        if result is None:
            a, b = with_article(left), with_article(right)
            message = _VERBS[expression.operator].format(left=a, right=b)
            self._report(expression.position, message, mismatch_hint(left, right))
        return result

    def _alike(self, position: Position, left: Kind | None, right: Kind | None) -> None:
        if left is not None and right is not None and left != right:
            message = f"{with_article(left)} cannot be compared with {with_article(right)}"
            self._report(position, message, mismatch_hint(left, right))

    def _one_of(self, expression: OneOf) -> Kind:
        kind = self.find(expression.operand)
        for choice in expression.choices:
            self._alike(choice.position, kind, self.find(choice))
        return Kind.TRUTH

    def _choose(self, expression: Choose) -> Kind | None:
        self._truth(expression.condition, "'?' needs")
        then, otherwise = self.find(expression.then), self.find(expression.otherwise)
        if then is not None and otherwise is not None and then != otherwise:
            kinds = f"{with_article(then)} and {with_article(otherwise)}"
            message = f"both sides of ':' must be of the same kind, not {kinds}"
            self._report(expression.position, message, mismatch_hint(then, otherwise))
            return None
        return then if otherwise is None else otherwise

    def _apply(self, expression: Apply) -> Kind | None:
        name, kinds = f"'{expression.function}'", _TAKES[expression.function]
        takes_one = expression.function in (Function.ABS, Function.ROUND)
        if takes_one and len(expression.arguments) != 1:
            self._report(expression.position, f"{name} takes one value")
        elif not takes_one and len(expression.arguments) < 2:
            self._report(expression.position, f"{name} takes two values or more")
        given = [self._among(value, kinds, f"{name} needs") for value in expression.arguments]
        if takes_one:
            return given[0]
        known = [kind for kind in given if kind is not None]
        for kind in known[1:]:
            self._alike(expression.position, known[0], kind)
        return known[0] if known else None
