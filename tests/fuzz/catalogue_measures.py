"""Measures and conditions of the catalogue notation, as trees of mappings, lists and texts.

Every key of the notation is used. What cannot stand together is not put together, so that most
trees are sound; a few use names that are not declared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from pappi.ppinot import Cycles, Missing, Occurrence, OpenCycle, Order
from pappi.values import Kind
from tests.fuzz.dice import Dice
from tests.fuzz.expressions import Expressions
from tests.fuzz.vocabulary import ACTIVITIES, TEXTS

Tree: TypeAlias = "str | list[Tree] | dict[str, Tree]"

CALENDARS = (
    *("Mon-Fri 09:00-17:00", "always", "Mon-Fri 09:00-12:00 13:00-17:00; Sat 09:00-13:00"),
    *("22:00-06:00", "Mon-Thu 8:00-16:30; in Europe/Madrid", "closed; in UTC"),
    "Mon-Fri 09:00-17:00; Sat 08:00-15:00; except 2014-12-24; in UTC",
    "Mon-Sun 00:00-24:00; except 2015-08-03 to 2015-08-14; in Asia/Kathmandu",
    "Mon-Fri 09:00-17:00; except holidays in ES, DE-BY; in Europe/Berlin",
)
VARIABLES = (
    *("a", "b", "rejected", "received", "c0", "m0", "x_1", "_", "min", "days", "in", "NULL"),
    *("count", "pos", "case_id", "ts_us", "select", "timestamp", "activity", "secret", "time"),
    "data",
)
_TRANSITIONS = ("complete", "start", "Assigned", "5", "ate_abort", "'; --")
_KINDS = tuple(Kind)


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure, what kind its value is of, and whether only the vocabulary tells that."""

    tree: dict[str, Tree]
    kind: Kind
    hidden: bool = False
    function: str = ""
    paths: dict[str, Kind] = field(default_factory=dict)


class CaseMeasures:
    """Conditions on events, and measures of one case."""

    def __init__(self, dice: Dice, calendars: tuple[str, ...] = ()) -> None:
        self.dice = dice
        self.expressions = Expressions(dice)
        self._calendars = calendars
        self._shown = dice.one(("days", "hours", "h", "minutes"))

    # --- conditions -------------------------------------------------------------------

    def test(self) -> Tree:
        dice = self.dice
        if dice.chance(70):
            return self.expressions.event_test()
        return self._activity() if dice.chance(70) else {"transition": dice.one(_TRANSITIONS)}

    def _activity(self) -> dict[str, Tree]:
        found: dict[str, Tree] = {"activity": self.dice.one(ACTIVITIES)}
        if self.dice.chance(30):
            found["transition"] = self.dice.one(_TRANSITIONS)
        return found

    def occurs(self) -> Tree:
        dice = self.dice
        test = self.test()
        if isinstance(test, str):
            if dice.chance(60):
                return test
            test = {"when": test}
        if isinstance(test, dict) and dice.chance(40):
            test["occurrence"] = str(dice.one(tuple(Occurrence)))
        if isinstance(test, dict) and dice.more(20):
            test["among"] = self.test()
        return test

    def condition(self) -> Tree:
        if self.dice.chance(80):
            return self.occurs()
        order = str(self.dice.one(tuple(Order)))
        return {"sequence": [self.occurs(), self.occurs()], "order": order}

    def instant(self, border: str) -> Tree:
        """A moment; `border` is the one of the case that may stand here."""
        if border and self.dice.chance(25):
            return self.dice.one((border, border.title(), f"{border[:4]}  {border[5:]}"))
        if self.dice.chance(30):
            return {self.dice.one(("first", "last")): self.condition()}
        return self.condition()

    # --- measures of one case ---------------------------------------------------------

    def single(self, kind: Kind, depth: int = 1) -> Measured:
        dice = self.dice
        if depth and dice.more(18):
            return self._derived(kind, depth - 1)
        if dice.chance(25) or kind in (Kind.TEXT, Kind.TIME):
            return Measured({"data": self.data(kind)}, kind, hidden=True)
        if kind is Kind.NUMBER:
            return Measured({"count": self.condition()}, kind)
        if kind is Kind.DURATION:
            return Measured(self._time(), kind)
        return Measured(self._truth(), Kind.TRUTH)

    def data(self, kind: Kind) -> Tree:
        name = self.expressions.name(kind)
        if self.dice.chance(60):
            return name
        found: dict[str, Tree] = {"attribute": name}
        if self.dice.chance(50):
            found["pick"] = self.dice.one(("first", "last"))
        if self.dice.chance(50):
            found["when"] = self.condition()
        return found

    def _truth(self) -> dict[str, Tree]:
        if self.dice.chance(60):
            return {"condition": self.condition()}
        if self.dice.chance(30):
            activity, transition = self.dice.one(ACTIVITIES), self.dice.one(_TRANSITIONS)
            return {"state": {"activity": activity, "transition": transition}}
        state: dict[str, Tree] = {"is": self.test()}
        if self.dice.chance(60):
            state["of"] = self.test()
        return {"state": state}

    def _time(self) -> dict[str, Tree]:
        cyclic = self.dice.chance(30)
        time: dict[str, Tree]
        if cyclic:
            time = {"from": self.condition(), "to": self.condition()}
            time["cycles"] = str(self.dice.one(tuple(Cycles)))
            if self.dice.chance(40):
                time["open"] = str(self.dice.one(tuple(OpenCycle)))
        else:
            time = {"from": self.instant("case start"), "to": self.instant("case end")}
            if self.dice.more(25):
                time["while"] = self.test()
        if self.dice.chance(10):
            time["calendar"] = self.dice.one((*self._calendars, *CALENDARS))
        found: dict[str, Tree] = {"time": time}
        return found | ({"unit": self._shown} if self.dice.chance(20) else {})

    def _derived(self, kind: Kind, depth: int) -> Measured:
        variables, hidden = self.variables(0, 3), False
        if self.dice.chance(2):
            variables = self.variables(10, 10)
        found: dict[str, Tree] = {"derive": self.expressions.over(variables, kind)}
        for name, its in variables.items():
            inner = self.single(its, depth)
            found[name] = inner.tree
            hidden |= inner.hidden
        if self.dice.chance(20):
            ways = tuple(Missing) if kind is Kind.TRUTH else (Missing.LEFT_OUT,)
            found["missing"] = str(self.dice.one(ways))
        return Measured(found, kind, hidden)

    def variables(self, least: int, most: int, kinds: tuple[Kind, ...] = _KINDS) -> dict[str, Kind]:
        names = self.dice.several(VARIABLES, least, most)
        return {name: self.dice.one(kinds) for name in names}


class Measures(CaseMeasures):
    """Measures of many cases."""

    def multi(self, kind: Kind, grouping: Tree | None, depth: int = 2) -> Measured:
        if depth and self.dice.more(18):
            return self._formula(kind, grouping, depth - 1)
        return self.aggregated(kind, grouping)

    def grouping(self) -> Tree | None:
        if not self.dice.more(25):
            return None
        texts = [text for text in TEXTS if text.strip()]
        keys: list[Tree] = [*self.dice.several(texts, 1, 40 if self.dice.chance(5) else 5)]
        return {"data": self.data(Kind.TEXT), "values": keys}

    def aggregated(self, kind: Kind, grouping: Tree | None) -> Measured:
        dice = self.dice
        functions = ["mean", "sum", "min", "max", "median", "percentile"]
        functions += ["share", "share", "number"] if kind is Kind.NUMBER else []
        function = dice.one(functions)
        base = self._base(function, kind)
        found: dict[str, Tree] = {function: "cases" if base is None else base.tree}
        if dice.more(25):
            word = "among" if function == "share" and dice.chance(60) else "where"
            found[word] = self.single(Kind.TRUTH).tree
        if grouping is not None:
            found["by"] = grouping
        if function == "percentile":
            found["percent"] = str(dice.number(1, 99))
        base_kind = Kind.TRUTH if base is None else base.kind
        hidden = base is not None and base.hidden and function not in ("share", "number")
        # Where only the vocabulary says that a value is a duration, its bounds have to.
        if function != "number" and (dice.chance(60) or (hidden and kind is Kind.DURATION)):
            found["bounds"] = self.bounds(base_kind, sure=hidden and kind is Kind.DURATION)
        return Measured(found, kind, hidden, function, {"": base_kind})

    def _base(self, function: str, kind: Kind) -> Measured | None:
        if function == "number":
            return None if self.dice.chance(50) else self.single(self.dice.one(_KINDS))
        if function == "share":
            return self.single(Kind.TRUTH)
        if kind is Kind.NUMBER and self.dice.chance(20):
            return self.single(Kind.TRUTH)
        return self.single(kind)

    def bounds(self, kind: Kind, *, sure: bool = False) -> Tree:
        """Bounds of a value of some kind; `sure` that they are told."""
        dice = self.dice
        if dice.chance(15) and not sure:
            return "private"
        limits: list[Tree]
        if kind is Kind.DURATION:
            limits = [
                "0 days",
                f"{dice.number(1, 400)} {dice.one(('days', 'weeks', 'hours', 'd'))}",
            ]
        elif kind is Kind.TRUTH:
            limits = ["0", "1"]
        else:
            limits = [str(dice.number(-9, 0)), dice.one(("1", "5", "12.5", "1e6", "100"))]
        return [*limits, "loose"] if dice.chance(15) else limits

    def _formula(self, kind: Kind, grouping: Tree | None, depth: int) -> Measured:
        quantities = (Kind.NUMBER, Kind.NUMBER, Kind.DURATION)
        names = {k: v for k, v in self.variables(1, 3, quantities).items() if k != "value"}
        found: dict[str, Tree] = {"derive": self.expressions.over(names, kind)}
        paths: dict[str, Kind] = {}
        hidden, sums = False, []
        for name, its in names.items():
            inner = self.multi(its, grouping, depth)
            found[name] = inner.tree
            hidden |= inner.hidden
            paths |= {f"{name}.{path}".rstrip("."): k for path, k in inner.paths.items()}
            sums += [name] if inner.function == "sum" else []
        if len(sums) > 1 and self.dice.chance(50):
            part = found[sums[0]]
            if isinstance(part, dict):
                part["within"] = sums[1]
        return Measured(found, kind, hidden, "", paths)
