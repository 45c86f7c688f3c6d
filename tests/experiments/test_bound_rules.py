"""Bounds by rule: from the target alone, and as private as what they are used with."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.bound_rules import RATIOS, Data, Losses, synthetic
from experiments.bound_rules import (
    LOWEST,
    MAXIMA,
    MEANS,
    MEANS_WITHOUT,
    bounded_by_target,
    loosely_bounded,
    within_octaves,
)
from experiments.sepsis_ours import planned
from pappi.mechanisms import PrivateClippingBound
from pappi.ppinot import AggregatedMeasure, Bounding, Ppi, Target


@pytest.fixture(scope="module")
def data() -> Data:
    return synthetic("uniform", 10)


def with_target(ppi: Ppi, days: int) -> Ppi:
    return replace(ppi, target=Target(None, ppi.unit.read(Fraction(days))))


def high_of(ppi: Ppi | None) -> float:
    assert ppi is not None
    assert isinstance(ppi.measure, AggregatedMeasure)
    assert ppi.measure.bounds is not None
    return ppi.unit.show(ppi.measure.bounds.high)


def test_bounds_are_multiples_of_the_target_and_of_nothing_else(data: Data) -> None:
    mean, longest = (with_target(data.log.ppis[name], 10) for name in ("mean", "max"))
    assert high_of(loosely_bounded(mean)) == 10 * MEANS.times_target
    assert high_of(bounded_by_target(mean)) == 10 * MEANS_WITHOUT
    assert high_of(bounded_by_target(longest)) == 10 * MAXIMA
    assert loosely_bounded(longest) is None


def test_without_a_target_no_rule_has_a_say(data: Data) -> None:
    for ppi in data.log.ppis.values():
        assert loosely_bounded(ppi) is None
        assert bounded_by_target(ppi) is None


def test_a_ceiling_is_looked_for_within_the_octaves_of_the_rule_at_the_same_epsilon(
    data: Data,
) -> None:
    loose = loosely_bounded(with_target(data.log.ppis["mean"], 10))
    assert loose is not None
    plan = planned(data.log, loose, "0.1")
    (part,) = within_octaves(plan, MEANS.octaves).measurements
    assert isinstance(part.mechanism, PrivateClippingBound)
    assert part.mechanism.epsilon == plan.measurements[0].mechanism.epsilon
    ceilings = part.mechanism.grid.points / float(loose.unit.factor)
    assert ceilings[0] == pytest.approx(10 * float(LOWEST), rel=1e-5)
    assert ceilings[-1] == pytest.approx(10 * float(MEANS.times_target))


def test_levels_of_made_up_data_are_the_true_ones(data: Data) -> None:
    means = data.log.truth(data.log.ppis["mean"])
    assert means.min() < data.levels["mean"] < means.max()
    assert data.levels["max"] == pytest.approx(data.log.truth(data.log.ppis["max"]).mean())
    assert high_of(data.ppi("mean", Fraction(2), Bounding.LOOSE)) == pytest.approx(
        2 * data.levels["mean"], abs=0.002
    )


def test_the_loss_of_a_rule_is_the_mean_over_data_and_targets() -> None:
    found = {(name, 2 * ratio): float(2 * ratio) for name in ("a", "b") for ratio in RATIOS}
    mean = float(np.mean([float(ratio) for ratio in RATIOS]))
    assert Losses(found).of_rule(Fraction(2)) == pytest.approx(2 * mean)
