"""Sample and aggregate: one case touches one bucket, whatever the formula does."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.errors import UsageError
from pappi.mechanisms import RANGE_STEPS, SampleAndAggregate, Values
from pappi.mechanisms.mechanism import Formula
from pappi.values import Adjacency, Bounds

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
RANGE = Bounds(Fraction(-2), Fraction(6))
ONE = Fraction(1)
MIDDLE = 2.0


def quotient(rows: Values) -> float | None:
    """Of a median by a sum: nothing bounds what one case does to it."""
    present = rows[~np.isnan(rows).any(axis=1)]
    if not len(present):
        return None
    with np.errstate(all="ignore"):
        return float(np.median(present[:, 0]) / present[:, 1].sum())


def sampled(
    formula: Formula = quotient, buckets: int = 4, adjacency: Adjacency = ADD_REMOVE
) -> SampleAndAggregate:
    return SampleAndAggregate(RANGE, ONE, adjacency, False, formula, 2, buckets)  # noqa: FBT003


def rows(*cases: tuple[float, float, float]) -> Values:
    return np.array(cases, dtype=np.float64).reshape(-1, 3)


def points_of(results: list[float]) -> int:
    """The sum of the buckets' results on the lattice, by definition."""
    return sum(round((min(max(r, -2.0), 6.0) + 2) / 8 * RANGE_STEPS) for r in results)


def test_the_formula_is_evaluated_in_every_bucket_and_cut_to_the_range() -> None:
    cases = rows((8, 1, 0), (2, 1, 0), (30, 1, 1), (-90, 1, 2), (3, 2, 3), (5, 2, 3), (7, 4, 3))
    # Of the buckets: 5/2, 30 cut to 6, -90 cut to -2, 5/8.
    assert sampled().statistics(cases) == (points_of([2.5, 6, -2, 0.625]),)
    assert sampled().estimate(sampled().statistics(cases)).value == pytest.approx(7.125 / 4)


def test_the_order_of_cases_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    cases = np.empty((60, 3))
    cases[:, :2], cases[:, 2] = rng.normal(0, 5, (60, 2)), rng.integers(0, 4, 60)
    assert sampled().statistics(cases) == sampled().statistics(rng.permutation(cases))


def test_an_empty_bucket_and_one_without_a_result_count_as_the_middle() -> None:
    assert sampled().statistics(rows()) == (points_of([MIDDLE] * 4),)
    # 0/0 is no result; 1/0 is infinite, which is cut to the range.
    found = sampled().statistics(rows((0, 0, 0), (1, 0, 1), (-1, 0, 2), (math.nan, 1, 3)))
    assert found == (points_of([MIDDLE, 6, -2, MIDDLE]),)


@pytest.mark.parametrize("result", [None, math.nan])
def test_a_formula_that_fails_everywhere_gives_the_middle(result: float | None) -> None:
    mechanism = sampled(lambda _: result)
    assert mechanism.statistics(rows((1, 2, 0), (3, 4, 1))) == (points_of([MIDDLE] * 4),)
    assert mechanism.estimate(mechanism.statistics(rows())).value == pytest.approx(MIDDLE)


any_float = st.floats(allow_nan=True, allow_infinity=True)
any_case = st.tuples(
    any_float | st.sampled_from([0.0, 1.0, -1.0]),
    any_float | st.sampled_from([0.0, 1.0, -1.0]),
    st.integers(0, 9).map(float) | any_float | st.sampled_from([-1e-20, -0.5, 3.5, 1e300, -1e300]),
)


@given(st.lists(any_case, min_size=1, max_size=12), any_case, st.sampled_from([2, 4, 7]))
def test_one_case_changes_one_bucket_by_at_most_the_range(
    cases: list[tuple[float, float, float]], newcomer: tuple[float, float, float], buckets: int
) -> None:
    mechanism = sampled(buckets=buckets)
    with np.errstate(all="ignore"):
        (full,) = mechanism.statistics(rows(*cases))
        (rest,) = mechanism.statistics(rows(*cases[1:]))
        (other,) = mechanism.statistics(rows(newcomer, *cases[1:]))
    assert 0 <= full <= buckets * RANGE_STEPS
    assert abs(full - rest) <= RANGE_STEPS
    assert abs(full - other) <= 2 * RANGE_STEPS
    assert mechanism.scale == RANGE_STEPS
    assert sampled(adjacency=REPLACE).scale == 2 * RANGE_STEPS


def test_only_the_bucket_of_a_case_is_evaluated_anew() -> None:
    seen: list[bytes] = []

    def remember(part: Values) -> float | None:
        seen.append(part.tobytes())
        return None

    mechanism = sampled(remember, 5)
    cases = rows(*((float(i), 1.0, float(i % 5)) for i in range(20)))
    mechanism.statistics(cases)
    mechanism.statistics(np.concatenate((cases, rows((99, 1, 3)))))
    before, after = seen[:5], seen[5:]
    assert [i for i in range(5) if before[i] != after[i]] == [3]


def test_bucket_numbers_that_are_none_go_somewhere() -> None:
    cases = rows(*((1.0, 1.0, number) for number in (math.nan, math.inf, -math.inf, -1, 4, 9.5)))
    assert sampled().statistics(cases)[0] > 0


@pytest.mark.parametrize("buckets", [-1, 0, 1, 10_001])
def test_more_or_fewer_buckets_than_make_sense_are_refused(buckets: int) -> None:
    with pytest.raises(UsageError, match="buckets: use from"):
        sampled(buckets=buckets)


def test_intervals_cover_the_mean_over_the_buckets() -> None:
    mechanism = sampled(buckets=20)
    rng = np.random.default_rng(2)
    cases = rng.uniform(0, 1, (400, 3)) * (9, 0.5, 0)
    cases[:, 2] = np.arange(400) % 20
    results = [min(max(quotient(cases[b::20, :2]) or 0.0, -2), 6) for b in range(20)]
    truth = float(np.mean(results))
    stop = -math.expm1(-1 / float(mechanism.scale))
    found = rng.geometric(stop, 3000) - rng.geometric(stop, 3000) + mechanism.statistics(cases)[0]
    ends = [mechanism.interval((int(z),), 0.95) for z in found]
    assert 0.93 < np.mean([low <= truth <= high for low, high in ends]) < 0.985


def test_contiguous_buckets_would_not_do() -> None:
    """Planted: dealing cases in their order into equal chunks shifts all that follow."""

    class Contiguous(SampleAndAggregate):
        def statistics(self, values: Values) -> tuple[int, ...]:
            dealt = values.copy()
            dealt[:, -1] = np.arange(len(values)) * self.buckets // max(len(values), 1)
            return SampleAndAggregate.statistics(self, dealt)

    def opening(part: Values) -> float | None:
        return float(part[0, 0]) if len(part) else None

    fault = Contiguous(RANGE, ONE, ADD_REMOVE, False, opening, 2, 4)  # noqa: FBT003
    cases = rows(*((-90.0 if i % 2 else 90.0, 1.0, float(i)) for i in range(8)))
    sound = sampled(opening)
    assert sound.law(cases).loss(sound.law(cases[1:])) <= 1
    assert fault.law(cases).loss(fault.law(cases[1:])) > 1
