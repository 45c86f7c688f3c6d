"""XML into the elements of `ppiset`, and the names of the BPMN elements around it.

The file is an adversary's: no document type and no entities are read, its size and depth are
bounded, and only what is needed is kept. Names of elements and attributes are compared without
capitals, since the versions of the schema differ in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.wording import quoted

NAMESPACE = "http://www.isa.us.es/ppinot"
MAX_SIZE = 5_000_000
MAX_DEPTH = 100
MAX_ELEMENTS = 10_000

_SEPARATOR = " "
_TEXT = ""


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a set of PPIs; names in small letters. `read` is what was looked up in it."""

    tag: str
    attributes: dict[str, str]
    position: Position
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    def get(self, name: str) -> str:
        """An attribute, empty if it is not there."""
        self.read.add(name)
        return self.attributes.get(name, "").strip()

    @property
    def text(self) -> str:
        self.read.add(_TEXT)
        return "".join(self.texts).strip()

    def unread(self) -> Iterator[tuple[str, Position]]:
        """What stands in it, and in what is inside, and was never looked up."""
        if _TEXT not in self.read and "".join(self.texts).strip():
            yield self.tag, self.position
        for name, value in self.attributes.items():
            if name not in self.read and value.strip():
                yield name, self.position
        for child in self.children:
            yield from child.unread()

    def child(self, *tags: str) -> Element | None:
        return next((each for each in self.children if each.tag in tags), None)


@dataclass(frozen=True, slots=True)
class FlowElement:
    """An element of the process: a task, an event, a data object, the process itself."""

    tag: str
    name: str


@dataclass(frozen=True, slots=True)
class Model:
    """The sets of PPIs in a file, with the process around each, and all BPMN elements by id."""

    sets: tuple[tuple[str, Element], ...]
    flow: dict[str, FlowElement]


def read_elements(text: str, file: str) -> Model:
    """What a file holds; DefinitionError if it is not XML, or unfit to be read."""
    if len(text) > MAX_SIZE:
        raise _refusal(Position(file, 1, 1), f"the file has more than {MAX_SIZE:,} characters")
    builder = _Builder(file)
    try:
        builder.parser.Parse(text.removeprefix("\ufeff"), True)  # noqa: FBT003 - pyexpat's own
    except expat.ExpatError as error:
        place = Position(file, error.lineno, error.offset + 1)
        raise _refusal(place, f"malformed XML: {expat.ErrorString(error.code)}") from None
    except UnicodeError:
        raise _refusal(Position(file, 1, 1), "this is no text that XML could hold") from None
    if not builder.sets:
        message = f"there is no ppiset in the namespace {NAMESPACE} in this file"
        raise _refusal(Position(file, 1, 1), message)
    return Model(tuple(builder.sets), builder.flow)


def _refusal(position: Position, message: str, hint: str = "") -> DefinitionError:
    return DefinitionError([Problem(position, message, hint)])


class _Builder:
    def __init__(self, file: str) -> None:
        self.sets: list[tuple[str, Element]] = []
        self.flow: dict[str, FlowElement] = {}
        self.parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.StartDoctypeDeclHandler = self._refuse_declaration
        self.parser.EntityDeclHandler = self._refuse_declaration
        self._file = file
        self._depth = 0
        self._count = 0
        self._open: list[Element] = []
        self._processes: list[tuple[int, str]] = []
        self._model: str | None = None

    def _place(self) -> Position:
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber
        return Position(self._file, line, column + 1)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"this is nested more than {MAX_DEPTH} levels deep"
            raise _refusal(self._place(), message)
        namespace, _, tag = name.rpartition(_SEPARATOR)
        tag = tag.lower()
        if self._model is None:
            self._model = namespace
        if self._open or (namespace == NAMESPACE and tag == "ppiset"):
            self._keep(tag, attributes)
        elif namespace == self._model:
            # Ids in other extensions need not be unique, and name nothing of the process.
            self._note(tag, attributes)

    def _keep(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise _refusal(self._place(), f"the file has more than {MAX_ELEMENTS:,} PPI elements")
        plain = {
            name.rpartition(_SEPARATOR)[2].lower(): value for name, value in attributes.items()
        }
        element = Element(tag, plain, self._place())
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.sets.append((self._processes[-1][1] if self._processes else "", element))
        self._open.append(element)

    def _note(self, tag: str, attributes: dict[str, str]) -> None:
        name, identifier = attributes.get("name", "").strip(), attributes.get("id", "")
        if tag == "process":
            self._processes.append((self._depth, name or identifier))
        if not identifier:
            return
        if identifier in self.flow:
            raise _refusal(self._place(), f"the id {quoted(identifier)} is here twice")
        self.flow[identifier] = FlowElement(tag, name)

    def _end(self, _name: str) -> None:
        if self._open:
            self._open.pop()
        elif self._processes and self._processes[-1][0] == self._depth:
            self._processes.pop()
        self._depth -= 1

    def _data(self, text: str) -> None:
        if self._open:
            self._open[-1].texts.append(text)

    def _refuse_declaration(self, *_declaration: object) -> None:
        message = "a document type or entity declaration, which no BPMN model needs"
        hint = "remove the <!DOCTYPE …> part: entities can expand without bound"
        raise _refusal(self._place(), message, hint)
