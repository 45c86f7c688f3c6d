"""A PPI as a tree of functions, after the paper's section on composition trees.

Inner nodes are multi-instance measures, leaves are single-instance measures:
what reads a trace. A filter and a group key read traces as well, so they are
leaves of their aggregated measure; leaving them out would leave them
unprotected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pappi.ppinot.model import (
    AggregatedMeasure,
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
    match measure:
        case AggregatedMeasure():
            return Inner(path, measure, tuple(_trace_readers(measure, path)))
        case DerivedMultiInstance(variables=variables):
            return Inner(
                path,
                measure,
                tuple(composition_tree(child, f"{path}.{name}") for name, child in variables),
            )


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


def _trace_readers(measure: AggregatedMeasure, path: str) -> Iterator[Leaf]:
    yield Leaf(f"{path}.base", measure.base)
    if measure.filter is not None:
        yield Leaf(f"{path}.filter", measure.filter)
    if measure.grouping is not None:
        yield Leaf(f"{path}.group", measure.grouping.by)
