"""The table of cases that comes back from a log, and the cases of each period of a scope.

In which order it has them is of no meaning: it is decided by ranges, threads and engines, and one
more case can change it for others. So nothing that is chosen here is chosen by place. Where cases
tie, a keyed hash of their ids decides, as it does who counts and who shares a bucket.

Where persons are protected, their contributions are bounded before anything else is asked of the
table (`truncated`). Which of a person's cases stay depends on that person's cases alone, so one
person more or less changes no row but theirs, and theirs are as many as declared.

Usually a case lies in the period of its log's anchor. A scope may have an anchor of its own, and
may take the latest cases only: both are decided after persons' cases were bounded (`cases_in`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from pappi.ppinot import AggregatedMeasure, Grouping, Scope, SingleInstance, anchor_time
from pappi.values import Horizon, Per, Period, PrivacyUnit

Column = NDArray[Any]

# Purposes of the keyed hash: which cases stay says nothing about who shares a bucket.
_TRUNCATION, _BUCKETS, _LATEST = b"truncation", b"buckets", b"latest"
_FEW = 64
_COUNTED = 2**15


@dataclass(frozen=True, slots=True)
class CaseTable:
    """One row per case: NaN is missing, None is missing text.

    Microseconds are whole numbers below 2^53 until the year 2255, so a float64
    holds them exactly.
    """

    anchor_us: NDArray[np.float64]
    columns: Mapping[SingleInstance, Column]
    who: Who | None = None
    _grouped: dict[Grouping, dict[str, CaseTable]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @classmethod
    def joined(cls, tables: Sequence[CaseTable]) -> CaseTable:
        """The cases of tables with the same columns, one after the other."""
        first, *others = tables
        if not others:
            return first
        return cls(
            np.concatenate([table.anchor_us for table in tables]),
            {
                measure: np.concatenate([table.columns[measure] for table in tables])
                for measure in first.columns
            },
            first.who and Who.joined([table.who for table in tables if table.who]),
        )

    def truncated(self, unit: PrivacyUnit, horizon: Horizon, zone: ZoneInfo) -> CaseTable:
        """Contribution bounding: of each person's cases at most as many as the unit says.

        They are chosen block after block, so that no later case changes an earlier choice,
        and within a block by their keyed hash. What lies before the horizon is chosen first,
        what lies after it last: neither is in any answer. Without a person or an anchor a case
        counts nowhere.
        """
        if unit.column is None:
            return self
        if self.who is None or self.who.persons is None:
            raise LookupError("the cases of persons were read without their persons")
        present = np.array([person is not None for person in self.who.persons], dtype=np.bool_)
        rows = np.flatnonzero(present & np.isfinite(self.anchor_us))
        # The same number for the same person. Not by sorting: a text may be of any length.
        numbers: dict[object, int] = {}
        person = np.array(
            [numbers.setdefault(p, len(numbers)) for p in self.who.persons[rows]], dtype=np.int64
        )
        block = _block_numbers(self.anchor_us[rows], horizon, zone)
        order = np.lexsort((self.who.rows(rows).ranks(_TRUNCATION), block, person))
        begins = _differs_from_last(person[order])
        if unit.per is Per.BLOCK:
            begins |= _differs_from_last(block[order])
        index = np.arange(begins.size)
        chosen = order[index - np.maximum.accumulate(np.where(begins, index, 0)) < unit.max_cases]
        return self._rows(rows[np.sort(chosen)])

    def buckets(self, count: int) -> NDArray[np.int64]:
        """A bucket for each case, by its keyed hash: whatever else the log holds."""
        if self.who is None:
            raise LookupError("cases without their ids have no buckets")
        return (self.who.hashes(_BUCKETS) % np.uint64(count)).astype(np.int64)

    def split(self, periods: Sequence[Period], zone: ZoneInfo) -> dict[Period, CaseTable]:
        """The cases of each period, by their anchor; periods are disjoint and in order.

        One stable sort puts the cases of a period next to each other, so that a period
        is a slice, and costs nothing per column.
        """
        borders = np.array([period.borders_us(zone) for period in periods], dtype=np.float64)
        number = _last_at_most(borders[:, 0], self.anchor_us)
        # A case before the first period, in a gap, or without an anchor is in none.
        number[~(self.anchor_us < borders[number, 1])] = -1
        order = np.argsort(number, kind="stable")
        cuts = np.searchsorted(number[order], np.arange(len(periods) + 1))
        gathered = self._rows(order)
        return {
            period: gathered._rows(slice(cuts[index], cuts[index + 1]))  # noqa: SLF001
            for index, period in enumerate(periods)
        }

    def within(self, period: Period, zone: ZoneInfo) -> CaseTable:
        """The cases whose anchors lie in a period."""
        start, end = period.borders_us(zone)
        inside = (self.anchor_us >= start) & (self.anchor_us < end)
        return self if inside.all() else self._rows(np.flatnonzero(inside))

    def anchored(self, anchor: SingleInstance) -> CaseTable:
        """The same cases, each at another instant of its own."""
        return replace(self, anchor_us=self.columns[anchor])

    def where(self, condition: SingleInstance) -> CaseTable:
        """The cases for which a condition is true."""
        return self._rows(np.flatnonzero(self.columns[condition] == 1))

    def latest(self, count: int) -> CaseTable:
        """The last cases by anchor, this many of them; ties are broken by keyed hash.

        One case more pushes out at most one other: the order of the others stays. By their
        place in the log it would not, which is that of whichever event was written first.
        """
        if self.who is None:
            raise LookupError("cases without their ids cannot be told apart where they tie")
        order = np.lexsort((self.who.ranks(_LATEST), self.anchor_us))
        return self._rows(np.sort(order[-count:]))

    def _rows(self, rows: NDArray[np.intp] | slice) -> CaseTable:
        columns = {measure: column[rows] for measure, column in self.columns.items()}
        return CaseTable(self.anchor_us[rows], columns, self.who and self.who.rows(rows))

    def of_group(self, grouping: Grouping | None, key: str | None) -> CaseTable:
        """The cases of one group; all groups are told apart at once, when the first is asked for.

        One pass numbers the cases by their key, and one stable sort puts each group together.
        """
        if grouping is None or key is None:
            return self
        if grouping not in self._grouped:
            self._grouped[grouping] = dict(self._groups(grouping))
        return self._grouped[grouping][key]

    def _groups(self, grouping: Grouping) -> Iterator[tuple[str, CaseTable]]:
        numbers = {key: number for number, key in enumerate(grouping.keys)}
        column = self.columns[grouping.by]
        # Numbers of 16 bits are sorted by counting.
        size = np.int16 if len(numbers) < _COUNTED else np.int64
        number = np.fromiter((numbers.get(key, -1) for key in column), size, column.size)
        order = np.argsort(number, kind="stable")
        cuts = np.searchsorted(number[order], np.arange(len(numbers) + 1))
        gathered = self._rows(order)
        for key, index in numbers.items():
            yield key, gathered._rows(slice(cuts[index], cuts[index + 1]))  # noqa: SLF001

    def contributions(self, measure: AggregatedMeasure) -> NDArray[np.float64]:
        """One value per case; NaN for a case without a finite value, or that a filter leaves out.

        Such cases are passed on, because how many there are may be private. A grouping is not
        looked at: these are the cases of a group (`of_group`), or all of them.
        """
        values: NDArray[np.float64] = self.columns[measure.base]
        counts = np.isfinite(values)
        if measure.filter is not None:
            counts &= self.columns[measure.filter] == 1
        return np.where(counts, values, np.nan)


@dataclass(frozen=True, slots=True)
class Who:
    """Who each case of a table is; None is a case without a person. Part of no release."""

    case_ids: Column
    persons: Column | None
    key: bytes = field(repr=False)

    @classmethod
    def joined(cls, parts: Sequence[Who]) -> Who:
        persons = [part.persons for part in parts if part.persons is not None]
        return cls(
            np.concatenate([part.case_ids for part in parts]),
            np.concatenate(persons) if persons else None,
            parts[0].key,
        )

    def rows(self, rows: NDArray[np.intp] | slice) -> Who:
        persons = None if self.persons is None else self.persons[rows]
        return Who(self.case_ids[rows], persons, self.key)

    def hashes(self, purpose: bytes) -> NDArray[np.uint64]:
        """A number per case that nobody without the key can foresee."""
        digests = b"".join(
            hashlib.blake2b(
                str(case).encode(), key=self.key, person=purpose, digest_size=8
            ).digest()
            for case in self.case_ids
        )
        numbers: NDArray[np.uint64] = np.frombuffer(digests, dtype="<u8")
        return numbers

    def ranks(self, purpose: bytes) -> NDArray[np.intp]:
        """The place of each case in an order that nobody without the key can foresee.

        Which of two cases comes first depends on these two alone.
        """
        hashes = self.hashes(purpose)
        order = np.argsort(hashes, kind="stable")
        if np.any(hashes[order][1:] == hashes[order][:-1]):
            ids = [str(case) for case in self.case_ids]
            order = np.array(sorted(order.tolist(), key=lambda row: (hashes[row], ids[row])))
        ranks = np.empty(order.size, dtype=np.intp)
        ranks[order] = np.arange(order.size)
        return ranks


def _last_at_most(
    starts: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.int16] | NDArray[np.intp]:
    """Which of ascending numbers is the last that a value reaches; -1 if none.

    Few are compared one by one, which is several times as fast as searching; and what is
    sorted by numbers of 16 bits later is sorted by counting.
    """
    if len(starts) > _FEW:
        return np.searchsorted(starts, values, side="right") - 1
    number = np.full(values.size, -1, dtype=np.int16)
    for start in starts:
        number += values >= start
    return number


def _block_numbers(
    anchors: NDArray[np.float64], horizon: Horizon, zone: ZoneInfo
) -> NDArray[np.intp]:
    """Each case's block in the order of time: 0 is before the horizon, the last one after it.

    Only declared days are walked. Were it those of the data, one case of 1801 would slow every
    release, and its time would tell of the case.
    """
    blocks = horizon.blocks.periods(horizon.first, horizon.until)
    borders = sorted({edge for block in blocks for edge in block.borders_us(zone)})
    return np.searchsorted(np.array(borders, dtype=np.float64), anchors, side="right")


def _differs_from_last(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    differs = np.ones(values.size, dtype=np.bool_)
    differs[1:] = values[1:] != values[:-1]
    return differs


# --- periods of a scope --------------------------------------------------------------


def read_by(scopes: Iterable[Scope]) -> tuple[SingleInstance, ...]:
    """The measures that scopes themselves read from cases."""
    return tuple(dict.fromkeys(measure for scope in scopes for measure in _read(scope)))


def _read(scope: Scope) -> Iterator[SingleInstance]:
    if scope.anchor is not None:
        yield anchor_time(scope.anchor)
    if scope.last_cases is not None and scope.cases is not None:
        yield scope.cases


def cases_in(
    cases: CaseTable, scope: Scope, periods: Sequence[Period], horizon: Horizon, zone: ZoneInfo
) -> dict[Period, CaseTable]:
    """The cases of each period; periods are disjoint and in order.

    Only cases of the log's own blocks, whatever periods reach beyond them: a case that lies
    outside is not sealed yet, and would count again in the block it comes to lie in.
    """
    covered = cases.within(horizon.covered, zone)
    if scope.anchor is not None:
        covered = covered.anchored(anchor_time(scope.anchor))
    if scope.last_cases is None:
        return covered.split(periods, zone)
    (period,) = periods
    candidates = covered.within(period, zone)
    if scope.cases is not None:
        candidates = candidates.where(scope.cases)
    return {period: candidates.latest(scope.last_cases)}


def batches_in(
    batches: Iterable[CaseTable],
    wanted: Mapping[Scope, Sequence[Period]],
    horizon: Horizon,
    zone: ZoneInfo,
) -> dict[Scope, dict[Period, CaseTable]]:
    """The cases of each scope and period, from batches in which every case stands for itself.

    So none of these scopes takes the latest cases only. Each batch is taken apart at once: the
    whole table is never in memory beside its parts.
    """
    parts_of: dict[Scope, dict[Period, list[CaseTable]]] = {
        scope: {period: [] for period in periods} for scope, periods in wanted.items()
    }
    for batch in batches:
        for scope, periods in wanted.items():
            for period, cases in cases_in(batch, scope, periods, horizon, zone).items():
                parts_of[scope][period].append(cases)
    return {
        scope: {period: CaseTable.joined(parts) for period, parts in by_period.items()}
        for scope, by_period in parts_of.items()
    }
