"""What the utility benchmark asks about: three distributions × sizes × ε, drawn with fixed seeds.

A cell's error is the root of the mean square over its data sets and over the noise: it is
about the distribution, not about one draw of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pappi.values import Bounds

Floats = NDArray[np.float64]

SIZES = (10, 50, 100, 200, 1_000)
EPSILONS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(1))
WORTH_ASKING = 10
"""n·ε from which the limits hold: below, little but the noise is seen, whatever the mechanism."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Of values, with the bounds that one would declare if one knew it, and without."""

    name: str
    tight: int
    loose: int
    middle: float
    draw: Callable[[np.random.Generator, int], Floats]


DISTRIBUTIONS = (
    Distribution("gaussian", 200, 1_000, 100.0, lambda rng, n: rng.normal(100, 25, n)),
    Distribution("pareto", 200, 1_000, 20.0, lambda rng, n: 10 * (1 + rng.pareto(2, n))),
    Distribution("poisson", 20, 100, 5.0, lambda rng, n: rng.poisson(5, n).astype(np.float64)),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One question: a distribution, a number of cases, an ε, and whether bounds are loose."""

    distribution: Distribution
    n: int
    epsilon: Fraction
    loose: bool

    @property
    def high(self) -> int:
        return self.distribution.loose if self.loose else self.distribution.tight

    @property
    def bounds(self) -> Bounds:
        return Bounds(Fraction(0), Fraction(self.high))

    @property
    def worth_asking(self) -> bool:
        return self.n * self.epsilon >= WORTH_ASKING

    @property
    def label(self) -> str:
        return f"{self.distribution.name} {self.n} ε={float(self.epsilon):g}"

    def values(self, sets: int) -> Iterator[Floats]:
        """The same data sets at every ε, within the bounds."""
        for generator in self._generators(sets):
            yield np.clip(self.distribution.draw(generator, self.n), 0, self.high)

    def rows(self, sets: int) -> Iterator[Floats]:
        """Rows (part, whole): of each value, a uniform part."""
        for generator in self._generators(sets):
            wholes = np.clip(self.distribution.draw(generator, self.n), 0, self.high)
            yield np.column_stack([generator.uniform(0, 1, self.n) * wholes, wholes])

    def _generators(self, sets: int) -> Iterator[np.random.Generator]:
        which = [each.name for each in DISTRIBUTIONS].index(self.distribution.name)
        for index in range(sets):
            yield np.random.default_rng([which, self.n, index])


def all_cells(*, loose: bool = False) -> tuple[Cell, ...]:
    return tuple(
        Cell(distribution, n, epsilon, loose)
        for distribution in DISTRIBUTIONS
        for n in SIZES
        for epsilon in EPSILONS
    )
