"""Two figures compared: intervals of differences and ratios cover as they say."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from pappi.mechanisms import (
    Bins,
    Contribution,
    LaplaceSum,
    Mechanism,
    NoisyHistogram,
    Outcome,
    Part,
    PresenceClass,
    TwoBin,
    Uncertain,
    Values,
    combined_mean,
    combined_sum,
    difference,
    difference_of_sums,
    joint_members,
    ratio,
)
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds
from tests.lengths import length, pairwise

DRAWS = length(600, 2_000)
LEAST, MOST = 0.93, 0.99
ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
DAYS = Bounds(Fraction(0), Fraction(30))
TENTH, ONE = Fraction(1, 10), Fraction(1)
MEAN = Contribution("mean", DAYS, integral=False, counts_beyond=True)
SHARE = Contribution("share", UNIT_INTERVAL, integral=True)


def two_bin(epsilon: Fraction, adjacency: Adjacency = ADD_REMOVE) -> Mechanism:
    return TwoBin(DAYS, epsilon, adjacency, False)  # noqa: FBT003


def shares(epsilon: Fraction) -> Mechanism:
    return TwoBin(UNIT_INTERVAL, epsilon, ADD_REMOVE, True)  # noqa: FBT003


def joint(epsilon: Fraction) -> Mechanism:
    return joint_members((PresenceClass((MEAN,), everyone=True),), epsilon, ADD_REMOVE)[0]


def cases(number: int, about: float, bounds: Bounds, seed: int) -> Values:
    drawn = random.Random(seed)  # noqa: S311
    if bounds == UNIT_INTERVAL:
        return np.array([float(drawn.random() < about) for _ in range(number)])
    return np.clip([drawn.expovariate(1 / about) for _ in range(number)], 0.0, 30.0)


def uncertain(mechanism: Mechanism, noisy: Outcome) -> Uncertain:
    value = mechanism.estimate(noisy).value
    assert value is not None
    return Uncertain(value, *mechanism.interval(noisy, 0.95), *mechanism.output_range)


def coverage(
    mechanism: Mechanism, first: Values, second: Values, draws: int = DRAWS
) -> tuple[float, float]:
    """Of the difference of two means, and of their ratio."""
    laws, chance = [mechanism.law(each) for each in (first, second)], random.Random(11)  # noqa: S311
    one, two = float(first.mean()), float(second.mean())
    apart = of_ratio = 0
    for _ in range(draws):
        a, b = (uncertain(mechanism, law.draw(chance.randrange)) for law in laws)
        low, high = difference(a, b)
        apart += low <= one - two <= high
        low, high = ratio(a, b)
        of_ratio += two == 0 or low <= one / two <= high  # no ratio is no miss
    return apart / draws, of_ratio / draws


# Where values lie in their bounds: in the middle, and apart.
PLACES = {DAYS: ((12.0, 12.0), (3.0, 15.0)), UNIT_INTERVAL: ((0.5, 0.5), (0.15, 0.4))}


@pytest.mark.parametrize("place", [0, 1], ids=["alike", "apart"])
@pytest.mark.parametrize("strength", [20, 50, 200])
@pytest.mark.parametrize("made", [two_bin, joint, shares])
def test_intervals_of_differences_and_ratios_cover(
    made: Callable[[Fraction], Mechanism], strength: int, place: int
) -> None:
    """For n·ε from 20 to 200; one of the two has fewer cases than the other."""
    mechanism = made(TENTH)
    number = round(strength / TENTH)
    one, two = PLACES[mechanism.bounds][place]
    first = cases(number, one, mechanism.bounds, 1)
    second = cases(number * 13 // 10, two, mechanism.bounds, 2)
    for found in coverage(mechanism, first, second):
        assert LEAST <= found <= MOST, found


@pytest.mark.parametrize(
    ("made", "strength", "epsilon"),
    pairwise([two_bin, joint, shares], [2, 5, 10], [TENTH, ONE]),
)
def test_with_few_cases_they_cover_at_least_as_much(
    made: Callable[[Fraction], Mechanism], strength: int, epsilon: Fraction
) -> None:
    """An interval that reaches where values can lie at all is never too short there."""
    mechanism = made(epsilon)
    number = max(round(strength / epsilon), 2)
    one, two = PLACES[mechanism.bounds][1]
    first, second = (
        cases(many, about, mechanism.bounds, seed)
        for many, about, seed in ((number, one, 1), (2 * number, two, 5))
    )
    for found in coverage(mechanism, first, second, 400):
        assert found >= LEAST, found


@pytest.mark.parametrize("about", [0.01, 0.99])
def test_at_the_ends_of_the_range_they_cover_at_least_as_much(about: float) -> None:
    mechanism = shares(TENTH)
    first, second = (cases(500, about, UNIT_INTERVAL, seed) for seed in (1, 2))
    for found in coverage(mechanism, first, second, 1_000):
        assert found >= LEAST, found


def test_a_public_number_of_cases_covers_too() -> None:
    mechanism = two_bin(TENTH, REPLACE)
    first, second = (cases(500, about, DAYS, seed) for seed, about in ((1, 6.0), (2, 9.0)))
    for found in coverage(mechanism, first, second):
        assert LEAST <= found <= MOST, found


# --- sums, by the exact law of both noises ------------------------------------------------------


def of_sums(first: Mechanism, second: Mechanism, one: Values, two: Values) -> float:
    laws, chance = (first.law(one), second.law(two)), random.Random(3)  # noqa: S311
    truth = float(one.sum() - two.sum())
    drawn = ([law.draw(chance.randrange) for law in laws] for _ in range(DRAWS))
    ends = (difference_of_sums(first, a, second, b, 0.95) for a, b in drawn)
    return sum(low <= truth <= high for low, high in ends) / DRAWS


@pytest.mark.parametrize("epsilon", [TENTH, ONE])
def test_intervals_of_differences_of_sums_cover(epsilon: Fraction) -> None:
    sums = LaplaceSum(DAYS, epsilon, ADD_REMOVE, False)  # noqa: FBT003
    one, two = cases(200, 6.0, DAYS, 1), cases(90, 9.0, DAYS, 2)
    assert LEAST <= of_sums(sums, sums, one, two) <= MOST
    assert LEAST <= of_sums(sums, joint(epsilon), one, two) <= MOST


def test_a_sum_of_months_is_compared_with_another_by_the_law_of_all_their_noises() -> None:
    sums = LaplaceSum(DAYS, TENTH, ADD_REMOVE, False)  # noqa: FBT003
    months = [cases(100, 6.0, DAYS, seed) for seed in range(4)]
    laws, chance = [sums.law(month) for month in months], random.Random(3)  # noqa: S311
    size = laws[0].size
    half = combined_sum(DAYS, [Part(sums, size)] * 2, [sums.as_sum] * 2)
    truth = float(sum(m.sum() for m in months[:2]) - sum(m.sum() for m in months[2:]))
    inside = 0
    for _ in range(DRAWS):
        drawn = [law.draw(chance.randrange) for law in laws]
        early, late = (*drawn[0], *drawn[1]), (*drawn[2], *drawn[3])
        low, high = difference_of_sums(half, early, half, late, 0.95)
        inside += low <= truth <= high
    assert LEAST <= inside / DRAWS <= MOST


# --- medians, which are read off whole bins -----------------------------------------------------

EVEN = Bins.even(DAYS, 16)


def of_medians(first: Values, second: Values, *, adds: bool) -> tuple[float, float, float]:
    """How often the intervals of the difference and of the ratio hold; and how wide that is."""
    mechanism = NoisyHistogram(DAYS, TENTH, ADD_REMOVE, False, Fraction(1, 2), EVEN)  # noqa: FBT003
    laws, chance = [mechanism.law(each) for each in (first, second)], random.Random(11)  # noqa: S311
    one, two = float(np.median(first)), float(np.median(second))
    apart, of_ratio, widths = 0, 0, 0.0
    draws = DRAWS // 4
    for _ in range(draws):
        figures = []
        for law in laws:
            noisy = law.draw(chance.randrange)
            ends = mechanism.interval(noisy, 0.975 if adds else 0.95)
            value = mechanism.estimate(noisy).value or 0.0
            figures.append(Uncertain(value, *ends, 0.0, 30.0, adds=adds))
        a, b = figures
        low, high = difference(a, b)
        apart += low <= one - two <= high
        widths += high - low
        low, high = ratio(a, b)
        of_ratio += low <= one / two <= high
    return apart / draws, of_ratio / draws, widths / draws


@pytest.mark.parametrize("number", [500, 5_000])
def test_intervals_of_differences_of_medians_cover_wherever_in_their_bins_they_lie(
    number: int,
) -> None:
    """One just above the end of a bin, the other at the end of its own."""
    above, at = 5 * 1.875 + 0.001, 4 * 1.875
    first, second = (np.full(number, value) for value in (above, at))
    held = of_medians(first, second, adds=True)
    assert min(held[:2]) >= LEAST
    faulty = of_medians(second, first, adds=False)
    assert min(faulty[:2]) < LEAST, "as if where in its bin a median lies were noise"


def test_what_bounds_cut_adds_up_and_is_no_noise() -> None:
    first, second = Uncertain(6.0, 5.0, 7.0, above=2.0), Uncertain(3.0, 2.0, 4.0, below=1.0)
    low, high = difference(first, second)
    assert (low, high) == pytest.approx((3 - 2**0.5, 3 + 2**0.5 + 3))


# --- what is certain, and what is not -----------------------------------------------------------


def test_a_certain_figure_adds_nothing() -> None:
    low, high = difference(Uncertain(5.0, 4.0, 7.0, 0.0, 10.0), Uncertain(2.0, 2.0, 2.0, 0.0, 10.0))
    assert (low, high) == (2.0, 5.0)


def test_two_that_tell_nothing_tell_nothing_together() -> None:
    nothing = Uncertain(4.0, 0.0, 10.0, 0.0, 10.0)
    assert difference(nothing, nothing) == (-10.0, 10.0)
    assert ratio(nothing, nothing) == (0.0, float("inf"))


def test_a_ratio_to_what_may_be_nothing_has_no_upper_end() -> None:
    low, high = ratio(Uncertain(6.0, 5.0, 7.0, 0.0, 10.0), Uncertain(1.0, 0.0, 2.0, 0.0, 10.0))
    assert 2 < low < 3
    assert high == float("inf")


def test_a_ratio_is_where_the_difference_may_be_nothing() -> None:
    first, second = Uncertain(6.0, 5.0, 8.0, 0.0, 30.0), Uncertain(3.0, 2.0, 5.0, 0.0, 30.0)
    low, high = ratio(first, second)
    assert low < 2 < high
    assert difference(first, second, low)[0] == pytest.approx(0.0, abs=1e-9)
    assert difference(first, second, high)[1] == pytest.approx(0.0, abs=1e-9)


# --- planted faults -----------------------------------------------------------------------------


def test_two_members_of_one_draw_taken_as_independent_are_caught_by_coverage() -> None:
    """They share the noise of the number of cases: at opposite ends that moves them apart."""
    one, two = joint_members((PresenceClass((SHARE, SHARE), everyone=True),), TENTH, ADD_REMOVE)
    drawn = random.Random(3)  # noqa: S311
    rows = [[float(drawn.random() < 0.02), float(drawn.random() < 0.98)] for _ in range(4_000)]
    table = np.array(rows)
    law, chance = one.law(table), random.Random(1)  # noqa: S311
    truth = float(table[:, 0].mean() - table[:, 1].mean())
    once = apart = 0
    for _ in range(DRAWS):
        noisy, other = law.draw(chance.randrange), law.draw(chance.randrange)
        low, high = difference(uncertain(one, noisy), uncertain(two, noisy))
        once += low <= truth <= high
        low, high = difference(uncertain(one, noisy), uncertain(two, other))
        apart += low <= truth <= high
    assert once / DRAWS < LEAST
    assert LEAST <= apart / DRAWS <= MOST


def test_windows_that_share_months_taken_as_independent_are_caught_by_coverage() -> None:
    """What both have in common cancels out: forgotten, that makes the interval far too wide."""
    mechanism = two_bin(TENTH)
    months = [cases(1_000, 6.0, DAYS, seed) for seed in range(5)]
    laws, chance = [mechanism.law(month) for month in months], random.Random(3)  # noqa: S311
    window = combined_mean(DAYS, [Part(mechanism, laws[0].size)] * 4)
    truth = float(np.concatenate(months[1:]).mean() - np.concatenate(months[:4]).mean())
    inside = 0
    for _ in range(DRAWS):
        drawn = [law.draw(chance.randrange) for law in laws]
        late, early = (tuple(n for one in some for n in one) for some in (drawn[1:], drawn[:4]))
        low, high = difference(uncertain(window, late), uncertain(window, early))
        inside += low <= truth <= high
    assert inside / DRAWS > MOST
