"""What ε is enough: for PPIs that name none, and for a margin that is wanted.

**By need** (`plan_by_need`): what PPIs get that name no ε, and are asked for without one.

There is a ceiling, a tenth for each such PPI and at most 1 in all. It is not spent for its own
sake. A *unit* is a PPI alone, or those that one draw answers together (`sets`). Each unit gets the
least ε of the ladder at which its PPIs decide, or without a target are exact enough (`advice`);
and if all of that fits under the ceiling, as much of its own part of it as makes its verdicts
surer (`SURE`). If it does not fit, what buys most decided verdicts for its ε is paid first, and the
PPIs that still do not decide share what is left, up to a tenth each; which of them tell nothing is
then said before they are paid for.

The ε of a query is part of its key, so this must not change by itself. It is a function of the
definitions (with their targets, bounds and periods) and of the cases declared per block, which the
owner declares once: not of the ledger, of a budget, of counts on record, of the day, or of the
order of the catalogue's other units. Where everything fits, one unit does not depend on another.

**By accuracy** (`epsilon_for`): what a wanted margin costs. An accuracy is a promise one can read:
"±6 h, 95 %" says that the noise keeps the value within 6 hours of what it would be without noise,
with that confidence, wherever the values lie in their bounds, if as many cases fall into a period
as were assumed. What clipping to the bounds changes is not included. Where nobody can promise that,
it is the epsilon under what is assumed of the values, and a quote says so.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from pappi.errors import NotReleasable
from pappi.planning.advice import LADDER, is_enough
from pappi.planning.forecasts import as_if_uncut, plan_error_law
from pappi.planning.plan import Plan
from pappi.planning.scopes import expected_cases
from pappi.planning.sets import copied, plan_alone, plan_unit, units_of
from pappi.ppinot import Ppi
from pappi.values import DURATIONS, ENOUGH_CHANCE, NANO, Epsilon, PublicLog, parse_duration

# --- the ε of a wanted accuracy -------------------------------------------------------

USUAL_CONFIDENCE = Fraction(95, 100)
LEAST_CONFIDENCE, MOST_CONFIDENCE = Fraction(50, 100), Fraction(99, 100)

_NUMBER = re.compile(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*(%?)\s*", re.ASCII)
_SIGN = re.compile(r"\s*(?:±|\+/-|\+-)")
_PERCENT = re.compile(r"\s*(\d{1,3}(?:\.\d{1,3})?)\s*%\s*", re.ASCII)

# Amounts a person would write: thousandths, up to a hundred.
_STEP = NANO // 1_000
_MOST_STEPS = 100 * 1_000

DEAREST = Epsilon(_MOST_STEPS * _STEP)
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
    is_offered = confidence is not None and LEAST_CONFIDENCE <= confidence <= MOST_CONFIDENCE
    return confidence if is_offered else None


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
    too_little, enough = 0, _MOST_STEPS
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


# --- ε by need ------------------------------------------------------------------------

EACH = Epsilon.of("0.1")
"""At most so much for each PPI on average."""

SURE = 0.9
"""The chance to decide that is worth a PPI's own part of the ceiling."""

MOST_BY_NEED = 50
"""More PPIs at once are given an equal part each: finding out what each needs takes time."""

_MOST = Epsilon.of(1)
_LEAST = Epsilon.of("0.01")


def plan_by_need(ppis: Sequence[Ppi], log: PublicLog) -> tuple[Plan, ...]:
    """The plans of PPIs without an ε of their own, in their order."""
    tried = len(ppis) <= MOST_BY_NEED
    alike, copies = units_of(ppis, log)
    units = [_Unit(unit, log, tried=tried) for unit in alike]
    ceiling = min(Epsilon(len(ppis) * EACH.nano), _MOST)
    plans: dict[str, Plan] = {}
    for unit, epsilon in zip(units, _divided(units, ceiling, len(ppis)), strict=True):
        for plan in unit.plans(epsilon):
            plans[plan.ppi.id] = replace(plan, because=_because(plan))
    for copy, of in copies:
        plan = copied(plans[of.id], copy, log)
        plans[copy.id] = replace(plan, because=_because(plan))
    return tuple(plans[ppi.id] for ppi in ppis)


def _because(plan: Plan) -> str:
    if is_enough(as_if_uncut(plan)):
        to = "decide" if plan.ppi.target is not None else "be within a tenth of its range"
        unless = "" if is_enough(plan) else " if its bounds cut nothing"
        return f"ε {plan.epsilon} suffices to {to}{unless}"
    return f"ε {plan.epsilon} is probably not enough; name a larger ε"


class _Unit:
    """PPIs that one draw may answer, planned once for each ε."""

    def __init__(self, ppis: Sequence[Ppi], log: PublicLog, *, tried: bool) -> None:
        self.ppis, self._log, self._tried = ppis, log, tried
        self._plans: dict[Epsilon, Sequence[Plan]] = {}

    def plans(self, epsilon: Epsilon) -> Sequence[Plan]:
        if epsilon not in self._plans:
            self._plans[epsilon] = plan_unit(self.ppis, epsilon, self._log)
        return self._plans[epsilon]

    @cached_property
    def steps(self) -> list[tuple[Epsilon, int]]:
        """Each ε of the ladder at which more of its PPIs decide, and how many do."""
        return self._steps(ENOUGH_CHANCE, _MOST)

    @cached_property
    def sure(self) -> Epsilon:
        """What it gets of its own part of the ceiling, so that as many as can be surely decide."""
        return max((epsilon for epsilon, _ in self._steps(SURE, self.part)), default=_LEAST)

    @property
    def part(self) -> Epsilon:
        return min(Epsilon(len(self.ppis) * EACH.nano), _MOST)

    def _steps(self, wanted: float, most: Epsilon) -> list[tuple[Epsilon, int]]:
        if not self._tried:
            return []
        amounts = [e for e in LADDER if len(self.ppis) * _LEAST.nano <= e.nano <= most.nano]

        def enough(index: int, member: int) -> bool:
            try:
                return is_enough(as_if_uncut(self.plans(amounts[index])[member]), wanted)
            except NotReleasable:
                return False  # too little for its mechanism

        members, last = range(len(self.ppis)), len(amounts) - 1
        first = {
            bisect_left(range(last), True, key=lambda index: enough(index, member))  # noqa: FBT003 - called at once; false, then true
            for member in members
            if amounts and enough(last, member)
        }
        return [(amounts[i], sum(enough(i, member) for member in members)) for i in sorted(first)]


@dataclass(frozen=True, slots=True)
class _Purchase:
    unit: int
    epsilon: Epsilon
    decided: int


def _divided(units: Sequence[_Unit], ceiling: Epsilon, ppis: int) -> list[Epsilon]:
    """An amount for each unit; together no more than the ceiling."""
    floor = min(_LEAST.nano, ceiling.nano // ppis)
    nanos = [floor * len(unit.ppis) for unit in units]
    decided = [0] * len(units)
    while True:
        left = ceiling.nano - sum(nanos)
        offers = [
            _Purchase(number, epsilon, many)
            for number, unit in enumerate(units)
            for epsilon, many in unit.steps
            if many > decided[number] and 0 <= epsilon.nano - nanos[number] <= left
        ]
        if not offers:
            break
        best = min(
            offers,
            key=lambda offer: (
                (offer.epsilon.nano - nanos[offer.unit]) / (offer.decided - decided[offer.unit])
            ),
        )
        nanos[best.unit], decided[best.unit] = best.epsilon.nano, best.decided
    surer = [max(nano, unit.sure.nano) for nano, unit in zip(nanos, units, strict=True)]
    if sum(surer) <= ceiling.nano:
        nanos = surer
    return _with_the_rest(units, nanos, decided, ceiling)


def _with_the_rest(
    units: Sequence[_Unit], nanos: list[int], decided: list[int], ceiling: Epsilon
) -> list[Epsilon]:
    """What is left goes to units that do not decide everything, by the PPIs they have."""
    open_units = [
        number
        for number, unit in enumerate(units)
        if decided[number] < len(unit.ppis) and nanos[number] < len(unit.ppis) * EACH.nano
    ]
    left = ceiling.nano - sum(nanos)
    waiting = sum(len(units[n].ppis) for n in open_units)
    for number in open_units:
        many = len(units[number].ppis)
        more = _readable(nanos[number] + left * many // waiting)
        nanos[number] = max(nanos[number], min(many * EACH.nano, more))
    return [Epsilon(nano) for nano in nanos]


def _readable(nano: int) -> int:
    """Rounded down to two digits."""
    step: int = 10 ** max(0, len(str(nano)) - 2)
    return nano // step * step
