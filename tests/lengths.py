"""How long the tests take: short in `make test`, in full in `make long`.

A property, a simulation or a matrix of parameters has the same assertions at both lengths; the
short form has fewer examples, draws or rows. Whatever is left out is marked `long`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

LONG = bool(os.environ.get("PAPPI_LONG"))


def length(short: T, long: T) -> T:
    return long if LONG else short


def thinned(rows: Sequence[Any], kept: Sequence[int]) -> list[Any]:
    """All rows of a matrix; `make test` takes those at the given places.

    >>> [bool(row.marks) for row in thinned("abc", [0, 2])]
    [False, True, False]
    """
    places = {place % len(rows) for place in kept}
    return [_row(row, kept=number in places) for number, row in enumerate(rows)]


def pairwise(*axes: Sequence[Any]) -> list[Any]:
    """All combinations; `make test` takes so many that every two values meet somewhere.

    >>> rows = pairwise("ab", "cd", "ef")
    >>> len(rows), sum(not row.marks for row in rows)
    (8, 4)
    """
    rows = list(product(*(range(len(axis)) for axis in axes)))
    unmet = {pair for row in rows for pair in _pairs(row)}
    kept = set()
    while unmet:
        best = max(rows, key=lambda row: len(unmet & _pairs(row)))
        kept.add(best)
        unmet -= _pairs(best)
    return [
        _row([axis[place] for axis, place in zip(axes, row, strict=True)], kept=row in kept)
        for row in rows
    ]


def _pairs(row: Sequence[int]) -> set[tuple[tuple[int, int], ...]]:
    return set(combinations(enumerate(row), 2))


def _row(row: Any, *, kept: bool) -> Any:  # noqa: ANN401 - a row of parametrize
    values = row if isinstance(row, (tuple, list)) else (row,)
    return pytest.param(*values, marks=() if kept else pytest.mark.long)
