"""Objects as ppinot4py has them, by way of a text: JSON in which `is` names the class.

Stand-ins with the same class names and attributes are as good as its own: the reader goes by
these alone.
"""

from __future__ import annotations

import json
from datetime import date, time, timedelta

from pappi.errors import UsageError
from pappi.ppinot import from_ppinot4py
from pappi.ppinot.model import Measure
from pappi.values import Kind
from tests.fuzz.catalogue_measures import VARIABLES
from tests.fuzz.dice import Dice
from tests.fuzz.expressions import Expressions, quoted
from tests.fuzz.vocabulary import ACTIVITIES, TRANSITION

KEYS = ("phone", "web", "'; --")
_KINDS = (Kind.NUMBER, Kind.DURATION, Kind.TEXT)
_FUNCTIONS = ("SUM", "MIN", "MAX", "AVG", "MEDIAN", "P90", "avg", "p1")
_UNITS = ("WEEK", "DAY", "HOUR", "MINUTE", "SECOND")

Record = dict[str, object]


# --- from text to objects -------------------------------------------------------------


def read_objects(text: str) -> Measure:
    try:
        return from_ppinot4py(built(json.loads(text)), values=KEYS)
    except UsageError as error:
        # No stand-in raises anything, so that this is the reader's own mistake.
        if "came out of it" in error.message:
            raise RuntimeError(error.message) from error
        raise


def built(tree: object) -> object:
    if isinstance(tree, list):
        return [built(each) for each in tree]
    if not isinstance(tree, dict):
        return tree
    inner = {key: built(value) for key, value in tree.items() if key != "is"}
    kind = tree.get("is")
    if not isinstance(kind, str):
        return inner
    return _plain(kind, inner.get("of")) or _stand_in(kind, inner)


def _plain(kind: str, value: object) -> object:
    """A value of the standard library; None if the text says none."""
    text = value if isinstance(value, str) else ""
    try:
        match kind:
            case "date":
                return date.fromisoformat(text)
            case "time":
                return time.fromisoformat(text)
            case "timedelta":
                return timedelta(seconds=float(text))
    except (ValueError, OverflowError):
        return None
    return None


def _stand_in(kind: str, attributes: Record) -> object:
    found = type("", (), {})
    # A class may have any name that is a text without a null character.
    found.__name__ = kind.replace("\0", "").encode("utf-8", "replace").decode()
    thing = found()
    vars(thing).update(attributes)
    return thing


# --- generating -----------------------------------------------------------------------


def measure(dice: Dice) -> Record:
    found = Objects(dice)
    return found.multi() if dice.chance(85) else found.single(dice.one(_KINDS))


class Objects:
    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._expressions = Expressions(dice)

    def _query(self) -> str:
        query = self._expressions.event_test()
        if self._dice.chance(30):
            return query.replace("activity ", "`concept:name` ", 1)
        return query

    def _condition(self, *, border: str = "") -> object:
        dice, way = self._dice, self._dice.number(0, 9)
        if border and way < 2:
            return self._instant("PROCESS", {"is": "RuntimeState", "state": border})
        if way < 4:
            return self._query()
        if way == 4:
            return {"is": "DataCondition", "condition": self._query()}
        if way == 5:
            return self._instant("DATA", self._sequence())
        if way == 6:
            return self._instant("DATA", {"is": "DataObjectState", "name": self._query()})
        state = dice.one(("START", "END", "'complete'"))
        name = quoted(dice.one(ACTIVITIES), "'")
        if dice.chance(50):
            name = dice.one([each for each in ACTIVITIES if each[0] not in "'\""])
        return self._instant("ACTIVITY", {"is": "RuntimeState", "state": state}, name)

    def _instant(self, applies_to: str, state: object, activity: str | None = None) -> Record:
        return {
            "is": "TimeInstantCondition",
            "applies_to": {"is": "AppliesTo", "name": applies_to},
            "changes_to_state": state,
            "activity_name": activity,
        }

    def _sequence(self) -> Record:
        first, last = self._dice.several(("start", "complete", "abort"), 2, 2)
        return {
            "is": "ComplexState",
            "first": f"`{TRANSITION}` == '{first}'",
            "last": f"`{TRANSITION}` == '{last}'",
            "type": {"is": "Type", "name": self._dice.one(("FOLLOWS", "LEADSTO"))},
        }

    # --- measures ---------------------------------------------------------------------

    def single(self, kind: Kind, depth: int = 1) -> Record:
        dice = self._dice
        if kind is Kind.TRUTH or (depth and dice.more(20)):
            return self._derived(kind, depth - 1)
        if kind is Kind.DURATION:
            return self._time()
        if kind is Kind.NUMBER and dice.chance(60):
            return {"is": "CountMeasure", "when": self._condition()}
        return self._data(kind)

    def _data(self, kind: Kind) -> Record:
        return {
            "is": "DataMeasure",
            "data_content_selection": self._expressions.name(kind),
            "first": self._dice.chance(30),
            "precondition": self._condition() if self._dice.chance(30) else None,
        }

    def _time(self) -> Record:
        dice = self._dice
        cyclic = dice.chance(30)
        unit = {"is": "TimeUnit", "name": dice.one(_UNITS)} if dice.chance(20) else None
        return {
            "is": "TimeMeasure",
            "from_condition": self._condition(border="" if cyclic else "START"),
            "to_condition": self._condition(border="" if cyclic else "END"),
            "time_measure_type": "CYCLIC" if cyclic else "LINEAR",
            "single_instance_agg_function": dice.one(("SUM", "avg", "MAX")),
            "first_to": False,
            "precondition": self._query() if dice.chance(15) else None,
            "business_duration": self._hours() if dice.chance(10) else None,
            "time_unit": unit,
        }

    def _hours(self) -> Record:
        hours = self._dice.one(("17:30", "23:59:59", ""))
        return {
            "is": "BusinessDuration",
            "business_start": {"is": "time", "of": "09:00"} if hours else None,
            "business_end": {"is": "time", "of": hours} if hours else None,
            "weekend_list": [5, 6],
            "holiday_list": [{"is": "date", "of": "2014-12-24"}] if hours else None,
        }

    def _derived(self, kind: Kind, depth: int) -> Record:
        kinds = {name: self._dice.one(_KINDS) for name in self._dice.several(VARIABLES, 1, 2)}
        found: Record = {name: self.single(its, depth) for name, its in kinds.items()}
        formula = self._expressions.over(kinds, kind)
        if self._dice.chance(20):
            found["limit"] = self._dice.one((5, 2.5, True, "x", {"is": "timedelta", "of": "90"}))
            formula = f"limit is missing ? ({formula}) : ({formula})"
        return {"is": "DerivedMeasure", "function_expression": formula, "measure_map": found}

    def multi(self) -> Record:
        dice = self._dice
        if not dice.more(25):
            return self._aggregated(dice.one((Kind.NUMBER, Kind.DURATION)))
        names = dice.several(VARIABLES, 1, 3)
        found: Record = {name: self._aggregated(Kind.NUMBER) for name in names}
        formula = self._expressions.over(dict.fromkeys(names, Kind.NUMBER), Kind.NUMBER)
        return {"is": "DerivedMeasure", "function_expression": formula, "measure_map": found}

    def _aggregated(self, kind: Kind) -> Record:
        dice = self._dice
        return {
            "is": "AggregatedMeasure",
            "base_measure": self.single(kind),
            "filter_to_apply": self.single(Kind.TRUTH) if dice.more(20) else None,
            "single_instance_agg_function": dice.one(_FUNCTIONS),
            "grouper": [self._data(Kind.TEXT)] if dice.chance(5) else [],
        }
