"""What an import found, for the owner to check before declaring anything.

It is made from the events themselves, so it stays inside the trusted environment.
"""

from __future__ import annotations

from dataclasses import dataclass

from pappi.eventlog.log import Guess
from pappi.values.vocabulary import Kind


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
