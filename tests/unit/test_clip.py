"""A private clipping bound: the choice, what is answered below it, and what both lose together."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.audit import JointRelease, neighbours
from pappi.mechanisms import (
    DiscreteLaplaceLaw,
    JointLaw,
    LaplaceSum,
    Law,
    PrivateClippingBound,
    TwoBin,
    Values,
)
from pappi.mechanisms.laws import CellLaw, StagedLaw, falling_weights, log_above
from pappi.values import Adjacency, Bounds

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
RANGE = Bounds(Fraction(10), Fraction(1034))
SIGNED = Bounds(Fraction(-1024), Fraction(1024))
ONE = Fraction(1)


def array(*values: float) -> Values:
    return np.array(values, dtype=np.float64)


def ceiling(
    epsilon: Fraction = ONE,
    adjacency: Adjacency = ADD_REMOVE,
    *,
    function: str = "mean",
    bounds: Bounds = RANGE,
    octaves: int | None = None,
    integral: bool = False,
) -> PrivateClippingBound:
    return PrivateClippingBound(
        bounds,
        epsilon,
        adjacency,
        integral=integral,
        function="mean" if function == "mean" else "sum",
        octaves=octaves or (2 if integral else 4),
        either_sign=bounds is SIGNED,
    )


def choice_of(mechanism: PrivateClippingBound, values: Values) -> CellLaw:
    law = mechanism.law(values)
    assert isinstance(law, StagedLaw)
    assert isinstance(law.first, CellLaw)
    return law.first


SETS = [
    array(),
    array(math.nan, math.nan),
    array(*[20.0] * 30, *[900.0] * 5),
    array(math.inf, -math.inf, 1e300, 10.0, 74.0, 138.0, 1034.0),
    np.linspace(0, 2000, 50),
]


# --- the choice -----------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", [RANGE, SIGNED])
@pytest.mark.parametrize("epsilon", [ONE, Fraction(4, 10)])
def test_ceilings_are_chosen_as_the_definition_says(epsilon: Fraction, bounds: Bounds) -> None:
    mechanism = ceiling(epsilon, bounds=bounds)
    assert mechanism.choice_epsilon + mechanism.answer_epsilon == epsilon
    weights = falling_weights(epsilon / 4, 60)
    spared = math.ceil(1 / (epsilon * Fraction(3, 4)))
    # 1024 away at most, four octaves down, two ceilings an octave: 64, 64·√2, …, 1024.
    heights = [64 * 2 ** (k / 2) for k in range(9)]
    for values in SETS:
        law = choice_of(mechanism, values)
        present = values[~np.isnan(values)]
        away = np.abs(present) if bounds is SIGNED else present - 10
        tickets = []
        for k, height in enumerate(heights):
            cut_off = int(np.sum(away > height * (1 + 1e-6)))
            copies = round(16 * 2 ** ((8 - k) / 4))
            tickets.append(copies * weights[max(0, cut_off - spared)])
        for k in range(9):
            assert law.chance(k) == Fraction(tickets[k], sum(tickets))
        assert sum(law.chance(k) for k in law.branches) == 1


def test_every_point_lies_in_the_cell_of_its_ceiling_and_weighs_as_much_as_its_neighbours() -> None:
    law = choice_of(ceiling(), SETS[2])
    ends = [*law.cells, law.stop]
    for k, (first, end) in enumerate(pairwise(ends)):
        assert {law.branch((z,)) for z in range(first, end)} == {k}
        assert len({law.weight(z) for z in range(first, end)}) == 1
    # An octave lower there are √2 times as many points, for those who know nothing.
    sizes = [end - first for first, end in pairwise(ends)]
    assert sizes[0] / sizes[2] == pytest.approx(math.sqrt(2), rel=0.02)


def test_ceilings_are_public_facts() -> None:
    mechanism = ceiling()
    laws = [choice_of(mechanism, values) for values in SETS]
    assert len({(law.cells, law.stop, law.support) for law in laws}) == 1
    assert [float(mechanism.within(k).bounds.high) for k in range(0, 9, 2)] == [
        74,
        138,
        266,
        522,
        1034,
    ]


def test_the_answer_is_that_of_the_values_below_the_ceiling() -> None:
    for adjacency in Adjacency:
        for function, kind in (("mean", TwoBin), ("sum", LaplaceSum)):
            mechanism = ceiling(adjacency=adjacency, function=function)
            law = mechanism.law(SETS[2])
            assert isinstance(law, StagedLaw)
            for k in range(9):
                inner = mechanism.within(k)
                assert isinstance(inner, kind)
                assert (inner.epsilon, inner.adjacency) == (Fraction(3, 4), adjacency)
                assert law.second(k) == inner.law(SETS[2])


@pytest.mark.parametrize("bounds", [RANGE, SIGNED])
@pytest.mark.parametrize("function", ["mean", "sum"])
def test_estimate_interval_and_ceiling_are_those_of_the_chosen_mechanism(
    function: str, bounds: Bounds
) -> None:
    mechanism = ceiling(function=function, bounds=bounds)
    for _ in range(30):
        noisy = mechanism.release(SETS[2])
        law = choice_of(mechanism, SETS[2])
        inner = mechanism.within(law.branch(noisy[:1]))
        found = mechanism.estimate(noisy)
        assert found.ceiling == float(inner.bounds.high)
        assert found.value == inner.estimate(noisy[1:]).value
        low, high = mechanism.interval(noisy, 0.9)
        # What was cut off lies above, and where values have either sign also below.
        assert high == (float(bounds.high) if function == "mean" else math.inf)
        if bounds is RANGE:
            assert low == inner.interval(noisy[1:], 0.9)[0]
            known = inner.chance_at_most(noisy[1:], 30.0)
            assert mechanism.chance_at_most(noisy, 30.0) == min(known, 0.5)
        else:
            assert low == (float(bounds.low) if function == "mean" else -math.inf)
            assert mechanism.chance_at_most(noisy, 30.0) == 0.5


def test_a_ceiling_finds_the_values_and_beats_bounds_that_are_far_too_wide() -> None:
    wide = Bounds(Fraction(0), Fraction(10**6))
    loose = ceiling(bounds=wide, octaves=16)
    plain = TwoBin(wide, ONE, ADD_REMOVE, integral=False)
    values = np.random.default_rng(8).gamma(4, 5, 400)
    truth = float(values.mean())

    def usual_error(mechanism: PrivateClippingBound | TwoBin) -> float:
        found = [mechanism.estimate(mechanism.release(values)).value for _ in range(300)]
        return float(np.quantile([abs(v - truth) for v in found if v is not None], 0.8))

    # Now and then the ceiling is far too high, and then so is the noise.
    assert usual_error(loose) < usual_error(plain) / 10


@pytest.mark.parametrize("cases", [20, 200])
def test_intervals_cover_the_answer_however_low_the_ceiling(cases: int) -> None:
    """With few cases it often is far too low, and the values below it say little."""
    wide = Bounds(Fraction(0), Fraction(10**5))
    mechanism = ceiling(Fraction(1, 10), bounds=wide, octaves=10)
    released = [mechanism.release(np.full(cases, 400.0)) for _ in range(300)]
    ends = [mechanism.interval(noisy, 0.95) for noisy in released]
    assert np.mean([low <= 400 <= high for low, high in ends]) > 0.9
    assert np.mean([mechanism.chance_at_most(noisy, 200.0) >= 0.95 for noisy in released]) < 0.1


# --- privacy --------------------------------------------------------------------------------


def centres_of(law: Law) -> list[int]:
    assert isinstance(law, JointLaw)
    return [part.centre for part in law.parts if isinstance(part, DiscreteLaplaceLaw)]


def worst_by_visiting(one: StagedLaw, two: StagedLaw, k: int) -> float:
    """The worst log-ratio over all outcomes with the k-th ceiling that can matter."""
    assert isinstance(one.first, CellLaw)
    cell, centres = one.first.cells[k], centres_of(one.second(k)) + centres_of(two.second(k))
    around = range(min(centres) - 2, max(centres) + 3)
    outcomes = product([cell], *[around] * one.second(k).size)
    return math.log(max(one.probability(o) / two.probability(o) for o in outcomes))


@pytest.mark.parametrize("function", ["mean", "sum"])
@pytest.mark.parametrize(
    ("data", "other"), [([4.0] * 6, [4.0] * 5), ([1.0, 4.0, 4.0], [1.0, 4.0]), ([], [3.0])]
)
def test_the_loss_is_the_worst_over_all_outcomes(
    data: list[float], other: list[float], function: str
) -> None:
    """Whole numbers below 1, 2 and 4 are few enough to visit; √2 and 2·√2 go by the formula."""
    mechanism = ceiling(
        Fraction(2), function=function, bounds=Bounds(Fraction(0), Fraction(4)), integral=True
    )
    one, two = mechanism.law(array(*data)), mechanism.law(array(*other))
    assert isinstance(one, StagedLaw)
    assert isinstance(two, StagedLaw)
    for this, that in ((one, two), (two, one)):
        losses = [
            this.first.log_ratio_on(k, that.first) + this.second(k).log_ratio(that.second(k))
            for k in range(5)
        ]
        for k in (0, 2, 4):
            assert float(losses[k]) == pytest.approx(worst_by_visiting(this, that, k), abs=1e-9)
        assert this.log_ratio(that) == max(losses)


@pytest.mark.outside
@given(
    st.sampled_from(["mean", "sum"]),
    st.sampled_from([RANGE, SIGNED]),
    st.sampled_from(list(Adjacency)),
    st.sampled_from([Fraction(1, 10), ONE, Fraction(5)]),
    st.lists(st.floats(allow_nan=True) | st.floats(0, 1100), max_size=20),
)
def test_no_neighbour_is_further_away_than_epsilon(
    function: str, bounds: Bounds, adjacency: Adjacency, epsilon: Fraction, values: list[float]
) -> None:
    mechanism = ceiling(epsilon, adjacency, function=function, bounds=bounds)
    release, data = JointRelease((mechanism,)), tuple((value,) for value in values)
    law = release.law(data)
    for other in neighbours(data, adjacency, [(10.0,), (200.0,), (-1e9,), (math.nan,)]):
        assert law.loss(release.law(other)) <= epsilon


def test_nearly_all_of_epsilon_can_be_lost() -> None:
    mechanism = ceiling(function="sum", bounds=Bounds(Fraction(0), Fraction(1024)))
    one, two = (mechanism.law(np.full(n, 1024.0)) for n in (90, 91))
    assert 0.99 < one.loss(two) <= 1


def test_a_law_in_other_cells_is_infinitely_far_away() -> None:
    law = CellLaw((0, 2), 5, (1, 2), (0, 2, 4))
    assert law.log_ratio_on(0, CellLaw((0, 2), 5, (1, 2), (0, 3, 4))) == math.inf
    assert law.log_ratio_on(0, CellLaw((0, 2), 6, (1, 2), (0, 2, 4))) == math.inf
    assert law.log_ratio_on(1, CellLaw((0, 2), 5, (1, 0), (0, 2, 4))) == math.inf
    assert law.log_ratio_on(2, law) == log_above(1, 1)


@pytest.mark.parametrize("cases", [30, 300, 3000])
@pytest.mark.parametrize("function", ["mean", "sum"])
def test_predicted_errors_come_true_for_values_spread_over_a_sixteenth(
    function: str, cases: int
) -> None:
    """Against each ceiling's chance by the law, the noise below it and what it cuts off."""
    mechanism = ceiling(Fraction(1, 2), function=function)
    values = float(mechanism.bounds.low) + np.linspace(0, 64, cases)
    law, total = choice_of(mechanism, values), np.sum if function == "sum" else np.mean
    square = 0.0
    for k in law.branches:
        inner = mechanism.within(k)
        cut = float(total(np.clip(values, None, float(inner.bounds.high))))
        off = inner.predicted_error(cases, cut) ** 2 + (cut - float(total(values))) ** 2
        square += float(law.chance(k)) * off
    assert mechanism.predicted_error(cases, None) == pytest.approx(math.sqrt(square), rel=0.25)
