"""Where a query reads events: which table, which of its rows, and what is known of their order.

This is the seam to an engine. Everything else is built for any of them; what one does
differently, or can spare itself, is said here.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from pappi.engine.expressions import when
from pappi.engine.nodes import CASE_ID, POSITION, column_named, table_named

FIRST, UNTIL = "first", "until"


@dataclass(frozen=True, slots=True)
class Source:
    """A table of events, or a range of its rows, which are of whole cases.

    `ranged`: from the position `$first` on and before `$until`, which the engine says.
    `in_order`: the engine reads them in the order of their positions, the events of a case next
    to each other, and windows without an order keep to that. Each knows `first_pos`, the position
    of the first event of its case.
    """

    table: str
    ranged: bool = False
    in_order: bool = False

    def events(self) -> exp.Expr:
        whole = table_named(self.table)
        if not self.ranged:
            return whole
        first, until = exp.Placeholder(this=FIRST), exp.Placeholder(this=UNTIL)
        within = exp.And(
            this=exp.GTE(this=POSITION.copy(), expression=first),
            expression=exp.LT(this=POSITION.copy(), expression=until),
        )
        chosen = exp.select(exp.Star(), copy=False).from_(whole, copy=False)
        return chosen.where(within, copy=False).subquery("events", copy=False)

    def previous(self, column: exp.Column) -> exp.Expr:
        """The column at the row before that is of the same case; NULL at a case's first row."""
        before = exp.Lag(this=column.copy())
        if self.in_order:
            # Sorting costs several times the rest, and the rows are sorted.
            case = exp.Window(this=exp.Lag(this=column_named(CASE_ID)))
            same = exp.EQ(this=case, expression=column_named(CASE_ID))
            return when(same, exp.Window(this=before))
        return exp.Window(
            this=before,
            partition_by=[column_named(CASE_ID)],
            order=exp.Order(expressions=[exp.Ordered(this=POSITION.copy())]),
        )
