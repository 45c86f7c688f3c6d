"""The exact audit fails the published mechanisms, and passes ours, in the report's own words."""

from __future__ import annotations

import math

import pytest

from experiments.guarantees import (
    FROM_DATA,
    PUBLIC,
    Claim,
    Guarantee,
    claims,
    verdict_on,
)
from pappi.values import Adjacency


def of(found: list[Guarantee], *, ours: bool, bounds: str = PUBLIC) -> dict[str, Guarantee]:
    chosen = (g for g in found if g.claim.ours is ours and g.claim.bounds == bounds)
    return {f"{g.claim.function} {g.claim.mechanism.partition(',')[0]}": g for g in chosen}


def test_everything_published_fails_with_bounds_from_the_data(found: list[Guarantee]) -> None:
    published = of(found, ours=False, bounds=FROM_DATA)
    assert len(published) == 13
    for guarantee in published.values():
        assert guarantee.ratio == math.inf
        assert guarantee.verdict == "FAILS: no bound on the loss"


def test_all_of_ours_hold(found: list[Guarantee]) -> None:
    ours = of(found, ours=True)
    assert len(ours) >= 10
    for guarantee in ours.values():
        assert guarantee.holds
        assert guarantee.ratio <= 1
        assert guarantee.verdict.startswith("holds")


def test_public_bounds_repair_some_of_the_published(found: list[Guarantee]) -> None:
    published = of(found, ours=False)
    sound = {name for name, guarantee in published.items() if guarantee.holds}
    assert sound == {"sum laplace", "min laplace", "max laplace", "mean interval", "min interval",
                     "max interval"}  # fmt: skip
    assert published["max interval"].ratio == pytest.approx(0.5, abs=0.01)


def test_the_threshold_score_loses_tens_of_epsilons_with_a_hundred_cases(
    found: list[Guarantee],
) -> None:
    published = of(found, ours=False)
    assert 20 < published["mean threshold"].ratio < 30
    assert 40 < published["max threshold"].ratio < 60


def test_two_sums_at_epsilon_each_cost_two_epsilons(found: list[Guarantee]) -> None:
    assert of(found, ours=False)["ratio laplace twice"].ratio == pytest.approx(2, abs=1e-3)


def test_a_verdict_is_found_for_a_mechanism_as_it_is_used(found: list[Guarantee]) -> None:
    assert verdict_on(found, "interval", "max", ours=False).startswith("FAILS")
    assert verdict_on(found, "interval", "max", ours=True).startswith("holds")
    assert verdict_on(found, "unheard of", "max", ours=True) == "not audited"


def test_claims_come_under_both_adjacencies_and_have_names_of_their_own() -> None:
    every: list[Claim] = list(claims())
    assert {claim.adjacency for claim in every} == set(Adjacency)
    assert len({(claim.ours, claim.label) for claim in every}) == len(every)
