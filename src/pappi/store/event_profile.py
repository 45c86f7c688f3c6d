"""Counting what a log's profile tells (`eventlog/profile.py`), in one version of its events.

Reads every row, for the owner alone. Events come in the order of their positions, those of a case
next to each other, so that most of it is found in one pass over whole cases, without grouping
(`_Passed`). Attributes are looked at some at a time; of texts only a few values, and only to tell
what they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
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
_PER_CENT = (0, 5, 25, 50, 75, 95, 99, 100)
_EVENTS_PER_BATCH = 2**16
_MEASURED = (Kind.NUMBER, Kind.DURATION, Kind.TIME)
_AT_A_TIME = 40
_LOOKED_AT = 1_000
_FEW_VALUES = 12
_MOST_ACTIVITIES = 1_000
_PERSONS = 5

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


def profile_events(events: Path, stored: str, log: PublicLog) -> Profile:
    """What a version of a log holds, by the terms that are, or would be, declared."""
    with closing(open_readonly(events, stored)) as connection:
        try:
            return _Counting(connection, table(stored).sql("duckdb"), log).profile()
        except (duckdb.Error, pa.ArrowException) as error:
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
        passed = self._passed()
        starts, ends, sizes = map(_joined, (passed.starts, passed.ends, passed.sizes))
        timed = ~np.isnan(starts)
        events, timeless, nameless = self._row(
            f"SELECT count(*), count(*) - count({TIME}), count(*) - count({ACTIVITY}) "  # noqa: S608
            f"FROM {self._stored}"
        )
        zone = self._log.terms.zone
        activities = tuple(passed.activities())
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
            tied=passed.tied,
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

    def _passed(self) -> _Passed:
        """Events are stored in order; if they should be given in another, their positions show it,
        and they are put in order.
        """
        for order in ("", f" ORDER BY {POSITION}"):
            passed = _Passed()
            query = (
                f"SELECT {POSITION}, {FIRST_POSITION}, {TIME}, {ACTIVITY} "  # noqa: S608
                f"FROM {self._stored}{order}"
            )
            with self._read(query) as batches:
                passed.add_all(batches)
            if passed.in_order:
                break
        return passed

    def _read(self, query: str) -> pa.RecordBatchReader:
        # Without a name it would draw one from the system's randomness, of which keys are made.
        return self._connection.sql(query, alias="read").to_arrow_reader(_EVENTS_PER_BATCH)

    def _row(self, query: str) -> tuple[Any, ...]:
        return tuple(self._connection.execute(query).fetchone() or ())

    def _numbers(self, query: str, *values: str) -> list[Floats]:
        """The columns of a query, as numbers; nan where there is none."""
        columns = self._connection.execute(query, list(values)).fetchnumpy().values()
        return [np.ma.filled(np.ma.asarray(of, dtype=np.float64), np.nan) for of in columns]

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

    def _waits(self, milestones: Sequence[str]) -> Iterator[Wait]:
        if len(milestones) < 2:
            return
        first = f"min({TIME}) FILTER ({ACTIVITY} = ?)"
        reached = self._numbers(
            f"SELECT {', '.join(f'{first} AS m{n}' for n in range(len(milestones)))} "  # noqa: S608
            f"FROM {self._stored} GROUP BY {FIRST_POSITION}",
            *milestones,
        )
        of_both = zip(pairwise(milestones), pairwise(reached), strict=True)
        for (start, end), (begun, ended) in of_both:
            waited = (ended - begun)[ended >= begun]
            spread = _spread_of(waited)
            if spread is not None:
                yield Wait(start, end, len(waited), spread)

    def _attributes(self) -> Iterator[AttributeUse]:
        every = list(self._log.vocabulary.attributes.items())
        for start in range(0, len(every), _AT_A_TIME):
            yield from self._some(every[start : start + _AT_A_TIME])

    def _some(self, some: Sequence[tuple[str, Kind]]) -> Iterator[AttributeUse]:
        names = [column(name).sql("duckdb") for name, _ in some]
        counts = (f"count({of}), approx_count_distinct({of})" for of in names)
        events, *counted = self._row(f"SELECT count(*), {', '.join(counts)} FROM {self._stored}")  # noqa: S608
        compared = (
            # Of texts their hashes, which are compared in half the time.
            f"CASE WHEN {of} IS NOT NULL THEN hash({of}) END" if kind is Kind.TEXT else of
            for of, (_, kind) in zip(names, some, strict=True)
        )
        by_case = ", ".join(
            f"min({of}) AS l{n}, max({of}) AS h{n}" for n, of in enumerate(compared)
        )
        of_cases = ", ".join(
            f"count(l{n}), count(*) FILTER (l{n} <> h{n})" for n in range(len(names))
        )
        cases = self._row(
            f"SELECT {of_cases} FROM (SELECT {by_case} FROM {self._stored} "  # noqa: S608
            f"GROUP BY {FIRST_POSITION})"
        )
        seen = self._seen(names)
        for n, (name, kind) in enumerate(some):
            present, distinct = counted[2 * n : 2 * n + 2]
            yield AttributeUse(
                name,
                kind,
                missing=events - present,
                cases=cases[2 * n],
                distinct=distinct,
                spread=self._spread(names[n], present) if kind in _MEASURED else None,
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

    def _spread(self, name: str, present: int) -> Spread | None:
        """Of the finite numbers of a column, which has so many values at most."""
        query = f"SELECT {name} AS x FROM {self._stored} WHERE isfinite({name}::DOUBLE)"  # noqa: S608
        with self._read(query) as batches:
            values = np.empty(present, batches.schema.field("x").type.to_pandas_dtype())
            count = 0
            for batch in batches:
                values[count : count + batch.num_rows] = batch.column("x").to_numpy()
                count += batch.num_rows
        if not count:
            return None
        values = values[:count]
        values.sort()
        return Spread(*(float(values[max(0, -(-at * count // 100) - 1)]) for at in _PER_CENT))

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


# --- one pass over the events ------------------------------------------------------------


@dataclass(slots=True)
class _Passed:
    """What was found of the cases and of the activities, whole cases at a time.

    Times within a case never fall, and events without one are its last; nan is no time.
    """

    starts: list[Floats] = field(default_factory=list)
    ends: list[Floats] = field(default_factory=list)
    sizes: list[Floats] = field(default_factory=list)
    tied: int = 0
    in_order: bool = True
    _last: int = -1
    _events: Counter[str] = field(default_factory=Counter)
    _cases: Counter[str] = field(default_factory=Counter)
    _repeated: Counter[str] = field(default_factory=Counter)
    _first: Counter[str] = field(default_factory=Counter)
    _final: Counter[str] = field(default_factory=Counter)
    _since: defaultdict[str, list[Floats]] = field(default_factory=lambda: defaultdict(list))

    def add_all(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Takes them until one is out of order."""
        begun: list[pa.RecordBatch] = []  # of a case that may go on
        for batch in (batch for batch in batches if batch.num_rows):
            positions = np.asarray(batch.column(POSITION))
            self.in_order = positions[0] > self._last and bool(np.all(np.diff(positions) > 0))
            if not self.in_order:
                return
            self._last = positions[-1]
            numbers = np.asarray(batch.column(FIRST_POSITION))
            last = int(np.searchsorted(numbers, numbers[-1]))
            if last or (begun and begun[0].column(FIRST_POSITION)[0].as_py() != numbers[0]):
                self._add(pa.concat_batches([*begun, batch.slice(0, last)]))
                begun = []
            begun.append(batch.slice(last))
        if begun:
            self._add(pa.concat_batches(begun))

    def _add(self, events: pa.RecordBatch) -> None:
        numbers = np.asarray(events.column(FIRST_POSITION))
        times = events.column(TIME).to_numpy(zero_copy_only=False).astype(np.float64)
        begins = np.append(np.ones(1, np.bool_), numbers[1:] != numbers[:-1])
        starts = np.flatnonzero(begins)
        sizes = np.diff(starts, append=numbers.size)
        timed = np.add.reduceat(~np.isnan(times), starts, dtype=np.intp)
        self.starts.append(times[starts])
        self.ends.append(times[starts + np.maximum(timed, 1) - 1])
        self.sizes.append(sizes.astype(np.float64))
        tied = np.zeros(numbers.size + 1, np.bool_)
        tied[1:-1] = ~begins[1:] & (times[1:] == times[:-1])
        self.tied += int(np.count_nonzero(tied[1:] | tied[:-1]))
        self._add_activities(events, times, starts, sizes)

    def _add_activities(
        self, events: pa.RecordBatch, times: Floats, starts: Places, sizes: Places
    ) -> None:
        """Each activity of a case is a run of what is sorted by case, activity and place."""
        texts = events.column(ACTIVITY).dictionary_encode()
        names = texts.dictionary.to_pylist()
        if not names:
            return
        codes = texts.indices.fill_null(-1).to_numpy().astype(np.int64)
        case = np.repeat(np.arange(starts.size), sizes)
        named = np.flatnonzero(codes >= 0)
        bits = int(codes.size).bit_length()
        keys = (case * len(names) + codes) << bits | np.arange(codes.size)
        keys = np.sort(keys[named] if named.size < codes.size else keys)
        pairs, places = keys >> bits, keys & ((1 << bits) - 1)
        runs = np.flatnonzero(np.append(True, pairs[1:] != pairs[:-1]))
        firsts = places[runs]
        of_run = codes[firsts]
        several = np.diff(runs, append=pairs.size) > 1
        _count(self._events, names, codes)
        _count(self._cases, names, of_run)
        _count(self._repeated, names, of_run[several])
        _count(self._first, names, codes[starts])
        _count(self._final, names, codes[starts + sizes - 1])
        since = times[firsts] - times[starts[case[firsts]]]
        order = np.argsort(
            of_run.astype(np.int16 if len(names) < 2**15 else np.int64), kind="stable"
        )
        cuts = np.searchsorted(of_run[order], np.arange(len(names) + 1))
        for name, (start, end) in zip(names, pairwise(cuts.tolist()), strict=True):
            some = since[order[start:end]]
            self._since[name].append(some[~np.isnan(some)])

    def activities(self) -> Iterator[ActivityUse]:
        """Each with how often, in how many cases, and how long after the case began."""
        common = sorted(self._cases, key=lambda name: (-self._cases[name], name))
        for name in common[:_MOST_ACTIVITIES]:
            since = _joined(self._since.pop(name))
            yield ActivityUse(
                name,
                self._events[name],
                self._cases[name],
                self._repeated[name],
                self._first[name],
                self._final[name],
                float(np.median(since)) if since.size else None,
            )


def _count(counter: Counter[str], names: Sequence[str], codes: NDArray[np.int64]) -> None:
    """Adds how often each name occurs; a code below 0 is none."""
    counts = np.bincount(codes + 1, minlength=len(names) + 1)[1:]
    for name, count in zip(names, counts.tolist(), strict=True):
        counter[name] += count


def _joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.empty(0)


def _is_short(kind: Kind, distinct: int, name: str) -> bool:
    """Whether the values can be listed: few, and nobody's name."""
    return kind is Kind.TEXT and distinct <= _FEW_VALUES and not looks_personal(name)


def _spread_of(values: Floats) -> Spread | None:
    """Of values as they are: at a share, the one that so many do not exceed."""
    if not len(values):
        return None
    return Spread(*map(float, np.quantile(values, _AT, method="inverted_cdf")))
