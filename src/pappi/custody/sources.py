"""Logs that stay where they are: a source is looked at once, and declared.

Nothing is copied, and nothing is written there. What the owner says is checked against the
source: the columns are there, and can be read as what they are said to be. What is not said, the
horizon and the activities, is proposed from it, as with an import.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from pappi.custody.imports import (
    Declarations,
    NewLog,
    block_of,
    check_terms,
    check_words,
    declared,
    require_names,
)
from pappi.engine import Survey, case_level, source_columns, survey
from pappi.errors import Conflict, InputError, UsageError
from pappi.ppinot import did_you_mean, listed, quoted
from pappi.store import (
    ColumnForm,
    EventSource,
    LogDeclaration,
    MappedColumn,
    SourceRead,
    System,
    require_public,
    same_place,
    secret_name,
    system_of,
    today,
)
from pappi.values import Kind, Vocabulary, day_of

_NUMBERS = (ColumnForm.WHOLE, ColumnForm.FLOAT, ColumnForm.DECIMAL)
_CLOCKS = (ColumnForm.INSTANT, ColumnForm.WALL_CLOCK, ColumnForm.DAY)
_MOST_ACTIVITIES = 10_000


@dataclass(frozen=True, slots=True)
class SourceMapping:
    """Where the events are and what their columns mean, as the owner says.

    `table` is a name or `schema.name`. Attributes go by their public names, each with
    the column it is in and, where the column leaves it open, its kind. `again` is said of events
    that are a log already, by an owner who means them to have a second budget.
    """

    url: str
    case: str
    activity: str
    time: str
    table: str | None = None
    order: str | None = None
    attributes: Mapping[str, tuple[str, Kind | None]] = field(default_factory=dict)
    again: bool = False


@dataclass(frozen=True, slots=True)
class Added:
    """What was found at the source, and what is now declared about it."""

    survey: Survey
    declaration: LogDeclaration


def add_log(declarations: Declarations, name: str, given: SourceMapping, new: NewLog) -> Added:
    """The log exists once its declaration is in the journal."""
    with declarations.changing():
        known = declarations.known()
        check_terms(name, new, known)
        others = [log for log in known.values() if log.source is not None]
        _require_own_secret(name, given, others)
        mapped = CheckedMapping(name, given, new.terms.timezone)
        source, kinds = mapped.source(), mapped.kinds()
        if not given.again:
            # Each log has a budget: the same rows declared twice would have two.
            for other in others:
                if other.source and same_place(other.source, source):
                    raise Conflict(
                        f"these events are already the log {quoted(other.name)}; another log would "
                        "give them a second budget, and what both spend adds up",
                        hint=f"ask about {quoted(other.name)}, or use --again if you want both "
                        "budgets",
                    )
        events = declarations.files.events
        reading = SourceRead(source, scratch=events.with_name(f"{events.name}.tmp"))
        surveyed = survey(reading)
        log = _declared(f"source_{declarations.number()}", name, new, source, kinds, surveyed)
        # A case of several persons would count for each: leaving one out would move the
        # others.
        column = log.terms.unit.column
        if column is not None and not case_level(
            reading, log.table, [column], log.public.vocabulary
        ):
            raise UsageError(
                f"the attribute {quoted(column)} has more than one value within a case",
                hint="choose an attribute with one value per case",
            )
        declarations.declare(log)
        return Added(surveyed, log)


def _require_own_secret(name: str, given: SourceMapping, others: Iterable[LogDeclaration]) -> None:
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
                hint="choose a name that differs by more than -, _ and capital letters",
            )


def _declared(
    data: str,
    name: str,
    new: NewLog,
    source: EventSource,
    kinds: Mapping[str, Kind],
    surveyed: Survey,
) -> LogDeclaration:
    if len(surveyed.activities) > _MOST_ACTIVITIES:
        raise InputError(
            f"this source has more than {_MOST_ACTIVITIES:,} activities",
            hint="does --activity name the right column?",
        )
    vocabulary = Vocabulary(surveyed.activities, dict(kinds))
    check_words(new, vocabulary)
    if new.terms.unit.column is not None and new.terms.unit.column not in kinds:
        raise UsageError("the log does not have the privacy unit's attribute")
    return declared(name, data, vocabulary, new, _horizon(surveyed, new), source)


def _horizon(surveyed: Survey, new: NewLog) -> tuple[date, date]:
    """As declared, or whole blocks around the events; never future time."""
    if surveyed.first_us is None or surveyed.last_us is None:
        raise InputError(
            "no event of this source has a time",
            hint="PPIs need times: they are computed per period",
        )
    zone = ZoneInfo(new.terms.timezone)
    over = new.terms.blocks.start_of(today(zone))
    first = new.first or new.terms.blocks.start_of(day_of(surveyed.first_us, zone))
    last = block_of(day_of(surveyed.last_us, zone), new.terms.blocks)
    until = new.until or min(last.end, over)
    if until > today(zone):
        raise UsageError(
            f"{until} is not over yet: more events may arrive", hint=f"declare it until {over}"
        )
    if first >= until:
        raise UsageError(f"the horizon from {first} to {until} is empty")
    return first, until


# --- the owner's column mapping, checked against the source --------------------------


class CheckedMapping:
    """The owner's mapping, checked against the columns of the source."""

    def __init__(self, log: str, given: SourceMapping, timezone: str) -> None:
        self._secret = secret_name(log)
        require_public(given.url, self._secret)
        require_names(given.attributes)
        self._given = replace(given, url=_rooted(given.url))
        self._zone = timezone
        self._table = _table(given)
        self._password = None if _open(given) else os.environ.get(self._secret) or None
        self._forms = source_columns(self._given.url, self._table, self._password)
        if not self._forms:
            raise UsageError(
                "the source has no such table, or it may not be read",
                hint="pass --table SCHEMA.TABLE, and check the database user's rights",
            )

    def source(self) -> EventSource:
        given = self._given
        return EventSource(
            url=given.url,
            table=self._table,
            case=self._as_text(given.case),
            activity=self._as_text(given.activity),
            time=self._mapped(given.time, Kind.TIME),
            order=(
                None if given.order is None else MappedColumn(given.order, self._form(given.order))
            ),
            attributes={
                name: self._mapped(column, kind or self._kind(column))
                for name, (column, kind) in given.attributes.items()
            },
            secret=self._secret,
            guarded=self._password is not None,
        )

    def kinds(self) -> dict[str, Kind]:
        given = self._given.attributes
        return {name: kind or self._kind(column) for name, (column, kind) in given.items()}

    def _form(self, column: str) -> ColumnForm:
        if column not in self._forms:
            known = f"its columns are {listed(self._forms, 'and')}"
            raise UsageError(
                f"the source has no column {quoted(column)}",
                hint=did_you_mean(column, list(self._forms), known),
            )
        form = self._forms[column]
        if form is None:
            raise UsageError(
                f"the type of column {quoted(column)} cannot be read in place",
                hint="create a view at the source that converts it to text, a number or a time",
            )
        return form

    def _kind(self, column: str) -> Kind:
        form = self._form(column)
        if form in _CLOCKS:
            return Kind.TIME
        return {ColumnForm.TEXT: Kind.TEXT, ColumnForm.TRUTH: Kind.TRUTH}.get(form, Kind.NUMBER)

    def _as_text(self, column: str) -> MappedColumn:
        self._form(column)
        return MappedColumn(column, ColumnForm.TEXT)

    def _mapped(self, column: str, kind: Kind) -> MappedColumn:
        form = self._form(column)
        if form in (ColumnForm.WALL_CLOCK, ColumnForm.DAY) and ZoneInfo(self._zone) != ZoneInfo(
            "UTC"
        ):
            raise UsageError(
                f"the times in {quoted(column)} have no time zone, and the log's zone is not UTC",
                hint="create a view at the source that adds the zone",
            )
        read = _read_as(form, kind)
        if read is None:
            raise UsageError(
                f"the column {quoted(column)} holds a {form}, not a {kind}",
                hint="choose another column, or another kind",
            )
        return MappedColumn(column, read)


def _read_as(form: ColumnForm, kind: Kind) -> ColumnForm | None:
    match kind:
        case Kind.TEXT:
            return ColumnForm.TEXT
        case Kind.TRUTH:
            return form if form is ColumnForm.TRUTH else None
        case Kind.NUMBER:
            return form if form in _NUMBERS else None
        case Kind.DURATION:
            return ColumnForm.SECONDS if form in _NUMBERS else None
        case Kind.TIME:
            if form is ColumnForm.WHOLE:
                return ColumnForm.MICROSECONDS
            return form if form in _CLOCKS else None


def _table(given: SourceMapping) -> tuple[str, ...]:
    if _open(given):
        if given.table is not None:
            raise UsageError("Parquet files have no table", hint="leave out --table")
        return ()
    if not given.table:
        raise UsageError("a source needs a table", hint="pass --table SCHEMA.TABLE")
    schema, _, name = given.table.rpartition(".")
    if not schema and system_of(given.url) is System.POSTGRES:
        schema = "public"
    return (schema, name) if schema else (name,)


def _open(given: SourceMapping) -> bool:
    """Files are read without a password."""
    return system_of(given.url) is System.PARQUET


def _rooted(url: str) -> str:
    """Files by their whole path: the next command may be given elsewhere."""
    if system_of(url) is not System.PARQUET:
        return url
    place = url.removeprefix(f"{System.PARQUET}:")
    return url if "://" in place else f"{System.PARQUET}:{Path(place).absolute()}"
