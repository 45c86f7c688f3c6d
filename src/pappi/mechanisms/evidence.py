"""What one release says about a share p between 0 and 1, of a public range.

Only releases whose law depends on the answer alone are evidence of this kind: noise of a public
scale, added to sums. *Two bins* are two noisy sums, a = n·p + X and b = n·(1−p) + Y in units of
the noise's scale, with unknown n ≥ 0 and Laplace X, Y. The sizes n are taken as exponential
around their mean m, which is estimated from all periods, or around a tenth of it for one period
in four. That makes the likelihood a mixture of two of the form

    L(p) = 1/m · ∫₀^∞ exp(−|a − n·p| − |b − n·(1−p)| − n/m) dn,

whose exponent is linear between 0, a/p and b/(1−p): an integral in closed form. It is flat
where a period is empty, and knows that a large sum may be noise where periods are small. *A
point* is a number with Laplace noise: L(p) = exp(−|p − at|/scale).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TINY = 1e-12
"""How close to an end of the range a share is told from it."""

LEAST = 1e-300
"""What counts as nothing, where a logarithm is taken."""

_SOME, _SMALL = 0.25, 0.1  # of the periods are so much smaller than usual


@dataclass(frozen=True, slots=True)
class Bins:
    """Two noisy sums in units of their noise's scale: of a part, and of the rest."""

    first: float
    second: float

    @property
    def size(self) -> float:
        return max(self.first + self.second, 0.0)

    @property
    def likely(self) -> tuple[float, float]:
        """A share, and about how far off it is; the middle if nothing is known."""
        first, second = max(self.first, 0.0), max(self.second, 0.0)
        both = first + second
        towards = 3 / (1 + both)
        share = (first + towards) / (both + 2 * towards)
        return share, 1.5 * math.hypot(share, 1 - share) / (1 + both)

    def log_likelihood(self, shares: Floats, usual_size: float) -> Floats:
        """See above."""
        small = _SMALL * usual_size
        of_usual = math.log((1 - _SOME) / usual_size) + self._for_sizes(shares, 1 / usual_size)
        of_small = math.log(_SOME / small) + self._for_sizes(shares, 1 / small)
        return np.logaddexp(of_usual, of_small)

    def _for_sizes(self, shares: Floats, rate: float) -> Floats:
        """For sizes that are exponential with this rate, but for a factor of the rate."""
        p = np.clip(shares, TINY, 1 - TINY)
        q, a, b = 1 - p, self.first, self.second
        part, rest = np.maximum(a / p, 0.0), np.maximum(b / q, 0.0)
        near, far = np.minimum(part, rest), np.maximum(part, rest)

        def exponent(size: Floats) -> Floats:
            return -np.abs(a - size * p) - np.abs(b - size * q) - rate * size

        exponents = [exponent(size) for size in (np.zeros_like(p), near, far)]
        # The largest is at one of the three: brought to 0, so that nothing vanishes.
        most = max(float(each.max()) for each in exponents)
        none, at_near, at_far = (np.exp(each - most) for each in exponents)
        slope = np.where(part < rest, q - p, p - q) - rate
        below = _between(none, at_near, np.full_like(p, 1 - rate), near)
        total = below + _between(at_near, at_far, slope, far - near) + at_far / (1 + rate)
        return most + np.log(np.maximum(total, LEAST))


@dataclass(frozen=True, slots=True)
class Point:
    """A share with Laplace noise of a known scale."""

    at: float
    scale: float

    @property
    def size(self) -> float:
        """Noise on a mean falls as the number of cases grows."""
        return 1 / self.scale

    @property
    def likely(self) -> tuple[float, float]:
        return min(max(self.at, 0.0), 1.0), 1.5 * self.scale

    def log_likelihood(self, shares: Floats, usual_size: float) -> Floats:  # noqa: ARG002 - it has no unknown size
        return np.asarray(-np.abs(shares - self.at) / self.scale)


Evidence = Bins | Point


def _between(start: Floats, end: Floats, slope: Floats, length: Floats) -> Floats:
    """∫ of an exponential whose exponent is linear, by its values at both ends."""
    level = np.abs(slope * length) < 1e-6
    rising = (end - start) / np.where(level, 1.0, slope)
    return np.where(level, start * length, rising)
