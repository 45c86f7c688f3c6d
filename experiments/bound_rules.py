"""Bounds that follow from a target alone, by rules that were fixed before any case was looked at.

*Means*: no value is expected beyond so many times the target. Below that, a share of ε is spent
on the whole time, a quarter of which finds a ceiling there, at most so many octaves down; the
months are released below it. *Maxima*: from 0 to so many times the target. (Means without a
ceiling, too, for comparison.)

The numbers were chosen on data that has nothing to do with the Sepsis log, by the smallest mean
relative error: `python -m benchmarks.bound_rules` prints how, and docs/paper.md has its tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from pappi.mechanisms import PrivateClippingBound
from pappi.planning import Plan
from pappi.ppinot import AggregatedMeasure, Bounding, Ppi
from pappi.values import Bounds


@dataclass(frozen=True, slots=True)
class CeilingRule:
    """Where a ceiling is looked for, and how much of ε the whole time is worth.

    `octaves` down from `times_target`: a mean is not expected to lie far below its target, and
    with few cases the less there is to choose from the better the choice.
    """

    times_target: Fraction
    octaves: int
    share: Fraction


MEANS = CeilingRule(times_target=Fraction(8), octaves=5, share=Fraction(3, 4))
LOWEST = MEANS.times_target / 2**MEANS.octaves
"""Times the target, of the lowest ceiling."""

MAXIMA = Fraction(5, 4)
MEANS_WITHOUT = Fraction(2)
"""Times the target: for maxima, and for means without a ceiling."""


def loosely_bounded(ppi: Ppi, rule: CeilingRule = MEANS) -> Ppi | None:
    """The mean with nothing but its target to bound it; None if that says nothing."""
    return _bounded(ppi, {"mean": rule.times_target}, Bounding.LOOSE)


def bounded_by_target(ppi: Ppi) -> Ppi | None:
    """The maximum, or the mean, from 0 to so many times its target; None if that says nothing."""
    return _bounded(ppi, {"max": MAXIMA, "mean": MEANS_WITHOUT}, Bounding.DECLARED)


def _bounded(ppi: Ppi, times: Mapping[str, Fraction], bounding: Bounding) -> Ppi | None:
    measure, target = ppi.measure, ppi.target
    if not isinstance(measure, AggregatedMeasure) or measure.called not in times:
        return None
    if target is None or target.high is None:
        return None
    bounds = Bounds(Fraction(0), times[measure.called] * target.high)
    return replace(ppi, measure=replace(measure, bounds=bounds, bounding=bounding))


def within_octaves(plan: Plan, octaves: int) -> Plan:
    """The plan with fewer ceilings to choose from: as private, as its mechanism is for any grid."""
    parts = [
        replace(part, mechanism=replace(part.mechanism, octaves=octaves))
        if isinstance(part.mechanism, PrivateClippingBound)
        else part
        for part in plan.measurements
    ]
    return replace(plan, measurements=tuple(parts))
