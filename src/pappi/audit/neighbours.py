"""Data sets to compare: where the audit looks, and every way in which one case can differ.

A data set is a tuple of rows, one per case; a row holds one value per mechanism
of a joint release, and a single mechanism has rows of one value. Nothing here is the owner's
data. Data sets are small, because the loss of a sound mechanism does not grow with the number of
cases, and that of a broken one shows best where one case is a large part of the whole.

Added cases are taken from a list of rows, usually the corners of the range, where the
worst cases are. A person is added or removed with several cases at once; of the many ways to
choose them, a bounded number is tried, including the most uneven ones.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, count

from pappi.mechanisms import RANGE_STEPS
from pappi.values import Adjacency, Bounds

Row = tuple[float, ...]
Data = tuple[Row, ...]


# If there are more ways to leave cases out than this, only adjacent cases are left out together.
_MOST_CHOICES = 64


def neighbours(
    data: Data, adjacency: Adjacency, rows: Sequence[Row], unit_cases: int = 1
) -> Iterator[Data]:
    """The neighbours of the data set in which a new case is one of `rows`.

    All of them if the unit is one case; otherwise those of a person with one case and of one
    with `unit_cases`, which exist under add-remove only.
    """
    if unit_cases > 1:
        if adjacency is not Adjacency.ADD_REMOVE:
            raise ValueError("a person with several cases is added or removed, never replaced")
        # Remove that many cases, or all if there are fewer; extremes go together.
        size = min(unit_cases, len(data))
        for gone in map(set, _choices(sorted(range(len(data)), key=data.__getitem__), size)):
            if gone:
                yield tuple(row for i, row in enumerate(data) if i not in gone)
        yield from group_additions(data, rows, unit_cases)
    if adjacency is Adjacency.ADD_REMOVE:
        for i in range(len(data)):
            yield data[:i] + data[i + 1 :]
        for row in rows:
            yield (*data, row)
    else:
        yield from replacements(data, rows)


def _choices(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    if math.comb(len(places), size) <= _MOST_CHOICES:
        return combinations(places, size)
    return (places[i : i + size] for i in range(len(places) - size + 1))


def group_additions(data: Data, rows: Sequence[Row], size: int) -> Iterator[Data]:
    """With `size` more cases: all alike, or half like the next row or the one opposite."""
    half = size // 2
    for i, row in enumerate(rows):
        partners = dict.fromkeys((row, rows[(i + 1) % len(rows)], rows[-1 - i]))
        for partner in partners:
            yield (*data, *(row,) * (size - half), *(partner,) * half)


def replacements(data: Data, rows: Sequence[Row]) -> Iterator[Data]:
    """Replacing each case by each row, and by a copy of each other case."""
    incoming = tuple(dict.fromkeys((*rows, *data)))
    for i, old in enumerate(data):
        for row in incoming:
            if row is not old:
                yield (*data[:i], row, *data[i + 1 :])


# --- where the audit looks ---------------------------------------------------------------------

Draw = Callable[[int], int]
"""Gives a whole number from 0 up to but not including its argument: the search's coin."""

_LARGEST_RANDOM_SET = 8
_DUPLICATES = 10
_ORDINARY_CASES = 20


@dataclass(frozen=True, slots=True)
class Column:
    """What one mechanism declares about its values: the bounds, and the target if there is one."""

    bounds: Bounds
    target: float | None = None

    @property
    def threshold(self) -> float:
        """The target, or the middle of the range."""
        return self.at(0.5) if self.target is None else self.target

    @property
    def corners(self) -> Row:
        """The values at which a mechanism may behave differently."""
        low, high, width = self.at(0), self.at(1), float(self.bounds.width)
        step, t = width / RANGE_STEPS, self.threshold
        inside = (low, high, self.at(0.5), t, t - step, t + step, t - 1, t + 1)
        near = (low + step, high - step, low - step, high + step)
        beyond = (low - width, high + width, -1e300, 1e300, -math.inf, math.inf, math.nan)
        return tuple(dict.fromkeys((*inside, *near, 0.0, *beyond)))

    def at(self, share: float) -> float:
        """The value that far up the range."""
        return float(self.bounds.low) + share * float(self.bounds.width)


def corner_rows(columns: Sequence[Column]) -> tuple[Row, ...]:
    """Rows with all columns at the same kind of corner, and at all mixtures of the ends."""
    longest = max(len(column.corners) for column in columns)
    cycles = [itertools.islice(itertools.cycle(c.corners), longest) for c in columns]
    ends = itertools.product(*((column.at(0), column.at(1)) for column in columns))
    return tuple(dict.fromkeys((*zip(*cycles, strict=True), *ends)))


def handmade(columns: Sequence[Column]) -> dict[str, tuple[Data, ...]]:
    """Data sets known to be hard, by kind."""
    rows = corner_rows(columns)
    low, high = (tuple(column.at(end) for column in columns) for end in (0, 1))
    spread = tuple(
        tuple(column.at((i + 0.5) / _ORDINARY_CASES) for column in columns)
        for i in range(_ORDINARY_CASES)
    )
    return {
        "empty": ((),),
        "single": tuple((row,) for row in rows),
        "duplicate": tuple((row,) * _DUPLICATES for row in rows),
        "ordinary": (spread,),
        "adversarial": (
            rows,
            *((*(end,) * 9, row) for end in (low, high) for row in rows),
            *(_blocks(low, high, length) for length in (2, 4)),
        ),
        "threshold-crossing": (
            *(_around_threshold(columns, n) for n in range(2, 7)),
            *(_beside_threshold(columns, end) for end in (0, 1)),
        ),
    }


def _blocks(low: Row, high: Row, length: int) -> Data:
    """Both ends in turn, several times each, to catch what depends on the order of cases."""
    turns = itertools.cycle(((low,) * length, (high,) * length))
    blocks = itertools.islice(turns, _ORDINARY_CASES // length)
    return tuple(itertools.chain.from_iterable(blocks))


def _beside_threshold(columns: Sequence[Column], end: int) -> Data:
    """Values spread over one side of the threshold, where one more case can be beyond it."""
    return tuple(
        tuple(c.at(end) + (c.threshold - c.at(end)) * i / _ORDINARY_CASES for c in columns)
        for i in range(_ORDINARY_CASES)
    )


def _around_threshold(columns: Sequence[Column], n: int) -> Data:
    """Values that are balanced about the threshold, so that one more case tips them."""
    shifts = ((i - (n - 1) / 2) / n for i in range(n))
    return tuple(
        tuple(column.threshold + shift * float(column.bounds.width) for column in columns)
        for shift in shifts
    )


def random_row(columns: Sequence[Column], draw: Draw) -> Row:
    """Each value a corner or anywhere in the range, with equal chances."""
    return tuple(
        column.corners[draw(len(column.corners))]
        if draw(2)
        else column.at(draw(RANGE_STEPS + 1) / RANGE_STEPS)
        for column in columns
    )


def random_data(columns: Sequence[Column], draw: Draw) -> Data:
    return tuple(random_row(columns, draw) for _ in range(draw(_LARGEST_RANDOM_SET + 1)))


def mutation(data: Data, columns: Sequence[Column], draw: Draw) -> Data:
    """The data set with one row dropped, added or changed."""
    i, new = draw(len(data) + 1), random_row(columns, draw)
    before, after = data[:i], data[i:]
    added, changed, dropped = (*before, new, *after), (*before, new, *after[1:]), before + after[1:]
    return (added, changed, dropped)[draw(3)]


def steered_by(seed: int) -> Draw:
    """A draw whose choices follow from the seed, so that a worst pair can be found again.

    Not a source of randomness: the same seed gives the same search on every machine.

    >>> first, second = steered_by(1), steered_by(1)
    >>> [first(10) for _ in range(5)] == [second(10) for _ in range(5)]
    True
    """
    numbers = count()

    def draw(below: int) -> int:
        digest = hashlib.sha256(f"{seed}:{next(numbers)}".encode()).digest()
        return int.from_bytes(digest, "big") % below

    return draw
