"""Events that stay where they are: a table of somebody else's database, read in place.

A log may be a table in PostgreSQL, a table that Spark knows, or Parquet files. What is declared
is where it is and which of its columns are what. Never a password: declarations are kept for
good, and read by many. It comes from the environment when a connection is made, or by the
database's own means.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pappi.errors import UsageError
from pappi.ppinot.wording import listed

_LONGEST = 2_000
_SPARK_OPTIONS = ("use_ssl", "user_id")
_LIBPQ_OPTIONS = (
    *("host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey"),
    *("connect_timeout", "target_session_attrs", "gssencmode", "channel_binding"),
)


class System(StrEnum):
    """What reads the events where they are."""

    POSTGRES = "postgresql"
    SPARK = "sc"
    PARQUET = "parquet"


class Form(StrEnum):
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
    form: Form

    def to_json(self) -> list[str]:
        return [self.column, str(self.form)]

    @classmethod
    def from_json(cls, found: tuple[str, str]) -> MappedColumn:
        column, form = found
        return cls(column, Form(form))


@dataclass(frozen=True, slots=True)
class EventSource:
    """Where events are, and which columns are what.

    `table` is a name, or a schema and a name; Parquet files have none. `order` tells the order of
    events that share case and time. `secret` names the variable that may hold a password or token.
    """

    url: str
    table: tuple[str, ...]
    case: MappedColumn
    activity: MappedColumn
    time: MappedColumn
    order: MappedColumn | None
    attributes: Mapping[str, MappedColumn]
    secret: str

    @property
    def system(self) -> System:
        return system_of(self.url)

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
            "attributes": {name: each.to_json() for name, each in self.attributes.items()},
            "secret": self.secret,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> EventSource:
        order = found["order"]
        return cls(
            url=found["url"],
            table=tuple(found["table"]),
            case=MappedColumn.from_json(found["case"]),
            activity=MappedColumn.from_json(found["activity"]),
            time=MappedColumn.from_json(found["time"]),
            order=None if order is None else MappedColumn.from_json(order),
            attributes={
                name: MappedColumn.from_json(each) for name, each in found["attributes"].items()
            },
            secret=found["secret"],
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
    names = {"postgres": System.POSTGRES, **{str(each): each for each in System}}
    if not colon or scheme not in names:
        raise UsageError(
            "a source is in PostgreSQL, known to Spark, or Parquet files",
            hint="write postgresql://user@host/database, sc://host:15002 or parquet:PATH",
        )
    return names[scheme]


def require_public(url: str, secret: str) -> None:
    """Refuse an address that cannot be declared: with a password, or settings of its own."""
    system = system_of(url)
    if len(url) > _LONGEST or not url.isprintable():
        raise UsageError(f"a source's address is printable and has up to {_LONGEST} characters")
    if system is System.PARQUET:
        return
    try:
        parts = urlsplit(url)
        password, _ = parts.password, parts.port
    except ValueError:
        raise UsageError("this is not the address of a source") from None
    options = _spark_options(parts.path) if system is System.SPARK else parse_qsl(parts.query)
    names = {name for name, _ in options}
    if password or names & {"password", "token"}:
        raise UsageError(
            "a source's address is declared, and so must not hold a password or token",
            hint=f"leave it out, and set the variable {secret} wherever the source is read",
        )
    allowed = _SPARK_OPTIONS if system is System.SPARK else _LIBPQ_OPTIONS
    if names - set(allowed) or parts.fragment:
        raise UsageError(
            f"the address of a source can set {listed(allowed, 'and')}",
            hint="leave other settings out",
        )


def _spark_options(path: str) -> list[tuple[str, str]]:
    pairs = (each.partition("=") for each in path.lstrip("/").split(";") if each)
    return [(name.strip().lower(), value) for name, _, value in pairs]
