"""The exponential mechanism with whole-number weights: its law, and its exact sampler.

Candidates are the points of a public lattice. Each has a score s ≥ 0, a whole number: how
bad it is. It is drawn with probability weight(s) / (sum of all weights), where

    weight(0) = 2^192,    weight(s+1) = ⌈weight(s) · q⌉,    q ≥ exp(−rate), rational.

**Why it is private.** Rounding up makes weights whole numbers without ever letting one
fall short: 1 ≥ weight(s+1)/weight(s) ≥ q ≥ exp(−rate), exactly, at every s, also where the
weights no longer fall (at about 1/rate, 2^-192 of the best). So if one case moves scores by
at most 1, weights move by a factor between exp(−rate) and exp(rate), and the sum of all
weights does too: the loss is at most 2·rate. If it can only raise them, or only lower
them, the factors lie between exp(−rate) and 1 (or the inverse), as does that of the sum:
the loss is at most rate. There is nothing else in the law that could depend on the data,
and no float in it.

Which of the two holds, and for which scores, is proved in `interval`.

**Upper bounds.** exp and log are bounded from above with whole numbers alone, in fixed point: a
whole number k stands for k/2^bits. Every division is rounded in the direction that keeps the
result an upper bound, so no error analysis is needed for it to be one; how tight it is (far
below 2^-60) concerns only accuracy, and is tested.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms.laws import Law, Loss, Outcome
from pappi.mechanisms.noise import RandBelow

WEIGHT_BITS = 192
"""exp(−x) comes as a whole number over 2^192."""

_GUARDED = 256  # bits inside exp_minus: what squaring loses stays far below WEIGHT_BITS
_LOG_BITS = 128

# The audit bounds logarithms from above, by some 2^-120. A rate this much smaller makes room
# for that, so that a loss of at most ε is also certified to be one.
_HAIR = 1 - Fraction(1, 2**40)

# Where weights fall from 2^192 to 1 in one or two steps, a higher rate changes nothing.
_MOST_KEPT = 2**16
_HIGHEST_RATE = Fraction(128)


@dataclass(frozen=True, slots=True)
class StepLaw(Law):
    """One lattice point, by whole-number weights that are constant on stretches of points.

    The i-th stretch begins at `starts[i]` and ends before the next, the last one before
    `stop`. Each of its points has the probability weights[i] / total, exactly.
    """

    starts: tuple[int, ...]
    stop: int
    weights: tuple[int, ...]

    @property
    def size(self) -> int:
        return 1

    @property
    def support(self) -> range:
        return range(self.starts[0], self.stop)

    @property
    def total(self) -> int:
        return sum(length * weight for _, length, weight in self._stretches())

    def draw(self, randbelow: RandBelow) -> Outcome:
        """A lottery in which every point holds as many tickets as it weighs."""
        ticket = randbelow(self.total)
        for start, length, weight in self._stretches():
            if ticket < length * weight:
                return (start + ticket // weight,)
            ticket -= length * weight
        raise AssertionError("a ticket beyond the last one")

    def weight(self, point: int) -> int:
        if point not in self.support:
            return 0
        return self.weights[bisect_right(self.starts, point) - 1]

    def exact_probability(self, point: int) -> Fraction:
        return Fraction(self.weight(point), self.total)

    def probability(self, outcome: Outcome) -> float:
        (point,) = outcome
        return float(self.exact_probability(point))

    def log_ratio(self, other: Law) -> Loss:
        """The worst ratio is a rational, found exactly; its logarithm is rounded up."""
        if not isinstance(other, StepLaw) or self.support != other.support:
            return math.inf
        most, least = 0, 1
        for point in {*self.starts, *other.starts}:  # both are constant between these
            mine, theirs = self.weight(point), other.weight(point)
            if mine * least > most * theirs:
                most, least = mine, theirs
        if least == 0:
            return math.inf
        return log_above(most * other.total, least * self.total)

    def within(self, lowest: int, highest: int) -> StepLaw:
        """The law given that the outcome lies between two points, both included."""
        first = bisect_right(self.starts, lowest) - 1
        last = bisect_right(self.starts, highest)
        starts = (lowest, *self.starts[first + 1 : last])
        return StepLaw(starts, highest + 1, self.weights[first:last])

    def _stretches(self) -> Iterator[tuple[int, int, int]]:
        """First point, number of points and weight of each."""
        ends = pairwise((*self.starts, self.stop))
        for (start, end), weight in zip(ends, self.weights, strict=True):
            yield start, end - start, weight


@dataclass(frozen=True, slots=True)
class CellLaw(StepLaw):
    """A step law whose points fall into cells, of equal weight within; for a second stage.

    Which point of a cell is drawn says nothing, so what follows depends on the cell alone.
    """

    cells: tuple[int, ...]
    """The first point of each."""

    @property
    def branches(self) -> range:
        return range(len(self.cells))

    def branch(self, outcome: Outcome) -> int:
        return bisect_right(self.cells, outcome[0]) - 1

    def chance(self, branch: int) -> Fraction:
        """P(the outcome lies in a cell)."""
        first, end = (*self.cells, self.stop)[branch : branch + 2]
        return (end - first) * self.exact_probability(first)

    def log_ratio_on(self, branch: int, other: Law) -> Loss:
        if not isinstance(other, CellLaw) or self.cells != other.cells or self.stop != other.stop:
            return math.inf
        mine, theirs = self.weight(self.cells[branch]), other.weight(other.cells[branch])
        if not (mine and theirs):
            return math.inf
        return log_above(mine * other.total, theirs * self.total)


def exponential_law(
    starts: NDArray[np.int64], scores: NDArray[np.int64], stop: int, rate: Fraction
) -> StepLaw:
    """The law of points whose scores are constant on the stretches that begin at `starts`."""
    weights = falling_weights(rate, int(scores.max()))
    levels = np.minimum(scores, len(weights) - 1)
    changes = np.flatnonzero(np.diff(levels, prepend=-1))
    return StepLaw(
        tuple(starts[changes].tolist()),
        stop,
        tuple(weights[level] for level in levels[changes].tolist()),
    )


def falling_weights(rate: Fraction, worst: int) -> tuple[int, ...]:
    """The weights of the scores from 0 to `worst`, or to where they fall no further."""
    if worst > _MOST_KEPT:
        return _falling_weights(rate, worst)
    return _kept_weights(rate, 1 << worst.bit_length())[: worst + 1]


def _falling_weights(rate: Fraction, worst: int) -> tuple[int, ...]:
    q = exp_minus_above(min(rate, _HIGHEST_RATE) * _HAIR)
    weights = [1 << WEIGHT_BITS]
    for _ in range(worst):
        following = -(-weights[-1] * q >> WEIGHT_BITS)
        if following == weights[-1]:
            break
        weights.append(following)
    return tuple(weights)


# The periods of a series ask for the same ones, one after the other.
_kept_weights = lru_cache(maxsize=16)(_falling_weights)


# --- upper bounds ---------------------------------------------------------------------


@lru_cache(maxsize=256)
def exp_minus_above(x: Fraction) -> int:
    """A whole number k with exp(−x) ≤ k/2^192 ≤ 1, for x ≥ 0.

    exp(−x) = 1/exp(y)^(2^h) with y = x/2^h below 1. The Taylor series of exp(y) has
    positive terms only: cut off and rounded down it bounds exp(y) from below, so do its
    squares, and the reciprocal, rounded up, bounds exp(−x) from above.

    >>> exp_minus_above(Fraction(1)) / 2**192
    0.36787944117144233
    """
    halvings = (x.numerator // x.denominator).bit_length()
    denominator = x.denominator << halvings
    term = power = 1 << _GUARDED
    degree = 0
    while term:
        degree += 1
        term = term * x.numerator // (denominator * degree)
        power += term
    for _ in range(halvings):
        power = power * power >> _GUARDED
    return -(-(1 << WEIGHT_BITS + _GUARDED) // power)


def log_above(numerator: int, denominator: int) -> Fraction:
    """A rational just above log(numerator/denominator), for whole numbers above 0.

    With the ratio as m·2^k, 1 ≤ m < 2: k·log 2 + 2·atanh((m−1)/(m+1)).

    >>> float(log_above(10, 1)), float(log_above(1, 10))
    (2.302585092994046, -2.302585092994046)
    """
    doublings = numerator.bit_length() - denominator.bit_length()
    doublings -= numerator << max(-doublings, 0) < denominator << max(doublings, 0)
    numerator <<= max(-doublings, 0)
    denominator <<= max(doublings, 0)
    t = -(-(numerator - denominator << _LOG_BITS) // (numerator + denominator))
    # Halvings subtract, so that for an upper bound they subtract too little.
    each = _LOG_2 if doublings > 0 else _LOG_2_BELOW
    return Fraction(doublings * each + _twice_atanh(t), 1 << _LOG_BITS)


def _twice_atanh(t: int) -> int:
    """2·(t + t³/3 + t⁵/5 + …) in fixed point, for t up to 1/3.

    Each power is at most 1/9 of the last, so all that follow a power p, divided by their
    odd degrees of at least 3, sum to less than p: adding p closes the series from above.
    """
    square = _product(t, t)
    power, total, degree = 2 * t, 0, 1
    while power > 1:
        total += -(-power // degree)
        power = _product(power, square)
        degree += 2
    return total + power


def _product(a: int, b: int) -> int:
    return -(-a * b >> _LOG_BITS)


_LOG_2 = _twice_atanh(-(-(1 << _LOG_BITS) // 3))
# Fewer than 128 steps of the series are each rounded up by at most 2.
_LOG_2_BELOW = _LOG_2 - 256
