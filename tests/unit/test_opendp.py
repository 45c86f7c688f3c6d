"""The same laws and the same losses as OpenDP's, where both have the mechanism.

OpenDP's noisy maximum is the exponential mechanism when it is accounted for in zCDP (it adds
Gumbel noise). Under pure differential privacy it is permute-and-flip, which has another law:
of that, only what it costs is compared.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pappi.mechanisms import (
    DiscreteLaplaceLaw,
    IntervalExtreme,
    IntervalQuantile,
    StepLaw,
    TwoBin,
    system_randbelow,
)
from pappi.mechanisms.laws import exponential_law
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds
from tests.unit.test_noise import binned, chi_square_is_plausible

dp: Any = pytest.importorskip(
    "opendp.prelude", reason="opendp is not installed: it comes with the extra 'dev'"
)
dp.enable_features("contrib")

DRAWS = 8_000
SCALES = [Fraction(1, 3), Fraction(7, 3), Fraction(20)]
SCORES = [0, 1, 1, 3, 2, 7]


def opendp_laplace(scale: Fraction) -> Any:  # noqa: ANN401 - OpenDP's types are its own
    domain = dp.vector_domain(dp.atom_domain(T=int))
    return dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=float(scale))


@pytest.mark.parametrize("scale", SCALES)
def test_both_samplers_follow_the_discrete_laplace_law(scale: Fraction) -> None:
    law = DiscreteLaplaceLaw(0, scale)
    ours = [law.draw(system_randbelow)[0] for _ in range(DRAWS)]
    theirs = opendp_laplace(scale)([0] * DRAWS)
    for draws in (ours, theirs):
        assert chi_square_is_plausible(*binned(draws, scale))


def test_the_comparison_notices_another_scale() -> None:
    assert not chi_square_is_plausible(
        *binned(opendp_laplace(Fraction(17))([0] * DRAWS), SCALES[2])
    )


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("move", [1, 2, 13])
def test_a_move_costs_the_same(scale: Fraction, move: int) -> None:
    ours = DiscreteLaplaceLaw(0, scale).loss(DiscreteLaplaceLaw(move, scale))
    theirs = opendp_laplace(scale).map(move)
    assert float(ours) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_a_two_bin_share_is_two_counts_of_one_epsilon(epsilon: Fraction) -> None:
    """One case moves one of the two counts by 1: their distance in L1 is 1."""
    share = TwoBin(UNIT_INTERVAL, epsilon, Adjacency.ADD_REMOVE, integral=True)
    theirs = opendp_laplace(share.scale).map(1)
    assert float(share.law(np.ones(5)).loss(share.law(np.ones(4)))) == pytest.approx(float(epsilon))
    assert theirs == pytest.approx(float(epsilon), rel=1e-9)


def opendp_maximum(rate: Fraction, measure: Any, *, monotonic: bool) -> Any:  # noqa: ANN401
    domain = dp.vector_domain(dp.atom_domain(T=int))
    metric = dp.linf_distance(T=int, monotonic=monotonic)
    return dp.m.make_noisy_max(domain, metric, measure, scale=float(1 / rate))


@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(1)])
def test_both_exponential_mechanisms_have_one_law(rate: Fraction) -> None:
    law = exponential_law(np.arange(6), np.array(SCORES), 6, rate)
    weights = [math.exp(-float(rate) * score) for score in SCORES]
    chances = [weight / sum(weights) for weight in weights]
    assert [law.probability((z,)) for z in range(6)] == pytest.approx(chances, rel=1e-9)
    theirs = opendp_maximum(rate, dp.zero_concentrated_divergence(), monotonic=False)
    for draws in (
        Counter(law.draw(system_randbelow)[0] for _ in range(DRAWS)),
        Counter(theirs([-score for score in SCORES]) for _ in range(DRAWS)),
    ):
        expected = [DRAWS * chance for chance in chances]
        assert chi_square_is_plausible([draws[z] for z in range(6)], expected)


@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(1)])
def test_scores_that_move_one_way_cost_half_in_both(rate: Fraction, *, monotonic: bool) -> None:
    hundred = Bounds(Fraction(0), Fraction(100))
    level, terms = Fraction(1, 2), (Adjacency.ADD_REMOVE, True)
    ours = (
        IntervalExtreme(hundred, rate, *terms, "max")
        if monotonic
        else IntervalQuantile(hundred, 2 * rate, *terms, level)
    )
    assert ours.rate == rate
    # Permute-and-flip has the price of the exponential mechanism, though not its law.
    pure = opendp_maximum(rate, dp.max_divergence(), monotonic=monotonic)
    assert pure.map(1) == pytest.approx(float(ours.epsilon), rel=1e-12)
    # A loss whose range is ε is ε²/8 in zCDP.
    concentrated = opendp_maximum(rate, dp.zero_concentrated_divergence(), monotonic=monotonic)
    assert concentrated.map(1) == pytest.approx(float(ours.epsilon) ** 2 / 8, rel=1e-9)


def test_the_law_of_a_maximum_is_that_of_opendp_over_the_same_scores() -> None:
    """Of a whole mechanism: with one case forgiven, four values and five candidates."""
    five = Bounds(Fraction(0), Fraction(5))
    mechanism = IntervalExtreme(five, Fraction(1), Adjacency.ADD_REMOVE, True, "max")  # noqa: FBT003
    values = [1.0, 2.0, 2.0, 4.0]
    law = mechanism.law(np.array(values))
    assert isinstance(law, StepLaw)
    scores = [-max(sum(x > z for x in values) - 1, 0) for z in range(6)]
    theirs = opendp_maximum(Fraction(1), dp.zero_concentrated_divergence(), monotonic=True)
    counts = Counter(theirs(scores) for _ in range(DRAWS))
    expected = [DRAWS * law.probability((z,)) for z in range(6)]
    assert chi_square_is_plausible([counts[z] for z in range(6)], expected)
