"""Scopes as sentences say them: "for every month", "in the last 2 years", "per quarter"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from pappi.ppinot.catalogue.scopes import MAX_CASES, MAX_COUNT, MAX_PERIODS
from pappi.ppinot.model import Anchor, Pick, Recent, Scope, SingleInstance
from pappi.ppinot.sentences.conditions import moment
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.formulas import Part
from pappi.ppinot.sentences.quantities import whole_number
from pappi.ppinot.sentences.statements import CASES, in_which
from pappi.ppinot.sentences.words import Word, WordKind
from pappi.values.periods import Calendar, Grid

_ADVERBS = {
    "daily": Calendar.DAY,
    "weekly": Calendar.WEEK,
    "monthly": Calendar.MONTH,
    "quarterly": Calendar.QUARTER,
    "yearly": Calendar.YEAR,
    "annually": Calendar.YEAR,
}
_SHORTEST_DAYS = {
    Calendar.DAY: 1,
    Calendar.WEEK: 7,
    Calendar.MONTH: 28,
    Calendar.QUARTER: 90,
    Calendar.YEAR: 365,
}
_LEADING = (
    "for",
    "in",
    "over",
    "during",
    "within",
    "of",
    "those of",
    "those finished in",
    "those finished",
)
_EVERY = ("every", "each", "per", "by")
_LAST = ("the last", "last", "the past", "the latest")
_ALL = ("the whole time", "all time", "all cases", "all")


@dataclass(slots=True)
class _Draft:
    """What has been said of a scope so far."""

    grid: Grid | None = None
    start: date | None = None
    until: date | None = None
    recent: Recent | None = None
    last_cases: int | None = None
    cases: SingleInstance | None = None
    anchor: Anchor | None = None
    said: bool = False


def scope(cursor: Cursor, part: Part) -> Scope | None:
    """The scope that comes next, or None if there is none."""
    start, before = cursor.next, cursor.index
    cursor.also(",")
    draft = _Draft()
    while _said(cursor, draft) or _chosen(cursor, draft, part):
        draft.said = True
    if not draft.said:
        cursor.index = before
        return None
    return _checked(cursor, draft, start)


def _said(cursor: Cursor, draft: _Draft) -> bool:
    """One more thing about which time is asked for."""
    before = cursor.index
    cursor.also(",")
    cursor.also(*_LEADING)
    if _rhythm(cursor, draft) or _recent(cursor, draft) or _dates(cursor, draft):
        return True
    if cursor.also(*_ALL):
        return True
    cursor.index = before
    return False


def _rhythm(cursor: Cursor, draft: _Draft) -> bool:
    word = cursor.next
    if word.is_word(*_ADVERBS):
        cursor.take()
        grid = Grid(_ADVERBS[word.said])
    elif cursor.next.is_word(*_EVERY) and _unit_at(cursor, 1) is not None:
        cursor.take()
        grid = Grid(*_counted(cursor))
    else:
        return False
    _once(cursor, draft.grid, word)
    draft.grid = grid
    return True


def _unit_at(cursor: Cursor, ahead: int) -> Calendar | None:
    ahead += cursor.word(ahead).kind is WordKind.NUMBER
    word = cursor.word(ahead)
    name = word.said.removesuffix("s")
    return Calendar(name) if word.kind is WordKind.WORD and name in tuple(Calendar) else None


def _counted(cursor: Cursor) -> tuple[Calendar, int]:
    """A number of calendar units; without a number it is one."""
    count = 1
    if cursor.next.kind is WordKind.NUMBER:
        count = whole_number(cursor, 1, MAX_COUNT, "periods")
    unit = _unit_at(cursor, 0)
    if unit is None:
        cursor.want_thing("day, week, month, quarter or year")
        raise cursor.unexpected()
    cursor.take()
    return unit, count


def _recent(cursor: Cursor, draft: _Draft) -> bool:
    word = cursor.next
    if not cursor.also(*_LAST):
        return False
    if _unit_at(cursor, 0) is not None:
        unit, count = _counted(cursor)
        _once(cursor, draft.recent, word)
        draft.recent = Recent(count, unit)
        return True
    _once(cursor, draft.last_cases, word)
    draft.last_cases = 1
    if not cursor.says("case"):
        draft.last_cases = whole_number(cursor, 1, MAX_CASES, "the last cases")
    cursor.expect("cases", "case", "instances", "process instances")
    return True


def _dates(cursor: Cursor, draft: _Draft) -> bool:
    word = cursor.next
    if cursor.also("between"):
        _once(cursor, draft.start or draft.until, word)
        draft.start = _day(cursor)
        cursor.expect("and")
        draft.until = _after(_day(cursor))
    elif cursor.also("from", "since"):
        _once(cursor, draft.start, word)
        draft.start = _day(cursor)
    elif cursor.also("until", "before"):
        _once(cursor, draft.until, word)
        draft.until = _day(cursor)
    elif cursor.also("to"):
        _once(cursor, draft.until, word)
        draft.until = _after(_day(cursor))
    else:
        return False
    return True


def _day(cursor: Cursor) -> date:
    word = cursor.accept_kind(WordKind.DATE, "a day, as in 2014-01-31")
    if word is None:
        raise cursor.unexpected()
    try:
        day = date.fromisoformat(word.written)
    except ValueError:
        raise cursor.refusal(f"{word} is not a day of the calendar", at=word) from None
    if not 1900 <= day.year < 2200:
        raise cursor.refusal("a scope lies between the years 1900 and 2199", at=word)
    return day


def _after(day: date) -> date:
    return day + timedelta(days=1)


def _chosen(cursor: Cursor, draft: _Draft, part: Part) -> bool:
    """Which cases count at all, and which instant of a case decides on its period."""
    word = cursor.next
    if cursor.also(", placed at", "placed at"):
        _once(cursor, draft.anchor, word)
        found, pick = moment(cursor)
        draft.anchor = Anchor(found, pick or Pick.LAST)
        return True
    ahead = int(cursor.says(","))
    if cursor.says("only", ahead) and any(cursor.says(cases, ahead + 1) for cases in CASES):
        cursor.index += ahead + 1
        cursor.expect(*CASES)
        _once(cursor, draft.cases, word)
        draft.cases = in_which(cursor, part)
        return True
    return False


def _once(cursor: Cursor, said: object, word: Word) -> None:
    if said:
        raise cursor.refusal("the scope says this twice", at=word)


def _checked(cursor: Cursor, draft: _Draft, start: Word) -> Scope:
    first, until, grid = draft.start, draft.until, draft.grid
    if draft.recent is not None and (first or until):
        message = "a scope is about recent time, or about the time between two days, not both"
        raise cursor.refusal(message, at=start)
    if draft.last_cases is not None and grid is not None:
        message = "the last cases are one period, and have no other periods in them"
        raise cursor.refusal(message, at=start)
    if first and until and until <= first:
        raise cursor.refusal("the scope ends before it begins", at=start)
    if first and until and grid and _is_too_long((until - first).days, grid):
        raise cursor.refusal(f"this scope has more than {MAX_PERIODS:,} periods", at=start)
    return Scope(grid, first, until, draft.recent, draft.last_cases, draft.cases, draft.anchor)


def _is_too_long(days: int, grid: Grid) -> bool:
    return days > MAX_PERIODS * _SHORTEST_DAYS[grid.unit] * grid.count
