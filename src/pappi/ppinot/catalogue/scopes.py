"""Scopes: which periods and which cases a PPI is asked for.

`between … and …` names its first and its last day; `from`/`until` are a first
day and the first day no longer in it.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from pappi.ppinot.catalogue.chosen_cases import FIELDS, chosen_cases
from pappi.ppinot.catalogue.dates import DAY, MAX_COUNT, RHYTHM, day_of, rhythm_of
from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.instants import INSTANT
from pappi.ppinot.catalogue.shapes import Field, Named, OneOf, Problems, Record, Values, Written
from pappi.ppinot.model import Anchor, Pick, Recent, Scope
from pappi.ppinot.wording import quoted
from pappi.values.periods import Calendar, Grid

__all__ = ["EVERY_MONTH", "MAX_CASES", "MAX_COUNT", "MAX_PERIODS", "SCOPE", "WHOLE_TIME"]

EVERY_MONTH = Scope(Grid(Calendar.MONTH))
WHOLE_TIME = "whole time"

MAX_PERIODS = 5_000
MAX_CASES = 1_000_000

_CASES = r"([0-9]{1,7})"
_EVERY = rf"every\s+{RHYTHM}"
_EVERY_IN_THE_LAST = rf"{_EVERY}\s+in\s+the\s+last\s+{RHYTHM}"
_BETWEEN = rf"between\s+{DAY}\s+and\s+{DAY}"
_LAST = rf"last\s+{RHYTHM}"
_LAST_CASES = rf"last\s+{_CASES}\s+cases?"
_SHORTEST_DAYS = {
    Calendar.DAY: 1,
    Calendar.WEEK: 7,
    Calendar.MONTH: 28,
    Calendar.QUARTER: 90,
    Calendar.YEAR: 365,
}

# --- texts ----------------------------------------------------------------------------


def _scope(node: ScalarNode, problems: Problems) -> Scope | None:
    text = node.text.strip()
    if match := re.fullmatch(_EVERY, text):
        grid = rhythm_of(match[1], match[2], node.position, problems)
        return Scope(Grid(*grid)) if grid else None
    if match := re.fullmatch(_EVERY_IN_THE_LAST, text):
        grid = rhythm_of(match[1], match[2], node.position, problems)
        span = rhythm_of(match[3], match[4], node.position, problems)
        return Scope(Grid(*grid), recent=_recent(span)) if grid and span else None
    if match := re.fullmatch(_LAST, text):
        span = rhythm_of(match[1], match[2], node.position, problems)
        return Scope(None, recent=_recent(span)) if span else None
    if match := re.fullmatch(_LAST_CASES, text):
        last = _number_of_cases(match[1], node, problems)
        return Scope(None, last_cases=last) if last else None
    match = re.fullmatch(_BETWEEN, text)
    return _between(match, node, problems) if match else Scope(None)


def _recent(span: tuple[Calendar, int]) -> Recent:
    unit, count = span
    return Recent(count, unit)


def _between(match: re.Match[str], node: ScalarNode, problems: Problems) -> Scope | None:
    first, last = (day_of(written, node.position, problems) for written in match.groups())
    if first is None or last is None:
        return None
    if last < first:
        problems.add(node.position, "the last day of the scope comes before its first")
        return None
    return Scope(None, first, last + timedelta(days=1))


def _number_of_cases(written: str, node: ScalarNode, problems: Problems) -> int | None:
    if 1 <= int(written) <= MAX_CASES:
        return int(written)
    message = f"a scope takes from 1 to {MAX_CASES:,} of the last cases, not {quoted(written)}"
    problems.add(node.position, message)
    return None


# --- mappings -------------------------------------------------------------------------


def _grid(node: ScalarNode, problems: Problems) -> Grid | None:
    span = _span(node, problems)
    return Grid(*span) if span else None


def _span(node: ScalarNode, problems: Problems) -> tuple[Calendar, int] | None:
    match = re.fullmatch(RHYTHM, node.text.strip())
    return rhythm_of(match[1], match[2], node.position, problems) if match else None


def _recent_time(node: ScalarNode, problems: Problems) -> Recent | None:
    span = _span(node, problems)
    return _recent(span) if span else None


EVERY = Field(
    "every",
    Written("a period", _grid, example="month", pattern=rf"^\s*{RHYTHM}\s*$"),
    "one value per day, week, month, quarter or year, or per several of them: 2 weeks; one value "
    "for all of the time if not given",
)
_DATE = Written(
    "a date",
    lambda node, problems: day_of(node.text.strip(), node.position, problems),
    example="2014-01-31",
    pattern=rf"^\s*{DAY}\s*$",
)
FROM = Field("from", _DATE, "the first day")
UNTIL = Field("until", _DATE, "the first day that no longer belongs to the scope")
RECENT = Field(
    "recent",
    Written("a length of time", _recent_time, example="6 months", pattern=rf"^\s*{RHYTHM}\s*$"),
    "the last so many whole days, weeks, months, quarters or years before now",
)
LAST_CASES = Field(
    "last cases",
    Written(
        "a number of cases",
        lambda node, problems: _number_of_cases(node.text.strip(), node, problems),
        example="500",
        pattern=rf"^\s*{_CASES}\s*$",
        types=("integer", "string"),
    ),
    "the latest so many cases, as one period",
)
ANCHOR = Field(
    "anchor",
    INSTANT,
    "the instant that decides in which period a case lies; the last of several if not said",
)


_ALL_FIELDS = (EVERY, FROM, UNTIL, RECENT, LAST_CASES, *FIELDS, ANCHOR)


def _build(values: Values, problems: Problems) -> Scope | None:
    before = len(problems.found)
    if values.nothing_written:
        problems.add(values.position, "this scope says nothing", "write e.g. every month")
    _check_times(values, problems)
    cases, anchor = chosen_cases(values, problems), values.get(ANCHOR)
    if len(problems.found) > before:
        return None
    return Scope(
        values.get(EVERY),
        values.get(FROM),
        values.get(UNTIL),
        values.get(RECENT),
        values.get(LAST_CASES),
        cases,
        Anchor(anchor.moment, anchor.pick or Pick.LAST) if anchor else None,
    )


def _check_times(values: Values, problems: Problems) -> None:
    grid, first, until = values.get(EVERY), values.get(FROM), values.get(UNTIL)
    if first is not None and until is not None:
        _check_dates(grid, first, until, values, problems)
    if values.get(RECENT) is not None and (first or until) is not None:
        message = "'recent' ends now: it has no dates"
        problems.add(values.place(RECENT), message, "remove it, or 'from' and 'until'")
    if values.get(LAST_CASES) is not None and grid is not None:
        message = "the last cases are one period"
        problems.add(values.place(LAST_CASES), message, "remove it, or 'every'")


def _check_dates(
    grid: Grid | None, first: date, until: date, values: Values, problems: Problems
) -> None:
    if until <= first:
        problems.add(values.place(UNTIL), "'until' must be a day after 'from'")
    elif grid and (until - first).days > MAX_PERIODS * _SHORTEST_DAYS[grid.unit] * grid.count:
        problems.add(values.position, f"this scope has more than {MAX_PERIODS:,} periods")


_FORMS = (_EVERY, _EVERY_IN_THE_LAST, _BETWEEN, _LAST, _LAST_CASES, WHOLE_TIME.replace(" ", r"\s+"))
SCOPE: Named[Scope] = Named(
    "scope",
    lambda: OneOf(
        "a scope",
        text=Written(
            "a scope", _scope, example="every month", pattern=rf"^\s*(?:{'|'.join(_FORMS)})\s*$"
        ),
        mapping=Record("a scope", _ALL_FIELDS, _build),
    ),
)
