"""Taking a log into custody: its events, and the declarations that make it answerable.

The owner declares what is public about a log: time zone, horizon, vocabulary,
privacy unit, adjacency, budget. What is not said is proposed from the file and
shown in the report; it becomes a public fact only by this act of the owner's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pappi.custody.mapped import require_names
from pappi.engine.cases import case_level
from pappi.errors import InputError, Option, UsageError
from pappi.eventlog.log import EventReader
from pappi.eventlog.report import ImportReport
from pappi.ppinot.model import CaseBorder
from pappi.ppinot.wording import did_you_mean, listed, quoted
from pappi.store.declarations import LogDeclaration
from pappi.store.events import drop_events, event_tables, import_events
from pappi.store.events.lock import exclusive
from pappi.store.events.parts import create_events
from pappi.store.events.replacing import staging, successor, swap_in
from pappi.store.sources import EventSource
from pappi.store.workspace import WorkspaceFiles
from pappi.values.bounds import NO_DEFAULTS, DefaultBounds
from pappi.values.epsilon import Epsilon
from pappi.values.periods import Calendar, Grid, Period, day_of, midnight_us
from pappi.values.privacy import CASE, Adjacency, PrivacyUnit
from pappi.values.vocabulary import Vocabulary

Progress = Callable[[int, int], None]

# Beyond these years a time is a mistake, and microseconds no longer fit a float exactly.
EARLIEST, LATEST = date(1800, 1, 1), date(2200, 1, 1)
EARLIEST_US = midnight_us(EARLIEST, ZoneInfo("UTC"))
LATEST_US = midnight_us(LATEST, ZoneInfo("UTC"))

MONTHLY = Grid(Calendar.MONTH)
DEFAULT_BUDGET = Epsilon.of(1)

_INSPECTED = "inspected"
_PART = re.compile(r"_p[0-9]+$")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Terms:
    """What the owner says about a log at import; None is left to be proposed.

    With a `vocabulary` the log is declared before it is read: the owner names activities,
    attributes and horizon, and nothing else of the file becomes public. Its `keys` are of no
    account here: those of the terms are.
    """

    timezone: str = "UTC"
    anchor: CaseBorder = CaseBorder.END
    blocks: Grid = MONTHLY
    first: date | None = None
    until: date | None = None
    unit: PrivacyUnit = CASE
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    block_budget: Epsilon = DEFAULT_BUDGET
    total_budget: Epsilon | None = None
    expected_cases: int | None = None
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bounds: DefaultBounds = NO_DEFAULTS
    vocabulary: Vocabulary | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """What came in, and what is now declared about it; or what would be (`inspect_log`)."""

    report: ImportReport
    declaration: LogDeclaration


@dataclass(frozen=True, slots=True)
class Books:
    """What an import needs to know of the ledger, and the act that makes the log exist."""

    known: Callable[[], Mapping[str, LogDeclaration]]
    number: Callable[[], int]
    declare: Callable[[LogDeclaration], None]


def import_log(
    files: WorkspaceFiles,
    books: Books,
    name: str,
    reader: EventReader,
    terms: Terms,
    progress: Progress,
) -> Imported:
    """All of it or nothing: the log exists once its declaration is in the journal.

    One import at a time, from choosing the table to declaring it: of two at once, each
    would take the other's table for a leftover.
    """
    with exclusive(files.root / "import"):
        return _import_alone(files, books, name, reader, terms, progress)


def _import_alone(
    files: WorkspaceFiles,
    books: Books,
    name: str,
    reader: EventReader,
    terms: Terms,
    progress: Progress,
) -> Imported:
    check_terms(name, terms, books.known())
    _sweep(files, books)
    table = f"events_{books.number()}"
    if terms.unit.column is None:
        report = _read(files.events, table, reader, terms, progress)
    else:
        # Into a copy first: only the events themselves show whether each case is of one person.
        with staging(files.events) as folder:
            copy = successor(files.events, folder)
            report = _read(copy, table, reader, terms, progress)
            _require_case_level(copy, terms.unit.column, report)
            swap_in(copy, files.events)
    declaration = _proposed(name, table, report, terms)
    books.declare(declaration)
    return Imported(report, declaration)


def inspect_log(
    files: WorkspaceFiles,
    books: Books,
    name: str,
    reader: EventReader,
    terms: Terms,
    progress: Progress,
) -> Imported:
    """What an import would find and declare, refusals included; nothing of it is kept.

    The events are read into a folder of the workspace that is gone afterwards.
    """
    check_terms(name, terms, books.known())
    with staging(files.events) as folder:
        passing = folder / "inspected.duckdb"
        report = _read(passing, _INSPECTED, reader, terms, progress)
        if terms.unit.column is not None:
            _require_case_level(passing, terms.unit.column, report)
    return Imported(report, _proposed(name, _INSPECTED, report, terms))


def _read(
    database: Path, table: str, reader: EventReader, terms: Terms, progress: Progress
) -> ImportReport:
    def accept(report: ImportReport) -> None:
        """A log that cannot be declared is not taken in."""
        _require_declared(report, terms.vocabulary)
        _horizon(report, terms)
        _require_attribute(terms.unit, report)
        check_words(terms, _vocabulary(report))

    try:
        return import_events(database, table, reader, progress, accept)
    except MemoryError:
        raise InputError(
            f"{reader.name}: there is not enough memory to read this log",
            hint="look for rows or texts of absurd length; nothing was taken in",
        ) from None


def _require_declared(report: ImportReport, vocabulary: Vocabulary | None) -> None:
    """What was not declared must not even be stored: fails closed if a reader gives more."""
    if vocabulary is None:
        return
    kinds = {column.name: column.kind for column in report.columns}
    if kinds != dict(vocabulary.attributes) or not {*report.activities} <= {*vocabulary.activities}:
        raise ValueError("the log was not opened for what is declared of it")


def _proposed(name: str, table: str, report: ImportReport, terms: Terms) -> LogDeclaration:
    vocabulary = terms.vocabulary or _vocabulary(report)
    return declared(name, table, vocabulary, terms, _horizon(report, terms))


def sweep(files: WorkspaceFiles, books: Books) -> None:
    """Drop what imports have left that were cut off before their declaration.

    It is nobody's: no log is erased with it, and none is answered from it.
    """
    with exclusive(files.root / "import"):
        _sweep(files, books)


def _sweep(files: WorkspaceFiles, books: Books) -> None:
    declared = {log.data for log in books.known().values()}
    for name in event_tables(files.events):
        if _PART.sub("", name) not in declared:
            drop_events(files.events, name)


def create_log(
    files: WorkspaceFiles, books: Books, name: str, terms: Terms, vocabulary: Vocabulary
) -> LogDeclaration:
    """A log without events: its horizon begins with a block and is empty until time is sealed."""
    with exclusive(files.root / "import"):
        check_terms(name, terms, books.known())
        if terms.first is None or terms.until is not None:
            raise UsageError(
                "a log without events has a first day, and ends where it is sealed",
                hint="give the first day, and no last one",
            )
        unit = terms.unit.column
        if unit is not None and unit not in vocabulary.attributes:
            raise UsageError("the unit's attribute is not among those of the log")
        check_words(terms, vocabulary)
        _sweep(files, books)
        table = f"events_{books.number()}"
        create_events(files.events, table, vocabulary.attributes)
        start = terms.blocks.start_of(terms.first)
        log = declared(name, table, vocabulary, terms, (start, start))
        books.declare(log)
        return log


def _require_attribute(unit: PrivacyUnit, report: ImportReport) -> None:
    names = [column.name for column in report.columns]
    if unit.column is not None and unit.column not in names:
        otherwise = f"its attributes are {listed(names, 'and')}" if names else "it has none"
        raise UsageError(
            f"this log has no attribute {quoted(unit.column)} to tell persons apart",
            hint=did_you_mean(unit.column, names, otherwise),
        )


def _require_case_level(events: Path, column: str, report: ImportReport) -> None:
    """A case of several persons would count for each: leaving one out would move the others."""
    vocabulary = _vocabulary(report)
    if case_level(events, report.table, [column], vocabulary):
        return
    others = case_level(events, report.table, list(vocabulary.attributes), vocabulary)
    such_as = f" such as {listed(others)}" if others else ", and this log has none"
    raise UsageError(
        f"the attribute {quoted(column)} has more than one value within a case; "
        f"the unit must be a case-level attribute{such_as}",
        hint="choose one that has the same value in all events of a case",
    )


def check_terms(name: str, terms: Terms, known: Collection[str]) -> None:
    """Refuse what cannot be declared, before anything is read."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' cannot name a log",
            hint="use up to 64 letters, digits, - and _, beginning with a letter, as in",
            options=(Option("name", "orders"),),
        )
    if name in known:
        raise UsageError(f"there is already a log called '{name}'", hint="choose another name")
    for day in (terms.first, terms.until):
        if day is not None and not EARLIEST <= day <= LATEST:
            raise UsageError(f"a horizon lies between {EARLIEST} and {LATEST}, not at {day}")
    if terms.block_budget.nano == 0:
        raise UsageError("a budget of 0 answers nothing", hint="give each block e.g. 1")
    if terms.vocabulary is not None:
        _check_beforehand(terms, terms.vocabulary)
    terms.unit.require_neighbours(terms.adjacency)
    _zone(terms.timezone)


def _check_beforehand(terms: Terms, vocabulary: Vocabulary) -> None:
    """What is declared beforehand is complete: nothing is left to be proposed by the events."""
    if terms.first is None or terms.until is None:
        raise UsageError(
            "a log that is declared beforehand needs its first and its last day",
            hint="whole blocks, such as months, around the time it is about",
            options=(Option("first", flag="from"), Option("until")),
        )
    require_names(vocabulary.attributes)
    if terms.unit.column is not None and terms.unit.column not in vocabulary.attributes:
        raise UsageError(
            f"{quoted(terms.unit.column)}, which tells persons apart, is not declared",
            hint="declare this attribute, with its kind",
        )
    check_words(terms, vocabulary)


def check_words(terms: Terms, vocabulary: Vocabulary) -> None:
    """Refuse public keys and bounds of attributes that the log does not have."""
    for name in (*terms.keys, *terms.bounds.attributes):
        if name not in vocabulary.attributes:
            known = f"its attributes are {listed(vocabulary.attributes, 'and')}"
            raise UsageError(
                f"this log has no attribute {quoted(name)}",
                hint=did_you_mean(name, vocabulary.attributes, known),
            )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"there is no time zone '{name}'", hint="write e.g. Europe/Amsterdam or UTC"
        ) from None


def declared(
    name: str,
    data: str,
    vocabulary: Vocabulary,
    terms: Terms,
    horizon: tuple[date, date],
    source: EventSource | None = None,
) -> LogDeclaration:
    """A new log, of events in the workspace or at a source."""
    first, until = horizon
    return LogDeclaration(
        name=name,
        data=data,
        table=data,
        timezone=terms.timezone,
        anchor=terms.anchor,
        blocks=terms.blocks,
        first=first,
        until=until,
        unit=terms.unit,
        adjacency=terms.adjacency,
        block_budget=terms.block_budget,
        total_budget=terms.total_budget,
        expected_cases=terms.expected_cases,
        vocabulary=replace(vocabulary, keys=terms.keys),
        bounds=terms.bounds,
        source=source,
    )


def _vocabulary(report: ImportReport) -> Vocabulary:
    return Vocabulary(report.activities, {column.name: column.kind for column in report.columns})


def _horizon(report: ImportReport, terms: Terms) -> tuple[date, date]:
    """Whole blocks around the events' time span, where the owner names no dates."""
    if not report.events:
        raise InputError("this log has no events", hint="check what was exported")
    if report.first_us is None or report.last_us is None:
        raise InputError("no event of this log has a time", hint="PPIs are evaluated per period")
    if report.first_us < EARLIEST_US or report.last_us > LATEST_US:
        raise InputError(
            "this log has times outside the years 1800 to 2200",
            hint="correct them at the source: they would spoil every duration they are part of",
        )
    zone = _zone(terms.timezone)
    first = terms.first or _block_of(day_of(report.first_us, zone), terms.blocks).start
    until = terms.until or _block_of(day_of(report.last_us, zone), terms.blocks).end
    if first >= until:
        raise UsageError(f"the horizon from {first} to {until} is empty")
    return first, until


def _block_of(day: date, blocks: Grid) -> Period:
    (block,) = blocks.periods(day, day + timedelta(days=1))
    return block
