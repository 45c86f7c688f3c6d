"""Folding the events of a case into one value: as arrays, for many whole cases at once.

Events come in the order of their positions, those of a case next to each other. So what a case
has of anything is a slice, and found without sorting or hashing: at which places it holds, and
how many of these there are up to the end of each case. That is several times as quick as a
GROUP BY, and means the same: `bases` says it in SQL, and tests hold the two against each other.

Times within a case never fall, and events without one are its last; what is missing is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pappi.ppinot.model import Cycles

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

NONE = -1
"""The place of what a case does not have."""


@dataclass(frozen=True, slots=True)
class Cases:
    """The places of the first and the last event of each case."""

    starts: Places
    ends: Places

    @classmethod
    def of(cls, numbers: NDArray[np.int64]) -> Cases:
        """From a number for every event that is the same within a case, and rises from one on."""
        (starts,) = begins(numbers).nonzero()
        if np.any(numbers[starts[1:]] < numbers[starts[:-1]]):
            raise LookupError("the events of a log came out of order")
        return cls(starts, np.append(starts[1:], numbers.size)[: starts.size] - 1)

    def numbers(self) -> Places:
        """Of every event, the number of its case, from 0."""
        return np.repeat(np.arange(self.starts.size), self.ends - self.starts + 1)


@dataclass(frozen=True)
class Hits:
    """Where something holds, and how many such places there are before and up to each case."""

    holds: Mask
    before: NDArray[np.int32]
    up_to: NDArray[np.int32]

    @classmethod
    def of(cls, holds: Mask, cases: Cases) -> Hits:
        # Narrow, which is several times as quick: no case is as long as that.
        up_to = np.cumsum(holds, dtype=np.int32)[cases.ends]
        before = np.zeros_like(up_to)
        before[1:] = up_to[:-1]
        return cls(holds, before, up_to)

    @cached_property
    def places(self) -> Places:
        return self.holds.nonzero()[0]

    @property
    def counts(self) -> NDArray[np.int32]:
        return np.asarray(self.up_to - self.before)

    @property
    def first(self) -> Places:
        return self._at(self.before)

    @property
    def last(self) -> Places:
        return self._at(self.up_to - 1)

    def first_after(self, start: Places) -> Places:
        """The first behind a place of each case; none where there is no such place."""
        following = np.searchsorted(self.places, start, side="right")
        return self._at(following, (start != NONE) & (following < self.up_to))

    def _at(self, which: NDArray[Any], there: Mask | None = None) -> Places:
        found = np.full(self.up_to.size, NONE, dtype=np.intp)
        (has,) = (self.up_to > self.before if there is None else there).nonzero()
        found[has] = self.places[which[has]]
        return found


def begins(numbers: NDArray[Any]) -> Mask:
    """Where a number differs from the one before it; so does the first."""
    differs = np.ones(numbers.size, dtype=np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=differs[1:])
    return differs


def picked(values: NDArray[Any], places: Places) -> Floats:
    """What stands at places; NaN for none."""
    found = np.full(places.size, np.nan)
    (there,) = (places != NONE).nonzero()
    found[there] = values[places[there]]
    return found


def in_order(start: Places, end: Places) -> Places:
    """The ends that do not lie before their starts; none where either is missing."""
    return np.where((start != NONE) & (end >= start), end, NONE)


# --- cycles ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lasted:
    """How long each cycle lasted, the number of its case, and how many each case has opened."""

    durations: Floats
    cases: Places
    opened: Places

    @classmethod
    def of(cls, starts: Mask, ends: Mask, times: NDArray[Any], cases: Cases) -> Lasted:
        """A start opens a cycle unless one is open; an end closes the one that is.

        Only starts and ends matter, and of each only whether the one before it was a start. An
        event that both ends and starts closes one cycle and opens the next.
        """
        places = np.flatnonzero(starts | ends)
        case, start, end = cases.numbers()[places], starts[places], ends[places]
        running = np.zeros(places.size, dtype=np.bool_)
        running[1:] = start[:-1] & ~begins(case)[1:]
        opens, closes = start & (end | ~running), end & running
        borders = np.flatnonzero(opens | closes)
        # Each border that closes a cycle follows the one that opened it.
        closing = np.flatnonzero(closes[borders])
        closed, opened = places[borders[closing]], places[borders[closing - 1]]
        return cls(
            times[closed].astype(np.float64) - times[opened].astype(np.float64),
            case[borders[closing]],
            np.bincount(case[opens], minlength=cases.starts.size),
        )

    @property
    def closed(self) -> Places:
        return np.bincount(self.cases, minlength=self.opened.size)

    def made_one(self, how: Cycles) -> Floats:
        """One value for each case; NaN for one without cycles."""
        found = np.full(self.opened.size, np.nan)
        has = self.closed > 0
        found[has] = self._of_those(how, has)
        return found

    def _of_those(self, how: Cycles, has: Mask) -> Floats:
        count = self.closed[has]
        starts = np.cumsum(count) - count
        if not starts.size:
            return np.empty(0)
        match how:
            case Cycles.SUM | Cycles.MEAN:
                # As whole microseconds: doubles would round a sum beyond 285 years.
                sums = np.add.reduceat(self.durations.astype(np.int64), starts).astype(np.float64)
                return np.asarray(sums if how is Cycles.SUM else sums / count)
            case Cycles.MIN:
                return np.minimum.reduceat(self.durations, starts)
            case Cycles.MAX:
                return np.maximum.reduceat(self.durations, starts)
            case Cycles.MEDIAN:
                return self._medians(starts, count)

    def _medians(self, starts: Places, count: Places) -> Floats:
        ascending = self.durations[np.lexsort((self.durations, self.cases))]
        low = ascending[starts + (count - 1) // 2]
        return np.asarray(low + (ascending[starts + count // 2] - low) * 0.5)
