"""From released integers to answers: post-processing, free and repeatable.

Nothing here has seen a case. The same released integers give the same answer,
to the last digit, whenever they are read again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pappi.budget.accounts import KeyState
from pappi.checkpoint.evidence import evidence_of
from pappi.mechanisms.mechanism import Estimate
from pappi.planning.functions import SAMPLED, THRESHOLD
from pappi.planning.plan import Plan
from pappi.planning.targets import Aim, holds, reaches, stays_below, target_in
from pappi.ppinot.model import Ppi, Target, Wanted
from pappi.store.declarations import LogDeclaration
from pappi.tree.above import range_above, value_above
from pappi.tree.composition import ROOT
from pappi.values.answers import Answer, Band, Guarantee, Interval, Verdict
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
    estimates = {p.path: p.mechanism.estimate(released[p.path]) for p in plan.parts}
    low, high = _interval(plan, released)
    aim = target_in(plan.ppi, group)
    chance = None if aim is None else chance_met(plan, aim.target, released)
    verdict = None if aim is None else _judged(plan, aim.target, chance, low, high)
    return Answer(
        ppi=plan.ppi.id,
        period=period,
        group=group,
        value=_shown(plan.ppi, _value(plan, estimates)),
        unit=plan.ppi.unit.name,
        interval=Interval(_shown(plan.ppi, low), _shown(plan.ppi, high), CONFIDENCE),
        cases=_cases(plan, estimates),
        verdict=verdict,
        guarantee=Guarantee(plan.epsilon, log.unit, log.adjacency, plan.mechanism),
        charged=plan.epsilon if found in (KeyState.NEW, KeyState.RESERVED) else ZERO,
        replayed=found is KeyState.RELEASED,
        chance_met=chance,
        ceiling=_shown(plan.ppi, _ceiling(plan, estimates)),
        bands=_bands(plan, aim, verdict, low, high),
        evidence=evidence_of(plan, noisy),
    )


def _value(plan: Plan, estimates: Mapping[str, Estimate]) -> float | None:
    if plan.ppi.release.answer is Wanted.VERDICT:
        return None
    values = {path: estimate.value for path, estimate in estimates.items()}
    value = value_above(plan.ppi.measure, values)
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


def _cases(plan: Plan, estimates: Mapping[str, Estimate]) -> float | None:
    """The noisy number of cases, where one function answers the PPI and yields it for free."""
    if len(plan.parts) > 1:
        return None
    (estimate,) = estimates.values()
    cases, most = estimate.cases, plan.ppi.scope.last_cases
    return cases if cases is None or most is None else min(cases, float(most))


def _ceiling(plan: Plan, estimates: Mapping[str, Estimate]) -> float | None:
    """Of the PPI itself; a formula's variables may each have had one, in their own units."""
    (part, *others) = plan.parts
    if others or part.path != ROOT:
        return None
    return estimates[part.path].ceiling


def _judged(plan: Plan, target: Target, chance: float | None, low: float, high: float) -> Verdict:
    """By the interval, but for mechanisms that know the verdict better, or worse, than it."""
    if plan.mechanism == SAMPLED and chance is not None:
        return Verdict.UNDECIDED  # its interval is about the noise alone
    if plan.mechanism != THRESHOLD or chance is None:
        return _verdict(target, low, high)
    sure = max(chance, 1 - chance) >= (1 + CONFIDENCE) / 2
    if sure and chance > 0.5 and _keeps(target, low, high):
        return Verdict.MET
    if sure and chance < 0.5 and _breaks(target, low, high):
        return Verdict.MISSED
    return Verdict.UNDECIDED


def _bands(
    plan: Plan, aim: Aim | None, verdict: Verdict | None, low: float, high: float
) -> tuple[Band, ...]:
    """By the interval as well, and never surer about the target than the verdict is."""
    if aim is None or aim.tolerated is None:
        return ()
    if plan.mechanism == SAMPLED:
        return tuple(Band)
    found = set(aim.bands(low, high))
    match verdict:
        case Verdict.MET:
            return (Band.GREEN,)
        case Verdict.MISSED:
            found = found - {Band.GREEN} or {Band.AMBER, Band.RED}
        case _:
            found |= {Band.GREEN} if found != {Band.GREEN} else {Band.AMBER}
    return tuple(band for band in Band if band in found)


def _keeps(target: Target, low: float, high: float) -> bool:
    """Whether an interval lies on the target's side, its limits themselves included."""
    from_below = target.low is None or low >= target.low
    return from_below and (target.high is None or high <= target.high)


def _breaks(target: Target, low: float, high: float) -> bool:
    above = target.high is not None and low >= target.high
    return above or (target.low is not None and high <= target.low)


def _verdict(target: Target, low: float, high: float) -> Verdict:
    """Targets are ranges, so an interval whose two ends keep one lies inside it."""
    if holds(target, low) and holds(target, high):
        return Verdict.MET
    apart = not reaches(target, high) or not stays_below(target, low)
    return Verdict.MISSED if apart else Verdict.UNDECIDED


def chance_met(plan: Plan, target: Target, released: Mapping[str, Noisy]) -> float | None:
    """How sure one may be that the target is met: see `Mechanism.chance_at_most`.

    None for a formula of many functions, where finding out would take too long.
    """
    (part, *others) = plan.parts
    if others or part.path != ROOT:
        return _chance_by_intervals(plan, target, released)
    noisy, mechanism = released[part.path], part.mechanism
    high, low = _last_values(plan, target)
    most = 1.0 if high is None else mechanism.chance_at_most(noisy, high)
    least = 0.0 if low is None else mechanism.chance_at_most(noisy, low)
    return max(most - least, 0.0)


def _last_values(plan: Plan, target: Target) -> tuple[float | None, float | None]:
    """The last value that is not too large for a target, and the last that is too small.

    Where values are whole numbers it matters whether a limit belongs to the target. A release
    that aims at its limit knows that already.
    """
    aims = plan.mechanism == THRESHOLD
    high, low = (None if limit is None else float(limit) for limit in (target.high, target.low))
    if high is not None and not target.high_included and not aims:
        high = math.nextafter(high, -math.inf)
    if low is not None and target.low_included and not aims:
        low = math.nextafter(low, -math.inf)
    return high, low


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


def _shown(ppi: Ppi, value: float | None) -> float | None:
    """In the PPI's unit; no value and no limit are both None."""
    if value is None or not math.isfinite(value):
        return None
    return ppi.unit.show(value)
