"""How wide the interval of a release will be: what an analyst reads after, told before.

A margin is a promise about the noise, wherever the values lie; or, of ranks, what it would be
under an assumption. The interval that comes with an answer is another thing. That of a mean is
narrower where values lie in the middle, and that of a median is mostly the whole range, since one
released point says little. So this one is not derived: made-up values are released a few times by
the very mechanisms of the plan, and the median of the widths is taken.

There are as many values as cases are expected, mostly low in their bounds, as durations and amounts
are, with their mean at a fifth. A mean that lies elsewhere has an interval that is up to a fifth
wider, at an end, or a seventh narrower, in the middle. Chances come from a hash, so the same
question has the same forecast, and nothing here is about anybody.
"""

from __future__ import annotations

import hashlib
import math
from statistics import median

import numpy as np

from pappi.checkpoint.answers import interval_of
from pappi.mechanisms import LOOSE_FILL, Floats, RandBelow
from pappi.planning import Plan
from pappi.ppinot import EVERY_CASE, ROOT, AggregatedMeasure, Bounding
from pappi.values import MARGIN_CONFIDENCE, UNIT_INTERVAL

_RELEASES = 25
MOST_VALUES = 100_000
"""More are not made: a mean of more cases has a narrower interval than is told."""


def expected_half_width(plan: Plan) -> float | None:
    """In internal units, of one function of one measure.

    None of others: how wide the interval of a ratio or formula is depends on how large its parts
    are. None also where bounds are private, or the interval is open on one side.
    """
    (part, *others) = plan.measurements
    (measure, *more) = part.inputs
    alone = not others and not more and part.path == ROOT and part.buckets is None
    if not alone or measure.bounding is Bounding.PRIVATE:
        return None
    law = part.mechanism.law(_column(measure, min(plan.expected.cases, MOST_VALUES)))
    randbelow, halves = _hashed_chances(), []
    for _ in range(_RELEASES):
        low, high = interval_of(plan, {ROOT: law.draw(randbelow)}, MARGIN_CONFIDENCE)
        halves.append((high - low) / 2)
    half = median(halves)
    return half if math.isfinite(half) else None


def _column(measure: AggregatedMeasure, cases: int) -> Floats:
    bounds = measure.bounds or UNIT_INTERVAL
    if measure.base == EVERY_CASE:
        return np.ones(cases)
    if bounds == UNIT_INTERVAL:  # truth values: a fifth are true
        return np.asarray(np.arange(cases) % 5 == 0, np.float64)
    places = 1 - (1 - (np.arange(cases) + 0.5) / cases) ** 0.25
    filled = float(LOOSE_FILL) if measure.bounding is Bounding.LOOSE else 1.0
    return np.asarray(float(bounds.low) + float(bounds.width) * filled * places)


def _hashed_chances() -> RandBelow:
    """Numbers as good as chance, and the same each time."""
    count = 0

    def below(limit: int) -> int:
        nonlocal count
        count += 1
        length = limit.bit_length() // 8 + 9  # so many that what is left over is nothing
        digest = hashlib.shake_128(count.to_bytes(8, "big")).digest(length)
        return int.from_bytes(digest, "big") % limit

    return below
