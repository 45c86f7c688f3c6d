"""Every type of a session as JSON, and back: one codec for the service and its client.

A dataclass is an object with its fields; exceptions are in `SHAPES`. Amounts of ε are decimals
written as text, days are ISO dates, bounds are exact numbers written as text: a value survives
the round trip to the last digit. `wire_fields` lists what an object has, and the service's
OpenAPI document is made from the same list.

>>> line = BudgetLine("2024-01", Epsilon.of(1), Epsilon.of("0.3"))
>>> written = to_wire(line)
>>> written["spent"], written["left"]
('0.3', '0.7')
>>> from_wire(BudgetLine, written) == line
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from pappi.custody import Erased, IssuedKey, TrailEntry
from pappi.errors import Position, Problem
from pappi.ledger import Verification
from pappi.values import (
    Answer,
    Bounds,
    BudgetLine,
    DefaultBounds,
    Epsilon,
    PublicLog,
    Quote,
    Series,
    ShownTarget,
    Smoothed,
    bands_text,
)

Json = Any
Value = TypeVar("Value")
_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class WireShape:
    """How an object differs from its dataclass.

    `renamed` maps fields to other names; `inline` fields are replaced by their own fields;
    `computed` ones are written and not read back; a `brief` one may be missing.
    """

    renamed: Mapping[str, str] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    inline: frozenset[str] = frozenset()
    brief: frozenset[str] = frozenset()
    computed: Mapping[str, tuple[Any, Callable[[Any], Any]]] = field(default_factory=dict)


# The colours as a phrase, "green, amber or red", for people; programs read `bands`.
_BANDS = {"band": (str | None, lambda judged: bands_text(judged.bands) or None)}
SHAPES: Mapping[type, WireShape] = {
    # What smoothing needs stays with the service, which smooths for its clients.
    Answer: WireShape(left_out=frozenset({"likelihood", "hidden"}), computed=_BANDS),
    Smoothed: WireShape(computed=_BANDS),
    Series: WireShape(renamed={"rehearsed": "rehearsal"}),
    ShownTarget: WireShape(brief=frozenset({"tolerated"})),
    Quote: WireShape(computed={"margin": (float | None, attrgetter("margin"))}),
    BudgetLine: WireShape(computed={"left": (Epsilon, attrgetter("left"))}),
    PublicLog: WireShape(inline=frozenset({"vocabulary", "terms"})),
    # What the erasure was selected by stays with custody: only its extent is sent.
    Erased: WireShape(left_out=frozenset({"kinds"})),
    IssuedKey: WireShape(renamed={"record": "key"}),
    TrailEntry: WireShape(renamed={"seq": "number", "at": "time"}),
    Verification: WireShape(
        left_out=frozenset({"seq"}), computed={"verifies": (bool, attrgetter("ok"))}
    ),
}
_PLAIN = WireShape()


@dataclass(frozen=True, slots=True)
class WireField:
    """One field of an object: its name, its type, and how it is read from the dataclass."""

    name: str
    kind: Any
    read: Callable[[Any], Any]
    required: bool = True

    @property
    def write(self) -> Callable[[Any], Json]:
        """From the object it is a field of."""
        read = self.read
        if is_named(self.kind):  # pairs with a name each are an object
            return lambda owner: to_wire(dict(read(owner)))
        return lambda owner: to_wire(read(owner))


@cache
def wire_fields(kind: type) -> tuple[WireField, ...]:
    """What an object of this dataclass has on the wire."""
    shape, hints = SHAPES.get(kind, _PLAIN), get_type_hints(kind)
    wired: list[WireField] = []
    for name in _names(kind, shape):
        if name in shape.inline:
            wired += (
                WireField(inner.name, inner.kind, _through(name, inner.read))
                for inner in wire_fields(hints[name])
            )
        else:
            required = name not in shape.brief
            wired.append(
                WireField(shape.renamed.get(name, name), hints[name], attrgetter(name), required)
            )
    wired += (WireField(name, of, read) for name, (of, read) in shape.computed.items())
    return tuple(wired)


def _names(kind: type, shape: WireShape) -> list[str]:
    return [field.name for field in fields(kind) if field.name not in shape.left_out]


def _through(name: str, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda owner: read(getattr(owner, name))


# --- writing ----------------------------------------------------------------------------------


def to_wire(value: Any) -> Json:  # noqa: ANN401 - any type of a session
    """A value of a session as JSON."""
    kind: type = type(value)
    return _writer(kind)(value)


@cache
def _writer(kind: type) -> Callable[[Any], Json]:
    """How values of a type are written."""
    if kind in _LEAVES:
        return _LEAVES[kind][0]
    if issubclass(kind, Enum):
        return attrgetter("value")
    if issubclass(kind, Mapping):
        return lambda value: {name: to_wire(item) for name, item in value.items()}
    if issubclass(kind, frozenset):
        return lambda value: sorted(map(to_wire, value))
    if issubclass(kind, list | tuple):
        return lambda value: list(map(to_wire, value))
    if is_dataclass(kind):
        wired = [(wire_field.name, wire_field.write) for wire_field in wire_fields(kind)]
        return lambda value: {name: write(value) for name, write in wired}
    return lambda value: value


def is_named(kind: Any) -> bool:  # noqa: ANN401 - an annotation
    """Whether a type is a tuple of (name, value) pairs, which is an object on the wire."""
    inner = get_args(kind)[:1] if get_origin(kind) is tuple else ()
    return any(get_origin(pair) is tuple and get_args(pair)[0] is str for pair in inner)


# --- reading ----------------------------------------------------------------------------------


def from_wire(kind: type[Value], data: Json) -> Value:
    """The value of this type that JSON stands for.

    Raises KeyError, TypeError, ValueError or AttributeError if it cannot be read. Unknown names
    are ignored, so that a client can read what a newer service sends.
    """
    value: Value = _read(kind, data)
    return value


def _read(kind: Any, data: Json) -> Any:  # noqa: ANN401 - an annotation, and what it means
    if kind in _LEAVES:
        return _LEAVES[kind][1](data)
    inner = get_args(kind)
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        (kind,) = (member for member in inner if member is not type(None))
        return None if data is None else _read(kind, data)
    if is_named(kind):
        return tuple((name, _read(get_args(inner[0])[1], item)) for name, item in data.items())
    if origin in (tuple, frozenset):
        return origin(_read(inner[0], item) for item in data)
    if origin is not None and issubclass(origin, Mapping):
        return {name: _read(inner[1], item) for name, item in data.items()}
    if is_dataclass(kind):
        return _read_object(kind, data)
    return _read_plain(kind, data)


def _read_object(kind: Any, data: Mapping[str, Json]) -> Any:  # noqa: ANN401 - a dataclass
    shape, hints = SHAPES.get(kind, _PLAIN), get_type_hints(kind)
    defaults = {
        field.name
        for field in fields(kind)
        if not field.default is field.default_factory is MISSING
    }
    arguments = {}
    for name in _names(kind, shape):
        wired = shape.renamed.get(name, name)
        if name in shape.inline:
            arguments[name] = _read(hints[name], data)
        elif wired in data or name not in defaults:
            arguments[name] = _read(hints[name], data[wired])
    return kind(**arguments)


def _read_plain(kind: Any, data: Json) -> Any:  # noqa: ANN401 - a name, a number, a choice
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if isinstance(kind, type) and not isinstance(data, kind):
        raise TypeError(f"not of type {kind.__name__}")
    return data


# --- types with a form of their own -------------------------------------------------------------


def _pair(bounds: Bounds, unit: int = 1) -> list[str]:
    return [str(bounds.low / unit), str(bounds.high / unit)]


def _bounds(pair: Sequence[str], unit: int = 1) -> Bounds:
    low, high = (Fraction(text) * unit for text in pair)
    return Bounds(low, high)


def _defaults_to_wire(defaults: DefaultBounds) -> Json:
    """Durations are in seconds."""
    durations, counts = defaults.durations, defaults.counts
    return {
        "durations": None if durations is None else _pair(durations, _SECOND_US),
        "counts": None if counts is None else _pair(counts),
        "attributes": {name: _pair(bounds) for name, bounds in defaults.attributes.items()},
    }


def _defaults_from_wire(data: Mapping[str, Json]) -> DefaultBounds:
    durations, counts = data["durations"], data["counts"]
    return DefaultBounds(
        durations=None if durations is None else _bounds(durations, _SECOND_US),
        counts=None if counts is None else _bounds(counts),
        attributes={name: _bounds(pair) for name, pair in data["attributes"].items()},
    )


def _problem_to_wire(problem: Problem) -> Json:
    """Lines and columns count from 1. Without the file, whose name only the client knows."""
    return {
        "line": problem.position.line,
        "column": problem.position.column,
        "message": problem.message,
        "hint": problem.hint,
        "level": problem.level,
    }


def _problem_from_wire(data: Mapping[str, Json]) -> Problem:
    position = Position("", data.get("line") or 1, data.get("column") or 1)
    problem = Problem(position, str(data["message"]), str(data.get("hint", "")))
    return replace(problem, level="warning") if data.get("level") == "warning" else problem


_LEAVES: Mapping[Any, tuple[Callable[[Any], Json], Callable[[Json], Any]]] = {
    Epsilon: (str, Epsilon.of),
    date: (date.isoformat, date.fromisoformat),
    datetime: (datetime.isoformat, datetime.fromisoformat),
    Bounds: (_pair, _bounds),
    DefaultBounds: (_defaults_to_wire, _defaults_from_wire),
    Problem: (_problem_to_wire, _problem_from_wire),
}
