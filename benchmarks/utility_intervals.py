"""How often the stated 95 % intervals hold the answer.

Drawn, not computed: what is counted is the interval that a release would show. The noise
comes from a seeded generator, which no release may use.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from benchmarks.utility_errors import mechanism_of
from benchmarks.utility_values import Cell, Floats

CONFIDENCE = 0.95
LEAST, MOST = 0.93, 0.98
_ALMOST = 0.99


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one cell: how often the interval held the answer, and how often it was the whole range."""

    cell: Cell
    held: float
    whole: float


def coverage(function: str, cell: Cell, data: list[tuple[Floats, float]], runs: int) -> Coverage:
    """Over `runs` releases, divided among the data sets with their answers."""
    mechanism, generator = mechanism_of(function, cell), random.Random(cell.n)  # noqa: S311 - a simulation
    intervals = [
        (truth, *mechanism.interval(law.draw(generator.randrange), CONFIDENCE))
        for law, truth in [(mechanism.law(values), truth) for values, truth in data]
        for _ in range(runs // len(data))
    ]
    held = [low <= truth <= high for truth, low, high in intervals]
    whole = [high - low >= _ALMOST * cell.high for _, low, high in intervals]
    return Coverage(cell, float(np.mean(held)), float(np.mean(whole)))
