"""Mechanisms and shares of one's own choice lose at most epsilon, all functions together."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any, cast

import pytest

from pappi.audit import AuditReport, audit_joint, handmade, steered_by
from pappi.checkpoint.audits import subject_of
from pappi.errors import NotReleasable
from pappi.mechanisms import LaplaceMean
from pappi.planning import Measurement, Plan, plan_ppi
from pappi.values import CASE, Adjacency, Epsilon, PrivacyUnit
from tests.every_release import PERSON, SETTINGS, facts, own_releases, shapes

# `make audit` asks for many more pairs, and for more of the combinations.
SHORT = 1000
PAIRS = max(int(os.environ.get("PAPPI_AUDIT_PAIRS", SHORT)) // 2, SHORT)
SAMPLED_PLANS = 16 if PAIRS == SHORT else 120
EPSILON = Epsilon.of("0.5")
SHAPES = {shape.name: shape for shape in shapes()}
ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
LATEST = "difference of sums, last 50 cases"


@dataclass(frozen=True)
class Chosen:
    """A way to release a PPI, and the part of epsilon that it loses, up to a tenth of that."""

    shape: str
    release: str
    adjacency: Adjacency = ADD_REMOVE
    loses: Fraction | None = Fraction(1)
    unit: PrivacyUnit = CASE

    def plan(self) -> Plan:
        ppi = SHAPES[self.shape].ppi(self.release)
        return plan_ppi(ppi, EPSILON, facts(self.adjacency, self.unit))


def shares(first: str, one: str, second: str, other: str, names: str = "ab") -> str:
    wishes = (f"{{mechanism: {first}, share: {one}}}", f"{{mechanism: {second}, share: {other}}}")
    entries = ", ".join(f"{name}: {wish}" for name, wish in zip(names, wishes, strict=True))
    return f"{{noise: {{{entries}}}}}"


SUMS = shares("laplace", "0.3", "laplace", "0.7")
MIXED = shares("laplace", "0.3", "interval", "0.7")
CHOSEN = {
    "two sums, unevenly": Chosen("difference of sums", SUMS),
    "two sums, unevenly, replace": Chosen("difference of sums", SUMS, REPLACE),
    "a sum and a maximum": Chosen("sum by maximum", MIXED),
    "a sum and a maximum, replace": Chosen("sum by maximum", MIXED, REPLACE),
    "a share that is not used": Chosen(
        "difference of sums", shares("laplace", "0.2", "laplace", "0.5"), loses=Fraction(7, 10)
    ),
    "half of epsilon": Chosen(
        "mean of count", "{noise: {value: {share: 0.5}}}", loses=Fraction(1, 2)
    ),
    "a mean by Laplace noise": Chosen("mean of count", "{mechanism: laplace}", REPLACE),
    "a share by Laplace noise": Chosen("share", "{mechanism: laplace}", REPLACE),
    "two means by Laplace noise": Chosen(
        "ratio of means", shares("laplace", "0.25", "laplace", "0.75"), REPLACE
    ),
    "hexagon and two-bin": Chosen(
        "nested", shares("hexagon", "0.8", "two-bin", "0.2", "xc"), loses=None
    ),
    "buckets beside a sum": Chosen(
        "sum by mean",
        "{noise: {a: {share: 0.4}, b: {mechanism: sample-and-aggregate}}, buckets: 5}",
        loses=None,
    ),
    "in groups": Chosen("grouped difference", shares("two-bin", "0.9", "laplace", "0.1")),
    "in groups, replace": Chosen(
        "grouped difference", shares("two-bin", "0.9", "laplace", "0.1"), REPLACE
    ),
    "of the latest cases": Chosen(LATEST, SUMS, loses=None),
    "of persons": Chosen("difference of sums", SUMS, unit=PERSON),
}


def audited(plan: Plan, adjacency: Adjacency, unit: PrivacyUnit = CASE) -> AuditReport:
    subject = subject_of(plan, adjacency)
    return audit_joint(
        subject.mechanisms,
        subject.columns,
        adjacency=adjacency,
        epsilon=subject.epsilon,
        draw=steered_by(3),
        pairs=PAIRS,
        starts=handmade(subject.columns)["single"] if PAIRS == SHORT else None,
        unit_cases=unit.max_cases if PAIRS > SHORT else 1,
    )


@pytest.mark.parametrize("name", CHOSEN)
def test_a_choice_loses_what_its_shares_say_and_no_more(name: str) -> None:
    chosen = CHOSEN[name]
    report = audited(chosen.plan(), chosen.adjacency, chosen.unit)
    assert report.passed, report.failure
    assert report.worst <= EPSILON.fraction
    if chosen.loses is not None and PAIRS == SHORT:
        # In short form a person is one case, who loses a third of what three lose.
        due = EPSILON.fraction * chosen.loses / chosen.unit.max_cases
        assert Fraction(9, 10) * due < report.worst <= due


def test_a_sample_of_all_that_can_be_asked_for_passes() -> None:
    """One plan for each kind of them: mechanisms, adjacency, unit, groups and latest cases."""
    kinds: dict[tuple[object, ...], tuple[Plan, Adjacency, PrivacyUnit]] = {}
    asked = (
        (s, r, setting) for s in SHAPES.values() for r in own_releases(s) for setting in SETTINGS
    )
    for shape, release, (adjacency, unit) in islice(asked, 5, None, 97):
        try:
            plan = plan_ppi(shape.ppi(release), EPSILON, facts(adjacency, unit))
        except NotReleasable:
            continue
        names = tuple(part.mechanism.name for part in plan.measurements)
        if PAIRS == SHORT and names.count("private clipping bound") > 1:
            continue  # two laws of many ceilings each: a minute
        kind = (names, adjacency, unit, len(plan.groups), plan.ppi.scope.last_cases)
        kinds.setdefault(kind, (plan, Adjacency(adjacency), unit))
    sample = list(kinds.values())[:: max(1, len(kinds) // SAMPLED_PLANS)]
    assert len(sample) >= min(SAMPLED_PLANS, 16)
    for plan, promised, unit in sample:
        report = audited(plan, promised, unit)
        assert report.passed, (plan.ppi.measure, plan.ppi.release, report.failure)


# --- planted faults -------------------------------------------------------------------


def at(part: Measurement, epsilon: Fraction) -> Measurement:
    return replace(part, mechanism=cast("Any", replace)(part.mechanism, epsilon=epsilon))


@pytest.mark.parametrize("name", ["two sums, unevenly", "a sum and a maximum"])
def test_all_of_epsilon_for_each_function_is_caught(name: str) -> None:
    plan = CHOSEN[name].plan()
    unsplit = replace(
        plan, measurements=tuple(at(part, EPSILON.fraction) for part in plan.measurements)
    )
    report = audited(unsplit, ADD_REMOVE)
    assert not report.passed
    assert report.worst > Fraction(19, 10) * EPSILON.fraction


def test_a_share_that_is_not_taken_from_the_others_is_caught() -> None:
    plan = CHOSEN["two sums, unevenly"].plan()
    first, second = plan.measurements
    generous = replace(plan, measurements=(at(first, EPSILON.fraction / 2), second))
    report = audited(generous, ADD_REMOVE)
    assert not report.passed
    assert report.worst == EPSILON.fraction * Fraction(12, 10)


def test_a_number_of_cases_from_the_data_is_caught_under_add_remove() -> None:
    plan = CHOSEN["a mean by Laplace noise"].plan()
    assert isinstance(plan.measurements[0].mechanism, LaplaceMean)
    report = audited(plan, ADD_REMOVE)
    assert not report.passed
    assert report.worst == math.inf


def test_laplace_noise_on_the_means_of_groups_is_caught_also_under_replace() -> None:
    """Were it planned: a case that changes its group changes two means."""
    plan = plan_ppi(SHAPES["grouped mean"].ppi(), EPSILON, facts("replace", CASE))
    (part,) = plan.measurements
    mean = LaplaceMean(part.mechanism.bounds, EPSILON.fraction, REPLACE, integral=True)
    report = audited(replace(plan, measurements=(replace(part, mechanism=mean),)), REPLACE)
    assert not report.passed
    assert report.worst == 2 * EPSILON.fraction


def test_laplace_noise_on_a_mean_cannot_even_be_made_where_the_number_is_private() -> None:
    mean = CHOSEN["a mean by Laplace noise"].plan().measurements[0].mechanism
    with pytest.raises(NotReleasable, match="number of cases, which is private"):
        cast("Any", replace)(mean, adjacency=ADD_REMOVE)
