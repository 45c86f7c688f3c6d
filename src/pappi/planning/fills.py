"""How the values of cases are imagined to lie in their bounds, where nothing is known of them.

For predicted errors only, from public facts alone. The measures of a formula are imagined
alike, and each unlike the next: which option is best may depend on where values lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms.grid import IMAGINED_CEILING
from pappi.mechanisms.hexagon import HexagonRatio
from pappi.mechanisms.ratio import TwoBinRatio
from pappi.planning.parts import Part
from pappi.ppinot.model import AggregatedMeasure, Aggregation, Bounding, Ppi
from pappi.tree.above import value_above
from pappi.tree.composition import aggregated_measures
from pappi.values.bounds import UNIT_INTERVAL, Bounds

Floats = NDArray[np.float64]

PLACES = np.linspace(0, 1, 513)


@dataclass(frozen=True, slots=True, eq=False)
class Fill:
    """How values lie in their bounds: which share of them is below each of the `PLACES`."""

    below: Floats
    mean: float

    def quantile(self, share: float) -> float:
        return float(np.interp(share, self.below, PLACES))


EVENLY = Fill(PLACES, 1 / 2)
MIDDLE = Fill(PLACES**3 * (10 - 15 * PLACES + 6 * PLACES**2), 1 / 2)
LOW = Fill(1 - (1 - PLACES) ** 5, 1 / 6)
FILLS = (EVENLY, MIDDLE, LOW)


@dataclass(frozen=True, slots=True, eq=False)
class Imagined:
    """What a function that carries noise is about; `sums` are those of a ratio."""

    cases: int
    value: float
    sums: tuple[float, ...]
    fill: Fill


@dataclass(frozen=True, slots=True)
class Scene:
    """All functions of a plan, and the value that they give without noise."""

    functions: tuple[Imagined, ...]
    value: float


def is_imaginable(part: Part) -> bool:
    return len(part.inputs) == 1 or isinstance(part.mechanism, TwoBinRatio | HexagonRatio)


def scenes_of(ppi: Ppi, parts: Sequence[Part], cases: int) -> list[Scene]:
    """All measures filled alike; and where there are several, each unlike the next."""
    measures = [measure for _, measure in aggregated_measures(ppi.measure)]
    ranks = [[measures.index(measure) for measure in part.inputs] for part in parts]
    imagine = lru_cache(maxsize=None)(lambda i, fills: _imagined(parts[i], max(cases, 1), fills))
    scenes = []
    for turn, first in product(range(min(len(measures), 2)), range(len(FILLS))):
        filled = [FILLS[(first + turn * rank) % len(FILLS)] for rank in range(len(measures))]
        functions = tuple(
            imagine(i, tuple(filled[rank] for rank in ranks[i])) for i in range(len(parts))
        )
        values = {part.path: each.value for part, each in zip(parts, functions, strict=True)}
        value = value_above(ppi.measure, values)
        shown = as_shown(ppi.value_range, np.array([value], np.float64))
        scenes.append(Scene(functions, float(shown[0])))
    return scenes


def _imagined(part: Part, cases: int, fills: Sequence[Fill]) -> Imagined:
    pairs = zip(part.inputs, fills, strict=True)
    found = tuple(function_at(measure, cases, fill) for measure, fill in pairs)
    match part.mechanism:
        case TwoBinRatio() as mechanism:
            value = float(mechanism.factor) / 2  # a part is imagined as half of its whole
        case HexagonRatio() as mechanism:
            value = float(mechanism.factor) * found[0] / found[1]
        case _:
            value = found[0]
    return Imagined(cases, value, found, fills[0])


def function_at(measure: AggregatedMeasure, cases: int, fill: Fill) -> float:
    """Of values that fill their bounds; loose ones only in part."""
    bounds = measure.bounds or UNIT_INTERVAL
    reach = float(IMAGINED_CEILING) if measure.bounding is Bounding.LOOSE else 1.0
    value = float(bounds.low) + float(bounds.width) * reach * _place(measure, cases, fill)
    return cases * value if measure.function is Aggregation.SUM else value


def _place(measure: AggregatedMeasure, cases: int, fill: Fill) -> float:
    match measure.function:
        case Aggregation.MIN:
            return fill.quantile(1 / (cases + 1))
        case Aggregation.MAX:
            return fill.quantile(cases / (cases + 1))
        case Aggregation.MEDIAN | Aggregation.PERCENTILE:
            return fill.quantile((measure.percent or 50) / 100)
        case _:
            return fill.mean


def as_shown(value_range: Bounds | None, values: Floats) -> Floats:
    """As an answer shows them: in the declared range, and no value as the middle of it."""
    if value_range is None:
        return np.where(np.isnan(values), 0.0, values)
    low, high = float(value_range.low), float(value_range.high)
    return np.clip(np.where(np.isnan(values), (low + high) / 2, values), low, high)
