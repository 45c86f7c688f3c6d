"""What one case can contribute, and where a PPI's value can lie: by public facts alone."""

from __future__ import annotations

import math
from fractions import Fraction

from pappi.errors import NotReleasable
from pappi.mechanisms import Looseness
from pappi.planning.ratios import ratio_of
from pappi.ppinot import (
    ROOT,
    AggregatedMeasure,
    Aggregation,
    Bounding,
    CountMeasure,
    MultiInstance,
    Ppi,
    Range,
    TimeMeasure,
    measure_kind,
    range_above,
)
from pappi.values import DURATIONS, UNIT_INTERVAL, Bounds, Kind, Vocabulary

SMALLEST, LARGEST = Fraction(1, 10**12), 10**18

# What a machine, a process and a log can hold at all: where nobody can say more.
_LONGEST = Fraction(36_525 * DURATIONS["days"])
_MOST_EVENTS = Fraction(2**20)
_LARGEST_NUMBER = Fraction(2**40)
_ADDED_UP = (Aggregation.MEAN, Aggregation.SHARE, Aggregation.SUM, Aggregation.COUNT)
_DURATION_OCTAVES = 32  # a century, down to a second
_COUNT_OCTAVES = 20
_NUMBER_OCTAVES = 50  # down to a thousandth


def bounds_of(measure: AggregatedMeasure, vocabulary: Vocabulary) -> Bounds:
    """The bounds of a contribution: declared, or all that a machine can hold."""
    if measure.bounding is Bounding.PRIVATE:
        return _domain(measure, vocabulary)[0]
    if measure.bounds is not None:
        _refuse_absurd(measure.bounds)
        return measure.bounds
    if measure_kind(measure.base, vocabulary) is Kind.TRUTH:
        return UNIT_INTERVAL
    raise NotReleasable(
        f"its {measure.called} has no public contribution bounds",
        hint="add e.g. `bounds: [0 days, 60 days]` or `bounds: [0, 5]`: values beyond count as the "
        "bound; or `bounds: private`, which costs a quarter of epsilon and can never confirm a "
        "target such as 'below 5 days', only miss it",
    )


def looseness_of(measure: AggregatedMeasure, vocabulary: Vocabulary) -> Looseness | None:
    """How loose the bounds are; None if they are tight."""
    if measure_kind(measure.base, vocabulary) is Kind.TRUTH:
        return None
    match measure.bounding:
        case Bounding.DECLARED:
            return None
        case Bounding.LOOSE:
            return Looseness()
        case Bounding.PRIVATE:
            return _domain(measure, vocabulary)[1]


def sides_cut(measure: AggregatedMeasure, vocabulary: Vocabulary | None) -> tuple[bool, bool]:
    """Whether declared bounds can cut values off below, and above: by public facts alone.

    A truth value is cut nowhere, and a duration or count never below 0.
    """
    bounds = measure.bounds
    if bounds is None or measure.bounding is not Bounding.DECLARED:
        return False, False
    if measure_kind(measure.base, vocabulary) is Kind.TRUTH:
        return False, False
    natural = isinstance(measure.base, TimeMeasure | CountMeasure) and bounds.low <= 0
    return not natural, True


def sides_hidden(
    ppi: Ppi, measure: AggregatedMeasure, ends: Range, vocabulary: Vocabulary | None
) -> tuple[bool, bool]:
    """Whether cases as they are may put a function below these ends of its interval, and above.

    So they may where nothing counts what bounds cut, and the PPI does not turn that off; a rank,
    only where an end reaches a bound.
    """
    below, above = sides_cut(measure, vocabulary)
    if measure.bounds is None or not ppi.release.clipping:
        return False, False
    if measure.function not in _ADDED_UP:
        low, high = ends
        below, above = below and low <= measure.bounds.low, above and high >= measure.bounds.high
    return below, above


def is_integral(measure: AggregatedMeasure, vocabulary: Vocabulary) -> bool:
    """Whether every case contributes a whole number, by its definition."""
    whole = isinstance(measure.base, CountMeasure)
    return whole or measure_kind(measure.base, vocabulary) is Kind.TRUTH


def _domain(measure: AggregatedMeasure, vocabulary: Vocabulary) -> tuple[Bounds, Looseness]:
    kind, zero = measure_kind(measure.base, vocabulary), Fraction(0)
    if kind is Kind.TRUTH:
        return UNIT_INTERVAL, Looseness()
    if isinstance(measure.base, TimeMeasure):
        return Bounds(zero, _LONGEST), Looseness(_DURATION_OCTAVES)
    if isinstance(measure.base, CountMeasure):
        return Bounds(zero, _MOST_EVENTS), Looseness(_COUNT_OCTAVES)
    # A formula or an attribute may be negative.
    if kind is Kind.DURATION:
        return Bounds(-_LONGEST, _LONGEST), Looseness(_DURATION_OCTAVES, either_sign=True)
    either = Bounds(-_LARGEST_NUMBER, _LARGEST_NUMBER)
    return either, Looseness(_NUMBER_OCTAVES, either_sign=True)


def _refuse_absurd(bounds: Bounds) -> None:
    """Bounds that floats cannot work with: no process has them."""
    if bounds.magnitude > LARGEST:
        raise NotReleasable("its bounds are too far apart to compute with")
    if float(bounds.low) == float(bounds.high) or bounds.width < SMALLEST:
        raise NotReleasable("its bounds are too close together to distinguish")


# --- the output range of a PPI --------------------------------------------------------


def output_range_of(ppi: Ppi) -> Range:
    """Where the PPI's value can lie: by its formula, cut to the range declared for it."""
    low, high = range_above(ppi.measure, _output_ranges(ppi.measure, ROOT))
    if ppi.value_range is None:
        return low, high
    return max(low, float(ppi.value_range.low)), min(high, float(ppi.value_range.high))


def _output_ranges(measure: MultiInstance, path: str) -> dict[str, Range]:
    """Of the functions a value is computed from, by path."""
    if isinstance(measure, AggregatedMeasure):
        return {path: _aggregated_range(measure)}
    ratio = ratio_of(measure)
    if ratio is not None and ratio.within:
        ends = 0.0, float(ratio.factor)
        return {path: (min(ends), max(ends))}
    ranges: dict[str, Range] = {}
    for name, child in measure.variables:
        ranges |= _output_ranges(child, f"{path}.{name}")
    return ranges


def _aggregated_range(measure: AggregatedMeasure) -> Range:
    if measure.bounding is Bounding.PRIVATE:
        return -math.inf, math.inf
    bounds = measure.bounds or UNIT_INTERVAL
    if measure.function is not Aggregation.SUM:
        return float(bounds.low), float(bounds.high)
    return (0.0 if bounds.low >= 0 else -math.inf), (0.0 if bounds.high <= 0 else math.inf)
