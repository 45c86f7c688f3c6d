"""Public bounds on what one case may contribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, slots=True)
class Bounds:
    """A declared range [low, high], in the internal unit of its measure.

    Internal units: microseconds for durations, 0 and 1 for truth values, the
    number itself otherwise.
    """

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"bounds must rise: {self.low} to {self.high}")

    @property
    def width(self) -> Fraction:
        return self.high - self.low

    @property
    def magnitude(self) -> Fraction:
        """The largest absolute value inside: what adding one case can move a sum by."""
        return max(abs(self.low), abs(self.high))


UNIT_INTERVAL = Bounds(Fraction(0), Fraction(1))


@dataclass(frozen=True, slots=True)
class DefaultBounds:
    """What the owner declares a case to contribute at most, where a definition does not say."""

    durations: Bounds | None = None
    counts: Bounds | None = None
    attributes: Mapping[str, Bounds] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As exact fractions: a float would round."""
        return {
            "durations": _written(self.durations),
            "counts": _written(self.counts),
            "attributes": {name: _written(bounds) for name, bounds in self.attributes.items()},
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> DefaultBounds:
        named = ((name, _read(bounds)) for name, bounds in found["attributes"].items())
        return cls(
            _read(found["durations"]),
            _read(found["counts"]),
            {name: bounds for name, bounds in named if bounds is not None},
        )


NO_DEFAULTS = DefaultBounds()


def _written(bounds: Bounds | None) -> list[str] | None:
    return None if bounds is None else [str(bounds.low), str(bounds.high)]


def _read(found: list[str] | None) -> Bounds | None:
    return None if found is None else Bounds(Fraction(found[0]), Fraction(found[1]))
