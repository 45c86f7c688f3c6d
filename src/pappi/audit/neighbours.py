"""Neighbouring data sets: every way in which one case, or one person, can differ.

A data set is a tuple of rows, one per case; a row holds one value per mechanism
of a joint release, and a single mechanism has rows of one value. The cases that
come in are taken from a list of rows, usually the corners of the range, where
worst cases live. A person comes and goes with several cases at once; of the many
ways to choose those, a bounded number is tried, the most uneven ones among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from pappi.values.privacy import Adjacency

Row = tuple[float, ...]
Data = tuple[Row, ...]


# Above this many ways to leave cases out, only those are tried that lie next to each other.
_MOST_CHOICES = 64


def neighbours(
    data: Data, adjacency: Adjacency, rows: Sequence[Row], unit_cases: int = 1
) -> Iterator[Data]:
    """The neighbours of the data set in which a new case is one of `rows`.

    All of them where the unit is one case; with more, those of a person with one case and of
    one with as many as `unit_cases`, who exists under add-remove alone.
    """
    if unit_cases > 1:
        if adjacency is not Adjacency.ADD_REMOVE:
            raise ValueError("a person with several cases is added or removed, never replaced")
        yield from group_removals(data, unit_cases)
        yield from group_additions(data, rows, unit_cases)
    if adjacency is Adjacency.ADD_REMOVE:
        yield from removals(data)
        yield from additions(data, rows)
    else:
        yield from replacements(data, rows)


def removals(data: Data) -> Iterator[Data]:
    for i in range(len(data)):
        yield data[:i] + data[i + 1 :]


def additions(data: Data, rows: Sequence[Row]) -> Iterator[Data]:
    for row in rows:
        yield (*data, row)


def group_removals(data: Data, size: int) -> Iterator[Data]:
    """Without so many cases, or without any if there are fewer; extremes go together."""
    size = min(size, len(data))
    for gone in map(set, _choices(sorted(range(len(data)), key=data.__getitem__), size)):
        if gone:
            yield tuple(row for i, row in enumerate(data) if i not in gone)


def _choices(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    if math.comb(len(places), size) <= _MOST_CHOICES:
        return combinations(places, size)
    return (places[i : i + size] for i in range(len(places) - size + 1))


def group_additions(data: Data, rows: Sequence[Row], size: int) -> Iterator[Data]:
    """With so many cases more: all alike, or half like the next row or the one opposite."""
    half = size // 2
    for i, row in enumerate(rows):
        others = dict.fromkeys((row, rows[(i + 1) % len(rows)], rows[-1 - i]))
        for other in others:
            yield (*data, *(row,) * (size - half), *(other,) * half)


def replacements(data: Data, rows: Sequence[Row]) -> Iterator[Data]:
    """Replacing each case by each row, and by a copy of each other case."""
    incoming = tuple(dict.fromkeys((*rows, *data)))
    for i, old in enumerate(data):
        for row in incoming:
            if row is not old:
                yield (*data[:i], row, *data[i + 1 :])
