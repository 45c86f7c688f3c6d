"""JSON objects as Java reads them: fields by name, unknown ones ignored, null as absent.

A look-up that finds something unfitting reports it and gives None, as if nothing were there:
reading goes on, and all problems are shown together in the end. What nothing has looked up is
lost, and told by `unread`.

A JSON number is read as the decimal that was typed, not as the nearest float. A fraction
without a finite decimal form is a text, "1/3"; a duration is a text with its unit, "60 days".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeVar, cast

from pappi.errors import DefinitionError, Position
from pappi.ppinot.expressions.nodes import Expression
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.expressions.render import whole_unit
from pappi.ppinot.notations.document import (
    BrokenNode,
    ListNode,
    MapNode,
    Node,
    Problems,
    ScalarNode,
    describe,
)
from pappi.ppinot.wording import did_you_mean, listed, quoted
from pappi.values import DURATIONS, Bounds, duration_unit

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

    def scalar_or_object(self, key: str) -> str | Fields | None:
        node = self.get(key)
        return node.text if isinstance(node, ScalarNode) else self.object(key)

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


# --- fields that are read and written -------------------------------------------------

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Entry:
    """A field of an object: how its value is read, and how it is written."""

    key: str
    read: Callable[[Fields, str], Any]
    write: Callable[[Any], object] = lambda value: value


Entries = Mapping[str, Entry]
"""The fields of an object, by the attributes they are read into and written from."""


def word_entry(key: str, words: Mapping[str, T], what: str) -> Entry:
    by_meaning = {meaning: word for word, meaning in words.items()}
    return Entry(key, lambda fields, key: fields.word(key, words, what), by_meaning.get)


def choice_entry(key: str, choices: type[StrEnum], what: str) -> Entry:
    return word_entry(key, {choice.value: choice for choice in choices}, what)


def attributes_read(fields: Fields, entries: Entries) -> dict[str, Any]:
    """What an object says; the other attributes have their defaults."""
    read = {name: entry.read(fields, entry.key) for name, entry in entries.items()}
    return {name: value for name, value in read.items() if value is not None}


def attributes_written(value: object, entries: Entries) -> Json:
    """The fields of the attributes that have not their defaults."""
    defaults = {own.name: own.default for own in dataclass_fields(cast("Any", value))}
    said = {name: getattr(value, name) for name in entries}
    return {
        entry.key: entry.write(said[name])
        for name, entry in entries.items()
        if said[name] != defaults[name]
    }


# --- numbers and durations, exactly ---------------------------------------------------

# A few hundred digits are more than any quantity has, and few enough to compute with at once.
# What is written out from an exponent still fits into them.
_DECIMAL = re.compile(
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{1,400})?|[0-9]{1,100}(?:\.[0-9]{1,100})?[eE][+-]?[0-9]{1,2})"
)
_RATIO = re.compile(r"[+-]?[0-9]{1,800}/[0-9]{1,800}")
_WITH_UNIT = re.compile(r"(\S{1,1700}) ([a-z]{1,20})")

# Beyond these a float could not say what is meant.
_HUGE = Fraction(10**150)
_TINY = 1 / _HUGE


def exact(text: str) -> Fraction | None:
    """
    >>> exact("2.50"), exact("1e3"), exact("1/3"), exact("many")
    (Fraction(5, 2), Fraction(1000, 1), Fraction(1, 3), None)
    """
    is_ratio = _RATIO.fullmatch(text) and text.rpartition("/")[2].strip("0")
    if not is_ratio and not _DECIMAL.fullmatch(text):
        return None
    value = Fraction(text)
    return value if not value or _TINY <= abs(value) <= _HUGE else None


def exact_duration(text: str) -> Fraction | None:
    """Microseconds.

    >>> exact_duration("1.5 hours")
    Fraction(5400000000, 1)
    """
    match = _WITH_UNIT.fullmatch(text)
    number, unit = (exact(match[1]), duration_unit(match[2])) if match else (None, None)
    return None if number is None or unit is None else unit.read(number)


def as_json(value: Fraction) -> int | float | str:
    """The JSON number that is exactly the value; where there is none, its fraction as a text."""
    if value.denominator == 1:
        return value.numerator
    number = nearest(value)
    return str(value) if number is None or Fraction(repr(number)) != value else number


def nearest(value: Fraction) -> float | None:
    """The JSON number next to the value; none if it is larger than all."""
    try:
        return float(value)
    except OverflowError:
        return None


def duration_text(microseconds: Fraction) -> str:
    """
    >>> duration_text(Fraction(90 * 60_000_000)), duration_text(Fraction(1, 3))
    ('90 minutes', '1/3 microseconds')
    """
    unit = whole_unit(microseconds)
    return f"{as_json(microseconds / DURATIONS[unit])} {unit}"


def present(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields that have a value."""
    return {key: value for key, value in fields.items() if value is not None}


def read_share(fields: Fields, key: str, what: str) -> Fraction | None:
    """A part of something, `what`."""
    share = exact(fields.text(key))
    if key not in fields or (share is not None and 0 < share <= 1):
        return share
    fields.refuse(key, f"a share of {what} is above 0 and at most 1", "write e.g. 0.3")
    return None


def read_number(fields: Fields, key: str) -> Fraction | None:
    number = exact(fields.text(key))
    if key in fields and number is None:
        fields.refuse(key, f"expected a number, found {quoted(fields.text(key))}")
    return number


def read_range(fields: Fields, scale: Fraction) -> Bounds | None:
    """Two limits, `low` and `high`: durations, or numbers of which each is so much."""
    for key in ("low", "high"):
        fields.require(key, "a range")
    low, high = (read_quantity(fields, key, scale) for key in ("low", "high"))
    if low is None or high is None:
        return None
    if low < high:
        return Bounds(low, high)
    fields.refuse("high", "the lower bound must be below the upper one")
    return None


def read_quantity(fields: Fields, key: str, scale: Fraction) -> Fraction | None:
    node = fields.scalar(key, "a number")
    if node is None:
        return None
    number, duration = exact(node.text), exact_duration(node.text)
    if number is None and duration is None:
        fields.refuse(key, f"expected a number or a duration, found {quoted(node.text)}")
    return number * scale if number is not None else duration
