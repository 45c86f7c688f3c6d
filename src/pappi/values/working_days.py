"""A working calendar as a table of UTC days, from which working time is a subtraction.

Working time between two instants is the working time before the second less that before the
first. For any instant it is one look into the table: what was worked before its UTC day,
and how much of that day's windows lies before it.

Exact through every change of a zone's clock: working time is when the wall clock shows
working hours. An hour that is skipped in spring has no length; one that happens twice in
autumn counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import accumulate
from zoneinfo import ZoneInfo

from pappi.values.working_time import Week, WorkingCalendar, public_holidays

DAY_US = 24 * 60 * 60 * 1_000_000
_MINUTE_US = 60 * 1_000_000
_SECOND_US = 1_000_000
# A change of the clock that is undone between two probes would be missed. In the zone
# database no two changes are less than 3.9 days apart.
_PROBE_US = 3 * DAY_US
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)

Span = tuple[int, int]
"""From one instant up to but not including another, in UTC microseconds."""


@dataclass(frozen=True, slots=True)
class DayTable:
    """For each UTC day from `first_day` on, counted from 1970-01-01: one row.

    `before` is the working time of the table's days before this one. `windows` are columns
    as well, `(starts, ends)` each: the day's first window, its second, as many as the
    fullest day has. Where a day has fewer, the rest are empty, at the day's start.
    """

    first_day: int
    before: tuple[int, ...]
    windows: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

    def __len__(self) -> int:
        return len(self.before)

    @property
    def days(self) -> range:
        return range(self.first_day, self.first_day + len(self))

    def worked_before(self, instant_us: int) -> int:
        """Working microseconds from the table's start up to an instant of one of its days."""
        row = instant_us // DAY_US - self.first_day
        if not 0 <= row < len(self):
            raise ValueError("the instant lies outside the table's days")
        return self.before[row] + sum(
            min(max(instant_us - starts[row], 0), ends[row] - starts[row])
            for starts, ends in self.windows
        )


@lru_cache(maxsize=4)
def working_days_of(
    calendar: WorkingCalendar, log_zone: ZoneInfo, first: date, until: date
) -> DayTable:
    """The table of the UTC days in [first, until), within the years 2 to 9998."""
    if first.year < 2 or until.year > 9998:
        raise ValueError("a table of days lies within the years 2 to 9998")
    zone = log_zone if calendar.zone is None else ZoneInfo(calendar.zone)
    start, end = first.toordinal() - _EPOCH_DAY, until.toordinal() - _EPOCH_DAY
    hours = _LocalHours(calendar, first.year - 1, until.year + 1)
    rows: list[list[Span]] = [[] for _ in range(start, end)]
    for stretch in _stretches(zone, start, end):
        for span_start, span_end in _worked(stretch, hours):
            # No longer than a day: it touches one UTC day, or two.
            day = span_start // DAY_US
            midnight = (day + 1) * DAY_US
            _append(rows[day - start], span_start, min(span_end, midnight))
            if span_end > midnight:
                _append(rows[day + 1 - start], midnight, span_end)
    return _table(rows, start)


# --- what the wall clock says -------------------------------------------------------------

_WeekUs = tuple[tuple[Span, ...], ...]


class _LocalHours:
    """The working hours of each local day, in microseconds after its midnight."""

    def __init__(self, calendar: WorkingCalendar, first_year: int, last_year: int) -> None:
        self._usual = _week_us(calendar.week)
        self._seasons = [(season, _week_us(season.week)) for season in calendar.seasons]
        self._free = {day.toordinal() - _EPOCH_DAY for day in calendar.holidays}
        for place in calendar.countries:
            days = public_holidays(place, first_year, last_year)
            self._free.update(day.toordinal() - _EPOCH_DAY for day in days)

    def of(self, day: int) -> tuple[Span, ...]:
        if day in self._free:
            return ()
        called = date.fromordinal(day + _EPOCH_DAY)
        weeks = (week for season, week in self._seasons if season.holds(called.month, called.day))
        return next(weeks, self._usual)[called.weekday()]


def _week_us(week: Week) -> _WeekUs:
    return tuple(
        tuple((window.start * _MINUTE_US, window.end * _MINUTE_US) for window in day)
        for day in week
    )


# --- from the wall clock to UTC -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Instants at which a zone's clock is the same time ahead of UTC."""

    start: int
    end: int
    ahead: int


def _stretches(zone: ZoneInfo, first_day: int, until_day: int) -> Iterator[_Stretch]:
    """The days, cut where the zone's clock changes."""
    start, until = first_day * DAY_US, until_day * DAY_US
    ahead = _ahead(zone, start)
    for probe in (*range(start + _PROBE_US, until, _PROBE_US), until):
        while _ahead(zone, probe) != ahead:
            change = _change(zone, max(start, probe - _PROBE_US), probe, ahead)
            yield _Stretch(start, change, ahead)
            start, ahead = change, _ahead(zone, change)
    yield _Stretch(start, until, ahead)


def _change(zone: ZoneInfo, before: int, after: int, ahead: int) -> int:
    """The first instant at which the clock is no longer so far ahead; changes are on seconds."""
    while after - before > _SECOND_US:
        middle = before + (after - before) // (2 * _SECOND_US) * _SECOND_US
        before, after = (middle, after) if _ahead(zone, middle) == ahead else (before, middle)
    return after


def _ahead(zone: ZoneInfo, instant_us: int) -> int:
    offset = (_EPOCH + timedelta(microseconds=instant_us)).astimezone(zone).utcoffset()
    return 0 if offset is None else offset // _MICROSECOND


def _worked(stretch: _Stretch, hours: _LocalHours) -> Iterator[Span]:
    ahead = stretch.ahead
    first, last = (stretch.start + ahead) // DAY_US, (stretch.end + ahead - 1) // DAY_US
    for day in range(first, last + 1):
        midnight = day * DAY_US - ahead
        for start, end in hours.of(day):
            span = max(midnight + start, stretch.start), min(midnight + end, stretch.end)
            if span[0] < span[1]:
                yield span


# --- the rows -----------------------------------------------------------------------------


def _append(row: list[Span], start: int, end: int) -> None:
    if row and row[-1][1] == start:
        start = row.pop()[0]
    row.append((start, end))


def _table(rows: list[list[Span]], first_day: int) -> DayTable:
    worked = [sum(end - start for start, end in row) for row in rows]
    before = tuple(accumulate(worked[:-1], initial=0)) if rows else ()
    most = max(map(len, rows), default=0)
    for day, row in enumerate(rows, first_day):
        row.extend([(day * DAY_US, day * DAY_US)] * (most - len(row)))
    windows = tuple(
        (tuple(row[k][0] for row in rows), tuple(row[k][1] for row in rows)) for k in range(most)
    )
    return DayTable(first_day, before, windows)
