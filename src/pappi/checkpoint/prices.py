"""Plans as quotes: what an analyst sees before paying. Public facts only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pappi.checkpoint.series import shown_aim
from pappi.planning.accuracy import plan_spread
from pappi.planning.parts import PublicFacts
from pappi.planning.plan import Option, Plan, plan_options
from pappi.planning.spread import EVENLY_BETWEEN, OVER_OCTAVES, Spread
from pappi.planning.targets import advice_on, target_in
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import ReleaseChoice, Wanted
from pappi.values.quotes import (
    CONFIDENCES,
    MARGIN_CONFIDENCE,
    ErrorQuantile,
    Quote,
    QuotedSet,
)
from pappi.values.vocabulary import Kind

_FEWER = "with a tenth of the cases, up to about ten times as much"
_UNASKED = "not as asked: without `noise` and `mechanism`"
_ON_REQUEST = {
    "threshold": "on request: aims at the target",
    "sample-and-aggregate": "on request: the bias of small parts comes on top",
}


def quote_of(plan: Plan, facts: PublicFacts, charges: int, new_charges: int) -> Quote:
    ppi, spread = plan.ppi, plan_spread(plan, facts)
    quantiles, assumes = _quantiles(plan, spread), "" if spread is None else spread.assumes
    return Quote(
        ppi=ppi.id,
        name=ppi.name,
        unit=ppi.unit.name,
        epsilon=plan.epsilon,
        functions=_functions(plan),
        mechanism=plan.mechanism,
        typical_error=_shown_error(plan),
        assumed_cases=facts.expected_cases,
        charges=charges,
        new_charges=new_charges,
        options=_ranked([*_asked_for(plan, facts), *_unasked(plan, facts)]),
        shares=_shares(plan),
        clipping=_clipping(plan, facts),
        advice=advice_on(ppi, plan.epsilon.fraction),
        quantiles=quantiles,
        margin_note=_margin_note(plan, quantiles, assumes),
        assumes=assumes if quantiles else "",
        fewer=_FEWER if spread is not None and spread.shrinks else "",
        target=shown_aim(ppi, target_in(ppi, None)),
        verdict_only=ppi.release.answer is Wanted.VERDICT,
        mechanisms=_mechanisms(plan),
    )


def _quantiles(plan: Plan, spread: Spread | None) -> tuple[ErrorQuantile, ...]:
    """As far as there are any: of a value that may not exist, none at high confidences."""
    if spread is None:
        return ()
    found = ((level, spread.within(level)) for level in CONFIDENCES)
    shown = ((level, plan.ppi.unit.show(away)) for level, away in found if math.isfinite(away))
    return tuple(ErrorQuantile(level, _digits(abs(away))) for level, away in shown)


def _digits(away: float) -> float:
    """A prediction has no more than five: what was searched for 5 h is not 5.000001 h."""
    return float(f"{away:.5g}")


def _margin(plan: Plan, facts: PublicFacts) -> float | None:
    """What can be promised of one way to release it."""
    spread = plan_spread(plan, facts)
    if spread is None or spread.assumes:
        return None
    away = spread.within(MARGIN_CONFIDENCE)
    return _digits(abs(plan.ppi.unit.show(away))) if math.isfinite(away) else None


def _margin_note(plan: Plan, quantiles: Sequence[ErrorQuantile], assumes: str) -> str:
    if math.isinf(plan.predicted_error):
        return "its bounds are chosen privately, so nothing is known beforehand"
    if not quantiles:
        return "where values are cut off is chosen privately, so only a typical error is predicted"
    if not any(each.confidence == MARGIN_CONFIDENCE for each in quantiles):
        return "its formula has no value more often than a margin allows for"
    if assumes in (EVENLY_BETWEEN, OVER_OCTAVES):
        return "it depends on how closely the values lie together, which nobody may know beforehand"
    return "it depends on where the values lie, which nobody may know beforehand" if assumes else ""


def _ranked(options: list[QuotedSet]) -> tuple[QuotedSet, ...]:
    """The chosen one first, then by error, and last what cannot be done."""

    def order(option: QuotedSet) -> tuple[bool, bool, float]:
        error = math.inf if option.typical_error is None else option.typical_error
        return not option.chosen, option.mechanism is None, error

    return tuple(sorted(options, key=order))


def _asked_for(plan: Plan, facts: PublicFacts) -> Iterator[QuotedSet]:
    """All that the PPI allows."""
    for option in plan_options(plan.ppi, plan.epsilon, facts):
        yield _quoted_set(option, plan, facts)


def _unasked(plan: Plan, facts: PublicFacts) -> Iterator[QuotedSet]:
    """What there would be without a choice of functions and mechanisms, to compare it with."""
    if not plan.ppi.release.noise and plan.ppi.release.mechanism is None:
        return
    free = replace(plan.ppi, release=ReleaseChoice(answer=plan.ppi.release.answer))
    for option in plan_options(free, plan.epsilon, facts):
        if option.plan is not None and not option.on_request and option.plan.parts != plan.parts:
            yield replace(_quoted_set(option, plan, facts), reason=_UNASKED, chosen=False)


def _quoted_set(option: Option, chosen: Plan, facts: PublicFacts) -> QuotedSet:
    plan = option.plan
    if plan is None:
        return QuotedSet(option.functions, None, None, option.reason)
    ways = [(_functions(each), each.mechanism) for each in (plan, chosen)]
    is_chosen = not option.on_request and ways[0] == ways[1]
    return QuotedSet(
        option.functions,
        plan.mechanism,
        _shown_error(plan),
        reason=_ON_REQUEST.get(plan.mechanism, "") if option.on_request else "",
        shares=_shares(plan),
        chosen=is_chosen,
        margin=_margin(plan, facts),
        mechanisms=_mechanisms(plan),
    )


def _functions(plan: Plan) -> tuple[str, ...]:
    return tuple(part.path for part in plan.parts)


def _shares(plan: Plan) -> tuple[float, ...]:
    """How epsilon is divided between the functions."""
    return tuple(float(part.share) for part in plan.parts)


def _mechanisms(plan: Plan) -> tuple[str, ...]:
    return tuple(part.mechanism.name for part in plan.parts)


def _clipping(plan: Plan, facts: PublicFacts) -> str:
    inputs = (measure for part in plan.parts for measure in part.inputs)
    kinds = {measure_kind(measure.base, facts.vocabulary) for measure in inputs}
    return "none" if kinds == {Kind.TRUTH} else "as large as what lies beyond the bounds"


def _shown_error(plan: Plan) -> float | None:
    error = plan.predicted_error
    return plan.ppi.unit.show(error) if math.isfinite(error) else None
