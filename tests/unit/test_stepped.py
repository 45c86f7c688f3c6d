"""The paper's interval mechanism for means and sums: steps away from the answer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.audit import JointRelease, neighbours
from pappi.errors import NotReleasable
from pappi.mechanisms import RANGE_STEPS, SteppedMean, SteppedSum, Values
from pappi.mechanisms.laws import falling_weights
from pappi.values import Adjacency, Bounds

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
TEN = Bounds(Fraction(-4), Fraction(10))
FROM_FIVE = Bounds(Fraction(5), Fraction(10))
OF_SUM = Bounds(Fraction(-30), Fraction(60))
ONE = Fraction(1)


def array(*values: float) -> Values:
    return np.array(values, dtype=np.float64)


def mean(epsilon: Fraction = ONE, adjacency: Adjacency = ADD_REMOVE) -> SteppedMean:
    return SteppedMean(TEN, epsilon, adjacency, integral=True)


def summed(
    epsilon: Fraction = ONE,
    adjacency: Adjacency = ADD_REMOVE,
    *,
    each: Bounds = TEN,
    of_sum: Bounds = OF_SUM,
    integral: bool = True,
) -> SteppedSum:
    return SteppedSum(of_sum, epsilon, adjacency, integral, each)


SETS = [
    array(),
    array(math.nan),
    array(3),
    array(10, 10, 10, -4),
    array(math.inf, -math.inf, math.nan, 2.5),
    np.random.default_rng(3).uniform(-6, 12, 40),
]


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("values", SETS)
def test_a_mean_scores_by_steps_at_every_point(values: Values, adjacency: Adjacency) -> None:
    mechanism = mean(adjacency=adjacency)
    law, weights = mechanism.law(values), falling_weights(Fraction(1, 2), 60)
    present = np.clip(values[~np.isnan(values)], -4, 10)
    points = [round((float(v) + 4) / 14 * RANGE_STEPS) for v in present]
    n, found = len(points), sum(points)
    rng = np.random.default_rng(1)
    # Everywhere, and on both sides of every point where the score could change.
    borders = [start + d for start in law.starts for d in (-1, 0, 1)]
    for z in {*rng.integers(0, RANGE_STEPS + 1, 300).tolist(), *borders, RANGE_STEPS}:
        if 0 <= z <= RANGE_STEPS:
            score = math.ceil(Fraction(abs(n * z - found), RANGE_STEPS) - Fraction(1, 2))
            assert law.weight(z) == weights[max(score, 0)]
    assert law.support == range(RANGE_STEPS + 1)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("each", [TEN, FROM_FIVE])
@pytest.mark.parametrize("values", SETS)
def test_a_sum_scores_by_steps_at_every_point(
    values: Values, adjacency: Adjacency, each: Bounds
) -> None:
    mechanism = summed(adjacency=adjacency, each=each)
    law, weights = mechanism.law(values), falling_weights(Fraction(1, 2), 60)
    present = np.clip(values[~np.isnan(values)], float(each.low), 10)
    found = min(max(sum(round(float(v)) for v in present), -30), 60)
    # A case that loses its value takes all of it away, also where cases are replaced.
    step = 14 if adjacency is REPLACE and each is TEN else 10
    for z in range(-30, 61):
        score = math.ceil(Fraction(abs(z - found), step) - Fraction(1, 2))
        assert law.weight(z + 30) == weights[max(score, 0)]
    assert law.support == range(91)
    assert mechanism.lattice.value(0) == -30
    assert mechanism.lattice.value(90) == 60


def test_the_example_of_the_paper() -> None:
    """X = {2, 3, 7, 8, 10} within [0, 10]: steps of 10 around 30, of 2 around a mean of 6."""
    each, values = Bounds(Fraction(0), Fraction(10)), array(2, 3, 7, 8, 10)
    law = summed(each=each, of_sum=Bounds(Fraction(0), Fraction(50))).law(values)
    assert law.starts == (0, 5, 15, 25, 36, 46)
    weights = falling_weights(Fraction(1, 2), 3)
    assert law.weights == tuple(weights[k] for k in (3, 2, 1, 0, 1, 2))
    spread = SteppedMean(each, ONE, ADD_REMOVE, integral=True).law(values)
    assert [round(k * 10 / RANGE_STEPS, 3) for k in spread.starts] == [0, 1, 3, 5, 7, 9]


def test_sums_beyond_the_declared_range_are_cut() -> None:
    mechanism = summed()
    top = mechanism.law(np.full(6, 10.0))
    assert mechanism.law(np.full(500, 10.0)) == top
    assert mechanism.law(np.full(500, 10.0)).weight(90) == 2**192
    assert mechanism.law(np.full(500, -4.0)).weight(0) == 2**192


def test_a_fine_range_is_answered_in_steps_of_a_thousandth_of_a_case() -> None:
    mechanism = summed(integral=False)
    assert float(mechanism.lattice.step) == pytest.approx(10 / 1024)
    law = mechanism.law(array(2.5, 7.25, 10, 10))
    (best,) = (
        start for start, weight in zip(law.starts, law.weights, strict=True) if weight == 2**192
    )
    end = law.starts[law.starts.index(best) + 1]
    assert mechanism.lattice.value(best) == pytest.approx(29.75 - 5, abs=0.01)
    assert mechanism.lattice.value(end) == pytest.approx(29.75 + 5, abs=0.011)


def score_of(law_weight: int, weights: tuple[int, ...]) -> int:
    return weights.index(law_weight)


@given(
    st.lists(st.floats(-6, 12) | st.sampled_from([math.nan, math.inf, -math.inf]), max_size=10),
    st.floats(-6, 12) | st.just(math.nan),
    st.sampled_from(list(Adjacency)),
    st.sampled_from([TEN, FROM_FIVE, Bounds(Fraction(-9), Fraction(-8))]),
    st.booleans(),
)
def test_one_case_moves_every_score_by_at_most_one(
    values: list[float],
    newcomer: float,
    adjacency: Adjacency,
    each: Bounds,
    integral: bool,  # noqa: FBT001
) -> None:
    sums = summed(adjacency=adjacency, each=each, integral=integral)
    means = SteppedMean(each, ONE, adjacency, integral)
    weights = falling_weights(Fraction(1, 2), 60)
    replaced = [[*values[:i], newcomer, *values[i + 1 :]] for i in range(len(values))]
    others = replaced if adjacency is REPLACE else [[*values, newcomer]]
    for mechanism in (sums, means):
        law = mechanism.law(array(*values))
        for other in others:
            theirs = mechanism.law(array(*other))
            for z in {*law.starts, *theirs.starts}:
                assert (
                    abs(score_of(law.weight(z), weights) - score_of(theirs.weight(z), weights)) <= 1
                )


@given(
    st.lists(st.floats(-6, 12) | st.just(math.nan), max_size=8),
    st.sampled_from(list(Adjacency)),
    st.sampled_from([Fraction(1, 10), ONE, Fraction(6)]),
    st.sampled_from([TEN, FROM_FIVE]),
)
def test_no_neighbour_is_further_away_than_epsilon(
    values: list[float], adjacency: Adjacency, epsilon: Fraction, each: Bounds
) -> None:
    for mechanism in (mean(epsilon, adjacency), summed(epsilon, adjacency, each=each)):
        release, data = JointRelease((mechanism,)), tuple((value,) for value in values)
        law = release.law(data)
        for other in neighbours(data, adjacency, [(-4.0,), (5.0,), (10.0,), (math.nan,)]):
            assert law.loss(release.law(other)) <= epsilon


def test_a_step_that_forgets_cases_without_a_value_is_caught() -> None:
    """Planted: under replace, the width of the bounds alone."""

    class Narrow(SteppedSum):
        @property
        def sensitivity(self) -> int:
            return self.contributions.span

    wide = Bounds(Fraction(0), Fraction(200))
    fault = Narrow(wide, ONE, REPLACE, True, FROM_FIVE)  # noqa: FBT003
    sound = SteppedSum(wide, ONE, REPLACE, True, FROM_FIVE)  # noqa: FBT003
    with_value, without = array(*[10.0] * 10), array(*[10.0] * 9, math.nan)
    assert sound.law(with_value).loss(sound.law(without)) <= 1
    assert fault.law(with_value).loss(fault.law(without)) > 1


def test_a_range_that_is_too_wide_is_refused_and_the_widest_is_answered_at_once() -> None:
    with pytest.raises(NotReleasable, match="too wide"):
        summed(of_sum=Bounds(Fraction(0), Fraction(10 * 2**14 + 1)))
    with pytest.raises(NotReleasable, match="too wide"):
        summed(of_sum=Bounds(Fraction(0), Fraction(2 * 10**5)), integral=False)
    widest = summed(of_sum=Bounds(Fraction(0), Fraction(10 * 2**14)))
    law = widest.law(np.full(1000, 7.0))
    assert len(law.starts) < 2000  # not one for every step of the range
    assert law.weight(7000) == 2**192


def test_predicted_errors_are_finite_and_intervals_hold_the_value() -> None:
    for mechanism in (mean(), summed()):
        assert 0 < mechanism.predicted_error(40, None) < 100
        noisy = mechanism.release(SETS[5])
        low, high = mechanism.interval(noisy, 0.95)
        value = mechanism.estimate(noisy).value
        assert value is not None
        assert low <= value <= high
