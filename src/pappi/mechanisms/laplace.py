"""Discrete Laplace noise on sums, on extremes, and on a mean of a public number of cases.

**Sum.** With values on lattice integers k, one case more or less moves Σk by at most
max(|lowest|, |highest|); one case replaced moves it by at most highest − lowest.
Noise of scale (that move)/ε has loss at most ε. Note what fails: the largest value
U alone, when the low bound is negative.

- *add-remove*: the lattice passes through zero, since the number of cases is private
  and an offset per case would need it. A case without a value adds nothing.
- *replace*: the lattice starts at the low bound and the number of cases is public,
  released as it is. A case without a value counts as the low bound, k = 0: left out,
  it would change a number that is published.

**Extreme.** Any case can move the minimum or maximum over the whole range, under either
adjacency, so the noise is (range)/ε. Where ranks say little, with few cases or a large ε,
it can beat the interval mechanism; the planner compares. No cases: the maximum is the low
bound, the minimum the high bound.

**Mean**, as the paper has it: sensitivity (U−L)/n, which tells n. So it is for *replace* alone,
where n, the number of cases, is public, and for measures that every case has. The noise goes
on the sum of lattice integers, of which one case moves at most highest − lowest, and n divides
afterwards: the same noise, on integers. It is what the two-bin mean is under `replace`, drawn
from the same law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np

from pappi.errors import NotReleasable
from pappi.mechanisms.grids import MOST_CASES, RANGE_STEPS, SUM_STEPS, Lattice, clamp, total
from pappi.mechanisms.laws import (
    Outcome,
    clamped_error,
    laplace_at_least,
    laplace_deviation,
    laplace_half_width,
)
from pappi.mechanisms.mechanism import Estimate, Mechanism, NoisyIntegers, Purpose, Task, Values
from pappi.mechanisms.prediction import (
    Chances,
    ErrorLaw,
    Floats,
    Scenario,
    Trial,
    TrialIntervals,
    laplace_beyond,
)
from pappi.mechanisms.two_bin import LaplacePair, TwoBin
from pappi.values import CONFIDENCE, Adjacency, LaplaceLikelihood


@dataclass(frozen=True, slots=True)
class LaplaceSum(NoisyIntegers):
    """The sum of the clipped values. A count is the sum of ones within [0, 1]."""

    name: ClassVar[str] = "laplace"
    functions: ClassVar[tuple[str, ...]] = ("sum",)
    purposes: ClassVar[tuple[Purpose, ...]] = (Purpose.VALUE, Purpose.BOTH)
    """Its margin is the limit minus the sum: the value decides already."""

    @property
    def lattice(self) -> Lattice:
        if self.adjacency is Adjacency.REPLACE:
            return Lattice.over(self.bounds, SUM_STEPS, integral=self.integral)
        return Lattice.through_zero(self.bounds, integral=self.integral)

    @property
    def sensitivity(self) -> int:
        lattice = self.lattice
        return lattice.span if self.adjacency is Adjacency.REPLACE else lattice.largest

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        return (self.scale, None) if self.adjacency is Adjacency.REPLACE else (self.scale,)

    def statistics(self, values: Values) -> Outcome:
        points = total(self.lattice.snap(values))
        return (points, len(values)) if self.adjacency is Adjacency.REPLACE else (points,)

    def estimate(self, noisy: Outcome) -> Estimate:
        cases = _public_cases(noisy)
        value = self._sum_of(noisy[0], cases)
        margin = None if cases is None else 0.0
        return Estimate(clamp(value, *self._range(cases)), cases, cases_margin=margin)

    @property
    def pair_noise(self) -> LaplacePair:
        return LaplacePair(self.scale, 1.0, both=False)

    def pair(self, noisy: Outcome) -> tuple[float, float]:
        """The lattice points, and the number of cases where that is public."""
        return float(noisy[0]), float(_public_cases(noisy) or 0)

    @property
    def as_sum(self) -> tuple[float, float]:
        return float(self.lattice.step), float(self.lattice.origin)

    def sum_rounding(self, noisy: Outcome) -> float:
        cases = _public_cases(noisy)
        return self.lattice.rounding * (MOST_CASES if cases is None else cases)

    def likelihood(self, noisy: Outcome) -> LaplaceLikelihood:
        cases, bounds = _public_cases(noisy), self.bounds
        at, scale = self._sum_of(noisy[0], cases), float(self.lattice.step * self.scale)
        if cases is not None:
            return LaplaceLikelihood(
                at, scale, float(bounds.low * cases), float(bounds.high * cases)
            )
        low, high = 0.0 if bounds.low >= 0 else None, 0.0 if bounds.high <= 0 else None
        return LaplaceLikelihood(at, scale, low, high)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        """For the sum of the clipped values, rounding to the lattice included.

        Rounding moves the sum by at most half a step per case. Under add-remove the
        number of cases is unknown, so the interval allows for 2^30 of them: 2^-11 of
        what a single case may add, far below the noise.
        """
        cases = _public_cases(noisy)
        width = laplace_half_width(self.scale, confidence)
        slack = self.lattice.rounding * (MOST_CASES if cases is None else cases)
        limits = self._range(cases)
        low = self._sum_of(noisy[0] - width, cases) - slack
        high = self._sum_of(noisy[0] + width, cases) + slack
        return clamp(low, *limits), clamp(high, *limits)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        cases = _public_cases(noisy)
        low, high = self._range(cases)
        if not low <= limit < high:
            return float(limit >= high)
        lattice = self.lattice
        points = (Fraction(limit) - lattice.origin * (cases or 0)) / lattice.step
        return laplace_at_least(float(noisy[0] - points), self.scale)

    def predicted_error(self, cases: float, at: float | None) -> float:
        centre = cases * float(self.bounds.low + self.bounds.high) / 2 if at is None else at
        noise = float(self.lattice.step) * laplace_deviation(self.scale)
        public_cases = cases if self.adjacency is Adjacency.REPLACE else None
        low, high = self._range(public_cases)
        return clamped_error(noise, centre - low, high - centre)

    @property
    def output_range(self) -> tuple[float, float]:
        return self._range(None)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - the noise is the same everywhere
        """Of as many cases as there are: only where their number is public is its range used."""
        public = self.adjacency is Adjacency.REPLACE
        width = cases * float(self.bounds.width) if public else math.inf
        beyond = laplace_beyond(self.scale, float(self.lattice.step), width)
        return ErrorLaw(beyond, shrinks=False)

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        public_cases = scenario.cases if self.adjacency is Adjacency.REPLACE else None
        noise = float(self.lattice.step) * laplace_deviation(self.scale) / math.sqrt(2)
        return np.clip(scenario.value + noise * chances.laplace(), *self._range(public_cases))

    def trial_intervals(self, trial: Trial, limit: float) -> TrialIntervals:  # noqa: ARG002 - as wide everywhere
        public_cases = trial.cases if self.adjacency is Adjacency.REPLACE else None
        step = float(self.lattice.step)
        values = trial.values[:, None] + step * Chances(0).whole_laplace(self.scale)
        away = step * laplace_half_width(self.scale, CONFIDENCE)
        away += float(self.lattice.rounding) * (
            MOST_CASES if public_cases is None else public_cases
        )
        limits = self._range(public_cases)
        return TrialIntervals(np.clip(values - away, *limits), np.clip(values + away, *limits))

    def _sum_of(self, points: int, cases: int | None) -> float:
        lattice = self.lattice
        return float(lattice.origin * (cases or 0) + lattice.step * points)

    def _range(self, cases: float | None) -> tuple[float, float]:
        """Where a sum can lie, by public facts alone."""
        low, high = self.ends
        return self.bounds.of_sums if cases is None else (low * cases, high * cases)


@dataclass(frozen=True, slots=True)
class LaplaceExtreme(NoisyIntegers):
    """The smallest or largest of the clipped values."""

    name: ClassVar[str] = "laplace"
    functions: ClassVar[tuple[str, ...]] = ("min", "max")

    function: Literal["min", "max"]

    @classmethod
    def made_for(cls, task: Task) -> Self:
        return cls(*task.common, "max" if task.function == "max" else "min")

    @property
    def lattice(self) -> Lattice:
        return Lattice.over(self.bounds, RANGE_STEPS, integral=self.integral)

    @property
    def sensitivity(self) -> int:
        return self.lattice.span

    def statistics(self, values: Values) -> Outcome:
        lattice = self.lattice
        points = lattice.snap(values)
        if self.function == "max":
            return (int(points.max(initial=lattice.lowest)),)
        return (int(points.min(initial=lattice.highest)),)

    def estimate(self, noisy: Outcome) -> Estimate:
        return Estimate(self.clamped(self.lattice.value(noisy[0])))

    def likelihood(self, noisy: Outcome) -> LaplaceLikelihood:
        scale = float(self.lattice.step * self.scale)
        return LaplaceLikelihood(self.lattice.value(noisy[0]), scale, *self.ends)

    def interval(self, noisy: Outcome, confidence: float) -> tuple[float, float]:
        lattice = self.lattice
        width = laplace_half_width(self.scale, confidence)
        low = lattice.value(noisy[0] - width) - lattice.rounding
        high = lattice.value(noisy[0] + width) + lattice.rounding
        return self.clamped(low), self.clamped(high)

    def chance_at_most(self, noisy: Outcome, limit: float) -> float:
        if not self.bounds.low <= limit < self.bounds.high:
            return float(limit >= self.bounds.high)
        lattice = self.lattice
        points = (Fraction(limit) - lattice.origin) / lattice.step
        return laplace_at_least(float(noisy[0] - points), self.scale)

    def predicted_error(self, cases: float, at: float | None) -> float:  # noqa: ARG002 - noise does not shrink
        (low, high), centre = self.ends, self.centre(at)
        noise = float(self.lattice.step) * laplace_deviation(self.scale)
        return clamped_error(noise, centre - low, high - centre)

    def error_law(self, cases: int, at: float | None) -> ErrorLaw:  # noqa: ARG002 - the noise is the same everywhere
        step, width = float(self.lattice.step), float(self.bounds.width)
        return ErrorLaw(laplace_beyond(self.scale, step, width), shrinks=False)

    def outcomes(self, scenario: Scenario, chances: Chances) -> Floats:
        noise = float(self.lattice.step) * laplace_deviation(self.scale) / math.sqrt(2)
        return np.clip(scenario.value + noise * chances.laplace(), *self.output_range)


@dataclass(frozen=True, slots=True)
class LaplaceMean(TwoBin):
    """The mean of the clipped values of a public number of cases."""

    name: ClassVar[str] = "laplace"
    same_law_as: ClassVar[type[Mechanism] | None] = TwoBin
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REPLACE,)
    needs_public_number: ClassVar[str] = (
        "the sensitivity of a mean depends on the number of values, which is private"
    )

    def __post_init__(self) -> None:
        super(LaplaceMean, self).__post_init__()
        if self.adjacency is not Adjacency.REPLACE:
            raise NotReleasable(
                "Laplace noise on a mean is scaled by the number of cases, which is private here",
                hint="use two-bin, which keeps it private",
            )


def _public_cases(noisy: Outcome) -> int | None:
    return noisy[1] if len(noisy) > 1 else None
