"""Expressions, whatever is written: the parser, the evaluator and the bounds keep their word."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pappi.errors import DefinitionError
from pappi.ppinot import (
    Apply,
    Binary,
    Choose,
    DurationLiteral,
    Expression,
    Function,
    InstantLiteral,
    IsMissing,
    Name,
    Negate,
    Not,
    NumberLiteral,
    OneOf,
    Operator,
    TextLiteral,
    TruthLiteral,
    render,
)
from pappi.ppinot.evaluation import bound, evaluate
from pappi.ppinot.expressions import height, kind_of
from pappi.ppinot.grammar import MAX_DEPTH, parse_expression
from pappi.values import Kind

ARITHMETIC = [Operator(sign) for sign in "+-*/%"]
ORDER = [Operator(sign) for sign in ("<", "<=", ">", ">=")]
EQUALITY = [Operator.EQUAL, Operator.UNEQUAL]
LOGIC = [Operator.AND, Operator.OR]

NAMES: Mapping[str, Kind] = {
    "a": Kind.NUMBER,
    "b": Kind.NUMBER,
    "c": Kind.NUMBER,
    "d": Kind.DURATION,
    "e": Kind.DURATION,
    "ok": Kind.TRUTH,
    "word": Kind.TEXT,
    "when": Kind.TIME,
}

# --- any expression, sensible or not --------------------------------------------------

decimals = st.builds(Fraction, st.integers(0, 10**9), st.sampled_from([1, 2, 5, 10, 1000, 10**6]))
literals = st.one_of(
    decimals.map(NumberLiteral),
    decimals.map(DurationLiteral),
    st.text(max_size=8).map(TextLiteral),
    st.booleans().map(TruthLiteral),
    st.integers(-(10**15), 10**16).map(InstantLiteral),
)
signed = st.one_of(literals, decimals.map(lambda value: NumberLiteral(-value)))
names = st.one_of(
    st.sampled_from(["a", "org:resource", "in", "NULL", "min", "missing", "90 days", "`", "ß"]),
    st.text(min_size=1, max_size=6),
).map(Name)


def compounds(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        inner.map(Negate),
        inner.map(Not),
        inner.map(IsMissing),
        st.builds(Binary, st.sampled_from(Operator), inner, inner),
        st.builds(OneOf, inner, st.lists(signed, min_size=1, max_size=3).map(tuple)),
        st.builds(Choose, inner, inner, inner),
        st.builds(Apply, st.sampled_from(Function), st.lists(inner, min_size=1).map(tuple)),
    )


expressions: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(literals, names), compounds, max_leaves=12
)

# --- expressions that make sense ------------------------------------------------------


@cache
def of_kind(kind: Kind, depth: int = 3) -> st.SearchStrategy[Expression]:
    """Well-kinded expressions over NAMES."""
    leaf = {
        Kind.NUMBER: decimals.map(NumberLiteral),
        Kind.DURATION: decimals.map(DurationLiteral),
        Kind.TEXT: st.sampled_from(["x", "y"]).map(TextLiteral),
        Kind.TRUTH: st.booleans().map(TruthLiteral),
        Kind.TIME: st.integers(0, 10**16).map(InstantLiteral),
    }[kind]
    named = st.sampled_from([Name(name) for name, its in NAMES.items() if its is kind])
    if depth == 0:
        return st.one_of(leaf, named)
    options: list[st.SearchStrategy[Any]] = [leaf, named, _chosen(kind, depth - 1)]
    options += {
        Kind.NUMBER: _numbers,
        Kind.DURATION: _durations,
        Kind.TRUTH: _truths,
    }.get(kind, lambda _: [])(depth - 1)
    return st.one_of(options)


def _chosen(kind: Kind, depth: int) -> st.SearchStrategy[Expression]:
    same = st.deferred(lambda: of_kind(kind, depth))
    return st.builds(Choose, st.deferred(lambda: of_kind(Kind.TRUTH, depth)), same, same)


def _numbers(depth: int) -> list[st.SearchStrategy[Any]]:
    number = st.deferred(lambda: of_kind(Kind.NUMBER, depth))
    extremes = st.sampled_from([Function.MIN, Function.MAX])
    single = st.sampled_from([Function.ABS, Function.ROUND])
    return [
        number.map(Negate),
        st.builds(Binary, st.sampled_from(ARITHMETIC), number, number),
        st.builds(Apply, extremes, st.tuples(number, number)),
        st.builds(Apply, single, st.tuples(number)),
    ]


def _durations(depth: int) -> list[st.SearchStrategy[Any]]:
    number = st.deferred(lambda: of_kind(Kind.NUMBER, depth))
    duration = st.deferred(lambda: of_kind(Kind.DURATION, depth))
    additive = st.sampled_from([Operator.ADD, Operator.SUBTRACT, Operator.REMAINDER])
    scaling = st.sampled_from([Operator.MULTIPLY, Operator.DIVIDE])
    return [
        st.builds(Binary, additive, duration, duration),
        st.builds(Binary, scaling, duration, number),
    ]


def _truths(depth: int) -> list[st.SearchStrategy[Any]]:
    number = st.deferred(lambda: of_kind(Kind.NUMBER, depth))
    text = st.deferred(lambda: of_kind(Kind.TEXT, depth))
    truth = st.deferred(lambda: of_kind(Kind.TRUTH, depth))
    return [
        truth.map(Not),
        number.map(IsMissing),
        st.builds(Binary, st.sampled_from(LOGIC), truth, truth),
        st.builds(Binary, st.sampled_from(ORDER + EQUALITY), number, number),
        st.builds(Binary, st.sampled_from(EQUALITY), text, text),
        st.builds(OneOf, number, st.lists(decimals.map(NumberLiteral), min_size=1).map(tuple)),
    ]


sensible = st.sampled_from(Kind).flatmap(of_kind)
any_float = st.floats(allow_nan=True, allow_infinity=True)
inputs = st.fixed_dictionaries(
    {
        **dict.fromkeys("abcde", st.one_of(st.none(), any_float, st.integers())),
        "ok": st.one_of(st.none(), st.booleans()),
        "word": st.one_of(st.none(), st.text(max_size=2)),
        "when": st.one_of(st.none(), any_float),
    }
)

# --- the promises ---------------------------------------------------------------------

PIECES = """a b:c 1 2.5 days "x" ' ` `n` ( ) [ ] , ? : + - * / % == != < >= = ! && || \\ and or
not in is missing true min( 2014-01-31 é"""
pieces = st.sampled_from([*PIECES.split(), " ", "\n"])
texts = st.one_of(
    st.text(),
    st.lists(pieces, max_size=40).map("".join),
    st.lists(pieces, max_size=40).map(" ".join),
)


def read(text: str) -> Expression | None:
    """The expression, or None where there is exactly one explained problem."""
    try:
        return parse_expression(text)
    except DefinitionError as error:
        (problem,) = error.problems
        return None if problem.message else pytest.fail("a problem without a message")


@given(texts)
def test_any_text_is_an_expression_or_one_explained_problem(text: str) -> None:
    expression = read(text)
    if expression is not None:
        assert height(expression) <= MAX_DEPTH
        assert parse_expression(render(expression)) == expression


@given(
    st.sampled_from(["(", "-", "not ", "!", "a ? ", "a ? b : ", "min(", "a + ", "a or ", "((-"]),
    st.integers(1, 4_000),
)
def test_nesting_never_exhausts_the_stack(piece: str, count: int) -> None:
    for tail in ("a", ")", "a" + ")" * count, ""):
        read((piece * count)[:3_900] + tail)


@given(expressions)
@example(
    Binary(Operator.SUBTRACT, NumberLiteral(Fraction(2014)), Negate(NumberLiteral(Fraction(1))))
)
@example(Not(Not(OneOf(Name("a"), (NumberLiteral(Fraction(-1)),)))))
@example(Choose(Choose(Name("a"), Name("b"), Name("c")), Name("d"), Name("e:f")))
def test_reading_what_was_rendered_gives_the_expression_back(expression: Expression) -> None:
    assert parse_expression(render(expression)) == expression


@given(sensible, inputs)
def test_a_well_kinded_expression_has_a_value_of_its_kind(
    expression: Expression, values: dict[str, float | bool | str | None]
) -> None:
    kind, problems = kind_of(expression, NAMES)
    assert problems == []
    value = evaluate(expression, values)
    expected = {Kind.TEXT: str, Kind.TRUTH: bool}.get(kind or Kind.NUMBER, float)
    assert value is None or type(value) is expected


@given(expressions, inputs)
def test_evaluating_never_raises_even_without_sense(
    expression: Expression, values: dict[str, float | bool | str | None]
) -> None:
    evaluate(expression, values)
    bound(expression, {"a": (0, 1)})


sizes = st.one_of(
    st.floats(-1e9, 1e9), st.sampled_from([0.0, -1.0, 1.0, 0.5, 1e300, -1e300, 5e-324])
)


@st.composite
def points(draw: st.DrawFn) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    ranges, values = {}, {}
    for name in "abcde":
        low, value, high = sorted(draw(st.tuples(sizes, sizes, sizes)))
        ranges[name], values[name] = (low, high), value
    return ranges, values


@given(st.sampled_from([Kind.NUMBER, Kind.DURATION, Kind.TRUTH]).flatmap(of_kind), points())
def test_every_value_lies_inside_the_bound(
    expression: Expression, point: tuple[dict[str, tuple[float, float]], dict[str, float]]
) -> None:
    ranges, values = point
    low, high = bound(expression, ranges)
    assert low <= high
    value = evaluate(expression, values)
    assert value is None or low <= float(value) <= high


@given(of_kind(Kind.NUMBER), points(), st.sets(st.sampled_from("abcde")))
def test_the_bound_also_holds_when_listed_names_are_missing(
    expression: Expression,
    point: tuple[dict[str, tuple[float, float]], dict[str, float]],
    absent: set[str],
) -> None:
    ranges, values = point
    low, high = bound(expression, ranges, absent)
    value = evaluate(expression, {name: values[name] for name in values if name not in absent})
    assert value is None or low <= float(value) <= high
