"""The frame of a drawing, and the two ways it is used.

A *figure* is bare: classes and presentation attributes, for a page that serves `CHART_CSS`
and the theme, and may forbid inline styles. `standalone` gives the same drawing with its
style inside, for a file, a notebook or a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256

from pappi.report.elements import Element, Node, el
from pappi.report.palette import paint_css, painted, theme_css
from pappi.report.panels import FONT, SMALL

LETTER = 6.4
"""About the width of a letter at the small size."""

_KINDS = frozenset({"title", "desc"})


def identity(*parts: object) -> str:
    """The beginning of ids that do not collide with those of another drawing on a page."""
    return "pp" + sha256(repr(parts).encode()).hexdigest()[:8]


def figure(
    name: str, about: str, body: Iterable[Element], width: float, height: float, ids: str
) -> Element:
    """A bare drawing that says what it shows to those who hear it."""
    return el(
        "svg",
        el("title", name, id=f"{ids}-name"),
        el("desc", about, id=f"{ids}-about"),
        painted("rect", "surface", width=width, height=height, rx=8),
        *body,
        class_="pp-chart",
        role="img",
        aria_labelledby=f"{ids}-name {ids}-about",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        font_family=FONT,
    )


def standalone(drawing: Element) -> str:
    """A bare drawing with its style, as a document of its own."""
    style = el("style", theme_css(".pp-chart") + paint_css())
    named = [c for c in drawing.children if isinstance(c, Element) and c.tag in _KINDS]
    rest = [c for c in drawing.children if c not in named]
    space = ("xmlns", "http://www.w3.org/2000/svg")
    return str(
        replace(
            drawing,
            attributes=(*drawing.attributes, space),
            children=(*named, style, *rest),
        )
    )


def words(paint: str, text: str, x: float, y: float, *, anchor: str = "start") -> Element:
    """A line of small text."""
    return painted("text", paint, text, x=x, y=y, font_size=SMALL, text_anchor=anchor)


def table(
    caption: str, headers: Sequence[str], rows: Iterable[Sequence[Node]], numeric: Sequence[int]
) -> Element:
    """The numbers of a drawing: the first column names the row, `numeric` ones stand right."""
    style = dict.fromkeys(numeric, "number")
    head = [
        el("th", text, scope="col", class_=style.get(number)) for number, text in enumerate(headers)
    ]
    return el(
        "table",
        el("caption", caption),
        el("thead", el("tr", *head)),
        el("tbody", *(_row(row, style) for row in rows)),
    )


def _row(cells: Sequence[Node], style: dict[int, str]) -> Element:
    first = el("th", cells[0], scope="row", class_=style.get(0))
    rest = [el("td", cell, class_=style.get(n)) for n, cell in enumerate(cells[1:], start=1)]
    return el("tr", first, *rest)
