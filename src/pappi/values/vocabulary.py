"""The public vocabulary of a log: what its process model tells analysts anyway.

Declared by the owner (import proposes it). Definitions are checked against it,
so that no refusal ever depends on what the data holds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What sort of value an attribute or an expression has."""

    NUMBER = "number"
    TEXT = "text"
    TRUTH = "truth"
    DURATION = "duration"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Activity names, and attribute names with the kind of their values.

    `keys` are values of attributes that may be known: the groups it makes sense to ask for.
    """

    activities: tuple[str, ...]
    attributes: Mapping[str, Kind] = field(default_factory=dict)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def without(self, activities: Collection[str], attributes: Collection[str]) -> Vocabulary:
        """
        >>> Vocabulary(("A", "B"), {"cost": Kind.NUMBER}).without(["B"], ["cost"])
        Vocabulary(activities=('A',), attributes={}, keys={})
        """
        return Vocabulary(
            tuple(name for name in self.activities if name not in activities),
            {name: kind for name, kind in self.attributes.items() if name not in attributes},
            {name: keys for name, keys in self.keys.items() if name not in attributes},
        )
