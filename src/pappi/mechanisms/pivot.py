"""A confidence interval for p = A/(A+B) from A and B with independent discrete Laplace noise.

For the true p, (1−p)A − pB = 0, so T(p) = (1−p)A~ − pB~ is pure noise, (1−p)X − pY:
its law is known. All p whose T(p) is not too large for that law form a confidence
set of true coverage, at any number of cases (Fieller's method, with Laplace noise).

**The tail.** For continuous Laplace X, Y of scale s and weights a > b ≥ 0,
P(|aX + bY| > t) = (a²·e^(−t/as) − b²·e^(−t/bs)) / (a² − b²); for a = b the limit
(1 + t/2as)·e^(−t/as).

**From discrete to continuous, without losing coverage.** Let X, Y be discrete of scale s
and U, U' uniform on (−½, ½), a + b = 1. Then |aX + bY| ≤ |a(X+U) + b(Y+U')| + ½. The
density of X+U is a symmetric staircase, and with q = exp(−1/s), r = 1/(2·tanh(1/2s)) its
tail on [k−½, k+½] is the line q^k·(1 − (t−k)/r) ≤ e^(−k/r)·(1 − (t−k)/r) ≤ e^(−t/r),
as r ≥ s: X+U is more peaked than Laplace of scale r. Both being symmetric and unimodal,
so are their weighted sums (Birnbaum 1948). Hence P(|aX + bY| > t) is at most the
continuous tail with scale r at t − ½.

**Negative sums.** A and B are not negative, so A~ and B~ are first raised to 0. Where that
changes anything it makes |T(p)| smaller for every p: the set only grows. In return T now
has a zero at A~/(A~+B~), the estimate, which is therefore always in the set.

**The set's shape.** The threshold on |T(p)|, as a function of p, is the support function of
a convex body (quantiles of a symmetric log-concave law: Meyer & Reisner 1991, Bobkov
2010), hence convex; T is linear and falling. So {p: T(p) too high} is an interval, and what
it leaves may fall into two pieces, below and above it. We take the hull: it begins at 0 if 0
is accepted, else where that interval stops, which bisection finds. Likewise at the top.

**Coarse noise.** When the noise is only a few lattice steps wide, as for shares at ε ≥ ¼, the
half step is a third of the interval. There the tail P(|(1−p)X − pY| ≥ t) is summed exactly
instead (`raised`). As a function of p that tail jumps, and may accept single points far from
all others (p = ½, say, where many outcomes coincide). So p is not bisected: the stretch
between the end of the wider interval and the estimate is cut into cells, and a cell is
discarded only if *every* p in it is rejected. For p in a cell [u, v] below the estimate,
T(p) ≥ T(v), and noise at p and at u differ by at most (v−u)(|X|+|Y|). So for any D

    P(noise at p ≥ T(p)) ≤ P(noise at u ≥ T(v) − (v−u)·D, |X| ≤ D) + P(|X|+|Y| > D),

and if that is below α, the cell holds no accepted p. Of D steps, P(|X|+|Y| > D) is at most
(1+y)·e^−y with y = (D−1)/scale, because |X| is at most an exponential variable plus ½ (in
law: 2q^k/(1+q) ≤ q^(k−½)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from pappi.mechanisms.prediction import Floats, at_least
from pappi.mechanisms.tails import dot, significance

RatioTail = Callable[[float, float], float]
"""P(|X − ρY| > t), of t and ρ, for the noises X and Y of two sums."""

_HALVINGS = 30  # to a billionth of the range, and always outwards
_NEARLY_EQUAL = 1e-5  # closer weights cancel; the tail is even in their difference

COARSE_NOISE = Fraction(4)
"""The largest noise scale, in lattice steps, for which the exact sum is worth its time."""

_CELLS = 64
_REACH = 14  # noise scales; beyond, the remaining probability is 1.3e-5


def share_interval(
    first: int, second: int, scale: Fraction, confidence: float
) -> tuple[float, float]:
    """The hull of all p in [0, 1] compatible with the two noisy sums."""
    a, b = float(max(first, 0)), float(max(second, 0))
    reach, alpha = covering_scale(scale), significance(confidence)

    def accepted(p: float) -> bool:
        return weighted_tail(abs(a - p * (a + b)) - 0.5, 1 - p, p, reach) >= alpha

    low, high = share_hull(a, b, accepted)
    if scale > COARSE_NOISE:
        return low, high
    return raised(low, a, b, scale, alpha), 1 - raised(1 - high, b, a, scale, alpha)


@lru_cache(maxsize=1024)
def share_reach(share: float, scale: Fraction, confidence: float) -> float:
    """How far A − p(A + B) is off at most for a share p that is accepted: nearly, if coarse."""
    alpha, covering = significance(confidence), covering_scale(scale)
    farthest = math.ceil(_REACH * scale) + 1

    def accepted(off: float) -> bool:
        if weighted_tail(off - 0.5, 1 - share, share, covering) < alpha:
            return False
        exactly = (np.array([off]), np.array([share]), float(scale), farthest)
        return scale > COARSE_NOISE or bool(_tail(*exactly)[0] >= alpha)

    low, high = 0.0, 1.0
    while accepted(high):
        low, high = high, 2 * high
    return _border(high, low, accepted)


def share_hull(a: float, b: float, accepted: Callable[[float], bool]) -> tuple[float, float]:
    """The hull of the accepted shares, for noisy sums that are not negative."""
    estimate = a / (a + b) if a + b else 0.5
    low = 0.0 if accepted(0.0) else _border(0.0, estimate, accepted)
    high = 1.0 if accepted(1.0) else _border(1.0, estimate, accepted)
    return low, high


def ratio_interval(
    first: float, second: float, alpha: float, tail: RatioTail, ends: tuple[float, float]
) -> tuple[float, float]:
    """The hull, within `ends`, of all ratios ρ of two noisy sums, the second one above 0.

    As for shares: for the true ρ, A~ − ρB~ is pure noise, X − ρY, whose tail is `tail`.
    """

    def accepted(rho: float) -> bool:
        return tail(abs(first - rho * second), rho) >= alpha

    estimate = min(max(first / second, ends[0]), ends[1])
    if not accepted(estimate):
        return estimate, estimate
    low, high = ends
    return (
        low if accepted(low) else _border(low, estimate, accepted),
        high if accepted(high) else _border(high, estimate, accepted),
    )


def share_chance(first: int, second: int, scale: Fraction, share: float) -> float:
    """How sure one may be that p ≤ share: see `Mechanism.chance_at_most`.

    If p were above the share, T(share) would be positive noise on top of a positive number.
    So a T(share) far below zero speaks against it, as often as noise gets that far.
    """
    if not 0 <= share < 1:
        return float(share >= 1)
    a, b = max(first, 0), max(second, 0)
    off = (1 - share) * a - share * b
    rarely = weighted_tail(abs(off) - 0.5, 1 - share, share, covering_scale(scale)) / 2
    return 1 - rarely if off < 0 else rarely


def covering_scale(scale: Fraction) -> float:
    """The scale r of the continuous Laplace law that discrete noise plus U is more peaked than."""
    return 0.5 / math.tanh(float(1 / scale) / 2)


def weighted_tail(t: float, a: float, b: float, scale: float) -> float:
    """P(|aX + bY| > t) for independent continuous Laplace X, Y of the given scale; a, b ≥ 0."""
    if t <= 0:
        return 1.0
    small, large = min(a, b), max(a, b)
    if large - small < _NEARLY_EQUAL * (a + b):
        x = t / ((a + b) / 2 * scale)
        return (1 + x / 2) * math.exp(-x)
    decay = math.exp(-t / (large * scale))
    faster = small**2 * math.exp(-t / (small * scale)) if small > 0 else 0.0
    return (large**2 * decay - faster) / (large**2 - small**2)


def _border(rejected: float, accepted: float, accepts: Callable[[float], bool]) -> float:
    """Where acceptance begins between two points, told from the rejected side."""
    for _ in range(_HALVINGS):
        middle = (rejected + accepted) / 2
        if accepts(middle):
            accepted = middle
        else:
            rejected = middle
    return rejected


# --- coarse noise ---------------------------------------------------------------------


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
    above = at_least(np.ceil((t[:, np.newaxis] + shift) / weight), scale)
    below = at_least(np.ceil((t[:, np.newaxis] - shift) / weight), scale)
    y = (farthest - 1) / scale
    rest = (1 + y) * math.exp(-y)
    return np.where(t > 0, dot(above + below, mass), 1.0) + rest
