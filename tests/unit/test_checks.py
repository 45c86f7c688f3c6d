"""Checks against a vocabulary, and kinds of measures."""

from __future__ import annotations

from pathlib import Path

import pytest

from pappi.mechanisms import mechanism_names
from pappi.ppinot import (
    AggregatedMeasure,
    Catalogue,
    check_catalogue,
    is_total,
    measure_kind,
    parse_catalogue,
    parse_definitions,
    read_definitions,
    write_definitions,
)
from pappi.values import Kind, Vocabulary

EXAMPLES = Path(__file__).parents[2] / "examples"

CLAIMS = Vocabulary(
    (
        *("Receive claim", "Assess damage", "Request documents", "Reject claim"),
        *("Approve claim", "Pay claim", "Close"),
    ),
    {
        "resource": Kind.TEXT,
        "damage": Kind.NUMBER,
        "channel": Kind.TEXT,
        "due": Kind.TIME,
        "vip": Kind.TRUTH,
    },
)
SEPSIS = Vocabulary(
    (
        *("ER Registration", "Admission NC", "Admission IC", "Release A", "Return ER"),
        *("IV Antibiotics", "LacticAcid"),
    )
)
LATE = "{derive: a - b, a: {data: due}, b: {data: timestamp}}"


def catalogue(measure: str, *lines: str) -> Catalogue:
    text = f"log: l\nppis:\n  - id: x\n    measure: {measure}\n"
    return parse_catalogue(text + "".join(f"    {line}\n" for line in lines), "c.yaml")


def base(measure: str) -> AggregatedMeasure:
    found = catalogue(measure).ppis[0].measure
    assert isinstance(found, AggregatedMeasure)
    return found


@pytest.mark.parametrize(("name", "vocabulary"), [("claims", CLAIMS), ("sepsis", SEPSIS)])
def test_the_examples_fit_their_logs(name: str, vocabulary: Vocabulary) -> None:
    found = read_definitions(EXAMPLES / f"{name}.yaml")
    assert check_catalogue(found, vocabulary) == []
    assert check_catalogue(found, None) == []


@pytest.mark.parametrize(
    ("measure", "message", "hint"),
    [
        ('{sum: {count: activity == "Pay clam"}}', "unknown activity 'Pay clam'", "'Pay claim'?"),
        ("{sum: {count: {activity: Nap}}}", "unknown activity 'Nap'", "the log declares"),
        ("{sum: {count: \"activity in ('Close', 'Cloze')\"}}", "activity 'Cloze'", "'Close'?"),
        ("{sum: {count: Close}}", "unknown attribute 'Close'", 'activity == "Close"'),
        ("{sum: {count: chanel == 'web'}}", "unknown attribute 'chanel'", "'channel'?"),
        ("{mean: {data: damages}}", "unknown attribute 'damages'", "'damage'?"),
        ("{sum: {count: damage}}", "a condition is true or false, and this is a number", ""),
        ("{sum: {count: damage > 'x'}}", "a number cannot be compared with a text", ""),
        ("{mean: {data: channel}}", "'mean' needs a number or a duration or a truth", "grouped"),
        ("{mean: {data: due}}", "'mean' needs", ""),
        ("{share: {data: damage}}", "'share' needs a truth value", "compare it"),
        ("{share: {count: vip}}", "'share' needs a truth value", "compare it"),
        ("{sum: {data: damage}, where: {data: channel}}", "the cases are chosen by a truth", ""),
        (
            "{sum: {data: damage}, by: {data: chanel, values: [a]}}",
            "unknown attribute 'chanel'",
            "",
        ),
        ("{sum: {derive: a < 3, a: {time: {from: vip, to: vip}}}}", "a duration cannot", "hours"),
        ("{derive: a > 3, a: {sum: {data: damage}}}", "the value of a PPI has to be", ""),
        (
            "{sum: {count: {sequence: [{activity: Clos}, vip], order: follows}}}",
            "unknown activity 'Clos'",
            "'Close'?",
        ),
        ("{sum: {count: {when: vip, among: damag > 1}}}", "unknown attribute 'damag'", "'damage'?"),
        ("{max: {time: {from: vip, to: vip, while: damage}}}", "a condition is true or false", ""),
        ("{share: {state: {of: vip, is: chanel == 'x'}}}", "unknown attribute 'chanel'", ""),
        (
            "{sum: {count: {activity: Close, transition: complete}}}",
            "unknown attribute 'lifecycle:transition'",
            "the log records no transitions",
        ),
        (
            "{sum: {derive: a + 1, a: {data: damage}, missing: true}}",
            "with 'missing: true' a formula has to be a truth value",
            "",
        ),
        (
            (
                "{derive: a + b, a: {sum: {data: damage}}, "
                "b: {sum: {data: damage}, by: {data: channel, values: [w]}}}"
            ),
            "grouped alike",
            "",
        ),
        ("{mean: {data: damage}, bounds: [0, 2 days]}", "the value is a number", "plain numbers"),
        (
            "{mean: {derive: a - b, a: {data: due}, b: {data: due}}, bounds: [0, 2]}",
            "its bounds are plain numbers",
            "24 hours",
        ),
        (
            f"{{mean: {LATE}}}",
            "no bounds give a unit of time",
            "[0 hours, 24 hours]",
        ),
        (
            f"{{derive: a / 2, a: {{mean: {LATE}}}}}",
            "no bounds give a unit of time",
            "{value: [0 hours, 24 hours]}",
        ),
    ],
)
def test_what_does_not_fit_the_log_is_explained(measure: str, message: str, hint: str) -> None:
    (problem,) = check_catalogue(catalogue(measure), CLAIMS)
    assert message in problem.message
    assert hint in problem.hint


def test_a_problem_points_into_the_file() -> None:
    (problem,) = check_catalogue(catalogue('{sum: {count: activity == "Regsiter"}}'), CLAIMS)
    assert str(problem).startswith("c.yaml:4:40: error: unknown activity 'Regsiter'")


@pytest.mark.parametrize(
    "measure",
    [
        "{mean: {data: damage}, where: {data: vip}}",
        "{mean: {derive: a - b, a: {data: due}, b: {data: due}}, bounds: [0 h, 2 h]}",
        "{share: {data: vip}}",
        "{sum: {count: timestamp > 2014-01-31 and vip}}",
        '{sum: {count: \'channel == "web" ? damage > 3 : "Close" == activity\'}}',
    ],
)
def test_what_fits_is_not_complained_about(measure: str) -> None:
    assert check_catalogue(catalogue(measure), CLAIMS) == []


def test_without_a_vocabulary_attributes_are_taken_on_trust_and_the_rest_is_checked() -> None:
    assert check_catalogue(catalogue("{sum: {count: any == 1 and thing}}"), None) == []
    assert len(check_catalogue(catalogue("{sum: {count: activity < 3}}"), None)) == 1


def test_at_most_200_problems_are_listed() -> None:
    condition = " and ".join(f"(a{i}>1)" for i in range(40))
    variables = "".join(f"\n      v{i}: {{sum: {{count: {condition}}}}}" for i in range(20))
    total = " + ".join(f"v{i}" for i in range(20))
    found = catalogue(f"\n      derive: {total}{variables}")
    assert len(check_catalogue(found, CLAIMS)) == 200


@pytest.mark.parametrize(
    ("measure", "kind", "total"),
    [
        ("{count: vip}", Kind.NUMBER, True),
        ("{condition: vip}", Kind.TRUTH, True),
        ("{time: {from: case start, to: case end}}", Kind.DURATION, False),
        ("{data: damage}", Kind.NUMBER, False),
        ("{data: timestamp}", Kind.TIME, False),
        ("{derive: t < 3 days, t: {time: {from: vip, to: vip}}}", Kind.TRUTH, True),
        ("{derive: t * 2, t: {time: {from: vip, to: vip}}}", Kind.DURATION, False),
        ("{derive: a + b, a: {count: vip}, b: {count: vip}}", Kind.NUMBER, True),
        ("{derive: a / b, a: {count: vip}, b: {count: vip}}", Kind.NUMBER, False),
        ("{derive: 'a > 1 ? a : 0', a: {data: damage}}", Kind.NUMBER, False),
        ("{derive: 'a > 1 ? 1 : 0', a: {data: damage}}", Kind.NUMBER, True),
    ],
)
def test_kind_and_totality_are_known_without_data(measure: str, kind: Kind, *, total: bool) -> None:
    found = base(f"{{sum: {measure}}}").base
    assert measure_kind(found, CLAIMS) is kind
    assert is_total(found) is total


def test_an_aggregate_of_truth_values_is_a_number() -> None:
    assert measure_kind(base("{share: {condition: vip}}"), None) is Kind.NUMBER
    assert measure_kind(base("{mean: {data: damage}}"), None) is None
    assert not is_total(base("{mean: {count: vip}}"))


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        ("{every: month, cases: {data: damage}}", "a scope chooses cases by a truth value"),
        ("{every: month, cases: {data: chanel}}", "unknown attribute 'chanel'"),
        ("{every: month, finished: {activity: Clos}}", "unknown activity 'Clos'"),
        ("{every: month, anchor: {last: damag > 1}}", "unknown attribute 'damag'"),
    ],
)
def test_a_scope_is_checked_like_a_measure(scope: str, message: str) -> None:
    (problem,) = check_catalogue(catalogue("{sum: {count: vip}}", f"scope: {scope}"), CLAIMS)
    assert message in problem.message


@pytest.mark.parametrize(
    ("measure", "kind", "total"),
    [
        ("{state: {of: vip, is: channel == 'x'}}", Kind.TRUTH, True),
        ("{derive: t < 3 days, t: {data: due}, missing: left out}", Kind.TRUTH, False),
        ("{derive: a > 1, a: {data: damage}, missing: false}", Kind.TRUTH, True),
        ("{derive: a > 1, a: {count: vip}, missing: left out}", Kind.TRUTH, True),
    ],
)
def test_states_and_missing_values_have_a_kind(measure: str, kind: Kind, *, total: bool) -> None:
    found = base(f"{{sum: {measure}}}").base
    assert measure_kind(found, CLAIMS) is kind
    assert is_total(found) is total


def test_a_number_of_cases_is_a_number_whatever_is_counted() -> None:
    counted = base("{number: {data: channel}}")
    assert measure_kind(counted, CLAIMS) is Kind.NUMBER
    assert check_catalogue(catalogue("{number: {data: channel}}"), CLAIMS) == []


@pytest.mark.parametrize(
    ("field", "fits", "length", "most"),
    [
        ("name: {}", "x" * 500, "501", "500"),
        ("comments: {}", "x" * 5_000, "5,001", "5,000"),
        ("responsible: {}", "x" * 5_000, "5,001", "5,000"),
        ("goals: [{}]", ", ".join(["x" * 2_500] * 2), "5,001", "5,000"),
    ],
)
def test_the_words_of_an_indicator_have_a_greatest_length(
    field: str, fits: str, length: str, most: str
) -> None:
    measure = "{sum: {count: vip}}"
    assert check_catalogue(catalogue(measure, field.format(fits)), CLAIMS) == []
    (problem,) = check_catalogue(catalogue(measure, field.format(f"{fits}x")), CLAIMS)
    assert f"has {length} characters, but may have at most {most}" in problem.message
    assert problem.position.line == 3


@pytest.mark.parametrize(
    "measure",
    [
        f"{{mean: {LATE}, bounds: [0 hours, 24 hours]}}",
        f"{{derive: a / 2, a: {{mean: {LATE}}}}}\n    bounds: {{value: [0 hours, 24 hours]}}",
    ],
)
def test_bounds_with_a_unit_of_time_say_that_it_is_a_duration(measure: str) -> None:
    """As the problem of one without them advises."""
    assert check_catalogue(catalogue(measure), CLAIMS) == []


# --- mechanisms -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "name", "hint"),
    [
        ("{mechanism: laplas}", "laplas", "did you mean 'laplace'?"),
        ("{answer: value, mechanism: twobin}", "twobin", "did you mean 'two-bin'?"),
        ("{mechanism: gaussian}", "gaussian", "the mechanisms are 'private clipping bound', "),
        ("{noise: {value: laplas}}", "laplas", "did you mean 'laplace'?"),
        ("{noise: {value: {share: 1, mechanism: rank}}}", "rank", "did you mean 'ranked'?"),
    ],
)
def test_a_mechanism_that_is_not_there_is_told_where_it_stands(
    release: str, name: str, hint: str
) -> None:
    line = f"release: {release}"
    definitions = catalogue("{sum: {count: activity == 'A'}}", line)
    (problem,) = check_catalogue(definitions, None, mechanism_names())
    assert str(problem.position) == f"c.yaml:5:{len('    ') + line.index(name) + 1}"
    assert problem.message == f"there is no mechanism '{name}'"
    assert problem.hint.startswith(hint)


@pytest.mark.parametrize("notation", ["json", "java", "text"])
def test_so_it_is_in_the_other_notations(notation: str) -> None:
    release = "release: {mechanism: laplas, noise: {value: {mechanism: twobin}}}"
    written = write_definitions(catalogue("{number: cases}", release), notation)
    definitions = parse_definitions(written, notation, "file").catalogue
    problems = check_catalogue(definitions, None, mechanism_names())
    lines = written.splitlines()
    for name, problem in zip(("laplas", "twobin"), problems, strict=True):
        assert problem.message == f"there is no mechanism '{name}'"
        line, column = problem.position.line, problem.position.column
        rest = lines[line - 1][column - 1 :].lstrip('"')
        # A template points at the wish that names it: "mechanism laplas".
        assert name in rest if notation == "text" else rest.startswith(name)


def test_without_the_names_there_are_a_mechanism_is_taken_on_trust() -> None:
    definitions = catalogue("{number: cases}", "release: {mechanism: laplas}")
    assert check_catalogue(definitions, None) == []
