"""Random draws for the example logs: the same seed gives the same draws on every machine.

Apart from `mechanisms.noise`, this is the only place that imports `random`. That is
harmless: it only makes public toy data about nobody, and no release ever
draws from it. A private answer must never depend on a seed; an example must.

Only `Random.random()` is used, whose sequence Python documents as stable, and
after it only + − × ÷ and square roots, which IEEE 754 rounds the same way
everywhere. Logarithms and exponentials are not, so the skewed durations are
log-logistic (a power of the odds) and not log-normal.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import accumulate
from math import sqrt
from random import Random
from typing import Generic, TypeVar

T = TypeVar("T")

_NEVER_ONE = 1.0 - 2.0**-53


class Chance:
    """A seeded source of the few distributions the simulators need."""

    def __init__(self, seed: int) -> None:
        self._draw = Random(seed).random  # noqa: S311 - toy data, not noise

    def happens(self, probability: float) -> bool:
        return self._draw() < probability

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self._draw()

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self._draw() * (high - low + 1))

    def choice(self, options: Sequence[T]) -> T:
        return options[int(self._draw() * len(options))]

    def skewed(self, median: float, eighths: int, *, at_most: float) -> float:
        """A log-logistic draw: positive, skewed to the right, cut off at `at_most`.

        `eighths` is the shape: 2 is mild (mean 1.1 × median), 3 like common
        log-normal durations (1.3 ×), 4 heavy-tailed (1.6 ×).
        """
        uniform = min(self._draw(), _NEVER_ONE)
        eighth_root = sqrt(sqrt(sqrt(uniform / (1.0 - uniform))))
        value = median
        for _ in range(eighths):
            value *= eighth_root
        return min(value, float(at_most))


class Weighted(Generic[T]):
    """Options with fixed weights, prepared once and drawn from often."""

    def __init__(self, options: Mapping[T, float]) -> None:
        self._options = tuple(options)
        self._cumulative = tuple(accumulate(options.values()))

    def draw(self, chance: Chance) -> T:
        place = bisect_right(self._cumulative, chance.between(0.0, self._cumulative[-1]))
        return self._options[min(place, len(self._options) - 1)]


def days_of(first: date, until: date) -> tuple[date, ...]:
    """Every day of [first, until)."""
    return tuple(first + timedelta(days=day) for day in range((until - first).days))
