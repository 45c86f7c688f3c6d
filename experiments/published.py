"""The paper's mechanisms for aggregated measures, as published. None of them is private.

Bounds are the data's own smallest and largest value, extended at either side by a share of
their distance, as in the paper; `bounds` replaces them by public ones, to see what the
mechanism itself is worth. Nothing here can be reached from a release: draws are seeded, and
plain floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from experiments import authors
from experiments.deviations import TEXT, Deviation
from experiments.intervals import Floats, Generator, Intervals, aimed, around, by_rank

Function = Literal["mean", "sum", "min", "max"]
Kind = Literal["laplace", "interval", "threshold"]
FUNCTIONS: tuple[Function, ...] = ("mean", "sum", "min", "max")


@dataclass(frozen=True, slots=True)
class Published:
    """One mechanism of the paper, for one function."""

    kind: Kind
    function: Function
    epsilon: float
    extension: float = 0.0
    deviations: frozenset[Deviation] = TEXT
    target: float = 0.0
    falloff: int = 1
    bounds: tuple[float, float] | None = None

    def draws(self, values: Floats, runs: int, rng: Generator) -> Floats:
        """So many results; NaN where no case has a value."""
        present = values[~np.isnan(values)]
        if not len(present):
            return np.full(runs, np.nan)
        if self.kind == "laplace":
            drawn = truth_of(self.function, present) + self._noise(values, runs, rng)
        else:
            drawn = self._from_intervals(values, runs, rng)
        return np.clip(drawn, *self.output_range(values)) if self._does("CLAMPED") else drawn

    def domain(self, values: Floats) -> tuple[float, float]:
        """What the mechanism takes the values' bounds to be."""
        if self.bounds is not None:
            return self.bounds
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        extra = (high - low) * self.extension
        return low - extra, high + extra

    def output_range(self, values: Floats) -> tuple[float, float]:
        low, high = self.domain(values)
        cases = self.cases(values)
        return (low * cases, high * cases) if self.function == "sum" else (low, high)

    def sensitivity(self, values: Floats) -> float:
        low, high = self.domain(values)
        match self.function:
            case "sum":
                return high
            case "mean":
                return (high - low) / self.cases(values)
        return high - low

    def cases(self, values: Floats) -> int:
        every = self._does("MISSING_COUNTED")
        return len(values) if every else int(np.count_nonzero(~np.isnan(values)))

    @property
    def rate(self) -> float:
        """Of the exponential mechanism; the paper takes a score's sensitivity to be ξ."""
        moved = self.falloff if self.kind == "threshold" else 1
        return self.epsilon / (2 * moved)

    def intervals(self, values: Floats) -> Intervals:
        """What is drawn from, scored."""
        plain = self._plain_intervals(values)
        if self.kind == "interval":
            return plain
        truth = truth_of(self.function, values[~np.isnan(values)])
        return aimed(plain, truth, self.target, self.falloff)

    def _plain_intervals(self, values: Floats) -> Intervals:
        present, domain = values[~np.isnan(values)], self.domain(values)
        if self.function in ("min", "max"):
            ranked = np.unique(present) if self._does("DISTINCT_VALUES") else present
            return by_rank(ranked, *domain, "min" if self.function == "min" else "max")
        truth, step = truth_of(self.function, present), self.sensitivity(values)
        if self.function == "mean" and self._does("NEARER_BOUND"):
            found = authors.to_the_nearer_bound(truth, step, *domain)
        else:
            found = around(truth, step, *self.output_range(values))
        if self.function == "mean" and self._does("SHIFTED_SCORES"):
            found = authors.with_shifted_scores(found, truth)
        return found

    def _from_intervals(self, values: Floats, runs: int, rng: Generator) -> Floats:
        found = self.intervals(values)
        if self._does("WHOLE_RESULTS"):
            return authors.whole_draws(found, self.rate, runs, rng)
        return found.draw(self.rate, runs, rng)

    def _noise(self, values: Floats, runs: int, rng: Generator) -> Floats:
        noise = rng.laplace(0.0, self.sensitivity(values) / self.epsilon, runs)
        whole = self.function in ("min", "max") and self._does("WHOLE_NOISE")
        return np.trunc(noise) if whole else noise

    def _does(self, name: str) -> bool:
        return Deviation[name] in self.deviations


def truth_of(function: Function, values: Floats) -> float:
    """
    >>> truth_of("mean", np.array([2.0, 3, 7, 8, 10]))
    6.0
    """
    return float(getattr(np, function)(values))
