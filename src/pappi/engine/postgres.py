"""PostgreSQL: events read where they are, through ADBC, which transfers Arrow.

A session can only read, sees one moment of the database, gives up after a time, and finds no
function but PostgreSQL's own. A database whose texts are not in UTF-8 is refused.
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

from pappi.engine.failures import GRACE_SECONDS, OPENING_SECONDS, answered, explained
from pappi.engine.nodes import alias, source_table
from pappi.engine.postgres_sql import Postgres
from pappi.engine.templates import filled
from pappi.engine.working import Days
from pappi.errors import WorkspaceError
from pappi.store.sources import Form

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["STATEMENT_SECONDS", "Postgres", "PostgresSession", "opened_postgres"]

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

    def _leave(self, asked: Future[pa.Table]) -> None:
        """A connection that is waited on cannot be closed: that is done when an answer comes."""
        self._left = True
        threading.Thread(target=self._end, args=(asked,), daemon=True).start()

    def _end(self, asked: Future[pa.Table]) -> None:
        with suppress(Exception):
            self._connection.adbc_cancel()  # which may wait as well
        asked.add_done_callback(lambda _: self._close())

    def close(self) -> None:
        if not self._left:
            self._close()

    def _close(self) -> None:
        with suppress(Exception):  # it may be broken, and what was asked of it is what counts
            self._connection.close()

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

    def forms_now(
        self, table: tuple[str, ...], columns: Iterable[str]
    ) -> Mapping[str, Form | None]:
        """Those of some columns, as queries of this session will find them.

        Asked of the table itself, without its rows. So it is locked from here on, and its columns
        keep their types; catalogues, which show an earlier moment, may be behind.
        """
        names = list(columns)
        kinds = (_type_of(exp.column(name, table="t", quoted=True)) for name in names)
        events = exp.alias_(source_table(table), "t", table=True)
        query = (
            exp.select(*(alias(kind, f"n{n}") for n, kind in enumerate(kinds)))
            .from_(exp.select(exp.Literal.number(1)).subquery("o"))
            .join(events, on=exp.false(), join_type="left")
        )
        (row,) = self.arrow(query.sql(Postgres.name)).to_pylist()
        return {name: _FORMS.get(row[f"n{n}"]) for n, name in enumerate(names)}


def _type_of(column: exp.Expr) -> exp.Expr:
    return filled("CAST(PG_TYPEOF(:x) AS TEXT)", Postgres.name, x=column)


@contextmanager
def opened_postgres(url: str, password: str | None) -> Iterator[PostgresSession]:
    with explained("postgres", password):
        import adbc_driver_postgresql.dbapi as driver  # type: ignore[import-untyped]

        connect = partial(driver.connect, _address(url, password))
        connection = answered(connect, OPENING_SECONDS, _closed_when_open)
    with closing(PostgresSession(connection, password)) as session:
        _require_utf8(session)
        yield session


def _closed_when_open(connecting: Future[Any]) -> None:
    def close(connected: Future[Any]) -> None:
        if connected.exception() is None:
            connected.result().close()

    connecting.add_done_callback(close)


def _require_utf8(session: PostgresSession) -> None:
    """Other encodings hold texts that cannot be had, and lack such as a definition may name.

    Whether a query fails would depend on the rows it looks at, and so tell about them.
    """
    (row,) = session.arrow(_OPENED).to_pylist()
    if (row["s"], row["c"]) != ("UTF8", "UTF8"):
        raise WorkspaceError(
            "the database of this log's source does not keep its texts in UTF-8",
            hint="read it from a copy of the database that has ENCODING 'UTF8', or import the log",
        )


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
