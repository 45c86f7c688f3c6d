"""The working hours of a week, and of a season of the year, read and written.

Mon-Fri 09:00-12:00 13:00-17:00
15 Jun to 15 Sep Mon-Fri 08:00-15:00
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby, pairwise

from pappi.values.working_places import echo, suggestion

DAY_MINUTES = 24 * 60
MOST_WINDOWS = 12
"""Of a day: every one of them is a column of the table of days."""

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LONG_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LONG_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_LEAP_YEAR = 2000


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

DayOfYear = tuple[int, int]
"""Month and day."""


@dataclass(frozen=True, slots=True)
class Season:
    """A part of every year with hours of its own: from one (month, day) to another, included.

    It may lie over New Year. 29 February stands for the end of February in other years.
    """

    first: DayOfYear
    last: DayOfYear
    week: Week

    def __post_init__(self) -> None:
        check_week(self.week)
        for month, day in (self.first, self.last):
            _check_day_of_year(month, day)

    def holds(self, month: int, day: int) -> bool:
        if self.first <= self.last:
            return self.first <= (month, day) <= self.last
        return not self.last < (month, day) < self.first

    @property
    def dates(self) -> str:
        """
        >>> Season((6, 15), (9, 15), ((),) * 7).dates
        '15 Jun to 15 Sep'
        """
        return " to ".join(f"{day} {_MONTHS[month - 1]}" for month, day in (self.first, self.last))


# --- what makes a week one ----------------------------------------------------------------


def check_week(week: Week) -> None:
    if len(week) != len(_DAYS):
        raise ValueError(f"a week has seven days, not {len(week)}")
    for day, windows in zip(_DAYS, week, strict=True):
        if len(windows) > MOST_WINDOWS:
            raise ValueError(f"{day} has more than {MOST_WINDOWS} windows")
        if any(one.end >= other.start for one, other in pairwise(windows)):
            raise ValueError(f"the windows of {day} are not in order, with time between them")


def _check_day_of_year(month: int, day: int) -> None:
    try:
        date(_LEAP_YEAR, month, day)
    except ValueError:
        raise ValueError(f"no year has a day {day} in month {month}") from None


def joined(windows: Sequence[Window]) -> tuple[Window, ...]:
    """Windows in order, those that touch or overlap as one.

    >>> [str(window) for window in joined([Window(540, 1020), Window(0, 540)])]
    ['00:00-17:00']
    """
    apart: list[Window] = []
    for window in sorted(windows):
        if apart and window.start <= apart[-1].end:
            apart[-1] = Window(apart[-1].start, max(window.end, apart[-1].end))
        else:
            apart.append(window)
    return tuple(apart)


# --- writing ------------------------------------------------------------------------------


def week_lines(week: Week) -> Iterator[str]:
    """Days with the same hours together: `Mon-Fri 09:00-17:00`, then `Sat 09:00-13:00`."""
    if not any(week):
        yield "closed"
    elif set(week) == {(Window(0, DAY_MINUTES),)}:
        yield "always"
    else:
        for windows in dict.fromkeys(filter(None, week)):
            numbers = [number for number in range(len(_DAYS)) if week[number] == windows]
            yield f"{_day_names(numbers)} {' '.join(map(str, windows))}"


def _day_names(numbers: Sequence[int]) -> str:
    return ", ".join(
        _DAYS[first] if first == last else f"{_DAYS[first]}-{_DAYS[last]}"
        for first, last in runs(numbers)
    )


def runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of consecutive numbers.

    >>> list(runs([1, 2, 3, 5]))
    [(1, 3), (5, 5)]
    """
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        yield members[0], members[-1]


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


# --- reading ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hours:
    """What one part of the line says: on these days these hours, in minutes after midnight.

    An end after 1440 is in the morning of the next day.
    """

    days: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]


def season_of(words: Sequence[str]) -> tuple[DayOfYear, DayOfYear] | None:
    """The season a part begins with, as five words: `15 Jun to 15 Sep`; None without one."""
    if not (words and words[0].isascii() and words[0].isdigit()):
        return None
    if len(words) < 5 or words[2].lower() != "to":
        raise ValueError("a season is written as in 15 Jun to 15 Sep")
    return _read_day_of_year(words[0], words[1]), _read_day_of_year(words[3], words[4])


def hours_of(words: Sequence[str]) -> Hours:
    """The days and hours of a part, without its season."""
    at = next((i for i, word in enumerate(words) if _is_hours(word)), len(words))
    days = dict.fromkeys(number for word in words[:at] for number in _read_days(word))
    hours = [word.lower() for word in words[at:]]
    if not hours:
        raise ValueError("hours are missing, as in Mon-Fri 09:00-17:00")
    spans = _read_spans(hours)
    return Hours(tuple(days) or tuple(range(len(_DAYS))), spans)


def week_of(parts: Sequence[Hours]) -> Week:
    """The week that several parts make; ValueError if two of them speak of the same day."""
    windows: list[list[Window]] = [[] for _ in _DAYS]
    said: set[int] = set()
    for part in parts:
        if twice := said.intersection(part.days):
            raise ValueError(f"{_DAYS[min(twice)]} has hours twice: write them all in one place")
        said.update(part.days)
        for day in part.days:
            for start, end in part.spans:
                windows[day].append(Window(start, min(end, DAY_MINUTES)))
                if end > DAY_MINUTES:
                    windows[(day + 1) % len(_DAYS)].append(Window(0, end - DAY_MINUTES))
    return tuple(joined(day) for day in windows)


def _is_hours(word: str) -> bool:
    return word[0].isdigit() or word.lower() in {"always", "closed"}


def _read_days(word: str) -> Iterator[int]:
    first, dash, last = word.partition("-")
    start = _named(first, _DAYS, _LONG_DAYS, "day")
    end = _named(last, _DAYS, _LONG_DAYS, "day") if dash else start
    for step in range((end - start) % len(_DAYS) + 1):
        yield (start + step) % len(_DAYS)


def _named(word: str, short: tuple[str, ...], long: tuple[str, ...], what: str) -> int:
    for names in (short, long):
        for number, name in enumerate(names):
            if word.lower() == name.lower():
                return number
    fits = suggestion(word, (*short, *long), f"one of {', '.join(short)}")
    raise ValueError(f"no {what} is called {echo(word)}; {fits}")


def _read_spans(words: Sequence[str]) -> tuple[tuple[int, int], ...]:
    if words == ["always"]:
        return ((0, DAY_MINUTES),)
    if words == ["closed"]:
        return ()
    for word in words:
        if not word[0].isdigit():
            raise ValueError(f"{echo(word)} is no hours; parts are kept apart by ';'")
    spans = sorted(_read_span(word) for word in words)
    if any(one[1] > other[0] for one, other in pairwise(spans)):
        raise ValueError("hours of the same day overlap")
    return tuple(spans)


def _read_span(word: str) -> tuple[int, int]:
    first, _, last = word.partition("-")
    start, end = _read_clock(first, word), _read_clock(last, word)
    if start in (end, DAY_MINUTES):
        raise ValueError(f"{echo(word)} has no length; a whole day is 00:00-24:00")
    return start, end if start < end else end + DAY_MINUTES


def _read_clock(word: str, span: str) -> int:
    hour, _, minute = word.partition(":")
    digits = word.isascii() and hour.isdigit() and minute.isdigit()
    if not (digits and len(hour) <= 2 and len(minute) == 2 and int(minute) < 60):
        raise ValueError(f"hours are written as in 09:00-17:00, not {echo(span)}")
    minutes = 60 * int(hour) + int(minute)
    if minutes > DAY_MINUTES:
        raise ValueError(f"a day has no {echo(word)}; its last minute ends at 24:00")
    return minutes


def _read_day_of_year(day: str, month: str) -> DayOfYear:
    if not (day.isascii() and day.isdigit() and len(day) <= 2):
        raise ValueError(f"a season is written as in 15 Jun to 15 Sep, without {echo(day)}")
    number = _named(month, _MONTHS, _LONG_MONTHS, "month") + 1
    _check_day_of_year(number, int(day))
    return number, int(day)
