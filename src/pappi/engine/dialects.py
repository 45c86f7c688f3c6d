"""What differs between the databases that read events in place.

A query over events is built once, from the kinds of nodes listed here and no others. Most of
them mean the same in every database. The rest are written anew for each, by hand: translating
them automatically gives answers that differ in silence. What is not listed is refused, so that a
kind of node nobody has thought about never reaches a database.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sqlglot import exp

from pappi.engine.expressions import TOTAL
from pappi.engine.working import Days
from pappi.store.sources import MappedColumn

_ALIKE: tuple[type[exp.Expr], ...] = (
    *(exp.Select, exp.Subquery, exp.From, exp.Join, exp.Where, exp.Group, exp.Star),
    *(exp.Table, exp.TableAlias, exp.Column, exp.Identifier, exp.Alias, exp.Paren, exp.Tuple),
    *(exp.Boolean, exp.Null, exp.And, exp.Or, exp.Not, exp.Is, exp.Case, exp.If),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Coalesce),
    *(exp.Min, exp.Max, exp.Sum, exp.Count),
    *(exp.Window, exp.WindowSpec, exp.Lag, exp.Lead, exp.Order, exp.Ordered),
    *(exp.Abs, exp.Neg, exp.Floor, exp.DataType, exp.Limit),
)
TRUTH = "truth"
"""Marks a column of truth values: of a column alone, nothing else tells."""

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_EXTREMES = (exp.Least, exp.Greatest)
_DOUBLE, _BIGINT, _TEXT = exp.DType.DOUBLE, exp.DType.BIGINT, exp.DType.VARCHAR


class Dialect(Protocol):
    """How one database says what others say differently; operands are used up."""

    @property
    def name(self) -> str:
        """What sqlglot calls it: for quoting, keywords and the spelling of types."""

    def table(self, names: tuple[str, ...]) -> exp.Table:
        """A table of the source, as the owner declared it to be called."""

    def text(self, value: str) -> exp.Expr:
        """A literal text."""

    def double(self, written: str) -> exp.Expr:
        """A literal double, from its shortest decimal."""

    def picked(self, value: exp.Expr, key: exp.Expr, *, last: bool) -> exp.Expr:
        """The value of a group at its greatest or least key, which is a position.

        A row without a key or a value is passed over. The value is a double, a text or a truth.
        """

    def median(self, value: exp.Expr) -> exp.Expr:
        """The middle of a group, or the mean of the two in the middle."""

    def rounded(self, value: exp.Expr) -> exp.Expr:
        """To a whole number, halves away from zero."""

    def unless_zero(self, value: exp.Expr) -> exp.Expr:
        """A divisor; NULL if it is zero, whatever its sign."""

    def total(self, operation: exp.Binary) -> exp.Expr:
        """Arithmetic of doubles that overflows into infinity and underflows into zero."""

    def among(self, node: exp.In) -> exp.Expr:
        """Whether a value is one of some literals."""

    def extreme(self, least: exp.Func) -> exp.Expr:
        """The least or greatest of those values that are present."""

    def days(self, days: Days) -> exp.Expr:
        """A calendar's days, as something to select from, with its columns' own names."""

    def read(self, column: MappedColumn) -> exp.Expr:
        """A column of the source as text, BIGINT of UTC microseconds, DOUBLE or truth value."""


def written_for(dialect: Dialect, query: exp.Expr) -> exp.Expr:
    """The query with everything said as this database says it; the tree is used up."""
    # From the leaves up, so that whatever is built of operands finds them done.
    for node in reversed(list(query.walk())):
        # Asked beforehand: what is said may have the node itself as an operand.
        parent, key, index = node.parent, node.arg_key, node.index
        said = _said(dialect, node)
        if said is not node and parent is not None and key is not None:
            parent.set(key, said, index)
    return query


def is_truth(value: exp.Expr) -> bool:
    """Whether a value that can be picked, and is no double, is a truth: or else it is a text."""
    return bool(value.meta.get(TRUTH)) if isinstance(value, exp.Column) else True


def _said(dialect: Dialect, node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Literal):
        return dialect.text(node.this) if node.is_string else node
    if isinstance(node, exp.Cast):
        return _cast(dialect, node)
    if isinstance(node, _ARITHMETIC):
        return dialect.total(node) if node.meta.get(TOTAL) else node
    if isinstance(node, exp.In):
        return dialect.among(node)
    if isinstance(node, _EXTREMES):
        return dialect.extreme(node)
    build = _BUILT.get(type(node))
    if build is not None:
        return build(dialect, node)
    if isinstance(node, _ALIKE):
        return node
    raise AssertionError(f"no engine but DuckDB is known to understand {type(node).__name__}")


def _cast(dialect: Dialect, node: exp.Cast) -> exp.Expr:
    operand = node.this
    if not any(node.to.is_type(kind) for kind in (_DOUBLE, _BIGINT, _TEXT)):
        raise AssertionError(f"no engine but DuckDB is known to cast to {node.to.sql()}")
    if node.to.is_type(_DOUBLE) and isinstance(operand, exp.Literal):
        return dialect.double(operand.this)
    if node.to.is_type(_DOUBLE) and isinstance(operand, exp.Neg) and operand.this.is_number:
        return dialect.double(f"-{operand.this.this}")
    return node


_BUILT: dict[type[exp.Expr], Callable[[Dialect, exp.Expr], exp.Expr]] = {
    exp.ArgMax: lambda d, node: d.picked(node.this, node.expression, last=True),
    exp.ArgMin: lambda d, node: d.picked(node.this, node.expression, last=False),
    exp.Median: lambda d, node: d.median(node.this),
    exp.Round: lambda d, node: d.rounded(node.this),
    exp.Nullif: lambda d, node: d.unless_zero(node.this),
}
