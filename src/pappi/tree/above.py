"""Above an admissible set everything is post-processing: free, and of any shape.

Given what was released at some nodes, by path, these compute the value at the
root, or the range it must lie in.
"""

from __future__ import annotations

from collections.abc import Mapping

from pappi.ppinot.expressions.evaluate import evaluate
from pappi.ppinot.expressions.intervals import bound
from pappi.ppinot.model import AggregatedMeasure, MultiInstance
from pappi.tree.composition import ROOT

Range = tuple[float, float]


def value_above(
    measure: MultiInstance, released: Mapping[str, float | None], path: str = ROOT
) -> float | None:
    """The measure's value; None where its formula has none, as in a division by zero."""
    if path in released:
        return released[path]
    if isinstance(measure, AggregatedMeasure):
        raise KeyError(path)
    variables = {
        name: value_above(child, released, f"{path}.{name}") for name, child in measure.variables
    }
    value = evaluate(measure.formula, variables)
    return float(value) if isinstance(value, (int, float)) else None


def range_above(measure: MultiInstance, released: Mapping[str, Range], path: str = ROOT) -> Range:
    """Where the measure's value lies if each released value lies in its range."""
    if path in released:
        return released[path]
    if isinstance(measure, AggregatedMeasure):
        raise KeyError(path)
    ranges = {
        name: range_above(child, released, f"{path}.{name}") for name, child in measure.variables
    }
    aggregated = {n for n, child in measure.variables if isinstance(child, AggregatedMeasure)}
    return bound(measure.formula, ranges, may_be_missing=ranges.keys() - aggregated)
