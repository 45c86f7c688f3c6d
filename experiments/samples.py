"""The samples of the controlled experiments: the paper's own, or ones of the same kind.

The paper draws 200 values from a Gaussian, a Pareto and a Poisson distribution, cut to whole
numbers, and takes the first 10, 50, 100 or 200. Where those values are not at hand, seeded
ones of our own stand in.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from experiments.intervals import Floats
from experiments.shared_data import shared_file
from pappi.values import Bounds

FILE = "synthetic_samples.csv"
SIZES = (10, 50, 100, 200)
EPSILONS = ("1", "0.1", "0.01")
SEED = 2021

BOUNDS: Mapping[str, Bounds] = {
    "gaussian": Bounds(Fraction(0), Fraction(200)),
    "pareto": Bounds(Fraction(0), Fraction(200)),
    "poisson": Bounds(Fraction(0), Fraction(20)),
}
"""What our mechanisms are told: round numbers that follow from the distributions' parameters."""

NEARBY: Mapping[str, float] = {"gaussian": 10.0, "pareto": 5.0, "poisson": 2.0}
"""How far the targets lie from the truth; ten times as far for sums."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Values by distribution, and where they are from."""

    values: Mapping[str, Floats]
    source: str

    def first(self, distribution: str, n: int) -> Floats:
        return self.values[distribution][:n]


def samples() -> Samples:
    path = shared_file(FILE)
    if path is None:
        return Samples(_drawn(), f"drawn anew with seed {SEED}: {FILE} is not here")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {name: np.array([float(row[name]) for row in rows]) for name in BOUNDS}
    return Samples(found, "the paper's own samples")


def _drawn() -> dict[str, Floats]:
    rng, n = np.random.default_rng(SEED), max(SIZES)
    drawn = {
        "gaussian": rng.normal(100, 25, n),
        "pareto": 10 * (1 + rng.pareto(2, n)),
        "poisson": rng.poisson(5, n).astype(np.float64),
    }
    return {name: np.maximum(np.trunc(values), 0) for name, values in drawn.items()}
