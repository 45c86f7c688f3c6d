"""What an event log is to the rest of PaPPI: the seam between readers and the store.

A reader gives Arrow record batches of events in file order. Every batch has the
three core fields

    case_id   text, never null
    activity  text, null if the event has none
    ts_us     64-bit integer, UTC microseconds, null if the event has no time

and any number of attribute fields called `a0`, `a1`, …. Attributes are discovered
while reading, so a batch carries only the attribute fields it has values for, and
what they are called is known when the reader has reached the end: `description`.

What a reader is told is in `ReadOptions`; what an import found, for the owner to check before
declaring anything, in `ImportReport`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pappi.errors import UsageError
from pappi.values import Kind

# pyarrow ships no types; these say what is meant.
RecordBatch: TypeAlias = Any
ArrowArray: TypeAlias = Any
ArrowSchema: TypeAlias = Any
ArrowType: TypeAlias = Any

CASE = "case_id"
ACTIVITY = "activity"
TIME = "ts_us"
DELIMITERS = (",", ";", "\t", "|")

Batches: TypeAlias = Generator[RecordBatch, None, None]
Kinds: TypeAlias = Mapping[str, Kind]
"""Attributes and the kind that was declared of each, before the log was read."""
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes consumed so far and the bytes there are to consume."""


def no_progress(done: int, total: int) -> None:
    """For callers that do not watch."""


def attribute_field(number: int) -> str:
    """The batch field of the n-th attribute."""
    return f"a{number}"


@dataclass(frozen=True, slots=True)
class Column:
    """An attribute: the batch field it arrives in, and what it is to people.

    Names are not necessarily unique; the store solves clashes. `source_type` is the
    type in the file's own terms (XES: string, date, int, …; CSV: integer, float, …).
    Times are UTC microseconds, durations are microseconds, whatever the source.
    """

    field: str
    name: str
    kind: Kind
    source_type: str


@dataclass(frozen=True, slots=True)
class Guess:
    """Something the reader decided on its own, and the option that decides otherwise."""

    what: str
    guess: str
    option: str

    def __str__(self) -> str:
        return f"{self.what}: {self.guess} (option {self.option})"


@dataclass(frozen=True, slots=True)
class Description:
    """What a reader learned: attribute columns, guesses, and what is worth knowing."""

    columns: tuple[Column, ...]
    guesses: tuple[Guess, ...] = ()
    notices: tuple[str, ...] = ()


class EventReader(Protocol):
    """One event log, ready to be read once from the beginning to the end."""

    @property
    def name(self) -> str:
        """How to call the log in messages: its file name, or what it is."""

    def batches(self, progress: Progress = no_progress) -> Batches:
        """The events in file order; raises LogFormatError at the first defect."""

    def description(self) -> Description:
        """What was learned; complete once `batches` has been read to the end."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Everything here overrides a guess; None leaves the guess to the reader.

    delimiter    field separator of a CSV file
    case         name of the column that tells which case an event belongs to
    activity     name of the column that tells what happened
    timestamp    name of the column that tells when
    time_format  a name from `times.FORMATS`, or a pattern such as "%d.%m.%Y %H:%M"
    timezone     zone whose wall clock times without an offset were read from
    missing      texts that mean "no value" (the empty text always does), in every
                 column except case and activity
    z_is_utc     trust a trailing Z even if `timezone` is given; many tools print
                 local time with a Z that means nothing (XES dates are always trusted,
                 and so is a Z beside other times that say their offset)
    most_columns, longest_text
                 a file with more attributes, or with a longer text, is taken for a
                 mistake and refused
    """

    delimiter: str | None = None
    case: str | None = None
    activity: str | None = None
    timestamp: str | None = None
    time_format: str | None = None
    timezone: str | None = None
    missing: tuple[str, ...] | None = None
    z_is_utc: bool = False
    most_columns: int = 2_000
    longest_text: int = 1_000_000

    def __post_init__(self) -> None:
        if self.delimiter is not None and self.delimiter not in DELIMITERS:
            raise UsageError(
                f"{self.delimiter!r} cannot separate the fields of a CSV file",
                hint="use a comma, a semicolon, a tab or a vertical bar",
            )
        self.zone  # noqa: B018 - an unknown zone is refused before a file is opened

    @property
    def zone(self) -> ZoneInfo | None:
        if self.timezone is None:
            return None
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError):
            raise UsageError(
                f"there is no time zone called {self.timezone!r}",
                hint="use a name such as Europe/Amsterdam or UTC",
            ) from None


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """An attribute column as it is called in the event table, and in the source."""

    name: str
    source_name: str
    kind: Kind
    source_type: str
    missing: int


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Counts, time span, columns and activities of one imported log.

    `tied` counts the events that share case and timestamp with another event: their
    order is the order of the file. `activities` are the distinct names, sorted: the
    proposal for the public vocabulary.
    """

    table: str
    events: int
    cases: int
    first_us: int | None
    last_us: int | None
    tied: int
    without_time: int
    without_activity: int
    activities: tuple[str, ...]
    columns: tuple[StoredColumn, ...]
    guesses: tuple[Guess, ...]
    notices: tuple[str, ...]
