"""Durations: between two instants of a case, of a whole case, or of the pairs of two conditions."""

from __future__ import annotations

from dataclasses import dataclass, field

from pappi.ppinot.expressions.nodes import Expression
from pappi.ppinot.model import CaseBorder, Cycles, Moment, OpenCycle, Pick, TimeMeasure
from pappi.ppinot.sentences.conditions import among_events, border, event_condition, moment
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.spans import expression, text_of
from pappi.ppinot.sentences.words import Word, WordKind
from pappi.values.working_time import WorkingCalendar, parse_calendar

_WHOLE = (
    *("throughput time", "cycle time", "lead time", "sojourn time", "case duration"),
    *("flow time", "case durations", "case length"),
)
_DURATION = (
    *("duration", "durations", "elapsed time", "time", "time difference", "waiting time"),
    *("processing time", "handling time", "response time", "resolution time"),
)
_WORKED = (
    *("business duration", "working duration", "working time", "business time"),
    *("working hours", "business hours", "office hours"),
)
_IN_WORKING = ("in working time", "in working hours", "in business hours", "in office hours")
_OF_THE_CASE = ("of the case", "of a case", "of each case", "of the cases", "of cases")
_BEHIND = ("between", "from", "until", "to", "of", "while", "during", "elapsed")
_OVER = (
    *("is", "are", "was", "below", "under", "less", "more", "above", "over", "longer", "shorter"),
    *("at", "up", "exceeds", "per", "by", "grouped", "filtered", "among", "for", "in", "every"),
)
_EXAMPLE = 'in working time "Mon-Fri 09:00-17:00"'


@dataclass(slots=True)
class _Clock:
    """What is said about which time counts, before the two instants or behind them."""

    calendar: WorkingCalendar | None = None
    running: Expression | None = None
    open_cycle: OpenCycle = OpenCycle.LEFT_OUT


@dataclass(slots=True)
class _Ends:
    """Two instants of a case, or the pairs of two conditions."""

    start: Moment
    end: Moment
    start_pick: Pick = Pick.FIRST
    end_pick: Pick = Pick.LAST
    pairs: bool = field(default=False, kw_only=True)


def names_duration(cursor: Cursor) -> bool:
    """Whether the next words can only be about a duration, whatever is behind them."""
    cursor.know("duration", "time", *_WHOLE)
    return any(cursor.says(head) for head in (*_WHOLE, *_DURATION, *_WORKED))


def at_duration(cursor: Cursor, ahead: int) -> bool:
    """Whether a duration comes so many words ahead, and not a name that sounds like one."""
    if any(cursor.says(head, ahead) for head in _WHOLE):
        return True
    if cursor.says("duration is", ahead) and not cursor.word(ahead + 2).is_word("missing", "not"):
        return True
    heads = [head for head in (*_DURATION, *_WORKED) if cursor.says(head, ahead)]
    behind = [ahead + len(head.split()) for head in heads]
    return any(_goes_on(cursor, after) for after in behind)


def _goes_on(cursor: Cursor, ahead: int) -> bool:
    clauses = any(cursor.says(phrase, ahead) for phrase in _IN_WORKING)
    word = cursor.word(ahead)
    return clauses or word.is_word(*_BEHIND) or word.kind is WordKind.TEXT


def _is_over(cursor: Cursor, ahead: int) -> bool:
    """Whether nothing is said about instants, so that the whole case is meant."""
    word = cursor.word(ahead + cursor.says("of", ahead))
    ends = word.kind is WordKind.END or word.is_symbol(",", ".", ")")
    return ends or word.is_word(*_OVER)


def duration(cursor: Cursor, cycles: Cycles | None) -> TimeMeasure:
    """A duration; `cycles` is what a word before it says of the pairs, if it is about pairs."""
    first = cursor.next
    if cursor.also(*_WHOLE):
        cursor.also(*_OF_THE_CASE)
        clock = _Clock()
        _say_clock(cursor, clock)
        return _built(_Ends(CaseBorder.START, CaseBorder.END), clock, None)
    clock = _Clock(_head(cursor))
    _say_clock(cursor, clock)
    ends = _ends(cursor)
    _say_clock(cursor, clock)
    _check(cursor, ends, clock, cycles, first)
    if cursor.also("if"):
        ends = _among(ends, expression(cursor, "a condition on events"))
    return _built(ends, clock, cycles if ends.pairs else None)


def _check(cursor: Cursor, ends: _Ends, clock: _Clock, cycles: Cycles | None, first: Word) -> None:
    """Refuses what has no meaning; a case starts once and ends once."""
    borders = isinstance(ends.start, CaseBorder) or isinstance(ends.end, CaseBorder)
    if ends.pairs and cycles is None:
        message = "a case may have several such pairs: which of their durations is meant?"
        hint = "write the sum, average, minimum, maximum or median duration between the pairs"
    elif ends.pairs and borders:
        message, hint = "a case starts and ends once: it makes no pairs", ""
    elif ends.pairs and clock.running is not None:
        message, hint = "the time between pairs cannot be counted 'while' something is so", ""
    elif not ends.pairs and clock.open_cycle is not OpenCycle.LEFT_OUT:
        message, hint = "only the durations between pairs can stay open", ""
    elif ends.start is CaseBorder.END or ends.end is CaseBorder.START:
        message, hint = "nothing is measured from the end of a case, or up to its start", ""
    else:
        return
    raise cursor.refusal(message, hint, at=first)


def _built(ends: _Ends, clock: _Clock, cycles: Cycles | None) -> TimeMeasure:
    return TimeMeasure(
        ends.start,
        ends.end,
        ends.start_pick,
        ends.end_pick,
        cycles,
        clock.open_cycle,
        clock.running,
        clock.calendar,
    )


def _among(ends: _Ends, among: Expression) -> _Ends:
    """ppinot4py's precondition: the events that do not satisfy it are as if not there."""
    return _Ends(
        among_events(ends.start, among),
        among_events(ends.end, among),
        Pick.FIRST if isinstance(ends.start, CaseBorder) else ends.start_pick,
        Pick.LAST if isinstance(ends.end, CaseBorder) else ends.end_pick,
        pairs=ends.pairs,
    )


# --- which time counts ----------------------------------------------------------------


def _head(cursor: Cursor) -> WorkingCalendar | None:
    """The noun itself, which may say that only working time counts."""
    word = cursor.next
    if not cursor.also(*_WORKED):
        cursor.expect(*_DURATION)
        return None
    if cursor.next.kind is WordKind.TEXT:
        return _calendar(cursor)
    if cursor.reading.calendar is None and not cursor.at(*_IN_WORKING):
        message = f"{word} does not say which hours are worked"
        raise cursor.refusal(message, f"write the duration {_EXAMPLE} between …", at=word)
    return cursor.reading.calendar


def _say_clock(cursor: Cursor, clock: _Clock) -> None:
    while True:
        if cursor.also(*_IN_WORKING):
            clock.calendar = _calendar(cursor)
        elif cursor.also("while", "during which"):
            clock.running = expression(cursor, "a condition on events")
        elif cursor.also("( no value if a pair stays open )"):
            clock.open_cycle = OpenCycle.NO_VALUE
        else:
            return


def _calendar(cursor: Cursor) -> WorkingCalendar:
    word = cursor.accept_kind(WordKind.TEXT, 'a calendar, as in "Mon-Fri 09:00-17:00"')
    if word is None:
        if cursor.reading.calendar is None:
            raise cursor.unexpected()
        return cursor.reading.calendar
    try:
        return parse_calendar(text_of(cursor, word))
    except ValueError as error:
        raise cursor.refusal(f"this is not a working calendar: {error}", at=word) from None


# --- the two ends ---------------------------------------------------------------------


def _ends(cursor: Cursor) -> _Ends:
    if cursor.also(*_OF_THE_CASE):
        return _Ends(CaseBorder.START, CaseBorder.END)
    if cursor.words[cursor.index - 1].is_word("duration") and _is_over(cursor, 0):
        return _Ends(CaseBorder.START, CaseBorder.END)
    if cursor.also("until", "to"):
        end, end_pick = moment(cursor)
        return _Ends(CaseBorder.START, end, Pick.FIRST, end_pick or Pick.LAST)
    if cursor.accept("between", "elapsed between"):
        return _between(cursor, ("and",))
    cursor.expect("from", "elapsed from")
    return _between(cursor, ("to", "until", "till"))


def _between(cursor: Cursor, middle: tuple[str, ...]) -> _Ends:
    if cursor.also("the pairs of", "pairs of"):
        return _pairs(cursor)
    if cursor.also("each", "every"):
        return _each_and_next(cursor, middle)
    start, start_pick = moment(cursor)
    cursor.expect(*middle)
    end, end_pick = moment(cursor)
    return _Ends(start, end, start_pick or Pick.FIRST, end_pick or Pick.LAST)


def _pairs(cursor: Cursor) -> _Ends:
    start_pick = Pick.LAST if cursor.also("last") else Pick.FIRST
    cursor.expect("time instants when", "instants when")
    start = border(cursor) or event_condition(cursor)
    cursor.expect("and")
    end_pick = Pick.FIRST if cursor.also("first") else Pick.LAST
    cursor.expect("when")
    end = border(cursor) or event_condition(cursor)
    return _Ends(start, end, start_pick, end_pick, pairs=True)


def _each_and_next(cursor: Cursor, middle: tuple[str, ...]) -> _Ends:
    cursor.also("time instant when", "occurrence of")
    start = event_condition(cursor)
    cursor.expect(*middle)
    cursor.expect("the next", "next")
    cursor.also("time instant when", "occurrence of")
    return _Ends(start, event_condition(cursor), pairs=True)
