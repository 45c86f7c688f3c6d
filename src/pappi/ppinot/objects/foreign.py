"""Looking at objects that may be anything.

An attribute can be of any type, run code when it is read, or lead back to where it came from.
So every look is guarded and counted, and what is taken from an object is a plain value of a
built-in type, never the object itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from itertools import islice
from numbers import Integral

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.wording import quoted

MAX_DEPTH = 60
MAX_LOOKS = 20_000
MAX_ITEMS = 5_000
_SHOWN = 120

_NAME_OF = type.__dict__["__name__"]


class _Counter:
    def __init__(self) -> None:
        self.left = MAX_LOOKS


@dataclass(frozen=True, slots=True)
class Foreign:
    """An object, and how it was come by."""

    value: object
    path: str
    depth: int
    counter: _Counter

    @classmethod
    def root(cls, value: object) -> Foreign:
        found = cls(value, "", 0, _Counter())
        kind = found.kind
        return cls(value, kind if kind.isidentifier() else quoted(kind), 0, found.counter)

    @property
    def kind(self) -> str:
        """The name of its class, which no metaclass can make up."""
        return str(_NAME_OF.__get__(type(self.value)))

    @property
    def position(self) -> Position:
        shown = self.path if len(self.path) <= _SHOWN else "…" + self.path[-_SHOWN:]
        return Position(shown, 1, 1)

    def refusal(self, message: str, hint: str = "") -> DefinitionError:
        return DefinitionError([Problem(self.position, message, hint)])

    def get(self, name: str) -> Foreign:
        """An attribute."""
        try:
            value = getattr(self.value, name)
        except Exception:  # noqa: BLE001 - reading an attribute may run any code
            message = f"{quoted(self.kind)} has no attribute {quoted(name)}"
            raise self.refusal(message) from None
        return self._inner(value, f"{self.path}.{name}")

    def find(self, name: str) -> Foreign | None:
        """An attribute that need not be there, and is not None."""
        found = self.get(name)
        return None if found.value is None else found

    def _inner(self, value: object, path: str) -> Foreign:
        self.counter.left -= 1
        if self.counter.left < 0 or self.depth >= MAX_DEPTH:
            raise self.refusal("this measure leads back to itself, or is too large")
        return Foreign(value, path, self.depth + 1, self.counter)

    # --- plain values -----------------------------------------------------------------

    @property
    def is_text(self) -> bool:
        return isinstance(self.value, str)

    def text(self, what: str) -> str:
        if isinstance(self.value, str):
            # A subclass could answer differently each time; this is its content.
            return str.__str__(self.value)
        raise self.refusal(f"expected {what}, found {quoted(self.kind)}")

    def flag(self) -> bool:
        if isinstance(self.value, bool):
            return self.value
        raise self.refusal(f"expected True or False, found {quoted(self.kind)}")

    def word(self) -> str:
        """The name of a member of an enumeration."""
        return self.get("name").text("a member of an enumeration")

    def number(self) -> Fraction | None:
        """A number, exactly as it is shown; None if this is none."""
        match self.value:
            case bool():
                return None
            case Integral():
                return Fraction(int(self.value))
            case float() if self.value - self.value == 0:
                return Fraction(float.__repr__(self.value))
        return None

    def span(self) -> Fraction | None:
        """A timedelta in microseconds; None if this is none."""
        if not isinstance(self.value, timedelta):
            return None
        whole = timedelta.__sub__(self.value, timedelta(0))
        return Fraction(timedelta.__floordiv__(whole, timedelta(microseconds=1)))

    def day(self) -> date:
        if isinstance(self.value, date) and not isinstance(self.value, datetime):
            return date.fromordinal(date.toordinal(self.value))
        raise self.refusal(f"expected a date, found {quoted(self.kind)}")

    def clock(self) -> time:
        if isinstance(self.value, time):
            return time(int(self.value.hour), int(self.value.minute), int(self.value.second))
        raise self.refusal(f"expected a time of day, found {quoted(self.kind)}")

    # --- several ----------------------------------------------------------------------

    def items(self) -> list[Foreign]:
        """The members of a list, tuple or set, or the keys of a dictionary."""
        if not isinstance(self.value, list | tuple | set | frozenset | dict):
            raise self.refusal(f"expected a list, found {quoted(self.kind)}")
        found = list(islice(self.value, MAX_ITEMS + 1))
        if len(found) > MAX_ITEMS:
            raise self.refusal(f"this has more than {MAX_ITEMS:,} members")
        return [self._inner(each, f"{self.path}[{index}]") for index, each in enumerate(found)]

    def entries(self) -> list[tuple[str, Foreign]]:
        """The named values of a dictionary."""
        if not isinstance(self.value, dict):
            raise self.refusal(f"expected a dictionary, found {quoted(self.kind)}")
        names = [each.text("a name") for each in self.items()]
        values = list(islice(dict.values(self.value), MAX_ITEMS + 1))
        pairs = zip(names, values, strict=True)
        return [(name, self._inner(value, f"{self.path}[{quoted(name)}]")) for name, value in pairs]
