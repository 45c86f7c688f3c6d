"""How often "does the mean meet its target?" is answered right.

Ours is the sign of a noisy margin (ε-DP). The paper's is the side of the target on which
its threshold mechanism draws a value, with ξ = 3: not private, its loss grows with the
number of cases (26 ε at n = 100), so it is a bar and not a rival.

Targets lie some share of the range above and below the mean, in pairs. The paper's
mechanism falls back on a uniform value, which is right if the right side is the wider one
and wrong if not: only the mean over both directions says what has been learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.utility_papers import aimed, around
from benchmarks.utility_values import Cell, Floats, all_cells
from pappi.mechanisms import Limit, NoisyMargin, Task
from pappi.mechanisms.laws import laplace_at_least
from pappi.values import Adjacency, Bounds

FALLOFF = 3
DECIDABLE = 20
"""The n·ε from which ours must not lose."""

OFFSETS = (0.025, 0.05, 0.1)
"""How far the target is from the mean, as a share of the range."""


@dataclass(frozen=True, slots=True)
class Decision:
    """How often each is right."""

    cell: Cell
    offset: float
    ours: float
    papers: float

    @property
    def lead(self) -> float:
        return self.ours - self.papers

    @property
    def counts(self) -> bool:
        return self.cell.n * self.cell.epsilon >= DECIDABLE


def decisions(sets: int) -> Iterator[Decision]:
    for cell in all_cells():
        values = list(cell.values(sets))
        for offset in OFFSETS:
            chances = list(_chances(cell, values, offset * cell.high))
            if chances:
                yield Decision(cell, offset, *np.mean(chances, axis=0).tolist())


def _chances(cell: Cell, values: list[Floats], away: float) -> Iterator[tuple[float, float]]:
    epsilon = float(cell.epsilon)
    for each in values:
        mean = float(each.mean())
        targets = mean - away, mean + away
        if targets[0] > 0 and targets[1] < cell.high:
            for target in targets:
                yield (
                    ours_right(each, cell.bounds, cell.epsilon, target),
                    papers_right(each, cell.high, epsilon, target),
                )


def ours_right(values: Floats, bounds: Bounds, epsilon: Fraction, target: float) -> float:
    """P(the noisy margin has the sign of the margin)."""
    add_remove = Adjacency.ADD_REMOVE
    limit = Limit(Fraction(target), at_most=True)
    task = Task("mean", bounds, epsilon, add_remove, integral=False, limit=limit)
    mechanism = NoisyMargin.made_for(task)
    (margin,) = mechanism.statistics(values)
    met = laplace_at_least(-float(margin), mechanism.scale)
    return met if values.mean() <= target else 1 - met


def papers_right(values: Floats, high: float, epsilon: float, target: float) -> float:
    """P(the value drawn lies on the right side), at the rate that the paper states."""
    mean = float(values.mean())
    intervals = aimed(around(mean, high / len(values), 0.0, high), mean, target, FALLOFF)
    right = ((intervals.low + intervals.high) / 2 <= target) == (mean <= target)
    return float(intervals.chances(epsilon / 2 / FALLOFF)[right].sum())
