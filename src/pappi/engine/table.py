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
from itertools import chain, pairwise
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pappi.ppinot import AggregatedMeasure, Grouping, Scope, SingleInstance, anchor_time
from pappi.values import Horizon, Per, Period, PrivacyUnit

Column = NDArray[Any]
Texts: TypeAlias = Any
"""Arrow's large strings, of many cases: compared, numbered and hashed, hardly ever looked at.

Or a dictionary of those that cases are grouped by; null is then also any other text.
"""
Scan = dict[str, Column | Texts]
"""What was read of every case; texts are of either kind, as they come."""

# Purposes of the keyed hash: which cases stay says nothing about who shares a bucket.
_TRUNCATION, _BUCKETS, _LATEST = b"truncation", b"buckets", b"latest"
_FEW = 64
_COUNTED = 2**15
_BITS = 62


@dataclass(frozen=True, slots=True)
class CaseTable:
    """One row per case: NaN is missing, None is missing text.

    Microseconds are whole numbers below 2^53 until the year 2255, so a float64
    holds them exactly.

    A grouping's column has the number of each case's key, -1 for a case of no declared group.
    """

    anchor_us: NDArray[np.float64]
    columns: Mapping[SingleInstance | Grouping, Column]
    who: Who | None = None
    _grouped: dict[Grouping, Groups] = field(default_factory=dict, repr=False, compare=False)

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
        """Contribution bounding: of each person's cases at most as many as the unit says."""
        (bounded,) = truncated_batches([self], unit, horizon, zone)
        return bounded

    def _staying(
        self, unit: PrivacyUnit, horizon: Horizon, zone: ZoneInfo
    ) -> NDArray[np.bool_] | None:
        """Which cases stay, where persons are protected.

        They are chosen block after block, so that no later case changes an earlier choice,
        and within a block by their keyed hash. What lies before the horizon is chosen first,
        what lies after it last: neither is in any answer. Without a person or an anchor a case
        counts nowhere.
        """
        if unit.column is None:
            return None
        if self.who is None:
            raise LookupError("the cases of persons were read without their persons")
        person = self.who.person_numbers()
        stays = (person >= 0) & np.isfinite(self.anchor_us)
        rows = np.flatnonzero(stays)
        block = _block_numbers(self.anchor_us[rows], horizon, zone)
        blocks = int(block.max(initial=0)) + 1
        rows, numbers = _in_order_of(person[rows] * blocks + block, rows)
        bounded = numbers // blocks if unit.per is Per.LOG else numbers
        most = unit.max_cases
        kept = np.ones(rows.size, dtype=np.bool_)
        kept[most:] = bounded[most:] != bounded[:-most]
        stays[rows] = kept
        # Only where some of a person's cases in a block stay, and others do not, it matters which.
        cut = np.flatnonzero(kept[:-1] > kept[1:]) + 1
        cut = cut[numbers[cut - 1] == numbers[cut]]
        begin, end = (np.searchsorted(numbers, numbers[cut], side) for side in ("left", "right"))
        torn = np.repeat(begin - _before(end - begin), end - begin)
        torn += np.arange(torn.size)
        ranks = self.who.rows(rows[torn]).ranks(_TRUNCATION)
        chosen = rows[torn[np.lexsort((ranks, numbers[torn]))]]
        stays[chosen] = torn < np.repeat(cut, end - begin)
        return stays

    def buckets(self, count: int) -> NDArray[np.int64]:
        """A bucket for each case, by its keyed hash: whatever else the log holds."""
        if self.who is None:
            raise LookupError("cases without their ids have no buckets")
        return (self.who.hashes(_BUCKETS) % np.uint64(count)).astype(np.int64)

    def split(self, periods: Sequence[Period], zone: ZoneInfo) -> dict[Period, CaseTable]:
        """The cases of each period, by their anchor; periods are disjoint and in order."""
        return _gathered([(self, *self._rows_of(periods, zone))], periods)

    def _rows_of(
        self, periods: Sequence[Period], zone: ZoneInfo
    ) -> tuple[NDArray[np.intp], list[int]]:
        """The rows of each period, those of a period next to each other, and where it begins.

        One stable sort finds them all. What lies in no period stands before the first.
        """
        borders = np.array([period.borders_us(zone) for period in periods], dtype=np.float64)
        number = _last_at_most(borders[:, 0], self.anchor_us)
        # A case before the first period, in a gap, or without an anchor is in none.
        number[~(self.anchor_us < borders[number, 1])] = -1
        order = np.argsort(number, kind="stable")
        cuts = np.searchsorted(number[order], np.arange(len(periods) + 1))
        return order, cuts.tolist()

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

    def grouped(self, grouping: Grouping | None) -> Groups:
        """The cases of all groups, told apart at once; without a grouping, all cases as one."""
        if grouping is None:
            return Groups((None,), self, np.array([0, self.anchor_us.size]))
        if grouping not in self._grouped:
            self._grouped[grouping] = self._told_apart(grouping)
        return self._grouped[grouping]

    def _told_apart(self, grouping: Grouping) -> Groups:
        """One stable sort puts the cases of a group next to each other."""
        number = self.columns[grouping]
        order = np.argsort(number, kind="stable")
        cuts = np.searchsorted(number[order], np.arange(len(grouping.keys) + 1))
        return Groups(grouping.keys, self._rows(order), cuts)

    def contributions(self, measure: AggregatedMeasure) -> NDArray[np.float64]:
        """One value per case; NaN for a case without a finite value, or that a filter leaves out.

        Such cases are passed on, because how many there are may be private. A grouping is not
        looked at: these are the cases of a group (`grouped`), or all of them.
        """
        values: NDArray[np.float64] = self.columns[measure.base]
        counts = np.isfinite(values)
        if measure.filter is not None:
            counts &= self.columns[measure.filter] == 1
        return np.where(counts, values, np.nan)


@dataclass(frozen=True, slots=True)
class Groups:
    """The cases of a table, those of a group next to each other: from one cut to the next.

    Cases of no group stand before the first.
    """

    keys: tuple[str | None, ...]
    cases: CaseTable
    cuts: NDArray[np.intp]

    def __iter__(self) -> Iterator[CaseTable]:
        """The cases of each group, in the order of the keys."""
        for start, end in pairwise(self.cuts.tolist()):
            yield self.cases._rows(slice(start, end))  # noqa: SLF001


def key_numbers(texts: Texts, keys: Sequence[str]) -> NDArray[np.int16] | NDArray[np.int64]:
    """For every text, which of the keys it is; -1 for none of them."""
    # Numbers of 16 bits are sorted by counting.
    size = pa.int16() if len(keys) < _COUNTED else pa.int64()
    coded = pa.types.is_dictionary(texts.type)
    distinct = texts.dictionary if coded else texts
    found = pc.fill_null(pc.index_in(distinct, pa.array(keys, pa.large_string())), -1).cast(size)
    if coded:
        found = pc.fill_null(found.take(texts.indices), -1)
    return np.asarray(found.to_numpy())


def _in_order_of(
    numbers: NDArray[np.int64], rows: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Rows and their numbers in the order of the numbers."""
    bits = int(rows.max(initial=0)).bit_length()
    if int(numbers.max(initial=0)).bit_length() + bits > _BITS:
        order = np.argsort(numbers)
        return rows[order], numbers[order]
    # Both in one number, which is sorted several times as fast as an order is found.
    together = numbers << bits
    together |= rows
    together.sort()
    return together & ((1 << bits) - 1), together >> bits


@dataclass(frozen=True, slots=True)
class Who:
    """Who each case of a table is; null is a case without a person. Part of no release."""

    every_case_id: Texts
    every_person: Texts | None
    """A text, or a number, that is the same for the same person and only then."""
    key: bytes = field(repr=False)
    picked: NDArray[np.intp] | None = None
    """Which of them: what nothing asks for is not copied with every part of a table."""

    @classmethod
    def joined(cls, parts: Sequence[Who]) -> Who:
        first = parts[0]
        if all(part.every_case_id is first.every_case_id for part in parts):
            return replace(first, picked=np.concatenate([part._numbers for part in parts]))  # noqa: SLF001
        persons = [part.persons for part in parts if part.persons is not None]
        case_ids = in_one([part.case_ids for part in parts])
        return cls(case_ids, in_one(persons) if persons else None, first.key)

    def rows(self, rows: NDArray[np.intp] | slice) -> Who:
        if self.picked is None and not isinstance(rows, slice):
            return replace(self, picked=rows)
        return replace(self, picked=self._numbers[rows])

    @property
    def _numbers(self) -> NDArray[np.intp]:
        return np.arange(len(self.every_case_id)) if self.picked is None else self.picked

    @property
    def case_ids(self) -> Texts:
        return self._picked_of(self.every_case_id)

    @property
    def persons(self) -> Texts | None:
        return None if self.every_person is None else self._picked_of(self.every_person)

    def _picked_of(self, texts: Texts) -> Texts:
        return texts if self.picked is None else texts.take(pa.array(self.picked))

    def person_numbers(self) -> NDArray[np.int64]:
        """The same number for the same person, and only then; -1 for none."""
        if self.every_person is None:
            raise LookupError("the cases of persons were read without their persons")
        persons = in_one([self._picked_of(self.every_person)])
        if pa.types.is_integer(persons.type):
            return np.asarray(pc.fill_null(persons, -1).to_numpy())
        coded = persons.dictionary_encode()
        numbers = [pc.fill_null(chunk.indices, -1).to_numpy() for chunk in coded.chunks]
        return np.concatenate([*numbers, np.empty(0, dtype=np.int64)])

    def hashes(self, purpose: bytes) -> NDArray[np.uint64]:
        """A number per case that nobody without the key can foresee."""
        keyed, digests = hashlib.blake2b(key=self.key, person=purpose, digest_size=8), []
        for case in self.case_ids.cast(pa.large_binary()).to_pylist():
            own = keyed.copy()  # half the time of a new one
            own.update(case)
            digests.append(own.digest())
        numbers: NDArray[np.uint64] = np.frombuffer(b"".join(digests), dtype="<u8")
        return numbers

    def ranks(self, purpose: bytes) -> NDArray[np.intp]:
        """The place of each case in an order that nobody without the key can foresee.

        Which of two cases comes first depends on these two alone.
        """
        hashes = self.hashes(purpose)
        order = np.argsort(hashes, kind="stable")
        if np.any(hashes[order][1:] == hashes[order][:-1]):
            ids = self.case_ids.to_pylist()
            order = np.array(sorted(order.tolist(), key=lambda row: (hashes[row], ids[row])))
        ranks = np.empty(order.size, dtype=np.intp)
        ranks[order] = np.arange(order.size)
        return ranks


def in_one(texts: Sequence[Texts]) -> Texts:
    """Texts one after the other; none of them is copied."""
    chunks = (each.chunks if isinstance(each, pa.ChunkedArray) else [each] for each in texts)
    return pa.chunked_array(chain.from_iterable(chunks), texts[0].type)


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
) -> NDArray[np.int16] | NDArray[np.intp]:
    """Each case's block in the order of time: 0 is before the horizon, the last one after it.

    Only declared days are walked. Were it those of the data, one case of 1801 would slow every
    release, and its time would tell of the case.
    """
    blocks = horizon.blocks.periods(horizon.first, horizon.until)
    borders = sorted({edge for block in blocks for edge in block.borders_us(zone)})
    return _last_at_most(np.array(borders, dtype=np.float64), anchors) + 1


def _before(lengths: NDArray[np.intp]) -> NDArray[np.intp]:
    """How much there is before each."""
    return np.cumsum(lengths) - lengths


def truncated_batches(
    tables: Sequence[CaseTable], unit: PrivacyUnit, horizon: Horizon, zone: ZoneInfo
) -> list[CaseTable]:
    """The cases of each table that stay: whose they are is looked at in all of them together."""
    who = [table.who for table in tables if table.who]
    anchors = np.concatenate([table.anchor_us for table in tables])
    together = CaseTable(anchors, {}, Who.joined(who) if who else None)
    stay = together._staying(unit, horizon, zone)  # noqa: SLF001
    if stay is None:
        return list(tables)
    cuts = np.cumsum([0, *(table.anchor_us.size for table in tables)]).tolist()
    bounded = []
    for table, (start, end) in zip(tables, pairwise(cuts), strict=True):
        rows = np.flatnonzero(stay[start:end])
        # Who they are stays in one place: nothing of it is copied.
        whose = together.who and together.who.rows(rows + start)
        bounded.append(replace(replace(table, who=None)._rows(rows), who=whose))  # noqa: SLF001
    return bounded


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
    tables: Sequence[CaseTable],
    scope: Scope,
    periods: Sequence[Period],
    horizon: Horizon,
    zone: ZoneInfo,
) -> dict[Period, CaseTable]:
    """The cases of each period, from one table or several; periods are disjoint and in order.

    Only cases of the log's own blocks, whatever periods reach beyond them: a case that lies
    outside is not sealed yet, and would count again in the block it comes to lie in.
    """
    covered = [table.within(horizon.covered, zone) for table in tables]
    if scope.anchor is not None:
        covered = [table.anchored(anchor_time(scope.anchor)) for table in covered]
    if scope.last_cases is None:
        return _gathered([(table, *table._rows_of(periods, zone)) for table in covered], periods)  # noqa: SLF001
    (period,) = periods
    candidates = CaseTable.joined(covered).within(period, zone)
    if scope.cases is not None:
        candidates = candidates.where(scope.cases)
    return {period: candidates.latest(scope.last_cases)}


def _gathered(
    tables: Sequence[tuple[CaseTable, NDArray[np.intp], list[int]]], periods: Sequence[Period]
) -> dict[Period, CaseTable]:
    """The cases of each period, from tables with the rows of each and where these begin."""
    rows_of = [[rows[start:end] for start, end in pairwise(cuts)] for _, rows, cuts in tables]
    anchors = _taken([table.anchor_us for table, *_ in tables], rows_of)
    columns = {
        measure: _taken([table.columns[measure] for table, *_ in tables], rows_of)
        for measure in tables[0][0].columns
    }
    found = {}
    for number, period in enumerate(periods):
        who = [
            table.who.rows(rows[number])
            for (table, *_), rows in zip(tables, rows_of, strict=True)
            if table.who
        ]
        found[period] = CaseTable(
            anchors[number],
            {measure: column[number] for measure, column in columns.items()},
            Who.joined(who) if who else None,
        )
    return found


def _taken(
    columns: Sequence[Column], rows_of: Sequence[Sequence[NDArray[np.intp]]]
) -> list[Column]:
    """The rows of each period, those of one column after those of another, written once.

    Column by column, each of which is in the caches then.
    """
    sizes = np.sum([[rows.size for rows in each] for each in rows_of], axis=0)
    taken = [np.empty(size, dtype=np.result_type(*columns)) for size in sizes]
    ends = [0] * len(taken)
    for column, rows in zip(columns, rows_of, strict=True):
        for number, some in enumerate(rows):
            start, ends[number] = ends[number], ends[number] + some.size
            # No row is out of bounds.
            column.take(some, out=taken[number][start : ends[number]], mode="clip")
    return taken
