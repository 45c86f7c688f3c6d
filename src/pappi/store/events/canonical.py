"""The canonical event table, and what it turned out to hold.

    case_id VARCHAR, pos BIGINT, ts_us BIGINT, activity VARCHAR, first_pos BIGINT, <attributes…>

Cases stand in the order of their first event in the file; within a case, events are
ordered by time, those without time last, and by file order where times tie. `pos` is
the running number of that order over the whole log: unique, and rising within a case.
`first_pos` is that of the first event of the same case: a number for each case, far quicker
to read and to compare than its id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
from sqlglot import exp

from pappi.eventlog.log import ACTIVITY, CASE, TIME
from pappi.store.events.names import FIRST_POSITION, POSITION
from pappi.store.events.spool import SEQUENCE, SPOOL
from pappi.store.events.sql import column, table

_ORDER = "event_order"
_FIRST, _SIZE, _BEFORE = "first", "size", "case_before"


@dataclass(frozen=True, slots=True)
class Facts:
    """Counts over one event table; `missing` has one entry per attribute column."""

    events: int
    cases: int
    first_us: int | None
    last_us: int | None
    tied: int
    without_time: int
    without_activity: int
    missing: tuple[int, ...]
    activities: tuple[str, ...]


def order_table() -> str:
    """The statement that numbers the spooled events; narrow, so that it fits in memory."""
    rows = (
        exp.select(
            column(SEQUENCE, "e"),
            exp.alias_(running_number(), POSITION, quoted=True),
            column(FIRST_POSITION, "c"),
        )
        .from_(exp.alias_(table(SPOOL), "e", table=True))
        .join(numbered_cases(), on=column(CASE, "e").eq(column(CASE, "c")))
    )
    return exp.Create(this=table(_ORDER), kind="TABLE", expression=rows).sql("duckdb")


def numbered_cases() -> exp.Subquery:
    """As `c`, each case of the spool: where it came first, and its first position in the order."""
    first, size = column(_FIRST), column(_SIZE)
    cases = exp.select(
        column(CASE),
        exp.alias_(exp.Min(this=column(SEQUENCE)), first.name),
        exp.alias_(exp.Count(this=exp.Star()), size.name),
    )
    cases = cases.from_(table(SPOOL)).group_by(column(CASE))
    up_to_here = exp.Window(
        this=exp.Sum(this=size), order=exp.Order(expressions=[exp.Ordered(this=first)])
    )
    before = exp.Sub(this=up_to_here, expression=size.copy())
    begins = exp.cast(exp.Add(this=before, expression=exp.Literal.number(1)), "BIGINT")
    return (
        exp.select(column(CASE), first.copy(), exp.alias_(begins, FIRST_POSITION, quoted=True))
        .from_(cases.subquery("sized"))
        .subquery("c")
    )


def running_number() -> exp.Expression:
    """Of events `e` and their cases `c`."""
    order = [
        exp.Ordered(this=column(_FIRST, "c")),
        exp.Ordered(this=column(TIME, "e"), nulls_first=False),
        exp.Ordered(this=column(SEQUENCE, "e")),
    ]
    return exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))


def is_in_order(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the spooled events came in the order they are to have, as most logs do.

    Looks at each event and the one before it, as they are stored; should they be given in
    another order than stored, `seq` shows it, and the answer is no.
    """
    pairs = (
        f"SELECT {CASE} AS c, {TIME} AS t, {SEQUENCE} AS n, lag({CASE}) OVER () AS c0, "  # noqa: S608
        f"lag({TIME}) OVER () AS t0, lag({SEQUENCE}) OVER () AS n0 FROM {SPOOL}"
    )
    row = connection.execute(
        "SELECT count(*) FILTER (c IS DISTINCT FROM c0) = count(DISTINCT c) "  # noqa: S608
        "AND count(*) FILTER (c = c0 AND (t < t0 OR t0 IS NULL AND t IS NOT NULL)) = 0 "
        f"AND count(*) FILTER (n <> n0 + 1) = 0 FROM ({pairs})"
    ).fetchone()
    return row is not None and bool(row[0])


def copied_table(target: exp.Table, attributes: Sequence[tuple[str, str]]) -> str:
    """The statement that copies a spool that is in order; attributes are (field, name)."""
    number = exp.Add(this=column(SEQUENCE, "e"), expression=exp.Literal.number(1))
    begins = exp.NullSafeNEQ(this=column(CASE, "e"), expression=column(_BEFORE, "e"))
    # The last number at which a case began: found on the way, as it is the largest so far.
    first = exp.Window(
        this=exp.Max(this=exp.Case(ifs=[exp.If(this=begins, true=number.copy())])),
        spec=exp.WindowSpec(
            kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW"
        ),
    )
    before = exp.Window(this=exp.Lag(this=column(CASE)))
    spooled = exp.select(exp.Star(), exp.alias_(before, _BEFORE)).from_(table(SPOOL))
    rows = _canonical(number, first, attributes).from_(spooled.subquery("e"))
    return exp.Create(this=target, kind="TABLE", expression=rows).sql("duckdb")


def sorted_table(target: exp.Table, attributes: Sequence[tuple[str, str]]) -> str:
    """The statement that sorts the spool into `target`; attributes are (field, name)."""
    ordered = exp.alias_(table(_ORDER), "o", table=True)
    rows = (
        _canonical(column(POSITION, "o"), column(FIRST_POSITION, "o"), attributes)
        .from_(exp.alias_(table(SPOOL), "e", table=True))
        .join(ordered, on=column(SEQUENCE, "e").eq(column(SEQUENCE, "o")))
        .order_by(column(POSITION, "o"))
    )
    return exp.Create(this=target, kind="TABLE", expression=rows).sql("duckdb")


def _canonical(
    number: exp.Expr, first: exp.Expr, attributes: Sequence[tuple[str, str]]
) -> exp.Select:
    return exp.select(
        column(CASE, "e"),
        exp.alias_(number, POSITION, quoted=True),
        column(TIME, "e"),
        column(ACTIVITY, "e"),
        exp.alias_(first, FIRST_POSITION, quoted=True),
        *(exp.alias_(column(field, "e"), name, quoted=True) for field, name in attributes),
    )


def facts(
    connection: duckdb.DuckDBPyConnection, source: exp.Table, attributes: Sequence[str]
) -> Facts:
    counted = exp.select(
        exp.Count(this=exp.Star()),
        exp.Min(this=column(TIME)),
        exp.Max(this=column(TIME)),
        *(_missing(name) for name in (TIME, ACTIVITY, *attributes)),
    ).from_(source)
    events, first, last, timeless, nameless, *missing = _row(connection, counted)
    cases, tied = _cases_and_ties(connection, source)
    names = (
        exp.select(column(ACTIVITY))
        .distinct()
        .from_(source)
        .where(column(ACTIVITY).is_(exp.null()).not_())
    )
    activities = sorted(name for (name,) in connection.execute(names.sql("duckdb")).fetchall())
    return Facts(
        events, cases, first, last, tied, timeless, nameless, tuple(missing),
        tuple(activities),
    )  # fmt: skip


def _cases_and_ties(connection: duckdb.DuckDBPyConnection, source: exp.Table) -> tuple[int, ...]:
    """How many events begin a case, and how many share their time with a neighbour in theirs.

    Events are stored in order, so that both neighbours are at hand: no group has to be found.
    """
    stored = source.sql("duckdb")
    beside = (
        f"SELECT {POSITION} AS n, {FIRST_POSITION} AS c, {TIME} AS t, "  # noqa: S608
        f"lag({FIRST_POSITION}) OVER () AS c0, lag({TIME}) OVER () AS t0, "
        f"lead({FIRST_POSITION}) OVER () AS c1, lead({TIME}) OVER () AS t1 FROM {stored}"
    )
    return _row(
        connection,
        "SELECT count(*) FILTER (n = c), "  # noqa: S608
        f"count(*) FILTER (c = c0 AND t = t0 OR c = c1 AND t = t1) FROM ({beside})",
    )


def _missing(name: str) -> exp.Expression:
    return exp.Count(this=exp.Star()) - exp.Count(this=column(name))


def _row(connection: duckdb.DuckDBPyConnection, query: exp.Expression | str) -> tuple[int, ...]:
    text = query if isinstance(query, str) else query.sql("duckdb")
    row = connection.execute(text).fetchone()
    return tuple(row or ())
