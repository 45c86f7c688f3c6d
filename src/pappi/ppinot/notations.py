"""All notations for PPIs: which one a file has, and reading and writing any of them.

    yaml, json   catalogues, the notation of PaPPI            read and written
    java         PPINOT JSON, of the Java reference           read and written
    text         sentences, after the patterns of PPINOT      read and written
    bpmn         the `ppiset` of a BPMN model                 read

The ending of a file's name tells most of them apart; two kinds of JSON, and files without a
known ending, are told by what they hold.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from pappi.errors import DefinitionError, InputError, Position, Problem, UsageError
from pappi.ppinot.bpmn import MAX_SIZE, bpmn_reading
from pappi.ppinot.catalogue import parse_catalogue, write_json, write_yaml
from pappi.ppinot.catalogue.document import ListNode, MapNode, Node, read_document
from pappi.ppinot.java.reading import Reading, java_reading
from pappi.ppinot.java.writing import write_java
from pappi.ppinot.model import Catalogue
from pappi.ppinot.wording import listed, quoted


class Notation(StrEnum):
    YAML = "yaml"
    JSON = "json"
    JAVA = "java"
    TEXT = "text"
    BPMN = "bpmn"


WRITTEN = (Notation.YAML, Notation.JSON, Notation.JAVA, Notation.TEXT)

_ENDINGS = {
    ".yaml": Notation.YAML,
    ".yml": Notation.YAML,
    ".bpmn": Notation.BPMN,
    ".xml": Notation.BPMN,
    ".txt": Notation.TEXT,
}
# UTF-8 takes at most four bytes a character; the exact limits are on characters.
_MOST_BYTES = 4 * MAX_SIZE + 4
_JAVA_ROOT = frozenset({"definitions", "processId", "measures", "measuredBy", "kind"})
_JAVA_ITEM = frozenset({"measuredBy", "kind"})
_JAVA_WORDS = re.compile(
    r'"(?:definitions|measuredBy|processId|baseMeasure|usedMeasureMap|changesToState)"\s*:'
)
_CATALOGUE = re.compile(r"^ppis[ \t]*:", re.MULTILINE)
_TEMPLATE = re.compile(r"^PPI[ \t]*:", re.MULTILINE | re.IGNORECASE)
_LOOKED_AT = 20_000


def read_definitions(
    path: Path | str, notation: str | None = None, log: str | None = None
) -> Catalogue:
    """The catalogue in a file of any notation; DefinitionError with every problem in it.

    `log` names the log the PPIs are about, where the file does not, or names another.
    """
    return definitions_in(path, notation, log).catalogue


def definitions_in(
    path: Path | str,
    notation: str | None = None,
    log: str | None = None,
    *,
    lifecycle: bool = True,
) -> Reading:
    """The same, with remarks; without `lifecycle` every event of the log is a completion."""
    path = Path(path)
    text = _text_of(path)
    chosen = _named(notation) if notation else notation_of(text, path.name)
    return parse_definitions(text, chosen, str(path), log, lifecycle=lifecycle)


def parse_definitions(
    text: str, notation: Notation, file: str, log: str | None = None, *, lifecycle: bool = True
) -> Reading:
    """The catalogue a text says in a notation, with remarks."""
    match notation:
        case Notation.JAVA:
            return java_reading(text, file, log, lifecycle=lifecycle)
        case Notation.BPMN:
            return bpmn_reading(text, file, log, lifecycle=lifecycle)
        case Notation.TEXT:
            from pappi.ppinot.sentences import read_template

            catalogue = read_template(text, file)
        case Notation.YAML | Notation.JSON:
            catalogue = parse_catalogue(text, file)
    return Reading(replace(catalogue, log=log) if log else catalogue)


def write_definitions(catalogue: Catalogue, notation: str) -> str:
    """The catalogue in a notation: yaml, json, java or text."""
    match _named(notation):
        case Notation.YAML:
            return write_yaml(catalogue)
        case Notation.JSON:
            return write_json(catalogue)
        case Notation.JAVA:
            return write_java(catalogue)
        case Notation.TEXT:
            from pappi.ppinot.sentences import write_template

            return write_template(catalogue)
    raise UsageError("BPMN is only read", hint=f"write {listed(WRITTEN)}")


def _named(notation: str) -> Notation:
    try:
        return Notation(notation)
    except ValueError:
        hint = f"the notations are {listed(Notation, 'and')}"
        raise UsageError(f"there is no notation {quoted(notation)}", hint=hint) from None


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be opened"
        raise InputError(f"{path}: {reason}", hint="give the path of a file with PPIs") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = Problem(Position(str(path), line, 1), "this is not UTF-8 text")
        raise DefinitionError([problem]) from None


# --- telling them apart ---------------------------------------------------------------


def notation_of(text: str, name: str = "") -> Notation:
    """The notation of a text, by the ending of its file's name and by what it holds."""
    ending = Path(name).suffix.lower()
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    start = text[:_LOOKED_AT].lstrip()
    if start.startswith(("{", "[")) or ending == ".json":
        return Notation.JAVA if _is_java(text) else Notation.JSON
    if start.startswith("<"):
        return Notation.BPMN
    is_template = _TEMPLATE.search(start) and not _CATALOGUE.search(start)
    return Notation.TEXT if is_template else Notation.YAML


def _is_java(text: str) -> bool:
    try:
        root = read_document(text, "", [])
    except DefinitionError:
        return bool(_JAVA_WORDS.search(text))
    if not isinstance(root, MapNode):
        return isinstance(root, ListNode) and any(map(_is_java_item, root.items))
    ppis = root.get("ppis")
    items = ppis.items if isinstance(ppis, ListNode) else ()
    return bool(_JAVA_ROOT & _keys(root)) or any(map(_is_java_item, items))


def _is_java_item(node: Node) -> bool:
    return bool(_JAVA_ITEM & _keys(node))


def _keys(node: Node) -> frozenset[str]:
    return (
        frozenset(key.text for key, _ in node.entries) if isinstance(node, MapNode) else frozenset()
    )
