"""Extremes and quantiles where bounds are loose: the interval mechanism on a geometric grid.

**Maximum.** With loose bounds, nearly all of [L, U] lies above every value, and there the
score of the plain maximum is 0: a uniform point of an empty range. So the score asks for a
value that r cases exceed, r = ⌈20/ε⌉, and the points are those of a geometric grid:

    score(z) = |#{x > z} − r|

*add-remove*: one more case moves #{x > z} by 0 or 1. *replace*: a case that moves changes
each count by at most 1. Scores may rise here and fall there, so the rate is ε/2.

What comes out is near the r-th largest value, not the largest: it says so, and its interval
is open to the top, because the largest value may be anywhere above.

**Minimum and quantiles** keep their score (`interval`), on the grid: the proof there is about
the order of whole numbers, here the numbers of grid points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from pappi.errors import NotReleasable
from pappi.mechanisms.grid import UNUSED_OCTAVES, GeometricGrid
from pappi.mechanisms.interval import Counts, IntervalExtreme, IntervalQuantile, RankScored
from pappi.mechanisms.laws import Outcome
from pappi.mechanisms.mechanism import DrawnFromLaw

RANK_TARGET = 20
"""r·ε: with fewer cases above, an empty stretch of the grid would weigh too much."""

STEPS = 16
"""Points per octave, 4 % apart."""

_HIGHEST_RANK = 50_000
_MOST_IMAGINED = 2_000


@dataclass(frozen=True, slots=True)
class RankedMaximum(RankScored):
    """About the largest of the clipped values: one that few exceed."""

    name: ClassVar[str] = "ranked"

    octaves: int

    def __post_init__(self) -> None:
        DrawnFromLaw.__post_init__(self)
        if self.rank > _HIGHEST_RANK:
            raise NotReleasable(
                f"a value that {self.rank:,} cases exceed is no maximum, and this epsilon gives "
                "no other",
                hint="ask with a larger epsilon, or declare bounds that fit",
            )

    @property
    def lattice(self) -> GeometricGrid:
        return GeometricGrid(self.bounds, self.octaves, STEPS)

    @property
    def rank(self) -> int:
        """How many cases should exceed the answer."""
        return math.ceil(RANK_TARGET / self.epsilon)

    @property
    def rate(self) -> Fraction:
        return self.epsilon / 2

    def stretches(self, points: Counts) -> tuple[Counts, Counts]:
        starts = self.starts(points)
        above = len(points) - np.searchsorted(points, starts, side="right")
        return starts, np.abs(above - self.rank)

    def exponents(self, cases: float, share: float) -> tuple[float, float]:  # noqa: ARG002 - as many ranks wherever it lies
        rate = float(self.rate)
        return rate * max(cases - self.rank, 0.0), rate * self.rank

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        low, _ = super(RankedMaximum, self).interval(noisy, confidence)
        return low, float(self.bounds.high)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        """A value that few exceed says nothing about how far those few go."""
        if limit >= self.bounds.high:
            return 1.0
        return min(super(RankedMaximum, self).chance_at_most(noisy, limit), 0.5)

    def predicted_error(self, cases: float, at: float | None) -> float:  # noqa: ARG002 - the grid is all that is known
        """If every octave holds as many of the values as any other."""
        return imagined_error(self, cases, 1.0)


@dataclass(frozen=True, slots=True)
class LooseMinimum(IntervalExtreme):
    """The smallest of the clipped values, to within a few percent of its size."""

    octaves: int

    @property
    def lattice(self) -> GeometricGrid:
        return GeometricGrid(self.bounds, self.octaves, STEPS)

    def predicted_error(self, cases: float, at: float | None) -> float:  # noqa: ARG002 - the grid is all that is known
        return imagined_error(self, cases, 0.0)


@dataclass(frozen=True, slots=True)
class LooseQuantile(IntervalQuantile):
    """A quantile of the clipped values, to within a few percent of its size."""

    octaves: int

    @property
    def lattice(self) -> GeometricGrid:
        return GeometricGrid(self.bounds, self.octaves, STEPS)

    def predicted_error(self, cases: float, at: float | None) -> float:  # noqa: ARG002 - the grid is all that is known
        return imagined_error(self, cases, float(self.level))


@lru_cache(maxsize=256)
def imagined_error(
    mechanism: RankedMaximum | LooseMinimum | LooseQuantile, cases: float, level: float
) -> float:
    """The error of the law for values spread evenly over the grid's points, but for the top."""
    grid = mechanism.lattice
    top = max(grid.highest - UNUSED_OCTAVES * grid.steps, 0)
    imagined = min(max(round(cases), 0), _MOST_IMAGINED)
    values = grid.points[np.linspace(0, top, imagined).astype(np.int64)]
    law = mechanism.law(values)
    likely = np.array([law.probability((k,)) for k in range(grid.highest + 1)])
    answer = grid.value(level * top)
    return float(np.sqrt(likely @ (grid.points - answer) ** 2))
