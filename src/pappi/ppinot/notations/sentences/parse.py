"""Whole sentences into the model: a measure, and the scope it is asked for.

>>> parse_measure('the average duration between "Create Fine" and "Payment"').function.value
'mean'
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, TypeVar

from pappi.errors import Position
from pappi.ppinot.expressions.parser import Origin, located
from pappi.ppinot.model import (
    FIRST_DAY,
    LAST_DAY,
    MAX_CASES,
    MAX_COUNT,
    MAX_PERIODS,
    AggregatedMeasure,
    Anchor,
    DerivedMultiInstance,
    Measure,
    MultiInstance,
    Pick,
    Recent,
    Scope,
)
from pappi.ppinot.notations.building import has_too_many_periods
from pappi.ppinot.notations.sentences.events import moment
from pappi.ppinot.notations.sentences.expressions import whole_number
from pappi.ppinot.notations.sentences.measures import CASES, in_which, measure, unit_at
from pappi.ppinot.notations.sentences.words import Cursor, Reading, Word, WordKind
from pappi.values import Calendar, Grid

T = TypeVar("T")

NOWHERE = Position("<sentence>", 1, 1)
_READING = Reading()


def parse_measure(
    text: str, reading: Reading = _READING, *, origin: Position | Origin = NOWHERE
) -> Measure:
    """The measure a sentence says; DefinitionError says which words do not fit and what would."""
    return whole(text, reading, origin, measure)


def parse_sentence(
    text: str, reading: Reading = _READING, *, origin: Position | Origin = NOWHERE
) -> tuple[MultiInstance, Scope | None]:
    """A measure of many cases and the scope it is asked for, if the sentence names one."""

    def asked(cursor: Cursor) -> tuple[MultiInstance, Scope | None]:
        scope = _scope(cursor)
        cursor.also(",")
        parsed = _of_many(cursor)
        return parsed, scope or _scope(cursor)

    return whole(text, reading, origin, asked)


def parse_scope(
    text: str, reading: Reading = _READING, *, origin: Position | Origin = NOWHERE
) -> Scope:
    """A scope alone: "every month", "the last 100 cases"."""
    return whole(text, reading, origin, considered)


def whole(text: str, reading: Reading, origin: Position | Origin, read: Callable[[Cursor], T]) -> T:
    """What a text says, all of which has to be read."""
    at = located(text, origin) if isinstance(origin, Position) else origin
    cursor = Cursor(text, at, reading)
    said = read(cursor)
    cursor.also(".")
    if cursor.next.kind is not WordKind.END:
        cursor.want_thing("the end")
        raise cursor.unexpected()
    return said


def defined_measure(cursor: Cursor) -> MultiInstance:
    """What a template defines its PPI as."""
    cursor.also("the ppi is defined as")
    return _of_many(cursor)


def considered(cursor: Cursor) -> Scope:
    """The cases that a template says its PPI is about."""
    cursor.also("the process instances considered for this ppi are")
    scope = _scope(cursor)
    if scope is None:
        cursor.want_thing("a scope")
        raise cursor.unexpected("as in every month")
    return scope


def _of_many(cursor: Cursor) -> MultiInstance:
    """A measure that combines many cases, as a PPI needs one."""
    start = cursor.next
    parsed = measure(cursor)
    if isinstance(parsed, AggregatedMeasure | DerivedMultiInstance):
        return parsed
    message = "this measures one case; a PPI combines many"
    hint = "say how: the average of …, the share of cases in which …"
    raise cursor.refusal(message, hint, at=start)


# --- scopes ---------------------------------------------------------------------------

_ADVERBS = {
    "daily": Calendar.DAY,
    "weekly": Calendar.WEEK,
    "monthly": Calendar.MONTH,
    "quarterly": Calendar.QUARTER,
    "yearly": Calendar.YEAR,
}
_LEADING = ("for", "in", "over", "of", "those of", "those finished in", "those finished")


Said = dict[str, Any]
"""What has been said of a scope so far, by the names of its attributes."""


def _scope(cursor: Cursor) -> Scope | None:
    """The scope that comes next, or None if there is none."""
    start, before = cursor.next, cursor.index
    cursor.also(",")
    said: Said = {}
    is_said = False
    while _time(cursor, said) or _chosen(cursor, said):
        is_said = True
    if is_said:
        return _checked(cursor, said, start)
    cursor.index = before
    return None


def _time(cursor: Cursor, said: Said) -> bool:
    """One more thing about which time is asked for."""
    before = cursor.index
    cursor.also(",")
    cursor.also(*_LEADING)
    if (
        _rhythm(cursor, said)
        or _recent(cursor, said)
        or _dates(cursor, said)
        or cursor.also("the whole time", "all cases", "all")
    ):
        return True
    cursor.index = before
    return False


def _rhythm(cursor: Cursor, said: Said) -> bool:
    word = cursor.next
    if word.is_word(*_ADVERBS):
        cursor.take()
        grid = Grid(_ADVERBS[word.said])
    elif word.is_word("every", "each", "per", "by") and unit_at(cursor, 1) is not None:
        cursor.take()
        grid = Grid(*_counted(cursor))
    else:
        return False
    return _say(cursor, said, word, grid=grid)


def _counted(cursor: Cursor) -> tuple[Calendar, int]:
    """A number of calendar units; without a number it is one."""
    unit, count = unit_at(cursor, 0), 1
    if cursor.next.kind is WordKind.NUMBER:
        count = whole_number(cursor, 1, MAX_COUNT, "periods")
    cursor.take()
    if unit is None:
        raise AssertionError("a unit comes next")
    return unit, count


def _recent(cursor: Cursor, said: Said) -> bool:
    word = cursor.next
    if not cursor.also("the last", "last", "the past"):
        return False
    if unit_at(cursor, 0) is not None:
        unit, count = _counted(cursor)
        return _say(cursor, said, word, recent=Recent(count, unit))
    number = 1
    if not cursor.says("case"):
        number = whole_number(cursor, 1, MAX_CASES, "the last cases")
    cursor.expect("cases", "case", "instances", "process instances")
    return _say(cursor, said, word, last_cases=number)


def _dates(cursor: Cursor, said: Said) -> bool:
    """From a day on, and until a day; two days that time lies between belong to it."""
    word = cursor.next
    if cursor.also("between"):
        start = _day(cursor)
        cursor.expect("and")
        return _say(cursor, said, word, start=start, until=_day(cursor) + timedelta(days=1))
    if cursor.also("from", "since"):
        return _say(cursor, said, word, start=_day(cursor))
    if cursor.also("until", "before"):
        return _say(cursor, said, word, until=_day(cursor))
    if cursor.also("to"):
        return _say(cursor, said, word, until=_day(cursor) + timedelta(days=1))
    return False


def _day(cursor: Cursor) -> date:
    word = cursor.accept_kind(WordKind.DATE, "a day, as in 2014-01-31")
    if word is None:
        raise cursor.unexpected()
    try:
        day = date.fromisoformat(word.written)
    except ValueError:
        raise cursor.refusal(f"{word} is not a valid date", at=word) from None
    if not FIRST_DAY <= day <= LAST_DAY:
        raise cursor.refusal("a scope must lie between the years 1900 and 2199", at=word)
    return day


def _chosen(cursor: Cursor, said: Said) -> bool:
    """Which cases count at all, and which instant of a case decides on its period."""
    word = cursor.next
    if cursor.also(", placed at", "placed at"):
        instant, pick = moment(cursor)
        return _say(cursor, said, word, anchor=Anchor(instant, pick or Pick.LAST))
    ahead = int(cursor.says(","))
    if cursor.says("only", ahead) and any(cursor.says(cases, ahead + 1) for cases in CASES):
        cursor.index += ahead + 1
        cursor.expect(*CASES)
        return _say(cursor, said, word, cases=in_which(cursor))
    return False


def _say(cursor: Cursor, said: Said, word: Word, **more: object) -> bool:
    """Adds to what is said; True, since something was."""
    if said.keys() & more.keys():
        raise cursor.refusal("the scope says this twice", at=word)
    said.update(more)
    return True


def _checked(cursor: Cursor, said: Said, start: Word) -> Scope:
    first, until, grid = said.get("start"), said.get("until"), said.get("grid")
    if "recent" in said and (first or until):
        message = "a scope is about recent time, or about the time between two days, not both"
        raise cursor.refusal(message, at=start)
    if "last_cases" in said and grid:
        message = "the last cases form one period, so they cannot be split into others"
        raise cursor.refusal(message, at=start)
    if first and until and until <= first:
        raise cursor.refusal("the scope ends before it begins", at=start)
    if first and until and grid and has_too_many_periods(grid, first, until):
        raise cursor.refusal(f"this scope has more than {MAX_PERIODS:,} periods", at=start)
    return Scope(**{"grid": None, **said})
