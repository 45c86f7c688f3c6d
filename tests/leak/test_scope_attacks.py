"""Scopes that choose cases by other cases, or by another instant, cost what they tell."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction

import pytest

from pappi.checkpoint.audits import audit_plan
from pappi.planning.parts import PublicFacts
from pappi.planning.plan import Plan, plan_ppi
from pappi.ppinot.catalogue import parse_catalogue
from pappi.ppinot.model import Anchor, CaseBorder, Ppi
from pappi.ppinot.reduced import reduced
from pappi.values.epsilon import Epsilon
from pappi.values.privacy import CASE, Adjacency, PrivacyUnit
from pappi.values.vocabulary import Kind, Vocabulary

VOCABULARY = Vocabulary(("A", "B"), {"x": Kind.NUMBER, "channel": Kind.TEXT})
EPSILON = Epsilon.of("0.5")
PAIRS = int(os.environ.get("PAPPI_AUDIT_PAIRS", "400"))
LATEST, OWN = "last 100 cases", "{every: month, anchor: {first: {activity: A}}}"
CHOSEN = "{last cases: 100, finished: {activity: B}}"
COUNT = "{count: {activity: A}}"
BY = "by: {data: channel, keys: [web, phone]}"
MEASURES = {
    "mean": f"measure: {{mean: {COUNT}}}",
    "sum": f"measure: {{sum: {COUNT}}}",
    "number": "measure: {number: cases, where: {condition: {activity: B}}}",
    "max": f"measure: {{max: {COUNT}}}",
    "median": f"measure: {{median: {COUNT}}}",
    "mean by group": f"measure: {{mean: {COUNT}, {BY}}}",
    "share": "measure: {share: {condition: {activity: A}}}",
}


def ppi(measure: str, scope: str) -> Ppi:
    bounds = "" if measure in ("number", "share") else "    bounds: [0, 4]\n"
    text = f"log: l\nppis:\n  - id: p\n    {MEASURES[measure]}\n    scope: {scope}\n{bounds}"
    (found,) = parse_catalogue(text, "p.yaml").ppis
    return reduced(found, CaseBorder.END)


def facts(adjacency: Adjacency) -> PublicFacts:
    return PublicFacts(CASE, adjacency, VOCABULARY, 100)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("scope", [LATEST, CHOSEN, OWN])
@pytest.mark.parametrize("measure", MEASURES)
def test_a_case_that_moves_others_tells_no_more_than_epsilon(
    measure: str, scope: str, adjacency: Adjacency
) -> None:
    plan = plan_ppi(ppi(measure, scope), EPSILON, facts(adjacency))
    report = audit_plan(plan, adjacency, pairs=PAIRS)
    assert report.passed, report.failure


def _as_if_usual(measure: str, scope: str, adjacency: Adjacency) -> Plan:
    """A plan that takes the cases of the scope for those of an ordinary period."""
    asked = ppi(measure, scope)
    usual = replace(asked, scope=replace(asked.scope, last_cases=None, anchor=None))
    return replace(plan_ppi(usual, EPSILON, facts(adjacency)), ppi=asked)


def test_a_release_that_forgets_whom_a_case_pushes_out_is_caught() -> None:
    faulty = _as_if_usual("mean", LATEST, Adjacency.ADD_REMOVE)
    report = audit_plan(faulty, Adjacency.ADD_REMOVE, pairs=PAIRS)
    assert not report.passed
    assert report.worst == 2 * EPSILON.fraction


def test_a_release_that_forgets_that_a_case_may_change_its_period_is_caught() -> None:
    report = audit_plan(_as_if_usual("sum", OWN, Adjacency.REPLACE), Adjacency.REPLACE, pairs=PAIRS)
    assert not report.passed


def test_a_person_pushes_out_as_many_cases_as_she_has() -> None:
    of_persons = PublicFacts(PrivacyUnit("who", 3), Adjacency.ADD_REMOVE, VOCABULARY, 100)
    plan = plan_ppi(ppi("sum", LATEST), EPSILON, of_persons)
    assert [part.mechanism.epsilon for part in plan.parts] == [Fraction(1, 2) / 6]


def test_the_logs_own_anchor_is_no_other() -> None:
    asked = ppi("sum", "{every: month, anchor: case end}")
    assert asked.scope.anchor is None
    assert ppi("sum", "{every: month, anchor: case start}").scope.anchor == Anchor(CaseBorder.START)
