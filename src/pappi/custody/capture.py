"""Taking in single events as they happen: checked against what is declared, then durable.

An event is a JSON object such as

    {"id": "e-17", "case": "c4", "activity": "Pay", "time": "2024-03-01T12:00:00+01:00",
     "attributes": {"amount": 12.5}}

Attributes are the declared ones, of their declared kind: a number, a text, true or false; a time
is written as above, a duration as a number of seconds. Errors name the event by its place in the
batch and the field, never a value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pappi.custody.imports import EARLIEST_US, LATEST_US
from pappi.errors import InputError
from pappi.ppinot.wording import did_you_mean, listed, quoted
from pappi.store.capture.inbox import Captured, CapturedEvent, Value, open_inbox
from pappi.store.declarations import LogDeclaration
from pappi.values.vocabulary import Kind

__all__ = ["MOST_EVENTS", "Captured", "CapturedEvent", "capture", "event_of", "grows"]

MOST_EVENTS = 10_000
_LONGEST_NAME = 1_000
LONGEST_TEXT = 10_000

_FIELDS = ("id", "case", "activity", "time", "attributes")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND_US = 1_000_000
_LARGEST = 2**63 - 1
_EXACT = 2**53
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.([0-9]{1,9}))?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_TIME_HINT = "write e.g. 2024-03-01T12:00:00+01:00, between the years 1800 and 2200"


def event_of(found: object, number: int = 1) -> CapturedEvent:
    """An event from its JSON object; `number` is its place in the batch, from 1 on.

    >>> event_of({"id": "e1", "case": "c1", "activity": "Pay", "time": "1970-01-01T01:00:00+01:00"})
    CapturedEvent(id='e1', case='c1', activity='Pay', time_us=0, attributes={})
    """
    if not isinstance(found, Mapping):
        raise _wrong(number, "is not a JSON object", f"its fields are {listed(_FIELDS, 'and')}")
    if not set(found) <= set(_FIELDS):
        raise _wrong(number, "has a field that no event has", f"use {listed(_FIELDS, 'and')}")
    attributes = found.get("attributes", {})
    if not isinstance(attributes, Mapping):
        raise _wrong(number, "has 'attributes' that are not a JSON object")
    return CapturedEvent(
        id=_name(found.get("id"), "id", number),
        case=_name(found.get("case"), "case", number),
        activity=_name(found.get("activity"), "activity", number),
        time_us=_time_us(found.get("time"), "time", number),
        attributes=dict(attributes),
    )


def capture(inbox: Path, log: LogDeclaration, events: Sequence[CapturedEvent]) -> Captured:
    """Take a batch in: all of it or nothing, and on the disk when this returns."""
    if len(events) > MOST_EVENTS:
        raise InputError(
            f"a batch has at most {MOST_EVENTS:,} events, not {len(events):,}",
            hint="send it in several",
        )
    checked = [_checked(event, log, number) for number, event in enumerate(events, 1)]
    with open_inbox(inbox, log.data) as opened:
        return opened.add(checked, log.unit.column)


def grows(inbox: Path, log: LogDeclaration) -> bool:
    """Whether there is, or will be, more to a log than was imported."""
    if log.source is not None or log.first == log.until:
        return True
    if not inbox.exists():
        return False
    with open_inbox(inbox, log.data) as opened:
        return opened.has_captured()


def _checked(event: CapturedEvent, log: LogDeclaration, number: int) -> CapturedEvent:
    """The event as it is stored; whoever made it, it is within bounds."""
    for field in ("id", "case", "activity"):
        _name(getattr(event, field), field, number)
    _within_years(event.time_us, "time", number)
    declared = log.vocabulary.attributes
    for name in event.attributes:
        if name not in declared:
            raise _undeclared(name, declared, number)
    coerced = {
        name: _value(value, declared[name], name, number)
        for name, value in event.attributes.items()
    }
    person = coerced.get(log.unit.column or "")
    if isinstance(person, float):
        raise _wrong(number, "has a person that is no whole number", "persons must stay apart")
    return replace(event, attributes=coerced)


def _undeclared(name: object, declared: Mapping[str, Kind], number: int) -> InputError:
    known = f"declared are {listed(declared, 'and')}" if declared else "this log has none"
    hint = did_you_mean(name, declared, known) if isinstance(name, str) else known
    return _wrong(number, "has an attribute that is not declared", hint)


def _value(value: object, kind: Kind, name: str, number: int) -> Value:
    if value is None:
        return None
    field = f"the attribute {quoted(name)}"
    match kind:
        case Kind.TEXT:
            return _text(value, field, number, LONGEST_TEXT)
        case Kind.TRUTH:
            if isinstance(value, bool):
                return value
            raise _wrong(number, f"has no true or false in {field}")
        case Kind.NUMBER:
            return _number(value, field, number)
        case Kind.TIME:
            return _time_us(value, field, number)
        case Kind.DURATION:
            return _duration_us(value, field, number)


def _number(value: object, field: str, number: int) -> int | float:
    """An integer where it is one, so that 2 and 2.0 are the same content."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(number, f"has no number in {field}")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _wrong(number, f"has no finite number in {field}")
        return int(value) if value.is_integer() and abs(value) <= _EXACT else value
    if abs(value) > _LARGEST:
        raise _wrong(number, f"has an integer of more than 64 bits in {field}")
    return value


def _duration_us(value: object, field: str, number: int) -> int:
    seconds = _number(value, field, number)
    if abs(seconds) > _EXACT / _SECOND_US:
        raise _wrong(number, f"has a duration beyond 285 years in {field}", "give it in seconds")
    return round(seconds * _SECOND_US)


def _name(value: object, field: str, number: int) -> str:
    text = _text(value, f"'{field}'", number, _LONGEST_NAME)
    if not text:
        raise _wrong(number, f"has an empty '{field}'")
    return text


def _text(value: object, field: str, number: int, longest: int) -> str:
    if not isinstance(value, str):
        raise _wrong(number, f"has no text in {field}")
    if len(value) > longest:
        raise _wrong(number, f"has more than {longest:,} characters in {field}")
    if "\0" in value or not is_unicode(value):
        raise _wrong(number, f"has characters in {field} that no text holds")
    return value


def is_unicode(text: str) -> bool:
    """JSON can write halves of characters, which no file takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _time_us(value: object, field: str, number: int) -> int:
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise _wrong(number, f"has no time with an offset in {_shown(field)}", _TIME_HINT)
    day, clock, fraction, offset = found.groups()
    try:
        whole = datetime.fromisoformat(f"{day}T{clock}{offset.upper()}")
        seconds = (whole - _EPOCH) // timedelta(seconds=1)
    except (ValueError, OverflowError):
        raise _wrong(number, f"has no real time in {_shown(field)}", _TIME_HINT) from None
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    return _within_years(seconds * _SECOND_US + micros, field, number)


def _within_years(time_us: object, field: str, number: int) -> int:
    if isinstance(time_us, int) and EARLIEST_US <= time_us < LATEST_US:
        return time_us
    raise _wrong(number, f"has no time of the years 1800 to 2199 in {_shown(field)}", _TIME_HINT)


def _shown(field: str) -> str:
    return f"'{field}'" if field in _FIELDS else field


def _wrong(number: int, sentence: str, hint: str = "nothing was taken in") -> InputError:
    return InputError(f"event {number} {sentence}", hint=hint)
