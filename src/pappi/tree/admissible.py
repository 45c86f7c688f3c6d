"""Admissible sets: which functions of a PPI may carry the noise.

The paper calls a set of measures admissible if it (1) holds multi-instance
measures only, (2) covers every leaf, and (3) is minimal: no proper subset
covers every leaf. In a tree these are exactly the cuts, with one chosen node on
every path from the root to a leaf: if two chosen nodes lay on one path, the
lower one could be dropped. So they are enumerated from the root, either cutting
at a node or, where no leaf hangs directly on it, in each of its children.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from pappi.tree.composition import Inner, Leaf

AdmissibleSet = tuple[Inner, ...]


def admissible_sets(root: Inner) -> Iterator[AdmissibleSet]:
    """Every admissible set, the root alone first."""
    yield (root,)
    inner = [child for child in root.children if isinstance(child, Inner)]
    if inner and len(inner) == len(root.children):
        for cuts in product(*(tuple(admissible_sets(child)) for child in inner)):
            yield tuple(node for cut in cuts for node in cut)


def leaves(node: Inner | Leaf) -> Iterator[Leaf]:
    """The trace-based measures below a node."""
    if isinstance(node, Leaf):
        yield node
        return
    for child in node.children:
        yield from leaves(child)
