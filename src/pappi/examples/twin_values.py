"""The attributes of made-up events: by their kinds, declared bounds and public keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pappi.examples.chance import Chance, Weighted
from pappi.values.bounds import Bounds, DefaultBounds
from pappi.values.vocabulary import Kind, Vocabulary

Value = str | float | int | bool
Draw = Callable[[Chance, int], Value | None]
"""A value at an instant; None is a missing one."""

_WORDS = 5
_MISSING = 0.05
_VARIES = 0.3
# Of bounds that are wider nothing could be seen, and a float may not hold them.
_FAR = Fraction(10**15)
_NUMBERS = Bounds(Fraction(0), Fraction(1_000))
_DURATIONS = Bounds(Fraction(0), Fraction(7 * 86_400 * 10**6))


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: how its values are drawn, and whether they change within a case."""

    name: str
    draw: Draw
    varies: bool

    def of_case(self, times_us: Sequence[int], chance: Chance) -> list[Value | None]:
        """A value for each event of a case."""
        if self.varies:
            return [self.draw(chance, instant) for instant in times_us]
        return [self.draw(chance, times_us[0])] * len(times_us)


def attributes_of(
    vocabulary: Vocabulary,
    bounds: DefaultBounds,
    person: str | None,
    cases: int,
    chance: Chance,
) -> tuple[Attribute, ...]:
    """All attributes; that of persons never changes within a case and is never missing."""
    found = []
    for name, kind in vocabulary.attributes.items():
        keys = vocabulary.keys.get(name, ())
        if name == person:
            found.append(Attribute(name, _persons(kind, keys, cases), varies=False))
        elif kind is Kind.TEXT and keys:
            found.append(Attribute(name, _texts(keys), varies=False))
        else:
            varies = kind is Kind.TIME or chance.happens(_VARIES)
            found.append(Attribute(name, _by_kind(kind, bounds, name), varies))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Spread:
    """Skewed, as durations and amounts are: most in the lower half, all within their bounds."""

    low: float
    width: float

    @classmethod
    def within(cls, bounds: Bounds) -> Spread:
        low, high = (float(min(max(end, -_FAR), _FAR)) for end in (bounds.low, bounds.high))
        return cls(low, high - low)

    def draw(self, chance: Chance) -> float:
        return self.low + chance.skewed(self.width / 4, 3, at_most=self.width)


def _by_kind(kind: Kind, bounds: DefaultBounds, name: str) -> Draw:
    match kind:
        case Kind.TEXT:
            return _texts(tuple(f"value {number}" for number in range(1, _WORDS + 1)))
        case Kind.TRUTH:
            return lambda chance, _: chance.happens(0.5)
        case Kind.TIME:
            return lambda _, instant: instant
        case Kind.DURATION:
            declared = bounds.attributes.get(name) or bounds.durations
            durations = Spread.within(declared or _DURATIONS)
            return _with_gaps(lambda chance, _: int(durations.draw(chance)))
        case Kind.NUMBER:
            return _with_gaps(_numbers(bounds.attributes.get(name, _NUMBERS)))


def _numbers(within: Bounds) -> Draw:
    numbers, digits = Spread.within(within), 2 if within.width > 10 else 6
    return lambda chance, _: round(numbers.draw(chance), digits)


def _with_gaps(draw: Draw) -> Draw:
    return lambda chance, instant: None if chance.happens(_MISSING) else draw(chance, instant)


def _texts(keys: tuple[str, ...]) -> Draw:
    """The first are the most frequent."""
    weighted = Weighted({key: 1.0 / place for place, key in enumerate(keys, start=1)})
    return lambda chance, _: weighted.draw(chance)


def _persons(kind: Kind, keys: tuple[str, ...], cases: int) -> Draw:
    """Some have one case, some have several."""
    most = max(1, 2 * cases // 3)
    if kind is Kind.TEXT:
        return _texts(keys) if keys else lambda chance, _: f"person {chance.whole(1, most)}"
    if kind is Kind.TRUTH:
        return lambda chance, _: chance.happens(0.5)
    return lambda chance, _: chance.whole(1, most)
