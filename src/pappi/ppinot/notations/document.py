"""Documents: files into text, text into nodes, what is wrong with them, and back into text.

Every notation reads documents this way. A node knows where it was written, so that each problem
points at the character that was typed, and all problems are reported at once.

Of YAML, and JSON as a part of it, only the plain core is read: mappings, lists and texts. A text
is what was typed: `on`, `no`, 12:30 and 2014-01-31 are not turned into anything. What could
surprise (anchors, tags, duplicate keys) or exhaust (size, nesting) is refused. The text is read
event by event, so no input can exhaust the stack. A dict in Python becomes the same nodes.

What is written fits on one line, in braces, or has lines of its own. A text is in quotes where
YAML, or an editor, would take it for something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pappi.errors import DefinitionError, InputError, Position, Problem
from pappi.ppinot.grammar import Origin, located
from pappi.ppinot.model import Catalogue, Ppi
from pappi.values import CONTROL, Epsilon, WorkingCalendar, quoted

if TYPE_CHECKING:
    import yaml
    from yaml._yaml import Mark as CMark
    from yaml.error import Mark

MAX_SIZE = 1_000_000
MAX_FILE = 5_000_000  # in any notation: a BPMN model holds more than its PPIs
MAX_DEPTH = 40
MAX_NODES = 20_000
MAX_PROBLEMS = 200

# After an even number of backslashes, which are escaped themselves.
_TWO_ESCAPES = re.compile(
    r"(?<!\\)((?:\\\\)*+)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)
_QUOTE_IT = (
    "put the whole text in quotes if it contains ': ' or ' #', or a comma inside { }, "
    "or begins with a quote or one of > ! ` @ % & * [ {"
)
_ESCAPE_LENGTHS = {"x": 4, "u": 6, "U": 10}

# --- files ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadCatalogue:
    """A catalogue, and what should be said about how it was read.

    `lost` names what the text says and the catalogue has no place for, such as the name of a
    measure: whatever is written from the catalogue does not have it.
    """

    catalogue: Catalogue
    remarks: tuple[Problem, ...] = field(default=())
    lost: tuple[Problem, ...] = field(default=())


def file_text(path: Path, most: int = MAX_SIZE, what: str = "a file with PPIs") -> str:
    """The text of a file of UTF-8, of at most about so many characters.

    A file that is longer is cut off after them: whoever reads the text refuses what is too long.
    """
    try:
        with path.open("rb") as file:
            # UTF-8 takes at most four bytes a character.
            content = file.read(4 * most + 4)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be opened"
        raise InputError(f"{path}: {reason}", hint=f"give the path of {what}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = Problem(Position(str(path), line, 1), "this is not UTF-8 text")
        raise DefinitionError([problem]) from None


# --- nodes ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A text as typed. `plain` if it stands without quotes, so that 1 may be a number."""

    text: str
    position: Position
    plain: bool
    in_braces: bool
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ListNode:
    items: tuple[Node, ...]
    position: Position


@dataclass(frozen=True, slots=True)
class MapNode:
    entries: tuple[tuple[ScalarNode, Node], ...]
    position: Position

    def get(self, key: str) -> Node | None:
        return next((node for name, node in self.entries if name.text == key), None)


@dataclass(frozen=True, slots=True)
class BrokenNode:
    """Stands where something was refused already; nobody complains about it again."""

    position: Position


Node = ScalarNode | ListNode | MapNode | BrokenNode


def text_node(
    text: str, position: Position, origin: Origin | None = None, *, plain: bool = False
) -> ScalarNode:
    """A text all of which stands at one place, unless `origin` says where each character does."""
    return ScalarNode(text, position, plain, in_braces=False, origin=origin or (lambda _: position))


def map_node(entries: Mapping[str, str | Node | None], position: Position) -> MapNode:
    """A mapping of nodes, and of texts that stand where it does; what is empty is left out."""
    given = {key: node for key, node in entries.items() if node is not None and node != ""}
    nodes = {
        key: text_node(node, position) if isinstance(node, str) else node
        for key, node in given.items()
    }
    named = ((text_node(key, node.position), node) for key, node in nodes.items())
    return MapNode(tuple(named), position)


def list_node(nodes: Iterable[Node | str], position: Position) -> ListNode:
    items = (text_node(node, position) if isinstance(node, str) else node for node in nodes)
    return ListNode(tuple(items), position)


def describe(node: Node) -> str:
    """What stands at a place, for messages."""
    match node:
        case ScalarNode():
            return quoted(node.text) if node.text else "nothing"
        case ListNode():
            return "a list" if node.items else "an empty list"
        case _:
            return "a mapping"


# --- problems -------------------------------------------------------------------------


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

    def require_none(self) -> None:
        """DefinitionError with all that was found, each once, in the order of the text."""
        if self.found:
            distinct = dict.fromkeys(self.found)
            raise DefinitionError(
                sorted(distinct, key=lambda it: (it.position.line, it.position.column))
            )

    def extend(self, problems: Sequence[Problem]) -> None:
        self.found.extend(problems)
        if len(self.found) >= MAX_PROBLEMS:
            more = f"there may be more: reading stopped after {MAX_PROBLEMS} problems"
            raise DefinitionError([*self.found, Problem(self.found[-1].position, more)])


def catalogue_of(
    log: str, ppis: tuple[Ppi, ...], total: Epsilon | None, file: str, problems: Problems
) -> Catalogue | None:
    """The catalogue of what was read; None with a problem where an id is used again."""
    first: dict[str, Position] = {}
    for ppi in ppis:
        if ppi.id in first:
            place = first[ppi.id]
            where = f"in line {place.line}" if place.line else f"at {place}"
            message = f"the id {quoted(ppi.id)} is already used by the PPI {where}"
            problems.add(ppi.position, message)
        first.setdefault(ppi.id, ppi.position)
    return Catalogue(log, ppis, total, file=file) if len(first) == len(ppis) else None


# --- YAML and JSON --------------------------------------------------------------------


def read_document(text: str, file: str, problems: list[Problem]) -> Node:
    """The root node of a text; raises DefinitionError where reading cannot go on."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > MAX_SIZE:
        message = f"the file has more than {MAX_SIZE:,} characters"
        raise DefinitionError([Problem(Position(file, 1, 1), message)])
    if text.lstrip().startswith(("{", "[")):  # JSON, where one of YAML's escapes may take two
        text = _TWO_ESCAPES.sub(_one_escape, text)
    root = inner_document(text, located(text, Position(file, 1, 1)), problems)
    if root is None:
        raise DefinitionError([*problems, Problem(Position(file, 1, 1), "the file is empty")])
    return root


def inner_document(text: str, at: Origin, problems: list[Problem]) -> Node | None:
    """The same of a part of a text, which says where its characters are; None if it is empty."""
    builder = _Builder(text, at, problems)
    for event in _events(text, at, problems):
        builder.add(event)
    return builder.root


def _one_escape(match: re.Match[str]) -> str:
    backslashes, high, low = match.groups()
    code = 0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00)
    return f"{backslashes}\\U{code:08x}"


def _events(text: str, at: Origin, problems: list[Problem]) -> Iterator[yaml.Event]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from yaml.parse(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        place = at(_offset(error.problem_mark or error.context_mark))
        problem = Problem(place, f"this is not YAML: {error.problem}", _QUOTE_IT)
        raise DefinitionError([*problems, problem]) from None
    except (yaml.YAMLError, UnicodeError):
        message = "this file contains characters that are not allowed in YAML"
        raise DefinitionError([*problems, Problem(at(0), message)]) from None


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    position: Position
    is_map: bool
    in_braces: bool
    nodes: list[Node] = field(default_factory=list)


class _Builder:
    def __init__(self, text: str, at: Origin, problems: list[Problem]) -> None:
        self.root: Node | None = None
        self._text = text
        self._at = at
        self._problems = problems
        self._open: list[_Open] = []
        self._count = 0

    def add(self, event: yaml.Event) -> None:
        import yaml

        match event:
            case yaml.DocumentStartEvent() if self.root is not None:
                self._stop(
                    self._place(event), "a catalogue is one YAML document; another one starts here"
                )
            case yaml.AliasEvent():
                place = self._report(event, "aliases (*name) are not allowed")
                self._close_node(BrokenNode(place))
            case yaml.ScalarEvent():
                self._refuse_extras(event)
                self._close_node(self._scalar(event))
            case yaml.CollectionStartEvent():
                self._refuse_extras(event)
                self._start(event, is_map=isinstance(event, yaml.MappingStartEvent))
            case yaml.CollectionEndEvent():
                self._close_node(self._finished(self._open.pop()))
            case _:
                pass

    def _place(self, event: yaml.Event) -> Position:
        return self._at(_offset(event.start_mark))

    def _report(self, event: yaml.Event, message: str, hint: str = "") -> Position:
        place = self._place(event)
        self._problems.append(Problem(place, message, hint))
        return place

    def _stop(self, place: Position, message: str) -> None:
        raise DefinitionError([*self._problems, Problem(place, message)])

    def _refuse_extras(self, event: yaml.NodeEvent) -> None:
        if event.anchor is not None:
            self._report(event, f"anchors (&{event.anchor}) are not allowed", "write it out")
        if getattr(event, "tag", None) is not None:
            self._report(
                event, "a text beginning with '!' is a YAML tag; tags are not allowed", _QUOTE_IT
            )

    def _start(self, event: yaml.CollectionStartEvent, *, is_map: bool) -> None:
        place = self._place(event)
        if len(self._open) >= MAX_DEPTH:
            self._stop(place, f"this is nested more than {MAX_DEPTH} levels deep")
        self._open.append(_Open(place, is_map, bool(event.flow_style)))

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        if CONTROL.search(event.value):
            return BrokenNode(self._report(event, "this text contains a control character"))
        style = event.style or ""
        start, end = _offset(event.start_mark), _offset(event.end_mark)
        return ScalarNode(
            event.value,
            self._place(event),
            plain=not style,
            in_braces=bool(self._open) and self._open[-1].in_braces,
            origin=_scalar_origin(self._text[start:end], start, self._at, event.value, style),
        )

    def _close_node(self, node: Node) -> None:
        self._count += 1
        if self._count > MAX_NODES:
            self._stop(node.position, f"the file contains more than {MAX_NODES:,} values")
        if self._open:
            self._open[-1].nodes.append(node)
        else:
            self.root = node

    def _finished(self, done: _Open) -> Node:
        if not done.is_map:
            return ListNode(tuple(done.nodes), done.position)
        entries: dict[str, tuple[ScalarNode, Node]] = {}
        for key, value in zip(done.nodes[::2], done.nodes[1::2], strict=True):
            if isinstance(key, ScalarNode) and key.text not in entries:
                entries[key.text] = (key, value)
            else:
                self._refuse_key(key, entries)
        return MapNode(tuple(entries.values()), done.position)

    def _refuse_key(self, key: Node, entries: dict[str, tuple[ScalarNode, Node]]) -> None:
        if isinstance(key, ScalarNode):
            first = entries[key.text][0].position.line
            message = f"the key {quoted(key.text)} appears twice; first in line {first}"
            self._problems.append(Problem(key.position, message))
        elif not isinstance(key, BrokenNode):
            self._problems.append(Problem(key.position, "a key must be a text"))


def _offset(mark: Mark | CMark | None) -> int:
    # YAML's own line numbers count breaks that no editor counts; offsets are sure.
    return 0 if mark is None else mark.index


# --- dicts ----------------------------------------------------------------------------


def structure_node(value: object, problems: list[Problem]) -> Node:
    """The root node of what was written in Python: dicts, lists, texts, numbers, dates.

    >>> structure_node({"every": "month"}, []).get("every").text
    'month'
    """
    return _Structure(problems).node(value, "")


class _Structure:
    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems
        self._count = 0

    def node(self, value: object, path: str, depth: int = 0) -> Node:
        place = Position(path or "definitions", 0, 0)
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_NODES:
            much = f"nested more than {MAX_DEPTH} levels deep" if depth > MAX_DEPTH else "too much"
            raise DefinitionError([*self._problems, Problem(place, f"this is {much}")])
        if isinstance(value, Mapping):
            return MapNode(
                tuple(
                    (self._key(key, path), self.node(item, _inside(path, str(key)), depth + 1))
                    for key, item in value.items()
                ),
                place,
            )
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            items = (self.node(item, f"{path}[{n}]", depth + 1) for n, item in enumerate(value))
            return ListNode(tuple(items), place)
        return self._scalar(value, place)

    def _key(self, key: object, path: str) -> ScalarNode:
        place = Position(_inside(path, str(key)), 0, 0)
        if not isinstance(key, str):
            self._problems.append(Problem(place, f"a key must be a text, not {key!r}"))
        return text_node(str(key), place)

    def _scalar(self, value: object, place: Position) -> Node:
        text = _as_typed(value)
        if text is None:
            message = f"a value of type {type(value).__name__} is not allowed here"
        elif CONTROL.search(text):
            message = "this text contains a control character"
        else:
            return text_node(text, place, plain=not isinstance(value, str))
        self._problems.append(Problem(place, message))
        return BrokenNode(place)


def _inside(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _as_typed(value: object) -> str | None:
    """A value as it would be written in a file; None if it would not be."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{Decimal(repr(value)):f}"  # the grammar has no exponents
        case timedelta():
            return f"{value // timedelta(microseconds=1)} microseconds"
        case date():
            return value.isoformat()
        case str() | int() | Decimal() | Epsilon():
            return str(value)
        case Fraction():
            return f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
        case _:
            return None


# --- where a character was written ----------------------------------------------------


def _scalar_origin(written: str, start: int, at: Origin, value: str, style: str) -> Origin:
    """The place in the file of each offset of a scalar's value."""
    if not style:
        shift = 0 if written == value else None
    else:
        shift = 1 if written[1:-1] == value else None
    if shift is not None:
        return lambda offset: at(start + shift + min(offset, len(value)))
    places = _aligned(written, value, style)
    return lambda offset: at(start + places[min(offset, len(value))])


def _aligned(written: str, value: str, style: str) -> list[int]:
    """For each character of the value, the offset of what was written for it."""
    cursor = written.find("\n") + 1 if style in ("|", ">") else int(bool(style))
    places = []
    for character in value:
        cursor = _next_match(written, cursor, character, style)
        places.append(min(cursor, len(written)))
        cursor += _width(written, cursor, style)
    return [*places, min(cursor, len(written))]


def _next_match(written: str, cursor: int, character: str, style: str) -> int:
    while cursor < len(written) and written[cursor] != character:
        if style == '"' and written[cursor] == "\\" and written[cursor + 1 : cursor + 2] != "\n":
            return cursor
        if character.isspace() and written[cursor].isspace():
            return cursor
        cursor += 1
    return cursor


def _width(written: str, cursor: int, style: str) -> int:
    if style != '"' or written[cursor : cursor + 1] != "\\":
        return 1
    return _ESCAPE_LENGTHS.get(written[cursor + 1 : cursor + 2], 2)


# --- laid out as YAML or JSON ---------------------------------------------------------

WIDTH = 100
_OPENED = 3
"""The catalogue, its lists and its PPIs have lines of their own, however short they are."""

Plain: TypeAlias = "str | list[Plain] | dict[str, Plain]"


class Bare(str):
    """A text that needs no quotes in YAML: one of our own words, or a date."""

    __slots__ = ()


class Literal(Bare):
    """A number, true or false: no quotes in JSON either."""

    __slots__ = ()


def yaml_text(catalogue: Plain) -> str:
    return "\n".join(_block(catalogue, "")) + "\n"


def json_text(catalogue: Plain) -> str:
    return "\n".join(_opened("", catalogue, "", "")) + "\n"


def line_text(node: Plain) -> str:
    """A node as YAML on one line."""
    return _braced(node, _in_braces)


def _braced(node: Plain, quote: Callable[[str], str]) -> str:
    """A node on one line."""
    if isinstance(node, dict):
        entries = (f"{quote(key)}: {_braced(value, quote)}" for key, value in node.items())
        return "{" + ", ".join(entries) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(_braced(item, quote) for item in node) + "]"
    return quote(node)


_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_NUMERIC = re.compile(r"[0-9][0-9a-fA-FxXoOtTzZ:._+\- ]*")
_UNSAFE = re.compile(r": | #|:$")
_UNSAFE_IN_BRACES = re.compile(r": | #|:$|[,?\[\]{}]")


def _block(node: Plain, indent: str) -> Iterator[str]:
    """The lines of a mapping or a list that has lines of its own."""
    if isinstance(node, dict):
        for key, value in node.items():
            head = f"{indent}{_in_braces(key)}:"
            line = _line(head, value, indent)
            yield head if line is None else line
            if line is None:
                yield from _block(value, f"{indent}  ")
    elif isinstance(node, list):
        for index, item in enumerate(node):
            if index and len(indent) < 2 * _OPENED - 2:
                yield ""
            line = _line(f"{indent}-", item, indent)
            if line is None:
                first, *rest = _block(item, f"{indent}  ")
                yield f"{indent}- {first.lstrip(' ')}"
                yield from rest
            else:
                yield line


def _line(head: str, value: Plain, indent: str) -> str | None:
    """A node behind its key or dash; None if it should have lines of its own."""
    if isinstance(value, str):
        return f"{head} {_yaml_scalar(value, _UNSAFE)}"
    if len(indent) < 2 * _OPENED - 2:
        return None
    line = f"{head} {_braced(value, _in_braces)}"
    return line if len(line) <= WIDTH else None


def _in_braces(text: str) -> str:
    return _yaml_scalar(text, _UNSAFE_IN_BRACES)


def _yaml_scalar(text: str, unsafe: re.Pattern[str]) -> str:
    if isinstance(text, Bare) or _is_plain(text, unsafe):
        return text
    if text.isprintable() and "'" not in text and ('"' in text or "\\" in text):
        return f"'{text}'"
    return quoted_text(text)


def _is_plain(text: str, unsafe: re.Pattern[str]) -> bool:
    starts_well = text[:1].isalnum() or text[:1] in ("_", "(")
    return (
        starts_well
        and not text.endswith(" ")
        and text.isprintable()
        and text.lower() not in _WORDS
        and _NUMERIC.fullmatch(text) is None
        and unsafe.search(text) is None
    )


def quoted_text(text: str) -> str:
    """A text in double quotes, of which YAML and JSON think alike."""
    return '"' + "".join(map(_escaped, text)) + '"'


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    # Beyond four digits the two notations escape differently, but both read the character.
    hidden = not character.isprintable() and ord(character) <= 0xFFFF
    return f"\\u{ord(character):04x}" if hidden else character


def _json_scalar(text: str) -> str:
    return str(text) if isinstance(text, Literal) else quoted_text(text)


def _opened(head: str, node: Plain, tail: str, indent: str) -> Iterator[str]:
    """The lines of a node between what goes before and after it on its lines."""
    line = f"{indent}{head}{_braced(node, _json_scalar)}{tail}"
    if isinstance(node, str) or (len(line) <= WIDTH and len(indent) >= 2 * _OPENED):
        yield line
        return
    heads = (
        [f"{quoted_text(key)}: " for key in node] if isinstance(node, dict) else [""] * len(node)
    )
    inner = list(node.values()) if isinstance(node, dict) else node
    opening, closing = "{}" if isinstance(node, dict) else "[]"
    yield f"{indent}{head}{opening}"
    for index, (key, value) in enumerate(zip(heads, inner, strict=True), start=1):
        yield from _opened(key, value, "," if index < len(inner) else "", f"{indent}  ")
    yield f"{indent}{closing}{tail}"
