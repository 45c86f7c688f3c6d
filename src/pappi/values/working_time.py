"""Working calendars: which hours of which days count as working time.

Written in one line, the same in every notation, and read back from it:

    Mon-Fri 09:00-12:00 13:00-17:00; Sat 09:00-13:00; 15 Jun to 15 Sep Mon-Fri 08:00-15:00;
    except 2014-12-24, 2015-08-03 to 2015-08-14; except holidays in ES, DE-BY; in Europe/Madrid

Hours may be `always` or `closed` instead of times; days left out are all seven. Hours that
end before they begin end the next morning, and from then on are that morning's: of its
season, and not worked if it is a holiday. `working_days` counts the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise

from pappi.values.working_places import echo, known_country, known_zone
from pappi.values.working_week import (
    DayOfYear,
    Hours,
    Season,
    Week,
    Window,
    check_week,
    hours_of,
    joined,
    runs,
    season_of,
    week_lines,
    week_of,
)

__all__ = ["Season", "Week", "Window", "WorkingCalendar", "joined", "parse_calendar"]

MOST_SEASONS, MOST_DATES, MOST_COUNTRIES = 24, 2_000, 40
MOST_TEXT = 60_000
"""More than the longest calendar takes, so that every one can be read back."""

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class WorkingCalendar:
    """Hours of the week, seasons in which they differ, and days on which nobody works.

    `countries` are codes of the `holidays` package, with a subdivision after a dash: DE-BY.
    Without a zone the hours are those of the log's time zone. Seasons and dates are in
    order, and windows that would touch are one, so that the same calendar is the same question.

    >>> str(WorkingCalendar(((Window(540, 1020),),) * 5 + ((),) * 2, zone="Europe/Madrid"))
    'Mon-Fri 09:00-17:00; in Europe/Madrid'
    """

    week: Week
    seasons: tuple[Season, ...] = ()
    holidays: tuple[date, ...] = ()
    countries: tuple[str, ...] = ()
    zone: str | None = None

    def __post_init__(self) -> None:
        check_week(self.week)
        _check_seasons(self.seasons)
        _check_dates(self.holidays)
        _check_countries(self.countries)
        if self.zone is not None:
            _check_spelling(self.zone, known_zone(self.zone))

    def week_on(self, month: int, day: int) -> Week:
        """The week that holds on a day of the year: a season's, or the usual one."""
        return next((each.week for each in self.seasons if each.holds(month, day)), self.week)

    def __str__(self) -> str:
        return "; ".join(_written(self))


# --- what makes a calendar one ------------------------------------------------------------


def _check_seasons(seasons: tuple[Season, ...]) -> None:
    if len(seasons) > MOST_SEASONS:
        raise ValueError(f"a calendar has at most {MOST_SEASONS} seasons")
    if list(seasons) != sorted(seasons, key=lambda season: season.first):
        raise ValueError("seasons are not in order of their first days")
    # In that order only neighbours can overlap; beyond New Year the last one's is the first.
    for one, other in pairwise((*seasons, *seasons[:1]) if len(seasons) > 1 else ()):
        if one.holds(*other.first):
            raise ValueError(f"two seasons overlap: {one.dates}, and {other.dates}")


def _check_dates(days: tuple[date, ...]) -> None:
    if len(days) > MOST_DATES:
        raise ValueError(f"a calendar has at most {MOST_DATES} free days")
    if any(one >= other for one, other in pairwise(days)):
        raise ValueError("free days are not in order, each once")


def _check_countries(countries: tuple[str, ...]) -> None:
    if len(countries) > MOST_COUNTRIES:
        raise ValueError(f"a calendar has at most {MOST_COUNTRIES} countries")
    if len(set(countries)) < len(countries):
        raise ValueError("a country is named twice")
    for country in countries:
        _check_spelling(country, known_country(country))


def _check_spelling(written: str, known: str) -> None:
    if written != known:
        raise ValueError(f"{echo(written)} is written {known}")


# --- writing ------------------------------------------------------------------------------


def _written(calendar: WorkingCalendar) -> Iterator[str]:
    yield from week_lines(calendar.week)
    for season in calendar.seasons:
        yield from (f"{season.dates} {hours}" for hours in week_lines(season.week))
    if calendar.holidays:
        yield "except " + ", ".join(_dates(calendar.holidays))
    if calendar.countries:
        yield "except holidays in " + ", ".join(calendar.countries)
    if calendar.zone is not None:
        yield f"in {calendar.zone}"


def _dates(days: Sequence[date]) -> Iterator[str]:
    for first, last in runs([day.toordinal() for day in days]):
        start, end = date.fromordinal(first), date.fromordinal(last)
        yield start.isoformat() if start == end else f"{start} to {end}"


# --- reading ------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reading:
    """What the parts of a line have said so far; hours by season, None for the usual ones."""

    hours: dict[tuple[DayOfYear, DayOfYear] | None, list[Hours]] = field(default_factory=dict)
    holidays: set[date] = field(default_factory=set)
    countries: dict[str, None] = field(default_factory=dict)
    zone: str | None = None

    def calendar(self) -> WorkingCalendar:
        if not self.hours:
            raise ValueError("a calendar says hours, as in Mon-Fri 09:00-17:00, or always")
        weeks = [(dates, week_of(parts)) for dates, parts in self.hours.items()]
        seasons = [Season(*dates, week) for dates, week in weeks if dates is not None]
        return WorkingCalendar(
            dict(weeks).get(None, week_of([])),
            tuple(sorted(seasons, key=lambda season: season.first)),
            tuple(sorted(self.holidays)),
            tuple(self.countries),
            self.zone,
        )


def parse_calendar(text: str) -> WorkingCalendar:
    """The calendar a line describes; ValueError says which part is wrong and what would fit.

    >>> str(parse_calendar("monday-friday 9:00-12:00, 13:00-17:00; except holidays in es"))
    'Mon-Fri 09:00-12:00 13:00-17:00; except holidays in ES'
    """
    if len(text) > MOST_TEXT:
        raise ValueError(f"a calendar is written in at most {MOST_TEXT} characters")
    reading = _Reading()
    for part in filter(None, map(str.strip, _plain(text).split(";"))):
        try:
            _read(part, reading)
        except ValueError as wrong:
            raise ValueError(f"in {echo(part.replace(' ,', ','))}: {wrong}") from None
    return reading.calendar()


def _plain(text: str) -> str:
    """Spaces one by one, and none around dashes, which may be long."""
    spaced = " ".join(text.replace("–", "-").replace(",", " , ").replace(";", " ; ").split())
    return spaced.replace(" -", "-").replace("- ", "-")


def _read(part: str, reading: _Reading) -> None:
    word, _, rest = part.partition(" ")
    match word.lower():
        case "except":
            _read_exception(rest, reading)
        case "in":
            _read_zone(rest, reading)
        case _:
            _read_hours(part.replace(",", " ").split(), reading)


def _read_hours(words: list[str], reading: _Reading) -> None:
    season = season_of(words)
    hours = hours_of(words if season is None else words[5:])
    reading.hours.setdefault(season, []).append(hours)


def _read_zone(name: str, reading: _Reading) -> None:
    zone = known_zone(name)
    if reading.zone not in (None, zone):
        raise ValueError(f"the zone is {reading.zone} already, and there is only one")
    reading.zone = zone


def _read_exception(rest: str, reading: _Reading) -> None:
    words = rest.split()
    if words and words[0].lower() == "holidays":
        if len(words) < 3 or words[1].lower() != "in":
            raise ValueError("the country is missing, as in except holidays in ES, DE-BY")
        places = [place.strip() for place in " ".join(words[2:]).split(",")]
        reading.countries |= dict.fromkeys(map(known_country, places[: MOST_COUNTRIES + 1]))
        return
    for days in rest.split(","):
        _read_days(days.strip(), reading)


def _read_days(written: str, reading: _Reading) -> None:
    first, _, last = written.partition(" to ")
    start = _read_date(first)
    end = _read_date(last) if last else start
    if not start <= end:
        raise ValueError(f"{echo(written)} ends before it begins")
    if (end - start).days + len(reading.holidays) > MOST_DATES:
        raise ValueError(f"a calendar has at most {MOST_DATES} free days")
    reading.holidays.update(map(date.fromordinal, range(start.toordinal(), end.toordinal() + 1)))


def _read_date(word: str) -> date:
    # Only the plain form: fromisoformat knows others, which say nothing to a reader.
    if not _DATE.fullmatch(word):
        raise ValueError(f"a date is written as in 2014-12-24, not {echo(word)}")
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise ValueError(f"no calendar has a day {word}") from None
