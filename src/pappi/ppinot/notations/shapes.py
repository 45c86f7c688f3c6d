"""The small language in which the catalogue notation is described, once.

A shape says what may stand at a place. The same description reads a document into values,
reporting every problem with its position, writes values as a document again, and gives the JSON
Schema for editors: the three cannot drift apart.

    Written     a text with a form of its own: a name, a date, an expression
    ListOf      several of a shape
    Record      a mapping with known keys (and perhaps named entries of one shape)
    Tagged      records that are told apart by the key they contain
    ByForm      shapes that are told apart by the type of the node
    Then        a shape whose value is turned into another
    Within      a shape that only the record around it knows
    Named       a shape with a name in the schema, so that shapes may be recursive

Reading gives None where a problem was reported: nothing is built on sand, and the rest is still
read. Writing gives None for a value of another form, so that the alternatives of a place can be
tried in turn; what none of them has words for is Unwritable.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar, cast

from pappi.errors import Position
from pappi.ppinot.notations.document import (
    Bare,
    BrokenNode,
    ListNode,
    Literal,
    MapNode,
    Node,
    Plain,
    Problems,
    ScalarNode,
    describe,
)
from pappi.values import closest, did_you_mean, listed, quoted

E = TypeVar("E", bound=StrEnum)
S = TypeVar("S")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Json = dict[str, Any]
SchemaDefs = dict[str, Json]


class Unwritable(ValueError):
    """The notation has no words for something of the model."""


class Shape(Protocol[T_co]):
    def read(self, node: Node, problems: Problems, /) -> T_co | None: ...

    def write(self, value: object, /) -> Plain | None: ...

    def schema(self, definitions: SchemaDefs, /) -> Json: ...


def _expected(what: str, node: Node, problems: Problems, hint: str = "") -> None:
    if not isinstance(node, BrokenNode):
        problems.add(node.position, f"expected {what}, found {describe(node)}", hint)


# --- texts ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written(Generic[T_co]):
    """A text of a certain form; `pattern` is both checked here and put in the schema.

    `types` are the JSON types an editor may take the text for. `text` is the opposite of `parse`.
    If only a few fixed `words` may stand there, the schema lists them.
    """

    what: str
    parse: Callable[[ScalarNode, Problems], T_co | None]
    example: str = ""
    pattern: str = r"\S"
    types: tuple[str, ...] = ("string",)
    text: Callable[[Any], str | None] = str
    words: tuple[str, ...] = ()

    def read(self, node: Node, problems: Problems) -> T_co | None:
        if isinstance(node, ScalarNode) and re.search(self.pattern, node.text):
            return self.parse(node, problems)
        _expected(self.what, node, problems, f"write e.g. {self.example}" if self.example else "")
        return None

    def write(self, value: object) -> Plain | None:
        return self.text(value)

    def schema(self, _: SchemaDefs) -> Json:
        if self.words:
            values = [_TRUTHS.get(word, word) for word in self.words]
            return {"enum": values, "description": self.what}
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

    def text(value: object) -> str | None:
        word = next((word for word, meaning in words.items() if meaning == value), None)
        if word is None:
            return None
        return Literal(word) if word in _TRUTHS else Bare(word)

    return Written(what, parse, text=text, words=tuple(words))


def words_of(enum: type[E]) -> dict[str, E]:
    """The words of an enumeration."""
    return {member.value: member for member in enum}


# An editor takes some words for more than texts.
_TRUTHS = {"true": True, "false": False}


# --- lists ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListOf(Generic[T_co]):
    what: str
    item: Shape[T_co]
    least: int = 1
    most: int | None = None

    def read(self, node: Node, problems: Problems) -> tuple[T_co, ...] | None:
        size = len(node.items) if isinstance(node, ListNode) else 0
        fits = self.least <= size and (self.most is None or size <= self.most)
        if not isinstance(node, ListNode) or not fits:
            _expected(self.what, node, problems)
            return None
        items = [self.item.read(item, problems) for item in node.items]
        whole = tuple(item for item in items if item is not None)
        return whole if len(whole) == len(items) else None

    def write(self, value: object) -> Plain | None:
        several = cast("Iterable[object]", value)
        items = [self.item.write(item) for item in several]
        whole = [item for item in items if item is not None]
        return whole if len(whole) == len(items) else None

    def schema(self, definitions: SchemaDefs) -> Json:
        most = {} if self.most is None else {"maxItems": self.most}
        items = self.item.schema(definitions)
        return {"type": "array", "items": items, "minItems": self.least, **most}


# --- mappings -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Field(Generic[T_co]):
    """A key of a record. `doc` is what an editor shows when pointing at it.

    What was written when the key was still called `once` is read too; a schema does not offer it.
    """

    key: str
    shape: Shape[T_co]
    doc: str
    required: bool = False
    once: str = ""


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


Parts = Mapping[Field[Any] | str, Any]
"""What a record is written from: values by field, or by a name the writer chose."""


@dataclass(frozen=True, slots=True)
class Record(Generic[T_co]):
    """A mapping. `build` gets the values once all required ones are sound.

    `parts` is the opposite of `build`, in the order in which they are written; None for a value
    of another form. A part that is None goes without saying.
    """

    what: str
    fields: tuple[Field[Any], ...]
    build: Callable[[Values, Problems], T_co | None]
    entries: Entries[Any] | None = None
    at_most_one: tuple[Field[Any], ...] = ()
    parts: Callable[[Any], Parts | None] = lambda _: None

    def read(self, node: Node, problems: Problems) -> T_co | None:
        if not isinstance(node, MapNode):
            _expected(self.what, node, problems)
            return None
        node = self._as_called_now(node)
        values = Values(node)
        sound = [self._entry(key, value, values, problems) for key, value in node.entries]
        complete = self._complete(node, problems)
        return self.build(values, problems) if complete and all(sound) else None

    def _as_called_now(self, node: MapNode) -> MapNode:
        """A key that has both names is not renamed, so that the older one is refused."""
        once = [field for field in self.fields if field.once and not node.get(field.key)]
        now = {field.once: field.key for field in once}
        if not any(key.text in now for key, _ in node.entries):
            return node
        renamed = ((replace(key, text=now.get(key.text, key.text)), it) for key, it in node.entries)
        return replace(node, entries=tuple(renamed))

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
        missing = [it.key for it in self.fields if it.required and not node.get(it.key)]
        known = {field.key for field in self.fields}
        unknown = [key.text for key, _ in node.entries if key.text not in known]
        mistyped = {closest(key, missing) for key in unknown}
        for key in missing:
            if key not in mistyped:
                problems.add(node.position, f"{self.what} needs the key {quoted(key)}")
        both = [field.key for field in self.at_most_one if node.get(field.key)]
        if len(both) > 1:
            problems.add(node.position, f"{listed(both, 'and')} mean the same", "keep one")
        return not missing and len(both) < 2

    def write(self, value: object) -> dict[str, Plain] | None:
        parts = self.parts(value)
        if parts is None:
            return None
        given = {key: part for key, part in parts.items() if part is not None}
        return dict(self._written(key, part) for key, part in given.items())

    def _written(self, key: Field[Any] | str, part: object) -> tuple[str, Plain]:
        if isinstance(key, Field):
            shape, name = key.shape, key.key
        else:
            shape, name = cast("Entries[Any]", self.entries).shape, key
        written = shape.write(part)
        if written is None:
            raise Unwritable(f"{quoted(name)} of {self.what} cannot say {quoted(str(part))}")
        return name, written

    def schema(self, definitions: SchemaDefs) -> Json:
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


def attributes_read(values: Values, **attributes: Field[Any]) -> dict[str, Any]:
    """What is written of an object's attributes, each in a field; the others have defaults."""
    read = {name: values.get(field) for name, field in attributes.items()}
    return {name: value for name, value in read.items() if value is not None}


def attributes_said(value: object, **attributes: Field[Any]) -> dict[Field[Any] | str, Any]:
    """The opposite: the attributes of an object that have not their defaults."""
    defaults = {own.name: own.default for own in dataclasses.fields(cast("Any", value))}
    own = {name: getattr(value, name) for name in attributes}
    return {attributes[name]: own[name] for name in own if own[name] != defaults[name]}


def record_of(
    what: str, model: type[T], place: Field[Any] | None = None, /, **attributes: Field[Any]
) -> Record[T]:
    """A mapping that is an object: each field an attribute; defaults go without saying.

    An object that has a position stands where the field `place` does, or else its first.
    """
    stands_at = place or next(iter(attributes.values()))
    has_position = any(own.name == "position" for own in dataclasses.fields(cast("Any", model)))

    def build(values: Values, _: Problems) -> T:
        position = {"position": values.place(stands_at)} if has_position else {}
        return model(**attributes_read(values, **attributes), **position)

    def parts(value: object) -> Parts | None:
        return attributes_said(value, **attributes) if isinstance(value, model) else None

    return Record(what, tuple(attributes.values()), build, parts=parts)


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

    def write(self, value: object) -> Plain | None:
        forms = (record.write(value) for record in self.records.values())
        return next((form for form in forms if form is not None), None)

    def _unknown(self, node: MapNode, problems: Problems) -> None:
        keys = [key.text for key, _ in node.entries]
        for key, position in ((key.text, key.position) for key, _ in node.entries):
            if key in self.strangers:
                problems.add(position, f"{quoted(key)} is not allowed here", self.strangers[key])
                return
        hints = (did_you_mean(key, self.records) for key in keys[:10])
        hint = next(filter(None, hints), f"the keys are {listed(self.records)}")
        problems.add(node.position, f"this is not {self.what}", hint)

    def schema(self, definitions: SchemaDefs) -> Json:
        return {"anyOf": [record.schema(definitions) for record in self.records.values()]}


# --- alternatives and names -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ByForm(Generic[T_co]):
    """Shapes told apart by whether a text, a list or a mapping stands there.

    The first that has words for a value writes it: the text, unless a mapping reads better.
    """

    what: str
    text: Shape[T_co] | None = None
    items: Shape[T_co] | None = None
    mapping: Shape[T_co] | None = None
    mapping_first: bool = False

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

    def write(self, value: object) -> Plain | None:
        shapes = (self.text, self.items, self.mapping)
        in_turn = (self.mapping, self.text, self.items) if self.mapping_first else shapes
        forms = (shape.write(value) for shape in in_turn if shape is not None)
        return next((form for form in forms if form is not None), None)

    def schema(self, definitions: SchemaDefs) -> Json:
        shapes = (self.text, self.items, self.mapping)
        return {"anyOf": [shape.schema(definitions) for shape in shapes if shape is not None]}


@dataclass(frozen=True, slots=True)
class Then(Generic[S, T_co]):
    """A shape whose value is turned into another; `back` turns it back, if that is possible."""

    shape: Shape[S]
    into: Callable[[S], T_co]
    back: Callable[[Any], S | None] = lambda _: None

    def read(self, node: Node, problems: Problems) -> T_co | None:
        value = self.shape.read(node, problems)
        return None if value is None else self.into(value)

    def write(self, value: object) -> Plain | None:
        inner = self.back(value)
        return None if inner is None else self.shape.write(inner)

    def schema(self, definitions: SchemaDefs) -> Json:
        return self.shape.schema(definitions)


@dataclass(frozen=True, slots=True)
class Within(Generic[S, T_co]):
    """A place whose meaning depends on the rest of its record, which has the last word on it.

    Here only the form is read; `resolved` then gives the value, with what the record knows. What
    the record writes there is written already.
    """

    shape: Callable[[S | None], Shape[T_co]]

    def read(self, node: Node, problems: Problems) -> Node:
        self.shape(None).read(node, problems)
        return node

    def resolved(self, node: Node, known: S, problems: Problems) -> T_co | None:
        again = Problems()
        value = self.shape(known).read(node, again)
        problems.extend([problem for problem in again.found if problem not in problems.found])
        return value

    def write(self, value: object) -> Plain | None:
        return cast("Plain", value)

    def schema(self, definitions: SchemaDefs) -> Json:
        return self.shape(None).schema(definitions)


@dataclass(frozen=True, slots=True)
class Named(Generic[T_co]):
    """A shape under `$defs`; given as a function, so that it may contain itself."""

    name: str
    shape: Callable[[], Shape[T_co]]

    def read(self, node: Node, problems: Problems) -> T_co | None:
        return self.shape().read(node, problems)

    def write(self, value: object) -> Plain | None:
        return self.shape().write(value)

    def schema(self, definitions: SchemaDefs) -> Json:
        if self.name not in definitions:
            definitions[self.name] = {}
            definitions[self.name] = self.shape().schema(definitions)
        return {"$ref": f"#/$defs/{self.name}"}
