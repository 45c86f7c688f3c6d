"""Permute-and-flip beside the exponential mechanism, for medians and p90 that ask for `interval`.

    python -m benchmarks.permute_and_flip [SAMPLES]

Permute-and-flip visits candidates in random order and takes the first whose flip comes up, with a
chance of exp(−rate·score) less the best score's. It is never worse than the exponential mechanism
over the *same* candidates. That one draws over all points of a range here, whole stretches at a
time; permute-and-flip has to visit its candidates, so it needs fewer of them: so many middles of
even cells. Told is its error as a part of that of the mechanism as it is, both from the exact law
and nothing drawn, by cases times ε and by the number of candidates. Below 1 it is better.

A number of candidates must be public, so it can only follow the number of cases that is *planned
for*. The row of ten times as many cases says what it costs if there are more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.utility_errors import mean_square
from pappi.mechanisms import IntervalQuantile, mechanism_for
from pappi.values import UNIT_INTERVAL, Adjacency

Floats = NDArray[np.float64]

SAMPLES = 30
EPSILON = Fraction(1, 10)
SIGNALS = (10, 40, 100, 400, 1_000, 4_000)
CANDIDATES = (32, 64, 128, 256, 1_024, 4_096)
_FADED = 45.0  # e to minus this is nothing
_NODES, _AREAS = np.polynomial.legendre.leggauss(200)


def gaussian(rng: np.random.Generator, cases: int) -> Floats:
    return np.clip(rng.normal(0.5, 0.15, cases), 0, 1)


def waits(rng: np.random.Generator, cases: int) -> Floats:
    return np.clip(rng.lognormal(0, 0.8, cases) / 12, 0, 1)


def flipped_law(weights: Floats) -> Floats:
    """How likely each candidate is taken, of which the best one weighs 1.

    It is the largest score with exponential noise (Ding et al. 2021): wᵢ·∫₀¹ Π (1 − wⱼu) du over
    all others j.
    """
    end = min(1.0, _FADED / weights.sum())
    places, areas = (_NODES + 1) / 2 * end, _AREAS / 2 * end
    missed = np.log1p(-np.outer(places, weights))
    others = np.exp(missed.sum(axis=1)[:, None] - missed)
    return np.asarray(weights * (areas @ others))


def flipped_error(
    mechanism: IntervalQuantile, values: Floats, truth: float, candidates: int
) -> float:
    """E (candidate − truth)², of the middles of so many even cells."""
    middles, ordered = (np.arange(candidates) + 0.5) / candidates, np.sort(values)
    below = np.searchsorted(ordered, middles, side="left")
    above = len(values) - np.searchsorted(ordered, middles, side="right")
    scores = mechanism.scores(below, above, len(values))
    chances = flipped_law(np.exp(-float(mechanism.rate) * (scores - scores.min())))
    return float(chances @ (middles - truth) ** 2)


def row(
    function: str, draw: Callable[[np.random.Generator, int], Floats], signal: int, samples: int
) -> tuple[float, list[float]]:
    """The error of the mechanism as it is, and of each number of candidates as a part of that."""
    mechanism = mechanism_for(
        function, UNIT_INTERVAL, EPSILON, Adjacency.ADD_REMOVE, integral=False, name="interval"
    )
    if not isinstance(mechanism, IntervalQuantile):
        raise TypeError("not a quantile by rank")
    rng, cases = np.random.default_rng(7), round(signal / EPSILON)
    found = []
    for _ in range(samples):
        values = draw(rng, cases)
        truth = float(np.quantile(values, float(mechanism.level), method="inverted_cdf"))
        flipped = (flipped_error(mechanism, values, truth, number) for number in CANDIDATES)
        found.append([mean_square(mechanism, values, truth), *flipped])
    as_it_is, *others = np.sqrt(np.mean(found, axis=0)).tolist()
    return as_it_is, [each / as_it_is for each in others]


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    print("Error of permute-and-flip as a part of that of `interval`, by its number of candidates")
    print(f"{'values':<10}{'of':<8}{'n·ε':>6}{'interval':>10}", end="")
    print("".join(f"{number:>8,}" for number in CANDIDATES))
    for draw in (gaussian, waits):
        for function in ("median", "p90"):
            for signal in SIGNALS:
                as_it_is, parts = row(function, draw, signal, samples)
                print(f"{draw.__name__:<10}{function:<8}{signal:>6,}{as_it_is:>10.3%}", end="")
                print("".join(f"{part:>8.2f}" for part in parts), flush=True)


if __name__ == "__main__":
    main()
