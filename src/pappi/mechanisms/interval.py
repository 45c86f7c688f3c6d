"""The interval mechanism: minimum, maximum and quantiles, by rank.

The released value is a point z of the public lattice over [L, U], drawn by the exponential
mechanism (`exponential`). Its score counts ranks, so it is constant between neighbouring
values: whole intervals weigh alike, by their length. Nothing but the declared bounds and
the scores enters; without cases every point is equally likely. A case without a value is
counted nowhere; that is one way to remove it.

**Maximum.** score(z) = max(0, #{x > z} − 1); the minimum counts #{x < z}. One case above is
forgiven: the stretch between the two largest values then weighs as much as all above the
largest, where nothing else holds the answer down. A tie is nothing special: the top interval,
from the largest value up, has score 0 however often that value occurs.

- *add-remove*: one more case raises the count by 1 at every z below it and by nothing
  elsewhere, so the score by 0 or 1. Scores only rise: weights may fall at the full rate ε.
- *replace*: a case that moves up from y to y′ raises the count by 1 where y ≤ z < y′ and by
  nothing elsewhere; one that moves down only lowers it, and so does one that loses its
  value. Every single replacement moves all scores one way, by at most 1: the rate is ε again.

**Quantile** of level a, of n values. A point is an a-quantile if at most a·n values lie
below it and at most (1−a)·n above. The score is by how many cases that fails, in steps of s:

    score(z) = ⌈ max(0, #{x < z} − a·n, #{x > z} − (1−a)·n) / s ⌉

Between values this is |(1−a)·#below − a·#above| / s. On a value that many cases share it is
0 where that value is the quantile, which the plain formula is not.

- *add-remove*, s = max(a, 1−a): one more case below z moves the two differences by 1−a and
  −(1−a), one above by −a and a, one at z by −a and −(1−a). None exceeds s, so the fraction
  moves by at most 1; rounding up keeps that, because ⌈x+1⌉ = ⌈x⌉+1.
- *replace*, s = 1: n stays and either count moves by at most 1. A case that loses its value
  is a removal, which moves the differences by at most max(a, 1−a) ≤ 1.

Scores may rise here and fall there: the loss is up to twice the rate, which is ε/2.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pappi.errors import UsageError
from pappi.mechanisms.exponential import StepLaw, exponential_law, falling_weights
from pappi.mechanisms.grid import GeometricGrid
from pappi.mechanisms.lattice import RANGE_STEPS, Lattice
from pappi.mechanisms.laws import Outcome
from pappi.mechanisms.mechanism import DrawnFromLaw, Estimate, Values, clamp
from pappi.mechanisms.tails import significance
from pappi.values.privacy import Adjacency

Counts = NDArray[np.int64]
Points = Lattice | GeometricGrid

FORGIVEN = 1
"""Cases beyond a point that do not count against it as an extreme."""

_FINEST_LEVEL = 10**6  # counts times this stay far inside int64


@dataclass(frozen=True, slots=True)
class PointDrawn(DrawnFromLaw):
    """A point of a public range, drawn by a score that is best at the answer."""

    name: ClassVar[str] = "interval"

    @property
    def lattice(self) -> Points:
        return Lattice.over(self.bounds, RANGE_STEPS, integral=self.integral)

    @property
    @abstractmethod
    def rate(self) -> Fraction:
        """How fast weights fall with the score."""

    @abstractmethod
    def exponents(self, cases: float, share: float) -> tuple[float, float]:
        """rate·score at the low and the high end of the range, for predicted errors.

        `share` says how far up the range the answer lies.
        """

    @abstractmethod
    def law(self, values: Values) -> StepLaw:
        """Scores are 0 at the answer and never fall away from it on either side."""

    def starts(self, changes: Counts) -> Counts:
        """The points where scores may change, inside the lattice and each once."""
        lattice = self.lattice
        every = np.concatenate(([lattice.lowest], changes))
        return _distinct(every[every <= lattice.highest])

    def estimate(self, noisy: Outcome) -> Estimate:
        return Estimate(self.lattice.value(noisy[0]))

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """Where the answer lies, whatever the data: mostly the whole public range.

        One released point says little about one unknown value: if a single case is all there
        is, the point is nearly uniform. What can be said rests on the scores never falling
        away from the answer m. Of the N points above m, the j at the far end are no likelier
        than any other j of them: P(z among the last j) ≤ j/N · P(z > m). So z is within αN
        of the high end with probability at most α·P(z > m), and likewise below: together at
        most α. Left are the m for which neither is so. That is informative where z is within
        α of an end of the range, such as a maximum close to a tightly declared bound; a value
        in the middle of the range comes with the whole range.
        """
        lattice, (point,) = self.lattice, noisy
        alpha = Fraction(significance(confidence))
        reach_down = (lattice.highest - point + 1) / alpha
        reach_up = (point - lattice.lowest + 1) / alpha
        low = max(math.ceil(lattice.highest - reach_down), lattice.lowest)
        high = min(math.floor(lattice.lowest + reach_up), lattice.highest)
        return self._inside(lattice.cell(low)[0]), self._inside(lattice.cell(high)[1])

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        """By the same argument, for one side: z is rarely that close to the far end."""
        if not self.bounds.low <= limit < self.bounds.high:
            return float(limit >= self.bounds.high)
        lattice, (point,) = self.lattice, noisy
        border = int(lattice.snap(np.array([limit]))[0])
        if_above: float = (point - lattice.lowest + 1) / (border - lattice.lowest + 1)
        if_not: float = (lattice.highest - point + 1) / (lattice.highest - border + 1)
        return max(1 - if_above, 0.5) if if_above < if_not else min(if_not, 0.5)

    def predicted_error(self, cases: float, at: float | None) -> float:
        """If values are spread evenly from the low bound to `at`, and from `at` to the high one.

        (A maximum has all of them below `at`, a minimum all above.) Scores then grow in
        proportion to the distance, and the released value has exponential tails, cut off
        at the bounds: right within a tenth or so up to ε = 1, where the steps between
        neighbouring ranks begin to show. More cases close to `at` make the error smaller.
        """
        low, high = float(self.bounds.low), float(self.bounds.high)
        centre = (low + high) / 2 if at is None else clamp(at, low, high)
        down, up = self.exponents(cases, (centre - low) / (high - low))
        mass_below, square_below = _tail(centre - low, down)
        mass_above, square_above = _tail(high - centre, up)
        return math.sqrt((square_below + square_above) / (mass_below + mass_above))

    def _inside(self, value: float) -> float:
        return clamp(value, float(self.bounds.low), float(self.bounds.high))


@dataclass(frozen=True, slots=True)
class RankScored(PointDrawn):
    """A lattice point, drawn by a score that depends on the order of the values alone."""

    @abstractmethod
    def stretches(self, points: Counts) -> tuple[Counts, Counts]:
        """Where stretches of equal score begin, and their scores, for sorted lattice points."""

    def law(self, values: Values) -> StepLaw:
        lattice = self.lattice
        starts, scores = self.stretches(np.sort(self.deciding(lattice.snap(values))))
        return exponential_law(starts, scores, lattice.highest + 1, self.rate)

    def deciding(self, points: Counts) -> Counts:
        """Those of the lattice points that the law depends on, in any order."""
        return points


@dataclass(frozen=True, slots=True)
class IntervalExtreme(RankScored):
    """The smallest or largest of the clipped values."""

    function: Literal["min", "max"]

    @property
    def rate(self) -> Fraction:
        return self.epsilon

    def deciding(self, points: Counts) -> Counts:
        """The outermost: where as many lie beyond as there are weights, all weigh the same."""
        kept = len(falling_weights(self.rate, len(points))) + FORGIVEN
        if kept >= len(points):
            return points
        if self.function == "max":
            return np.partition(points, -kept)[-kept:]
        return np.partition(points, kept - 1)[:kept]

    def stretches(self, points: Counts) -> tuple[Counts, Counts]:
        """Counts change at a value, or right after it."""
        if self.function == "max":
            starts = self.starts(points)
            beyond = len(points) - np.searchsorted(points, starts, side="right")
        else:
            starts = self.starts(points + 1)
            beyond = np.searchsorted(points, starts, side="left")
        return starts, np.maximum(beyond - FORGIVEN, 0)

    def exponents(self, cases: float, share: float) -> tuple[float, float]:  # noqa: ARG002 - as many ranks wherever it lies
        exponent = float(self.rate) * cases
        return (exponent, 0.0) if self.function == "max" else (0.0, exponent)


@dataclass(frozen=True, slots=True)
class IntervalQuantile(RankScored):
    """The value with a share `level` of the clipped values below it; ½ for the median."""

    level: Fraction

    def __post_init__(self) -> None:
        DrawnFromLaw.__post_init__(self)  # a slotted dataclass has no zero-argument super()
        if not 0 < self.level < 1 or self.level.denominator > _FINEST_LEVEL:
            raise UsageError(
                f"a quantile's level lies between 0 and 1, in millionths, and is not {self.level}",
                hint="use max or min for the ends of the range",
            )

    @property
    def rate(self) -> Fraction:
        return self.epsilon / 2

    def stretches(self, points: Counts) -> tuple[Counts, Counts]:
        """Scores can change only at a value and right after it."""
        starts, cases = self.starts(np.concatenate((points, points + 1))), len(points)
        below = np.searchsorted(points, starts, side="left")
        above = cases - np.searchsorted(points, starts, side="right")
        return starts, self.scores(below, above, cases)

    def scores(self, below: Counts, above: Counts, cases: int) -> Counts:
        share, whole = self.level.numerator, self.level.denominator
        too_many_below = whole * below - share * cases
        too_many_above = whole * above - (whole - share) * cases
        excess = np.maximum(0, np.maximum(too_many_below, too_many_above))
        return -(-excess // self._step)

    def exponents(self, cases: float, share: float) -> tuple[float, float]:  # noqa: ARG002 - as many ranks wherever it lies
        below, whole = self.level.numerator, self.level.denominator
        each = float(self.rate) * cases / self._step
        return below * each, (whole - below) * each

    @property
    def _step(self) -> int:
        """s, as a multiple of 1/denominator: the most by which one case moves the excess."""
        share, whole = self.level.numerator, self.level.denominator
        return whole if self.adjacency is Adjacency.REPLACE else max(share, whole - share)


def _distinct(numbers: Counts) -> Counts:
    """`np.unique`, ten times as fast: a stable sort merges runs that are already in order."""
    ordered = np.sort(numbers, kind="stable")
    return ordered[np.diff(ordered, prepend=ordered[0] - 1) > 0]


def _tail(room: float, exponent: float) -> tuple[float, float]:
    """∫ e^(−x·t/room) dt and ∫ t²·e^(−x·t/room) dt over t from 0 to `room`, x the exponent."""
    if exponent < 1e-3:  # the closed forms cancel; these are their limits
        return room, room**3 / 3
    left = math.exp(-exponent)
    mass = (1 - left) / exponent
    square = (2 - left * (exponent**2 + 2 * exponent + 2)) / exponent**3
    return room * mass, room**3 * square
