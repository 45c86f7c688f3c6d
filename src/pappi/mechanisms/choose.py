"""Which mechanisms answer which function, and how one is made for a request."""

from __future__ import annotations

from fractions import Fraction

from pappi.errors import NotReleasable
from pappi.mechanisms.laplace import LaplaceExtreme, LaplaceSum
from pappi.mechanisms.mechanism import Mechanism
from pappi.mechanisms.two_bin import TwoBin
from pappi.values.bounds import UNIT_INTERVAL, Bounds
from pappi.values.privacy import Adjacency

MECHANISMS: dict[str, tuple[str, ...]] = {
    "max": ("laplace",),
    "mean": ("two-bin",),
    "min": ("laplace",),
    "share": ("two-bin",),
    "sum": ("laplace",),
}
"""The names of the mechanisms for each function; the first is the default."""


def mechanism_for(
    function: str, bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool
) -> Mechanism:
    """The default mechanism for a function over values within public bounds.

    `integral` promises that values are whole numbers, which are then not rounded if
    the bounds are whole too. A broken promise costs accuracy, never privacy.

    >>> hours = Bounds(Fraction(0), Fraction(24))
    >>> mechanism_for("mean", hours, Fraction(1, 10), Adjacency.ADD_REMOVE, integral=False).name
    'two-bin'
    """
    match function:
        case "min" | "max":
            return LaplaceExtreme(bounds, epsilon, adjacency, integral, function)
        case "sum":
            return LaplaceSum(bounds, epsilon, adjacency, integral)
        case "mean":
            return TwoBin(bounds, epsilon, adjacency, integral)
        case "share" if bounds == UNIT_INTERVAL:
            return TwoBin(bounds, epsilon, adjacency, integral=True)
        case "share":
            raise NotReleasable(
                "a share is a mean of truth values, whose bounds are 0 and 1",
                hint="ask for the mean instead",
            )
        case _:
            known = ", ".join(MECHANISMS)
            raise NotReleasable(
                f"no mechanism answers the function {function!r}", hint=f"there are: {known}"
            )
