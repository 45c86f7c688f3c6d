"""What is believed of every period, by what all periods of a series released.

The periods of a series are disjoint and the law of their noise is public, so what the other
periods say about one of them is free: nothing here sees a case, or anything but released
numbers. Small periods gain most, because noise weighs most there. What one release says about a
share p between 0 and 1 of a public range is its likelihood: see `likelihood`.

**The model.** The true shares of a series are alike: normal around a common μ with deviation τ,
cut off at 0 and 1. But three in a hundred (δ) are unlike all others and may be anything, most
likely close to an end, as the share of two cases is: the arcsine law. Nothing is known of μ.
What is averaged over is a grid of (μ, τ), so that intervals know that both are only estimated.
Before anything is known, *intervals* and probabilities take every τ up to half of the range as
equally likely; *values* expect less, by a half-Cauchy law: a twentieth of the range is usual, far
more is possible. Where releases say little, a value that expects likeness errs less, and an
interval that does not is right more often. For the same reason δ is larger for intervals of sums.

**A whole period**, released as well, is the mean of the periods by their weights n/Σn, so
normal around μ with deviation τ·√κ, κ = Σ(n/Σn)².

**Intervals** hold for all periods of the series together: each is the hull of the likeliest
shares, all at one level, the largest at which the posterior probability that one of them fails is
at most a part of what the confidence leaves. The rest is for series that break the model, and for
per-period intervals: `smoothing` shows what both leave. That part is a third where releases speak
for themselves. Where they say little, what the model believes is mostly what it assumes, so it
falls to a fifth. How often all intervals of a series hold is measured in
`benchmarks/smoothing.py`. Where points were drawn by rank, each interval is what the mechanism
promises without a model, at a confidence so high that all hold together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
"""δ: how many of the periods are unlike the others, before anything is known."""

UNLIKE_SUMS = 0.15
"""The same for intervals of sums: those differ with the size of their periods, too."""

USUAL_SPREAD = 0.05
"""The τ at which its prior has fallen to a half, as a share of the range."""

_LARGEST_SPREAD = 0.5
_SPREADS = 12
_CENTRES = 64
_COARSE_POINTS = 65
_FINE_POINTS, _MOST_POINTS = 400, 4_000
_HALVINGS = 9
_MISSED = 0.2, 0.35  # of what may be missed, is by the model: where periods are small, and large
_LARGE = 20.0  # the usual size that is in the middle between the two
_NEGLIGIBLE = 1e-4  # of the weight of the likeliest (μ, τ)
_DECIMALS = 12
_SLIVER = 0.1  # of an interval

# Where a period's own points of the grid lie, in deviations from its value.
_REACH = np.array([0.2, 0.45, 0.75, 1.1, 1.6, 2.3, 3.2, 4.5, 6.5, 10.0, 16.0, 30.0])
_AROUND = np.concatenate((-_REACH[::-1], [0.0], _REACH))


@dataclass(frozen=True, slots=True)
class Posterior:
    """What is believed of each share: masses at the points of a grid, one row per period."""

    points: Floats
    masses: Floats
    means: Floats
    low: Floats
    high: Floats

    def probability_between(self, period: int, low: float, high: float) -> float:
        inside = (self.points >= low) & (self.points <= high)
        return float(self.masses[period] @ inside)


def posterior_of(
    likelihoods: Sequence[Likelihood], confidence: float = 0.95, whole: Likelihood | None = None
) -> Posterior:
    """What all periods together say about each of them, and the whole time, if it was released."""
    points = _grid(likelihoods)
    widths, usual = _widths(points), usual_size(likelihoods)
    relative = np.stack([_relative(likelihood, points, usual) for likelihood in likelihoods])
    alike = _Alike.of(likelihoods, points)
    around, anything = _around(points, widths, alike.centres, alike.spreads), _anything(points)
    above = _of_whole(whole, likelihoods, points, widths, alike) if whole is not None else 0.0
    heard = _Heard.of(relative, around, anything, UNLIKE)
    expecting = heard.belief(above + np.log(alike.expected))
    if any(_is_sum(likelihood) for likelihood in likelihoods):
        heard = _Heard.of(relative, around, anything, UNLIKE_SUMS)
    cautious = heard.belief(above + np.log(alike.anything))
    masses = cautious.masses()
    ranks = [released for released in likelihoods if isinstance(released, RankLikelihood)]
    if ranks:
        missed = (1 - confidence) / len(likelihoods)
        low, high = np.array([certain_of_rank(rank, missed) for rank in ranks]).T
    else:
        missed = _part_of_model(usual) * (1 - confidence)
        low, high = _ends(points, *_together(cautious, masses, widths, missed))
    means = np.clip(expecting.masses() @ points, low, high)
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
    every = np.concatenate((np.linspace(0, 1, _COARSE_POINTS), around))
    return np.unique(np.round(every, _DECIMALS))  # neighbours so far apart that widths are above 0


def _widths(points: Floats) -> Floats:
    """What each point stands for in an integral: half of the way to either neighbour."""
    gaps = np.diff(points)
    return np.asarray((np.append(gaps, 0.0) + np.insert(gaps, 0, 0.0)) / 2)


@dataclass(frozen=True, slots=True)
class _Alike:
    """Every (μ, τ) of a grid, and what it weighs before anything is known.

    `expected` is for values, `anything` for intervals.
    """

    centres: Floats
    spreads: Floats
    expected: Floats
    anything: Floats

    @classmethod
    def of(cls, likelihoods: Sequence[Likelihood], points: Floats) -> _Alike:
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


def _anything(points: Floats) -> Floats:
    """How shares of periods that are unlike the others are distributed."""
    borders = np.concatenate(([0.0], (points[1:] + points[:-1]) / 2, [1.0]))
    return np.asarray(np.diff(np.arcsin(np.sqrt(borders))) * 2 / np.pi)


def _around(points: Floats, widths: Floats, centres: Floats, spreads: Floats) -> Floats:
    """Normal laws cut off at 0 and 1; one narrower than the grid is all at its centre."""
    away = (points - centres[:, np.newaxis]) / spreads[:, np.newaxis]
    masses = np.exp(-0.5 * away**2) * widths
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))


def _of_whole(
    whole: Likelihood,
    likelihoods: Sequence[Likelihood],
    points: Floats,
    widths: Floats,
    alike: _Alike,
) -> Floats:
    """The log-likelihood of each (μ, τ), by the whole period alone."""
    sizes = np.array([size_of(likelihood) for likelihood in likelihoods])
    uneven = float((sizes**2).sum() / max(sizes.sum(), TINY) ** 2)
    kappa = min(max(uneven, 1 / len(sizes)), 1.0)
    laws = _around(points, widths, alike.centres, alike.spreads * math.sqrt(kappa))
    of_whole = _relative(whole, points, max(size_of(whole), 1.0))
    return np.asarray(np.log(np.maximum(laws @ of_whole, LEAST)))


@dataclass(frozen=True, slots=True)
class _Heard:
    """Likelihoods by period and point, laws by (μ, τ) and point, marginals by period and (μ, τ)."""

    likelihoods: Floats
    laws: Floats
    marginals: Floats

    @classmethod
    def of(cls, likelihoods: Floats, around: Floats, anything: Floats, unlike: float) -> _Heard:
        laws = (1 - unlike) * around + unlike * anything
        return cls(likelihoods, laws, likelihoods @ laws.T)

    def belief(self, before: Floats) -> _Belief:
        """By what each (μ, τ) weighs before, a logarithm; without those that weigh next to none."""
        logs = np.log(self.marginals).sum(axis=0) + before
        kept = logs > logs.max() + math.log(_NEGLIGIBLE)
        return _Belief(
            self.likelihoods, self.laws[kept], self.marginals[:, kept], _normal(logs[kept])
        )


@dataclass(frozen=True, slots=True)
class _Belief:
    """What was heard of the (μ, τ) that matter, and what each of them weighs."""

    likelihoods: Floats
    laws: Floats
    marginals: Floats
    weights: Floats

    def masses(self) -> Floats:
        masses = self.likelihoods * ((self.weights / self.marginals) @ self.laws)
        return np.asarray(masses / masses.sum(axis=1, keepdims=True))

    def chance_of_all(self, inside: NDArray[np.bool_]) -> float:
        """That every share lies inside: they are independent once (μ, τ) is known."""
        chances = ((self.likelihoods * inside) @ self.laws.T) / self.marginals
        every = np.exp(np.log(np.maximum(chances, LEAST)).sum(axis=0))
        return float(self.weights @ every)


# --- intervals --------------------------------------------------------------------------------


def _part_of_model(usual: float) -> float:
    least, most = _MISSED
    return least + (most - least) * usual / (usual + _LARGE)


def _together(
    belief: _Belief, masses: Floats, widths: Floats, missed: float
) -> tuple[Places, Places]:
    """The narrowest hulls of one common level that hold together but for that chance."""
    place = np.arange(masses.shape[1])
    densest = _Densest.of(masses, widths)
    surely, hardly = missed / len(masses) / 2, missed
    for _ in range(_HALVINGS):
        level = math.sqrt(surely * hardly)
        low, high = densest.hulls(level)
        inside = (place >= low[:, np.newaxis]) & (place <= high[:, np.newaxis])
        if belief.chance_of_all(inside) >= 1 - missed:
            surely = level
        else:
            hardly = level
    return densest.hulls(surely)


def _ends(points: Floats, first: NDArray[np.intp], last: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Half of the way to the next point, as each stands for so much; and to an end that is near.

    A small period is often at an end of the range, as none or all of two cases are. An interval
    that leaves out a sliver there would claim to know better.
    """
    borders = np.concatenate(([0.0], (points[1:] + points[:-1]) / 2, [1.0]))
    low, high = borders[first], borders[last + 1]
    sliver = _SLIVER * (high - low)
    return np.where(low <= sliver, 0.0, low), np.where(1 - high <= sliver, 1.0, high)


@dataclass(frozen=True, slots=True)
class _Densest:
    """The points of each row from the densest down, and how much of it they hold so far."""

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


def _normal(weights: Floats) -> Floats:
    likely = np.exp(weights - weights.max())
    return np.asarray(likely / likely.sum())
