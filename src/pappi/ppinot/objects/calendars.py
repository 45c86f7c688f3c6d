"""Business hours of ppinot4py as working calendars.

It counts them on the clock of UTC, since it turns all timestamps into that before; so UTC is the
zone of the calendar. Hours without a start and an end are whole days, and 23:59:59 is midnight.
"""

from __future__ import annotations

from datetime import date, time

from pappi.errors import UsageError
from pappi.ppinot.objects.foreign import Foreign
from pappi.ppinot.wording import quoted
from pappi.values.working_time import Window, WorkingCalendar, parse_calendar

_MIDNIGHT = 24 * 60


def read_calendar(found: Foreign) -> WorkingCalendar:
    if found.kind != "BusinessDuration":
        raise found.refusal(f"expected a BusinessDuration, found {quoted(found.kind)}")
    window = _window(found)
    free = _weekend(found)
    week = tuple(() if day in free else (window,) for day in range(7))
    holidays, countries = _holidays(found.find("holiday_list"))
    try:
        return WorkingCalendar(week, (), holidays, countries, "UTC")
    except (ValueError, UsageError) as wrong:
        raise found.refusal(str(wrong)) from None


def _window(found: Foreign) -> Window:
    start, end = found.find("business_start"), found.find("business_end")
    if start is None and end is None:
        return Window(0, _MIDNIGHT)
    if start is None or end is None:
        raise found.refusal("business hours have a start and an end, or neither")
    first, last = _minutes(start, start.clock()), _minutes(end, end.clock())
    if first >= last:
        message = "business hours over midnight are counted in ways of their own by ppinot4py"
        raise found.refusal(message, "write a working calendar for them")
    return Window(first, last)


def _minutes(found: Foreign, clock: time) -> int:
    if clock == time(23, 59, 59):
        return _MIDNIGHT
    if clock.second:
        raise found.refusal("business hours are in whole minutes")
    return 60 * clock.hour + clock.minute


def _weekend(found: Foreign) -> set[int]:
    listed = found.find("weekend_list")
    days = [each.number() for each in listed.items()] if listed else []
    if any(day is None for day in days):
        raise found.refusal("a weekend is a list of days, of which 0 is Monday")
    return {int(day) for day in days if day is not None}


def _holidays(found: Foreign | None) -> tuple[tuple[date, ...], tuple[str, ...]]:
    """Days, or the country of an object of the package `holidays`."""
    if found is None:
        return (), ()
    if hasattr(type(found.value), "country") and isinstance(found.value, dict):
        return (), (_country(found),)
    return tuple(sorted({each.day() for each in found.items()})), ()


def _country(found: Foreign) -> str:
    code, part = found.get("country").text("a country"), found.find("subdiv")
    place = code if part is None else f"{code}-{part.text('a subdivision')}"
    try:
        return parse_calendar(f"always; except holidays in {place}").countries[0]
    except ValueError as wrong:
        raise found.refusal(str(wrong)) from None
