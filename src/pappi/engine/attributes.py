"""The events' own columns: what a name of a definition stands for."""

from __future__ import annotations

from sqlglot import exp

from pappi.engine.expressions import finite, when
from pappi.engine.nodes import TIME, column_named
from pappi.values.vocabulary import Kind, Vocabulary


def event_column(vocabulary: Vocabulary, name: str) -> tuple[exp.Expr, Kind]:
    """What a name stands for in a condition on events."""
    if name == "activity":
        return column_named("activity"), Kind.TEXT
    if name == "timestamp":
        return TIME.copy(), Kind.TIME
    return column_named(name), vocabulary.attributes[name]


def unused(vocabulary: Vocabulary, name: str) -> str:
    """A name that no attribute has, in whatever case: databases take them for the same."""
    taken = {attribute.casefold() for attribute in vocabulary.attributes}
    while name in taken:
        name += "_"
    return name


def as_text(vocabulary: Vocabulary, attribute: str) -> exp.Expr:
    """An attribute as text, so that large numbers stay apart; no finite number, no value."""
    column, kind = event_column(vocabulary, attribute)
    text = exp.Cast(this=column.copy(), to=exp.DType.VARCHAR.into_expr())
    if kind in (Kind.TEXT, Kind.TRUTH):
        return text
    present = exp.Is(this=finite(column), expression=exp.Not(this=exp.null()))
    return when(present, text)
