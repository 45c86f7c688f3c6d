"""JSON Schemas in a few words: what a field holds, and what may be left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tools.docs.markdown import code, sentence

Schema = Mapping[str, Any]


def shape_of(schema: Schema) -> str:
    """One schema as a phrase, with a link to what it refers to.

    >>> shape_of({"anyOf": [{"type": "string"}, {"type": "null"}]})
    'text or null'
    """
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(shape_of(one) for one in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(code(_written(value)) for value in values)
    return _plain(schema)


def _plain(schema: Schema) -> str:
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {shape_of(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {shape_of(schema['additionalProperties'])}"
    words = {"string": "text", "boolean": "true or false", "integer": "whole number"}
    return schema.get("format") or words.get(kind, str(kind))


def _written(value: object) -> str:
    """A fixed value as JSON and YAML write it."""
    return value if isinstance(value, str) else json.dumps(value)


def fields_of(schema: Schema) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of every field of an object."""
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        meaning = sentence(field.get("description", ""))
        parts = (field, *field.get("anyOf", ()))
        examples = [one for part in parts for one in part.get("examples", ())]
        if examples:
            meaning = f"{meaning} Such as {code(str(examples[0]))}.".strip()
        if name not in required:
            meaning = f"{meaning} May be left out.".strip()
        yield code(name), shape_of(field), meaning
