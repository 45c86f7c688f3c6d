"""A PPI as a picture: its composition tree, and the sets of functions that may carry the noise.

After the paper's function composition trees, lying on their side: measures of cases need
room for their words. One self-contained SVG.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from textwrap import wrap

from pappi.ppinot.model import Ppi
from pappi.ppinot.sentences import sentence
from pappi.report.elements import Element, el
from pappi.report.palette import paint_css, painted, theme_css
from pappi.report.panels import FONT
from pappi.report.plain import plain, shortened
from pappi.report.tree_layout import LETTER, LINE, PADDING, Box, items_of, placed
from pappi.report.trees import SHOWN_SETS
from pappi.tree.admissible import AdmissibleSet, admissible_sets
from pappi.tree.composition import ROOT, Inner, composition_tree

_MARGIN = 16.0
_LEAST_WIDTH = 560.0
_SIZE = 12
_SET_LETTERS, _SET_LINES = 130, 4


def ppi_svg(ppi: Ppi, recommended: Sequence[str] = ()) -> str:
    """The tree with its admissible sets beneath.

    `recommended` names the functions of the set to mark, as a quote does: `ppi`, `ppi.rejected`.
    """
    root = composition_tree(ppi.measure)
    heading = list(_heading(ppi))
    boxes = placed(items_of(root), _MARGIN, _MARGIN + LINE * (len(heading) + 1))
    width = max(_LEAST_WIDTH, *(box.x + box.item.width + _MARGIN for box in boxes))
    bottom = max(box.y + box.item.height / 2 for box in boxes) + 2 * LINE
    listing = list(_sets(root, ppi.id, frozenset(recommended), width))
    height = bottom + LINE * len(listing) + _MARGIN
    return str(
        el(
            "svg",
            el("title", ppi.name),
            el("desc", sentence(ppi)),
            el("style", theme_css(".pp-tree") + paint_css()),
            painted("rect", "surface", width=width, height=height, rx=8),
            *_text_lines(heading, 0.0),
            *(edge for box in boxes for edge in _edge(box, boxes)),
            *(_box(box, ppi.id, frozenset(recommended)) for box in boxes),
            *_text_lines(listing, bottom),
            class_="pp-tree",
            role="img",
            aria_label=ppi.name,
            viewBox=f"0 0 {width:g} {height:g}",
            width=width,
            height=height,
            font_family=FONT,
            xmlns="http://www.w3.org/2000/svg",
        )
    )


Line = tuple[str, str]
"""A class of `palette`, and the words."""


def _heading(ppi: Ppi) -> Iterator[Line]:
    yield "heading", shortened(plain(f"{ppi.id}: {ppi.name}"), 90)


def _text_lines(lines: Sequence[Line], top: float) -> Iterator[Element]:
    for number, (paint, text) in enumerate(lines):
        yield painted(
            "text", paint, text, x=_MARGIN, y=top + LINE * (number + 1) + 8, font_size=_SIZE,
            font_weight=600 if paint == "heading" else None,
        )  # fmt: skip


# --- the tree -----------------------------------------------------------------------------


def _box(box: Box, name: str, recommended: frozenset[str]) -> Element:
    item = box.item
    noisy = isinstance(item.node, Inner) and item.node.path in recommended
    paint = "noisy" if noisy else "function" if isinstance(item.node, Inner) else "measure"
    top = box.y - item.height / 2
    return el(
        "g",
        el("title", f"{_named(item.node.path, name)} = {item.text}"),
        painted(
            "rect", paint, x=box.x, y=top, width=item.width, height=item.height,
            rx=6 if isinstance(item.node, Inner) else 2, stroke_width=2 if noisy else 1.2,
            fill_opacity=0.16 if noisy else None,
        ),
        *(
            painted(
                "text", "heading", line, x=box.x + PADDING, font_size=_SIZE,
                y=top + PADDING + LINE * (number + 0.62),
            )
            for number, line in enumerate(item.lines)
        ),
    )  # fmt: skip


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


def _sets(root: Inner, name: str, recommended: frozenset[str], width: float) -> Iterator[Line]:
    letters = min(int((width - 2 * _MARGIN) / LETTER), _SET_LETTERS)
    found = list(islice(admissible_sets(root), SHOWN_SETS + 1))
    yield "heading", "Admissible sets: the functions of one of them carry the noise"
    for chosen in found[:SHOWN_SETS]:
        yield from _set_lines(chosen, name, recommended, letters)
    if len(found) > SHOWN_SETS:
        yield "label", "… and more"


def _set_lines(
    chosen: AdmissibleSet, name: str, recommended: frozenset[str], letters: int
) -> Iterator[Line]:
    marked = recommended == {node.path for node in chosen}
    names = ", ".join(plain(_named(node.path, name)) for node in chosen[:SHOWN_SETS])
    more = ", …" if len(chosen) > SHOWN_SETS else ""
    text = f"{'▶' if marked else '·'} {{{names}{more}}}{' (recommended)' if marked else ''}"
    lines = wrap(text, letters, subsequent_indent="\N{NO-BREAK SPACE}" * 4)
    if len(lines) > _SET_LINES:
        lines = [*lines[:_SET_LINES], "…"]
    yield from (("heading" if marked else "label", line) for line in lines)


def _named(path: str, name: str) -> str:
    """
    >>> _named("ppi.rejected", "share")
    'share.rejected'
    """
    return name + path.removeprefix(ROOT)
