"""The posterior of every period, given what all periods of a series released.

The periods of a series are disjoint and the distribution of their noise is public, so what the
other periods say about one of them is free: nothing here sees a case, or anything but released
numbers. Small periods gain most, because noise weighs most there. What one release says about a
share p between 0 and 1 of a public range is its likelihood: see `likelihood`.

**The model.** The true shares of a series are alike: normal around a common μ with deviation τ,
truncated at 0 and 1. But three in a hundred (δ) are outliers and may be anything, most likely
close to an end, as the share of two cases is: the arcsine law. The prior of μ is flat. The model
averages over a grid of (μ, τ), so that intervals account for both being estimates.
A priori, *intervals* and probabilities take every τ up to half of the range as equally likely;
*values* expect a smaller one, by a half-Cauchy prior: a twentieth of the range is usual, far
more is possible. Where releases say little, a value that expects likeness errs less, and an
interval that does not is right more often. For the same reason δ is larger for intervals of sums.

**A whole period**, released as well, is the mean of the periods by their weights n/Σn, so
normal around μ with deviation τ·√κ, κ = Σ(n/Σn)².

**Intervals** hold for all periods of the series together: each is the hull of the likeliest
shares, all at one level, the largest at which the posterior probability that one of them fails is
at most a part of what the confidence leaves. The rest is for series that break the model, and for
per-period intervals: `smoothing` intersects the two. That part is a third where releases are
informative. Where they say little, the posterior is mostly the prior, so it falls to a fifth.
How often all intervals of a series hold is measured in `benchmarks/smoothing.py`. Where points
were drawn by rank, each interval is what the mechanism promises without a model, at a confidence
high enough for all to hold together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms import dot
from pappi.series.likelihood import (
    LEAST,
    TINY,
    Floats,
    certain_of_rank,
    log_likelihood,
    rough_estimate,
    size_of,
    usual_size,
)
from pappi.values import LaplaceLikelihood, Likelihood, RankLikelihood

Places = NDArray[np.intp]

UNLIKE = 0.03
"""δ: the prior share of periods that are outliers."""

UNLIKE_SUMS = 0.15
"""The same for intervals of sums, which also differ with the size of their periods."""

USUAL_SPREAD = 0.05
"""The τ at which its prior has fallen to a half, as a share of the range."""

_LARGEST_SPREAD = 0.5
_SPREADS = 12
_CENTRES = 64
_COARSE_POINTS = 65
_FINE_POINTS, _MOST_POINTS = 400, 4_000
_HALVINGS = 9
_MISSED = 0.2, 0.35  # the model's part of what may be missed: for small periods, and for large ones
_LARGE = 20.0  # the usual size halfway between the two
_NEGLIGIBLE = 1e-4  # of the weight of the likeliest (μ, τ)
_DECIMALS = 12
_SLIVER = 0.1  # of an interval

# Where the grid is finer around a period's value, in deviations from it.
_REACH = np.array([0.2, 0.45, 0.75, 1.1, 1.6, 2.3, 3.2, 4.5, 6.5, 10.0, 16.0, 30.0])
_AROUND = np.concatenate((-_REACH[::-1], [0.0], _REACH))


@dataclass(frozen=True, slots=True)
class Posterior:
    """The posterior of each share: masses at the points of a grid, one row per period."""

    points: Floats
    masses: Floats
    means: Floats
    low: Floats
    high: Floats

    def probability_between(self, period: int, low: float, high: float) -> float:
        inside = (self.points >= low) & (self.points <= high)
        return float(dot(self.masses[period], inside))


def posterior_of(
    likelihoods: Sequence[Likelihood], confidence: float = 0.95, whole: Likelihood | None = None
) -> Posterior:
    """What all periods together say about each of them, and the whole time, if it was released."""
    points = _grid(likelihoods)
    widths, usual = _widths(points), usual_size(likelihoods)
    relative = np.stack([_relative(likelihood, points, usual) for likelihood in likelihoods])
    prior = _HyperPrior.of(likelihoods, points)
    alike = _normal_laws(points, widths, prior.centres, prior.spreads)
    outliers = _outlier_law(points)
    by_whole: Floats | float = 0.0
    if whole is not None:
        by_whole = _whole_log_likelihood(whole, likelihoods, points, widths, prior)
    marginals = _Marginals.of(relative, alike, outliers, UNLIKE)
    for_values = marginals.posterior(by_whole + np.log(prior.for_values))
    if any(_is_sum(likelihood) for likelihood in likelihoods):
        marginals = _Marginals.of(relative, alike, outliers, UNLIKE_SUMS)
    for_intervals = marginals.posterior(by_whole + np.log(prior.for_intervals))
    masses = for_intervals.masses()
    ranks = [released for released in likelihoods if isinstance(released, RankLikelihood)]
    if ranks:
        missed = (1 - confidence) / len(likelihoods)
        low, high = np.array([certain_of_rank(rank, missed) for rank in ranks]).T
    else:
        least, most = _MISSED
        missed = (least + (most - least) * usual / (usual + _LARGE)) * (1 - confidence)
        low, high = _ends(points, *_joint_hulls(for_intervals, masses, widths, missed))
    means = np.clip(dot(for_values.masses(), points), low, high)
    return Posterior(points, masses, means, low, high)


def _relative(likelihood: Likelihood, shares: Floats, usual_size: float) -> Floats:
    """The likelihood up to a factor: 1 where it is largest."""
    logs = log_likelihood(likelihood, shares, usual_size)
    return np.asarray(np.exp(logs - logs.max()))


def _is_sum(likelihood: Likelihood) -> bool:
    """A mean has a range with two ends, a sum of an unknown number of cases has not."""
    return isinstance(likelihood, LaplaceLikelihood) and None in (likelihood.low, likelihood.high)


# --- the grid ---------------------------------------------------------------------------------


def _grid(likelihoods: Sequence[Likelihood]) -> Floats:
    """Points over the whole range, and more of them where the periods' likely values are."""
    likely = np.array([rough_estimate(likelihood) for likelihood in likelihoods])
    around = np.sort((likely[:, :1] + likely[:, 1:] * _AROUND).ravel())
    around = around[(around > 0) & (around < 1)]
    # About 4 grid points per σ of the tightest period, fewer if there are many periods.
    most = min(max(_FINE_POINTS, 4 / max(float(likely[:, 1].min()), TINY)), _MOST_POINTS)
    around = around[:: max(1, math.ceil(len(around) / most))]
    points = np.concatenate((np.linspace(0, 1, _COARSE_POINTS), around))
    return np.unique(np.round(points, _DECIMALS))  # neighbours so far apart that widths are above 0


def _widths(points: Floats) -> Floats:
    """The weight of each point in an integral: half of the way to either neighbour."""
    gaps = np.diff(points)
    return np.asarray((np.append(gaps, 0.0) + np.insert(gaps, 0, 0.0)) / 2)


@dataclass(frozen=True, slots=True)
class _HyperPrior:
    """Every (μ, τ) of a grid, with its prior weights for values and for intervals."""

    centres: Floats
    spreads: Floats
    for_values: Floats
    for_intervals: Floats

    @classmethod
    def of(cls, likelihoods: Sequence[Likelihood], points: Floats) -> _HyperPrior:
        centres = points[:: max(1, math.ceil(len(points) / _CENTRES))]
        surest = min(rough_estimate(likelihood)[1] for likelihood in likelihoods)
        narrowest = surest / (2 * math.sqrt(len(likelihoods)))
        spreads = np.geomspace(min(narrowest, USUAL_SPREAD / 2), _LARGEST_SPREAD, _SPREADS)
        even = _widths(np.insert(spreads, 0, 0.0))[1:]
        small = even / (1 + (spreads / USUAL_SPREAD) ** 2)
        over = _widths(centres)
        return cls(
            np.repeat(centres, _SPREADS),
            np.tile(spreads, len(centres)),
            np.outer(over, small).ravel(),
            np.outer(over, even).ravel(),
        )


# --- the model --------------------------------------------------------------------------------


def _outlier_law(points: Floats) -> Floats:
    """How the shares of outlying periods are distributed."""
    borders = np.concatenate(([0.0], (points[1:] + points[:-1]) / 2, [1.0]))
    return np.asarray(np.diff(np.arcsin(np.sqrt(borders))) * 2 / np.pi)


def _normal_laws(points: Floats, widths: Floats, centres: Floats, spreads: Floats) -> Floats:
    """Normal laws truncated at 0 and 1; one narrower than the grid is all at its centre."""
    away = (points - centres[:, np.newaxis]) / spreads[:, np.newaxis]
    masses = np.exp(-0.5 * away**2) * widths
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))


def _whole_log_likelihood(
    whole: Likelihood,
    likelihoods: Sequence[Likelihood],
    points: Floats,
    widths: Floats,
    prior: _HyperPrior,
) -> Floats:
    """The log-likelihood of each (μ, τ), by the release of the whole period alone."""
    sizes = np.array([size_of(likelihood) for likelihood in likelihoods])
    uneven = float((sizes**2).sum() / max(sizes.sum(), TINY) ** 2)
    kappa = min(max(uneven, 1 / len(sizes)), 1.0)
    laws = _normal_laws(points, widths, prior.centres, prior.spreads * math.sqrt(kappa))
    of_whole = _relative(whole, points, max(size_of(whole), 1.0))
    return np.asarray(np.log(np.maximum(dot(laws, of_whole), LEAST)))


@dataclass(frozen=True, slots=True)
class _Marginals:
    """Likelihoods by period and point, laws by (μ, τ) and point, marginals by period and (μ, τ)."""

    likelihoods: Floats
    laws: Floats
    marginals: Floats

    @classmethod
    def of(cls, likelihoods: Floats, alike: Floats, outliers: Floats, unlike: float) -> _Marginals:
        laws = (1 - unlike) * alike + unlike * outliers
        return cls(likelihoods, laws, dot(likelihoods, laws.T))

    def posterior(self, log_prior: Floats) -> _HyperPosterior:
        """The (μ, τ) that matter, weighted; those of negligible weight are left out."""
        logs = np.log(self.marginals).sum(axis=0) + log_prior
        matters = logs > logs.max() + math.log(_NEGLIGIBLE)
        weights = np.exp(logs[matters] - logs.max())
        return _HyperPosterior(
            self.likelihoods,
            self.laws[matters],
            self.marginals[:, matters],
            np.asarray(weights / weights.sum()),
        )


@dataclass(frozen=True, slots=True)
class _HyperPosterior:
    """The marginals of the (μ, τ) that matter, and the posterior weight of each."""

    likelihoods: Floats
    laws: Floats
    marginals: Floats
    weights: Floats

    def masses(self) -> Floats:
        masses = self.likelihoods * dot(self.weights / self.marginals, self.laws)
        return np.asarray(masses / masses.sum(axis=1, keepdims=True))

    def chance_of_all(self, inside: NDArray[np.bool_]) -> float:
        """The probability that every share lies inside: given (μ, τ) they are independent."""
        chances = dot(self.likelihoods * inside, self.laws.T) / self.marginals
        all_inside = np.exp(np.log(np.maximum(chances, LEAST)).sum(axis=0))
        return float(dot(self.weights, all_inside))


# --- intervals --------------------------------------------------------------------------------


def _joint_hulls(
    posterior: _HyperPosterior, masses: Floats, widths: Floats, missed: float
) -> tuple[Places, Places]:
    """The narrowest hulls of one common level that all hold, except with probability `missed`."""
    place = np.arange(masses.shape[1])
    densest = _Densest.of(masses, widths)
    low_level, high_level = missed / len(masses) / 2, missed
    for _ in range(_HALVINGS):
        level = math.sqrt(low_level * high_level)
        low, high = densest.hulls(level)
        inside = (place >= low[:, np.newaxis]) & (place <= high[:, np.newaxis])
        if posterior.chance_of_all(inside) >= 1 - missed:
            low_level = level
        else:
            high_level = level
    return densest.hulls(low_level)


def _ends(points: Floats, first: NDArray[np.intp], last: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """The hulls as intervals: half of the way to the next point, or to an end that is near.

    A small period is often at an end of the range, as none or all of two cases are. An interval
    that leaves out a sliver there would claim to know better.
    """
    borders = np.concatenate(([0.0], (points[1:] + points[:-1]) / 2, [1.0]))
    low, high = borders[first], borders[last + 1]
    sliver = _SLIVER * (high - low)
    return np.where(low <= sliver, 0.0, low), np.where(1 - high <= sliver, 1.0, high)


@dataclass(frozen=True, slots=True)
class _Densest:
    """The points of each row from the densest down, and the mass up to each."""

    density: Floats
    order: Places
    held: Floats

    @classmethod
    def of(cls, masses: Floats, widths: Floats) -> _Densest:
        density = masses / widths
        order = np.argsort(-density, axis=1, kind="stable")
        return cls(density, order, np.cumsum(np.take_along_axis(masses, order, axis=1), axis=1))

    def hulls(self, missed: float) -> tuple[Places, Places]:
        """The first and last of the densest points that hold all but `missed` of each row."""
        last = self.density.shape[1] - 1
        needed = np.minimum((self.held < 1 - missed).sum(axis=1), last)
        least = np.take_along_axis(self.order, needed[:, np.newaxis], axis=1)
        dense = self.density >= np.take_along_axis(self.density, least, axis=1)
        return dense.argmax(axis=1), last - dense[:, ::-1].argmax(axis=1)
