"""JSON objects as Java reads them: fields by name, unknown ones ignored, null as absent.

A look-up that finds something unfitting reports it and gives None, as if nothing were there:
reading goes on, and all problems are shown together in the end. What nothing has looked up is
lost, and told by `unread`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pappi.errors import DefinitionError, Position
from pappi.ppinot.catalogue.document import BrokenNode, ListNode, MapNode, Node, ScalarNode
from pappi.ppinot.catalogue.shapes import Problems, describe
from pappi.ppinot.expressions.nodes import Expression
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.wording import did_you_mean, listed, quoted

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for a whole document, or for one PPI in it.

    `processes` are the names the process goes by: a condition on one of them is about the case
    as a whole. Without `lifecycle` the log has one event per activity, its completion. What was
    looked up in each object is noted in `read`, by the identity of its node.
    """

    problems: Problems
    processes: frozenset[str] = frozenset()
    lifecycle: bool = True
    read: dict[int, set[str]] = field(default_factory=dict)

    def within(self, process: str) -> Context:
        named = {process} - {""}
        return replace(self, processes=self.processes | named) if named else self


class Fields:
    """One JSON object."""

    def __init__(self, node: MapNode, context: Context) -> None:
        self.position = node.position
        self.context = context
        self._nodes = {key.text: value for key, value in node.entries}
        self._read = context.read.setdefault(id(node), set())

    @classmethod
    def of(cls, node: Node, context: Context, what: str) -> Fields | None:
        """The fields of a node that should be an object."""
        if isinstance(node, MapNode):
            return cls(node, context)
        _unexpected(node, what, context)
        return None

    def __contains__(self, key: str) -> bool:
        return self._said(key) is not None

    def get(self, key: str) -> Node | None:
        self._read.add(key)
        return self._said(key)

    def pass_over(self, key: str, text: str) -> None:
        """A field that says nothing, if this is its text: it is not lost."""
        node = self._nodes.get(key)
        if isinstance(node, ScalarNode) and node.text == text:
            self._read.add(key)

    def _said(self, key: str) -> Node | None:
        node = self._nodes.get(key)
        return None if node is None or is_nothing(node) else node

    def filled(self, key: str) -> bool:
        """Whether there is more in a field than an empty list or text."""
        return not _is_empty(self._nodes.get(key))

    def place(self, key: str) -> Position:
        """Where a field stands, or the object if it has none."""
        node = self._nodes.get(key)
        return self.position if node is None else node.position

    def refuse(self, key: str, message: str, hint: str = "") -> None:
        self.context.problems.add(self.place(key), message, hint)

    def require(self, key: str, what: str) -> None:
        """A problem if the field is not there at all."""
        if key not in self:
            self.refuse(key, f"{what} needs the field {quoted(key)}")

    # --- by type ----------------------------------------------------------------------

    def scalar(self, key: str, what: str = "a text") -> ScalarNode | None:
        node = self.get(key)
        if node is None or isinstance(node, ScalarNode):
            return node
        _unexpected(node, what, self.context)
        return None

    def text(self, key: str) -> str:
        """A text, empty if there is none."""
        node = self.scalar(key)
        return "" if node is None else node.text

    def texts(self, key: str) -> tuple[str, ...]:
        """Several texts, or one."""
        node = self.get(key)
        if isinstance(node, ScalarNode):
            return (node.text,) if node.text else ()
        nodes = self.items(key)
        found = tuple(each.text for each in nodes if isinstance(each, ScalarNode))
        if len(found) < len(nodes):
            self.refuse(key, f"expected a list of texts in {quoted(key)}")
        return found

    def flag(self, key: str) -> bool:
        words = {"true": True, "false": False}
        return bool(self.word(key, words, "true or false"))

    def word(self, key: str, words: Mapping[str, T], what: str) -> T | None:
        """What a word stands for; capitals do not count."""
        node = self.scalar(key, what)
        if node is None:
            return None
        by_lower = {word.lower(): value for word, value in words.items()}
        if node.text.lower() not in by_lower:
            hint = did_you_mean(node.text, words, f"write {listed(words)}")
            self.refuse(key, f"expected {what}, found {quoted(node.text)}", hint)
        return by_lower.get(node.text.lower())

    def whole(self, key: str, least: int, most: int) -> int | None:
        node = self.scalar(key, "a whole number")
        if node is None:
            return None
        if node.text.isascii() and node.text.isdigit() and len(node.text) <= 12:
            number = int(node.text)
            if least <= number <= most:
                return number
        wanted = f"a whole number from {least} to {most:,}"
        self.refuse(key, f"expected {wanted}, found {quoted(node.text)}")
        return None

    def object(self, key: str, what: str = "an object") -> Fields | None:
        node = self.get(key)
        return None if node is None else self.opened(node, what)

    def opened(self, node: Node, what: str) -> Fields | None:
        return Fields.of(node, self.context, what)

    def scalar_or_object(self, key: str) -> str | Fields | None:
        node = self.get(key)
        return node.text if isinstance(node, ScalarNode) else self.object(key)

    def items(self, key: str) -> tuple[Node, ...]:
        node = self.get(key)
        if node is None:
            return ()
        if isinstance(node, ListNode):
            return tuple(each for each in node.items if not is_nothing(each))
        _unexpected(node, "a list", self.context)
        return ()

    def entries(self, key: str) -> tuple[tuple[ScalarNode, Node], ...]:
        """The names and values of an object that serves as a map."""
        node = self.get(key)
        if node is None:
            return ()
        if isinstance(node, MapNode):
            self.context.read[id(node)] = {name.text for name, _ in node.entries}
            return node.entries
        _unexpected(node, "an object", self.context)
        return ()

    def expression(self, key: str) -> Expression | None:
        node = self.scalar(key, "an expression")
        if node is None:
            return None
        try:
            return parse_expression(node.text, node.origin)
        except DefinitionError as error:
            self.context.problems.extend(error.problems)
            return None


def _unexpected(node: Node, what: str, context: Context) -> None:
    if not isinstance(node, BrokenNode):
        context.problems.add(node.position, f"expected {what}, found {describe(node)}")


def is_nothing(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.plain and node.text in ("null", "")


def _is_empty(node: Node | None) -> bool:
    match node:
        case None | ScalarNode(text="") | ListNode(items=()) | MapNode(entries=()) | BrokenNode():
            return True
    return is_nothing(node)


def unread(root: Node, context: Context) -> Iterator[tuple[str, Position]]:
    """The fields that say something and were never looked up, with their places."""
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ListNode):
            waiting += node.items
        read = context.read.get(id(node))
        if not isinstance(node, MapNode) or read is None:
            continue
        for key, value in node.entries:
            if key.text in read:
                waiting.append(value)
            elif not _is_empty(value):
                yield key.text, key.position
