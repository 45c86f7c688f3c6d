"""Written times: the formats that are recognised, and reading them by the column.

A format is a regular expression with named parts. A whole Arrow column is taken apart at once
and put together as integers, so no time passes through a float. Columns that are all written
in a common form are read by Arrow itself, which is many times faster and agrees.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pappi.errors import UsageError
from pappi.eventlog.log import ArrowArray

Integers: TypeAlias = NDArray[np.int64]
Truths: TypeAlias = NDArray[np.bool_]

_CLOCK = (
    r"(?:[T ]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})"
    r"(?:[.,](?P<fraction>\d{1,9}))?)?(?: ?(?P<half>[AaPp][Mm]))?)?"
    r" ?(?P<zone>Z|(?:UTC|GMT)?[+-]\d{2}(?::?\d{2})?|UTC|GMT)?"
)
_YEAR, _MONTH, _DAY = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"
_DIRECTIVES = {
    "%Y": _YEAR,
    "%m": _MONTH,
    "%d": _DAY,
    "%H": r"(?P<hour>\d{1,2})",
    "%I": r"(?P<hour>\d{1,2})",
    "%M": r"(?P<minute>\d{1,2})",
    "%S": r"(?P<second>\d{1,2})",
    "%f": r"(?P<fraction>\d{1,9})",
    "%p": r"(?P<half>[AaPp][Mm])",
    "%z": r"(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)",
    "%%": "%",
}
_SECOND_US = 1_000_000
_DAY_US = 86_400 * _SECOND_US


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """A way to write a time. `per_unit_us` is set for plain counts since 1970."""

    name: str
    pattern: str
    per_unit_us: int | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """Whose clock times were read from."""

    zone: ZoneInfo | None = None
    z_is_utc: bool = False


@dataclass(frozen=True, slots=True)
class Times:
    """A column read: microseconds where `readable`, and how zones were written.

    `skipped` and `twice` count local times at a change of the clocks, as `Instants` does.
    """

    us: Integers
    readable: Truths
    without_offset: int = 0
    with_z: int = 0
    with_offset: int = 0
    skipped: int = 0
    twice: int = 0


def _dated(name: str, pattern: str) -> TimeFormat:
    return TimeFormat(name, f"^{pattern}{_CLOCK}$")


# In order of preference. Day and month can be confused: with dashes and dots the day
# usually comes first, with slashes the month; whole columns decide where they can.
FORMATS: Mapping[str, TimeFormat] = {
    written.name: written
    for written in (
        _dated("yyyy-mm-dd", f"{_YEAR}-{_MONTH}-{_DAY}"),
        _dated("yyyy/mm/dd", f"{_YEAR}/{_MONTH}/{_DAY}"),
        _dated("dd-mm-yyyy", f"{_DAY}-{_MONTH}-{_YEAR}"),
        _dated("dd.mm.yyyy", rf"{_DAY}\.{_MONTH}\.{_YEAR}"),
        _dated("mm/dd/yyyy", f"{_MONTH}/{_DAY}/{_YEAR}"),
        _dated("dd/mm/yyyy", f"{_DAY}/{_MONTH}/{_YEAR}"),
        _dated("mm-dd-yyyy", f"{_MONTH}-{_DAY}-{_YEAR}"),
    )
}
EPOCHS: Mapping[str, TimeFormat] = {
    "epoch-s": TimeFormat("epoch-s", r"^-?\d{1,10}$", _SECOND_US),
    "epoch-ms": TimeFormat("epoch-ms", r"^-?\d{11,13}$", 1_000),
    "epoch-us": TimeFormat("epoch-us", r"^-?\d{14,16}$", 1),
}
CONFUSABLE = {
    "dd-mm-yyyy": "mm-dd-yyyy",
    "mm-dd-yyyy": "dd-mm-yyyy",
    "mm/dd/yyyy": "dd/mm/yyyy",
    "dd/mm/yyyy": "mm/dd/yyyy",
}


def time_format(text: str) -> TimeFormat:
    """The format of that name, or the one a pattern such as "%d.%m.%Y %H:%M" describes."""
    if text in EPOCHS:  # said explicitly, any number of digits will do
        return TimeFormat(text, r"^-?\d{1,18}$", EPOCHS[text].per_unit_us)
    if text in FORMATS:
        return FORMATS[text]
    parts = re.split(r"(%.)", text)
    unknown = [part for part in parts[1::2] if part not in _DIRECTIVES]
    repeated = [part for part in parts[1::2] if parts.count(part) > 1 and part != "%%"]
    if unknown or repeated or "%Y" not in parts:
        raise UsageError(
            f"{text!r} is not a time format",
            hint=f"use one of {', '.join((*FORMATS, *EPOCHS))}, or a pattern of %Y %m %d %H %I %M "
            "%S %f %p %z, such as %d.%m.%Y %H:%M",
        )
    pieces = [_DIRECTIVES.get(part) or re.escape(part) for part in parts]
    return TimeFormat(text, f"^{''.join(pieces)}$")


def read_times(column: ArrowArray, written: TimeFormat, clock: Clock) -> Times:
    """Every text of the column as UTC microseconds; a null is not readable."""
    if written.per_unit_us is not None:
        return _counted(column, written.pattern, written.per_unit_us)
    return _read_by_arrow(column, written, clock) or _read_by_parts(column, written, clock)


def _counted(column: ArrowArray, pattern: str, per_unit_us: int) -> Times:
    readable = pc.fill_null(pc.match_substring_regex(column, pattern), fill_value=False)
    counts = pc.if_else(readable, column, pa.scalar("0")).cast(pa.int64())
    numbers = counts.to_numpy(zero_copy_only=False)
    limit = np.iinfo(np.int64).max // per_unit_us
    within = readable.to_numpy(zero_copy_only=False) & (np.abs(numbers) <= limit)
    return Times(np.where(within, numbers, 0) * per_unit_us, within)


# --- part by part --------------------------------------------------------------------


def _read_by_parts(column: ArrowArray, written: TimeFormat, clock: Clock) -> Times:
    parts = _Parts(column, written.pattern)
    if not parts.matched.any():
        return Times(np.zeros(len(column), np.int64), parts.matched)
    wall_us = _wall_us(parts)
    has_offset, offset_us = _offsets(parts)
    written_z = parts.text_is("zone", "Z")
    local = parts.text_is("zone", "")
    if clock.zone is not None and not clock.z_is_utc:
        local = local | written_z
    readable = _in_range(parts)
    us = np.where(has_offset, wall_us - offset_us, wall_us)
    skipped, twice = _from_wall_clock(us, local & readable, clock)
    without, with_z, with_offset = (
        int((group & readable).sum())
        for group in (parts.text_is("zone", ""), written_z, has_offset)
    )
    return Times(us, readable, without, with_z, with_offset, skipped, twice)


def _from_wall_clock(us: Integers, local: Truths, clock: Clock) -> tuple[int, int]:
    """Turns local times into instants, in place; gives how many were skipped, and came twice."""
    if clock.zone is None or not local.any():
        return 0, 0
    read = instants(us[local], clock.zone)
    us[local] = read.us
    return read.skipped, read.twice


class _Parts:
    """The named parts of every text in a column, as integers where they are numbers."""

    def __init__(self, column: ArrowArray, pattern: str) -> None:
        self.names = set(re.findall(r"\?P<(\w+)>", pattern))
        self._found = pc.extract_regex(column, pattern=pattern)
        self.matched: Truths = pc.is_valid(self._found).to_numpy(zero_copy_only=False)

    def text(self, name: str) -> ArrowArray:
        if name not in self.names:
            return pa.array([""] * len(self.matched), pa.string())
        return pc.fill_null(pc.struct_field(self._found, name), "")

    def text_is(self, name: str, wanted: str) -> Truths:
        equal: Truths = pc.equal(self.text(name), wanted).to_numpy(zero_copy_only=False)
        return equal

    def number(self, name: str, otherwise: int = 0) -> Integers:
        return _integers(self.text(name), otherwise)


def _integers(texts: ArrowArray, otherwise: int = 0) -> Integers:
    filled = pc.if_else(pc.equal(texts, ""), str(otherwise), texts)
    numbers: Integers = filled.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers


def _wall_us(parts: _Parts) -> Integers:
    months = (parts.number("year", 1970) - 1970) * 12 + parts.number("month", 1) - 1
    days = months.astype("M8[M]").astype("M8[D]").astype(np.int64) + parts.number("day", 1) - 1
    hour = parts.number("hour")
    half = pc.utf8_upper(parts.text("half")).to_numpy(zero_copy_only=False)
    # 12 AM is 0 hours from midnight, 12 PM is 12.
    hours = np.where(half == "", hour, np.where(half == "PM", hour % 12 + 12, hour % 12))
    seconds = (hours * 60 + parts.number("minute")) * 60 + parts.number("second")
    fraction = pc.utf8_rpad(parts.text("fraction"), width=6, padding="0")
    micros = _integers(pc.utf8_slice_codeunits(fraction, 0, 6))
    return days * _DAY_US + seconds * _SECOND_US + micros


def _in_range(parts: _Parts) -> Truths:
    """Whether the parts name a real day and a real time of it."""
    month, day = parts.number("month", 1), parts.number("day", 1)
    months = ((parts.number("year", 1970) - 1970) * 12 + month - 1).astype("M8[M]")
    first = months.astype("M8[D]").astype(np.int64)
    length = (months + 1).astype("M8[D]").astype(np.int64) - first
    hour = parts.number("hour")
    of_half = parts.text_is("half", "") | ((hour >= 1) & (hour <= 12))
    clock = (hour < 24) & (parts.number("minute") < 60) & (parts.number("second") < 60) & of_half
    real_day = (month >= 1) & (month <= 12) & (day >= 1) & (day <= length)
    in_reach = (parts.number("year", 1970) >= 2) & (parts.number("year", 1970) < 9999)
    real: Truths = parts.matched & real_day & clock & in_reach
    return real


def _offsets(parts: _Parts) -> tuple[Truths, Integers]:
    """Which texts have a numeric offset, and the offsets in microseconds."""
    zone = pc.replace_substring_regex(parts.text("zone"), pattern="[^0-9+-]", replacement="")
    digits = pc.utf8_rpad(pc.utf8_slice_codeunits(zone, 1, 5), width=4, padding="0")
    hours = _integers(pc.utf8_slice_codeunits(digits, 0, 2))
    minutes = _integers(pc.utf8_slice_codeunits(digits, 2, 4))
    negative = pc.starts_with(zone, "-").to_numpy(zero_copy_only=False)
    offset = (hours * 60 + minutes) * 60 * _SECOND_US
    numeric: Truths = pc.not_equal(zone, "").to_numpy(zero_copy_only=False)
    return numeric, np.where(negative, -offset, offset)


# --- by Arrow ------------------------------------------------------------------------


# Where the ten characters of yyyy-mm-dd stand in the other ways to write a day.
_DAY_FIRST = (6, 7, 8, 9, 2, 3, 4, 5, 0, 1)
_MONTH_FIRST = (6, 7, 8, 9, 2, 0, 1, 5, 3, 4)
_YEAR_FIRST = tuple(range(10))
_ORDERS = {
    "yyyy-mm-dd": (_YEAR_FIRST, "-"),
    "yyyy/mm/dd": (_YEAR_FIRST, "/"),
    "dd-mm-yyyy": (_DAY_FIRST, "-"),
    "dd.mm.yyyy": (_DAY_FIRST, "."),
    "dd/mm/yyyy": (_DAY_FIRST, "/"),
    "mm/dd/yyyy": (_MONTH_FIRST, "/"),
    "mm-dd-yyyy": (_MONTH_FIRST, "-"),
}
_DASHES = [4, 7]
_DAY_CHARS = len("yyyy-mm-dd")
_MINUTE_CHARS = len("yyyy-mm-dd hh:mm")
_COLON = 13
_OFFSET = re.compile(r"[Z+-]")
# The years from 2 to 9998, which are read part by part as well.
_EARLIEST_US, _LATEST_US = -62_104_060_800_000_000, 253_370_764_800_000_000


def _read_by_arrow(column: ArrowArray, written: TimeFormat, clock: Clock) -> Times | None:
    """All texts in one common form of that format; None if they are not."""
    texts = column.drop_null() if column.null_count else column
    if written.name not in _ORDERS or texts.type != pa.string() or not len(texts):
        return None
    borders = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    if not _has_clock_or_none(data, borders):
        return None
    ordered = _as_iso(texts, data, borders, written.name)
    # The first text decides how all are read: asking Arrow in vain is slow.
    offsets = _OFFSET.search(texts[0].as_py(), _DAY_CHARS) is not None
    times = None if ordered is None else _cast(ordered, offsets=offsets)
    if times is None or times.min() < _EARLIEST_US or times.max() >= _LATEST_US:
        return None
    readable = column.is_valid().to_numpy(zero_copy_only=False)
    us = np.zeros(len(column), np.int64)
    us[readable] = times
    written_z = np.zeros(len(column), np.bool_)
    written_z[readable] = offsets & (data[borders[1:] - 1] == ord("Z"))
    # Without an offset a time is the wall clock's, and so is one with a Z that may be false.
    local = readable if not offsets else written_z & (not clock.z_is_utc)
    skipped, twice = _from_wall_clock(us, local, clock)
    with_z, without = int(written_z.sum()), 0 if offsets else len(texts)
    with_offset = len(texts) - with_z - without
    return Times(us, readable, without, with_z, with_offset, skipped, twice)


def _has_clock_or_none(data: NDArray[np.uint8], borders: NDArray[np.int32]) -> bool:
    """Whether all are days alone, or all have hours and minutes with a colon between."""
    lengths = np.diff(borders)
    if lengths.min() < _MINUTE_CHARS:
        return bool(lengths.min() == lengths.max() == _DAY_CHARS)
    return bool((data[borders[:-1] + _COLON] == ord(":")).all())


def _as_iso(
    texts: ArrowArray, data: NDArray[np.uint8], borders: NDArray[np.int32], format_name: str
) -> ArrowArray | None:
    """The texts with their days as yyyy-mm-dd; None if one is not of the format."""
    if format_name == "yyyy-mm-dd":
        return texts
    order, between = _ORDERS[format_name]
    places = borders[:-1, None] + np.arange(_DAY_CHARS)
    days = data[places][:, order]
    dashes = days[:, _DASHES]
    if days.max() > ord("9") or not (dashes == ord(between)).all():
        return None
    days[:, _DASHES] = ord("-")
    rewritten = data.copy()
    rewritten[places] = days
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(borders), pa.py_buffer(rewritten))


def _cast(texts: ArrowArray, *, offsets: bool) -> Integers | None:
    """Microseconds, if all texts say an offset, or none does, and all are times."""
    try:
        times = texts.cast(pa.timestamp("us", "UTC" if offsets else None))
    except pa.ArrowInvalid:
        return None
    us: Integers = times.cast(pa.int64()).to_numpy()
    return us


# --- wall-clock times to instants ----------------------------------------------------


_QUARTER_US = 900_000_000
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock has no zone
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Instants:
    """UTC microseconds, and how many of the wall-clock times had none, or two, of them.

    When clocks are put forward an hour is `skipped`: its times are read as if the clocks had
    not been changed yet. When they are put back one comes `twice`: the first is meant.
    """

    us: Integers
    skipped: int = 0
    twice: int = 0


def instants(wall_us: Integers, zone: ZoneInfo) -> Instants:
    """What wall-clock microseconds are in UTC, exact through every change of the clocks.

    Offsets come from `zoneinfo`, once per distinct quarter hour instead of once per event: clocks
    change at quarter hours. Where a zone's history disagrees (local mean times of the 19th
    century), the times of that quarter hour are taken one by one.
    """
    quarters, position = np.unique(wall_us // _QUARTER_US, return_inverse=True)
    starts = [int(quarter) * _QUARTER_US for quarter in quarters]
    first = np.array([_offset_us(start, zone) for start in starts], dtype=np.int64)
    last = np.array([_offset_us(start + _QUARTER_US - 1, zone) for start in starts], np.int64)
    later = np.array([_offset_us(start, zone, fold=1) for start in starts], dtype=np.int64)
    offsets, others = first[position], later[position]
    for index in np.flatnonzero((first != last)[position]):
        offsets[index] = _offset_us(int(wall_us[index]), zone)
        others[index] = _offset_us(int(wall_us[index]), zone, fold=1)
    skipped, twice = np.count_nonzero(offsets < others), np.count_nonzero(offsets > others)
    return Instants(wall_us - offsets, int(skipped), int(twice))


def _offset_us(wall_us: int, zone: ZoneInfo, fold: int = 0) -> int:
    moment = (_EPOCH + timedelta(microseconds=wall_us)).replace(tzinfo=zone, fold=fold)
    return (moment.utcoffset() or timedelta()) // _MICROSECOND
