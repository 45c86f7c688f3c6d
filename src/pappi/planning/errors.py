"""How far off a release is expected to be: the noise, as a typical error.

From public facts only: bounds, epsilon, an assumed number of cases per period, and the
target as the point where precision matters. What clipping to the bounds changes depends on
the data and is not part of it.

One function without a target is taken to lie in the middle of its bounds. For a formula, or
in a declared range, it can decide which option is best where values lie: a small denominator
makes nearly all of a quotient's error. So that error is the mean over *fills* of the bounds,
ways in which the values of cases are imagined to lie in them: evenly, around the middle, and
mostly low. The measures of a formula are imagined alike, and each unlike the next.

The error of a formula is the root mean square over what its functions may come out as, at
509 equally likely chances. That takes in what a first order would miss: what curves, as a
quotient does, what is kept in its public range, and what has no value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pappi.mechanisms import tails
from pappi.mechanisms.mechanism import Mechanism
from pappi.planning.fills import (
    EVENLY,
    Imagined,
    Scene,
    as_shown,
    function_at,
    is_imaginable,
    scenes_of,
)
from pappi.planning.outcomes import estimates, exactly
from pappi.planning.parts import Part
from pappi.planning.splits import best_split, tilted
from pappi.ppinot.model import AggregatedMeasure, Bounding, Ppi
from pappi.tree.arrays import is_arithmetic, values_above
from pappi.tree.composition import ROOT

Floats = NDArray[np.float64]

WORTH_IT = 0.98
"""Another split is taken only if it makes the predicted error at least this much smaller."""

_TILTS = {2: (Fraction(3), Fraction(2)), 3: (Fraction(3),), 4: (Fraction(3),)}
"""What is tried besides, by the number of functions: of many it would take too long."""


def predicted_error(ppi: Ppi, parts: Sequence[Part], cases: int) -> float:
    """The root mean square error of the PPI's value, in internal units; infinite if unknown."""
    if is_unknown(parts):
        return math.inf
    if at_one_point(ppi, parts[0]):
        return _error_at(operating_point(ppi, parts[0], cases), ppi, parts[0].mechanism, cases)
    return _mean_error(ppi, parts, scenes_of(ppi, parts, cases))


def contributions(ppi: Ppi, parts: Sequence[Part], cases: int) -> tuple[float, ...]:
    """How much each function weighs in the error, as `best_split` takes it.

    That is how far off the value is for each function's error alone. But where errors do not
    fall in proportion to 1/ε, as those of a function whose noise fills its range, another
    split may be better: then the weights are those for which that one is best.
    """
    if is_unknown(parts):
        return (math.inf,) * len(parts)
    scenes = scenes_of(ppi, parts, cases)
    alone = tuple(_mean_error(ppi, parts, scenes, part.path) for part in parts)
    best = best_split(alone)
    least = _mean_error(ppi, _split(parts, best), scenes)
    enough = WORTH_IT * least
    for tilt in _TILTS.get(len(parts), ()):
        for split in tilted(best, tilt):
            error = _mean_error(ppi, _split(parts, split), scenes)
            if error < least:
                best, least = split, error
    return alone if least > enough else tuple(float(share) ** 1.5 for share in best)


def is_unknown(parts: Sequence[Part]) -> bool:
    return any(each.bounding is Bounding.PRIVATE for part in parts for each in part.inputs)


def _split(parts: Sequence[Part], split: Sequence[Fraction]) -> list[Part]:
    """The same functions with other shares of their epsilon."""
    whole = sum(part.mechanism.epsilon for part in parts)
    return [
        replace(part, mechanism=_at_epsilon(part.mechanism, whole * share))
        for part, share in zip(parts, split, strict=True)
    ]


def _at_epsilon(mechanism: Mechanism, epsilon: Fraction) -> Mechanism:
    # Every mechanism is a dataclass, which a protocol cannot say.
    return cast("Mechanism", replace(cast("Any", mechanism), epsilon=epsilon))


def at_one_point(ppi: Ppi, part: Part) -> bool:
    """Whether one function answers the PPI, and its own prediction says how well."""
    if part.path != ROOT or ppi.target is not None:
        return part.path == ROOT
    alone = isinstance(ppi.measure, AggregatedMeasure) and ppi.value_range is None
    return alone or not is_imaginable(part)


def operating_point(ppi: Ppi, part: Part, cases: int) -> float | None:
    """The target; without one the middle, or where values are if they fill loose bounds."""
    limits = () if ppi.target is None else (ppi.target.low, ppi.target.high)
    known = [limit for limit in limits if limit is not None]
    if known:
        return float(sum(known) / len(known))
    loose = part.inputs[0].bounding is Bounding.LOOSE
    return function_at(part.inputs[0], cases, EVENLY) if loose else None


def _error_at(at: float | None, ppi: Ppi, mechanism: Mechanism, cases: int) -> float:
    """Kept in the public range, if there is one."""
    error = mechanism.predicted_error(cases, at)
    if ppi.value_range is None or at is None:
        return error
    low, high = float(ppi.value_range.low), float(ppi.value_range.high)
    return tails.clamped_error(error, at - low, high - at)


# --- how far off the value is ---------------------------------------------------------

_FEW = 16  # of so many chances one will do, where a formula must be evaluated one by one
_KEPT = 0.98


def _mean_error(
    ppi: Ppi, parts: Sequence[Part], scenes: Sequence[Scene], alone: str | None = None
) -> float:
    """The mean over scenes of the root mean square error; of one function's alone, if wanted."""
    step = 1 if is_arithmetic(ppi.measure) else _FEW
    known: dict[Imagined, Floats] = {}
    for index, part in enumerate(parts):
        noisy = alone in (None, part.path)
        for each in {scene.functions[index]: None for scene in scenes}:
            found = estimates(part.mechanism, each, index) if noisy else exactly(each.value)
            known[each] = found[::step]
    paths = [part.path for part in parts]
    errors = []
    for scene in scenes:
        released = dict(zip(paths, (known[each] for each in scene.functions), strict=True))
        errors.append(_error(ppi, scene.value, values_above(ppi.measure, released)))
    return sum(errors) / len(errors)


def _error(ppi: Ppi, truth: float, values: Floats) -> float:
    """Of equally likely values."""
    squares = np.square(as_shown(ppi.value_range, values) - truth)
    if ppi.value_range is None:
        # Nothing keeps a quotient in bounds: its rarest values would be all of the error.
        squares = np.sort(squares)[: round(_KEPT * len(squares))]
    return math.sqrt(squares.mean())
