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

_COARSE = 8  # noise of so few steps is summed over step by step
_CELLS = 241  # a tenth of the scale each
_FURTHEST = 12.0  # scales; beyond lies less than 1e-5 of the noise


@dataclass(frozen=True, slots=True)
class Tails:
    """The error of a value: too low by more than t, and too high by more than t."""

    down: Tail
    up: Tail

    def beyond(self, distance: float) -> float:
        return min(self.down(distance) + self.up(distance), 1.0)

    def cut(self, below: float, above: float) -> Tails:
        """Of the value kept in a range that reaches so far below and above the truth."""
        return Tails(
            lambda t: self.down(t) if t < below else 0.0,
            lambda t: self.up(t) if t < above else 0.0,
        )


def laplace_tails(scale: Fraction, step: float) -> Tails:
    """Discrete Laplace noise of a scale in steps: exact."""

    def tail(t: float) -> float:
        # Rounding must not make a noise of exactly k steps count as further than k steps.
        return tails.tail(scale, math.floor(t / step * (1 + 1e-12)) + 1) / 2

    return Tails(tail, tail)


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


@dataclass(frozen=True, slots=True)
class NoisyBins:
    """Two sums with independent discrete Laplace noise, and the share that is estimated.

    The estimate (`two_bin.drawn_in`) rises with the first sum a for every second sum b. So
    "above p" is "a above some a*", and P(a > a*) is known exactly. In units of the scale, a*
    solves (1−p)·a² + (1 − p + b − 2pb)·a + 3 − p(b² + b + 6) = 0: it has one positive root if
    the constant is negative, and none otherwise, when the estimate is above p for every a.
    """

    first: int
    second: int
    scale: Fraction

    @property
    def share(self) -> float:
        return self.first / max(self.first + self.second, 1)

    def tails(self, width: float) -> Tails:
        """Of an estimate that goes `width` from its low end to its high end."""
        share = self.share if self.first + self.second else 0.5
        return Tails(
            lambda t: self._below(share - t / width),
            lambda t: self._above(share + t / width),
        )

    def _above(self, p: float) -> float:
        return 0.0 if p >= 1 else self._mean(p, above=True)

    def _below(self, p: float) -> float:
        return 0.0 if p <= 0 else self._mean(p, above=False)

    def _mean(self, p: float, *, above: bool) -> float:
        """Over the outcomes of the second sum."""
        noise, weights = _outcomes(self.scale)
        s = float(self.scale)
        b = np.maximum(self.second + noise, 0.0) / s
        linear, constant = 1 - p + b - 2 * p * b, 3 - p * (b * b + b + 6)
        root = np.sqrt(np.maximum(linear * linear - 4 * (1 - p) * constant, 0.0)) - linear
        reached = constant < 0  # elsewhere the estimate is above p whatever the first sum
        border = s * root / (2 * (1 - p)) - self.first
        over = np.where(reached, _at_least(np.floor(border * (1 + 1e-12)) + 1, s), 1.0)
        return float(weights @ (over if above else 1 - over))


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
    q = math.exp(-1 / scale)
    up = np.exp(-np.maximum(k, 1.0) / scale) / (1 + q)
    down = 1 - np.exp(-np.maximum(1 - k, 1.0) / scale) / (1 + q)
    return np.where(k > 0, up, down)
