"""Logs that change: taking in single events as they happen, sealing time over them, erasing.

An event is a JSON object such as

    {"id": "e-17", "case": "c4", "activity": "Pay", "time": "2024-03-01T12:00:00+01:00",
     "attributes": {"amount": 12.5}}

Attributes are the declared ones, of their declared kind: a number, a text, true or false; a time
is written as above, a duration as a number of seconds. Errors name the event by its place in the
batch and the field, never a value.

Time is sealed block by block up to a day; what was captured then becomes part of the log, and stays
as it is. A case whose anchor lies in the newly sealed time goes into a new part with all of its
events that are known now; a case that goes on waits for a later seal. What comes after its time was
sealed, or belongs to a case that was, is late: it stays in the inbox and no answer ever sees it, so
that no answer about sealed time ever changes.

The order of writing makes every crash harmless. The inbox notes which events go into the part;
the part is written and the log's list names it; the declaration is the moment it happens; then the
inbox lets go of what is sealed. Whatever was cut off is undone or finished by the next change
(`settled`).

Cases, persons or whole blocks can be erased: from the events, the inbox and their files. What was
released stays on record; it is what the guarantee is about. That something was erased is on record
too, in numbers, before anything is deleted. Cut off by a crash, the same call again finishes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from pappi.errors import InputError, Refused, UsageError
from pappi.eventlog import EARLIEST_US, LATEST_US
from pappi.store import (
    AS_IMPORTED,
    Captured,
    CapturedEvent,
    Inbox,
    InboxReader,
    LogDeclaration,
    Lookup,
    NewVersion,
    OpenCase,
    Value,
    Versioned,
    WorkspaceFiles,
    case_digests,
    changing,
    erase_cases,
    exclusive,
    open_inbox,
    person_digests,
    person_text,
    today,
)
from pappi.values import (
    Kind,
    Per,
    Period,
    did_you_mean,
    listed,
    midnight_us,
    quoted,
)

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


def event_of(written: object, number: int = 1) -> CapturedEvent:
    """An event from its JSON object; `number` is its place in the batch, from 1 on.

    >>> event_of({"id": "e1", "case": "c1", "activity": "Pay", "time": "1970-01-01T01:00:00+01:00"})
    CapturedEvent(id='e1', case='c1', activity='Pay', time_us=0, attributes={})
    """
    if not isinstance(written, Mapping):
        raise _wrong(number, "is not a JSON object", f"its fields are {listed(_FIELDS, 'and')}")
    if not set(written) <= set(_FIELDS):
        raise _wrong(number, "has an unknown field", f"use {listed(_FIELDS, 'and')}")
    attributes = written.get("attributes", {})
    if not isinstance(attributes, Mapping):
        raise _wrong(number, "has 'attributes' that are not a JSON object")
    return CapturedEvent(
        id=_name(written.get("id"), "id", number),
        case=_name(written.get("case"), "case", number),
        activity=_name(written.get("activity"), "activity", number),
        time_us=_time_us(written.get("time"), "'time'", number),
        attributes=dict(attributes),
    )


def capture(inbox: Path, log: LogDeclaration, events: Sequence[CapturedEvent]) -> Captured:
    """Capture a batch, all or nothing; it is on disk when this returns."""
    if len(events) > MOST_EVENTS:
        raise InputError(
            f"a batch has at most {MOST_EVENTS:,} events, not {len(events):,}",
            hint="send several batches",
        )
    checked = [_checked(event, log, number) for number, event in enumerate(events, 1)]
    with open_inbox(inbox, log.data) as opened:
        return opened.add(checked, log.terms.unit.column)


def grows(inbox: Path, log: LogDeclaration) -> bool:
    """Whether there is, or will be, more to a log than was imported."""
    if log.source is not None or log.public.first == log.public.until:
        return True
    if not inbox.exists():
        return False
    with open_inbox(inbox, log.data) as opened:
        return opened.has_captured()


def _checked(event: CapturedEvent, log: LogDeclaration, number: int) -> CapturedEvent:
    """The event as it is stored, checked against the limits whoever sent it."""
    for field in ("id", "case", "activity"):
        _name(getattr(event, field), field, number)
    _within_years(event.time_us, "'time'", number)
    declared = log.public.vocabulary.attributes
    for name in event.attributes:
        if name not in declared:
            known = f"declared are {listed(declared, 'and')}" if declared else "this log has none"
            hint = did_you_mean(name, declared, known) if isinstance(name, str) else known
            raise _wrong(number, "has an undeclared attribute", hint)
    coerced = {
        name: _value(value, declared[name], name, number)
        for name, value in event.attributes.items()
    }
    person = coerced.get(log.terms.unit.column or "")
    if isinstance(person, float):
        raise _wrong(number, "has a person that is not a whole number", "persons must stay apart")
    return replace(event, attributes=coerced)


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
            raise _wrong(number, f"needs true or false in {field}")
        case Kind.NUMBER:
            return _number(value, field, number)
        case Kind.TIME:
            return _time_us(value, field, number)
        case Kind.DURATION:
            seconds = _number(value, field, number)
            if abs(seconds) > _EXACT / _SECOND_US:
                raise _wrong(
                    number, f"has a duration beyond 285 years in {field}", "give it in seconds"
                )
            return round(seconds * _SECOND_US)


def _number(value: object, field: str, number: int) -> int | float:
    """An integer where it is one, so that 2 and 2.0 are the same content."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(number, f"needs a number in {field}")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _wrong(number, f"needs a finite number in {field}")
        return int(value) if value.is_integer() and abs(value) <= _EXACT else value
    if abs(value) > _LARGEST:
        raise _wrong(number, f"has an integer of more than 64 bits in {field}")
    return value


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
        raise _wrong(number, f"has invalid characters in {field}")
    return value


def is_unicode(text: str) -> bool:
    """JSON can write halves of characters, which no file takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _time_us(value: object, field: str, number: int) -> int:
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise _wrong(number, f"has no time with an offset in {field}", _TIME_HINT)
    day, clock, fraction, offset = match.groups()
    try:
        whole = datetime.fromisoformat(f"{day}T{clock}{offset.upper()}")
        seconds = (whole - _EPOCH) // timedelta(seconds=1)
    except (ValueError, OverflowError):
        raise _wrong(number, f"has no real time in {field}", _TIME_HINT) from None
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    return _within_years(seconds * _SECOND_US + micros, field, number)


def _within_years(time_us: object, field: str, number: int) -> int:
    if isinstance(time_us, int) and EARLIEST_US <= time_us < LATEST_US:
        return time_us
    raise _wrong(number, f"has no time of the years 1800 to 2199 in {field}", _TIME_HINT)


def _wrong(number: int, sentence: str, hint: str = "nothing was captured") -> InputError:
    return InputError(f"event {number} {sentence}", hint=hint)


# --- sealing -------------------------------------------------------------------------


Current: TypeAlias = Callable[[], LogDeclaration]
"""The log as it is declared; asked once no other change can come in between."""


class SealStep(StrEnum):
    """The moments between which a crash can fall."""

    REOPENED = "imported cases that go on are in the inbox"
    NOTED = "the inbox knows which events go into the part"
    WRITTEN = "the new part is complete"
    PLACED = "the new part is in its place, where nobody looks for it yet"
    SWAPPED = "the log's list names the new part"
    SWEPT = "parts that no version has are deleted"
    DECLARED = "the new time is declared"
    SETTLED = "the inbox has let go of what is sealed"


@dataclass(frozen=True, slots=True)
class Sealed:
    """What a seal took in. `late` are all events of the inbox that came too late to be answered."""

    log: str
    until: date
    cases: int
    events: int
    late: int


def no_step(step: SealStep) -> None:
    """For callers that do not watch."""


def seal(
    files: WorkspaceFiles,
    current: Current,
    until: date | None,
    today: date,
    commit: Callable[[LogDeclaration], None],
    on_step: Callable[[SealStep], None] = no_step,
) -> Sealed:
    """Seal a log up to a day, or up to the last complete block; all or nothing.

    `commit` declares what it is given; only with that has it happened.
    """
    with settled(files, current) as (log, inbox):
        end = until or log.terms.blocks.start_of(today)
        check_until(log, end, today)
        return _Seal(files, log, inbox, end, on_step).run(commit)


def seal_source(
    files: WorkspaceFiles,
    current: Current,
    until: date | None,
    commit: Callable[[LogDeclaration], None],
) -> Sealed:
    """Seal more time. Nothing is copied: the owner promises that the rows stay unchanged."""
    with exclusive(files.root / "import"):
        log = current()
        day = today(log.terms.zone)
        end = until or log.terms.blocks.start_of(day)
        check_until(log, end, day)
        commit(log.sealed(end))
        return Sealed(log.name, end, cases=0, events=0, late=0)


def require_here(log: LogDeclaration, what: str) -> None:
    """Refuse what only the system that holds the events can do."""
    if log.source is not None:
        raise Refused(
            f"the events of this log stay at their source and cannot be {what} here",
            hint=f"they can be {what} at the source",
        )


@contextmanager
def settled(files: WorkspaceFiles, current: Current) -> Iterator[tuple[LogDeclaration, Inbox]]:
    """The only change at a time, of a log whose inbox is where its declaration says."""
    with exclusive(files.root / "import"):
        log = current()
        with open_inbox(files.inbox, log.data) as inbox:
            inbox.settle(Versioned.of(log.table).number)
            yield log, inbox


def frontier(log: LogDeclaration) -> date:
    """Where sealed time ends: a partly answered block is sealed as a whole."""
    if log.public.first == log.public.until:
        return log.public.until
    (block,) = log.terms.blocks.periods(log.public.until - timedelta(days=1), log.public.until)
    return block.end


def check_until(log: LogDeclaration, until: date, today: date) -> None:
    """Refuse a day that is not the start of a block, is already sealed, or lies in the future."""
    before = frontier(log)
    if log.terms.blocks.start_of(until) != until:
        raise UsageError(
            f"{until} is not the first day of a block: this log has one block {log.terms.blocks}",
            hint=f"seal until {log.terms.blocks.start_of(until)}",
        )
    if until <= before:
        raise UsageError(f"this log is already sealed until {before}", hint="seal a later day")
    if until > today:
        raise UsageError(
            f"{until} is not over yet: more events may arrive",
            hint=f"seal until {log.terms.blocks.start_of(today)}",
        )


@dataclass(frozen=True, slots=True)
class _Seal:
    files: WorkspaceFiles
    log: LogDeclaration
    inbox: Inbox
    until: date
    on_step: Callable[[SealStep], None]

    def run(self, commit: Callable[[LogDeclaration], None]) -> Sealed:
        version = Versioned.of(self.log.table)
        reopened = self._reopen()
        self.on_step(SealStep.REOPENED)
        last = self.inbox.last()
        cases = self.inbox.open_cases(self.log.terms.anchor, last)
        late = self._late(cases)
        chosen = [
            case
            for case in cases
            if case.id not in late
            and (
                case.anchor_us is not None
                and case.anchor_us < midnight_us(self.until, self.log.terms.zone)
            )
        ]
        self.inbox.put_into_part(version.next.number, (case.id for case in chosen), last)
        self.on_step(SealStep.NOTED)
        attributes = self.log.public.vocabulary.attributes
        reader = InboxReader(self.inbox, version.next.number, attributes)
        new = NewVersion(version, attributes, reopened)
        with changing(self.files.events) as folder:
            successor = new.write(self.files.events, reader, folder)
            self.on_step(SealStep.WRITTEN)
            successor.place()
            self.on_step(SealStep.PLACED)
            successor.take_place()
            self.on_step(SealStep.SWAPPED)
            successor.sweep()
        self.on_step(SealStep.SWEPT)
        commit(replace(self.log.sealed(self.until), table=version.next.name))
        self.on_step(SealStep.DECLARED)
        self.inbox.settle(version.next.number)
        self.on_step(SealStep.SETTLED)
        return Sealed(
            *(self.log.name, self.until, len(chosen), sum(case.events for case in chosen)),
            late=sum(case.events for case in cases if case.id in late),
        )

    def _reopen(self) -> frozenset[str]:
        """Cases of an import that its horizon does not cover go on like captured ones.

        Only the first seal finds any: what was sealed lies within the horizon.
        """
        log, version = self.log, Versioned.of(self.log.table)
        if version.number > AS_IMPORTED and self.inbox.knows(version.number):
            return frozenset()
        lookup = Lookup(self.files.events, log.table, log.terms.anchor)
        beyond = lookup.anchored(self._frontier_us, None)
        self.inbox.learn(version.number, lookup.all_but(beyond))
        if version.number > AS_IMPORTED:
            return frozenset()
        cases = frozenset(lookup.cases(beyond))
        if cases:
            names = tuple(log.public.vocabulary.attributes)
            rows = lookup.events(beyond, log.public.vocabulary.attributes)
            events = (_imported(row, names) for row in rows)
            self.inbox.add_imported(events, log.terms.unit.column)
        return cases

    def _late(self, cases: list[OpenCase]) -> set[str]:
        """Cases of sealed time, of earlier parts, of two persons, or erased and back again."""
        border = self._frontier_us
        over = {case.id for case in cases if case.anchor_us is None or case.anchor_us < border}
        nobodys = {case.id for case in cases if case.person != case.other_person}
        known = self.inbox.stored(case.id for case in cases)
        return over | nobodys | known | self._erased(cases)

    def _erased(self, cases: list[OpenCase]) -> set[str]:
        erased = self.inbox.erased()
        if not erased:
            return set()
        key = self.files.key()
        by_case = case_digests(key, (case.id for case in cases))
        by_person = person_digests(key, (case.person or "" for case in cases))
        digests_of_cases = zip(cases, by_case, by_person, strict=True)
        return {case.id for case, *digests in digests_of_cases if not erased.isdisjoint(digests)}

    @property
    def _frontier_us(self) -> int:
        return midnight_us(frontier(self.log), self.log.terms.zone)


def _imported(row: tuple[Any, ...], names: tuple[str, ...]) -> CapturedEvent:
    case, position, time_us, activity, *values = row
    # JSON has no word for what is no finite number; wherever it is read, it counts as missing.
    present = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in zip(names, values, strict=True)
    }
    return CapturedEvent(str(position), case, activity, time_us, present)


# --- erasing cases, persons or whole blocks -----------------------------------------------


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """What to erase: cases by id, persons by the value of the unit's attribute, blocks
    by their label, such as 2024-03."""

    cases: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        given = {"cases": self.cases, "persons": self.persons, "blocks": self.blocks}
        return tuple(kind for kind, values in given.items() if values)


@dataclass(frozen=True, slots=True)
class Erased:
    """How much was erased; `kinds` says by what, never which."""

    kinds: tuple[str, ...]
    cases: int
    events: int


def erase(
    files: WorkspaceFiles, current: Current, request: ErasureRequest, note: Callable[[Erased], None]
) -> Erased:
    """Erase, and rewrite the files. `note` puts the numbers on record before anything is gone."""
    with settled(files, current) as (log, inbox):
        _check(log, request)
        request = replace(request, persons=_in_one_writing(log, request.persons))
        lookup = Lookup(files.events, log.table, log.terms.anchor)
        stored, late = _find(lookup, inbox, log, request)
        counts, unsealed = lookup.event_counts(stored), inbox.unsealed_events(stored | late)
        events = sum(counts.values()) + sum(unsealed.values())
        erased = Erased(request.kinds, len(counts.keys() | unsealed.keys()), events)
        note(erased)
        persons = request.persons if log.terms.unit.per is Per.LOG else ()
        key = files.key()
        inbox.remember_erased([*case_digests(key, stored), *person_digests(key, persons)])
        version = Versioned.of(log.table)
        # A run after a crash has to find the same cases again. Those that the inbox alone leads to
        # go from older versions before they go from there; then the events lead to the others.
        if led_to := stored - counts.keys() - set(request.cases):
            erase_cases(files.events, version, led_to)
        inbox.remove(stored, late)
        erase_cases(files.events, version, stored)
    return erased


def _find(
    lookup: Lookup, inbox: Inbox, log: LogDeclaration, request: ErasureRequest
) -> tuple[set[str], set[str]]:
    """The cases to take out of events and inbox, and those of which only what came late goes."""
    stored, waiting = set(request.cases), set(request.cases)
    if log.terms.unit.column is not None and request.persons:
        stored.update(lookup.cases_of_persons(log.terms.unit.column, request.persons))
        waiting.update(inbox.cases_of_persons(request.persons))
    open_cases = inbox.open_cases(log.terms.anchor, inbox.last()) if request.blocks else []
    blocks = _sealed_blocks(log)
    for start, end in (blocks[label].borders_us(log.terms.zone) for label in request.blocks):
        stored.update(lookup.cases(lookup.anchored(start, end)))
        waiting.update(
            c.id for c in open_cases if c.anchor_us is not None and start <= c.anchor_us < end
        )
    # A case of the inbox may be in an older version of the events. But if the log has it as
    # something else, as another person's say, it is only what came late that goes.
    late = {*lookup.event_counts(waiting - stored)}
    return stored | (waiting - late), late


def _in_one_writing(log: LogDeclaration, persons: tuple[str, ...]) -> tuple[str, ...]:
    """Persons in one spelling: 7 and 7.0 are the same number."""
    match log.public.vocabulary.attributes.get(log.terms.unit.column or ""):
        case Kind.NUMBER:
            return tuple(map(_number_text, persons))
        case Kind.TRUTH:
            return tuple(person.lower() for person in persons)
    return persons


def _number_text(person: str) -> str:
    try:
        return person_text(float(person)) or person
    except ValueError:
        return person


def _sealed_blocks(log: LogDeclaration) -> dict[str, Period]:
    return {
        block.label: block for block in log.terms.blocks.periods(log.public.first, frontier(log))
    }


def _check(log: LogDeclaration, request: ErasureRequest) -> None:
    if not request.kinds:
        raise UsageError("nothing to erase", hint="name cases, persons or blocks")
    for value in (*request.cases, *request.persons):
        if not value or len(value) > LONGEST_TEXT or not is_unicode(value):
            raise UsageError("a case or person to erase has a name that no event can have")
    column = log.terms.unit.column
    if column is None and request.persons:
        raise UsageError(
            "the privacy unit of this log is the case, so it has no persons",
            hint="erase cases by their ids",
        )
    if column is not None and log.terms.unit.per is Per.LOG and (request.cases or request.blocks):
        raise Refused(
            f"only {log.terms.unit.max_cases} cases of each person count in the whole log: erasing "
            "some would make others count instead, and the person would count more often than "
            "promised",
            hint=f"erase whole persons, with all their cases, by {quoted(column)}",
        )
    known = _sealed_blocks(log)
    unknown = [label for label in request.blocks if label not in known]
    if unknown:
        ends = listed([*known][:1] + [*known][1:][-1:], "to")
        raise UsageError(
            f"{quoted(unknown[0])} is not a sealed block of this log",
            hint=f"its blocks are {ends}" if known else "nothing is sealed yet",
        )
