"""Two draws, the second depending on the first: what they lose together, exactly."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pappi.mechanisms import (
    DiscreteLaplaceLaw,
    Law,
    PointLaw,
    StepLaw,
    system_randbelow,
)
from pappi.mechanisms.laws import CellLaw, NoisySign, StagedLaw, log_above
from tests.lengths import length
from tests.unit.test_noise import chi_square_is_plausible

HALF, TWO = Fraction(1, 2), Fraction(2)
centres = st.integers(-9, 9)
scales = st.sampled_from([HALF, Fraction(1), Fraction(7, 3)])


# --- the first stage ------------------------------------------------------------------------


@given(centres, centres, scales)
def test_the_loss_on_a_branch_is_the_worst_over_its_outcomes(a: int, b: int, s: Fraction) -> None:
    one, two = NoisySign(a, s), NoisySign(b, s)
    for branch, window in ((0, range(-30, 0)), (1, range(31))):
        worst = max(abs(z - b) - abs(z - a) for z in window) / s
        assert one.log_ratio_on(branch, two) == worst
        assert {one.branch((z,)) for z in window} == {branch}
        ratios = [math.log(one.probability((z,)) / two.probability((z,))) for z in window]
        assert float(worst) == pytest.approx(max(ratios), abs=1e-9)
    both = [one.log_ratio_on(branch, two) for branch in one.branches]
    assert max(both) == one.log_ratio(two)


def test_signs_of_different_noise_are_infinitely_far_apart() -> None:
    sign = NoisySign(0, TWO)
    assert sign.log_ratio_on(0, NoisySign(0, HALF)) == math.inf
    assert sign.log_ratio_on(1, DiscreteLaplaceLaw(0, TWO)) == math.inf


# --- both stages ----------------------------------------------------------------------------

weights = st.lists(st.integers(1, 40), min_size=3, max_size=3).map(tuple)


def cells(heavy: tuple[int, ...]) -> CellLaw:
    return CellLaw((0, 2, 3), 7, heavy, (0, 2, 3))


def step(heavy: tuple[int, ...]) -> StepLaw:
    return StepLaw((0, 1, 2), 4, heavy)


@given(st.lists(weights, min_size=8, max_size=8))
def test_the_loss_of_two_choices_is_the_worst_over_all_outcomes(
    heavy: list[tuple[int, ...]],
) -> None:
    one = StagedLaw(cells(heavy[0]), lambda k: step(heavy[1 + k]))
    two = StagedLaw(cells(heavy[4]), lambda k: step(heavy[5 + k]))
    outcomes = [(x, y) for x in range(7) for y in range(4)]
    assert math.isclose(sum(one.probability(o) for o in outcomes), 1, rel_tol=1e-12)

    def exact(law: StagedLaw, outcome: tuple[int, int]) -> Fraction:
        first, second = law.first, law.second(law.first.branch(outcome[:1]))
        assert isinstance(first, StepLaw)
        assert isinstance(second, StepLaw)
        return first.exact_probability(outcome[0]) * second.exact_probability(outcome[1])

    ratios = [exact(one, o) / exact(two, o) for o in outcomes]
    assert math.isclose(one.log_ratio(two), math.log(max(ratios)), rel_tol=1e-9, abs_tol=1e-12)
    assert math.isclose(two.log_ratio(one), -math.log(min(ratios)), rel_tol=1e-9, abs_tol=1e-12)
    # Never below the truth, not by the least: the logarithm is rounded up.
    with localcontext(prec=80):
        worst = (Decimal(max(ratios).numerator) / max(ratios).denominator).ln()
        bound = Fraction(one.log_ratio(two))
        assert Decimal(bound.numerator) / bound.denominator >= worst


@given(centres, centres, scales, st.lists(weights, min_size=4, max_size=4))
def test_the_loss_of_a_sign_and_a_choice_is_the_worst_over_all_outcomes(
    a: int, b: int, s: Fraction, heavy: list[tuple[int, ...]]
) -> None:
    one = StagedLaw(NoisySign(a, s), lambda k: step(heavy[k]))
    two = StagedLaw(NoisySign(b, s), lambda k: step(heavy[2 + k]))
    outcomes = [(x, y) for x in range(-25, 26) for y in range(4)]
    ratios = [math.log(one.probability(o) / two.probability(o)) for o in outcomes]
    assert float(one.log_ratio(two)) == pytest.approx(max(ratios), abs=1e-9)
    assert float(one.loss(two)) == pytest.approx(max(map(abs, ratios)), abs=1e-9)
    assert one.size == 2


def test_a_second_stage_that_betrays_the_difference_is_infinitely_bad() -> None:
    def on(branch: int) -> Law:
        return PointLaw(branch)

    one = StagedLaw(NoisySign(0, TWO), on)
    assert one.loss(StagedLaw(NoisySign(0, TWO), lambda _: PointLaw(1))) == math.inf
    assert one.loss(StagedLaw(NoisySign(0, TWO), on)) == 0
    assert one.loss(NoisySign(0, TWO)) == math.inf
    assert one.loss(StagedLaw(cells((1, 1, 1)), on)) == math.inf


def test_only_the_branch_carries_over_to_the_second_stage() -> None:
    """Planted: one that also looks at the number is not what its loss is computed for."""
    asked: list[int] = []

    def on(branch: int) -> Law:
        asked.append(branch)
        return step((1, 2, 3))

    law = StagedLaw(NoisySign(0, Fraction(50)), on)
    for _ in range(60):
        first, _second = law.draw(system_randbelow)
        assert asked[-1] == (first >= 0)
    assert set(asked) == {0, 1}


def test_draws_follow_the_law() -> None:
    law = StagedLaw(cells((5, 1, 2)), lambda k: step((1 + k, 4, 2)))
    n = 6000
    counts = Counter(law.draw(system_randbelow) for _ in range(n))
    outcomes = [(x, y) for x in range(7) for y in range(4)]
    expected = [n * law.probability(outcome) for outcome in outcomes]
    assert chi_square_is_plausible([counts[outcome] for outcome in outcomes], expected)


# --- restricting, and logarithms below zero -----------------------------------------------------


@given(
    st.lists(st.integers(1, 9), min_size=4, max_size=4),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_a_law_within_limits_is_the_law_given_that_it_stays_there(
    heavy: list[int], one: int, two: int
) -> None:
    law, (low, high) = StepLaw((0, 3, 4, 8), 10, tuple(heavy)), sorted((one, two))
    inside = law.within(low, high)
    chance = sum(law.exact_probability(z) for z in range(low, high + 1))
    assert inside.support == range(low, high + 1)
    for z in range(low, high + 1):
        assert inside.exact_probability(z) == law.exact_probability(z) / chance


@settings(max_examples=length(25, 200))
@given(st.integers(1, 2**300), st.integers(1, 2**300))
def test_logarithms_are_upper_bounds_and_tight_on_both_sides_of_one(a: int, b: int) -> None:
    for numerator, denominator in ((a, b), (b, a), (a, a + 1), (a + 1, a)):
        bound = log_above(numerator, denominator)
        with localcontext(prec=150):
            exact = (Decimal(numerator) / denominator).ln()
            over = Decimal(bound.numerator) / bound.denominator - exact
        assert 0 <= over <= Decimal(2) ** -100


@pytest.mark.parametrize("halvings", [1, 2, 64, 1000])
def test_a_half_is_not_rounded_below_its_logarithm(halvings: int) -> None:
    bound = log_above(1, 2**halvings)
    with localcontext(prec=150):
        exact = -Decimal(2).ln() * halvings
        assert 0 <= Decimal(bound.numerator) / bound.denominator - exact <= Decimal(2) ** -105
