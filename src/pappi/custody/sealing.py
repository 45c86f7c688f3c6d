"""Sealing time: what was captured becomes part of the log, and stays as it is.

Time is sealed block by block up to a day. A case whose anchor lies in the newly sealed time goes
into a new part with all of its events that are known now; a case that goes on waits for a later
seal. What comes after its time was sealed, or belongs to a case that was, is late: it stays in
the inbox and no answer ever sees it, so that no answer about sealed time ever changes.

The order of writing makes every crash harmless. The inbox notes which events go into the part;
the events file gets part and view; the declaration is the moment it happens; then the inbox lets
go of what is sealed. Whatever was cut off is undone or finished by the next change (`settled`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import Any, TypeAlias

from pappi.errors import UsageError
from pappi.store.capture.erased import case_digests, person_digests
from pappi.store.capture.inbox import CapturedEvent, Inbox, OpenCase, Value, open_inbox
from pappi.store.capture.reader import InboxReader
from pappi.store.declarations import LogDeclaration
from pappi.store.events import changing
from pappi.store.events.lock import exclusive
from pappi.store.events.lookup import Lookup
from pappi.store.events.parts import NewVersion, Versioned
from pappi.store.events.replacing import swap_in
from pappi.store.workspace import WorkspaceFiles
from pappi.values.periods import midnight_us

Current: TypeAlias = Callable[[], LogDeclaration]
"""The log as it is declared; asked once no other change can come in between."""


class Step(StrEnum):
    """The moments between which a crash can fall."""

    REOPENED = "imported cases that go on are in the inbox"
    NOTED = "the inbox knows which events go into the part"
    WRITTEN = "the new events file is complete"
    SWAPPED = "the new events file is in place"
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


def no_step(step: Step) -> None:
    """For callers that do not watch."""


def seal(
    files: WorkspaceFiles,
    current: Current,
    until: date | None,
    today: date,
    commit: Callable[[LogDeclaration], None],
    on_step: Callable[[Step], None] = no_step,
) -> Sealed:
    """Seal a log up to a day, or as far as whole blocks have passed; all of it or nothing.

    `commit` declares what it is given; only with that has it happened.
    """
    with settled(files, current) as (log, inbox):
        end = until or log.blocks.start_of(today)
        check_until(log, end, today)
        return _Seal(files, log, inbox, end, on_step).run(commit)


@contextmanager
def settled(files: WorkspaceFiles, current: Current) -> Iterator[tuple[LogDeclaration, Inbox]]:
    """The only change at a time, of a log whose inbox is where its declaration says."""
    with exclusive(files.root / "import"):
        log = current()
        with open_inbox(files.inbox, log.data) as inbox:
            inbox.settle(Versioned.of(log.table).number)
            yield log, inbox


def frontier(log: LogDeclaration) -> date:
    """Where sealed time ends: a block of which a part is answered is sealed as a whole."""
    if log.first == log.until:
        return log.until
    (block,) = log.blocks.periods(log.until - timedelta(days=1), log.until)
    return block.end


def check_until(log: LogDeclaration, until: date, today: date) -> None:
    """Refuse to seal up to a day that is no border, is sealed already, or is not over."""
    before = frontier(log)
    if log.blocks.start_of(until) != until:
        raise UsageError(
            f"{until} is not the first day of a block of this log, which has one {log.blocks}",
            hint=f"seal until {log.blocks.start_of(until)}",
        )
    if until <= before:
        raise UsageError(f"this log is sealed until {before} already", hint="seal a later day")
    if until > today:
        raise UsageError(
            f"{until} is not over yet: events may still come",
            hint=f"seal until {log.blocks.start_of(today)}",
        )


@dataclass(frozen=True, slots=True)
class _Seal:
    files: WorkspaceFiles
    log: LogDeclaration
    inbox: Inbox
    until: date
    on_step: Callable[[Step], None]

    def run(self, commit: Callable[[LogDeclaration], None]) -> Sealed:
        version = Versioned.of(self.log.table)
        reopened = self._reopen()
        self.on_step(Step.REOPENED)
        last = self.inbox.last()
        cases = self.inbox.open_cases(self.log.anchor, last)
        late = self._late(cases)
        chosen = [case for case in cases if case.id not in late and self._is_over(case)]
        self.inbox.put_into_part(version.next.number, (case.id for case in chosen), last)
        self.on_step(Step.NOTED)
        self._write(version, reopened)
        self.on_step(Step.SWAPPED)
        commit(replace(self.log, table=version.next.view, until=self.until))
        self.on_step(Step.DECLARED)
        self.inbox.settle(version.next.number)
        self.on_step(Step.SETTLED)
        return Sealed(
            *(self.log.name, self.until, len(chosen), sum(case.events for case in chosen)),
            late=sum(case.events for case in cases if case.id in late),
        )

    def _reopen(self) -> frozenset[str]:
        """Cases of an import that its horizon does not cover go on like captured ones."""
        log = self.log
        lookup = self._lookup()
        beyond = lookup.anchored(self._frontier_us, None)
        cases = frozenset(lookup.cases(beyond))
        if cases:
            names = tuple(log.vocabulary.attributes)
            rows = lookup.events(beyond, log.vocabulary.attributes)
            events = (_imported(row, names) for row in rows)
            self.inbox.add_imported(events, log.unit.column)
        return cases

    def _late(self, cases: list[OpenCase]) -> set[str]:
        """Cases of sealed time, of earlier parts, of two persons, or erased and back again."""
        border = self._frontier_us
        over = {case.id for case in cases if case.anchor_us is None or case.anchor_us < border}
        nobodys = {case.id for case in cases if case.person != case.other_person}
        known = self._lookup().known((case.id for case in cases), border)
        return over | nobodys | known | self._erased(cases)

    def _erased(self, cases: list[OpenCase]) -> set[str]:
        erased = self.inbox.erased()
        if not erased:
            return set()
        key = self.files.key()
        by_case = case_digests(key, (case.id for case in cases))
        by_person = person_digests(key, (case.person or "" for case in cases))
        found = zip(cases, by_case, by_person, strict=True)
        return {case.id for case, *digests in found if not erased.isdisjoint(digests)}

    def _is_over(self, case: OpenCase) -> bool:
        return case.anchor_us is not None and case.anchor_us < midnight_us(
            self.until, self.log.zone
        )

    def _write(self, version: Versioned, reopened: frozenset[str]) -> None:
        attributes = self.log.vocabulary.attributes
        reader = InboxReader(self.inbox, version.next.number, attributes)
        new = NewVersion(version, attributes, reopened)
        with changing(self.files.events) as folder:
            finished = new.write(self.files.events, reader, folder)
            self.on_step(Step.WRITTEN)
            swap_in(finished, self.files.events)

    def _lookup(self) -> Lookup:
        return Lookup(self.files.events, self.log.table, self.log.anchor)

    @property
    def _frontier_us(self) -> int:
        return midnight_us(frontier(self.log), self.log.zone)


def _imported(row: tuple[Any, ...], names: tuple[str, ...]) -> CapturedEvent:
    case, position, time_us, activity, *values = row
    present = {name: _finite(value) for name, value in zip(names, values, strict=True)}
    return CapturedEvent(str(position), case, activity, time_us, present)


def _finite(value: Value) -> Value:
    """JSON has no word for what is no finite number; wherever it is read, it counts as missing."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
