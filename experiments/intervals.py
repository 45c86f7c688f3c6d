"""Scored intervals: what the paper's exponential mechanisms draw from, as its text defines them.

    by_rank   min and max: borders halfway between neighbouring values, scores by rank
    around    mean and sum: steps of the sensitivity, centred on the value
    aimed     the threshold-sensitive mechanism: split at the target, worse beyond it

An interval is chosen with a chance in proportion to its length times exp(rate · score), and
a value is drawn from it uniformly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Generator = np.random.Generator


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals in order, from `low` to `high` each, with scores of at most 0."""

    low: Floats
    high: Floats
    scores: Floats

    def chances(self, rate: float) -> Floats:
        weights = (self.high - self.low) * np.exp(rate * (self.scores - self.scores.max()))
        total = weights.sum()
        # Intervals without any length hold one and the same value.
        return weights / total if total > 0 else np.full(len(weights), 1 / len(weights))

    def draw(self, rate: float, runs: int, rng: Generator) -> Floats:
        chosen = self.choose(rate, runs, rng)
        return np.asarray(rng.uniform(self.low[chosen], self.high[chosen]))

    def choose(self, rate: float, runs: int, rng: Generator) -> NDArray[np.int64]:
        """Which interval each run draws from."""
        return rng.choice(len(self.low), runs, p=self.chances(rate))


def point(value: float) -> Intervals:
    """The one value that is possible."""
    return Intervals(np.array([value]), np.array([value]), np.zeros(1))


def by_rank(values: Floats, low: float, high: float, function: Literal["min", "max"]) -> Intervals:
    """
    >>> by_rank(np.array([2.0, 3, 7, 8, 10]), 2, 10, "max").low[1:].tolist()
    [2.5, 5.0, 7.5, 9.0]
    """
    ordered = np.sort(values)
    borders = np.concatenate(([low], (ordered[1:] + ordered[:-1]) / 2, [high]))
    ranks = np.arange(len(ordered), dtype=np.float64)
    scores = ranks - ranks[-1] if function == "max" else -ranks
    return Intervals(borders[:-1], borders[1:], scores)


def around(centre: float, step: float, low: float, high: float) -> Intervals:
    """
    >>> around(30, 10, 10, 50).low.tolist()
    [10.0, 15.0, 25.0, 35.0, 45.0]
    """
    if step <= 0 or high <= low:
        return point(centre)
    below, above = math.ceil((centre - low) / step), math.ceil((high - centre) / step)
    cells = np.arange(-below, above + 1.0)
    starts = np.clip(centre + (cells - 0.5) * step, low, high)
    ends = np.clip(centre + (cells + 0.5) * step, low, high)
    inside = ends > starts
    return Intervals(starts[inside], ends[inside], -np.abs(cells)[inside])


def aimed(plain: Intervals, truth: float, target: float, falloff: int) -> Intervals:
    """For "at most the target": a value on it still meets it.

    >>> aimed(around(30, 10, 10, 50), 30, 30, 3).scores.astype(int).tolist()
    [-2, -1, 0, -4, -8, -12]
    """
    borders = np.unique(np.concatenate((plain.low, plain.high[-1:], [target])))
    borders = borders[(borders >= plain.low[0]) & (borders <= plain.high[-1])]
    if len(borders) == 1:
        return plain
    low, high = borders[:-1], borders[1:]
    order = np.arange(len(low), dtype=np.float64)
    middle, held = (low + high) / 2, min(int(np.searchsorted(high, truth)), len(low) - 1)
    preserving = (middle <= target) == (truth <= target)
    return Intervals(low, high, -np.abs(order - held) - falloff * _distances(order, preserving))


def _distances(order: Floats, preserving: NDArray[np.bool_]) -> Floats:
    """How many intervals away the nearest preserving one is; they lie side by side."""
    kept = order[preserving]
    if not len(kept):
        return np.zeros(len(order))
    return np.asarray(np.maximum(np.maximum(kept[0] - order, order - kept[-1]), 0.0))
