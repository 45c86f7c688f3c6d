"""Columns of times that are all written in a common form, read by Arrow itself.

    2011-10-01T00:38:44.546+02:00    01.10.2011 00:38    2011/10/01 00:38:44Z

Arrow reads year, month, day and a clock many times faster than a regular expression takes
them apart. It is asked only where both surely agree; every other column is left to `times`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pappi.eventlog.log import ArrowArray
from pappi.eventlog.zones import Instants, instants

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    import numpy as np
    from numpy.typing import NDArray

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
_DAY = len("yyyy-mm-dd")
_MINUTE = len("yyyy-mm-dd hh:mm")
_COLON = 13
_OFFSET = re.compile(r"[Z+-]")
# The years from 2 to 9998, which `times` reads as well.
_EARLIEST_US, _LATEST_US = -62_104_060_800_000_000, 253_370_764_800_000_000


class CommonTimes:
    """Microseconds of texts without nulls, and which of them end in Z or have no offset."""

    def __init__(self, us: NDArray[np.int64], with_z: NDArray[np.bool_], *, offsets: bool) -> None:
        self.us = us
        self.with_z = with_z
        self.without_offset = 0 if offsets else len(us)

    def instants(self, zone: ZoneInfo | None, *, z_is_utc: bool) -> Instants:
        """With a zone, what has no offset, and perhaps a false Z, is its wall clock's."""
        if zone is None:
            return Instants(self.us)
        if self.without_offset:
            return instants(self.us, zone)
        if z_is_utc or not self.with_z.any():
            return Instants(self.us)
        us, false_z = self.us.copy(), instants(self.us[self.with_z], zone)
        us[self.with_z] = false_z.us
        return Instants(us, false_z.skipped, false_z.twice)


def common_times(texts: ArrowArray, format_name: str) -> CommonTimes | None:
    """The times, or None if not all of them are written in a common form of that format."""
    import numpy as np
    import pyarrow as pa

    if format_name not in _ORDERS or texts.type != pa.string() or not len(texts):
        return None
    borders = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    if not _has_clock_or_none(data, borders):
        return None
    ordered = _as_iso(texts, data, borders, format_name)
    # The first text decides how all are read: asking Arrow in vain is dear.
    offsets = _OFFSET.search(texts[0].as_py(), _DAY) is not None
    us = None if ordered is None else _cast(ordered, offsets=offsets)
    if us is None or us.min() < _EARLIEST_US or us.max() >= _LATEST_US:
        return None
    return CommonTimes(us, offsets & (data[borders[1:] - 1] == ord("Z")), offsets=offsets)


def _has_clock_or_none(data: NDArray[np.uint8], borders: NDArray[np.int32]) -> bool:
    """Whether all are days alone, or all have hours and minutes with a colon between."""
    import numpy as np

    lengths = np.diff(borders)
    if lengths.min() < _MINUTE:
        return bool(lengths.min() == lengths.max() == _DAY)
    return bool((data[borders[:-1] + _COLON] == ord(":")).all())


def _as_iso(
    texts: ArrowArray, data: NDArray[np.uint8], borders: NDArray[np.int32], format_name: str
) -> ArrowArray | None:
    """The texts with their days as yyyy-mm-dd; None if one is not of the format."""
    import numpy as np
    import pyarrow as pa

    if format_name == "yyyy-mm-dd":
        return texts
    order, between = _ORDERS[format_name]
    places = borders[:-1, None] + np.arange(_DAY)
    days = data[places][:, order]
    dashes = days[:, _DASHES]
    if days.max() > ord("9") or not (dashes == ord(between)).all():
        return None
    days[:, _DASHES] = ord("-")
    rewritten = data.copy()
    rewritten[places] = days
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(borders), pa.py_buffer(rewritten))


def _cast(texts: ArrowArray, *, offsets: bool) -> NDArray[np.int64] | None:
    """Microseconds, if all texts say an offset, or none does, and all are times."""
    import pyarrow as pa

    try:
        times = texts.cast(pa.timestamp("us", "UTC" if offsets else None))
    except pa.ArrowInvalid:
        return None
    us: NDArray[np.int64] = times.cast(pa.int64()).to_numpy()
    return us
