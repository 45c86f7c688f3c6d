"""A PPI in words: its sentence, its functions as a tree, its admissible sets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from pappi.ppinot.expressions.render import render
from pappi.ppinot.model import AggregatedMeasure, Ppi
from pappi.ppinot.sentences import phrase, sentence
from pappi.report.plain import plain
from pappi.tree.admissible import admissible_sets
from pappi.tree.composition import Inner, Node, composition_tree, function_name

# A formula over many formulas has exponentially many.
SHOWN_SETS = 20


def ppi_text(ppi: Ppi) -> str:
    """For the terminal: what is asked, how it is composed, where the noise may go."""
    root = composition_tree(ppi.measure)
    lines = [
        f"{ppi.id}: {ppi.name}",
        f"  {sentence(ppi)}",
        "",
        *(f"  {line}" for line in _drawn(root)),
        "",
        "  admissible sets, one of which carries the noise:",
        *_sets(root),
    ]
    return plain("\n".join(lines))


def _sets(root: Inner) -> Iterator[str]:
    for chosen in islice(admissible_sets(root), SHOWN_SETS):
        yield f"    {{{', '.join(function_name(node.path) for node in chosen)}}}"
    if any(True for _ in islice(admissible_sets(root), SHOWN_SETS, None)):
        yield "    … and more"


def _drawn(node: Node, prefix: str = "", branch: str = "") -> Iterator[str]:
    yield f"{prefix}{branch}{_label(node)}"
    if not isinstance(node, Inner):
        return
    below = prefix + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
    for child in node.children:
        yield from _drawn(child, below, "└─ " if child is node.children[-1] else "├─ ")


def _label(node: Node) -> str:
    if not isinstance(node, Inner):
        return phrase(node.measure)
    if isinstance(node.measure, AggregatedMeasure):
        return f"{function_name(node.path)} = {node.measure.called}"
    return f"{function_name(node.path)} = {render(node.measure.formula)}"
