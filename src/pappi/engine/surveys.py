"""What a source has to offer, for the owner who declares it: columns, time, cases, activities.

Only the owner's side asks this. Releases read what was declared.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from pappi.engine.engines import opened
from pappi.engine.nodes import CASE_ID, POSITION, TIME, alias, column_named, table_named
from pappi.engine.working import NO_CALENDARS
from pappi.store.sources import Form, SourceRead, System, system_of

_EVENTS = "events"
_ACTIVITY = "activity"
_MOST_ACTIVITIES = 10_001  # one more than can be declared


@dataclass(frozen=True, slots=True)
class Survey:
    """How many events and cases there are, their time, and the activities that occur."""

    events: int
    cases: int
    first_us: int | None
    last_us: int | None
    activities: tuple[str, ...]


def survey(reading: SourceRead) -> Survey:
    with opened(reading, NO_CALENDARS) as engine:
        events, cases, first, last = engine.row(_extent())
        activities = engine.columns(_activities())[_ACTIVITY]
    named = sorted(str(name) for name in activities if name is not None)
    return Survey(int(events or 0), int(cases), first, last, tuple(named))


def source_columns(
    url: str, table: tuple[str, ...], password: str | None
) -> dict[str, Form | None]:
    """The columns of a table and how they are written; None for one that cannot be read."""
    match system_of(url):
        case System.PARQUET:
            from pappi.engine.parquet import parquet_forms

            return parquet_forms(url)
        case System.POSTGRES:
            from pappi.engine.postgres import opened_postgres

            with opened_postgres(url, password) as session:
                return session.forms(table)
        case System.SPARK:
            from pappi.engine.spark import opened_spark

            with opened_spark(url, password) as remote:
                return remote.forms(table)


def _extent() -> exp.Select:
    per_case = exp.select(
        alias(exp.Count(this=POSITION.copy()), "n"),
        alias(exp.Min(this=TIME.copy()), "first"),
        alias(exp.Max(this=TIME.copy()), "last"),
    )
    cases = per_case.from_(table_named(_EVENTS)).group_by(column_named(CASE_ID))
    return exp.select(
        exp.Sum(this=column_named("n")),
        exp.Count(this=exp.Star()),
        exp.Min(this=column_named("first")),
        exp.Max(this=column_named("last")),
    ).from_(cases.subquery("cases"))


def _activities() -> exp.Select:
    name = column_named(_ACTIVITY)
    names = exp.select(name).from_(table_named(_EVENTS)).group_by(name.copy())
    names = names.limit(_MOST_ACTIVITIES)
    return exp.select(exp.Star()).from_(names.subquery("names"))
