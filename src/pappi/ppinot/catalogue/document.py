"""YAML or JSON text into nodes that know where they were written.

Only the plain core of YAML is read: mappings, lists and texts. A text is what
was typed: `on`, `no`, 12:30 and 2014-01-31 are not turned into anything. What
could surprise (anchors, tags, duplicate keys) or exhaust (size, nesting) is
refused. The text is read event by event, so no input can exhaust the stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.catalogue.origins import Lines, scalar_origin
from pappi.ppinot.wording import CONTROL, quoted

if TYPE_CHECKING:
    import yaml
    from yaml._yaml import Mark as CMark
    from yaml.error import Mark

MAX_SIZE = 1_000_000
MAX_DEPTH = 40
MAX_NODES = 20_000

# After an even number of backslashes, which are escaped themselves.
_TWO_ESCAPES = re.compile(
    r"(?<!\\)((?:\\\\)*+)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)
_QUOTE_IT = (
    "put a text in quotes as a whole if it holds ': ' or ' #', or a comma inside { }, "
    "or begins with a quote or one of > ! ` @ % & * [ {"
)


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A text as typed. `plain` if it stands without quotes, so that 1 may be a number."""

    text: str
    position: Position
    plain: bool
    in_braces: bool
    origin: Callable[[int], Position] = field(compare=False, repr=False)


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


def read_document(text: str, file: str, problems: list[Problem]) -> Node:
    """The root node of a text; raises DefinitionError where reading cannot go on."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > MAX_SIZE:
        message = f"the file has more than {MAX_SIZE:,} characters"
        raise DefinitionError([Problem(Position(file, 1, 1), message)])
    lines = Lines.of(_with_whole_characters(text), file)
    builder = _Builder(lines, problems)
    for event in _events(lines, problems):
        builder.add(event)
    if builder.root is None:
        raise DefinitionError([*problems, Problem(Position(file, 1, 1), "the file is empty")])
    return builder.root


def _with_whole_characters(text: str) -> str:
    """JSON with characters that it writes as two escapes written as the one of YAML."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    return _TWO_ESCAPES.sub(_one_escape, text)


def _one_escape(found: re.Match[str]) -> str:
    backslashes, high, low = found.groups()
    code = 0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00)
    return f"{backslashes}\\U{code:08x}"


def _events(lines: Lines, problems: list[Problem]) -> Iterator[yaml.Event]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from yaml.parse(lines.text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        place = lines.at(_offset(error.problem_mark or error.context_mark))
        problem = Problem(place, f"this is not YAML: {error.problem}", _QUOTE_IT)
        raise DefinitionError([*problems, problem]) from None
    except (yaml.YAMLError, UnicodeError):
        message = "this file holds characters that are not allowed in YAML"
        raise DefinitionError([*problems, Problem(lines.at(0), message)]) from None


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    position: Position
    is_map: bool
    in_braces: bool
    nodes: list[Node] = field(default_factory=list)


class _Builder:
    def __init__(self, lines: Lines, problems: list[Problem]) -> None:
        self.root: Node | None = None
        self._lines = lines
        self._problems = problems
        self._open: list[_Open] = []
        self._count = 0

    def add(self, event: yaml.Event) -> None:
        import yaml

        match event:
            case yaml.DocumentStartEvent() if self.root is not None:
                self._stop(
                    self._place(event), "a catalogue is one YAML document; here starts another"
                )
            case yaml.AliasEvent():
                place = self._report(event, "aliases (*name) are not used here")
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
        return self._lines.at(_offset(event.start_mark))

    def _report(self, event: yaml.Event, message: str, hint: str = "") -> Position:
        place = self._place(event)
        self._problems.append(Problem(place, message, hint))
        return place

    def _stop(self, place: Position, message: str) -> None:
        raise DefinitionError([*self._problems, Problem(place, message)])

    def _refuse_extras(self, event: yaml.NodeEvent) -> None:
        if event.anchor is not None:
            self._report(event, f"anchors (&{event.anchor}) are not used here", "write it out")
        if getattr(event, "tag", None) is not None:
            self._report(
                event, "a text beginning with '!' is a YAML tag; tags are not used here", _QUOTE_IT
            )

    def _start(self, event: yaml.CollectionStartEvent, *, is_map: bool) -> None:
        place = self._place(event)
        if len(self._open) >= MAX_DEPTH:
            self._stop(place, f"this is nested more than {MAX_DEPTH} levels deep")
        self._open.append(_Open(place, is_map, bool(event.flow_style)))

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        if CONTROL.search(event.value):
            return BrokenNode(self._report(event, "this text holds a control character"))
        style = event.style or ""
        start, end = _offset(event.start_mark), _offset(event.end_mark)
        return ScalarNode(
            event.value,
            self._place(event),
            plain=not style,
            in_braces=bool(self._open) and self._open[-1].in_braces,
            origin=scalar_origin(self._lines, start, end, event.value, style),
        )

    def _close_node(self, node: Node) -> None:
        self._count += 1
        if self._count > MAX_NODES:
            self._stop(node.position, f"the file holds more than {MAX_NODES:,} values")
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
            message = f"the key {quoted(key.text)} is here twice; first in line {first}"
            self._problems.append(Problem(key.position, message))
        elif not isinstance(key, BrokenNode):
            self._problems.append(Problem(key.position, "a key has to be a text"))


def _offset(mark: Mark | CMark | None) -> int:
    # YAML's own line numbers count breaks that no editor counts; offsets are sure.
    return 0 if mark is None else mark.index
