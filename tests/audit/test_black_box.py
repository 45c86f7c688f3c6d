"""Layer 3: what answers betray, through the real checkpoint and by statistics alone."""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np
import pytest

from pappi.audit import (
    BlackBoxQuery,
    BlackBoxReport,
    Samples,
    audit_samples,
    standard_query,
    subjects_named,
)
from pappi.mechanisms import TwoBin
from pappi.session import audit_query
from pappi.session.black_box import MOST_SAMPLES
from pappi.values import Adjacency
from tests.lengths import length

FEWEST_SAMPLES = 2_000  # with less no audit passes
LONG = "PAPPI_AUDIT_SAMPLES" in os.environ
SAMPLES = MOST_SAMPLES if LONG else length(FEWEST_SAMPLES, MOST_SAMPLES)
ONE = Fraction(1)
# Without `make audit`: a fine lattice, and the calibration of replace.
SOME = [
    ("two-bin", "mean", Adjacency.ADD_REMOVE),
    ("joint", "mean", Adjacency.ADD_REMOVE),
    ("interval", "max", Adjacency.REPLACE),
]


def question(mechanism: str, function: str, adjacency: Adjacency) -> BlackBoxQuery:
    asked = standard_query(mechanism, function, adjacency, ONE)
    assert asked is not None
    return asked


QUESTIONS = (
    [q for subject in subjects_named("all") for q in subject.queries]
    if LONG
    else [question(*one) for one in SOME]
)


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda q: f"{q.mechanism} {q.measure}")
def test_answers_tell_neighbours_apart_by_no_more_than_epsilon(asked: BlackBoxQuery) -> None:
    report = audit_query(asked, SAMPLES)
    assert report.passed, report.failure
    assert report.skipped or report.samples == SAMPLES


def test_half_the_noise_is_caught_through_the_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    scales = TwoBin.scales.fget  # type: ignore[attr-defined]
    halved = property(lambda self: tuple(scale and scale / 2 for scale in scales(self)))
    monkeypatch.setattr(TwoBin, "scales", halved)
    report = audit_query(question("two-bin", "mean", Adjacency.ADD_REMOVE), SAMPLES)
    assert not report.passed
    assert report.lower_bound is not None
    assert 1 < report.lower_bound < 2


def test_what_the_planner_does_not_choose_is_said_to_be_skipped() -> None:
    report = audit_query(question("laplace", "mean", Adjacency.ADD_REMOVE), 2)
    assert report.skipped == "the planner uses another mechanism for this: two-bin"
    assert report.lower_bound is None


def test_a_broken_release_fails_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("secret 42")

    monkeypatch.setattr("pappi.engine.cases.opened", fail)
    report = audit_query(question(*SOME[0]), 2)
    assert report.failure == "the audit stopped with ReleaseFailed"


# --- the statistics alone -------------------------------------------------------------


def noisy(centre: float, scale: float, samples: int = 20_000, seed: int = 1) -> Samples:
    drawn = np.random.default_rng(seed).laplace(centre, scale, (samples, 1))
    return np.asarray(drawn.round(3))


def audited(first: Samples, second: Samples, epsilon: Fraction = ONE) -> BlackBoxReport:
    return audit_samples(first, second, epsilon)


def test_the_bound_comes_close_to_the_true_epsilon_from_below() -> None:
    report = audited(noisy(0, 1), noisy(1, 1, seed=2))
    assert report.passed
    assert report.lower_bound is not None
    assert 0.7 < report.lower_bound <= 1


def test_a_bound_above_epsilon_fails() -> None:
    report = audited(noisy(0, 1), noisy(1, 1, seed=2), Fraction(1, 2))
    assert not report.passed
    assert "by at least" in str(report.failure)


def test_an_atom_that_only_one_side_has_is_found() -> None:
    first, second = noisy(0, 1), noisy(0, 1, seed=2)
    first[::5] = 12.5  # the exact maximum, printed one time in five
    report = audited(first, second)
    assert report.lower_bound is not None
    assert report.lower_bound > 4


def test_the_same_data_gives_a_bound_of_nothing() -> None:
    bounds = [audited(noisy(0, 1, seed=s), noisy(0, 1, seed=s + 50)).lower_bound for s in range(20)]
    assert bounds == pytest.approx([0] * 20, abs=0.1)


def test_a_scale_that_depends_on_the_number_of_cases_passes_the_black_box_alone() -> None:
    """The blind spot: the loss is infinite, but only outputs far out would show it.

    `ScaleFromTheNumberOfCases`, among the planted faults, is this mechanism; the exact layer
    catches it. Here a mean of 100 values within [0, 1] loses one of them.
    """
    first, second = noisy(0.5, 1 / 100, 100_000), noisy(0.5, 1 / 99, 100_000, seed=2)
    report = audited(first, second, ONE)
    assert report.passed
    assert report.lower_bound is not None
    assert report.lower_bound < 0.5


def flat(value: float, samples: int = 2000) -> Samples:
    return np.full((samples, 1), value)


@pytest.mark.parametrize(
    ("first", "second", "failure"),
    [
        (noisy(0, 1, 1999), noisy(0, 1, 5000), "only 1999 samples a side"),
        (flat(math.nan), noisy(0, 1), "not a number"),
        (noisy(0, 1), flat(math.nan), "not a number"),
        (flat(1), flat(2), "there is no noise"),
        (flat(math.inf), flat(2), "there is no noise"),
        (flat(1), flat(1), "nothing was tested"),
    ],
)
def test_samples_that_cannot_be_judged_fail(first: Samples, second: Samples, failure: str) -> None:
    report = audited(first, second)
    assert not report.passed
    assert failure in str(report.failure)
