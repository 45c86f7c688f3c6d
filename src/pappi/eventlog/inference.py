"""Type inference: times as people write them, and which type a column of texts has.

A time format is a regular expression with named parts. A whole Arrow column is split at once and
recombined as integers, so no time passes through a float. Columns in a common format are read
by Arrow itself, which is many times faster and gives the same result.

A column's type is decided by all of its values and not by a sample.
A column gets a type only if every value is one of that type and reading it loses
nothing: 007 stays text, and so does a number with more digits than fit. A marker such
as NA counts as "no value" only if it is all that keeps the column from having a
type; in a text column it stays a text, because a case or a diagnosis may be called NA.
Whether 1,234 is about one or more than a thousand, only another value can show: one that can be
read in only one way.

The times of a log are read by one clock, `LogClock`, which counts what had to be decided.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pappi.errors import Option, UsageError
from pappi.eventlog.log import ArrowArray, Guess, ReadOptions
from pappi.values import Kind

Integers: TypeAlias = NDArray[np.int64]
Truths: TypeAlias = NDArray[np.bool_]

# Zone names that mean the same offset everywhere. IST, BST or CST mean several.
_ZONES = {
    "CET": 60, "CEST": 120, "MEZ": 60, "MESZ": 120, "WET": 0, "WEST": 60, "EET": 120, "EEST": 180,
    "MSK": 180, "EDT": -240, "CDT": -300, "MDT": -360, "PST": -480, "PDT": -420, "AKST": -540,
    "AKDT": -480, "HST": -600, "JST": 540, "KST": 540, "SGT": 480, "HKT": 480, "AEST": 600,
    "AEDT": 660, "ACST": 570, "ACDT": 630, "AWST": 480, "NZST": 720, "NZDT": 780, "SAST": 120,
}  # fmt: skip
_ZONE = rf"Z|(?:UTC|GMT)?[+-]\d{{2}}(?::?\d{{2}})?|UTC|GMT|{'|'.join(_ZONES)}"
_SPACE = "[ \u00a0\u202f]"
_CLOCK = (
    r"(?:,?[T ]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})"
    rf"(?:[.,](?P<fraction>\d{{1,9}}))?)?(?:{_SPACE}?(?P<half>[AaPp][Mm])| Uhr)?)?"
    rf" ?(?P<zone>{_ZONE})?"
)
_YEAR, _MONTH, _DAY = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"
_SHORT_YEAR, _NAME = r"(?P<short>\d{2})", r"(?P<name>[A-Za-zÀ-ÿ]{3,12})\.?"
# Two digits are a year from 1969 to 2068, as in POSIX.
_PIVOT = 69
# English, German, French, Spanish, Italian, Portuguese and Dutch: no name means two months.
_MONTH_NAMES = (
    "jan january januar jänner janv janvier ene enero gen gennaio janeiro januari",
    "feb february februar févr fév février febrero febbraio fev fevereiro februari",
    "mar march mär mrz märz maerz mars marzo março mrt maart",
    "apr april avr avril abr abril aprile",
    "may mai mayo mag maggio maio mei",
    "jun june juni juin junio giu giugno junho",
    "jul july juli juil juillet julio lug luglio julho",
    "aug august août aoû ago agosto augustus",
    "sep sept september septembre septiembre set settembre setembro",
    "oct october okt oktober octobre octubre ott ottobre out outubro",
    "nov november novembre noviembre novembro",
    "dec december dez dezember déc décembre dic diciembre dicembre dezembro",
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_DIRECTIVES = {
    "%Y": _YEAR,
    "%y": _SHORT_YEAR,
    "%m": _MONTH,
    "%b": _NAME,
    "%B": _NAME,
    "%a": r"[A-Za-zÀ-ÿ]{2,12}\.?",
    "%A": r"[A-Za-zÀ-ÿ]{2,12}\.?",
    "%d": _DAY,
    "%H": r"(?P<hour>\d{1,2})",
    "%I": r"(?P<hour>\d{1,2})",
    "%M": r"(?P<minute>\d{1,2})",
    "%S": r"(?P<second>\d{1,2})",
    "%f": r"(?P<fraction>\d{1,9})",
    "%p": r"(?P<half>[AaPp][Mm])",
    "%z": r"(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)",
    "%Z": rf"(?P<zone>{_ZONE})",
    "%%": "%",
}
_SECOND_US = 1_000_000
_DAY_US = 86_400 * _SECOND_US


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """A way to write a time. `per_unit_us` is set for plain counts: since 1970, or Excel's days."""

    name: str
    pattern: str
    per_unit_us: int | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock that times without an offset were read from."""

    zone: ZoneInfo | None = None
    z_is_utc: bool = False


Tally: TypeAlias = Counter[str]
"""How many times were written in each of these ways, or fell on a change of the clocks."""
WITHOUT_OFFSET, WITH_Z, WITH_OFFSET = "without an offset", "with Z", "with an offset"
SKIPPED, TWICE = "skipped", "twice"


@dataclass(frozen=True, slots=True)
class Times:
    """A column read: microseconds where `readable`, and how they were written."""

    us: Integers
    readable: Truths
    tally: Tally = field(default_factory=Counter)


_WEEKDAY = r"(?:[A-Za-zÀ-ÿ]{2,12}\.?,? )?"
_COMPACT_DAY = r"(?P<year>(?:18|19|20|21)\d{2})(?P<month>\d{2})(?P<day>\d{2})"


def _dated(name: str, pattern: str) -> TimeFormat:
    return TimeFormat(name, f"^{pattern}{_CLOCK}$")


# In order of preference. Day and month can be confused: with dashes and dots the day
# usually comes first, with slashes the month; the whole column decides if it can.
FORMATS: Mapping[str, TimeFormat] = {
    format_.name: format_
    for format_ in (
        _dated("yyyy-mm-dd", f"{_YEAR}-{_MONTH}-{_DAY}"),
        _dated("yyyy/mm/dd", f"{_YEAR}/{_MONTH}/{_DAY}"),
        _dated("dd-mm-yyyy", f"{_DAY}-{_MONTH}-{_YEAR}"),
        _dated("dd.mm.yyyy", rf"{_DAY}\.{_MONTH}\.{_YEAR}"),
        _dated("mm/dd/yyyy", f"{_MONTH}/{_DAY}/{_YEAR}"),
        _dated("dd/mm/yyyy", f"{_DAY}/{_MONTH}/{_YEAR}"),
        _dated("mm-dd-yyyy", f"{_MONTH}-{_DAY}-{_YEAR}"),
        _dated("dd-Mon-yyyy", rf"{_WEEKDAY}{_DAY}[-. /]{{1,2}}{_NAME}[-. /]{{1,2}}{_YEAR}"),
        _dated("Mon dd, yyyy", rf"{_WEEKDAY}{_NAME} {_DAY},? {_YEAR}"),
        _dated("dd-Mon-yy", rf"{_DAY}[-. /]{{1,2}}{_NAME}[-. /]{{1,2}}{_SHORT_YEAR}"),
        _dated("dd.mm.yy", rf"{_DAY}\.{_MONTH}\.{_SHORT_YEAR}"),
        _dated("mm/dd/yy", f"{_MONTH}/{_DAY}/{_SHORT_YEAR}"),
        _dated("dd/mm/yy", f"{_DAY}/{_MONTH}/{_SHORT_YEAR}"),
        _dated("yyyymmdd", _COMPACT_DAY),
        TimeFormat(
            "yyyymmddhhmmss",
            rf"^{_COMPACT_DAY}[T ]?(?P<hour>\d{{2}})(?P<minute>\d{{2}})(?P<second>\d{{2}})?"
            r"(?P<zone>Z|[+-]\d{2}:?\d{2})?$",
        ),
    )
}
# Days since the end of 1899, as spreadsheets count them: wall-clock time, not UTC.
EXCEL = TimeFormat("excel-days", r"^[1-9]\d{4}(?:[.,]\d+)?$", _DAY_US)
_EXCEL_BEGINS_US = -25_569 * _DAY_US
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
    "mm/dd/yy": "dd/mm/yy",
    "dd/mm/yy": "mm/dd/yy",
}


def time_format(text: str) -> TimeFormat:
    """The format of that name, or the one a pattern such as "%d.%m.%Y %H:%M" describes."""
    if text in EPOCHS:  # named explicitly, any number of digits will do
        return TimeFormat(text, r"^-?\d{1,18}$", EPOCHS[text].per_unit_us)
    if text in FORMATS:
        return FORMATS[text]
    if text == EXCEL.name:
        return TimeFormat(EXCEL.name, r"^\d{1,6}(?:[.,]\d+)?$", _DAY_US)
    parts = re.split(r"(%.)", text)
    unknown = [part for part in parts[1::2] if part not in _DIRECTIVES]
    repeated = [part for part in parts[1::2] if parts.count(part) > 1 and part != "%%"]
    if unknown or repeated or not {"%Y", "%y"} & {*parts}:
        raise UsageError(
            f"{text!r} is not a time format",
            hint=f"use one of {', '.join((*FORMATS, EXCEL.name, *EPOCHS))}, or a pattern of %Y %y "
            "%m %b %d %H %I %M %S %f %p %z %Z, such as %d.%m.%Y %H:%M",
        )
    pieces = [_DIRECTIVES.get(part) or re.escape(part) for part in parts]
    return TimeFormat(text, f"^{''.join(pieces)}$")


def requested_formats(options: ReadOptions) -> tuple[TimeFormat, ...]:
    """The format that the options name, if they do."""
    return () if options.time_format is None else (time_format(options.time_format),)


def read_times(column: ArrowArray, format_: TimeFormat, clock: Clock) -> Times:
    """Every text of the column as UTC microseconds; a null is not readable."""
    if format_.name == EXCEL.name:
        return _serial_days(column, format_.pattern, clock)
    if format_.per_unit_us is not None:
        return _counted(column, format_.pattern, format_.per_unit_us)
    return _read_by_arrow(column, format_, clock) or _read_by_parts(column, format_, clock)


def _counted(column: ArrowArray, pattern: str, per_unit_us: int) -> Times:
    readable = pc.fill_null(pc.match_substring_regex(column, pattern), fill_value=False)
    counts = pc.if_else(readable, column, pa.scalar("0")).cast(pa.int64())
    numbers = counts.to_numpy(zero_copy_only=False)
    limit = np.iinfo(np.int64).max // per_unit_us
    within = readable.to_numpy(zero_copy_only=False) & (np.abs(numbers) <= limit)
    return Times(np.where(within, numbers, 0) * per_unit_us, within)


def _serial_days(column: ArrowArray, pattern: str, clock: Clock) -> Times:
    """Spreadsheets store days as doubles, exact to some ten microseconds: read to a millisecond."""
    matched = pc.fill_null(pc.match_substring_regex(column, pattern), fill_value=False)
    texts = pc.if_else(matched, pc.replace_substring(column, ",", "."), pa.scalar("0"))
    days = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    readable: Truths = matched.to_numpy(zero_copy_only=False)
    us = np.rint(days * (_DAY_US // 1000)).astype(np.int64) * 1000 + _EXCEL_BEGINS_US
    tally = Tally({WITHOUT_OFFSET: int(readable.sum())})
    us[readable] = instants(us[readable], clock.zone, tally)
    return Times(us, readable, tally)


# --- part by part --------------------------------------------------------------------


def _read_by_parts(column: ArrowArray, format_: TimeFormat, clock: Clock) -> Times:
    parts = _Parts(column, format_.pattern)
    if not parts.matched.any():
        return Times(np.zeros(len(column), np.int64), parts.matched)
    wall_us, readable = _wall_clock(parts)
    has_offset, offset_us = _offsets(parts)
    written_z = parts.text_is("zone", "Z")
    local = parts.text_is("zone", "")
    if clock.zone is not None and not clock.z_is_utc:
        local = local | written_z
    us = np.where(has_offset, wall_us - offset_us, wall_us)
    ways = {WITHOUT_OFFSET: parts.text_is("zone", ""), WITH_Z: written_z, WITH_OFFSET: has_offset}
    tally = Tally({way: int((written & readable).sum()) for way, written in ways.items()})
    us[local & readable] = instants(us[local & readable], clock.zone, tally)
    return Times(us, readable, tally)


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

    def text_is(self, name: str, expected: str) -> Truths:
        equal: Truths = pc.equal(self.text(name), expected).to_numpy(zero_copy_only=False)
        return equal

    def number(self, name: str, otherwise: int = 0) -> Integers:
        return _integers(self.text(name), otherwise)

    def year(self) -> Integers:
        if "short" not in self.names:
            return self.number("year", 1970)
        short = self.number("short")
        return short + np.where(short < _PIVOT, 2000, 1900)

    def month(self) -> Integers:
        """From 1 to 12; 0 for a name that is not that of a month."""
        if "name" not in self.names:
            return self.number("month", 1)
        names, numbers = zip(*_MONTHS.items(), strict=True)
        place = pc.index_in(pc.utf8_lower(self.text("name")), value_set=pa.array(names))
        months: Integers = np.array((*numbers, 0), np.int64)
        month_numbers: Integers = months[pc.fill_null(place, len(numbers)).to_numpy()]
        return month_numbers


def _integers(texts: ArrowArray, otherwise: int = 0) -> Integers:
    filled = pc.if_else(pc.equal(texts, ""), str(otherwise), texts)
    numbers: Integers = filled.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers


def _wall_clock(parts: _Parts) -> tuple[Integers, Truths]:
    """Microseconds by the clock, and whether the parts name a real day and a real time of it."""
    year, month, day = parts.year(), parts.month(), parts.number("day", 1)
    months = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    first = months.astype("M8[D]").astype(np.int64)
    length = (months + 1).astype("M8[D]").astype(np.int64) - first
    hour, minute, second = (parts.number(name) for name in ("hour", "minute", "second"))
    half = pc.utf8_upper(parts.text("half")).to_numpy(zero_copy_only=False)
    # 12 AM is 0 hours from midnight, 12 PM is 12.
    hours = np.where(half == "", hour, np.where(half == "PM", hour % 12 + 12, hour % 12))
    fraction = pc.utf8_rpad(parts.text("fraction"), width=6, padding="0")
    micros = _integers(pc.utf8_slice_codeunits(fraction, 0, 6))
    seconds = (hours * 60 + minute) * 60 + second
    us = (first + day - 1) * _DAY_US + seconds * _SECOND_US + micros
    of_half = (half == "") | ((hour >= 1) & (hour <= 12))
    real_time = (hour < 24) & (minute < 60) & (second < 60) & of_half
    real_day = (month >= 1) & (month <= 12) & (day >= 1) & (day <= length)
    return us, parts.matched & real_day & real_time & (year >= 2) & (year < 9999)


def _offsets(parts: _Parts) -> tuple[Truths, Integers]:
    """Which texts have an offset, as a number or a name, and the offsets in microseconds."""
    names, minutes_east = zip(*_ZONES.items(), strict=True)
    zone_index = pc.index_in(parts.text("zone"), value_set=pa.array(names))
    zone = pc.replace_substring_regex(parts.text("zone"), pattern="[^0-9+-]", replacement="")
    digits = pc.utf8_rpad(pc.utf8_slice_codeunits(zone, 1, 5), width=4, padding="0")
    hours = _integers(pc.utf8_slice_codeunits(digits, 0, 2))
    minutes = _integers(pc.utf8_slice_codeunits(digits, 2, 4))
    negative = pc.starts_with(zone, "-").to_numpy(zero_copy_only=False)
    offset = (hours * 60 + minutes) * 60 * _SECOND_US
    numeric: Truths = pc.not_equal(zone, "").to_numpy(zero_copy_only=False)
    offset = np.where(negative, -offset, offset)
    if zone_index.null_count == len(zone_index):
        return numeric, offset
    has_name = zone_index.is_valid().to_numpy(zero_copy_only=False)
    east = np.array(minutes_east, np.int64)[pc.fill_null(zone_index, 0).to_numpy()]
    return numeric | has_name, np.where(has_name, east * 60 * _SECOND_US, offset)


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
# The years from 2 to 9998, as when reading part by part.
_EARLIEST_US, _LATEST_US = -62_104_060_800_000_000, 253_370_764_800_000_000


def _read_by_arrow(column: ArrowArray, format_: TimeFormat, clock: Clock) -> Times | None:
    """All texts in one common form of that format; None if they are not."""
    if format_.name not in _ORDERS or column.null_count == len(column):
        return None
    texts = _Bytes.of(column.drop_null() if column.null_count else column)
    # All are days alone, or all have hours and minutes with a colon between.
    shortest = texts.lengths.min()
    if shortest < _MINUTE_CHARS:
        if not shortest == texts.lengths.max() == _DAY_CHARS:
            return None
    elif not (texts.data[texts.starts + _COLON] == ord(":")).all():
        return None
    written = texts.column if format_.name == "yyyy-mm-dd" else _as_iso(texts, format_.name)
    if written is None:
        return None
    # The first text decides how all are read: a failed attempt by Arrow is slow.
    offsets = _OFFSET.search(written[0].as_py(), _DAY_CHARS) is not None
    try:
        read = written.cast(pa.timestamp("us", "UTC" if offsets else None))
    except pa.ArrowInvalid:
        return None
    times: Integers = read.cast(pa.int64()).to_numpy()
    if times.min() < _EARLIEST_US or times.max() >= _LATEST_US:
        return None
    readable = column.is_valid().to_numpy(zero_copy_only=False)
    us = np.zeros(len(column), np.int64)
    us[readable] = times
    written_z = np.zeros(len(column), np.bool_)
    written_z[readable] = offsets & (texts.data[texts.ends - 1] == ord("Z"))
    with_z = int(written_z.sum())
    way = WITH_OFFSET if offsets else WITHOUT_OFFSET
    tally = Tally({way: len(times) - with_z, WITH_Z: with_z})
    # Without an offset a time is wall-clock time, and so is one with a Z that may be false.
    local = readable if not offsets else written_z & (not clock.z_is_utc)
    us[local] = instants(us[local], clock.zone, tally)
    return Times(us, readable, tally)


def _as_iso(texts: _Bytes, format_name: str) -> ArrowArray | None:
    """The texts with their days as yyyy-mm-dd; None if one is not of the format."""
    order, between = _ORDERS[format_name]
    places = texts.starts[:, None] + np.arange(_DAY_CHARS)
    days = texts.data[places][:, order]
    dashes = days[:, _DASHES]
    if days.max() > ord("9") or not (dashes == ord(between)).all():
        return None
    days[:, _DASHES] = ord("-")
    rewritten = texts.data.copy()
    rewritten[places] = days
    borders = np.append(texts.starts, texts.ends[-1:])
    return pa.StringArray.from_buffers(
        len(texts.starts), pa.py_buffer(borders), pa.py_buffer(rewritten)
    )


# --- wall-clock times to instants ----------------------------------------------------


_QUARTER_US = 900_000_000
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock has no zone
_MICROSECOND = timedelta(microseconds=1)


def instants(wall_us: Integers, zone: ZoneInfo | None, tally: Tally) -> Integers:
    """Wall-clock microseconds in UTC, exact through every change of the clocks.

    When clocks go forward an hour is skipped: its times are read as if the clocks had not changed
    yet. When they go back an hour comes twice: the first is taken. Both are counted. Without a
    zone, the clock is that of UTC.

    Offsets come from `zoneinfo`, once per distinct quarter hour instead of once per event, as
    clocks change at quarter hours. Where a zone's history differs (local mean times of the 19th
    century), the times of that quarter hour are converted one by one.
    """
    if zone is None:
        return wall_us
    quarters, position = np.unique(wall_us // _QUARTER_US, return_inverse=True)
    starts = [int(quarter) * _QUARTER_US for quarter in quarters]
    first = np.array([_offset_us(start, zone) for start in starts], dtype=np.int64)
    last = np.array([_offset_us(start + _QUARTER_US - 1, zone) for start in starts], np.int64)
    later = np.array([_offset_us(start, zone, fold=1) for start in starts], dtype=np.int64)
    offsets, second = first[position], later[position]
    for index in np.flatnonzero((first != last)[position]):
        offsets[index] = _offset_us(int(wall_us[index]), zone)
        second[index] = _offset_us(int(wall_us[index]), zone, fold=1)
    tally[SKIPPED] += int(np.count_nonzero(offsets < second))
    tally[TWICE] += int(np.count_nonzero(offsets > second))
    return wall_us - offsets


def _offset_us(wall_us: int, zone: ZoneInfo, fold: int = 0) -> int:
    moment = (_EPOCH + timedelta(microseconds=wall_us)).replace(tzinfo=zone, fold=fold)
    return (moment.utcoffset() or timedelta()) // _MICROSECOND


# --- which type a column of texts has, and the clock of a log -----------------------------


MISSING_MARKERS = ("NA", "N/A", "n/a", "NULL", "Null", "null", "None", "none", "NaN", "nan")
ALL_TIMES = (*FORMATS.values(), EXCEL, *EPOCHS.values())

_GROUPS = "[1-9]\\d{{0,2}}(?:[{}'\u00a0\u202f ]\\d{{3}}){{1,4}}"
_WHOLE = r"0|[1-9]\d{0,14}"
_PATTERNS: Mapping[str, str] = {
    "integer": r"^-?(0|[1-9]\d{0,18})$",
    "float": r"^-?((0|[1-9]\d{0,14})(\.\d*)?|\.\d+)([eE][-+]?\d{1,2})?$",
    "boolean": r"^(true|false|True|False|TRUE|FALSE)$",
    # With thousands in groups, and a comma or a point before the decimals.
    ",": rf"^-?({_WHOLE}|{_GROUPS.format('.')})(,\d*)?$",
    ".": rf"^-?({_WHOLE}|{_GROUPS.format(',')})(\.\d*)?$",
}
_KINDS = {"integer": Kind.NUMBER, "float": Kind.NUMBER, "boolean": Kind.TRUTH, "time": Kind.TIME}
_NO_ZONE = Clock()
_FEW = 20
# As many digits as a number of any writing has at most.
_PLAIN_NUMBERS = 10**15
_DIGITS = 15
_NINE = 9


@dataclass(frozen=True, slots=True)
class ColumnType:
    """integer, float, boolean, time (then with a format) or text; and markers of missing values.

    `decimal` is the decimal sign of numbers that are not written plainly.
    """

    name: str
    missing: tuple[str, ...] = ()
    time_format: TimeFormat | None = None
    decimal: str = ""

    @property
    def kind(self) -> Kind:
        return _KINDS.get(self.name, Kind.TEXT)

    def read(self, column: ArrowArray, clock: LogClock) -> ArrowArray:
        """A column of such texts as integers, floats, truth values or microseconds."""
        texts = blanked(column, self.missing)
        match self.name:
            case "time" if self.time_format is not None:
                return clock.read(texts, self.time_format)
            case "integer":
                return texts.cast(pa.int64())
            case "float" if self.decimal:
                return written_numbers(texts, self.decimal)
            case "float":
                return texts.cast(pa.float64())
            case "boolean":
                return pc.equal(pc.utf8_lower(texts), "true")
        return texts


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The first text of a column, counting rows from 0, that no time format reads."""

    row: int
    text: str
    closest: TimeFormat

    @property
    def why(self) -> str:
        """Why the text cannot be read.

        >>> Unreadable(0, "9999-12-31", FORMATS["yyyy-mm-dd"]).why
        'outside the years 1800 to 2200'
        """
        match = re.match(self.closest.pattern, self.text)
        year = match and "year" in match.groupdict() and int(match["year"])
        if year and not 1800 <= year <= 2200:
            return "outside the years 1800 to 2200"
        zone = re.search(r"\d ([A-Z]{2,5})$", self.text)
        if zone and zone[1] not in (*_ZONES, "AM", "PM"):
            return f"ambiguous: {zone[1]} is the name of several time zones, or of none"
        return f"not a time written as {self.closest.name}"

    def defect(self, column: str) -> tuple[str, str, tuple[Option, ...]]:
        """What is wrong with such a time of an event, what to do, and the options that help."""
        cause = f"{column!r} is {self.text[:80]!r}, which is {self.why}"
        hint = (
            "correct the value, give the time format, name another time column, "
            "say which text means no value, or leave such rows out"
        )
        helpful = ("time_format", "timestamp", "missing", "skip_invalid")
        return cause, hint, tuple(map(Option, helpful))


class TypeInference:
    """Observes a column, batch by batch, and rules out the types it does not have.

    If it `tolerates` unreadable times, the format that reads most of them is chosen.
    """

    def __init__(
        self,
        missing: tuple[str, ...] | None,
        times: Sequence[TimeFormat],
        *,
        tolerates: bool = False,
    ) -> None:
        self._tolerates = tolerates
        self._read: Counter[TimeFormat] = Counter()
        self._commas = False
        self._markers = MISSING_MARKERS if missing is None else missing
        self._guess_missing = missing is None
        self._plain = set(_PATTERNS)
        self._times = list(times)
        self._rows = 0
        self._any = False
        self.offsets = False
        self.markers_seen: set[str] = set()
        # The formats that had read all values before, the values that ruled them out, their rows.
        self._ruled_out: tuple[list[TimeFormat], ArrowArray, NDArray[np.int64]] | None = None

    def observe(self, column: ArrowArray) -> None:
        texts = _Bytes.of(column)
        marked = texts.are_among(self._markers)
        if marked.any():
            self.markers_seen.update(pc.unique(column.filter(pa.array(marked))).to_pylist())
        filled = (texts.lengths > 0) & ~marked
        rows = np.flatnonzero(filled) + self._rows
        self._rows += len(column)
        if len(rows):
            self._any = True
            values = column if filled.all() else column.filter(pa.array(filled))
            self._plain = _plain_types(values, self._plain)
            if "," in self._plain and "float" not in self._plain:
                self._commas |= pc.any(pc.match_substring(values, ",")).as_py()
            if self._tolerates:
                self._count(values)
                return
            readings = ((format_, _all_written(values, format_)) for format_ in self._times)
            possible = {format_: times for format_, times in readings if times is not None}
            if self._times and not possible:
                self._ruled_out = (self._times, values, rows)
            self._times = list(possible)
            self.offsets |= any(times.tally[WITH_OFFSET] for times in possible.values())

    def _count(self, values: ArrowArray) -> None:
        """Count how many of the values each format reads; the best format comes first."""
        for format_ in self._times:
            times = read_times(values, format_, _NO_ZONE)
            self._read[format_] += int(times.readable.sum())
            self.offsets |= bool(times.tally[WITH_OFFSET])
        self._times.sort(key=lambda format_: -self._read[format_])

    @property
    def unreadable(self) -> Unreadable | None:
        """The value that ruled out the last possible time format, if there was one."""
        if self._ruled_out is None:
            return None
        times, values, rows = self._ruled_out
        readable = [read_times(values, format_, _NO_ZONE).readable for format_ in times]
        best = max(range(len(readable)), key=lambda i: int(readable[i].sum()))
        first = int((~readable[best]).argmax())
        return Unreadable(int(rows[first]), values[first].as_py(), times[best])

    @property
    def decimal(self) -> str:
        """The decimal sign, comma or point, if the column shows it; otherwise empty.

        It does if its values can be read with only one of them: 1,5 or 1.234,50 but not 1,234.
        """
        if not self._any or "integer" in self._plain:
            return ""
        if "float" in self._plain:
            return "" if "," in self._plain else "."
        if self._commas and "," in self._plain and "." not in self._plain:
            return ","
        return "." if "." in self._plain and "," not in self._plain else ""

    @property
    def unclear_numbers(self) -> bool:
        """Whether its values are numbers that mean different things by comma and by point."""
        grouped = self._any and not {"integer", "float"} & self._plain
        return grouped and bool({",", "."} & self._plain) and not self.decimal

    def attribute_type(self, decimal: str = "") -> ColumnType:
        """The type of the column as an attribute; a count since 1970 is just a number.

        With `decimal`, numbers are read by this sign.
        """
        names = ("integer", "boolean") if decimal == "," else ("integer", "float", "boolean")
        for name in names:
            if self._any and name in self._plain:
                return ColumnType(name, self._missing())
        if self._any and decimal in self._plain:
            return ColumnType("float", self._missing(), decimal=decimal)
        dated = [format_ for format_ in self._times if format_.per_unit_us is None]
        if self._any and dated:
            return ColumnType("time", self._missing(), dated[0])
        return ColumnType("text", () if self._guess_missing else self._markers)

    def time_type(self) -> ColumnType | None:
        """The type of the column as event times, if it can be that."""
        possible = self.possible_times()
        return ColumnType("time", self._missing(), possible[0]) if self._any and possible else None

    def possible_times(self) -> tuple[TimeFormat, ...]:
        """The formats of all times; where some may be unreadable, of as many as possible."""
        most = max(self._read.values(), default=0)
        if self._tolerates:
            return tuple(format_ for format_ in self._times if 0 < self._read[format_] == most)
        return tuple(self._times)

    def _missing(self) -> tuple[str, ...]:
        return tuple(sorted(self.markers_seen)) if self._guess_missing else self._markers


def _all_written(values: ArrowArray, format_: TimeFormat) -> Times | None:
    """The values as times, if all have this format."""
    if not read_times(values.slice(0, _FEW), format_, _NO_ZONE).readable.all():
        return None
    times = read_times(values, format_, _NO_ZONE)
    return times if times.readable.all() else None


@dataclass(frozen=True, slots=True)
class _Bytes:
    """The bytes of texts, and where each begins and ends in them: a null is as long as nothing.

    To look at bytes side by side is many times as quick as to match a pattern text by text.
    """

    column: ArrowArray
    data: NDArray[np.uint8]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    @classmethod
    def of(cls, column: ArrowArray) -> _Bytes:
        texts = column.cast(pa.string())
        borders = np.frombuffer(texts.buffers()[1] or b"\0\0\0\0", np.int32)
        starts, ends = borders[texts.offset :][: len(texts) + 1][:-1], borders[texts.offset + 1 :]
        ends = ends[: len(texts)]
        if texts.null_count:
            ends = np.where(texts.is_null().to_numpy(zero_copy_only=False), starts, ends)
        return cls(texts, np.frombuffer(texts.buffers()[2] or b"", np.uint8), starts, ends)

    @property
    def lengths(self) -> NDArray[np.int32]:
        return self.ends - self.starts

    @property
    def written(self) -> NDArray[np.uint8]:
        """All bytes, from the first text to the last."""
        return self.data[self.starts[0] : self.ends[-1]] if len(self.starts) else self.data[:0]

    def are_among(self, few: Sequence[str]) -> Truths:
        """Whether each text is one of a few: its length and first byte tell that it hardly is."""
        encoded = [text.encode() for text in few if text]
        among, begin = np.zeros(len(self.column), np.bool_), np.zeros(256, np.bool_)
        begin[[text[0] for text in encoded]] = True
        lengths, longest = self.lengths, max(map(len, encoded), default=0)
        rows = np.flatnonzero((lengths > 0) & (lengths <= longest))
        rows = rows[begin[self.data[self.starts[rows]]]]
        if len(rows):
            found = pc.is_in(self.column.take(pa.array(rows)), value_set=pa.array(few, pa.string()))
            among[rows] = found.to_numpy(zero_copy_only=False)
        return among


def _are_decimals(values: ArrowArray) -> bool:
    """Whether all are plain numbers: up to 15 digits without leading zeros, then perhaps a point
    and more digits.
    """
    texts = _Bytes.of(values)
    written = texts.written
    points, dashes = written == ord("."), written == ord("-")
    if not (points | dashes | (written - ord("0") <= _NINE)).all():
        return False
    negative = texts.data[texts.starts] == ord("-")
    if np.count_nonzero(dashes) != np.count_nonzero(negative):
        return False
    begin, whole_until = texts.starts + negative, texts.ends.copy()
    place = np.repeat(np.arange(len(values), dtype=np.int32), texts.lengths)[points]
    if (place[1:] == place[:-1]).any():
        return False
    whole_until[place] = np.flatnonzero(points) + texts.starts[0]
    digits = whole_until - begin
    if digits.min() < 1 or digits.max() > _DIGITS:
        return False
    return not ((texts.data[begin] == ord("0")) & (digits > 1)).any()


def _whole(values: ArrowArray) -> ArrowArray | None:
    """The values as whole numbers, if all are written as such a number is: far quicker than
    matching a pattern.
    """
    try:
        numbers = values.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    texts = _Bytes.of(values)
    written = texts.written
    if not ((written - ord("0") <= _NINE) | (written == ord("-"))).all():
        return None  # of another base
    negative = texts.data[texts.starts] == ord("-")
    leading = texts.data[texts.starts + negative] == ord("0")
    return None if (leading & (texts.lengths > 1)).any() else numbers


def _plain_types(values: ArrowArray, possible: Collection[str]) -> set[str]:
    """Those of the possible types that all values have."""
    few = values.slice(0, _FEW)  # the first values already rule out most types
    plain = {name for name in possible if _are(few, name)}
    if {"integer", "float"} <= plain and (numbers := _whole(values)) is not None:
        least, most = pc.min_max(numbers).as_py().values()
        if least > -_PLAIN_NUMBERS and most < _PLAIN_NUMBERS:
            return plain  # every pattern of numbers fits
    fit = {"float", "."} if plain and _are_decimals(values) else set()
    return {name for name in plain if name in fit or _are(values, name)}


def _are(values: ArrowArray, name: str) -> bool:
    if name == "integer" and _whole(values) is not None:
        return True
    if not pc.all(pc.match_substring_regex(values, _PATTERNS[name])).as_py():
        return False
    if name == "integer":
        try:
            values.cast(pa.int64())
        except pa.ArrowInvalid:
            return False
    return True


def joined(days: ArrowArray, clocks: ArrowArray) -> ArrowArray:
    """Days and times of the day, in two columns of texts, as one."""
    day = pc.replace_substring_regex(days, r"[T ]+0?0:00(:00(\.0+)?)?$", "")
    clock = pc.replace_substring_regex(clocks, r"^(\d{2})(\d{2})(\d{2})?$", r"\1:\2:\3")
    clock = pc.utf8_rtrim(pc.utf8_trim_whitespace(clock), ":")
    both = pc.binary_join_element_wise(day, clock, " ")
    return pc.if_else(pc.equal(day, ""), "", pc.if_else(pc.equal(clock, ""), day, both))


CLOCK_ALONE = rf"^\d{{1,2}}:\d{{2}}(:\d{{2}}([.,]\d+)?)?({_SPACE}?[AaPp][Mm])?$|^\d{{6}}$"


def written_numbers(texts: ArrowArray, decimal: str) -> ArrowArray:
    """Numbers with this decimal sign, and perhaps with thousands in groups, as doubles."""
    bare = pc.replace_substring_regex(texts, rf"[^-0-9{decimal}]", "")
    return pc.replace_substring(bare, ",", ".").cast(pa.float64())


def blanked(column: ArrowArray, missing: tuple[str, ...]) -> ArrowArray:
    """The column with nulls where it is empty or has a marker of a missing value."""
    texts = _Bytes.of(column)
    absent = (texts.lengths == 0) | texts.are_among(missing)
    if not absent.any():
        return column
    return pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), column)


# --- the times of a log --------------------------------------------------------------


class LogClock:
    """Reads the time columns of one log and remembers how their zones were written.

    Unless it `learns`, each time is read by itself, whatever the others look like.
    """

    def __init__(self, options: ReadOptions, *, learns: bool = True) -> None:
        self._options = options
        self._learns = learns
        self.clock = Clock(options.zone, options.z_is_utc)
        self.tally = Tally()
        self._z_is_true = False

    def trust_z(self) -> None:
        """Trust a trailing Z, because other times of the log have an offset."""
        if not self._learns:
            return
        self._z_is_true = True
        self.clock = replace(self.clock, z_is_utc=True)

    def read(self, texts: ArrowArray, format_: TimeFormat) -> ArrowArray:
        """Texts, all readable or null, as UTC microseconds."""
        times = read_times(texts, format_, self.clock)
        self.tally += times.tally
        return pa.array(times.us, pa.int64(), mask=~times.readable)

    def guesses(self) -> Iterator[Guess]:
        zone = self._options.timezone
        if self.tally[WITHOUT_OFFSET]:
            yield Guess("times without an offset", f"read as {zone or 'UTC'}", "timezone")
        if not self.tally[WITH_Z]:
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
        options = self._options
        if self._z_is_true and self.tally[WITH_Z] and options.zone and not options.z_is_utc:
            yield "times ending in Z were read as UTC: other times of the file say their offset"
        yield from changed_clocks(self.tally, options.timezone)


def changed_clocks(tally: Tally, zone: str | None) -> Iterator[str]:
    """How local times were read that a change of the clocks skipped or made ambiguous."""
    if skipped := tally[SKIPPED]:
        yield (
            f"{skipped:,} local times do not exist in {zone}, because the clocks went forward: "
            "read as if they had not"
        )
    if twice := tally[TWICE]:
        yield (
            f"{twice:,} local times occur twice in {zone}, because the clocks went back: "
            "read as the first"
        )


def format_guess(of: ColumnType, inference: TypeInference, options: ReadOptions) -> Iterator[Guess]:
    """The inferred format of the event times, and what else it could have been."""
    if options.time_format is not None or of.time_format is None:
        return
    name = of.time_format.name
    confusable = CONFUSABLE.get(name)
    if confusable in {format_.name for format_ in inference.possible_times()}:
        name += f", but {confusable} fits as well"
    elif "short" in of.time_format.pattern:
        name += ", with years from 1969 to 2068"
    yield Guess("time format", name, "time_format")
