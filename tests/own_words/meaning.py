"""When two PPIs mean the same: for sentences, where details that nobody says do not count.

What counts: how values become one, what is measured, between which events, of which cases, by
which attribute, and, where the sentence names them, period and target. What does not: bounds,
units, names of variables, the keys of a group; first or last of several events unless it is said.
A sum or a mean of yes and no is the number, or the share, of the cases with yes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import yaml

from pappi.ppinot import (
    DerivedMultiInstance,
    DerivedSingleInstance,
    MultiInstance,
    Name,
    TextLiteral,
    parse_catalogue,
)
from pappi.values import Kind, Vocabulary

_UNSAID = ("bounds", "bounding", "within", "position", "keys")
_PICKS = ("pick", "start_pick", "end_pick")
_TRUTHS = ("ConditionMeasure", "StateMeasure", "DerivedSingleInstance")


def vocabulary_of(written: Mapping[str, Any]) -> Vocabulary:
    attributes = {name: Kind(kind) for name, kind in written["attributes"].items()}
    keys = {name: tuple(values) for name, values in written.get("keys", {}).items()}
    return Vocabulary(tuple(written["activities"]), attributes, keys)


def ppi_text(meant: Mapping[str, Any]) -> str:
    """A PPI without id and log, as a catalogue."""
    return yaml.safe_dump({"log": "any", "ppis": [{"id": "meant", **meant}]}, sort_keys=False)


def same_meaning(meant: Mapping[str, Any], reading: str, text: str) -> bool:
    """Whether a reading, as YAML, says what is meant by a sentence."""
    (wanted,) = parse_catalogue(ppi_text(meant)).ppis
    (read,) = parse_catalogue(reading).ppis
    says_which = re.search(r"\b(first|last)\b(?! \d)", text.lower())
    skipped = _UNSAID if says_which else (*_UNSAID, *_PICKS)
    if _meaning(wanted.measure, skipped) != _meaning(read.measure, skipped):
        return False
    if "scope" in meant and wanted.scope != read.scope:
        return False
    return "target" not in meant or wanted.target == read.target


def _meaning(measure: MultiInstance, skipped: Sequence[str]) -> str:
    return json.dumps(_reduced(_plain(measure, skipped, {})), sort_keys=True)


def _plain(node: Any, skipped: Sequence[str], variables: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """The model as nested lists and mappings, with what variables stand for in their place."""
    if isinstance(node, tuple):
        return [_plain(item, skipped, variables) for item in node]
    if isinstance(node, Enum):
        return node.value
    if not is_dataclass(node):
        return None if node is None else str(node)
    kind = type(node).__name__
    if isinstance(node, Name):
        return variables.get(node.name, {"is": "Name", "name": node.name})
    if isinstance(node, DerivedSingleInstance | DerivedMultiInstance):
        meant = {name: _plain(part, skipped, {}) for name, part in node.variables}
        missing = getattr(node, "missing", None)
        formula = _plain(node.formula, skipped, meant)
        return {"is": kind, "formula": formula, "missing": missing and missing.value}
    if isinstance(node, TextLiteral):
        # How a value is spelt that the log does not list, nobody can know.
        return {"is": kind, "value": " ".join(re.findall(r"\w+", node.value.lower()))}
    said = {
        field.name: _plain(getattr(node, field.name), skipped, variables)
        for field in fields(node)
        if field.name not in skipped
    }
    if said.get("operator") in ("and", "or"):
        # Which side comes first says nothing.
        first, second = sorted((said["left"], said["right"]), key=json.dumps)
        said |= {"left": first, "right": second}
    return {"is": kind, **said}


def _reduced(node: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(node, list):
        return [_reduced(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _reduced(value) for key, value in node.items()}
    if node.get("is") == "AggregatedMeasure" and node["base"]["is"] in _TRUTHS:
        is_all = node["base"].get("formula") == {"is": "TruthLiteral", "value": "True"}
        if node["function"] == "mean":
            node["function"] = "share"
        if node["function"] in ("sum", "count") and node["filter"] is None and not is_all:
            node |= {"function": "count", "filter": node["base"], "base": None}
        elif node["function"] == "count" and is_all:
            node["base"] = None
    return node
