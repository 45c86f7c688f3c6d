"""A log's public facts, as far as planning looks at them."""

from __future__ import annotations

from datetime import date

from pappi.values import CASE, Adjacency, PrivacyUnit, PublicLog, Terms, Vocabulary


def public_log(
    vocabulary: Vocabulary,
    cases: int = 100,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    unit: PrivacyUnit = CASE,
) -> PublicLog:
    return PublicLog(
        name="planned",
        first=date(2024, 1, 1),
        until=date(2025, 1, 1),
        vocabulary=vocabulary,
        terms=Terms(unit=unit, adjacency=adjacency, expected_cases=cases),
    )
