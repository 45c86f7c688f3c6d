"""The interface between the readers of event logs and the store.

A reader gives Arrow record batches of events in file order. Every batch has the
three core fields

    case_id   text, never null
    activity  text, null if the event has none
    ts_us     64-bit integer, UTC microseconds, null if the event has no time

and any number of attribute fields called `a0`, `a1`, …. Attributes are discovered
while reading, so a batch carries only the attribute fields it has values for, and
what they are called is known when the reader has reached the end: `description`.

`ReadOptions` is what a reader can be told; `ImportReport` is what an import found, for the owner
to check before declaring anything.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable
from zoneinfo import ZoneInfo

from pappi.errors import Option, UsageError
from pappi.values import Kind, zone_called

# pyarrow ships no types; these names say what is meant.
RecordBatch: TypeAlias = Any
ArrowArray: TypeAlias = Any
ArrowSchema: TypeAlias = Any
ArrowType: TypeAlias = Any

CASE = "case_id"
ACTIVITY = "activity"
TIME = "ts_us"
EARLIEST_US, LATEST_US = -5_364_662_400_000_000, 7_258_118_400_000_000
"""The years 1800 to 2200: beyond them a time is a mistake."""
DELIMITERS = (",", ";", "\t", "|")

Batches: TypeAlias = Generator[RecordBatch, None, None]
Kinds: TypeAlias = Mapping[str, Kind]
"""Attributes and their kinds, as declared before the log was read."""
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes consumed so far and the bytes there are to consume."""


def no_progress(done: int, total: int) -> None:
    """For callers that show no progress."""


def attribute_field(number: int) -> str:
    """The batch field of the n-th attribute."""
    return f"a{number}"


@dataclass(frozen=True, slots=True)
class Column:
    """An attribute: its field in batches, its name and its kind.

    Names are not necessarily unique; the store resolves clashes. `source_type` is the
    type in the file's own terms (XES: string, date, int, …; CSV: integer, float, …).
    Times are UTC microseconds, durations are microseconds, whatever the source.
    """

    field: str
    name: str
    kind: Kind
    source_type: str


@dataclass(frozen=True, slots=True)
class Guess:
    """Something the reader decided by itself, and the option that overrides it."""

    what: str
    guess: str
    option: str

    def __str__(self) -> str:
        return f"{self.what}: {self.guess} (option {self.option})"


@dataclass(frozen=True, slots=True)
class Description:
    """What a reader found: attribute columns, guesses, and notices."""

    columns: tuple[Column, ...]
    guesses: tuple[Guess, ...] = ()
    notices: tuple[str, ...] = ()


class EventReader(Protocol):
    """One event log, to be read once from the beginning to the end."""

    @property
    def name(self) -> str:
        """The name of the log in messages: its file name, or what it is."""

    def batches(self, progress: Progress = no_progress) -> Batches:
        """The events in file order; raises LogFormatError at the first defect."""

    def description(self) -> Description:
        """What was found; complete once `batches` has been read to the end."""


class Reread(Exception):
    """The log is not written as it seemed: what was read is to be forgotten, and read anew."""


@runtime_checkable
class DraftingReader(EventReader, Protocol):
    """A reader that can read a log once on trust, where it else has to look through it first."""

    def draft(self, progress: Progress = no_progress) -> Batches:
        """The events as the beginning of the log shows them to be written.

        Raises `Reread` as soon as the rest shows otherwise, or anything is wrong: `batches` then
        reads it as it is, or says what is wrong. At the end, both have given the same.
        """


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Everything here overrides a guess; None leaves the guess to the reader.

    encoding     how a CSV or JSON file writes characters, as Python calls it: utf-8, cp1252 …
    delimiter    field separator of a CSV file
    sheet        name of the sheet of a workbook
    member       name of the file inside a zip archive
    object_type  the objects of an OCEL log that are the cases
    case         name of the column that tells which case an event belongs to
    activity     name of the column that tells what happened
    timestamp    name of the column that tells when
    time_of_day  name of the column with the time of the day, where `timestamp` has the day alone
    start        name of the column that tells when the activity began; `timestamp` tells when it
                 was complete, and each row is two events
    wide         each row is a case, and each column of times an event of the column's name
    milestones   the names of these columns, where not all of them are meant
    time_format  a name from `inference.FORMATS`, or a pattern such as "%d.%m.%Y %H:%M"
    timezone     zone whose wall clock times without an offset were read from
    decimal      comma or point: what stands before the decimals of a number
    missing      texts that mean "no value" (the empty text always does), in every
                 column except case and activity
    z_is_utc     trust a trailing Z even if `timezone` is given; many tools print
                 local time with a Z that means nothing (XES dates are always trusted,
                 and so is a Z beside other times that say their offset)
    skip_invalid leave out rows without a case or with a time that cannot be read, and count them
    most_columns, longest_text
                 a file with more attributes, or with a longer text, is taken for a
                 mistake and refused
    """

    encoding: str | None = None
    delimiter: str | None = None
    sheet: str | None = None
    member: str | None = None
    object_type: str | None = None
    case: str | None = None
    activity: str | None = None
    timestamp: str | None = None
    time_of_day: str | None = None
    start: str | None = None
    wide: bool = False
    milestones: tuple[str, ...] = ()
    time_format: str | None = None
    timezone: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] | None = None
    z_is_utc: bool = False
    skip_invalid: bool = False
    most_columns: int = 2_000
    longest_text: int = 1_000_000

    def __post_init__(self) -> None:
        if self.delimiter is not None and self.delimiter not in DELIMITERS:
            raise UsageError(
                f"{self.delimiter!r} cannot separate the fields of a CSV file",
                hint="use a comma, a semicolon, a tab or a vertical bar",
            )
        if self.decimal is not None and self.decimal not in (",", "."):
            raise UsageError(
                f"{self.decimal!r} cannot be a decimal sign",
                hint="use a comma or a point",
            )
        if self.encoding is not None:
            _require_encoding(self.encoding)
        for name in ("missing", "milestones"):
            if isinstance(getattr(self, name), str):
                raise UsageError(
                    f"{name} takes several texts", hint=f"write {name}=({getattr(self, name)!r},)"
                )
        if self.start is not None and self.shaped_wide:
            raise UsageError(
                "in a wide table each column of times is an event of its own, without a start",
                hint="leave out one of the two options",
                options=(Option("start"), Option("wide")),
            )
        self.zone  # noqa: B018 - an unknown zone is refused before a file is opened

    @property
    def zone(self) -> ZoneInfo | None:
        return None if self.timezone is None else zone_called(self.timezone)

    @property
    def shaped_wide(self) -> bool:
        return self.wide or bool(self.milestones)


def _require_encoding(name: str) -> None:
    try:
        "".encode(name)
    except LookupError:
        raise UsageError(
            f"there is no encoding called {name!r}",
            hint="use a name such as utf-8, utf-16, cp1252 (Windows, Western Europe) or latin-1",
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
