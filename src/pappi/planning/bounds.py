"""What public facts say of a PPI: what one case can contribute, where its value can lie, and what
a target means there; and which formulas are a ratio of two sums, that one mechanism answers at
once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeGuard

from pappi.errors import NotReleasable
from pappi.mechanisms import Limit, Looseness
from pappi.ppinot import (
    ROOT,
    AggregatedMeasure,
    Aggregation,
    Binary,
    Bounding,
    CountMeasure,
    DerivedMultiInstance,
    Expression,
    MultiInstance,
    Name,
    NumberLiteral,
    Operator,
    Ppi,
    Range,
    Target,
    TimeMeasure,
    Wanted,
    measure_kind,
    range_above,
)
from pappi.values import DURATIONS, UNIT_INTERVAL, Bounds, Kind, Vocabulary

# --- ratios of two sums ---------------------------------------------------------------

# Beyond these a factor is no unit, and its errors are no numbers.
SMALLEST_FACTOR, LARGEST_FACTOR = Fraction(1, 10**9), 10**9


@dataclass(frozen=True, slots=True)
class Ratio:
    """`factor` × one sum / another; `within`: in every case the first is a part of the second."""

    factor: Fraction
    part: AggregatedMeasure
    whole: AggregatedMeasure
    within: bool


def ratio_of(measure: DerivedMultiInstance) -> Ratio | None:
    """The ratio of sums that a formula is, if no case can make them negative."""
    named = _written(measure.formula)
    if named is None:
        return None
    factor, numerator, denominator = named
    if not SMALLEST_FACTOR <= abs(factor) <= LARGEST_FACTOR:
        return None
    variables = dict(measure.variables)
    part, whole = variables[numerator], variables[denominator]
    if not (_is_sum(part) and _is_sum(whole)) or _may_be_negative(whole):
        return None
    within = part.within == denominator
    return None if _may_be_negative(part) and not within else Ratio(factor, part, whole, within)


def is_part_of_whole(measure: object) -> bool:
    """Whether a measure is a ratio that has a meaning only as a whole."""
    ratio = ratio_of(measure) if isinstance(measure, DerivedMultiInstance) else None
    return ratio is not None and ratio.within


def _is_sum(measure: object) -> TypeGuard[AggregatedMeasure]:
    """Of declared bounds: a ceiling that is chosen for each of two sums fits neither."""
    return (
        isinstance(measure, AggregatedMeasure)
        and measure.function is Aggregation.SUM
        and measure.bounding is Bounding.DECLARED
    )


def _may_be_negative(measure: AggregatedMeasure) -> bool:
    return measure.bounds is not None and measure.bounds.low < 0


def _written(formula: Expression) -> tuple[Fraction, str, str] | None:
    """Factor, numerator and denominator of c * x / y, x / y * c and the like."""
    match formula:
        case Binary(Operator.DIVIDE, Name(numerator), Name(denominator)):
            return Fraction(1), numerator, denominator
        case Binary(
            Operator.DIVIDE,
            Binary(Operator.MULTIPLY, NumberLiteral(factor), Name(numerator))
            | Binary(Operator.MULTIPLY, Name(numerator), NumberLiteral(factor)),
            Name(denominator),
        ):
            return factor, numerator, denominator
        case Binary(Operator.MULTIPLY, NumberLiteral(factor), inner) | Binary(
            Operator.MULTIPLY, inner, NumberLiteral(factor)
        ):
            ratio = _written(inner)
            return None if ratio is None else (factor * ratio[0], *ratio[1:])
        case _:
            return None


# --- what one case can contribute -----------------------------------------------------

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
    return bounds.of_sums


# --- targets --------------------------------------------------------------------------

Number = float | Fraction


@dataclass(frozen=True, slots=True)
class Aim:
    """The target of a group, and what is still tolerated there."""

    target: Target
    tolerated: Target | None = None


def target_in(ppi: Ppi, group: str | None) -> Aim | None:
    """The target that holds in a group, or for all cases; the group's own goes first."""
    for own in ppi.group_targets:
        if own.key == group:
            return Aim(own.target, own.tolerated)
    return None if ppi.target is None else Aim(ppi.target, ppi.tolerated)


# --- releases that aim at a target ----------------------------------------------------


def limit_of(ppi: Ppi) -> Limit:
    """The one limit of a target, for releases that aim at it."""
    _refuse_several_aims(ppi)
    target = ppi.target
    if target is None:
        raise NotReleasable(
            "it has no target to judge",
            hint="add e.g. `target: below 7 days`, or ask for its value",
        )
    if target.low is not None and target.high is not None:
        raise NotReleasable(
            "a single verdict cannot cover a target with two ends",
            hint="ask for its value, or make two PPIs with one end each",
        )
    if target.high is not None:
        return Limit(target.high, at_most=True, included=target.high_included)
    if target.low is None:
        raise NotReleasable("its target has no limit")
    return Limit(target.low, at_most=False, included=target.low_included)


def _refuse_several_aims(ppi: Ppi) -> None:
    """One release aims at one limit: not at one per group, or at the tolerated band."""
    if any(own.target != ppi.target for own in ppi.group_targets):
        raise NotReleasable(
            "its groups have their own targets, and one release can only aim at one target",
            hint="ask for its value, or make a PPI for each group, with a filter",
        )
    if ppi.release.answer is Wanted.VERDICT and any(aim.tolerated for aim in _aims(ppi)):
        raise NotReleasable(
            "a verdict only says whether the target is met, not whether a miss is tolerated",
            hint="ask for its value, or leave out `amber`",
        )


def _aims(ppi: Ppi) -> Iterator[Aim]:
    """Every target the PPI has, whatever groups there are."""
    if ppi.target is not None:
        yield Aim(ppi.target, ppi.tolerated)
    yield from (Aim(own.target, own.tolerated) for own in ppi.group_targets)


def refuse_foregone_verdict(ppi: Ppi) -> None:
    """A target that holds all the value can be, or none of it, is met or missed by definition."""
    for aim in _aims(ppi):
        _refuse_foregone(ppi, aim.target, "target")
        if aim.tolerated is not None:
            _refuse_foregone(ppi, aim.tolerated, "tolerated range")


def _refuse_foregone(ppi: Ppi, target: Target, what: str) -> None:
    low, high = output_range_of(ppi)
    least = -math.inf if target.low is None else target.low
    most = math.inf if target.high is None else target.high
    if (least <= low and high <= most) or most <= low or high <= least:
        raise NotReleasable(
            f"its {what} lies at or beyond its bounds, so the verdict would not depend on any case",
            hint=f"declare wider bounds, or another {what}",
        )
