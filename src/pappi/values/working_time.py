"""Working calendars: which hours of which days count as working time, and how much of it there is.

Written in one line, the same in every notation, and read back from it:

    Mon-Fri 09:00-12:00 13:00-17:00; Sat 09:00-13:00; except 2014-12-24, 2015-08-03 to 2015-08-14;
    except holidays in ES, DE-BY; in Europe/Madrid

Hours may be `always` or `closed` instead of times; days left out are all seven. Hours that
end before they begin end the next morning, and from then on are that morning's: not worked if it
is a holiday.

Zones and countries are public names that come from packages: zones from `zoneinfo`, countries
and their subdivisions from `holidays`, which is imported only when a calendar names a country.

Working time between two instants is the working time before the second less that before the
first. For any instant it is one look into a table (`working_days_of`): what was worked before its
UTC day, and how much of that day's windows lies before it. Exact through every change of a zone's
clock: working time is when the wall clock shows working hours. An hour that is skipped in spring
has no length; one that happens twice in autumn counts twice.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from itertools import accumulate, groupby, pairwise, takewhile
from zoneinfo import ZoneInfo, available_timezones

from pappi.values.wording import closest, quoted

DAY_MINUTES = 24 * 60
MOST_WINDOWS = 12
"""Per day: each window is a column of the table of days."""
MOST_DATES, MOST_COUNTRIES = 2_000, 40
MOST_TEXT = 60_000
"""Longer than any valid calendar as text, so that every calendar can be read back."""

_LONG_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAYS = tuple(name[:3] for name in _LONG_DAYS)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_HOURS = re.compile(r"\d|(?:always|closed)$", re.IGNORECASE)
_LISTED = 20


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """Part of a day, in minutes after midnight: from `start` up to but not including `end`."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end <= DAY_MINUTES:
            raise ValueError(f"hours begin before they end, within a day, not {self}")

    def __str__(self) -> str:
        return f"{_clock(self.start)}-{_clock(self.end)}"


Week = tuple[tuple[Window, ...], ...]
"""The windows of each day, Monday first: seven of them, in order, with time between any two."""


@dataclass(frozen=True, slots=True)
class WorkingCalendar:
    """Hours of the week, and days on which nobody works.

    `countries` are codes of the `holidays` package, with a subdivision after a dash: DE-BY.
    Without a zone the hours are those of the log's time zone. Dates are in order, and windows that
    would touch are one, so that the same calendar gives the same query.

    >>> str(WorkingCalendar(((Window(540, 1020),),) * 5 + ((),) * 2, zone="Europe/Madrid"))
    'Mon-Fri 09:00-17:00; in Europe/Madrid'
    """

    week: Week
    holidays: tuple[date, ...] = ()
    countries: tuple[str, ...] = ()
    zone: str | None = None

    def __post_init__(self) -> None:
        _check_week(self.week)
        if len(self.holidays) > MOST_DATES:
            raise ValueError(f"a calendar has at most {MOST_DATES} free days")
        if any(day >= following for day, following in pairwise(self.holidays)):
            raise ValueError("free days must be in order, without repeats")
        _check_countries(self.countries)
        if self.zone is not None:
            _check_spelling(self.zone, _known_zone(self.zone))

    def __str__(self) -> str:
        return "; ".join(_clauses(self))


# --- validation ----------------------------------------------------------------------


def _check_week(week: Week) -> None:
    if len(week) != len(_DAYS):
        raise ValueError(f"a week has seven days, not {len(week)}")
    for day, windows in zip(_DAYS, week, strict=True):
        if len(windows) > MOST_WINDOWS:
            raise ValueError(f"{day} has more than {MOST_WINDOWS} windows")
        if any(window.end >= following.start for window, following in pairwise(windows)):
            raise ValueError(f"the windows of {day} are not in order, with time between them")


def _check_countries(countries: tuple[str, ...]) -> None:
    if len(countries) > MOST_COUNTRIES:
        raise ValueError(f"a calendar has at most {MOST_COUNTRIES} countries")
    if len(set(countries)) < len(countries):
        raise ValueError("a country is named twice")
    for country in countries:
        _check_spelling(country, _known_country(country))


def _check_spelling(name: str, spelling: str) -> None:
    if name != spelling:
        raise ValueError(f"{quoted(name)} is written {spelling}")


# --- writing -------------------------------------------------------------------------


def _clauses(calendar: WorkingCalendar) -> Iterator[str]:
    yield from _week_lines(calendar.week)
    if calendar.holidays:
        numbers = [day.toordinal() for day in calendar.holidays]
        yield "except " + _listed(numbers, lambda day: str(date.fromordinal(day)), " to ")
    if calendar.countries:
        yield "except holidays in " + ", ".join(calendar.countries)
    if calendar.zone is not None:
        yield f"in {calendar.zone}"


def _week_lines(week: Week) -> Iterator[str]:
    """Days with the same hours together: `Mon-Fri 09:00-17:00`, then `Sat 09:00-13:00`."""
    if not any(week):
        yield "closed"
    elif set(week) == {(Window(0, DAY_MINUTES),)}:
        yield "always"
    else:
        for windows in dict.fromkeys(filter(None, week)):
            numbers = [number for number in range(len(_DAYS)) if week[number] == windows]
            days = _listed(numbers, _DAYS.__getitem__, "-")
            yield f"{days} {' '.join(map(str, windows))}"


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _listed(numbers: Sequence[int], shown: Callable[[int], str], upto: str) -> str:
    """Each run of consecutive numbers by its first and last one.

    >>> _listed([1, 2, 3, 5], str, "-")
    '1-3, 5'
    """
    spans = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        first, *others = [shown(number) for _, number in run]
        spans.append(upto.join((first, *others[-1:])))
    return ", ".join(spans)


# --- reading -------------------------------------------------------------------------


@dataclass(slots=True)
class _Draft:
    """What has been read of a line so far."""

    hours: list[_Hours] = field(default_factory=list)
    holidays: set[date] = field(default_factory=set)
    countries: dict[str, None] = field(default_factory=dict)
    zone: str | None = None

    def calendar(self) -> WorkingCalendar:
        if not self.hours:
            raise ValueError("a calendar gives hours, as in Mon-Fri 09:00-17:00, or always")
        holidays = tuple(sorted(self.holidays))
        return WorkingCalendar(_week_of(self.hours), holidays, tuple(self.countries), self.zone)


def parse_calendar(text: str) -> WorkingCalendar:
    """The calendar a line describes; ValueError says which part is wrong and what would fit.

    >>> str(parse_calendar("monday-friday 9:00-12:00, 13:00-17:00; except holidays in es"))
    'Mon-Fri 09:00-12:00 13:00-17:00; except holidays in ES'
    """
    if len(text) > MOST_TEXT:
        raise ValueError(f"a calendar is written in at most {MOST_TEXT} characters")
    reading = _Draft()
    spaced = " ".join(text.replace("–", "-").replace(",", " , ").replace(";", " ; ").split())
    for part in filter(
        None, map(str.strip, spaced.replace(" -", "-").replace("- ", "-").split(";"))
    ):
        try:
            _read_clause(part, reading)
        except ValueError as wrong:
            raise ValueError(f"in {quoted(part.replace(' ,', ','))}: {wrong}") from None
    return reading.calendar()


def _read_clause(part: str, reading: _Draft) -> None:
    word, _, rest = part.partition(" ")
    match word.lower():
        case "except":
            _read_exception(rest, reading)
        case "in":
            zone = _known_zone(rest)
            if reading.zone not in (None, zone):
                raise ValueError(f"the zone is {reading.zone} already, and a calendar has only one")
            reading.zone = zone
        case _:
            reading.hours.append(_hours_of(part.replace(",", " ").split()))


def _read_exception(rest: str, reading: _Draft) -> None:
    words = rest.split()
    if words and words[0].lower() == "holidays":
        if len(words) < 3 or words[1].lower() != "in":
            raise ValueError("the country is missing, as in except holidays in ES, DE-BY")
        places = [place.strip() for place in " ".join(words[2:]).split(",")]
        reading.countries |= dict.fromkeys(map(_known_country, places[: MOST_COUNTRIES + 1]))
        return
    for days in rest.split(","):
        span = days.strip()
        first, _, last = span.partition(" to ")
        start = _read_date(first)
        end = _read_date(last) if last else start
        if not start <= end:
            raise ValueError(f"{quoted(span)} ends before it begins")
        if (end - start).days + len(reading.holidays) > MOST_DATES:
            raise ValueError(f"a calendar has at most {MOST_DATES} free days")
        reading.holidays.update(
            map(date.fromordinal, range(start.toordinal(), end.toordinal() + 1))
        )


def _read_date(word: str) -> date:
    # Only the plain form: fromisoformat accepts others, which few people can read.
    if not _DATE.fullmatch(word):
        raise ValueError(f"a date is written as in 2014-12-24, not {quoted(word)}")
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise ValueError(f"{word} is not a valid date") from None


# --- reading hours -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Hours:
    """One part of the line: the hours of these days, in minutes after midnight.

    An end after 1440 is in the morning of the next day.
    """

    days: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]


def _hours_of(words: Sequence[str]) -> _Hours:
    """The days and hours of a part."""
    days = tuple(takewhile(lambda word: not _HOURS.match(word), words))
    hours = [word.lower() for word in words[len(days) :]]
    numbers = dict.fromkeys(number for word in days for number in _read_weekdays(word))
    if not hours:
        raise ValueError("hours are missing, as in Mon-Fri 09:00-17:00")
    return _Hours(tuple(numbers) or tuple(range(len(_DAYS))), _read_spans(hours))


def _read_weekdays(word: str) -> Iterator[int]:
    first, dash, last = word.partition("-")
    start = _weekday(first)
    end = _weekday(last) if dash else start
    for step in range((end - start) % len(_DAYS) + 1):
        yield (start + step) % len(_DAYS)


def _read_spans(words: Sequence[str]) -> tuple[tuple[int, int], ...]:
    if words == ["always"]:
        return ((0, DAY_MINUTES),)
    if words == ["closed"]:
        return ()
    for word in words:
        if not word[0].isdigit():
            raise ValueError(f"{quoted(word)} is not a span of hours; separate parts with ';'")
    spans = sorted(_read_span(word) for word in words)
    if any(span[1] > following[0] for span, following in pairwise(spans)):
        raise ValueError("hours of the same day overlap")
    return tuple(spans)


def _read_span(word: str) -> tuple[int, int]:
    first, _, last = word.partition("-")
    start, end = _read_clock(first, word), _read_clock(last, word)
    if start in (end, DAY_MINUTES):
        raise ValueError(f"{quoted(word)} has no length; a whole day is 00:00-24:00")
    return start, end if start < end else end + DAY_MINUTES


def _read_clock(word: str, span: str) -> int:
    hour, _, minute = word.partition(":")
    digits = word.isascii() and hour.isdigit() and minute.isdigit()
    if not (digits and len(hour) <= 2 and len(minute) == 2 and int(minute) < 60):
        raise ValueError(f"hours are written as in 09:00-17:00, not {quoted(span)}")
    minutes = 60 * int(hour) + int(minute)
    if minutes > DAY_MINUTES:
        raise ValueError(f"a day has no {quoted(word)}; its last minute ends at 24:00")
    return minutes


def _week_of(parts: Sequence[_Hours]) -> Week:
    """The week that several parts describe; ValueError if two of them name the same day."""
    windows: list[list[Window]] = [[] for _ in _DAYS]
    days: set[int] = set()
    for part in parts:
        if twice := days.intersection(part.days):
            raise ValueError(f"{_DAYS[min(twice)]} has hours twice: write them all in one place")
        days.update(part.days)
        for day in part.days:
            for start, end in part.spans:
                windows[day].append(Window(start, min(end, DAY_MINUTES)))
                if end > DAY_MINUTES:
                    windows[(day + 1) % len(_DAYS)].append(Window(0, end - DAY_MINUTES))
    return tuple(_joined(day) for day in windows)


def _joined(windows: Sequence[Window]) -> tuple[Window, ...]:
    """Windows in order, those that touch or overlap as one.

    >>> [str(window) for window in _joined([Window(540, 1020), Window(0, 540)])]
    ['00:00-17:00']
    """
    apart: list[Window] = []
    for window in sorted(windows):
        if apart and window.start <= apart[-1].end:
            apart[-1] = Window(apart[-1].start, max(window.end, apart[-1].end))
        else:
            apart.append(window)
    return tuple(apart)


# --- zones and countries -------------------------------------------------------------


def _known_zone(name: str) -> str:
    """The zone's own spelling; ValueError if there is none.

    >>> _known_zone("europe/madrid")
    'Europe/Madrid'
    """
    zones = _zones()
    if name.lower() in zones:
        return zones[name.lower()]
    cities = {lower.rpartition("/")[2]: zone for lower, zone in zones.items() if "/" in lower}
    fits = _suggestion(name, {**cities, **zones}, "a zone such as Europe/Madrid")
    raise ValueError(f"no time zone is called {quoted(name)}; {fits}")


@cache
def _zones() -> dict[str, str]:
    return {name.lower(): name for name in sorted(available_timezones())}


def _known_country(name: str) -> str:
    """A country's code, or with a dash one of its subdivisions; ValueError if there is none.

    >>> _known_country("de-by")
    'DE-BY'
    """
    code, dash, part = name.partition("-")
    country = _country(code.strip())
    return f"{country}-{_subdivision(country, part.strip())}" if dash else country


def _country(name: str) -> str:
    codes = _codes()
    if name.upper() in codes.values():
        return name.upper()
    fits = _suggestion(name, codes, "a code such as ES or DE-BY")
    raise ValueError(f"no country with known holidays has the code {quoted(name)}; {fits}")


def _subdivision(country: str, wanted: str) -> str:
    parts, called = _subdivisions(country)
    by_lower = {part.lower(): part for part in parts}
    if wanted.lower() in by_lower:
        return by_lower[wanted.lower()]
    if not parts:
        raise ValueError(f"holidays are the same all over {country}: write {country} alone")
    by_name = {**called, **dict(zip(parts, parts, strict=True))}
    meant = {name: f"{country}-{code}" for name, code in by_name.items()}
    several = ", ".join(parts[:_LISTED]) + (", …" if len(parts) > _LISTED else "")
    fits = _suggestion(wanted, meant, f"one of {several}")
    raise ValueError(f"{country} has no part {quoted(wanted)}; {fits}")


@cache
def _codes() -> dict[str, str]:
    """Two-letter codes by every name a country has."""
    from holidays.registry import COUNTRIES

    by_name: dict[str, str] = {}
    for called, names in COUNTRIES.items():
        for name in (called, *names):
            by_name[name.lower().replace("_", " ")] = names[1]
    return by_name


@cache
def _subdivisions(country: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The codes of a country's subdivisions, and their codes by name."""
    from holidays import country_holidays

    entity = type(country_holidays(country))
    return tuple(entity.subdivisions), dict(getattr(entity, "subdivisions_aliases", {}))


def public_holidays(place: str, first_year: int, last_year: int) -> frozenset[date]:
    """The public holidays of a country or subdivision, as far as the package knows them.

    It knows some only for certain years, and says so in a warning; the days it does not
    know are working days here.
    """
    from holidays import country_holidays

    country, _, part = place.partition("-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        years = range(first_year, last_year + 1)
        return frozenset(country_holidays(country, subdiv=part or None, years=years))


# --- helping with names --------------------------------------------------------------


def _weekday(word: str) -> int:
    """The number of a day by its name, in full or its first three letters."""
    for number, name in enumerate(_LONG_DAYS):
        if word.lower() in (name[:3].lower(), name.lower()):
            return number
    meant = {name: name for name in (*_DAYS, *_LONG_DAYS)}
    fits = _suggestion(word, meant, f"one of {', '.join(_DAYS)}")
    raise ValueError(f"no day is called {quoted(word)}; {fits}")


def _suggestion(word: str, meant: Mapping[str, str], otherwise: str) -> str:
    name = closest(word, meant)
    return f"did you mean '{meant[name]}'?" if name else f"use {otherwise}"


# --- working time as a table of UTC days --------------------------------------------------


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


# --- local working hours ------------------------------------------------------------------


class _LocalHours:
    """The working hours of each local day, in microseconds after its midnight."""

    def __init__(self, calendar: WorkingCalendar, first_year: int, last_year: int) -> None:
        self._week = tuple(
            tuple((window.start * _MINUTE_US, window.end * _MINUTE_US) for window in day)
            for day in calendar.week
        )
        self._free = {day.toordinal() - _EPOCH_DAY for day in calendar.holidays}
        for place in calendar.countries:
            days = public_holidays(place, first_year, last_year)
            self._free.update(day.toordinal() - _EPOCH_DAY for day in days)

    def of(self, day: int) -> tuple[Span, ...]:
        if day in self._free:
            return ()
        return self._week[date.fromordinal(day + _EPOCH_DAY).weekday()]


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
