"""The paper's targets in the units its values are shown in, and the errors that are aimed at."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from pappi.ppinot import Ppi, Target

LIMITS: Mapping[str, float] = {
    "waiting": 17.4,
    "stay": 2.0,
    "longest-stay": 12.6,
    "returning-of-all": 9.5,
    "antibiotics": 12.0,
    "lactic-acid": 18.0,
}
"""RMSE over the 20 months at ε = 0.1 that a private release should not exceed."""


def shown_target(ppi: Ppi) -> Target | None:
    if ppi.target is None:
        return None
    return Target(_shown(ppi, ppi.target.low), _shown(ppi, ppi.target.high))


def _shown(ppi: Ppi, end: Fraction | None) -> Fraction | None:
    return None if end is None else end / ppi.unit.factor
