"""What the owner's requests say, as the values that custody takes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from pappi.custody.imports import Terms
from pappi.errors import UsageError
from pappi.ppinot.model import CaseBorder
from pappi.service.models import NewKey, NewLog
from pappi.values.access import Right
from pappi.values.bounds import Bounds, DefaultBounds
from pappi.values.epsilon import Epsilon
from pappi.values.periods import Calendar, Grid
from pappi.values.privacy import Adjacency, Per, PrivacyUnit
from pappi.values.vocabulary import Kind, Vocabulary

SECOND_US = 1_000_000


def terms_in(asked: NewLog) -> Terms:
    unit, total = asked.unit, asked.total_budget
    return Terms(
        timezone=asked.timezone,
        anchor=CaseBorder(asked.anchor),
        blocks=Grid(Calendar(asked.blocks.unit), asked.blocks.count),
        first=asked.first,
        unit=PrivacyUnit(unit.column, unit.max_cases, Per(unit.per)),
        adjacency=Adjacency(asked.adjacency),
        block_budget=Epsilon.of(asked.block_budget),
        total_budget=None if total is None else Epsilon.of(total),
        expected_cases=asked.expected_cases,
        keys={name: tuple(dict.fromkeys(keys)) for name, keys in asked.keys.items()},
        bounds=_default_bounds(asked),
    )


def _default_bounds(asked: NewLog) -> DefaultBounds:
    given = asked.bounds
    return DefaultBounds(
        durations=None if given.durations is None else _bounds(given.durations, SECOND_US),
        counts=None if given.counts is None else _bounds(given.counts),
        attributes={name: _bounds(pair) for name, pair in given.attributes.items()},
    )


def _bounds(pair: Sequence[str], unit: int = 1) -> Bounds:
    try:
        low, high = (Fraction(text) * unit for text in pair)
        return Bounds(low, high)
    except (ValueError, ZeroDivisionError):
        raise UsageError(
            "bounds are two numbers that rise", hint='write e.g. ["0", "60"]'
        ) from None


def vocabulary_in(asked: NewLog) -> Vocabulary:
    attributes = {name: Kind(kind) for name, kind in asked.attributes.items()}
    return Vocabulary(tuple(dict.fromkeys(asked.activities)), attributes)


def rights_in(asked: NewKey) -> list[Right] | None:
    return None if asked.rights is None else [Right(right) for right in asked.rights]
