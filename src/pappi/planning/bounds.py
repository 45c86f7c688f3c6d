"""What one case can contribute, by public facts alone."""

from __future__ import annotations

from fractions import Fraction

from pappi.errors import NotReleasable
from pappi.mechanisms.choose import Looseness
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import AggregatedMeasure, Bounding, CountMeasure, TimeMeasure
from pappi.values.bounds import UNIT_INTERVAL, Bounds
from pappi.values.units import DURATIONS
from pappi.values.vocabulary import Kind, Vocabulary

SMALLEST, LARGEST = Fraction(1, 10**12), 10**18

# What a machine, a process and a log can hold at all: where nobody can say more.
_LONGEST = Fraction(36_525 * DURATIONS["days"])
_MOST_EVENTS = Fraction(2**20)
_LARGEST_NUMBER = Fraction(2**40)
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
        f"its {measure.called} has no public bounds on what one case contributes",
        hint="add e.g. `bounds: [0 days, 60 days]` or `bounds: [0, 5]`: what lies beyond counts "
        "as the bound; or `bounds: private`, which costs a quarter of epsilon, and with which a "
        "target such as 'below 5 days' can be missed but never be confirmed",
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
        raise NotReleasable("its bounds are too far apart to be worked with")
    if float(bounds.low) == float(bounds.high) or bounds.width < SMALLEST:
        raise NotReleasable("its bounds are too close together to be told apart")
