"""The interval mechanism: minimum, maximum and quantiles, by rank.

The released value is a point z of the public lattice over [L, U], drawn by the exponential
mechanism (`exponential`). Its score counts cases, so it is constant between neighbouring
values: whole intervals weigh alike, by their length. Nothing but the declared bounds and
the scores enters; without cases every point is equally likely. A case without a value is
counted nowhere; that is one way to remove it.

**Maximum.** score(z) = #{x > z}; the minimum counts #{x < z}. A tie is nothing special: the
top interval, from the largest value up, has score 0 however often that value occurs.

- *add-remove*: one more case raises the score by 1 at every z below it and by nothing
  elsewhere. Scores only rise, so weights may fall at the full rate ε.
- *replace*: a case that moves up from y to y′ raises the score by 1 where y ≤ z < y′ and by
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
from pappi.mechanisms.exponential import StepLaw, exponential_law
from pappi.mechanisms.lattice import RANGE_STEPS, Lattice
from pappi.mechanisms.laws import Outcome
from pappi.mechanisms.mechanism import DrawnFromLaw, Estimate, Values, clamp
from pappi.mechanisms.tails import significance
from pappi.values.privacy import Adjacency

Counts = NDArray[np.int64]

_FINEST_LEVEL = 10**6  # counts times this stay far inside int64


@dataclass(frozen=True, slots=True)
class _Interval(DrawnFromLaw):
    """A lattice point, drawn by a score of how many values lie below and above it."""

    name: ClassVar[str] = "interval"

    @property
    def lattice(self) -> Lattice:
        return Lattice.over(self.bounds, RANGE_STEPS, integral=self.integral)

    @property
    @abstractmethod
    def rate(self) -> Fraction:
        """How fast weights fall with the score."""

    @abstractmethod
    def scores(self, below: Counts, above: Counts, cases: int) -> Counts:
        """0 at the answer, never falling away from it on either side."""

    @abstractmethod
    def exponents(self, cases: float) -> tuple[float, float]:
        """rate·score at the low and the high end of the range, for predicted errors."""

    def law(self, values: Values) -> StepLaw:
        """Scores can change only at a value and right after it."""
        lattice = self.lattice
        points = np.sort(lattice.snap(values))
        changes = np.concatenate(([lattice.lowest], points, points + 1))
        starts = _distinct(changes[changes <= lattice.highest])
        below = np.searchsorted(points, starts, side="left")
        above = len(points) - np.searchsorted(points, starts, side="right")
        scores = self.scores(below, above, len(points))
        return exponential_law(starts, scores, lattice.highest + 1, self.rate)

    def estimate(self, noisy: Outcome) -> Estimate:
        return Estimate(self.lattice.value(noisy[0]), None)

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
        low = max(lattice.highest - reach_down, Fraction(lattice.lowest))
        high = min(lattice.lowest + reach_up, Fraction(lattice.highest))
        return (
            self._inside(lattice.value(low) - lattice.rounding),
            self._inside(lattice.value(high) + lattice.rounding),
        )

    def predicted_error(self, cases: float, at: float | None) -> float:
        """If values are spread evenly from the low bound to `at`, and from `at` to the high one.

        (A maximum has all of them below `at`, a minimum all above.) Scores then grow in
        proportion to the distance, and the released value has exponential tails, cut off
        at the bounds: right within a tenth or so up to ε = 1, where the steps between
        neighbouring ranks begin to show. More cases close to `at` make the error smaller.
        """
        low, high = float(self.bounds.low), float(self.bounds.high)
        centre = (low + high) / 2 if at is None else clamp(at, low, high)
        down, up = self.exponents(cases)
        mass_below, square_below = _tail(centre - low, down)
        mass_above, square_above = _tail(high - centre, up)
        return math.sqrt((square_below + square_above) / (mass_below + mass_above))

    def _inside(self, value: float) -> float:
        return clamp(value, float(self.bounds.low), float(self.bounds.high))


@dataclass(frozen=True, slots=True)
class IntervalExtreme(_Interval):
    """The smallest or largest of the clipped values."""

    function: Literal["min", "max"]

    @property
    def rate(self) -> Fraction:
        return self.epsilon

    def scores(self, below: Counts, above: Counts, cases: int) -> Counts:  # noqa: ARG002 - ranks count from the end
        return above if self.function == "max" else below

    def exponents(self, cases: float) -> tuple[float, float]:
        exponent = float(self.rate) * cases
        return (exponent, 0.0) if self.function == "max" else (0.0, exponent)


@dataclass(frozen=True, slots=True)
class IntervalQuantile(_Interval):
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

    def scores(self, below: Counts, above: Counts, cases: int) -> Counts:
        share, whole = self.level.numerator, self.level.denominator
        too_many_below = whole * below - share * cases
        too_many_above = whole * above - (whole - share) * cases
        excess = np.maximum(0, np.maximum(too_many_below, too_many_above))
        return -(-excess // self._step)

    def exponents(self, cases: float) -> tuple[float, float]:
        share, whole = self.level.numerator, self.level.denominator
        each = float(self.rate) * cases / self._step
        return share * each, (whole - share) * each

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
