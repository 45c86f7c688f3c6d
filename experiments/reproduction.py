"""Do the published mechanisms, rebuilt, give what the authors' own program gives?

The authors' aggregator was run 1,000 times on the paper's samples in 864 settings of its
Laplace and interval mechanisms. A setting is reproduced if the RMSE and the mean of its results
lie within the sampling error of those 1,000 runs, at 99 %, of what the rebuilt mechanism gives.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.deviations import Deviation
from experiments.intervals import Floats
from experiments.published import Function, Published
from experiments.samples import Samples
from experiments.seeded import generator

FILE = "synthetic_authors_java.csv"
RUNS, FAST_RUNS = 20_000, 4_000
THEIR_RUNS = 1_000
NORMAL_99 = 2.576
COLUMNS = (
    "distribution", "n", "mechanism", "function", "extension", "epsilon", "their_rmse", "our_rmse",
    "rmse_z", "their_mean", "our_mean", "mean_z", "reproduced",
)  # fmt: skip

_FUNCTIONS: dict[str, Function] = {"Avg": "mean", "Sum": "sum", "Min": "min", "Max": "max"}


@dataclass(frozen=True, slots=True)
class Compared:
    """One setting: what their program gave, and what ours does, in their standard errors."""

    distribution: str
    n: int
    published: Published
    their_rmse: float
    our_rmse: float
    rmse_z: float
    their_mean: float
    our_mean: float
    mean_z: float

    @property
    def reproduced(self) -> bool:
        return max(abs(self.rmse_z), abs(self.mean_z)) <= NORMAL_99

    def row(self) -> tuple[object, ...]:
        """For `COLUMNS`."""
        how = self.published
        return (
            self.distribution, self.n, how.kind, how.function, how.extension, how.epsilon,
            self.their_rmse, self.our_rmse, self.rmse_z, self.their_mean, self.our_mean,
            self.mean_z, self.reproduced,
        )  # fmt: skip


def compared(
    path: Path, found: Samples, deviations: frozenset[Deviation], runs: int
) -> Iterator[Compared]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter=";"):
            function, _, kind = row["method"].partition("_")
            if kind in ("lap", "exp") and function in _FUNCTIONS:
                yield _compared(row, found, deviations, runs)


def _compared(
    row: dict[str, str], found: Samples, deviations: frozenset[Deviation], runs: int
) -> Compared:
    function, _, kind = row["method"].partition("_")
    extension = round((float(row["ext"]) - 1) / 2, 6)
    published = Published(
        "laplace" if kind == "lap" else "interval",
        _FUNCTIONS[function], float(row["eps"]), extension, deviations,
    )  # fmt: skip
    n, truth = int(row["n"]), float(row["orig"])
    label = " ".join((row["dist"], row["n"], row["method"], row["ext"], row["eps"]))
    drawn = published.draws(found.first(row["dist"], n), runs, generator(f"java {label}"))
    rmse, rmse_error = _rmse(drawn, truth)
    mean, mean_error = float(drawn.mean()), float(drawn.std()) * _uncertainty(runs)
    return Compared(
        distribution=row["dist"],
        n=n,
        published=published,
        their_rmse=float(row["rmse"]),
        our_rmse=rmse,
        rmse_z=(float(row["rmse"]) - rmse) / rmse_error,
        their_mean=float(row["mean"]),
        our_mean=mean,
        mean_z=(float(row["mean"]) - mean) / mean_error,
    )


def _rmse(drawn: Floats, truth: float) -> tuple[float, float]:
    """The RMSE, and the standard error of the difference between theirs and it."""
    squares = (drawn - truth) ** 2
    rmse = float(np.sqrt(squares.mean()))
    return rmse, float(squares.std()) * _uncertainty(len(drawn)) / (2 * rmse)


def _uncertainty(runs: int) -> float:
    """Of a mean over their runs less one over ours, for values of standard deviation 1."""
    return float(np.sqrt(1 / THEIR_RUNS + 1 / runs))
