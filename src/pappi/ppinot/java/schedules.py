"""Schedules of Java PPINOT as working calendars.

    L-VT09:00-18:00        Monday to Friday, in Spanish: L M X J V S D; an end of 00:00 is midnight
    L-VT09:00-18:00/H      … without the holidays, which are listed in the field `holidays`
    [{"from": "1/1", "to": "6/14", "schedule": "…"}, …]    by season, over the whole year

Java counts the hours in Europe/Madrid, whatever the log says, so that is the zone of what is
read. Any other calendar is written as calendars are everywhere here, which Java cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from itertools import pairwise

from pappi.ppinot.catalogue.document import ListNode, MapNode, Node, ScalarNode
from pappi.ppinot.java.fields import Fields
from pappi.ppinot.wording import quoted
from pappi.values.working_time import Season, Week, Window, WorkingCalendar, parse_calendar

ZONE = "Europe/Madrid"

_DAYS = "LMXJVSD"
_BASIC = re.compile(
    rf"([{_DAYS}])-([{_DAYS}])T([0-9]{{2}}):([0-9]{{2}})-([0-9]{{2}}):([0-9]{{2}})(/H)?"
)
_MONTH_DAY = re.compile(r"-{0,2}([0-9]{1,2})[/-]([0-9]{1,2})")
_MIDNIGHT = 24 * 60
_MOST_ITEMS = 24

Item = tuple[tuple[int, int], tuple[int, int], Week]


def read_schedule(fields: Fields, key: str = "considerOnly") -> WorkingCalendar | None:
    node = fields.get(key)
    if node is None:
        return None
    try:
        return _schedule(_unwrapped(node, fields), fields)
    except ValueError as wrong:
        fields.refuse(key, str(wrong))
        return None


def _unwrapped(node: Node, fields: Fields) -> Node:
    """What is inside {"basic": …} or {"combined": …}."""
    if isinstance(node, ScalarNode | ListNode):
        return node
    inner = fields.opened(node, "a schedule")
    found = inner and (inner.get("basic") or inner.get("combined"))
    if not isinstance(found, ScalarNode | ListNode):
        raise ValueError("expected a schedule such as L-VT09:00-18:00")  # noqa: TRY004
    return found


def _schedule(node: Node, fields: Fields) -> WorkingCalendar:
    if isinstance(node, ListNode):
        return _combined(node, fields)
    text = node.text.strip() if isinstance(node, ScalarNode) else ""
    week = _week(text)
    if week is None:
        return parse_calendar(text)
    return WorkingCalendar(week, holidays=_holidays([text], fields), zone=ZONE)


def _week(text: str) -> Week | None:
    """The week of a basic schedule; None if it is written in another way."""
    match = _BASIC.fullmatch(text)
    if match is None:
        return None
    first, last = _DAYS.index(match[1]), _DAYS.index(match[2])
    start = 60 * int(match[3]) + int(match[4])
    end = 60 * int(match[5]) + int(match[6]) or _MIDNIGHT
    if max(int(match[4]), int(match[6])) > 59 or not start < end <= _MIDNIGHT:
        raise ValueError(f"the hours of {quoted(text)} do not begin and end within a day")
    if first > last:
        raise ValueError(f"the days of {quoted(text)} go over the end of the week: no day is both")
    return tuple((Window(start, end),) if first <= day <= last else () for day in range(7))


def _holidays(texts: Sequence[str], fields: Fields) -> tuple[date, ...]:
    if not any(text.endswith("/H") for text in texts):
        return ()
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
        raise ValueError(f"{quoted(text)} is not a day of the calendar") from None


# --- combined schedules ---------------------------------------------------------------


def _combined(node: ListNode, fields: Fields) -> WorkingCalendar:
    if not 1 <= len(node.items) <= _MOST_ITEMS:
        raise ValueError(f"a combined schedule has from 1 to {_MOST_ITEMS} parts")
    parts = [Fields(item, fields.context) for item in node.items if isinstance(item, MapNode)]
    if len(parts) < len(node.items):
        raise ValueError('a part of a combined schedule is {"from": …, "to": …, "schedule": …}')
    texts = [part.text("schedule").strip() for part in parts]
    items = sorted(map(_item, parts))
    _check_cover(items)
    # The hours around New Year are the usual ones, the others those of seasons.
    usual = items[0][2]
    seasons = tuple(Season(*item) for item in items if item[2] != usual)
    return WorkingCalendar(usual, seasons, _same_holidays(texts, fields), zone=ZONE)


def _item(part: Fields) -> Item:
    week = _week(part.text("schedule").strip())
    if week is None:
        raise ValueError(f"{quoted(part.text('schedule'))} is not a schedule as L-VT09:00-18:00")
    return _month_day(part.text("from")), _month_day(part.text("to")), week


def _month_day(text: str) -> tuple[int, int]:
    match = _MONTH_DAY.fullmatch(text)
    if match is None:
        raise ValueError(f"{quoted(text)} is not a month and a day such as 6/15")
    return int(match[1]), int(match[2])


def _check_cover(items: Sequence[Item]) -> None:
    if items[0][0] != (1, 1) or items[-1][1] != (12, 31):
        raise ValueError("a combined schedule goes from 1/1 to 12/31")
    for (_, last, _), (first, _, _) in pairwise(items):
        if first not in _next_days(last):
            raise ValueError(f"a combined schedule has no gaps: what comes after {last} is {first}")


def _next_days(day: tuple[int, int]) -> set[tuple[int, int]]:
    """The day after, in a leap year and in others."""
    after = set()
    for year in (2000, 2001):
        try:
            ordinal = date(year, *day).toordinal() + 1
        except ValueError:
            continue
        after.add((date.fromordinal(ordinal).month, date.fromordinal(ordinal).day))
    return after


def _same_holidays(texts: Sequence[str], fields: Fields) -> tuple[date, ...]:
    marked = {text.endswith("/H") for text in texts}
    if len(marked) > 1:
        raise ValueError("either all parts of a combined schedule have /H or none has")
    return _holidays(texts, fields)


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
    if calendar.zone != ZONE or calendar.seasons or calendar.countries:
        return None
    open_days = [day for day, windows in enumerate(calendar.week) if windows]
    hours = {windows for windows in calendar.week if windows}
    if not open_days or open_days != list(range(open_days[0], open_days[-1] + 1)):
        return None
    if len(hours) > 1 or len(windows := hours.pop()) > 1:
        return None
    start, end = windows[0].start, windows[0].end % _MIDNIGHT
    days = f"{_DAYS[open_days[0]]}-{_DAYS[open_days[-1]]}"
    return f"{days}T{_clock(start)}-{_clock(end)}"


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"
