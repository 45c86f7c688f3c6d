"""All mechanisms there are, and which of them answers what.

A new mechanism is one module, and one line here.
"""

from __future__ import annotations

from fractions import Fraction

from pappi.errors import NotReleasable
from pappi.mechanisms.clip import PrivateClippingBound
from pappi.mechanisms.hexagon import HexagonRatio
from pappi.mechanisms.histogram import NoisyHistogram
from pappi.mechanisms.interval import (
    IntervalExtreme,
    IntervalQuantile,
    LooseMinimum,
    LooseQuantile,
    RankedMaximum,
    SteppedMean,
    SteppedSum,
)
from pappi.mechanisms.laplace import LaplaceExtreme, LaplaceMean, LaplaceSum
from pappi.mechanisms.mechanism import Limit, Looseness, Mechanism, Purpose, Task
from pappi.mechanisms.sampled import SampleAndAggregate
from pappi.mechanisms.threshold import AnchoredMean, NoisyMargin, TwoStage
from pappi.mechanisms.two_bin import TwoBin, TwoBinRatio
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds

REGISTERED: tuple[type[Mechanism], ...] = (
    PrivateClippingBound,
    RankedMaximum,
    TwoBin,
    LaplaceSum,
    LooseMinimum,
    LooseQuantile,
    IntervalExtreme,
    IntervalQuantile,
    NoisyHistogram,
    SteppedMean,
    SteppedSum,
    LaplaceExtreme,
    LaplaceMean,
    TwoBinRatio,
    HexagonRatio,
    NoisyMargin,
    AnchoredMean,
    TwoStage,
    SampleAndAggregate,
)
"""Of those that answer the same, the first is the default; the planner compares them all."""

FUNCTIONS = ("distribution", "max", "mean", "median", "min", "share", "sum")
"""Percentiles are functions as well: `p90`, or `p99.5`, answered like the median."""


def registered() -> tuple[type[Mechanism], ...]:
    return REGISTERED


def mechanism_names() -> tuple[str, ...]:
    """The mechanisms that a definition may name."""
    return tuple(dict.fromkeys(mechanism.name for mechanism in registered()))


def understood_names() -> tuple[str, ...]:
    """The same, and those that they had when earlier definitions were written."""
    earlier = (mechanism.earlier_name for mechanism in registered() if mechanism.earlier_name)
    return (*mechanism_names(), *earlier)


def current_name(name: str) -> str:
    """The name that a mechanism has now.

    >>> current_name("private ceiling"), current_name("two-bin")
    ('private clipping bound', 'two-bin')
    """
    return next((m.name for m in registered() if m.earlier_name == name), name)


def on_request() -> tuple[str, ...]:
    """The names of the mechanisms that are taken only where a PPI names them."""
    return tuple(dict.fromkeys(m.name for m in registered() if m.on_request))


def name_with(setting: str) -> str:
    """The name of the mechanism that has a setting of its own.

    >>> name_with("falloff")
    'threshold'
    """
    return next(mechanism.name for mechanism in registered() if mechanism.setting == setting)


def names_for(kind: str) -> tuple[str, ...]:
    """The names of the mechanisms that give the value of a function; see `Task.kind`."""
    return tuple(m.name for m in registered() if kind in m.functions and not m.decides)


# --- by name --------------------------------------------------------------------------


def mechanisms_of(function: str, *, loose: bool = False) -> tuple[str, ...]:
    """The names of the mechanisms for a function, the default first; none if it is unknown.

    Under add-remove: where the number of values is public there may be more.
    """
    common = UNIT_INTERVAL, Fraction(1), Adjacency.ADD_REMOVE, False
    task = Task(function, *common, loose=Looseness() if loose and function != "share" else None)
    return tuple(mechanism.name for mechanism in registered() if mechanism.answers(task))


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
    limit: Limit | None = None,
    falloff: Fraction | None = None,
) -> Mechanism:
    """The mechanism of that name for a function over values within public bounds.

    Without a name, the default one. `value_range` is the declared range of the answer,
    which only the interval mechanism of a sum needs. With a `limit` most of epsilon is spent on
    whether the function keeps it.

    >>> hours = Bounds(Fraction(0), Fraction(24))
    >>> mechanism_for("mean", hours, Fraction(1, 10), Adjacency.ADD_REMOVE, integral=False).name
    'two-bin'
    """
    share = function == "share"
    if share and bounds != UNIT_INTERVAL:
        raise NotReleasable(
            "a share is a mean of truth values, whose bounds are 0 and 1",
            hint="ask for the mean instead",
        )
    given = (None if share else loose, value_range, limit, falloff)
    task = Task(function, bounds, epsilon, adjacency, integral or share, *given)
    answering = [mechanism for mechanism in registered() if mechanism.answers(task)]
    if not answering:
        aimed = "threshold mechanism" if task.purpose is not Purpose.VALUE else "mechanism"
        raise NotReleasable(
            f"no {aimed} answers the function {function!r}",
            hint=f"choose from: {', '.join(FUNCTIONS)}, and percentiles such as p90",
        )
    named = [mechanism for mechanism in answering if name in (None, mechanism.name)]
    if not named:
        raise NotReleasable(
            f"the mechanism {name!r} does not answer the function {function!r}",
            hint=f"choose from: {', '.join(mechanism.name for mechanism in answering)}",
        )
    return named[0].made_for(task)
