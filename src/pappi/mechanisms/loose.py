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
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np

from pappi.errors import NotReleasable
from pappi.mechanisms.interval import Counts, IntervalExtreme, IntervalQuantile, RankScored
from pappi.mechanisms.lattice import UNUSED_OCTAVES, GeometricGrid
from pappi.mechanisms.laws import Outcome
from pappi.mechanisms.mechanism import Mechanism, Replaced, Task
from pappi.mechanisms.prediction import (
    OVER_OCTAVES,
    Chances,
    ErrorLaw,
    Floats,
    Scenario,
    weighted_tails,
)
from pappi.mechanisms.tails import dot

RANK_TARGET = 20
"""r·ε: with fewer cases above, an empty stretch of the grid would weigh too much."""

STEPS = 16
"""Points per octave, 4 % apart."""

_HIGHEST_RANK = 50_000
_MOST_PREDICTED = 2_000


class _OnGrid(RankScored):
    """Points of a geometric grid; errors are predicted as if every octave held as many values."""

    __slots__ = ()

    predicts_in_formulas: ClassVar[bool] = False

    octaves: int

    @classmethod
    def answers(cls, task: Task) -> bool:
        return task.kind in cls.functions and not task.has_target and task.loose is not None

    @property
    @abstractmethod
    def predicted_level(self) -> float:
        """The share of cases below the answer."""

    @property
    def lattice(self) -> GeometricGrid:
        return GeometricGrid(self.bounds, self.octaves, STEPS)

    def predicted_error(self, cases: float, at: float | None) -> float:  # noqa: ARG002 - the grid is all that is known
        errors, likely = _errors_on_grid(self, cases)
        return float(np.sqrt(dot(likely, errors**2)))

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - the grid is all that is known
        return ErrorLaw(weighted_tails(*_errors_on_grid(self, cases)).beyond, OVER_OCTAVES)

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        return Mechanism.outcomes(self, scenario, chances)


@dataclass(frozen=True, slots=True)
class RankedMaximum(_OnGrid):
    """About the largest of the clipped values: one that few exceed."""

    name: ClassVar[str] = "ranked"
    functions: ClassVar[tuple[str, ...]] = ("max",)
    replaced: ClassVar[Replaced] = Replaced.VALUE
    caution: ClassVar[str] = (
        f"the bounds are loose, so this is not the largest value: about {RANK_TARGET}/ε "
        "cases exceed it"
    )

    octaves: int

    @classmethod
    def made_for(cls, task: Task) -> Self:
        return cls(*task.common, task.octaves())

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self.rank > _HIGHEST_RANK:
            raise NotReleasable(
                f"at this epsilon the maximum would be a value that {self.rank:,} cases exceed",
                hint="ask with a larger epsilon, or declare bounds that fit",
            )

    @property
    def predicted_level(self) -> float:
        return 1.0

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


@dataclass(frozen=True, slots=True)
class LooseMinimum(_OnGrid, IntervalExtreme):
    """The smallest of the clipped values, to within a few percent of its size."""

    functions: ClassVar[tuple[str, ...]] = ("min",)

    octaves: int

    @classmethod
    def made_for(cls, task: Task) -> Self:
        return cls(*task.common, "min", task.octaves())

    @property
    def predicted_level(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class LooseQuantile(_OnGrid, IntervalQuantile):
    """A quantile of the clipped values, to within a few percent of its size."""

    octaves: int

    @classmethod
    def made_for(cls, task: Task) -> Self:
        return cls(*task.common, task.level or Fraction(0), task.octaves())

    @property
    def predicted_level(self) -> float:
        return float(self.level)


@lru_cache(maxsize=256)
def _errors_on_grid(mechanism: _OnGrid, cases: float) -> tuple[Floats, Floats]:
    """Errors and their chances, for values spread evenly over the grid, but for the top."""
    grid = mechanism.lattice
    top = max(grid.highest - UNUSED_OCTAVES * grid.steps, 0)
    many = min(max(round(cases), 0), _MOST_PREDICTED)
    values = grid.points[np.linspace(0, top, many).astype(np.int64)]
    law = mechanism.law(values)
    likely = np.array([law.probability((k,)) for k in range(grid.highest + 1)])
    return grid.points - grid.value(mechanism.predicted_level * top), likely
