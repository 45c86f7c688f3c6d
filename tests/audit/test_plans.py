"""What the planner makes of the example catalogues passes the exact audit, both adjacencies."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction

import pytest

from pappi.checkpoint.audits import audit_plan
from pappi.examples import EXAMPLES
from pappi.mechanisms.choose import mechanism_for
from pappi.planning.parts import Part, PublicFacts
from pappi.planning.plan import Plan, plan_ppi
from pappi.ppinot.catalogue import parse_catalogue, read_catalogue
from pappi.ppinot.model import Ppi
from pappi.values.epsilon import Epsilon
from pappi.values.privacy import CASE, Adjacency
from pappi.values.vocabulary import Kind, Vocabulary

# `make audit` asks for many more.
PAIRS = int(os.environ.get("PAPPI_AUDIT_PAIRS", "2000"))
EPSILON = Epsilon.of("0.1")
VOCABULARY = Vocabulary((), {"damage": Kind.NUMBER})
PPIS = [p for example in EXAMPLES.values() for p in read_catalogue(example.catalogue_path).ppis]


def plan_of(ppi: Ppi, adjacency: Adjacency) -> Plan:
    return plan_ppi(ppi, EPSILON, PublicFacts(CASE, adjacency, VOCABULARY, 100))


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("ppi", PPIS, ids=[ppi.id for ppi in PPIS])
def test_a_planned_release_loses_at_most_its_epsilon(ppi: Ppi, adjacency: Adjacency) -> None:
    report = audit_plan(plan_of(ppi, adjacency), adjacency, pairs=PAIRS)
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


def with_full_epsilon(part: Part) -> Part:
    (measure,) = part.inputs
    assert measure.bounds is not None
    adjacency, epsilon = part.mechanism.adjacency, EPSILON.fraction
    fresh = mechanism_for(measure.function, measure.bounds, epsilon, adjacency, integral=True)
    return replace(part, mechanism=fresh)


def test_a_plan_that_forgets_to_split_epsilon_is_caught() -> None:
    plan = plan_of(BALANCE, Adjacency.ADD_REMOVE)
    unsplit = replace(plan, parts=tuple(with_full_epsilon(part) for part in plan.parts))
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
    assert {part.mechanism.epsilon for part in plan.parts} == {Fraction(1, 20)}
