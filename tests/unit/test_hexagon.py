"""The hexagon: its law, its sampler, its tail, and what it gains over splitting epsilon."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pappi.errors import NotReleasable
from pappi.mechanisms import HexagonRatio, LaplaceSum, PointLaw, Values, system_randbelow
from pappi.mechanisms.grids import SUM_STEPS
from pappi.mechanisms.hexagon import HexagonLaw, hexagon_norm, hexagonal_laplace
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds
from tests.unit.test_noise import chi_square_is_plausible

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
TENTH, ONE = Fraction(1, 10), Fraction(1)
SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 2)]
CORNERS = ((1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1))
DRAWS = 1500


def ratio(
    epsilon: Fraction = TENTH,
    adjacency: Adjacency = ADD_REMOVE,
    *,
    factor: Fraction = ONE,
    bounds: Bounds = UNIT_INTERVAL,
    part: Bounds = UNIT_INTERVAL,
) -> HexagonRatio:
    return HexagonRatio(bounds, epsilon, adjacency, False, factor, part)  # noqa: FBT003


def rows(*pairs: tuple[float, float]) -> Values:
    return np.array(pairs, dtype=np.float64).reshape(-1, 2)


def noise(n: int, seed: int = 7) -> NDArray[np.float64]:
    """The continuous law of scale 1: a radius, and a point of the hexagon's edge."""
    rng = np.random.default_rng(seed)
    corners = np.array(CORNERS, dtype=np.float64)
    side, along = rng.integers(0, 6, n), rng.uniform(0, 1, (n, 1))
    edge = corners[side] * (1 - along) + corners[(side + 1) % 6] * along
    return edge * rng.gamma(2.0, 1.0, (n, 1))


def released(
    mechanism: HexagonRatio, first: float, second: float, n: int = DRAWS
) -> NDArray[np.int64]:
    """Releases around two sums, in cases, much faster than the real sampler."""
    centre = np.array([first, second]) * SUM_STEPS
    return np.rint(centre + noise(n) * float(mechanism.scale)).astype(np.int64)


# --- the law ------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
def test_probabilities_sum_to_one_and_are_symmetric(scale: Fraction) -> None:
    law, reach = HexagonLaw(0, 0, scale), range(-130, 131)
    chances = {(x, y): law.probability((x, y)) for x in reach for y in reach}
    assert sum(chances.values()) == pytest.approx(1, abs=1e-9)
    for (x, y), chance in chances.items():
        if max(abs(x), abs(y)) <= 4:
            # Turned by a sixth, by a half, and mirrored.
            for turned in ((x - y, x), (-x, -y), (y, x)):
                assert law.probability(turned) == chance


@pytest.mark.parametrize("scale", SCALES)
def test_a_point_one_step_further_out_is_less_likely_by_the_scale(scale: Fraction) -> None:
    law, fall = HexagonLaw(5, -3, scale), math.exp(-1 / scale)
    for x, y in CORNERS:
        for step in range(4):
            near, far = ((5 + step * x, -3 + step * y), (5 + (step + 1) * x, -3 + (step + 1) * y))
            assert law.probability(far) == pytest.approx(law.probability(near) * fall)


@given(*[st.integers(-6, 6)] * 4)
def test_the_loss_is_the_worst_over_all_outcomes(a: int, b: int, c: int, d: int) -> None:
    one, two = HexagonLaw(a, b, Fraction(2)), HexagonLaw(c, d, Fraction(2))
    worst = max(
        hexagon_norm(x - c, y - d) - hexagon_norm(x - a, y - b)
        for x in range(-9, 10)
        for y in range(-9, 10)
    )
    assert one.loss(two) == Fraction(worst, 2)


def test_laws_that_differ_in_more_than_their_centre_are_infinitely_far_apart() -> None:
    law = HexagonLaw(0, 0, ONE)
    assert law.loss(HexagonLaw(0, 0, TENTH)) == math.inf
    assert law.loss(PointLaw(0)) == math.inf


@pytest.mark.parametrize("adjacency", Adjacency)
def test_one_case_costs_at_most_epsilon_and_can_cost_all_of_it(adjacency: Adjacency) -> None:
    mechanism = ratio(adjacency=adjacency)
    ends = [(a, b) for a in (0.0, 1.0, math.nan, 9.0) for b in (0.0, 0.3, 1.0, math.nan, -math.inf)]
    others = [rows()] if adjacency is ADD_REMOVE else [rows(end) for end in ends]
    losses = [
        mechanism.law(rows(end)).loss(mechanism.law(other)) for end in ends for other in others
    ]
    assert max(losses) == mechanism.epsilon


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=10))
def test_any_numbers_move_the_sums_by_no_more_than_a_case(pairs: list[tuple[float, float]]) -> None:
    law = ratio().law(rows(*pairs))
    assert 0 <= law.first <= len(pairs) * SUM_STEPS
    assert 0 <= law.second <= len(pairs) * SUM_STEPS


# --- the sampler ----------------------------------------------------------------------------


@pytest.mark.outside
@pytest.mark.parametrize("scale", SCALES)
def test_draws_follow_the_law_point_by_point(scale: Fraction) -> None:
    n, law = 12_000, HexagonLaw(0, 0, scale)
    counts = Counter(hexagonal_laplace(scale, system_randbelow) for _ in range(n))
    near = [(x, y) for x in range(-12, 13) for y in range(-12, 13)]
    cells = [point for point in near if n * law.probability(point) >= 5]
    observed = [counts[point] for point in cells]
    expected = [n * law.probability(point) for point in cells]
    chances_left = n - sum(expected)
    if chances_left >= 5:
        observed, expected = [*observed, n - sum(observed)], [*expected, chances_left]
    assert chi_square_is_plausible(observed, expected)


def cells_of(drawn: NDArray[np.float64]) -> list[int]:
    """Counts by sixth of the plane and by norm, in units of the scale."""
    x, y = drawn.T
    norm = np.maximum(np.maximum(np.abs(x), np.abs(y)), np.abs(x - y))
    sixth = np.select(
        [
            (y >= 0) & (y < x),
            (x > 0) & (x <= y),
            (x <= 0) & (y > 0),
            (y <= 0) & (y > x),
            (x < 0) & (x >= y),
        ],
        range(5),
        5,
    )
    ring = np.searchsorted(RINGS, norm)
    counts = np.bincount(sixth * (len(RINGS) + 1) + ring, minlength=6 * (len(RINGS) + 1))
    return [int(count) for count in counts]


RINGS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


def expected_cells(n: int) -> list[float]:
    tail = [1.0, *((1 + r) * math.exp(-r) for r in RINGS), 0.0]
    return [n / 6 * (tail[i] - tail[i + 1]) for _ in range(6) for i in range(len(RINGS) + 1)]


def test_real_releases_follow_the_law() -> None:
    mechanism = ratio()
    values = rows(*[(1, 1)] * 3)
    drawn = np.array([mechanism.release(values) for _ in range(5000)], dtype=np.float64)
    observed = cells_of((drawn - 3 * SUM_STEPS) / float(mechanism.scale))
    assert chi_square_is_plausible(observed, expected_cells(5000))


def test_the_bulk_draws_of_these_tests_follow_the_law_and_the_test_notices_less_noise() -> None:
    assert chi_square_is_plausible(cells_of(noise(20_000)), expected_cells(20_000))
    assert not chi_square_is_plausible(cells_of(0.9 * noise(20_000)), expected_cells(20_000))


# --- estimates and intervals ------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.7, 1.0, 0.5 + 1e-10])
def test_the_tail_is_what_draws_show(p: float) -> None:
    mechanism, drawn = ratio(), noise(200_000)
    away = np.abs((1 - p) * drawn[:, 0] - p * drawn[:, 1])
    for t in (0.0, 0.3, 1.0, 2.0, 4.0):
        tail = mechanism._tail(t * float(mechanism.scale), p)
        assert np.mean(away > t) == pytest.approx(tail, abs=5 * math.sqrt(0.25 / 200_000))


def test_the_threshold_of_the_tail_is_convex() -> None:
    """What makes the rejected ratios an interval, so that bisection finds the hull."""
    mechanism = ratio()

    def threshold(p: float) -> float:
        low, high = 0.0, 20.0
        for _ in range(50):
            middle = (low + high) / 2
            above = mechanism._tail(middle * float(mechanism.scale), p) >= 0.05
            low, high = (middle, high) if above else (low, middle)
        return low

    heights = np.array([threshold(p) for p in np.linspace(0, 1, 101)])
    assert np.diff(heights, 2).min() > -1e-9


@pytest.mark.parametrize(
    ("first", "second"), [(300, 600), (600, 300), (50, 1000), (1000, 1000), (80, 100)]
)
def test_intervals_cover_as_often_as_they_say(first: float, second: float) -> None:
    mechanism = ratio()
    ends = [
        mechanism.interval((int(a), int(b)), 0.95) for a, b in released(mechanism, first, second)
    ]
    covered = np.mean([low <= first / second <= high for low, high in ends])
    assert 0.93 < covered < 0.985


@pytest.mark.parametrize(("first", "second"), [(0, 500), (0, 5), (3, 5), (20, 2), (40, 20)])
def test_intervals_cover_without_a_numerator_and_with_hardly_a_denominator(
    first: float, second: float
) -> None:
    mechanism = ratio()
    ends = [
        mechanism.interval((int(a), int(b)), 0.95) for a, b in released(mechanism, first, second)
    ]
    covered = np.mean([low <= first / second <= high for low, high in ends])
    assert covered > 0.935
    if second == 500:
        assert covered < 0.985
    if second <= 5:
        assert np.mean([math.isinf(high) for _, high in ends]) > 0.5


def test_the_estimate_is_the_ratio_of_the_sums_and_inside_its_interval() -> None:
    mechanism = ratio(ONE, factor=Fraction(100), part=Bounds(Fraction(0), Fraction(5)))
    law = mechanism.law(rows(*[(2, 0.5)] * 100, (9, math.nan), (math.nan, 7)))
    noiseless = (law.first, law.second)
    assert mechanism.estimate(noiseless).value == pytest.approx(100 * 205 / 51)
    for a, b in released(mechanism, 40, 50, 200):
        low, high = mechanism.interval((int(a), int(b)), 0.8)
        value = mechanism.estimate((int(a), int(b))).value
        assert value is not None
        assert low * (1 - 1e-9) <= value <= high * (1 + 1e-9)


@pytest.mark.parametrize("second", [0, -1, -(10**15)])
def test_without_a_denominator_there_is_no_estimate(second: int) -> None:
    for first in (-5, 0, 10**12):
        assert ratio().estimate((first, second)).value is None
        low, high = ratio().interval((first, second), 0.95)
        assert 0 <= low < 1e-3
        assert math.isinf(high)


def test_a_negative_factor_turns_the_interval_around() -> None:
    noisy = (30 * SUM_STEPS, 60 * SUM_STEPS)
    low, high = ratio(ONE).interval(noisy, 0.95)
    assert ratio(ONE, factor=-ONE).interval(noisy, 0.95) == (-high, -low)


@pytest.mark.parametrize("limit", [math.inf, -math.inf, -1.0, 0.0, 1e300])
def test_any_limit_has_a_chance(limit: float) -> None:
    for factor in (ONE, -ONE):
        chance = ratio(factor=factor).chance_at_most((30 * SUM_STEPS, 60 * SUM_STEPS), limit)
        assert 0 <= chance <= 1


def test_sums_that_may_be_negative_are_refused() -> None:
    signed = Bounds(Fraction(-1), Fraction(1))
    with pytest.raises(NotReleasable, match="negative"):
        ratio(bounds=signed)
    with pytest.raises(NotReleasable, match="negative"):
        ratio(part=signed)


def split_error(epsilon: Fraction, first: float, second: float, n: int) -> float:
    """Of two sums with half of epsilon each."""
    half = LaplaceSum(UNIT_INTERVAL, epsilon / 2, ADD_REMOVE, integral=False)
    rng = np.random.default_rng(5)
    scale = float(half.scale * half.lattice.step)
    a, b = first + rng.laplace(0, scale, n), second + rng.laplace(0, scale, n)
    return float(np.sqrt(np.mean((np.maximum(a, 0) / b - first / second) ** 2)))


@pytest.mark.parametrize(("share", "gain"), [(0.1, 1.1), (0.5, 1.3), (1.0, 1.5)])
def test_the_error_is_smaller_than_that_of_two_sums_and_as_predicted(
    share: float, gain: float
) -> None:
    n, second, mechanism = 20_000, 1000, ratio()
    found = released(mechanism, share * second, second, n)
    values = [mechanism.estimate((int(a), int(b))).value for a, b in found]
    error = math.sqrt(np.mean([(value - share) ** 2 for value in values if value is not None]))
    assert split_error(TENTH, share * second, second, n) / error > gain
    # Every case has 1 of the denominator, twice the middle of its bounds that is assumed.
    assert mechanism.predicted_error(2 * second, share) == pytest.approx(error, rel=0.1)
