"""A tiny element tree for SVG and HTML, in which everything is escaped.

The output is both HTML and well-formed XML, so that a chart can stand in a page
or alone, and a test can parse either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from pappi.report.plain import plain

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
        """For templates: what is escaped already is not escaped again."""
        return str(self)


Node = Element | str


def el(tag: str, /, *children: Node | None, **attributes: Attribute) -> Element:
    """An element; children and attributes that are None are left out.

    Attribute names are written with `_` for `-`; a `_` at the end is dropped.

    >>> print(el("text", "a < b", class_="pp-label", text_anchor="end", x=1.50))
    <text class="pp-label" text-anchor="end" x="1.5">a &lt; b</text>
    """
    return Element(
        tag,
        tuple(
            (name.rstrip("_").replace("_", "-"), _written(value))
            for name, value in attributes.items()
            if value is not None
        ),
        tuple(child for child in children if child is not None),
    )


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
            yield _style_text(child) if element.tag == "style" else _escaped(child)
    yield f"</{element.tag}>"


def _written(value: str | float) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)


def _escaped(text: str) -> str:
    return escape(plain(text), quote=True)


def _style_text(css: str) -> str:
    """CSS stands in HTML as it is and in XML escaped: allow only what is the same in both."""
    if "<" in css or "&" in css:
        raise ValueError("style sheets must not contain < or &")
    return css
