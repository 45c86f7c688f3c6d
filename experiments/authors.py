"""How the authors' code builds and draws intervals where it departs from the text.

See `deviations` for the names under which these are switched on.
"""

from __future__ import annotations

import numpy as np

from experiments.intervals import Floats, Generator, Intervals, point


def to_the_nearer_bound(centre: float, step: float, low: float, high: float) -> Intervals:
    """Steps to both sides of a mean, until one side has reached its bound: symmetric results."""
    if step <= 0:
        return point(centre)
    rounds = _rounds(centre, step, low, high)
    away = np.arange(rounds, dtype=np.float64)
    inner_low, inner_high = centre - step / 2 - away * step, centre + step / 2 + away * step
    lower = inner_low > 0  # the code compares with zero, where it means the low bound
    lows = np.maximum(inner_low - step, low)[lower]
    starts = np.concatenate((lows[::-1], [centre - step / 2], inner_high))
    ends = np.concatenate(
        (inner_low[lower][::-1], [centre + step / 2], np.minimum(inner_high + step, high))
    )
    held = len(lows)
    return Intervals(starts, ends, -np.abs(np.arange(len(starts)) - float(held)))


def _rounds(centre: float, step: float, low: float, high: float) -> int:
    """How often the loop runs: while both ends are still inside."""
    room = min(centre - low, high - centre) - step / 2
    return max(int(np.ceil(room / step)), 0)


def with_shifted_scores(intervals: Intervals, centre: float) -> Intervals:
    """Right of the mean, every interval scores one better than it should."""
    right = intervals.low >= centre
    return Intervals(intervals.low, intervals.high, intervals.scores + right)


def whole_draws(intervals: Intervals, rate: float, runs: int, rng: Generator) -> Floats:
    """A whole number, both ends of the interval included, cut towards zero."""
    chosen = intervals.choose(rate, runs, rng)
    first, last = np.trunc(intervals.low), np.trunc(intervals.high)
    drawn = rng.integers(first[chosen].astype(np.int64), last[chosen].astype(np.int64) + 1)
    return drawn.astype(np.float64)
