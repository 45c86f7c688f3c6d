"""A source's own table, seen as the events every query expects.

    case_id text, ts_us BIGINT, activity text, attributes…, pos BIGINT

`pos` numbers the events of a case: by time, those without one last; then by the declared order;
and then by everything else that is declared, so that events which still tie are alike in all a
query can ask, and the same question has the same answer whenever it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeGuard

from sqlglot import exp

from pappi.engine.bases import ORDER
from pappi.engine.expressions import present, when
from pappi.engine.nodes import CASE_ID, POSITION, TIME, alias, column_named
from pappi.errors import WorkspaceError
from pappi.store.sources import EventSource, Form, MappedColumn, SourceRead

# Beyond the years 1800 to 2200 a time is a mistake, and microseconds do not fit a double exactly.
EARLIEST_US, LATEST_US = -5_364_662_400_000_000, 7_258_118_400_000_000

_ACTIVITY = "activity"
_GATHERED = ([CASE_ID], [_ACTIVITY])
_TIMES = frozenset({Form.INSTANT, Form.WALL_CLOCK, Form.DAY, Form.MICROSECONDS})
# As what a column may be written for what was declared; for the rest, as exactly that.
_WRITTEN: Mapping[Form, frozenset[Form]] = {
    Form.TEXT: frozenset(Form),  # whatever it is, it has a text
    Form.MICROSECONDS: frozenset({Form.WHOLE}),
    Form.SECONDS: frozenset({Form.WHOLE, Form.FLOAT, Form.DECIMAL}),
}

Named = Callable[[str], str]
"""What a column is called in the query that reads it."""


class Reads(Protocol):
    """The part of a dialect that reads columns of a source."""

    def read(self, column: MappedColumn) -> exp.Expr: ...


def read_columns(source: EventSource) -> list[str]:
    """The source's own names of what is read of it."""
    return list(dict.fromkeys(column.column for column in _mapped(source)))


def require_declared(source: EventSource, found: Mapping[str, Form | None]) -> None:
    """Refuse a source whose columns have changed: read as what they were, they may fail.

    And that would depend on what is in them.
    """
    wrong = [
        each.column
        for each in _mapped(source)
        if found.get(each.column) not in _WRITTEN.get(each.form, {each.form})
    ]
    if wrong:
        raise WorkspaceError(
            "the columns of this log's source are not of the types that were declared",
            hint="give them back their types, or add the log anew under another name",
            detail=f"changed: {', '.join(wrong)}",
        )


def _mapped(source: EventSource) -> list[MappedColumn]:
    order = () if source.order is None else (source.order,)
    return [source.case, source.activity, source.time, *order, *source.attributes.values()]


def canonical_events(
    reading: SourceRead,
    table: exp.Expr,
    reads: Reads,
    named: Named,
    ties: Sequence[exp.Expr] = (),
) -> exp.Select:
    """The events of a source, out of a table expression; columns are called as `named` says.

    `ties` are columns of the table that say more about the order of events than is declared.
    """
    source = reading.source
    columns = {
        CASE_ID: reads.read(source.case),
        TIME.name: _value(reads, source.time),
        _ACTIVITY: reads.read(source.activity),
        **{name: _value(reads, column) for name, column in source.attributes.items()},
    }
    order = [] if source.order is None else [_value(reads, source.order)]
    kept = [alias(value, named(name)) for name, value in columns.items()]
    tied = [alias(value, _tie(source, number)) for number, value in enumerate((*order, *ties))]
    read = exp.select(*kept, *tied, copy=False).from_(table, copy=False)
    read = read.where(present(reads.read(source.case)), copy=False)
    keys = [named(TIME.name), *(each.alias for each in tied), *map(named, (*columns,)[2:])]
    found = exp.select(
        *(column_named(named(name)) for name in columns),
        alias(_running_number(keys, named), named(POSITION.name)),
        copy=False,
    ).from_(read.subquery("mapped", copy=False), copy=False)
    return found if reading.before_us is None else found.where(_before(reading.before_us, named))


def _tie(source: EventSource, number: int) -> str:
    """Called as no attribute is, in whatever case."""
    longest = max(map(len, source.attributes), default=0)
    return f"tie_{number}".ljust(longest + 1, "_")


def gathered_in(query: exp.Expr) -> Iterator[exp.Select]:
    """The parts of a query that make something fewer out of events: cases, or activities."""
    for node in query.walk(prune=_gathers):
        if _gathers(node):
            yield node


def _gathers(node: exp.Expr) -> TypeGuard[exp.Select]:
    group = node.args.get("group")
    return group is not None and [each.name for each in group.expressions] in _GATHERED


def order_by_case(part: exp.Select) -> None:
    """Put a case's id for its place in the log: positions here count within a case only.

    So of a log that stays where it is, cases are in the order of their ids.
    """
    for column in part.selects:
        if column.alias == ORDER:
            column.set("this", column_named(CASE_ID))


def _running_number(keys: Sequence[str], named: Named) -> exp.Expr:
    return exp.Window(
        this=exp.RowNumber(),
        partition_by=[column_named(named(CASE_ID))],
        order=exp.Order(expressions=[each for key in keys for each in _in_order(key)]),
    )


def _in_order(key: str) -> Iterator[exp.Expr]:
    """What is missing comes last, in every database."""
    missing = exp.Is(this=column_named(key), expression=exp.null())
    one, zero = exp.Literal.number(1), exp.Literal.number(0)
    last = exp.Case(ifs=[exp.If(this=missing, true=one)], default=zero)
    yield exp.Ordered(this=last, nulls_first=False)
    yield exp.Ordered(this=column_named(key), nulls_first=False)


def _before(instant: int, named: Named) -> exp.Expr:
    time = column_named(named(TIME.name))
    earlier = exp.LT(this=time, expression=exp.Literal.number(instant))
    return exp.Or(this=exp.Is(this=time.copy(), expression=exp.null()), expression=earlier)


def _value(reads: Reads, column: MappedColumn) -> exp.Expr:
    value = reads.read(column)
    if column.form not in _TIMES:
        return value
    known = exp.And(
        this=exp.GTE(this=value, expression=exp.Literal.number(EARLIEST_US)),
        expression=exp.LT(this=value.copy(), expression=exp.Literal.number(LATEST_US)),
    )
    return when(known, value.copy())
