"""PostgreSQL: events read where they are, through ADBC, which transfers Arrow.

A session can only read, sees one moment of the database, gives up after a time, and finds no
function but PostgreSQL's own. A database whose texts are not in UTF-8 is refused.

Its doubles raise an error where others overflow, its values end at a gigabyte, and some of its
times and decimals are none of ours. An error that depends on data would be a leak: so arithmetic
looks before it leaps (`total`), what exceeds a value is never gathered (`picked`), and columns are
read as far as they can be (`_READ`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from sqlglot import exp

from pappi.engine.bases import Calendars, Days
from pappi.engine.expressions import alias, filled, source_table
from pappi.engine.foreign import (
    GRACE_SECONDS,
    OPENING_SECONDS,
    ColumnReader,
    Foreign,
    answered,
    explained,
    is_truth,
)
from pappi.errors import WorkspaceError
from pappi.store import ColumnForm, SourceRead

if TYPE_CHECKING:
    import pyarrow as pa


# --- columns -------------------------------------------------------------------------


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
_READ: Mapping[ColumnForm, str] = {
    ColumnForm.TEXT: (
        f"CASE WHEN OCTET_LENGTH(CAST(:x AS TEXT)) <= {_LONGEST_TEXT} THEN CAST(:x AS TEXT) END"
        ' COLLATE "C"'
    ),
    ColumnForm.WHOLE: "CAST(:x AS BIGINT)",
    ColumnForm.FLOAT: "CAST(:x AS DOUBLE PRECISION)",
    ColumnForm.DECIMAL: (
        "CASE WHEN ABS(:x) > 1e307 THEN NULL WHEN ABS(:x) < 1e-307 THEN CAST(0 AS DOUBLE PRECISION)"
        " ELSE CAST(:x AS DOUBLE PRECISION) END"
    ),
    ColumnForm.TRUTH: ":x",
    ColumnForm.INSTANT: _between("TIMESTAMPTZ", "+00"),
    ColumnForm.WALL_CLOCK: _between("TIMESTAMP"),
    ColumnForm.DAY: (
        "CASE WHEN :x BETWEEN CAST('1800-01-01' AS DATE) AND CAST('2200-01-01' AS DATE)"
        " THEN CAST(:x - CAST('1970-01-01' AS DATE) AS BIGINT) * 86400000000 END"
    ),
    ColumnForm.MICROSECONDS: "CAST(:x AS BIGINT)",
    ColumnForm.SECONDS: (
        "CASE WHEN :x > -1e-7 AND :x < 1e-7 THEN CAST(0 AS DOUBLE PRECISION)"
        " WHEN :x BETWEEN -1e11 AND 1e11"
        " THEN FLOOR(CAST(:x AS DOUBLE PRECISION) * 1e6 + 0.5) END"
    ),
}


# --- arithmetic ----------------------------------------------------------------------


_MOST = 1.7976931348623157e308
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


# --- the dialect ---------------------------------------------------------------------


# Place and value as one text, of which the greatest is kept: an array of all would have no room.
_PICKED = (
    "CAST(SUBSTR({0}((LPAD(CAST(:k AS TEXT), 19, '0') || CAST(:v AS TEXT)) COLLATE \"C\")"
    " FILTER (WHERE NOT :k IS NULL), 20) AS {1})"
)


class Postgres:
    """How PostgreSQL says what others say differently (`foreign.Dialect`)."""

    name: Final = "postgres"
    columns: Final = ColumnReader(name, _READ)

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

    def days(self, days: Days) -> exp.Expr:
        """One literal array a column: as rows they would take long to read."""
        table = days.arrow()
        columns = [alias(_unnested(table.column(name)), name) for name in table.column_names]
        return exp.select(*columns, copy=False).subquery("days", copy=False)

    def _filled(self, template: str, **operands: exp.Expr) -> exp.Expr:
        return filled(template, self.name, **operands)


def _unnested(column: pa.ChunkedArray) -> exp.Expr:
    array = "{" + ",".join(map(repr, column.to_pylist())) + "}"
    kind = "BIGINT" if str(column.type) == "int64" else "DOUBLE PRECISION"
    template = f"UNNEST(CAST(:array AS {kind}[]))"
    return filled(template, Postgres.name, array=exp.Literal.string(array))


# --- sessions ------------------------------------------------------------------------


STATEMENT_SECONDS = 900

_OPTIONS: Mapping[str, str] = {
    "connect_timeout": "10",
    "keepalives": "1",
    "keepalives_idle": "60",
    "keepalives_interval": "15",
    "keepalives_count": "4",
    "tcp_user_timeout": "120000",
}
_SESSION: Mapping[str, str] = {
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "repeatable\\ read",
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{STATEMENT_SECONDS}s",
    "lock_timeout": "60s",
    "search_path": "pg_catalog",
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
}
# The environment is stronger than the options of a session; so these are set once more, inside.
_OPENED = (
    "SELECT SET_CONFIG('TimeZone', 'UTC', FALSE) AS z, SET_CONFIG('DateStyle', 'ISO, YMD', FALSE)"
    " AS d, CURRENT_SETTING('server_encoding') AS s, CURRENT_SETTING('client_encoding') AS c"
)
_FORMS: Mapping[str, ColumnForm] = {
    **dict.fromkeys(("text", "character varying", "character", "uuid", "name"), ColumnForm.TEXT),
    **dict.fromkeys(("smallint", "integer", "bigint"), ColumnForm.WHOLE),
    **dict.fromkeys(("real", "double precision"), ColumnForm.FLOAT),
    "numeric": ColumnForm.DECIMAL,
    "boolean": ColumnForm.TRUTH,
    "timestamp with time zone": ColumnForm.INSTANT,
    "timestamp without time zone": ColumnForm.WALL_CLOCK,
    "date": ColumnForm.DAY,
}


class PostgresSession:
    """An open connection that can only read."""

    dialect: Final = Postgres()

    def __init__(self, connection: Any, secret: str | None) -> None:  # noqa: ANN401 - not annotated
        self._connection = connection
        self._secret = secret
        self._left = False

    def arrow(self, sql: str) -> pa.Table:
        with explained(secret=self._secret):
            longest = STATEMENT_SECONDS + GRACE_SECONDS
            return answered(partial(self._fetched, sql), longest, self._leave)

    def _fetched(self, sql: str) -> pa.Table:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetch_arrow_table()

    def _leave(self, answer: Future[pa.Table]) -> None:
        """A connection that is waited on cannot be closed: that is done when an answer comes."""
        self._left = True
        threading.Thread(target=self._end, args=(answer,), daemon=True).start()

    def _end(self, answer: Future[pa.Table]) -> None:
        with suppress(Exception):
            self._connection.adbc_cancel()  # which may wait as well
        answer.add_done_callback(lambda _: self._close())

    def close(self) -> None:
        if not self._left:
            self._close()

    def _close(self) -> None:
        with suppress(Exception):  # it may be broken, and what was asked of it is what counts
            self._connection.close()

    def add_days(self, days: Days) -> None:
        """Nothing to prepare: they are part of a query's text."""

    def forms(self, table: tuple[str, ...]) -> dict[str, ColumnForm | None]:
        """The columns of a table and how they are written; None for one that cannot be read."""
        query = filled(
            "SELECT attname AS name, FORMAT_TYPE(atttypid, NULL) AS type FROM pg_attribute"
            " WHERE attrelid = TO_REGCLASS(:t) AND attnum > 0 AND NOT attisdropped",
            Postgres.name,
            t=exp.Literal.string(source_table(table).sql(Postgres.name)),
        )
        rows = self.arrow(query.sql(Postgres.name)).to_pylist()
        return {row["name"]: _FORMS.get(row["type"]) for row in rows}

    def forms_now(
        self, table: tuple[str, ...], columns: Iterable[str]
    ) -> Mapping[str, ColumnForm | None]:
        """Those of some columns, as queries of this session will find them.

        Asked of the table itself, without its rows. So it is locked from here on, and its columns
        keep their types; catalogues, which show an earlier moment, may be behind.
        """
        names = list(columns)
        columns_now = (exp.column(name, table="t", quoted=True) for name in names)
        kinds = (filled("CAST(PG_TYPEOF(:x) AS TEXT)", Postgres.name, x=x) for x in columns_now)
        events = exp.alias_(source_table(table), "t", table=True)
        query = (
            exp.select(*(alias(kind, f"n{n}") for n, kind in enumerate(kinds)))
            .from_(exp.select(exp.Literal.number(1)).subquery("o"))
            .join(events, on=exp.false(), join_type="left")
        )
        (row,) = self.arrow(query.sql(Postgres.name)).to_pylist()
        return {name: _FORMS.get(row[f"n{n}"]) for n, name in enumerate(names)}


@contextmanager
def opened(reading: SourceRead, calendars: Calendars) -> Iterator[Foreign]:
    with opened_postgres(reading.source.url, reading.source.password()) as session:
        yield Foreign(session, reading, calendars)


def forms(url: str, table: tuple[str, ...], password: str | None) -> dict[str, ColumnForm | None]:
    with opened_postgres(url, password) as session:
        return session.forms(table)


@contextmanager
def opened_postgres(url: str, password: str | None) -> Iterator[PostgresSession]:
    with explained("postgres", password):
        import adbc_driver_postgresql.dbapi as driver  # type: ignore[import-untyped]

        connect = partial(driver.connect, _address(url, password))
        connection = answered(connect, OPENING_SECONDS, _closed_when_open)
    with closing(PostgresSession(connection, password)) as session:
        # Other encodings hold texts that cannot be had, and lack such as a definition
        # may name. Whether a query fails would depend on the rows it looks at, and so
        # tell about them.
        (row,) = session.arrow(_OPENED).to_pylist()
        if (row["s"], row["c"]) != ("UTF8", "UTF8"):
            raise WorkspaceError(
                "the database of this log's source does not keep its texts in UTF-8",
                hint="read it from a copy of the database that has ENCODING 'UTF8', or import the "
                "log",
            )
        yield session


def _closed_when_open(connecting: Future[Any]) -> None:
    def close(connected: Future[Any]) -> None:
        if connected.exception() is None:
            connected.result().close()

    connecting.add_done_callback(close)


def _address(url: str, password: str | None) -> str:
    """The declared address with what every session is to have, and the password."""
    parts = urlsplit(url)
    place = parts.netloc
    if password is not None:
        user, _, host = place.rpartition("@")
        place = f"{user.partition(':')[0]}:{quote(password, safe='')}@{host}"
    settings = " ".join(f"-c {name}={value}" for name, value in _SESSION.items())
    ours = {"options": settings, "client_encoding": "UTF8"}
    query = urlencode({**_OPTIONS, **dict(parse_qsl(parts.query)), **ours}, quote_via=quote)
    return urlunsplit(("postgresql", place, parts.path, query, ""))
