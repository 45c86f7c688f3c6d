"""The expression grammar: what is read, what is refused, and how that is said."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot import (
    Binary,
    DurationLiteral,
    InstantLiteral,
    IsMissing,
    Name,
    Negate,
    Not,
    NumberLiteral,
    OneOf,
    Operator,
    TextLiteral,
    render,
)
from pappi.ppinot.evaluation import bound, evaluate
from pappi.ppinot.expressions import kind_of
from pappi.ppinot.grammar import parse_expression
from pappi.values import SECOND, Kind

HERE = Position("file.yaml", 7, 20)


def problem_of(text: str) -> Problem:
    with pytest.raises(DefinitionError) as caught:
        parse_expression(text, HERE)
    (problem,) = caught.value.problems
    return problem


# --- reading --------------------------------------------------------------------------


def test_multiplication_binds_tighter_than_addition_and_comparison_than_and() -> None:
    assert render(parse_expression("a+b*c<d and not e or f")) == "a + b * c < d and not e or f"
    assert parse_expression("a + b * c") == parse_expression("a + (b * c)")
    assert parse_expression("a - b - c") == parse_expression("(a - b) - c")
    assert parse_expression("not a == b") == Not(Binary(Operator.EQUAL, Name("a"), Name("b")))
    assert parse_expression("-a * b") == parse_expression("(-a) * b")


def test_the_signs_of_other_languages_mean_the_same() -> None:
    assert parse_expression("a && !b || c") == parse_expression("a and not b or c")
    assert parse_expression("a NOT IN ['x']") == parse_expression('not (a in ("x"))')
    assert parse_expression("a is not missing") == Not(IsMissing(Name("a")))


def test_names_may_hold_colons_and_anything_in_backticks() -> None:
    assert parse_expression("org:resource") == Name("org:resource")
    assert parse_expression("`Diagnose: 1.`") == Name("Diagnose: 1.")


def test_durations_and_dates_are_literals() -> None:
    assert parse_expression("1.5 h") == DurationLiteral(Fraction(5400 * SECOND))
    assert parse_expression("90days") == DurationLiteral(Fraction(90 * 86_400 * SECOND))
    assert parse_expression("1970-01-02") == InstantLiteral(86_400 * SECOND)
    assert parse_expression("1970-01-01T02:00:00+02:00") == InstantLiteral(0)
    assert parse_expression("1970-01-01T00:00:01.5Z") == InstantLiteral(SECOND * 3 // 2)


def test_a_date_with_spaces_is_a_subtraction() -> None:
    assert render(parse_expression("2014 - 01 - 31")) == "2014 - 1 - 31"


def test_choices_may_be_negative() -> None:
    expected = OneOf(Name("a"), (NumberLiteral(Fraction(-1)), NumberLiteral(Fraction(2))))
    assert parse_expression("a in (-1, 2)") == expected


def test_quotes_are_escaped_with_a_backslash() -> None:
    assert parse_expression(r'"say \"no\" \\ it\'s"') == TextLiteral('say "no" \\ it\'s')


@pytest.mark.parametrize(
    "text",
    [
        "(a + b) * c",
        "a - (b - c)",
        "(a < b) == (c < d)",
        "a ? b : c ? d : e",
        "(a ? b : c) ? d : e",
        "-(a + b)",
        "a not in (1, 2) and b is not missing",
        "max(a, b) % 2 >= 28 days / 1 hour",
        "`in` == 2014-01-31T10:00:00Z",
    ],
)
def test_canonical_text_stays_as_it_is(text: str) -> None:
    assert render(parse_expression(text)) == text


def test_what_has_no_literal_is_rendered_as_an_operation() -> None:
    assert render(NumberLiteral(Fraction(-1, 3))) == "-1 / 3"
    assert (
        render(Binary(Operator.MULTIPLY, Name("a"), NumberLiteral(Fraction(1, 3)))) == "a * (1 / 3)"
    )
    assert render(Negate(NumberLiteral(Fraction(-5)))) == "--5"


# --- refusing -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("a = 1", 22, "'=' is not allowed here", "to compare, write '=='"),
        ("a < b < c", 26, "comparisons cannot be chained", "a < b and b < c"),
        ("case.amount > 1", 24, "'.' is not allowed here", "backticks"),
        ("eval(a)", 20, "there is no function 'eval'", "'min', 'max', 'abs' and 'round'"),
        ("rund(a)", 20, "there is no function 'rund'", "did you mean 'round'?"),
        ("a < 5 dyas", 26, "'dyas' is not a unit of time", "did you mean 'days'?"),
        ("a == null", 25, "there is no value 'null'", "is missing"),
        ("a in b", 25, "expected a list after 'in', found 'b'", "channel in"),
        ("a in ()", 26, "expected a value, found ')'", ""),
        ("(a + b", 26, "expected ')' for the '(' in column 20, found the end", ""),
        ("a + b)", 25, "there is no opening bracket for this ')'", ""),
        ("a ? b:c", 27, "expected ':' for the '?' in column 22", "put spaces around ':'"),
        ("activity == Pay claim", 36, "did not expect 'claim' here", "texts go in quotes"),
        ("'open", 20, "this quoted text never ends", ""),
        ("2014-02-30 < a", 20, "'2014-02-30' is not a valid date", ""),
        ("1 + not a", 24, "'not' binds too loosely here", "(not …)"),
        ("“x”", 20, "'“' is not allowed here", "plain quotes"),
        ("", 20, "expected a value, found the end", ""),
        ("9" * 41, 20, "this number has more than 40 digits", ""),
        ("a" * 4001, 20, "this expression has 4,001 characters", ""),
        ("(" * 60, 70, "nested more than 50 levels deep", ""),
        (" or ".join("a" * 60), 20, "more than 50 operations deep", "name in (…, …)"),
    ],
)
def test_a_refusal_says_where_what_and_how_to_write_it(
    text: str, column: int, message: str, hint: str
) -> None:
    problem = problem_of(text)
    assert problem.position == Position("file.yaml", 7, column)
    assert message in problem.message
    assert hint in problem.hint


def test_positions_follow_line_breaks() -> None:
    assert problem_of("a +\n  = b").position == Position("file.yaml", 8, 3)


def test_control_codes_of_a_definition_never_reach_a_terminal() -> None:
    assert "\x1b" not in str(problem_of("a \x1b[2J"))
    assert "\x1b" not in str(problem_of("`\x1b`(a)"))


# --- kinds ----------------------------------------------------------------------------

NAMES = {
    "n": Kind.NUMBER,
    "d": Kind.DURATION,
    "t": Kind.TIME,
    "w": Kind.TEXT,
    "c": Kind.TRUTH,
    "u": None,
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("n + 1", Kind.NUMBER),
        ("d * 2 + 1 day", Kind.DURATION),
        ("d / 1 hour", Kind.NUMBER),
        ("t - t", Kind.DURATION),
        ("t + d", Kind.TIME),
        ("t - 2014-01-31 < 3 days", Kind.TRUTH),
        ("c ? d : 0 days", Kind.DURATION),
        ("w in ('a', 'b') or c == true", Kind.TRUTH),
        ("min(d, 1 h)", Kind.DURATION),
        ("u + n", None),
        ("u < n", Kind.TRUTH),
        ("c ? u : n", Kind.NUMBER),
    ],
)
def test_kinds_follow_from_their_parts(text: str, kind: Kind | None) -> None:
    assert kind_of(parse_expression(text), NAMES) == (kind, [])


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("d < 60", "a duration cannot be compared with a number", "unit of time"),
        ("n + d", "a number and a duration cannot be added", "unit of time"),
        ("t > '2014-01-31'", "a point in time cannot be compared with a text", "without quotes"),
        ("w < 'b'", "a text has no order", "=="),
        ("u < 'b'", "a text has no order", "=="),
        ("not n", "'not' needs a truth value, but this is a number", ""),
        ("n and c", "'and' needs a truth value, but this is a number", ""),
        ("c + 1", "a truth value and a number cannot be added", "(c ? 1 : 0)"),
        ("c ? 1 : 'x'", "both sides of ':' must be of the same kind", ""),
        ("n in (1, 'x')", "a number cannot be compared with a text", ""),
        ("min(n)", "'min' takes two values or more", ""),
        ("abs(n, n)", "'abs' takes one value", ""),
        ("round(d)", "'round' needs a number, but this is a duration", ""),
        ("m + 1", "unknown name 'm'", "known here: 'n', 'd', 't', 'w', 'c' and 'u'"),
    ],
)
def test_kinds_that_do_not_go_together_are_explained(text: str, message: str, hint: str) -> None:
    _, problems = kind_of(parse_expression(text), NAMES)
    assert [message in problem.message for problem in problems] == [True]
    assert hint in problems[0].hint


def test_an_unknown_name_is_suggested_from_the_names_given_only() -> None:
    _, (problem,) = kind_of(parse_expression("chanel == 'web'"), {"channel": Kind.TEXT})
    assert problem.hint == "did you mean 'channel'?"


# --- values and bounds ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a / 0", None),
        ("a % 0", None),
        ("gone + 1", None),
        ("gone < 1", False),
        ("gone != 1", False),
        ("not (gone < 1)", True),
        ("gone in (1, 2)", False),
        ("gone is missing", True),
        ("gone ? 1 : 2", 2.0),
        ("a / 0 is missing", True),
        ("-7 % 3", -1.0),
        ("round(2.5)", 3.0),
        ("round(-2.5)", -3.0),
        ("round(0.49999999999999994)", 0.0),
        ("min(a, 3, 2)", 2.0),
        ("1 hour / 1 minute", 60.0),
        ("9" * 40 + "*" + "*".join(["9" * 40] * 9), None),
    ],
)
def test_every_expression_has_a_value_or_is_missing(text: str, value: float | None) -> None:
    assert evaluate(parse_expression(text), {"a": 4, "gone": None}) == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b", (1, 5)),
        ("a - b", (-3, 1)),
        ("a * (b - 2)", (-2, 2)),
        ("a / b", (0, 2)),
        ("b / a", (-float("inf"), float("inf"))),
        ("a < 3", (1, 1)),
        ("a < 1", (0, 1)),
        ("a > 2", (0, 0)),
        ("a < 3 ? b : 100", (1, 3)),
        ("a < 1 ? b : 100", (1, 100)),
        ("b / a is missing ? 7 : 8", (7, 8)),
        ("abs(a - 2)", (0, 2)),
        ("round(a / 4)", (0, 1)),
        ("a % 10", (0, 2)),
        ("stranger", (-float("inf"), float("inf"))),
    ],
)
def test_bounds_enclose(text: str, expected: tuple[float, float]) -> None:
    assert bound(parse_expression(text), {"a": (0, 2), "b": (1, 3)}) == expected
