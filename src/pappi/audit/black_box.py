"""Layer 3: how far apart two neighbouring logs are by what an analyst sees, and no more.

Given answers from a data set and from its neighbour, one half of them is used to learn an
event that is much likelier on one side (the quantile bins with the largest ratios, after
Neyman and Pearson), and the other half to bound its two probabilities, after Clopper and
Pearson. log(p/q) of these bounds is a lower bound on the real ε, at 99 % confidence,
whichever event was learned. If it exceeds the promised ε, the promise is broken somewhere
between the events and the printed digits.

It cannot prove the opposite. It does not see a loss that only rare outputs reveal, such as
that of noise whose scale depends on the number of cases: layer 1 does.

**The queries** are one PPI for each function, about two neighbouring data sets. Cases are rows of
small whole numbers a and b. In the log a case carries them as attributes and has as many events
of these names, so that a PPI can read either. Under add-remove it reads the attribute, which may
be missing; under replace the count, which every case has, so that the calibration of `replace`
itself is tested. The pairs are chosen so that ordinary outcomes tell them apart nearly as well as
rare ones. `pappi.session.audit_query` runs a query in a workspace of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pappi.audit.neighbours import Data
from pappi.mechanisms import quantile_level, registered
from pappi.values import Adjacency

FEWEST_SAMPLES = 2000
"""On either side."""

CONFIDENCE = 0.99
_BINS = 64
_FEW = 20
_WITH_CLIPPING, _CLIPPING_MECHANISM = ("mean", "sum"), "joint"
"""Functions released with the number of clipped cases by default, and by which mechanism."""

Samples = NDArray[np.float64]
"""A row per answer, a column per number it shows; infinite where it shows none."""


@dataclass(frozen=True, slots=True)
class BlackBoxReport:
    """A lower bound on the ε that was really spent, and why it fails, if it does.

    `skipped` says why no query was made.
    """

    epsilon: Fraction
    samples: int = 0
    lower_bound: float | None = None
    failure: str | None = None
    skipped: str | None = None

    @property
    def passed(self) -> bool:
        return self.failure is None


def audit_samples(first: Samples, second: Samples, epsilon: Fraction) -> BlackBoxReport:
    """Compare answers over a data set with answers over its neighbour."""
    samples = min(len(first), len(second))
    refusal = _unusable(first, second)
    if refusal is not None:
        return BlackBoxReport(epsilon, samples, None, refusal)
    bound = lower_bound(first, second)
    if not bound <= epsilon:
        failure = f"answers tell neighbours apart by at least {bound:.4g}, epsilon is {epsilon}"
        return BlackBoxReport(epsilon, samples, bound, failure)
    return BlackBoxReport(epsilon, samples, bound)


def lower_bound(first: Samples, second: Samples) -> float:
    """A lower bound on ε, at 99 % confidence; 0 where nothing tells the sides apart."""
    event = max(_events(first[::2], second[::2]), key=lambda event: event.promise)
    sides = (first, second) if event.first_is_likelier else (second, first)
    (hits, trials), (others, other_trials) = (event.count(side[1::2]) for side in sides)
    level = (1 - CONFIDENCE) / 2
    likely = share_at_least(hits, trials, level)
    seldom = share_at_most(others, other_trials, level)
    return max(0.0, math.log(likely / seldom)) if likely > 0 else 0.0


def _unusable(first: Samples, second: Samples) -> str | None:
    samples = min(len(first), len(second))
    if samples < FEWEST_SAMPLES:
        return f"only {samples} samples a side were drawn, {FEWEST_SAMPLES} are needed"
    if np.isnan(first).any() or np.isnan(second).any():
        return "a sample is not a number"
    still = _constant(first) & _constant(second)
    if np.any(still & (first[0] != second[0])):
        return "every answer tells the two apart: there is no noise"
    if still.all():
        return "all answers are the same: nothing was tested"
    return None


def _constant(samples: Samples) -> NDArray[np.bool_]:
    return np.asarray(np.all(samples == samples[0], axis=0))


@dataclass(frozen=True, slots=True)
class _Event:
    """That one of the numbers shown falls into certain bins."""

    column: int
    edges: NDArray[np.float64]
    bins: NDArray[np.int64]
    first_is_likelier: bool
    promise: float

    def count(self, samples: Samples) -> tuple[int, int]:
        hits = np.isin(_bin(samples[:, self.column], self.edges), self.bins)
        return int(np.count_nonzero(hits)), len(samples)


def _events(first: Samples, second: Samples) -> Iterator[_Event]:
    """For each number shown and either direction, the best event that can be learned."""
    for column in range(first.shape[1]):
        pooled = np.concatenate((first[:, column], second[:, column]))
        edges = np.unique(np.quantile(pooled, np.linspace(0, 1, _BINS + 1), method="nearest"))
        sides = [
            np.bincount(_bin(side[:, column], edges), minlength=2 * len(edges) + 1)
            for side in (first, second)
        ]
        for likelier in (True, False):
            more, fewer = sides if likelier else reversed(sides)
            bins, promise = _most_telling(more, fewer)
            yield _Event(column, edges, bins, likelier, promise)


def _bin(numbers: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Below, at or above each edge: a value that comes up often has a bin of its own."""
    return np.searchsorted(edges, numbers, "left") + np.searchsorted(edges, numbers, "right")


def _most_telling(
    more: NDArray[np.int64], fewer: NDArray[np.int64]
) -> tuple[NDArray[np.int64], float]:
    """The bins with the largest ratios, as many as promise the largest bound.

    The bound is estimated as log(a/b) less 2.6 standard deviations: it only serves to choose.
    Ratios of nearly empty bins are mere chance, so they are shrunk towards 1.
    """
    order = np.argsort(-(more + _FEW) / (fewer + _FEW))
    a, b = np.cumsum(more[order]) + 0.5, np.cumsum(fewer[order]) + 0.5
    promises = np.log(a / b) - 2.6 * np.sqrt(1 / a + 1 / b)
    best = int(np.argmax(promises))
    return order[: best + 1], float(promises[best])


# --- the bounds of Clopper and Pearson --------------------------------------------------------

_HALVINGS = 60


def share_at_least(successes: int, trials: int, level: float) -> float:
    """Clopper and Pearson's lower bound on a probability, missed with a chance of `level`.

    >>> round(share_at_least(10, 10, 0.05), 4)  # 0.05^(1/10)
    0.7411
    """
    if successes == 0:
        return 0.0
    return _largest(lambda p: at_least(successes, trials, p) <= level)


def share_at_most(successes: int, trials: int, level: float) -> float:
    """Clopper and Pearson's upper bound: one minus the lower bound of the failures.

    >>> round(share_at_most(0, 100, 0.05), 4)  # the rule of three
    0.0295
    """
    return 1 - share_at_least(trials - successes, trials, level)


def at_least(successes: int, trials: int, p: float) -> float:
    """P(X ≥ successes) of a binomial X."""
    if not 0 < p < 1:
        return float(p >= 1 or successes == 0)
    hits = np.arange(successes, trials + 1)
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, trials + 1)))))
    ways = logs[trials] - logs[hits] - logs[trials - hits]
    return float(np.exp(ways + hits * math.log(p) + (trials - hits) * math.log1p(-p)).sum())


def _largest(holds: Callable[[float], bool]) -> float:
    """The largest p up to which a condition holds that holds at 0, approached from below."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


# --- the queries -------------------------------------------------------------------------------

HIGHEST = 4
"""The values a and b lie between 0 and this."""

Pair = tuple[Data, Data]

_LIMITS = f"[0, {HIGHEST}]"
_NONE: Data = ()


@dataclass(frozen=True, slots=True)
class BlackBoxQuery:
    """A PPI in the notation, and the two data sets it is released on.

    `keys` are more keys of the PPI, such as its target. `mechanism` is the one that is
    supposed to answer it.
    """

    mechanism: str
    adjacency: Adjacency
    epsilon: Fraction
    measure: str
    bounds: str
    pair: Pair
    keys: tuple[str, ...] = ()

    def catalogue(self, log: str) -> str:
        """One value per day, each of which is a sample."""
        keys = (f"measure: {self.measure}", f"bounds: {self.bounds}", "scope: every day")
        lines = ("log: " + log, "ppis:", "  - id: audited", *(f"    {k}" for k in keys + self.keys))
        return "\n".join(lines) + "\n"


def standard_query(
    mechanism: str, function: str, adjacency: Adjacency, epsilon: Fraction
) -> BlackBoxQuery | None:
    """The query for one function over the cases; None if there is none."""
    pairs = _PAIRS.get(function if quantile_level(function) is None else "quantile")
    if pairs is None:
        return None
    pair = pairs[adjacency is Adjacency.REPLACE]
    measure, bounds = _measure(function, adjacency)
    # Only this mean must be named to be used, and only where the number of cases is public.
    public = adjacency is Adjacency.REPLACE and any(
        kind.needs_public_number and kind.name == mechanism and function in kind.functions
        for kind in registered()
    )
    keys = (f"release: {{mechanism: {mechanism}}}",) if public else ()
    if not public and function in _WITH_CLIPPING and mechanism != _CLIPPING_MECHANISM:
        keys = ("release: {clipping: off}",)
    return BlackBoxQuery(mechanism, adjacency, epsilon, measure, bounds, pair, keys)


def _measure(function: str, adjacency: Adjacency) -> tuple[str, str]:
    a, b = _base("a", adjacency), _base("b", adjacency)
    match function:
        case "share":
            return "{share: {condition: activity == 'a'}}", "[0, 1]"
        case "ratio":
            parts = f"x: {{sum: {a}, within: y}}, y: {{sum: {b}}}"
            return f"{{derive: x / y, {parts}}}", f"{{x: {_LIMITS}, y: {_LIMITS}, value: [0, 1]}}"
        case _ if function.startswith("p"):
            return f"{{percentile: {a}, percent: {function[1:]}}}", _LIMITS
        case _:
            return f"{{{function}: {a}}}", _LIMITS


def _base(name: str, adjacency: Adjacency) -> str:
    if adjacency is Adjacency.REPLACE:
        return f"{{count: activity == '{name}'}}"
    return f"{{data: {name}}}"


def _rows(*values: int) -> Data:
    return tuple((float(value),) for value in values)


_PAIRS: dict[str, tuple[Pair, Pair]] = {
    "quantile": ((_rows(1, 3), _rows(1, 3, 4)), (_rows(1, 3), _rows(4, 3))),
    "sum": ((_NONE, _rows(4)), (_rows(0), _rows(4))),
    "mean": ((_NONE, _rows(4)), (_rows(0), _rows(4))),
    "share": ((_NONE, _rows(1)), (_rows(0), _rows(1))),
    "max": ((_rows(3), _rows(3, 4)), (_rows(0, 3), _rows(4, 3))),
    "min": ((_rows(1), _rows(1, 0)), (_rows(4, 1), _rows(0, 1))),
    "ratio": ((_NONE, ((4.0, 4.0),)), (((0.0, 4.0),), ((4.0, 4.0),))),
}
"""Under add-remove, and under replace."""
