"""The paper's mechanisms, in floats, as generously as they can be read.

They get public bounds, which the paper does not use (with bounds from the data they are not
private), are told the number of cases for free, and are clamped into the range. Only the
threshold mechanism stays as it is, although its loss is hundreds of ε: nothing else decides
as well. All errors are closed forms or sums over the intervals, none is drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.utility_noise import raised_laplace
from benchmarks.utility_values import Floats


@dataclass(frozen=True, slots=True)
class Intervals:
    """Of an interval mechanism: from `low` to `high` each, with their scores, the best 0."""

    low: Floats
    high: Floats
    scores: Floats

    def chances(self, rate: float) -> Floats:
        """Of each interval: by its length, and falling with the score."""
        weights = (self.high - self.low) * np.exp(rate * (self.scores - self.scores.max()))
        return np.asarray(weights / weights.sum())

    def mean_square(self, truth: float, rate: float) -> float:
        """E (z − truth)², z uniform within its interval."""
        middle, width = (self.low + self.high) / 2, self.high - self.low
        return float(self.chances(rate) @ ((middle - truth) ** 2 + width**2 / 12))


def mean_squares(function: str, values: Floats, high: float, epsilon: float) -> tuple[float, ...]:
    """The mean square error of each mechanism the paper has for the function."""
    if function in ("mean", "sum"):
        return _of_totals(function, values, high, epsilon)
    if function in ("share", "ratio"):
        return (_of_split_sums(values, high, epsilon),)
    truth = float(getattr(np, function)(values))
    noise = clamped_laplace(high / epsilon, truth, high - truth)
    if function == "median":
        return (noise,)
    ranked = by_rank(values if function == "max" else high - values, 0.0, high)
    answer = truth if function == "max" else high - truth
    return noise, ranked.mean_square(answer, epsilon / 2)


def _of_totals(function: str, values: Floats, high: float, epsilon: float) -> tuple[float, ...]:
    cases = len(values)
    step, top = (high / cases, high) if function == "mean" else (high, high * cases)
    truth = float(values.mean() if function == "mean" else values.sum())
    return (
        clamped_laplace(step / epsilon, truth, top - truth),
        around(truth, step, 0.0, top).mean_square(truth, epsilon / 2),
    )


def _of_split_sums(rows: Floats, high: float, epsilon: float) -> float:
    """Both sums of a ratio or share, each with half of ε, divided and clamped into [0, 1]."""
    part, whole = (float(each) for each in rows.sum(axis=0))
    parts, part_weights = raised_laplace(part, 2 * high / epsilon)
    wholes, whole_weights = raised_laplace(whole, 2 * high / epsilon)
    shares = parts[:, np.newaxis] / np.maximum(wholes, 1e-9 * high)
    off = np.minimum(shares, 1.0) - part / whole
    return float(part_weights @ off**2 @ whole_weights)


def clamped_laplace(scale: float, below: float, above: float) -> float:
    """E of the square of Laplace noise, clamped so far below and above."""
    sides = (min(side / scale, 700.0) for side in (below, above))
    return scale**2 * sum(1 - math.exp(-x) * (1 + x) for x in sides)


def around(centre: float, step: float, low: float, high: float) -> Intervals:
    """For means and sums: steps around the value, each one score less than the one before."""
    below, above = math.ceil((centre - low) / step), math.ceil((high - centre) / step)
    cells = np.arange(-below, above + 1.0)
    starts = np.clip(centre + (cells - 0.5) * step, low, high)
    ends = np.clip(centre + (cells + 0.5) * step, low, high)
    inside = ends > starts
    return Intervals(starts[inside], ends[inside], -np.abs(cells)[inside])


def by_rank(values: Floats, low: float, high: float) -> Intervals:
    """For the maximum: between midpoints of distinct values, scored by rank from the top."""
    ordered = np.unique(values)
    borders = np.concatenate(([low], (ordered[1:] + ordered[:-1]) / 2, [high]))
    scores = -np.arange(len(ordered) - 1, -1, -1.0)
    inside = borders[1:] > borders[:-1]
    return Intervals(borders[:-1][inside], borders[1:][inside], scores[inside])


def aimed(plain: Intervals, truth: float, target: float, falloff: int) -> Intervals:
    """The threshold mechanism: intervals are split at the target, and fall off beyond it."""
    borders = np.unique(np.concatenate((plain.low, plain.high, [target])))
    low, high = borders[:-1], borders[1:]
    order = np.arange(len(low), dtype=np.float64)
    held = min(int(np.searchsorted(high, truth)), len(low) - 1)
    kept = ((low + high) / 2 <= target) == (truth <= target)
    beyond = np.abs(order[:, np.newaxis] - order[kept]).min(axis=1)
    return Intervals(low, high, -np.abs(order - held) - falloff * beyond)
