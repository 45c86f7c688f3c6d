"""Values become whole numbers before anything else is done with them.

A case's value is mapped to an integer k between public limits; sums of integers
are exact, whatever their order, and integer noise leaves no trace in low bits.

Any deterministic map of *one case's* value into {lowest..highest} is private to
build on: sensitivity is then a statement about those integers, whatever the
rounding did. So the map may use floats. It is total: infinities and outliers end
at the limits (this is the clipping), and NaN, a case without a value, gives none.

A `Lattice` is uniform. Where bounds are loose, or nothing is known but what a machine can
hold, most of it lies where no value ever is: a `GeometricGrid` gives every octave as many
points as any other, so a value is told to within a fixed percentage, whatever its size. Both
are public facts: they follow from declared bounds alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pappi.values import Bounds

RANGE_STEPS = 2**20
"""Steps over a range: finer than any noise worth releasing, and a mean is off by half a step."""

SUM_STEPS = 2**40
"""Steps for sums, whose rounding errors add up: half a step for each of 2^30 cases is 2^-11."""

MOST_CASES = 2**30
"""The most cases for which the stated interval of a sum of unknown length covers rounding."""

_CHUNK = 2**21  # |k| ≤ 2^41 always, so the sum of a chunk is at most 2^62 and fits in int64


@dataclass(frozen=True, slots=True)
class Lattice:
    """The values origin + k·step, for whole k from `lowest` to `highest`."""

    origin: Fraction
    step: Fraction
    lowest: int
    highest: int
    exact: bool

    @classmethod
    @lru_cache(maxsize=1024)
    def over(cls, bounds: Bounds, steps: int, *, integral: bool) -> Lattice:
        """k = 0 at the low bound: for values that are counted or compared.

        >>> Lattice.over(Bounds(Fraction(2), Fraction(5)), RANGE_STEPS, integral=True).highest
        3
        """
        if _whole(bounds, integral=integral):
            return cls(bounds.low, Fraction(1), 0, int(bounds.width), exact=True)
        return cls(bounds.low, bounds.width / steps, 0, steps, exact=False)

    @classmethod
    @lru_cache(maxsize=1024)
    def through_zero(cls, bounds: Bounds, *, integral: bool) -> Lattice:
        """k = 0 at zero: for sums over a private number of cases."""
        if _whole(bounds, integral=integral):
            return cls(Fraction(0), Fraction(1), int(bounds.low), int(bounds.high), exact=True)
        step = bounds.magnitude / SUM_STEPS
        lowest, highest = round(bounds.low / step), round(bounds.high / step)
        return cls(Fraction(0), step, lowest, highest, exact=False)

    @property
    def span(self) -> int:
        """The sensitivity of k, and of a sum of k, to one case being replaced."""
        return self.highest - self.lowest

    @property
    def largest(self) -> int:
        """The sensitivity of a sum of k to one case more or less."""
        return max(abs(self.lowest), abs(self.highest))

    @property
    def rounding(self) -> float:
        """The most by which one value inside the bounds differs from its lattice point."""
        return 0.0 if self.exact else float(self.step / 2)

    def snap(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The lattice points of the values that are there; the rest (NaN) is left out."""
        missing, step = np.isnan(values), float(self.step)
        present = values[~missing] if missing.any() else values
        with np.errstate(all="ignore"):  # far outliers overflow to infinity, and are clipped
            points = present - float(self.origin)
            points /= step
        np.rint(points, out=points)
        if not step:  # too small for a float; zero by zero is any fixed point
            points[np.isnan(points)] = self.lowest
        return np.clip(points, self.lowest, self.highest, out=points).astype(np.int64)

    def value(self, k: float | Fraction) -> float:
        """What a lattice point stands for; it need not lie inside the limits."""
        return float(self.origin + self.step * Fraction(k))

    def cell(self, k: float | Fraction) -> tuple[float, float]:
        """The values that go to a lattice point."""
        return self.value(k) - self.rounding, self.value(k) + self.rounding


def total(points: NDArray[np.int64]) -> int:
    """The exact sum, for any number of points."""
    return sum(int(points[i : i + _CHUNK].sum()) for i in range(0, len(points), _CHUNK))


def _whole(bounds: Bounds, *, integral: bool) -> bool:
    """Whether whole-numbered values can keep a step of exactly 1."""
    whole = bounds.low.denominator == bounds.high.denominator == 1
    return integral and whole and bounds.magnitude <= SUM_STEPS


OCTAVES_OF_LOOSE_BOUNDS = 10
"""Loose bounds may be a thousand times too wide."""

UNUSED_OCTAVES = 4
LOOSE_FILL = Fraction(1, 2**UNUSED_OCTAVES)
"""For predicted errors only: how much of loose bounds values are taken to fill."""


@dataclass(frozen=True, slots=True)
class GeometricGrid:
    """The points low + width·2^(−j/steps), from j = octaves·steps down to 0; k counts upwards."""

    bounds: Bounds
    octaves: int
    steps: int

    @property
    def lowest(self) -> int:
        return 0

    @property
    def highest(self) -> int:
        return self.octaves * self.steps

    @property
    def points(self) -> NDArray[np.float64]:
        return _points(self)

    def exact(self, k: int) -> Fraction:
        """The k-th point; roots of two are rounded to 2^-20, once for all machines."""
        octaves, part = divmod(self.highest - k, self.steps)
        root = Fraction(round(2 ** (20 - part / self.steps)), 2**20)
        share: Fraction = root / 2**octaves
        return self.bounds.low + self.bounds.width * share

    def snap(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The nearest point of each value that is there, by whole and half points."""
        present = values[~np.isnan(values)]
        return np.searchsorted(self._borders, present, side="left").astype(np.int64)

    def value(self, k: float | Fraction) -> float:
        return float(self.points[min(max(round(k), 0), self.highest)])

    def cell(self, k: float | Fraction) -> tuple[float, float]:
        """The values that go to a point."""
        index = min(max(round(k), 0), self.highest)
        borders = (float(self.bounds.low), *self._borders.tolist(), float(self.bounds.high))
        return borders[index], borders[index + 1]

    @property
    def _borders(self) -> NDArray[np.float64]:
        return (self.points[1:] + self.points[:-1]) / 2


@lru_cache(maxsize=256)
def _points(grid: GeometricGrid) -> NDArray[np.float64]:
    points = np.array([float(grid.exact(k)) for k in range(grid.highest + 1)])
    points.setflags(write=False)
    return points
