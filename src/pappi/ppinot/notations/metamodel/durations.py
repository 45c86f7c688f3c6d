"""Time as Java PPINOT counts it: units, and schedules as working calendars.

A time measure of Java gives a number of its `unitOfMeasure`, milliseconds if it names none. The
same unit then is that of an aggregate over it, of its target and in formulas. On any other
measure `unitOfMeasure` is a label to show.

    L-VT09:00-18:00      Monday to Friday, in Spanish: L M X J V S D; an end of 00:00 is midnight
    L-VT09:00-18:00/H    … without the holidays, which are listed in the field `holidays`

Java counts the hours in Europe/Madrid, whatever the log says, so that is the zone of what is
read. Any other calendar is written as calendars are everywhere here, which Java cannot read.
"""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Measure,
    MultiInstance,
    TimeMeasure,
    measure_kind,
)
from pappi.ppinot.notations.building import usual_unit
from pappi.ppinot.notations.document import ListNode, Node, ScalarNode
from pappi.ppinot.notations.metamodel.fields import Fields
from pappi.values import (
    DURATIONS,
    FRACTION,
    PERCENT,
    Kind,
    Unit,
    Week,
    Window,
    WorkingCalendar,
    duration_unit,
    parse_calendar,
    quoted,
)

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


# --- schedules ------------------------------------------------------------------------

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
