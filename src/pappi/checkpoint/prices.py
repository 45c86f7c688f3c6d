"""What an analyst sees before paying: quotes, prices, forecasts and what is left of a budget.

Quotes are functions of public facts and of counts on record (`counts`); the others of declarations
and the ledger.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from pappi.checkpoint.answers import shown_aim
from pappi.checkpoint.derivation import Derivations
from pappi.checkpoint.queries import Derived, Known, Release
from pappi.ledger import (
    Account,
    Balance,
    Charge,
    Forecast,
    KeyState,
    RemainingBudget,
    demand,
    forecast,
)
from pappi.mechanisms import EVENLY_BETWEEN, LIE_LOW, OVER_OCTAVES, ErrorLaw
from pappi.planning import (
    ExpectedCases,
    Plan,
    ReleaseOption,
    advice_on,
    alternatives_to,
    chance_to_decide,
    expected_half_widths,
    is_enough,
    part_of_range,
    plan_alone,
    plan_error_law,
    plan_options,
    shown_error,
    shown_half_widths,
    target_in,
    untold,
    why_nothing,
)
from pappi.ppinot import Comparing, Range, ReleaseChoice, Wanted, aggregated_measures, measure_kind
from pappi.store import LogDeclaration, Registry
from pappi.values import (
    CONFIDENCES,
    MARGIN_CONFIDENCE,
    ZERO,
    Alternative,
    BudgetLine,
    By,
    Derivable,
    Epsilon,
    ErrorQuantile,
    Kind,
    PublicLog,
    Quote,
    QuotedSet,
)

MOST_ADVISED = 12
"""PPIs of one request that are told what to ask instead."""

_FEWER = "a tenth of the cases can mean ten times the error"
_UNASKED = "not as asked: without `noise` and `mechanism`"


def quote_of(
    plan: Plan,
    log: PublicLog,
    charges: int,
    new_charges: int,
    alternatives: tuple[Alternative, ...] = (),
) -> Quote:
    ppi, spread = plan.ppi, plan_error_law(plan)
    quantiles, assumes = _quantiles(plan, spread), "" if spread is None else spread.assumes
    widths = shown_half_widths(plan)
    return Quote(
        ppi=ppi.id,
        name=ppi.name,
        unit=ppi.shown_unit.name,
        epsilon=plan.epsilon,
        functions=_functions(plan),
        mechanism=plan.mechanism,
        typical_error=_shown_error(plan),
        assumed_cases=plan.expected.cases,
        charges=charges,
        new_charges=new_charges,
        options=_ranked([*_asked_for(plan, log), *_unasked(plan, log)]),
        shares=_shares(plan),
        clipping=_clipping(plan, log),
        advice=advice_on(plan),
        quantiles=quantiles,
        margin_note=_margin_note(plan, quantiles, assumes),
        assumes=assumes if quantiles else "",
        fewer=_FEWER if spread is not None and spread.shrinks else "",
        target=shown_aim(ppi.written or ppi, target_in(ppi.written or ppi, None)),
        verdict_only=ppi.release.answer is Wanted.VERDICT,
        mechanisms=_mechanisms(plan),
        total=plan.total,
        together=plan.together,
        # Compared with the plan: of as many cases.
        apart=None
        if plan.apart is None
        else _margin(plan_alone(ppi, plan.apart, log).expecting(plan.expected)),
        cases_note=plan.expected.because,
        interval_half_width=None if widths is None else _length(plan, widths.typical),
        usual_half_widths=None if widths is None else _usual(plan, widths.usual),
        each=plan.apart,
        untold=_untold(plan, log) if new_charges and ppi.view is None else None,
        part_of_range=_short(part_of_range(plan)),
        chance_to_decide=_short(chance_to_decide(plan)),
        tells_nothing=bool(why_nothing(plan)),
        epsilon_note=plan.because,
        alternatives=alternatives,
    )


def derivable_of(
    known: Sequence[Known],
    states: Mapping[str, KeyState],
    derivations: Derivations,
    expected: ExpectedCases,
) -> Derivable | None:
    """What of a PPI follows from the record: what is taken, or else what could be."""
    taken = [cell for cell in known if isinstance(cell, Derived)]
    new = (cell for cell in known if isinstance(cell, Release) and states[cell.key] is KeyState.NEW)
    derived = taken or list(filter(None, map(derivations.of, new)))
    if not derived:
        return None
    figures = [figure for cell in derived for figure in cell.figures]
    away = max(derivations.margin(cell, expected) for cell in derived)
    return Derivable(
        cells=len(derived),
        margin=_finite_length(derived[0].plan, away),
        releases=tuple(sorted({source.number for each in figures for source in each.sources})),
        taken=bool(taken),
    )


def with_record_of(
    known: Sequence[Known],
    states: Mapping[str, KeyState],
    derivations: Derivations,
    expected: ExpectedCases,
) -> float | None:
    """Within what the noise would keep new releases, read together with what is on record.

    Also of those that are not paid for because they follow from it: with a draw of their own.
    """
    new = [one.drawn for one in known if states[one.drawn.key] is KeyState.NEW]
    found = [derivations.margin_with(release, expected) for release in new]
    margins = [margin for margin in found if margin is not None]
    if not new or len(margins) < len(new) or not all(map(math.isfinite, margins)):
        return None
    return _length(new[0].plan, max(margins))


def _untold(plan: Plan, log: PublicLog) -> float | None:
    """How wide the interval would be without counting what bounds cut."""
    if not plan.tells_beyond:
        return None
    widths = expected_half_widths(untold(plan, log).expecting(plan.expected))
    return None if widths is None else _length(plan, widths.typical)


def alternatives_in(
    plans: Sequence[Plan], log: PublicLog, *, among: Sequence[Plan], advised: bool
) -> dict[str, tuple[Alternative, ...]]:
    """What to ask instead of PPIs that tell nothing; `advised`, of all that may well not decide.

    Of the first few alone, as it takes several plans for each; `among` are all that are asked.
    """
    # What is wrong with a view is wrong with its figures: those have alternatives.
    plain = (plan for plan in plans if plan.ppi.view is None)
    needing = (plan for plan in plain if why_nothing(plan) or (advised and not is_enough(plan)))
    first = islice(needing, MOST_ADVISED)
    every = [plan for plan in among if plan.ppi.view is None]
    return {plan.ppi.id: alternatives_to(plan, log, every) for plan in first}


def _quantiles(plan: Plan, spread: ErrorLaw | None) -> tuple[ErrorQuantile, ...]:
    """As far as there are any: of a value that may not exist, none at high confidences."""
    if spread is None:
        return ()
    margins = ((level, _finite_length(plan, spread.within(level))) for level in CONFIDENCES)
    return tuple(ErrorQuantile(level, away) for level, away in margins if away is not None)


def _length(plan: Plan, length: float) -> float:
    """As it is shown: with five digits, as what was searched for 5 h is not 5.000001 h."""
    return float(f"{abs(plan.ppi.unit.show(length)):.5g}")


def _finite_length(plan: Plan, length: float) -> float | None:
    return _length(plan, length) if math.isfinite(length) else None


def _usual(plan: Plan, ends: Range) -> tuple[float, float] | None:
    least, most = ends
    return (_length(plan, least), _length(plan, most)) if math.isfinite(most) else None


def half_width_of(plan: Plan) -> float | None:
    """As the quote of the plan has it, and nothing else of it."""
    spread = plan_error_law(plan)
    return None if spread is None else _finite_length(plan, spread.within(MARGIN_CONFIDENCE))


def _short(part: float | None) -> float | None:
    return None if part is None else round(part, 3)


def _margin(plan: Plan) -> float | None:
    """What can be promised of one way to release it."""
    spread = plan_error_law(plan)
    if spread is None or spread.assumes:
        return None
    return _finite_length(plan, spread.within(MARGIN_CONFIDENCE))


def _margin_note(plan: Plan, quantiles: Sequence[ErrorQuantile], assumes: str) -> str:
    view = plan.ppi.view
    if isinstance(view, Comparing) and view.by is not By.DIFFERENCE:
        return "it depends on how large the figures are, which is private"
    if math.isinf(plan.predicted_error):
        return "its bounds are chosen privately, so the error cannot be predicted"
    if not quantiles:
        return "the clipping bound is chosen privately, so only a typical error is predicted"
    if not any(each.confidence == MARGIN_CONFIDENCE for each in quantiles):
        return "it is undefined too often to quote a margin"
    if assumes in (EVENLY_BETWEEN, LIE_LOW, OVER_OCTAVES):
        return "it depends on how close together the values are, which is private"
    return "it depends on where the values lie, which is private" if assumes else ""


def _ranked(options: list[QuotedSet]) -> tuple[QuotedSet, ...]:
    """The chosen one first, then by error, and last what cannot be done."""

    def order(option: QuotedSet) -> tuple[bool, bool, float]:
        error = math.inf if option.typical_error is None else option.typical_error
        return not option.chosen, option.mechanism is None, error

    return tuple(sorted(options, key=order))


def _asked_for(plan: Plan, log: PublicLog) -> Iterator[QuotedSet]:
    """All that the PPI allows."""
    if plan.tells_beyond or plan.together:
        yield _quoted_set(ReleaseOption(_functions(plan), plan), plan)
    for option in plan_options(plan.ppi, plan.apart or plan.epsilon, log):
        yield _quoted_set(option, plan)


def _unasked(plan: Plan, log: PublicLog) -> Iterator[QuotedSet]:
    """What there would be without a choice of functions and mechanisms, to compare it with."""
    if not plan.ppi.release.noise and plan.ppi.release.mechanism is None:
        return
    free = replace(plan.ppi, release=ReleaseChoice(answer=plan.ppi.release.answer))
    for option in plan_options(free, plan.apart or plan.epsilon, log):
        if (
            option.plan is not None
            and not option.on_request
            and option.plan.measurements != plan.measurements
        ):
            yield replace(_quoted_set(option, plan), reason=_UNASKED, chosen=False)


def _quoted_set(option: ReleaseOption, chosen: Plan) -> QuotedSet:
    if option.plan is None:
        return QuotedSet(option.functions, None, None, option.reason)
    plan = option.plan.expecting(chosen.expected)
    ways = [(_functions(each), each.mechanism) for each in (plan, chosen)]
    is_chosen = not option.on_request and ways[0] == ways[1]
    return QuotedSet(
        option.functions,
        plan.mechanism,
        _shown_error(plan),
        reason=plan.measurements[0].mechanism.on_request if option.on_request else "",
        shares=_shares(plan),
        chosen=is_chosen,
        margin=_margin(plan),
        mechanisms=_mechanisms(plan),
    )


def _functions(plan: Plan) -> tuple[str, ...]:
    return tuple(part.path for part in plan.measurements)


def _shares(plan: Plan) -> tuple[float, ...]:
    """How epsilon is divided between the functions."""
    return tuple(float(part.share) for part in plan.measurements)


def _mechanisms(plan: Plan) -> tuple[str, ...]:
    return tuple(part.mechanism.name for part in plan.measurements)


def _clipping(plan: Plan, log: PublicLog) -> str:
    measures = (measure for _, measure in aggregated_measures(plan.ppi.measure))
    kinds = {measure_kind(measure.base, log.vocabulary) for measure in measures}
    return "none" if kinds == {Kind.TRUTH} else "as large as the clipped part of the values"


def _shown_error(plan: Plan) -> float | None:
    error = shown_error(plan)
    return plan.ppi.unit.show(error) if math.isfinite(error) else None


# --- what a catalogue costs as a whole, and how long the budget lasts -------------------------

UNPAID = frozenset({KeyState.NEW, KeyState.RESERVED})


@dataclass(frozen=True, slots=True)
class Price:
    """What asking a catalogue costs: figures that are not on record, and what blocks pay.

    `reserved` of its cells were reserved earlier for subscriptions, and are charged from
    there. `least` and `most` are what the blocks pay that pay least and most. `name` stands
    for exactly the cells that would be charged.
    """

    figures: int
    reserved: int
    blocks: int
    least: Epsilon
    most: Epsilon
    name: str

    @property
    def is_free(self) -> bool:
        return not self.figures


def price_of(releases: Sequence[Release], states: Mapping[str, KeyState]) -> Price:
    """Of all releases together; two that are the same are paid once."""
    unpaid = {release.key: release for release in releases if states[release.key] in UNPAID}
    paid = demand(release.charge for release in unpaid.values())
    # One draw for several PPIs has figures for each of them.
    figures = {(one.key, one.plan.measurements): one for one in releases if one.key in unpaid}
    blocks = [amount for account, amount in paid.items() if account.is_block]
    return Price(
        figures=sum(release.figures for release in figures.values()),
        reserved=sum(states[key] is KeyState.RESERVED for key in unpaid),
        blocks=len(blocks),
        least=min(blocks, default=ZERO),
        most=max(blocks, default=ZERO),
        name=hashlib.sha256("".join(sorted(unpaid)).encode("ascii")).hexdigest(),
    )


def remaining_budget(
    log: LogDeclaration,
    balances: Mapping[Account, Balance],
    analyst: str,
    share: Epsilon | None,
) -> RemainingBudget:
    """What an analyst has left in a log, of whose blocks they may have been granted a share."""
    blocks = {account.block for account in balances if account.block}
    coming = log.terms.block_budget if share is None else min(log.terms.block_budget, share)
    return RemainingBudget(
        left={block: _left(log, balances, block, analyst, share) for block in blocks},
        limit=coming,
        coming=coming,
        total=None
        if log.terms.total_budget is None
        else max(log.terms.total_budget - _used(balances, Account(log.name)), ZERO),
    )


def forecast_of(
    charges: Sequence[Charge], remaining: RemainingBudget, log: LogDeclaration
) -> Forecast | None:
    """For new charges only; None if there are none: what is on record costs nothing."""
    if not charges:
        return None
    wanted = demand({charge.key: charge for charge in charges}.values())
    prices = {account.block: price for account, price in wanted.items() if account.is_block}
    return forecast(remaining, prices, log.terms.blocks, log.public.until)


def _left(
    log: LogDeclaration,
    balances: Mapping[Account, Balance],
    block: str,
    analyst: str,
    share: Epsilon | None,
) -> Epsilon:
    left = log.terms.block_budget - _used(balances, Account(log.name, block))
    if share is not None:
        left = min(left, share - _used(balances, Account(log.name, block, analyst)))
    return max(left, ZERO)


def _used(balances: Mapping[Account, Balance], account: Account) -> Epsilon:
    return balances.get(account, Balance()).used


def budget_lines(
    log: LogDeclaration, balances: Mapping[Account, Balance], registry: Registry, analyst: str
) -> tuple[BudgetLine, ...]:
    """What each block of a log may spend and has spent, and what of it an analyst has."""
    blocks = dict.fromkeys(
        block.label for block in log.terms.blocks.periods(log.public.first, log.public.until)
    )
    # What reaches beyond the horizon, or is reserved for later, has accounts there, too.
    blocks |= dict.fromkeys(sorted(account.block for account in balances if account.is_block))
    grant = registry.grants.get((log.name, analyst))
    lines = []
    for block in blocks:
        whole = balances.get(Account(log.name, block), Balance())
        lines.append(
            BudgetLine(
                block,
                limit=log.terms.block_budget,
                spent=whole.spent,
                held=whole.held,
                own_limit=None if grant is None else grant.per_block,
                own_used=_used(balances, Account(log.name, block, analyst)),
                frozen=registry.is_frozen(log, block),
            )
        )
    return tuple(lines)
