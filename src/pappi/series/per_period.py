"""Where a share lies by its own release, whatever the other periods say.

The tests are those of `pivot`: a share p stays in the interval unless noise that carries a release
as far from p has a probability below `missed`. The difference is that a release outside of what is
possible without noise is first projected to the nearest possible one, as its readers do, and that
the distribution is that of the *projected* noise. Otherwise an interval would be too wide wherever
half of the noise never counts: close to the ends of the range, and where periods are small.

**Points.** A point z, projected into its range, is further from p than t with probability
½·exp(−t/s) on each side that has as much room: both, or one. So the lower end is z − r, with r half
of the way to the range's end, but at least s·ln(1/(2·missed)) and at most s·ln(1/missed).

**Two bins.** With q = 1 − p, A = (n·p + X)₊ and B = (n·q + Y)₊, what is far from 0 is
T = q·A − p·B. For a size n, d = q − p and n' = t/(p·q),

    P(T > t | n) = ¼·e^(−t/q)·(q + q/d − p/d·e^(−n·d))           if n ≤ n',
                   ½·(q²·e^(−t/q) − p²·e^(−t/p))/d − ¼·p·e^(t/q−n)   if n ≥ n',

and −T is T with p and q exchanged. The second is what `pivot` has, except for its last term. Sizes
are unknown: they are taken as exponential around the usual size, estimated from all periods. This
integral has a closed form, too. Where sizes are distributed otherwise, misses are somewhat rarer or
more frequent, in small periods or in large ones: `benchmarks/smoothing.py` measures how much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pappi.series.likelihood import TINY, Floats, between
from pappi.values import LaplaceLikelihood, Likelihood, TwoBinLikelihood

_HALVINGS = 34  # finer than what smoothing rounds to
_NEARLY_HALF = 1e-5  # a difference between p and q that is small enough to cancel


def per_period_intervals(
    likelihoods: Sequence[Likelihood], missed: float, usual_size: float
) -> tuple[Floats, Floats]:
    """Both ends of each interval, missed with that probability; for ranks, the whole range."""
    low, high = np.zeros(len(likelihoods)), np.ones(len(likelihoods))
    bins: dict[int, TwoBinLikelihood] = {}
    for period, likelihood in enumerate(likelihoods):
        if isinstance(likelihood, LaplaceLikelihood):
            low[period], high[period] = _around(likelihood, missed)
        elif isinstance(likelihood, TwoBinLikelihood):
            bins[period] = likelihood
    if bins:
        periods = list(bins)
        low[periods], high[periods] = _between_sums(list(bins.values()), missed, usual_size)
    return low, high


def _around(released: LaplaceLikelihood, missed: float) -> tuple[float, float]:
    lowest = -math.inf if released.low is None else released.low
    highest = math.inf if released.high is None else released.high
    at = min(max(released.at, lowest), highest)
    one_sided, two_sided = (released.scale * math.log(1 / tail) for tail in (2 * missed, missed))
    below, above = (
        min(max(room / 2, one_sided), two_sided) for room in (at - lowest, highest - at)
    )
    return max(at - below, lowest), min(at + above, highest)


def _between_sums(bins: Sequence[TwoBinLikelihood], missed: float, usual_size: float) -> Floats:
    """A row of lower and one of upper ends, each between an end of the range and the estimate."""
    sums = np.array([(max(pair.first, 0.0), max(pair.second, 0.0)) for pair in bins])
    first, both = sums[:, 0], sums.sum(axis=1)
    estimates = np.where(both > 0, first / np.maximum(both, TINY), 0.5)
    ends = np.repeat([[0.0], [1.0]], len(bins), axis=1)

    def accepted(shares: Floats) -> NDArray[np.bool_]:
        return far_off(np.abs(first - shares * both), shares, usual_size) >= missed

    out, inside = ends, np.stack((estimates, estimates))
    for _ in range(_HALVINGS):
        middle = (out + inside) / 2
        is_inside = accepted(middle)
        out, inside = np.where(is_inside, out, middle), np.where(is_inside, middle, inside)
    return np.where(accepted(ends), ends, out)


def far_off(t: Floats, shares: Floats, usual_size: float) -> Floats:
    """P(|T| > t) if these shares are the true ones: P(T > t) + P(−T > t). See above."""
    near_half = np.abs(1 - 2 * shares) < _NEARLY_HALF
    moved = np.where(near_half, (1 - _NEARLY_HALF) / 2, shares)
    p = np.minimum(np.maximum(moved, TINY), 1 - TINY)
    return np.asarray(_above(t, np.stack((p, 1 - p)), 1 / usual_size).sum(axis=0))


def _above(t: Floats, p: Floats, rate: float) -> Floats:
    """P(T > t): the integral over small sizes, and over those that are large for this t."""
    q = 1 - p
    d, turn = q - p, t / (p * q)
    part, rest, larger = np.exp(-t / q), np.exp(-t / p), np.exp(-rate * turn)
    falling = rate * between(part, rest * larger, -(rate + d), turn)
    small = ((q + q / d) * part * (1 - larger) - p / d * falling) / 4
    large = (q**2 * part - p**2 * rest) / d / 2 - p * rest * rate / (1 + rate) / 4
    return np.asarray(small + larger * large)
