"""Calendar periods, cut in a log's time zone and written as UTC microseconds.

Borders are computed with `zoneinfo`, so a month that contains a change to
summer time is one hour shorter, exactly, on every engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pappi.errors import UsageError
from pappi.values.wording import closest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Calendar(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """The days from `start` up to but not including `end`."""

    start: date
    end: date

    def borders_us(self, zone: ZoneInfo) -> tuple[int, int]:
        return midnight_us(self.start, zone), midnight_us(self.end, zone)

    @property
    def label(self) -> str:
        """Its usual name: 2014-10, 2014-Q4, 2014, 2014-W40, or first to last day.

        >>> Period(date(2014, 10, 1), date(2014, 11, 1)).label
        '2014-10'
        """
        return _label(self.start, self.end)


@dataclass(frozen=True, slots=True)
class Grid:
    """Every `count` calendar units: the rhythm of a scope or of privacy blocks.

    Grids of several units are counted from the start of the year (weeks: from
    1970), so that the same grid cuts every log at the same places.
    """

    unit: Calendar
    count: int = 1

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"a grid of {self.count} {self.unit}s never moves on")

    def periods(self, first: date, until: date) -> tuple[Period, ...]:
        return _periods(self, first, until)

    def walk(self, first: date, until: date) -> Iterator[Period]:
        """The periods of the grid that contain a day of [first, until), one after the other."""
        start = self.start_of(first)
        while start < until:
            end = self._end_of(start)
            yield Period(start, end)
            start = end

    def start_of(self, day: date) -> date:
        """The first day of the period that contains a day."""
        if self.count == 1:
            return _floor(day, self.unit)
        start = self._origin(day)
        while (end := self._end_of(start)) <= day:
            start = end
        return start

    def _origin(self, day: date) -> date:
        match self.unit:
            case Calendar.WEEK:
                monday = date(1970, 1, 5)
                weeks = (_floor(day, Calendar.WEEK) - monday).days // 7
                return monday + timedelta(weeks=weeks - weeks % self.count)
            case Calendar.YEAR:
                return date(max(1, day.year - day.year % self.count), 1, 1)
            case _:
                return date(day.year, 1, 1)

    def _end_of(self, start: date) -> date:
        end = start
        for _ in range(self.count):
            end = _next(end, self.unit)
        if self.unit in (Calendar.WEEK, Calendar.YEAR):
            return end
        return min(end, date(start.year + 1, 1, 1))

    def __str__(self) -> str:
        return f"every {self.unit}" if self.count == 1 else f"every {self.count} {self.unit}s"


@lru_cache(maxsize=64)
def _periods(grid: Grid, first: date, until: date) -> tuple[Period, ...]:
    """A log's blocks are asked for several times in every request."""
    return tuple(grid.walk(first, until))


@dataclass(frozen=True, slots=True)
class Horizon:
    """The days a log is declared to cover, [first, until), and how they are cut into blocks."""

    first: date
    until: date
    blocks: Grid
    today: date = date.max

    @property
    def now(self) -> date:
        """The end of recent time, excluded: today, or the end of a log that lies in the past."""
        return min(self.today, self.until)

    @property
    def covered(self) -> Period:
        """All blocks that contain a day of the log."""
        (last,) = self.blocks.periods(self.until - timedelta(days=1), self.until)
        return Period(self.blocks.start_of(self.first), last.end)


def zone_called(name: str) -> ZoneInfo:
    """The time zone of that name; the error suggests the closest one.

    >>> zone_called("europe/berlin")
    Traceback (most recent call last):
    pappi.errors.UsageError: there is no time zone called 'europe/berlin'
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    zones = sorted(available_timezones())
    by_name = {zone.rpartition("/")[2]: zone for zone in reversed(zones)} | dict(
        zip(zones, zones, strict=True)
    )
    meant = closest(name.strip().replace(" ", "_"), by_name)
    hint = f"did you mean {by_name[meant]}?" if meant else "write e.g. Europe/Amsterdam or UTC"
    raise UsageError(f"there is no time zone called '{name}'", hint=hint)


def midnight_us(day: date, zone: ZoneInfo) -> int:
    """The instant a day begins in a zone, as UTC microseconds."""
    return (datetime.combine(day, time(), zone) - _EPOCH) // _MICROSECOND


def day_of(ts_us: int, zone: ZoneInfo) -> date:
    """The calendar day an instant falls on in a zone."""
    return (_EPOCH + timedelta(microseconds=ts_us)).astimezone(zone).date()


@lru_cache(maxsize=4_096)  # every release names the same blocks, several times each
def _label(start: date, end: date) -> str:
    for grid in (Calendar.YEAR, Calendar.QUARTER, Calendar.MONTH, Calendar.WEEK, Calendar.DAY):
        if _floor(start, grid) == start and _next(start, grid) == end:
            return _name(start, grid)
    return f"{start} to {end - timedelta(days=1)}"


def _floor(day: date, unit: Calendar) -> date:
    match unit:
        case Calendar.DAY:
            return day
        case Calendar.WEEK:
            return day - timedelta(days=day.weekday())
        case Calendar.MONTH:
            return day.replace(day=1)
        case Calendar.QUARTER:
            return date(day.year, day.month - (day.month - 1) % 3, 1)
        case Calendar.YEAR:
            return date(day.year, 1, 1)


def _next(start: date, unit: Calendar) -> date:
    match unit:
        case Calendar.DAY:
            return start + timedelta(days=1)
        case Calendar.WEEK:
            return start + timedelta(weeks=1)
        case Calendar.MONTH | Calendar.QUARTER:
            years, month = divmod(start.month + (2 if unit is Calendar.QUARTER else 0), 12)
            return date(start.year + years, month + 1, 1)
        case Calendar.YEAR:
            return date(start.year + 1, 1, 1)


def _name(start: date, unit: Calendar) -> str:
    match unit:
        case Calendar.DAY:
            return start.isoformat()
        case Calendar.WEEK:
            year, week, _ = start.isocalendar()
            return f"{year}-W{week:02}"
        case Calendar.MONTH:
            return f"{start.year}-{start.month:02}"
        case Calendar.QUARTER:
            return f"{start.year}-Q{(start.month + 2) // 3}"
        case Calendar.YEAR:
            return str(start.year)
