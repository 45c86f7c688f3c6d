"""What happens in a case, as sentences say it: conditions on events, and instants.

What `str()` of a ppinot4py measure says is read too, also where nobody else would say it so:
states at run time are written as `END - AppliesTo.ACTIVITY - 'Send Fine'`, and a condition that
begins with an activity and ends with another text becomes one activity, of a strange name:
of `a == 'A' and b == 'x'` comes `activity "A' and b == 'x" occurs`.
"""

from __future__ import annotations

from dataclasses import replace

from pappi.errors import DefinitionError
from pappi.ppinot.expressions.grammar import parse_expression, quote_text
from pappi.ppinot.expressions.nodes import Expression
from pappi.ppinot.model import (
    EventCondition,
    EventSequence,
    Moment,
    Occurrence,
    Occurs,
    Order,
    Pick,
)
from pappi.ppinot.notations.building import (
    TRANSITION_ATTRIBUTE,
    Instant,
    activity_of,
    both,
    equals,
    is_activity,
)
from pappi.ppinot.notations.sentences.expressions import (
    end_of_expression,
    in_the_log,
    read_expression,
    spoken,
    text_of,
)
from pappi.ppinot.notations.sentences.patterns import OPEN, Choice, Fixed, Form, Part, Pattern
from pappi.ppinot.notations.sentences.words import Cursor, WordKind
from pappi.values import CaseBorder

# --- conditions on events -------------------------------------------------------------


def _read_condition(cursor: Cursor) -> EventCondition:
    """`activity "A" occurs`, any condition on events, or one such after another."""
    alone, first = _read_occurs(cursor)
    if cursor.accept("immediately follows"):
        return EventSequence(_read_occurs(cursor)[1], first, Order.FOLLOWS)
    if not cursor.accept("leads to"):
        return alone
    then, order = _read_occurs(cursor)[1], Order.LEADS_TO
    if cursor.accept("(one match per"):
        start, order = cursor.next, Order.LEADS_TO_CYCLICALLY
        if _read_occurs(cursor)[1] != first:
            message = "'one match per' repeats the condition before 'leads to'"
            raise cursor.refusal(f"{message}, but this is a different one", at=start)
        cursor.expect(")")
    return EventSequence(first, then, order)


def _read_occurs(cursor: Cursor) -> tuple[Occurs, Occurs]:
    """A condition as it is meant alone, and as it is meant within a sequence.

    There every event counts where nothing else is said, in ppinot4py too.
    """
    occurrence: Occurrence | None = None
    if cursor.accept("an event meets the condition"):
        condition, occurrence = read_expression(cursor, "a condition"), Occurrence.EVERY
    else:
        named = _read_activity(cursor) or _read_runtime_state(cursor) or _read_transition(cursor)
        condition = named or read_expression(cursor)
        if cursor.accept("begins to occur" if named else "begins to hold"):
            occurrence = Occurrence.ONSET
        elif activity_of(condition) and named:
            cursor.expect("occurs")
    among = None
    if cursor.accept("(among the events where"):
        among = read_expression(cursor)
        cursor.expect(")")
    alone = Occurs(condition, occurrence or cursor.dialect.occurrence, among)
    return alone, replace(alone, occurrence=occurrence or Occurrence.EVERY)


def _at_activity(cursor: Cursor, at: int) -> int | None:
    is_one = cursor.words[at].is_word("activity") and cursor.words[at + 1].kind is WordKind.TEXT
    return OPEN if is_one else None


def condition_words(when: EventCondition, _unsaid: object = None) -> str:
    """
    >>> from pappi.ppinot.expressions.grammar import parse_expression
    >>> condition_words(Occurs(parse_expression('activity == "Pay"'), Occurrence.ONSET))
    'activity "Pay" begins to occur'
    """
    if isinstance(when, EventSequence):
        first, then = condition_words(when.first), condition_words(when.then)
        if when.order is Order.FOLLOWS:
            return f"{then} immediately follows {first}"
        own = f" (one match per {first})" if when.order is Order.LEADS_TO_CYCLICALLY else ""
        return f"{first} leads to {then}{own}"
    activity = activity_of(when.condition)
    onset = when.occurrence is Occurrence.ONSET
    if activity is not None:
        said = f"activity {quote_text(activity)} {'begins to occur' if onset else 'occurs'}"
    else:
        said = spoken(when.condition) + (" begins to hold" if onset else "")
    among = "" if when.among is None else f" (among the events where {spoken(when.among)})"
    return said + among


CONDITION: Form[EventCondition] = Part(_read_condition, condition_words)
ACTIVITY: Form[EventCondition] = Part(_read_condition, condition_words, _at_activity)


def _read_activity(cursor: Cursor) -> Expression | None:
    if _at_activity(cursor, cursor.index) is None:
        return None
    if cursor.dialect.renamed and (swallowed := _swallowed(cursor)):
        return swallowed
    cursor.take()
    place = cursor.position
    return is_activity(text_of(cursor, cursor.take()), place)


# --- what only ppinot4py says so ------------------------------------------------------

_RUNTIME_STATES = {"START": "Assigned", "END": "Completed"}
"""How ppinot4py finds the states of an activity in a log."""


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
    cursor.accept("occurs")
    return in_the_log(cursor, compound)


def _read_transition(cursor: Cursor) -> Expression | None:
    """`lifecycle transition "complete" occurs`."""
    at_text = cursor.words[cursor.index + 2].kind is WordKind.TEXT
    if not at_text or not cursor.accept("lifecycle transition"):
        return None
    place = cursor.position
    entered = equals(TRANSITION_ATTRIBUTE, text_of(cursor, cursor.take()), place)
    cursor.expect("occurs")
    return entered


def _read_runtime_state(cursor: Cursor) -> Expression | None:
    """A state of an activity: `END - AppliesTo.ACTIVITY - 'Send Fine'`."""
    state = cursor.next
    behind = cursor.behind("- appliesto . activity -", cursor.index + 1)
    if behind is None:
        return None
    value = _RUNTIME_STATES.get(state.written)
    if value is None and state.kind is not WordKind.TEXT:
        message = f"expected START, END or a state in quotes, found {state}"
        raise cursor.refusal(message, at=state)
    cursor.index = behind
    place, first = cursor.position, cursor.take_kind("an activity", WordKind.WORD, WordKind.TEXT)
    last, name = first, text_of(cursor, first)
    if first.kind is WordKind.WORD:
        while cursor.next.kind is WordKind.WORD and not cursor.next.is_word("and", "if", "when"):
            last = cursor.take()
        name = cursor.words.text[first.start : last.end]
    entered = equals(TRANSITION_ATTRIBUTE, value or text_of(cursor, state), cursor.place(state))
    return both(is_activity(name, place), entered)


# --- instants -------------------------------------------------------------------------

_BORDERS = Fixed({"the case starts": CaseBorder.START, "the case ends": CaseBorder.END})


def _read_moment(cursor: Cursor) -> Moment:
    if _BORDERS.behind(cursor, cursor.index) is not None:
        return _BORDERS.read(cursor)
    behind = cursor.behind("- appliesto . process", cursor.index + 1)
    if behind is None:
        return CONDITION.read(cursor)
    border = CaseBorder.START if cursor.next.written == "START" else CaseBorder.END
    cursor.index = behind
    return border


MOMENT: Form[Moment] = Part(
    _read_moment, lambda moment, _: _BORDERS.write(moment) or condition_words(moment)
)

INSTANT: Form[Instant] = Choice(
    "an instant",
    (
        Fixed(
            {
                "the start of the case": Instant(CaseBorder.START),
                "the end of the case": Instant(CaseBorder.END),
            }
        ),
        Pattern(
            "the <pick> time instant when <moment>",
            {"pick": Fixed({pick.value: pick for pick in Pick}), "moment": MOMENT},
            lambda _cursor, _first, values: Instant(values["moment"], values["pick"]),
            lambda instant: {"moment": instant.moment, "pick": instant.pick},
        ),
    ),
)


def instant_of(moment: Moment, pick: Pick, usual: Pick) -> Instant:
    """A border of the case is one instant, whichever is picked."""
    unsaid = isinstance(moment, CaseBorder) and pick is usual
    return Instant(moment, None if unsaid else pick)


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
