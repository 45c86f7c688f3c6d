"""The columns every event table has, and how names become SQL nodes: never pasted."""

from __future__ import annotations

from sqlglot import exp

CASE_ID = "case_id"
FIRST_POSITION = "first_pos"


def column_named(name: str) -> exp.Column:
    return exp.column(name, quoted=True)


def table_named(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def source_table(names: tuple[str, ...]) -> exp.Table:
    """A table of another database: a name, or a schema and a name."""
    *schema, name = (exp.to_identifier(each, quoted=True) for each in names)
    return exp.Table(this=name, db=schema[-1] if schema else None)


def alias(value: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(value, name, quoted=True, copy=False)


TIME = column_named("ts_us")
POSITION = column_named("pos")
