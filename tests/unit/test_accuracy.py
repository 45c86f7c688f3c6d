"""An accuracy is a promise: the noise keeps within the margin as often as it says."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.checkpoint.prices import quote_of
from pappi.mechanisms import (
    LIE_LOW,
    MOSTLY_LOW,
    ErrorLaw,
    Mechanism,
    TwoBin,
    Values,
    laplace_beyond,
)
from pappi.mechanisms.two_bin import TwoNoisyBins
from pappi.planning import (
    epsilon_for,
    plan_alone,
    plan_error_law,
    plan_options,
    plan_ppi,
    wanted_accuracy,
)
from pappi.planning.allotment import Accuracy
from pappi.ppinot import Ppi, ReleaseChoice, Wanted
from pappi.values import CONFIDENCES, DURATIONS, Adjacency, Epsilon, Quote
from tests.unit.test_planning import COUNT_A, COUNT_B, DIFFERENCE, RATIO, TIMED, facts, ppi

HOUR = DURATIONS["hours"]
SHARE = ppi("measure: {share: {condition: true}}")
SUM = ppi(f"measure: {{sum: {COUNT_A}}}\n    bounds: [0, 3]")
MEDIAN = ppi("measure: {median: {time: {from: case start, to: case end}}}\n    bounds: [0 h, 10 h]")
FREE_RATIO = ppi(
    f"measure: {{derive: a / b, a: {{sum: {COUNT_A}}}, b: {{sum: {COUNT_B}}}}}\n"
    "    bounds: {a: [0, 1], b: [0, 2]}"
)
LOOSE = ppi("measure: {mean: {data: amount}}\n    bounds: [0, 1000000, loose]")
LOOSE_MAX = ppi("measure: {max: {data: amount}}\n    bounds: [0, 1000000, loose]")
PRIVATE = ppi("measure: {mean: {data: amount}}\n    bounds: private")
MAXIMUM = ppi("measure: {max: {time: {from: case start, to: case end}}}\n    bounds: [0 h, 10 h]")
AIMED = ppi(
    "measure: {mean: {time: {from: case start, to: case end}}}\n"
    "    bounds: [0 h, 10 h]\n    target: below 2 h"
)
ANCHORED = replace(AIMED, release=ReleaseChoice(mechanism="threshold"))
BY_STEPS = replace(TIMED, release=ReleaseChoice(mechanism="interval"))
DRAWS = 600
SAMPLED = math.sqrt(0.95 * 0.05 / DRAWS)


def quoted(asked: Ppi, epsilon: str = "0.5", cases: int = 100) -> Quote:
    known = facts(cases=cases)
    return quote_of(plan_ppi(asked, Epsilon.of(epsilon), known), known, 1, 1)


# --- the promise --------------------------------------------------------------------------


WIDTH = 10.0 * HOUR
TRUTHS: dict[str, Callable[[int, float], Values]] = {
    "all at the low end": lambda n, _: np.zeros(n),
    "all in the middle": lambda n, _: np.full(n, 0.5),
    "all at the high end": lambda n, _: np.ones(n),
    "half at each end": lambda n, _: np.resize([0.0, 1.0], n),
    "evenly": lambda n, _: np.linspace(0.0, 1.0, n),
    "all at the target": lambda n, _: np.full(n, 0.2),
    "all just above the margin": lambda n, within: np.full(n, min(1.02 * within, 1.0)),
}
"""Where the values of n cases lie in their bounds, given the promised margin."""


def released(mechanism: Mechanism, values: Values) -> Values:
    law, chance = mechanism.law(values), random.Random(5)  # noqa: S311 - a simulation
    drawn = [mechanism.estimate(law.draw(chance.randrange)).value for _ in range(DRAWS)]
    return np.array(drawn, np.float64)


def kept(mechanism: Mechanism, lies: str, cases: int, within: float) -> float:
    """How often a mean of values in [0, 10 h], or of truth values, is released within so much."""
    width = float(mechanism.bounds.width)
    values = width * TRUTHS[lies](cases, within / width)
    if width == 1:
        values = np.rint(values)
    off = np.abs(released(mechanism, values) - values.mean())
    return float(np.mean(off <= within * (1 + 1e-9) + 1e-6 * width))


@pytest.mark.parametrize("lies", TRUTHS)
@pytest.mark.parametrize(("cases", "epsilon"), [(3, "0.1"), (10, "0.1"), (10, "1"), (100, "0.5")])
@pytest.mark.parametrize(
    "asked",
    [TIMED, BY_STEPS, ANCHORED, SHARE],
    ids=["two-bin", "interval", "threshold", "share"],
)
def test_the_margin_of_a_mean_holds_wherever_its_values_lie(
    asked: Ppi, lies: str, cases: int, epsilon: str
) -> None:
    known = facts(cases=cases)
    plan = plan_ppi(asked, Epsilon.of(epsilon), known)
    spread = plan_error_law(plan)
    assert spread is not None
    assert not spread.assumes
    assert (
        kept(plan.measurements[0].mechanism, lies, cases, spread.within(0.95)) >= 0.95 - 3 * SAMPLED
    )


def test_a_margin_for_a_truth_in_the_middle_would_not_hold_elsewhere() -> None:
    """The planted fault, which the test above must see."""
    plan = plan_ppi(TIMED, Epsilon.of("0.1"), facts(cases=10))
    mechanism = plan.measurements[0].mechanism
    assert isinstance(mechanism, TwoBin)
    whole = 10 * mechanism.lattice.span
    bins = TwoNoisyBins(np.array([whole / 2]), whole, mechanism.scale)
    within = WIDTH * ErrorLaw(lambda t: float(bins.beyond(t)[0]), start=0.3).within(0.95)
    assert kept(mechanism, "all in the middle", 10, within) >= 0.95 - 3 * SAMPLED
    assert kept(mechanism, "all at the low end", 10, within) < 0.5


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_the_margin_of_a_sum_holds_for_however_many_cases(epsilon: str) -> None:
    plan = plan_ppi(SUM, Epsilon.of(epsilon), facts())
    spread = plan_error_law(plan)
    assert spread is not None
    assert not spread.assumes
    for values in (np.zeros(1), np.full(30, 3.0), np.tile([1.0, 2.0], 300)):
        off = np.abs(released(plan.measurements[0].mechanism, values) - values.sum())
        assert np.mean(off <= spread.within(0.95) * (1 + 1e-9)) >= 0.95 - 3 * SAMPLED


@pytest.mark.parametrize(
    ("asked", "assumed"),
    [
        (MEDIAN, "the values lie mostly low between the bounds, with their mean at a quarter"),
        (MAXIMUM, "the values are spread evenly between the bounds"),
    ],
    ids=["median", "max"],
)
def test_of_ranks_no_margin_is_promised_and_the_quote_says_what_it_assumes(
    asked: Ppi, assumed: str
) -> None:
    quote = quoted(asked, "1")
    assert quote.margin is None
    assert quote.half_width is not None
    assert quote.assumes == assumed
    assert "how close together the values are" in quote.margin_note
    assert {option.margin for option in quote.options if option.mechanism == "interval"} == {None}


@pytest.mark.parametrize("epsilon", ["0.1", "0.7"])
def test_what_is_assumed_of_the_values_of_a_median_keeps_within_if_it_is_so(epsilon: str) -> None:
    values = np.linspace(0, WIDTH, 41)
    plan = plan_ppi(MEDIAN, Epsilon.of(epsilon), facts(cases=41))
    spread = plan_error_law(plan)
    assert spread is not None
    if spread.assumes == LIE_LOW:
        values = WIDTH * MOSTLY_LOW.quantiles((np.arange(41) + 0.5) / 41)
    off = np.abs(released(plan.measurements[0].mechanism, values) - np.median(values))
    for level in CONFIDENCES:
        assert np.mean(off <= spread.within(level) * (1 + 1e-9)) >= level - 0.045


@pytest.mark.parametrize("asked", [TIMED, SHARE, ANCHORED, BY_STEPS, SUM])
@pytest.mark.parametrize("cases", [1, 10, 100])
def test_margins_never_shrink_as_epsilon_falls_and_never_exceed_the_range(
    asked: Ppi, cases: int
) -> None:
    known = facts(cases=cases)
    plans = [plan_ppi(asked, Epsilon.of(e), known) for e in ("1", "0.5", "0.2", "0.1", "0.05")]
    spreads = [plan_error_law(plan) for plan in plans]
    margins = [spread.within(0.95) for spread in spreads if spread is not None]
    assert all(dear <= cheap * 1.0003 for dear, cheap in pairwise(margins))
    if asked is not SUM:
        assert margins[-1] <= float(plans[0].measurements[0].mechanism.bounds.width) * 1.00001


def test_a_verdict_on_a_sum_is_told_apart_by_as_much_however_many_cases() -> None:
    aimed = ppi(f"measure: {{sum: {COUNT_A}}}\n    bounds: [0, 3]\n    target: below 50")
    aimed = replace(aimed, release=ReleaseChoice(answer=Wanted.VERDICT))
    few, many = quoted(aimed, cases=10), quoted(aimed, cases=1000)
    # One case moves it by at most 3, at ε = 0.5 with noise of two such.
    assert few.margin == pytest.approx(3 * 2 * math.log(20), rel=0.01)
    assert many.margin == pytest.approx(few.margin, rel=1e-3)


@given(
    st.integers(-320, 250).map(lambda power: 10.0**power),
    st.fractions(Fraction(1, 1000), 10**9),
    st.sampled_from([0.0, 1e-300, 1e-9, 1.0, 1e9, 1e300, math.inf]),
)
def test_tails_are_known_for_every_step_and_distance(
    step: float, scale: Fraction, distance: float
) -> None:
    beyond = laplace_beyond(scale, step)
    assert 0 <= beyond(distance) <= 1
    assert 0 <= ErrorLaw(beyond, start=step).within(0.95) < math.inf


@pytest.mark.parametrize("high", ["0.000001", "1", "1000", "10000000"])
@pytest.mark.parametrize("function", ["sum", "mean", "max", "median"])
def test_bounds_of_every_size_have_a_quote(function: str, high: str) -> None:
    quote = quoted(ppi(f"measure: {{{function}: {{data: amount}}}}\n    bounds: [0, {high}]"))
    assert quote.half_width is not None
    assert 0 < quote.half_width < 100 * float(high)


@pytest.mark.parametrize(
    "asked", [TIMED, SHARE, SUM, MEDIAN, DIFFERENCE, RATIO, FREE_RATIO, LOOSE_MAX]
)
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_what_is_surer_is_wider_and_what_costs_more_is_closer(
    asked: Ppi, adjacency: Adjacency
) -> None:
    known, margins = facts(adjacency), []
    for epsilon in ("0.5", "2", "8"):
        plan = plan_ppi(asked, Epsilon.of(epsilon), known)
        spread = plan_error_law(plan)
        assert spread is not None
        widths = [spread.within(level) for level in CONFIDENCES]
        assert all(less <= more * 1.00001 for less, more in pairwise(widths))
        assert all(spread.keeps(w, c) for w, c in zip(widths, CONFIDENCES, strict=True))
        margins.append(widths[3])
    assert all(more <= less * 1.001 for less, more in pairwise(margins))


def test_every_way_to_release_has_a_margin_or_says_why_not() -> None:
    for asked in (TIMED, replace(TIMED, target=None), RATIO, DIFFERENCE, LOOSE):
        for option in plan_options(asked, Epsilon.of("0.5"), facts()):
            if option.plan is not None and option.plan.mechanism != "private clipping bound":
                spread = plan_error_law(option.plan)
                assert spread is not None
                assert spread.within(0.5) > 0


def test_two_noisy_bins_are_off_as_often_as_all_their_outcomes_say() -> None:
    bins = TwoNoisyBins(np.array([3.0]), 8, Fraction(2))
    steps = range(-45, 46)
    weight = {z: math.exp(-abs(z) / 2) for z in steps}
    whole = sum(weight.values()) ** 2
    for t in (0.05, 0.2, 0.4):
        exact = 0.0
        for x in steps:
            for y in steps:
                a, b = max(3 + x, 0) / 2, max(5 + y, 0) / 2
                w = 3 / (1 + a + b)
                exact += weight[x] * weight[y] * (abs((a + w) / (a + b + 2 * w) - 3 / 8) > t)
        assert bins.beyond(t)[0] == pytest.approx(exact / whole, abs=1e-4)


# --- where there is no law ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "words"),
    [(PRIVATE, "cannot be predicted"), (LOOSE, "only a typical error")],
)
def test_without_a_law_there_is_no_margin_and_the_quote_says_so(asked: Ppi, words: str) -> None:
    quote = quoted(asked)
    assert quote.margin is None
    assert quote.quantiles == ()
    assert words in quote.margin_note
    assert (quote.typical_error is None) is (asked is PRIVATE)
    assert epsilon_for(asked, Accuracy(Fraction(1)), facts()) is None


def test_a_formula_that_often_has_no_value_has_no_margin() -> None:
    quote = quoted(FREE_RATIO, "0.05")
    assert quote.margin is None
    assert "undefined" in quote.margin_note


def test_of_a_verdict_the_margin_is_the_distance_it_tells_apart() -> None:
    quote = quoted(replace(AIMED, release=ReleaseChoice(answer=Wanted.VERDICT)))
    assert quote.verdict_only
    assert quote.target is not None
    # One case moves the mean by at most 8 h of 100 cases, at ε = 0.5 with noise of two such.
    assert quote.margin == pytest.approx(0.08 * 2 * math.log(20), rel=0.01)


# --- what is written ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hours", "percent"),
    [
        ("6 h", 6, 95),
        ("±6 h", 6, 95),
        (" ± 6 h", 6, 95),
        ("+/- 90 min", Fraction(3, 2), 95),
        ("6 h, 90 %", 6, 90),
        ("±6 h,99%", 6, 99),
        ("2.5, 50 %", Fraction(5, 2), 50),
    ],
)
def test_an_accuracy_is_read_as_people_write_it(
    text: str, hours: Fraction | int, percent: int
) -> None:
    found = Accuracy(Fraction(hours) * HOUR, Fraction(percent, 100))
    assert wanted_accuracy(text, TIMED) == found


@pytest.mark.parametrize(
    "text",
    ["", "±", "six", "0 h", "-1 h", "6 h,", "6 h, 90", "6 h, 49 %", "6 h, 100 %", "6 h, 90 %, 1",
     "±±6 h", "6 parsec", "1e9", "6 h, 99.1 %", "9" * 40, "," * 40],
)  # fmt: skip
def test_what_is_no_accuracy_is_not_taken_for_one(text: str) -> None:
    assert wanted_accuracy(text, TIMED) is None


def test_hours_are_no_accuracy_of_a_number() -> None:
    assert wanted_accuracy("6 h", SUM) is None
    assert wanted_accuracy("2 %", SHARE) == Accuracy(Fraction(2, 100))


def test_a_number_may_name_its_own_unit_and_no_other() -> None:
    paid = ppi("measure: {mean: {data: amount}}\n    bounds: [0, 900]\n    unit: EUR")
    assert wanted_accuracy("±200 EUR, 90 %", paid) == Accuracy(Fraction(200), Fraction(9, 10))
    assert wanted_accuracy("200 USD", paid) is None
    for others in (TIMED, SUM, paid):  # 5 % of it is nobody's 5 days
        assert wanted_accuracy("5 %", others) is None


# --- what it costs ------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [TIMED, RATIO])
def test_an_accuracy_has_its_smallest_epsilon(asked: Ppi) -> None:
    wanted = Accuracy(asked.unit.read(Fraction(1, 4)), Fraction(9, 10))
    needed = epsilon_for(asked, wanted, facts())
    assert needed is not None
    for epsilon, enough in ((needed, True), (Epsilon(needed.nano - 10**6), False)):
        spread = plan_error_law(plan_alone(asked, epsilon, facts()))
        assert spread is not None
        assert spread.keeps(float(wanted.margin), 0.9) is enough


def test_to_be_surer_costs_more() -> None:
    costs = [
        epsilon_for(TIMED, Accuracy(Fraction(HOUR), Fraction(percent, 100)), facts())
        for percent in (50, 90, 95, 99)
    ]
    assert all(a is not None and b is not None and a < b for a, b in pairwise(costs))


def test_an_impossible_accuracy_has_none() -> None:
    assert epsilon_for(TIMED, Accuracy(Fraction(1)), facts(cases=1)) is None
