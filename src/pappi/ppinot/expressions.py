"""Expressions: their abstract syntax, ways to walk through them, and what kind of value they have.

Positions take part in error messages, never in equality: the same expression written in two places
is one expression.

Kinds are found without evaluating anything. A kind of None is unknown (an attribute of a log whose
vocabulary is not at hand): it is accepted anywhere, and most of what is made from it is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from itertools import islice

from pappi.errors import Position, Problem
from pappi.values import CONTROL, Kind, did_you_mean, listed, quoted

NOWHERE = Position("<expression>", 1, 1)

MAX_SUGGESTED = 100
"""Among how many names of the writer's a suggestion is sought: it must stay cheap."""


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


# --- tests of one event ------------------------------------------------------------------


TRANSITION_ATTRIBUTE = "lifecycle:transition"
"""The attribute that holds the transition of an activity's life cycle."""


def is_activity(name: str, position: Position = NOWHERE) -> Expression:
    return equals("activity", name, position)


def activity_of(expression: Expression) -> str | None:
    """The activity of `activity == "A"`; None if the expression is another one."""
    match expression:
        case Binary(Operator.EQUAL, Name("activity"), TextLiteral(activity)):
            return activity
    return None


def equals(attribute: str, value: str, position: Position = NOWHERE) -> Expression:
    left, right = Name(attribute, position=position), TextLiteral(value, position=position)
    return Binary(Operator.EQUAL, left, right, position=position)


def is_transition(*transitions: str, position: Position = NOWHERE) -> Expression:
    """Logs write a transition in various capitals."""
    spelt = [way for transition in transitions for way in spellings(transition)]
    if len(spelt) == 1:
        return equals(TRANSITION_ATTRIBUTE, spelt[0], position)
    ways = tuple(TextLiteral(way, position=position) for way in spelt)
    return OneOf(Name(TRANSITION_ATTRIBUTE, position=position), ways, position=position)


def spellings(transition: str) -> tuple[str, ...]:
    """
    >>> spellings("Complete"), spellings("5")
    (('Complete', 'complete', 'COMPLETE'), ('5',))
    """
    ways = (transition, transition.lower(), transition.upper(), transition.capitalize())
    return tuple(dict.fromkeys(ways))


def both(left: Expression, right: Expression) -> Expression:
    return Binary(Operator.AND, left, right, position=left.position)


# --- formulas ----------------------------------------------------------------------------


def rewritten(
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """The expression with `change` made, outermost first, where it gives something."""
    changed = change(expression)
    if changed is not None:
        return changed

    def inner(node: Expression) -> Expression:
        return rewritten(node, change)

    match expression:
        case Negate() | Not() | IsMissing() | OneOf():
            return replace(expression, operand=inner(expression.operand))
        case Binary():
            return replace(expression, left=inner(expression.left), right=inner(expression.right))
        case Choose():
            sides = inner(expression.condition), inner(expression.then), inner(expression.otherwise)
            return Choose(*sides, position=expression.position)
        case Apply():
            return replace(expression, arguments=tuple(map(inner, expression.arguments)))
        case _:
            return expression


def substituted(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """The expression with values in place of the names that have one.

    >>> substituted(Name("concept:name"), {"concept:name": Name("activity")})
    Name(name='activity')
    """

    def value(node: Expression) -> Expression | None:
        value_of_name = values.get(node.name) if isinstance(node, Name) else None
        return None if value_of_name is None else replace(value_of_name, position=node.position)

    return rewritten(expression, value) if values else expression


def undefined_variables(formula: Expression, defined: Iterable[str], define: str) -> list[Problem]:
    """Names in a formula that are no variables of it; `define` says where to make them some."""
    known = dict.fromkeys(defined)
    return [
        Problem(
            node.position,
            f"unknown variable {quoted(node.name)}",
            did_you_mean(node.name, islice(known, MAX_SUGGESTED), define),
        )
        for node in walk(formula)
        if isinstance(node, Name) and node.name not in known
    ]


Sizes = Mapping[str, Fraction]
"""For each variable that is a duration: how many microseconds its unit has."""


def in_numbers(formula: Expression, sizes: Sizes) -> Expression:
    """The formula with each duration turned into the number it is in its unit.

    Other tools compute with such numbers: `t < 28` over days means 28 days there. Here durations
    have a kind of their own, so that is `t / 1 day < 28`.
    """

    def number(node: Expression) -> Expression | None:
        if not isinstance(node, Name) or node.name not in sizes:
            return None
        unit = DurationLiteral(sizes[node.name], position=node.position)
        return Binary(Operator.DIVIDE, node, unit, position=node.position)

    return rewritten(formula, number)


def out_of_numbers(formula: Expression, names: frozenset[str]) -> tuple[Expression, Sizes] | None:
    """What `in_numbers` was given: the inverse, where there is one.

    Every duration has to be divided by its unit, always by the same one.
    """
    sizes: dict[str, Fraction] = {}

    def plain(node: Expression) -> Expression | None:
        match node:
            case Binary(Operator.DIVIDE, Name(name), DurationLiteral(size)) if name in names:
                if sizes.setdefault(name, size) == size:
                    return node.left
        return None

    plain_formula = rewritten(formula, plain)
    # What was replaced is read again as what it was; a duration left alone would not be.
    again = in_numbers(plain_formula, sizes)
    used = {node.name for node in walk(formula) if isinstance(node, Name)}
    return (plain_formula, sizes) if again == formula and used & names <= sizes.keys() else None


# --- kinds of values ------------------------------------------------------------------

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
