"""The interval mechanism for means and sums, as the paper has it: steps away from the answer.

The range of the answer is public. A point z scores by how many steps it is away from the
true answer, rounded to the nearest, where a step is what one case can change.

**Mean** of n values with the sum S, on a lattice of K steps: score(z) = ⌈|n·z − S|/K − ½⌉.
One more case at y moves n·z − S by z − y, at most K, so the score by at most 1; one replaced
moves S by at most K. That a step is worth K/n of the mean cancels: n enters the score alone,
and nothing else in the law. Loss: twice the rate, which is ε/2, under either adjacency.

**Sum** S: score(z) = ⌈|z − S|/Δ − ½⌉ over a *declared* range, Δ being what one case can
change: max(|L|, |U|) for *add-remove*; for *replace* that, or U − L if it is more, because a
case may also lose its value. The paper takes n·L to n·U as the range, which gives n away.

Both need more noise than `two-bin` and `laplace`; they are here because the paper has them,
and because a declared range narrower than the noise can make the sum's a better choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pappi.errors import NotReleasable
from pappi.mechanisms.exponential import StepLaw, exponential_law, falling_weights
from pappi.mechanisms.interval import Counts, PointDrawn, RankScored
from pappi.mechanisms.lattice import RANGE_STEPS, Lattice, total
from pappi.mechanisms.mechanism import DrawnFromLaw, Values
from pappi.values.bounds import Bounds
from pappi.values.privacy import Adjacency

_PER_CASE = 2**10
"""Output points per step of a sum."""

_MOST_POINTS = 2**24
_MOST_LEVELS = 2**14  # each needs a weight of its own


@dataclass(frozen=True, slots=True)
class SteppedMean(RankScored):
    """The mean of the clipped values."""

    @property
    def lattice(self) -> Lattice:
        return Lattice.over(self.bounds, RANGE_STEPS, integral=False)

    @property
    def rate(self) -> Fraction:
        return self.epsilon / 2

    def stretches(self, points: Counts) -> tuple[Counts, Counts]:
        """Half a step beyond the j-th one away, 2|n·z − S| = (2j+1)·K, the score rises."""
        cases, found, step = len(points), int(points.sum()), self.lattice.span
        away = (2 * np.arange(cases + 1) + 1) * step
        above = (2 * found + away) // (2 * max(cases, 1)) + 1
        below = -((away - 2 * found) // (2 * max(cases, 1)))
        changes = np.concatenate((above, below))
        starts = self.starts(changes[changes > 0])
        return starts, _steps(2 * np.abs(cases * starts - found), step)

    def exponents(self, cases: float, share: float) -> tuple[float, float]:
        whole = float(self.rate) * cases
        return share * whole, (1 - share) * whole


@dataclass(frozen=True, slots=True)
class SteppedSum(PointDrawn):
    """The sum of values within `each`; `bounds` are the declared range of the sum itself."""

    each: Bounds

    def __post_init__(self) -> None:
        DrawnFromLaw.__post_init__(self)
        levels = self.bounds.width / (self._change * self.contributions.step)
        if self._points > _MOST_POINTS or levels > _MOST_LEVELS:
            raise NotReleasable(
                "the range declared for its sum is too wide for the interval mechanism",
                hint="declare a narrower `value` range, or use the mechanism laplace",
            )

    @property
    def contributions(self) -> Lattice:
        return Lattice.through_zero(self.each, integral=self.integral)

    @property
    def lattice(self) -> Lattice:
        """Output points, each a number of steps of the contributions."""
        step = self.contributions.step
        return Lattice(self._lowest * step, self._spacing * step, 0, self._points, exact=False)

    @property
    def rate(self) -> Fraction:
        return self.epsilon / 2

    def law(self, values: Values) -> StepLaw:
        """Cutting the sum to its range first changes no distance between sums by more."""
        found = total(self.contributions.snap(values)) - self._lowest
        found = min(max(found, 0), self._points * self._spacing)
        levels = self._points * self._spacing // self._change + 1
        levels = len(falling_weights(self.rate, levels))  # beyond, weights fall no further
        away = (2 * np.arange(levels) + 1) * self._change
        above = (2 * found + away) // (2 * self._spacing) + 1
        below = -((away - 2 * found) // (2 * self._spacing))
        changes = np.concatenate((above, below))
        starts = self.starts(changes[changes > 0])
        scores = _steps(2 * np.abs(starts * self._spacing - found), self._change)
        return exponential_law(starts, scores, self._points + 1, self.rate)

    def exponents(self, cases: float, share: float) -> tuple[float, float]:  # noqa: ARG002 - a case is a step
        whole = float(self.rate) * self._points * self._spacing / self._change
        return share * whole, (1 - share) * whole

    @property
    def _change(self) -> int:
        """What one case can change, in steps of the contributions."""
        lattice = self.contributions
        known = self.adjacency is Adjacency.REPLACE
        return max(lattice.span, lattice.reach) if known else lattice.reach

    @property
    def _spacing(self) -> int:
        return max(1, self._change // _PER_CASE)

    @property
    def _lowest(self) -> int:
        return math.floor(self.bounds.low / self.contributions.step)

    @property
    def _points(self) -> int:
        width = self.bounds.width / self.contributions.step
        return math.ceil(width / self._spacing)


def _steps(doubled: Counts, step: int) -> Counts:
    """⌈distance/step − ½⌉, of twice the distance."""
    return -((step - doubled) // (2 * step))
