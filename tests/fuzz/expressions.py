"""Expressions of the closed grammar as text: well-kinded, of every construct and spelling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pappi.ppinot.grammar import IDENTIFIER, KEYWORDS
from pappi.values import Kind
from tests.fuzz.dice import Dice
from tests.fuzz.vocabulary import ACTIVITIES, NAMES, TEXTS, TRANSITION, UNDECLARED

Names = Mapping[Kind, Sequence[str]]

_UNITS = (
    *("days", "day", "hours", "h", "minutes", "min", "seconds", "s", "weeks", "w", "ms"),
    *("milliseconds", "microseconds", "us", "DAYS", "hr", "sec", "d"),
)
_ORDERED = (Kind.NUMBER, Kind.DURATION, Kind.TIME)
_KINDS = tuple(Kind)
_PLAIN = KEYWORDS | {"null", "none", "nil", "nan", "na"}
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t"})
_QUOTES = ("'", '"')
_NOTHING = ("missing", "null", "None", "MISSING", "nil", "NaN", "na")


def quoted(text: str, quote: str) -> str:
    return quote + text.translate(_ESCAPES).replace(quote, "\\" + quote) + quote


def named(name: str) -> str:
    """A name as it has to be written: in backticks if it is no plain word."""
    plain = IDENTIFIER.fullmatch(name) and name.lower() not in _PLAIN
    return name if plain else quoted(name, "`")


class Expressions:
    """Expressions over some names; `depth` is how many operations may lie in each other."""

    def __init__(self, dice: Dice, names: Names = NAMES) -> None:
        self._dice = dice
        self._names = names
        self.used: set[str] = set()
        self._compounds = {
            Kind.NUMBER: self._number,
            Kind.DURATION: self._duration,
            Kind.TIME: self._time,
            Kind.TEXT: self._leaf_of_text,
            Kind.TRUTH: self._truth,
        }

    def of(self, kind: Kind, depth: int = 2) -> str:
        dice = self._dice
        if depth <= 0 or dice.chance(60 if dice.is_short else 20):
            return self._leaf(kind)
        if dice.chance(8):
            condition = self._operand(Kind.TRUTH, depth - 1)
            return f"{condition} ? {self.of(kind, depth - 1)} : {self.of(kind, depth - 1)}"
        return self._compounds[kind](depth - 1)

    def over(self, variables: Mapping[str, Kind], kind: Kind) -> str:
        """A formula that uses each of the variables."""
        by_kind = {k: [name for name, its in variables.items() if its is k] for k in Kind}
        own = Expressions(self._dice, by_kind)
        formula = own.of(kind, self._dice.number(0, 2))
        for name, its in variables.items():
            if name not in own.used:
                other = self._compare_with(name, its)
                formula = f"{other} ? {self._literal(kind)} : ({formula})"
        return formula

    def _compare_with(self, name: str, kind: Kind) -> str:
        if self._dice.chance(50):
            return f"{named(name)} is {self._dice.one(('', 'not '))}{self._dice.one(_NOTHING)}"
        return f"{named(name)} == {self._literal(kind)}"

    def extreme(self, kind: Kind) -> str:
        """As deep or as wide as an expression may be."""
        dice, count = self._dice, self._dice.number(5, 45)
        if kind is not Kind.TRUTH:
            way = dice.number(0, 2)
            if way == 0:
                return " + ".join(self._leaf(kind) for _ in range(count))
            opening, closing = (("min(", f", {self._leaf(kind)})"), ("abs(", ")"))[way - 1]
            return opening * count + self._leaf(kind) + closing * count
        way = dice.number(0, 2)
        if way == 0:
            return dice.one((" or ", " and ")).join(self._leaf(kind) for _ in range(count))
        if way == 1:
            return "(urgent == " * count + self._leaf(kind) + ")" * count
        texts = ", ".join(quoted(dice.one(TEXTS), dice.one(_QUOTES)) for _ in range(5 * count))
        return f"{named(self.name(Kind.TEXT))} in ({texts})"

    # --- leaves -----------------------------------------------------------------------

    def name(self, kind: Kind) -> str:
        """A name of a kind; now and then one that is not declared, if that is allowed."""
        dice = self._dice
        if not dice.is_honest and self._names is NAMES and dice.chance(25):
            return dice.one(UNDECLARED)
        name = dice.one(self._names[kind])
        self.used.add(name)
        return name

    def quoted_name(self, kind: Kind) -> str:
        """The same, as it stands in an expression."""
        return named(self.name(kind))

    def _leaf(self, kind: Kind) -> str:
        if self._names[kind] and self._dice.chance(65):
            name = self.name(kind)
            return quoted(name, "`") if self._dice.chance(10) else named(name)
        return self._literal(kind)

    def _literal(self, kind: Kind) -> str:
        dice = self._dice
        match kind:
            case Kind.NUMBER:
                return self._decimal()
            case Kind.DURATION:
                return f"{self._decimal()}{dice.one((' ', ' ', ''))}{dice.one(_UNITS)}"
            case Kind.TEXT:
                return quoted(dice.one(TEXTS), dice.one(_QUOTES))
            case Kind.TRUTH:
                return dice.one(("true", "false", "TRUE", "False"))
            case Kind.TIME:
                return self._instant()

    def _decimal(self) -> str:
        dice = self._dice
        whole = str(dice.one((0, 1, dice.number(0, 99), dice.number(0, 10**9), 10**20)))
        return f"{whole}.{dice.number(0, 9999)}" if dice.chance(25) else whole

    def _instant(self) -> str:
        dice = self._dice
        day = f"{dice.number(1900, 2199)}-{dice.number(1, 12):02}-{dice.number(1, 28):02}"
        if dice.chance(50):
            return day
        clock = f"T{dice.number(0, 23):02}:{dice.number(0, 59):02}"
        return day + clock + dice.one(("", ":59", ":00.125", "Z", ":30+02:00"))

    # --- compounds --------------------------------------------------------------------

    def _operand(self, kind: Kind, depth: int) -> str:
        if depth <= 0 or self._dice.chance(30):
            return self._leaf(kind)
        return f"({self.of(kind, depth)})"

    def _joined(self, kind: Kind, sign: str, other: Kind | None, depth: int) -> str:
        left, right = self._operand(kind, depth), self._operand(other or kind, depth)
        space = self._dice.one((" ", " ", "", "\t", "\n"))
        # A bare word and a minus are two tokens, also without a space between them.
        return f"{left}{space}{sign}{space}{right}"

    def _applied(self, kind: Kind, function: str, count: int, depth: int) -> str:
        return f"{function}({', '.join(self.of(kind, depth) for _ in range(count))})"

    def _extreme(self, kind: Kind, depth: int) -> str:
        return self._applied(kind, self._dice.one(("min", "max")), self._dice.number(2, 3), depth)

    def _number(self, depth: int) -> str:
        number, way = Kind.NUMBER, self._dice.number(0, 9)
        if way < 5:
            return self._joined(number, self._dice.one("+-*/%"), None, depth)
        if way == 5:
            return self._joined(Kind.DURATION, "/", None, depth)
        if way == 6:
            return f"-{self._operand(number, depth)}"
        if way == 7:
            return self._applied(number, self._dice.one(("abs", "round")), 1, depth)
        if way == 8:
            return " + ".join(self._leaf(number) for _ in range(self._dice.number(2, 6)))
        return self._extreme(number, depth)

    def _duration(self, depth: int) -> str:
        span, way = Kind.DURATION, self._dice.number(0, 6)
        if way < 2:
            return self._joined(span, self._dice.one("+-%"), None, depth)
        if way == 2:
            return self._joined(span, self._dice.one("*/"), Kind.NUMBER, depth)
        if way == 3:
            return self._joined(Kind.TIME, "-", None, depth)
        if way == 4:
            return self._joined(Kind.NUMBER, "*", span, depth)
        if way == 5:
            return self._applied(span, "abs", 1, depth)
        return self._extreme(span, depth)

    def _time(self, depth: int) -> str:
        if self._dice.chance(30):
            return self._extreme(Kind.TIME, depth)
        return self._joined(Kind.TIME, self._dice.one("+-"), Kind.DURATION, depth)

    def _leaf_of_text(self, _depth: int) -> str:
        return self._leaf(Kind.TEXT)

    # --- truth values -----------------------------------------------------------------

    def _truth(self, depth: int) -> str:
        dice, way = self._dice, self._dice.number(0, 9)
        if way < 3:
            return self._joined(dice.one(_ORDERED), dice.one(("<", "<=", ">", ">=")), None, depth)
        if way < 5:
            return self._joined(dice.one(_KINDS), dice.one(("==", "!=")), None, depth)
        if way < 7:
            return self._logic(depth)
        if way == 7:
            return dice.one(("not ", "! ", "!", "NOT ")) + self._operand(Kind.TRUTH, depth)
        if way == 8:
            return self._listed(depth)
        operand = self._operand(dice.one(_KINDS), depth)
        return f"{operand} is {dice.one(('', 'not '))}{dice.one(_NOTHING)}"

    def _logic(self, depth: int) -> str:
        sign = self._dice.one((" and ", " or ", " && ", " || ", " AND "))
        count = self._dice.one((2, 2, 2, 3, 5))
        return sign.join(self._operand(Kind.TRUTH, depth) for _ in range(count))

    def _listed(self, depth: int) -> str:
        dice, kind = self._dice, self._dice.one(_KINDS)
        sign = "-" if kind in (Kind.NUMBER, Kind.DURATION) and dice.chance(20) else ""
        choices = ", ".join(sign + self._literal(kind) for _ in range(dice.number(1, 4)))
        opening, closing = dice.one((("(", ")"), ("[", "]")))
        operand = self._operand(kind, depth)
        return f"{operand} {dice.one(('in', 'not in', 'IN'))} {opening}{choices}{closing}"

    # --- tests of events --------------------------------------------------------------

    def event_test(self) -> str:
        """What is true of some events; usually an activity, as people write it."""
        dice, way = self._dice, self._dice.number(0, 9)
        if way < 4:
            sign, activity = dice.one(("==", "==", "!=")), dice.one(ACTIVITIES)
            return f"activity {sign} {quoted(activity, dice.one(_QUOTES))}"
        if way == 4:
            some = (quoted(each, dice.one(_QUOTES)) for each in dice.several(ACTIVITIES, 1, 4))
            return f"activity {dice.one(('in', 'not in'))} ({', '.join(some)})"
        if way == 5:
            return f'{named(TRANSITION)} == "complete"'
        return (
            self.extreme(Kind.TRUTH) if dice.chance(1) else self.of(Kind.TRUTH, dice.number(1, 3))
        )
