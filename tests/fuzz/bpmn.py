"""BPMN models with a set of PPIs: measures, and the connectors that say what they are about."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from pappi.values import Kind
from tests.fuzz.dice import Dice
from tests.fuzz.expressions import Expressions
from tests.fuzz.vocabulary import ACTIVITIES, TEXTS

_MODEL = "http://www.omg.org/spec/BPMN/20100524/MODEL"
_PPINOT = "http://www.isa.us.es/ppinot"
_STATES = ("START", "END", "ACTIVE", "COMPLETED", "", "end")
_FUNCTIONS = ("Sum", "Average", "Minimum", "Maximum", "average")


def model(dice: Dice) -> str:
    return _Model(dice).xml()


def _element(tag: str, inner: str = "", **attributes: str) -> str:
    said = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items() if value)
    return f"<{tag}{said}>{inner}</{tag}>" if inner else f"<{tag}{said}/>"


class _Model:
    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._expressions = Expressions(dice)
        self._activities = dice.several(ACTIVITIES, 2, 4)
        self._set: list[str] = []
        self._count = 0

    def xml(self) -> str:
        count = self._dice.one((1, 1, 1, 1, 1, 1, 1, 2, 0))
        ppis = [self._ppi(number) for number in range(count)]
        if not count:
            self._multi()
        found = _element("ppi:ppiset", "".join((*self._set, *ppis)), id="set")
        process = f"<extensionElements>{found}</extensionElements>" + self._flow()
        inner = _element("process", process, id="process", name="claims")
        head = self._dice.one(("", '<?xml version="1.0" encoding="UTF-8"?>\n', "\ufeff"))
        return f'{head}<definitions xmlns="{_MODEL}" xmlns:ppi="{_PPINOT}">{inner}</definitions>'

    def _flow(self) -> str:
        tasks = [
            _element("task", id=f"task{number}", name=name)
            for number, name in enumerate(self._activities)
        ]
        borders = _element("startEvent", id="begin") + _element("endEvent", id="finish")
        return "".join(tasks) + borders + _element("dataObject", id="data", name="claim")

    def _ppi(self, number: int) -> str:
        dice = self._dice
        measure = self._multi()
        parts = []
        if dice.chance(50):
            limits = dice.one(({"lowerBound": "1"}, {"upperBound": "5"}, {"upperBound": "1e2"}))
            parts.append(_element("ppi:target", _element("ppi:simpleTarget", **limits)))
        elif dice.chance(20):
            web = _element("ppi:target", value="web", upperBound="5")
            parts.append(_element("ppi:target", _element("ppi:composedTarget", web)))
        if dice.chance(50):
            parts.append(_element("ppi:scope", self._scope()))
        if dice.chance(20):
            parts.append(_element("ppi:goals", _element("ppi:goal", "faster &amp; better")))
        said = {"name": dice.one(TEXTS[:20]), "responsible": dice.one(("", "Ann"))}
        inner = "".join(parts)
        return _element("ppi:ppi", inner, id=f"ppi{number}", measuredBy=measure, **said)

    def _scope(self) -> str:
        if self._dice.chance(50):
            number = str(self._dice.number(1, 999))
            return _element("ppi:lastInstancesFilter", numberOfInstances=number)
        period = self._dice.one(("DAILY", "WEEKLY", "MONTHLY", "YEARLY"))
        return _element("ppi:simpleTimeFilter", period=period, frequency="2", relative="false")

    # --- measures and connectors ------------------------------------------------------

    def _add(self, tag: str, inner: str = "", **attributes: str) -> str:
        """Puts an element into the set and gives its id."""
        self._count += 1
        identifier = f"e{self._count}"
        self._set.append(_element(f"ppi:{tag}", inner, id=identifier, **attributes))
        return identifier

    def _connect(self, tag: str, source: str, target: str, **attributes: str) -> None:
        self._add(tag, sourceRef=source, targetRef=target, **attributes)

    def _multi(self) -> str:
        dice = self._dice
        if not dice.more(25):
            return self._aggregated()
        kinds = dict.fromkeys(dice.several(("a", "b", "x_1"), 1, 2), Kind.NUMBER)
        formula = self._expressions.over(kinds, Kind.NUMBER)
        found = self._add("derivedMultiInstanceMeasure", function=formula)
        for name in kinds:
            self._connect("uses", found, self._aggregated(timed=False), variable=name)
        return found

    def _aggregated(self, *, timed: bool = True) -> str:
        dice = self._dice
        function = dice.one(_FUNCTIONS)
        base = self._single(timed=timed)
        if dice.chance(20):
            # A measure may also stand inside the one that aggregates it.
            *self._set, inner = self._moved_last(base)
            found = self._add("aggregatedMeasure", inner, aggregationFunction=function)
        else:
            found = self._add("aggregatedMeasure", aggregationFunction=function)
            self._connect("aggregates", found, base)
        if dice.chance(15):
            name = self._expressions.quoted_name(Kind.TEXT)
            groups = {"dataContentSelection": name, "values": "phone, web"}
            self._connect("isGroupedBy", found, "data", **groups)
        return found

    def _moved_last(self, identifier: str) -> list[str]:
        """The set with the element of an id at its end."""
        own = [each for each in self._set if f' id="{identifier}"' in each]
        return [each for each in self._set if each not in own] + own

    def _single(self, *, timed: bool) -> str:
        dice, way = self._dice, self._dice.number(0, 6 if timed else 4)
        if way == 0:
            found = self._add("dataMeasure")
            said = {"dataContentSelection": self._expressions.quoted_name(Kind.NUMBER)}
            if dice.chance(50):
                said["restriction"] = self._expressions.event_test()
            self._connect("appliesToDataConnector", found, "data", **said)
            return found
        if way == 1:
            found = self._add("stateConditionMeasure")
            state = dice.one(("ACTIVE", "COMPLETED", "END"))
            self._connect("appliesToElementConnector", found, self._task(), state=state)
            return found
        if way == 2:
            found = self._add("dataPropertyConditionMeasure")
            said = {"restriction": self._expressions.event_test()}
            self._connect("appliesToDataConnector", found, "data", **said)
            return found
        if way > 4:
            return self._time()
        found = self._add("countMeasure")
        self._connect("appliesToElementConnector", found, self._task(), state=self._state())
        return found

    def _task(self) -> str:
        return f"task{self._dice.number(0, len(self._activities) - 1)}"

    def _state(self) -> str:
        return self._dice.one((*_STATES, self._expressions.event_test()))

    def _time(self) -> str:
        dice = self._dice
        kind: dict[str, str] = {"timeMeasureType": dice.one(("LINEAR", "", "linear"))}
        borders = ("begin", "finish")
        if dice.chance(30):
            kind = {"timeMeasureType": "CYCLIC", "singleInstanceAggFunction": "Average"}
            borders = (self._task(), self._task())
        found = self._add("timeMeasure", unitOfMeasure=dice.one(("hours", "days")), **kind)
        for end, border in zip(("from", "to"), borders, strict=True):
            target = border if dice.chance(30) else self._task()
            state = "" if target in ("begin", "finish") else self._state()
            if border in ("begin", "finish") and dice.chance(10):
                target, state = "process", {"begin": "START", "finish": "END"}[border]
            self._connect("timeConnector", found, target, type=end, state=state)
        return found
