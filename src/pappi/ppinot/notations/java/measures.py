"""Measures, read and written, with their units of time and working calendars.

Fields of ours, where Java has no word:

time         `startPick` and `endPick` (first or last), `openCycle` (left out or no value)
derived      `typed`, if durations are durations and not numbers; `missing` (true, false or
             left out) for what a missing variable gives
aggregated   `percent`, `keys` (the groups to answer), `within`, `bounds` and `limits`, these as in
             a catalogue; the aggregation may also be Share, Median, Percentile, Count or
             Distribution

A time measure of Java gives a number of its `unitOfMeasure`, milliseconds if it names none. The
same unit then is that of an aggregate over it, of its target and in formulas. On any other
measure `unitOfMeasure` is a label to show.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, cast

from pappi.ppinot.expressions import (
    Expression,
    Name,
    in_numbers,
    out_of_numbers,
    undefined_variables,
)
from pappi.ppinot.grammar import is_too_large
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Anchor,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Grouping,
    Measure,
    Missing,
    MultiInstance,
    OpenCycle,
    Pick,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
    measure_kind,
    usual_unit,
)
from pappi.ppinot.notations.document import ListNode, Node, ScalarNode
from pappi.ppinot.notations.java.conditions import (
    PROPERTY,
    condition_measure_json,
    events_json,
    expression_text,
    moment_json,
    opened,
    property_json,
    read_events,
    read_moment,
    read_property,
    read_state_measure,
    state_measure_json,
    wrapped,
)
from pappi.ppinot.notations.java.fields import Context, Fields, json_value, present
from pappi.ppinot.notations.quantities import (
    BOUNDS,
    DISTRIBUTION_LIMITS,
    Shown,
    limits_of,
    with_bounds,
    written_limits,
)
from pappi.ppinot.notations.shapes import Json
from pappi.values import (
    DURATIONS,
    FRACTION,
    HOURS,
    PERCENT,
    CaseBorder,
    Kind,
    Unit,
    Week,
    Window,
    WorkingCalendar,
    did_you_mean,
    duration_unit,
    listed,
    parse_calendar,
    quoted,
)

FUNCTIONS = {
    "Sum": Aggregation.SUM,
    "Average": Aggregation.MEAN,
    "Minimum": Aggregation.MIN,
    "Maximum": Aggregation.MAX,
    "Median": Aggregation.MEDIAN,
    "Percentile": Aggregation.PERCENTILE,
    "Share": Aggregation.SHARE,
    "Count": Aggregation.COUNT,
    "Distribution": Aggregation.DISTRIBUTION,
}
_MISSING = {missing.value: missing for missing in Missing}
_DERIVED_ONE, _DERIVED_MANY = "DerivedSingleInstanceMeasure", "DerivedMultiInstanceMeasure"

# Of the cycles of one case.
CYCLES = {
    word: Cycles(function.value)
    for word, function in FUNCTIONS.items()
    if function.value in tuple(Cycles)
}
_PICKS = {pick.value: pick for pick in Pick}
_OPEN = {choice.value: choice for choice in OpenCycle}
_TYPES = {"LINEAR": False, "CYCLIC": True}


@dataclass(frozen=True, slots=True)
class ReadMeasure:
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


def read_measure(node: Node, context: Context) -> ReadMeasure | None:
    """The measure an object describes; None with a problem."""
    if isinstance(node, ScalarNode):
        message = "references to measures defined elsewhere are not followed"
        context.problems.add(node.position, message, "write out the measure itself instead")
        return None
    fields = Fields.of(node, context, "a measure")
    if fields is None:
        return None
    fields.require("kind", "a measure")
    kind = fields.text("kind")
    reader = _READERS.get(kind)
    if reader is None:
        if kind:
            hint = did_you_mean(kind, _READERS, f"the kinds are {listed(_READERS, 'and')}")
            fields.refuse("kind", f"there is no measure of the kind {quoted(kind)}", hint)
        return None
    return reader(fields)


def read_single(fields: Fields, key: str, what: str) -> ReadMeasure | None:
    """A measure of one case, in a field."""
    node = fields.get(key)
    read = None if node is None else read_measure(node, fields.context)
    if read is not None and isinstance(read.measure, MultiInstance):
        fields.refuse(key, f"{what} measures one case, but this combines many")
        return None
    return read


# --- measures of one case -------------------------------------------------------------


def _count(fields: Fields) -> ReadMeasure | None:
    fields.require("when", "a count measure")
    when = read_events(fields, "when")
    return None if when is None else ReadMeasure(CountMeasure(when), said=fields)


def _condition(fields: Fields) -> ReadMeasure | None:
    fields.require("condition", "a condition measure")
    when = read_events(fields, "condition", PROPERTY)
    return None if when is None else ReadMeasure(ConditionMeasure(when))


def _state(fields: Fields) -> ReadMeasure | None:
    measure = read_state_measure(fields)
    return None if measure is None else ReadMeasure(measure)


def _data(fields: Fields) -> ReadMeasure | None:
    measure = _read_data(fields)
    return None if measure is None else ReadMeasure(measure, said=fields)


def _time(fields: Fields) -> ReadMeasure | None:
    for key in ("from", "to"):
        fields.require(key, "a time measure")
    if fields.flag("computeUnfinished"):
        message = "a log does not say how time that is still running at the end of a case goes on"
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
    cycles = Cycles.SUM if is_cyclic else None
    if is_cyclic and fields.filled("singleInstanceAggFunction"):
        what = "how the cycles of a case become one"
        cycles = fields.word("singleInstanceAggFunction", CYCLES, what) or cycles
    first = fields.word("startPick", _PICKS, "'first' or 'last'") or Pick.FIRST
    picks = first, _end_pick(fields)
    return ReadMeasure(TimeMeasure(start, end, *picks, cycles, open_cycle, running, calendar), unit)


def _running(fields: Fields, *, is_cyclic: bool) -> Expression | None:
    precondition = opened(fields, "precondition", PROPERTY)
    if precondition is None:
        return None
    if is_cyclic:
        message = "a precondition stops the clock of a linear time measure, and this is cyclic"
        fields.refuse("precondition", message)
    return read_property(precondition[1])


def _end_pick(fields: Fields) -> Pick:
    is_first = fields.flag("firstTo")
    if is_first and "precondition" in fields:
        message = "Java PPINOT ignores 'firstTo' next to a precondition"
        fields.refuse("firstTo", message, "remove it; or write 'endPick': 'first'")
    pick = fields.word("endPick", _PICKS, "'first' or 'last'")
    return pick or (Pick.FIRST if is_first else Pick.LAST)


def _read_data(fields: Fields) -> DataMeasure | None:
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
        message = "an attribute's previous value cannot be used, only its current one"
        fields.refuse("dataContentSelection", message)
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


# --- measures of many cases -----------------------------------------------------------


def _aggregated(fields: Fields) -> ReadMeasure | None:
    for key in ("baseMeasure", "aggregationFunction"):
        fields.require(key, "an aggregated measure")
    if fields.flag("includeUnfinished"):
        message = "unfinished cases belong to the period of their last event"
        fields.refuse("includeUnfinished", message, "remove it: all cases of the log count")
    base = read_single(fields, "baseMeasure", "what is aggregated")
    condition = read_single(fields, "filter", "a filter")
    function = fields.word("aggregationFunction", FUNCTIONS, "an aggregation")
    anchor = read_anchor(fields, "periodReferencePoint")
    grouping = _grouping(fields)
    if base is None or function is None:
        return None
    percent = None
    if function is Aggregation.PERCENTILE:
        fields.require("percent", "a percentile")
        percent = fields.whole("percent", 1, 99)
    on_case, problems = cast("SingleInstance", base.measure), fields.context.problems
    limits = fields.shaped("limits", DISTRIBUTION_LIMITS) or ()
    measure = AggregatedMeasure(
        function,
        on_case,
        None if condition is None else cast("SingleInstance", condition.measure),
        grouping,
        within=fields.text("within") or None,
        percent=percent,
        limits=limits_of(limits, measure_kind(on_case, None), problems) or (),
        position=fields.position,
    )
    bounds = fields.shaped("bounds", BOUNDS)
    bounded = with_bounds(measure, {} if bounds is None else {"": bounds}, problems)
    unit = base.unit if timed_by(measure) else None
    return ReadMeasure(bounded, unit, fields, anchor)


def _grouping(fields: Fields) -> Grouping | None:
    nodes = fields.items("groupedBy")
    if not nodes:
        return None
    if len(nodes) > 1:
        hint = "combine the two in the log, or ask for each separately"
        fields.refuse("groupedBy", "cases can be grouped by one attribute only", hint)
        return None
    by = fields.opened(nodes[0], "a data measure")
    measure = None if by is None else _read_data(by)
    keys = fields.texts("keys")
    if not keys:
        message = (
            "the groups must be declared (public partitions): they must not depend on the data"
        )
        fields.refuse("groupedBy", message, 'list them: "keys": ["phone", "web"]')
        return None
    if len(set(keys)) < len(keys):
        fields.refuse("keys", "a key appears twice")
        return None
    return None if measure is None else Grouping(measure, keys)


# --- derived measures -----------------------------------------------------------------


def _derived(fields: Fields) -> ReadMeasure | None:
    """Over one case or over many: as its kind says, or else as what it is derived from."""
    variables = _variables(fields)
    formula = _formula(fields, variables)
    pairs: tuple[tuple[str, Any], ...] = tuple((name, it.measure) for name, it in variables.items())
    are_many = {isinstance(measure, MultiInstance) for _, measure in pairs}
    kind = fields.text("kind")
    is_many = kind == _DERIVED_MANY or (kind != _DERIVED_ONE and True in are_many)
    if is_many and are_many != {True}:
        message = "a formula over many cases needs measures of many cases as its variables"
        fields.refuse("usedMeasureMap", message, "aggregate those of one case")
        return None
    if not is_many and True in are_many:
        fields.refuse("usedMeasureMap", "a formula over one case contains a measure of many")
        return None
    what = "what a missing value makes of the formula"
    missing = None if is_many else fields.word("missing", _MISSING, what)
    if formula is None:
        return None
    if not is_many:
        return ReadMeasure(DerivedSingleInstance(formula, pairs, missing), said=fields)
    anchors = [read.anchor for read in variables.values()]
    if len(set(anchors)) > 1:
        message = "the measures of a formula assign cases to periods in different ways"
        fields.refuse("usedMeasureMap", message, "give them one 'periodReferencePoint'")
    return ReadMeasure(DerivedMultiInstance(formula, pairs), said=fields, anchor=anchors[0])


def _variables(fields: Fields) -> dict[str, ReadMeasure]:
    """The variables of a formula that are sound."""
    entries = fields.entries("usedMeasureMap")
    variables = [(key.text, read_measure(node, fields.context)) for key, node in entries]
    return {name: read for name, read in variables if read is not None}


def _formula(fields: Fields, variables: Mapping[str, ReadMeasure]) -> Expression | None:
    fields.require("function", "a derived measure")
    formula = fields.expression("function")
    if formula is None:
        return None
    defined = [key.text for key, _ in fields.entries("usedMeasureMap")]
    undefined = undefined_variables(formula, defined, "define it in 'usedMeasureMap'")
    fields.context.problems.extend(undefined)
    if undefined:
        return None
    return formula if fields.flag("typed") else _in_numbers(formula, variables, fields)


def _in_numbers(
    formula: Expression, variables: Mapping[str, ReadMeasure], fields: Fields
) -> Expression | None:
    sizes: dict[str, Fraction] = {}
    for name, read in variables.items():
        if read.unit is not None:
            sizes[name] = read.unit.factor
        elif measure_kind(read.measure, None) is Kind.DURATION:
            message = f"the variable {quoted(name)} is a duration without a unit"
            fields.refuse("function", message, "write 'typed': true, and durations as in 28 days")
            return None
    numeric = in_numbers(formula, sizes)
    if is_too_large(numeric):
        message = "this formula becomes too large when its durations are written as numbers"
        fields.refuse("function", message)
        return None
    return numeric


_READERS: dict[str, Callable[[Fields], ReadMeasure | None]] = {
    "CountMeasure": _count,
    "TimeMeasure": _time,
    "ConditionMeasure": _condition,
    "DataMeasure": _data,
    "DataPropertyConditionMeasure": _condition,
    "StateConditionMeasure": _state,
    "AggregatedMeasure": _aggregated,
    "DerivedMeasure": _derived,
    _DERIVED_ONE: _derived,
    _DERIVED_MANY: _derived,
}


# --- writing --------------------------------------------------------------------------

_FUNCTIONS = {function: word for word, function in FUNCTIONS.items()}
_CYCLES = {cycles: word for word, cycles in CYCLES.items()}
_HOUR = Fraction(DURATIONS["hours"])


def measure_json(measure: Measure, process: str, size: Fraction = _HOUR) -> Json:
    """A measure; `size` is that of the unit its time is to be in."""
    match measure:
        case CountMeasure():
            return {"kind": "CountMeasure", "when": events_json(measure.when, process)}
        case TimeMeasure():
            return _time_json(measure, process, size)
        case DataMeasure():
            return _data_json(measure, process)
        case ConditionMeasure():
            return condition_measure_json(measure, process)
        case StateMeasure():
            return state_measure_json(measure)
        case AggregatedMeasure():
            return _aggregated_json(measure, process, size)
        case DerivedSingleInstance(missing=missing):
            written = {"kind": _DERIVED_ONE, **_derived_json(measure, process)}
            return written if missing is None else written | {"missing": missing.value}
        case DerivedMultiInstance():
            return {"kind": _DERIVED_MANY, **_derived_json(measure, process)}


def _time_json(measure: TimeMeasure, process: str, size: Fraction) -> Json:
    cycles, running = measure.cycles, measure.running
    usual = OpenCycle.LEFT_OUT if cycles is None else OpenCycle.NO_VALUE
    is_first = measure.end_pick is Pick.FIRST
    written = {
        "kind": "TimeMeasure",
        "unitOfMeasure": java_unit(unit_of_time(size).factor),
        "from": moment_json(measure.start, process),
        "to": moment_json(measure.end, process),
        "timeMeasureType": "LINEAR" if cycles is None else "CYCLIC",
        "singleInstanceAggFunction": cycles and _CYCLES[cycles],
        "openCycle": None if measure.open_cycle is usual else measure.open_cycle.value,
        "startPick": None if measure.start_pick is Pick.FIRST else Pick.LAST.value,
        # Java takes no notice of `firstTo` beside a precondition.
        "firstTo": True if is_first and running is None else None,
        "endPick": Pick.FIRST.value if is_first and running is not None else None,
        "precondition": running and property_json(running),
    }
    return present(written) | (written_schedule(measure.calendar) if measure.calendar else {})


def _data_json(measure: DataMeasure, process: str) -> Json:
    written = {
        "kind": "DataMeasure",
        "dataContentSelection": {"selection": expression_text(Name(measure.attribute))},
        "first": measure.pick is Pick.FIRST,
        "precondition": measure.when and wrapped(measure.when, process),
    }
    return present(written)


def anchor_json(anchor: Anchor, process: str) -> Json:
    """The instant that decides on the period of a case, as a data measure of its timestamp."""
    if isinstance(anchor.moment, CaseBorder):
        pick = Pick.FIRST if anchor.moment is CaseBorder.START else Pick.LAST
        return _data_json(DataMeasure("timestamp", pick), process)
    return _data_json(DataMeasure("timestamp", anchor.pick, anchor.moment), process)


# --- measures of many cases -----------------------------------------------------------


def _aggregated_json(measure: AggregatedMeasure, process: str, size: Fraction) -> Json:
    grouping = measure.grouping
    written: Json = {
        "kind": "AggregatedMeasure",
        "aggregationFunction": _FUNCTIONS[measure.function],
        "baseMeasure": measure_json(measure.base, process, size),
        "filter": measure.filter and measure_json(measure.filter, process),
        "groupedBy": grouping and [_data_json(grouping.by, process)],
        "keys": grouping and list(grouping.keys),
        "percent": measure.percent,
        "within": measure.within,
    }
    bounds = Shown(None, HOURS).case_bounds(measure).get("")
    limits = written_limits(measure.limits, measure_kind(measure.base, None))
    if limits:
        written["limits"] = json_value(DISTRIBUTION_LIMITS.write(limits) or [])
    if bounds is not None:
        written["bounds"] = json_value(BOUNDS.write(bounds) or [])
    return present(written)


# --- derived measures -----------------------------------------------------------------


def _derived_json(measure: DerivedSingleInstance | DerivedMultiInstance, process: str) -> Json:
    variables = dict(measure.variables)
    durations = {
        name for name, inner in variables.items() if measure_kind(inner, None) is Kind.DURATION
    }
    plain = out_of_numbers(measure.formula, frozenset(durations))
    timed = {name for name, inner in variables.items() if timed_by(inner) is not None}
    formula, sizes, is_typed = measure.formula, {}, True
    # Each duration has to be that of a time measure, in a unit that Java has.
    if plain and durations <= timed and all(map(java_unit, plain[1].values())):
        formula, sizes, is_typed = plain[0], dict(plain[1]), False
    used = {
        name: measure_json(inner, process, sizes.get(name, _HOUR))
        for name, inner in variables.items()
    }
    typed = {"typed": True} if is_typed else {}
    return {"function": expression_text(formula), **typed, "usedMeasureMap": used}


# --- units of time --------------------------------------------------------------------

_NAMES = {
    "millis": "milliseconds",
    **{name: name for name in ("seconds", "minutes", "hours", "days")},
}
_COUNTING = (Aggregation.COUNT, Aggregation.SHARE)


def time_unit(fields: Fields) -> Unit | None:
    """The unit of a time measure."""
    written = fields.text("unitOfMeasure").strip().lower() or "millis"
    if written in _NAMES:
        return duration_unit(_NAMES[written])
    if written == "workingdays":
        message = "working days have no fixed length: a duration cannot be counted in them"
        fields.refuse("unitOfMeasure", message, "write hours")
    else:
        message = f"Java PPINOT cannot measure time in {quoted(written)}"
        fields.refuse("unitOfMeasure", message, f"the units are {', '.join(_NAMES)}")
    return None


def java_unit(size: Fraction) -> str | None:
    """Java's name of a unit of so many microseconds."""
    return next((java for java, name in _NAMES.items() if DURATIONS[name] == size), None)


def timed_by(measure: Measure) -> TimeMeasure | None:
    """The time measure whose unit the value of a measure is in, for Java."""
    match measure:
        case TimeMeasure():
            return measure
        case AggregatedMeasure(function=function, base=TimeMeasure() as base):
            return None if function in _COUNTING else base
    return None


def unit_of_time(size: Fraction) -> Unit:
    """The unit for a time measure: one of that size, or else one that Java has."""
    java = java_unit(size)
    larger = "days" if size > DURATIONS["days"] else "hours"
    name = larger if java is None else _NAMES[java]
    return Unit(name, Fraction(DURATIONS[name]))


def labelled(measure: MultiInstance, label: str) -> Unit:
    """The unit that a label stands for on a PPI; empty for the usual one."""
    usual = usual_unit(measure)
    if measure_kind(measure, None) is Kind.DURATION:
        return duration_unit(label) or usual
    if usual == PERCENT:
        return FRACTION if label == FRACTION.name else PERCENT
    return Unit(label, Fraction(1)) if label else usual


# --- schedules as working calendars ---------------------------------------------------
#
#     L-VT09:00-18:00      Monday to Friday, in Spanish: L M X J V S D; an end of 00:00 is midnight
#     L-VT09:00-18:00/H    … without the holidays, which are listed in the field `holidays`
#
# Java counts the hours in Europe/Madrid, whatever the log says, so that is the zone of what is
# read. Any other calendar is written as calendars are everywhere here, which Java cannot read.

ZONE = "Europe/Madrid"

_DAYS = "LMXJVSD"
_BASIC = re.compile(
    rf"([{_DAYS}])-([{_DAYS}])T([0-9]{{2}}):([0-9]{{2}})-([0-9]{{2}}):([0-9]{{2}})(/H)?"
)
_MIDNIGHT = 24 * 60


def read_schedule(fields: Fields) -> WorkingCalendar | None:
    node = fields.get("considerOnly")
    if node is None:
        return None
    try:
        return _schedule(node, fields)
    except ValueError as wrong:
        fields.refuse("considerOnly", str(wrong))
        return None


def _schedule(node: Node, fields: Fields) -> WorkingCalendar:
    schedule: Node | None = node
    if not isinstance(node, ScalarNode | ListNode):
        inner = fields.opened(node, "a schedule")
        schedule = inner.get("basic") or inner.get("combined") if inner else None
    match schedule:
        case ListNode():
            raise ValueError("schedules by season are not read: hours are the same all year")
        case ScalarNode():
            text = schedule.text.strip()
            week = _week(text)
            if week is None:
                return parse_calendar(text)
            return WorkingCalendar(
                week, _holidays(fields) if text.endswith("/H") else (), zone=ZONE
            )
    raise ValueError("expected a schedule such as L-VT09:00-18:00")


def _week(text: str) -> Week | None:
    """The week of a basic schedule; None if it is written in another way."""
    match = _BASIC.fullmatch(text)
    if match is None:
        return None
    first, last = _DAYS.index(match[1]), _DAYS.index(match[2])
    start = 60 * int(match[3]) + int(match[4])
    end = 60 * int(match[5]) + int(match[6]) or _MIDNIGHT
    if max(int(match[4]), int(match[6])) > 59 or not start < end <= _MIDNIGHT:
        raise ValueError(f"the hours of {quoted(text)} must begin and end within one day")
    if first > last:
        raise ValueError(
            f"the days of {quoted(text)} run past the end of the week, so no day matches"
        )
    return tuple((Window(start, end),) if first <= day <= last else () for day in range(7))


def _holidays(fields: Fields) -> tuple[date, ...]:
    if "holidays" not in fields:
        message = "/H stands for the holidays that an installation of Java PPINOT was given"
        raise ValueError(f'{message}; list them: "holidays": ["2014-12-25", …]')
    return tuple(sorted({_date(text) for text in fields.texts("holidays")}))


def _date(text: str) -> date:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError(f"{quoted(text)} is not a day such as 2014-12-25")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{quoted(text)} is not a valid date") from None


# --- writing --------------------------------------------------------------------------


def written_schedule(calendar: WorkingCalendar) -> dict[str, object]:
    """The fields of a time measure that say its calendar."""
    basic = _basic(calendar)
    if basic is None:
        return {"considerOnly": str(calendar)}
    if not calendar.holidays:
        return {"considerOnly": basic}
    holidays = [day.isoformat() for day in calendar.holidays]
    return {"considerOnly": f"{basic}/H", "holidays": holidays}


def _basic(calendar: WorkingCalendar) -> str | None:
    if calendar.zone != ZONE or calendar.countries:
        return None
    open_days = [day for day, windows in enumerate(calendar.week) if windows]
    hours = {windows for windows in calendar.week if windows}
    if not open_days or open_days != list(range(open_days[0], open_days[-1] + 1)):
        return None
    if len(hours) > 1 or len(windows := hours.pop()) > 1:
        return None
    edges = (windows[0].start, windows[0].end % _MIDNIGHT)
    start, end = (f"{minutes // 60:02}:{minutes % 60:02}" for minutes in edges)
    return f"{_DAYS[open_days[0]]}-{_DAYS[open_days[-1]]}T{start}-{end}"
