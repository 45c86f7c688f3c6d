"""All notations for PPIs: which one a file has, and reading and writing any of them.

    yaml, json   catalogues, the notation of PaPPI            read and written
    java         PPINOT JSON, of the Java reference           read and written
    text         sentences, after the patterns of PPINOT      read and written
    bpmn         the `ppiset` of a BPMN model                 read

The ending of a file's name tells most of them apart; two kinds of JSON, and files without a
known ending, are told by what they hold. In Python, definitions can also be a dict with the keys of
YAML, or be built (`builder`); measures of ppinot4py are read from its `objects`.

No notation knows another, except that a BPMN model draws the objects which PPINOT JSON writes out,
and that what these have no words for is written as in a catalogue. Each is in modules of its own:

    yaml         catalogues, PPIs, scopes; measures and conditions in `yaml_measures`
    java         documents, PPIs, scopes; `java_measures`, and the look-up of fields, `java_fields`
    sentences    measures and scopes, made of `sentence_phrases`; whole catalogues: `template`
    bpmn, objects, builder

What they share:

    document     texts into nodes, what is wrong with them, and YAML and JSON as they are laid out
    shapes       the small language that describes a notation once: it reads, writes, makes a schema
    quantities   numbers with units: bounds, epsilon, units, targets
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pappi.errors import DefinitionError, InputError, UsageError
from pappi.ppinot.model import Catalogue
from pappi.ppinot.notations.document import (
    MAX_FILE,
    ListNode,
    MapNode,
    Node,
    ReadCatalogue,
    file_text,
    read_document,
)
from pappi.ppinot.notations.yaml import catalogue_from, parse_catalogue, write_json, write_yaml
from pappi.values import listed, quoted

if TYPE_CHECKING:
    from pappi.ppinot.notations.builder import Indicator


class Reader(Protocol):
    """Reads a text of the given file.

    `log` is the log the PPIs are about, if the caller says; without `lifecycle` the log does not
    tell the start of an activity from its completion.
    """

    def __call__(
        self, text: str, file: str, log: str | None, /, *, lifecycle: bool
    ) -> ReadCatalogue: ...


@dataclass(frozen=True, slots=True)
class Format:
    """How a notation is read and, where it can be, written; which endings of files are its own."""

    read: Reader
    write: Callable[[Catalogue], str] | None = None
    endings: tuple[str, ...] = ()


def whole_catalogue(parse: Callable[[str, str], Catalogue]) -> Reader:
    """Reads a notation whose texts name their log themselves, and events as the model does."""

    def read(text: str, file: str, log: str | None, /, **_: bool) -> ReadCatalogue:
        catalogue = parse(text, file)
        return ReadCatalogue(replace(catalogue, log=log) if log else catalogue)

    return read


def _later(module: str, name: str) -> Callable[..., Any]:
    """A function of a notation whose module is loaded when it is first called."""

    def call(*given: object, **options: object) -> object:
        return getattr(import_module(f"{__name__}.{module}"), name)(*given, **options)

    return call


FORMATS: dict[str, Format] = {
    "yaml": Format(whole_catalogue(parse_catalogue), write_yaml, (".yaml", ".yml")),
    "json": Format(whole_catalogue(parse_catalogue), write_json),
    "java": Format(_later("java", "read_java"), _later("java", "write_java")),
    "text": Format(
        whole_catalogue(_later("template", "read_template")),
        _later("template", "write_template"),
        (".txt",),
    ),
    "bpmn": Format(_later("bpmn", "read_bpmn"), endings=(".bpmn", ".xml")),
}
"""Every notation there is, by name: a new one is a module of its own and a line here."""

WRITTEN = tuple(name for name, known in FORMATS.items() if known.write)

if TYPE_CHECKING:
    Notation = str
else:
    # The names as a type, which the service checks requests against and lists in its OpenAPI.
    Notation = StrEnum("Notation", {name.upper(): name for name in FORMATS})

_JAVA_ROOT = frozenset({"definitions", "processId", "measures", "measuredBy", "kind"})
_JAVA_ITEM = frozenset({"measuredBy", "kind"})
_JAVA_WORDS = re.compile(
    r'"(?:definitions|measuredBy|processId|baseMeasure|usedMeasureMap|changesToState)"\s*:'
)
_CATALOGUE = re.compile(r"^ppis[ \t]*:", re.MULTILINE)
_TEMPLATE = re.compile(r"^PPI[ \t]*:", re.MULTILINE | re.IGNORECASE)
_LOOKED_AT = 20_000


Definitions: TypeAlias = "str | Path | Catalogue | Mapping[str, object] | Indicator"
"""PPIs, however they are given: the path of a file in any notation, or its text if it has several
lines or is JSON or XML; a dict with the keys of YAML; a PPI built in Python; a catalogue.
"""

_TEXT = "definitions"


def read_definitions(
    definitions: Definitions, notation: str | None = None, log: str | None = None
) -> Catalogue:
    """The catalogue in a file of any notation, or in what else says PPIs: a text, a dict, ….

    DefinitionError with every problem in it. `log` names the log the PPIs are about, where the
    file does not, or names another.
    """
    return definitions_in(definitions, notation, log).catalogue


def definitions_in(
    definitions: Definitions,
    notation: str | None = None,
    log: str | None = None,
    *,
    lifecycle: bool = True,
) -> ReadCatalogue:
    """The same, with remarks; without `lifecycle` every event of the log is a completion."""
    if isinstance(definitions, str | Path):
        text, path = text_of(definitions)
        chosen = notation or notation_of(text, path.name if path else "")
        return parse_definitions(text, chosen, str(path or _TEXT), log, lifecycle=lifecycle)
    if isinstance(definitions, Mapping):
        catalogue = catalogue_from(definitions)
    elif isinstance(definitions, Catalogue):
        catalogue = definitions
    else:
        from pappi.ppinot.notations.builder import Indicator

        if not isinstance(definitions, Indicator):
            raise UsageError(f"a {type(definitions).__name__} is not a definition", hint=_WAYS)
        catalogue = (definitions if log is None else definitions.about(log)).catalogue
    return ReadCatalogue(replace(catalogue, log=log) if log else catalogue)


_WAYS = (
    "give the path of a file with PPIs, or the PPIs themselves: as text of several lines, as a "
    "dict, or built with pappi.mean(…), pappi.share(…), …"
)


def text_of(definitions: str | Path) -> tuple[str, Path | None]:
    """The text of definitions, and the file it is in, if it is not the text that was given.

    A text of one line is the path of a file, unless it is JSON or XML.

    >>> text_of("log: orders\\nppis: []")[1], text_of('{"log": "orders"}')[1]
    (None, None)
    """
    if isinstance(definitions, str) and (
        "\n" in definitions or definitions.lstrip()[:1] in ("{", "[", "<")
    ):
        return definitions, None
    path = Path(definitions)
    try:
        return file_text(path, MAX_FILE), path
    except InputError as error:
        if isinstance(definitions, Path):
            raise
        reason = error.message.removeprefix(f"{path}: ")
        raise InputError(f"no PPIs in {quoted(definitions)}: {reason}", hint=_WAYS) from None


def parse_definitions(
    text: str, notation: str, file: str, log: str | None = None, *, lifecycle: bool = True
) -> ReadCatalogue:
    """The catalogue a text says in a notation, with remarks."""
    return _format(notation).read(text, file, log, lifecycle=lifecycle)


def write_definitions(catalogue: Catalogue, notation: str) -> str:
    """The catalogue in a notation: yaml, json, java or text."""
    write = _format(notation).write
    if write is None:
        raise UsageError(f"{notation.upper()} is only read", hint=f"write {listed(WRITTEN)}")
    return write(catalogue)


def _format(notation: str) -> Format:
    if notation not in FORMATS:
        hint = f"the notations are {listed(FORMATS, 'and')}"
        raise UsageError(f"there is no notation {quoted(notation)}", hint=hint)
    return FORMATS[notation]


def notation_of(text: str, name: str = "") -> str:
    """The notation of a text, by the ending of its file's name and by what it holds."""
    ending = Path(name).suffix.lower()
    if own := [notation for notation, known in FORMATS.items() if ending in known.endings]:
        return own[0]
    start = text[:_LOOKED_AT].lstrip()
    if start.startswith(("{", "[")) or ending == ".json":
        return "java" if _is_java(text) else "json"
    if start.startswith("<"):
        return "bpmn"
    is_template = _TEMPLATE.search(start) and not _CATALOGUE.search(start)
    return "text" if is_template else "yaml"


def _is_java(text: str) -> bool:
    try:
        root = read_document(text, "", [])
    except DefinitionError:
        return bool(_JAVA_WORDS.search(text))
    ppis = root.get("ppis") if isinstance(root, MapNode) else root
    items = ppis.items if isinstance(ppis, ListNode) else ()
    return _has_key(root, _JAVA_ROOT) or any(_has_key(item, _JAVA_ITEM) for item in items)


def _has_key(node: Node, keys: frozenset[str]) -> bool:
    return isinstance(node, MapNode) and any(key.text in keys for key, _ in node.entries)
