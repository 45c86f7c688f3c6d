"""The exact distribution of what a mechanism releases, and the privacy loss between two.

A mechanism draws its release from its law, and the audit compares the laws of
neighbouring logs: both look at the same object, so nothing can be audited that is
not also what is released.

The loss between two laws P and Q is the supremum over outputs z of |log P(z)/Q(z)|.
A release is ε-differentially private if and only if no pair of neighbours has a loss above ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from pappi.mechanisms import tails
from pappi.mechanisms.noise import RandBelow, discrete_laplace, hexagonal_laplace

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
        return tails.probability(self.scale, value - self.centre)

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
        return tuple(number for part in self.parts for number in part.draw(randbelow))

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


@dataclass(frozen=True, slots=True)
class HexagonLaw(Law):
    """Two centres plus (X, Y) with P((x, y)) ∝ exp(−N(x, y) / scale): see `hexagon`."""

    first: int
    second: int
    scale: Fraction

    @property
    def size(self) -> int:
        return 2

    def draw(self, randbelow: RandBelow) -> Outcome:
        x, y = hexagonal_laplace(self.scale, randbelow)
        return self.first + x, self.second + y

    def probability(self, outcome: Outcome) -> float:
        """6r points have N = r, so the weights sum to 1 + 6q/(1−q)² with q = exp(−1/scale)."""
        away = hexagon_norm(outcome[0] - self.first, outcome[1] - self.second)
        rate = float(1 / self.scale)
        weights = 1 + 6 * math.exp(-rate) / math.expm1(-rate) ** 2
        return math.exp(-away * rate) / weights

    def log_ratio(self, other: Law) -> Loss:
        """N is a norm: N(z−c′) − N(z−c) ≤ N(c−c′), reached at z = c."""
        if not isinstance(other, HexagonLaw) or other.scale != self.scale:
            return math.inf
        return hexagon_norm(self.first - other.first, self.second - other.second) / self.scale


def hexagon_norm(x: int, y: int) -> int:
    return max(abs(x), abs(y), abs(x - y))


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
