"""Spark, through Spark Connect: events read by whatever cluster already knows their table.

The client is light and needs no Java; the server may be Spark's own or one that speaks like it.
Only queries are sent, and the days of calendars, as views that end with the session.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlglot import exp

from pappi.engine.bases import Calendars, Days
from pappi.engine.expressions import filled, table_named
from pappi.engine.foreign import OPENING_SECONDS, ColumnReader, Foreign, answered, explained
from pappi.errors import WorkspaceError
from pappi.store import ColumnForm, SourceRead

if TYPE_CHECKING:
    import pyarrow as pa

QUERY_SECONDS = 900
_STOP_SECONDS = 10

T = TypeVar("T")

_FORMS: Mapping[str, ColumnForm] = {
    "string": ColumnForm.TEXT,
    **dict.fromkeys(("float", "double"), ColumnForm.FLOAT),
    "decimal": ColumnForm.DECIMAL,
    **dict.fromkeys(("byte", "short", "integer", "long"), ColumnForm.WHOLE),
    "boolean": ColumnForm.TRUTH,
    "timestamp": ColumnForm.INSTANT,
    "timestamp_ntz": ColumnForm.WALL_CLOCK,
    "date": ColumnForm.DAY,
}
_READ: Mapping[ColumnForm, str] = {
    ColumnForm.TEXT: "CAST(:x AS STRING)",
    ColumnForm.WHOLE: "CAST(:x AS BIGINT)",
    ColumnForm.FLOAT: "CAST(:x AS DOUBLE) + 0E0",  # a zero has no sign
    ColumnForm.DECIMAL: "CAST(:x AS DOUBLE)",
    ColumnForm.TRUTH: ":x",
    ColumnForm.INSTANT: "UNIX_MICROS(:x)",
    ColumnForm.WALL_CLOCK: "UNIX_MICROS(CAST(:x AS TIMESTAMP))",
    ColumnForm.DAY: (
        "CASE WHEN :x BETWEEN CAST('1800-01-01' AS DATE) AND CAST('2200-01-01' AS DATE)"
        " THEN UNIX_MICROS(CAST(:x AS TIMESTAMP)) END"
    ),
    ColumnForm.MICROSECONDS: "CAST(:x AS BIGINT)",
    ColumnForm.SECONDS: (
        "CASE WHEN ABS(CAST(:x AS DOUBLE)) <= 1E11"
        " THEN CAST(FLOOR(CAST(:x AS DOUBLE) * 1E6 + 5E-1) AS DOUBLE) END"
    ),
}


class Spark:
    """How Spark says what others say differently (`foreign.Dialect`)."""

    name: Final = "spark"
    columns: Final = ColumnReader(name, _READ)

    def table(self, names: tuple[str, ...]) -> exp.Table:
        """A schema may be of a catalogue: `catalogue.schema.name`."""
        *schema, name = names
        catalog, _, db = (schema[-1] if schema else "").rpartition(".")
        table, within, outer = (
            exp.to_identifier(part, quoted=True) if part else None for part in (name, db, catalog)
        )
        return exp.Table(this=table, db=within, catalog=outer)

    def text(self, value: str) -> exp.Expr:
        """By its bytes: Spark reads escapes in quoted texts, and two in a row as one."""
        if value.isascii() and value.isalnum():
            return exp.Literal.string(value)
        bytes_ = exp.HexString(this=value.encode("utf-8").hex().upper())
        return exp.Cast(this=bytes_, to=exp.DType.TEXT.into_expr())

    def double(self, written: str) -> exp.Expr:
        """With an exponent; without, it would be a decimal first."""
        mantissa, _, exponent = written.removeprefix("-").partition("e")
        size = exp.Literal(this=f"{mantissa}E{int(exponent or 0)}", is_string=False)
        return exp.Paren(this=exp.Neg(this=size) if written.startswith("-") else size)

    def picked(self, value: exp.Expr, key: exp.Expr, *, last: bool) -> exp.Expr:
        return exp.Anonymous(this="MAX_BY" if last else "MIN_BY", expressions=[value, key])

    def median(self, value: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="MEDIAN", expressions=[value])

    def rounded(self, value: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="ROUND", expressions=[value])

    def unless_zero(self, value: exp.Expr) -> exp.Expr:
        """Added to zero, a zero has no sign: not every server takes -0.0 for 0.0 here."""
        unsigned = exp.Add(this=value, expression=self.double("0.0"))
        return exp.Nullif(this=unsigned, expression=self.double("0.0"))

    def total(self, operation: exp.Binary) -> exp.Expr:
        """What is no number has no sign: with one, it is not always the greatest."""
        return filled("NANVL(:x, CAST('NaN' AS DOUBLE))", self.name, x=operation)

    def among(self, node: exp.In) -> exp.Expr:
        if isinstance(node.expressions[0], exp.Paren):
            node.set("this", exp.Add(this=node.this, expression=self.double("0.0")))
        return node

    def days(self, days: Days) -> exp.Expr:
        return table_named(_view(days))


class SparkRemote:
    """A session of a Spark Connect server."""

    dialect: Final = Spark()

    def __init__(self, session: Any, secret: str | None) -> None:  # noqa: ANN401 - may be missing
        self._session = session
        self._secret = secret
        self._ask(lambda: session.conf.set("spark.sql.session.timeZone", "UTC"), OPENING_SECONDS)

    def arrow(self, sql: str) -> pa.Table:
        """The result of a query, unless it takes too long: then it is interrupted."""
        return self._ask(lambda: self._session.sql(sql).toArrow())

    def add_days(self, days: Days) -> None:
        def add() -> None:
            self._session.createDataFrame(days.arrow()).createOrReplaceTempView(_view(days))

        self._ask(add)

    def forms(self, table: tuple[str, ...]) -> dict[str, ColumnForm | None]:
        """The columns of a table and how they are written; None for one that cannot be read."""
        query = exp.select(exp.Star()).from_(self.dialect.table(table)).limit(0).sql(Spark.name)
        fields = self._ask(lambda: self._session.sql(query).schema.fields)
        return {field.name: _FORMS.get(field.dataType.typeName()) for field in fields}

    def forms_now(
        self, table: tuple[str, ...], columns: Iterable[str]
    ) -> Mapping[str, ColumnForm | None]:
        """At this moment: there is none that a session keeps to."""
        forms = self.forms(table)
        return {name: forms.get(name) for name in columns}

    def close(self) -> None:
        with suppress(Exception):
            answered(self._session.stop, _STOP_SECONDS, _let_go)

    def _ask(self, call: Callable[[], T], seconds: float | None = None) -> T:
        with explained(secret=self._secret):
            return answered(call, seconds or QUERY_SECONDS, self._interrupt)

    def _interrupt(self, _asked: Future[T]) -> None:
        """Whether it is heard is not waited for."""
        threading.Thread(target=self._interrupt_all, daemon=True).start()

    def _interrupt_all(self) -> None:
        with suppress(Exception):
            self._session.interruptAll()


def _let_go(_asked: Future[T]) -> None:
    """What still goes on ends with the connection."""


def _view(days: Days) -> str:
    return days.name.replace(" ", "_")


@contextmanager
def opened(reading: SourceRead, calendars: Calendars) -> Iterator[Foreign]:
    with opened_spark(reading.source.url, reading.source.password()) as remote:
        yield Foreign(remote, reading, calendars)


def forms(url: str, table: tuple[str, ...], password: str | None) -> dict[str, ColumnForm | None]:
    with opened_spark(url, password) as remote:
        return remote.forms(table)


@contextmanager
def opened_spark(url: str, token: str | None) -> Iterator[SparkRemote]:
    with explained("spark", token):
        from pyspark.sql.connect.client import DefaultChannelBuilder
        from pyspark.sql.connect.session import SparkSession

        # Its own connection: a shared one that failed a moment ago would fail this one too.
        channel = DefaultChannelBuilder(
            _address(url, token), [("grpc.use_local_subchannel_pool", 1)]
        )
        session = SparkSession.builder.channelBuilder(channel).create()
        # What fails is asked again by whoever asked, and never in the middle of a release.
        session.client.set_retry_policies([])
        remote = SparkRemote(session, token)
    with closing(remote):
        yield remote


def _address(url: str, token: str | None) -> str:
    if token is None:
        return url
    if not token.isprintable() or ";" in token:
        raise WorkspaceError("the Spark token is malformed")
    end = "" if ";" in url else "/"
    return f"{url.rstrip('/')}{end};token={token};use_ssl=true"
