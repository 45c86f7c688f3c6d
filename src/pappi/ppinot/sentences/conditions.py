"""Conditions on events, and instants of a case, as sentences say them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pappi.ppinot.expressions.nodes import Binary, Expression, Name, OneOf, Operator, Text
from pappi.ppinot.model import (
    CaseBorder,
    EventCondition,
    Moment,
    Occurrence,
    Occurs,
    Order,
    Pick,
    Sequence,
)
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.foreign import foreign_condition, process_border
from pappi.ppinot.sentences.naming import TRANSITION, activity_name, both, is_activity
from pappi.ppinot.sentences.spans import expression, text_of
from pappi.ppinot.sentences.words import WordKind
from pappi.ppinot.wording import quoted

HAPPENS = (
    *("occurs", "occur", "occurred", "happens", "happen", "happened", "takes place", "took place"),
    *("is executed", "was executed", "is performed", "was performed", "is done", "was done"),
)
_DIRECTLY_FOLLOWED = (
    *("is directly followed by", "directly followed by", "is immediately followed by"),
    "immediately followed by",
)
_BEGINS = ("begins to occur", "begins to hold", "begins to happen")
# PPINOT's templates say active and completed, and logs say what XES does.
_STATES = {"active": "start", "completed": "complete"}


@dataclass(frozen=True, slots=True)
class _Said:
    """A condition, and whether it says itself at which events it occurs."""

    occurs: Occurs
    is_sure: bool


def event_condition(cursor: Cursor) -> EventCondition:
    """`activity "A" occurs`, any condition on events, or one such after another."""
    left = _occurs(cursor)
    if cursor.also("leads to"):
        return _leading(cursor, left)
    if cursor.also("immediately follows", "directly follows"):
        return Sequence(_each(_occurs(cursor)), _each(left), Order.FOLLOWS)
    if cursor.also(*_DIRECTLY_FOLLOWED):
        return Sequence(_each(left), _each(_occurs(cursor)), Order.FOLLOWS)
    if cursor.also("is followed by", "followed by", "is eventually followed by"):
        return Sequence(_each(left), _each(_occurs(cursor)), Order.LEADS_TO)
    return left.occurs


def _leading(cursor: Cursor, first: _Said) -> Sequence:
    then = _each(_occurs(cursor))
    if not cursor.also("( one match per"):
        return Sequence(_each(first), then, Order.LEADS_TO)
    start = cursor.next
    if _each(_occurs(cursor)) != _each(first):
        message = "'one match per' repeats the condition before 'leads to', and this is another"
        raise cursor.refusal(message, at=start)
    cursor.expect(")")
    return Sequence(_each(first), then, Order.LEADS_TO_CYCLICALLY)


def _each(said: _Said) -> Occurs:
    """Within a sequence every event counts where nothing else is said, in ppinot4py too."""
    return said.occurs if said.is_sure else replace(said.occurs, occurrence=Occurrence.EVERY)


# --- one condition --------------------------------------------------------------------


def _occurs(cursor: Cursor) -> _Said:
    if cursor.also("an event meets the condition", "an event satisfies"):
        return _among(cursor, _Said(Occurs(expression(cursor, "a condition")), is_sure=True))
    condition = named_condition(cursor)
    if condition is None:
        condition = _written_condition(cursor)
    else:
        cursor.accept(*HAPPENS)
    onset = cursor.also(*_BEGINS) is not None
    occurrence = Occurrence.ONSET if onset else cursor.reading.occurrence
    return _among(cursor, _Said(Occurs(condition, occurrence), is_sure=onset))


def _written_condition(cursor: Cursor) -> Expression:
    word = cursor.next
    condition = expression(cursor, "a condition on events")
    if isinstance(condition, Name) and cursor.also(*HAPPENS):
        raise cursor.refusal(*unquoted(word.written), at=word)
    cursor.also("holds")
    return condition


def unquoted(name: str) -> tuple[str, str]:
    """What to say of an activity that cannot be told from an attribute."""
    shown = name[:40]
    return f"{quoted(name)} is read as an attribute", f'an activity goes in quotes: "{shown}"'


def _among(cursor: Cursor, said: _Said) -> _Said:
    if not cursor.also("( among the events where"):
        return said
    among = expression(cursor, "a condition on events")
    cursor.expect(")")
    return replace(said, occurs=replace(said.occurs, among=among))


def named_condition(cursor: Cursor) -> Expression | None:
    """A condition that names an activity or a transition of its life cycle, if one comes next."""
    foreign = foreign_condition(cursor)
    if foreign is not None:
        return foreign
    if cursor.says("lifecycle transition") and cursor.word(2).kind is WordKind.TEXT:
        cursor.index += 2
        word = cursor.take()
        place = cursor.place(word)
        left = Name(TRANSITION, position=place)
        right = Text(text_of(cursor, word), position=place)
        return Binary(Operator.EQUAL, left, right, position=place)
    activity = activity_name(cursor)
    if activity is None:
        return None
    condition = is_activity(activity.value, activity.position)
    if cursor.also("becomes"):
        return both(condition, _in_state(cursor))
    return condition


def _in_state(cursor: Cursor) -> Expression:
    """A transition of the life cycle, however the log spells it."""
    cursor.want_thing("a state, as in completed")
    word = cursor.next
    if word.kind not in (WordKind.WORD, WordKind.TEXT):
        raise cursor.unexpected()
    cursor.take()
    written = text_of(cursor, word) if word.kind is WordKind.TEXT else word.written
    state = _STATES.get(written.lower(), written)
    ways = dict.fromkeys((state, state.lower(), state.upper(), state.capitalize()))
    texts = tuple(Text(way, position=cursor.place(word)) for way in ways)
    name = Name(TRANSITION, position=cursor.place(word))
    if len(texts) == 1:
        return Binary(Operator.EQUAL, name, texts[0], position=name.position)
    return OneOf(name, texts, position=name.position)


# --- instants -------------------------------------------------------------------------

_STARTS = (
    *("the start of the case", "the beginning of the case", "start of the case", "case start"),
    *("start of case", "its start", "the case start", "the start", "the case starts"),
    *("the case begins", "it starts", "the first event of the case"),
)
_ENDS = (
    *("the end of the case", "end of the case", "case end", "end of case", "its end"),
    *("the case end", "the end", "the case ends", "the case finishes", "it ends"),
    "the last event of the case",
)


def border(cursor: Cursor) -> CaseBorder | None:
    """The start or the end of the case, if it comes next."""
    for which, phrases in ((CaseBorder.START, _STARTS), (CaseBorder.END, _ENDS)):
        if cursor.also(*sorted(phrases, key=len, reverse=True)):
            return which
    return process_border(cursor)


def moment(cursor: Cursor) -> tuple[Moment, Pick | None]:
    """An instant of a case, and which of several if that is said."""
    at_border = border(cursor)
    if at_border is not None:
        return at_border, None
    pick = picked(cursor)
    cursor.also("time instant", "time instants", "the time instants", "the time instant")
    if pick is not None:
        cursor.also("time", "event", "occurrence of", "instant")
    word, when = cursor.next, cursor.also("when", "where", "at which")
    found = border(cursor) or event_condition(cursor)
    if when is None and isinstance(found, Occurs) and isinstance(found.condition, Name):
        raise cursor.refusal(*unquoted(found.condition.name), at=word)
    return found, pick


def picked(cursor: Cursor) -> Pick | None:
    """`the first` or `the last`, if it comes next and is not a name."""
    for pick in Pick:
        ahead = int(cursor.says("the"))
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
        case Sequence():
            first, then = replace(moment.first, among=among), replace(moment.then, among=among)
            return replace(moment, first=first, then=then)
        case _:
            return Occurs(among)
