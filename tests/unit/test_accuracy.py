"""An accuracy is a promise: the noise keeps within the margin as often as it says."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from pappi.checkpoint.prices import quote_of
from pappi.mechanisms.mechanism import Values
from pappi.planning.accuracy import Accuracy, epsilon_for, plan_spread, wanted_accuracy
from pappi.planning.noise_tails import NoisyBins
from pappi.planning.plan import plan_options, plan_ppi
from pappi.ppinot.model import Ppi, ReleaseChoice, Wanted
from pappi.values.epsilon import Epsilon
from pappi.values.privacy import Adjacency
from pappi.values.quotes import CONFIDENCES, Quote
from pappi.values.units import DURATIONS
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
DRAWS = 1_500


def quoted(asked: Ppi, epsilon: str = "0.5", cases: int = 100) -> Quote:
    known = facts(cases=cases)
    return quote_of(plan_ppi(asked, Epsilon.of(epsilon), known), known, 1, 1)


# --- the promise --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "values", "answer"),
    [
        (TIMED, np.full(40, 5.0 * HOUR), 5.0 * HOUR),
        (SHARE, np.tile([0.0, 1.0], 20), 0.5),
        (SUM, np.tile([1.0, 2.0], 20), 60.0),
        (MEDIAN, np.linspace(0, 10 * HOUR, 41), 5.0 * HOUR),
    ],
    ids=["mean", "share", "sum", "median"],
)
@pytest.mark.parametrize("epsilon", ["0.1", "0.7"])
def test_releases_keep_within_the_margin_as_often_as_it_says(
    asked: Ppi, values: Values, answer: float, epsilon: str
) -> None:
    known = facts(cases=len(values))
    plan = plan_ppi(asked, Epsilon.of(epsilon), known)
    spread = plan_spread(plan, known)
    assert spread is not None
    mechanism, chance = plan.parts[0].mechanism, random.Random(5)  # noqa: S311 - a simulation
    law = mechanism.law(values)
    drawn = [mechanism.estimate(law.draw(chance.randrange)).value for _ in range(DRAWS)]
    off = np.abs(np.array(drawn, np.float64) - answer)
    for level in CONFIDENCES:
        kept = np.mean(off <= spread.within(level) * (1 + 1e-9))
        assert kept >= level - 0.045


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
        spread = plan_spread(plan, known)
        assert spread is not None
        widths = [spread.within(level) for level in CONFIDENCES]
        assert all(less <= more * 1.00001 for less, more in pairwise(widths))
        assert all(spread.keeps(w, c) for w, c in zip(widths, CONFIDENCES, strict=True))
        margins.append(widths[3])
    assert all(more <= less * 1.001 for less, more in pairwise(margins))


def test_every_way_to_release_has_a_margin_or_says_why_not() -> None:
    for asked in (TIMED, replace(TIMED, target=None), RATIO, DIFFERENCE, LOOSE):
        for option in plan_options(asked, Epsilon.of("0.5"), facts()):
            if option.plan is not None and option.plan.mechanism != "private ceiling":
                spread = plan_spread(option.plan, facts())
                assert spread is not None
                assert spread.within(0.5) > 0


def test_two_noisy_bins_are_off_as_often_as_all_their_outcomes_say() -> None:
    bins = NoisyBins(3, 5, Fraction(2))
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
        assert bins.tails(1.0).beyond(t) == pytest.approx(exact / whole, abs=1e-4)


# --- where there is no law ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "words"),
    [(PRIVATE, "nothing is known"), (LOOSE, "only a typical error")],
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
    assert "no value" in quote.margin_note


def test_of_a_verdict_the_margin_is_the_distance_it_tells_apart() -> None:
    aimed = ppi(
        "measure: {mean: {time: {from: case start, to: case end}}}\n"
        "    bounds: [0 h, 10 h]\n    target: below 2 h"
    )
    quote = quoted(replace(aimed, release=ReleaseChoice(answer=Wanted.VERDICT)))
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


# --- what it costs ------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [TIMED, RATIO])
def test_an_accuracy_has_its_smallest_epsilon(asked: Ppi) -> None:
    wanted = Accuracy(asked.unit.read(Fraction(1, 4)), Fraction(9, 10))
    needed = epsilon_for(asked, wanted, facts())
    assert needed is not None
    for epsilon, enough in ((needed, True), (Epsilon(needed.nano - 10**6), False)):
        spread = plan_spread(plan_ppi(asked, epsilon, facts()), facts())
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
