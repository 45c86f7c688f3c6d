"""Written times: the formats that are recognised, and reading them by the column.

A format is a regular expression with named parts. A whole Arrow column is taken apart
at once and put together as integers, so no time passes through a float.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from zoneinfo import ZoneInfo

from pappi.errors import UsageError
from pappi.eventlog.log import ArrowArray
from pappi.eventlog.times_common import common_times
from pappi.eventlog.zones import instants

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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

    `skipped` and `twice` count local times at a change of the clocks, as `zones` does.
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


def _read_by_arrow(column: ArrowArray, written: TimeFormat, clock: Clock) -> Times | None:
    import numpy as np

    found = common_times(column.drop_null() if column.null_count else column, written.name)
    if found is None:
        return None
    readable = column.is_valid().to_numpy(zero_copy_only=False)
    us = np.zeros(len(column), np.int64)
    read = found.instants(clock.zone, z_is_utc=clock.z_is_utc)
    us[readable] = read.us
    with_z, without = int(found.with_z.sum()), found.without_offset
    with_offset = len(found.us) - with_z - without
    return Times(us, readable, without, with_z, with_offset, read.skipped, read.twice)


def _read_by_parts(column: ArrowArray, written: TimeFormat, clock: Clock) -> Times:
    import numpy as np

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
    skipped = twice = 0
    if clock.zone is not None:
        chosen = local & readable
        read = instants(wall_us[chosen], clock.zone)
        us[chosen], skipped, twice = read.us, read.skipped, read.twice
    without, with_z, with_offset = (
        int((some & readable).sum()) for some in (parts.text_is("zone", ""), written_z, has_offset)
    )
    return Times(us, readable, without, with_z, with_offset, skipped, twice)


def _counted(column: ArrowArray, pattern: str, per_unit_us: int) -> Times:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    readable = pc.fill_null(pc.match_substring_regex(column, pattern), fill_value=False)
    counts = pc.if_else(readable, column, pa.scalar("0")).cast(pa.int64())
    numbers = counts.to_numpy(zero_copy_only=False)
    limit = np.iinfo(np.int64).max // per_unit_us
    within = readable.to_numpy(zero_copy_only=False) & (np.abs(numbers) <= limit)
    return Times(np.where(within, numbers, 0) * per_unit_us, within)


class _Parts:
    """The named parts of every text in a column, as integers where they are numbers."""

    def __init__(self, column: ArrowArray, pattern: str) -> None:
        import pyarrow.compute as pc

        self.names = set(re.findall(r"\?P<(\w+)>", pattern))
        self._found = pc.extract_regex(column, pattern=pattern)
        self.matched: Truths = pc.is_valid(self._found).to_numpy(zero_copy_only=False)

    def text(self, name: str) -> ArrowArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        if name not in self.names:
            return pa.array([""] * len(self.matched), pa.string())
        return pc.fill_null(pc.struct_field(self._found, name), "")

    def text_is(self, name: str, wanted: str) -> Truths:
        import pyarrow.compute as pc

        found: Truths = pc.equal(self.text(name), wanted).to_numpy(zero_copy_only=False)
        return found

    def number(self, name: str, otherwise: int = 0) -> Integers:
        return _integers(self.text(name), otherwise)


def _integers(texts: ArrowArray, otherwise: int = 0) -> Integers:
    import pyarrow as pa
    import pyarrow.compute as pc

    filled = pc.if_else(pc.equal(texts, ""), str(otherwise), texts)
    numbers: Integers = filled.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers


def _hours(parts: _Parts) -> Integers:
    """Hours from midnight: 12 AM is 0, 12 PM is 12."""
    import numpy as np
    import pyarrow.compute as pc

    hour = parts.number("hour")
    half = pc.utf8_upper(parts.text("half")).to_numpy(zero_copy_only=False)
    twelve_hour = np.where(half == "PM", hour % 12 + 12, hour % 12)
    return np.where(half == "", hour, twelve_hour)


def _wall_us(parts: _Parts) -> Integers:
    import numpy as np
    import pyarrow.compute as pc

    months = (parts.number("year", 1970) - 1970) * 12 + parts.number("month", 1) - 1
    days = months.astype("M8[M]").astype("M8[D]").astype(np.int64) + parts.number("day", 1) - 1
    seconds = (_hours(parts) * 60 + parts.number("minute")) * 60 + parts.number("second")
    fraction = pc.utf8_rpad(parts.text("fraction"), width=6, padding="0")
    micros = _integers(pc.utf8_slice_codeunits(fraction, 0, 6))
    return days * _DAY_US + seconds * _SECOND_US + micros


def _in_range(parts: _Parts) -> Truths:
    """Whether the parts name a real day and a real time of it."""
    import numpy as np

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
    import numpy as np
    import pyarrow.compute as pc

    zone = pc.replace_substring_regex(parts.text("zone"), pattern="[^0-9+-]", replacement="")
    digits = pc.utf8_rpad(pc.utf8_slice_codeunits(zone, 1, 5), width=4, padding="0")
    hours = _integers(pc.utf8_slice_codeunits(digits, 0, 2))
    minutes = _integers(pc.utf8_slice_codeunits(digits, 2, 4))
    negative = pc.starts_with(zone, "-").to_numpy(zero_copy_only=False)
    offset = (hours * 60 + minutes) * 60 * _SECOND_US
    numeric: Truths = pc.not_equal(zone, "").to_numpy(zero_copy_only=False)
    return numeric, np.where(negative, -offset, offset)
