"""Neighbouring data sets: every way in which one case can differ.

A data set is a tuple of rows, one per case; a row holds one value per mechanism
of a joint release, and a single mechanism has rows of one value. The cases that
come in are taken from a list of rows, usually the corners of the range, where
worst cases live.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pappi.values.privacy import Adjacency

Row = tuple[float, ...]
Data = tuple[Row, ...]


def neighbours(data: Data, adjacency: Adjacency, rows: Sequence[Row]) -> Iterator[Data]:
    """All neighbours of the data set in which a new case is one of `rows`."""
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


def replacements(data: Data, rows: Sequence[Row]) -> Iterator[Data]:
    """Replacing each case by each row, and by a copy of each other case."""
    incoming = tuple(dict.fromkeys((*rows, *data)))
    for i, old in enumerate(data):
        for row in incoming:
            if row is not old:
                yield (*data[:i], row, *data[i + 1 :])
