"""What mechanisms promise besides privacy: right integers, honest intervals and errors."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pappi.errors import NotReleasable, UsageError
from pappi.mechanisms import (
    FUNCTIONS,
    RANGE_STEPS,
    DiscreteLaplaceLaw,
    IntervalExtreme,
    IntervalQuantile,
    JointLaw,
    LaplaceExtreme,
    LaplaceSum,
    Lattice,
    Mechanism,
    NoisyIntegers,
    Outcome,
    PointLaw,
    TwoBin,
    mechanism_for,
    mechanisms_of,
)
from pappi.mechanisms.grids import SUM_STEPS, total
from pappi.mechanisms.two_bin import covering_scale, share_interval, weighted_tail
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds
from tests.lengths import pairwise

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
HUNDRED = Bounds(Fraction(0), Fraction(100))
SIGNED = Bounds(Fraction(-100), Fraction(10))
TENTH = Fraction(1, 10)
DRAWS = 1500


def array(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64)


def with_noise(
    function: str, bounds: Bounds, epsilon: Fraction, adjacency: Adjacency
) -> LaplaceSum | LaplaceExtreme | TwoBin:
    """The mechanism for the function that adds noise to integers."""
    name = next(name for name in mechanisms_of(function) if name != "interval")
    mechanism = mechanism_for(function, bounds, epsilon, adjacency, integral=False, name=name)
    assert isinstance(mechanism, LaplaceSum | LaplaceExtreme | TwoBin)
    return mechanism


def exact_value(function: str, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    match function:
        case "sum":
            return float(values.sum())
        case "max":
            return float(values.max())
        case "min":
            return float(values.min())
        case _:
            return float(values.mean())


def draws(mechanism: NoisyIntegers, truth: Outcome, n: int) -> list[Outcome]:
    """Releases around given statistics, reproducible and much faster than the real sampler."""
    rng = np.random.default_rng(11)
    columns = []
    for number, scale in zip(truth, mechanism.scales, strict=True):
        stop = 1 if scale is None else -math.expm1(-float(1 / scale))
        noise = rng.geometric(stop, n) - rng.geometric(stop, n)
        columns.append([number + int(z) for z in noise])
    return list(zip(*columns, strict=True))


# --- laws -----------------------------------------------------------------------------


def test_the_loss_of_shifted_noise_is_the_shift_over_the_scale() -> None:
    near, far = DiscreteLaplaceLaw(0, Fraction(7, 2)), DiscreteLaplaceLaw(5, Fraction(7, 2))
    assert near.loss(far) == Fraction(10, 7)
    ratios = [math.log(near.probability((z,)) / far.probability((z,))) for z in range(-9, 15)]
    assert math.isclose(max(map(abs, ratios)), Fraction(10, 7), rel_tol=1e-9)


def test_laws_that_cannot_be_mistaken_for_each_other_are_infinitely_far_apart() -> None:
    noisy, point = DiscreteLaplaceLaw(0, Fraction(1)), PointLaw(0)
    assert noisy.loss(DiscreteLaplaceLaw(0, Fraction(2))) == math.inf
    assert point.loss(PointLaw(1)) == math.inf
    assert noisy.loss(point) == math.inf
    assert JointLaw((noisy,)).loss(JointLaw((noisy, point))) == math.inf
    assert point.loss(PointLaw(0)) == 0


def test_the_loss_of_a_joint_law_is_the_worst_over_all_outcomes() -> None:
    def joint(a: int, b: int) -> JointLaw:
        return JointLaw((DiscreteLaplaceLaw(a, Fraction(2)), DiscreteLaplaceLaw(b, Fraction(3))))

    one, two = joint(0, 0), joint(2, -1)
    outcomes = [(x, y) for x in range(-6, 7) for y in range(-6, 7)]
    worst = max(abs(math.log(one.probability(o) / two.probability(o))) for o in outcomes)
    assert one.loss(two) == Fraction(4, 3)
    assert math.isclose(worst, Fraction(4, 3), rel_tol=1e-9)


# --- the lattice ----------------------------------------------------------------------


def test_whole_numbers_within_whole_bounds_are_not_rounded() -> None:
    lattice = Lattice.over(Bounds(Fraction(2), Fraction(9)), RANGE_STEPS, integral=True)
    assert lattice.snap(array(1, 2, 5, 9, 40)).tolist() == [0, 0, 3, 7, 7]
    assert lattice.rounding == 0


def test_values_are_rounded_by_half_a_step_at_most_and_clipped() -> None:
    lattice = Lattice.over(SIGNED, RANGE_STEPS, integral=False)
    values = np.linspace(-100, 10, 9973)
    back = np.array([lattice.value(int(k)) for k in lattice.snap(values)])
    assert np.abs(back - values).max() <= lattice.rounding * (1 + 1e-9)
    assert lattice.snap(array(-1e300, -math.inf, 1e300, math.inf)).tolist() == [
        0,
        0,
        RANGE_STEPS,
        RANGE_STEPS,
    ]


def test_a_lattice_through_zero_keeps_zero_and_the_largest_magnitude() -> None:
    lattice = Lattice.through_zero(SIGNED, integral=False)
    assert lattice.snap(array(0, -100)).tolist() == [0, -SUM_STEPS]
    assert lattice.largest == SUM_STEPS


def test_sums_are_exact_where_int64_would_overflow() -> None:
    points = np.full(2**23 + 1, 2**41, dtype=np.int64)
    assert total(points) == 2**41 * (2**23 + 1) > 2**63


# --- statistics and estimates ---------------------------------------------------------


def test_shares_count_the_cases_for_and_against() -> None:
    share = TwoBin(UNIT_INTERVAL, TENTH, ADD_REMOVE, integral=True)
    assert share.statistics(array(1, 1, 0, 1, math.nan)) == (3, 1)
    assert share.estimate((3, 1)).cases == 4
    assert share.estimate((3_000_000, 1_000_000)).value == pytest.approx(0.75, abs=1e-9)


def test_a_share_is_drawn_towards_the_middle_by_less_than_the_noise() -> None:
    share = TwoBin(UNIT_INTERVAL, TENTH, ADD_REMOVE, integral=True)
    assert share.estimate((-5, -3)).value == 0.5
    for cases in (1, 10, 100, 1000):
        drawn = 1 - float(share.estimate((cases, 0)).value or 0)
        assert drawn < 0.6 * math.sqrt(2) * 10 / cases


def test_means_and_sums_come_back_when_there_is_no_noise() -> None:
    values = array(12.5, 99.0, 3.25, 100.0)
    for adjacency in Adjacency:
        mean = TwoBin(HUNDRED, TENTH, adjacency, integral=False)
        many = np.tile(values, 100_000)
        assert mean.estimate(mean.statistics(many)).value == pytest.approx(53.6875, abs=1e-4)
        assert mean.estimate(mean.statistics(values)).cases == 4
        summed = LaplaceSum(SIGNED, TENTH, adjacency, integral=False)
        assert summed.estimate(summed.statistics(-values)).value == pytest.approx(-214.75)


def test_a_case_without_a_value_counts_as_the_low_bound_where_cases_are_public() -> None:
    values = array(100, math.nan)
    mean = TwoBin(HUNDRED, TENTH, REPLACE, integral=True)
    assert mean.statistics(values) == (100, 2)
    assert TwoBin(HUNDRED, TENTH, ADD_REMOVE, integral=True).statistics(values) == (100, 0)
    assert LaplaceSum(SIGNED, TENTH, REPLACE, integral=True).statistics(values) == (110, 2)


def test_nothing_known_is_answered_by_the_middle_of_the_range() -> None:
    mean = TwoBin(SIGNED, TENTH, ADD_REMOVE, integral=False)
    assert mean.estimate((-5, -2)).value == -45
    assert mean.estimate((-5, -2)).cases == 0
    assert TwoBin(SIGNED, TENTH, REPLACE, integral=False).estimate((7, 0)).value == -45


def test_extremes_of_no_cases_are_the_bounds_and_estimates_stay_inside() -> None:
    largest = LaplaceExtreme(HUNDRED, TENTH, ADD_REMOVE, integral=True, function="max")
    smallest = LaplaceExtreme(HUNDRED, TENTH, ADD_REMOVE, integral=True, function="min")
    assert (largest.statistics(array()), smallest.statistics(array())) == ((0,), (100,))
    assert (largest.statistics(array(3, 8)), smallest.statistics(array(3, 8))) == ((8,), (3,))
    assert largest.estimate((-3,)).value == 0
    assert smallest.estimate((1000,)).value == 100


def test_sums_of_values_that_cannot_be_negative_are_not_shown_negative() -> None:
    summed = LaplaceSum(HUNDRED, TENTH, ADD_REMOVE, integral=True)
    assert summed.estimate((-40,)).value == 0
    assert summed.interval((-40,), 0.95)[0] == 0
    assert LaplaceSum(SIGNED, TENTH, ADD_REMOVE, integral=True).interval((0,), 0.95)[0] < 0


# --- how release, law and choice hang together ----------------------------------------


@pytest.mark.parametrize(
    "cls", [LaplaceSum, LaplaceExtreme, TwoBin, IntervalExtreme, IntervalQuantile]
)
def test_releases_are_draws_from_the_law_by_construction(cls: type[Mechanism]) -> None:
    assert cls.release is Mechanism.release
    if issubclass(cls, NoisyIntegers):
        assert cls.law is NoisyIntegers.law


@pytest.mark.parametrize("function", [*FUNCTIONS, "p90", "p99.5"])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_every_function_has_its_mechanisms_under_both_adjacencies(
    function: str, adjacency: Adjacency
) -> None:
    def made(name: str | None) -> Mechanism:
        return mechanism_for(
            function,
            UNIT_INTERVAL,
            TENTH,
            adjacency,
            integral=False,
            name=name,
            value_range=HUNDRED,
        )

    assert made(None) == made(mechanisms_of(function)[0])
    for name in mechanisms_of(function):
        mechanism = made(name)
        assert mechanism.name == name
        noisy = mechanism.release(array(0, 1, 1))
        low, high = mechanism.interval(noisy, 0.9)
        value = mechanism.estimate(noisy).value
        assert value is not None
        assert low <= value <= high


@pytest.mark.parametrize("function", ["mode", "p0", "p00.0", "p100", "p9x", "p", "p-5", "p٩٠"])
def test_what_no_mechanism_answers_is_refused_with_a_hint(function: str) -> None:
    with pytest.raises(NotReleasable, match=function) as refusal:
        mechanism_for(function, HUNDRED, TENTH, ADD_REMOVE, integral=False)
    assert "mean" in refusal.value.hint
    assert "p90" in refusal.value.hint


def test_a_mechanism_that_does_not_answer_the_function_is_refused_with_a_hint() -> None:
    with pytest.raises(NotReleasable, match="'two-bin' does not answer the function 'max'") as no:
        mechanism_for("max", HUNDRED, TENTH, ADD_REMOVE, integral=False, name="two-bin")
    assert no.value.hint == "choose from: interval, laplace"


def test_a_share_of_anything_but_truth_values_is_refused() -> None:
    with pytest.raises(NotReleasable):
        mechanism_for("share", HUNDRED, TENTH, ADD_REMOVE, integral=False)


def test_an_epsilon_of_nothing_or_a_float_is_refused() -> None:
    with pytest.raises(UsageError):
        TwoBin(HUNDRED, Fraction(0), ADD_REMOVE, integral=False)
    with pytest.raises(TypeError):
        TwoBin(HUNDRED, 0.1, ADD_REMOVE, integral=False)  # type: ignore[arg-type]


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, math.nan])
def test_an_impossible_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(UsageError):
        share_interval(5, 5, Fraction(10), confidence)


# --- the pivot ------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(3), Fraction(12)])
@pytest.mark.parametrize("p", [0.0, 0.01, 0.2, 0.5, 0.9])
def test_the_continuous_tail_bounds_the_discrete_one(scale: Fraction, p: float) -> None:
    law = DiscreteLaplaceLaw(0, scale)
    support = range(-int(25 * scale) - 5, int(25 * scale) + 6)
    mass = np.array([law.probability((z,)) for z in support])
    size = np.abs(np.subtract.outer((1 - p) * np.array(support), p * np.array(support)))
    joint = np.outer(mass, mass)
    for t in np.linspace(0.01, 9 * float(scale), 60):
        exact = joint[size > t].sum()
        assert exact <= weighted_tail(t - 0.5, 1 - p, p, covering_scale(scale)) + 1e-9


def test_the_tail_is_continuous_where_its_formula_changes() -> None:
    for gap in (0.9e-5, 1.1e-5):
        side = weighted_tail(3.0, 0.5 + gap / 2, 0.5 - gap / 2, 1.0)
        assert side == pytest.approx(weighted_tail(3.0, 0.5, 0.5, 1.0), rel=1e-8)


def test_the_threshold_of_the_pivot_is_convex_in_p() -> None:
    """What makes the rejected sets intervals, so that bisection finds the hull."""

    def threshold(p: float) -> float:
        low, high = 0.0, 20.0
        for _ in range(60):
            middle = (low + high) / 2
            below = weighted_tail(middle, 1 - p, p, 1.0) >= 0.05
            low, high = (middle, high) if below else (low, middle)
        return low

    heights = np.array([threshold(p) for p in np.linspace(0, 1, 201)])
    assert np.diff(heights, 2).min() > -1e-9


@pytest.mark.parametrize(("first", "second"), [(90, 10), (0, 50), (-3, 40), (2, 1), (-4, -4)])
def test_the_interval_is_the_hull_of_the_accepted_shares(first: int, second: int) -> None:
    scale = Fraction(5)
    low, high = share_interval(first, second, scale, 0.9)
    a, b = max(first, 0), max(second, 0)
    grid = np.linspace(0, 1, 2001)
    sure = [
        p
        for p in grid
        if weighted_tail(abs(a - p * (a + b)) - 0.5, 1 - p, p, covering_scale(scale)) >= 0.1
    ]
    assert low == pytest.approx(min(sure), abs=5.1e-4)
    assert high == pytest.approx(max(sure), abs=5.1e-4)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize(("first", "second"), [(9, 5), (4, 4), (30, 0), (-2, 11), (1, 0), (0, -1)])
def test_coarse_noise_gives_a_narrower_interval_that_still_holds_every_accepted_share(
    scale: Fraction, first: int, second: int
) -> None:
    low, high = share_interval(first, second, scale, 0.9)
    a, b = max(first, 0), max(second, 0)
    law = DiscreteLaplaceLaw(0, scale)
    z = np.arange(-90, 91)
    mass = np.array([law.probability((int(k),)) for k in z])
    shares = sorted({Fraction(i, n) for n in range(1, 31) for i in range(n + 1)})
    accepted = []
    for p in map(float, shares):
        noise = np.abs(np.subtract.outer((1 - p) * z, p * z))
        if mass @ (noise >= abs(a - p * (a + b)) - 1e-9) @ mass >= 0.1:
            accepted.append(p)
    wide = share_interval(first, second, Fraction(401, 100) * scale, 0.9)
    assert wide[0] <= low <= min(accepted) + 1e-9
    assert max(accepted) - 1e-9 <= high <= wide[1]
    assert min(accepted) - low < 0.1
    assert high - max(accepted) < 0.1


# --- coverage and predicted errors, by simulation -------------------------------------


@pytest.mark.parametrize(
    ("p", "n_epsilon", "kind", "confidence"),
    pairwise(
        [0.05, 0.5, 1.0],
        [1, 10, 200],
        [(TENTH, False), (TENTH, True), (Fraction(1), True)],
        [0.8, 0.95],
    ),
)
def test_two_bin_intervals_cover_as_often_as_they_say(
    p: float, n_epsilon: int, kind: tuple[Fraction, bool], confidence: float
) -> None:
    epsilon, integral = kind
    mechanism = TwoBin(UNIT_INTERVAL, epsilon, ADD_REMOVE, integral)
    weight = math.ceil(n_epsilon / epsilon) * mechanism.lattice.span
    truth = (round(p * weight), weight - round(p * weight))
    hits = 0
    for noisy in draws(mechanism, truth, DRAWS):
        low, high = mechanism.interval(noisy, confidence)
        hits += low <= truth[0] / weight <= high
    margin = 4 * math.sqrt(confidence * (1 - confidence) / DRAWS)
    assert hits / DRAWS >= confidence - margin
    if n_epsilon >= 10:
        # At the edge of the range only one of the two tails can miss.
        assert hits / DRAWS <= (1 + confidence) / 2 + margin


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("function", ["sum", "max", "mean"])
def test_intervals_cover_the_answer_over_real_values(function: str, adjacency: Adjacency) -> None:
    values = np.random.default_rng(2).uniform(-100, 10, 300)
    mechanism = with_noise(function, SIGNED, Fraction(1), adjacency)
    truth = {"sum": values.sum(), "max": values.max(), "mean": values.mean()}[function]
    noisy = draws(mechanism, mechanism.statistics(values), 2000)
    ends = [mechanism.interval(n, 0.9) for n in noisy]
    hits = sum(low <= truth <= high for low, high in ends)
    assert 0.9 - 0.027 <= hits / 2000 <= 0.9 + (0.1 if function == "max" else 0.027)


@pytest.mark.parametrize(
    ("adjacency", "function", "log", "epsilon"),
    pairwise(
        list(Adjacency),
        ["sum", "max", "min", "mean", "share"],
        [(5, 0.5), (100, 0.1), (100, 1.0), (1000, 0.5)],
        [TENTH, Fraction(1)],
    ),
)
def test_predicted_errors_come_true(
    adjacency: Adjacency, function: str, log: tuple[int, float], epsilon: Fraction
) -> None:
    cases, share = log
    bounds = UNIT_INTERVAL if function == "share" else HUNDRED
    mechanism = with_noise(function, bounds, epsilon, adjacency)
    ones = round(share * cases)
    values = array(*([float(bounds.high)] * ones + [0.0] * (cases - ones)))
    if function in {"max", "min"}:
        values = np.full(cases, share * 100)
    statistics = mechanism.statistics(values)
    truth = exact_value(function, values)
    found = [mechanism.estimate(n).value for n in draws(mechanism, statistics, 6000)]
    errors = [value - truth for value in found if value is not None]
    measured = math.sqrt(np.mean(np.square(errors)))
    assert mechanism.predicted_error(cases, truth) == pytest.approx(measured, rel=0.1)


def test_predictions_without_an_operating_point_take_the_middle() -> None:
    for function, name in [(f, name) for f in ("sum", "max", "mean") for name in mechanisms_of(f)]:
        mechanism = mechanism_for(
            function,
            HUNDRED,
            TENTH,
            ADD_REMOVE,
            integral=False,
            name=name,
            value_range=Bounds(Fraction(0), Fraction(4000)),
        )
        middle = 50 * 40 if function == "sum" else 50
        assert mechanism.predicted_error(40, None) == mechanism.predicted_error(40, middle)
