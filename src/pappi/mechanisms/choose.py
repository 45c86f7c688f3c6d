"""Which mechanisms answer which function, and how one is made for a request."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pappi.errors import NotReleasable
from pappi.mechanisms.anchored import AnchoredMean
from pappi.mechanisms.clip import PrivateCeiling
from pappi.mechanisms.grid import OCTAVES_OF_LOOSE_BOUNDS
from pappi.mechanisms.interval import IntervalExtreme, IntervalQuantile
from pappi.mechanisms.laplace import LaplaceExtreme, LaplaceMean, LaplaceSum
from pappi.mechanisms.loose import LooseMinimum, LooseQuantile, RankedMaximum
from pappi.mechanisms.margins import (
    ExtremeMargin,
    Limit,
    Margin,
    MeanMargin,
    QuantileMargin,
    SumMargin,
)
from pappi.mechanisms.mechanism import Mechanism
from pappi.mechanisms.stepped import SteppedMean, SteppedSum
from pappi.mechanisms.threshold import NoisyMargin, TwoStage, decision_epsilon, refuse_falloff
from pappi.mechanisms.two_bin import TwoBin
from pappi.values.bounds import UNIT_INTERVAL, Bounds
from pappi.values.privacy import Adjacency

MECHANISMS: dict[str, tuple[str, ...]] = {
    "max": ("interval", "laplace"),
    "mean": ("two-bin", "interval"),
    "median": ("interval",),
    "min": ("interval", "laplace"),
    "share": ("two-bin", "interval"),
    "sum": ("laplace", "interval"),
}
"""The names of the mechanisms for each function; the first is the default.

Percentiles are functions as well: `p90`, or `p99.5`, answered like the median.
"""

LOOSE_MECHANISMS: dict[str, tuple[str, ...]] = {
    "max": ("ranked", "interval", "laplace"),
    "mean": ("private ceiling", "two-bin"),
    "median": ("interval",),
    "min": ("interval", "laplace"),
    "sum": ("private ceiling", "laplace"),
}
"""The same, where bounds are declared to be loose."""

OF_PUBLIC_NUMBER = {"mean": "laplace", "share": "laplace"}
"""What there is besides, where the number of values is public: `replace`, and every case has one.

It is never the default: two-bin draws from the same law there.
"""

_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,4})?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Looseness:
    """How many octaves below the high bound values may lie, and whether on both sides of zero."""

    octaves: int = OCTAVES_OF_LOOSE_BOUNDS
    either_sign: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    """What every mechanism of a request has in common.

    `integral` promises that values are whole numbers, which are then not rounded if the
    bounds are whole too. A broken promise costs accuracy, never privacy.
    """

    bounds: Bounds
    epsilon: Fraction
    adjacency: Adjacency
    integral: bool


def mechanism_for(
    function: str,
    bounds: Bounds,
    epsilon: Fraction,
    adjacency: Adjacency,
    *,
    integral: bool,
    name: str | None = None,
    loose: Looseness | None = None,
    value_range: Bounds | None = None,
) -> Mechanism:
    """The mechanism of that name for a function over values within public bounds.

    Without a name, the default one. `value_range` is the declared range of the answer,
    which only the interval mechanism of a sum needs.

    >>> hours = Bounds(Fraction(0), Fraction(24))
    >>> mechanism_for("mean", hours, Fraction(1, 10), Adjacency.ADD_REMOVE, integral=False).name
    'two-bin'
    """
    terms = Terms(bounds, epsilon, adjacency, integral or function == "share")
    chosen = _named(function, name, loose, adjacency)
    if function == "share" and bounds != UNIT_INTERVAL:
        raise NotReleasable(
            "a share is a mean of truth values, whose bounds are 0 and 1",
            hint="ask for the mean instead",
        )
    if loose is not None and chosen in ("ranked", "private ceiling", "interval"):
        return _loose(function, chosen, terms, loose)
    if chosen == "interval":
        return _interval(function, terms, value_range)
    common = (bounds, epsilon, adjacency, terms.integral)
    match function:
        case "min" | "max":
            return LaplaceExtreme(*common, function)
        case "sum":
            return LaplaceSum(*common)
        case _:
            return LaplaceMean(*common) if chosen == "laplace" else TwoBin(*common)


def _interval(function: str, terms: Terms, value_range: Bounds | None) -> Mechanism:
    common = (terms.bounds, terms.epsilon, terms.adjacency, terms.integral)
    level = quantile_level(function)
    if level is not None:
        return IntervalQuantile(*common, level)
    match function:
        case "min" | "max":
            return IntervalExtreme(*common, function)
        case "sum":
            if value_range is None:
                raise NotReleasable(
                    "the interval mechanism of a sum needs a declared range of the sum",
                    hint="declare it as the `value` among the bounds, or use laplace",
                )
            return SteppedSum(value_range, *common[1:], terms.bounds)
        case _:
            return SteppedMean(*common)


def _loose(function: str, chosen: str, terms: Terms, loose: Looseness) -> Mechanism:
    common = (terms.bounds, terms.epsilon, terms.adjacency, terms.integral)
    if chosen == "private ceiling":
        kind: Literal["mean", "sum"] = "sum" if function == "sum" else "mean"
        return PrivateCeiling(*common, kind, loose.octaves, loose.either_sign)
    if loose.either_sign:
        raise NotReleasable(
            f"a {function} of values that may be negative needs declared bounds",
            hint="add e.g. `bounds: [-100, 100]`",
        )
    level = quantile_level(function)
    if level is not None:
        return LooseQuantile(*common, level, loose.octaves)
    if function == "min":
        return LooseMinimum(*common, "min", loose.octaves)
    if chosen == "interval":
        return IntervalExtreme(*common, "max")
    return RankedMaximum(*common, loose.octaves)


# --- with a target --------------------------------------------------------------------


def decision_for(
    function: str,
    bounds: Bounds,
    epsilon: Fraction,
    adjacency: Adjacency,
    *,
    integral: bool,
    limit: Limit,
) -> NoisyMargin:
    """Whether the function keeps a limit, and nothing else."""
    margin = margin_for(function, bounds, limit, integral=integral)
    reach = float(bounds.low), float(bounds.high)
    if function == "sum":
        reach = (0.0 if bounds.low >= 0 else -math.inf), (0.0 if bounds.high <= 0 else math.inf)
    return NoisyMargin(bounds, epsilon, adjacency, integral, margin, limit, reach)


def threshold_for(
    function: str,
    bounds: Bounds,
    epsilon: Fraction,
    adjacency: Adjacency,
    *,
    integral: bool,
    limit: Limit,
    falloff: Fraction,
) -> Mechanism:
    """The value of a function, with most of epsilon spent on whether it keeps a limit."""
    refuse_falloff(falloff)
    match function:
        case "sum":
            # Its margin is the limit minus the sum: the plain release is the decision already.
            return LaplaceSum(bounds, epsilon, adjacency, integral)
        case "mean" | "share":
            # On the fine lattice, where noise is as good as continuous.
            margin = MeanMargin(bounds, integral=False, limit=limit)
            return AnchoredMean(bounds, epsilon, adjacency, False, margin, falloff)  # noqa: FBT003
        case _:
            rest = epsilon - decision_epsilon(epsilon, falloff)
            unaimed = _interval(function, Terms(bounds, rest, adjacency, integral), None)
            if not isinstance(unaimed, IntervalExtreme | IntervalQuantile):
                raise NotReleasable(f"no threshold mechanism answers the function {function!r}")
            stages = margin_for(function, bounds, limit, integral=integral)
            return TwoStage(bounds, epsilon, adjacency, integral, stages, falloff, unaimed)


def margin_for(function: str, bounds: Bounds, limit: Limit, *, integral: bool) -> Margin:
    level = quantile_level(function)
    if level is not None:
        keeping = level if limit.at_most else 1 - level
        return QuantileMargin(bounds, integral, limit, keeping)
    match function:
        case "sum":
            return SumMargin(bounds, integral, limit)
        case "mean" | "share":
            return MeanMargin(bounds, integral, limit)
        case "min" | "max":
            return ExtremeMargin(bounds, integral, limit, (function == "max") == limit.at_most)
        case _:
            raise NotReleasable(f"no margin is known for the function {function!r}")


# --- names ----------------------------------------------------------------------------


def quantile_level(function: str) -> Fraction | None:
    """The share of cases below what the function asks for; None if it is no quantile.

    >>> quantile_level("median"), quantile_level("p90"), quantile_level("mean")
    (Fraction(1, 2), Fraction(9, 10), None)
    """
    if function == "median":
        return Fraction(1, 2)
    percentile = _PERCENTILE.fullmatch(function)
    level = Fraction(percentile[1]) / 100 if percentile else Fraction(0)
    return level or None


def mechanisms_of(
    function: str, *, loose: bool = False, adjacency: Adjacency = Adjacency.ADD_REMOVE
) -> tuple[str, ...]:
    """The names of the mechanisms for a function, the default first; none if it is unknown."""
    alike = function if quantile_level(function) is None else "median"
    known = LOOSE_MECHANISMS if loose and alike in LOOSE_MECHANISMS else MECHANISMS
    besides = OF_PUBLIC_NUMBER.get(function) if adjacency is Adjacency.REPLACE else None
    return (*known.get(alike, ()), *([besides] if besides else []))


def _named(function: str, name: str | None, loose: Looseness | None, adjacency: Adjacency) -> str:
    known = mechanisms_of(function, loose=loose is not None, adjacency=adjacency)
    if not known:
        raise NotReleasable(
            f"no mechanism answers the function {function!r}",
            hint=f"there are: {', '.join(MECHANISMS)}, and percentiles such as p90",
        )
    if name is None:
        return known[0]
    if name not in known:
        raise NotReleasable(
            f"the mechanism {name!r} does not answer the function {function!r}",
            hint=f"there are: {', '.join(known)}",
        )
    return name
