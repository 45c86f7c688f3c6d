"""An aggregated measure, computed over what cases contribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pappi.ppinot.model import AggregatedMeasure, Aggregation


def aggregate(measure: AggregatedMeasure, contributions: NDArray[np.float64]) -> float | None:
    """The exact value; NaN contributions do not count, and without any there is no value."""
    values = contributions[~np.isnan(contributions)]
    if measure.function is Aggregation.COUNT:
        return float(values.size)
    if measure.function is Aggregation.SUM:
        return float(values.sum())
    if not values.size:
        return None
    match measure.function:
        case Aggregation.MIN:
            return float(values.min())
        case Aggregation.MAX:
            return float(values.max())
        case Aggregation.MEAN | Aggregation.SHARE:
            return float(values.mean())
        case Aggregation.MEDIAN | Aggregation.PERCENTILE:
            # As the interval mechanism has it: a value that so many lie below, or a midpoint.
            percent = measure.percent or 50
            return float(np.percentile(values, percent, method="averaged_inverted_cdf"))
