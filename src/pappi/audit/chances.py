"""P-values and confidence bounds, as far as the audit needs them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

_HALVINGS = 60


def chi_square_p(observed: Sequence[float], expected: Sequence[float]) -> float:
    """The chance of a fit this bad or worse, after Wilson and Hilferty.

    A chi-square variable of d degrees of freedom, divided by d, has a cube root that is
    normal with mean 1 − 2/9d and variance 2/9d, nearly: p is right within a few percent where
    it is ordinary, and within a factor of three where it is 10⁻⁶, too large rather than too small.

    >>> round(chi_square_p([45, 55, 35, 65], [50, 50, 50, 50]), 3)
    0.018
    """
    cells = zip(observed, expected, strict=True)
    freedom = len(observed) - 1
    mean_square = sum((o - e) ** 2 / e for o, e in cells) / freedom
    spread = 2 / (9 * freedom)
    return normal_tail((math.cbrt(mean_square) - (1 - spread)) / math.sqrt(spread))


def normal_tail(deviations: float) -> float:
    """P(Z ≥ deviations) of a standard normal Z."""
    return math.erfc(deviations / math.sqrt(2)) / 2


def share_at_least(successes: int, trials: int, level: float) -> float:
    """Clopper and Pearson's lower bound on a probability, missed with a chance of `level`.

    >>> round(share_at_least(10, 10, 0.05), 4)  # 0.05^(1/10)
    0.7411
    """
    if successes == 0:
        return 0.0
    return _largest(lambda p: at_least(successes, trials, p) <= level)


def share_at_most(successes: int, trials: int, level: float) -> float:
    """Their upper bound: the lower one of the failures, seen from the other side.

    >>> round(share_at_most(0, 100, 0.05), 4)  # the rule of three
    0.0295
    """
    return 1 - share_at_least(trials - successes, trials, level)


def at_least(successes: int, trials: int, p: float) -> float:
    """P(X ≥ successes) of a binomial X."""
    if not 0 < p < 1:
        return float(p >= 1 or successes == 0)
    hits = np.arange(successes, trials + 1)
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, trials + 1)))))
    ways = logs[trials] - logs[hits] - logs[trials - hits]
    return float(np.exp(ways + hits * math.log(p) + (trials - hits) * math.log1p(-p)).sum())


def _largest(holds: Callable[[float], bool]) -> float:
    """The largest p for which a condition that holds from 0 on still does, from below."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
