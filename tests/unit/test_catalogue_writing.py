"""Catalogues as they are written back: short, readable, exact, or not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from pappi.errors import DefinitionError
from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    Catalogue,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Name,
    Negate,
    Occurs,
    Ppi,
    Scope,
    Target,
    parse_catalogue,
    write_yaml,
)
from pappi.ppinot.notations.yaml import write_json
from pappi.values import NUMBER, Bounds
from tests.unit.test_schema import GOOD

CATALOGUE = """\
log: claims
calendars:
  hours: Mon-Fri 09:00-17:00; except holidays in DE
ppis:
  - id: handling
    name: "Handling: working time"
    measure:
      mean:
        time:
          from: {activity: Assess damage, transition: start}
          to: {activity: Assess damage, transition: complete}
          cycles: sum
          open: no value
          calendar: hours
      by: {data: channel, values: [web, "1", "no"]}
    bounds: [0 hours, 16 hours, loose]
    target:
      groups:
        "1": below 3 hours
        web: {green: at least 1 and below 3 hours, amber: between 0.5 and 4 hours}
      otherwise: below 1.5 hours
    scope: {every: month, recent: 2 years, ongoing: {activity: Pay claim}, anchor: case start}

  - id: paid
    measure: {number: cases, where: {state: {activity: Pay claim, transition: complete}}}
    scope: last 500 cases

  - id: steady
    measure:
      share:
        derive: "t is missing ? false : t < 2 days"
        missing: left out
        t:
          time:
            from: case start
            to: {first: {sequence: [{activity: A}, damage > 1000], order: leads to}}
            while: status not in ("waiting", "stopped")
            calendar: hours
    unit: fraction
    target: above 0.95
    scope:
      every: month
      all:
        - {finished: {activity: Pay claim}}
        - any: [{started: after 2014-01-31}, {not: {ended: before 2015-01-01}}, {cases: {data: a}}]
    epsilon: 0.25
    release: {answer: verdict, mechanism: laplace}
    goals: [be quick, '"fair"']
    comments: "two\\nlines"
"""


def test_a_catalogue_is_written_as_people_write_it() -> None:
    assert write_yaml(parse_catalogue(CATALOGUE)) == CATALOGUE


@pytest.mark.parametrize("name", GOOD)
def test_what_was_written_by_hand_is_written_without_loss(name: str) -> None:
    catalogue = parse_catalogue(GOOD[name])
    text = write_yaml(catalogue)
    assert parse_catalogue(text) == catalogue
    assert parse_catalogue(write_json(catalogue)) == catalogue
    assert write_yaml(parse_catalogue(text)) == text


@pytest.mark.parametrize(
    "state",
    [
        "{activity: A, transition: complete}",
        "{of: {activity: A, transition: start}, is: {transition: complete}}",
        "{of: {activity: A}, is: {activity: A, transition: complete}}",
        "{of: {transition: start}, is: {transition: complete}}",
        "{of: a == 1, is: {transition: complete}}",
        "{is: {transition: complete}}",
    ],
)
def test_a_state_has_a_short_form_only_where_it_says_all(state: str) -> None:
    catalogue = parse_catalogue(
        f"log: l\nppis: [{{id: x, measure: {{share: {{state: {state}}}}}}}]"
    )
    assert f"state: {state}}}" in write_yaml(catalogue)


def test_json_has_numbers_where_numbers_stand() -> None:
    text = "log: l\nppis: [{id: x, measure: {sum: {data: a}}, bounds: [-1.5, 2e3], epsilon: 0.1}]"
    written = json.loads(write_json(parse_catalogue(text)))
    assert written["ppis"] == [
        {
            "id": "x",
            "measure": {"sum": {"data": "a"}},
            "bounds": [-1.5, 2000],
            "scope": "every month",
            "epsilon": 0.1,
        }
    ]


def ppi_with(**changes: object) -> Ppi:
    count = CountMeasure(Occurs(Name("a")))
    ppi = Ppi("x", "x", AggregatedMeasure(Aggregation.SUM, count), NUMBER, Scope(None))
    return replace(ppi, **changes)  # type: ignore[arg-type]


def written(**changes: object) -> str:
    """The one line of a PPI that says what was changed."""
    lines = write_yaml(Catalogue("l", (ppi_with(**changes),))).splitlines()
    (line,) = [line.strip() for line in lines[3:] if not line.startswith(("    measure", "    sc"))]
    return line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain words", "comments: plain words"),
        ("it's 5 o'clock", "comments: it's 5 o'clock"),
        ("a, b [c]", "comments: a, b [c]"),
        ("a: b", 'comments: "a: b"'),
        ("a #b", 'comments: "a #b"'),
        ('"a"', "comments: '\"a\"'"),
        ('"it\'s"', 'comments: "\\"it\'s\\""'),
        ("a\\b: c", "comments: 'a\\b: c'"),
        ("a\nb\tc", 'comments: "a\\nb\\tc"'),
        ("No", 'comments: "No"'),
        ("null", 'comments: "null"'),
        ("12", 'comments: "12"'),
        ("1_0", 'comments: "1_0"'),
        ("0x1F", 'comments: "0x1F"'),
        ("12:30", 'comments: "12:30"'),
        ("2014-01-31", 'comments: "2014-01-31"'),
        ("2014 was good", "comments: 2014 was good"),
        ("- a", 'comments: "- a"'),
        ("* a", 'comments: "* a"'),
        ("~", 'comments: "~"'),
        ("größer 😀", "comments: größer 😀"),
        ("a\u2028b\ufeff\xa0", 'comments: "a\\u2028b\\ufeff\\u00a0"'),
    ],
)
def test_texts_that_yaml_would_misread_are_quoted(text: str, line: str) -> None:
    if text != text.strip():
        text, line = text.strip(), line.replace("\\u00a0", "")
    assert written(comments=text) == line


def test_in_braces_more_is_quoted() -> None:
    assert written(goals=("a, b", "c?", "d", "e: f")) == 'goals: ["a, b", "c?", d, "e: f"]'


@pytest.mark.parametrize(
    ("target", "line"),
    [
        (Target(None, Fraction(7), high_included=False), "below 7"),
        (Target(Fraction(-1, 8), None), "at least -0.125"),
        (Target(Fraction(0), Fraction(10**12)), "between 0 and 1000000000000"),
        (Target(Fraction(15, 10**20), Fraction(10**99)), "between 15e-20 and 1e99"),
        (Target(Fraction("0.1234567890123456789"), None), "at least 0.1234567890123456789"),
        (Target(Fraction(0), Fraction(1), high_included=False), "at least 0 and below 1"),
        (Target(Fraction(0), Fraction(1), low_included=False), "above 0 and at most 1"),
    ],
)
def test_targets_are_written_in_words(target: Target, line: str) -> None:
    assert written(target=target) == f"target: {line}"


def deep(levels: int) -> DerivedSingleInstance:
    measure: DerivedSingleInstance | DataMeasure = DataMeasure("a")
    for _ in range(levels):
        measure = DerivedSingleInstance(Name("a"), (("a", measure),))
    assert isinstance(measure, DerivedSingleInstance)
    return measure


def tall(levels: int) -> Name | Negate:
    expression: Name | Negate = Name("a")
    for _ in range(levels):
        expression = Negate(expression)
    return expression


def summed(base: DerivedSingleInstance | CountMeasure) -> AggregatedMeasure:
    return AggregatedMeasure(Aggregation.SUM, base)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"target": Target(Fraction(1, 3), None)}, "'1/3' is not a decimal number"),
        ({"value_range": Bounds(Fraction(0), Fraction(1, 7))}, "'1/7' is not a decimal number"),
        ({"target": Target(Fraction(10**5_000), None)}, "a number has too many digits"),
        ({"target": Target(Fraction(10**130), None)}, "has too many digits"),
        ({"target": Target(None, None)}, "a target has at least one end"),
        ({"name": " x "}, "the PPI 'x' would change"),
        ({"name": "\x1b[2J"}, "control character"),
        ({"id": "no id"}, "expected an id"),
        ({"unit": replace(NUMBER, factor=Fraction(5))}, "would change"),
        ({"measure": DerivedMultiInstance(Name("a"), ())}, "unknown variable 'a'"),
        ({"measure": summed(deep(45))}, "nested more than"),
        ({"measure": summed(deep(5_000))}, "nested more than"),
        ({"measure": summed(CountMeasure(Occurs(tall(60))))}, "nested more than"),
        ({"measure": summed(CountMeasure(Occurs(tall(5_000))))}, "nested more than"),
    ],
)
def test_what_has_no_words_is_refused_and_not_written_otherwise(
    changes: dict[str, object], why: str
) -> None:
    for write in (write_yaml, write_json):
        with pytest.raises(DefinitionError) as caught:
            write(Catalogue("l", (ppi_with(**changes),)))
        (problem,) = caught.value.problems
        assert problem.message.startswith("the catalogue notation cannot express this: ")
        assert why in problem.message
