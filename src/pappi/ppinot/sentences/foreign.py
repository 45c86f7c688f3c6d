"""What `str()` of a ppinot4py measure says in a way that nobody else would.

States at run time are written as `END - AppliesTo.ACTIVITY - 'Send Fine'`. And a condition that
begins with an activity and ends with another text becomes one activity, of a strange name:
of `a == 'A' and b == 'x'` comes `activity "A' and b == 'x" occurs`.
"""

from __future__ import annotations

from pappi.errors import DefinitionError
from pappi.ppinot.expressions.nodes import Binary, Expression, Name, Operator, Text
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.model import CaseBorder
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.naming import (
    TRANSITION,
    activity_name,
    both,
    is_activity,
    words_of_a_name,
)
from pappi.ppinot.sentences.spans import end_of_expression, text_of
from pappi.ppinot.sentences.substitution import renamed
from pappi.ppinot.sentences.words import Word, WordKind

# How ppinot4py finds the states of an activity in a log.
_STATES = {"START": "Assigned", "END": "Completed"}


def foreign_condition(cursor: Cursor) -> Expression | None:
    """A condition as only ppinot4py writes it, if one comes next."""
    if cursor.word(1).is_symbol("-") and cursor.word(2).is_word("appliesto"):
        return _runtime_state(cursor)
    is_activity_next = cursor.says("activity") and cursor.word(1).kind is WordKind.TEXT
    if cursor.reading.renamed and is_activity_next:
        return _swallowed(cursor)
    return None


def process_border(cursor: Cursor) -> CaseBorder | None:
    """The start or the end of the process, if it comes next."""
    if not cursor.says("- appliesto . process", 1):
        return None
    state = cursor.take()
    cursor.expect("- appliesto . process")
    return CaseBorder.START if state.written == "START" else CaseBorder.END


# --- states of an activity ------------------------------------------------------------


def _runtime_state(cursor: Cursor) -> Expression:
    state = cursor.take()
    cursor.expect("- appliesto . activity")
    cursor.expect("-")
    place = cursor.position
    name = activity_name(cursor) or Text(words_of_a_name(cursor), position=place)
    condition = is_activity(name.value, place)
    attributes = cursor.reading.names.attributes if cursor.reading.names else {TRANSITION: None}
    if state.written == "END" and TRANSITION not in attributes:
        return condition
    return both(condition, _transition(cursor, state))


def _transition(cursor: Cursor, state: Word) -> Expression:
    if state.kind is not WordKind.TEXT and state.written not in _STATES:
        message = f"expected START, END or a state in quotes, found {state}"
        raise cursor.refusal(message, at=state)
    place = cursor.place(state)
    found = _STATES.get(state.written) or text_of(cursor, state)
    left, right = Name(TRANSITION, position=place), Text(found, position=place)
    return Binary(Operator.EQUAL, left, right, position=place)


# --- conditions that have become activities -------------------------------------------


def _swallowed(cursor: Cursor) -> Expression | None:
    """The whole condition of which an activity has been made, if it was more than that."""
    start = cursor.index + 1
    end = end_of_expression(cursor.words, start)
    words = cursor.words
    if end > start + 1 and words[end].is_word("occurs"):
        written = words.text[words[start].start : words[end - 1].end]
    else:
        end = start + 1
        inside = words[start].written[1:-1]
        written = f"'{inside}'" if "'" in inside else ""
    found = _compound(cursor, written) if written else None
    if found is not None:
        cursor.index = end
        cursor.also("occurs")
    return found


def _compound(cursor: Cursor, written: str) -> Expression | None:
    """What was compared with the activity, and what else was asked for."""
    try:
        found = parse_expression(f"activity == {written}", cursor.position)
    except DefinitionError:
        return None
    return renamed(found, cursor.reading.renamed)
