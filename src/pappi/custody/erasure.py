"""Erasing cases, persons or whole blocks: gone from the events, the inbox and their files.

What was released stays on record; it is what the guarantee is about. That something was erased
is on record too, in numbers, before anything is deleted. Cut off by a crash, the same call again
finishes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pappi.custody.capture import LONGEST_TEXT, Current, frontier, is_unicode, settled
from pappi.errors import Refused, UsageError
from pappi.ppinot import listed, quoted
from pappi.store import (
    Inbox,
    LogDeclaration,
    Lookup,
    Versioned,
    WorkspaceFiles,
    case_digests,
    erase_cases,
    person_digests,
    person_text,
)
from pappi.values import Kind, Per, Period

__all__ = ["Erased", "Request", "erase"]


@dataclass(frozen=True, slots=True)
class Request:
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
    files: WorkspaceFiles, current: Current, request: Request, note: Callable[[Erased], None]
) -> Erased:
    """Erase, and rewrite the files. `note` puts the numbers on record before anything is gone."""
    with settled(files, current) as (log, inbox):
        _check(log, request)
        request = replace(request, persons=_in_one_writing(log, request.persons))
        lookup = Lookup(files.events, log.table, log.terms.anchor)
        stored, waiting = _find(lookup, inbox, log, request)
        counts, unsealed = lookup.event_counts(stored), inbox.unsealed_events(waiting)
        events = sum(counts.values()) + sum(unsealed.values())
        erased = Erased(request.kinds, len(counts.keys() | unsealed.keys()), events)
        note(erased)
        persons = request.persons if log.terms.unit.per is Per.LOG else ()
        key = files.key()
        inbox.remember_erased([*case_digests(key, stored), *person_digests(key, persons)])
        # The inbox first: a run after a crash finds the same cases again by the events.
        inbox.remove(waiting)
        erase_cases(files.events, Versioned.of(log.table), stored)
    return erased


def _find(
    lookup: Lookup, inbox: Inbox, log: LogDeclaration, request: Request
) -> tuple[set[str], set[str]]:
    """The cases to take out of the events file, and those to take out of the inbox."""
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
    elsewhere = lookup.event_counts(waiting - stored).keys()
    return stored | (waiting - elsewhere), stored | waiting


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


def _check(log: LogDeclaration, request: Request) -> None:
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
