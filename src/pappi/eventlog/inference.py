"""What type a column of texts has, decided by all of its values and not by a sample.

A column gets a type only if every value is one of that type and reading it loses
nothing: 007 stays text, and so does a number with more digits than fit. A marker such
as NA counts as "no value" only where it is all that keeps the column from having a
type; in a text column it stays a text, because a case or a diagnosis may be called NA.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pappi.eventlog.log import ArrowArray
from pappi.eventlog.times import EPOCHS, FORMATS, Clock, TimeFormat, Times, read_times
from pappi.values.vocabulary import Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MISSING_MARKERS = ("NA", "N/A", "n/a", "NULL", "Null", "null", "None", "none", "NaN", "nan")

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
        'out of the years 1800 to 2200'
        """
        written = re.match(self.closest.pattern, self.text)
        year = written and "year" in written.groupdict() and int(written["year"])
        if year and not 1800 <= year <= 2200:
            return "out of the years 1800 to 2200"
        return f"not a time written as {self.closest.name}"


ALL_TIMES = (*FORMATS.values(), *EPOCHS.values())


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
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        marked = pc.is_in(column, value_set=pa.array(self._markers, pa.string()))
        self.markers_seen.update(pc.unique(column.filter(marked)).to_pylist())
        blank = pc.or_(marked, pc.fill_null(pc.equal(column, ""), fill_value=True))
        kept = pc.invert(blank)
        rows = np.flatnonzero(kept.to_numpy(zero_copy_only=False)) + self._rows
        self._rows += len(column)
        if len(rows):
            self._any = True
            values = column.filter(kept)
            self._plain = {name for name in self._plain if _all_are(values, name)}
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
    times = None
    for some in _few_then_all(values):
        times = read_times(some, written, _NO_ZONE)
        if not times.readable.all():
            return None
    return times


def _few_then_all(values: ArrowArray) -> tuple[ArrowArray, ArrowArray]:
    """Most of what a column is not, its first values show."""
    return values.slice(0, _FEW), values


def _all_are(values: ArrowArray, name: str) -> bool:
    return all(_are(some, name) for some in _few_then_all(values))


def _are(values: ArrowArray, name: str) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

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
    import pyarrow as pa
    import pyarrow.compute as pc

    absent = pc.is_in(column, value_set=pa.array(("", *missing), pa.string()))
    return pc.if_else(absent, pa.scalar(None, pa.string()), column)


def typed(column: ArrowArray, of: ColumnType) -> ArrowArray:
    """A column of texts as the integers, floats or truth values it was found to hold."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = blanked(column, of.missing)
    match of.name:
        case "integer":
            return texts.cast(pa.int64())
        case "float":
            return texts.cast(pa.float64())
        case "boolean":
            return pc.equal(pc.utf8_lower(texts), "true")
    return texts
