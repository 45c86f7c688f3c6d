"""Every mechanism for every function, as it can be tried out without a log.

A family is one mechanism for one function. The audit runs over all of them. They are found in the
registry, by the tasks that mechanisms say they answer: so whatever can be released belongs to a
family, and no mechanism is known here by its class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Protocol

import numpy as np

from pappi.mechanisms.mechanism import (
    FORMULA,
    PART_OF_WHOLE,
    RATIO,
    InBuckets,
    Limit,
    Looseness,
    Mechanism,
    SumRatio,
    Task,
    Values,
)
from pappi.mechanisms.registry import FUNCTIONS, registered
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds

_SIGNED = Bounds(Fraction(-100), Fraction(10))
_POSITIVE = Bounds(Fraction(0), Fraction(100))
_SMALL = Bounds(Fraction(0), Fraction(2))

_FALLOFF = Fraction(3)
_FOUR = Fraction(4)
_OCTAVES = 3
_BUCKETS = 4
_MOST_IN_SUM = 10
_OF_CASES = sorted((*FUNCTIONS, "p90"))


class MakeTask(Protocol):
    """Asks for a function over values within bounds of any width."""

    def __call__(
        self, bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool
    ) -> Task: ...


@dataclass(frozen=True, slots=True)
class Family:
    """A mechanism for one function, over real values and over whole numbers.

    `bounds` are those of its values, `small` so narrow that few outcomes are likely. `asked` says
    that the planner may answer a plain PPI of the function by it. Below the `least_epsilon` its
    worst pairs have more cases than the audit's data sets. `adjacencies` are those it is for.
    """

    mechanism: str
    function: str
    kind: type[Mechanism]
    task: MakeTask
    bounds: Bounds
    small: Bounds
    width: int
    asked: bool
    least_epsilon: Fraction
    adjacencies: tuple[Adjacency, ...]

    def make(
        self, bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool
    ) -> Mechanism:
        return self.kind.made_for(self.task(bounds, epsilon, adjacency, integral=integral))

    @property
    def target(self) -> float:
        """The limit that those which aim at one aim at."""
        return float(_limit_within(self.bounds).value)


# --- tasks ----------------------------------------------------------------------------


def _limit_within(bounds: Bounds) -> Limit:
    return Limit(bounds.low + bounds.width / 4, at_most=True)


def _value(
    function: str, bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool
) -> Task:
    """As a planner asks; the declared range of a sum is that of some cases."""
    whole = integral or function == "share"
    reach = Bounds(_MOST_IN_SUM * min(bounds.low, Fraction(0)), _MOST_IN_SUM * bounds.high)
    return Task(function, bounds, epsilon, adjacency, whole, output_range=reach)


def _loose(
    function: str, bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool
) -> Task:
    return Task(function, bounds, epsilon, adjacency, integral, loose=Looseness(_OCTAVES))


def _at_target(
    function: str,
    falloff: Fraction | None,
    bounds: Bounds,
    epsilon: Fraction,
    adjacency: Adjacency,
    *,
    integral: bool,
) -> Task:
    """The value, aimed at a limit; without a falloff, only whether the limit is kept."""
    limit = _limit_within(bounds)
    return Task(function, bounds, epsilon, adjacency, integral, limit=limit, falloff=falloff)


def _ratio(
    function: str,
    limit: Limit | None,
    bounds: Bounds,
    epsilon: Fraction,
    adjacency: Adjacency,
    *,
    integral: bool,
) -> Task:
    ratio = SumRatio(Fraction(1), bounds, within=function == PART_OF_WHOLE)
    return Task(function, bounds, epsilon, adjacency, integral, limit=limit, ratio=ratio)


def _formula(bounds: Bounds, epsilon: Fraction, adjacency: Adjacency, *, integral: bool) -> Task:
    """Of a quotient, over a range that it often leaves."""
    in_buckets = InBuckets(_quotient, 2, _BUCKETS)
    return Task(FORMULA, bounds, epsilon, adjacency, integral, in_buckets=in_buckets)


def _quotient(rows: Values) -> float | None:
    """The same in whatever order the cases come."""
    present = rows[~np.isnan(rows).any(axis=1)]
    if not len(present):
        return None
    with np.errstate(all="ignore"):
        return float(np.median(present[:, 0]) / np.median(present[:, 1]))


# --- families -------------------------------------------------------------------------


def _families(
    function: str,
    task: MakeTask,
    plain: MakeTask | None = None,
    *,
    bounds: Bounds = _SIGNED,
    width: int = 1,
    asked: bool = False,
    least_epsilon: Fraction = Fraction(0),
    mechanism: str = "",
) -> Iterator[Family]:
    """All that answer a task, but for those that answer the plain one in the same way."""
    small = _SMALL
    if function == "share":
        bounds = small = UNIT_INTERVAL
    for kind in registered():

        def answers(asked: MakeTask, adjacency: Adjacency, by: type[Mechanism] = kind) -> bool:
            return by.answers(asked(bounds, Fraction(1), adjacency, integral=False))

        adjacencies = tuple(adjacency for adjacency in Adjacency if answers(task, adjacency))
        if not adjacencies or (plain and answers(plain, adjacencies[0])):
            continue
        name = mechanism or kind.name
        yield Family(
            name, function, kind, task, bounds, small, width, asked, least_epsilon, adjacencies
        )


def families() -> Iterator[Family]:
    """Every mechanism that is registered, for all that it answers."""
    for function in _OF_CASES:
        yield from _families(function, partial(_value, function), asked=True)
    for function in _OF_CASES:
        aimed = partial(_at_target, function, _FALLOFF)
        yield from _families(function, aimed, partial(_value, function))
    for function in _OF_CASES:
        yield from _families(function, partial(_at_target, function, None), mechanism="decision")
    for function in sorted({*FUNCTIONS} - {"share"}):  # whose bounds are never loose
        loose, tight = partial(_loose, function), partial(_value, function)
        yield from _families(f"loose {function}", loose, tight, least_epsilon=_FOUR)
    ratios = partial(_families, "ratio", bounds=_POSITIVE, width=2)
    third = Limit(Fraction(1, 3), at_most=True)
    yield from ratios(partial(_ratio, PART_OF_WHOLE, None), asked=True)
    yield from ratios(partial(_ratio, RATIO, None))
    yield from ratios(partial(_ratio, RATIO, third), mechanism="decision")
    yield from _families("formula", _formula, width=3)
