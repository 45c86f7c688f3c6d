"""Sentences into the model.

>>> parse_measure('the average duration between "Create Fine" and "Payment"').function.value
'mean'
"""

from __future__ import annotations

from pappi.errors import Position
from pappi.ppinot.expressions.lexer import Origin, located
from pappi.ppinot.model import (
    AggregatedMeasure,
    DerivedMultiInstance,
    Measure,
    MultiInstance,
    Scope,
)
from pappi.ppinot.sentences.cursor import Cursor, Reading
from pappi.ppinot.sentences.measures import measure
from pappi.ppinot.sentences.scopes import scope
from pappi.ppinot.sentences.words import Word, WordKind

NOWHERE = Position("<sentence>", 1, 1)
_READING = Reading()


def parse_measure(
    text: str, reading: Reading = _READING, *, origin: Position | Origin = NOWHERE
) -> Measure:
    """The measure a sentence says; DefinitionError says which words do not fit and what would."""
    cursor = _cursor(text, reading, origin)
    found = measure(cursor)
    finish(cursor)
    return found


def parse_sentence(
    text: str, reading: Reading = _READING, *, origin: Position | Origin = NOWHERE
) -> tuple[MultiInstance, Scope | None]:
    """A measure of many cases and the scope it is asked for, if the sentence names one."""
    cursor = _cursor(text, reading, origin)
    before = scope(cursor, measure)
    cursor.also(",")
    start = cursor.next
    found = of_many(cursor, measure(cursor), start)
    behind = None if before is not None else scope(cursor, measure)
    finish(cursor)
    return found, before or behind


def parse_scope(
    text: str, reading: Reading = _READING, *, origin: Position | Origin = NOWHERE
) -> Scope:
    """A scope alone: "every month", "the last 100 cases"."""
    cursor = _cursor(text, reading, origin)
    found = considered(cursor)
    finish(cursor)
    return found


def definition(cursor: Cursor) -> MultiInstance:
    """What a template defines its PPI as."""
    cursor.also("the ppi is defined as")
    start = cursor.next
    return of_many(cursor, measure(cursor), start)


def considered(cursor: Cursor) -> Scope:
    """The cases that a template says its PPI is about."""
    cursor.also("the process instances considered for this ppi are")
    found = scope(cursor, measure)
    if found is None:
        cursor.want_thing("a scope")
        raise cursor.unexpected("as in every month")
    return found


def of_many(cursor: Cursor, found: Measure, start: Word) -> MultiInstance:
    """A measure that combines many cases, as a PPI needs one."""
    if isinstance(found, AggregatedMeasure | DerivedMultiInstance):
        return found
    message = "this measures one case; a PPI combines many"
    hint = "say how: the average of …, the share of cases in which …"
    raise cursor.refusal(message, hint, at=start)


def _cursor(text: str, reading: Reading, origin: Position | Origin) -> Cursor:
    at = located(text, origin) if isinstance(origin, Position) else origin
    return Cursor(text, at, reading)


def finish(cursor: Cursor) -> None:
    """Refuses words behind what has been read."""
    cursor.also(".")
    if cursor.next.kind is not WordKind.END:
        cursor.want_thing("the end")
        raise cursor.unexpected()
