"""Margins: how many cases would have to change to turn a verdict, and how little one case does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import ceil, floor, inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pappi.errors import NotReleasable
from pappi.mechanisms import PER_CASE, Limit, MeanMargin, RatioMargin, quantile_level
from pappi.mechanisms.threshold import Margin, margin_for
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds
from tests.lengths import length

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
SMALL = Bounds(Fraction(-2), Fraction(6))
FOUR = Bounds(Fraction(0), Fraction(4))
FUNCTIONS = ["mean", "sum", "median", "p90", "max", "min"]
THIRD, NINE_TENTHS = Fraction(1, 3), Fraction(9, 10)
LIMITS = [Fraction(1), Fraction(6), THIRD, NINE_TENTHS, Fraction(0.9)]
DIRECTIONS = list(product([True, False], [True, False]))
SEEN = (-9.0, -2.0, 1.0, 2.0, 40.0, nan)

Contributions = list[Fraction]


def every_small_data_set(most: int = 3) -> list[tuple[float, ...]]:
    return [data for n in range(most + 1) for data in combinations_with_replacement(SEEN, n)]


# --- the definition, once more ----------------------------------------------------------


def whole(value: float, bounds: Bounds = SMALL) -> Fraction:
    """The lattice value of a case within whole bounds."""
    return Fraction(round(min(max(value, float(bounds.low)), float(bounds.high))))


def contribution(function: str, limit: Limit, x: Fraction) -> Fraction:
    """What a case with a value adds to M."""
    level = quantile_level(function)
    if level is not None:
        return Fraction(keeps(x, limit)) - (level if limit.at_most else 1 - level)
    if function in ("max", "min"):
        everyone = (function == "max") == limit.at_most
        return Fraction(keeps(x, limit) - 1 if everyone else keeps(x, limit))
    apart = limit.value - x if function == "mean" else -x
    return apart if limit.at_most else -apart


def keeps(x: Fraction, limit: Limit) -> bool:
    if x == limit.value:
        return limit.included
    return (x < limit.value) == limit.at_most


def start(function: str, limit: Limit) -> Fraction:
    """M without cases. What only just misses is short by the least there is."""
    if function == "sum":
        if limit.at_most:
            return Fraction(floor(limit.value) if limit.included else ceil(limit.value) - 1)
        return -Fraction(ceil(limit.value) if limit.included else floor(limit.value) + 1)
    if function == "mean":
        return Fraction(0) if limit.included else Fraction(-1, limit.value.denominator)
    if function in ("max", "min"):
        return Fraction(1, 2) if (function == "max") == limit.at_most else Fraction(-1, 2)
    return Fraction(0)


def least_changes(away: Fraction, gains: Contributions, of_new: Fraction) -> Fraction:
    """The fewest changes that gain `away`, each at most once, in part, and new ones without end.

    By the dual of that linear program: the best price of a gain, at which every change worth
    more than 1 is made in full. No order, no running sums.
    """
    if not away:
        return Fraction(0)
    if not of_new and sum((g for g in gains if g > 0), Fraction(0)) < away:
        return Fraction(1)  # never: a constant
    prices = {1 / g for g in (*gains, of_new) if g > 0}
    affordable = [price for price in prices if price * of_new <= 1]
    return max(
        price * away - sum((max(price * g - 1, Fraction(0)) for g in gains), Fraction(0))
        for price in affordable
    )


def margin_by_definition(
    added: Contributions, begin: Fraction, least: Fraction, most: Fraction, adjacency: Adjacency
) -> Fraction:
    found = begin + sum(added, Fraction(0))
    sign = 1 if found >= 0 else -1
    worst = least if sign > 0 else -most
    if adjacency is REPLACE:
        changes = least_changes(abs(found), [sign * c - worst for c in added], Fraction(0))
    else:
        changes = least_changes(abs(found), [sign * c for c in added], -worst)
    return sign * changes


def expected(
    function: str, limit: Limit, data: Sequence[float], adjacency: Adjacency
) -> tuple[Fraction, bool]:
    """q, and whether M is at least 0, over whole values within SMALL."""
    added = [
        Fraction(0) if math.isnan(v) else contribution(function, limit, whole(v)) for v in data
    ]
    reach = [contribution(function, limit, Fraction(k)) for k in range(-2, 7)]
    if quantile_level(function) is not None or function in ("max", "min"):
        # Bounds do not enter: a case may keep the limit or not.
        keeping = contribution(function, limit, limit.value + (-1 if limit.at_most else 1))
        beyond = contribution(function, limit, limit.value + (1 if limit.at_most else -1))
        reach = [keeping, beyond]
    begin = start(function, limit)
    least, most = min(Fraction(0), *reach), max(Fraction(0), *reach)
    q = margin_by_definition(added, begin, least, most, adjacency)
    return q, begin + sum(added, Fraction(0)) >= 0


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_margin_is_the_least_number_of_changes(function: str, adjacency: Adjacency) -> None:
    for value, (at_most, included) in product(LIMITS[:4], DIRECTIONS):
        limit = Limit(value, at_most, included)
        margin = margin_for(function, SMALL, limit, integral=True)
        for data in every_small_data_set():
            q, _ = expected(function, limit, data, adjacency)
            assert margin.cases(np.array(data), adjacency) == floor(q * PER_CASE), (limit, data)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("value", [Fraction(1, 2), Fraction(1, 4), Fraction(2), THIRD])
def test_the_margin_of_a_ratio_is_the_least_number_of_changes(
    adjacency: Adjacency, value: Fraction, *, cut: bool
) -> None:
    rows = [(1.0, 4.0), (4.0, 2.0), (9.0, 9.0), (nan, 3.0), (2.0, nan)]
    corners = [value * b - a for a in (0, 4) for b in (0, 4)]
    least, most = min(corners), max(corners)
    for at_most, included in DIRECTIONS:
        limit = Limit(value, at_most, included)
        margin = RatioMargin(FOUR, True, limit, FOUR, cut)  # noqa: FBT003
        reach = (least, most) if at_most else (-most, -least)
        begin = Fraction(0) if included else -max(-least, most) / 2**40
        for n in range(5):
            for data in combinations_with_replacement(rows, n):
                added = [ratio_contribution(limit, row, cut=cut) for row in data]
                q = margin_by_definition(added, begin, *reach, adjacency)
                found = margin.cases(np.array(data).reshape(-1, 2), adjacency)
                # A third is rounded, by 2^-40 of a case: far below the parts of a margin.
                off = 1 if value == THIRD else 0
                assert abs(found - floor(q * PER_CASE)) <= off, (limit, data)


def ratio_contribution(limit: Limit, row: tuple[float, float], *, cut: bool) -> Fraction:
    a, b = row
    if math.isnan(b):
        return Fraction(0)
    part = Fraction(0) if math.isnan(a) else Fraction(min(max(a, 0), 4))
    of = Fraction(min(max(b, 0), 4))
    apart = limit.value * of - (min(part, of) if cut else part)
    return apart if limit.at_most else -apart


# --- the sign is the verdict ------------------------------------------------------------


def statistic(function: str, data: Sequence[Fraction], limit: Limit) -> Fraction:
    """The answer itself; of several quantiles, the one that keeps the limit most easily."""
    level = quantile_level(function)
    ordered = sorted(data)
    if level is not None:
        place = ceil(level * len(data)) - 1 if limit.at_most else floor(level * len(data))
        return ordered[place]
    if function == "mean":
        return sum(ordered, Fraction(0)) / len(ordered)
    return {"sum": sum(ordered, Fraction(0)), "max": ordered[-1], "min": ordered[0]}[function]


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_sign_is_whether_the_target_is_met(function: str, adjacency: Adjacency) -> None:
    for value, (at_most, included) in product(LIMITS, DIRECTIONS):
        limit = Limit(value, at_most, included)
        margin = margin_for(function, SMALL, limit, integral=True)
        nine_of_ten = [(*[1.0] * 9, 0.0), (*[1.0] * 10, 0.0), (1.0, 0.0, 0.0)]
        for data in (*every_small_data_set(), *nine_of_ten):
            present = [whole(v) for v in data if not math.isnan(v)]
            if not present:
                continue
            met = keeps(statistic(function, present, limit), limit)
            if value == Fraction(0.9) and function == "mean":
                # No mean of so few cases lies between a float and the tenths it stands for.
                met = keeps(
                    statistic(function, present, limit), Limit(NINE_TENTHS, *limit_end(limit))
                )
            assert (margin.cases(np.array(data), adjacency) >= 0) == met, (limit, data)


def limit_end(limit: Limit) -> tuple[bool, bool]:
    return limit.at_most, limit.included


@pytest.mark.parametrize("cut", [True, False])
def test_the_sign_is_whether_a_ratio_keeps_its_limit(*, cut: bool) -> None:
    rows = [(0.0, 1.0), (1.0, 2.0), (3.0, 2.0), (4.0, 4.0)]
    for value, (at_most, included) in product([Fraction(1, 2), Fraction(3, 4)], DIRECTIONS):
        limit = Limit(value, at_most, included)
        margin = RatioMargin(FOUR, True, limit, FOUR, cut)  # noqa: FBT003
        for n in range(1, 6):
            for data in combinations_with_replacement(rows, n):
                parts = [Fraction(min(a, b) if cut else a) for a, b in data]
                wholes = [Fraction(b) for _, b in data]
                met = keeps(sum(parts, Fraction(0)) / sum(wholes, Fraction(0)), limit)
                assert (margin.cases(np.array(data), ADD_REMOVE) >= 0) == met, (limit, data)


def test_a_limit_with_a_long_fraction_is_not_rounded_to_whole_values() -> None:
    """Of truth values at a limit of 0.9 as a float, with its 53 binary digits."""
    margin = MeanMargin(UNIT_INTERVAL, integral=True, limit=Limit(Fraction(0.9), at_most=False))
    q = margin.cases(np.array([1.0] * 95 + [0.0] * 5), ADD_REMOVE)
    assert q / PER_CASE == pytest.approx(5 / 0.9)


@pytest.mark.parametrize("value", [Fraction(-3), Fraction(7), Fraction(2**62), Fraction(10**40)])
def test_a_limit_of_a_mean_beyond_its_bounds_is_refused(value: Fraction) -> None:
    with pytest.raises(NotReleasable, match="beyond the bounds"):
        margin_for("mean", SMALL, Limit(value, at_most=True), integral=False)


# --- one case moves it by at most 1 -------------------------------------------------------

any_value = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from(
    [nan, inf, -inf, -2.0, 6.0, 1.0, 2.0, 0.0]
)
any_limit = st.builds(
    Limit,
    st.sampled_from([*LIMITS, Fraction(-2), Fraction(10**11 + 1, 10**11)])
    | st.fractions(-2, 6, max_denominator=10**15),
    st.booleans(),
    st.booleans(),
)


@st.composite
def margins(draw: st.DrawFn) -> Margin:
    limit, integral = draw(any_limit), draw(st.booleans())
    function = draw(st.sampled_from([*FUNCTIONS, "p1", "ratio"]))
    if function != "ratio":
        return margin_for(function, SMALL, limit, integral=integral)
    part = draw(st.sampled_from([FOUR, SMALL, Bounds(Fraction(1), Fraction(3))]))
    limit = Limit(limit.value * draw(st.sampled_from([1, 1000])), limit.at_most, limit.included)
    return RatioMargin(FOUR, integral, limit, part, draw(st.booleans()))


@settings(max_examples=length(25, 250))
@given(margins(), st.data())
def test_one_case_moves_a_margin_by_at_most_one(margin: Margin, data: st.DataObject) -> None:
    rows = st.tuples(*[any_value] * margin.width)
    cases = data.draw(st.lists(rows, min_size=1, max_size=8))
    newcomer = data.draw(rows)

    def q(some: list[tuple[float, ...]], adjacency: Adjacency) -> int:
        values = np.array(some, dtype=np.float64)
        return margin.cases(
            values.reshape(-1, 2) if margin.width == 2 else values.ravel(), adjacency
        )

    full = q(cases, ADD_REMOVE)
    for i in range(len(cases)):
        rest = cases[:i] + cases[i + 1 :]
        assert abs(full - q(rest, ADD_REMOVE)) <= PER_CASE
        assert abs(q(cases, REPLACE) - q([*rest, newcomer], REPLACE)) <= PER_CASE
    assert abs(full - q([*cases, newcomer], ADD_REMOVE)) <= PER_CASE


@pytest.mark.parametrize("function", [*FUNCTIONS, "share"])
def test_one_case_can_move_a_margin_by_one(function: str) -> None:
    """So that none of epsilon is wasted."""
    bounds = UNIT_INTERVAL if function == "share" else SMALL
    margin = margin_for(function, bounds, Limit(Fraction(1, 2), at_most=True), integral=True)
    ends = [float(bounds.low), float(bounds.high)]
    apart = [
        abs(margin.cases(np.array(some), adjacency) - margin.cases(np.array(other), adjacency))
        for x, y in product(ends, ends)
        for some, other, adjacency in (
            ([x] * 9, [x] * 9 + [y], ADD_REMOVE),
            ([x] * 9 + [y], [*[x] * 9, x], REPLACE),
        )
    ]
    assert max(apart) == PER_CASE


def test_more_cases_than_fit_into_one_running_sum_are_counted_exactly() -> None:
    n = 2**20 + 20_000
    limit = Limit(Fraction(99), at_most=True)
    margin = margin_for("mean", Bounds(Fraction(0), Fraction(100)), limit, integral=True)
    assert margin.cases(np.zeros(n), REPLACE) == floor(Fraction(99 * n, 100) * PER_CASE)
    # Removing a case helps as much as adding one at the far end hurts: 99 against 1.
    assert margin.cases(np.zeros(n), ADD_REMOVE) == n * PER_CASE


def test_cases_without_a_value_say_nothing_where_their_number_is_private() -> None:
    for function in FUNCTIONS:
        margin = margin_for(function, SMALL, Limit(Fraction(1), at_most=True), integral=True)
        none, gone = np.array([]), np.array([nan, nan])
        assert margin.cases(none, ADD_REMOVE) == margin.cases(gone, ADD_REMOVE)
