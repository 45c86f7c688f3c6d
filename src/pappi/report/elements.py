"""A tiny element tree for SVG and HTML, in which everything is escaped.

The output is both HTML and well-formed XML, so that a chart can stand in a page
or alone, and a test can parse either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from pappi.report.numbers import MISSING
from pappi.report.safe_text import printable

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
    headers: Sequence[str],
    rows: Iterable[Sequence[TableCell]],
    styles: Mapping[int, str] | None = None,
) -> Element:
    """The first column names the row; `styles` are classes of columns, such as `number`."""
    classes = styles or {}
    head = [
        el("th", text, scope="col", class_="number" if classes.get(n) == "number" else None)
        for n, text in enumerate(headers)
    ]
    return el(
        "table",
        el("caption", caption),
        el("thead", el("tr", *head)),
        el("tbody", *(_row(row, classes) for row in rows)),
    )


def _row(cells: Sequence[TableCell], classes: Mapping[int, str]) -> Element:
    nodes = [(cell,) if isinstance(cell, Element | str) else cell for cell in cells]
    first = el("th", *nodes[0], scope="row", class_=classes.get(0))
    rest = [el("td", *cell, class_=classes.get(n)) for n, cell in enumerate(nodes[1:], start=1)]
    return el("tr", first, *rest)


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
