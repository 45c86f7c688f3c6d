"""Whole catalogues as trees: PPIs with their bounds, targets, scopes and wishes."""

from __future__ import annotations

from collections.abc import Callable

from pappi.mechanisms import mechanism_names
from pappi.values import DURATIONS, Kind
from tests.fuzz.catalogue_measures import CALENDARS, Measured, Measures, Tree
from tests.fuzz.dice import Dice
from tests.fuzz.vocabulary import TEXTS

_IDS = ("waiting-time", "x", "P_1", "z" * 64, "select", "case_id", "A-b-9")
_EPSILONS = ("0.1", "1", "0.000000001", "3.5", "100000")
_RHYTHMS = ("day", "week", "2 weeks", "month", "3 months", "quarter", "year", "366 days", "1 day")
_FROM, _UNTIL = ("2000-01-01", "2014-02-28", "1900-01-01"), ("2014-03-01", "2020-12-31")
_WHOLE = ("whole time", "whole  time")
_SHOWN = ("change from the previous period", "rolling 3 periods", "year to date")
_NOISE: tuple[Tree, ...] = (
    ["a", "b"],
    "value",
    {"a": {"mechanism": "laplace", "share": "0.3"}, "b": "interval"},
)


def catalogue(dice: Dice) -> dict[str, Tree]:
    found: dict[str, Tree] = {"log": dice.one(("claims", "a log", "'; --", "日本"))}
    if dice.chance(10):
        found["total"] = dice.one(_EPSILONS)
    names: tuple[str, ...] = ()
    if dice.more(15):
        names = tuple(dice.several(("office", "night_shift", "x-1", "Mon"), 1, 3))
        found["calendars"] = {name: dice.one(CALENDARS) for name in names}
    ids = dice.several(_IDS, 1, 2 if dice.chance(10) else 1)
    found["ppis"] = [_Ppi(dice, Measures(dice, names)).tree(identifier) for identifier in ids]
    return found


class _Ppi:
    def __init__(self, dice: Dice, measures: Measures) -> None:
        self._dice = dice
        self._measures = measures

    def tree(self, identifier: str) -> Tree:
        dice, grouping = self._dice, self._measures.grouping()
        kind = dice.one((Kind.NUMBER, Kind.DURATION))
        measured = self._measures.multi(kind, grouping)
        unit = self._unit(measured)
        found: dict[str, Tree] = {"id": identifier, "measure": measured.tree}
        found |= self._bounds(measured)
        if unit:
            found["unit"] = unit
        if dice.more(50):
            found["target"] = self._targets(measured, unit, grouping)
        elif isinstance(measured.tree, dict) and "median" in measured.tree and dice.chance(60):
            found["measure"] = self._spread(measured.tree, measured.kind)
        if dice.more(70):
            found["scope"] = self._scope()
        elif dice.more(20):
            found |= {"scope": "every month", "show": dice.one(_SHOWN)}
        return found | self._described()

    def _spread(self, median: dict[str, Tree], kind: Kind) -> Tree:
        """The distribution of what a median is asked of; no target is for one."""
        dice, spread = self._dice, {**median}
        spread["distribution"] = spread.pop("median")
        if dice.chance(50):
            first = dice.number(1, 9)
            unit = " hours" if kind is Kind.DURATION else ""
            spread["limits"] = [f"{first}{unit}", f"{10 * first}{unit}"]
        return spread

    def _described(self) -> dict[str, Tree]:
        dice = self._dice
        found: dict[str, Tree] = {}
        texts = [text for text in TEXTS if text.strip()]
        for key in ("name", "process", "responsible", "comments"):
            if dice.more(15):
                found[key] = dice.one(texts)
        for key in ("goals", "informed"):
            if dice.more(10):
                several: list[Tree] = [*dice.several(texts, 1, 3)]
                found[key] = several if dice.chance(60) else dice.one(texts)
        if dice.chance(20):
            found["epsilon"] = dice.one(_EPSILONS)
        if dice.chance(10):
            found["expected"] = dice.one(("30 %", "0.3", "0", "101 %"))
        if dice.more(15):
            found["release"] = self._release()
        return found

    def _release(self) -> Tree:
        dice = self._dice
        choices: dict[str, Tree] = {
            "answer": dice.one(("value", "verdict")),
            "mechanism": dice.one(mechanism_names()),
            "noise": dice.one(_NOISE),
            "falloff": dice.one(("3", "0.5", "-1")),
            "buckets": dice.one(("20", "0", "2", "999999999")),
            "set": dice.one(("on", "off")),
            "clipping": dice.one(("on", "off")),
        }
        return {key: choices[key] for key in dice.several([*choices], 1, 2)}

    # --- units and bounds -------------------------------------------------------------

    def _unit(self, measured: Measured) -> str:
        dice = self._dice
        if dice.chance(50):
            return ""
        if measured.kind is Kind.DURATION:
            return dice.one(("days", "hours", "minutes", "week", "h", "ms"))
        if measured.function == "share" or measured.paths.get("") is Kind.TRUTH:
            return dice.one(("percent", "%", "fraction")) if measured.function == "share" else ""
        return dice.one(("claims", "€", "pieces per day", "'; --"))

    def _bounds(self, measured: Measured) -> dict[str, Tree]:
        """Bounds beside the measure: of a formula by the paths of its variables."""
        if measured.function:
            return {}
        bounds: dict[str, Tree] = {}
        is_time = measured.kind is Kind.DURATION
        if is_time or self._dice.chance(30):
            bounds["value"] = ["0 hours", "9 days"] if is_time else ["-5", "100.5"]
        return {"bounds": bounds} if bounds else {}

    # --- targets ----------------------------------------------------------------------

    def _targets(self, measured: Measured, unit: str, grouping: Tree | None) -> Tree:
        dice = self._dice
        way = dice.number(0, 9)
        if way < 6:
            return self._target(measured, unit)
        bands: dict[str, Tree] = {"green": "below 7", "amber": dice.one(("below 8", "at most 7"))}
        if way < 8 or not isinstance(grouping, dict):
            return bands
        keys = grouping["values"]
        first = keys[0] if isinstance(keys, list) else keys
        groups: dict[str, Tree] = {str(first): dice.one((bands, "above 1"))}
        return {"groups": groups, "otherwise": self._target(measured, unit)}

    def _target(self, measured: Measured, unit: str) -> str:
        dice = self._dice
        word = ""
        if measured.kind is Kind.DURATION:
            word = dice.one(("", " days", " h", "weeks", f" {dice.one([*DURATIONS])}"))
        elif unit and " " not in unit and not unit[0].isdigit():
            word = dice.one(("", f" {unit}"))
        low, high = dice.number(0, 5), dice.number(6, 99)
        if dice.chance(20):
            return f"between {low} and {high}{word}"
        below = dice.one(("below", "at most", "<", "<=")) + f" {high}{word}"
        above = dice.one(("above", "at least", ">", ">=")) + f" {low}{word}"
        return dice.one((below, above, f"{above} and {below}", f"{below} and {above}"))

    # --- scopes -----------------------------------------------------------------------

    def _scope(self) -> Tree:
        dice = self._dice
        way = dice.number(0, 9)
        if way < 2:
            return f"every {dice.one(_RHYTHMS)}"
        if way == 2:
            return f"every {dice.one(_RHYTHMS)} in the last {dice.one(_RHYTHMS)}"
        if way == 3:
            return dice.one((f"last {dice.one(_RHYTHMS)}", f"last {dice.number(1, 999)} cases"))
        if way == 4:
            return f"between {dice.one(_FROM)} and {dice.one(_UNTIL)}"
        return dice.one(_WHOLE) if way == 5 else self._scope_tree()

    def _scope_tree(self) -> Tree:
        dice = self._dice
        found: dict[str, Tree] = {}
        if dice.chance(50):
            found["every"] = dice.one(_RHYTHMS[2:])
        elif dice.chance(50):
            found["last cases"] = str(dice.number(1, 1_000_000))
        if dice.chance(30):
            found["from"] = dice.one(_FROM[:2])
        if dice.chance(30):
            found["until"] = dice.one(_UNTIL)
        if "from" not in found and "until" not in found and dice.chance(40):
            found["recent"] = dice.one(_RHYTHMS)
        if dice.chance(30):
            found["anchor"] = self._measures.instant(dice.one(("case start", "case end")))
        return found | self._tests(1 if found else 2, 2)

    def _tests(self, least: int, depth: int) -> dict[str, Tree]:
        """Conditions on cases."""
        dice = self._dice
        made: dict[str, Callable[[], Tree]] = {
            "cases": lambda: self._measures.single(Kind.TRUTH).tree,
            "finished": self._measures.condition,
            "ongoing": self._measures.condition,
            "started": lambda: f"{dice.one(('before', 'after'))} {dice.one(_FROM)}",
            "ended": lambda: f"{dice.one(('before', 'after'))} {dice.one(_UNTIL)}",
        }
        nested: dict[str, Callable[[], Tree]] = {
            "all": lambda: [self._tests(1, depth - 1) for _ in range(dice.number(1, 3))],
            "any": lambda: [self._tests(1, depth - 1) for _ in range(dice.number(1, 3))],
            "not": lambda: self._tests(1, depth - 1),
        }
        makers = made | nested if depth else made
        return {key: makers[key]() for key in dice.several([*makers], least - 1 or 1, least)}
