"""The small language in which the catalogue notation is described, once.

A shape says what may stand at a place. The same description reads a document
into values, reporting every problem with its position, and writes the JSON
Schema for editors: the two cannot drift apart.

    Written     a text with a form of its own: a name, a date, an expression
    ListOf      several of a shape
    Record      a mapping with known keys (and perhaps named entries of one shape)
    Tagged      records that are told apart by the key they contain
    OneOf       shapes that are told apart by the type of the node
    Then        a shape whose value is turned into another
    Named       a shape with a name in the schema, so that shapes may be recursive

Reading gives None where a problem was reported: nothing is built on sand, and
the rest is still read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, cast

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.catalogue.document import BrokenNode, ListNode, MapNode, Node, ScalarNode
from pappi.ppinot.wording import closest, did_you_mean, listed, quoted
from pappi.values.working_time import WorkingCalendar

S = TypeVar("S")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Json = dict[str, Any]
Definitions = dict[str, Json]

MAX_PROBLEMS = 200
MAX_SUGGESTED = 100
"""Among how many names of the writer's a suggestion is sought: it must stay cheap."""


class Problems:
    """Everything found wrong so far.

    Reading knows one thing beside it: the `calendars` the catalogue names, wherever it does;
    None for those that are broken.
    """

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.calendars: Mapping[str, WorkingCalendar | None] = {}

    def add(self, position: Position, message: str, hint: str = "") -> None:
        self.extend([Problem(position, message, hint)])

    def extend(self, problems: Sequence[Problem]) -> None:
        self.found.extend(problems)
        if len(self.found) >= MAX_PROBLEMS:
            more = f"and perhaps more: reading stopped after {MAX_PROBLEMS} problems"
            raise DefinitionError([*self.found, Problem(self.found[-1].position, more)])


class Shape(Protocol[T_co]):
    def read(self, node: Node, problems: Problems, /) -> T_co | None: ...

    def schema(self, definitions: Definitions, /) -> Json: ...


def describe(node: Node) -> str:
    """What stands at a place, for messages."""
    match node:
        case ScalarNode():
            return quoted(node.text) if node.text else "nothing"
        case ListNode():
            return "a list" if node.items else "an empty list"
        case _:
            return "a mapping"


def _expected(what: str, node: Node, problems: Problems, hint: str = "") -> None:
    if not isinstance(node, BrokenNode):
        problems.add(node.position, f"expected {what}, found {describe(node)}", hint)


# --- texts ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written(Generic[T_co]):
    """A text of a certain form; `pattern` is both checked here and put in the schema.

    `types` are the JSON types an editor may take the text for.
    """

    what: str
    parse: Callable[[ScalarNode, Problems], T_co | None]
    example: str = ""
    pattern: str = r"\S"
    types: tuple[str, ...] = ("string",)

    def read(self, node: Node, problems: Problems) -> T_co | None:
        if isinstance(node, ScalarNode) and re.search(self.pattern, node.text):
            return self.parse(node, problems)
        _expected(self.what, node, problems, f"write e.g. {self.example}" if self.example else "")
        return None

    def schema(self, _: Definitions) -> Json:
        kind = self.types[0] if len(self.types) == 1 else list(self.types)
        examples = {"examples": [self.example]} if self.example else {}
        return {"type": kind, "pattern": self.pattern, "description": self.what, **examples}


def one_word_of(what: str, words: Mapping[str, T]) -> Written[T]:
    """One of several fixed words."""

    def parse(node: ScalarNode, problems: Problems) -> T | None:
        if node.text not in words:
            hint = did_you_mean(node.text, words, f"write {listed(words)}")
            problems.add(node.position, f"expected {what}, found {quoted(node.text)}", hint)
        return words.get(node.text)

    return _Words(what, parse, words=tuple(words))


@dataclass(frozen=True, slots=True)
class _Words(Written[T_co]):
    words: tuple[str, ...] = ()

    def schema(self, _: Definitions) -> Json:
        # An editor takes some words for more than texts.
        values = [{"true": True, "false": False}.get(word, word) for word in self.words]
        return {"enum": values, "description": self.what}


# --- lists ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListOf(Generic[T_co]):
    what: str
    item: Shape[T_co]
    least: int = 1
    most: int | None = None

    def read(self, node: Node, problems: Problems) -> tuple[T_co, ...] | None:
        if not isinstance(node, ListNode) or not self._fits(len(node.items)):
            _expected(self.what, node, problems)
            return None
        items = [self.item.read(item, problems) for item in node.items]
        whole = tuple(item for item in items if item is not None)
        return whole if len(whole) == len(items) else None

    def _fits(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)

    def schema(self, definitions: Definitions) -> Json:
        most = {} if self.most is None else {"maxItems": self.most}
        items = self.item.schema(definitions)
        return {"type": "array", "items": items, "minItems": self.least, **most}


# --- mappings -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Field(Generic[T_co]):
    """A key of a record. `doc` is what an editor shows when pointing at it."""

    key: str
    shape: Shape[T_co]
    doc: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Entries(Generic[T_co]):
    """Entries of one shape under names the writer chooses."""

    what: str
    hint: str
    shape: Shape[T_co]
    pattern: str


class Values:
    """What was read of a record; asking by field gives the field's own type.

    `named` are the entries under names the writer chose; broken ones are None.
    """

    def __init__(self, node: MapNode) -> None:
        self.position = node.position
        self.named: list[tuple[ScalarNode, Any]] = []
        self._read: dict[str, Any] = {}
        self._nodes = {key.text: value for key, value in node.entries}

    def put(self, field: Field[Any], value: object) -> None:
        self._read[field.key] = value

    def get(self, field: Field[T]) -> T | None:
        return cast("T | None", self._read.get(field.key))

    def __getitem__(self, field: Field[T]) -> T:
        return cast("T", self._read[field.key])

    @property
    def nothing_written(self) -> bool:
        return not self._nodes

    def place(self, field: Field[Any]) -> Position:
        """Where the value of a field stands, or the record if it has none."""
        node = self._nodes.get(field.key)
        return self.position if node is None else node.position


@dataclass(frozen=True, slots=True)
class Record(Generic[T_co]):
    """A mapping. `build` gets the values once all required ones are sound."""

    what: str
    fields: tuple[Field[Any], ...]
    build: Callable[[Values, Problems], T_co | None]
    entries: Entries[Any] | None = None
    at_most_one: tuple[Field[Any], ...] = ()

    def read(self, node: Node, problems: Problems) -> T_co | None:
        if not isinstance(node, MapNode):
            _expected(self.what, node, problems)
            return None
        values = Values(node)
        sound = [self._entry(key, value, values, problems) for key, value in node.entries]
        complete = self._complete(node, problems)
        return self.build(values, problems) if complete and all(sound) else None

    def _entry(self, key: ScalarNode, node: Node, values: Values, problems: Problems) -> bool:
        """Whether the record can still be built: only broken required fields prevent it."""
        field = next((field for field in self.fields if field.key == key.text), None)
        if field is not None:
            value = field.shape.read(node, problems)
            values.put(field, value)
            return value is not None or not field.required
        if self.entries is None or not re.search(self.entries.pattern, key.text):
            self._unknown(key, problems)
            return True
        values.named.append((key, self.entries.shape.read(node, problems)))
        return True

    def _unknown(self, key: ScalarNode, problems: Problems) -> None:
        keys = [field.key for field in self.fields]
        if self.entries is not None:
            message = f"{quoted(key.text)} cannot be {self.entries.what}"
            problems.add(key.position, message, self.entries.hint)
            return
        hint = did_you_mean(key.text, keys, f"the keys of {self.what} are {listed(keys, 'and')}")
        problems.add(key.position, f"unknown key {quoted(key.text)}", hint)

    def _complete(self, node: MapNode, problems: Problems) -> bool:
        missing = [each.key for each in self.fields if each.required and not node.get(each.key)]
        known = {each.key for each in self.fields}
        unknown = [key.text for key, _ in node.entries if key.text not in known]
        mistyped = {closest(key, missing) for key in unknown}
        for key in missing:
            if key not in mistyped:
                problems.add(node.position, f"{self.what} needs the key {quoted(key)}")
        both = [each.key for each in self.at_most_one if node.get(each.key)]
        if len(both) > 1:
            problems.add(node.position, f"{listed(both, 'and')} mean the same", "keep one")
        return not missing and len(both) < 2

    def schema(self, definitions: Definitions) -> Json:
        properties = {
            field.key: field.shape.schema(definitions) | {"description": field.doc}
            for field in self.fields
        }
        schema: Json = {"type": "object", "properties": properties}
        if required := [field.key for field in self.fields if field.required]:
            schema["required"] = required
        if self.at_most_one:
            schema["not"] = {"required": [field.key for field in self.at_most_one]}
        if self.entries is not None:
            entries = self.entries.shape.schema(definitions)
            schema["patternProperties"] = {self.entries.pattern: entries}
        schema["additionalProperties"] = False
        return schema


@dataclass(frozen=True, slots=True)
class Tagged(Generic[T_co]):
    """Mappings told apart by a key that only one of them has; the first that fits is read.

    `strangers` explains keys that people put here by mistake.
    """

    what: str
    records: Mapping[str, Shape[T_co]]
    strangers: Mapping[str, str] = field(default_factory=dict)

    def read(self, node: Node, problems: Problems) -> T_co | None:
        if not isinstance(node, MapNode):
            _expected(self.what, node, problems, f"write a mapping with {listed(self.records)}")
            return None
        for tag, record in self.records.items():
            if node.get(tag) is not None:
                return record.read(node, problems)
        self._unknown(node, problems)
        return None

    def _unknown(self, node: MapNode, problems: Problems) -> None:
        keys = [key.text for key, _ in node.entries]
        for key, position in ((key.text, key.position) for key, _ in node.entries):
            if key in self.strangers:
                problems.add(position, f"{quoted(key)} cannot stand here", self.strangers[key])
                return
        hints = (did_you_mean(key, self.records) for key in keys[:10])
        hint = next(filter(None, hints), f"the keys are {listed(self.records)}")
        problems.add(node.position, f"this is not {self.what}", hint)

    def schema(self, definitions: Definitions) -> Json:
        return {"anyOf": [record.schema(definitions) for record in self.records.values()]}


# --- alternatives and names -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OneOf(Generic[T_co]):
    """Shapes told apart by whether a text, a list or a mapping stands there."""

    what: str
    text: Shape[T_co] | None = None
    items: Shape[T_co] | None = None
    mapping: Shape[T_co] | None = None

    def read(self, node: Node, problems: Problems) -> T_co | None:
        match node:
            case ScalarNode():
                shape = self.text
            case ListNode():
                shape = self.items
            case _:
                shape = self.mapping
        if shape is None:
            _expected(self.what, node, problems)
            return None
        return shape.read(node, problems)

    def schema(self, definitions: Definitions) -> Json:
        shapes = (self.text, self.items, self.mapping)
        return {"anyOf": [shape.schema(definitions) for shape in shapes if shape is not None]}


@dataclass(frozen=True, slots=True)
class Then(Generic[S, T_co]):
    shape: Shape[S]
    into: Callable[[S], T_co]

    def read(self, node: Node, problems: Problems) -> T_co | None:
        value = self.shape.read(node, problems)
        return None if value is None else self.into(value)

    def schema(self, definitions: Definitions) -> Json:
        return self.shape.schema(definitions)


@dataclass(frozen=True, slots=True)
class Named(Generic[T_co]):
    """A shape under `$defs`; given as a function, so that it may contain itself."""

    name: str
    shape: Callable[[], Shape[T_co]]

    def read(self, node: Node, problems: Problems) -> T_co | None:
        return self.shape().read(node, problems)

    def schema(self, definitions: Definitions) -> Json:
        if self.name not in definitions:
            definitions[self.name] = {}
            definitions[self.name] = self.shape().schema(definitions)
        return {"$ref": f"#/$defs/{self.name}"}
