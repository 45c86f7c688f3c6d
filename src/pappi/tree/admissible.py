"""Admissible sets: which functions of a PPI may carry the noise.

The paper calls a set of measures admissible if it (1) holds multi-instance
measures only, (2) covers every leaf, and (3) is minimal: no proper subset
covers every leaf. In a tree these are exactly the cuts, with one chosen node on
every path from the root to a leaf: if two chosen nodes lay on one path, the
lower one could be dropped. So they are enumerated from the root, either cutting
at a node or, where no leaf hangs directly on it, in each of its children.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pappi.tree.composition import Inner

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
