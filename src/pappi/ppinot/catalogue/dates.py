"""Days and rhythms of the calendar, as scopes write them."""

from __future__ import annotations

from datetime import date

from pappi.errors import Position
from pappi.ppinot.catalogue.shapes import Problems
from pappi.ppinot.wording import quoted
from pappi.values.periods import Calendar

MAX_COUNT = 366
FIRST_DAY, LAST_DAY = date(1900, 1, 1), date(2199, 12, 31)

# Written so that Python and the ECMAScript of JSON Schema read them alike.
DAY = r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
RHYTHM = r"(?:([0-9]{1,3})\s+)?(day|week|month|quarter|year)s?"


def day_of(written: str, position: Position, problems: Problems) -> date | None:
    try:
        day = date.fromisoformat(written)
    except ValueError:
        problems.add(position, f"{quoted(written)} is not a day of the calendar")
        return None
    if not FIRST_DAY <= day <= LAST_DAY:
        years = f"{FIRST_DAY.year} and {LAST_DAY.year}"
        problems.add(position, f"a scope lies between the years {years}")
        return None
    return day


def rhythm_of(
    number: str | None, unit: str, position: Position, problems: Problems
) -> tuple[Calendar, int] | None:
    """How many of which units, from the two groups of RHYTHM."""
    count = int(number or 1)
    if not 1 <= count <= MAX_COUNT:
        problems.add(position, f"a scope counts from 1 to {MAX_COUNT} units, not {count}")
        return None
    return Calendar(unit), count
