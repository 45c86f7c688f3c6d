"""What values a PPI can have at all, by its public bounds alone."""

from __future__ import annotations

import math

from pappi.planning.ratios import ratio_of
from pappi.ppinot.model import AggregatedMeasure, Aggregation, Bounding, MultiInstance, Ppi
from pappi.tree.above import Range, range_above
from pappi.tree.composition import ROOT
from pappi.values.bounds import UNIT_INTERVAL


def reach_of(ppi: Ppi) -> Range:
    """The range of the PPI's value: of its formula, cut to the range declared for it."""
    low, high = range_above(ppi.measure, _reaches(ppi.measure, ROOT))
    if ppi.value_range is None:
        return low, high
    return max(low, float(ppi.value_range.low)), min(high, float(ppi.value_range.high))


def _reaches(measure: MultiInstance, path: str) -> dict[str, Range]:
    """The ranges of the functions a value is computed from, by path."""
    if isinstance(measure, AggregatedMeasure):
        return {path: _aggregated_reach(measure)}
    ratio = ratio_of(measure)
    if ratio is not None and ratio.within:
        ends = 0.0, float(ratio.factor)
        return {path: (min(ends), max(ends))}
    found: dict[str, Range] = {}
    for name, child in measure.variables:
        found |= _reaches(child, f"{path}.{name}")
    return found


def _aggregated_reach(measure: AggregatedMeasure) -> Range:
    if measure.bounding is Bounding.PRIVATE:
        return -math.inf, math.inf
    bounds = measure.bounds or UNIT_INTERVAL
    if measure.function is not Aggregation.SUM:
        return float(bounds.low), float(bounds.high)
    return (0.0 if bounds.low >= 0 else -math.inf), (0.0 if bounds.high <= 0 else math.inf)
