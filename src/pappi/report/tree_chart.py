"""A PPI as a picture: its composition tree, and the sets of functions that may carry the noise.

After the paper's function composition trees, lying on their side: measures of cases need
room for their words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from textwrap import wrap

from pappi.ppinot.model import Ppi
from pappi.ppinot.sentences import sentence
from pappi.report.elements import Element, el
from pappi.report.figures import figure, identity, standalone, table
from pappi.report.numbers import MISSING, three_digits, with_unit
from pappi.report.palette import painted
from pappi.report.plain import plain, shortened
from pappi.report.tree_layout import LETTER, LINE, PADDING, Box, items_of, placed
from pappi.report.trees import SHOWN_SETS
from pappi.tree.admissible import AdmissibleSet, admissible_sets
from pappi.tree.composition import Inner, composition_tree, function_name
from pappi.values.quotes import Quote, QuotedSet

_MARGIN = 16.0
_LEAST_WIDTH = 560.0
_SIZE = 12
_SET_LETTERS, _SET_LINES = 130, 4


def ppi_svg(ppi: Ppi, recommended: Sequence[str] = ()) -> str:
    """The tree with its admissible sets beneath, as a file of its own.

    `recommended` names the functions of the set to mark, as a quote does: `ppi`, `ppi.rejected`.
    """
    return standalone(_drawing(ppi, _Marking(frozenset(recommended), "recommended")))


def composition_figure(ppi: Ppi, quote: Quote | None = None) -> Element:
    """The same for a page: with a quote, each set has its error, and the chosen one is marked."""
    if quote is None:
        return _drawing(ppi, _Marking(frozenset(), ""))
    known = {frozenset(option.functions): set_text(option, quote.unit) for option in _best(quote)}
    return _drawing(ppi, _Marking(frozenset(quote.functions), "chosen", known))


def composition_table(quote: Quote) -> Element:
    """Every way to release the PPI, and how far off each would be."""
    rows = [
        (
            " + ".join(function_name(path) for path in option.functions),
            option.mechanism or MISSING,
            " + ".join(f"{100 * share:.3g} %" for share in option.shares) or MISSING,
            error_text(option, quote.unit),
            "chosen" if option.chosen else plain(option.reason),
        )
        for option in quote.options
    ]
    headers = ("Noise in", "Mechanism", "Share of ε", "Within, 95 %", "Note")
    return table("Ways to release it", headers, rows, (3,))


@dataclass(frozen=True, slots=True)
class _Marking:
    """Which set is marked and how that is called; what is known of each set."""

    functions: frozenset[str]
    word: str
    known: Mapping[frozenset[str], str] = field(default_factory=dict)


def _drawing(ppi: Ppi, marking: _Marking) -> Element:
    root = composition_tree(ppi.measure)
    heading = list(_heading(ppi))
    boxes = placed(items_of(root), _MARGIN, _MARGIN + LINE * (len(heading) + 1))
    width = max(_LEAST_WIDTH, *(box.x + box.item.width + _MARGIN for box in boxes))
    bottom = max(box.y + box.item.height / 2 for box in boxes) + 2 * LINE
    listing = list(_sets(root, marking, width))
    body = [
        *_text_lines(heading, 0.0),
        *(edge for box in boxes for edge in _edge(box, boxes)),
        *(_box(box, marking.functions) for box in boxes),
        *_text_lines(listing, bottom),
    ]
    height = bottom + LINE * (len(listing) + 0.5) + _MARGIN
    ids = identity("tree", ppi.id, ppi.measure, marking.word, sorted(marking.functions))
    return figure(ppi.name, sentence(ppi), body, width, height, ids)


def _best(quote: Quote) -> Iterator[QuotedSet]:
    """Of each set its best way that needs no asking for; options come best first."""
    seen: set[frozenset[str]] = set()
    for option in quote.options:
        functions = frozenset(option.functions)
        if functions not in seen and not (option.mechanism and option.reason):
            seen.add(functions)
            yield option


def set_text(option: QuotedSet, unit: str) -> str:
    """How well a set would do, in a few words."""
    if option.mechanism is None:
        return option.reason
    return f"{option.mechanism}, {error_text(option, unit)}"


def error_text(option: QuotedSet, unit: str) -> str:
    error = option.typical_error if option.margin is None else option.margin
    if error is None:
        return MISSING if option.mechanism is None else "error not known"
    return (
        f"{'typically ' if option.margin is None else ''}± {with_unit(three_digits(error), unit)}"
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
    """A double frame says in grey what the tint says in colour."""
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
    found = list(islice(admissible_sets(root), SHOWN_SETS + 1))
    yield "heading", "Admissible sets: the functions of one of them carry the noise"
    for chosen in found[:SHOWN_SETS]:
        yield from _set_lines(chosen, marking, letters)
    if len(found) > SHOWN_SETS:
        yield "label", "… and more"
    if marking.functions:
        yield "label", f"Double frame: the functions of the {marking.word} set."
    if marking.known:
        yield "label", "±: within this of the value without noise, with 95 % confidence."


def _set_lines(chosen: AdmissibleSet, marking: _Marking, letters: int) -> Iterator[Line]:
    functions = frozenset(node.path for node in chosen)
    marked = functions == marking.functions
    names = ", ".join(plain(function_name(node.path)) for node in chosen[:SHOWN_SETS])
    more = ", …" if len(chosen) > SHOWN_SETS else ""
    text = f"{'▶' if marked else '·'} {{{names}{more}}}{f' ({marking.word})' if marked else ''}"
    if functions in marking.known:
        text += f": {plain(marking.known[functions])}"
    lines = wrap(text, letters, subsequent_indent="\N{NO-BREAK SPACE}" * 4)
    if len(lines) > _SET_LINES:
        lines = [*lines[:_SET_LINES], "…"]
    yield from (("heading" if marked else "label", line) for line in lines)
