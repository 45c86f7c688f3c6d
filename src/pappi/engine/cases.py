"""Running the case query, and the table of cases that comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from pappi.engine.query import ANCHOR, ORDER, case_query
from pappi.ppinot.model import AggregatedMeasure, CaseBorder, MultiInstance, SingleInstance
from pappi.store.events import open_readonly
from pappi.tree.composition import composition_tree, leaves
from pappi.values.periods import Period
from pappi.values.vocabulary import Vocabulary

if TYPE_CHECKING:
    import duckdb

# Sharing a scan pays until the aggregates of a case no longer fit the caches.
MEASURES_PER_QUERY = 16

Column = NDArray[Any]


@dataclass(frozen=True, slots=True)
class CaseTable:
    """One row per case, in the order of the log: NaN is missing, None is missing text.

    Microseconds are whole numbers below 2^53 until the year 2255, so a float64
    holds them exactly.
    """

    anchor_us: NDArray[np.float64]
    columns: Mapping[SingleInstance, Column]

    def split(self, periods: Sequence[Period], zone: ZoneInfo) -> dict[Period, CaseTable]:
        """The cases of each period, by their anchor; periods are disjoint and in order.

        One stable sort puts the cases of a period next to each other, so that a period
        is a slice, and costs nothing per column.
        """
        borders = np.array([period.borders_us(zone) for period in periods], dtype=np.float64)
        number = np.searchsorted(borders[:, 0], self.anchor_us, side="right") - 1
        # A case before the first period, in a gap, or without an anchor is in none.
        number[~(self.anchor_us < borders[number, 1])] = -1
        order = np.argsort(number, kind="stable")
        cuts = np.searchsorted(number[order], np.arange(len(periods) + 1))
        gathered = self._rows(order)
        return {
            period: gathered._rows(slice(cuts[index], cuts[index + 1]))  # noqa: SLF001
            for index, period in enumerate(periods)
        }

    def _rows(self, rows: NDArray[np.intp] | slice) -> CaseTable:
        columns = {measure: column[rows] for measure, column in self.columns.items()}
        return CaseTable(self.anchor_us[rows], columns)

    def contributions(
        self, measure: AggregatedMeasure, group: str | None = None
    ) -> NDArray[np.float64]:
        """One value per case; NaN for a case that does not count.

        It counts if it has a finite value, passes the filter and is of the group. Cases
        that do not count are passed on as such, because how many do may be private.
        """
        values: NDArray[np.float64] = self.columns[measure.base]
        counts = np.isfinite(values)
        if measure.filter is not None:
            counts &= self.columns[measure.filter] == 1
        if measure.grouping is not None:
            counts &= self.columns[measure.grouping.by] == group
        return np.where(counts, values, np.nan)


def evaluate_cases(
    database: Path,
    table: str,
    anchor: CaseBorder,
    measures: Sequence[MultiInstance],
    vocabulary: Vocabulary,
) -> CaseTable:
    """The table of cases for everything the given measures read, in one scan if it can be."""
    trees = [composition_tree(measure) for measure in measures]
    wanted = list(dict.fromkeys(leaf.measure for tree in trees for leaf in leaves(tree)))
    anchors: NDArray[np.float64] = np.empty(0)
    columns: dict[SingleInstance, Column] = {}
    with open_readonly(database) as connection:
        for start in range(0, max(len(wanted), 1), MEASURES_PER_QUERY):
            part = wanted[start : start + MEASURES_PER_QUERY]
            query = case_query(table, anchor, part, vocabulary).sql(dialect="duckdb")
            anchors, found = _run(connection, query, len(part))
            columns.update(zip(part, found, strict=True))
    return CaseTable(anchors, columns)


def _run(
    connection: duckdb.DuckDBPyConnection, query: str, width: int
) -> tuple[NDArray[np.float64], list[Column]]:
    found = connection.execute(query).fetchnumpy()
    order = np.argsort(found[ORDER], kind="stable")
    columns = [_with_gaps(found[f"m{index}"])[order] for index in range(width)]
    return _with_gaps(found[ANCHOR].astype(np.float64))[order], columns


def _with_gaps(column: Column) -> Column:
    """Masked entries as NaN or None."""
    if not isinstance(column, np.ma.MaskedArray):
        return column
    return column.filled(np.nan if column.dtype.kind == "f" else None)
