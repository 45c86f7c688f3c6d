"""Wall-clock times to instants, exact through every change of the clocks.

Offsets come from `zoneinfo`, once per distinct quarter hour instead of once per
event: clocks change at quarter hours. Where a zone's history disagrees (local mean
times of the 19th century), the times of that quarter hour are taken one by one.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_QUARTER_US = 900_000_000
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock has no zone
_MICROSECOND = timedelta(microseconds=1)


def instants_us(wall_us: NDArray[np.int64], zone: ZoneInfo) -> NDArray[np.int64]:
    """UTC microseconds of wall-clock microseconds; an hour that occurs twice is the first."""
    import numpy as np

    quarters, position = np.unique(wall_us // _QUARTER_US, return_inverse=True)
    starts = [int(quarter) * _QUARTER_US for quarter in quarters]
    first = np.array([_offset_us(start, zone) for start in starts], dtype=np.int64)
    last = np.array([_offset_us(start + _QUARTER_US - 1, zone) for start in starts], np.int64)
    offsets = first[position]
    for index in np.flatnonzero((first != last)[position]):
        offsets[index] = _offset_us(int(wall_us[index]), zone)
    return wall_us - offsets


def _offset_us(wall_us: int, zone: ZoneInfo) -> int:
    offset = (_EPOCH + timedelta(microseconds=wall_us)).replace(tzinfo=zone).utcoffset()
    return (offset or timedelta()) // _MICROSECOND
