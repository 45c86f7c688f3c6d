"""The two-bin mean: mean, share and number of cases from one ε.

Each case, at lattice point k of {0..K}, is divided between two bins: k goes into A and
K − k into B. The mean is L + (U−L)·A/(A+B), the number of cases (A+B)/K.

*add-remove*: one case more or less moves (A, B) by (k, K−k), in total exactly K, wherever
it lies. Noise of scale K/ε on each has loss (k + K−k)/(K/ε) = ε. No ε is split between
sum and count, the number of cases stays private, and no cases at all is nothing special.
A case without a value goes into neither bin: it moves (A, B) by nothing.

*replace*: a replaced case could move (A, B) by 2K. But the number of cases is public:
so A alone is released, which moves by K at most, with noise of scale K/ε, next to that
number. A case without a value counts as the low bound (see `laplace`).

A truth value has K = 1, and the mean is the share of cases for which it holds.

**The estimate** under *add-remove* draws A/(A+B) a little towards the middle. In units of the
noise scale, with a = A⁺, b = B⁺ and s = a + b, it is (a + w)/(s + 2w), w = 3/(1 + s): where
the noise is large the plain quotient errs far more often to the ends than it is right to,
and w ~ 3/s² of bias is below the noise wherever the noise is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms import tails
from pappi.mechanisms.lattice import RANGE_STEPS, Lattice, total
from pappi.mechanisms.laws import Outcome
from pappi.mechanisms.mechanism import Estimate, NoisyIntegers, Values, clamp
from pappi.mechanisms.pivot import share_chance, share_interval
from pappi.values.privacy import Adjacency

Floats = NDArray[np.float64]

_HALF = Fraction(1, 2)
_DRAWN_IN = 3

# Laplace noise of scale 1 on a grid fine enough to predict errors within about 1 %.
_NOISE = np.arange(-16, 16.25, 0.25)
_WEIGHT = np.exp(-np.abs(_NOISE)) / np.exp(-np.abs(_NOISE)).sum()


@dataclass(frozen=True, slots=True)
class TwoBin(NoisyIntegers):
    """The mean of the clipped values."""

    name: ClassVar[str] = "two-bin"

    @property
    def lattice(self) -> Lattice:
        return Lattice.over(self.bounds, RANGE_STEPS, integral=self.integral)

    @property
    def scale(self) -> Fraction:
        return self.lattice.span / self.epsilon

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        return (self.scale, None if self.adjacency is Adjacency.REPLACE else self.scale)

    def statistics(self, values: Values) -> Outcome:
        lattice = self.lattice
        points = lattice.snap(values)
        first = total(points)
        if self.adjacency is Adjacency.REPLACE:
            return first, len(values)
        return first, lattice.span * len(points) - first

    def estimate(self, noisy: Outcome) -> Estimate:
        return Estimate(self._mean(self._share(noisy)), self._cases(noisy))

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """For the mean of the clipped values; holds the estimate, and rounding is included."""
        if self.adjacency is Adjacency.REPLACE:
            low, high = self._interval_of_known_length(noisy, confidence)
        else:
            first, second = noisy
            low, high = share_interval(first, second, self.scale, confidence)
            estimate = float(self._share(noisy))
            low, high = min(low, estimate), max(high, estimate)
        rounding = self.lattice.rounding
        limits = float(self.bounds.low), float(self.bounds.high)
        return (
            clamp(self._mean(low) - rounding, *limits),
            clamp(self._mean(high) + rounding, *limits),
        )

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        share = (limit - float(self.bounds.low)) / float(self.bounds.width)
        if self.adjacency is Adjacency.ADD_REMOVE or not 0 <= share < 1:
            return share_chance(noisy[0], noisy[1], self.scale, share)
        first, cases = noisy
        return tails.at_least(first - share * self.lattice.span * cases, self.scale)

    def predicted_error(self, cases: float, at: float | None) -> float:
        width = float(self.bounds.width)
        share = 0.5 if at is None else clamp((at - float(self.bounds.low)) / width, 0.0, 1.0)
        noise = tails.deviation(self.scale) / self.lattice.span
        if self.adjacency is Adjacency.ADD_REMOVE:
            return width * share_error(share, max(cases, 0.0), noise)
        if cases <= 0:
            return width * abs(share - 0.5)
        return width * tails.clamped_error(noise / cases, share, 1 - share)

    def _share(self, noisy: Outcome) -> Fraction:
        """How far up the range the mean lies, from 0 to 1; the middle if nothing is known."""
        first = max(noisy[0], 0)
        if self.adjacency is Adjacency.REPLACE:
            most = self.lattice.span * noisy[1]
            return Fraction(min(first, most), most) if most else _HALF
        return drawn_in(first, max(noisy[1], 0), self.scale)

    def _cases(self, noisy: Outcome) -> float:
        if self.adjacency is Adjacency.REPLACE:
            return float(noisy[1])
        return max(0, noisy[0] + noisy[1]) / self.lattice.span

    def _mean(self, share: float | Fraction) -> float:
        return float(self.bounds.low + self.bounds.width * Fraction(share))

    def _interval_of_known_length(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        first, cases = noisy
        most = self.lattice.span * cases
        if not most:
            return 0.0, 1.0
        width = tails.half_width(self.scale, confidence)
        return clamp((first - width) / most, 0.0, 1.0), clamp((first + width) / most, 0.0, 1.0)


def drawn_in(first: int, second: int, scale: Fraction) -> Fraction:
    """A/(A+B), drawn towards the middle where the noise is large; for sums not below 0."""
    both, square = first + second, _DRAWN_IN * scale * scale
    spread = scale + both
    return (first * spread + square) / (both * spread + 2 * square)


def drawn_in_shares(first: Floats, second: Floats) -> Floats:
    """The same for arrays of noisy sums in units of the noise scale, for predictions."""
    first, second = np.maximum(first, 0.0), np.maximum(second, 0.0)
    both = first + second
    towards = _DRAWN_IN / (1 + both)
    return np.asarray((first + towards) / (both + 2 * towards))


@lru_cache(maxsize=4096)
def share_error(share: float, cases: float, noise: float) -> float:
    """Root mean square error of the estimate, by summing over a grid of both noises."""
    if noise <= 0:
        return 0.0
    scale = max(noise / math.sqrt(2), 1e-9 * max(cases, 1.0))  # below, the error is nothing
    first = (cases * share / scale + _NOISE)[:, np.newaxis]
    guess = drawn_in_shares(first, cases * (1 - share) / scale + _NOISE)
    return float(np.sqrt(_WEIGHT @ (guess - share) ** 2 @ _WEIGHT))
