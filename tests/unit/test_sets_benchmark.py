"""The benchmarks of sets measure what is released, and notice what is worse."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks import sets_limit, sets_peers, utility_sets
from benchmarks.sets_peers import (
    FUNCTIONS,
    Answers,
    Error,
    Floats,
    errors,
    geometric,
    month,
    truths,
)
from benchmarks.utility_sets import PlannedSet, SetSize, error_of, split_error
from pappi.mechanisms import Contribution, PresenceClass, joint_members
from pappi.mechanisms.hull import hull_score
from pappi.planning import plan_alone, plan_set
from pappi.values import Adjacency, Bounds, Epsilon

# --- by the size of a set ----------------------------------------------------------------------


@pytest.mark.parametrize("classes", [(1,), (6,), (2, 1)])
def test_drawn_errors_are_those_that_are_predicted(classes: tuple[int, ...]) -> None:
    size = SetSize(classes, None)
    found = error_of(size, 200, Fraction(1), draws=600)
    first, *_, last = (m.predicted_error(200, 50.0) * 2 for m in (*size.members(Fraction(1)),) * 2)
    assert min(first, last) * 0.85 < found < max(first, last) * 1.15


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("epsilon", [Fraction(5, 2), Fraction(5)])
def test_drawn_shares_err_as_predicted_where_whole_steps_show(
    adjacency: Adjacency, epsilon: Fraction
) -> None:
    share = Contribution("share", Bounds(Fraction(0), Fraction(1)), integral=True)
    classes = (PresenceClass((share,) * 3, everyone=True), PresenceClass((share,), everyone=True))
    members = joint_members(classes, epsilon, adjacency)
    law = members[0].law(np.repeat([[0.0], [1.0]], 15, axis=0) @ np.ones((1, 4)))
    chance = random.Random(1).randrange  # noqa: S311
    drawn = [members[0].estimate(law.draw(chance)).value or 0.0 for _ in range(2000)]
    predicted = members[0].predicted_error(30, 0.5)
    assert math.sqrt(np.mean(np.square(np.array(drawn) - 0.5))) == pytest.approx(
        predicted, rel=0.06
    )


def test_a_split_errs_by_a_case_for_each() -> None:
    assert split_error(6, 1000, Fraction(1)) == pytest.approx(6, rel=0.02)


def planned(k: int, share: Fraction) -> PlannedSet:
    """At a share of the ε that a split is given."""
    ppis, log = utility_sets._means(k, "present", counts=True), utility_sets._log(k, 100)
    total = Epsilon.of(1)
    split = tuple(plan_alone(ppi, Epsilon(total.nano // k), log) for ppi in ppis)
    taken = plan_set(ppis, Epsilon(math.floor(total.nano * share)), log)
    return PlannedSet(k, "present", counts=True, cases=100, epsilon=total, taken=taken, split=split)


@pytest.mark.parametrize(("share", "missed"), [(Fraction(1), 0), (Fraction(1, 4), 1)])
def test_a_planner_that_takes_the_worse_is_noticed(
    share: Fraction, missed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utility_sets, "planned_sets", lambda: iter([planned(3, share)]))
    assert utility_sets._report_grid() == missed


@pytest.mark.parametrize(("limit", "missed"), [(15.0, 0), (14.9, 1)])
def test_intervals_that_are_too_wide_together_are_noticed(
    limit: float, missed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utility_sets, "CASES", ())
    monkeypatch.setattr(utility_sets, "DRAWS_TOGETHER", 40)
    monkeypatch.setattr(utility_sets, "WIDEST_TOGETHER", limit)
    assert utility_sets.report_together() == missed


def test_the_scores_of_the_limit_are_those_of_the_hull() -> None:
    classes, chance = ((2, 4), (), (6,)), np.random.default_rng(1)
    steps = np.array([1, 0.5, 1, 1, 1 / 3, 1])
    points = chance.integers(-9, 10, (200, 6))
    found = sets_limit._scores(points * steps, np.array([0, 3, 4]))
    assert found.tolist() == [hull_score(each, classes) for each in points.tolist()]


def test_no_estimator_is_better_than_the_best_for_its_weights() -> None:
    """Of two truths that make the same draws, no estimate is within less than half of both."""
    truth = np.repeat([0, 1], sets_limit.DRAWS)
    draws = sets_limit.Draws(np.ones((len(truth), 2)), truth, np.array([0.0, 1.0]))
    assert sets_limit.vector_bound(draws, draws, np.eye(2)) == pytest.approx(0.5)
    told = replace(draws, likely=9 * np.eye(2)[truth] + 1)
    assert sets_limit.vector_bound(told, told, np.eye(2)) == pytest.approx(1 / 11)


# --- beside other libraries --------------------------------------------------------------------


def shifted_by(shift: float) -> Callable[[Floats, str], Callable[[], Answers]]:
    """Answers that are off by as much, in all that it is asked."""

    def library(rows: Floats, epsilon: str) -> Callable[[], Answers]:  # noqa: ARG001
        return lambda: {name: value + shift for name, value in truths(rows).items()}

    return library


def test_errors_are_root_mean_squares_within_the_bounds() -> None:
    found = errors(shifted_by(0.25), 100, "1", runs=2)
    assert set(found) == set(FUNCTIONS)
    for error in found.values():
        assert (error.size, error.uncertainty) == pytest.approx((0.25, 0), abs=1e-9)
    beyond = errors(shifted_by(1e9), 100, "1", runs=2)
    assert beyond["share"].size < 1
    assert beyond["mean"].size < 100
    assert beyond["sum"].size == pytest.approx(1e9)


def test_the_uncertainty_of_an_error_is_that_of_its_logarithm() -> None:
    drawn = np.random.default_rng(1).normal(size=(2000, 400)) ** 2
    found = [Error.of(squares.tolist()) for squares in drawn]
    spread = np.std([math.log(error.size) for error in found])
    assert np.mean([error.uncertainty for error in found]) == pytest.approx(spread, rel=0.05)


@pytest.mark.parametrize("library", [sets_peers.ours, sets_peers.uncounted, sets_peers.opendp])
def test_a_library_is_right_where_epsilon_is_large(
    library: Callable[[Floats, str], Callable[[], Answers]],
) -> None:
    """So that its answers are about the same things in the same units."""
    rows = month(1000, 1)
    answer, truth = library(rows, "30")(), truths(rows)
    assert set(answer) == set(FUNCTIONS)
    for name, value in answer.items():
        assert value == pytest.approx(truth[name], rel=0.06, abs=0.6), name


def test_pipeline_dp_is_right_where_epsilon_is_large() -> None:
    pytest.importorskip("pipeline_dp", reason="it comes with the extra 'peers'")
    rows = month(1000, 1)
    answer, truth = sets_peers.pipeline_dp(rows, "30")(), truths(rows)
    assert [answer[n] for n in FUNCTIONS] == pytest.approx([truth[n] for n in FUNCTIONS], rel=0.1)


def test_the_month_is_the_same_for_all() -> None:
    assert np.array_equal(month(100, 3), month(100, 3))
    assert geometric([1.0, 4.0]) == pytest.approx(2)
