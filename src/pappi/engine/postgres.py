"""PostgreSQL: events read where they are, through ADBC, which transfers Arrow.

A session can only read, sees one moment of the database, gives up after a time, and finds no
function but PostgreSQL's own. Its doubles raise an error where others overflow; an error that
depends on data would be a leak, so arithmetic looks before it leaps (`total`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from sqlglot import exp

from pappi.engine.failures import explained
from pappi.engine.nodes import alias, source_table
from pappi.engine.templates import filled
from pappi.engine.working import Days
from pappi.store.sources import Form, MappedColumn

if TYPE_CHECKING:
    import pyarrow as pa

STATEMENT_SECONDS = 900
_CONNECT_SECONDS = "10"

_SESSION: Mapping[str, str] = {
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "repeatable\\ read",
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{STATEMENT_SECONDS}s",
    "lock_timeout": "60s",
    "search_path": "pg_catalog",
    "standard_conforming_strings": "on",
    "TimeZone": "UTC",
}

_FORMS: Mapping[str, Form] = {
    **dict.fromkeys(("text", "character varying", "character", "uuid", "name"), Form.TEXT),
    **dict.fromkeys(("smallint", "integer", "bigint"), Form.WHOLE),
    **dict.fromkeys(("real", "double precision"), Form.FLOAT),
    "numeric": Form.DECIMAL,
    "boolean": Form.TRUTH,
    "timestamp with time zone": Form.INSTANT,
    "timestamp without time zone": Form.WALL_CLOCK,
    "date": Form.DAY,
}

_MICROSECONDS = (
    "CAST(EXTRACT(EPOCH FROM DATE_TRUNC('second', :x)) AS BIGINT) * 1000000"
    " + CAST(EXTRACT(MICROSECONDS FROM :x) AS BIGINT) % 1000000"
)
# Infinite times, and decimals that no double holds, are no values.
_READ: Mapping[Form, str] = {
    Form.TEXT: 'CAST(:x AS TEXT) COLLATE "C"',
    Form.WHOLE: "CAST(:x AS BIGINT)",
    Form.FLOAT: "CAST(:x AS DOUBLE PRECISION)",
    Form.DECIMAL: (
        "CASE WHEN ABS(:x) > 1e307 THEN NULL WHEN ABS(:x) < 1e-307 THEN CAST(0 AS DOUBLE PRECISION)"
        " ELSE CAST(:x AS DOUBLE PRECISION) END"
    ),
    Form.TRUTH: ":x",
    Form.INSTANT: f"CASE WHEN ISFINITE(:x) THEN {_MICROSECONDS} END",
    Form.WALL_CLOCK: f"CASE WHEN ISFINITE(:x) THEN {_MICROSECONDS} END",
    Form.DAY: (
        "CASE WHEN :x BETWEEN CAST('1800-01-01' AS DATE) AND CAST('2200-01-01' AS DATE)"
        " THEN CAST(:x - CAST('1970-01-01' AS DATE) AS BIGINT) * 86400000000 END"
    ),
    Form.MICROSECONDS: "CAST(:x AS BIGINT)",
    Form.SECONDS: (
        "CASE WHEN :x BETWEEN -1e11 AND 1e11"
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


class Postgres:
    """How PostgreSQL says what others say differently (`dialects.Dialect`)."""

    name: Final = "postgres"

    def text(self, value: str) -> exp.Expr:
        return exp.Literal.string(value)

    def double(self, written: str) -> exp.Expr:
        return self._filled("CAST(:x AS DOUBLE PRECISION)", x=exp.Literal.string(written))

    def picked(self, value: exp.Expr, key: exp.Expr, *, last: bool) -> exp.Expr:
        ordered = "(ARRAY_AGG(:v ORDER BY :k {}) FILTER (WHERE NOT :k IS NULL))[1]"
        return self._filled(ordered.format("DESC" if last else "ASC"), v=value, k=key)

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


class PostgresSession:
    """An open connection that can only read."""

    dialect: Final = Postgres()

    def __init__(self, connection: Any) -> None:  # noqa: ANN401 - the driver has no annotations
        self._connection = connection

    def arrow(self, sql: str) -> pa.Table:
        with explained(), self._connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetch_arrow_table()

    def add_days(self, days: Days) -> None:
        """Nothing to prepare: they are part of a query's text."""

    def forms(self, table: tuple[str, ...]) -> dict[str, Form | None]:
        """The columns of a table and how they are written; None for one that cannot be read."""
        query = filled(
            "SELECT attname AS name, FORMAT_TYPE(atttypid, NULL) AS type FROM pg_attribute"
            " WHERE attrelid = TO_REGCLASS(:t) AND attnum > 0 AND NOT attisdropped",
            Postgres.name,
            t=exp.Literal.string(source_table(table).sql(Postgres.name)),
        )
        found = self.arrow(query.sql(Postgres.name)).to_pylist()
        return {row["name"]: _FORMS.get(row["type"]) for row in found}


@contextmanager
def opened_postgres(url: str, password: str | None) -> Iterator[PostgresSession]:
    with explained("postgres"):
        import adbc_driver_postgresql.dbapi as driver  # type: ignore[import-untyped]

        connection = driver.connect(_address(url, password))
    try:
        yield PostgresSession(connection)
    finally:
        with suppress(Exception):  # it may be broken, and what was asked of it is what counts
            connection.close()


def _address(url: str, password: str | None) -> str:
    """The declared address with what every session is to have, and the password."""
    parts = urlsplit(url)
    place = parts.netloc
    if password is not None:
        user, _, host = place.rpartition("@")
        place = f"{user.partition(':')[0]}:{quote(password, safe='')}@{host}"
    settings = " ".join(f"-c {name}={value}" for name, value in _SESSION.items())
    options = {"connect_timeout": _CONNECT_SECONDS, **dict(parse_qsl(parts.query))}
    query = urlencode({**options, "options": settings}, quote_via=quote)
    return urlunsplit(("postgresql", place, parts.path, query, ""))
