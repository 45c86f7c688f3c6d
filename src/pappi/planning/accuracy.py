"""Accuracy first: the epsilon that a wanted typical error costs."""

from __future__ import annotations

import re
from fractions import Fraction

from pappi.planning.parts import PublicFacts
from pappi.planning.plan import plan_ppi
from pappi.ppinot.model import Ppi
from pappi.values.epsilon import NANO, Epsilon
from pappi.values.units import DURATIONS, parse_duration

_NUMBER = re.compile(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*%?\s*", re.ASCII)

# Amounts a person would write: thousandths, up to a hundred.
_STEP = NANO // 1_000
_MOST = 100 * 1_000


def wanted_error(text: str, ppi: Ppi) -> Fraction | None:
    """A written accuracy such as `6 h`, `2 %` or `3` (in the PPI's unit), in internal units."""
    duration = parse_duration(text)
    if duration is not None:
        return duration if DURATIONS.get(ppi.unit.name) == ppi.unit.factor else None
    number = _NUMBER.fullmatch(text)
    return ppi.unit.read(Fraction(number[1])) if number else None


def epsilon_for(ppi: Ppi, error: Fraction, facts: PublicFacts) -> Epsilon | None:
    """The smallest epsilon, in thousandths, whose predicted error is at most the wanted one."""
    if not _good_enough(ppi, _MOST, error, facts):
        return None
    too_little, enough = 0, _MOST
    while enough - too_little > 1:
        middle = (too_little + enough) // 2
        if _good_enough(ppi, middle, error, facts):
            enough = middle
        else:
            too_little = middle
    return Epsilon(enough * _STEP)


def _good_enough(ppi: Ppi, thousandths: int, error: Fraction, facts: PublicFacts) -> bool:
    return plan_ppi(ppi, Epsilon(thousandths * _STEP), facts).predicted_error <= error
