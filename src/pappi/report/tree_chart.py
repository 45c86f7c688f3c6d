"""A PPI in words and as a picture: its composition tree, and the sets that may carry the noise.

These are the paper's function composition trees, drawn sideways, because measures of cases need
room for their words. The PPI is at the left, what reads cases at the right. A subtree takes as
much height as its leaves need, or its own box, and a node is in the middle of it. Two passes
over the nodes in order take linear time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from textwrap import wrap

from pappi.ppinot import (
    AdmissibleSet,
    AggregatedMeasure,
    Inner,
    Node,
    Ppi,
    admissible_sets,
    composition_tree,
    function_name,
    phrase,
    render,
    sentence,
)
from pappi.report.drawing import figure, identity, standalone
from pappi.report.markup import Element, el, painted, table
from pappi.report.numbers import printable, shortened
from pappi.report.wording import option_cells, option_error_text
from pappi.values import Quote, QuotedSet

# A formula over many formulas has exponentially many.
SHOWN_SETS = 20


def ppi_text(ppi: Ppi) -> str:
    """For the terminal: the PPI in words, its composition, where the noise may go."""
    root = composition_tree(ppi.measure)
    lines = [
        f"{ppi.id}: {ppi.name}",
        f"  {sentence(ppi)}",
        "",
        *(f"  {line}" for line in _drawn(root)),
        "",
        "  admissible sets (one of them carries the noise):",
        *_sets_text(root),
    ]
    return printable("\n".join(lines))


def _sets_text(root: Inner) -> Iterator[str]:
    sets = admissible_sets(root)
    for chosen in islice(sets, SHOWN_SETS):
        yield f"    {{{', '.join(function_name(node.path) for node in chosen)}}}"
    if any(True for _ in sets):
        yield "    … and more"


def _drawn(node: Node, prefix: str = "", branch: str = "") -> Iterator[str]:
    if not isinstance(node, Inner):
        yield f"{prefix}{branch}{_text(node)}"
        return
    yield f"{prefix}{branch}{function_name(node.path)} = {_text(node)}"
    below = prefix + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
    for child in node.children:
        yield from _drawn(child, below, "└─ " if child is node.children[-1] else "├─ ")


def ppi_svg(ppi: Ppi, recommended: Sequence[str] = ()) -> str:
    """The tree with its admissible sets beneath, as a file of its own.

    `recommended` names the functions of the set to mark, as a quote does: `ppi`, `ppi.rejected`.
    """
    return standalone(_drawing(ppi, _Marking(frozenset(recommended), "recommended")))


def composition_figure(ppi: Ppi, quote: Quote | None = None) -> Element:
    """The same for a page: with a quote, each set has its error, and the chosen one is marked."""
    if quote is None:
        return _drawing(ppi, _Marking(frozenset(), ""))
    notes = {
        frozenset(option.functions): option.reason
        if option.mechanism is None
        else f"{option.mechanism}, {option_error_text(option, quote.unit)}"
        for option in _best(quote)
    }
    return _drawing(ppi, _Marking(frozenset(quote.functions), "chosen", notes))


def composition_table(quote: Quote) -> Element:
    """Every way to release the PPI, and its margin."""
    rows = [option_cells(option, quote.unit) for option in quote.options]
    columns = dict.fromkeys(("Noise in", "Mechanism", "Share of ε", "Margin, 95 %", "Note"), "")
    return table("Ways to release it", {**columns, "Margin, 95 %": "number"}, rows)


LETTER = 6.8
LINE = 16.0
PADDING = 9.0
_GAP = 12.0
_EDGE = 46.0
_LEAST_BOX = 58.0
_LINES = 6
_FUNCTION_LETTERS, _MEASURE_LETTERS = 26, 44
_LONGEST = 2_000
_READS = {"base": "of", "filter": "only where", "group": "grouped by"}


@dataclass(frozen=True, slots=True)
class Item:
    """A node in words. `parent` is its index among the items, −1 for the root.

    Functions are in the column of their depth, measures of cases all in the last one.
    """

    node: Node
    column: int
    parent: int
    edge: str
    text: str
    lines: tuple[str, ...]

    @property
    def width(self) -> float:
        return max(LETTER * max(map(len, self.lines)) + 2 * PADDING, _LEAST_BOX)

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
    nodes: list[tuple[Node, int, int]] = []
    waiting: list[tuple[Node, int, int]] = [(root, 0, -1)]
    while waiting:
        node, depth, parent = waiting.pop()
        nodes.append((node, depth, parent))
        if isinstance(node, Inner):
            number = len(nodes) - 1
            waiting.extend((child, depth + 1, number) for child in reversed(node.children))
    last = max(depth for node, depth, _ in nodes if isinstance(node, Inner)) + 1
    return [
        _item(node, depth if isinstance(node, Inner) else last, parent)
        for node, depth, parent in nodes
    ]


def placed(items: Sequence[Item], left: float, top: float) -> list[Box]:
    columns = _columns(items, left)
    # How much height the children of each node take together.
    below = [0.0] * (len(items) + 1)
    for number in range(len(items) - 1, -1, -1):
        below[items[number].parent] += _height(items[number], below[number])
    # Where the next child of each node begins; the root's own parent, −1, is the last of them.
    begins = [0.0] * len(items) + [top]
    boxes: list[Box] = []
    for number, item in enumerate(items):
        start, height = begins[item.parent], _height(item, below[number])
        begins[item.parent] += height
        begins[number] = start + (height - below[number]) / 2
        boxes.append(Box(item, columns[item.column], start + height / 2))
    return boxes


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
    text = shortened(printable(_text(node)), _LONGEST)
    letters = _FUNCTION_LETTERS if isinstance(node, Inner) else _MEASURE_LETTERS
    lines = wrap(text, letters) or [""]
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], shortened(lines[_LINES - 1] + " …", letters)]
    # The variable a formula knows the node by, or what an aggregation does with it.
    last = node.path.rpartition(".")[2]
    role = last if isinstance(node, Inner) else _READS[last]
    edge = "" if parent < 0 else shortened(printable(role), _FUNCTION_LETTERS)
    return Item(node, column, parent, edge, text, tuple(lines))


def _text(node: Node) -> str:
    if not isinstance(node, Inner):
        return phrase(node.measure)
    if isinstance(node.measure, AggregatedMeasure):
        return node.measure.called
    return render(node.measure.formula)


_MARGIN = 16.0
_LEAST_WIDTH = 560.0
_SIZE = 12
_SET_LETTERS, _SET_LINES = 130, 4


@dataclass(frozen=True, slots=True)
class _Marking:
    """Which set is marked and with what word; a note for each set that has one."""

    functions: frozenset[str]
    word: str
    known: Mapping[frozenset[str], str] = field(default_factory=dict)


def _drawing(ppi: Ppi, marking: _Marking) -> Element:
    root = composition_tree(ppi.measure)
    heading = ("heading", shortened(printable(f"{ppi.id}: {ppi.name}"), 90))
    boxes = placed(items_of(root), _MARGIN, _MARGIN + 2 * LINE)
    width = max(_LEAST_WIDTH, *(box.x + box.item.width + _MARGIN for box in boxes))
    bottom = max(box.y + box.item.height / 2 for box in boxes) + 2 * LINE
    listing = list(_sets(root, marking, width))
    body = [
        *_text_lines([heading], 0.0),
        *(edge for box in boxes for edge in _edge(box, boxes)),
        *(_box(box, marking.functions) for box in boxes),
        *_text_lines(listing, bottom),
    ]
    height = bottom + LINE * (len(listing) + 0.5) + _MARGIN
    ids = identity("tree", ppi.id, ppi.measure, marking.word, sorted(marking.functions))
    return figure(ppi.name, sentence(ppi), body, width, height, ids)


def _best(quote: Quote) -> Iterator[QuotedSet]:
    """The best default option of each set; options come best first."""
    seen: set[frozenset[str]] = set()
    for option in quote.options:
        functions = frozenset(option.functions)
        if functions not in seen and not (option.mechanism and option.reason):
            seen.add(functions)
            yield option


Line = tuple[str, str]
"""A class of `style.painted`, and the words."""


def _text_lines(lines: Sequence[Line], top: float) -> Iterator[Element]:
    for number, (paint, text) in enumerate(lines):
        yield painted(
            "text", paint, text, x=_MARGIN, y=top + LINE * (number + 1) + 8, font_size=_SIZE,
            font_weight=600 if paint == "heading" else None,
        )  # fmt: skip


# --- the tree -----------------------------------------------------------------------------


def _box(box: Box, recommended: frozenset[str]) -> Element:
    item = box.item
    noisy = isinstance(item.node, Inner) and item.node.path in recommended
    paint = "noisy" if noisy else "function" if isinstance(item.node, Inner) else "measure"
    top = box.y - item.height / 2
    return el(
        "g",
        el("title", f"{function_name(item.node.path)} = {item.text}"),
        painted(
            "rect", paint, x=box.x, y=top, width=item.width, height=item.height,
            rx=6 if isinstance(item.node, Inner) else 2, stroke_width=2 if noisy else 1.2,
            fill_opacity=0.16 if noisy else None,
        ),
        _inner_frame(box, top) if noisy else None,
        *(
            painted(
                "text", "heading", line, x=box.x + PADDING, font_size=_SIZE,
                y=top + PADDING + LINE * (number + 0.62),
            )
            for number, line in enumerate(item.lines)
        ),
    )  # fmt: skip


def _inner_frame(box: Box, top: float) -> Element:
    """A double frame, for those who cannot see the tint."""
    width, height = box.item.width - 6, box.item.height - 6
    frame = f"M{box.x + 3:.1f} {top + 3:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}z"
    return painted("path", "stripe", d=frame, fill="none", stroke_width=1)


def _edge(box: Box, boxes: Sequence[Box]) -> Iterator[Element]:
    if box.item.parent < 0:
        return
    above = boxes[box.item.parent]
    start, end = above.x + above.item.width, box.x
    turn = start + 12
    bend = f"C{turn + 8:.1f} {above.y:.1f} {turn:.1f} {box.y:.1f} {turn + 10:.1f} {box.y:.1f}"
    path = f"M{start:.1f} {above.y:.1f}H{turn:.1f}{bend}H{end:.1f}"
    yield painted("path", "edge", d=path, fill="none", stroke_width=1.2)
    yield painted(
        "text", "edge-text", box.item.edge, x=end - 6, y=box.y - 4, font_size=_SIZE,
        font_style="italic", text_anchor="end", stroke_width=3, paint_order="stroke",
    )  # fmt: skip


# --- the sets -----------------------------------------------------------------------------


def _sets(root: Inner, marking: _Marking, width: float) -> Iterator[Line]:
    letters = min(int((width - 2 * _MARGIN) / LETTER), _SET_LETTERS)
    sets = admissible_sets(root)
    yield "heading", "Admissible sets: the functions of one of them carry the noise"
    for chosen in islice(sets, SHOWN_SETS):
        yield from _set_lines(chosen, marking, letters)
    if any(True for _ in sets):
        yield "label", "… and more"
    if marking.functions:
        yield "label", f"Double frame: the functions of the {marking.word} set."
    if marking.known:
        yield "label", "±: 95 % margin of error."


def _set_lines(chosen: AdmissibleSet, marking: _Marking, letters: int) -> Iterator[Line]:
    functions = frozenset(node.path for node in chosen)
    marked = functions == marking.functions
    names = ", ".join(printable(function_name(node.path)) for node in chosen[:SHOWN_SETS])
    more = ", …" if len(chosen) > SHOWN_SETS else ""
    text = f"{'▶' if marked else '·'} {{{names}{more}}}{f' ({marking.word})' if marked else ''}"
    if functions in marking.known:
        text += f": {printable(marking.known[functions])}"
    lines = wrap(text, letters, subsequent_indent="\N{NO-BREAK SPACE}" * 4)
    if len(lines) > _SET_LINES:
        lines = [*lines[:_SET_LINES], "…"]
    yield from (("heading" if marked else "label", line) for line in lines)
