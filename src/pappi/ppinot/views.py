"""What is shown of a PPI's figures: a change, a rolling window, the year to date, two groups.

A view is post-processing. The PPI without it, its *base query*, is what is planned, charged, drawn
and recorded, under the same key as if nobody had asked for a view: so a view of what is on record
is free. It is written as one phrase, in every notation the same:

    change from the previous period             percent change from the same period last year
    ratio to the previous period                rolling 3 months, rolling 4 periods
    year to date                                difference between web and phone
    ratio of web to phone                       percent difference between "by post" and web
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from pappi.ppinot.grammar import quote_text
from pappi.values import By, Calendar, Grid, Period


class Against(StrEnum):
    """What a period is compared with."""

    PREVIOUS = "the previous period"
    YEAR_AGO = "the same period last year"


@dataclass(frozen=True, slots=True)
class Change:
    """Every period, group by group, compared with an earlier one; without one there is none."""

    against: Against
    by: By = By.DIFFERENCE

    def __str__(self) -> str:
        if self.by is By.RATIO:
            return f"ratio to {self.against}"
        return f"{'percent ' if self.by is By.PERCENT else ''}change from {self.against}"


@dataclass(frozen=True, slots=True)
class Rolling:
    """Every period together with those before it, so many of a unit; None is periods."""

    count: int
    unit: Calendar | None = None

    def __str__(self) -> str:
        return f"rolling {self.count} {self.unit or 'period'}{'' if self.count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class ToDate:
    """Every period together with all before it in the same year, quarter, month or week."""

    unit: Calendar

    def __str__(self) -> str:
        return f"{self.unit} to date"


@dataclass(frozen=True, slots=True)
class Between:
    """Two groups compared, in every period."""

    first: str
    second: str
    by: By = By.DIFFERENCE

    def __str__(self) -> str:
        first, second = map(_key_text, (self.first, self.second))
        if self.by is By.RATIO:
            return f"ratio of {first} to {second}"
        percent = "percent " if self.by is By.PERCENT else ""
        return f"{percent}difference between {first} and {second}"


View = Change | Rolling | ToDate | Between
Comparing = Change | Between
Adding = Rolling | ToDate

MOST_ROLLED = 366

# Written so that Python and the ECMAScript of JSON Schema read them alike.
_KEY = r'("(?:[^"\\]|\\.){0,500}"|[^\s"]{1,500})'
_AGAINST = r"(?:the )?(previous period|same period last year)"
_UNITS = r"(period|day|week|month|quarter|year)"
_CHANGE = rf"(percent )?change from {_AGAINST}"
_TO = rf"ratio to {_AGAINST}"
_ROLLING = rf"rolling ([0-9]{{1,3}}) {_UNITS}s?"
_TO_DATE = r"(year|quarter|month|week) to date"
_BETWEEN = rf"(percent )?difference between {_KEY} and {_KEY}"
_OF_TO = rf"ratio of {_KEY} to {_KEY}"
VIEW_PATTERN = rf"^\s*(?:{_CHANGE}|{_TO}|{_ROLLING}|{_TO_DATE}|{_BETWEEN}|{_OF_TO})\s*$"
VIEW_EXAMPLES = (
    "change from the previous period",
    "percent change from the same period last year",
    "rolling 3 months",
    "year to date",
    "difference between web and phone",
    "ratio of web to phone",
)


def parse_view(text: str) -> View | None:
    """The view that a phrase says; None if it says none.

    >>> parse_view("rolling 3 months"), str(parse_view("percent change from previous period"))
    (Rolling(count=3, unit=<Calendar.MONTH: 'month'>), 'percent change from the previous period')
    >>> parse_view('difference between "by post" and web')
    Between(first='by post', second='web', by=<By.DIFFERENCE: 'difference'>)
    """
    phrase = text.strip()
    if match := re.fullmatch(_CHANGE, phrase):
        return Change(_against(match[2]), _by(match[1]))
    if match := re.fullmatch(_TO, phrase):
        return Change(_against(match[1]), By.RATIO)
    if match := re.fullmatch(_ROLLING, phrase):
        count, unit = int(match[1]), match[2]
        whole = None if unit == "period" else Calendar(unit)
        return Rolling(count, whole) if 1 <= count <= MOST_ROLLED else None
    if match := re.fullmatch(_TO_DATE, phrase):
        return ToDate(Calendar(match[1]))
    if match := re.fullmatch(_BETWEEN, phrase):
        return Between(_key(match[2]), _key(match[3]), _by(match[1]))
    if match := re.fullmatch(_OF_TO, phrase):
        return Between(_key(match[1]), _key(match[2]), By.RATIO)
    return None


def _against(written: str) -> Against:
    return Against(f"the {written}")


def _by(percent: str | None) -> By:
    return By.PERCENT if percent else By.DIFFERENCE


_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _key(written: str) -> str:
    if not written.startswith('"'):
        return written
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[1]), written[1:-1])


def _key_text(key: str) -> str:
    return key if re.fullmatch(r'[^\s"]{1,500}', key) else quote_text(key)


# --- windows ----------------------------------------------------------------------------------

_SIZES: dict[Calendar, tuple[str, int]] = {
    Calendar.DAY: ("days", 1),
    Calendar.WEEK: ("days", 7),
    Calendar.MONTH: ("months", 1),
    Calendar.QUARTER: ("months", 3),
    Calendar.YEAR: ("months", 12),
}


def periods_rolled(view: Rolling, grid: Grid) -> int | None:
    """How many periods of a grid a window has; None if it is no whole number of them.

    >>> periods_rolled(Rolling(1, Calendar.YEAR), Grid(Calendar.QUARTER))
    4
    >>> periods_rolled(Rolling(1, Calendar.MONTH), Grid(Calendar.WEEK)) is None
    True
    """
    if view.unit is None:
        return view.count
    kind, size = _SIZES[view.unit]
    own, own_size = _SIZES[grid.unit]
    periods, rest = divmod(view.count * size, own_size * grid.count)
    return periods if kind == own and not rest else None


def fits_to_date(view: ToDate, grid: Grid) -> bool:
    """Whether the periods of a grid never reach over the end of what a view runs through.

    >>> fits_to_date(ToDate(Calendar.YEAR), Grid(Calendar.MONTH))
    True
    >>> fits_to_date(ToDate(Calendar.MONTH), Grid(Calendar.WEEK))
    False
    """
    kind, size = _SIZES[view.unit]
    own, own_size = _SIZES[grid.unit]
    if own == "days" and own_size == 1:
        # Several days are counted from the start of the year, and end with it.
        return grid.count == 1 or view.unit is Calendar.YEAR
    return kind == own and size > own_size * grid.count and size % (own_size * grid.count) == 0


def has_year_ago(view: Change, grid: Grid) -> bool:
    """Whether periods of a grid have one a year before; weeks are 52 weeks apart."""
    if view.against is not Against.YEAR_AGO:
        return True
    if grid.unit is Calendar.WEEK:
        return 52 % grid.count == 0
    return grid.unit not in (Calendar.DAY, Calendar.YEAR) or grid.count == 1


def compared_with(view: Change, period: Period, grid: Grid) -> Period | None:
    """The period that another is compared with; None if the calendar has none.

    >>> march = Period(date(2024, 3, 1), date(2024, 4, 1))
    >>> compared_with(Change(Against.YEAR_AGO), march, Grid(Calendar.MONTH)).label
    '2023-03'
    """
    if view.against is Against.PREVIOUS:
        day = period.start - timedelta(days=1)
    elif grid.unit is Calendar.WEEK:
        day = period.start - timedelta(weeks=52)
    else:
        try:
            day = period.start.replace(year=period.start.year - 1)
        except ValueError:  # the 29th of February, or the first year there is
            return None
    (earlier,) = grid.periods(day, day + timedelta(days=1))
    return earlier


def added_up(view: Adding, periods: Sequence[Period], grid: Grid) -> dict[Period, list[Period]]:
    """The periods that each of some is shown together with, itself the last of them.

    One that lacks some of its window is left out. To date, what lies before the first of them does
    not count: of a log that begins in March, its first year begins there.
    """
    windows: dict[Period, list[Period]] = {}
    running: list[Period] = []
    size = (periods_rolled(view, grid) or 1) if isinstance(view, Rolling) else 0
    for period in sorted(periods):
        begin = Grid(view.unit).start_of(period.start) if isinstance(view, ToDate) else date.min
        follows = running and running[-1].end == period.start and begin <= running[0].start
        running = [*running, period][-size:] if follows else [period]
        if len(running) >= size:
            windows[period] = running
    return windows


Figure = tuple[Period, str | None]
"""A figure by its period and group."""


def compared_pairs(
    view: Comparing, figures: Iterable[Figure], grid: Grid | None
) -> Iterator[tuple[Figure, Figure]]:
    """Every figure that is compared, with the one it is compared with, as far as there are both."""
    known = dict.fromkeys(figures)
    for period, group in known:
        other: Figure | None = None
        if isinstance(view, Between):
            other = (period, view.second) if group == view.first else None
        elif grid is not None:
            earlier = compared_with(view, period, grid)
            other = None if earlier is None else (earlier, group)
        if other is not None and other in known:
            yield (period, group), other
