"""Wall-clock times to instants, exact through every change of the clocks.

Offsets come from `zoneinfo`, once per distinct quarter hour instead of once per
event: clocks change at quarter hours. Where a zone's history disagrees (local mean
times of the 19th century), the times of that quarter hour are taken one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_QUARTER_US = 900_000_000
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock has no zone
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Instants:
    """UTC microseconds, and how many of the wall-clock times had none, or two, of them.

    When clocks are put forward an hour is `skipped`: its times are read as if the clocks had
    not been changed yet. When they are put back one comes `twice`: the first is meant.
    """

    us: NDArray[np.int64]
    skipped: int = 0
    twice: int = 0


def instants(wall_us: NDArray[np.int64], zone: ZoneInfo) -> Instants:
    """What wall-clock microseconds are in UTC."""
    import numpy as np

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
