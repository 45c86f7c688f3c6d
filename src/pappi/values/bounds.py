"""Public bounds on what one case may contribute."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Bounds:
    """A declared range [low, high], in the internal unit of its measure.

    Internal units: microseconds for durations, 0 and 1 for truth values, the
    number itself otherwise.
    """

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"bounds must rise: {self.low} to {self.high}")

    @property
    def width(self) -> Fraction:
        return self.high - self.low

    @property
    def magnitude(self) -> Fraction:
        """The largest absolute value inside: what adding one case can move a sum by."""
        return max(abs(self.low), abs(self.high))


UNIT_INTERVAL = Bounds(Fraction(0), Fraction(1))
