"""JSON objects as Java reads them: fields by name, unknown ones ignored, null as absent.

A look-up that finds something unfitting reports it and gives None, as if nothing were there:
reading goes on, and all problems are shown together in the end. What nothing has looked up is
lost, and told by `unread`.

A JSON number is read as the decimal that was typed, not as the nearest float.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeVar

from pappi.errors import DefinitionError, Position
from pappi.ppinot.expressions import Expression
from pappi.ppinot.grammar import parse_expression
from pappi.ppinot.notations.document import (
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
from pappi.ppinot.notations.shapes import Shape
from pappi.values import did_you_mean, listed, quoted

N = TypeVar("N", ScalarNode, ListNode, MapNode)
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
        node = self._nodes.get(key)
        return node is not None and not is_nothing(node)

    def get(self, key: str) -> Node | None:
        self._read.add(key)
        return self._nodes[key] if key in self else None

    def pass_over(self, key: str, text: str) -> None:
        """A field that says nothing, if this is its text: it is not lost."""
        node = self._nodes.get(key)
        if isinstance(node, ScalarNode) and node.text == text:
            self._read.add(key)

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

    def _of_type(self, key: str, kind: type[N], what: str) -> N | None:
        node = self.get(key)
        if node is None or isinstance(node, kind):
            return node
        _unexpected(node, what, self.context)
        return None

    def scalar(self, key: str, what: str = "a text") -> ScalarNode | None:
        return self._of_type(key, ScalarNode, what)

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
        texts = tuple(item.text for item in nodes if isinstance(item, ScalarNode))
        if len(texts) < len(nodes):
            self.refuse(key, f"expected a list of texts in {quoted(key)}")
        return texts

    def flag(self, key: str) -> bool:
        return bool(self.word(key, {"true": True, "false": False}, "true or false"))

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
        if re.fullmatch("[0-9]{1,12}", node.text) and least <= int(node.text) <= most:
            return int(node.text)
        wanted = f"a whole number from {least} to {most:,}"
        self.refuse(key, f"expected {wanted}, found {quoted(node.text)}")
        return None

    def object(self, key: str, what: str = "an object") -> Fields | None:
        node = self.get(key)
        return None if node is None else self.opened(node, what)

    def opened(self, node: Node, what: str) -> Fields | None:
        return Fields.of(node, self.context, what)

    def items(self, key: str) -> tuple[Node, ...]:
        node = self._of_type(key, ListNode, "a list")
        return tuple(item for item in node.items if not is_nothing(item)) if node else ()

    def entries(self, key: str) -> tuple[tuple[ScalarNode, Node], ...]:
        """The names and values of an object that serves as a map."""
        node = self._of_type(key, MapNode, "an object")
        if node is None:
            return ()
        self.context.read[id(node)] = {name.text for name, _ in node.entries}
        return node.entries

    def shaped(self, key: str, shape: Shape[T]) -> T | None:
        """What a field says that is written as in a catalogue."""
        node = self.get(key)
        return None if node is None else shape.read(node, self.context.problems)

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


# --- numbers and other values ---------------------------------------------------------

# A few hundred digits are more than any quantity has, and few enough to compute with at once.
# What is written out from an exponent still fits into them.
_DECIMAL = re.compile(
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{1,400})?|[0-9]{1,100}(?:\.[0-9]{1,100})?[eE][+-]?[0-9]{1,2})"
)

# Beyond these a float could not say what is meant.
_HUGE = Fraction(10**150)
_TINY = 1 / _HUGE


def exact(text: str) -> Fraction | None:
    """
    >>> exact("2.50"), exact("1e3"), exact("many")
    (Fraction(5, 2), Fraction(1000, 1), None)
    """
    if not _DECIMAL.fullmatch(text):
        return None
    value = Fraction(text)
    return value if not value or _TINY <= abs(value) <= _HUGE else None


def json_number(value: Fraction) -> int | float | None:
    """The JSON number next to the value; none if none that is read is near."""
    if value and not _TINY <= abs(value) <= _HUGE:
        return None
    return value.numerator if value.denominator == 1 else float(value)


def json_value(written: Plain) -> object:
    """What a shape has written, as JSON: a number is one, unless that would round it.

    >>> json_value([Literal("0.5"), "60 days"])
    [0.5, '60 days']
    """
    if isinstance(written, dict):
        return {key: json_value(value) for key, value in written.items()}
    if isinstance(written, list):
        return [json_value(item) for item in written]
    number = json.loads(written) if isinstance(written, Literal) else None
    return number if json.dumps(number) == written else str(written)


def present(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields that have a value."""
    return {key: value for key, value in fields.items() if value is not None}
