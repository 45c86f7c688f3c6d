"""Plans as quotes: what an analyst sees before paying. Public facts only."""

from __future__ import annotations

import math

from pappi.planning.parts import PublicFacts
from pappi.planning.plan import Option, Plan, plan_options
from pappi.values.quotes import Quote, QuotedSet


def quote_of(plan: Plan, facts: PublicFacts, charges: int, new_charges: int) -> Quote:
    ppi = plan.ppi
    return Quote(
        ppi=ppi.id,
        name=ppi.name,
        unit=ppi.unit.name,
        epsilon=plan.epsilon,
        functions=tuple(part.path for part in plan.parts),
        mechanism=plan.mechanism,
        typical_error=_shown_error(plan),
        assumed_cases=facts.expected_cases,
        charges=charges,
        new_charges=new_charges,
        options=tuple(_quoted_set(option) for option in plan_options(ppi, plan.epsilon, facts)),
    )


def _quoted_set(option: Option) -> QuotedSet:
    if option.plan is None:
        return QuotedSet(option.functions, None, None, option.reason)
    return QuotedSet(option.functions, option.plan.mechanism, _shown_error(option.plan))


def _shown_error(plan: Plan) -> float | None:
    error = plan.predicted_error
    return plan.ppi.unit.show(error) if math.isfinite(error) else None
