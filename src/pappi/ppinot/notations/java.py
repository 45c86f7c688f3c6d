"""PPINOT JSON: the notation of the Java reference implementation.

A text is read as the objects of PPINOT's meta-model, and written from them. What is written can
be read back, and gives the same catalogue: also where it uses fields that Java PPINOT does not
know, of which `ignored_by_java` tells those that change a value there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.expressions.parser import located
from pappi.ppinot.model import Catalogue
from pappi.ppinot.notations.document import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_PROBLEMS,
    MAX_SIZE,
    Problems,
    Reading,
    read_document,
)
from pappi.ppinot.notations.metamodel.documents import document_json, reading_of, too_large
from pappi.ppinot.notations.metamodel.fields import Json
from pappi.values import quoted

CHANGING = frozenset(
    {
        *("occurrence", "among", "lifecycle", "element", "of", "startPick", "endPick"),
        *("openCycle", "percent", "typed", "missing", "holidays"),
        *("catalogue.scope", "catalogue.show", "catalogue.target"),
    }
)
"""Fields of ours that change what is computed."""

_PARAMETER = re.compile(r"\$\{[^}\n]{0,80}\}?")
# What YAML, as which documents are read, does not take as it is; and what Java would replace.
_ESCAPED = re.compile(r"[^ -~\n]|\$(?=\{)")


def read_java(
    text: str, file: str = "<json>", log: str | None = None, *, lifecycle: bool = True
) -> Reading:
    """The catalogue a PPINOT JSON text describes; DefinitionError with every problem in it.

    `log` names the log the PPIs are about, where the text does not. Without `lifecycle` every
    event of the log is a completion, and no attribute says so.
    """
    at = located(text, Position(file, 1, 1))
    parameters = [
        Problem(
            at(match.start()),
            f"the parameter {quoted(match[0])} has no value here",
            "write its value in its place",
        )
        for match, _ in zip(_PARAMETER.finditer(text), range(MAX_PROBLEMS), strict=False)
    ]
    if parameters:
        raise DefinitionError(parameters)
    problems = Problems()
    root = read_document(text, file, problems.found)
    return reading_of(root, log, problems, lifecycle=lifecycle)


def write_java(catalogue: Catalogue) -> str:
    """The catalogue as PPINOT JSON; UsageError if that would be too large to be read again."""
    document = document_json(catalogue)
    values = list(_values(document))
    nodes = sum(1 + (len(value) if isinstance(value, dict) else 0) for _, value, _ in values)
    depth = max(depth for _, _, depth in values)
    text = json.dumps(document, indent=2, ensure_ascii=False)
    text = _ESCAPED.sub(_escaped, text) + "\n"
    if depth > MAX_DEPTH or nodes > MAX_NODES or len(text) > MAX_SIZE:
        raise too_large()
    return text


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    printable = character.isprintable() and character != "$"
    return character if printable or ord(character) > 0xFFFF else f"\\u{ord(character):04x}"


def ignored_by_java(catalogue: Catalogue) -> tuple[str, ...]:
    """The fields in what is written that would change a value, and that Java ignores."""
    return tuple(sorted({name for name, _, _ in _values(document_json(catalogue))} & CHANGING))


def _values(document: Json) -> Iterator[tuple[str, object, int]]:
    """All values, with the name of their field, and how many lists and objects deep they are.

    Those in a list have no names, nor those in a map of measures, which are the writer's own.
    What a `catalogue` says is named after it.
    """
    waiting: list[tuple[str, object, int]] = [("", document, 0)]
    while waiting:
        name, value, depth = waiting.pop()
        depth += isinstance(value, dict | list)
        yield name, value, depth
        if isinstance(value, list):
            waiting += [("", inner, depth) for inner in value]
        elif isinstance(value, dict):
            whose = "catalogue." if name == "catalogue" else ""
            are_fields = name != "usedMeasureMap" and "." not in name
            named = ((f"{whose}{key}" if are_fields else "", it) for key, it in value.items())
            waiting += [(key, inner, depth) for key, inner in named]
