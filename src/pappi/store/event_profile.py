"""Counting what a log's profile tells (`eventlog/profile.py`), in one version of its events.

Reads every row, for the owner alone. Cases are looked at by their numbers (`first_pos`), columns
some at a time. Of texts only a few values are looked at, and only to tell what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from pappi.errors import WorkspaceError
from pappi.eventlog import (
    ACTIVITY,
    TIME,
    ActivityUse,
    Anchored,
    AttributeUse,
    BlockCount,
    PersonUse,
    Profile,
    Spread,
    Wait,
    could_be_a_person,
    looks_personal,
    milestones_of,
)
from pappi.store.event_file import FIRST_POSITION, POSITION, column, open_readonly, table
from pappi.values import CaseBorder, Kind, PublicLog, day_of

_AT = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
_MEASURED = (Kind.NUMBER, Kind.DURATION, Kind.TIME)
_AT_A_TIME = 40
_LOOKED_AT = 1_000
_FEW_VALUES = 12
_MOST_ACTIVITIES = 1_000
_PERSONS = 5

Floats = NDArray[np.float64]


def profile_events(events: Path, stored: str, log: PublicLog) -> Profile:
    """What a version of a log holds, by the terms that are, or would be, declared."""
    with closing(open_readonly(events, stored)) as connection:
        try:
            return _Counting(connection, table(stored).sql("duckdb"), log).profile()
        except duckdb.Error as error:
            raise WorkspaceError(
                "the events could not be counted",
                hint="check the free space on the disk; nothing was changed",
                detail=str(error),
            ) from error


class _Counting:
    """Names are quoted, and values are none of ours: see `column` and `table`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, stored: str, log: PublicLog) -> None:
        self._connection = connection
        self._stored = stored
        self._log = log

    def profile(self) -> Profile:
        starts, ends, sizes = self._cases()
        timed = ~np.isnan(starts)
        events, timeless, nameless = self._row(
            f"SELECT count(*), count(*) - count({TIME}), count(*) - count({ACTIVITY}) "  # noqa: S608
            f"FROM {self._stored}"
        )
        tied = self._tied()
        zone = self._log.terms.zone
        activities = tuple(self._activities())
        attributes = tuple(self._attributes())
        return Profile(
            log=self._log.name,
            events=events,
            cases=len(sizes),
            first=day_of(int(starts[timed].min()), zone) if timed.any() else self._log.first,
            last=day_of(int(ends[timed].max()), zone) if timed.any() else self._log.until,
            blocks=self._log.terms.blocks,
            anchor=self._log.terms.anchor,
            unit=self._log.terms.unit.column,
            expected_cases=self._log.terms.expected_cases,
            tied=tied,
            without_time=timeless,
            without_activity=nameless,
            by_anchor=(
                self._anchored(CaseBorder.END, ends[timed]),
                self._anchored(CaseBorder.START, starts[timed]),
            ),
            durations=_spread_of((ends - starts)[timed]),
            events_per_case=_spread_of(sizes),
            activities=activities,
            waits=tuple(self._waits(milestones_of(activities, len(sizes)))),
            attributes=attributes,
            persons=tuple(self._persons(attributes)),
        )

    def _tied(self) -> int:
        """Events are stored in order, so that both neighbours are at hand; if they should be
        given in another, their positions show it, and they are put in order.
        """
        for window in ("()", f"(ORDER BY {POSITION})"):
            tied, astray = self._row(
                "SELECT count(*) FILTER (c = c0 AND t = t0 OR c = c1 AND t = t1), "  # noqa: S608
                f"count(*) FILTER (n <= n0) FROM (SELECT {POSITION} AS n, {FIRST_POSITION} AS c, "
                f"{TIME} AS t, lag({POSITION}) OVER w AS n0, lag({FIRST_POSITION}) OVER w AS c0, "
                f"lag({TIME}) OVER w AS t0, lead({FIRST_POSITION}) OVER w AS c1, "
                f"lead({TIME}) OVER w AS t1 FROM {self._stored} WINDOW w AS {window})"
            )
            if not astray:
                break
        return int(tied)

    def _row(self, query: str) -> tuple[Any, ...]:
        return tuple(self._connection.execute(query).fetchone() or ())

    def _numbers(self, query: str, *values: str) -> list[Floats]:
        """The columns of a query, as numbers; nan where there is none."""
        columns = self._connection.execute(query, list(values)).fetchnumpy().values()
        return [np.ma.filled(np.ma.asarray(of, dtype=np.float64), np.nan) for of in columns]

    def _cases(self) -> list[Floats]:
        return self._numbers(
            f"SELECT min({TIME}), max({TIME}), count(*) FROM {self._stored} "  # noqa: S608
            f"GROUP BY {FIRST_POSITION}"
        )

    def _anchored(self, anchor: CaseBorder, at: Floats) -> Anchored:
        log, zone = self._log, self._log.terms.zone
        blocks = log.terms.blocks.periods(log.first, log.until)
        borders = [block.borders_us(zone)[0] for block in blocks]
        borders += [block.borders_us(zone)[1] for block in blocks[-1:]]
        places = np.searchsorted(np.asarray(borders, dtype=np.float64), at, side="right")
        counts = np.bincount(places, minlength=len(borders) + 1) if blocks else np.zeros(2, int)
        return Anchored(
            anchor,
            tuple(
                BlockCount(block.label, block.start, block.end, int(count))
                for block, count in zip(blocks, counts[1:], strict=False)
            ),
            outside=len(at) - int(counts[1 : len(blocks) + 1].sum()),
        )

    def _activities(self) -> Iterator[ActivityUse]:
        """Each with how often, in how many cases, and how long after the case began."""
        rows = self._connection.execute(
            f"WITH e AS (SELECT {ACTIVITY} AS a, {FIRST_POSITION} AS c, {POSITION} AS p, "  # noqa: S608
            f"{TIME} AS t FROM {self._stored}), "
            "s AS (SELECT c, min(t) AS began, max(p) AS last FROM e GROUP BY c), "
            "u AS (SELECT a, c, count(*) AS n, min(t) AS t, bool_or(p = c) AS first, max(p) AS p "
            "FROM e WHERE a IS NOT NULL GROUP BY a, c) "
            "SELECT a, sum(n), count(*), count(*) FILTER (n > 1), count(*) FILTER (first), "
            "count(*) FILTER (u.p = s.last), median(u.t - s.began) "
            "FROM u JOIN s USING (c) GROUP BY a ORDER BY count(*) DESC, a "
            f"LIMIT {_MOST_ACTIVITIES}"
        ).fetchall()
        for name, events, cases, repeated, first, last, since in rows:
            began = None if since is None else float(since)
            yield ActivityUse(name, int(events), cases, repeated, first, last, began)

    def _waits(self, milestones: Sequence[str]) -> Iterator[Wait]:
        for start, end in pairwise(milestones):
            (waited,) = self._numbers(
                f"SELECT b - a FROM (SELECT min({TIME}) FILTER ({ACTIVITY} = ?) AS a, "  # noqa: S608
                f"min({TIME}) FILTER ({ACTIVITY} = ?) AS b FROM {self._stored} "
                f"GROUP BY {FIRST_POSITION}) WHERE b >= a",
                start,
                end,
            )
            spread = _spread_of(waited)
            if spread is not None:
                yield Wait(start, end, len(waited), spread)

    def _attributes(self) -> Iterator[AttributeUse]:
        every = list(self._log.vocabulary.attributes.items())
        for start in range(0, len(every), _AT_A_TIME):
            yield from self._some(every[start : start + _AT_A_TIME])

    def _some(self, some: Sequence[tuple[str, Kind]]) -> Iterator[AttributeUse]:
        names = [column(name).sql("duckdb") for name, _ in some]
        counted = self._row(
            f"SELECT {', '.join(f'count(*) - count({of}), approx_count_distinct({of})' for of in names)} "  # noqa: E501, S608
            f"FROM {self._stored}"
        )
        compared = (
            # Of texts their hashes, which are compared in half the time.
            f"CASE WHEN {of} IS NOT NULL THEN hash({of}) END" if kind is Kind.TEXT else of
            for of, (_, kind) in zip(names, some, strict=True)
        )
        by_case = ", ".join(
            f"min({of}) AS l{n}, max({of}) AS h{n}" for n, of in enumerate(compared)
        )
        counts = ", ".join(
            f"count(l{n}), count(*) FILTER (l{n} <> h{n})" for n in range(len(names))
        )
        cases = self._row(
            f"SELECT {counts} FROM (SELECT {by_case} FROM {self._stored} "  # noqa: S608
            f"GROUP BY {FIRST_POSITION})"
        )
        seen = self._seen(names)
        for n, (name, kind) in enumerate(some):
            distinct = counted[2 * n + 1]
            yield AttributeUse(
                name,
                kind,
                missing=counted[2 * n],
                cases=cases[2 * n],
                distinct=distinct,
                spread=self._spread(names[n]) if kind in _MEASURED else None,
                values=self._values(names[n]) if _is_short(kind, distinct, name) else (),
                per_case=bool(cases[2 * n]) and not cases[2 * n + 1],
                personal=looks_personal(name, seen[n] if kind is Kind.TEXT else ()),
            )

    def _seen(self, names: Sequence[str]) -> list[list[str]]:
        """Some values of each column, as texts."""
        rows = self._connection.execute(
            f"SELECT {', '.join(names)} FROM {self._stored} LIMIT {_LOOKED_AT}"  # noqa: S608
        ).fetchall()
        return [
            [value for value in of if isinstance(value, str)]
            for of in (zip(*rows, strict=True) if rows else [()] * len(names))
        ]

    def _values(self, name: str) -> tuple[str, ...]:
        rows = self._connection.execute(
            f"SELECT {name} FROM {self._stored} WHERE {name} IS NOT NULL GROUP BY {name} "  # noqa: S608
            f"ORDER BY count(*) DESC, {name} LIMIT {_FEW_VALUES}"
        ).fetchall()
        return tuple(value for (value,) in rows)

    def _spread(self, name: str) -> Spread | None:
        (values,) = self._row(
            f"SELECT quantile_disc({name}, {list(_AT)}) FROM {self._stored} "  # noqa: S608
            f"WHERE isfinite({name}::DOUBLE)"
        )
        return None if values is None else Spread(*map(float, values))

    def _persons(self, attributes: Iterable[AttributeUse]) -> Iterator[PersonUse]:
        """Of the attributes that may say whose case it is: how many cases each person has."""
        who = [use for use in attributes if use.per_case and could_be_a_person(use.name)]
        for use in who[:_PERSONS]:
            name = column(use.name).sql("duckdb")
            (sizes,) = self._numbers(
                f"SELECT count(*) FROM (SELECT max({name}) AS who FROM {self._stored} "  # noqa: S608
                f"GROUP BY {FIRST_POSITION}) WHERE who IS NOT NULL GROUP BY who"
            )
            spread = _spread_of(sizes)
            if spread is not None:
                yield PersonUse(use.name, len(sizes), spread)


def _is_short(kind: Kind, distinct: int, name: str) -> bool:
    """Whether the values can be listed: few, and nobody's name."""
    return kind is Kind.TEXT and distinct <= _FEW_VALUES and not looks_personal(name)


def _spread_of(values: Floats) -> Spread | None:
    """Of values as they are: at a share, the one that so many do not exceed."""
    if not len(values):
        return None
    return Spread(*map(float, np.quantile(values, _AT, method="inverted_cdf")))
