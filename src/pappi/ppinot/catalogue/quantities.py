"""Numbers with units, as written: bounds and epsilon.

What a bare number means depends on the measure it is about, so a quantity keeps
its unit word until `settling` knows the measure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from pappi.errors import Position, UsageError
from pappi.ppinot.catalogue.document import BrokenNode, ListNode, Node, ScalarNode
from pappi.ppinot.catalogue.shapes import (
    Definitions,
    Json,
    ListOf,
    Named,
    Problems,
    Written,
    describe,
)
from pappi.ppinot.model import Bounding
from pappi.ppinot.wording import did_you_mean, listed, quoted
from pappi.values.epsilon import ZERO, Epsilon
from pappi.values.units import DURATIONS, Unit, duration_unit

# Written so that Python and the ECMAScript of JSON Schema read them alike.
_NUMBER = r"([+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?)"
# What follows a number is its unit, but not the rest of an exponent too long to be one.
QUANTITY = _NUMBER + r"(?:\s*((?![eE][+-]?[0-9])[^\s0-9+.\-]\S*))?"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and the unit word behind it, empty if there is none."""

    number: Fraction
    unit: str
    position: Position

    def __str__(self) -> str:
        number = self.number.numerator if self.number.denominator == 1 else float(self.number)
        return f"{number} {self.unit}".strip()


@dataclass(frozen=True, slots=True)
class Label:
    """A unit as written."""

    text: str
    position: Position


def quantity_of(number: str, unit: str | None, position: Position) -> Quantity:
    return Quantity(Fraction(number), unit or "", position)


def _parse_quantity(node: ScalarNode, _: Problems) -> Quantity | None:
    match = re.fullmatch(QUANTITY, node.text.strip())
    return quantity_of(match[1], match[2], node.position) if match else None


def _parse_epsilon(node: ScalarNode, problems: Problems) -> Epsilon | None:
    try:
        epsilon = Epsilon.of(node.text)
    except UsageError as error:
        problems.add(node.position, error.message, error.hint)
        return None
    if epsilon == ZERO:
        problems.add(node.position, "epsilon must be above 0", "nothing can be answered for it")
        return None
    return epsilon


def _parse_time_unit(node: ScalarNode, problems: Problems) -> Label | None:
    label = Label(node.text.strip(), node.position)
    return None if known_time_unit(label, problems) is None else label


def known_time_unit(label: Label, problems: Problems) -> Unit | None:
    """The unit of time a label names, or a problem with a suggestion."""
    unit = duration_unit(label.text)
    if unit is None:
        units = f"the units are {listed(DURATIONS, 'and')}"
        hint = did_you_mean(label.text, DURATIONS, units)
        problems.add(label.position, f"{quoted(label.text)} is not a unit of time", hint)
    return unit


_LOOSE, _PRIVATE = Bounding.LOOSE.value, Bounding.PRIVATE.value

_LIMIT = Written(
    "a number, with a unit of time for a duration",
    _parse_quantity,
    example="60 days",
    pattern=rf"^\s*{QUANTITY}\s*$",
    types=("string", "number"),
)
_LIMITS = ListOf("bounds as [low, high]", _LIMIT, least=2, most=2)
_FORMS = "write [low, high], [low, high, loose] or private"


@dataclass(frozen=True, slots=True)
class WrittenBounds:
    """Bounds whose quantities have not met their measure yet; private ones have none."""

    limits: tuple[Quantity, ...]
    bounding: Bounding
    position: Position


class _Bounds:
    """`[low, high]`, `[low, high, loose]` or the word `private`."""

    def read(self, node: Node, problems: Problems) -> WrittenBounds | None:
        if isinstance(node, ScalarNode):
            return self._word(node, problems)
        bounding, limits = Bounding.DECLARED, node
        if isinstance(node, ListNode) and len(node.items) == 3:
            third = node.items[2]
            if isinstance(third, BrokenNode):
                return None
            if not _is_loose(third):
                message = f"after the two bounds only 'loose' can stand, not {describe(third)}"
                problems.add(third.position, message, _FORMS)
                return None
            bounding, limits = Bounding.LOOSE, replace(node, items=node.items[:2])
        read = _LIMITS.read(limits, problems)
        return None if read is None else WrittenBounds(read, bounding, node.position)

    def _word(self, node: ScalarNode, problems: Problems) -> WrittenBounds | None:
        word = node.text.strip()
        if word == _PRIVATE:
            return WrittenBounds((), Bounding.PRIVATE, node.position)
        message = f"expected bounds as [low, high], found {describe(node)}"
        problems.add(node.position, message, did_you_mean(word, (_PRIVATE,), _FORMS))
        return None

    def schema(self, definitions: Definitions) -> Json:
        limit = _LIMIT.schema(definitions)
        items = [limit, limit, {"enum": [_LOOSE]}]
        limits = {"type": "array", "prefixItems": items, "minItems": 2, "maxItems": 3}
        return {"anyOf": [limits, {"enum": [_PRIVATE]}]}


def _is_loose(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.text.strip() == _LOOSE


BOUNDS: Named[WrittenBounds] = Named("bounds", _Bounds)

EPSILON = Written(
    "an epsilon",
    _parse_epsilon,
    example="0.1",
    pattern=r"^[0-9]{1,9}(?:\.[0-9]{1,9})?$",
    types=("string", "number"),
)

UNIT = Written("a unit", lambda node, _: Label(node.text.strip(), node.position), example="hours")

TIME_UNIT = Written("a unit of time", _parse_time_unit, example="hours")
