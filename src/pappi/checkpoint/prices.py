"""Plans as quotes: what an analyst sees before paying. Public facts only."""

from __future__ import annotations

import math

from pappi.planning.parts import PublicFacts
from pappi.planning.plan import Option, Plan, plan_options
from pappi.planning.targets import advice_on
from pappi.ppinot.measures import measure_kind
from pappi.values.quotes import Quote, QuotedSet
from pappi.values.vocabulary import Kind

_ON_REQUEST = {
    "threshold": "on request: aims at the target",
    "sample-and-aggregate": "on request: the bias of small parts comes on top",
}


def quote_of(plan: Plan, facts: PublicFacts, charges: int, new_charges: int) -> Quote:
    ppi = plan.ppi
    options = plan_options(ppi, plan.epsilon, facts)
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
        options=_ranked([_quoted_set(option, plan) for option in options]),
        shares=_shares(plan),
        clipping=_clipping(plan, facts),
        advice=advice_on(ppi, plan.epsilon.fraction),
    )


def _ranked(options: list[QuotedSet]) -> tuple[QuotedSet, ...]:
    """The chosen one first, then by error, and last what cannot be done."""

    def order(option: QuotedSet) -> tuple[bool, bool, float]:
        error = math.inf if option.typical_error is None else option.typical_error
        return not option.chosen, option.mechanism is None, error

    return tuple(sorted(options, key=order))


def _quoted_set(option: Option, chosen: Plan) -> QuotedSet:
    plan = option.plan
    if plan is None:
        return QuotedSet(option.functions, None, None, option.reason)
    return QuotedSet(
        option.functions,
        plan.mechanism,
        _shown_error(plan),
        reason=_ON_REQUEST.get(plan.mechanism, "") if option.on_request else "",
        shares=_shares(plan),
        chosen=not option.on_request
        and (_functions(plan), plan.mechanism) == (_functions(chosen), chosen.mechanism),
    )


def _functions(plan: Plan) -> tuple[str, ...]:
    return tuple(part.path for part in plan.parts)


def _shares(plan: Plan) -> tuple[float, ...]:
    """How epsilon is divided between the functions."""
    whole = sum(part.mechanism.epsilon for part in plan.parts)
    return tuple(float(part.mechanism.epsilon / whole) for part in plan.parts)


def _clipping(plan: Plan, facts: PublicFacts) -> str:
    inputs = (measure for part in plan.parts for measure in part.inputs)
    kinds = {measure_kind(measure.base, facts.vocabulary) for measure in inputs}
    return "none" if kinds == {Kind.TRUTH} else "as large as what lies beyond the bounds"


def _shown_error(plan: Plan) -> float | None:
    error = plan.predicted_error
    return plan.ppi.unit.show(error) if math.isfinite(error) else None
