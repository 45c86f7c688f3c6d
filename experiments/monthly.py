"""Many simulated series of monthly values beside the true one, and how far off they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from experiments.intervals import Floats
from pappi.ppinot import Target

COLUMNS = (
    "ppi", "name", "unit", "by", "mechanism", "bounds", "epsilon", "runs", "rmse",
    "rmse_low", "rmse_high", "mae", "correlation", "verdicts_right", "limit",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Monthly:
    """`values` has a row per run and a column per month; all in the PPI's unit."""

    number: str
    name: str
    unit: str
    by: str
    function: str
    mechanism: str
    bounds: str
    epsilon: str
    months: tuple[str, ...]
    truth: Floats
    values: Floats
    target: Target | None = None
    limit: float | None = None
    """The RMSE that is aimed at."""

    def errors(self) -> Floats:
        """The root mean square error over the months, of every run."""
        return np.asarray(np.sqrt(np.nanmean((self.values - self.truth) ** 2, axis=1)))

    @property
    def rmse(self) -> float:
        """Of a single release: the median over the runs."""
        return float(np.median(self.errors()))

    @property
    def rmse_range(self) -> tuple[float, float]:
        low, high = np.percentile(self.errors(), (2.5, 97.5))
        return float(low), float(high)

    @property
    def mae(self) -> float:
        return float(np.median(np.nanmean(np.abs(self.values - self.truth), axis=1)))

    @property
    def correlation(self) -> float:
        """Of a single release with the truth: the median over the runs."""
        found = np.array([_correlation(run, self.truth) for run in self.values])
        known = found[np.isfinite(found)]
        return float(np.median(known)) if len(known) else math.nan

    @property
    def verdicts_right(self) -> float | None:
        """The share of months, over all runs, in which the value is on the truth's side."""
        if self.target is None:
            return None
        right = kept(self.values, self.target) == kept(self.truth, self.target)
        return float(right[np.isfinite(self.values)].mean())

    def pooled(self, runs: int, draws: int, rng: np.random.Generator) -> Floats:
        """The RMSE over so many runs together, as published ones are; many times over."""
        squares = np.nanmean((self.values - self.truth) ** 2, axis=1)
        chosen = rng.integers(len(squares), size=(draws, runs))
        return np.asarray(np.sqrt(squares[chosen].mean(axis=1)))

    def row(self) -> tuple[object, ...]:
        """For `COLUMNS`."""
        return (
            self.number, self.name, self.unit, self.by, self.mechanism, self.bounds, self.epsilon,
            len(self.values), self.rmse, *self.rmse_range, self.mae, self.correlation,
            self.verdicts_right, self.limit,
        )  # fmt: skip


def _correlation(run: Floats, truth: Floats) -> float:
    """Over the months that have a value; NaN where either does not vary."""
    known = np.isfinite(run)
    here, there = run[known], truth[known]
    if len(here) < 2 or np.ptp(here) == 0 or np.ptp(there) == 0:
        return math.nan
    return float(np.corrcoef(here, there)[0, 1])


def kept(values: Floats, target: Target) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whether each value meets the target; limits are the paper's, strict on both sides."""
    low = -np.inf if target.low is None else float(target.low)
    high = np.inf if target.high is None else float(target.high)
    return np.asarray((values > low) & (values < high))
