"""A log as its owner has declared it: the public facts releases may read, and its events' place.

Declarations are acts in the ledger's journal, so that what was public when is on
record. The latest act about a log holds (`registry`).

Events may stay where they are: in a table of PostgreSQL, a table that Spark knows, or Parquet
files. What is declared then is where it is and which of its columns are what. Never a password:
declarations are kept for good, and read by many. It comes from the environment when a connection is
made, or by the database's own means. What a source needs to be read at all, a driver and that
password, is looked after here as well, without going there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit
from zoneinfo import ZoneInfo

from pappi.errors import Refused, UsageError, WorkspaceError
from pappi.values import (
    CaseBorder,
    Epsilon,
    Horizon,
    PublicLog,
    Terms,
    listed,
    midnight_us,
)

# --- events that stay where they are ------------------------------------------------------


_LONGEST = 2_000
_SPARK_OPTIONS = ("use_ssl", "user_id")
_LIBPQ_OPTIONS = (
    *("host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey"),
    *("connect_timeout", "target_session_attrs", "gssencmode", "channel_binding"),
)


_NOT_PUBLIC = "a source's address is recorded, so it must not contain a password or token"


class System(StrEnum):
    """What reads the events where they are."""

    POSTGRES = "postgresql"
    SPARK = "sc"
    PARQUET = "parquet"


# The extra that brings what reads a system, and its modules.
_DRIVERS: Mapping[System, tuple[str, tuple[str, ...]]] = {
    System.POSTGRES: ("postgres", ("adbc_driver_postgresql", "adbc_driver_manager")),
    System.SPARK: ("spark", ("pyspark", "grpc", "pandas")),
}
_PORTS: Mapping[System, int] = {System.POSTGRES: 5432, System.SPARK: 15002}


class ColumnForm(StrEnum):
    """How a column of the source is written, and so how it becomes one of ours."""

    TEXT = "text"
    WHOLE = "whole number"
    FLOAT = "floating point"
    DECIMAL = "decimal"
    TRUTH = "truth value"
    INSTANT = "instant"
    WALL_CLOCK = "time without zone"
    DAY = "day"
    MICROSECONDS = "microseconds since 1970"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class MappedColumn:
    """A column of the source."""

    column: str
    form: ColumnForm

    def to_json(self) -> list[str]:
        return [self.column, str(self.form)]

    @classmethod
    def from_json(cls, written: tuple[str, str]) -> MappedColumn:
        column, form = written
        return cls(column, ColumnForm(form))


@dataclass(frozen=True, slots=True)
class EventSource:
    """Where events are, and which columns are what.

    `table` is a name, or a schema and a name; Parquet files have none. `order` tells the order of
    events that share case and time. `secret` names the variable that may hold a password or token,
    and `guarded` says that it did when the source was declared.
    """

    url: str
    table: tuple[str, ...]
    case: MappedColumn
    activity: MappedColumn
    time: MappedColumn
    order: MappedColumn | None
    attributes: Mapping[str, MappedColumn]
    secret: str
    guarded: bool = False

    @property
    def system(self) -> System:
        return system_of(self.url)

    @property
    def where(self) -> str:
        """Where it is, for people."""
        return place_text(self.url, self.table)

    def require_ready(self) -> None:
        """Refuse before anything is charged what could not be read from here anyway.

        These are facts about the configuration; the source itself is not looked at.
        """
        extra, modules = _DRIVERS.get(self.system, ("", ()))
        if not all(map(find_spec, modules)):
            raise WorkspaceError(
                "the driver for this log's source is not installed; nothing was charged",
                hint=f"pip install 'pappi[{extra}]'",
            )
        if self.guarded and self.password() is None:
            raise WorkspaceError(
                "the password for this log's source is not set; nothing was charged",
                hint=f"set the variable {self.secret}, as when the log was added",
            )

    def password(self) -> str | None:
        return os.environ.get(self.secret) or None

    def to_json(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "table": list(self.table),
            "case": self.case.to_json(),
            "activity": self.activity.to_json(),
            "time": self.time.to_json(),
            "order": None if self.order is None else self.order.to_json(),
            "attributes": {name: mapped.to_json() for name, mapped in self.attributes.items()},
            "secret": self.secret,
            **({"guarded": True} if self.guarded else {}),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> EventSource:
        order = written["order"]
        return cls(
            url=written["url"],
            table=tuple(written["table"]),
            case=MappedColumn.from_json(written["case"]),
            activity=MappedColumn.from_json(written["activity"]),
            time=MappedColumn.from_json(written["time"]),
            order=None if order is None else MappedColumn.from_json(order),
            attributes={
                name: MappedColumn.from_json(mapped)
                for name, mapped in written["attributes"].items()
            },
            secret=written["secret"],
            guarded=written.get("guarded", False),
        )


@dataclass(frozen=True, slots=True)
class SourceRead:
    """A source as it is read: `before_us` leaves out what happened at or after an instant.

    `scratch` is where what does not fit in memory may be put aside meanwhile.
    """

    source: EventSource
    before_us: int | None = None
    scratch: Path | None = None


def secret_name(log: str) -> str:
    """The variable that holds the password or token for a log's source.

    >>> secret_name("sepsis-2024")
    'PAPPI_SOURCE_PASSWORD_SEPSIS_2024'
    """
    return f"PAPPI_SOURCE_PASSWORD_{re.sub('[^A-Za-z0-9]', '_', log).upper()}"


def system_of(url: str) -> System:
    scheme, colon, _ = url.partition(":")
    names = {"postgres": System.POSTGRES, **{str(system): system for system in System}}
    if not colon or scheme not in names:
        raise UsageError(
            "a source is in PostgreSQL, in Spark, or in Parquet files",
            hint="write postgresql://user@host/database, sc://host:15002 or parquet:PATH",
        )
    return names[scheme]


def place_text(url: str, table: Sequence[str] = ()) -> str:
    """An address and a table in words. Nothing secret can be declared, and nothing is shown that
    could be: neither a password nor what follows a question mark.

    >>> place_text("postgresql://ann:secret@host/shop?sslmode=require", ("sales", "orders"))
    'postgresql://ann@host/shop, table sales.orders'
    >>> place_text("parquet:/data/claims/2024-0?.parquet")
    'parquet:/data/claims/2024-0?.parquet'
    """
    shown = url
    before, mark, rest = url.partition("://")
    if mark:
        place, slash, path = re.split("[?;#]", rest, maxsplit=1)[0].partition("/")
        user, at, host = place.rpartition("@")
        shown = f"{before}{mark}{user.partition(':')[0]}{at}{host}{slash}{path}"
    return f"{shown}, table {'.'.join(table)}" if table else shown


def same_place(source: EventSource, other: EventSource) -> bool:
    """Whether two sources are plainly the same rows; different names for them are not seen."""
    return _identity(source) == _identity(other)


def _identity(source: EventSource) -> tuple[object, ...]:
    if source.system is System.PARQUET:
        return (source.system, source.url)
    parts = urlsplit(source.url)
    named = dict(parse_qsl(parts.query))
    host = parts.hostname or named.get("host")
    port = parts.port or named.get("port") or _PORTS[source.system]
    database = parts.path if source.system is System.POSTGRES else ""
    return (source.system, host, str(port), database, source.table)


def require_public(url: str, secret: str) -> None:
    """Refuse an address that cannot be declared: with a password, or settings of its own."""
    system = system_of(url)
    if len(url) > _LONGEST or not url.isprintable():
        raise UsageError(
            f"a source's address must be printable and have at most {_LONGEST} characters"
        )
    if system is System.PARQUET:
        # A path may hold any character; an address on a network no user, and no settings.
        _scheme, mark, rest = url.partition("://")
        if mark and ("@" in rest.partition("/")[0] or "?" in rest):
            raise UsageError(
                _NOT_PUBLIC,
                hint="remove what comes before an @ or after a ?; keep the files where no "
                "credentials are needed",
            )
        return
    try:
        parts = urlsplit(url)
        readable = parts.port is None or parts.port > 0
    except ValueError:
        readable = False
    # A password with a / or ? in it would pass for a path or a setting.
    if not readable or (system is System.POSTGRES and "@" in parts.path + parts.query):
        raise UsageError(
            "this is not the address of a source",
            hint="write e.g. postgresql://user@host/database; special characters as %40",
        )
    names = {name for name, _ in _options(parts, system)}
    if parts.password or names & {"password", "token"}:
        raise UsageError(
            _NOT_PUBLIC,
            hint=f"leave it out, and set the variable {secret} wherever the source is read",
        )
    allowed = _SPARK_OPTIONS if system is System.SPARK else _LIBPQ_OPTIONS
    if names - set(allowed) or parts.fragment:
        raise UsageError(
            f"the address of a source can only set {listed(allowed, 'and')}",
            hint="remove the other settings",
        )


def _options(parts: SplitResult, system: System) -> list[tuple[str, str]]:
    query = parse_qsl(parts.query, keep_blank_values=True)
    if system is System.POSTGRES:
        return query
    after_host = f"{parts.netloc.partition(';')[2]};{parts.path.lstrip('/')}"
    pairs = (option.partition("=") for option in after_host.split(";") if option)
    return [*query, *((name.strip().lower(), value) for name, _, value in pairs)]


# --- a log as it is declared --------------------------------------------------------------


def today(zone: ZoneInfo) -> date:
    """The one clock that decides which time is recent."""
    return datetime.now(zone).date()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDeclaration:
    """A log as its owner declares it: what is public about it, and where its events are.

    `data` stands for the log's events in every query about them; `table` is where they
    are read, which changes whenever time is sealed. Events that stay where they are have a
    `source`. Of a log that was `removed` after something was released, only the record is left.
    These four are nobody's business but the owner's: hand out `public`.
    """

    public: PublicLog
    data: str
    table: str
    source: EventSource | None = None
    removed: bool = False

    @property
    def name(self) -> str:
        return self.public.name

    @property
    def terms(self) -> Terms:
        return self.public.terms

    @property
    def horizon(self) -> Horizon:
        """The days it covers, as of today."""
        log = self.public
        return Horizon(log.first, log.until, log.terms.blocks, today(log.terms.zone))

    def place(self, events: Path) -> Path | SourceRead:
        """Where the events are read: in the workspace's own file, or at their source.

        Of a case in the period of its first event, only what is sealed is read. A case in the
        period of its last event waits as long as it goes on, and so must be seen to go on.
        """
        if self.source is None or self.table != self.data:  # a twin of the log is here
            return events
        starting = self.terms.anchor is CaseBorder.START
        before_us = midnight_us(self.public.until, self.terms.zone) if starting else None
        return SourceRead(self.source, before_us, events.with_name(f"{events.name}.tmp"))

    def require_ready(self, events: Path) -> None:
        """Refuse before anything is charged what could not be read anyway; looks at no row."""
        self.require_kept()
        if self.source is not None:
            self.source.require_ready()
        else:
            from pappi.store.event_file import require_events

            require_events(events, self.table, self.public.vocabulary.attributes)

    def require_kept(self) -> None:
        """Refuse what needs the events of a log that the owner has removed."""
        if self.removed:
            raise Refused(
                f"the owner has removed the events of '{self.name}'",
                hint="nothing was charged; what was released before can still be replayed",
            )

    def renamed(self, name: str) -> LogDeclaration:
        """The same log under another name."""
        return replace(self, public=replace(self.public, name=name))

    def sealed(self, until: date) -> LogDeclaration:
        """The same, answered up to another day."""
        return replace(self, public=replace(self.public, until=until))

    def with_budget(self, per_block: Epsilon, total: Epsilon | None) -> LogDeclaration:
        terms = replace(self.terms, block_budget=per_block, total_budget=total)
        return replace(self, public=replace(self.public, terms=terms))

    def without_names(
        self, activities: Collection[str], attributes: Collection[str]
    ) -> LogDeclaration:
        """The log without these in its vocabulary, and without what was said about them."""
        source = self.source
        if source is not None:
            left = {name: of for name, of in source.attributes.items() if name not in attributes}
            source = replace(source, attributes=left)
        public = self.public.without_names(activities, attributes)
        return replace(self, public=public, source=source)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.public.to_json(),
            "data": self.data,
            "table": self.table,
            **({} if self.source is None else {"source": self.source.to_json()}),
            **({"removed": True} if self.removed else {}),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> LogDeclaration:
        return cls(
            public=PublicLog.from_json(written),
            data=written["data"],
            table=written["table"],
            source=EventSource.from_json(written["source"]) if "source" in written else None,
            removed=written.get("removed", False),
        )
