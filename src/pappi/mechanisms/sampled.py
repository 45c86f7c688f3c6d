"""Sample and aggregate: any formula, by averaging over parts of the cases.

Nothing public bounds how much one case can change a formula such as a quotient of medians.
So the cases are dealt into m buckets, m public, the formula is evaluated in each of them,
each result is cut to the declared range [lo, hi], and the mean of the m results gets noise.

**Why it is private.** Which bucket a case is in depends on that case alone (a keyed hash of
its id), and the result of a bucket on the set of its cases: one case more or less changes the
results of one bucket, by at most hi − lo, whatever the formula. On a lattice of K steps the sum
of the results moves by at most K: noise of scale K/ε has loss at most ε. *replace*: the new
content may belong to another bucket, so two results change and the scale is 2K/ε. Dealing cases
in their order into equal chunks would not do: one case more shifts all that follow. Nor would a
formula that adds floats up in the order of rows: one case more can change that order in every
bucket, and the formula may make anything of a last bit. `tree.aggregates` has no such sums.

A bucket without a result, such as an empty one, counts as the middle of the range. That
keeps the number of buckets that contribute public.

What comes out is the mean over buckets of n/m cases each. For a formula that is not linear
this is not the formula over all cases, and no interval can say how far off it is: the
interval is about the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from pappi.errors import NotReleasable, UsageError
from pappi.mechanisms.grids import RANGE_STEPS, Lattice, total
from pappi.mechanisms.laws import Outcome, clamped_error, laplace_deviation, laplace_half_width
from pappi.mechanisms.mechanism import (
    FORMULA,
    Estimate,
    Formula,
    Mechanism,
    NoisyIntegers,
    Replaced,
    Task,
    Values,
)
from pappi.mechanisms.prediction import ErrorLaw, laplace_beyond
from pappi.values import Adjacency, Bounds

FEWEST_BUCKETS, MOST_BUCKETS = 2, 10_000


@dataclass(frozen=True, slots=True)
class SampleAndAggregate(NoisyIntegers):
    """The mean of a formula over buckets. `bounds` are the range of its value.

    Rows hold a case's values, and last the number of its bucket.
    """

    name: ClassVar[str] = "sample-and-aggregate"
    functions: ClassVar[tuple[str, ...]] = (FORMULA,)
    replaced: ClassVar[Replaced] = Replaced.GROUP
    caution: ClassVar[str] = (
        "the mean over random parts of the cases; the interval covers the noise only"
    )
    on_request: ClassVar[str] = "on request only: adds bias from splitting the cases"
    setting: ClassVar[str] = "buckets"
    covers_noise_only: ClassVar[bool] = True

    formula: Formula
    inputs: int
    buckets: int

    @classmethod
    def made_for(cls, task: Task) -> Self:
        of = task.in_buckets
        if of is None:
            raise NotReleasable("a formula is needed that is evaluated in buckets")
        return cls(*task.common, of.formula, of.inputs, of.buckets)

    @property
    def settings(self) -> tuple[tuple[str, str | Bounds], ...]:
        return (("buckets", str(self.buckets)), ("range", self.bounds))

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if not FEWEST_BUCKETS <= self.buckets <= MOST_BUCKETS:
            raise UsageError(
                f"{self.buckets} buckets: use from {FEWEST_BUCKETS} to {MOST_BUCKETS:,}",
                hint="use about as many buckets as cases per bucket: 20 buckets of 20 cases",
            )

    @property
    def width(self) -> int:
        return self.inputs + 1

    @property
    def lattice(self) -> Lattice:
        return Lattice.over(self.bounds, RANGE_STEPS, integral=False)

    @property
    def sensitivity(self) -> int:
        touched = 2 if self.adjacency is Adjacency.REPLACE else 1
        return touched * self.lattice.span

    def statistics(self, values: Values) -> Outcome:
        rows = values.reshape(-1, self.width)
        number = np.nan_to_num(rows[:, -1], nan=0.0, posinf=0.0, neginf=0.0)
        bucket = np.mod(number, self.buckets).astype(np.int64)
        order = np.argsort(bucket, kind="stable")
        cuts = np.searchsorted(bucket[order], np.arange(1, self.buckets))
        dealt = np.split(rows[order, :-1], cuts)
        return (total(self.lattice.snap(np.array([self._result(part) for part in dealt]))),)

    def estimate(self, noisy: Outcome) -> Estimate:
        return Estimate(self._mean(noisy[0]))

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """For the mean over the buckets."""
        width = laplace_half_width(self.scale, confidence)
        slack = self.lattice.rounding
        low, high = self._mean(noisy[0] - width), self._mean(noisy[0] + width)
        return self.clamped(low - slack), self.clamped(high + slack)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:  # noqa: ARG002 - see above
        """How far the mean over buckets is from the value itself is not known."""
        if not self.bounds.low <= limit < self.bounds.high:
            return float(limit >= self.bounds.high)
        return 0.5

    def predicted_error(self, cases: float, at: float | None) -> float:  # noqa: ARG002 - noise does not shrink with cases
        (low, high), centre = self.ends, self.centre(at)
        noise = float(self.lattice.step) * laplace_deviation(self.scale) / self.buckets
        return clamped_error(noise, centre - low, high - centre)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - the noise is the same everywhere
        step, width = float(self.lattice.step) / self.buckets, float(self.bounds.width)
        return ErrorLaw(laplace_beyond(self.scale, step, width), shrinks=False)

    def _result(self, rows: Values) -> float:
        with np.errstate(all="ignore"):  # a formula may overflow: then it has no value
            value = self.formula(rows)
        return self.centre(None if value is None or value != value else value)

    def _mean(self, points: int) -> float:
        return self.clamped(self.lattice.value(Fraction(points, self.buckets)))
