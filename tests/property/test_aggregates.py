"""What is aggregated is a set: the order of its values decides nothing, not even a last bit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.ppinot import AggregatedMeasure, aggregate, aggregates, exact_sum, parse_catalogue, tree

LARGEST = 1.7976931348623157e308
numbers = st.floats(allow_nan=False, allow_infinity=False)
troubling = st.sampled_from(
    [0.1, 0.2, 0.3, 1.0, 1e16, -1e16, 2.0**53, -(2.0**53), LARGEST, -LARGEST, 5e-324, -0.0, 0.0]
)
some = st.lists(numbers | troubling, max_size=30)
FUNCTIONS = (
    *("sum: {data: x}", "mean: {data: x}", "min: {data: x}", "max: {data: x}", "median: {data: x}"),
    *("percentile: {data: x}, percent: 90", "share: {condition: x > 0}"),
)


def measure(text: str) -> AggregatedMeasure:
    (ppi,) = parse_catalogue(f"log: l\nppis: [{{id: p, measure: {{{text}}}}}]").ppis
    assert isinstance(ppi.measure, AggregatedMeasure)
    return ppi.measure


MEASURES = {text: measure(text) for text in FUNCTIONS}


def rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@given(some)
def test_a_sum_is_the_exact_one_rounded_once(values: list[float]) -> None:
    expected = rounded(sum(map(Fraction, values), Fraction(0)))
    assert exact_sum(np.array(values, dtype=np.float64)) == expected


@given(some, st.integers(0, 3))
def test_a_sum_of_many_is_the_same(values: list[float], chunk: int) -> None:
    """Many are added up in another way, in chunks; of both, few here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "_FEW", -1)
        patch.setattr(tree, "_CHUNK", 1 + 7 * chunk)
        found = exact_sum(np.array(values, dtype=np.float64))
    assert found == rounded(sum(map(Fraction, values), Fraction(0)))


def test_a_sum_of_very_many_is_exact() -> None:
    values = np.tile([1e16, 1.0, -1e16, 0.1], 20_000)
    assert exact_sum(values) == float(20_000 * (1 + Fraction(0.1)))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([math.inf, 1.0], math.inf),
        ([-math.inf, LARGEST, LARGEST], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([LARGEST, LARGEST, -LARGEST], LARGEST),
        ([LARGEST, LARGEST], math.inf),
        ([], 0.0),
    ],
)
def test_a_sum_is_total(values: list[float], expected: float) -> None:
    for ordered in (values, values[::-1]):
        np.testing.assert_equal(exact_sum(np.array(ordered)), expected)


@pytest.mark.parametrize("function", FUNCTIONS)
@given(data=st.data())
def test_the_order_of_contributions_decides_nothing(function: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(numbers | troubling | st.just(math.nan), max_size=12))
    shuffled = data.draw(st.permutations(values))
    with np.errstate(all="ignore"):
        first, second = (
            aggregate(MEASURES[function], np.array(each, dtype=np.float64))
            for each in (values, shuffled)
        )
    assert repr(first) == repr(second)  # also the sign of a zero


WHOLE = st.integers(-(2**53), 2**53) | st.sampled_from([2**60, -(2**61), 2**61, 2**62, 2**63, 1e25])


@given(groups=st.lists(st.lists(WHOLE, max_size=6), min_size=1, max_size=4))
def test_whole_numbers_add_up_exactly_and_are_rounded_once(groups: list[list[float]]) -> None:
    """Also where 64 bits do not hold their sum, or hold it in one group and not in all."""
    values = np.array([float(value) for group in groups for value in group])
    cuts = np.cumsum([0, *map(len, groups)])
    sums = aggregates(MEASURES["sum: {data: x}"], values, cuts)
    own = [aggregate(MEASURES["sum: {data: x}"], np.array(group, float)) for group in groups]
    assert sums == own == [rounded(sum(map(Fraction, group), Fraction(0))) for group in groups]


@given(values=st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30))
@pytest.mark.parametrize(
    ("function", "percent"), [("median: {data: x}", 50), ("percentile: {data: x}, percent: 90", 90)]
)
def test_a_rank_is_as_numpy_has_it(values: list[float], function: str, percent: int) -> None:
    expected = np.percentile(values, percent, method="averaged_inverted_cdf")
    assert aggregate(MEASURES[function], np.array(values)) == float(expected)
