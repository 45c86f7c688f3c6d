"""Every mechanism passes the exact audit, for every function, adjacency and kind of data."""

from __future__ import annotations

import math
import os
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from pappi.audit import AuditReport, Column, Draw, audit_joint, audit_mechanism, handmade
from pappi.audit.neighbours import neighbours
from pappi.mechanisms import MECHANISMS, mechanism_for, mechanisms_of
from pappi.values.bounds import UNIT_INTERVAL, Bounds
from pappi.values.privacy import Adjacency

# `make audit` asks for many more.
PAIRS = int(os.environ.get("PAPPI_AUDIT_PAIRS", "2000"))
EPSILON = Fraction(3, 10)
HUNDRED = Bounds(Fraction(0), Fraction(100))
SIGNED = Bounds(Fraction(-100), Fraction(10))
FAR = Bounds(Fraction(10**13), Fraction(10**13 + 86_400))
VALUES = [(SIGNED, False), (SIGNED, True), (FAR, False)]
KINDS = sorted(handmade([Column(UNIT_INTERVAL)]))
PROMISES = [(f, name) for f in sorted((*MECHANISMS, "p90")) for name in mechanisms_of(f)]


def seeded(seed: int) -> Draw:
    rng = np.random.default_rng(seed)
    return lambda n: int(rng.integers(n))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize(("function", "name"), PROMISES)
def test_no_neighbour_is_further_away_than_epsilon(
    function: str, name: str, adjacency: Adjacency, kind: str
) -> None:
    # The interval mechanism sees lattice points alone, which are the same far from zero.
    values = VALUES[:2] if name == "interval" else VALUES
    for bounds, integral in [(UNIT_INTERVAL, True)] if function == "share" else values:
        column = Column(bounds, target=float(bounds.low) + 0.25)
        report = audit_mechanism(
            mechanism_for(function, bounds, EPSILON, adjacency, integral=integral, name=name),
            column,
            adjacency=adjacency,
            epsilon=EPSILON,
            draw=seeded(len(kind)),
            pairs=PAIRS,
            starts=handmade([column])[kind],
        )
        assert report.passed, report.failure
        assert report.pairs >= PAIRS


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize(("function", "name"), PROMISES)
def test_some_neighbour_is_as_far_away_as_epsilon(
    function: str, name: str, adjacency: Adjacency
) -> None:
    """Not a bit of noise is wasted, and the audit finds the worst case exactly.

    The interval mechanism has no worst case, only pairs that come as close as one likes.
    """
    column = Column(UNIT_INTERVAL)
    interval = name == "interval"
    report = audit_mechanism(
        mechanism_for(function, UNIT_INTERVAL, EPSILON, adjacency, integral=False, name=name),
        column,
        adjacency=adjacency,
        epsilon=EPSILON,
        draw=seeded(3),
        starts=handmade([column])["single"] if interval else None,
    )
    assert report.passed
    assert report.worst > EPSILON * 19 / 20 if interval else report.worst == EPSILON


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_functions_released_together_pass_with_a_split_epsilon(adjacency: Adjacency) -> None:
    report = _audit_together(adjacency, [EPSILON / 3, EPSILON / 2, EPSILON / 6])
    assert report.passed, report.failure
    assert report.worst == EPSILON
    assert report.mechanism == "laplace + two-bin + laplace"


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_functions_released_together_fail_when_each_takes_the_whole_epsilon(
    adjacency: Adjacency,
) -> None:
    report = _audit_together(adjacency, [EPSILON] * 3)
    assert not report.passed
    assert report.worst == 3 * EPSILON


TOGETHER = [("sum", "laplace"), ("mean", "two-bin"), ("max", "laplace")]


def _audit_together(adjacency: Adjacency, split: list[Fraction]) -> AuditReport:
    bounds = [SIGNED, HUNDRED, HUNDRED]
    mechanisms = [
        mechanism_for(function, bound, epsilon, adjacency, integral=False, name=name)
        for (function, name), bound, epsilon in zip(TOGETHER, bounds, split, strict=True)
    ]
    return audit_joint(
        mechanisms,
        [Column(bound) for bound in bounds],
        adjacency=adjacency,
        epsilon=EPSILON,
        draw=seeded(1),
    )


def test_neighbours_are_all_the_ways_in_which_one_case_differs() -> None:
    data, rows = ((1.0,), (2.0,)), ((9.0,),)
    assert list(neighbours(data, Adjacency.ADD_REMOVE, rows)) == [
        ((2.0,),),
        ((1.0,),),
        ((1.0,), (2.0,), (9.0,)),
    ]
    replaced = list(neighbours(data, Adjacency.REPLACE, rows))
    assert all(len(other) == 2 for other in replaced)
    assert ((9.0,), (2.0,)) in replaced
    assert ((1.0,), (9.0,)) in replaced
    assert ((2.0,), (2.0,)) in replaced


def test_the_corners_hold_bounds_target_outliers_and_missing_values() -> None:
    corners = Column(HUNDRED, target=30).corners
    step = 100 / 2**20
    for value in (0, 100, 50, 30, 30 - step, 30 + step, -100, 200, 1e300, -1e300, math.inf):
        assert value in corners
    assert any(math.isnan(value) for value in corners)


@pytest.mark.parametrize(
    ("function", "name"), [*TOGETHER, ("max", "interval"), ("median", "interval")]
)
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_releases_follow_the_law_that_was_audited(
    function: str, name: str, adjacency: Adjacency
) -> None:
    """Layer 2: chi-square of the real sampler through `release`, at p = 10⁻⁶."""
    bounds = Bounds(Fraction(0), Fraction(2))
    mechanism = mechanism_for(function, bounds, Fraction(2), adjacency, integral=True, name=name)
    values = np.array([0.0, 1.0, 2.0, 2.0])
    law, n = mechanism.law(values), 8000
    counts = Counter(mechanism.release(values) for _ in range(n))
    likely = [outcome for outcome in counts if n * law.probability(outcome) >= 5]
    expected = [n * law.probability(outcome) for outcome in likely]
    observed = [counts[outcome] for outcome in likely]
    cells = list(zip(observed, expected, strict=True))
    if n - sum(expected) >= 1:  # outcomes too rare to count one by one
        cells.append((n - sum(observed), n - sum(expected)))
    else:
        assert sum(observed) == n
    statistic = sum((o - e) ** 2 / e for o, e in cells)
    spread = 2 / (9 * (len(cells) - 1))
    deviate = (math.cbrt(statistic / (len(cells) - 1)) - (1 - spread)) / math.sqrt(spread)
    assert deviate < 4.75
