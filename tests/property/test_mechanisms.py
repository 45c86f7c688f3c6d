"""Mechanisms are total: no data makes them fail, and no data makes them loud."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pappi.audit import JointRelease, neighbours
from pappi.mechanisms import (
    FUNCTIONS,
    Limit,
    Looseness,
    Mechanism,
    NoisyIntegers,
    NoisyMargin,
    Task,
    mechanism_for,
    mechanisms_of,
)
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds
from tests.lengths import length

any_values = st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=20)
fractions = st.fractions(min_value=-(10**13), max_value=10**13, max_denominator=1000)
any_bounds = st.tuples(fractions, fractions).filter(lambda ends: ends[0] != ends[1]).map(sorted)
total = settings(deadline=None)  # a slow machine is not a broken promise

epsilons = st.fractions(min_value=Fraction(1, 10**9), max_value=20, max_denominator=10**9)


@st.composite
def mechanisms(draw: st.DrawFn) -> Mechanism:
    function = draw(st.sampled_from([*FUNCTIONS, "p1", "p90", "p99.99"]))
    low, high = draw(any_bounds)
    bounds = UNIT_INTERVAL if function == "share" else Bounds(low, high)
    epsilon = draw(epsilons)
    adjacency = draw(st.sampled_from(list(Adjacency)))
    loose = draw(st.sampled_from([None, Looseness(4)])) if epsilon > Fraction(1, 1000) else None
    integral = draw(st.booleans())
    name = draw(st.sampled_from(mechanisms_of(function, loose=loose is not None)))
    of_sum = Bounds(-100 * bounds.magnitude, 100 * bounds.magnitude)
    return mechanism_for(
        function,
        bounds,
        epsilon,
        adjacency,
        integral=integral,
        name=name,
        loose=loose if function != "share" else None,
        value_range=of_sum,
    )


@st.composite
def aimed(draw: st.DrawFn) -> Mechanism:
    """Mechanisms that know a target."""
    function = draw(st.sampled_from(["max", "min", "mean", "sum", "median", "p90"]))
    low, high = draw(any_bounds)
    limit = Limit(
        low + (high - low) * draw(st.fractions(Fraction(1, 100), Fraction(99, 100))),
        draw(st.booleans()),
        draw(st.booleans()),
    )
    terms = (Bounds(low, high), draw(epsilons), draw(st.sampled_from(list(Adjacency))))
    if draw(st.booleans()):
        return NoisyMargin.made_for(Task(function, *terms, integral=False, limit=limit))
    falloff = draw(st.fractions(Fraction(1, 10), 10))
    return mechanism_for(function, *terms, integral=False, limit=limit, falloff=falloff)


@total
@given(mechanisms() | aimed(), any_values, st.sampled_from([0.5, 0.95, 0.999]))
def test_any_data_gives_a_finite_answer_inside_its_interval(
    mechanism: Mechanism, values: list[float], confidence: float
) -> None:
    noisy = mechanism.release(np.array(values, dtype=np.float64))
    estimate = mechanism.estimate(noisy)
    low, high = mechanism.interval(noisy, confidence)
    assert low <= high
    assert 0 <= mechanism.chance_at_most(noisy, low) <= 1
    if estimate.value is None:
        return
    assert math.isfinite(estimate.value)
    assert estimate.cases is None or estimate.cases >= 0
    slack = 1e-12 * max(abs(low), abs(high), 1)
    assert low - slack <= estimate.value <= high + slack


@total
@given(mechanisms() | aimed(), any_values)
def test_releases_are_python_integers_and_their_law_is_the_same_in_every_order(
    mechanism: Mechanism, values: list[float]
) -> None:
    forth, back = (np.array(v, dtype=np.float64) for v in (values, values[::-1]))
    assert mechanism.law(forth).loss(mechanism.law(back)) < 1e-30
    assert all(type(number) is int for number in mechanism.release(forth))


@total
@given(mechanisms() | aimed(), st.floats(0, 1e7), st.none() | st.floats(-1e13, 1e13))
def test_predicted_errors_are_finite_and_not_negative(
    mechanism: Mechanism, cases: float, at: float | None
) -> None:
    assert 0 <= mechanism.predicted_error(cases, at) < math.inf


@pytest.mark.outside
@given(mechanisms() | aimed(), any_values, st.floats(allow_nan=True, allow_infinity=True))
@settings(max_examples=length(25, 300))
def test_no_neighbour_is_further_away_than_epsilon(
    mechanism: Mechanism, values: list[float], newcomer: float
) -> None:
    release = JointRelease((mechanism,))
    data = tuple((value,) for value in values)
    law = release.law(data)
    for other in neighbours(data, mechanism.adjacency, [(newcomer,)]):
        assert law.loss(release.law(other)) <= mechanism.epsilon


@pytest.mark.parametrize("function", ["sum", "mean", "share", "min", "max"])
def test_a_hundred_thousand_equal_cases_are_summed_exactly(function: str) -> None:
    name = next(name for name in mechanisms_of(function) if name != "interval")
    mechanism = mechanism_for(
        function, UNIT_INTERVAL, Fraction(1), Adjacency.ADD_REMOVE, integral=False, name=name
    )
    assert isinstance(mechanism, NoisyIntegers)
    once = mechanism.statistics(np.ones(1))
    many = mechanism.statistics(np.ones(100_000))
    assert many == (once if function in {"min", "max"} else tuple(100_000 * k for k in once))
