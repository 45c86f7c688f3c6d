"""The two-bin interval where noise is only a few lattice steps wide.

`pivot` bounds the discrete noise (1−p)X − pY by continuous noise half a step wider. That
is next to nothing at scale 100 and a third of the interval at scale 1. Here the tail
P(|(1−p)X − pY| ≥ t) is summed exactly instead.

As a function of p that tail jumps, and may accept single points far from all others
(p = ½, say, where many outcomes coincide). So p is not bisected: the stretch between the
end of the wider interval and the estimate is cut into cells, and a cell is discarded only
if *every* p in it is rejected. For p in a cell [u, v] below the estimate, T(p) ≥ T(v), and
noise at p and at u differ by at most (v−u)(|X|+|Y|). So for any D

    P(noise at p ≥ T(p)) ≤ P(noise at u ≥ T(v) − (v−u)·D, |X| ≤ D) + P(|X|+|Y| > D),

and if that is below α, the cell holds no accepted p. Of D steps, P(|X|+|Y| > D) is at most
(1+y)·e^−y with y = (D−1)/scale, because |X| is at most an exponential variable plus ½ (in
law: 2q^k/(1+q) ≤ q^(k−½)).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

COARSE_NOISE = Fraction(4)
"""The largest noise scale, in lattice steps, for which the exact sum is worth its time."""

_CELLS = 64
_REACH = 14  # noise scales; beyond, the remaining probability is 1.3e-5


def raised(low: float, first: float, second: float, scale: Fraction, alpha: float) -> float:
    """The low end of an interval, raised past all cells in which every share is rejected.

    `first` and `second` are the noisy sums, not negative. The high end is the low end
    with their roles exchanged.
    """
    estimate = first / (first + second) if first + second else 0.5
    farthest = math.ceil(_REACH * scale) + 1
    edges = np.linspace(low, estimate, _CELLS + 1)
    slack = (estimate - low) / _CELLS * farthest
    offset = first - edges[1:] * (first + second) - slack
    possible = _tail(offset, edges[:-1], float(scale), farthest) >= alpha
    possible[-1] = True  # it ends at the estimate
    return float(edges[np.argmax(possible)])


def _tail(t: Floats, p: Floats, scale: float, farthest: int) -> Floats:
    """At least P(|(1−p)X − pY| ≥ t, |X| ≤ farthest) + P(|X|+|Y| > farthest), for each t and p."""
    x = np.arange(-farthest, farthest + 1)
    mass = math.tanh(0.5 / scale) * np.exp(-np.abs(x) / scale)
    shift, weight = np.outer(1 - p, x), np.maximum(p, 1e-9)[:, np.newaxis]
    above = _at_least(np.ceil((t[:, np.newaxis] + shift) / weight), scale)
    below = _at_least(np.ceil((t[:, np.newaxis] - shift) / weight), scale)
    y = (farthest - 1) / scale
    rest = (1 + y) * math.exp(-y)
    return np.where(t > 0, (above + below) @ mass, 1.0) + rest


def _at_least(k: Floats, scale: float) -> Floats:
    """P(Y ≥ k) for whole k of either sign."""
    beyond = np.exp(-np.where(k > 0, k, 1 - k) / scale) / (1 + math.exp(-1 / scale))
    return np.where(k > 0, beyond, 1 - beyond)
