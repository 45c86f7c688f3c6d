"""What a plan is made from: the public facts of a log, and the functions that carry noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from pappi.mechanisms.mechanism import Mechanism
from pappi.ppinot.model import AggregatedMeasure, Scope
from pappi.values.privacy import Adjacency, PrivacyUnit
from pappi.values.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """All that planning may know of a log."""

    unit: PrivacyUnit
    adjacency: Adjacency
    vocabulary: Vocabulary
    expected_cases: int
    moved: int = 1

    @property
    def changes(self) -> int:
        """How many cases may come or go, at most, when one unit does."""
        return self.unit.max_cases * self.moved

    def under(self, scope: Scope) -> PublicFacts:
        """What is known of the cases of a scope's periods.

        Among the latest cases one more pushes another out, so that two come or go. Under
        `replace` their number is public and one takes the place of another, as ever: unless the
        scope also chooses by what a case contains, or has an anchor of its own. Then a case
        that changes may leave the scope or change its period, one removal and one addition.
        """
        facts = self
        if scope.last_cases is not None:
            facts = replace(self, expected_cases=scope.last_cases)
        as_usual = scope.last_cases is None
        if self.adjacency is Adjacency.REPLACE:
            as_usual = scope.anchor is None and (as_usual or scope.cases is None)
        return facts if as_usual else replace(facts, adjacency=Adjacency.ADD_REMOVE, moved=2)


@dataclass(frozen=True, slots=True)
class Part:
    """One function that carries noise, and the measures it reads a case's values from.

    A mechanism over several inputs gets one row per case, in their order, and last the
    case's bucket if it deals cases into `buckets`. `settings` are what else its law
    depends on: with the inputs and its epsilon they say what is released. `share` is its share
    of the plan's epsilon, before anything is set aside for persons or neighbours.
    """

    path: str
    inputs: tuple[AggregatedMeasure, ...]
    mechanism: Mechanism
    settings: tuple[tuple[str, str], ...] = ()
    buckets: int | None = None
    share: Fraction = Fraction(1)
