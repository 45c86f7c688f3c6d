"""Running the case query on a log.

It is read in ranges of whole cases. So the table of cases can be had whole, in the order of
the log, or in batches, where every case stands for itself. The order is for the eye and for
what is read in several scans; nothing that is released depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pappi.engine.engines import Engine, Place, opened
from pappi.engine.nodes import CASE_ID
from pappi.engine.query import (
    ANCHOR,
    ORDER,
    PERSON,
    Asked,
    Identify,
    calendars_of,
    shared_scans,
    variation_query,
)
from pappi.engine.sources import Source
from pappi.engine.table import CaseTable, Column, Who
from pappi.engine.working import NO_CALENDARS, Calendars, DaysOf, no_calendars
from pappi.ppinot.model import CaseBorder, MultiInstance, SingleInstance
from pappi.tree.composition import composition_tree, leaves
from pappi.values.vocabulary import Vocabulary

__all__ = [
    "MOST_BASES",
    "CaseTable",
    "Who",
    "case_batches",
    "case_level",
    "evaluate_cases",
]

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

    `also` are measures of a case that are read besides; `days` gives a calendar's table.
    """
    reading = _Reading.of(anchor, measures, also, vocabulary, identify, days)
    return CaseTable.joined(list(reading.batches(place, table, in_order=True)))


def case_batches(
    place: Place,
    table: str,
    anchor: CaseBorder,
    measures: Sequence[MultiInstance],
    vocabulary: Vocabulary,
    identify: Identify | None = None,
    *,
    also: Sequence[SingleInstance] = (),
    days: DaysOf = no_calendars,
) -> Iterator[CaseTable]:
    """The same cases, so many at a time, in no order."""
    reading = _Reading.of(anchor, measures, also, vocabulary, identify, days)
    return reading.batches(place, table, in_order=False)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is read of every case."""

    anchor: CaseBorder
    wanted: tuple[SingleInstance, ...]
    vocabulary: Vocabulary
    identify: Identify | None
    calendars: Calendars

    @classmethod
    def of(
        cls,
        anchor: CaseBorder,
        measures: Sequence[MultiInstance],
        also: Sequence[SingleInstance],
        vocabulary: Vocabulary,
        identify: Identify | None,
        days: DaysOf,
    ) -> _Reading:
        trees = [composition_tree(measure) for measure in measures]
        read = (leaf.measure for tree in trees for leaf in leaves(tree))
        wanted = tuple(dict.fromkeys((*read, *also)))
        return cls(anchor, wanted, vocabulary, identify, calendars_of(wanted, days))

    def batches(self, place: Place, table: str, *, in_order: bool) -> Iterator[CaseTable]:
        questions = self._questions(place, in_order=in_order)
        with opened(place, self.calendars) as engine:
            yield from engine.each_range(table, partial(_answered, questions))

    def _questions(self, place: Place, *, in_order: bool) -> list[Asked]:
        lots = [lot for group in self._groups(place) for lot in shared_scans(group, MOST_BASES)]
        # What is read in several scans belongs together by its order.
        placed = in_order or len(lots) > 1
        return [
            replace(self._asked(lot), identify=None if number else self.identify, placed=placed)
            for number, lot in enumerate(lots)
        ]

    def _groups(self, place: Place) -> list[Sequence[SingleInstance]]:
        """One, or what can be folded apart from what cannot, where anything is: in our own file."""
        if not isinstance(place, Path):
            return [self.wanted]
        folded = [measure for measure in self.wanted if self._asked([measure]).folding]
        others = [measure for measure in self.wanted if measure not in folded]
        return [group for group in (folded, others) if group] or [()]

    def _asked(self, lot: Sequence[SingleInstance]) -> Asked:
        return Asked(self.anchor, lot, self.vocabulary, calendars=self.calendars)


def _answered(questions: Sequence[Asked], engine: Engine, source: Source) -> CaseTable:
    anchors: NDArray[np.float64] = np.empty(0)
    columns: dict[SingleInstance, Column] = {}
    who: Who | None = None
    scans = _of_the_same_cases([_in_order(engine.cases(asked, source)) for asked in questions])
    for asked, found in zip(questions, scans, strict=True):
        anchors = found[ANCHOR]
        columns.update(
            (measure, found[f"m{index}"]) for index, measure in enumerate(asked.measures)
        )
        if asked.identify is not None:
            who = Who(found[CASE_ID], found.get(PERSON), asked.identify.key)
    return CaseTable(anchors, columns, who)


def _in_order(found: dict[str, Column]) -> dict[str, Column]:
    """Of the log, where the place of each case is known."""
    if ORDER not in found or np.all(found[ORDER][1:] >= found[ORDER][:-1]):
        return found
    order = np.argsort(found[ORDER], kind="stable")
    return {name: column[order] for name, column in found.items()}


def _of_the_same_cases(scans: list[dict[str, Column]]) -> list[dict[str, Column]]:
    """The rows of those cases that all scans have found, which a source may change between them.

    What is of two cases must not become one row; and to fail would tell of a case that came or
    went, to whoever waits for that. So a row is there, or is not, by its own case alone.
    """
    if len(scans) < 2:
        return scans
    first, *others = (scan[ORDER] for scan in scans)
    if all(np.array_equal(first, each) for each in others):
        return scans
    common = reduce(np.intersect1d, others, first)
    return [_rows(scan, np.isin(scan[ORDER], common)) for scan in scans]


def _rows(found: dict[str, Column], rows: NDArray[np.bool_]) -> dict[str, Column]:
    return {name: column[rows] for name, column in found.items()}


def case_level(
    place: Place, table: str, attributes: Sequence[str], vocabulary: Vocabulary
) -> tuple[str, ...]:
    """Those of the attributes that never have two values within a case."""
    with opened(place, NO_CALENDARS) as engine:
        varies = engine.row(variation_query(table, attributes, vocabulary))
    return tuple(name for name, found in zip(attributes, varies, strict=True) if not found)
