"""Scopes that choose cases by other cases, or by another instant, cost what they tell."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pappi.planning import Plan, plan_ppi
from pappi.ppinot import Ppi, parse_catalogue, reduced_form
from pappi.ppinot.model import Anchor
from pappi.values import (
    Adjacency,
    CaseBorder,
    Epsilon,
    Kind,
    PrivacyUnit,
    PublicLog,
    Vocabulary,
)
from tests.audit.starts import audited
from tests.lengths import pairwise
from tests.public_logs import public_log

VOCABULARY = Vocabulary(("A", "B"), {"x": Kind.NUMBER, "channel": Kind.TEXT})
EPSILON = Epsilon.of("0.5")
LATEST, OWN = "last 100 cases", "{every: month, anchor: {first: {activity: A}}}"
CHOSEN = "{last cases: 100, finished: {activity: B}}"
COUNT = "{count: {activity: A}}"
BY = "by: {data: channel, values: [web, phone]}"
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
    return reduced_form(found, CaseBorder.END)


def facts(adjacency: Adjacency) -> PublicLog:
    return public_log(VOCABULARY, adjacency=adjacency)


@pytest.mark.parametrize(
    ("measure", "scope", "adjacency"),
    pairwise(tuple(MEASURES), (LATEST, CHOSEN, OWN), tuple(Adjacency)),
)
def test_a_case_that_moves_others_tells_no_more_than_epsilon(
    measure: str, scope: str, adjacency: Adjacency
) -> None:
    plan = plan_ppi(ppi(measure, scope), EPSILON, facts(adjacency))
    report = audited(plan, adjacency)
    assert report.passed, report.failure


def _as_if_usual(measure: str, scope: str, adjacency: Adjacency) -> Plan:
    """A plan that takes the cases of the scope for those of an ordinary period."""
    asked = ppi(measure, scope)
    usual = replace(asked, scope=replace(asked.scope, last_cases=None, anchor=None))
    return replace(plan_ppi(usual, EPSILON, facts(adjacency)), ppi=asked)


def test_a_release_that_forgets_whom_a_case_pushes_out_is_caught() -> None:
    faulty = _as_if_usual("mean", LATEST, Adjacency.ADD_REMOVE)
    report = audited(faulty, Adjacency.ADD_REMOVE)
    assert not report.passed
    assert report.worst == 2 * EPSILON.fraction


def test_a_release_that_forgets_that_a_case_may_change_its_period_is_caught() -> None:
    report = audited(_as_if_usual("sum", OWN, Adjacency.REPLACE), Adjacency.REPLACE)
    assert not report.passed


def test_a_person_pushes_out_as_many_cases_as_she_has() -> None:
    of_persons = public_log(VOCABULARY, unit=PrivacyUnit("who", 3))
    plan = plan_ppi(ppi("sum", LATEST), EPSILON, of_persons)
    assert [part.mechanism.epsilon for part in plan.measurements] == [Fraction(1, 2) / 6]


def test_the_logs_own_anchor_is_no_other() -> None:
    asked = ppi("sum", "{every: month, anchor: case end}")
    assert asked.scope.anchor is None
    assert ppi("sum", "{every: month, anchor: case start}").scope.anchor == Anchor(CaseBorder.START)
