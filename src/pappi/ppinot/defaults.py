"""Bounds that the owner declares for a log, put where a definition names none."""

from __future__ import annotations

from dataclasses import replace

from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Bounding,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    MultiInstance,
    Ppi,
    SingleInstance,
    TimeMeasure,
)
from pappi.values.bounds import Bounds, DefaultBounds

_WITHOUT = (Aggregation.SHARE, Aggregation.COUNT)


def with_default_bounds(ppi: Ppi, defaults: DefaultBounds) -> Ppi:
    """The same PPI; what its writer has said stays."""
    return replace(ppi, measure=_bounded(ppi.measure, defaults))


def _bounded(measure: MultiInstance, defaults: DefaultBounds) -> MultiInstance:
    if isinstance(measure, DerivedMultiInstance):
        variables = tuple((name, _bounded(each, defaults)) for name, each in measure.variables)
        return replace(measure, variables=variables)
    if not _lacks_bounds(measure):
        return measure
    return replace(measure, bounds=_default(measure.base, defaults))


def _lacks_bounds(measure: AggregatedMeasure) -> bool:
    open_to_defaults = measure.bounds is None and measure.bounding is Bounding.DECLARED
    return open_to_defaults and measure.function not in _WITHOUT


def _default(base: SingleInstance, defaults: DefaultBounds) -> Bounds | None:
    match base:
        case TimeMeasure():
            return defaults.durations
        case CountMeasure():
            return defaults.counts
        case DataMeasure():
            return defaults.attributes.get(base.attribute)
    return None
