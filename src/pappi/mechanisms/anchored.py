"""The mean, anchored at its target: most of ε goes where the decision is made.

Of M = Σ(T − x) (`margins`) and the number of cases n, the mean is T − M/n. One case moves M
by at most Δ = max(T − L, U − T). M gets ε₁ = ε·ξ/(1+ξ), the number the rest: noise of scale
Δ/ε₁ on the one, 1/ε₂ on the other, which compose to ε. Near the target M is small, and then
an error in n hardly matters: that is where a falloff ξ buys accuracy. The sign of the noisy
M is the decision, and the value always lies on its side.

Under *replace* one case moves M by at most Δ = U − L, n is public, and M gets the whole of ε.

A share is the mean of truth values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pappi.mechanisms import tails
from pappi.mechanisms.lattice import total
from pappi.mechanisms.laws import Outcome
from pappi.mechanisms.margins import MeanMargin
from pappi.mechanisms.mechanism import DrawnFromLaw, Estimate, NoisyIntegers, Values, clamp
from pappi.mechanisms.pivot import RatioTail, ratio_interval, weighted_tail
from pappi.mechanisms.threshold import decision_epsilon, refuse_falloff
from pappi.values.privacy import Adjacency

_FINE = 2**20
"""Steps per case, so that the noise of the number is as good as continuous."""


@dataclass(frozen=True, slots=True)
class AnchoredMean(NoisyIntegers):
    """The mean of the clipped values, most precise at a target."""

    name: ClassVar[str] = "threshold"

    margin: MeanMargin
    falloff: Fraction

    def __post_init__(self) -> None:
        DrawnFromLaw.__post_init__(self)
        refuse_falloff(self.falloff)

    @property
    def scale(self) -> Fraction:
        """Of the margin's noise."""
        known = self.adjacency is Adjacency.REPLACE
        epsilon = self.epsilon if known else decision_epsilon(self.epsilon, self.falloff)
        least, most = self.margin.moves()
        move = most - least if known else max(-least, most)
        return move / epsilon

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        if self.adjacency is Adjacency.REPLACE:
            return self.scale, None
        left = self.epsilon - decision_epsilon(self.epsilon, self.falloff)
        return self.scale, _FINE / left

    def statistics(self, values: Values) -> Outcome:
        if self.adjacency is Adjacency.REPLACE:
            # A case without a value counts as the low bound, or it would change a public number.
            values = np.where(np.isnan(values), float(self.bounds.low), values)
            return total(self.margin.added(values)), _FINE * len(values)
        return total(self.margin.added(values)), _FINE * int(np.count_nonzero(~np.isnan(values)))

    def estimate(self, noisy: Outcome) -> Estimate:
        cases = max(noisy[1], 0) / _FINE
        away = float(self.margin.unit * noisy[0]) / max(cases, 1.0)
        return Estimate(self._at(away), cases)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        limits = float(self.bounds.low), float(self.bounds.high)
        if noisy[1] < _FINE:
            return limits
        margin, cases = float(self.margin.unit * noisy[0]), noisy[1] / _FINE
        alpha = tails.significance(confidence)
        width = float(self.bounds.width)
        ends = ratio_interval(margin, cases, alpha, self._tail(), (-width, width))
        low, high = sorted(map(self._at, ends))
        rounding = 2 * self.margin.lattice.rounding  # of a value, and of the limit
        return clamp(low - rounding, *limits), clamp(high + rounding, *limits)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        """At the limit itself, by the sign of the margin alone."""
        if not self.bounds.low <= limit < self.bounds.high:
            return float(limit >= self.bounds.high)
        away = float(self.margin.limit.value) - limit
        rho = away if self.margin.limit.at_most else -away
        margin, cases = float(self.margin.unit * noisy[0]), noisy[1] / _FINE
        # A negative number of cases is raised to 0 only where that makes the margin say less.
        off = sorted((margin - rho * cases, margin - rho * max(cases, 0.0), 0.0))[1]
        rarely = self._tail()(abs(off), rho) / 2
        at_most = off >= 0 if self.margin.limit.at_most else off <= 0
        return 1 - rarely if at_most else rarely

    def predicted_error(self, cases: float, at: float | None) -> float:
        low, high = float(self.bounds.low), float(self.bounds.high)
        centre = (low + high) / 2 if at is None else clamp(at, low, high)
        of_margin, of_cases = self._noise()
        away = abs(centre - float(self.margin.limit.value))
        noise = float(np.hypot(of_margin, away * of_cases)) / max(cases, 1.0)
        return tails.clamped_error(noise, centre - low, high - centre)

    def _at(self, away: float) -> float:
        """The mean whose margin is that much a case."""
        limit = float(self.margin.limit.value)
        value = limit - away if self.margin.limit.at_most else limit + away
        return clamp(value, float(self.bounds.low), float(self.bounds.high))

    def _tail(self) -> RatioTail:
        """Of noise on margin − ρ·cases; both are so fine that they count as continuous."""
        of_margin, of_cases = (noise / math.sqrt(2) for noise in self._noise())
        return lambda t, rho: weighted_tail(t, of_margin, abs(rho) * of_cases, 1.0)

    def _noise(self) -> tuple[float, float]:
        """Standard deviations, in units of the value times cases, and in cases."""
        _, cases = self.scales
        of_margin = tails.deviation(self.scale) * float(self.margin.unit)
        return of_margin, 0.0 if cases is None else tails.deviation(cases) / _FINE
