"""What a plan is made from: the public facts of a log, and the functions that carry noise."""

from __future__ import annotations

from dataclasses import dataclass

from pappi.mechanisms.mechanism import Mechanism
from pappi.ppinot.model import AggregatedMeasure
from pappi.values.privacy import Adjacency, PrivacyUnit
from pappi.values.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """All that planning may know of a log."""

    unit: PrivacyUnit
    adjacency: Adjacency
    vocabulary: Vocabulary
    expected_cases: int


@dataclass(frozen=True, slots=True)
class Part:
    """One function that carries noise, and the measures it reads a case's values from.

    A mechanism over several inputs gets one row per case, in their order, and last the
    case's bucket if it deals cases into `buckets`. `settings` are what else its law
    depends on: with the inputs and its epsilon they say what is released.
    """

    path: str
    inputs: tuple[AggregatedMeasure, ...]
    mechanism: Mechanism
    settings: tuple[tuple[str, str], ...] = ()
    buckets: int | None = None
