"""What an event log is to the rest of PaPPI: the seam between readers and the store.

A reader gives Arrow record batches of events in file order. Every batch has the
three core fields

    case_id   text, never null
    activity  text, null if the event has none
    ts_us     64-bit integer, UTC microseconds, null if the event has no time

and any number of attribute fields called `a0`, `a1`, …. Attributes are discovered
while reading, so a batch carries only the attribute fields it has values for, and
what they are called is known when the reader has reached the end: `description`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from pappi.values.vocabulary import Kind

# pyarrow ships no types; these say what is meant.
RecordBatch: TypeAlias = Any
ArrowArray: TypeAlias = Any
ArrowSchema: TypeAlias = Any
ArrowType: TypeAlias = Any

CASE = "case_id"
ACTIVITY = "activity"
TIME = "ts_us"

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
