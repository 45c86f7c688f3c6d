"""Layer 3: how far apart two neighbouring logs are by what an analyst sees, and no more.

Given answers from a data set and from its neighbour, one half of them is used to learn an
event that is much likelier on one side (the quantile bins with the largest ratios, after
Neyman and Pearson), and the other half to bound its two probabilities, after Clopper and
Pearson. log(p/q) of these bounds is a lower bound on the real ε, at 99 % confidence,
whatever was learned. If it exceeds the promised ε, the promise is broken somewhere
between the events and the printed digits.

It cannot prove the opposite. A loss that only rare outputs betray stays invisible, such as
that of noise whose scale depends on the number of cases: layer 1 is there for these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pappi.audit.chances import share_at_least, share_at_most

FEWEST_SAMPLES = 2000
"""On either side."""

CONFIDENCE = 0.99
_BINS = 64
_FEW = 20

Samples = NDArray[np.float64]
"""A row per answer, a column per number it shows; infinite where it shows none."""


@dataclass(frozen=True, slots=True)
class BlackBoxReport:
    """A lower bound on the ε that was really spent, and why it fails, if it does.

    `skipped` says why there was nothing to ask.
    """

    epsilon: Fraction
    samples: int = 0
    lower_bound: float | None = None
    failure: str | None = None
    skipped: str | None = None

    @property
    def passed(self) -> bool:
        return self.failure is None


def audit_samples(first: Samples, second: Samples, epsilon: Fraction) -> BlackBoxReport:
    """Compare answers over a data set with answers over its neighbour."""
    samples = min(len(first), len(second))
    refusal = _unusable(first, second)
    if refusal is not None:
        return BlackBoxReport(epsilon, samples, None, refusal)
    bound = lower_bound(first, second)
    if not bound <= epsilon:
        failure = f"answers tell neighbours apart by at least {bound:.4g}, epsilon is {epsilon}"
        return BlackBoxReport(epsilon, samples, bound, failure)
    return BlackBoxReport(epsilon, samples, bound)


def lower_bound(first: Samples, second: Samples) -> float:
    """A bound on ε from below, of 99 % confidence; 0 where nothing tells the sides apart."""
    event = max(_events(first[::2], second[::2]), key=lambda event: event.promise)
    sides = (first, second) if event.first_is_likelier else (second, first)
    (hits, trials), (others, other_trials) = (event.count(side[1::2]) for side in sides)
    level = (1 - CONFIDENCE) / 2
    likely = share_at_least(hits, trials, level)
    seldom = share_at_most(others, other_trials, level)
    return max(0.0, math.log(likely / seldom)) if likely > 0 else 0.0


def _unusable(first: Samples, second: Samples) -> str | None:
    if min(len(first), len(second)) < FEWEST_SAMPLES:
        found = min(len(first), len(second))
        return f"only {found} samples a side were drawn, {FEWEST_SAMPLES} are needed"
    if np.isnan(first).any() or np.isnan(second).any():
        return "a sample is not a number"
    still = _constant(first) & _constant(second)
    if np.any(still & (first[0] != second[0])):
        return "every answer tells the two apart: there is no noise"
    if still.all():
        return "all answers are the same: nothing was tested"
    return None


def _constant(samples: Samples) -> NDArray[np.bool_]:
    return np.asarray(np.all(samples == samples[0], axis=0))


@dataclass(frozen=True, slots=True)
class _Event:
    """That one of the numbers shown falls into certain bins."""

    column: int
    edges: NDArray[np.float64]
    bins: NDArray[np.int64]
    first_is_likelier: bool
    promise: float

    def count(self, samples: Samples) -> tuple[int, int]:
        found = np.isin(_bin(samples[:, self.column], self.edges), self.bins)
        return int(np.count_nonzero(found)), len(samples)


def _events(first: Samples, second: Samples) -> Iterator[_Event]:
    """For each number shown and either direction, the best event that can be learned."""
    for column in range(first.shape[1]):
        pooled = np.concatenate((first[:, column], second[:, column]))
        edges = np.unique(np.quantile(pooled, np.linspace(0, 1, _BINS + 1), method="nearest"))
        sides = [
            np.bincount(_bin(side[:, column], edges), minlength=2 * len(edges) + 1)
            for side in (first, second)
        ]
        for likelier in (True, False):
            more, fewer = sides if likelier else reversed(sides)
            bins, promise = _most_telling(more, fewer)
            yield _Event(column, edges, bins, likelier, promise)


def _bin(numbers: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Below, at or above each edge: a value that comes up often has a bin of its own."""
    return np.searchsorted(edges, numbers, "left") + np.searchsorted(edges, numbers, "right")


def _most_telling(
    more: NDArray[np.int64], fewer: NDArray[np.int64]
) -> tuple[NDArray[np.int64], float]:
    """The bins with the largest ratios, as many as promise the largest bound.

    The bound is guessed as log(a/b) less 2.6 standard deviations: only a choice hangs on it.
    Ratios of bins that hold next to nothing are mere chance, so they are drawn towards 1.
    """
    order = np.argsort(-(more + _FEW) / (fewer + _FEW))
    a, b = np.cumsum(more[order]) + 0.5, np.cumsum(fewer[order]) + 0.5
    promises = np.log(a / b) - 2.6 * np.sqrt(1 / a + 1 / b)
    best = int(np.argmax(promises))
    return order[: best + 1], float(promises[best])
