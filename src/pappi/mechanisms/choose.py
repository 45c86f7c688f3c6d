"""Which mechanisms answer which function, and how one is made for a request."""

from __future__ import annotations

import re
from fractions import Fraction

from pappi.errors import NotReleasable
from pappi.mechanisms.interval import IntervalExtreme, IntervalQuantile
from pappi.mechanisms.laplace import LaplaceExtreme, LaplaceSum
from pappi.mechanisms.mechanism import Mechanism
from pappi.mechanisms.two_bin import TwoBin
from pappi.values.bounds import UNIT_INTERVAL, Bounds
from pappi.values.privacy import Adjacency

MECHANISMS: dict[str, tuple[str, ...]] = {
    "max": ("interval", "laplace"),
    "mean": ("two-bin",),
    "median": ("interval",),
    "min": ("interval", "laplace"),
    "share": ("two-bin",),
    "sum": ("laplace",),
}
"""The names of the mechanisms for each function; the first is the default.

Percentiles are functions as well: `p90`, or `p99.5`, answered like the median.
"""

_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,4})?)", re.ASCII)


def mechanism_for(
    function: str,
    bounds: Bounds,
    epsilon: Fraction,
    adjacency: Adjacency,
    *,
    integral: bool,
    name: str | None = None,
) -> Mechanism:
    """The mechanism of that name for a function over values within public bounds.

    Without a name, the default one. `integral` promises that values are whole numbers,
    which are then not rounded if the bounds are whole too. A broken promise costs
    accuracy, never privacy.

    >>> hours = Bounds(Fraction(0), Fraction(24))
    >>> mechanism_for("mean", hours, Fraction(1, 10), Adjacency.ADD_REMOVE, integral=False).name
    'two-bin'
    """
    level = quantile_level(function)
    match function, _named(function, name):
        case _, "interval" if level is not None:
            return IntervalQuantile(bounds, epsilon, adjacency, integral, level)
        case "min" | "max", "interval":
            return IntervalExtreme(bounds, epsilon, adjacency, integral, function)
        case "min" | "max", "laplace":
            return LaplaceExtreme(bounds, epsilon, adjacency, integral, function)
        case "sum", _:
            return LaplaceSum(bounds, epsilon, adjacency, integral)
        case "share", _ if bounds != UNIT_INTERVAL:
            raise NotReleasable(
                "a share is a mean of truth values, whose bounds are 0 and 1",
                hint="ask for the mean instead",
            )
        case _:
            whole = integral or function == "share"
            return TwoBin(bounds, epsilon, adjacency, whole)


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


def mechanisms_of(function: str) -> tuple[str, ...]:
    """The names of the mechanisms for a function, the default first; none if it is unknown."""
    alike = function if quantile_level(function) is None else "median"
    return MECHANISMS.get(alike, ())


def _named(function: str, name: str | None) -> str:
    known = mechanisms_of(function)
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
