"""What the planner makes of the example catalogues passes the exact audit, both adjacencies."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pappi.checkpoint.audits import audit_plan
from pappi.examples import EXAMPLES
from pappi.mechanisms import mechanism_for
from pappi.planning import Measurement, Plan, plan_ppi
from pappi.ppinot import Ppi, parse_catalogue, read_definitions, reduced_form
from pappi.values import Adjacency, CaseBorder, Epsilon, Kind, Vocabulary
from tests.audit.starts import audited
from tests.public_logs import public_log

EPSILON = Epsilon.of("0.1")
VOCABULARY = Vocabulary((), {"damage": Kind.NUMBER})
PPIS = [
    reduced_form(ppi, CaseBorder.END)
    for example in EXAMPLES.values()
    for ppi in read_definitions(example.catalogue_path).ppis
]


def plan_of(ppi: Ppi, adjacency: Adjacency) -> Plan:
    return plan_ppi(ppi, EPSILON, public_log(VOCABULARY, adjacency=adjacency))


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("ppi", PPIS, ids=[ppi.id for ppi in PPIS])
def test_a_planned_release_loses_at_most_its_epsilon(ppi: Ppi, adjacency: Adjacency) -> None:
    report = audited(plan_of(ppi, adjacency), adjacency)
    assert report.passed, report.failure
    assert report.worst <= EPSILON.fraction


TWO_SUMS = """
log: claims
ppis:
  - id: balance
    measure:
      derive: a - b
      a: {sum: {count: activity == "A"}}
      b: {sum: {count: activity == "B"}}
    bounds: {a: [0, 1], b: [0, 2], value: [-100, 100]}
"""
(BALANCE,) = parse_catalogue(TWO_SUMS).ppis


def with_full_epsilon(part: Measurement) -> Measurement:
    (measure,) = part.inputs
    assert measure.bounds is not None
    adjacency, epsilon = part.mechanism.adjacency, EPSILON.fraction
    fresh = mechanism_for(measure.function, measure.bounds, epsilon, adjacency, integral=True)
    return replace(part, mechanism=fresh)


def test_a_plan_that_forgets_to_split_epsilon_is_caught() -> None:
    plan = plan_of(BALANCE, Adjacency.ADD_REMOVE)
    unsplit = replace(
        plan, measurements=tuple(with_full_epsilon(part) for part in plan.measurements)
    )
    report = audit_plan(unsplit, Adjacency.ADD_REMOVE, pairs=2_000)
    assert not report.passed
    assert report.worst == 2 * EPSILON.fraction


def test_a_plan_for_add_remove_used_under_replace_is_caught() -> None:
    mean, *_ = PPIS
    report = audit_plan(plan_of(mean, Adjacency.ADD_REMOVE), Adjacency.REPLACE, pairs=2_000)
    assert report.worst == 2 * EPSILON.fraction
    assert not report.passed


def test_replace_halves_epsilon_where_a_case_can_come_and_go() -> None:
    plan = plan_of(PPIS[0], Adjacency.REPLACE)
    assert {part.mechanism.epsilon for part in plan.measurements} == {Fraction(1, 20)}
