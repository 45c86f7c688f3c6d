"""How often noise goes further than so far, to either side: the laws that predictions rest on.

Floats, for predicted errors: nothing here decides what is released.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms import tails

Floats = NDArray[np.float64]
Tail = Callable[[float], float]
"""How likely it is to be off by more than t ≥ 0 in one direction; never rises."""

Beyond = Callable[[float], float]
"""How likely it is to be off by more than t ≥ 0 in either; never rises."""

_COARSE = 8  # noise of so few steps is summed over step by step
_CELLS = 81  # three tenths of the scale each
_FURTHEST = 12.0  # scales; beyond lies less than 1e-5 of the noise
_NOTHING_LEFT = 800.0  # scales; beyond lies less than the smallest float
_BELOW_ONE = 1 - 1e-12
_FINE = Fraction(2**20)  # of noise that counts as continuous

# Where a share may truly lie: so many scales from an end at such a distance, and others.
_NEAR, _APART, _TRUTHS = 5.0, 0.125, 9


@dataclass(frozen=True, slots=True)
class Tails:
    """The error of a value: too low by more than t, and too high by more than t."""

    down: Tail
    up: Tail

    def beyond(self, distance: float) -> float:
        return min(self.down(distance) + self.up(distance), 1.0)


def laplace_tails(scale: Fraction, step: float) -> Tails:
    """Discrete Laplace noise of a scale in steps: exact."""

    furthest = _NOTHING_LEFT * max(float(scale), 1.0) * step

    def tail(t: float) -> float:
        if t >= furthest:
            return 0.0
        # Rounding must not make a noise of exactly k steps count as further than k steps.
        return tails.tail(scale, math.floor(t / step * (1 + 1e-12)) + 1) / 2

    return Tails(tail, tail)


def anywhere_in(noise: Tails, width: float) -> Beyond:
    """Of a value kept in a range, where the same noise is worst: in the middle, or at an end."""

    def beyond(t: float) -> float:
        if t >= width:
            return 0.0
        return noise.beyond(t) if 2 * t < width else max(noise.down(t), noise.up(t))

    return beyond


def atom_tails(errors: Floats) -> Tails:
    """Equally likely errors; one that is not a number has no value, whatever the distance."""
    return weighted_tails(errors, np.full(len(errors), 1 / len(errors)))


def weighted_tails(errors: Floats, weights: Floats) -> Tails:
    missing = np.isnan(errors)
    lost = float(weights[missing].sum()) / 2
    low, high = np.where(missing, 0.0, -errors), np.where(missing, 0.0, errors)
    return Tails(
        lambda t: lost + float(weights[low > t].sum()),
        lambda t: lost + float(weights[high > t].sum()),
    )


def score_tails(below: float, down: float, above: float, up: float) -> Tails:
    """A point drawn by exp(−score), where scores grow evenly from 0 at the answer.

    They reach `down` at the low end of the range, which is `below` away, and `up` at the high end.
    """
    left, right = _mass(below, down, below), _mass(above, up, above)
    whole = left + right

    def share(room: float, exponent: float, mass: float) -> Tail:
        return lambda t: max(mass - _mass(room, exponent, min(t, room)), 0.0) / whole

    return Tails(share(below, down, left), share(above, up, right))


def _mass(room: float, exponent: float, upto: float) -> float:
    """∫ e^(−x·t/room) dt from 0 to `upto`, x the exponent."""
    if exponent < 1e-9 or room <= 0:
        return upto
    return room / exponent * -math.expm1(-exponent * upto / room)


# --- two bins -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class NoisyBins:
    """Two sums with independent discrete Laplace noise, and the share that is estimated.

    Several truths at once: each of `firsts`, of one `whole`. The estimate (`two_bin.drawn_in`)
    rises with the first sum a for every second sum b. So "above p" is "a above some a*", and
    P(a > a*) is known exactly. In units of the scale, a* solves
    (1−p)·a² + (1 − p + b − 2pb)·a + 3 − p(b² + b + 6) = 0: it has one positive root if the
    constant is negative, and none otherwise, when the estimate is above p for every a.
    """

    firsts: Floats
    whole: int
    scale: Fraction

    def beyond(self, distance: float) -> Floats:
        """How often the share is off by more, for each truth."""
        shares = self.firsts / self.whole
        above, below = shares + distance, shares - distance
        over = np.where(above < 1, self._over(np.minimum(above, _BELOW_ONE)), 0.0)
        # At distance 0 "below the share" may mean "below 1", where no root is.
        under = np.where(below > 0, 1 - self._over(np.clip(below, 0.0, _BELOW_ONE)), 0.0)
        return np.asarray(np.minimum(over + under, 1.0))

    def _over(self, shares: Floats) -> Floats:
        """P(estimate > p) at each truth's own p < 1: a mean over the outcomes of the second sum."""
        noise, weights = _outcomes(self.scale)
        s, p = float(self.scale), shares[:, np.newaxis]
        b = np.maximum((self.whole - self.firsts)[:, np.newaxis] + noise, 0.0) / s
        linear, constant = 1 - p + b - 2 * p * b, 3 - p * (b * b + b + 6)
        root = np.sqrt(np.maximum(linear * linear - 4 * (1 - p) * constant, 0.0)) - linear
        border = s * root / (2 * (1 - p)) - self.firsts[:, np.newaxis]
        over = _at_least(np.floor(border * (1 + 1e-12)) + 1, s)
        # Where the constant is not negative, the estimate is above p whatever the first sum.
        return np.asarray(np.where(constant < 0, over, 1.0) @ weights)


@lru_cache(maxsize=64)
def bins_anywhere(whole: int, scale: Fraction) -> Beyond:
    """Of the share, at the truth for which it is worst; the bins are alike, so in the lower half.

    It is worst a little above the margin from an end, where errors go to both sides and the
    other bin adds least: the truths lie closest there. Kept, as the PPIs of a catalogue often
    share cases and epsilon.
    """
    s, half = float(scale), whole / 2
    near = np.arange(0.0, min(half, _NEAR * s), _APART * s)
    firsts = np.unique(np.rint(np.concatenate((near, np.linspace(0.0, half, _TRUTHS)))))
    bins = NoisyBins(firsts, whole, scale)
    return lru_cache(maxsize=256)(lambda t: float(bins.beyond(t).max()))


@dataclass(frozen=True, slots=True)
class AnchoredCases:
    """The share T − M/n, of a noisy margin M and a noisy number of cases n (`anchored`).

    For each outcome of the number, "off by more than t" is "the margin beyond some m", whose
    chance is known. Both are so fine that they count as continuous.
    """

    cases: int
    limit: float
    of_margin: float
    of_cases: float

    def beyond(self, distance: float) -> float:
        """At the truth for which it is worst; a share is never off by more than 1."""
        if distance >= 1:
            return 0.0
        shares = self._shares[:, np.newaxis]
        noise, weights = _outcomes(_FINE)
        counted = np.maximum(self.cases + noise / float(_FINE) * self.of_cases, 1.0)
        away, margin = self.limit - shares, self.cases * (self.limit - shares)
        over = _above((margin - counted * (away - distance)) / self.of_margin)
        under = _above((counted * (away + distance) - margin) / self.of_margin)
        over = np.where(shares + distance < 1, over, 0.0)
        return float(((over + np.where(shares > distance, under, 0.0)) @ weights).max())

    @property
    def _shares(self) -> Floats:
        """Close together near the ends, where an error is cut off on one side."""
        scale = (self.of_margin + self.of_cases) / self.cases
        near = np.minimum(np.arange(0.0, 2 * _NEAR, 2 * _APART) * scale, 0.5)
        return np.unique(np.concatenate((near, 1 - near, np.linspace(0, 1, 2 * _TRUTHS - 1))))


def _above(away: Floats) -> Floats:
    """P(Z > away) for Laplace noise of scale 1."""
    far = np.exp(-np.abs(away)) / 2
    return np.where(away > 0, far, 1 - far)


@lru_cache(maxsize=256)
def _outcomes(scale: Fraction) -> tuple[Floats, Floats]:
    """Noise and its chances: all of the law if it is coarse, else on a grid of fine cells."""
    if scale <= _COARSE:
        reach = math.ceil(_FURTHEST * scale) + 1
        noise = np.arange(-reach, reach + 1, dtype=np.float64)
        weights = np.exp(-np.abs(noise) / float(scale))
    else:
        noise = np.linspace(-_FURTHEST, _FURTHEST, _CELLS) * float(scale)
        weights = np.exp(-np.abs(noise) / float(scale))
    return noise, weights / weights.sum()


def _at_least(k: Floats, scale: float) -> Floats:
    """P(Z ≥ k) for discrete Laplace Z."""
    far = np.exp(np.where(k > 0, -k, k - 1) / scale) / (1 + math.exp(-1 / scale))
    return np.where(k > 0, far, 1 - far)
