"""What a target means for a release."""

from __future__ import annotations

import math
from fractions import Fraction

from pappi.errors import NotReleasable
from pappi.mechanisms.margins import Limit
from pappi.planning.reach import reach_of
from pappi.ppinot.model import AggregatedMeasure, Aggregation, Ppi, Target

# A maximum's verdict is right at most this often, if it is met, before it is worth asking.
_WORTH_ASKING = 0.9


def limit_of(ppi: Ppi) -> Limit:
    """The one limit of a target, for releases that aim at it."""
    target = ppi.target
    if target is None:
        raise NotReleasable(
            "it has no target to decide", hint="add e.g. `target: below 7 days`, or ask its value"
        )
    if target.low is not None and target.high is not None:
        raise NotReleasable(
            "a target with two ends cannot be aimed at",
            hint="ask its value, or make two PPIs with one end each",
        )
    if target.high is not None:
        return Limit(target.high, at_most=True, included=target.high_included)
    if target.low is None:
        raise NotReleasable("its target has no limit")
    return Limit(target.low, at_most=False, included=target.low_included)


def refuse_foregone_verdict(ppi: Ppi) -> None:
    """A target that holds all the value can be, or none of it, is met or missed by definition."""
    if ppi.target is None:
        return
    low, high = reach_of(ppi)
    least, most = _ends(ppi.target)
    if (least <= low and high <= most) or most <= low or high <= least:
        raise NotReleasable(
            "its target lies at or beyond its bounds, which would decide the verdict "
            "without looking at a case",
            hint="declare wider bounds, or another target",
        )


def advice_on(ppi: Ppi, epsilon: Fraction) -> str:
    """What to ask instead, where a verdict cannot be had at this epsilon by any mechanism.

    One case more can turn "no case beyond the limit" into its opposite. So, whatever the
    log, a rule as good on both sides is right with probability at most 1 − exp(−ε/2)/2.
    """
    if ppi.target is None or not _is_extreme(ppi):
        return ""
    right = 1 - math.exp(-float(epsilon) / 2) / 2
    if right >= _WORTH_ASKING:
        return ""
    return (
        "one case decides whether its target is kept, so at "
        f"ε = {float(epsilon):g} no even-handed verdict is right more than {100 * right:.0f} % of "
        "the time where all cases keep it; ask for the share of cases beyond the target instead"
    )


def _is_extreme(ppi: Ppi) -> bool:
    measure = ppi.measure
    return isinstance(measure, AggregatedMeasure) and measure.function in (
        Aggregation.MIN,
        Aggregation.MAX,
    )


def _ends(target: Target) -> tuple[float | Fraction, float | Fraction]:
    least = -math.inf if target.low is None else target.low
    return least, math.inf if target.high is None else target.high
