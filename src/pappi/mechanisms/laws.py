"""The exact distribution of what a mechanism releases, and the privacy loss between two.

A mechanism draws its release from its law, and the audit compares the laws of
neighbouring logs: both look at the same object, so nothing can be audited that is
not also what is released.

The loss between two laws P and Q is the supremum over outputs z of |log P(z)/Q(z)|.
A release is ε-differentially private if and only if no pair of neighbours has a loss above ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from pappi.mechanisms import tails
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

    def tail(self, distance: int) -> float:
        """P(at least `distance` away from the centre)."""
        return tails.tail(self.scale, distance)

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
