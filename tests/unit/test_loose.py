"""Loose bounds: the geometric grid, and extremes and quantiles on it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.audit import JointRelease, neighbours
from pappi.errors import NotReleasable
from pappi.mechanisms import (
    GeometricGrid,
    LooseMinimum,
    Looseness,
    LooseQuantile,
    Mechanism,
    RankedMaximum,
    StepLaw,
    Values,
    mechanism_for,
)
from pappi.mechanisms.laws import falling_weights
from pappi.values import Adjacency, Bounds

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
THOUSAND = Bounds(Fraction(0), Fraction(1000))
SHIFTED = Bounds(Fraction(-7), Fraction(3, 2))
TENTH, ONE = Fraction(1, 10), Fraction(1)
FUNCTIONS = ["max", "min", "median", "p90"]

Loose = RankedMaximum | LooseMinimum | LooseQuantile


def array(*values: float) -> Values:
    return np.array(values, dtype=np.float64)


def loose(
    function: str,
    epsilon: Fraction = ONE,
    adjacency: Adjacency = ADD_REMOVE,
    bounds: Bounds = THOUSAND,
    octaves: int = 3,
) -> Loose:
    mechanism = mechanism_for(
        function, bounds, epsilon, adjacency, integral=False, loose=Looseness(octaves)
    )
    assert isinstance(mechanism, RankedMaximum | LooseMinimum | LooseQuantile)
    return mechanism


# --- the grid -------------------------------------------------------------------------------

GRIDS = [
    GeometricGrid(bounds, octaves, steps)
    for bounds in (THOUSAND, SHIFTED, Bounds(Fraction(0), Fraction(2**50)))
    for octaves, steps in ((1, 1), (3, 16), (10, 2), (60, 2))
]


@pytest.mark.parametrize("grid", GRIDS)
def test_points_rise_by_a_fixed_percentage_and_end_at_the_high_bound(grid: GeometricGrid) -> None:
    points = [grid.exact(k) for k in range(grid.highest + 1)]
    low, width = grid.bounds.low, grid.bounds.width
    assert points[-1] == grid.bounds.high
    assert points[0] == low + width / 2**grid.octaves
    assert all(below < above for below, above in pairwise(points))
    for below, above in pairwise(points):
        assert float((above - low) / (below - low)) == pytest.approx(
            2 ** (1 / grid.steps), rel=1e-5
        )
    assert grid.points.tolist() == [float(point) for point in points]
    assert [grid.value(k) for k in range(grid.highest + 1)] == grid.points.tolist()


@pytest.mark.parametrize("grid", GRIDS)
def test_a_cell_holds_exactly_the_values_that_snap_to_its_point(grid: GeometricGrid) -> None:
    cells = [grid.cell(k) for k in range(grid.highest + 1)]
    assert (cells[0][0], cells[-1][1]) == (float(grid.bounds.low), float(grid.bounds.high))
    for (_, top), (bottom, _) in pairwise(cells):
        assert top == bottom
    for k, (low, high) in enumerate(cells):
        if low < high:
            # Near a bound far from zero, points are closer together than floats are.
            just_above = np.nextafter(low, math.inf)
            inside = array(just_above, max((low + high) / 2, just_above), high)
            assert set(grid.snap(inside).tolist()) == {k}
            assert low <= grid.value(k) <= high
        if k < grid.highest:
            assert grid.snap(array(np.nextafter(high, math.inf)))[0] > k


@pytest.mark.parametrize("grid", GRIDS)
def test_every_point_snaps_to_itself_and_the_rest_to_the_nearest(grid: GeometricGrid) -> None:
    if len(set(grid.points.tolist())) == grid.highest + 1:
        assert grid.snap(grid.points).tolist() == list(range(grid.highest + 1))
    low, high = float(grid.bounds.low), float(grid.bounds.high)
    values = np.random.default_rng(4).uniform(low, high, 200)
    nearest = np.abs(np.subtract.outer(values, grid.points)).min(axis=1)
    assert np.abs(values - grid.points[grid.snap(values)]) == pytest.approx(nearest)


@given(
    st.sampled_from(GRIDS),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=20),
)
def test_snapping_is_total_and_keeps_the_order(grid: GeometricGrid, values: list[float]) -> None:
    found = grid.snap(np.sort(array(*values)))
    assert len(found) == sum(not math.isnan(v) for v in values)
    assert (np.diff(found) >= 0).all()
    assert ((found >= 0) & (found <= grid.highest)).all()


# --- the laws -------------------------------------------------------------------------------


def by_definition(mechanism: Loose, seen: list[int], z: int) -> int:
    below, above, n = sum(x < z for x in seen), sum(x > z for x in seen), len(seen)
    if isinstance(mechanism, RankedMaximum):
        return abs(above - math.ceil(20 / mechanism.epsilon))
    if isinstance(mechanism, LooseMinimum):
        return max(0, below - 1)
    a = mechanism.level
    s = Fraction(1) if mechanism.adjacency is REPLACE else max(a, 1 - a)
    return math.ceil(max(Fraction(0), below - a * n, above - (1 - a) * n) / s)


def nearest(grid: GeometricGrid, value: float) -> int:
    inside = min(max(value, float(grid.bounds.low)), float(grid.bounds.high))
    return min(range(grid.highest + 1), key=lambda k: (abs(inside - grid.value(k)), k))


@pytest.mark.parametrize("bounds", [THOUSAND, SHIFTED])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_law_is_that_of_the_definition_at_every_point(
    function: str, adjacency: Adjacency, bounds: Bounds
) -> None:
    mechanism = loose(function, ONE, adjacency, bounds)
    rate = ONE if function == "min" else ONE / 2
    assert mechanism.rate == rate
    grid, weights = mechanism.lattice, falling_weights(rate, 90)
    rng = np.random.default_rng(6)
    sets = [[], [math.nan], [0.0, math.inf, -math.inf], rng.gamma(1, 100, 60).tolist(), [1.0] * 25]
    for values in sets:
        law = mechanism.law(array(*values))
        seen = [nearest(grid, v) for v in values if not math.isnan(v)]
        for z in range(grid.highest + 1):
            assert law.weight(z) == weights[by_definition(mechanism, seen, z)]
        assert sum(law.exact_probability(z) for z in range(grid.highest + 1)) == 1


@given(
    st.sampled_from(FUNCTIONS),
    st.sampled_from(list(Adjacency)),
    st.sampled_from([TENTH, ONE, Fraction(5)]),
    st.lists(st.floats(allow_nan=True) | st.floats(0, 1000), max_size=30),
)
def test_no_neighbour_is_further_away_than_epsilon(
    function: str, adjacency: Adjacency, epsilon: Fraction, values: list[float]
) -> None:
    mechanism: Mechanism = loose(function, epsilon, adjacency)
    release, data = JointRelease((mechanism,)), tuple((value,) for value in values)
    law = release.law(data)
    for other in neighbours(data, adjacency, [(0.0,), (300.0,), (1e9,), (math.nan,)]):
        assert law.loss(release.law(other)) <= epsilon


def test_the_ranked_maximum_is_near_the_value_that_so_many_exceed() -> None:
    mechanism = loose("max")
    assert isinstance(mechanism, RankedMaximum)
    assert mechanism.rank == 20
    values = 125 + 875 * np.arange(2000) / 2000
    law = mechanism.law(values)
    grid, answer = mechanism.lattice, np.sort(values)[-20]
    near = [k for k in range(grid.highest + 1) if 0.9 < grid.value(k) / answer < 1.1]
    assert sum(law.probability((k,)) for k in near) > 0.99


def test_a_ranked_maximum_leaves_the_top_open_and_never_claims_to_be_the_largest() -> None:
    mechanism = loose("max")
    for z in range(mechanism.lattice.highest + 1):
        low, high = mechanism.interval((z,), 0.95)
        assert low <= mechanism.lattice.value(z) <= high == 1000
        assert mechanism.chance_at_most((z,), 999.0) <= 0.5
        assert mechanism.chance_at_most((z,), 1000.0) == 1


@pytest.mark.parametrize("function", FUNCTIONS)
def test_intervals_cover_at_least_as_often_as_they_say_whatever_the_data(function: str) -> None:
    mechanism = loose(function)
    highest = mechanism.lattice.highest
    intervals = [mechanism.interval((z,), 0.95) for z in range(highest + 1)]
    for values in (array(3), array(990, 991), np.linspace(200, 900, 80), np.full(50, 130.0)):
        law = mechanism.law(values)
        assert isinstance(law, StepLaw)
        answer = {"max": values.max(), "min": values.min()}.get(function)
        if answer is None:
            level = 0.5 if function == "median" else 0.9
            answer = np.quantile(values, level, method="inverted_cdf")
        holding = [z for z, (low, high) in enumerate(intervals) if low <= answer <= high]
        assert float(sum(law.exact_probability(z) for z in holding)) >= 0.95


@pytest.mark.parametrize("function", FUNCTIONS)
def test_predicted_errors_shrink_with_the_cases(function: str) -> None:
    mechanism = loose(function, TENTH, octaves=10)
    errors = [mechanism.predicted_error(n, None) for n in (0, 300, 2000)]
    assert all(0 <= error <= 1000 for error in errors)
    assert errors[2] < errors[0] / 3


@pytest.mark.parametrize("function", ["min", "median", "p90"])
def test_a_grid_of_few_octaves_has_a_predicted_error_too(function: str) -> None:
    """All imagined values are then at its low end, and many of them leave little error there."""
    assert loose(function, ONE, octaves=3).predicted_error(2000, None) < 30


def test_a_maximum_that_is_none_is_refused() -> None:
    with pytest.raises(NotReleasable, match="cases exceed"):
        loose("max", Fraction(1, 10_000))


@pytest.mark.parametrize("function", ["max", "min", "median"])
def test_values_that_may_be_negative_need_bounds(function: str) -> None:
    with pytest.raises(NotReleasable, match="negative"):
        mechanism_for(
            function,
            THOUSAND,
            ONE,
            ADD_REMOVE,
            integral=False,
            loose=Looseness(3, either_sign=True),
        )
