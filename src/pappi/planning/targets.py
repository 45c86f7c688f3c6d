"""What a target means for a release: which holds in a group, what is in it, what aims at it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from pappi.errors import NotReleasable
from pappi.mechanisms.margins import Limit
from pappi.planning.reach import reach_of
from pappi.ppinot.model import AggregatedMeasure, Aggregation, Ppi, Target, Wanted
from pappi.values.answers import Band

# A maximum's verdict is right at most this often, if it is met, before it is worth asking.
_WORTH_ASKING = 0.9

Number = float | Fraction


@dataclass(frozen=True, slots=True)
class Aim:
    """The target of a group, and what is still tolerated there."""

    target: Target
    tolerated: Target | None = None

    def bands(self, low: float, high: float) -> tuple[Band, ...]:
        """The bands a value between these two may lie in, best first.

        >>> week = Aim(Target(None, Fraction(7)), Target(None, Fraction(10)))
        >>> [str(band) for band in week.bands(6.0, 8.0)]
        ['green', 'amber']
        """
        if math.isnan(low) or math.isnan(high):
            return tuple(Band)
        found = {self._band(value) for value in _telling(low, high, self._limits())}
        return tuple(band for band in Band if band in found)

    def _band(self, value: Number) -> Band:
        if holds(self.target, value):
            return Band.GREEN
        tolerated = self.tolerated is not None and holds(self.tolerated, value)
        return Band.AMBER if tolerated else Band.RED

    def _limits(self) -> Iterator[Fraction]:
        for target in filter(None, (self.target, self.tolerated)):
            yield from (limit for limit in (target.low, target.high) if limit is not None)


def target_in(ppi: Ppi, group: str | None) -> Aim | None:
    """The target that holds in a group, or for all cases; the group's own goes first."""
    for own in ppi.group_targets:
        if own.key == group:
            return Aim(own.target, own.tolerated)
    return None if ppi.target is None else Aim(ppi.target, ppi.tolerated)


def holds(target: Target, value: Number) -> bool:
    return reaches(target, value) and stays_below(target, value)


def reaches(target: Target, value: Number) -> bool:
    if target.low is None:
        return True
    return value >= target.low if target.low_included else value > target.low


def stays_below(target: Target, value: Number) -> bool:
    if target.high is None:
        return True
    return value <= target.high if target.high_included else value < target.high


def _telling(low: Number, high: Number, limits: Iterator[Fraction]) -> Iterator[Number]:
    """Values that see all there is between two ends: the ends, the limits, and in between."""
    inside = sorted({limit for limit in limits if low < limit < high})
    ends: list[Number] = [low, *inside, high]
    yield from ends
    for before, after in pairwise(ends):
        if before < after:
            yield _between(before, after)


def _between(low: Number, high: Number) -> Fraction:
    if low == -math.inf:
        return Fraction(0) if high == math.inf else Fraction(high) - 1
    return Fraction(low) + 1 if high == math.inf else (Fraction(low) + Fraction(high)) / 2


# --- releases that aim at a target ----------------------------------------------------


def limit_of(ppi: Ppi) -> Limit:
    """The one limit of a target, for releases that aim at it."""
    _refuse_several_aims(ppi)
    target = ppi.target
    if target is None:
        raise NotReleasable(
            "it has no target to decide", hint="add e.g. `target: below 7 days`, or ask its value"
        )
    if target.low is not None and target.high is not None:
        raise NotReleasable(
            "a target with two ends cannot be aimed at",
            hint="ask its value, or make two PPIs with one end each",
        )
    if target.high is not None:
        return Limit(target.high, at_most=True, included=target.high_included)
    if target.low is None:
        raise NotReleasable("its target has no limit")
    return Limit(target.low, at_most=False, included=target.low_included)


def _refuse_several_aims(ppi: Ppi) -> None:
    """One release aims at one limit: not at one for each group, nor at amber besides."""
    if any(own.target != ppi.target for own in ppi.group_targets):
        raise NotReleasable(
            "its groups have targets of their own, and a release can aim at one target only",
            hint="ask its value, or make a PPI for each group, with a filter",
        )
    if ppi.release.answer is Wanted.VERDICT and any(aim.tolerated for aim in _aims(ppi)):
        raise NotReleasable(
            "a verdict alone says whether the target is met, not what is tolerated beyond it",
            hint="ask its value, or leave `amber` out",
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
    low, high = reach_of(ppi)
    least, most = _ends(target)
    if (least <= low and high <= most) or most <= low or high <= least:
        raise NotReleasable(
            f"its {what} lies at or beyond its bounds, which would decide the verdict "
            "without looking at a case",
            hint=f"declare wider bounds, or another {what}",
        )


def advice_on(ppi: Ppi, epsilon: Fraction) -> str:
    """What to ask instead, where a verdict cannot be had at this epsilon by any mechanism.

    One case more can turn "no case beyond the limit" into its opposite. So, whatever the
    log, a rule as good on both sides is right with probability at most 1 − exp(−ε/2)/2.
    """
    if not _is_extreme(ppi) or not any(_aims(ppi)):
        return ""
    right = 1 - math.exp(-float(epsilon) / 2) / 2
    if right >= _WORTH_ASKING:
        return ""
    return (
        "one case decides whether its target is kept, so at "
        f"ε = {float(epsilon):g} no even-handed verdict is right more than {100 * right:.0f} % of "
        "the time where all cases keep it; ask for the share of cases beyond the target instead"
    )


def _is_extreme(ppi: Ppi) -> bool:
    measure = ppi.measure
    return isinstance(measure, AggregatedMeasure) and measure.function in (
        Aggregation.MIN,
        Aggregation.MAX,
    )


def _ends(target: Target) -> tuple[Number, Number]:
    least = -math.inf if target.low is None else target.low
    return least, math.inf if target.high is None else target.high
