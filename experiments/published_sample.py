"""The paper's sample-and-aggregate mechanism, for a derived measure that is a percentage.

The text leaves open how many buckets there are and how cases are dealt into them; the
published numbers fit 50 buckets, or one per case where there are fewer, dealt in the order of
the log. The mean over buckets is then released as any mean: by the Laplace mechanism, with
bounds from the data, which here are the smallest and largest result of a bucket.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.deviations import TEXT, Deviation
from experiments.intervals import Floats, Generator

BUCKETS = 50
PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class PublishedSample:
    """The percentage of cases that are true, over buckets."""

    epsilon: float
    deviations: frozenset[Deviation] = TEXT
    most_buckets: int = BUCKETS

    def draws(self, values: Floats, runs: int, rng: Generator) -> Floats:
        """Values are 1 for a case that is true and 0 for another."""
        found = PERCENT * self.results(values)
        noise = rng.laplace(0.0, self.sensitivity(found) / self.epsilon, runs)
        drawn = found.mean() + noise
        clamped = Deviation.CLAMPED in self.deviations
        return np.asarray(np.clip(drawn, 0, PERCENT) if clamped else drawn)

    def results(self, values: Floats) -> Floats:
        """The mean of each bucket."""
        buckets = min(self.most_buckets, len(values))
        if Deviation.CASES_DROPPED in self.deviations:
            values = values[: len(values) // buckets * buckets]
        return np.array([part.mean() for part in np.array_split(values, buckets)])

    def sensitivity(self, results: Floats) -> float:
        whole = Deviation.WHOLE_RANGE in self.deviations
        return (PERCENT if whole else float(np.ptp(results))) / len(results)
