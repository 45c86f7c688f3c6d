"""Definitions as deep as they may be are compiled and written without a deeper stack."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlglot import exp

from pappi.engine.expressions import Source
from pappi.engine.foreign import Dialect, written_for
from pappi.engine.postgres import Postgres
from pappi.engine.query import CaseQuery, written
from pappi.engine.spark import Spark
from pappi.ppinot import CountMeasure, DataMeasure, DerivedSingleInstance, Occurs
from pappi.ppinot.grammar import MAX_DEPTH, parse_expression
from pappi.values import CaseBorder, Kind, Vocabulary

VOCABULARY = Vocabulary(("A",), {"x": Kind.NUMBER, "urgent": Kind.TRUTH})
SOURCE = Source("events")
DEEP = MAX_DEPTH - 2

EXPRESSIONS = {
    "brackets": "(urgent == " * DEEP + "urgent" + ")" * DEEP,
    "functions": "abs(" * DEEP + "x" + ")" * DEEP + " > 0",
    "choices": "x > 1 ? (" * (DEEP // 2) + "urgent" + ") : urgent" * (DEEP // 2),
}


def condition(text: str) -> exp.Select:
    counted = CountMeasure(Occurs(parse_expression(text)))
    return CaseQuery(CaseBorder.END, [counted], VOCABULARY).select(SOURCE)


def formulas(levels: int) -> exp.Select:
    """Formulas over formulas: each is a query around the one before."""
    measure: DataMeasure | DerivedSingleInstance = DataMeasure("x")
    for _ in range(levels):
        measure = DerivedSingleInstance(parse_expression("v + 1"), (("v", measure),))
    return CaseQuery(CaseBorder.END, [measure], VOCABULARY).select(SOURCE)


@contextmanager
def recursion(limit: int) -> Iterator[None]:
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


def frames() -> int:
    """How deep the stack is here."""
    return len(inspect.stack(0))


@pytest.mark.parametrize("text", EXPRESSIONS.values(), ids=EXPRESSIONS)
@pytest.mark.parametrize(
    "dialect", [None, Postgres(), Spark()], ids=["duckdb", "postgres", "spark"]
)
def test_a_deep_query_is_written_as_sqlglot_would_write_it(
    text: str, dialect: Dialect | None
) -> None:
    tree = condition(text)
    if dialect is not None:
        written_for(dialect, tree)
    name = "duckdb" if dialect is None else dialect.name
    with recursion(20_000):
        expected = tree.copy().sql(name)
    usual = sys.getrecursionlimit()
    with recursion(frames() + 500):
        assert written(tree, name) == expected
    assert sys.getrecursionlimit() == usual


def test_formulas_over_formulas_are_written_as_sqlglot_would_write_them() -> None:
    tree = formulas(150)
    with recursion(20_000):
        expected = tree.copy().sql("duckdb")
    with recursion(frames() + 500):
        assert written(tree) == expected


def test_without_writing_tall_parts_first_python_gives_up() -> None:
    with recursion(frames() + 500), pytest.raises(RecursionError):
        condition(EXPRESSIONS["brackets"]).sql("duckdb", copy=False)
