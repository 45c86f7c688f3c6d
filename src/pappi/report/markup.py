"""HTML and SVG as a tiny element tree, in which everything is escaped; the look of documents.

The output is both HTML and well-formed XML, so that a chart can stand in a page or alone, and a
test can parse either.

Colours come in light and in dark. Verdict colours are bluish green and vermilion after Okabe and
Ito, darkened or lightened until they are readable as text; amber is bright where it fills a shape,
and the only light fill, in grey as well. No meaning depends on colour alone. A shape carries its
light colour as an attribute and also a class: viewers without CSS variables, and pages whose policy
forbids inline styles, still show it correctly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from pappi.report.numbers import MISSING, printable

Attribute = str | int | float | None

_VOID = frozenset({"meta", "br", "hr"})


@dataclass(frozen=True, slots=True)
class Element:
    """A tag with attributes and children; `str()` gives its markup."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Node, ...]

    def __str__(self) -> str:
        return "".join(_pieces(self))

    def __html__(self) -> str:
        """For templates: the markup is already escaped."""
        return str(self)


Node = Element | str
TableCell = Node | Sequence[Node]


def el(tag: str, /, *children: Node | None, **attributes: Attribute) -> Element:
    """An element; children and attributes that are None are left out.

    Attribute names are written with `_` for `-`; a `_` at the end is dropped. CSS is not escaped
    in HTML but is in XML, so a style may only hold what is the same in both.

    >>> print(el("text", "a < b", class_="pp-label", text_anchor="end", x=1.50))
    <text class="pp-label" text-anchor="end" x="1.5">a &lt; b</text>
    """
    if tag == "style" and any(mark in str(child) for child in children for mark in "<&"):
        raise ValueError("style sheets must not contain < or &")
    return Element(
        tag,
        tuple(
            (name.rstrip("_").replace("_", "-"), _written(value))
            for name, value in attributes.items()
            if value is not None
        ),
        tuple(child for child in children if child is not None),
    )


def bdi(text: str) -> Element:
    """Text from outside, isolated so that it cannot change the reading direction around it."""
    return el("bdi", text or MISSING)


def prose(text: str) -> Element:
    """The same for our own sentences, in which code is between backticks.

    >>> print(prose("add `--anyway`"))
    <bdi>add <code>--anyway</code></bdi>
    """
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # a backtick is unpaired
        return bdi(text)
    nodes = (el("code", piece) if n % 2 else piece for n, piece in enumerate(pieces) if piece)
    return el("bdi", *nodes)


def table(
    caption: str,
    columns: Mapping[str, str] | Sequence[str],
    rows: Iterable[Sequence[TableCell]],
) -> Element:
    """The first column names the row. Headers of columns may have a class, such as `number`."""
    classes = list(columns.values()) if isinstance(columns, Mapping) else [""] * len(columns)
    head = [
        el("th", text, scope="col", class_="number" if style == "number" else None)
        for text, style in zip(columns, classes, strict=True)
    ]
    return el(
        "table",
        el("caption", caption),
        el("thead", el("tr", *head)),
        el("tbody", *(_row(row, classes) for row in rows)),
    )


def _row(cells: Sequence[TableCell], classes: Sequence[str]) -> Element:
    nodes = [(cell,) if isinstance(cell, Element | str) else cell for cell in cells]
    first = el("th", *nodes[0], scope="row", class_=classes[0] or None)
    rest = zip(nodes[1:], classes[1:], strict=True)
    return el("tr", first, *(el("td", *cell, class_=style or None) for cell, style in rest))


def _pieces(element: Element) -> Iterator[str]:
    attributes = "".join(f' {name}="{_escaped(value)}"' for name, value in element.attributes)
    if element.tag in _VOID:
        yield f"<{element.tag}{attributes}/>"
        return
    yield f"<{element.tag}{attributes}>"
    for child in element.children:
        if isinstance(child, Element):
            yield from _pieces(child)
        else:
            yield child if element.tag == "style" else _escaped(child)
    yield f"</{element.tag}>"


def _written(value: str | float) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)


def _escaped(text: str) -> str:
    return escape(printable(text), quote=True)


# --- colours, style sheets, and the head of a document --------------------------------------

Theme = dict[str, str]
LIGHT: Theme = {
    "surface": "#ffffff",
    "ground": "#f6f7f9",
    "ink": "#18202b",
    "muted": "#545f6e",
    "grid": "#e4e8ed",
    "accent": "#2a5db0",
    "target": "#6b4a8f",
    "met": "#00705a",
    "missed": "#b23c06",
    "amber": "#7d5c00",
    "amber-fill": "#f0ab00",
    "undecided": "#545f6e",
}
DARK: Theme = {
    "surface": "#191f28",
    "ground": "#10141a",
    "ink": "#e8ecf2",
    "muted": "#a3aebd",
    "grid": "#2f3844",
    "accent": "#8ab4f8",
    "target": "#c9a8ec",
    "met": "#4fd1ac",
    "missed": "#ff9b6a",
    "amber": "#ffd75e",
    "amber-fill": "#ffd75e",
    "undecided": "#a3aebd",
}
# What each class of shape is painted with: CSS property → name of a colour.
_PAINT: dict[str, dict[str, str]] = {
    "surface": {"fill": "surface"},
    "heading": {"fill": "ink"},
    "label": {"fill": "muted"},
    "grid": {"stroke": "grid"},
    "axis": {"stroke": "muted"},
    "band": {"fill": "accent"},
    "whisker": {"stroke": "accent"},
    "arrow": {"fill": "accent"},
    "line": {"stroke": "accent"},
    "plain": {"fill": "accent", "stroke": "surface"},
    "raw": {"fill": "muted"},
    "target": {"stroke": "target"},
    "target-text": {"fill": "target", "stroke": "surface"},
    "met": {"fill": "met", "stroke": "surface"},
    "missed": {"fill": "missed", "stroke": "surface"},
    "undecided": {"fill": "surface", "stroke": "undecided"},
    "amber": {"fill": "amber-fill", "stroke": "amber"},
    "amber-or-red": {"fill": "surface", "stroke": "missed"},
    "tolerated": {"stroke": "amber"},
    "dots": {"fill": "amber"},
    "function": {"fill": "surface", "stroke": "accent"},
    "noisy": {"fill": "accent", "stroke": "accent"},
    "measure": {"fill": "ground", "stroke": "grid"},
    "edge": {"stroke": "muted"},
    "edge-text": {"fill": "ink", "stroke": "surface"},
    "spent": {"fill": "accent"},
    "held": {"fill": "surface", "stroke": "accent"},
    "stripe": {"stroke": "accent"},
    "unspent": {"fill": "grid"},
    "limit": {"stroke": "muted"},
    "own": {"fill": "target", "stroke": "surface"},
    "error": {"fill": "accent", "stroke": "accent"},
}


def painted(tag: str, paint: str, *children: Node | None, **attributes: Attribute) -> Element:
    """An SVG element of that class, with the light colours as attributes."""
    colours = {prop: LIGHT[name] for prop, name in _PAINT[paint].items()}
    return el(tag, *children, class_=f"pp-{paint}", **colours, **attributes)


def theme_css(selector: str) -> str:
    """The colours as variables, following the reader's light or dark preference on screens."""
    light, dark = _variables(LIGHT), _variables(DARK)
    return (
        f"{selector}{{{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{{selector}{{{dark}}}}}"
    )


def _variables(theme: Theme) -> str:
    return ";".join(f"--{name}:{colour}" for name, colour in theme.items())


CHART_CSS = "".join(
    f".pp-{paint}{{{';'.join(f'{prop}:var(--{name})' for prop, name in colours.items())}}}"
    for paint, colours in _PAINT.items()
)
"""The style of `painted` shapes, for pages that have the theme."""

_FOLDER = Path(__file__).parent
PAGE_CSS = f"{theme_css(':root')}{CHART_CSS}\n{(_FOLDER / 'document.css').read_text('utf-8')}"
DPO_CSS = f"\n{(_FOLDER / 'dpo.css').read_text('utf-8')}"

# A document allows itself nothing but its own style, wherever it is opened.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def document_html(
    title: str,
    header: Sequence[Node | None],
    main: Sequence[Node | None],
    *,
    skip: str,
    closing: str = "Made by PaPPI.",
    style: str = PAGE_CSS,
) -> str:
    """A self-contained document: no script, no request; it can be mailed, printed, archived.

    `skip` is what a reader who goes by keyboard can skip to.
    """
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", style),
    )
    place = skip.lower()
    body = el(
        "body",
        el("a", f"Skip to the {skip}", class_="skip", href=f"#{place}"),
        el("header", el("h1", bdi(title)), *header),
        el("main", *main, id=place),
        el("footer", el("p", closing)),
    )
    return f"<!DOCTYPE html>\n{el('html', head, body, lang='en')}\n"
