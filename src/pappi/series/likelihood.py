"""What one release says by itself: its likelihood, and its interval.

How likely it is, for each share p between 0 and 1 of a public range:

*Two bins* are two noisy sums, a = n·p + X and b = n·(1−p) + Y in units of the noise's scale, with
unknown n ≥ 0 and Laplace X, Y. The sizes n are taken as exponential around their mean m, which is
estimated from all periods, or around a tenth of it for one period in four. That makes the
likelihood a mixture of two terms of the form

    L(p) = 1/m · ∫₀^∞ exp(−|a − n·p| − |b − n·(1−p)| − n/m) dn,

whose exponent is linear between 0, a/p and b/(1−p): an integral in closed form. It is flat
where a period is empty, and allows for a large sum being noise where periods are small.
*Laplace* noise on the share itself is L(p) = exp(−|p − at|/scale).

*A rank* is different: a point z drawn as a maximum has an output distribution that depends on
every case, and nothing is known about the cases. Its density falls with the number of cases above z
(`interval`), so as exp(−s·(1 − z/p)^k) below the maximum p, if s/ε cases thin out towards it with
power k. All s from a third to a thousand and all k from 1 to 8 are taken as equally likely. In one
period of four the maximum stands alone beyond the end of the others, anywhere, where no release
could show it:

    L(p) = ¾·l(p) + ¼·1/p·∫₀^p l(t) dt,   l(p) = mean of exp(−s·(1 − z/p)₊^k) / Z over s and k.

That is a guess about the cases, so it is used for values only. Intervals hold whatever the cases
are, and are as wide as that makes them.

**The interval of a period by its own release**, whatever the other periods say.

The tests are those of `two_bin`: p stays in the interval unless noise that carries a release
as far from p has a probability below `missed`. The difference is that a release outside of what is
possible without noise is first projected to the nearest possible one, as its readers do, and that
the distribution is that of the *projected* noise. Otherwise an interval would be too wide wherever
half of the noise never counts: close to the ends of the range, and where periods are small.

*Points.* A point z, projected into its range, is further from p than t with probability
½·exp(−t/s) on each side that has as much room: both, or one. So the lower end is z − r, with r half
of the way to the range's end, but at least s·ln(1/(2·missed)) and at most s·ln(1/missed).

*Two bins.* With q = 1 − p, A = (n·p + X)₊ and B = (n·q + Y)₊, what is far from 0 is
T = q·A − p·B. For a size n, d = q − p and n' = t/(p·q),

    P(T > t | n) = ¼·e^(−t/q)·(q + q/d − p/d·e^(−n·d))           if n ≤ n',
                   ½·(q²·e^(−t/q) − p²·e^(−t/p))/d − ¼·p·e^(t/q−n)   if n ≥ n',

and −T is T with p and q exchanged. The second is that of `two_bin`, but for its last term. Sizes
are unknown: they are taken as exponential around the usual size, estimated from all periods. This
integral has a closed form, too. Where sizes are distributed otherwise, misses are somewhat rarer or
more frequent, in small periods or in large ones: `benchmarks/smoothing.py` measures how much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms import drawn_in_shares
from pappi.values import LaplaceLikelihood, Likelihood, RankLikelihood, TwoBinLikelihood

Floats = NDArray[np.float64]

TINY = 1e-12
"""How close to an end of the range a share may come."""

LEAST = 1e-300
"""The smallest number whose logarithm is taken."""

_SMALL_SHARE, _SMALL_SIZE = 0.25, 0.1  # a quarter of the periods have a tenth of the usual size

_ALONE = 0.25  # of the maxima stand alone
_COUNTS = np.array([0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0])[:, np.newaxis]  # s
_POWERS = np.array([1.0, 2.0, 4.0, 8.0])  # k
_PLACES = np.linspace(0, 1, 201)


def size_of(likelihood: Likelihood) -> float:
    """The size of a period: its number of cases in units of the noise scale; 1 if unknown."""
    match likelihood:
        case TwoBinLikelihood(first, second):
            return max(first + second, 0.0)
        case LaplaceLikelihood(scale=scale):
            return 1 / scale  # noise on a mean falls as the number of cases grows
        case RankLikelihood():
            return 1.0


def usual_size(likelihoods: Sequence[Likelihood]) -> float:
    """The mean size plus its standard error: better too large than too small."""
    # Noise below zero counts here: without it, the mean would be too large.
    sizes = [
        e.first + e.second if isinstance(e, TwoBinLikelihood) else size_of(e) for e in likelihoods
    ]
    return max(sum(sizes), 0.0) / len(sizes) + 2 / math.sqrt(len(sizes))


def rough_estimate(likelihood: Likelihood) -> tuple[float, float]:
    """An estimate of the share, and its approximate error; the middle if nothing is known."""
    match likelihood:
        case TwoBinLikelihood(first, second):
            both = max(first, 0.0) + max(second, 0.0)
            share = float(drawn_in_shares(np.array(first), np.array(second)))
            return share, 1.5 * math.hypot(share, 1 - share) / (1 + both)
        case LaplaceLikelihood(at, scale):
            return min(max(at, 0.0), 1.0), 1.5 * scale
        case RankLikelihood(at):
            return at, 0.1


def log_likelihood(likelihood: Likelihood, shares: Floats, usual_size: float) -> Floats:
    """The logarithm of L at each of the shares, up to a constant."""
    match likelihood:
        case TwoBinLikelihood():
            small = _SMALL_SIZE * usual_size
            usual = _for_sizes(likelihood, shares, 1 / usual_size)
            return np.logaddexp(
                math.log((1 - _SMALL_SHARE) / usual_size) + usual,
                math.log(_SMALL_SHARE / small) + _for_sizes(likelihood, shares, 1 / small),
            )
        case LaplaceLikelihood(at, scale):
            return np.asarray(-np.abs(shares - at) / scale)
        case RankLikelihood(at, smallest=smallest):
            at, positions = (1 - at, 1 - shares) if smallest else (at, shares)
            return np.log(np.interp(positions, _PLACES, _of_maximum(at)))


def certain_of_rank(rank: RankLikelihood, missed: float) -> tuple[float, float]:
    """Where an extreme lies whatever the cases are, except with probability `missed`.

    See `interval`. Two steps allow for the point itself and for rounding.
    """
    below = 1 - (1 - rank.at + 2 * rank.step) / missed
    above = (rank.at + 2 * rank.step) / missed
    return max(below, 0.0), min(above, 1.0)


def _for_sizes(bins: TwoBinLikelihood, shares: Floats, rate: float) -> Floats:
    """The log-likelihood if sizes are exponential with this rate, without the factor `rate`."""
    p = np.clip(shares, TINY, 1 - TINY)
    q, a, b = 1 - p, bins.first, bins.second
    part, rest = np.maximum(a / p, 0.0), np.maximum(b / q, 0.0)
    near, far = np.minimum(part, rest), np.maximum(part, rest)

    def exponent(size: Floats) -> Floats:
        return -np.abs(a - size * p) - np.abs(b - size * q) - rate * size

    exponents = [exponent(size) for size in (np.zeros_like(p), near, far)]
    # The largest is at one of the three: shifted to 0, so that nothing underflows.
    most = max(float(values.max()) for values in exponents)
    none, at_near, at_far = (np.exp(values - most) for values in exponents)
    slope = np.where(part < rest, q - p, p - q) - rate
    below = between(none, at_near, np.full_like(p, 1 - rate), near)
    total = below + between(at_near, at_far, slope, far - near) + at_far / (1 + rate)
    return most + np.log(np.maximum(total, LEAST))


def between(start: Floats, end: Floats, slope: Floats, length: Floats) -> Floats:
    """∫ of an exponential whose exponent is linear, by its values at both ends."""
    level = np.abs(slope * length) < 1e-6
    rising = (end - start) / np.where(level, 1.0, slope)
    return np.where(level, start * length, rising)


def _of_maximum(at: float) -> Floats:
    """L of a maximum at every place; see above."""
    top = np.maximum(_PLACES, TINY)[:, np.newaxis, np.newaxis]
    missing = np.maximum(1 - at / top, 0.0) ** _POWERS
    densities = np.exp(-_COUNTS * missing) / (1 - top + top * _below_maximum())
    usual = densities.mean(axis=(1, 2))
    halves = (usual[1:] + usual[:-1]) / 2
    so_far = np.insert(np.cumsum(halves) / np.arange(1, len(_PLACES)), 0, usual[0])
    return np.asarray((1 - _ALONE) * usual + _ALONE * so_far)


@cache
def _below_maximum() -> Floats:
    """∫₀¹ exp(−s·(1 − u)^k) du, for every s and k."""
    middles = (_PLACES[1:] + _PLACES[:-1]) / 2
    exponents = _COUNTS[:, :, np.newaxis] * middles ** _POWERS[:, np.newaxis]
    return np.asarray(np.exp(-exponents).mean(axis=2))


# --- the interval of each period by its own release ------------------------------------

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
