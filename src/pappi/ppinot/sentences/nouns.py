"""The measures of a case that stand on their own: counts, durations and attributes."""

from __future__ import annotations

from pappi.ppinot.model import CountMeasure, Cycles, DataMeasure, Pick, TimeMeasure
from pappi.ppinot.sentences.conditions import event_condition
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.durations import at_duration, duration, names_duration
from pappi.ppinot.sentences.naming import attribute

Noun = CountMeasure | TimeMeasure | DataMeasure

_ARTICLES = ("the", "a", "an", "its", "their")
_COUNT = (
    *("number of times", "number of occurrences of", "number of events where", "number of"),
    *("count of", "how often", "how many times"),
)
_VALUES = {
    "last value of": Pick.LAST,
    "first value of": Pick.FIRST,
    "value of": Pick.LAST,
    "final value of": Pick.LAST,
    "latest value of": Pick.LAST,
    "initial value of": Pick.FIRST,
}
_EXAMPLES = (
    "as in the duration between …, the number of times …, the last value of …, whether …, "
    "the average of …, the share of cases in which …"
)


def at_noun(cursor: Cursor) -> bool:
    """Whether one of these comes next, with its article or without."""
    ahead = int(cursor.next.is_word(*_ARTICLES))
    if any(cursor.says(head, ahead) for head in (*_COUNT, *_VALUES)):
        return True
    return at_duration(cursor, ahead)


def noun(cursor: Cursor, cycles: Cycles | None = None) -> Noun:
    """A count, a duration or an attribute; `cycles` is the word before it, of durations."""
    cursor.skip(*_ARTICLES)
    for head, pick in _VALUES.items():
        if cursor.also(head):
            return data(cursor, pick)
    if names_duration(cursor):
        return duration(cursor, cycles)
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
