"""What type a column of texts has, decided by all of its values and not by a sample.

A column gets a type only if every value is one of that type and reading it loses
nothing: 007 stays text, and so does a number with more digits than fit. A marker such
as NA counts as "no value" only where it is all that keeps the column from having a
type; in a text column it stays a text, because a case or a diagnosis may be called NA.

The times of a log are read by one clock, `LogClock`, which tallies what had to be decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pappi.errors import Option
from pappi.eventlog.log import ArrowArray, Guess, ReadOptions
from pappi.eventlog.times import CONFUSABLE, EPOCHS, FORMATS, Clock, TimeFormat, Times, read_times
from pappi.values import Kind

MISSING_MARKERS = ("NA", "N/A", "n/a", "NULL", "Null", "null", "None", "none", "NaN", "nan")
ALL_TIMES = (*FORMATS.values(), *EPOCHS.values())

_PATTERNS: Mapping[str, str] = {
    "integer": r"^-?(0|[1-9]\d{0,18})$",
    "float": r"^-?((0|[1-9]\d{0,14})(\.\d*)?|\.\d+)([eE][-+]?\d{1,2})?$",
    "boolean": r"^(true|false|True|False|TRUE|FALSE)$",
}
_KINDS = {"integer": Kind.NUMBER, "float": Kind.NUMBER, "boolean": Kind.TRUTH, "time": Kind.TIME}
_NO_ZONE = Clock()
_FEW = 20


@dataclass(frozen=True, slots=True)
class ColumnType:
    """integer, float, boolean, time (then with a format) or text; what means no value."""

    name: str
    missing: tuple[str, ...] = ()
    time_format: TimeFormat | None = None

    @property
    def kind(self) -> Kind:
        return _KINDS.get(self.name, Kind.TEXT)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The first text of a column, counting rows from 0, that no time format reads."""

    row: int
    text: str
    closest: TimeFormat

    @property
    def why(self) -> str:
        """What the text is not.

        >>> Unreadable(0, "9999-12-31", FORMATS["yyyy-mm-dd"]).why
        'outside the years 1800 to 2200'
        """
        written = re.match(self.closest.pattern, self.text)
        year = written and "year" in written.groupdict() and int(written["year"])
        if year and not 1800 <= year <= 2200:
            return "outside the years 1800 to 2200"
        return f"not a time written as {self.closest.name}"

    def defect(self, column: str) -> tuple[str, str, tuple[Option, ...]]:
        """What is wrong with such a time of an event, what to do, and the options that help."""
        cause = f"{column!r} is {self.text[:80]!r}, which is {self.why}"
        hint = (
            "correct the value, give the time format, name another time column, "
            "or say which text means no value"
        )
        return cause, hint, (Option("time_format"), Option("timestamp"), Option("missing"))


class TypeInference:
    """Watches a column go by and rules out what it is not."""

    def __init__(self, missing: tuple[str, ...] | None, times: Sequence[TimeFormat]) -> None:
        self._markers = MISSING_MARKERS if missing is None else missing
        self._guess_missing = missing is None
        self._plain = set(_PATTERNS)
        self._times = list(times)
        self._rows = 0
        self._any = False
        self.offsets = False
        self.markers_seen: set[str] = set()
        self._ruled_out: _RuledOut | None = None

    def observe(self, column: ArrowArray) -> None:
        marked = pc.is_in(column, value_set=pa.array(self._markers, pa.string()))
        self.markers_seen.update(pc.unique(column.filter(marked)).to_pylist())
        blank = pc.or_(marked, pc.fill_null(pc.equal(column, ""), fill_value=True))
        kept = pc.invert(blank)
        rows = np.flatnonzero(kept.to_numpy(zero_copy_only=False)) + self._rows
        self._rows += len(column)
        if len(rows):
            self._any = True
            values = column.filter(kept)
            few = values.slice(0, _FEW)  # most of what a column is not, its first values show
            self._plain = {name for name in self._plain if _are(few, name) and _are(values, name)}
            self._narrow_times(values, rows)

    @property
    def unreadable(self) -> Unreadable | None:
        """What left no time format possible, if one was possible until then."""
        return None if self._ruled_out is None else self._ruled_out.unreadable()

    def _narrow_times(self, values: ArrowArray, rows: NDArray[np.int64]) -> None:
        read = ((written, _all_written(values, written)) for written in self._times)
        left = {written: times for written, times in read if times is not None}
        if self._times and not left:
            self._ruled_out = _RuledOut(self._times, values, rows)
        self._times = list(left)
        self.offsets |= any(times.with_offset for times in left.values())

    def attribute_type(self) -> ColumnType:
        """The type of the column as an attribute; a count since 1970 is just a number."""
        for name in ("integer", "float", "boolean"):
            if self._any and name in self._plain:
                return ColumnType(name, self._missing())
        dated = [written for written in self._times if written.per_unit_us is None]
        if self._any and dated:
            return ColumnType("time", self._missing(), dated[0])
        return ColumnType("text", () if self._guess_missing else self._markers)

    def time_type(self) -> ColumnType | None:
        """The type of the column as the times of events, if it can be that."""
        if not self._any or not self._times:
            return None
        return ColumnType("time", self._missing(), self._times[0])

    def possible_times(self) -> tuple[str, ...]:
        return tuple(written.name for written in self._times)

    def _missing(self) -> tuple[str, ...]:
        return tuple(sorted(self.markers_seen)) if self._guess_missing else self._markers


@dataclass(frozen=True, slots=True)
class _RuledOut:
    """Values, in these rows, that no format reads which read all values before."""

    times: Sequence[TimeFormat]
    values: ArrowArray
    rows: NDArray[np.int64]

    def unreadable(self) -> Unreadable:
        read = [read_times(self.values, written, _NO_ZONE).readable for written in self.times]
        best = max(range(len(read)), key=lambda i: int(read[i].sum()))
        first = int((~read[best]).argmax())
        return Unreadable(int(self.rows[first]), self.values[first].as_py(), self.times[best])


def _all_written(values: ArrowArray, written: TimeFormat) -> Times | None:
    """The values as times, if all are written so."""
    if not read_times(values.slice(0, _FEW), written, _NO_ZONE).readable.all():
        return None
    times = read_times(values, written, _NO_ZONE)
    return times if times.readable.all() else None


def _are(values: ArrowArray, name: str) -> bool:
    if not pc.all(pc.match_substring_regex(values, _PATTERNS[name])).as_py():
        return False
    if name == "integer":
        try:
            values.cast(pa.int64())
        except pa.ArrowInvalid:
            return False
    return True


def blanked(column: ArrowArray, missing: tuple[str, ...]) -> ArrowArray:
    """The column with nulls where it is empty or says that there is no value."""
    absent = pc.is_in(column, value_set=pa.array(("", *missing), pa.string()))
    return pc.if_else(absent, pa.scalar(None, pa.string()), column)


def typed(column: ArrowArray, of: ColumnType) -> ArrowArray:
    """A column of texts as the integers, floats or truth values it was found to hold."""
    texts = blanked(column, of.missing)
    match of.name:
        case "integer":
            return texts.cast(pa.int64())
        case "float":
            return texts.cast(pa.float64())
        case "boolean":
            return pc.equal(pc.utf8_lower(texts), "true")
    return texts


# --- the times of a log --------------------------------------------------------------


class LogClock:
    """Reads the time columns of one log and remembers how their zones were written.

    Unless it `learns`, a time is read by itself, whatever the others look like.
    """

    def __init__(self, options: ReadOptions, *, learns: bool = True) -> None:
        self._options = options
        self._learns = learns
        self.clock = Clock(options.zone, options.z_is_utc)
        self.without_offset = 0
        self.skipped = 0
        self.twice = 0
        self._with_z = 0
        self._z_is_true = False

    def trust_z(self) -> None:
        """Where other times of the log say their offset, a Z is no ornament."""
        if not self._learns:
            return
        self._z_is_true = True
        self.clock = replace(self.clock, z_is_utc=True)

    def read(self, column: ArrowArray, of: ColumnType) -> ArrowArray:
        """A column of texts, all readable, as UTC microseconds; null where it has no value."""
        if of.time_format is None:
            raise ValueError("not a time column")
        texts = blanked(column, of.missing)
        times = read_times(texts, of.time_format, self.clock)
        self.without_offset += times.without_offset
        self._with_z += times.with_z
        self.skipped += times.skipped
        self.twice += times.twice
        return pa.array(times.us, pa.int64(), mask=~times.readable)

    def guesses(self) -> Iterator[Guess]:
        zone = self._options.timezone
        if self.without_offset:
            yield Guess("times without an offset", f"read as {zone or 'UTC'}", "timezone")
        if not self._with_z:
            return
        if zone is None:
            yield Guess("times ending in Z", "read as UTC", "timezone")
        elif not self.clock.z_is_utc:
            yield Guess(
                "times ending in Z",
                f"read as wall clock of {zone}, since exports often print a false Z",
                "z_is_utc",
            )

    def notices(self) -> Iterator[str]:
        if self._z_is_true and self._with_z and self._options.zone and not self._options.z_is_utc:
            yield "times ending in Z were read as UTC: other times of the file say their offset"
        yield from changed_clocks(self.skipped, self.twice, self._options.timezone)


def changed_clocks(skipped: int, twice: int, zone: str | None) -> Iterator[str]:
    """What became of local times that a change of the clocks left out or made ambiguous."""
    if skipped:
        yield (
            f"{skipped:,} local times do not exist in {zone}, because the clocks went forward: "
            "read as if they had not"
        )
    if twice:
        yield (
            f"{twice:,} local times occur twice in {zone}, because the clocks went back: "
            "read as the first"
        )


def format_guess(of: ColumnType, seen: TypeInference, options: ReadOptions) -> Iterator[Guess]:
    """How the event times were found to be written, and what else it could have been."""
    if options.time_format is not None or of.time_format is None:
        return
    name = of.time_format.name
    other = CONFUSABLE.get(name)
    if other in seen.possible_times():
        yield Guess("time format", f"{name}, but {other} fits as well", "time_format")
    else:
        yield Guess("time format", name, "time_format")
