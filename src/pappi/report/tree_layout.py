"""Where the boxes of a composition tree stand: the PPI at the left, what reads cases at the right.

A subtree takes as much height as its leaves need, or its own box, and a node stands in
the middle of it. Two passes over the nodes in order: the time is linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from pappi.ppinot.expressions.render import render
from pappi.ppinot.model import AggregatedMeasure
from pappi.ppinot.sentences import phrase
from pappi.report.plain import plain, shortened
from pappi.tree.composition import Inner, Node

LETTER = 6.8
LINE = 16.0
PADDING = 9.0
_GAP = 12.0
_EDGE = 46.0
_LEAST_WIDTH = 58.0
_LINES = 6
_FUNCTION_LETTERS, _MEASURE_LETTERS = 26, 44
_LONGEST = 2_000
_READS = {"base": "of", "filter": "only where", "group": "grouped by"}


@dataclass(frozen=True, slots=True)
class Item:
    """A node in words. `parent` is its number in the order of the items, −1 for the root.

    Functions stand in the column of their depth, measures of cases all in the last one.
    """

    node: Node
    column: int
    parent: int
    edge: str
    text: str
    lines: tuple[str, ...]

    @property
    def width(self) -> float:
        return max(LETTER * max(map(len, self.lines)) + 2 * PADDING, _LEAST_WIDTH)

    @property
    def height(self) -> float:
        return LINE * len(self.lines) + 2 * PADDING - 3


@dataclass(frozen=True, slots=True)
class Box:
    """An item in its place; `y` is the middle of its height."""

    item: Item
    x: float
    y: float


def items_of(root: Inner) -> list[Item]:
    """Every node, each before those below it, from the top to the bottom of the drawing."""
    found: list[tuple[Node, int, int]] = []
    waiting: list[tuple[Node, int, int]] = [(root, 0, -1)]
    while waiting:
        node, depth, parent = waiting.pop()
        found.append((node, depth, parent))
        if isinstance(node, Inner):
            number = len(found) - 1
            waiting.extend((child, depth + 1, number) for child in reversed(node.children))
    last = max(depth for node, depth, _ in found if isinstance(node, Inner)) + 1
    return [
        _item(node, depth if isinstance(node, Inner) else last, parent)
        for node, depth, parent in found
    ]


def placed(items: Sequence[Item], left: float, top: float) -> list[Box]:
    columns = _columns(items, left)
    below = _heights_below(items)
    # Where the next child of each node begins; the root's own parent, −1, is the last of them.
    begins = [0.0] * len(items) + [top]
    boxes: list[Box] = []
    for number, item in enumerate(items):
        start, height = begins[item.parent], _height(item, below[number])
        begins[item.parent] += height
        begins[number] = start + (height - below[number]) / 2
        boxes.append(Box(item, columns[item.column], start + height / 2))
    return boxes


def _heights_below(items: Sequence[Item]) -> list[float]:
    """How much height the children of each node take together."""
    below = [0.0] * (len(items) + 1)
    for number in range(len(items) - 1, -1, -1):
        below[items[number].parent] += _height(items[number], below[number])
    return below[:-1]


def _height(item: Item, below: float) -> float:
    return max(item.height + _GAP, below)


def _columns(items: Sequence[Item], left: float) -> list[float]:
    """The left edge of each column, with room for the words on the edges that lead there."""
    widths: dict[int, float] = {}
    edges: dict[int, float] = {}
    for item in items:
        widths[item.column] = max(widths.get(item.column, 0.0), item.width)
        edges[item.column] = max(edges.get(item.column, 0.0), LETTER * len(item.edge))
    columns = [left]
    for column in range(1, len(widths)):
        columns.append(columns[-1] + widths[column - 1] + edges[column] + _EDGE)
    return columns


# --- words --------------------------------------------------------------------------------


def _item(node: Node, column: int, parent: int) -> Item:
    text = shortened(plain(_text(node)), _LONGEST)
    letters = _FUNCTION_LETTERS if isinstance(node, Inner) else _MEASURE_LETTERS
    edge = "" if parent < 0 else shortened(plain(_edge(node)), _FUNCTION_LETTERS)
    return Item(node, column, parent, edge, text, _wrapped(text, letters))


def _text(node: Node) -> str:
    if not isinstance(node, Inner):
        return phrase(node.measure)
    if isinstance(node.measure, AggregatedMeasure):
        return node.measure.called
    return render(node.measure.formula)


def _edge(node: Node) -> str:
    """The variable a formula knows the node by, or what an aggregation does with it."""
    last = node.path.rpartition(".")[2]
    return last if isinstance(node, Inner) else _READS[last]


def _wrapped(text: str, letters: int) -> tuple[str, ...]:
    lines = wrap(text, letters) or [""]
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], shortened(lines[_LINES - 1] + " …", letters)]
    return tuple(lines)
