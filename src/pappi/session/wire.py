"""Every type of a session as JSON, and back: one codec for the service and its client.

A dataclass is an object with its fields; what differs is in `SHAPES`. Amounts of ε are
decimals written as text, days are ISO dates, bounds are exact numbers written as text: what is
read is equal to what was written, to the last digit. `wire_fields` says what an object has, so
that the service's OpenAPI document is made of the same description.

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
)

Json = Any
Value = TypeVar("Value")
_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Shape:
    """How an object differs from its dataclass.

    `renamed` maps fields to other names; those of `inline` give their own fields instead of
    themselves; `computed` are told to readers, and not read back; a `brief` one may be missing.
    """

    renamed: Mapping[str, str] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    inline: frozenset[str] = frozenset()
    brief: frozenset[str] = frozenset()
    computed: Mapping[str, tuple[Any, Callable[[Any], Any]]] = field(default_factory=dict)


def _band_text(judged: Answer | Smoothed) -> str | None:
    """The colours as a phrase, "green, amber or red", for people; programs read `bands`."""
    *others, last = judged.bands or ("",)
    return " or ".join(filter(None, [", ".join(others), last])) or None


_BANDS = {"band": (str | None, _band_text)}
_CHANCE = {"probability_met": "chance_met"}
SHAPES: Mapping[type, Shape] = {
    # What smoothing works with stays where the release is: a service smooths for its clients.
    Answer: Shape(_CHANCE, left_out=frozenset({"likelihood"}), computed=_BANDS),
    Smoothed: Shape(_CHANCE, computed=_BANDS),
    Series: Shape(renamed={"rehearsed": "rehearsal"}),
    ShownTarget: Shape(brief=frozenset({"tolerated"})),
    Quote: Shape(computed={"margin": (float | None, attrgetter("margin"))}),
    BudgetLine: Shape(computed={"left": (Epsilon, attrgetter("left"))}),
    PublicLog: Shape(inline=frozenset({"vocabulary", "terms"})),
    # By what was erased stays with custody: only how much is told.
    Erased: Shape(left_out=frozenset({"kinds"})),
    IssuedKey: Shape(renamed={"record": "key"}),
    TrailEntry: Shape(renamed={"seq": "number", "at": "time"}),
    Verification: Shape(
        left_out=frozenset({"seq"}), computed={"verifies": (bool, attrgetter("ok"))}
    ),
}
_PLAIN = Shape()


@dataclass(frozen=True, slots=True)
class WireField:
    """One name of an object: of which type, and what it is for a given dataclass instance."""

    name: str
    kind: Any
    read: Callable[[Any], Any]
    required: bool = True

    def written_for(self, owner: object) -> Json:
        part = self.read(owner)
        # Pairs with a name each are an object.
        return to_wire(dict(part) if is_named(self.kind) else part)


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


def _names(kind: type, shape: Shape) -> list[str]:
    return [field.name for field in fields(kind) if field.name not in shape.left_out]


def _through(name: str, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda owner: read(getattr(owner, name))


# --- writing ----------------------------------------------------------------------------------


def to_wire(value: Any) -> Json:  # noqa: ANN401 - any type of a session
    """A value of a session as JSON."""
    leaf = _LEAVES.get(type(value))
    if leaf is not None:
        return leaf[0](value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {name: to_wire(item) for name, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(to_wire, value))
    if isinstance(value, list | tuple):
        return [to_wire(item) for item in value]
    kind: type = type(value)
    if is_dataclass(kind):
        return {wired.name: wired.written_for(value) for wired in wire_fields(kind)}
    return value


def is_named(kind: Any) -> bool:  # noqa: ANN401 - an annotation
    """Whether a type is a tuple of pairs of a name and something else."""
    inner = get_args(kind)[:1] if get_origin(kind) is tuple else ()
    return any(get_origin(pair) is tuple and get_args(pair)[0] is str for pair in inner)


# --- reading ----------------------------------------------------------------------------------


def from_wire(kind: type[Value], written: Json) -> Value:
    """The value of this type that JSON stands for.

    What cannot be read fails with a KeyError, TypeError, ValueError or AttributeError; names
    that are not known are left alone, so that a service may say more than a client knows.
    """
    value: Value = _read(kind, written)
    return value


def _read(kind: Any, written: Json) -> Any:  # noqa: ANN401 - an annotation, and what it means
    if kind in _LEAVES:
        return _LEAVES[kind][1](written)
    inner = get_args(kind)
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        (kind,) = (member for member in inner if member is not type(None))
        return None if written is None else _read(kind, written)
    if is_named(kind):
        return tuple((name, _read(get_args(inner[0])[1], item)) for name, item in written.items())
    if origin in (tuple, frozenset):
        return origin(_read(inner[0], item) for item in written)
    if origin is not None and issubclass(origin, Mapping):
        return {name: _read(inner[1], item) for name, item in written.items()}
    if is_dataclass(kind):
        return _read_object(kind, written)
    return _read_plain(kind, written)


def _read_object(kind: Any, written: Mapping[str, Json]) -> Any:  # noqa: ANN401 - a dataclass
    shape, hints = SHAPES.get(kind, _PLAIN), get_type_hints(kind)
    defaults = {
        field.name
        for field in fields(kind)
        if not field.default is field.default_factory is MISSING
    }
    given = {}
    for name in _names(kind, shape):
        wired = shape.renamed.get(name, name)
        if name in shape.inline:
            given[name] = _read(hints[name], written)
        elif wired in written or name not in defaults:
            given[name] = _read(hints[name], written[wired])
    return kind(**given)


def _read_plain(kind: Any, written: Json) -> Any:  # noqa: ANN401 - a name, a number, a choice
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(written)
    if kind is float and isinstance(written, int) and not isinstance(written, bool):
        return float(written)
    if isinstance(kind, type) and not isinstance(written, kind):
        raise TypeError(f"not of type {kind.__name__}")
    return written


# --- what has a form of its own -----------------------------------------------------------------


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


def _defaults_from_wire(written: Mapping[str, Json]) -> DefaultBounds:
    durations, counts = written["durations"], written["counts"]
    return DefaultBounds(
        durations=None if durations is None else _bounds(durations, _SECOND_US),
        counts=None if counts is None else _bounds(counts),
        attributes={name: _bounds(pair) for name, pair in written["attributes"].items()},
    )


def _problem_to_wire(problem: Problem) -> Json:
    """One thing wrong with a definition; lines and columns count from 1. No file: it is theirs."""
    return {
        "line": problem.position.line,
        "column": problem.position.column,
        "message": problem.message,
        "hint": problem.hint,
        "level": problem.level,
    }


def _problem_from_wire(written: Mapping[str, Json]) -> Problem:
    position = Position("", written.get("line") or 1, written.get("column") or 1)
    problem = Problem(position, str(written["message"]), str(written.get("hint", "")))
    return replace(problem, level="warning") if written.get("level") == "warning" else problem


_LEAVES: Mapping[Any, tuple[Callable[[Any], Json], Callable[[Json], Any]]] = {
    Epsilon: (str, Epsilon.of),
    date: (date.isoformat, date.fromisoformat),
    datetime: (datetime.isoformat, datetime.fromisoformat),
    Bounds: (_pair, _bounds),
    DefaultBounds: (_defaults_to_wire, _defaults_from_wire),
    Problem: (_problem_to_wire, _problem_from_wire),
}
