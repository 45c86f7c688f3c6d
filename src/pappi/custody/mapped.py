"""Which columns of a source are what: what the owner says, held against what there is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from zoneinfo import ZoneInfo

from pappi.engine.surveys import source_columns
from pappi.errors import UsageError
from pappi.ppinot.wording import did_you_mean, listed, quoted
from pappi.store.events.names import table_names
from pappi.store.sources import (
    EventSource,
    Form,
    MappedColumn,
    System,
    require_public,
    secret_name,
    system_of,
)
from pappi.values.vocabulary import Kind

_NUMBERS = (Form.WHOLE, Form.FLOAT, Form.DECIMAL)
_CLOCKS = (Form.INSTANT, Form.WALL_CLOCK, Form.DAY)


@dataclass(frozen=True, slots=True)
class Given:
    """Where the events are and which columns are what, as the owner says it.

    `table` is a name or `schema.name`. Attributes are called as they are to be known, each with
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


class Mapped:
    """What the owner says, held against the columns that there are."""

    def __init__(self, log: str, given: Given, timezone: str) -> None:
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
                "there is no such table at the source, or none that may be read",
                hint="name it as --table SCHEMA.TABLE, and check what the user may read",
            )

    def source(self) -> EventSource:
        given = self._given
        return EventSource(
            url=given.url,
            table=self._table,
            case=self._as_text(given.case),
            activity=self._as_text(given.activity),
            time=self._mapped(given.time, Kind.TIME),
            order=None if given.order is None else self._order(given.order),
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

    def _form(self, column: str) -> Form:
        if column not in self._forms:
            known = f"its columns are {listed(self._forms, 'and')}"
            raise UsageError(
                f"the source has no column {quoted(column)}",
                hint=did_you_mean(column, list(self._forms), known),
            )
        form = self._forms[column]
        if form is None:
            raise UsageError(
                f"the column {quoted(column)} is of a type that cannot be read in place",
                hint="make a view at the source that has it as text, a number or a time",
            )
        return form

    def _kind(self, column: str) -> Kind:
        form = self._form(column)
        if form in _CLOCKS:
            return Kind.TIME
        return {Form.TEXT: Kind.TEXT, Form.TRUTH: Kind.TRUTH}.get(form, Kind.NUMBER)

    def _as_text(self, column: str) -> MappedColumn:
        self._form(column)
        return MappedColumn(column, Form.TEXT)

    def _order(self, column: str) -> MappedColumn:
        return MappedColumn(column, self._form(column))

    def _mapped(self, column: str, kind: Kind) -> MappedColumn:
        form = self._form(column)
        if form in (Form.WALL_CLOCK, Form.DAY) and ZoneInfo(self._zone) != ZoneInfo("UTC"):
            raise UsageError(
                f"the times in {quoted(column)} have no zone, and the log's is not UTC",
                hint="make a view at the source that has them with their zone",
            )
        read = _read_as(form, kind)
        if read is None:
            raise UsageError(
                f"the column {quoted(column)} holds a {form}, which is no {kind}",
                hint="choose another column, or another kind",
            )
        return MappedColumn(column, read)


def _read_as(form: Form, kind: Kind) -> Form | None:
    match kind:
        case Kind.TEXT:
            return Form.TEXT
        case Kind.TRUTH:
            return form if form is Form.TRUTH else None
        case Kind.NUMBER:
            return form if form in _NUMBERS else None
        case Kind.DURATION:
            return Form.SECONDS if form in _NUMBERS else None
        case Kind.TIME:
            if form is Form.WHOLE:
                return Form.MICROSECONDS
            return form if form in _CLOCKS else None


def _table(given: Given) -> tuple[str, ...]:
    if _open(given):
        if given.table is not None:
            raise UsageError("Parquet files have no table", hint="leave --table out")
        return ()
    if not given.table:
        raise UsageError("a source needs a table", hint="name it as --table SCHEMA.TABLE")
    schema, _, name = given.table.rpartition(".")
    if not schema and system_of(given.url) is System.POSTGRES:
        schema = "public"
    return (schema, name) if schema else (name,)


def _open(given: Given) -> bool:
    """Files are read without a password."""
    return system_of(given.url) is System.PARQUET


def _rooted(url: str) -> str:
    """Files by their whole path: the next command may be given elsewhere."""
    if system_of(url) is not System.PARQUET:
        return url
    place = url.removeprefix(f"{System.PARQUET}:")
    return url if "://" in place else f"{System.PARQUET}:{Path(place).absolute()}"


def require_names(attributes: Mapping[str, object]) -> None:
    """Names that the events' own columns do not have, and no two alike but for their case."""
    for name, free in zip(attributes, table_names(attributes), strict=True):
        if name != free or not name.isprintable():
            raise UsageError(
                f"no attribute can be called {quoted(name)} here", hint="choose another name"
            )
