"""The JSON Schema: fresh, valid, and of one mind with the reader."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TypeAlias

import pytest
from jsonschema import Draft202012Validator

from pappi.errors import DefinitionError, Problem
from pappi.ppinot import ScalarNode, parse_catalogue, read_document
from pappi.ppinot.notations.document import ListNode, MapNode, Node
from pappi.ppinot.notations.yaml import catalogue_schema

ROOT = Path(__file__).parents[2]
Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"

VALIDATOR = Draft202012Validator(catalogue_schema())

GOOD = {
    **{path.name: path.read_text() for path in sorted((ROOT / "examples").glob("*.yaml"))},
    "every form": """
log: l
ppis:
  - id: a
    name: A
    measure:
      derive: x + z
      x: {sum: {count: true}, where: {data: ok}, by: {data: c, values: [p, 1, true]}}
      z: {derive: y, y: {mean: {data: {attribute: a, pick: last, when: a > 1}}, bounds: [0, 1.5]}}
    bounds: {x: [0, 5], value: [0, 100]}
    target: between 1 and 2
    scope: {every: 2 weeks, from: 2014-01-01, until: 2014-03-01}
    epsilon: 0.1
    unit: EUR
    process: P
    goals: [g]
    responsible: R
    informed: [i]
    comments: c
  - id: b
    measure: {share: {condition: {activity: A}}, among: {derive: 1 > 0}}
    scope: between 2014-01-01 and 2014-02-01
    goals: g
  - id: c
    measure: {mean: {data: a}, bounds: [0, 1 day, loose]}
    target: below 1 hour
    release: {answer: value, mechanism: threshold, falloff: 2.5}
  - id: d
    measure: {sum: {data: a}, bounds: private}
    bounds: {value: [0, 100]}
    release: {mechanism: sample-and-aggregate, buckets: 20, noise: value}
  - id: e
    measure: {derive: x / y, x: {sum: {data: a}}, y: {max: {data: b}}}
    bounds: {x: [0, 1, loose], y: private}
    release: {answer: verdict, noise: [x, y]}
  - id: f
    measure:
      mean:
        time:
          from: {activity: A, transition: start, occurrence: onset, among: {transition: complete}}
          to: {sequence: [a == 1, {transition: complete}], order: leads to}
          cycles: mean
          open: no value
          calendar: office
      by: {data: c, values: [web, 1, phone]}
    bounds: [0 days, 2 days]
    target:
      groups:
        web: below 1 day
        1: {green: between 1 and 3 hours, amber: at least 0 and below 4 hours}
      otherwise: {green: below 1 day, amber: below 2 days}
    scope: {every: month, recent: 2 years, anchor: {first: {activity: A}}}
  - id: g
    measure: {number: cases, where: {state: {activity: A, transition: complete}}}
    scope:
      last cases: 500
      all:
        - {finished: {activity: A}}
        - {any: [{started: before 2014-01-01}, {ended: after 2014-01-31}, {ongoing: a == 1}]}
        - {not: {cases: {derive: b > 1, missing: true, b: {data: b}}}}
      anchor: case start
  - id: h
    measure: {number: {time: {from: case start, to: case end, while: true, calendar: always}}}
    scope: every month in the last 2 years
  - id: i
    measure: {share: {state: {of: {activity: A}, is: a == 1}}, among: {state: {is: b == 1}}}
    scope: last 500 cases
  - id: j
    measure: {share: {derive: x > 1 hour, missing: left out, x: {data: x}}}
    target: {green: above 90 %, amber: above 80 %}
    scope: last month
  - {id: k, measure: {number: cases}, scope: whole time}
  - {id: l, measure: {number: cases}, scope: {from: 2014-01-01}}
calendars: {office: "Mon-Fri 09:00-17:00; except holidays in DE"}
""",
}

BROKEN = {
    "no log": "ppis: [{id: x, measure: {sum: {count: a == 1}}}]",
    "no ppis": "log: l\nppis: []",
    "unknown key": "log: l\nppis: [{id: x, measure: {sum: {count: a == 1}}, tarjet: below 1}]",
    "bad id": "log: l\nppis: [{id: 1x, measure: {sum: {count: a == 1}}}]",
    "a bare count": "log: l\nppis: [{id: x, measure: {count: a == 1}}]",
    "nested aggregation": "log: l\nppis: [{id: x, measure: {sum: {mean: {count: a == 1}}}}]",
    "time without end": "log: l\nppis: [{id: x, measure: {sum: {time: {from: case start}}}}]",
    "bad pick": "log: l\nppis: [{id: x, measure: {sum: {data: {attribute: a, pick: any}}}}]",
    "one bound": "log: l\nppis: [{id: x, measure: {sum: {count: a == 1}}, bounds: [1]}]",
    "bad bound": "log: l\nppis: [{id: x, measure: {sum: {count: a == 1}}, bounds: [low, high]}]",
    "bad target": "log: l\nppis: [{id: x, measure: {sum: {count: a == 1}}, target: soon}]",
    "bad scope": "log: l\nppis: [{id: x, measure: {sum: {count: a == 1}}, scope: monthly}]",
    "bad date": "log: l\nppis: [{id: x, measure: {sum: {data: a}}, scope: {every: day, from: x}}]",
    "bad epsilon": "log: l\nppis: [{id: x, measure: {sum: {count: a == 1}}, epsilon: lots}]",
    "variable value": "log: l\nppis: [{id: x, measure: {derive: v, value: {sum: {data: a}}}}]",
    "both filters": (
        "log: l\nppis: [{id: x, measure: {share: {data: a}, among: {data: b}, where: {data: c}}}]"
    ),
    "among of a mean": "log: l\nppis: [{id: x, measure: {mean: {data: a}, among: {data: b}}}]",
    "neither loose nor private": (
        "log: l\nppis: [{id: x, measure: {sum: {data: a}}, bounds: [1, 2, tight]}]"
    ),
    "bounds as a word": "log: l\nppis: [{id: x, measure: {sum: {data: a}}, bounds: loose}]",
    "release as a word": "log: l\nppis: [{id: x, measure: {sum: {data: a}}, release: laplace}]",
    "unknown setting": "log: l\nppis: [{id: x, measure: {sum: {data: a}}, release: {noises: a}}]",
    "bad mechanism": "log: l\nppis: [{id: x, measure: {sum: {data: a}}, release: {mechanism: 2}}]",
    "bad answer": "log: l\nppis: [{id: x, measure: {sum: {data: a}}, release: {answer: both}}]",
    "bad falloff": "log: l\nppis: [{id: x, measure: {sum: {data: a}}, release: {falloff: much}}]",
    "half a bucket": "log: l\nppis: [{id: x, measure: {sum: {data: a}}, release: {buckets: 2.5}}]",
    "no noise": "log: l\nppis: [{id: x, measure: {sum: {data: a}}, release: {noise: []}}]",
    "half a sequence": (
        "log: l\nppis: [{id: x, measure: {sum: {count: {sequence: [a == 1], order: follows}}}}]"
    ),
    "no order": "log: l\nppis: [{id: x, measure: {sum: {count: {sequence: [a, b]}}}}]",
    "bad order": (
        "log: l\nppis: [{id: x, measure: {sum: {count: {sequence: [a, b], order: after}}}}]"
    ),
    "a sequence in a sequence": (
        "log: l\nppis: [{id: x, measure: {sum: {count: "
        "{sequence: [a, {sequence: [b, c], order: follows}], order: follows}}}}]"
    ),
    "bad open cycles": (
        "log: l\nppis: [{id: x, measure: {sum: {time: {from: a, to: b, cycles: sum, open: no}}}}]"
    ),
    "a state of nothing": "log: l\nppis: [{id: x, measure: {share: {state: {of: a}}}}]",
    "half a state": "log: l\nppis: [{id: x, measure: {share: {state: {activity: a}}}}]",
    "bad missing": "log: l\nppis: [{id: x, measure: {share: {derive: true, missing: 0}}}]",
    "number of what": "log: l\nppis: [{id: x, measure: {number: events}}]",
    "bounded number": "log: l\nppis: [{id: x, measure: {number: cases, bounds: [0, 1]}}]",
    "no last cases": "log: l\nppis: [{id: x, measure: {number: cases}, scope: last cases}]",
    "bad last cases": (
        "log: l\nppis: [{id: x, measure: {number: cases}, scope: {last cases: many}}]"
    ),
    "bad recent": "log: l\nppis: [{id: x, measure: {number: cases}, scope: {recent: long ago}}]",
    "no tests": "log: l\nppis: [{id: x, measure: {number: cases}, scope: {all: []}}]",
    "bad start": "log: l\nppis: [{id: x, measure: {number: cases}, scope: {started: today}}]",
    "amber alone": "log: l\nppis: [{id: x, measure: {number: cases}, target: {amber: below 1}}]",
    "bad band": (
        "log: l\nppis: [{id: x, measure: {number: cases}, target: {green: below 1, red: above 2}}]"
    ),
    "bad group target": (
        "log: l\nppis: [{id: x, measure: {number: cases}, target: {groups: {web: soon}}}]"
    ),
    "bad calendar name": (
        "log: l\ncalendars: {1st: always}\nppis: [{id: x, measure: {number: cases}}]"
    ),
    "no calendar": "log: l\ncalendars: {a: ''}\nppis: [{id: x, measure: {number: cases}}]",
    "no keys": "log: l\nppis: [{id: x, measure: {sum: {data: a}, by: {data: c}}}]",
    "empty text": "log: l\nppis: [{id: x, name: '', measure: {sum: {data: a}}}]",
}


def plain(text: str) -> Json:
    """The document as an editor with YAML 1.2 sees it."""
    problems: list[Problem] = []
    return _plain(read_document(text, "t", problems))


def _plain(node: Node) -> Json:
    match node:
        case MapNode():
            return {key.text: _plain(value) for key, value in node.entries}
        case ListNode():
            return [_plain(item) for item in node.items]
        case ScalarNode() if node.plain and node.text in ("true", "false", ""):
            return {"true": True, "false": False, "": None}[node.text]
        case ScalarNode() if node.plain and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", node.text):
            return float(node.text)
        case ScalarNode():
            return node.text
        case _:
            raise AssertionError(node)


def test_the_committed_schema_is_fresh() -> None:
    committed = (ROOT / "schemas" / "catalogue.schema.json").read_text(encoding="utf-8")
    assert json.loads(committed) == catalogue_schema(), "run: make generated"


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(catalogue_schema())


@pytest.mark.parametrize("name", GOOD)
def test_good_catalogues_pass_reader_and_schema(name: str) -> None:
    parse_catalogue(GOOD[name])
    VALIDATOR.validate(plain(GOOD[name]))


@pytest.mark.parametrize("name", BROKEN)
def test_broken_catalogues_fail_reader_and_schema(name: str) -> None:
    with pytest.raises(DefinitionError):
        parse_catalogue(BROKEN[name])
    assert not VALIDATOR.is_valid(plain(BROKEN[name]))


def test_the_examples_name_the_schema_where_it_is() -> None:
    for path in (ROOT / "examples").glob("*.yaml"):
        first = path.read_text().splitlines()[0]
        relative = first.removeprefix("# yaml-language-server: $schema=")
        assert (path.parent / relative).is_file()
