"""A mechanism as somebody would add one: the mean, as a noisy sum by a noisy number of values.

On a lattice of K steps, one case adds k to Σk and K to K·n, at most 2K in total: the
sensitivity. Noise of scale 2K/ε on each has loss at most ε, under either adjacency.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pappi.mechanisms import (
    RANGE_STEPS,
    Estimate,
    Lattice,
    NoisyIntegers,
    Outcome,
    Replaced,
    Values,
    clamp,
    laplace_deviation,
    laplace_half_width,
    laplace_tail,
)


@dataclass(frozen=True, slots=True)
class ToyMean(NoisyIntegers):
    name: ClassVar[str] = "toy"
    functions: ClassVar[tuple[str, ...]] = ("mean", "share")
    replaced: ClassVar[Replaced] = Replaced.MISSING
    caution: ClassVar[str] = "a toy: take two bins instead"

    @property
    def lattice(self) -> Lattice:
        return Lattice.over(self.bounds, RANGE_STEPS, integral=self.integral)

    @property
    def sensitivity(self) -> int:
        return 2 * self.lattice.span

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        return self.scale, self.scale

    def statistics(self, values: Values) -> Outcome:
        points = self.lattice.snap(values)
        return int(points.sum()), self.lattice.span * int(np.count_nonzero(~np.isnan(values)))

    def estimate(self, noisy: Outcome) -> Estimate:
        cases = max(noisy[1], 0) / self.lattice.span
        return Estimate(self._mean(noisy[0], noisy[1]), cases)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """Each of the two is further off at most half as often as both together may be."""
        off = laplace_half_width(self.scale, (1 + confidence) / 2)
        low, high = self._mean(noisy[0] - off, noisy[1] + off), self.output_range[1]
        return low, high if noisy[1] <= off else self._mean(noisy[0] + off, noisy[1] - off)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        low, high = self.output_range
        if not low <= limit < high:
            return float(limit >= high)
        share = (limit - low) / (high - low)
        off = noisy[0] - share * noisy[1]
        rarely = min(laplace_tail(self.scale, math.ceil(abs(off) / (1 + share))), 0.5)
        return rarely if off > 0 else 1 - rarely

    def predicted_error(self, cases: float, at: float | None) -> float:
        low, high = self.output_range
        centre = (low + high) / 2 if at is None else clamp(at, low, high)
        share = (centre - low) / (high - low)
        noise = laplace_deviation(self.scale) / self.lattice.span / max(cases, 1.0)
        return (high - low) * noise * math.hypot(1.0, share)

    def _mean(self, points: int, spans: int) -> float:
        low, high = self.output_range
        return clamp(low + (high - low) * points / max(spans, self.lattice.span), low, high)
