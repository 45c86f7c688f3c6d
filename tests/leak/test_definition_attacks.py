"""Definitions that once misled, or were charged for and could never be answered."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pappi.checkpoint.answers import probability_met
from pappi.errors import DefinitionError, PappiError, Refused
from pappi.planning import plan_ppi
from pappi.ppinot import Catalogue, Target, check_catalogue, parse_catalogue, reduced_form
from pappi.ppinot.notations.java import read_java
from pappi.session import Workspace
from pappi.values import CaseBorder, Epsilon, Kind, Vocabulary
from tests.public_logs import public_log
from tests.small_logs import claims, workspace_with

VOCABULARY = Vocabulary(("Receive", "Pay", "Reject"), {"damage": Kind.NUMBER})


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspace_with(tmp_path_factory.mktemp("attacks") / "w", claims(40))


def catalogue(measure: str, *lines: str) -> Catalogue:
    text = f"log: small\nppis:\n  - id: p\n    measure: {measure}\n    scope: whole time\n"
    return parse_catalogue(text + "".join(f"    {line}\n" for line in lines), "p.yaml")


def test_a_formula_that_has_no_value_is_not_counted_because_its_variables_have(
    workspace: Workspace,
) -> None:
    """A quotient by a count of zero: `missing: left out` says nothing of the formula itself."""
    base = "{derive: 1 / n, missing: left out, n: {count: {activity: Reject}}}"
    (answer,) = workspace.exact(catalogue(f"{{number: {base}}}"))
    assert answer.value == 10


def cyclic(count: int) -> Catalogue:
    times = "".join(
        f"        a{i}: {{time: {{from: 'damage > {i}', to: 'damage < {i}', cycles: sum}}}}\n"
        for i in range(count)
    )
    names = ", ".join(f"a{i}" for i in range(count))
    text = (
        f"log: small\nppis:\n  - id: p\n    bounds: [0 h, 9 h]\n    measure:\n      max:\n"
        f"        derive: max({names})\n{times}"
    )
    return parse_catalogue(text, "p.yaml")


def test_many_cycles_are_answered_side_by_side(workspace: Workspace) -> None:
    assert workspace.exact(cyclic(60))


def test_what_could_not_be_computed_is_refused_before_the_charge(workspace: Workspace) -> None:
    analyst = workspace.checkpoint()
    before = analyst.budget("small")
    with pytest.raises(Refused, match="looks at neighbouring events"):
        analyst.release(cyclic(100))
    hours = ", ".join(f"a{i}" for i in range(9))
    times = "".join(
        f"        a{i}: {{time: {{from: case start, to: case end, calendar: Mon 0{i}:00-10:00}}}}\n"
        for i in range(9)
    )
    text = (
        "log: small\nppis:\n  - id: p\n    bounds: [0 h, 9 h]\n    measure:\n      max:\n"
        f"        derive: max({hours})\n{times}"
    )
    with pytest.raises(Refused, match="working calendars"):
        analyst.release(parse_catalogue(text, "p.yaml"))
    assert analyst.budget("small") == before


JAVA_TIME = """{{"definitions": [{{"kind": "AggregatedMeasure", "id": "a", "name": "a",
 "aggregationFunction": "Average", "bounds": ["0 days", "9 days"],
 "baseMeasure": {{"kind": "TimeMeasure", "id": "t", {options}
   "from": {{"kind": "TimeInstantCondition", "appliesTo": "process",
             "changesToState": {{"genericState": "{start}"}}, "element": "process"}},
   "to": {{"kind": "TimeInstantCondition", "appliesTo": "process",
           "changesToState": {{"genericState": "{end}"}}, "element": "process"}}}}}}]}}"""


@pytest.mark.parametrize(
    ("start", "end", "options"),
    [
        ("END", "END", ""),
        ("START", "START", ""),
        ("END", "START", ""),
        ("START", "END", '"firstTo": true,'),
        ("START", "END", '"timeMeasureType": "CYCLIC",'),
    ],
)
def test_a_case_border_means_what_it_says_in_every_notation(
    start: str, end: str, options: str
) -> None:
    text = JAVA_TIME.format(start=start, end=end, options=options)
    try:
        problems = check_catalogue(read_java(text, "j.json", "small").catalogue, VOCABULARY)
    except DefinitionError as error:
        problems = list(error.problems)
    assert problems


def test_a_whole_case_is_still_measured() -> None:
    text = JAVA_TIME.format(start="START", end="END", options="")
    assert check_catalogue(read_java(text, "j.json", "small").catalogue, VOCABULARY) == []


@pytest.mark.parametrize(
    ("target", "sure"),
    [
        (Target(Fraction(77), None), True),
        (Target(None, Fraction(77), high_included=False), False),
        (Target(Fraction(77), Fraction(78), high_included=False), True),
        (Target(Fraction(77), None, low_included=False), False),
        (Target(None, Fraction(77)), True),
    ],
)
def test_how_sure_a_count_meets_its_target_minds_the_limit(target: Target, *, sure: bool) -> None:
    asked = reduced_form(catalogue("{number: cases}").ppis[0], CaseBorder.END)
    plan = plan_ppi(asked, Epsilon.of("20"), public_log(VOCABULARY))
    (part,) = plan.measurements
    found = probability_met(plan, target, {part.path: (77,)})
    assert found is not None
    assert (found > 0.9) is sure


HUGE = "9" * 400


@pytest.mark.parametrize(
    "fields",
    [
        f'"catalogue": {{"value": ["0", "{HUGE}"]}},',
        f'"catalogue": {{"release": {{"mechanism": "threshold", "falloff": "{HUGE}"}}}},',
    ],
)
def test_numbers_that_no_float_can_hold_are_refused(fields: str, workspace: Workspace) -> None:
    text = f"""{{"log": "small", "ppis": [{{"id": "p", "name": "p", {fields}
      "measuredBy": {{"kind": "AggregatedMeasure", "id": "a", "aggregationFunction": "Sum",
        "bounds": [0, 5],
        "baseMeasure": {{"kind": "CountMeasure", "id": "c", "when":
          {{"kind": "TimeInstantCondition", "appliesTo": "Pay", "lifecycle": "any",
            "changesToState": {{"genericState": "END"}}}}}}}}}}]}}"""
    with pytest.raises(PappiError):
        workspace.checkpoint().preview(read_java(text, "j.json", "small").catalogue)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            '"catalogue": {"target": {"green": "at most 7", "amber": "at most 5"}},',
            "must include all of the target",
        ),
        ('"catalogue": {"target": {"groups": {"web": "at most 5"}}},', "has no group"),
    ],
)
def test_targets_are_checked_whatever_the_notation(lines: str, message: str) -> None:
    text = f"""{{"log": "small", "ppis": [{{"id": "p", "name": "p", {lines}
      "measuredBy": {{"kind": "AggregatedMeasure", "id": "a", "aggregationFunction": "Sum",
        "bounds": [0, 5],
        "baseMeasure": {{"kind": "CountMeasure", "id": "c", "when":
          {{"kind": "TimeInstantCondition", "appliesTo": "Pay", "lifecycle": "any",
            "changesToState": {{"genericState": "END"}}}}}}}}}}]}}"""
    try:
        problems = check_catalogue(read_java(text, "j.json", "small").catalogue, VOCABULARY)
    except DefinitionError as error:
        problems = list(error.problems)
    assert any(message in str(problem) for problem in problems), problems
