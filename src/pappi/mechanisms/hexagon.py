"""The hexagon: the ratio of any two sums from one ε.

Rejected claims by handled invoices: neither is a part of the other, so `two_bin`
does not apply, and splitting ε between two sums wastes a good part of it. On lattices with K steps
each, one case adds (a, b), 0 ≤ a, b ≤ K, to the two sums. All that one case can do, in
either direction, lies in the hexagon with the corners ±(K, 0), ±(K, K), ±(0, K), which is
where the norm N(x, y) = max(|x|, |y|, |x − y|) is at most K.

Noise with P((x, y)) ∝ exp(−N(x, y)·ε/K) then has loss N(a, b)·ε/K ≤ ε (`HexagonLaw`): it is
no larger in any direction than one case makes necessary (Hardt & Talwar's K-norm mechanism).

*add-remove*: N(a, b) = max(a, b) ≤ K. *replace*: one case leaves and one comes, so the
differences may have opposite signs, N ≤ 2K, and the scale is 2K/ε.

A case without a value adds nothing to that sum.

**The interval.** For the true ratio ρ of the sums, A~ − ρB~ is noise X − ρY. N has the tail
(1 + t)·e^−t in units of the scale, and given N the point is uniform on the six sides. Along
a side, X − ρY is N times a linear function w; since w·e^(−t/w) has the derivative
(1 + t/w)·e^(−t/w), the tail of |X − ρY| is a mean of three differences, in closed form. The
lattice is so fine that the noise counts as continuous.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from pappi.errors import NotReleasable
from pappi.mechanisms.grids import SUM_STEPS, Lattice, total
from pappi.mechanisms.laws import Law, Loss, Outcome, significance
from pappi.mechanisms.mechanism import RATIO, Estimate, Mechanism, Replaced, Task, Values
from pappi.mechanisms.noise import RandBelow, geometric
from pappi.mechanisms.prediction import Chances, Floats, Scenario
from pappi.mechanisms.two_bin import share_hull
from pappi.values import Adjacency, Bounds


@dataclass(frozen=True, slots=True)
class HexagonLaw(Law):
    """Two centres plus (X, Y) with P((x, y)) ∝ exp(−N(x, y) / scale)."""

    first: int
    second: int
    scale: Fraction

    @property
    def size(self) -> int:
        return 2

    def draw(self, randbelow: RandBelow) -> Outcome:
        x, y = hexagonal_laplace(self.scale, randbelow)
        return self.first + x, self.second + y

    def probability(self, outcome: Outcome) -> float:
        """6r points have N = r, so the weights sum to 1 + 6q/(1−q)² with q = exp(−1/scale)."""
        away = hexagon_norm(outcome[0] - self.first, outcome[1] - self.second)
        rate = float(1 / self.scale)
        weights = 1 + 6 * math.exp(-rate) / math.expm1(-rate) ** 2
        return math.exp(-away * rate) / weights

    def log_ratio(self, other: Law) -> Loss:
        """N is a norm: N(z−c′) − N(z−c) ≤ N(c−c′), reached at z = c."""
        if not isinstance(other, HexagonLaw) or other.scale != self.scale:
            return math.inf
        return hexagon_norm(self.first - other.first, self.second - other.second) / self.scale


def hexagon_norm(x: int, y: int) -> int:
    return max(abs(x), abs(y), abs(x - y))


def hexagonal_laplace(scale: Fraction, randbelow: RandBelow) -> tuple[int, int]:
    """One draw of (X, Y) with P((x, y)) ∝ exp(−N(x, y) / scale), N = max(|x|, |y|, |x − y|).

    The six neighbours of (0, 0) with N = 1 are corners of a hexagon. Every other point is
    i steps towards one corner, i ≥ 1, and j towards the next, j ≥ 0, in one way only, and
    N = i + j. So with i and j geometric and a corner by chance all points have the right
    weight, if i = 0 is thrown back: but for the origin, which is six times too likely.
    """
    while True:
        corner = randbelow(6)
        i, j = geometric(scale, randbelow), geometric(scale, randbelow)
        if i or (j == 0 and corner == 0):
            (ux, uy), (vx, vy) = _HEXAGON[corner], _HEXAGON[(corner + 1) % 6]
            return i * ux + j * vx, i * uy + j * vy


_HEXAGON = ((1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1))


@dataclass(frozen=True, slots=True)
class HexagonRatio(Mechanism):
    """`factor` times Σa/Σb. Values are rows (a, b): `bounds` are those of b, `part` those of a."""

    name: ClassVar[str] = "hexagon"
    functions: ClassVar[tuple[str, ...]] = (RATIO,)
    replaced: ClassVar[Replaced] = Replaced.GROUP

    factor: Fraction
    part: Bounds

    @classmethod
    def made_for(cls, task: Task) -> Self:
        if task.ratio is None:
            raise NotReleasable("the hexagon mechanism only answers a ratio of two sums")
        return cls(*task.common, task.ratio.factor, task.ratio.part)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self.bounds.low < 0 or self.part.low < 0:
            raise NotReleasable("a sum that may be negative does not fit the hexagon")

    @property
    def width(self) -> int:
        return 2

    @property
    def sensitivity(self) -> int:
        """In the norm N."""
        return (2 if self.adjacency is Adjacency.REPLACE else 1) * SUM_STEPS

    @property
    def scale(self) -> Fraction:
        return self.sensitivity / self.epsilon

    def law(self, values: Values) -> HexagonLaw:
        rows = values.reshape(-1, 2)
        first = total(_lattice(self.part).snap(_within(rows[:, 0], self.part)))
        second = total(_lattice(self.bounds).snap(_within(rows[:, 1], self.bounds)))
        return HexagonLaw(first, second, self.scale)

    def estimate(self, noisy: Outcome) -> Estimate:
        if noisy[1] <= 0:
            return Estimate(None)
        return Estimate(float(self._unit * Fraction(max(noisy[0], 0), noisy[1])))

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """For the ratio of the clipped sums; open to the top where the second may be zero."""
        first, second = float(max(noisy[0], 0)), float(max(noisy[1], 0))
        alpha = significance(confidence)

        def accepted(p: float) -> bool:
            return self._tail(abs(first - p * (first + second)), p) >= alpha

        ratios = (p / (1 - p) if p < 1 else math.inf for p in share_hull(first, second, accepted))
        low, high = sorted(float(self._unit) * ratio for ratio in ratios)
        return low, high

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        ratio = limit / float(self._unit)
        if math.isinf(limit):
            return float(limit > 0)
        if ratio < 0:
            return float(self._unit < 0)
        p = ratio / (1 + ratio)
        first, second = max(noisy[0], 0), max(noisy[1], 0)
        off = (1 - p) * first - p * second
        rarely = self._tail(abs(off), p) / 2
        at_most = 1 - rarely if off < 0 else rarely
        return at_most if self._unit > 0 else 1 - at_most

    def predicted_error(self, cases: float, at: float | None) -> float:
        """First order, with the second sum where cases in the middle of their bounds have it."""
        ratio = 1.0 if at is None else max(at / float(self._unit), 0.0)
        usual = float((self.bounds.low + self.bounds.high) / 2 / self.bounds.high)
        # The mean of w² along a side, on which w runs from a to b.
        away = sum((a * a + a * b + b * b) / 3 for a, b in _sides(1.0, ratio)) / 3
        noise = float(1 / self.epsilon) * math.sqrt(6 * away)
        if self.adjacency is Adjacency.REPLACE:
            noise *= 2
        return abs(float(self._unit)) * noise / max(cases * usual, 1.0)

    @property
    def output_range(self) -> tuple[float, float]:
        return (0.0, math.inf) if self.factor > 0 else (-math.inf, 0.0)

    def value_in(self, inputs: tuple[float, ...]) -> float | None:
        return float(self.factor) * inputs[0] / inputs[1]

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        noise = (2 if self.adjacency is Adjacency.REPLACE else 1) / float(self.epsilon)
        x, y = chances.hexagonal()
        first, second = scenario.inputs
        above = np.maximum(first + noise * float(self.part.high) * x, 0.0)
        below = second + noise * float(self.bounds.high) * y
        return float(self.factor) * above / np.where(below > 0, below, np.nan)

    @property
    def _unit(self) -> Fraction:
        """The ratio when both sums are the same number of lattice steps."""
        return self.factor * self.part.high / self.bounds.high

    def _tail(self, t: float, p: float) -> float:
        """P(|(1−p)X − pY| > t)."""
        away = t / float(self.scale)
        return sum(_tail_on(away, abs(a), abs(b), a * b < 0) for a, b in _sides(1 - p, p)) / 3


def _sides(first: float, second: float) -> tuple[tuple[float, float], ...]:
    """first·x − second·y at the ends of three sides; the other three are opposite to them."""
    corners = (first, first - second, -second, -first)
    return tuple(pairwise(corners))


def _tail_on(t: float, a: float, b: float, crosses: bool) -> float:  # noqa: FBT001 - the shape of a side
    """The tail given a side, on which |w| runs from a to b, through 0 if it crosses."""
    if crosses:
        return (_antiderivative(t, a) + _antiderivative(t, b)) / (a + b)
    if abs(a - b) < 1e-9 * (a + b):
        return (1 + t / a) * math.exp(-t / a)
    return (_antiderivative(t, b) - _antiderivative(t, a)) / (b - a)


def _antiderivative(t: float, w: float) -> float:
    return w * math.exp(-t / w) if w > 0 else 0.0


def _lattice(bounds: Bounds) -> Lattice:
    """SUM_STEPS steps from zero to the high bound."""
    return Lattice.through_zero(Bounds(Fraction(0), bounds.high), integral=False)


def _within(values: Values, bounds: Bounds) -> Values:
    return np.clip(values, float(bounds.low), float(bounds.high))
