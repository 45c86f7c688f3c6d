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
    Duration,
    Expression,
    Function,
    Instant,
    IsMissing,
    Name,
    Negate,
    Not,
    Number,
    OneOf,
    Operator,
    Text,
    Truth,
)
from pappi.ppinot.wording import CONTROL, did_you_mean, listed, quoted
from pappi.values.vocabulary import Kind

Names = Mapping[str, Kind | None]

_LITERALS: dict[type[Expression], Kind] = {
    Number: Kind.NUMBER,
    Truth: Kind.TRUTH,
    Duration: Kind.DURATION,
    Instant: Kind.TIME,
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

_EQUALITY = (Operator.EQUAL, Operator.UNEQUAL)
_LOGIC = (Operator.AND, Operator.OR)
_QUANTITIES = (Kind.NUMBER, Kind.DURATION)
_ORDERED = (Kind.NUMBER, Kind.DURATION, Kind.TIME)

_WITH_ARTICLE = {
    Kind.NUMBER: "a number",
    Kind.TEXT: "a text",
    Kind.TRUTH: "a truth value",
    Kind.DURATION: "a duration",
    Kind.TIME: "a point in time",
}


def kind_of(
    expression: Expression, names: Names, noun: str = "name"
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
    match {left, right}:
        case kinds if kinds == {Kind.NUMBER, Kind.DURATION}:
            return "give the number a unit of time, as in 24 hours"
        case kinds if kinds == {Kind.TEXT, Kind.TIME}:
            return "write a date without quotes, as in 2014-01-31"
        case kinds if kinds == {Kind.TEXT, Kind.NUMBER}:
            return "write a number without quotes"
        case kinds if kinds == {Kind.TRUTH, Kind.NUMBER}:
            return "to count a condition c as 1 or 0, write (c ? 1 : 0)"
        case _:
            return ""


class _Finder:
    def __init__(self, names: Names, noun: str) -> None:
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
            case Text():
                return self._text(expression)
            case _:
                return _LITERALS[type(expression)]

    def _text(self, text: Text) -> Kind:
        """Half a character is nothing that a database, or any notation, could take."""
        if CONTROL.search(text.value):
            self._report(text.position, "this text holds a control character")
        return Kind.TEXT

    def _name(self, name: Name) -> Kind | None:
        if name.name in self._names:
            return self._names[name.name]
        known = f"known here: {listed(self._names, 'and')}" if self._names else ""
        self._report(
            name.position,
            f"unknown {self._noun} {quoted(name.name)}",
            did_you_mean(name.name, self._names, known),
        )
        return None

    def _among(self, operand: Expression, kinds: tuple[Kind, ...], need: str) -> Kind | None:
        """The kind of an operand that has to be one of `kinds`."""
        kind = self.find(operand)
        if kind is None or kind in kinds:
            return kind
        wanted = " or ".join(map(with_article, kinds))
        self._report(operand.position, f"{need} {wanted}, and this is {with_article(kind)}")
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
        self._comparison(expression, left, right)
        return Kind.TRUTH

    def _arithmetic(self, expression: Binary, left: Kind | None, right: Kind | None) -> Kind | None:
        if left is None or right is None:
            return None
        result = _ARITHMETIC.get((expression.operator, left, right))
        if result is None:
            said = _VERBS[expression.operator].format(
                left=with_article(left), right=with_article(right)
            )
            self._report(expression.position, said, mismatch_hint(left, right))
        return result

    def _comparison(self, expression: Binary, left: Kind | None, right: Kind | None) -> None:
        self._alike(expression.position, left, right)
        if expression.operator in _EQUALITY:
            return
        for kind in {left, right} & {Kind.TEXT, Kind.TRUTH}:
            if left is None or right is None or left == right:
                self._report(
                    expression.position,
                    f"{with_article(kind or Kind.TEXT)} has no order",
                    "compare it with == or != or in (…)",
                )

    def _alike(self, position: Position, left: Kind | None, right: Kind | None) -> None:
        if left is not None and right is not None and left != right:
            self._report(
                position,
                f"{with_article(left)} cannot be compared with {with_article(right)}",
                mismatch_hint(left, right),
            )

    def _one_of(self, expression: OneOf) -> Kind:
        kind = self.find(expression.operand)
        for choice in expression.choices:
            self._alike(choice.position, kind, self.find(choice))
        return Kind.TRUTH

    def _choose(self, expression: Choose) -> Kind | None:
        self._truth(expression.condition, "'?' needs")
        then, otherwise = self.find(expression.then), self.find(expression.otherwise)
        if then is not None and otherwise is not None and then != otherwise:
            self._report(
                expression.position,
                "both sides of ':' must be of one kind, "
                f"not {with_article(then)} and {with_article(otherwise)}",
                mismatch_hint(then, otherwise),
            )
            return None
        return then if otherwise is None else otherwise

    def _apply(self, expression: Apply) -> Kind | None:
        match expression.function:
            case Function.ABS:
                return self._single(expression, _QUANTITIES)
            case Function.ROUND:
                return self._single(expression, (Kind.NUMBER,))
            case Function.MIN | Function.MAX:
                return self._extreme(expression)

    def _single(self, expression: Apply, kinds: tuple[Kind, ...]) -> Kind | None:
        name = f"'{expression.function}'"
        if len(expression.arguments) != 1:
            self._report(expression.position, f"{name} takes one value")
        found = [self._among(each, kinds, f"{name} needs") for each in expression.arguments]
        return found[0]

    def _extreme(self, expression: Apply) -> Kind | None:
        name = f"'{expression.function}'"
        if len(expression.arguments) < 2:
            self._report(expression.position, f"{name} takes two values or more")
        found = [self._among(each, _ORDERED, f"{name} needs") for each in expression.arguments]
        known = [kind for kind in found if kind is not None]
        for kind in known[1:]:
            self._alike(expression.position, known[0], kind)
        return known[0] if known else None
