"""Running the case query on a log, wherever its events are.

It is read in ranges of whole cases. So the table of cases can be had whole, in the order of
the log, or in batches, where every case stands for itself. The order is for the eye and for
what is read in several scans; nothing that is released depends on it.

For the owner's side alone: what a source has to offer when it is declared (`survey`,
`source_columns`). Releases read what was declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial, reduce
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from pappi.engine.bases import (
    ANCHOR,
    NO_CALENDARS,
    ORDER,
    PERSON,
    Calendars,
    DaysOf,
    Identify,
    no_calendars,
)
from pappi.engine.duck import opened_duck
from pappi.engine.expressions import (
    CASE_ID,
    Source,
    filled_query,
)
from pappi.engine.query import CaseQuery, Engine, calendars_of, shared_scans, variation_query
from pappi.engine.table import (
    CaseTable,
    Column,
    Scan,
    Texts,
    Who,
    cases_in,
    in_one,
    key_numbers,
    read_by,
    truncated_batches,
)
from pappi.ppinot import (
    DataMeasure,
    Grouping,
    MultiInstance,
    Scope,
    SingleInstance,
    aggregated_measures,
    composition_tree,
    leaves,
)
from pappi.store import ColumnForm, LogDeclaration, SourceRead, System, system_of
from pappi.values import CaseBorder, Period, Vocabulary

Place: TypeAlias = Path | SourceRead
"""Where events are: in the workspace's own folder, or at a source."""
# Sharing a scan pays until the aggregates of a case no longer fit the caches.
MOST_BASES = 16


def evaluate_cases(
    place: Place,
    table: str,
    anchor: CaseBorder,
    measures: Sequence[MultiInstance],
    vocabulary: Vocabulary,
    identify: Identify | None = None,
    *,
    also: Sequence[SingleInstance] = (),
    days: DaysOf = no_calendars,
) -> CaseTable:
    """The table of cases for everything the given measures read, in the order of the log.

    `also` are further measures of a case to read; `days` gives a calendar's table.
    """
    reading = _Reading.of(anchor, measures, also, vocabulary, identify, days)
    return CaseTable.joined(list(reading.batches(place, table, in_order=True)))


def cases_by_period(
    events: Path,
    log: LogDeclaration,
    measures: Sequence[MultiInstance],
    periods: Mapping[Scope, Sequence[Period]],
    identify: Identify | None = None,
) -> dict[Scope, dict[Period, CaseTable]]:
    """The cases of each scope and period; the periods of a scope are disjoint and in order.

    Where `identify` asks for persons, their contributions are bounded before anything else.
    """
    bounded = identify is not None and identify.person is not None
    reading = _Reading.of(
        log.terms.anchor,
        measures,
        read_by(periods),
        log.public.vocabulary,
        identify,
        log.public.days,
        {part.grouping for each in measures for _, part in aggregated_measures(each)},
    )
    place, horizon, zone = log.place(events), log.horizon, log.terms.zone
    tables = list(reading.batches(place, log.table, in_order=False))
    if bounded:
        tables = truncated_batches(tables, log.terms.unit, horizon, zone)
    return {scope: cases_in(tables, scope, some, horizon, zone) for scope, some in periods.items()}


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is read of every case."""

    anchor: CaseBorder
    wanted: tuple[SingleInstance, ...]
    vocabulary: Vocabulary
    identify: Identify | None
    calendars: Calendars
    groupings: tuple[Grouping, ...]
    """Whose keys are numbered as they are read: no text of a case is kept then."""

    @classmethod
    def of(
        cls,
        anchor: CaseBorder,
        measures: Sequence[MultiInstance],
        also: Sequence[SingleInstance],
        vocabulary: Vocabulary,
        identify: Identify | None,
        days: DaysOf,
        groupings: Iterable[Grouping | None] = (),
    ) -> _Reading:
        trees = [composition_tree(measure) for measure in measures]
        read = (leaf.measure for tree in trees for leaf in leaves(tree))
        wanted = tuple(dict.fromkeys((*read, *also)))
        calendars, numbered = calendars_of(wanted, days), tuple(filter(None, groupings))
        return cls(anchor, wanted, vocabulary, identify, calendars, numbered)

    def batches(self, place: Place, table: str, *, in_order: bool) -> Iterator[CaseTable]:
        queries = self._queries(place, in_order=in_order)
        with opened(place, table, self.calendars) as engine:
            yield from engine.each_range(table, partial(_answered, queries, self.groupings))

    def _queries(self, place: Place, *, in_order: bool) -> list[CaseQuery]:
        lots = [lot for group in self._groups(place) for lot in shared_scans(group, MOST_BASES)]
        # What is read in several scans belongs together by its order.
        placed = in_order or len(lots) > 1
        return [
            replace(self._query(lot), identify=None if number else self.identify, placed=placed)
            for number, lot in enumerate(lots)
        ]

    def _groups(self, place: Place) -> list[Sequence[SingleInstance]]:
        """One, or what can be folded apart from what cannot, where anything is: in our own file."""
        if not isinstance(place, Path):
            return [self.wanted]
        folded = [measure for measure in self.wanted if self._query([measure]).folding]
        others = [measure for measure in self.wanted if measure not in folded]
        return [group for group in (folded, others) if group] or [()]

    def _query(self, lot: Sequence[SingleInstance]) -> CaseQuery:
        keys: dict[DataMeasure, tuple[str, ...]] = {}
        for grouping in self.groupings:
            known = keys.get(grouping.by, ())
            keys[grouping.by] = tuple(dict.fromkeys((*known, *grouping.keys)))
        return CaseQuery(self.anchor, lot, self.vocabulary, calendars=self.calendars, keys=keys)


def _answered(
    queries: Sequence[CaseQuery], groupings: Sequence[Grouping], engine: Engine, source: Source
) -> CaseTable:
    anchors: NDArray[np.float64] = np.empty(0)
    columns: dict[SingleInstance | Grouping, Column] = {}
    who: Who | None = None
    scans = _of_the_same_cases([_in_order(engine.cases(query, source)) for query in queries])
    for query, scan in zip(queries, scans, strict=True):
        anchors = scan[ANCHOR]
        columns.update((measure, scan[f"m{index}"]) for index, measure in enumerate(query.measures))
        if query.identify is not None:
            persons = in_one([_texts(scan[PERSON])]) if PERSON in scan else None
            who = Who(in_one([_texts(scan[CASE_ID])]), persons, query.identify.key)
    numbers = {each: key_numbers(_texts(columns[each.by]), each.keys) for each in groupings}
    for by in {each.by for each in groupings}:
        del columns[by]
    return CaseTable(anchors, {each: np.asarray(it) for each, it in columns.items()} | numbers, who)


def _texts(column: Column | Texts) -> Texts:
    known = isinstance(column, pa.Array | pa.ChunkedArray)
    return column if known else pa.array(column, pa.large_string())


def _in_order(scan: Scan) -> Scan:
    """Of the log, where the place of each case is known."""
    if ORDER not in scan or np.all(scan[ORDER][1:] >= scan[ORDER][:-1]):
        return scan
    return _rows(scan, np.argsort(scan[ORDER], kind="stable"))


def _rows(scan: Scan, rows: NDArray[np.intp]) -> Scan:
    return {name: column.take(rows) for name, column in scan.items()}


def _of_the_same_cases(scans: list[Scan]) -> list[Scan]:
    """The rows of those cases that all scans have found, which a source may change between them.

    What is of two cases must not become one row; and to fail would tell of a case that came or
    went, to whoever waits for that. So a row is there, or is not, by its own case alone.
    """
    if len(scans) < 2:
        return scans
    first, *others = (scan[ORDER] for scan in scans)
    if all(np.array_equal(first, other) for other in others):
        return scans
    common = reduce(np.intersect1d, others, first)
    return [_rows(scan, np.flatnonzero(np.isin(scan[ORDER], common))) for scan in scans]


# --- which engine for which place ----------------------------------------------------


class Backend(Protocol):
    """What the module of a backend offers."""

    def opened(
        self, reading: SourceRead, calendars: Calendars
    ) -> AbstractContextManager[Engine]: ...

    def forms(
        self, url: str, table: tuple[str, ...], password: str | None
    ) -> dict[str, ColumnForm | None]:
        """The columns of a table and how they are written; None for one that cannot be read."""


BACKENDS = {
    System.PARQUET: "pappi.engine.parquet",
    System.POSTGRES: "pappi.engine.postgres",
    System.SPARK: "pappi.engine.spark",
}
"""Every backend there is: a new one is a module of its own, a `System` and a line here."""

if TYPE_CHECKING:
    from pappi.engine import parquet, postgres, spark

    _CHECKED: tuple[Backend, ...] = (parquet, postgres, spark)


def _backend(system: System) -> Backend:
    # Imported when it is used: each has a driver that other logs do without.
    return cast("Backend", import_module(BACKENDS[system]))


def opened(place: Place, table: str, calendars: Calendars) -> AbstractContextManager[Engine]:
    """The engine for a log in a place, and the calendars that queries join."""
    if isinstance(place, Path):
        return opened_duck(place, table, calendars)
    return _backend(place.source.system).opened(place, calendars)


# --- for the owner, who declares a log -----------------------------------------------


def case_level(
    place: Place, table: str, attributes: Sequence[str], vocabulary: Vocabulary
) -> tuple[str, ...]:
    """Those of the attributes that never have two values within a case."""
    with opened(place, table, NO_CALENDARS) as engine:
        varies = engine.row(variation_query(table, attributes, vocabulary))
    return tuple(name for name, differs in zip(attributes, varies, strict=True) if not differs)


@dataclass(frozen=True, slots=True)
class Survey:
    """How many events and cases there are, their time, and the activities that occur."""

    events: int
    cases: int
    first_us: int | None
    last_us: int | None
    activities: tuple[str, ...]


_EXTENT = """
SELECT SUM("n"), COUNT(*), MIN("first"), MAX("last") FROM (
    SELECT COUNT("pos") AS "n", MIN("ts_us") AS "first", MAX("ts_us") AS "last"
    FROM "events" GROUP BY "case_id"
) AS "cases"
"""
_ACTIVITIES = """
SELECT * FROM (SELECT "activity" FROM "events" GROUP BY "activity" LIMIT :most) AS "names"
"""
_MOST_ACTIVITIES = 10_001  # one more than can be declared


def survey(reading: SourceRead) -> Survey:
    with _backend(reading.source.system).opened(reading, NO_CALENDARS) as engine:
        events, cases, first, last = engine.row(filled_query(_EXTENT))
        most = exp.Literal.number(_MOST_ACTIVITIES)
        activities = engine.columns(filled_query(_ACTIVITIES, most=most))["activity"]
    named = sorted(str(name) for name in activities if name is not None)
    return Survey(int(events or 0), int(cases), first, last, tuple(named))


def source_columns(
    url: str, table: tuple[str, ...], password: str | None
) -> dict[str, ColumnForm | None]:
    """The columns of a table and how they are written; None for one that cannot be read."""
    return _backend(system_of(url)).forms(url, table, password)
