"""From released integers to answers: post-processing, free and repeatable.

Nothing here has seen a case. The same released integers give the same answer,
to the last digit, whenever they are read again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pappi.budget.accounts import KeyState
from pappi.planning.functions import SAMPLED, THRESHOLD
from pappi.planning.plan import Plan
from pappi.ppinot.model import Ppi, Target, Wanted
from pappi.store.declarations import LogDeclaration
from pappi.tree.above import range_above, value_above
from pappi.tree.composition import ROOT
from pappi.values.answers import Answer, Guarantee, Interval, Verdict
from pappi.values.epsilon import ZERO
from pappi.values.periods import Period

CONFIDENCE = 0.95
_HALVINGS = 6
_FEW_PARTS = 4

Noisy = tuple[int, ...]


def answer_of(
    plan: Plan,
    log: LogDeclaration,
    period: Period,
    group: str | None,
    noisy: Sequence[Noisy],
    found: KeyState,
) -> Answer:
    """One answer, from the noisy integers of each of the plan's functions.

    `found` is the state the release was found in: only a new one has been charged now.
    """
    released = {part.path: noisy[index] for index, part in enumerate(plan.parts)}
    low, high = _interval(plan, released)
    chance = None if plan.ppi.target is None else chance_met(plan, released)
    return Answer(
        ppi=plan.ppi.id,
        period=period,
        group=group,
        value=_shown(plan.ppi, _value(plan, released)),
        unit=plan.ppi.unit.name,
        interval=Interval(_shown(plan.ppi, low), _shown(plan.ppi, high), CONFIDENCE),
        cases=_cases(plan, released),
        verdict=_decided(plan, chance, low, high) or _verdict(plan.ppi.target, low, high),
        guarantee=Guarantee(plan.epsilon, log.unit, log.adjacency, plan.mechanism),
        charged=plan.epsilon if found is KeyState.NEW else ZERO,
        replayed=found is KeyState.RELEASED,
        chance_met=chance,
        ceiling=_shown(plan.ppi, _ceiling(plan, released)),
    )


def _value(plan: Plan, released: Mapping[str, Noisy]) -> float | None:
    if plan.ppi.release.answer is Wanted.VERDICT:
        return None
    estimates = {p.path: p.mechanism.estimate(released[p.path]).value for p in plan.parts}
    value = value_above(plan.ppi.measure, estimates)
    if plan.ppi.value_range is None:
        return value
    low, high = float(plan.ppi.value_range.low), float(plan.ppi.value_range.high)
    return (low + high) / 2 if value is None else min(max(value, low), high)


def _interval(
    plan: Plan, released: Mapping[str, Noisy], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """From each function's interval at a confidence that leaves this one for them together."""
    each = 1 - (1 - confidence) / len(plan.parts)
    ranges = {p.path: p.mechanism.interval(released[p.path], each) for p in plan.parts}
    low, high = range_above(plan.ppi.measure, ranges)
    if plan.ppi.value_range is None:
        return low, high
    least, most = float(plan.ppi.value_range.low), float(plan.ppi.value_range.high)
    return min(max(low, least), most), min(max(high, least), most)


def _cases(plan: Plan, released: Mapping[str, Noisy]) -> float | None:
    """The noisy number of cases, where one function answers the PPI and yields it for free."""
    if len(plan.parts) > 1:
        return None
    (part,) = plan.parts
    return part.mechanism.estimate(released[part.path]).cases


def _ceiling(plan: Plan, released: Mapping[str, Noisy]) -> float | None:
    """Of the PPI itself; a formula's variables may each have had one, in their own units."""
    (part, *others) = plan.parts
    if others or part.path != ROOT:
        return None
    return part.mechanism.estimate(released[part.path]).ceiling


def _decided(plan: Plan, chance: float | None, low: float, high: float) -> Verdict | None:
    """The verdict of mechanisms that know it better, or worse, than their interval does."""
    target = plan.ppi.target
    if target is None or chance is None:
        return None
    if plan.mechanism == SAMPLED:
        return Verdict.UNDECIDED  # its interval is about the noise alone
    if plan.mechanism != THRESHOLD:
        return None
    sure = max(chance, 1 - chance) >= (1 + CONFIDENCE) / 2
    if sure and chance > 0.5 and _keeps(target, low, high):
        return Verdict.MET
    if sure and chance < 0.5 and _breaks(target, low, high):
        return Verdict.MISSED
    return Verdict.UNDECIDED


def _keeps(target: Target, low: float, high: float) -> bool:
    """Whether an interval lies on the target's side, its limits themselves included."""
    from_below = target.low is None or low >= target.low
    return from_below and (target.high is None or high <= target.high)


def _breaks(target: Target, low: float, high: float) -> bool:
    above = target.high is not None and low >= target.high
    return above or (target.low is not None and high <= target.low)


def _verdict(target: Target | None, low: float, high: float) -> Verdict | None:
    if target is None:
        return None
    if _meets(target, low) and _meets(target, high):
        return Verdict.MET
    below = target.low is not None and not _reaches(target, high)
    above = target.high is not None and not _stays_below(target, low)
    return Verdict.MISSED if below or above else Verdict.UNDECIDED


def chance_met(plan: Plan, released: Mapping[str, Noisy]) -> float | None:
    """How sure one may be that the target is met: see `Mechanism.chance_at_most`.

    None for a formula of many functions, where finding out would take too long.
    """
    target = plan.ppi.target
    if target is None:
        raise LookupError("without a target nothing is met")
    (part, *others) = plan.parts
    if others or part.path != ROOT:
        return _chance_by_intervals(plan, target, released)
    noisy, mechanism = released[part.path], part.mechanism
    most = 1.0 if target.high is None else mechanism.chance_at_most(noisy, float(target.high))
    least = 0.0 if target.low is None else mechanism.chance_at_most(noisy, float(target.low))
    return max(most - least, 0.0)


def _chance_by_intervals(plan: Plan, target: Target, released: Mapping[str, Noisy]) -> float | None:
    """Of a formula: by the widest interval that still gives a verdict."""
    if len(plan.parts) > _FEW_PARTS:
        return None
    decided, undecided = 0.0, 1.0
    met: Verdict | None = None
    for _ in range(_HALVINGS):
        confidence = (decided + undecided) / 2
        found = _verdict(target, *_interval(plan, released, confidence))
        if found is Verdict.UNDECIDED:
            undecided = confidence
        else:
            decided, met = confidence, found
    sure = (1 + decided) / 2
    return 0.5 if met is None else sure if met is Verdict.MET else 1 - sure


def _meets(target: Target, value: float) -> bool:
    """Targets are ranges, so an interval whose two ends meet one lies inside it."""
    return _reaches(target, value) and _stays_below(target, value)


def _reaches(target: Target, value: float) -> bool:
    if target.low is None:
        return True
    return value >= target.low if target.low_included else value > target.low


def _stays_below(target: Target, value: float) -> bool:
    if target.high is None:
        return True
    return value <= target.high if target.high_included else value < target.high


def _shown(ppi: Ppi, value: float | None) -> float | None:
    """In the PPI's unit; no value and no limit are both None."""
    if value is None or not math.isfinite(value):
        return None
    return ppi.unit.show(value)
