"""What programs may rely on in the HTTP interface, as both OpenAPI documents say it.

    python -m tests.golden.openapi

writes `openapi.json` anew, where a change is meant. Pinned are paths, methods, parameters, status
codes, media types, and of bodies the names of fields, their types, limits, and which are required.
Not pinned are texts for people (descriptions, titles, summaries, examples) and what classes
and functions are called: every schema stands where it is used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.docs.routes import applications

FILE = Path(__file__).with_name("openapi.json")
ACCEPT = "python -m tests.golden.openapi"
PROBLEM = "application/problem+json"

Json = Any

_FOR_PEOPLE = frozenset({"description", "title", "summary", "operationId", "examples", "example"})
# Under these, keys are names that programs use: a field may well be called "title".
_NAMED = frozenset({"properties", "patternProperties", "responses", "content", "headers"})
_SETS = frozenset({"required", "enum"})
_AS_IT_IS = frozenset({"default", "const"})
_SCHEMAS = "#/components/schemas/"


def documents() -> dict[str, Mapping[str, Json]]:
    """Of both applications as they are now."""
    return {each.title: each.document for each in applications()}


def promised(documents: Mapping[str, Mapping[str, Json]]) -> dict[str, Json]:
    return {title: promise(document) for title, document in documents.items()}


def promise(document: Mapping[str, Json]) -> dict[str, Json]:
    """The part of an OpenAPI document that must not move.

    Every failure has the same body; it is written once, under `problem`.
    """
    paths = {
        path: {how: _operation(one, document) for how, one in item.items()}
        for path, item in document["paths"].items()
    }
    replies = [
        reply["content"]
        for item in paths.values()
        for operation in item.values()
        for reply in operation["responses"].values()
        if PROBLEM in reply.get("content", {})
    ]
    problem = replies[0][PROBLEM] if replies else None
    for content in replies:
        if content[PROBLEM] == problem:
            content[PROBLEM] = "problem"
    return {"paths": paths, "problem": problem}


def _operation(operation: Mapping[str, Json], document: Mapping[str, Json]) -> dict[str, Json]:
    parts = {name: part for name, part in operation.items() if name not in ("security", "tags")}
    parts["parameters"] = {f"{one['in']} {one['name']}": one for one in parts.get("parameters", ())}
    schemes = document["components"]["securitySchemes"]
    keys = [schemes[name] for each in operation.get("security", ()) for name in each]
    stripped: dict[str, Json] = _stripped(parts, document, (), named=False)
    stripped["parameters"] = _stripped(parts["parameters"], document, (), named=True)
    return {**stripped, "security": _stripped(keys, document, (), named=False)}


def _stripped(
    value: Json, document: Mapping[str, Json], within: tuple[str, ...], *, named: bool
) -> Json:
    """Without texts for people, and with each schema in place of its name.

    `named`: the keys are names of fields, media types or the like, not OpenAPI's own words.
    """
    if isinstance(value, list):
        return [_stripped(each, document, within, named=False) for each in value]
    if not isinstance(value, dict):
        return value
    if not named and "$ref" in value:
        return _referred(value, document, within)
    found: dict[str, Json] = {}
    for name, part in value.items():
        if named:
            found[name] = _stripped(part, document, within, named=False)
        elif name in _SETS and isinstance(part, list):
            found[name] = sorted(part, key=str)
        elif name in _AS_IT_IS:
            found[name] = part
        elif name not in _FOR_PEOPLE:
            found[name] = _stripped(part, document, within, named=name in _NAMED)
    return found


def _referred(
    value: Mapping[str, Json], document: Mapping[str, Json], within: tuple[str, ...]
) -> Json:
    reference = value["$ref"]
    if reference in within:  # a schema inside itself: by how far up it began
        return {"as above": len(within) - within.index(reference)}
    schema = document["components"]["schemas"][reference.removeprefix(_SCHEMAS)]
    besides = {name: part for name, part in value.items() if name != "$ref"}
    return _stripped({**schema, **besides}, document, (*within, reference), named=False)


def pinned() -> dict[str, Json]:
    found: dict[str, Json] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    text = json.dumps(promised(documents()), indent=1, sort_keys=True, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")
