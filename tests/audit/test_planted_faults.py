"""The audit catches every fault planted here: an audit that passes a broken twin is none."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from pappi.audit import Audited, AuditReport, Column, Draw, audit_mechanism
from pappi.mechanisms import (
    DiscreteLaplaceLaw,
    IntervalExtreme,
    IntervalQuantile,
    LaplaceSum,
    Law,
    Loss,
    Outcome,
    PointLaw,
    StepLaw,
    TwoBin,
    Values,
)
from pappi.mechanisms.interval import Counts
from pappi.mechanisms.lattice import Lattice, total
from pappi.values.bounds import Bounds
from pappi.values.privacy import Adjacency

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
EPSILON = Fraction(1, 2)
HUNDRED = Bounds(Fraction(0), Fraction(100))
SIGNED = Bounds(Fraction(-100), Fraction(10))


def seeded(seed: int) -> Draw:
    rng = np.random.default_rng(seed)
    return lambda n: int(rng.integers(n))


def audited(
    mechanism: Audited, adjacency: Adjacency, bounds: Bounds = HUNDRED, pairs: int = 2000
) -> AuditReport:
    return audit_mechanism(
        mechanism,
        Column(bounds),
        adjacency=adjacency,
        epsilon=EPSILON,
        draw=seeded(7),
        pairs=pairs,
    )


def present(values: Values) -> NDArray[np.float64]:
    return values[np.isfinite(values)]


@dataclass(frozen=True)
class BoundsFromTheData:
    """Clips to the smallest and largest value seen, as the paper's code does."""

    name = "bounds from the data"
    width = 1

    def law(self, values: Values) -> Law:
        seen = present(values)
        if len(seen) == 0 or seen.min() == seen.max():
            return PointLaw(0)
        bounds = Bounds(Fraction(float(seen.min())), Fraction(float(seen.max())))
        return LaplaceSum(bounds, EPSILON, ADD_REMOVE, integral=False).law(seen)


@dataclass(frozen=True, slots=True)
class HalfTheNoise(TwoBin):
    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        return tuple(scale and scale / 2 for scale in TwoBin.scales.fget(self))  # type: ignore[attr-defined]


@dataclass(frozen=True)
class MissingClip:
    name = "missing clip"
    width = 1

    def law(self, values: Values) -> Law:
        points = [round(float(value)) for value in present(values)]
        return DiscreteLaplaceLaw(sum(points), 100 / EPSILON)


@dataclass(frozen=True)
class ScaleFromTheNumberOfCases:
    """The paper's Laplace mean: sensitivity (U − L)/n. Black-box audits pass it."""

    name = "mean with (U-L)/n"
    width = 1

    def law(self, values: Values) -> Law:
        n = max(len(values), 1)
        points = total(Lattice.over(HUNDRED, 2**20, integral=False).snap(values))
        return DiscreteLaplaceLaw(points // n, Fraction(2**20, n) / EPSILON)


@dataclass(frozen=True, slots=True)
class LargestValueAsSensitivity(LaplaceSum):
    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        return (self.lattice.highest / self.epsilon,)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_bounds_from_the_data_are_caught(adjacency: Adjacency) -> None:
    report = audited(BoundsFromTheData(), adjacency)
    assert report.worst == math.inf
    assert not report.passed


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_half_the_noise_is_caught(adjacency: Adjacency) -> None:
    report = audited(HalfTheNoise(HUNDRED, EPSILON, adjacency, integral=False), adjacency)
    assert report.worst == 2 * EPSILON
    assert not report.passed


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_missing_clip_is_caught(adjacency: Adjacency) -> None:
    report = audited(MissingClip(), adjacency)
    assert 10**290 < report.worst < math.inf
    assert not report.passed
    assert "exceeds epsilon 0.5" in str(report.failure)


def test_a_scale_that_depends_on_the_number_of_cases_is_caught() -> None:
    assert audited(ScaleFromTheNumberOfCases(), ADD_REMOVE).worst == math.inf


def test_the_same_scale_is_sound_where_the_number_of_cases_is_public() -> None:
    """Save for rounding the quotient down, which moves it by less than one lattice step."""
    worst = audited(ScaleFromTheNumberOfCases(), REPLACE).worst
    assert EPSILON <= worst < EPSILON * (1 + Fraction(100, 2**20))


@pytest.mark.parametrize("mechanism", [TwoBin, LaplaceSum])
def test_add_remove_noise_used_under_replace_is_caught(
    mechanism: type[TwoBin | LaplaceSum],
) -> None:
    report = audited(mechanism(SIGNED, EPSILON, ADD_REMOVE, integral=True), REPLACE, SIGNED)
    assert report.worst == (2 * EPSILON if mechanism is TwoBin else EPSILON * 11 / 10)
    assert not report.passed


@pytest.mark.parametrize("mechanism", [TwoBin, LaplaceSum])
def test_a_public_number_of_cases_used_under_add_remove_is_caught(
    mechanism: type[TwoBin | LaplaceSum],
) -> None:
    report = audited(mechanism(SIGNED, EPSILON, REPLACE, integral=True), ADD_REMOVE, SIGNED)
    assert report.worst == math.inf


def test_the_largest_value_as_sensitivity_is_caught_below_zero() -> None:
    faulty = LargestValueAsSensitivity(SIGNED, EPSILON, ADD_REMOVE, integral=True)
    report = audited(faulty, ADD_REMOVE, SIGNED)
    assert report.worst == 10 * EPSILON
    assert not report.passed


def test_dropping_cases_without_a_value_is_caught_where_cases_are_public() -> None:
    @dataclass(frozen=True)
    class DroppedBeforehand:
        name = "dropped beforehand"
        width = 1

        def law(self, values: Values) -> Law:
            mean = TwoBin(HUNDRED, EPSILON, REPLACE, integral=False)
            return mean.law(values[~np.isnan(values)])

    assert audited(DroppedBeforehand(), REPLACE).worst == math.inf


# --- the interval mechanism -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FirstMatchOnTies(IntervalExtreme):
    """Ranks count from the first interval that touches the maximum, as the paper allows.

    With k cases at the maximum that interval lies k ranks below the top one.
    """

    def scores(self, below: Counts, above: Counts, cases: int) -> Counts:  # noqa: ARG002
        copies = above[above > 0].min(initial=cases) if cases else 0
        return np.abs(above - copies)


@dataclass(frozen=True, slots=True)
class ExtremeAtTwiceTheRate(IntervalExtreme):
    @property
    def rate(self) -> Fraction:
        return 2 * self.epsilon


@dataclass(frozen=True, slots=True)
class QuantileAtTheRateOfAnExtreme(IntervalQuantile):
    @property
    def rate(self) -> Fraction:
        return self.epsilon


@dataclass(frozen=True)
class IntervalBoundsFromTheData:
    name = "interval with bounds from the data"
    width = 1

    def law(self, values: Values) -> Law:
        seen = present(values)
        if len(seen) == 0 or seen.min() == seen.max():
            return PointLaw(0)
        bounds = Bounds(Fraction(float(seen.min())), Fraction(float(seen.max())))
        return IntervalExtreme(bounds, EPSILON, ADD_REMOVE, integral=True, function="max").law(seen)


@dataclass(frozen=True)
class WeightsRoundedDown:
    """Whole-number weights that run out: some outputs become impossible, but not for all."""

    name = "weights rounded down"
    width = 1

    def law(self, values: Values) -> Law:
        law = IntervalExtreme(HUNDRED, EPSILON, ADD_REMOVE, integral=True, function="max").law(
            values
        )
        return StepLaw(law.starts, law.stop, tuple(weight >> 186 for weight in law.weights))


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_wrong_interval_on_ties_is_caught(adjacency: Adjacency) -> None:
    faulty = FirstMatchOnTies(HUNDRED, EPSILON, adjacency, integral=False, function="max")
    report = audited(faulty, adjacency)
    assert report.worst > 8 * EPSILON
    assert not report.passed


@pytest.mark.parametrize("level", [Fraction(9, 10), Fraction(1, 2)])
def test_the_add_remove_sensitivity_of_a_quantile_is_caught_under_replace(
    level: Fraction,
) -> None:
    quantile = IntervalQuantile(HUNDRED, EPSILON, ADD_REMOVE, integral=False, level=level)
    assert audited(quantile, ADD_REMOVE).passed
    report = audited(quantile, REPLACE)
    assert report.worst > 1.5 * EPSILON
    assert not report.passed


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize(
    "faulty",
    [
        partial(ExtremeAtTwiceTheRate, function="max"),
        partial(QuantileAtTheRateOfAnExtreme, level=Fraction(1, 2)),
    ],
)
def test_twice_the_rate_is_caught(
    faulty: Callable[..., IntervalExtreme | IntervalQuantile], adjacency: Adjacency
) -> None:
    report = audited(faulty(HUNDRED, EPSILON, adjacency, integral=False), adjacency)
    assert 1.5 * EPSILON < report.worst <= 2 * EPSILON
    assert not report.passed


@pytest.mark.parametrize("faulty", [IntervalBoundsFromTheData(), WeightsRoundedDown()])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_outputs_that_only_one_neighbour_can_give_are_caught(
    faulty: Audited, adjacency: Adjacency
) -> None:
    report = audited(faulty, adjacency)
    assert report.worst == math.inf
    assert not report.passed


# --- it fails closed ------------------------------------------------------------------


@dataclass(frozen=True)
class Raising:
    name = "raising"
    width = 1

    def law(self, values: Values) -> Law:
        if len(values) == 3:
            raise ZeroDivisionError("secret 42")
        return PointLaw(0)


@dataclass(frozen=True, slots=True)
class OddLaw(Law):
    """A law whose comparisons give what they are told to."""

    forth: Loss

    @property
    def size(self) -> int:
        return 1

    def draw(self, randbelow: object) -> Outcome:
        raise NotImplementedError

    def probability(self, outcome: Outcome) -> float:
        raise NotImplementedError

    def log_ratio(self, other: Law) -> Loss:  # noqa: ARG002 - nothing to compare
        return self.forth


@dataclass(frozen=True)
class Odd:
    """Odd on data sets of two cases, in one direction only; unremarkable otherwise."""

    loss: Loss
    name = "odd"
    width = 1

    def law(self, values: Values) -> Law:
        return OddLaw(self.loss if len(values) == 2 else Fraction(0))


def test_a_law_that_raises_fails_the_audit_without_telling_what_it_saw() -> None:
    report = audited(Raising(), ADD_REMOVE)
    assert not report.passed
    assert report.failure == "the audit broke off with ZeroDivisionError"


@pytest.mark.parametrize("loss", [math.nan, 0.25])
def test_a_loss_that_is_no_exact_number_fails_the_audit(loss: float) -> None:
    report = audited(Odd(loss), ADD_REMOVE)
    assert not report.passed
    assert report.failure == "the audit broke off with LossIsNotALoss"


def test_too_few_pairs_fail_the_audit() -> None:
    mechanism = TwoBin(HUNDRED, EPSILON, ADD_REMOVE, integral=False)
    report = audit_mechanism(
        mechanism,
        Column(HUNDRED),
        adjacency=ADD_REMOVE,
        epsilon=EPSILON,
        draw=lambda _: 0,
        pairs=0,
        starts=(),
    )
    assert not report.passed
    assert "pairs" in str(report.failure)


def test_a_sound_mechanism_passes_the_same_audit() -> None:
    report = audited(TwoBin(HUNDRED, EPSILON, ADD_REMOVE, integral=False), ADD_REMOVE)
    assert report.passed
    assert report.worst == EPSILON
    assert report.worst_pair is not None
