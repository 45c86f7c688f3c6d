"""Plans come from public facts, split one epsilon, and respect adjacency."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from pappi.errors import NotReleasable
from pappi.planning import plan_options, plan_ppi
from pappi.ppinot import Ppi, ReleaseChoice, parse_catalogue
from pappi.values import Adjacency, Epsilon, Kind, PrivacyUnit, PublicLog, Vocabulary
from tests.public_logs import public_log

VOCABULARY = Vocabulary(("A", "B"), {"amount": Kind.NUMBER, "channel": Kind.TEXT})
EPSILON = Epsilon.of("0.1")


def facts(adjacency: Adjacency = Adjacency.ADD_REMOVE, cases: int = 100) -> PublicLog:
    return public_log(VOCABULARY, cases, adjacency)


def ppi(measure: str) -> Ppi:
    (found,) = parse_catalogue(f"log: l\nppis:\n  - id: p\n    {measure}\n", "p.yaml").ppis
    return found


COUNT_A, COUNT_B = "{count: activity == 'A'}", "{count: activity == 'B'}"
RATIO = ppi(
    f"measure: {{derive: a / b, a: {{sum: {COUNT_A}}}, b: {{sum: {COUNT_B}}}}}\n"
    "    bounds: {a: [0, 1], b: [0, 2], value: [0, 1]}"
)
DIFFERENCE = ppi(
    f"measure: {{derive: a - b, a: {{sum: {COUNT_A}}}, b: {{sum: {COUNT_B}}}}}\n"
    "    bounds: {a: [0, 1], b: [0, 8]}"
)
TIMED = ppi(
    "measure: {mean: {time: {from: activity == 'A', to: activity == 'B'}}}\n    bounds: [0 h, 10 h]"
)
COUNTED = ppi(f"measure: {{mean: {COUNT_A}}}\n    bounds: [0, 5]")


def test_functions_over_the_same_cases_share_one_epsilon_as_is_best() -> None:
    plan = plan_ppi(DIFFERENCE, EPSILON, facts())
    assert [part.path for part in plan.measurements] == ["ppi.a", "ppi.b"]
    first, second = (part.mechanism.epsilon for part in plan.measurements)
    assert first + second == EPSILON.fraction
    # Errors of 1 and 8: ε in proportion to 1 and 8^(2/3) = 4.
    assert first == EPSILON.fraction * 13 / 64


def test_every_admissible_set_is_listed_with_a_plan_or_a_reason() -> None:
    root, split = plan_options(DIFFERENCE, EPSILON, facts())
    assert root.functions == ("ppi",)
    assert root.plan is None
    assert root.reason
    assert split.plan is not None
    assert math.isfinite(split.plan.predicted_error)


def test_the_ratio_of_any_two_sums_is_released_at_once_where_that_is_better() -> None:
    whole, split, sampled = plan_options(RATIO, EPSILON, facts())
    assert whole.plan is not None
    assert split.plan is not None
    assert whole.plan.mechanism == "hexagon"
    assert whole.plan.predicted_error < split.plan.predicted_error
    assert sampled.on_request
    assert plan_ppi(RATIO, EPSILON, facts()) == whole.plan


def test_add_remove_is_used_as_declared() -> None:
    (part,) = plan_ppi(TIMED, EPSILON, facts()).measurements
    assert part.mechanism.adjacency is Adjacency.ADD_REMOVE
    assert part.mechanism.epsilon == Fraction(1, 10)


def test_under_replace_a_measure_that_may_be_missing_costs_a_removal_and_an_addition() -> None:
    timed = replace(TIMED, release=ReleaseChoice(mechanism="two-bin"))
    (part,) = plan_ppi(timed, EPSILON, facts(Adjacency.REPLACE)).measurements
    assert part.mechanism.adjacency is Adjacency.ADD_REMOVE
    assert part.mechanism.epsilon == Fraction(1, 20)


def test_under_replace_ranks_need_no_more_because_a_value_may_be_missing() -> None:
    ranked = replace(TIMED, release=ReleaseChoice(mechanism="interval"))
    (part,) = plan_ppi(ranked, EPSILON, facts(Adjacency.REPLACE)).measurements
    assert part.mechanism.adjacency is Adjacency.REPLACE
    assert part.mechanism.epsilon == Fraction(1, 10)


def test_a_person_with_several_cases_is_protected_by_as_much_less_epsilon() -> None:
    persons = public_log(VOCABULARY, unit=PrivacyUnit("patient", 4))
    (part,) = plan_ppi(TIMED, EPSILON, persons).measurements
    assert part.mechanism.epsilon == Fraction(1, 40)


def test_under_replace_a_measure_every_case_has_uses_the_public_number_of_cases() -> None:
    (part,) = plan_ppi(COUNTED, EPSILON, facts(Adjacency.REPLACE)).measurements
    assert part.mechanism.adjacency is Adjacency.REPLACE
    assert part.mechanism.epsilon == Fraction(1, 10)


def test_more_cases_and_more_epsilon_predict_less_error() -> None:
    base = plan_ppi(TIMED, EPSILON, facts()).predicted_error
    assert plan_ppi(TIMED, EPSILON, facts(cases=1_000)).predicted_error < base
    assert plan_ppi(TIMED, Epsilon.of(1), facts()).predicted_error < base


WITHIN = f"{{sum: {COUNT_A}, within: b}}"


@pytest.mark.parametrize(
    ("formula", "factor"),
    [
        ("a / b", 1),
        ("100 * a / b", 100),
        ("a * 100 / b", 100),
        ("a / b * 100", 100),
        ("100 * (a / b)", 100),
        ("2 * (a / b) * 3", 6),
    ],
)
def test_a_part_of_a_whole_is_released_as_one_ratio(formula: str, factor: int) -> None:
    ratio = ppi(
        f"measure: {{derive: {formula}, a: {WITHIN}, b: {{sum: {COUNT_B}}}}}\n"
        "    bounds: {a: [0, 1], b: [0, 2]}"
    )
    plan = plan_ppi(ratio, EPSILON, facts())
    (part,) = plan.measurements
    assert part.path == "ppi"
    assert part.mechanism.epsilon == EPSILON.fraction
    released = part.mechanism.estimate((10**9, 3 * 10**9)).value
    assert released == pytest.approx(factor / 4)
    options = [each for each in plan_options(ratio, EPSILON, facts()) if not each.on_request]
    assert [option.functions for option in options] == [("ppi",)]
    apart = ppi(
        f"measure: {{derive: {formula}, a: {{sum: {COUNT_A}}}, b: {{sum: {COUNT_B}}}}}\n"
        "    bounds: {a: [0, 1], b: [0, 2]}"
    )
    assert plan.predicted_error < plan_ppi(apart, EPSILON, facts()).predicted_error


def test_a_ratio_of_loose_sums_is_split() -> None:
    loose = ppi(
        f"measure: {{derive: a / b, a: {{sum: {COUNT_A}}}, b: {{sum: {COUNT_B}}}}}\n"
        "    bounds: {a: [0, 100, loose], b: [0, 2], value: [0, 1]}"
    )
    assert [part.path for part in plan_ppi(loose, EPSILON, facts()).measurements] == [
        "ppi.a",
        "ppi.b",
    ]


def test_a_whole_that_may_be_negative_is_no_ratio() -> None:
    odd = ppi(
        f"measure: {{derive: a / b, a: {WITHIN}, b: {{sum: {COUNT_B}}}}}\n"
        "    bounds: {a: [0, 1], b: [-1, 2], value: [0, 1]}"
    )
    assert [part.path for part in plan_ppi(odd, EPSILON, facts()).measurements] == [
        "ppi.a",
        "ppi.b",
    ]


@pytest.mark.parametrize("formula", ["a + b", "a / b / 2", "a / b + 1", "a * b / b"])
def test_other_formulas_are_not_taken_for_that_ratio(formula: str) -> None:
    other = ppi(
        f"measure: {{derive: {formula}, a: {WITHIN}, b: {{sum: {COUNT_B}}}}}\n"
        "    bounds: {a: [0, 1], b: [0, 2], value: [0, 9]}"
    )
    assert [part.path for part in plan_ppi(other, EPSILON, facts()).measurements] == [
        "ppi.a",
        "ppi.b",
    ]


def test_a_target_changes_the_verdict_and_not_the_question() -> None:
    wide = (
        f"measure: {{derive: 100 * a / b, a: {WITHIN}, b: {{sum: {COUNT_B}}}}}\n"
        "    bounds: {a: [0, 1], b: [0, 5]}"
    )
    plans = [
        plan_ppi(ppi(wide + target), EPSILON, facts())
        for target in ("", "\n    target: above 50", "\n    target: above 5")
    ]
    assert len({tuple(part.path for part in plan.measurements) for plan in plans}) == 1


def test_a_ratio_cannot_exceed_its_factor_so_neither_can_its_target() -> None:
    ratio = ppi(
        f"measure: {{derive: 100 * a / b, a: {WITHIN}, b: {{sum: {COUNT_B}}}}}\n"
        "    bounds: {a: [0, 1], b: [0, 2]}\n    target: above 500"
    )
    with pytest.raises(NotReleasable, match="at or beyond its bounds"):
        plan_ppi(ratio, EPSILON, facts())


def test_bounds_that_no_float_can_tell_apart_are_refused() -> None:
    narrow = ppi(f"measure: {{max: {COUNT_A}}}\n    bounds: [1, 1.00000000000000000001]")
    with pytest.raises(NotReleasable, match="too close together"):
        plan_ppi(narrow, EPSILON, facts())


def test_measures_grouped_differently_cannot_be_released_together() -> None:
    grouped = f"{{sum: {COUNT_B}, by: {{data: channel, values: [web]}}}}"
    mixed = ppi(
        f"measure: {{derive: a / b, a: {{sum: {COUNT_A}}}, b: {grouped}}}\n"
        "    bounds: {a: [0, 1], b: [0, 2]}"
    )
    with pytest.raises(NotReleasable, match="grouped differently"):
        plan_ppi(mixed, EPSILON, facts())
