"""PPINOT JSON, as the Java reference implementation writes it and with the fields of our own."""

from __future__ import annotations

from pappi.mechanisms import mechanism_names
from pappi.values import Kind
from tests.fuzz.catalogue_measures import CALENDARS, VARIABLES, Tree
from tests.fuzz.dice import Dice
from tests.fuzz.expressions import Expressions
from tests.fuzz.vocabulary import ACTIVITIES, TEXTS

_STATES = ("START", "END", "end", "Start")
_BPMN_STATES = ("ACTIVE", "EXECUTING", "COMPLETED", "completed")
_FUNCTIONS = ("Sum", "Average", "Minimum", "Maximum", "Median", "Percentile", "average")
_CYCLES = ("Sum", "Average", "Minimum", "Maximum", "Median", "")
_UNITS = ("hours", "days", "minutes", "seconds", "millis")
_SCHEDULES = ("L-VT09:00-18:00", "L-DT00:00-00:00", "M-JT08:30-17:15", *CALENDARS[:3])
_PERIODS = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY", "monthly")
_KINDS = tuple(Kind)

Record = dict[str, Tree]
_TARGETS: tuple[Tree, ...] = ("below 5", "between -3 and 1.5", {"green": "> 5", "amber": "> 4"})
_NOISE: tuple[Tree, ...] = (["a", "b"], {"a": {"mechanism": "laplace", "share": "0.3"}, "b": {}})


def document(dice: Dice) -> Record:
    """A set of PPIs, a collection of measures, or one of either."""
    ids = dice.several(("p1", "x", "select", "no id at all!"), 1, 2 if dice.chance(10) else 1)
    way, java = dice.number(0, 9), Java(dice)
    if way == 0:
        return {"log": "claims", "id": ids[0], **java.aggregated(Kind.NUMBER, None)}
    if way == 1:
        # A measure of one case is no PPI, and is left out.
        case: Tree = {"id": "one", **java.single(Kind.NUMBER)}
        return {"definitions": [*({"id": each, **java.multi()} for each in ids), case]}
    return {"log": "claims", "processId": "claims", "ppis": [Java(dice).ppi(each) for each in ids]}


class Java:
    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._expressions = Expressions(dice)

    def ppi(self, identifier: str) -> Record:
        dice = self._dice
        measure = self.multi()
        found: Record = {"id": identifier, "measuredBy": measure}
        texts = [text for text in TEXTS if text.strip()]
        optional: Record = {
            "name": dice.one(texts),
            "process": "claims",
            "goals": [*dice.several(texts, 1, 2)],
            "responsible": dice.one(texts),
            "informed": dice.one(texts),
            "comments": dice.one(texts),
            "target": self._target(),
            "scope": self._scope(),
            "catalogue": self._catalogue(measure.get("values")),
        }
        # Each of them is said in one way.
        own = optional["catalogue"]
        for key in ("target", "scope"):
            if isinstance(own, dict) and key in own:
                del optional[key]
        return found | {
            key: optional[key] for key in dice.several([*optional], 0, 1 if dice.is_short else 5)
        }

    def _target(self) -> Record:
        dice = self._dice
        found: Record = {"refMin": dice.one(("0", "1.5", "-3"))} if dice.chance(60) else {}
        if dice.chance(70) or not found:
            found["refMax"] = dice.one(("5", "1e2", "99.9"))
        return found

    def _catalogue(self, keys: Tree | None) -> Record:
        """What Java has no words for."""
        dice = self._dice
        choices: Record = {
            "epsilon": dice.one(("0.1", "1")),
            "expected": dice.one(("0.3", "2", "30 %")),
            "release": self._release(),
            "target": dice.one(_TARGETS),
            "scope": dice.one(("every quarter", "every week in the last 2 months", "whole time")),
        }
        if isinstance(keys, list) and dice.chance(50):
            choices["target"] = {"groups": {str(keys[0]): "at most 5"}}
        return {key: choices[key] for key in dice.several([*choices], 1, 2)}

    def _release(self) -> Record:
        dice = self._dice
        choices: Record = {
            "answer": dice.one(("value", "verdict")),
            "mechanism": dice.one(mechanism_names()),
            "noise": dice.one(_NOISE),
            "falloff": "3",
            "buckets": "20",
            "set": "off",
        }
        return {key: choices[key] for key in dice.several([*choices], 1, 2)}

    # --- scopes -----------------------------------------------------------------------

    def _scope(self) -> Record:
        dice, way = self._dice, self._dice.number(0, 2)
        found: Record
        if way < 2:
            found = {"kind": "SimpleTimeFilter", "period": dice.one(_PERIODS)}
            found |= {"frequency": str(dice.number(1, 12))} if dice.chance(60) else {}
            found |= {"relative": "true"} if dice.chance(20) else {}
        else:
            found = {"kind": "LastInstancesFilter", "numberOfInstances": str(dice.number(1, 999))}
        relative = "relative" in found
        if dice.chance(30) and not relative:
            found |= {"from": "2014-01-01T00:00:00.000Z", "until": "2016-02-29"}
        if dice.chance(20):
            found["referencePoint"] = self._anchor()
        return found

    def _anchor(self) -> Record:
        found: Record = {
            "kind": "DataMeasure",
            "dataContentSelection": {"selection": "timestamp"},
            "first": self._dice.one(("true", "false")),
        }
        return found | ({"precondition": self._instant()} if self._dice.chance(50) else {})

    # --- conditions -------------------------------------------------------------------

    def _instant(self, *, border: str = "", nested: bool = True) -> Record:
        """A time instant condition, with `kind` or inside its name."""
        dice = self._dice
        if border and dice.chance(25):
            found: Record = {"element": "process", "changesToState": {"genericState": border}}
        elif nested and dice.chance(15):
            parts: Record = {key: self._instant(nested=False) for key in ("first", "last")}
            parts["type"] = dice.one(("FOLLOWS", "LEADSTO", "LEADSTOCYCLIC"))
            found = {"changesToState": {"complexState": parts}}
        elif dice.chance(30):
            found = {
                "changesToState": {"dataObjectState": {"name": self._expressions.event_test()}}
            }
        else:
            found = self._of_activity()
        if dice.chance(15):
            return {"TimeInstantCondition": found}
        return {"kind": "TimeInstantCondition", **found}

    def _of_activity(self) -> Record:
        dice = self._dice
        state: Record = {"genericState": dice.one(_STATES)}
        if dice.chance(40):
            state = {"bpmnState": dice.one(_BPMN_STATES)}
        found: Record = {"appliesTo": dice.one(ACTIVITIES), "changesToState": state}
        if dice.chance(20):
            found["lifecycle"] = "any"
        if dice.chance(20):
            found["occurrence"] = dice.one(("every", "onset"))
        elif dice.chance(15):
            found["precondition"] = self._property()
        if dice.chance(15):
            found["among"] = self._expressions.event_test()
        return found

    def _property(self) -> Record:
        restriction: Record = {"restriction": self._expressions.event_test()}
        if self._dice.chance(30):
            return {"DataPropertyCondition": restriction}
        return {"kind": "DataPropertyCondition", **restriction}

    # --- measures of one case ---------------------------------------------------------

    def single(self, kind: Kind, depth: int = 1) -> Record:
        dice = self._dice
        if depth and dice.more(20):
            return self._derived(kind, depth - 1)
        if dice.chance(25) or kind in (Kind.TEXT, Kind.TIME):
            return self._data(kind)
        if kind is Kind.NUMBER:
            return {"kind": "CountMeasure", "when": self._instant()}
        return self._time() if kind is Kind.DURATION else self._truth()

    def _data(self, kind: Kind) -> Record:
        name = self._expressions.quoted_name(kind)
        found: Record = {"kind": "DataMeasure", "dataContentSelection": {"selection": name}}
        if self._dice.chance(30):
            found["first"] = "true"
        if self._dice.chance(30):
            found["precondition"] = self._dice.one((self._instant(), self._property()))
        return found

    def _truth(self) -> Record:
        dice = self._dice
        if dice.chance(60):
            condition = dice.one((self._instant(), self._property()))
            return {"kind": "ConditionMeasure", "condition": condition}
        if dice.chance(50):
            state: Record = {"bpmnState": dice.one(_BPMN_STATES)}
            what: Record = {"appliesTo": dice.one(ACTIVITIES), "state": state}
        else:
            what = {"state": {"dataObjectState": {"name": self._expressions.event_test()}}}
            what |= {"of": self._expressions.event_test()} if dice.chance(50) else {}
        return {"kind": "StateConditionMeasure", "condition": {"kind": "StateCondition", **what}}

    def _time(self) -> Record:
        dice = self._dice
        found: Record = {"kind": "TimeMeasure", "unitOfMeasure": dice.one(_UNITS)}
        if dice.chance(30):
            found |= {"from": self._instant(), "to": self._instant(), "timeMeasureType": "CYCLIC"}
            found["singleInstanceAggFunction"] = dice.one(_CYCLES)
            found |= {"openCycle": "left out"} if dice.chance(30) else {}
        else:
            found |= {"from": self._instant(border="START"), "to": self._instant(border="END")}
            picked: Record = {"firstTo": "true"} if dice.chance(50) else {"startPick": "last"}
            found |= {"precondition": self._property()} if dice.chance(20) else picked
        return found | (self._hours() if dice.chance(10) else {})

    def _hours(self) -> Record:
        way = self._dice.number(0, 4)
        if way < 3:
            return {"considerOnly": self._dice.one(_SCHEDULES)}
        if way == 3:
            return {"considerOnly": {"basic": _SCHEDULES[0]}}
        return {"considerOnly": f"{_SCHEDULES[0]}/H", "holidays": ["2014-12-25", "2015-01-01"]}

    def _derived(self, kind: Kind, depth: int) -> Record:
        kinds = {name: self._dice.one(_KINDS) for name in self._dice.several(VARIABLES, 0, 3)}
        found: Record = {
            "kind": self._dice.one(("DerivedSingleInstanceMeasure", "DerivedMeasure")),
            "function": self._expressions.over(kinds, kind),
            "usedMeasureMap": {name: self.single(its, depth) for name, its in kinds.items()},
            "typed": "true",
        }
        if kind is Kind.TRUTH and self._dice.chance(30):
            # In Java a duration is a number of its unit.
            used: Record = {"t": self._time()}
            found |= {"function": "t < 28 || t > 2 * 99", "usedMeasureMap": used, "typed": "false"}
        return found | ({"missing": "left out"} if self._dice.chance(20) else {})

    # --- measures of many cases -------------------------------------------------------

    def multi(self) -> Record:
        dice = self._dice
        kind = dice.one((Kind.NUMBER, Kind.DURATION))
        grouping: Record | None = None
        if dice.chance(20):
            keys: list[Tree] = [*dice.several(TEXTS[:20], 1, 3)]
            grouping = {"groupedBy": [self._data(Kind.TEXT)], "values": keys}
        if not dice.more(25):
            return self.aggregated(kind, grouping)
        kinds = {
            name: dice.one((Kind.NUMBER, Kind.DURATION)) for name in dice.several(VARIABLES, 1, 3)
        }
        parts: Record = {name: self.aggregated(its, grouping) for name, its in kinds.items()}
        formula = self._expressions.over(kinds, Kind.NUMBER)
        used: Record = {"usedMeasureMap": parts, "typed": "true"}
        return {"kind": "DerivedMultiInstanceMeasure", "function": formula, **used}

    def aggregated(self, kind: Kind, grouping: Record | None) -> Record:
        dice = self._dice
        functions = (*_FUNCTIONS, "Share", "Count") if kind is Kind.NUMBER else _FUNCTIONS
        function = dice.one(functions)
        # What an attribute is, Java's notation does not know: a duration has to be a time.
        base = self._time() if kind is Kind.DURATION else self.single(kind)
        if function in ("Share", "Count"):
            base = self.single(Kind.TRUTH)
        found: Record = {"kind": "AggregatedMeasure", "aggregationFunction": function}
        found |= {"baseMeasure": base, **(grouping or {})}
        if function == "Percentile":
            found["percent"] = str(dice.number(1, 99))
        if dice.more(20):
            found["filter"] = self.single(Kind.TRUTH)
        if dice.chance(30) and function not in ("Share", "Count"):
            high = "60 days" if kind is Kind.DURATION else "12.5"
            found["bounds"] = ["0", high, *dice.one(((), ("loose",)))]
        return found
