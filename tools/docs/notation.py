"""Every key and word of a catalogue, from its JSON Schema and the grammar of expressions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pappi.mechanisms import mechanism_names
from pappi.ppinot import Function
from pappi.ppinot.grammar import KEYWORDS
from pappi.ppinot.notations.template import Key
from pappi.ppinot.notations.yaml import catalogue_schema
from pappi.values import DURATIONS, Calendar
from tools.docs.markdown import code, joined, sentence, table

SCHEMA = Path(__file__).parents[2] / "schemas" / "catalogue.schema.json"
Schema = Mapping[str, Any]

INTRODUCTION = """\
# Keywords of a catalogue

Every key, where it may stand and what it means; [Writing a catalogue](../notation.md) explains them
with examples. Programs read [the JSON Schema](../../schemas/catalogue.schema.json). The words of
[sentences](../sentences.md) and of [other notations](../notations.md) have pages of their own.
"""
# The parts of a catalogue in the order of reading, by their names in the schema.
PARTS = {
    "ppi": "A PPI",
    "measure": "Measures of many cases",
    "caseMeasure": "Measures of one case",
    "condition": "Conditions on events",
    "occurrence": "Conditions within a sequence",
    "test": "Tests of one event",
    "instant": "Moments",
    "scope": "Scopes",
    "cases": "Which cases count",
    "target": "Targets",
    "bounds": "Bounds",
}


def schema_text() -> str:
    return json.dumps(catalogue_schema(), indent=2, ensure_ascii=False) + "\n"


def page() -> str:
    schema = catalogue_schema()
    parts = schema["$defs"]
    if parts.keys() != PARTS.keys():
        raise LookupError(f"tools/docs/notation.py and the schema: {parts.keys() ^ PARTS.keys()}")
    top = {name: value for name, value in schema.items() if name != "$defs"}
    sections = [_part("The catalogue", top)]
    sections += [_part(title, parts[name]) for name, title in PARTS.items()]
    return joined([INTRODUCTION, *sections, _words()])


def _part(title: str, part: Schema) -> str:
    rows: dict[tuple[str, str], None] = {}
    for key, field in _keys(part, ()):
        rows[code(key), _meaning(field)] = None
    fixed = [value for value in _values(part) if isinstance(value, str)]
    words = f"Or one of: {', '.join(map(code, fixed))}." if fixed and not rows else ""
    return joined([f"## {title}", table(("key", "meaning"), rows), words])


def _keys(part: Schema, above: tuple[str, ...]) -> Iterator[tuple[str, Schema]]:
    """Every key with what it holds; keys of an inner mapping with those above them."""
    for name, field in part.get("properties", {}).items():
        path = (*above, name)
        yield ": ".join(path), field
        yield from _keys(field, path)
    for inner in part.get("anyOf", ()):
        yield from _keys(inner, above)


def _values(part: Schema) -> Iterator[object]:
    yield from part.get("enum", ())
    for inner in (*part.get("anyOf", ()), *part.get("prefixItems", ())):
        yield from _values(inner)


def _meaning(field: Schema) -> str:
    told = sentence(field.get("description", ""))
    values = [value if isinstance(value, str) else json.dumps(value) for value in _values(field)]
    listed = f"One of {', '.join(map(code, values))}." if values else ""
    examples = [str(one) for one in field.get("examples", ())]
    such = f"Such as {code(examples[0])}." if examples else ""
    return " ".join(part for part in (told, listed, such) if part)


def words() -> dict[str, tuple[str, ...]]:
    """The fixed words that are no keys, by where they stand."""
    return {
        "Words of expressions": tuple(sorted((*KEYWORDS, "missing"))),
        "Functions of expressions": tuple(str(one.value) for one in Function),
        "Units of time": tuple(DURATIONS),
        "Periods of a scope": tuple(str(one.value) for one in Calendar),
        "Mechanisms of a release": mechanism_names(),
        "Targets": ("below", "at most", "above", "at least", "between"),
        "Lines of a template of sentences": tuple(str(key.value) for key in Key),
    }


def _words() -> str:
    rows = [(where, ", ".join(map(code, found))) for where, found in words().items()]
    return joined(["## Fixed words", table(("where", "words"), rows)])
