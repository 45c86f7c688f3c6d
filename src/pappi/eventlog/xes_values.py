"""The value types of XES: how each is read, stored and called.

Values are read strictly. What is not a value of its type is a ValueError, and a
whole number beyond 64 bits an OverflowError, so that nothing is ever rounded,
emptied or turned into 0 on the way in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias
from zoneinfo import ZoneInfo

from pappi.eventlog.log import ArrowArray
from pappi.eventlog.zones import instants
from pappi.values.vocabulary import Kind

Value: TypeAlias = str | int | float | bool

KINDS: Mapping[str, Kind] = {
    "string": Kind.TEXT,
    "id": Kind.TEXT,
    "date": Kind.TIME,
    "int": Kind.NUMBER,
    "float": Kind.NUMBER,
    "boolean": Kind.TRUTH,
}

EXPECTED: Mapping[str, str] = {
    "date": "a date such as 2010-09-30T17:24:07.000+02:00",
    "int": "a whole number",
    "float": "a number",
    "boolean": "true or false",
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The second day of the year 1: on the first, an offset may lead into the year 0.
_EARLIEST_US = -62_135_510_400_000_000
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_LONGEST_MICROSECOND_DATE = len("2010-09-30T17:24:07.000000+02:00")


@dataclass(slots=True)
class DateReader:
    """Dates as UTC microseconds, and what had to be decided to read them."""

    zone: ZoneInfo | None
    without_offset: int = 0
    finer: int = 0
    skipped: int = 0
    twice: int = 0

    def read(self, text: str) -> int:
        """Exact microseconds; a date without offset is wall clock of the zone, or UTC.

        >>> DateReader(None).read("1970-01-01T01:00:00.000+01:00")
        0
        """
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            self.without_offset += 1
            moment = moment.replace(tzinfo=self.zone or UTC)
            self._note_change_of_clocks(moment)
        if len(text) > _LONGEST_MICROSECOND_DATE:
            self.finer += _has_finer_digits(text)
        since = moment - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds

    def read_all(self, texts: ArrowArray) -> ArrowArray:
        """What `read` gives for each; ValueError unless all are written in one common way.

        Arrow reads a subset of what Python does, and all of it alike but for the year 0.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            us = texts.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        except pa.ArrowInvalid:  # without offsets; a mixture is none of the common ways
            us = self._wall_clock(texts.cast(pa.timestamp("us")).cast(pa.int64()))
        if len(us) and pc.min(us).as_py() < _EARLIEST_US:
            raise ValueError("a year that Python does not have")
        return us

    def _wall_clock(self, wall: ArrowArray) -> ArrowArray:
        import pyarrow as pa

        self.without_offset += len(wall)
        if self.zone is None:
            return wall
        read = instants(wall.to_numpy(), self.zone)
        self.skipped += read.skipped
        self.twice += read.twice
        return pa.array(read.us)

    def _note_change_of_clocks(self, moment: datetime) -> None:
        """As `zones` does it for many times at once."""
        first, second = moment.utcoffset(), moment.replace(fold=1).utcoffset()
        if first is not None and second is not None and first != second:
            self.skipped += first < second
            self.twice += first > second

    def add(self, other: DateReader) -> None:
        """What another one had to decide about the same log."""
        self.without_offset += other.without_offset
        self.finer += other.finer
        self.skipped += other.skipped
        self.twice += other.twice


def value_readers(dates: DateReader) -> Mapping[str, Callable[[str], Value]]:
    """For every type that fits a flat column, the function that reads its text."""
    return {
        "string": str,
        "id": str,
        "date": dates.read,
        "int": _whole_number,
        "float": _number,
        "boolean": _truth,
    }


def _whole_number(text: str) -> int:
    _refuse_underscores(text)
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise OverflowError(text)
    return number


def _number(text: str) -> float:
    _refuse_underscores(text)
    return float(text)


def _truth(text: str) -> bool:
    try:
        return _TRUTH[text.strip().lower()]
    except KeyError:
        raise ValueError(text) from None


def _refuse_underscores(text: str) -> None:
    if "_" in text:  # Python reads 1_000 as a number; XML does not
        raise ValueError(text)


def _has_finer_digits(text: str) -> bool:
    digits = text.replace(",", ".").partition(".")[2]
    fraction = digits[: next((i for i, c in enumerate(digits) if not c.isdigit()), len(digits))]
    return fraction[6:].strip("0") != ""
