"""Cases that lie beyond their bounds: how many there are, and how much they may hide.

The mean of cases as they are is that of the clipped ones and, for each case that was cut, how far
it lies beyond its bound: m + s·e, with s the share of such cases and e their mean distance, in
widths of the bounds. A draw that counts them tells s, noisy; nothing tells e. So `hidden_by_bounds`
asks how far out the mean may lie

- if cut cases lie two widths beyond on average (`USUAL_WIDTHS`): up to its estimate m + 2·s, and
  1.1 standard deviations of both together;
- if they lie twenty widths beyond (`FAR_WIDTHS`): as far as the interval of m, and twenty times the
  least s: that of the whole series (95 % confidence), or of the release itself (97.5 %), if that
  is more.

The first counts where few or no cases are cut, and one cannot be sure of it; the second where some
certainly are. Durations have long tails: cut lognormal values of a deviation of 2 lie 1 to 2 widths
beyond where one in a hundred is cut, and 5 where a third is; and a few cases that nobody has closed
may lie ten widths beyond wherever the others are. `benchmarks/clipping.py` measures how often
the two let a wrong verdict pass, and how many right ones they cost.

Everything works on arrays, of one release or of many trials.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms.prediction import Floats
from pappi.values import Bounds

USUAL_WIDTHS = 2.0
FAR_WIDTHS = 20.0
_DEVIATIONS = 1.1
_LEAST_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Caution:
    """How many widths the cases that are certainly cut may lie beyond on average, and how sure one
    must be of those of one release where its series has fewer; None leaves them to the series."""

    far: float
    of_one: float | None


JUDGED = Caution(FAR_WIDTHS, of_one=0.975)
FORECAST = Caution(5.0, of_one=None)
"""Of trials in which bounds cut nothing, the chance to decide differs by less than 0.01. The ε by
need is found by it and is part of a query's key, so this stays as it is."""

_SURE = {0.95: 1.65, 0.975: 2.12, 0.995: 3.26}
"""One-sided quantiles in standard deviations: the larger of Laplace's and the normal one's. The
noise of one release has Laplace's tails or shorter ones, that of many the normal ones."""

_UNKNOWN = 1.0
"""Widths that may be hidden where nothing is known of the number of cases."""


@dataclass(frozen=True, slots=True, eq=False)
class BeyondBounds:
    """How many cases lie beyond the bounds, noisy as released: in one period, or in several added.

    `difference` is how many more lie beyond than within, and `cases` how many there are, each
    with the variance of its noise. `measures` are those whose bounds count: a case lies beyond
    if one of its values does.
    """

    difference: float | Floats
    cases: float | Floats
    of_difference: float
    of_cases: float
    measures: int = 1

    def __add__(self, other: BeyondBounds) -> BeyondBounds:
        return BeyondBounds(
            self.difference + other.difference,
            self.cases + other.cases,
            self.of_difference + other.of_difference,
            self.of_cases + other.of_cases,
            max(self.measures, other.measures),
        )

    @property
    def share(self) -> Floats:
        """Of the cases; all of them where so few were released that nothing is known."""
        return np.where(self.any_cases, np.clip(self.unclamped, 0.0, 1.0), 1.0)

    @property
    def any_cases(self) -> NDArray[np.bool_]:
        return np.asarray(np.asarray(self.cases) > 0)

    @property
    def unclamped(self) -> Floats:
        """The share as the noise has left it, which may be below 0."""
        return np.asarray((1 + self.difference / np.where(self.any_cases, self.cases, 1.0)) / 2)

    def weighted(self, weight: float) -> BeyondBounds:
        """As part of a weighted sum."""
        return BeyondBounds(
            weight * self.difference,
            weight * self.cases,
            weight**2 * self.of_difference,
            weight**2 * self.of_cases,
            self.measures,
        )

    def limits(self, one_sided: float) -> tuple[float | Floats, float | Floats]:
        """At least and at most so large is the share, each with this confidence (Fieller).

        With λ = 2·share − 1, difference − λ·cases is noise alone.
        """
        square = _SURE[one_sided] ** 2
        if isinstance(self.difference, float) and isinstance(self.cases, float):
            return self._limits_of_one(square, self.difference, self.cases)
        d, t = np.asarray(self.difference), np.asarray(self.cases)
        squared = t * t - square * self.of_cases
        is_known = self.any_cases & (squared > 0)
        squared = np.where(is_known, squared, 1.0)
        root = np.sqrt(square * (self.of_difference * squared + self.of_cases * d * d))
        low, high = (np.clip((1 + (d * t + s * root) / squared) / 2, 0.0, 1.0) for s in (-1, 1))
        return np.where(is_known, low, 0.0), np.where(is_known, high, 1.0)

    def _limits_of_one(self, square: float, d: float, t: float) -> tuple[float, float]:
        """The same to the last bit: an array of one takes long, and there are thousands."""
        squared = t * t - square * self.of_cases
        if t <= 0 or squared <= 0:
            return 0.0, 1.0
        root = math.sqrt(square * (self.of_difference * squared + self.of_cases * d * d))
        low, high = ((1 + (d * t + s * root) / squared) / 2 for s in (-1, 1))
        return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)

    def surely_differs(self, other: BeyondBounds) -> bool:
        (low, high), (least, most) = self.limits(0.995), other.limits(0.995)
        return bool(high < least or most < low)


@dataclass(frozen=True, slots=True, eq=False)
class Clipped:
    """What was released of cases as bounds clip them: the value, and the ends of its interval."""

    value: float | Floats
    low: float | Floats
    high: float | Floats
    bounds: Bounds
    is_sum: bool


def hidden_by_bounds(
    clipped: Clipped,
    own: BeyondBounds,
    pool: BeyondBounds,
    cut: tuple[bool, bool],
    caution: Caution = JUDGED,
) -> tuple[Floats, Floats]:
    """How far below and above its interval the value may lie if cases are not clipped.

    `own` is what the release counted, `pool` that of its series, itself included. A side that
    bounds do not cut has 0.
    """
    low, width = float(clipped.bounds.low), float(clipped.bounds.width)
    if clipped.is_sum:  # as the mean of as many cases as there are, from 0
        # Where the noise leaves none of them, there may still be some, and each hides as much.
        unit, low = np.maximum(own.cases, np.sqrt(own.of_cases)) * width, 0.0
    else:
        unit = np.asarray(width)
    shown = np.where(unit > 0, unit, 1.0)
    place, bottom, top = (
        (np.asarray(point) - low) / shown for point in (clipped.value, clipped.low, clipped.high)
    )
    # The noise of the number of cases moves a sum wherever it lies.
    turns = (-np.ones_like(place),) * 2 if clipped.is_sum else (1 - 2 * place, 2 * place - 1)
    below, above = np.zeros_like(place), np.zeros_like(place)
    if cut[0]:  # the same, seen from the other end
        below = np.asarray(unit * _hidden(-place, -bottom, turns[0], own, pool, caution))
    if cut[1]:
        above = np.asarray(unit * _hidden(place, top, turns[1], own, pool, caution))
    return below, above


def _hidden(
    place: Floats,
    end: Floats,
    turn: Floats,
    own: BeyondBounds,
    pool: BeyondBounds,
    caution: Caution,
) -> Floats:
    """In widths of the bounds: of a mean at this place of them, whose interval has this end.

    `turn` is by how much the noise of the number of cases moves the mean's: see `joint`. It
    moves the share beyond, too, so that both together are off by more than if they were apart.
    """
    least, _ = pool.limits(_LEAST_CONFIDENCE)
    if caution.of_one is not None:
        least = np.maximum(least, own.limits(caution.of_one)[0])
    enough = own.any_cases & pool.any_cases
    a, t = np.where(enough, own.cases, 1.0), np.where(enough, pool.cases, 1.0)
    share = pool.unclamped
    slope = 2 * np.clip(share, 0.0, 1.0) - 1
    of_mean = (own.of_difference + turn**2 * own.of_cases) / (4 * a * a)
    of_share = (pool.of_difference + slope**2 * pool.of_cases) / (4 * t * t)
    of_both = turn * slope * own.of_cases / (4 * a * t)
    variance = of_mean + USUAL_WIDTHS**2 * of_share + 2 * USUAL_WIDTHS * of_both
    out = place + USUAL_WIDTHS * share + _DEVIATIONS * np.sqrt(np.maximum(variance, 0.0))
    hidden = np.maximum(np.maximum(out - end, caution.far * least), 0.0)
    return np.where(enough, hidden, _UNKNOWN)
