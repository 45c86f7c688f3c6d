"""The exact distribution of what a mechanism releases, and the privacy loss between two.

A mechanism draws its release from its law, and the audit compares the laws of
neighbouring logs: both look at the same object, so nothing can be audited that is
not also what is released.

The loss between two laws P and Q is the supremum over outputs z of |log P(z)/Q(z)|.
A release is ε-differentially private if and only if no pair of neighbours has a loss above ε.

**The exponential mechanism** with whole-number weights: its law (`StepLaw`), and its exact sampler.
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

**How large discrete Laplace noise gets** of a public scale s: tails, widths and errors, as floats,
for intervals and predicted errors. They decide nothing that is released. With q = exp(−1/s):
P(Z = z) = (1−q)/(1+q) · q^|z| and P(|Z| ≥ k) = 2q^k/(1+q), k ≥ 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pappi.errors import UsageError
from pappi.mechanisms.noise import RandBelow, discrete_laplace

Outcome = tuple[int, ...]

Loss = Fraction | float
"""A rational, or `math.inf`: some output betrays the difference with certainty."""


class Law(Protocol):
    """A distribution over tuples of `size` integers."""

    @property
    def size(self) -> int: ...

    def draw(self, randbelow: RandBelow) -> Outcome: ...

    def probability(self, outcome: Outcome) -> float:
        """P(outcome), rounded to a float: for tests and pictures."""
        ...

    def log_ratio(self, other: Law) -> Loss:
        """The supremum over z of log P_self(z)/P_other(z), or a rational just above it.

        One direction only, because a law with finitely many outcomes need not be
        symmetric. Laws that cannot be compared are infinitely far apart.
        """
        ...

    def fold(self, outcome: Outcome) -> Outcome:
        """An outcome as draws are compared with the law: see `folded`."""
        return outcome

    def folded(self) -> Law:
        """The law of `fold(outcome)`: where there are too many dimensions to count draws in."""
        return self

    def loss(self, other: Law) -> Loss:
        """The supremum of |log P_self/P_other|: the worse of the two directions."""
        forth, back = self.log_ratio(other), other.log_ratio(self)
        # A NaN would lose every comparison and so hide behind the other direction.
        return math.nan if forth != forth or back != back else max(forth, back)


@dataclass(frozen=True, slots=True)
class PointLaw(Law):
    """A public number, released as it is."""

    value: int

    @property
    def size(self) -> int:
        return 1

    def draw(self, randbelow: RandBelow) -> Outcome:  # noqa: ARG002 - certainty needs no coin
        return (self.value,)

    def probability(self, outcome: Outcome) -> float:
        return float(outcome == (self.value,))

    def log_ratio(self, other: Law) -> Loss:
        return Fraction(0) if other == self else math.inf


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLaw(Law):
    """centre + Z with P(Z = z) ∝ exp(−|z| / scale)."""

    centre: int
    scale: Fraction

    @property
    def size(self) -> int:
        return 1

    def draw(self, randbelow: RandBelow) -> Outcome:
        return (self.centre + discrete_laplace(self.scale, randbelow),)

    def probability(self, outcome: Outcome) -> float:
        (value,) = outcome
        return laplace_probability(self.scale, value - self.centre)

    def log_ratio(self, other: Law) -> Loss:
        """With one scale s: (|z−c'| − |z−c|)/s ≤ |c−c'|/s, reached at every z beyond c.

        With different scales the ratio grows without bound in the tails.
        """
        if not isinstance(other, DiscreteLaplaceLaw) or other.scale != self.scale:
            return math.inf
        return abs(self.centre - other.centre) / self.scale


@dataclass(frozen=True, slots=True)
class JointLaw(Law):
    """Several laws, drawn independently, released together.

    The log-ratio of independent parts is the sum of theirs, and each part reaches
    its own supremum whatever the others do: the supremum of the sum is the sum of
    the suprema, exactly, in either direction.
    """

    parts: tuple[Law, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def draw(self, randbelow: RandBelow) -> Outcome:
        numbers: list[int] = []
        for part in self.parts:
            numbers.extend(part.draw(randbelow))
        return tuple(numbers)

    def probability(self, outcome: Outcome) -> float:
        product, start = 1.0, 0
        for part in self.parts:
            product *= part.probability(outcome[start : start + part.size])
            start += part.size
        return product

    def log_ratio(self, other: Law) -> Loss:
        if not isinstance(other, JointLaw) or len(other.parts) != len(self.parts):
            return math.inf
        pairs = zip(self.parts, other.parts, strict=True)
        return sum((mine.log_ratio(theirs) for mine, theirs in pairs), Fraction(0))


class Branching(Law, Protocol):
    """A law whose outcomes fall into finitely many branches."""

    @property
    def branches(self) -> Iterable[int]: ...

    def branch(self, outcome: Outcome) -> int: ...

    def log_ratio_on(self, branch: int, other: Law) -> Loss:
        """As `log_ratio`, over the outcomes of one branch; it may be negative."""
        ...


@dataclass(frozen=True, slots=True)
class NoisySign(DiscreteLaplaceLaw):
    """Discrete Laplace noise, in two branches: 1 from zero up, 0 below."""

    @property
    def branches(self) -> Iterable[int]:
        return 0, 1

    def branch(self, outcome: Outcome) -> int:
        return int(outcome[0] >= 0)

    def log_ratio_on(self, branch: int, other: Law) -> Loss:
        """|z−c′| − |z−c| is monotone in z: its supremum is at the branch's near or far end."""
        if not isinstance(other, NoisySign) or other.scale != self.scale:
            return math.inf
        nearest = 0 if branch else -1
        near = abs(nearest - other.centre) - abs(nearest - self.centre)
        far = self.centre - other.centre if branch else other.centre - self.centre
        return max(near, far) / self.scale


@dataclass(frozen=True, slots=True)
class StagedLaw(Law):
    """A first draw, then a second one whose law may depend on the branch of the first.

    The log-ratio of an outcome is the sum of the two stages' log-ratios, and the second
    stage reaches its supremum whatever the first one was within its branch. So the
    supremum is the largest, over the branches, of the sum of the two suprema: exactly.
    """

    first: Branching
    second: Callable[[int], Law]

    @property
    def size(self) -> int:
        return self.first.size + self.second(next(iter(self.first.branches))).size

    def draw(self, randbelow: RandBelow) -> Outcome:
        outcome = self.first.draw(randbelow)
        return outcome + self.second(self.first.branch(outcome)).draw(randbelow)

    def probability(self, outcome: Outcome) -> float:
        first, rest = outcome[: self.first.size], outcome[self.first.size :]
        likely = self.first.probability(first)
        return likely and likely * self.second(self.first.branch(first)).probability(rest)

    def log_ratio(self, other: Law) -> Loss:
        branches = self.first.branches
        if not isinstance(other, StagedLaw) or set(other.first.branches) != set(branches):
            return math.inf
        return max(
            self.first.log_ratio_on(branch, other.first)
            + self.second(branch).log_ratio(other.second(branch))
            for branch in branches
        )


# --- the exponential mechanism --------------------------------------------------------

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
    log_2 = _LOG_2 if doublings > 0 else _LOG_2_BELOW
    return Fraction(doublings * log_2 + _twice_atanh(t), 1 << _LOG_BITS)


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


# --- how large discrete Laplace noise gets --------------------------------------------

_LARGEST_EXPONENT = 700.0  # math.exp and math.sinh overflow a little above


def dot(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """left @ right, added up in one order: an answer has the same last digit in every process.

    BLAS, behind @, shares large products among as many threads as there are.

    >>> dot(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([3.0, 4.0]))
    array([11.,  4.])
    """
    own, others = ("j", "ij")[left.ndim - 1], ("j", "jk")[right.ndim - 1]
    return np.asarray(np.einsum(f"{own},{others}->{own[:-1]}{others[1:]}", left, right))


def significance(confidence: float) -> float:
    """How often an interval of this confidence may miss."""
    if not 0 < confidence < 1:
        raise UsageError(f"confidence must lie between 0 and 1, not {confidence}", hint="e.g. 0.95")
    return 1 - confidence


def laplace_probability(scale: Fraction, z: int) -> float:
    """P(Z = z)."""
    rate = float(1 / scale)
    return math.tanh(rate / 2) * math.exp(-abs(z) * rate)


def laplace_tail(scale: Fraction, k: int) -> float:
    """P(|Z| ≥ k)."""
    if k <= 0:
        return 1.0
    rate = float(1 / scale)
    return 2 * math.exp(-k * rate) / (1 + math.exp(-rate))


def laplace_at_least(distance: float, scale: Fraction) -> float:
    """P(Z ≥ distance), for a distance of either sign."""
    k = math.ceil(distance)
    return laplace_tail(scale, k) / 2 if k > 0 else 1 - laplace_tail(scale, 1 - k) / 2


def laplace_half_width(scale: Fraction, confidence: float) -> int:
    """The smallest w with P(|Z| ≤ w) ≥ confidence."""
    rate = float(1 / scale)
    allowed = significance(confidence) * (1 + math.exp(-rate)) / 2
    return max(0, math.ceil(-math.log(allowed) / rate) - 1)


def tail_of_two(scale: Fraction, k: int) -> float:
    """P(|Z₁ + Z₂| ≥ k) for independent noise of one scale.

    P(Z₁ + Z₂ = j) = ((1−q)/(1+q))² · q^j · (j + (1+q²)/(1−q²)), j ≥ 0, summed from k on.
    """
    if k <= 0:
        return 1.0
    rate = min(float(1 / scale), _LARGEST_EXPONENT)
    left = -math.expm1(-rate)
    mean = (k + 1 / math.tanh(rate)) / left + math.exp(-rate) / left**2
    return min(2 * math.tanh(rate / 2) ** 2 * math.exp(-k * rate) * mean, 1.0)


@lru_cache(maxsize=1024)
def half_width_of_two(scale: Fraction, confidence: float) -> int:
    """The smallest w with P(|Z₁ + Z₂| ≤ w) ≥ confidence."""
    allowed, enough = significance(confidence), 1
    while tail_of_two(scale, enough) > allowed:
        enough *= 2
    return bisect_left(range(enough), 1, key=lambda w: tail_of_two(scale, w + 1) <= allowed)


def laplace_deviation(scale: Fraction) -> float:
    """The standard deviation of Z; √2·scale when the scale is large."""
    half_rate = min(float(1 / scale) / 2, _LARGEST_EXPONENT)
    return math.sqrt(0.5) / math.sinh(half_rate)


def clamped_error(noise: float, below: float, above: float) -> float:
    """Root mean square error of a value with noise, clamped `below` and `above` away from it.

    `noise` is the standard deviation of the noise, taken as Laplace noise. Without
    clamping (both infinite) the error is that standard deviation.
    """
    scale = noise / math.sqrt(2)
    return math.sqrt(_one_side(scale, below) + _one_side(scale, above))


def _one_side(scale: float, room: float) -> float:
    """E[min(Z, room)²; Z > 0] = s²·(1 − e^−x·(1+x)) for Laplace Z of scale s, x = room/s."""
    if math.isinf(room):
        return scale**2
    x = max(room, 0.0) / scale if scale > 0 else math.inf
    if x < 1e-5:  # the closed form cancels; this is its leading term
        return max(room, 0.0) ** 2 / 2
    if x > _LARGEST_EXPONENT:
        return scale**2
    return scale**2 * (1 - math.exp(-x) * (1 + x))
