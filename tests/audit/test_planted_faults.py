"""The audit catches every fault planted here: an audit that passes a broken twin is none."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pappi.audit import Audited, AuditReport, Column, Draw, audit_joint
from pappi.custody import NewLog
from pappi.mechanisms import (
    Bins,
    DiscreteLaplaceLaw,
    IntervalExtreme,
    IntervalQuantile,
    LaplaceSum,
    Lattice,
    Law,
    Loss,
    NoisyHistogram,
    Outcome,
    PointLaw,
    StepLaw,
    TwoBin,
    Values,
)
from pappi.mechanisms.grids import total
from pappi.mechanisms.histogram import HistogramLaw
from pappi.mechanisms.interval import Counts
from pappi.mechanisms.laws import exponential_law
from pappi.planning import Plan, plan_ppi, sets
from pappi.ppinot import Ppi, parse_catalogue
from pappi.session import Workspace
from pappi.values import Adjacency, Bounds, Epsilon, PublicLog
from tests.audit.starts import PAIRS, starts_over
from tests.small_logs import claims, workspace_with

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
EPSILON = Fraction(1, 2)
HUNDRED = Bounds(Fraction(0), Fraction(100))
SIGNED = Bounds(Fraction(-100), Fraction(10))


def seeded(seed: int) -> Draw:
    rng = np.random.default_rng(seed)
    return lambda n: int(rng.integers(n))


def audited(mechanism: Audited, adjacency: Adjacency, bounds: Bounds = HUNDRED) -> AuditReport:
    column = Column(bounds)
    return audit_joint(
        (mechanism,),
        (column,),
        adjacency=adjacency,
        epsilon=EPSILON,
        draw=seeded(7),
        pairs=PAIRS,
        starts=starts_over([column]),
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

    def stretches(self, points: Counts) -> tuple[Counts, Counts]:
        starts, scores = IntervalExtreme.stretches(self, points)
        copies = np.count_nonzero(points == points.max(initial=0)) if len(points) else 1
        return starts, np.abs(scores - (copies - 1))


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


# --- the paper's threshold score ------------------------------------------------------


@dataclass(frozen=True)
class PaperThreshold:
    """The paper's threshold-sensitive maximum: "at most T", falloff ξ, sensitivity ξ.

    An interval on the wrong side of T is scored worse by ξ for each interval between it and
    T. When one case crosses T the sides change places, and with them the penalties of up to
    n intervals: the score moves by ξ·n, not by ξ.
    """

    name = "the paper's threshold"
    width = 1
    limit = 50
    falloff = 3

    def law(self, values: Values) -> Law:
        points = np.sort(Lattice.over(HUNDRED, 2**20, integral=True).snap(values))
        starts = np.unique(np.concatenate(([0, self.limit + 1], points)))
        ranks = len(points) - np.searchsorted(points, starts, side="right")
        met = len(points) == 0 or points[-1] <= self.limit
        wrong = (starts > self.limit) == met
        last_below = np.searchsorted(starts, self.limit, side="right") - 1
        away = np.abs(np.arange(len(starts)) - last_below - (starts > self.limit)) + 1
        scores = ranks + np.where(wrong, self.falloff * away, 0)
        return exponential_law(starts, scores, 101, EPSILON / (2 * self.falloff))


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_papers_threshold_score_is_caught(adjacency: Adjacency) -> None:
    report = audited(PaperThreshold(), adjacency)
    assert report.worst > 3 * EPSILON
    assert not report.passed


# --- sample and aggregate -------------------------------------------------------------


@dataclass(frozen=True)
class Buckets:
    """The mean over buckets of each bucket's largest, with noise for one bucket that changes."""

    name: str
    count: Callable[[int], int]
    width = 1

    def law(self, values: Values) -> Law:
        steps = Lattice.over(HUNDRED, 2**20, integral=False)
        buckets = self.count(len(values))
        parts = np.array_split(steps.snap(np.nan_to_num(values, nan=50.0)), buckets)
        found = [int(part.max()) if len(part) else steps.span // 2 for part in parts]
        return DiscreteLaplaceLaw(sum(found) // buckets, Fraction(steps.span, buckets) / EPSILON)


@pytest.mark.parametrize(
    "faulty",
    [
        Buckets("contiguous buckets", lambda _: 5),
        Buckets("as many buckets as cases ask for", lambda n: max(1, math.ceil(n / 20))),
    ],
    ids=lambda faulty: faulty.name,
)
def test_buckets_that_depend_on_other_cases_are_caught(faulty: Buckets) -> None:
    report = audited(faulty, ADD_REMOVE)
    assert report.worst > 1.5 * EPSILON
    assert not report.passed


def test_contiguous_buckets_do_keep_the_promise_where_cases_are_only_replaced() -> None:
    """But for rounding. No case moves to another bucket if none comes or goes."""
    worst = audited(Buckets("contiguous buckets", lambda _: 5), REPLACE).worst
    assert worst < EPSILON * (1 + Fraction(100, 2**20))


# --- a planner that looks at the data -------------------------------------------------

PLANNED = """
log: small
ppis:
  - id: longest
    measure: {max: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
"""
HORIZON = NewLog(first=date(2024, 1, 1), until=date(2024, 6, 1))
NUMBER_OF_CASES = "log: small\nppis:\n  - id: n\n    measure: {sum: {derive: true}}\n"

Planner = Callable[[Ppi, Epsilon, PublicLog], Plan]


def previewed(workspace: Workspace) -> bytes:
    """All that an analyst is told of a plan, to the byte."""
    return repr(workspace.checkpoint().preview(parse_catalogue(PLANNED, "c.yaml"))).encode()


def peeking(workspace: Workspace) -> Planner:
    """From public facts, but for the expected number of cases: that is the true one."""
    answers = workspace.exact(parse_catalogue(NUMBER_OF_CASES))
    cases = round(sum(answer.value or 0 for answer in answers))

    def plan(ppi: Ppi, epsilon: Epsilon, log: PublicLog) -> Plan:
        terms = replace(log.terms, expected_cases=cases)
        return plan_ppi(ppi, epsilon, replace(log, terms=terms))

    return plan


def test_a_planner_that_counts_the_cases_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_it, without = (workspace_with(tmp_path / str(n), claims(n), HORIZON) for n in (31, 30))
    assert previewed(with_it) == previewed(without)
    seen = []
    for workspace in (with_it, without):
        monkeypatch.setattr(sets, "plan_alone", peeking(workspace))
        monkeypatch.setattr("pappi.checkpoint.queries._PLANNED", {})
        seen.append(previewed(workspace))
    assert seen[0] != seen[1]


# --- several cases of one person -----------------------------------------------------


@pytest.mark.parametrize("share", [1, 3])
def test_noise_for_one_case_is_caught_where_a_person_has_three(share: int) -> None:
    report = audit_joint(
        [TwoBin(HUNDRED, EPSILON / share, ADD_REMOVE, integral=False)],
        [Column(HUNDRED)],
        adjacency=ADD_REMOVE,
        epsilon=EPSILON,
        draw=seeded(7),
        unit_cases=3,
    )
    assert report.passed is (share == 3)
    assert report.worst == EPSILON * 3 / share


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
    assert report.failure == "the audit stopped with ZeroDivisionError"


@pytest.mark.parametrize("loss", [math.nan, 0.25])
def test_a_loss_that_is_no_exact_number_fails_the_audit(loss: float) -> None:
    report = audited(Odd(loss), ADD_REMOVE)
    assert not report.passed
    assert report.failure == "the audit stopped with LossIsNotALoss"


def test_too_few_pairs_fail_the_audit() -> None:
    mechanism = TwoBin(HUNDRED, EPSILON, ADD_REMOVE, integral=False)
    report = audit_joint(
        (mechanism,),
        (Column(HUNDRED),),
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


# --- the histogram --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LimitsFromTheData(NoisyHistogram):
    """Quartiles of what is there as limits, as plotting libraries choose them."""

    def law(self, values: Values) -> HistogramLaw:
        seen = present(values)
        if not len(seen):
            return NoisyHistogram.law(self, values)
        limits = sorted({Fraction(float(q)) for q in np.quantile(seen, (0.25, 0.5, 0.75))})
        bins = Bins(self.bounds, tuple(limits), "of the data")
        return NoisyHistogram(*_common(self), self.level, bins).law(values)


@dataclass(frozen=True, slots=True)
class HistogramWithHalfTheNoise(NoisyHistogram):
    @property
    def scale(self) -> Fraction:
        return self.sensitivity / self.epsilon / 2


@dataclass(frozen=True, slots=True)
class EmptyBinsLeftOut(NoisyHistogram):
    """Only bins that hold a case are released, as a sparse histogram is."""

    def law(self, values: Values) -> HistogramLaw:
        whole = NoisyHistogram.law(self, values)
        return replace(whole, counts=tuple(count for count in whole.counts if count))


@dataclass(frozen=True, slots=True)
class HistogramForTheOtherAdjacency(NoisyHistogram):
    @property
    def sensitivity(self) -> int:
        return 1


def _common(mechanism: NoisyHistogram) -> tuple[Bounds, Fraction, Adjacency, bool]:
    return mechanism.bounds, mechanism.epsilon, mechanism.adjacency, mechanism.integral


HISTOGRAM_FAULTS = [
    (LimitsFromTheData, ADD_REMOVE),
    (HistogramWithHalfTheNoise, ADD_REMOVE),
    (HistogramWithHalfTheNoise, REPLACE),
    (EmptyBinsLeftOut, ADD_REMOVE),
    (HistogramForTheOtherAdjacency, REPLACE),
]


@pytest.mark.parametrize(("fault", "adjacency"), HISTOGRAM_FAULTS)
def test_a_faulty_histogram_is_caught(fault: type[NoisyHistogram], adjacency: Adjacency) -> None:
    made = (HUNDRED, EPSILON, adjacency, False, Fraction(1, 2), Bins.even(HUNDRED, 8))
    assert not audited(fault(*made), adjacency).passed
    assert audited(NoisyHistogram(*made), adjacency).passed
