"""What happens in a case, as sentences say it: activities, conditions on events, instants; and the
measures that stand on their own: counts, attributes and durations.

In quotes or backticks any name can be written. Without them, a public name of
the log is found whatever its capitals, the longest one first; an attribute may
also be a word of its own, or several that begin nothing else.

What `str()` of a ppinot4py measure says is read too, also where nobody else would say it so:
states at run time are written as `END - AppliesTo.ACTIVITY - 'Send Fine'`, and a condition that
begins with an activity and ends with another text becomes one activity, of a strange name:
of `a == 'A' and b == 'x'` comes `activity "A' and b == 'x" occurs`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain

from pappi.errors import DefinitionError, Position
from pappi.ppinot.expressions.nodes import Expression, Name, TextLiteral
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.expressions.render import render
from pappi.ppinot.model import (
    EVENT_NAMES,
    CountMeasure,
    Cycles,
    DataMeasure,
    EventCondition,
    EventSequence,
    Moment,
    Occurrence,
    Occurs,
    OpenCycle,
    Order,
    Pick,
    TimeMeasure,
)
from pappi.ppinot.notations.building import (
    TRANSITION_ATTRIBUTE,
    both,
    equals,
    is_activity,
    is_transition,
)
from pappi.ppinot.notations.sentences.expressions import (
    OPERATORS,
    end_of_expression,
    expression,
    in_the_log,
    text_of,
)
from pappi.ppinot.notations.sentences.words import Cursor, Word, WordKind
from pappi.ppinot.wording import quoted
from pappi.values import CaseBorder, WorkingCalendar, parse_calendar

_MOST_WORDS = 8
FOLLOWING = (
    *("when", "where", "if", "while", "which", "that", "whose", "with", "without"),
    *("grouped", "filtered", "among", "over", "for", "per", "by", "into", "in", "as", "each"),
    *("every", "only", "and", "or", "not", "between", "from", "to", "until", "at", "of", "within"),
    *("is", "are", "was", "has", "less", "more", "exceeds", "below", "above", "never"),
    *("occurs", "happens", "begins", "leads", "immediately", "directly", "follows", "becomes"),
)
"""Words that go on with a sentence behind a name."""
# Words that mean something where a name could stand: as names they keep their capitals.
_TAKEN = frozenset({"a", "an", "the", "first", "last", "case", "when", "each", "next", "activity"})
_NAMING = (WordKind.NAME, WordKind.TEXT, WordKind.WORD)

HAPPENS = ("occurs", "occur", "happens", "happen", "takes place", "is executed", "was done")
# The order, and whether the condition that comes second in the sentence happens first.
_SEQUENCES = {
    "leads to": (Order.LEADS_TO, False),
    "is followed by": (Order.LEADS_TO, False),
    "followed by": (Order.LEADS_TO, False),
    "is directly followed by": (Order.FOLLOWS, False),
    "directly followed by": (Order.FOLLOWS, False),
    "immediately follows": (Order.FOLLOWS, True),
    "directly follows": (Order.FOLLOWS, True),
}
# PPINOT's templates say active and completed, and logs say what XES does.
_STATES = {"active": "start", "completed": "complete"}
# How ppinot4py finds the states of an activity in a log.
_RUNTIME_STATES = {"START": "Assigned", "END": "Completed"}
_BORDERS = {
    CaseBorder.START: (
        *("the start of the case", "start of the case", "the start", "its start", "case start"),
        *("the case starts", "the first event of the case"),
    ),
    CaseBorder.END: (
        *("the end of the case", "end of the case", "the end", "its end", "case end"),
        *("the case ends", "the last event of the case"),
    ),
}


# --- names ----------------------------------------------------------------------------


PublicName = tuple[str, int]
"""A name of the log, and how many words of the sentence it takes."""


def _public_activity(cursor: Cursor) -> PublicName | None:
    names = cursor.reading.names
    return None if names is None else _longest(cursor, "activity", names.activities)


def _public_attribute(cursor: Cursor) -> PublicName | None:
    names = cursor.reading.names
    known = (EVENT_NAMES, names.attributes) if names else ()
    return _longest(cursor, "attribute", chain(cursor.reading.renamed, *known))


def _longest(cursor: Cursor, sort: str, names: Iterable[str]) -> PublicName | None:
    first = cursor.next
    if first.kind not in (WordKind.WORD, WordKind.NUMBER, WordKind.SYMBOL):
        return None
    best: PublicName | None = None
    for name, said in cursor.spelled(sort, names).get(first.said.lower(), ()):
        comes_next = all(cursor.word(ahead).said.lower() == word for ahead, word in enumerate(said))
        means_it = len(said) > 1 or first.said not in _TAKEN or first.written == name
        if comes_next and means_it and (best is None or len(said) > best[1]):
            best = name, len(said)
    return best


def at_public_attribute(cursor: Cursor) -> bool:
    """Whether a name of the log's vocabulary comes next that is no activity's as well."""
    if cursor.reading.names is None or _public_activity(cursor) is not None:
        return False
    return _public_attribute(cursor) is not None


def attribute(cursor: Cursor) -> tuple[str, Position]:
    """The attribute that comes next, as the log calls it."""
    if cursor.says("attribute") and cursor.word(1).kind in _NAMING:
        cursor.take()
    place = cursor.position
    cursor.want_thing("an attribute")
    if cursor.next.kind in (WordKind.NAME, WordKind.TEXT):
        name = text_of(cursor, cursor.take())
    elif public := _public_attribute(cursor):
        name, length = public
        cursor.index += length
    else:
        name = _words_of_a_name(cursor)
    return cursor.reading.renamed.get(name, name), place


def attribute_words(name: str) -> str:
    """An attribute as `attribute` reads it, in backticks where it could be another word."""
    written = render(Name(name))
    taken = name.lower() in FOLLOWING or name.lower() in _TAKEN or name.lower() == "attribute"
    return f"`{name}`" if taken and written == name else written


def _words_of_a_name(cursor: Cursor) -> str:
    """Words up to one that goes on with the sentence, or was meant to."""
    first = cursor.next
    if first.kind is not WordKind.WORD or first.said in FOLLOWING:
        raise cursor.unexpected()
    last = cursor.take()
    for _ in range(_MOST_WORDS):
        word = cursor.next
        if word.kind is not WordKind.WORD or word.said in FOLLOWING:
            break
        if meant := get_close_matches(word.said, FOLLOWING, n=1, cutoff=0.8):
            message = f"{word} means nothing after {quoted(first.written)}"
            hint = f"did you mean {quoted(meant[0])}? A name of several words goes in backticks"
            raise cursor.refusal(message, hint)
        last = cursor.take()
    return cursor.words.text[first.start : last.end]


def _activity(cursor: Cursor) -> TextLiteral | None:
    """An activity, with an article or the word `activity` before it or not, if one comes next."""
    cursor.want_thing("an activity")
    before = cursor.index
    if cursor.next.is_word("the", "a", "an") and _public_activity(cursor) is None:
        cursor.index += 1
    if cursor.says("activity"):
        cursor.index += 1
    place = cursor.position
    public = _public_activity(cursor)
    if cursor.next.kind is WordKind.TEXT and not _is_compared(cursor, 1):
        return TextLiteral(text_of(cursor, cursor.take()), position=place)
    if public is not None and not _is_compared(cursor, public[1]):
        cursor.index += public[1]
        return TextLiteral(public[0], position=place)
    cursor.index = before
    return None


def _is_compared(cursor: Cursor, ahead: int) -> bool:
    """Whether a name is an operand: what follows is an operator."""
    word, following = cursor.word(ahead), cursor.word(ahead + 1)
    if word.is_word("is"):
        return following.is_word("missing") or cursor.says("not missing", ahead + 1)
    is_in = word.is_word("in") or cursor.says("not in", ahead)
    opening = cursor.word(ahead + 1 + word.is_word("not"))
    return word.is_symbol(*OPERATORS) or (is_in and opening.is_symbol("(", "["))


def unquoted(name: str) -> tuple[str, str]:
    """What to say of an activity that cannot be told from an attribute."""
    shown = name[:40]
    return f"{quoted(name)} is read as an attribute", f'an activity goes in quotes: "{shown}"'


# --- conditions on events -------------------------------------------------------------


def event_condition(cursor: Cursor) -> EventCondition:
    """`activity "A" occurs`, any condition on events, or one such after another."""
    alone, first = _occurs(cursor)
    joined = cursor.also(*_SEQUENCES)
    if joined is None:
        return alone
    order, is_reversed = _SEQUENCES[joined]
    _, then = _occurs(cursor)
    if is_reversed:
        first, then = then, first
    if joined == "leads to" and cursor.also("( one match per"):
        start = cursor.next
        if _occurs(cursor)[1] != first:
            message = (
                "'one match per' repeats the condition before 'leads to', but this is a "
                "different one"
            )
            raise cursor.refusal(message, at=start)
        cursor.expect(")")
        order = Order.LEADS_TO_CYCLICALLY
    return EventSequence(first, then, order)


def at_sequence(cursor: Cursor) -> bool:
    """Whether what comes next goes on with a condition on events."""
    return any(map(cursor.says, (*_SEQUENCES, "begins to occur")))


def _occurs(cursor: Cursor) -> tuple[Occurs, Occurs]:
    """A condition as it is meant alone, and as it is meant within a sequence.

    There every event counts where nothing else is said, in ppinot4py too.
    """
    said: Occurrence | None = Occurrence.EVERY
    if cursor.also("an event meets the condition", "an event satisfies"):
        condition = expression(cursor, "a condition")
    else:
        word, named = cursor.next, named_condition(cursor)
        if named is not None:
            cursor.accept(*HAPPENS)
        condition = named or expression(cursor, "a condition on events")
        if isinstance(condition, Name) and cursor.also(*HAPPENS):
            raise cursor.refusal(*unquoted(word.written), at=word)
        said = Occurrence.ONSET if cursor.also("begins to occur", "begins to hold") else None
    among = None
    if cursor.also("( among the events where"):
        among = expression(cursor, "a condition on events")
        cursor.expect(")")
    alone = Occurs(condition, said or cursor.reading.occurrence, among)
    return alone, replace(alone, occurrence=said or Occurrence.EVERY)


def named_condition(cursor: Cursor) -> Expression | None:
    """A condition that names an activity or a transition of its life cycle, if one comes next."""
    if cursor.word(1).is_symbol("-") and cursor.word(2).is_word("appliesto"):
        return _runtime_state(cursor)
    is_quoted = cursor.says("activity") and cursor.word(1).kind is WordKind.TEXT
    if cursor.reading.renamed and is_quoted and (swallowed := _swallowed(cursor)):
        return swallowed
    if cursor.says("lifecycle transition") and cursor.word(2).kind is WordKind.TEXT:
        cursor.index += 2
        place = cursor.position
        return equals(TRANSITION_ATTRIBUTE, text_of(cursor, cursor.take()), place)
    activity = _activity(cursor)
    if activity is None:
        return None
    condition = is_activity(activity.value, activity.position)
    return both(condition, _in_state(cursor)) if cursor.also("becomes") else condition


def _in_state(cursor: Cursor) -> Expression:
    """A transition of the life cycle, however the log spells it."""
    cursor.want_thing("a state, as in completed")
    word, place = cursor.next, cursor.position
    if word.kind not in (WordKind.WORD, WordKind.TEXT):
        raise cursor.unexpected()
    cursor.take()
    written = text_of(cursor, word) if word.kind is WordKind.TEXT else word.written
    state = _STATES.get(written.lower(), written)
    return is_transition(state, place)


# --- what only ppinot4py says so ------------------------------------------------------


def _runtime_state(cursor: Cursor) -> Expression:
    """A state of an activity: `END - AppliesTo.ACTIVITY - 'Send Fine'`."""
    state = cursor.take()
    cursor.expect("- appliesto . activity")
    cursor.expect("-")
    place = cursor.position
    activity = _activity(cursor)
    name = _words_of_a_name(cursor) if activity is None else activity.value
    condition = is_activity(name, place)
    attributes = (
        cursor.reading.names.attributes if cursor.reading.names else {TRANSITION_ATTRIBUTE: None}
    )
    if state.written == "END" and TRANSITION_ATTRIBUTE not in attributes:
        return condition
    return both(condition, _runtime_transition(cursor, state))


def _runtime_transition(cursor: Cursor, state: Word) -> Expression:
    if state.kind is not WordKind.TEXT and state.written not in _RUNTIME_STATES:
        message = f"expected START, END or a state in quotes, found {state}"
        raise cursor.refusal(message, at=state)
    value = _RUNTIME_STATES.get(state.written) or text_of(cursor, state)
    return equals(TRANSITION_ATTRIBUTE, value, cursor.place(state))


def _swallowed(cursor: Cursor) -> Expression | None:
    """The whole condition of which an activity has been made, if it was more than that."""
    words, start = cursor.words, cursor.index + 1
    end = end_of_expression(words, start)
    if end > start + 1 and words[end].is_word("occurs"):
        written = words.text[words[start].start : words[end - 1].end]
    else:
        end, inside = start + 1, words[start].written[1:-1]
        if "'" not in inside:
            return None
        written = f"'{inside}'"
    try:
        compound = parse_expression(f"activity == {written}", cursor.position)
    except DefinitionError:
        return None
    cursor.index = end
    cursor.also("occurs")
    return in_the_log(cursor, compound)


# --- instants -------------------------------------------------------------------------


def border(cursor: Cursor) -> CaseBorder | None:
    """The start or the end of the case, if it comes next."""
    for which, phrases in _BORDERS.items():
        if cursor.also(*phrases):
            return which
    if cursor.says("- appliesto . process", 1):
        state = cursor.take()
        cursor.expect("- appliesto . process")
        return CaseBorder.START if state.written == "START" else CaseBorder.END
    return None


def moment(cursor: Cursor) -> tuple[Moment, Pick | None]:
    """An instant of a case, and which of several if that is said."""
    at_border = border(cursor)
    if at_border is not None:
        return at_border, None
    pick = _picked(cursor)
    cursor.also("time instant", "time instants", "the time instant")
    if pick is not None:
        cursor.also("time", "event", "occurrence of")
    word, when = cursor.next, cursor.also("when", "where")
    instant = border(cursor) or event_condition(cursor)
    if when is None and isinstance(instant, Occurs) and isinstance(instant.condition, Name):
        raise cursor.refusal(*unquoted(instant.condition.name), at=word)
    return instant, pick


def _picked(cursor: Cursor) -> Pick | None:
    """`the first` or `the last`, if it comes next and is not a name."""
    ahead = int(cursor.says("the"))
    for pick in Pick:
        following = cursor.word(ahead + 1).kind
        if cursor.says(pick.value, ahead) and following in (WordKind.WORD, WordKind.TEXT):
            cursor.index += ahead + 1
            return pick
    cursor.know("the first", "the last", "the start of the case", "the end of the case")
    return None


def among_events(moment: Moment, among: Expression) -> Moment:
    """The same instant in what is left of a case when only some events are looked at."""
    match moment:
        case Occurs():
            return replace(moment, among=among)
        case EventSequence():
            first, then = replace(moment.first, among=among), replace(moment.then, among=among)
            return replace(moment, first=first, then=then)
        case _:
            return Occurs(among)


# --- measures that stand on their own -------------------------------------------------
#
# A duration lies between two instants of a case, is that of the whole case, or those of the pairs
# of two conditions.

_ARTICLES = ("the", "a", "an", "its")
_COUNT = ("number of times", "number of occurrences of", "number of", "count of", "how often")
_VALUES = {
    "last value of": Pick.LAST,
    "first value of": Pick.FIRST,
    "value of": Pick.LAST,
    "initial value of": Pick.FIRST,
}
_EXAMPLES = (
    "as in the duration between …, the number of times …, the last value of …, whether …, "
    "the average of …, the share of cases in which …"
)

_WHOLE = ("throughput time", "cycle time", "lead time", "sojourn time", "case duration")
_DURATION = ("duration", "elapsed time", "time", "waiting time", "processing time")
_WORKED = ("business duration", "working time")
_IN_WORKING = ("in working time", "in working hours", "in business hours")
_OF_THE_CASE = ("of the case", "of a case", "of each case", "of cases")
_BEHIND = ("between", "from", "until", "to", "of", "while", "elapsed")
_OVER = (
    *("is", "are", "was", "below", "under", "less", "more", "above", "over", "longer", "shorter"),
    *("at", "up", "exceeds", "per", "by", "grouped", "filtered", "among", "for", "in", "every"),
)
_EXAMPLE = 'in working time "Mon-Fri 09:00-17:00"'


def at_noun(cursor: Cursor) -> bool:
    """Whether one of these comes next, with its article or without."""
    ahead = int(cursor.next.is_word(*_ARTICLES))
    if any(cursor.says(head, ahead) for head in (*_COUNT, *_VALUES, *_WHOLE)):
        return True
    if cursor.says("duration is", ahead) and not cursor.word(ahead + 2).is_word("missing", "not"):
        return True
    # A duration goes on; a name that sounds like one does not.
    for head in (*_DURATION, *_WORKED):
        behind = ahead + len(head.split())
        word = cursor.word(behind)
        goes_on = word.is_word(*_BEHIND) or word.kind is WordKind.TEXT
        in_working_time = any(cursor.says(phrase, behind) for phrase in _IN_WORKING)
        if cursor.says(head, ahead) and (goes_on or in_working_time):
            return True
    return False


def noun(cursor: Cursor, cycles: Cycles | None = None) -> CountMeasure | TimeMeasure | DataMeasure:
    """A count, a duration or an attribute; `cycles` is the word before it, of durations."""
    cursor.skip(*_ARTICLES)
    for head, pick in _VALUES.items():
        if cursor.also(head):
            return data(cursor, pick)
    cursor.know("duration", "time", *_WHOLE)
    if any(map(cursor.says, (*_WHOLE, *_DURATION, *_WORKED))):
        return _duration(cursor, cycles)
    if not cursor.also(*_COUNT):
        cursor.want_thing("a measure")
        raise cursor.unexpected(_EXAMPLES)
    counted = CountMeasure(event_condition(cursor))
    cursor.also("events", "occurrences")
    return counted


def data(cursor: Cursor, pick: Pick) -> DataMeasure:
    """An attribute, and at which events it is looked for."""
    name, place = attribute(cursor)
    when = event_condition(cursor) if cursor.also("when") else None
    return DataMeasure(name, pick, when, position=place)


# --- durations ------------------------------------------------------------------------


def _duration(cursor: Cursor, cycles: Cycles | None) -> TimeMeasure:
    """A duration; `cycles` is what a word before it says of the pairs, if it is about pairs."""
    first = cursor.next
    if cursor.also(*_WHOLE):
        cursor.also(*_OF_THE_CASE)
        return _clocked(cursor, TimeMeasure(CaseBorder.START, CaseBorder.END))
    # Which time counts is said before the two instants or behind them.
    clock = TimeMeasure(CaseBorder.START, CaseBorder.END, calendar=_head(cursor))
    measure, pairs = _ends(cursor, _clocked(cursor, clock))
    measure = _clocked(cursor, replace(measure, cycles=cycles if pairs else None))
    _check(cursor, measure, first, pairs=pairs)
    return _if(cursor, measure) if cursor.also("if") else measure


def _check(cursor: Cursor, measure: TimeMeasure, first: Word, *, pairs: bool) -> None:
    """Refuses what has no meaning; a case starts once and ends once."""
    hint, ends = "", (measure.start, measure.end)
    if pairs and measure.cycles is None:
        message = "a case may have several such pairs: which of their durations is meant?"
        hint = "write the sum, average, minimum, maximum or median duration between the pairs"
    elif pairs and any(isinstance(end, CaseBorder) for end in ends):
        message = "a case starts and ends only once, so it has no pairs"
    elif pairs and measure.running is not None:
        message = "the time between pairs cannot be counted 'while' a condition holds"
    elif not pairs and measure.open_cycle is not OpenCycle.LEFT_OUT:
        message = "only the durations between pairs can stay open"
    elif measure.start is CaseBorder.END or measure.end is CaseBorder.START:
        message = "time cannot be measured from the end of a case, or up to its start"
    else:
        return
    raise cursor.refusal(message, hint, at=first)


def _if(cursor: Cursor, measure: TimeMeasure) -> TimeMeasure:
    """ppinot4py's precondition: the events that do not satisfy it are as if not there."""
    among = expression(cursor, "a condition on events")
    return replace(
        measure,
        start=among_events(measure.start, among),
        end=among_events(measure.end, among),
        start_pick=Pick.FIRST if isinstance(measure.start, CaseBorder) else measure.start_pick,
        end_pick=Pick.LAST if isinstance(measure.end, CaseBorder) else measure.end_pick,
    )


def _head(cursor: Cursor) -> WorkingCalendar | None:
    """The noun itself, which may say that only working time counts."""
    word = cursor.next
    if not cursor.also(*_WORKED):
        cursor.expect(*_DURATION)
        return None
    if cursor.next.kind is WordKind.TEXT:
        return _calendar(cursor)
    if cursor.reading.calendar is None and not cursor.at(*_IN_WORKING):
        message = f"{word} does not say which hours are working hours"
        raise cursor.refusal(message, f"write the duration {_EXAMPLE} between …", at=word)
    return cursor.reading.calendar


def _clocked(cursor: Cursor, measure: TimeMeasure) -> TimeMeasure:
    """The measure with what is said about which time counts."""
    while True:
        if cursor.also(*_IN_WORKING):
            measure = replace(measure, calendar=_calendar(cursor))
        elif cursor.also("while"):
            measure = replace(measure, running=expression(cursor, "a condition on events"))
        elif cursor.also("( no value if a pair stays open )"):
            measure = replace(measure, open_cycle=OpenCycle.NO_VALUE)
        else:
            return measure


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


def _ends(cursor: Cursor, clock: TimeMeasure) -> tuple[TimeMeasure, bool]:
    """The measure between the two instants that are said, and whether it is of their pairs."""
    if cursor.also(*_OF_THE_CASE) or _is_over(cursor):
        return clock, False
    if cursor.also("until", "to"):
        end, end_pick = moment(cursor)
        return replace(clock, end=end, end_pick=end_pick or Pick.LAST), False
    cursor.also("elapsed")
    if cursor.accept("between"):
        return _between(cursor, clock, "and")
    cursor.expect("from")
    return _between(cursor, clock, "to", "until")


def _is_over(cursor: Cursor) -> bool:
    """Whether nothing is said about the instants of a duration: the whole case is meant."""
    word = cursor.word(int(cursor.says("of")))
    ends = word.kind is WordKind.END or word.is_symbol(",", ".", ")") or word.is_word(*_OVER)
    return ends and cursor.words[cursor.index - 1].is_word("duration")


def _between(cursor: Cursor, clock: TimeMeasure, *middle: str) -> tuple[TimeMeasure, bool]:
    if cursor.also("the pairs of"):
        return _pairs(cursor, clock), True
    if cursor.also("each", "every"):
        cursor.also("time instant when", "occurrence of")
        each = event_condition(cursor)
        cursor.expect(*middle)
        cursor.expect("the next", "next")
        cursor.also("time instant when", "occurrence of")
        return replace(clock, start=each, end=event_condition(cursor)), True
    start, first = moment(cursor)
    cursor.expect(*middle)
    end, last = moment(cursor)
    clock = replace(clock, start_pick=first or Pick.FIRST, end_pick=last or Pick.LAST)
    return replace(clock, start=start, end=end), False


def _pairs(cursor: Cursor, clock: TimeMeasure) -> TimeMeasure:
    start_pick = Pick.LAST if cursor.also("last") else Pick.FIRST
    cursor.expect("time instants when")
    start = border(cursor) or event_condition(cursor)
    cursor.expect("and")
    end_pick = Pick.FIRST if cursor.also("first") else Pick.LAST
    cursor.expect("when")
    end = border(cursor) or event_condition(cursor)
    return replace(clock, start=start, end=end, start_pick=start_pick, end_pick=end_pick)
