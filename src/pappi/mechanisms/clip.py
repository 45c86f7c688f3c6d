"""Means and sums without tight bounds: values are cut at a private clipping bound.

Noise is in proportion to the bounds, so bounds ten times too wide cost ten times the error.
With loose bounds, or none but what a machine can hold, a share ε₁ of ε first buys a ceiling C,
the private clipping bound, from a public geometric grid, by the exponential mechanism with

    score(C) = max(0, #{x − L > C} − t),   t = ⌈1/ε₂⌉:

cutting off about as many cases as the noise is worth makes the two errors alike. Ceilings
that cut off no more score alike, so a low one counts for more from the start: ceiling C is
drawn as if there were 1/√C of it. The rest, ε₂ = ε − ε₁, answers the function within
[L, L + C] (or [−C, C], where values may have either sign) by the mechanism it always has.

**Why it is private.** One case more raises counts, by at most 1, and lowers none; one that
moves away from L does too, and one that moves towards it the opposite. So scores move one
way, by at most 1, and the choice loses at most ε₁ at the full rate ε₁ (`laws`). Given
C, the second stage loses at most ε₂, and it depends on the cases in no other way: together
ε (`StagedLaw`).

The answer is about the cut values, so the ceiling is released with it, and shown; and its
interval is open towards what was cut off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from pappi.errors import NotReleasable
from pappi.mechanisms.grids import LOOSE_FILL, GeometricGrid
from pappi.mechanisms.laplace import LaplaceSum
from pappi.mechanisms.laws import CellLaw, Law, Outcome, StagedLaw, exponential_law
from pappi.mechanisms.mechanism import Estimate, Mechanism, Task, Values
from pappi.mechanisms.two_bin import TwoBin
from pappi.values import Bounds, Likelihood

CHOICE_SHARE = Fraction(1, 4)
"""How much of ε the ceiling costs."""

STEPS = 2
"""Ceilings per octave."""

_UNLIKELY = 1e-3  # a ceiling that does not matter for a predicted error


@dataclass(frozen=True, slots=True)
class PrivateClippingBound(Mechanism):
    """The mean or sum of values cut at a clipping bound that is chosen privately."""

    name: ClassVar[str] = "private clipping bound"
    earlier_name: ClassVar[str] = "private ceiling"
    functions: ClassVar[tuple[str, ...]] = ("mean", "sum")
    needs_loose_bounds: ClassVar[bool] = True
    caution: ClassVar[str] = (
        "larger values count as a private clipping bound, chosen for each period "
        "with a quarter of ε"
    )
    predicts_in_formulas: ClassVar[bool] = False  # what the ceiling cuts off is not noise

    function: Literal["mean", "sum"]
    octaves: int
    either_sign: bool

    @classmethod
    def made_for(cls, task: Task) -> Self:
        if task.loose is None:
            raise NotReleasable("a private clipping bound is for bounds that are not tight")
        kind: Literal["mean", "sum"] = "sum" if task.function == "sum" else "mean"
        return cls(*task.common, kind, task.loose.octaves, task.loose.either_sign)

    @property
    def choice_epsilon(self) -> Fraction:
        return self.epsilon * CHOICE_SHARE

    @property
    def answer_epsilon(self) -> Fraction:
        return self.epsilon - self.choice_epsilon

    @property
    def grid(self) -> GeometricGrid:
        """Of ceilings, as distances from where values begin."""
        furthest = self.bounds.high - self._origin
        return GeometricGrid(Bounds(Fraction(0), furthest), self.octaves, STEPS)

    def law(self, values: Values) -> Law:
        inner = cache(lambda k: self.within(k).law(values))
        return StagedLaw(self._choice(values), inner)

    def _chosen(self, noisy: Outcome) -> TwoBin | LaplaceSum:
        edges = _edges(self.grid.highest + 1)
        return self.within(int(np.searchsorted(edges, noisy[0], side="right")) - 1)

    @lru_cache(maxsize=1024)  # noqa: B019 - a mechanism is a small value, and the cache is bounded
    def within(self, k: int) -> TwoBin | LaplaceSum:
        """The mechanism for values below the k-th ceiling."""
        mechanism, limit = TwoBin if self.function == "mean" else LaplaceSum, self.grid.exact(k)
        low = -limit if self.either_sign else self.bounds.low
        bounds = Bounds(low, self._origin + limit)
        return mechanism(bounds, self.answer_epsilon, self.adjacency, self.integral)

    def estimate(self, noisy: Outcome) -> Estimate:
        inner = self._chosen(noisy)
        below = inner.estimate(noisy[1:])
        return replace(below, ceiling=float(inner.bounds.high))

    def likelihood(self, noisy: Outcome) -> Likelihood | None:
        """About the mean of the values cut at the ceiling that was released with them."""
        return self._chosen(noisy).likelihood(noisy[1:]) if self.function == "mean" else None

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """Open towards what the ceiling cut off, of which nothing is known."""
        inner = self._chosen(noisy)
        low, _ = inner.interval(noisy[1:], confidence)
        least, most = self.output_range
        return (least if self.either_sign else low), most

    @property
    def open_ends(self) -> tuple[bool, bool]:
        return self.either_sign, True

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        """What was cut off may lie anywhere: so only that a value is large can be known."""
        least, most = self.output_range
        if not least <= limit < most:
            return float(limit >= most)
        if self.either_sign:
            return 0.5
        return min(self._chosen(noisy).chance_at_most(noisy[1:], limit), 0.5)

    @property
    def output_range(self) -> tuple[float, float]:
        if self.function == "mean":
            return float(self.bounds.low), float(self.bounds.high)
        return (0.0 if self.bounds.low >= 0 else -math.inf), math.inf

    def predicted_error(self, cases: float, at: float | None) -> float:
        """If values are spread evenly from where they begin, with `at` as their mean or sum.

        Without it, or where they may be negative, over a sixteenth of the range. Each ceiling
        is off by its noise and by what it cuts off; they are weighed by their chances.
        """
        furthest = float(self.bounds.high - self._origin)
        filled = furthest * float(LOOSE_FILL)
        if at is not None and not self.either_sign:
            mean = at if self.function == "mean" else at / max(cases, 1.0)
            filled = min(max(2 * (mean - float(self._origin)), 1e-3 * furthest), furthest)
        ceilings = self.grid.points
        kept = np.minimum(ceilings / filled, 1.0)
        above = np.maximum(cases * (1 - kept) - self._cut_off, 0.0)
        likely = np.exp(-float(self.choice_epsilon) * (above - above.min())) / np.sqrt(ceilings)
        likely /= likely.sum()
        many = cases if self.function == "sum" else 1.0
        square = 0.0
        for k in np.flatnonzero(likely > _UNLIKELY).tolist():
            mean = filled * float(kept[k] - kept[k] ** 2 / 2)
            below = None if self.either_sign else many * (float(self._origin) + mean)
            noise, lost = self.within(k).predicted_error(cases, below), filled / 2 - mean
            square += float(likely[k]) * (noise**2 + (many * lost) ** 2)
        return math.sqrt(square)

    def _choice(self, values: Values) -> CellLaw:
        grid = self.grid
        with np.errstate(all="ignore"):  # far outliers overflow to infinity: above every bound
            away = values[~np.isnan(values)] - float(self._origin)
        distance = np.sort(np.abs(away) if self.either_sign else np.maximum(away, 0.0))
        above = len(distance) - np.searchsorted(distance, grid.points, side="right")
        scores = np.maximum(above - self._cut_off, 0).astype(np.int64)
        edges = _edges(grid.highest + 1)
        law = exponential_law(edges[:-1], scores, int(edges[-1]), self.choice_epsilon)
        return CellLaw(law.starts, law.stop, law.weights, tuple(edges[:-1].tolist()))

    @property
    def _cut_off(self) -> int:
        return math.ceil(1 / self.answer_epsilon)

    @property
    def _origin(self) -> Fraction:
        return Fraction(0) if self.either_sign else self.bounds.low


@lru_cache(maxsize=64)
def _edges(ceilings: int) -> NDArray[np.int64]:
    """Where the points of each ceiling begin; one an octave lower has √2 times as many."""
    copies = [round(16 * 2 ** (k / (2 * STEPS))) for k in range(ceilings)]
    return np.cumsum([0, *reversed(copies)])
