"""Whether a query is nothing but what the engine writes.

Three looks at it, none of which trusts the compiler:

    words     outside quotes stand only known words of SQL and plain numbers; inside double
              quotes only declared attributes and names of the engine's own
    parsing   the database reads it as one SELECT, and so does sqlglot
    planning  the database can explain it over a table of that log
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache

import duckdb
import pyarrow as pa
import sqlglot

from pappi.values import Kind
from tests.fuzz.vocabulary import KEPT_BACK, VOCABULARY

TABLE = "events of a log"

_PIECE = re.compile(
    r"'(?:[^']|'')*+'|\"((?:[^\"]|\"\")*+)\"|([A-Za-z_]\w*)|([0-9][0-9.eE+]*)|(--|/\*|.)", re.DOTALL
)
_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
        SELECT FROM WHERE AS GROUP BY ORDER PARTITION OVER LEFT JOIN ON AND OR NOT IS NULL IN CASE
        WHEN THEN ELSE END CAST DOUBLE BIGINT UTINYINT TEXT TRUE FALSE COALESCE NULLIF MIN MAX SUM
        AVG COUNT MEDIAN ABS ROUND LEAST GREATEST ARG_MIN ARG_MAX LAG LEAD ROWS BETWEEN UNBOUNDED
        PRECEDING CURRENT ROW FLOOR
        """,
    )
)
_ALIAS = re.compile(r"(?:events|cases|below|cycles|lasting|paired|rounds|numbered)(?:_[0-9]+)?")
_SIGNS = frozenset("(),.*+-/%<>=! ")
_COLUMNS = frozenset({"case_id", "pos", "ts_us", "activity"})
_OWN = re.compile(
    r"anchor_us|first_pos|person|joined_case|next_ts_us_*|[cm]\d+|(?:onset|sequence)_\d+_*"
    r"|(?:start|end|worked)_c\d+_*|opens|opened|closes|closed|starts|ends|running|lasted"
    r"|(?:start|end)_day_\d+|(?:mark|codes|value) \d+"
    r"|day|before|(?:start|end)_\d+|calendar \d+|cases|cycles(?:_\d+)?|below"
)
_TYPES = {
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.TRUTH: "BOOLEAN",
    Kind.DURATION: "BIGINT",
    Kind.TIME: "BIGINT",
}


class NotOurs(Exception):
    """A query that no definition may lead to."""


@lru_cache(maxsize=20_000)
def check_words(query: str) -> None:
    """Linear in the query; text from a definition can only stand inside quotes."""
    for piece in _PIECE.finditer(query):
        identifier, word, _, sign = piece.groups()
        if word is not None and word not in _WORDS and not _ALIAS.fullmatch(word):
            raise NotOurs(f"the word {word!r} stands outside quotes")
        if sign is not None and sign not in _SIGNS:
            raise NotOurs(f"the character {sign!r} stands outside quotes")
        if identifier is not None:
            _check_identifier(identifier.replace('""', '"'))


@cache
def _check_identifier(name: str) -> None:
    known = name in VOCABULARY.attributes or name in _COLUMNS or name == TABLE
    if not known and not _OWN.fullmatch(name):
        raise NotOurs(f"the column {name!r} is neither declared nor the engine's own")


@lru_cache(maxsize=20_000)
def check_parses(query: str, connection: duckdb.DuckDBPyConnection) -> None:
    """As one SELECT, by the database's own parser."""
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise NotOurs(f"the database cannot read the query: {error}") from None
    if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
        raise NotOurs(f"the query is {len(statements)} statements, or no SELECT")


def check_sqlglot(query: str) -> None:
    with _deep_stack():
        try:
            statements = sqlglot.parse(query, dialect="duckdb")
        except sqlglot.errors.SqlglotError as error:
            raise NotOurs(f"sqlglot cannot read the query: {error}") from None
    if len(statements) != 1 or not isinstance(statements[0], sqlglot.exp.Select):
        raise NotOurs("sqlglot reads the query as something else than one SELECT")


@contextmanager
def _deep_stack() -> Iterator[None]:
    """sqlglot's parser takes many frames for a pair of parentheses; it is not what is tried."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * usual)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


def check_planned(
    query: str, connection: duckdb.DuckDBPyConnection, tables: dict[str, pa.Table]
) -> None:
    """By the database, over an empty table of the log."""
    for name, table in tables.items():
        connection.register(name, table)
    try:
        connection.execute(f"EXPLAIN {query}").fetchall()
    except duckdb.Error as error:
        raise NotOurs(f"the database cannot plan the query: {error}") from None
    finally:
        for name in tables:
            connection.unregister(name)


def empty_log() -> duckdb.DuckDBPyConnection:
    """A database with the log's table in it, which also has columns that are kept back."""
    columns = [f"{_quoted(name)} {_TYPES[kind]}" for name, kind in VOCABULARY.attributes.items()]
    columns += [f"{_quoted(name)} VARCHAR" for name in KEPT_BACK]
    own = "case_id VARCHAR, pos BIGINT, ts_us BIGINT, activity VARCHAR, first_pos BIGINT"
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute(f"CREATE TABLE {_quoted(TABLE)} ({own}, {', '.join(columns)})")
    return connection


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
