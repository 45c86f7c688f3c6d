"""Points that are close together near the low bound and far apart near the high one.

Where bounds are loose, or nothing is known but what a machine can hold, most of a uniform
lattice lies where no value ever is. A geometric grid gives every octave as many points as
any other: a value is told to within a fixed percentage, whatever its size.

The grid is a public fact: it follows from declared bounds alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pappi.values.bounds import Bounds

OCTAVES_OF_LOOSE_BOUNDS = 10
"""Loose bounds may be a thousand times too wide."""

UNUSED_OCTAVES = 4
IMAGINED_CEILING = Fraction(1, 2**UNUSED_OCTAVES)
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
