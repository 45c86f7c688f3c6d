"""The benchmarks of sets measure what is released, and notice what is worse."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from benchmarks import sets_peers, utility_sets
from benchmarks.sets_peers import FUNCTIONS, Answers, Floats, errors, geometric, month, truths
from benchmarks.utility_sets import PlannedSet, SetSize, error_of, split_error
from pappi.planning import plan_ppi, plan_set
from pappi.values import Epsilon

# --- by the size of a set ----------------------------------------------------------------------


@pytest.mark.parametrize("classes", [(1,), (6,), (2, 1)])
def test_drawn_errors_are_those_that_are_predicted(classes: tuple[int, ...]) -> None:
    size = SetSize(classes, None)
    found = error_of(size, 200, Fraction(1), draws=600)
    first, *_, last = (m.predicted_error(200, 50.0) * 2 for m in (*size.members(Fraction(1)),) * 2)
    assert min(first, last) * 0.85 < found < max(first, last) * 1.15


def test_a_split_errs_by_a_case_for_each() -> None:
    assert split_error(6, 1000, Fraction(1)) == pytest.approx(6, rel=0.02)


def planned(k: int, share: Fraction) -> PlannedSet:
    """At a share of the ε that a split is given."""
    ppis, log, total = utility_sets._means(k, "present"), utility_sets._log(k, 100), Epsilon.of(1)
    split = tuple(plan_ppi(ppi, Epsilon(total.nano // k), log) for ppi in ppis)
    taken = plan_set(ppis, Epsilon(math.floor(total.nano * share)), log)
    return PlannedSet(k, "present", 100, total, taken, split)


@pytest.mark.parametrize(("share", "missed"), [(Fraction(1), 0), (Fraction(1, 4), 1)])
def test_a_planner_that_takes_the_worse_is_noticed(
    share: Fraction, missed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utility_sets, "planned_sets", lambda: iter([planned(3, share)]))
    assert utility_sets._report_grid() == missed


# --- beside other libraries --------------------------------------------------------------------


def shifted_by(shift: float) -> Callable[[Floats, str], Callable[[], Answers]]:
    """Answers that are off by as much, in all that it is asked."""

    def library(rows: Floats, epsilon: str) -> Callable[[], Answers]:  # noqa: ARG001
        return lambda: {name: value + shift for name, value in truths(rows).items()}

    return library


def test_errors_are_root_mean_squares_within_the_bounds() -> None:
    found = errors(shifted_by(0.25), 100, "1", runs=2)
    assert found == pytest.approx(dict.fromkeys(FUNCTIONS, 0.25))
    beyond = errors(shifted_by(1e9), 100, "1", runs=2)
    assert beyond["share"] < 1
    assert beyond["mean"] < 100
    assert beyond["sum"] == pytest.approx(1e9)


@pytest.mark.parametrize("library", [sets_peers.ours, sets_peers.opendp])
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
