"""The laws of the published mechanisms, so that the exact audit can judge them.

The audit compares exact laws over whole numbers, so results are read off a lattice of at least
a million steps over the domain, on which discrete Laplace noise stands for the continuous one.
That is a reading in their favour: floats, which betray more, are left out of account; noise is
a millionth wider to make room for rounding; values are first clipped to a public domain; a case
without a value counts with the middle of it (the paper knows no such cases); and with public
bounds an empty data set is answered like any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from experiments.intervals import Floats, Intervals
from experiments.published import Published, truth_of
from experiments.published_sample import PERCENT, PublishedSample
from pappi.mechanisms import DiscreteLaplaceLaw, Law, PointLaw, Values
from pappi.mechanisms.laws import exponential_law
from pappi.values import Bounds

STEPS = 2**20
NOISE_STEPS = 2**40
_ROOM = 1 + Fraction(1, 2**20)
_NOTHING = PointLaw(0)


@dataclass(frozen=True, slots=True)
class PublishedLaw:
    """A published mechanism over data sets within a public domain; see `audit.Audited`."""

    published: Published
    domain: Bounds
    epsilon: Fraction

    @property
    def name(self) -> str:
        return f"{self.published.kind} as published"

    @property
    def width(self) -> int:
        return 1

    def law(self, values: Values) -> Law:
        low, high = self._ends
        present = np.clip(np.nan_to_num(values, nan=(low + high) / 2), low, high)
        if not len(present):
            if self.published.bounds is None:
                return _NOTHING
            present = self._stand_in
        if self.published.kind == "laplace":
            return self._laplace(present)
        return self._stepped(self.published.intervals(present))

    @property
    def _ends(self) -> tuple[float, float]:
        return float(self.domain.low), float(self.domain.high)

    @property
    def _stand_in(self) -> Floats:
        """A case that answers for none: the least informative one."""
        low, high = self._ends
        at = {"max": low, "min": high, "sum": 0.0, "mean": (low + high) / 2}
        return np.array([at[self.published.function]])

    def _laplace(self, present: Floats) -> Law:
        truth = truth_of(self.published.function, present)
        return noisy(truth, self.published.sensitivity(present), self.domain, self.epsilon)

    def _stepped(self, found: Intervals) -> Law:
        step = float(self.domain.width / STEPS)
        starts = np.ceil(found.low / step).astype(np.int64)
        stop = math.floor(found.high[-1] / step) + 1
        kept = np.diff(starts, append=stop) > 0
        if not kept.any():
            return PointLaw(int(starts[0]))
        scores = _as_penalties(found.scores[kept])
        return exponential_law(starts[kept], scores, stop, self._rate)

    @property
    def _rate(self) -> Fraction:
        moved = self.published.falloff if self.published.kind == "threshold" else 1
        return self.epsilon / (2 * moved)


@dataclass(frozen=True, slots=True)
class PublishedSampleLaw:
    """Sample-and-aggregate as published, of truth values."""

    published: PublishedSample
    epsilon: Fraction

    @property
    def name(self) -> str:
        return "sample-and-aggregate as published"

    @property
    def width(self) -> int:
        return 1

    def law(self, values: Values) -> Law:
        present = np.clip(np.nan_to_num(values, nan=0.0), 0.0, 1.0)
        if not len(present):
            return _NOTHING
        found = PERCENT * self.published.results(present)
        sensitivity = self.published.sensitivity(found)
        percent = Bounds(Fraction(0), Fraction(int(PERCENT)))
        return noisy(float(found.mean()), sensitivity, percent, self.epsilon)


def noisy(truth: float, sensitivity: float, domain: Bounds, epsilon: Fraction) -> Law:
    """Laplace noise on the lattice; none at all where the sensitivity is 0."""
    step = domain.width / NOISE_STEPS
    centre = round(Fraction(truth) / step)
    if sensitivity == 0:
        return PointLaw(centre)
    return DiscreteLaplaceLaw(centre, Fraction(sensitivity) / step / epsilon * _ROOM)


def _as_penalties(scores: Floats) -> NDArray[np.int64]:
    penalties: NDArray[np.int64] = np.rint(scores.max() - scores).astype(np.int64)
    return penalties
