"""An aggregated measure, computed over what cases contribute.

A value here is a function of the set of contributions, never of their order: ranges, threads and
engines decide in which order cases come, and so may one more case. Floats added up one after the
other end in other last bits, and a formula can make anything of a last bit. So a sum is the exact
one, rounded once at the end, and a zero has no sign.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pappi.ppinot.model import AggregatedMeasure, Aggregation

_FEW = 1000
_CHUNK = 2**14  # small enough for the caches; and so few numbers of 27 bits add up exactly
_MANTISSA, _HALF = 53, 27


def aggregate(measure: AggregatedMeasure, contributions: NDArray[np.float64]) -> float | None:
    """The exact value; NaN contributions do not count, and without any there is no value."""
    values = contributions[~np.isnan(contributions)]
    values += 0.0  # of 0.0 and -0.0, the order would decide which is the least
    if measure.function is Aggregation.COUNT:
        return float(values.size)
    if measure.function is Aggregation.SUM:
        return exact_sum(values)
    if not values.size:
        return None
    match measure.function:
        case Aggregation.MIN:
            return float(values.min())
        case Aggregation.MAX:
            return float(values.max())
        case Aggregation.MEAN | Aggregation.SHARE:
            return exact_sum(values) / values.size
        case Aggregation.MEDIAN | Aggregation.PERCENTILE:
            # As the interval mechanism has it: a value that so many lie below, or a midpoint.
            percent = measure.percent or 50
            return float(np.percentile(values, percent, method="averaged_inverted_cdf"))


def exact_sum(values: NDArray[np.float64]) -> float:
    """The sum, rounded once: the same in whatever order the values come. Total, for any floats.

    Infinite if no float is as large; of infinities and what is no number, as floats have it.

    >>> exact_sum(np.array([1e16, 1.0, 1.0, -1e16]))
    2.0
    """
    if not np.isfinite(values).all():
        with np.errstate(invalid="ignore"):
            return float(values[~np.isfinite(values)].sum())
    if values.size <= _FEW:
        try:
            return math.fsum(values.tolist())
        except OverflowError:  # on the way, which depends on the order
            return _sum_of_whole_numbers(values)
    return _sum_of_whole_numbers(values)


def _sum_of_whole_numbers(values: NDArray[np.float64]) -> float:
    """The same for many: every float is a whole number times a power of two.

    Those of the same power are added up, in two halves of which no sum is ever rounded.
    """
    found = 0
    unit = int(np.finfo(np.float64).minexp) - 2 * _MANTISSA  # finer than any float
    for start in range(0, values.size, _CHUNK):
        mantissas, powers = np.frexp(values[start : start + _CHUNK])
        whole = mantissas * 2.0**_MANTISSA
        high = np.floor(whole * 2.0**-_HALF)
        low = whole - high * 2.0**_HALF
        lowest = int(powers.min())
        highs, lows = (np.bincount(powers - lowest, half) for half in (high, low))
        for power in np.flatnonzero((highs != 0) | (lows != 0)).tolist():
            at_power = (int(highs[power]) << _HALF) + int(lows[power])
            found += at_power << (power + lowest - _MANTISSA - unit)
    try:
        return found / (1 << -unit)  # rounded correctly, and once
    except OverflowError:
        return math.inf if found > 0 else -math.inf
