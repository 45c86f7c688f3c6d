"""Measures of one case, as they are read. Fields of ours, where Java has no word, are those of
a time measure: `startPick` and `endPick` (first or last), and `openCycle` (left out or no value).
"""

from __future__ import annotations

from dataclasses import dataclass

from pappi.ppinot.expressions.nodes import Expression, Name
from pappi.ppinot.java.conditions import (
    PROPERTY,
    opened,
    read_events,
    read_moment,
    read_property,
    read_state_measure,
)
from pappi.ppinot.java.fields import Fields
from pappi.ppinot.java.schedules import read_schedule
from pappi.ppinot.java.units import time_unit
from pappi.ppinot.model import (
    Anchor,
    CaseBorder,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    Measure,
    OpenCycle,
    Pick,
    TimeMeasure,
)
from pappi.values.units import Unit

CYCLES = {
    "Sum": Cycles.SUM,
    "Average": Cycles.MEAN,
    "Minimum": Cycles.MIN,
    "Maximum": Cycles.MAX,
    "Median": Cycles.MEDIAN,
}
_PICKS = {pick.value: pick for pick in Pick}
_OPEN = {each.value: each for each in OpenCycle}
_TYPES = {"LINEAR": False, "CYCLIC": True}


@dataclass(frozen=True, slots=True)
class Read:
    """A measure, with what was written in it but belongs to the whole PPI.

    `unit` is the one Java's value would be in, for a time; `anchor` the instant that decides
    in which period a case lies.
    """

    measure: Measure
    unit: Unit | None = None
    said: Fields | None = None
    anchor: Anchor | None = None

    @property
    def label(self) -> str:
        """The unit to show. Looked up when it is used: that of an inner measure is lost."""
        return "" if self.said is None else self.said.text("unitOfMeasure")


def count(fields: Fields) -> Read | None:
    fields.require("when", "a count measure")
    when = read_events(fields, "when")
    return None if when is None else Read(CountMeasure(when), said=fields)


def condition(fields: Fields) -> Read | None:
    fields.require("condition", "a condition measure")
    when = read_events(fields, "condition", PROPERTY)
    return None if when is None else Read(ConditionMeasure(when))


def state(fields: Fields) -> Read | None:
    measure = read_state_measure(fields)
    return None if measure is None else Read(measure)


def time(fields: Fields) -> Read | None:
    for key in ("from", "to"):
        fields.require(key, "a time measure")
    if fields.flag("computeUnfinished"):
        message = "time that still runs at the end of a case has no end in a log"
        fields.refuse("computeUnfinished", message, "measure up to the end of the case instead")
    start, end = read_moment(fields, "from"), read_moment(fields, "to")
    is_cyclic = bool(fields.word("timeMeasureType", _TYPES, "'LINEAR' or 'CYCLIC'"))
    usual = OpenCycle.NO_VALUE if is_cyclic else OpenCycle.LEFT_OUT
    open_cycle = fields.word("openCycle", _OPEN, "what an open cycle does") or usual
    running = _running(fields, is_cyclic=is_cyclic)
    unit = time_unit(fields)
    calendar = read_schedule(fields)
    if start is None or end is None:
        return None
    cycles = _cycles(fields) if is_cyclic else None
    picks = _start_pick(fields), _end_pick(fields)
    return Read(TimeMeasure(start, end, *picks, cycles, open_cycle, running, calendar), unit)


def _cycles(fields: Fields) -> Cycles:
    if not fields.filled("singleInstanceAggFunction"):
        return Cycles.SUM
    what = "how the cycles of a case become one"
    return fields.word("singleInstanceAggFunction", CYCLES, what) or Cycles.SUM


def _running(fields: Fields, *, is_cyclic: bool) -> Expression | None:
    found = opened(fields, "precondition", PROPERTY)
    if found is None:
        return None
    if is_cyclic:
        message = "a precondition stops the clock of a linear time measure, and this is cyclic"
        fields.refuse("precondition", message)
    return read_property(found[1])


def _start_pick(fields: Fields) -> Pick:
    return fields.word("startPick", _PICKS, "'first' or 'last'") or Pick.FIRST


def _end_pick(fields: Fields) -> Pick:
    is_first = fields.flag("firstTo")
    if is_first and "precondition" in fields:
        message = "Java PPINOT takes no notice of 'firstTo' beside a precondition"
        fields.refuse("firstTo", message, "remove it; or write 'endPick': 'first'")
    said = fields.word("endPick", _PICKS, "'first' or 'last'")
    return said or (Pick.FIRST if is_first else Pick.LAST)


def data(fields: Fields) -> Read | None:
    measure = read_data(fields)
    return None if measure is None else Read(measure, said=fields)


def read_data(fields: Fields) -> DataMeasure | None:
    fields.pass_over("kind", "DataMeasure")
    attribute = _selection(fields)
    pick = Pick.FIRST if fields.flag("first") else Pick.LAST
    when = read_events(fields, "precondition")
    if attribute is None:
        return None
    return DataMeasure(attribute.name, pick, when, position=attribute.position)


def _selection(fields: Fields) -> Name | None:
    fields.require("dataContentSelection", "a data measure")
    selection = fields.object("dataContentSelection", "a selection of data")
    if selection is None:
        return None
    if "separator" in selection or selection.text("kind").startswith("Past"):
        fields.refuse(
            "dataContentSelection",
            "the value an attribute had before is not looked at, only the one it has",
        )
        return None
    selection.require("selection", "a selection of data")
    expression = selection.expression("selection")
    if expression is None or isinstance(expression, Name):
        return expression
    message = "a data measure selects one attribute, not an expression over several"
    selection.refuse("selection", message, "write a derived measure for that")
    return None


def read_anchor(fields: Fields, key: str) -> Anchor | None:
    """The instant of a case that a data measure of its timestamp names."""
    measure = fields.object(key, "a data measure")
    if measure is None:
        return None
    measure.pass_over("kind", "DataMeasure")
    attribute = _selection(measure)
    if attribute is not None and attribute.name != "timestamp":
        message = "a case lies in the period of one of its events, not of a date in its data"
        fields.refuse(key, message, "select 'timestamp', with a precondition for the event")
        return None
    is_first = measure.flag("first")
    if "precondition" not in measure:
        return Anchor(CaseBorder.START if is_first else CaseBorder.END)
    moment = read_events(measure, "precondition")
    return None if moment is None else Anchor(moment, Pick.FIRST if is_first else Pick.LAST)
