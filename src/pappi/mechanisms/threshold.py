"""The threshold mechanism: releases that know the target.

The paper scores intervals on the wrong side of a target worse, by a falloff ξ. Its scores
move by up to ξ·n when one case crosses the target, so its loss is hundreds of ε. What it is
for, a decision that is seldom wrong, is had by spending on the decision itself:

- **The decision alone** (`NoisyMargin`). The margin q (`margins`) moves by at most 1 with one
  case; noise of scale 1/ε has loss at most ε. The target is met if the noisy margin is not
  negative: wrong with probability exp(−ε·|q|)/2. Releasing the noisy margin itself and not
  only its sign costs nothing more, and tells how sure one may be.
- **Decision and value** (`TwoStage`). The noisy margin gets ε₁ = ε·ξ/(1+ξ). Then the
  interval mechanism, at ε₂ = ε − ε₁, draws the value among the points on that side of the
  target. Its weights are those without a target, restricted to a set of points that the
  first stage alone has chosen, so it loses at most ε₂; together ε (`StagedLaw`). Value and
  verdict always agree, and ξ says how much of ε is spent on the verdict.

For a mean there is something better: `anchored`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import ClassVar

from pappi.errors import NotReleasable, UsageError
from pappi.mechanisms import tails
from pappi.mechanisms.interval import Points, RankScored
from pappi.mechanisms.laws import Law, NoisySign, Outcome, StagedLaw
from pappi.mechanisms.margins import PER_CASE, Limit, Margin, SumMargin
from pappi.mechanisms.mechanism import DrawnFromLaw, Estimate, NoisyIntegers, Values

MOST_FALLOFF = 1_000


@dataclass(frozen=True, slots=True)
class NoisyMargin(NoisyIntegers):
    """Whether a target is met, and how sure that is; no value."""

    name: ClassVar[str] = "threshold"

    margin: Margin
    limit: Limit
    """On the value; the margin's own may be on something that the value is a multiple of."""
    reach: tuple[float, float]
    """Where the value can lie at all, by public facts."""

    @property
    def width(self) -> int:
        return self.margin.width

    @property
    def scale(self) -> Fraction:
        return PER_CASE / self.epsilon

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        return (self.scale,)

    def statistics(self, values: Values) -> Outcome:
        return (self.margin.cases(values, self.adjacency),)

    def estimate(self, noisy: Outcome) -> Estimate:  # noqa: ARG002 - a margin is no value
        return Estimate(None)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """All that is known of the value is on which side of the limit it lies, if that."""
        low, high = self.reach
        met = self.chance_met(noisy)
        if max(met, 1 - met) < 1 - tails.significance(confidence) / 2:
            return low, high
        below = (met > 0.5) == self.limit.at_most
        limit = float(self.limit.value)
        return (low, limit) if below else (limit, high)

    def chance_met(self, noisy: Outcome) -> float:
        """How sure one may be that the margin is not negative."""
        return 1 - tails.at_least(noisy[0] + 1, self.scale)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        """Known at the limit the margin is about, and at the ends of the range.

        At another limit only what follows: a value below this one is below a higher one too.
        """
        low, high = self.reach
        if not low <= limit < high:
            return float(limit >= high)
        met, own = self.chance_met(noisy), float(self.limit.value)
        below = met if self.limit.at_most else 1 - met
        if limit == own:
            return below
        return min(below, 0.5) if limit < own else max(below, 0.5)

    def predicted_error(self, cases: float, at: float | None) -> float:  # noqa: ARG002 - the noise is the same everywhere
        """How far from the target a value is told apart from it, as a standard deviation."""
        noise = tails.deviation(self.scale) / PER_CASE
        furthest = float(max(map(abs, self.margin.moves())) * self.margin.unit)
        # Among many cases one moves a mean, a share or a rank by less; a sum as much as ever.
        return noise * furthest / (1.0 if isinstance(self.margin, SumMargin) else max(cases, 1.0))


@dataclass(frozen=True, slots=True)
class TwoStage(DrawnFromLaw):
    """The decision, and then a value on its side of the target."""

    name: ClassVar[str] = "threshold"

    margin: Margin
    falloff: Fraction
    unaimed: RankScored
    """The mechanism of the second stage, as it would be without a target."""

    def __post_init__(self) -> None:
        DrawnFromLaw.__post_init__(self)
        refuse_falloff(self.falloff)
        if self.unaimed.epsilon != self.epsilon - decision_epsilon(self.epsilon, self.falloff):
            raise UsageError("the stages of a threshold release must share its epsilon")
        if not (self._side(0) and self._side(1)):
            raise NotReleasable("its target leaves no value on one side of it")

    @property
    def decision(self) -> NoisyMargin:
        epsilon = decision_epsilon(self.epsilon, self.falloff)
        reach, limit = (float(self.bounds.low), float(self.bounds.high)), self.margin.limit
        return NoisyMargin(
            self.bounds, epsilon, self.adjacency, self.integral, self.margin, limit, reach
        )

    def law(self, values: Values) -> Law:
        first = NoisySign(self.margin.cases(values, self.adjacency), self.decision.scale)
        free = self.unaimed.law(values)

        def aimed(met: int) -> Law:
            side = self._side(met)
            return free.within(side[0], side[-1])

        return StagedLaw(first, cache(aimed))

    def estimate(self, noisy: Outcome) -> Estimate:
        return self.unaimed.estimate(noisy[1:])

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """The decision's: the value's own would hold only where the decision is right."""
        return self.decision.interval(noisy[:1], confidence)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        return self.decision.chance_at_most(noisy[:1], limit)

    def predicted_error(self, cases: float, at: float | None) -> float:
        return self.unaimed.predicted_error(cases, at)

    def _side(self, met: int) -> range:
        """The points on one side of the target."""
        points, limit = self.unaimed.lattice, self.margin.limit
        every, cut = range(points.lowest, points.highest + 1), _cut(points, limit)
        return every[:cut] if bool(met) == limit.at_most else every[cut:]


@lru_cache(maxsize=1024)
def _cut(points: Points, limit: Limit) -> int:
    """How many points lie below the limit, itself included where it belongs to them."""
    bisect = bisect_right if limit.included == limit.at_most else bisect_left
    every = range(points.lowest, points.highest + 1)
    return bisect(every, float(limit.value), key=points.value)


def decision_epsilon(epsilon: Fraction, falloff: Fraction) -> Fraction:
    """What a falloff leaves for the decision: ε·ξ/(1+ξ)."""
    return epsilon * falloff / (1 + falloff)


def refuse_falloff(falloff: Fraction) -> None:
    if not 0 < falloff <= MOST_FALLOFF:
        raise UsageError(
            f"a falloff lies above 0 and is at most {MOST_FALLOFF}, not {falloff}",
            hint="3 spends three quarters of epsilon on the decision; without a target in mind, "
            "choose another mechanism",
        )
