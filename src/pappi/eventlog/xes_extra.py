"""What does not fit a flat column, kept as JSON without loss.

The text column `extra` (trace level: `case:extra`) holds a list of nodes

    {"type": "int", "key": "cost", "value": "0", "children": [ … ]}

for everything a table cell cannot hold: lists, containers, attributes of attributes,
a second attribute of the same key, whole numbers beyond 64 bits, unknown elements.
`value` is the text exactly as in the file, or null if the file has none. An attribute
that has children and whose own value *is* in its column appears without `value`.
`children` appears only if there are any; lists and containers have neither value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

Node: TypeAlias = dict[str, Any]

_WITHOUT_VALUE = frozenset({"list", "container", "values"})


def whole_node(tag: str, attributes: Mapping[str, str]) -> Node:
    """A node that carries everything the element says."""
    node: Node = {"type": tag, "key": attributes.get("key")}
    if tag not in _WITHOUT_VALUE or "value" in attributes:
        node["value"] = attributes.get("value")
    return node


def stub_node(tag: str, attributes: Mapping[str, str]) -> Node:
    """A node for an attribute whose value is in its column: only there for its children."""
    return {"type": tag, "key": attributes.get("key")}


def extra_json(nodes: list[Node]) -> str:
    return json.dumps(nodes, ensure_ascii=False, separators=(",", ":"))
