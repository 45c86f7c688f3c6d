"""What the owner may say about a log instead of leaving it to be guessed."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pappi.errors import UsageError

DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Everything here overrides a guess; None leaves the guess to the reader.

    delimiter    field separator of a CSV file
    case         name of the column that tells which case an event belongs to
    activity     name of the column that tells what happened
    timestamp    name of the column that tells when
    time_format  a name from `times.FORMATS`, or a pattern such as "%d.%m.%Y %H:%M"
    timezone     zone whose wall clock times without an offset were read from
    missing      texts that stand for "no value" (besides the empty text), in every
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
