"""How far off a release is expected to be: the noise, as a typical error.

From public facts only: bounds, epsilon, an assumed number of cases per period,
and the target as the point where precision matters. What clipping to the bounds
changes depends on the data and is not part of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pappi.mechanisms.grid import IMAGINED_CEILING
from pappi.planning.parts import Part
from pappi.ppinot.model import AggregatedMeasure, Aggregation, Bounding, Ppi
from pappi.tree.above import value_above
from pappi.tree.composition import ROOT
from pappi.values.bounds import UNIT_INTERVAL


def predicted_error(ppi: Ppi, parts: Sequence[Part], cases: int) -> float:
    """The root mean square error of the PPI's value, in internal units; infinite if unknown."""
    inputs = [measure for part in parts for measure in part.inputs]
    if any(measure.bounding is Bounding.PRIVATE for measure in inputs):
        return math.inf
    if parts[0].path == ROOT:
        return parts[0].mechanism.predicted_error(cases, _operating_point(ppi, parts[0]))
    error = math.hypot(*contributions(ppi, parts, cases))
    return math.inf if math.isnan(error) else error


def _operating_point(ppi: Ppi, part: Part) -> float | None:
    """The target; where bounds are loose, values are taken to fill a small part of them."""
    if ppi.target is None:
        return _usual(part.inputs[0])
    limits = [limit for limit in (ppi.target.low, ppi.target.high) if limit is not None]
    return float(sum(limits) / len(limits)) if limits else None


def _usual(measure: AggregatedMeasure) -> float | None:
    bounds = measure.bounds
    if bounds is None or measure.bounding is not Bounding.LOOSE:
        return None
    return float(bounds.low + bounds.width * IMAGINED_CEILING)


def contributions(ppi: Ppi, parts: Sequence[Part], cases: int) -> tuple[float, ...]:
    """How far off the value is for each function's error alone.

    First order: each function's error times how much the formula moves with it. The slope
    is taken over the width of the error itself, which keeps it honest where the formula is
    curved, and the value is kept in its public range.
    """
    points = {part.path: _middle(part, cases) for part in parts}
    return tuple(abs(_moved(ppi, points, part, cases)) for part in parts)


def _moved(ppi: Ppi, points: Mapping[str, float], part: Part, cases: int) -> float:
    """By how much the value moves when this function is off by its typical error."""
    point, error = points[part.path], part.mechanism.predicted_error(cases, None)
    above = _value(ppi, {**points, part.path: point + error})
    below = _value(ppi, {**points, part.path: point - error})
    return (above - below) / 2


def _middle(part: Part, cases: int) -> float:
    """Where a function lies if every case is in the middle of its bounds."""
    measure, *wholes = part.inputs
    if wholes:
        return part.mechanism.estimate((1, 1)).value or 0.0
    bounds = measure.bounds or UNIT_INTERVAL
    middle = float(bounds.low + bounds.high) / 2
    return cases * middle if measure.function is Aggregation.SUM else middle


def _value(ppi: Ppi, values: Mapping[str, float]) -> float:
    """The formula at a point; where it has no value, as far off as the range allows."""
    value = value_above(ppi.measure, values)
    if ppi.value_range is None:
        return math.inf if value is None else value
    low, high = float(ppi.value_range.low), float(ppi.value_range.high)
    return high if value is None else min(max(value, low), high)
