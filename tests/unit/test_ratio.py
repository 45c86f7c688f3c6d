"""The two-bin ratio: a part of a whole, from one epsilon."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.audit import Column, audit_joint, steered_by
from pappi.errors import DefinitionError, NotReleasable
from pappi.mechanisms import TwoBinRatio
from pappi.ppinot import parse_catalogue
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds

TWO = Bounds(Fraction(0), Fraction(2))
HOURS = Bounds(Fraction(0), Fraction(36 * 10**8))


def ratio(
    bounds: Bounds = TWO,
    epsilon: Fraction = Fraction(1, 10),
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    *,
    integral: bool = True,
    part: Bounds | None = None,
) -> TwoBinRatio:
    return TwoBinRatio(bounds, epsilon, adjacency, integral, Fraction(100), part or bounds)


def rows(*pairs: tuple[float, float]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array(pairs, dtype=np.float64).reshape(-1, 2)


def test_without_noise_it_is_the_ratio_of_the_sums() -> None:
    mechanism = ratio()
    assert mechanism.statistics(rows((1, 1), (0, 1), (1, 2), (0, 0))) == (2, 2)
    assert mechanism.estimate((2, 2)).value == 50


def test_a_part_beyond_its_whole_is_cut_off() -> None:
    assert ratio().statistics(rows((5, 1), (-3, 1), (1, 0), (9, 9))) == (3, 1)


def test_a_part_beyond_its_own_bounds_is_cut_off_too() -> None:
    five, two = Bounds(Fraction(0), Fraction(5)), Bounds(Fraction(0), Fraction(2))
    assert ratio(five, part=two).statistics(rows((5, 5), (1, 5))) == (3, 7)


def test_a_case_without_a_whole_counts_for_nothing() -> None:
    assert ratio().statistics(rows((1, np.nan), (np.nan, 1), (np.nan, np.nan))) == (0, 1)


def test_a_part_may_be_nothing_where_its_whole_may_not() -> None:
    mechanism = ratio(Bounds(Fraction(1), Fraction(5)), part=Bounds(Fraction(0), Fraction(5)))
    assert mechanism.statistics(rows(*[(0, 5)] * 100)) == (0, 500)
    assert mechanism.statistics(rows((0, 0), (9, 9))) == (5, 1)


def test_no_cases_at_all_is_the_middle() -> None:
    assert ratio().statistics(np.empty((0, 2))) == (0, 0)
    assert ratio().estimate((0, -3)).value == 50


def test_a_negative_whole_is_refused() -> None:
    with pytest.raises(NotReleasable, match="negative"):
        ratio(Bounds(Fraction(-1), Fraction(1)))


@pytest.mark.outside
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize(("bounds", "integral"), [(TWO, True), (HOURS, False)])
def test_the_exact_audit_passes(bounds: Bounds, adjacency: Adjacency, *, integral: bool) -> None:
    mechanism = ratio(bounds, adjacency=adjacency, integral=integral)
    report = audit_joint(
        [mechanism],
        [Column(bounds), Column(bounds)],
        adjacency=adjacency,
        epsilon=mechanism.epsilon,
        draw=steered_by(1),
        pairs=4_000,
    )
    assert report.passed, report.failure
    assert report.worst == mechanism.epsilon


class Uncut(TwoBinRatio):
    """Planted: trusts that the part is within its whole."""

    def statistics(
        self, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    ) -> tuple[int, int]:
        present = np.nan_to_num(np.clip(values.reshape(-1, 2), 0, 2))
        first = int(present[:, 0].sum())
        return first, int(present[:, 1].sum()) - first


def test_trusting_the_part_to_be_within_its_whole_is_caught() -> None:
    one = Fraction(1)
    fault = Uncut(TWO, one / 10, Adjacency.ADD_REMOVE, integral=True, factor=one, part=TWO)
    report = audit_joint(
        [fault],
        [Column(TWO), Column(TWO)],
        adjacency=Adjacency.ADD_REMOVE,
        epsilon=Fraction(1, 10),
        draw=steered_by(1),
        pairs=2_000,
    )
    assert report.worst > Fraction(1, 10)
    assert not report.passed


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=20))
def test_any_numbers_give_integers_in_range(pairs: list[tuple[float, float]]) -> None:
    first, second = ratio().statistics(rows(*pairs))
    assert first >= 0
    assert second >= 0
    assert first + second <= 2 * len(pairs)


def test_intervals_cover_and_the_predicted_error_is_right() -> None:
    mechanism = ratio(UNIT_INTERVAL)
    values = rows(*[(1, 1)] * 60 + [(0, 1)] * 140)
    drawn = [mechanism.release(values) for _ in range(4_000)]
    covered = np.mean(
        [low <= 30 <= high for low, high in (mechanism.interval(d, 0.95) for d in drawn)]
    )
    assert 0.93 < covered < 0.985
    found = [mechanism.estimate(d).value for d in drawn]
    error = np.sqrt(np.mean([(value - 30) ** 2 for value in found if value is not None]))
    # Every case has a whole of 1, twice the middle of its bounds that is assumed.
    assert mechanism.predicted_error(400, 30) == pytest.approx(error, rel=0.12)


def test_within_must_name_another_sum_of_the_formula() -> None:
    text = """
log: l
ppis:
  - id: p
    measure:
      derive: a / b
      a: {sum: {count: activity == "A"}, within: c}
      b: {sum: {count: activity == "B"}}
    bounds: {a: [0, 1], b: [0, 1]}
"""
    with pytest.raises(DefinitionError, match="another sum of this formula, not 'c'"):
        parse_catalogue(text)
    parse_catalogue(text.replace("within: c", "within: b"))
