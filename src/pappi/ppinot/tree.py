"""A PPI as a tree of functions, after the paper's section on composition trees.

    composition_tree    the tree; aggregated_measures, functions and leaves walk it
    admissible_sets     which functions may carry the noise
    aggregate           the value of an aggregated measure, from what cases contribute
    value_above, …      what is computed above an admissible set: free post-processing

Inner nodes are multi-instance measures, leaves are single-instance measures: what reads a trace.
A filter and a group key read traces as well, so they are leaves of their aggregated measure;
leaving them out would leave them unprotected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pappi.ppinot.evaluation import bound, evaluate
from pappi.ppinot.expressions import Binary, Expression, Name, NumberLiteral, Operator, walk
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    DerivedMultiInstance,
    MultiInstance,
    SingleInstance,
)

ROOT = "ppi"
VALUE = "value"
"""What a PPI's own function is called, beside its variables."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A measure that reads traces; `path` is where it stands, e.g. `ppi.rejected.base`."""

    path: str
    measure: SingleInstance


@dataclass(frozen=True, slots=True)
class Inner:
    """A measure over many cases, and what it is computed from."""

    path: str
    measure: MultiInstance
    children: tuple[Node, ...]


Node = Leaf | Inner


def composition_tree(measure: MultiInstance, path: str = ROOT) -> Inner:
    if isinstance(measure, DerivedMultiInstance):
        below = (composition_tree(child, f"{path}.{name}") for name, child in measure.variables)
        return Inner(path, measure, tuple(below))
    by = measure.grouping.by if measure.grouping else None
    readers = {"base": measure.base, "filter": measure.filter, "group": by}
    leaves = (Leaf(f"{path}.{name}", it) for name, it in readers.items() if it is not None)
    return Inner(path, measure, tuple(leaves))


def function_name(path: str) -> str:
    """What people call the function at a path, in a release and wherever it is shown.

    >>> function_name("ppi"), function_name("ppi.rejected")
    ('value', 'rejected')
    """
    return path.removeprefix(ROOT).removeprefix(".") or VALUE


def functions(node: Node) -> Iterator[Inner]:
    """A node and all below it that are measures of many cases, from left to right."""
    if isinstance(node, Inner):
        yield node
        for child in node.children:
            yield from functions(child)


def leaves(node: Node) -> Iterator[Leaf]:
    """The trace-based measures below a node."""
    if isinstance(node, Leaf):
        yield node
        return
    for child in node.children:
        yield from leaves(child)


def aggregated_measures(
    measure: MultiInstance, path: str = ROOT
) -> Iterator[tuple[str, AggregatedMeasure]]:
    """Every aggregated measure a value is computed from, with its path."""
    if isinstance(measure, AggregatedMeasure):
        yield path, measure
        return
    for name, child in measure.variables:
        yield from aggregated_measures(child, f"{path}.{name}")


def with_aggregated(
    measure: MultiInstance,
    change: Callable[[str, AggregatedMeasure], AggregatedMeasure],
    path: str = ROOT,
) -> MultiInstance:
    """The measure with a change made to each aggregated one, which is given with its path."""
    if isinstance(measure, AggregatedMeasure):
        return change(path, measure)
    variables = (
        (name, with_aggregated(child, change, f"{path}.{name}"))
        for name, child in measure.variables
    )
    return replace(measure, variables=tuple(variables))


# --- admissible sets ------------------------------------------------------------------
#
# The paper calls a set of measures admissible if it (1) holds multi-instance
# measures only, (2) covers every leaf, and (3) is minimal: no proper subset
# covers every leaf. In a tree these are exactly the cuts, with one chosen node on
# every path from the root to a leaf: if two chosen nodes lay on one path, the
# lower one could be dropped. So they are enumerated from the root, either cutting
# at a node or, where no leaf hangs directly on it, in each of its children.


AdmissibleSet = tuple[Inner, ...]


def admissible_sets(
    root: Inner, can_cut: Callable[[Inner], bool] = lambda _: True
) -> Iterator[AdmissibleSet]:
    """Every admissible set, the root alone first.

    There may be exponentially many. `can_cut` leaves out the sets with a node it
    refuses, without going through them.
    """
    if can_cut(root):
        yield (root,)
    inner = [child for child in root.children if isinstance(child, Inner)]
    if inner and len(inner) == len(root.children):
        yield from _combined(inner, can_cut)


def _combined(nodes: Sequence[Inner], can_cut: Callable[[Inner], bool]) -> Iterator[AdmissibleSet]:
    """A cut of each node, in every combination, without first listing them all."""
    if not nodes:
        yield ()
        return
    for cut in admissible_sets(nodes[0], can_cut):
        for rest in _combined(nodes[1:], can_cut):
            yield (*cut, *rest)


# --- aggregates -----------------------------------------------------------------------
#
# A value here is a function of the set of contributions, never of their order: ranges, threads and
# engines decide in which order cases come, and so may one more case. Floats added up one after the
# other end in other last bits, and a formula can make anything of a last bit. So a sum is the exact
# one, rounded once at the end, and a zero has no sign.


_FEW = 1000
_CHUNK = 2**14  # small enough for the caches; and so few numbers of 27 bits add up exactly
_MANTISSA, _HALF = 53, 27
_WHOLE = 2.0**62  # the sum of the sizes of numbers, of which 64 bits hold twice as much


def aggregate(measure: AggregatedMeasure, contributions: NDArray[np.float64]) -> float | None:
    """The exact value; NaN contributions do not count, and without any there is no value."""
    (value,) = aggregates(measure, contributions, np.array([0, contributions.size]))
    return value


def aggregates(
    measure: AggregatedMeasure, contributions: NDArray[np.float64], cuts: NDArray[np.intp]
) -> list[float | None]:
    """The exact value of each group, whose contributions lie from one cut to the next."""
    counts = ~np.isnan(contributions)
    before = np.count_nonzero(counts[: cuts[0]])
    sizes = counted(counts, cuts)
    up_to = before + np.concatenate(([0], np.cumsum(sizes)))
    values = contributions if sizes.sum() == contributions.size else contributions[counts]
    if measure.function is Aggregation.COUNT:
        return list(sizes.astype(np.float64).tolist())
    if measure.function is Aggregation.SUM:
        return list(_sums(values, up_to))
    filled = sizes > 0
    aggregated: list[float | None] = [None] * sizes.size
    of_filled = _of_filled(measure, values, np.append(up_to[:-1][filled], up_to[-1]))
    for group, value in zip(np.flatnonzero(filled).tolist(), of_filled, strict=True):
        aggregated[group] = value
    return aggregated


def counted(holds: NDArray[np.bool_], cuts: NDArray[np.intp]) -> NDArray[np.int64]:
    """How many hold in each group, which lies from one cut to the next.

    >>> counted(np.array([True, False, True, True]), np.array([0, 1, 1, 4])).tolist()
    [1, 0, 2]
    """
    number = np.count_nonzero(holds)
    if number in (0, holds.size):  # as is mostly so: of values that are missing, or out of bounds
        return np.diff(cuts) * bool(number)
    if cuts.size == 2:  # without groups there is one, and nothing need be added up to its ends
        return np.array([np.count_nonzero(holds[cuts[0] : cuts[1]])])
    return np.diff(np.concatenate(([0], np.cumsum(holds)))[cuts])


def _ranked(values: NDArray[np.float64], percent: int) -> float:
    """A value that so many lie below, or between two such values their midpoint.

    As numpy's `averaged_inverted_cdf`, which would load its masked arrays into every preview.
    """
    last, place = len(values) - 1, len(values) * (percent / 100) - 1
    below = math.floor(place)
    at, after = min(max(below, 0), last), min(max(below + 1, 0), last)
    ordered = np.partition(values, (at, after))
    low, high = float(ordered[at]), float(ordered[after])
    return high - (high - low) * 0.5 if place == below else high


def _of_filled(
    measure: AggregatedMeasure, values: NDArray[np.float64], cuts: NDArray[np.intp]
) -> list[float]:
    """The same where every group has values."""
    if not values.size:
        return []
    match measure.function:
        case Aggregation.MIN:
            ranked = np.minimum.reduceat(values[: cuts[-1]], cuts[:-1])
        case Aggregation.MAX:
            ranked = np.maximum.reduceat(values[: cuts[-1]], cuts[:-1])
        case Aggregation.MEDIAN | Aggregation.PERCENTILE | Aggregation.DISTRIBUTION:
            # As the interval mechanism has it: a value that so many lie below, or a midpoint.
            percent = measure.percent or 50
            ranked = np.array([_ranked(own, percent) for own in _slices(values, cuts)])
        case _:
            sizes = np.diff(cuts).tolist()
            return [total / size for total, size in zip(_sums(values, cuts), sizes, strict=True)]
    # Of 0.0 and -0.0, the order would decide which is the least.
    return list((ranked + 0.0).tolist())


def _sums(values: NDArray[np.float64], cuts: NDArray[np.intp]) -> list[float]:
    """Of each group, exactly: whole numbers are added up as such."""
    if not _are_whole(values):
        return [exact_sum(own) for own in _slices(values, cuts)]
    if cuts.size == 2:
        return [float(values[cuts[0] : cuts[1]].sum(dtype=np.int64))]
    up_to = np.concatenate(([0], np.cumsum(values, dtype=np.int64)))[cuts]
    return list(np.diff(up_to).astype(np.float64).tolist())


def _are_whole(values: NDArray[np.float64]) -> bool:
    """Whether they are whole numbers, of which 64 bits hold the sum of any."""
    sizes = 0.0
    for start in range(0, values.size, _CHUNK):
        some = values[start : start + _CHUNK]
        with np.errstate(over="ignore"):
            sizes += float(np.abs(some).sum())
        if sizes >= _WHOLE or not (some == np.rint(some)).all():
            return False
    return True


def _slices(values: NDArray[np.float64], cuts: NDArray[np.intp]) -> Iterator[NDArray[np.float64]]:
    for start, end in pairwise(cuts.tolist()):
        yield values[start:end]


def exact_sum(values: NDArray[np.float64]) -> float:
    """The sum, rounded once: the same in whatever order the values come. Total, for any floats.

    Infinite if no float is as large; of infinities and what is no number, as floats have it.

    >>> exact_sum(np.array([1e16, 1.0, 1.0, -1e16]))
    2.0
    """
    if not np.isfinite(values).all():
        with np.errstate(invalid="ignore"):
            return float(values[~np.isfinite(values)].sum())
    if values.size <= _FEW:
        with suppress(OverflowError):  # on the way, which depends on the order
            return math.fsum(values.tolist())
    return _sum_of_whole_numbers(values)


def _sum_of_whole_numbers(values: NDArray[np.float64]) -> float:
    """The same for many: every float is a whole number times a power of two.

    Those of the same power are added up, in two halves of which no sum is ever rounded.
    """
    total = 0
    unit = int(np.finfo(np.float64).minexp) - 2 * _MANTISSA  # finer than any float
    for start in range(0, values.size, _CHUNK):
        mantissas, powers = np.frexp(values[start : start + _CHUNK])
        whole = mantissas * 2.0**_MANTISSA
        high = np.floor(whole * 2.0**-_HALF)
        low = whole - high * 2.0**_HALF
        lowest = int(powers.min())
        highs, lows = (np.bincount(powers - lowest, half) for half in (high, low))
        for power in np.flatnonzero((highs != 0) | (lows != 0)).tolist():
            at_power = (int(highs[power]) << _HALF) + int(lows[power])
            total += at_power << (power + lowest - _MANTISSA - unit)
    try:
        return total / (1 << -unit)  # rounded correctly, and once
    except OverflowError:
        return math.inf if total > 0 else -math.inf


# --- above an admissible set ----------------------------------------------------------
#
# Everything there is post-processing: free, and of any shape. Given what was released at some
# nodes, by path, these compute the value at the root, or the range it must lie in.


T = TypeVar("T")
Range = tuple[float, float]
Floats = NDArray[np.float64]


def value_above(measure: MultiInstance, released: Mapping[str, float | None]) -> float | None:
    """The measure's value; None where its formula has none, as in a division by zero."""

    def compute(measure: DerivedMultiInstance, values: Mapping[str, float | None]) -> float | None:
        value = evaluate(measure.formula, values)
        return float(value) if isinstance(value, (int, float)) else None

    return _above(measure, released, compute)


def range_above(measure: MultiInstance, released: Mapping[str, Range]) -> Range:
    """Where the measure's value lies if each released value lies in its range."""

    def compute(measure: DerivedMultiInstance, ranges: Mapping[str, Range]) -> Range:
        derived = {n for n, child in measure.variables if isinstance(child, DerivedMultiInstance)}
        return bound(measure.formula, ranges, may_be_missing=derived)

    return _above(measure, released, compute)


def values_above(measure: MultiInstance, released: Mapping[str, Floats]) -> Floats:
    """`value_above` for arrays of one length; NaN where there is no value."""
    return _above(measure, released, lambda derived, values: _values(derived.formula, values))


def _above(
    measure: MultiInstance,
    released: Mapping[str, T],
    compute: Callable[[DerivedMultiInstance, Mapping[str, T]], T],
    path: str = ROOT,
) -> T:
    """What was released of a measure, or else what its formula gives."""
    if path in released:
        return released[path]
    if isinstance(measure, AggregatedMeasure):
        raise KeyError(path)
    variables = {
        name: _above(child, released, compute, f"{path}.{name}")
        for name, child in measure.variables
    }
    return compute(measure, variables)


_ARITHMETIC: dict[Operator, Callable[[Floats, Floats], Floats]] = {
    Operator.ADD: lambda a, b: a + b,
    Operator.SUBTRACT: lambda a, b: a - b,
    Operator.MULTIPLY: lambda a, b: a * b,
    Operator.DIVIDE: lambda a, b: a / np.where(b == 0, np.nan, b),
}


def _values(formula: Expression, variables: Mapping[str, Floats]) -> Floats:
    """Arithmetic for all at once, anything else one by one."""
    match formula:
        case Name():
            return variables[formula.name]
        case NumberLiteral():
            return np.full(len(next(iter(variables.values()))), float(formula.value))
        case Binary(operator=operator) if operator in _ARITHMETIC:
            left, right = _values(formula.left, variables), _values(formula.right, variables)
            return _ARITHMETIC[operator](left, right)
    rows = zip(*(column.tolist() for column in variables.values()), strict=True)
    values = (evaluate(formula, dict(zip(variables, row, strict=True))) for row in rows)
    return np.array([value if isinstance(value, float) else math.nan for value in values])


def is_arithmetic(measure: MultiInstance) -> bool:
    """Whether `values_above` computes all of a measure for whole arrays at once."""
    if isinstance(measure, AggregatedMeasure):
        return True
    plain = all(
        isinstance(node, Name | NumberLiteral)
        or (isinstance(node, Binary) and node.operator in _ARITHMETIC)
        for node in walk(measure.formula)
    )
    return plain and all(is_arithmetic(child) for _, child in measure.variables)
