"""How large discrete Laplace noise gets: tails, widths and errors, as floats.

Everything here describes noise of a public scale, for intervals and predicted
errors. Nothing here decides what is released.

With q = exp(−1/s): P(Z = z) = (1−q)/(1+q) · q^|z| and P(|Z| ≥ k) = 2q^k/(1+q), k ≥ 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pappi.errors import UsageError

_LARGEST_EXPONENT = 700.0  # math.exp and math.sinh overflow a little above


def dot(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """left @ right, added up in one order: an answer has the same last digit in every process.

    BLAS, behind @, shares large products among as many threads as there are.

    >>> dot(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([3.0, 4.0]))
    array([11.,  4.])
    """
    own, others = ("j", "ij")[left.ndim - 1], ("j", "jk")[right.ndim - 1]
    return np.asarray(np.einsum(f"{own},{others}->{own[:-1]}{others[1:]}", left, right))


def significance(confidence: float) -> float:
    """How often an interval of this confidence may miss."""
    if not 0 < confidence < 1:
        raise UsageError(f"confidence must lie between 0 and 1, not {confidence}", hint="e.g. 0.95")
    return 1 - confidence


def probability(scale: Fraction, z: int) -> float:
    """P(Z = z)."""
    rate = float(1 / scale)
    return math.tanh(rate / 2) * math.exp(-abs(z) * rate)


def tail(scale: Fraction, k: int) -> float:
    """P(|Z| ≥ k)."""
    if k <= 0:
        return 1.0
    rate = float(1 / scale)
    return 2 * math.exp(-k * rate) / (1 + math.exp(-rate))


def at_least(distance: float, scale: Fraction) -> float:
    """P(Z ≥ distance), for a distance of either sign."""
    k = math.ceil(distance)
    return tail(scale, k) / 2 if k > 0 else 1 - tail(scale, 1 - k) / 2


def half_width(scale: Fraction, confidence: float) -> int:
    """The smallest w with P(|Z| ≤ w) ≥ confidence."""
    rate = float(1 / scale)
    allowed = significance(confidence) * (1 + math.exp(-rate)) / 2
    return max(0, math.ceil(-math.log(allowed) / rate) - 1)


def tail_of_two(scale: Fraction, k: int) -> float:
    """P(|Z₁ + Z₂| ≥ k) for independent noise of one scale.

    P(Z₁ + Z₂ = j) = ((1−q)/(1+q))² · q^j · (j + (1+q²)/(1−q²)), j ≥ 0, summed from k on.
    """
    if k <= 0:
        return 1.0
    rate = min(float(1 / scale), _LARGEST_EXPONENT)
    left = -math.expm1(-rate)
    mean = (k + 1 / math.tanh(rate)) / left + math.exp(-rate) / left**2
    return min(2 * math.tanh(rate / 2) ** 2 * math.exp(-k * rate) * mean, 1.0)


@lru_cache(maxsize=1024)
def half_width_of_two(scale: Fraction, confidence: float) -> int:
    """The smallest w with P(|Z₁ + Z₂| ≤ w) ≥ confidence."""
    allowed, enough = significance(confidence), 1
    while tail_of_two(scale, enough) > allowed:
        enough *= 2
    return bisect_left(range(enough), 1, key=lambda w: tail_of_two(scale, w + 1) <= allowed)


def deviation(scale: Fraction) -> float:
    """The standard deviation of Z; √2·scale when the scale is large."""
    half_rate = min(float(1 / scale) / 2, _LARGEST_EXPONENT)
    return math.sqrt(0.5) / math.sinh(half_rate)


def clamped_error(noise: float, below: float, above: float) -> float:
    """Root mean square error of a value with noise, clamped `below` and `above` away from it.

    `noise` is the standard deviation of the noise, taken as Laplace noise. Without
    clamping (both infinite) the error is that standard deviation.
    """
    scale = noise / math.sqrt(2)
    return math.sqrt(_one_side(scale, below) + _one_side(scale, above))


def _one_side(scale: float, room: float) -> float:
    """E[min(Z, room)²; Z > 0] = s²·(1 − e^−x·(1+x)) for Laplace Z of scale s, x = room/s."""
    if math.isinf(room):
        return scale**2
    x = max(room, 0.0) / scale if scale > 0 else math.inf
    if x < 1e-5:  # the closed form cancels; this is its leading term
        return max(room, 0.0) ** 2 / 2
    if x > _LARGEST_EXPONENT:
        return scale**2
    return scale**2 * (1 - math.exp(-x) * (1 + x))
