"""Working time between two instants: two look-ups of a day each, and a subtraction.

The working time from some fixed start up to an instant grows only inside working windows.
`values.working_days` cuts it into days: what was worked before each day, and the day's
windows. So a calendar becomes a small table, joined by the number of the day, and holidays,
seasons and summer time are all in the table. An instant before the table counts as its start,
one after it as its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from pappi.engine.expressions import as_double, double
from pappi.engine.nodes import alias, table_named
from pappi.values.working_days import DayTable
from pappi.values.working_time import WorkingCalendar

_DAY_US = 86_400_000_000
_DAY, _BEFORE = "day", "before"

Calendars = Mapping[WorkingCalendar, "Days"]
"""The tables of the calendars that a query reads."""

NO_CALENDARS: Calendars = {}

DaysOf = Callable[[WorkingCalendar], DayTable]
"""Where the days of a calendar come from."""


def no_calendars(calendar: WorkingCalendar) -> DayTable:
    raise LookupError(f"no days are known for the calendar {calendar}")


@dataclass(frozen=True, slots=True)
class Days:
    """A calendar as a table of a query: its name, its days, and how many windows a day has."""

    name: str
    table: DayTable

    def arrow(self) -> pa.Table:
        """In DOUBLE, which holds microseconds exactly."""
        columns = {_DAY: pa.array(range(self.first, self.until), pa.int64())}
        columns[_BEFORE] = pa.array(self.table.before, pa.float64())
        for index, (starts, ends) in enumerate(self.table.windows):
            columns[f"start_{index}"] = pa.array(starts, pa.float64())
            columns[f"end_{index}"] = pa.array(ends, pa.float64())
        return pa.table(columns)

    @property
    def first(self) -> int:
        return self.table.first_day

    @property
    def until(self) -> int:
        return self.table.first_day + len(self.table.before)

    def within(self, instant: exp.Expr) -> exp.Expr:
        """The instant, or the nearest one that the table knows."""
        late = exp.Least(this=as_double(instant), expressions=[double(self.until * _DAY_US - 1)])
        return exp.Case(
            ifs=[
                exp.If(
                    this=exp.Is(this=instant.copy(), expression=exp.Not(this=exp.null())),
                    true=exp.Greatest(this=late, expressions=[double(self.first * _DAY_US)]),
                )
            ]
        )

    def worked(self, instant: exp.Expr, days: str) -> exp.Expr:
        """Working time up to an instant, where `days` is the row of its day, or of the nearest."""
        worked: exp.Expr = exp.column(_BEFORE, table=days, quoted=True)
        for index in range(len(self.table.windows)):
            start = exp.column(f"start_{index}", table=days, quoted=True)
            end = exp.column(f"end_{index}", table=days, quoted=True)
            # Windows are DOUBLE, and so is what is greatest or least of them and an instant.
            begun = exp.Greatest(this=instant.copy(), expressions=[start])
            until = exp.Least(this=begun, expressions=[end])
            within = exp.Sub(this=until, expression=start.copy())
            worked = exp.Add(this=worked, expression=exp.Paren(this=within))
        return worked


@dataclass(frozen=True, slots=True)
class Span:
    """Two columns with instants, and the column that gets the working time between them."""

    start: str
    end: str
    name: str
    days: Days


def with_worked(query: exp.Select, spans: Sequence[Span]) -> exp.Select:
    """The query with a column of working time for every span; as it is without any."""
    if not spans:
        return query
    found = exp.select(
        exp.Column(this=exp.Star(), table=exp.to_identifier("below")),
        *(alias(_between(span, index), span.name) for index, span in enumerate(spans)),
        copy=False,
    ).from_(query.subquery("below", copy=False), copy=False)
    for index, span in enumerate(spans):
        found = _joined(found, span, span.start, f"start_day_{index}")
        found = _joined(found, span, span.end, f"end_day_{index}")
    return found


def _between(span: Span, index: int) -> exp.Expr:
    start = span.days.worked(_below(span.start), f"start_day_{index}")
    end = span.days.worked(_below(span.end), f"end_day_{index}")
    return exp.Sub(this=exp.Paren(this=end), expression=exp.Paren(this=start))


def _joined(query: exp.Select, span: Span, instant: str, days: str) -> exp.Select:
    quotient = exp.Div(this=span.days.within(_below(instant)), expression=double(_DAY_US))
    number = exp.Cast(this=exp.Floor(this=quotient), to=exp.DType.BIGINT.into_expr())
    same_day = exp.EQ(this=number, expression=exp.column(_DAY, table=days, quoted=True))
    table = table_named(span.days.name)
    table.set("alias", exp.TableAlias(this=exp.to_identifier(days, quoted=True)))
    return query.join(table, on=same_day, join_type="left", copy=False)


def _below(name: str) -> exp.Expr:
    return exp.column(name, table="below", quoted=True)
