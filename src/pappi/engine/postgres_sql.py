"""How PostgreSQL says what others say differently.

Its doubles raise an error where others overflow, its values end at a gigabyte, and some of its
times and decimals are none of ours. An error that depends on data would be a leak: so arithmetic
looks before it leaps (`total`), what exceeds a value is never gathered (`picked`), and columns are
read as far as they can be (`read`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from pappi.engine.dialects import is_truth
from pappi.engine.nodes import alias, source_table
from pappi.engine.templates import filled
from pappi.engine.working import Days
from pappi.store.sources import Form, MappedColumn

if TYPE_CHECKING:
    import pyarrow as pa

_MICROSECONDS = (
    "CAST(EXTRACT(EPOCH FROM DATE_TRUNC('second', :x)) AS BIGINT) * 1000000"
    " + CAST(EXTRACT(MICROSECONDS FROM :x) AS BIGINT) % 1000000"
)

# Far more than any literal of a definition, and so little that a row of them is one of PostgreSQL.
_LONGEST_TEXT = 1_000_000


def _between(kind: str, zone: str = "") -> str:
    """The microseconds of an ordinary time: of one far off, or infinite, there may be none."""
    least, most = (f"CAST('{year}-01-01 00:00:00{zone}' AS {kind})" for year in (1800, 2200))
    return f"CASE WHEN :x >= {least} AND :x < {most} THEN {_MICROSECONDS} END"


# Infinite times, and decimals that no double holds, are no values.
_READ: Mapping[Form, str] = {
    Form.TEXT: (
        f"CASE WHEN OCTET_LENGTH(CAST(:x AS TEXT)) <= {_LONGEST_TEXT} THEN CAST(:x AS TEXT) END"
        ' COLLATE "C"'
    ),
    Form.WHOLE: "CAST(:x AS BIGINT)",
    Form.FLOAT: "CAST(:x AS DOUBLE PRECISION)",
    Form.DECIMAL: (
        "CASE WHEN ABS(:x) > 1e307 THEN NULL WHEN ABS(:x) < 1e-307 THEN CAST(0 AS DOUBLE PRECISION)"
        " ELSE CAST(:x AS DOUBLE PRECISION) END"
    ),
    Form.TRUTH: ":x",
    Form.INSTANT: _between("TIMESTAMPTZ", "+00"),
    Form.WALL_CLOCK: _between("TIMESTAMP"),
    Form.DAY: (
        "CASE WHEN :x BETWEEN CAST('1800-01-01' AS DATE) AND CAST('2200-01-01' AS DATE)"
        " THEN CAST(:x - CAST('1970-01-01' AS DATE) AS BIGINT) * 86400000000 END"
    ),
    Form.MICROSECONDS: "CAST(:x AS BIGINT)",
    Form.SECONDS: (
        "CASE WHEN :x > -1e-7 AND :x < 1e-7 THEN CAST(0 AS DOUBLE PRECISION)"
        " WHEN :x BETWEEN -1e11 AND 1e11"
        " THEN FLOOR(CAST(:x AS DOUBLE PRECISION) * 1e6 + 0.5) END"
    ),
}

# Each operand is computed once: OFFSET keeps the planner from writing it into every branch.
_OPERANDS = "FROM (SELECT :l AS l, :r AS r OFFSET 0) AS o"
_ORDINARY = "ABS(l) BETWEEN 1e-150 AND 1e150 AND ABS(r) BETWEEN 1e-150 AND 1e150"
# Zero, infinity and what is no number pass through every operation without an error.
_EXTREME = "l = 0 OR r = 0 OR ABS(l) > :most OR ABS(r) > :most"
_INFINITE = "SIGN(l) * CAST('Infinity' AS DOUBLE PRECISION)"


def _scaled(operation: str, magnitude: str) -> str:
    """A product or quotient; its logarithm tells beforehand if it is too great, or too small."""
    return (
        f"(SELECT CASE WHEN {_ORDINARY} OR {_EXTREME} THEN {operation}"
        f" WHEN {magnitude} > 709.7827128 THEN SIGN(r) * {_INFINITE}"
        f" WHEN {magnitude} < -745.133219 THEN CAST(0 AS DOUBLE PRECISION)"
        f" ELSE {operation} END {_OPERANDS})"
    )


def _summed(operation: str, alike: str) -> str:
    """A sum or difference: too great if the greater one is, by more than the other leaves room."""
    return (
        f"(SELECT CASE WHEN {alike} AND ABS(l) <= :most AND ABS(r) <= :most"
        f" AND LEAST(ABS(l), ABS(r)) >= 9.979201547673599e291"
        f" AND GREATEST(ABS(l), ABS(r)) >= :most - LEAST(ABS(l), ABS(r))"
        f" THEN {_INFINITE} ELSE {operation} END {_OPERANDS})"
    )


# There is no remainder of doubles. Multiples of 2^-62 below 2^62 have one exactly, by way of whole
# numbers; what lies beyond has none.
_UNITS = (
    "CAST(TRUNC({0}) AS BIGINT) * CAST(4611686018427387904 AS NUMERIC)"
    " + CAST(({0} - TRUNC({0})) * 4611686018427387904 AS BIGINT)"
)
_EXACT = (
    "ABS({0}) < 4611686018427387904 AND ({0} - TRUNC({0})) * 4611686018427387904"
    " = TRUNC(({0} - TRUNC({0})) * 4611686018427387904)"
)
_REMAINDER = (
    "(SELECT CASE WHEN ABS(l) > :most OR ABS(r) = CAST('NaN' AS DOUBLE PRECISION)"
    " THEN CAST('NaN' AS DOUBLE PRECISION) WHEN ABS(l) < ABS(r) THEN l"
    f" WHEN {_EXACT.format('l')} AND {_EXACT.format('r')}"
    f" THEN CAST(({_UNITS.format('l')}) % ({_UNITS.format('r')}) AS DOUBLE PRECISION)"
    f" / 4611686018427387904 END {_OPERANDS})"
)
_TOTAL: Mapping[type[exp.Expr], str] = {
    exp.Add: _summed("l + r", "SIGN(l) = SIGN(r)"),
    exp.Sub: _summed("l - r", "SIGN(l) = -SIGN(r)"),
    exp.Mul: _scaled("l * r", "LN(ABS(l)) + LN(ABS(r))"),
    exp.Div: _scaled("l / r", "LN(ABS(l)) - LN(ABS(r))"),
    exp.Mod: _REMAINDER,
}
_ROUNDED = (
    "(SELECT CASE WHEN ABS(l - TRUNC(l)) >= 0.5 THEN TRUNC(l) + SIGN(l) ELSE TRUNC(l) END"
    " FROM (SELECT :x AS l OFFSET 0) AS o)"
)
_MOST = 1.7976931348623157e308
# Place and value as one text, of which the greatest is kept: an array of all would have no room.
_PICKED = (
    "CAST(SUBSTR({0}((LPAD(CAST(:k AS TEXT), 19, '0') || CAST(:v AS TEXT)) COLLATE \"C\")"
    " FILTER (WHERE NOT :k IS NULL), 20) AS {1})"
)


class Postgres:
    """How PostgreSQL says what others say differently (`dialects.Dialect`)."""

    name: Final = "postgres"

    def table(self, names: tuple[str, ...]) -> exp.Table:
        return source_table(names)

    def text(self, value: str) -> exp.Expr:
        return exp.Literal.string(value)

    def double(self, written: str) -> exp.Expr:
        return self._filled("CAST(:x AS DOUBLE PRECISION)", x=exp.Literal.string(written))

    def picked(self, value: exp.Expr, key: exp.Expr, *, last: bool) -> exp.Expr:
        if isinstance(value, exp.Cast):
            kind = "DOUBLE PRECISION"
        else:
            kind = "BOOLEAN" if is_truth(value) else "TEXT"
        return self._filled(_PICKED.format("MAX" if last else "MIN", kind), v=value, k=key)

    def median(self, value: exp.Expr) -> exp.Expr:
        return self._filled("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY :x)", x=value)

    def rounded(self, value: exp.Expr) -> exp.Expr:
        return self._filled(_ROUNDED, x=value)

    def unless_zero(self, value: exp.Expr) -> exp.Expr:
        return exp.Nullif(this=value, expression=self.double("0.0"))

    def total(self, operation: exp.Binary) -> exp.Expr:
        most = self.double(repr(_MOST))
        template = _TOTAL[type(operation)]
        return self._filled(template, l=operation.this, r=operation.expression, most=most)

    def among(self, node: exp.In) -> exp.Expr:
        return node

    def extreme(self, least: exp.Func) -> exp.Expr:
        operands = [least.this, *least.expressions]
        name = "LEAST" if isinstance(least, exp.Least) else "GREATEST"
        return exp.Anonymous(this=name, expressions=operands)

    def days(self, days: Days) -> exp.Expr:
        """One literal array a column: as rows they would take long to read."""
        table = days.arrow()
        columns = [alias(_unnested(table.column(name)), name) for name in table.column_names]
        return exp.select(*columns, copy=False).subquery("days", copy=False)

    def read(self, column: MappedColumn) -> exp.Expr:
        return self._filled(_READ[column.form], x=exp.column(column.column, quoted=True))

    def _filled(self, template: str, **operands: exp.Expr) -> exp.Expr:
        return filled(template, self.name, **operands)


def _unnested(column: pa.ChunkedArray) -> exp.Expr:
    array = "{" + ",".join(map(repr, column.to_pylist())) + "}"
    kind = "BIGINT" if str(column.type) == "int64" else "DOUBLE PRECISION"
    template = f"UNNEST(CAST(:array AS {kind}[]))"
    return filled(template, Postgres.name, array=exp.Literal.string(array))
