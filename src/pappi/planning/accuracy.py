"""Accuracy first: the epsilon that a wanted margin costs.

An accuracy is a promise one can read: "±6 h, 95 %" says that the noise keeps the value
within 6 hours of what it would be without noise, with that confidence, wherever the values lie
in their bounds, if as many cases fall into a period as were assumed. What clipping to the
bounds changes is not included. Where nobody can promise that, it is the epsilon under
what is assumed of the values, and a quote says so.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from pappi.errors import NotReleasable
from pappi.planning.expected import expected_cases
from pappi.planning.plan import Plan
from pappi.planning.sets import plan_alone
from pappi.planning.views import plan_error_law
from pappi.ppinot import Ppi
from pappi.values import DURATIONS, NANO, Epsilon, PublicLog, parse_duration

USUAL_CONFIDENCE = Fraction(95, 100)
LEAST_CONFIDENCE, MOST_CONFIDENCE = Fraction(50, 100), Fraction(99, 100)

_NUMBER = re.compile(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*(%?)\s*", re.ASCII)
_SIGN = re.compile(r"\s*(?:±|\+/-|\+-)")
_PERCENT = re.compile(r"\s*(\d{1,3}(?:\.\d{1,3})?)\s*%\s*", re.ASCII)

# Amounts a person would write: thousandths, up to a hundred.
_STEP = NANO // 1_000
_MOST = 100 * 1_000

DEAREST = Epsilon(_MOST * _STEP)
"""The largest epsilon that is tried for an accuracy."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The noise keeps the value within `margin` (internal units), with that confidence."""

    margin: Fraction
    confidence: Fraction = USUAL_CONFIDENCE


def wanted_accuracy(text: str, ppi: Ppi) -> Accuracy | None:
    """A written accuracy: `6 h`, `±6 h, 90 %`, `2 %`, `200 EUR` or `3` (in the PPI's unit)."""
    margin_text, comma, confidence_text = text.partition(",")
    margin = _margin(_SIGN.sub("", margin_text, count=1), ppi)
    confidence = _confidence(confidence_text) if comma else USUAL_CONFIDENCE
    if margin is None or margin <= 0 or confidence is None:
        return None
    return Accuracy(margin, confidence)


def _margin(text: str, ppi: Ppi) -> Fraction | None:
    duration = parse_duration(text)
    if duration is not None:
        return duration if DURATIONS.get(ppi.unit.name) == ppi.unit.factor else None
    number = _NUMBER.fullmatch(text.strip().removesuffix(ppi.unit.name))
    if number is None or (number[2] and not ppi.unit.name.startswith("percent")):
        return None  # 5 % of a value in days is nobody's 5 days
    return ppi.unit.read(Fraction(number[1]))


def _confidence(text: str) -> Fraction | None:
    percent = _PERCENT.fullmatch(text)
    confidence = Fraction(percent[1]) / 100 if percent else None
    known = confidence is not None and LEAST_CONFIDENCE <= confidence <= MOST_CONFIDENCE
    return confidence if known else None


def epsilon_for(
    ppi: Ppi, wanted: Accuracy, log: PublicLog, counted: int | None = None
) -> Epsilon | None:
    """The smallest epsilon, in thousandths, whose release keeps to the wanted margin.

    Found by halving, rounded up: what is given back has been seen to keep to it. None if
    no epsilon up to 100 does, or no law says how far off the release will be. `counted` are the
    cases of a figure, where an earlier release has told them.
    """
    expected = expected_cases(log, ppi, counted)
    # Raises if the PPI cannot be released at all; a small epsilon may be too little for some.
    if not _keeps(plan_alone(ppi, DEAREST, log).expecting(expected), wanted):
        return None
    too_little, enough = 0, _MOST
    while enough - too_little > 1:
        middle = (too_little + enough) // 2
        try:
            plan = plan_alone(ppi, Epsilon(middle * _STEP), log).expecting(expected)
        except NotReleasable:
            too_little = middle
            continue
        if _keeps(plan, wanted):
            enough = middle
        else:
            too_little = middle
    return Epsilon(enough * _STEP)


def _keeps(plan: Plan, wanted: Accuracy) -> bool:
    law = plan_error_law(plan)
    if law is None or math.isinf(plan.predicted_error):
        return False
    return law.keeps(float(wanted.margin), float(wanted.confidence))
