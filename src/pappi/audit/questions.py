"""What layer 3 asks the checkpoint: a PPI for each function, and two neighbouring data sets.

Cases are rows of small whole numbers a and b. In the log a case carries them as attributes
and has as many events of these names, so that a PPI can read either. Under add-remove it
reads the attribute, which may be missing; under replace the count, which every case has:
so the calibration of `replace` itself is what answers.

The pairs are such that ordinary outcomes tell them apart nearly as well as rare ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pappi.audit.neighbours import Data
from pappi.mechanisms.choose import OF_PUBLIC_NUMBER, quantile_level
from pappi.values.privacy import Adjacency

HIGHEST = 4
"""The values a and b lie between 0 and this."""

Pair = tuple[Data, Data]

_LIMITS = f"[0, {HIGHEST}]"
_NONE: Data = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A PPI in the notation, and the two data sets it is asked about.

    `keys` are more keys of the PPI, such as its target. `mechanism` is the one it is meant
    to be answered by.
    """

    mechanism: str
    adjacency: Adjacency
    epsilon: Fraction
    measure: str
    bounds: str
    pair: Pair
    keys: tuple[str, ...] = ()

    def catalogue(self, log: str) -> str:
        """One value a day: each is a sample."""
        keys = (f"measure: {self.measure}", f"bounds: {self.bounds}", "scope: every day")
        lines = ("log: " + log, "ppis:", "  - id: audited", *(f"    {k}" for k in keys + self.keys))
        return "\n".join(lines) + "\n"


def standard_question(
    mechanism: str, function: str, adjacency: Adjacency, epsilon: Fraction
) -> Question | None:
    """The question about one function over the cases; None if there is none yet."""
    pairs = _pairs(function)
    if pairs is None:
        return None
    measure, bounds = _measure(function, adjacency)
    # Of the means only this one must be asked for, and only where the number of cases is public.
    public = adjacency is Adjacency.REPLACE and OF_PUBLIC_NUMBER.get(function) == mechanism
    keys = (f"release: {{mechanism: {mechanism}}}",) if public else ()
    return Question(mechanism, adjacency, epsilon, measure, bounds, pairs[adjacency], keys)


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


def _pairs(function: str) -> dict[Adjacency, Pair] | None:
    if quantile_level(function) is not None:
        return _both((_rows(1, 3), _rows(1, 3, 4)), (_rows(1, 3), _rows(4, 3)))
    match function:
        case "sum" | "mean":
            return _both((_NONE, _rows(4)), (_rows(0), _rows(4)))
        case "share":
            return _both((_NONE, _rows(1)), (_rows(0), _rows(1)))
        case "max":
            return _both((_rows(3), _rows(3, 4)), (_rows(0, 3), _rows(4, 3)))
        case "min":
            return _both((_rows(1), _rows(1, 0)), (_rows(4, 1), _rows(0, 1)))
        case "ratio":
            return _both((_NONE, ((4.0, 4.0),)), (((0.0, 4.0),), ((4.0, 4.0),)))
        case _:
            return None


def _both(add_remove: Pair, replaced: Pair) -> dict[Adjacency, Pair]:
    return {Adjacency.ADD_REMOVE: add_remove, Adjacency.REPLACE: replaced}


def _rows(*values: int) -> Data:
    return tuple((float(value),) for value in values)
