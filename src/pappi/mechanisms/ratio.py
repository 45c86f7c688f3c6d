"""The two-bin ratio: Σa/Σb where each case's a is a part of its b.

Rejected among received, returned among released: in every case 0 ≤ a ≤ b. Each case is
divided between two bins, its part a into A and the rest b − a into B, on lattice
integers with b in {0..K}. The ratio is A/(A+B), the same form as a share.

*add-remove*: one case more or less moves (A, B) by (a, b−a), in total b ≤ K. Noise of
scale K/ε on each has loss at most ε: no ε is split between the two sums.
*replace*: one case leaves and one comes, 2K in total, so the scale is 2K/ε.

That a is a part of b is declared, and enforced: what exceeds its bounds or b is cut off. A case
without a b goes into neither bin; one without an a counts as a = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pappi.errors import NotReleasable
from pappi.mechanisms import tails
from pappi.mechanisms.lattice import Lattice, total
from pappi.mechanisms.laws import Outcome
from pappi.mechanisms.mechanism import Estimate, NoisyIntegers, Values, clamp
from pappi.mechanisms.pivot import share_chance, share_interval
from pappi.mechanisms.two_bin import drawn_in, share_error
from pappi.values.bounds import Bounds
from pappi.values.privacy import Adjacency


@dataclass(frozen=True, slots=True)
class TwoBinRatio(NoisyIntegers):
    """`factor` times Σa/Σb. Values are rows (a, b): `bounds` are those of b, `part` those of a."""

    name: ClassVar[str] = "two-bin"

    factor: Fraction
    part: Bounds

    def __post_init__(self) -> None:
        super(TwoBinRatio, self).__post_init__()
        if self.bounds.low < 0:
            raise NotReleasable("the whole of a ratio must not be negative")

    @property
    def width(self) -> int:
        return 2

    @property
    def lattice(self) -> Lattice:
        """From zero up, because a part may be nothing where its whole may not."""
        from_zero = Bounds(Fraction(0), self.bounds.high)
        return Lattice.through_zero(from_zero, integral=self.integral)

    @property
    def scale(self) -> Fraction:
        cases = 2 if self.adjacency is Adjacency.REPLACE else 1
        return cases * self.lattice.highest / self.epsilon

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        return self.scale, self.scale

    def statistics(self, values: Values) -> Outcome:
        rows = values.reshape(-1, self.width)
        rows = rows[~np.isnan(rows[:, 1])]
        least, most = float(self.bounds.low), float(self.bounds.high)
        wholes = self.lattice.snap(np.clip(rows[:, 1], least, most))
        within = np.clip(rows[:, 0], float(self.part.low), float(self.part.high))
        parts = self.lattice.snap(np.where(np.isnan(within), 0.0, within))
        first = total(np.clip(parts, 0, wholes))
        return first, total(wholes) - first

    def estimate(self, noisy: Outcome) -> Estimate:
        share = drawn_in(max(noisy[0], 0), max(noisy[1], 0), self.scale)
        return Estimate(float(self.factor * share))

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """For the ratio of the clipped sums; the lattice is too fine to matter beside the noise."""
        low, high = share_interval(noisy[0], noisy[1], self.scale, confidence)
        estimate = float(drawn_in(max(noisy[0], 0), max(noisy[1], 0), self.scale))
        low, high = min(low, estimate), max(high, estimate)
        ends = float(self.factor) * low, float(self.factor) * high
        return min(ends), max(ends)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        share = limit / float(self.factor)
        below = share_chance(noisy[0], noisy[1], self.scale, share)
        return below if self.factor > 0 else 1 - below

    def predicted_error(self, cases: float, at: float | None) -> float:
        share = 0.5 if at is None else clamp(at / float(self.factor), 0.0, 1.0)
        usual = float((self.bounds.low + self.bounds.high) / 2 / self.bounds.high)
        noise = tails.deviation(self.scale) / self.lattice.highest
        return abs(float(self.factor)) * share_error(share, max(cases, 0.0) * usual, noise)
