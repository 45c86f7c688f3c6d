"""What a client gets to know besides quotes and answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from pappi.errors import Problem
from pappi.values.bounds import DefaultBounds
from pappi.values.epsilon import Epsilon
from pappi.values.periods import Grid
from pappi.values.privacy import Adjacency, PrivacyUnit
from pappi.values.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What the owner has declared, and so made public, about a log."""

    name: str
    timezone: str
    anchor: str
    blocks: Grid
    first: date
    until: date
    unit: PrivacyUnit
    adjacency: Adjacency
    block_budget: Epsilon
    total_budget: Epsilon | None
    expected_cases: int | None
    vocabulary: Vocabulary
    bounds: DefaultBounds


@dataclass(frozen=True, slots=True)
class Checked:
    """Sound definitions: the PPIs by id, and what keeps some of them from being released."""

    log: str
    ppis: tuple[str, ...]
    warnings: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class PastRelease:
    """One charge: what was asked of which blocks, when, and whether it was released."""

    number: int
    time: str
    released: bool
    ppi: str
    mechanisms: tuple[str, ...]
    blocks: tuple[str, ...]
    epsilon: Epsilon
    mine: bool


@dataclass(frozen=True, slots=True)
class StandingQuestion:
    """A question that is asked again for every block, from `first` up to `until`."""

    id: str
    log: str
    definitions: str
    epsilon: Epsilon | None
    first: date
    until: date
