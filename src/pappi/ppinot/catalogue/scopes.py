"""Scopes: which periods a PPI is asked for.

`between … and …` names its first and its last day; `from`/`until` are a first
day and the first day no longer in it.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from pappi.errors import Position
from pappi.ppinot.catalogue.document import ScalarNode
from pappi.ppinot.catalogue.shapes import Field, Named, OneOf, Problems, Record, Values, Written
from pappi.ppinot.model import Scope
from pappi.ppinot.wording import quoted
from pappi.values.periods import Calendar, Grid

EVERY_MONTH = Scope(Grid(Calendar.MONTH))

MAX_COUNT = 366
MAX_PERIODS = 5_000

_DAY = r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
_RHYTHM = r"(?:([0-9]{1,3})\s+)?(day|week|month|quarter|year)s?"
_EVERY = rf"every\s+{_RHYTHM}"
_BETWEEN = rf"between\s+{_DAY}\s+and\s+{_DAY}"
_SHORTEST_DAYS = {
    Calendar.DAY: 1,
    Calendar.WEEK: 7,
    Calendar.MONTH: 28,
    Calendar.QUARTER: 90,
    Calendar.YEAR: 365,
}


def _grid(node: ScalarNode, problems: Problems) -> Grid | None:
    match = re.search(_RHYTHM, node.text)
    if match is None:
        return None
    count = int(match[1] or 1)
    if not 1 <= count <= MAX_COUNT:
        problems.add(node.position, f"a scope counts from 1 to {MAX_COUNT} units, not {count}")
        return None
    return Grid(Calendar(match[2]), count)


def _day(written: str, position: Position, problems: Problems) -> date | None:
    try:
        day = date.fromisoformat(written)
    except ValueError:
        problems.add(position, f"{quoted(written)} is not a day of the calendar")
        return None
    if not 1900 <= day.year < 2200:
        problems.add(position, "a scope lies between the years 1900 and 2199")
        return None
    return day


def _parse_scope(node: ScalarNode, problems: Problems) -> Scope | None:
    match = re.search(_BETWEEN, node.text)
    if match is None:
        grid = _grid(node, problems)
        return Scope(grid) if grid else None
    first, last = (_day(written, node.position, problems) for written in match.groups())
    if first is None or last is None:
        return None
    if last < first:
        problems.add(node.position, "the last day of the scope comes before its first")
        return None
    return Scope(None, first, last + timedelta(days=1))


EVERY = Field(
    "every",
    Written("a period", _grid, example="month", pattern=rf"^\s*{_RHYTHM}\s*$"),
    "one value per day, week, month, quarter or year, or per several of them: 2 weeks",
    required=True,
)
_DATE = Written(
    "a date",
    lambda node, problems: _day(node.text.strip(), node.position, problems),
    example="2014-01-31",
    pattern=rf"^\s*{_DAY}\s*$",
)
FROM = Field("from", _DATE, "the first day")
UNTIL = Field("until", _DATE, "the first day that no longer belongs to the scope")


def _build(values: Values, problems: Problems) -> Scope | None:
    grid, first, until = values[EVERY], values.get(FROM), values.get(UNTIL)
    if first is not None and until is not None:
        if until <= first:
            problems.add(values.place(UNTIL), "'until' must be a day after 'from'")
            return None
        if (until - first).days > MAX_PERIODS * _SHORTEST_DAYS[grid.unit] * grid.count:
            problems.add(values.position, f"this scope has more than {MAX_PERIODS:,} periods")
            return None
    return Scope(grid, first, until)


SCOPE: Named[Scope] = Named(
    "scope",
    lambda: OneOf(
        "a scope",
        text=Written(
            "a scope",
            _parse_scope,
            example="every month",
            pattern=rf"^\s*(?:{_EVERY}|{_BETWEEN})\s*$",
        ),
        mapping=Record("a scope", (EVERY, FROM, UNTIL), _build),
    ),
)
