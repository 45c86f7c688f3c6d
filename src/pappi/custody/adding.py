"""Logs that stay where they are: a source is looked at once, and declared; later, sealed.

Nothing is copied, and nothing is written there. What the owner says is checked against the
source: the columns are there, and can be read as what they are said to be. What is not said, the
horizon and the activities, is proposed from it, as with an import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from zoneinfo import ZoneInfo

from pappi.custody.imports import Books, Terms, check_terms, check_words, declared
from pappi.custody.mapped import Given, Mapped
from pappi.custody.sealing import Current, Sealed, check_until
from pappi.engine.cases import case_level
from pappi.engine.surveys import Survey, survey
from pappi.errors import Conflict, InputError, Refused, UsageError
from pappi.ppinot.wording import quoted
from pappi.store.declarations import LogDeclaration, today
from pappi.store.events.lock import exclusive
from pappi.store.sources import (
    EventSource,
    SourceRead,
    System,
    same_place,
    secret_name,
    system_of,
)
from pappi.store.workspace import WorkspaceFiles
from pappi.values.periods import day_of
from pappi.values.vocabulary import Kind, Vocabulary

__all__ = ["Added", "Given", "add_log", "require_here", "seal_source"]

_MOST_ACTIVITIES = 10_000


@dataclass(frozen=True, slots=True)
class Added:
    """What was found at the source, and what is now declared about it."""

    survey: Survey
    declaration: LogDeclaration


def add_log(files: WorkspaceFiles, books: Books, name: str, given: Given, terms: Terms) -> Added:
    """The log exists once its declaration is in the journal."""
    with exclusive(files.root / "import"):
        known = books.known()
        check_terms(name, terms, known)
        others = [log for log in known.values() if log.source is not None]
        _require_own_secret(name, given, others)
        mapped = Mapped(name, given, terms.timezone)
        source, kinds = mapped.source(), mapped.kinds()
        if not given.again:
            _require_new(source, others)
        reading = SourceRead(source, scratch=files.root / f"{files.events.name}.tmp")
        found = survey(reading)
        log = _declared(f"source_{books.number()}", name, terms, source, kinds, found)
        _require_case_level(log, reading)
        books.declare(log)
        return Added(found, log)


def seal_source(
    files: WorkspaceFiles,
    current: Current,
    until: date | None,
    commit: Callable[[LogDeclaration], None],
) -> Sealed:
    """Let more time be answered. Nothing is taken in: that the rows stay is the owner's word."""
    with exclusive(files.root / "import"):
        log = current()
        day = today(log.zone)
        end = until or log.blocks.start_of(day)
        check_until(log, end, day)
        commit(replace(log, until=end))
        return Sealed(log.name, end, cases=0, events=0, late=0)


def require_here(log: LogDeclaration, what: str) -> None:
    """Refuse what only the system can do that has the events."""
    if log.source is not None:
        raise Refused(
            f"the events of this log stay at their source, and cannot be {what} here",
            hint=f"they can be {what} there",
        )


def _require_own_secret(name: str, given: Given, others: Iterable[LogDeclaration]) -> None:
    """A password that is set for one log must not be sent to the source of another."""
    if system_of(given.url) is System.PARQUET:
        return
    variable = secret_name(name)
    for other in others:
        source = other.source
        if source and source.system is not System.PARQUET and source.secret == variable:
            raise UsageError(
                f"{quoted(name)} and {quoted(other.name)} would take their passwords from the same "
                f"variable, {variable}",
                hint="choose a name that differs in more than -, _ and capital letters",
            )


def _require_new(source: EventSource, others: Iterable[LogDeclaration]) -> None:
    """Each log has a budget: the same rows as two logs could be asked about for both."""
    for other in others:
        if other.source and same_place(other.source, source):
            raise Conflict(
                f"these events are already the log {quoted(other.name)}; as another log they would "
                "have a second budget, and what is spent of the two adds up",
                hint=f"ask about {quoted(other.name)}, or say --again if both budgets are meant",
            )


# --- what is declared -----------------------------------------------------------------


def _declared(
    data: str,
    name: str,
    terms: Terms,
    source: EventSource,
    kinds: Mapping[str, Kind],
    found: Survey,
) -> LogDeclaration:
    if len(found.activities) > _MOST_ACTIVITIES:
        raise InputError(
            f"this source has more than {_MOST_ACTIVITIES:,} activities",
            hint="is the right column named as --activity?",
        )
    vocabulary = Vocabulary(found.activities, dict(kinds))
    check_words(terms, vocabulary)
    if terms.unit.column is not None and terms.unit.column not in kinds:
        raise UsageError("the unit's attribute is not among those of the log")
    return declared(name, data, vocabulary, terms, _horizon(found, terms), source)


def _horizon(found: Survey, terms: Terms) -> tuple[date, date]:
    """As declared, or whole blocks around the events; never time that is not over."""
    if found.first_us is None or found.last_us is None:
        raise InputError("no event of this source has a time", hint="PPIs are about periods")
    zone = ZoneInfo(terms.timezone)
    over = terms.blocks.start_of(today(zone))
    first = terms.first or terms.blocks.start_of(day_of(found.first_us, zone))
    (last,) = terms.blocks.periods(*_one_day(day_of(found.last_us, zone)))
    until = terms.until or min(last.end, over)
    if until > today(zone):
        raise UsageError(
            f"{until} is not over yet: events may still come", hint=f"declare it until {over}"
        )
    if first >= until:
        raise UsageError(f"the horizon from {first} to {until} is empty")
    return first, until


def _one_day(day: date) -> Iterator[date]:
    yield day
    yield date.fromordinal(day.toordinal() + 1)


def _require_case_level(log: LogDeclaration, reading: SourceRead) -> None:
    """A case of several persons would count for each: leaving one out would move the others."""
    column = log.unit.column
    if column is not None and not case_level(reading, log.table, [column], log.vocabulary):
        raise UsageError(
            f"the attribute {quoted(column)} has more than one value within a case",
            hint="choose one that has the same value in all events of a case",
        )
