"""Objects of PPINOT JSON, made from XML: each value stands where its element does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pappi.errors import Position
from pappi.ppinot.catalogue.document import ListNode, MapNode, Node, ScalarNode

Fields = dict[str, str | Node | None]


def text(value: str, position: Position) -> ScalarNode:
    return ScalarNode(value, position, plain=False, in_braces=False, origin=lambda _: position)


def record(fields: Mapping[str, str | Node | None], position: Position) -> MapNode:
    """An object; what is empty is left out."""
    entries = [
        (text(key, position), text(value, position) if isinstance(value, str) else value)
        for key, value in fields.items()
        if value is not None and value != ""
    ]
    return MapNode(tuple(entries), position)


def listing(nodes: Sequence[Node | str], position: Position) -> ListNode:
    items = (text(each, position) if isinstance(each, str) else each for each in nodes)
    return ListNode(tuple(items), position)
