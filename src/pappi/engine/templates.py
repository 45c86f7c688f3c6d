"""Pieces of one database's own SQL, written once as text, with places for operands.

The text is ours, constant, and read by sqlglot in the dialect it is written in; operands are put
in as nodes. So what a definition or a source is called is never part of a text that is read.
"""

from __future__ import annotations

from functools import cache

import sqlglot
from sqlglot import exp


@cache
def _read(template: str, dialect: str) -> exp.Expr:
    return sqlglot.parse_one(template, read=dialect)


def filled(template: str, dialect: str, **operands: exp.Expr) -> exp.Expr:
    """The template with an operand wherever it says `:name`; each may stand in several places.

    Operands are used up: copied at every level, they would cost the square of a formula's depth.

    >>> filled("COALESCE(:x, 0)", "postgres", x=exp.column("a", quoted=True)).sql("postgres")
    'COALESCE("a", 0)'
    """
    tree = exp.Paren(this=_read(template, dialect).copy())
    used: set[str] = set()
    for place in list(tree.find_all(exp.Placeholder)):
        operand = operands[place.name]
        place.replace(operand.copy() if place.name in used else operand)
        used.add(place.name)
    found: exp.Expr = tree.this
    return found.pop()
