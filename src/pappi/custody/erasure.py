"""Erasing cases, persons or whole blocks: gone from the events, the inbox and their files.

What was released stays on record; it is what the guarantee is about. That something was erased
is on record too, in numbers, before anything is deleted. Cut off by a crash, the same call again
finishes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from pappi.custody.capture import LONGEST_TEXT, is_unicode
from pappi.custody.sealing import Current, frontier, settled
from pappi.errors import Refused, UsageError
from pappi.ppinot.wording import listed, quoted
from pappi.store.capture.erased import case_digests, person_digests
from pappi.store.capture.inbox import Inbox, person_text
from pappi.store.declarations import LogDeclaration
from pappi.store.events.erasing import erase_cases
from pappi.store.events.lookup import Lookup
from pappi.store.events.parts import Versioned
from pappi.store.workspace import WorkspaceFiles
from pappi.values.periods import Period
from pappi.values.privacy import Per
from pappi.values.vocabulary import Kind

__all__ = ["Erased", "Request", "erase"]


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be erased: cases by id, persons by the value of the unit's attribute, blocks
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
    files: WorkspaceFiles, current: Current, request: Request, note: Callable[[Erased], None]
) -> Erased:
    """Erase, and rewrite the files. `note` puts the numbers on record before anything is gone."""
    with settled(files, current) as (log, inbox):
        _check(log, request)
        request = replace(request, persons=_in_one_writing(log, request.persons))
        lookup = Lookup(files.events, log.table, log.anchor)
        found = _find(lookup, inbox, log, request)
        stored, waiting = lookup.event_counts(found.stored), inbox.unsealed_events(found.waiting)
        events = sum(stored.values()) + sum(waiting.values())
        erased = Erased(request.kinds, len(stored.keys() | waiting.keys()), events)
        note(erased)
        inbox.remember_erased(_digests(files.key(), log, request, found))
        # The inbox first: a run after a crash finds the same cases again by the events.
        inbox.remove(found.waiting)
        erase_cases(files.events, Versioned.of(log.table), found.stored)
    return erased


@dataclass(frozen=True, slots=True)
class _Found:
    """The cases to take out of the events file, and those to take out of the inbox."""

    stored: frozenset[str]
    waiting: frozenset[str]


def _find(lookup: Lookup, inbox: Inbox, log: LogDeclaration, request: Request) -> _Found:
    stored, waiting = set(request.cases), set(request.cases)
    if log.unit.column is not None and request.persons:
        stored.update(lookup.cases_of_persons(log.unit.column, request.persons))
        waiting.update(inbox.cases_of_persons(request.persons))
    open_cases = inbox.open_cases(log.anchor, inbox.last()) if request.blocks else []
    for start, end in _borders(log, request.blocks):
        stored.update(lookup.cases(lookup.anchored(start, end)))
        waiting.update(
            c.id for c in open_cases if c.anchor_us is not None and start <= c.anchor_us < end
        )
    # A case of the inbox may be in an older version of the events. But if the log has it as
    # something else, as another person's say, it is only what came late that goes.
    elsewhere = lookup.event_counts(waiting - stored).keys()
    return _Found(frozenset(stored | (waiting - elsewhere)), frozenset(stored | waiting))


def _in_one_writing(log: LogDeclaration, persons: tuple[str, ...]) -> tuple[str, ...]:
    """Persons as they are told apart: a number is the same as 7 and as 7.0."""
    match log.vocabulary.attributes.get(log.unit.column or ""):
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


def _borders(log: LogDeclaration, labels: tuple[str, ...]) -> list[tuple[int, int]]:
    blocks = _sealed_blocks(log)
    return [blocks[label].borders_us(log.zone) for label in labels]


def _sealed_blocks(log: LogDeclaration) -> dict[str, Period]:
    return {block.label: block for block in log.blocks.periods(log.first, frontier(log))}


def _digests(key: bytes, log: LogDeclaration, request: Request, found: _Found) -> Iterator[bytes]:
    yield from case_digests(key, found.stored)
    if log.unit.per is Per.LOG:
        yield from person_digests(key, request.persons)


def _check(log: LogDeclaration, request: Request) -> None:
    if not request.kinds:
        raise UsageError("nothing to erase", hint="name cases, persons or blocks")
    for value in (*request.cases, *request.persons):
        if not value or len(value) > LONGEST_TEXT or not is_unicode(value):
            raise UsageError("a case or person to erase is named by a text that no event can have")
    _check_persons(log, request)
    known = _sealed_blocks(log)
    unknown = [label for label in request.blocks if label not in known]
    if unknown:
        ends = listed([*known][:1] + [*known][1:][-1:], "to")
        raise UsageError(
            f"{quoted(unknown[0])} is not a sealed block of this log",
            hint=f"its blocks are {ends}" if known else "nothing is sealed yet",
        )


def _check_persons(log: LogDeclaration, request: Request) -> None:
    column = log.unit.column
    if column is None and request.persons:
        raise UsageError(
            "the privacy unit of this log is the case, so that it knows no persons",
            hint="erase cases by their ids",
        )
    if column is not None and log.unit.per is Per.LOG and (request.cases or request.blocks):
        raise Refused(
            f"of each person's cases only {log.unit.max_cases} count in the whole log: without "
            "some of them, others would count that did not before, and the person would have "
            "been counted more often than promised",
            hint=f"erase persons, with all of their cases, by {quoted(column)}",
        )
