"""Amounts with their units: bounds, limits and targets, in sentences and in templates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pappi.ppinot.expressions.nodes import Duration, Literal, Number
from pappi.ppinot.expressions.render import render
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.words import WordKind
from pappi.ppinot.wording import did_you_mean, listed
from pappi.values.bounds import Bounds
from pappi.values.units import DURATIONS, duration_unit
from pappi.values.vocabulary import Kind

COUNTS = {
    word: number
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}
"""The numbers that are usually written out."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, and the microseconds it stands for if it has a unit of time."""

    number: Fraction
    unit: str

    @property
    def internal(self) -> Fraction:
        return self.number * DURATIONS[self.unit] if self.unit else self.number

    @property
    def literal(self) -> Literal:
        return Duration(self.internal) if self.unit else Number(self.number)


def amount(cursor: Cursor) -> Amount:
    """A number, perhaps negative or a fraction, with a unit of time or without."""
    sign = -1 if cursor.next.is_symbol("-") and cursor.take() else 1
    number = sign * plain_number(cursor)
    unit = _unit(cursor)
    if cursor.next.is_symbol("/") and cursor.word(1).kind is WordKind.NUMBER:
        slash = cursor.take()
        divisor = plain_number(cursor)
        if divisor == 0:
            raise cursor.refusal("nothing can be divided by 0", at=slash)
        number /= divisor
    return Amount(number, unit)


def plain_number(cursor: Cursor) -> Fraction:
    if cursor.next.is_word(*COUNTS):
        return Fraction(COUNTS[cursor.take().said])
    word = cursor.accept_kind(WordKind.NUMBER, "a number")
    if word is None:
        raise cursor.unexpected()
    return Fraction(word.written)


def whole_number(cursor: Cursor, least: int, most: int, what: str) -> int:
    """A count between two limits; `what` is counted."""
    word = cursor.next
    number = plain_number(cursor)
    if number.denominator != 1 or not least <= number <= most:
        message = f"{what} are counted from {least:,} to {most:,}, not {word}"
        raise cursor.refusal(message, at=word)
    return int(number)


def _unit(cursor: Cursor) -> str:
    unit = duration_unit(cursor.next.said) if cursor.next.kind is WordKind.WORD else None
    if unit is None:
        return ""
    cursor.take()
    return unit.name


def time_amount(cursor: Cursor) -> Amount:
    """An amount that has a unit of time."""
    found = amount(cursor)
    if not found.unit:
        units = f"the units are {listed(DURATIONS, 'and')}"
        hint = did_you_mean(cursor.next.written, DURATIONS, units)
        raise cursor.refusal(f"expected a unit of time, found {cursor.next}", hint)
    return found


# --- writing --------------------------------------------------------------------------


def bounds_words(bounds: Bounds, kind: Kind | None) -> str:
    """
    >>> bounds_words(Bounds(Fraction(0), Fraction(5 * DURATIONS["days"])), Kind.DURATION)
    'at least 0 days and at most 5 days'
    """
    if kind is not Kind.DURATION:
        low, high = render(Number(bounds.low)), render(Number(bounds.high))
        return f"at least {low} and at most {high}"
    low, high = render(Duration(bounds.low)), render(Duration(bounds.high))
    if bounds.low == 0 and "/" not in high:
        low = f"0 {high.split()[-1].removesuffix('s')}s"
    return f"at least {low} and at most {high}"
