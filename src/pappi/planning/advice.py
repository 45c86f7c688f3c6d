"""Advice before paying: what a query can tell, and what to ask instead. From public facts only.

A query *decides* if its verdict is likely to come out firm: a chance of 80 %, averaged over where
the value may lie (`forecasts`). Without a target, it is exact enough if its 95 % margin is at most
a tenth of its range, and half of its interval, too.

A query *tells nothing* if its 95 % margin is wider than half its range, or if its verdict would
most likely be unclear wherever the value lies, the ends of the range left out; without a target,
if its interval would most likely be the whole range. Of a release that
aims at its target only the verdict counts. A release of such a query is refused unless it is
asked for anyway.

What to ask instead is planned, not guessed: every alternative is a PPI that decides, at the least
ε of the ladder that is enough, and no more than a block may spend. The cheapest comes first.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain

from pappi.errors import DefinitionError, PappiError
from pappi.planning.forecasts import (
    as_if_uncut,
    chance_to_decide,
    decides_somewhere,
    expected_half_widths,
    figures_law,
    is_additive,
    plan_error_law,
    value_range,
)
from pappi.planning.plan import Plan
from pappi.planning.scopes import expected_cases, grid_days
from pappi.planning.sets import plan_alone, plan_set
from pappi.ppinot import (
    ROOT,
    AggregatedMeasure,
    Aggregation,
    Binary,
    Catalogue,
    DerivedSingleInstance,
    DurationLiteral,
    Missing,
    Name,
    NumberLiteral,
    Operator,
    Ppi,
    ReleaseChoice,
    Target,
    Wanted,
    measure_kind,
    write_yaml,
)
from pappi.values import (
    ENOUGH_CHANCE,
    MARGIN_CONFIDENCE,
    PERCENT,
    UNIT_INTERVAL,
    Alternative,
    Calendar,
    Epsilon,
    Grid,
    Kind,
    PublicLog,
)

ENOUGH_OF_RANGE = 0.1
_TOO_WIDE = 0.5
_WHOLE_RANGE = 0.499
"""Half of it: a period of which no more is known is shown as a dash."""

_MOST_ALTERNATIVES = 4
_ALL_BUT_A_FEW = Fraction(95, 100)
"""Of the cases: what stands for all of them, where a single case would decide."""

# A verdict on an extreme is right at most this often, if it is met, before it is worth asking.
_WORTH_ASKING = 0.9

LADDER = tuple(
    Epsilon.of(f"{digits}e{power}")
    for power in (-3, -2, -1, 0)
    for digits in ("10", "12", "15", "20", "25", "30", "40", "50", "60", "80")
)
"""Amounts of ε that are tried: as people write them, and coarse, so that few facts change one."""


# --- what a query can tell ------------------------------------------------------------


def part_of_range(plan: Plan) -> float | None:
    """Its 95 % margin in parts of its output range; None if one of them is not known."""
    law, ends = figures_law(plan), value_range(plan)
    if law is None or ends is None:
        return None
    away = law.within(MARGIN_CONFIDENCE)
    return away / (ends[1] - ends[0]) if math.isfinite(away) else None


def why_nothing(plan: Plan) -> str:
    """Why a query tells nothing, in words; empty if it tells something."""
    if all(_open_ends(plan)):
        return f"its interval is always its whole range: {_HIDDEN}, on either side"
    part = None if plan.decides else part_of_range(plan)  # one that aims is about its verdict
    if part is not None and part > _TOO_WIDE:
        ends = value_range(plan) or (0.0, 0.0)
        margin, width = (
            _shown(plan.ppi, length * (ends[1] - ends[0])) for length in (part, Fraction(1))
        )
        return f"its 95 % margin is ±{margin}, and its whole range is only {width}"
    if decides_somewhere(plan) is False:
        return "its verdict would most likely be unclear, wherever the value lies"
    if plan.ppi.target is None and _interval_part(plan) >= _WHOLE_RANGE:
        return "the interval of its answer would most likely be its whole range"
    return ""


_HIDDEN = "nobody knows how far values lie beyond a private clipping bound"


def _open_ends(plan: Plan) -> tuple[bool, bool]:
    """Of one function that is the PPI: of a formula, its range may close them."""
    (part, *others) = plan.measurements
    single = not others and part.path == ROOT and plan.ppi.value_range is None
    return part.mechanism.open_ends if single else (False, False)


def _never_met_caution(plan: Plan) -> str:
    """Whether its target can be missed for sure, and never met for sure."""
    aims = plan.ppi.target, *(own.target for own in plan.ppi.group_targets)
    _, above = _open_ends(plan)
    if not above or not any(aim is not None and aim.high is not None for aim in aims):
        return ""
    return (
        f"its verdict can be 'missed' and never 'met': {_HIDDEN}; declare tight bounds, if you can"
    )


def _interval_part(plan: Plan) -> float:
    """The median half-width in parts of the output range; 0 if one of them is not known."""
    halves, ends = expected_half_widths(plan), value_range(plan)
    return 0.0 if halves is None or ends is None else halves.median / (ends[1] - ends[0])


def is_enough(plan: Plan, wanted: float = ENOUGH_CHANCE) -> bool:
    """Whether a query decides, with the wanted chance; or, without a target, is exact enough."""
    chance = chance_to_decide(plan)
    if chance is not None:
        return chance >= wanted
    law, ends = figures_law(plan), value_range(plan)
    if plan.ppi.target is not None or law is None or ends is None:
        return False
    if not law.keeps(ENOUGH_OF_RANGE * (ends[1] - ends[0]), MARGIN_CONFIDENCE):
        return False
    # Last, as it takes trials. The noise of other formulas says how wide their intervals are.
    return not _of_ranks(plan) or _interval_part(plan) <= ENOUGH_OF_RANGE


def _of_ranks(plan: Plan) -> bool:
    """Whether it is one measure, or a formula of which a part is an extreme or a percentile."""
    functions = [measure.function for part in plan.measurements for measure in part.inputs]
    single = isinstance(plan.ppi.measure, AggregatedMeasure)
    return single or any(function in _BY_RANK for function in functions)


def advice_on(plan: Plan) -> str:
    """What speaks against asking this, in a sentence; empty if nothing does."""
    nothing = why_nothing(plan)
    warning = nothing_because(nothing) if nothing else ""
    hidden = "" if nothing else _never_met_caution(plan) or _uncounted_caution(plan)
    extreme = extreme_caution(plan.ppi, plan.epsilon.fraction)
    return "; ".join(filter(None, (warning, hidden, extreme)))


def nothing_because(reason: str) -> str:
    return f"this will tell you nothing, because {reason}"


def _uncounted_caution(plan: Plan) -> str:
    """What bounds that nothing counts may hide from a verdict."""
    if not _bounds_turn_verdict(plan):
        return ""
    return (
        "nothing counts the cases beyond its bounds, so its verdict is unclear wherever these "
        "could flip it; if you know that its bounds cut nothing, add `release: {clipping: off}`"
    )


def _bounds_turn_verdict(plan: Plan) -> bool:
    """Whether its verdict may be open because nothing counts the cases that bounds cut."""
    return chance_to_decide(plan) != chance_to_decide(as_if_uncut(plan))


def extreme_caution(ppi: Ppi, epsilon: Fraction) -> str:
    """Why a verdict on a minimum or maximum cannot be had at this epsilon by any mechanism.

    One case more can turn "no case beyond the limit" into its opposite. So, whatever the
    log, a rule as good on both sides is right with probability at most 1 − exp(−ε/2)/2.
    """
    measure = ppi.measure
    extreme = isinstance(measure, AggregatedMeasure) and measure.function in _EXTREMES
    right = 1 - math.exp(-float(epsilon) / 2) / 2
    if not extreme or right >= _WORTH_ASKING or not (ppi.target or ppi.group_targets):
        return ""
    return (
        f"a single case decides whether its target is met, so at ε = {float(epsilon):g} an "
        f"unbiased verdict is right at most {100 * right:.0f} % of the time when all cases meet "
        "it; ask for the share of cases beyond the target instead"
    )


def _shown(ppi: Ppi, length: float, digits: int = 3) -> str:
    """With so many digits that count, and never with an exponent."""
    number = float(f"{abs(ppi.unit.show(length)):.{digits}g}")
    return f"{number:,.15g} {ppi.unit.name}".rstrip()


# --- what to ask instead --------------------------------------------------------------


_KNOWN_UNCUT = "add `clipping: off`, if you know that its bounds cut nothing"


def alternatives_to(plan: Plan, log: PublicLog, among: Sequence[Plan]) -> tuple[Alternative, ...]:
    """Queries near to this one that decide, the cheapest first; `among` are all that are asked.

    Where a count on record says how many cases the plan has, it says that of theirs, too.
    """
    times = Fraction(plan.expected.cases, expected_cases(log, plan.ppi).cases)
    dearer = "release it by itself" if plan.together else "give it more ε"
    uncut = _KNOWN_UNCUT, as_if_uncut(plan).ppi
    single = [
        *_working([(dearer, plan.ppi)], log, times),
        *_first_working(_longer(plan.ppi, log), plan.epsilon, log, times),
        *_working(_other_functions(plan.ppi, log), log, times),
        *_working(_verdict_only(plan.ppi), log, times),
        *(_working([uncut], log, times) if _bounds_turn_verdict(plan) else ()),
        *_as_a_set(plan, log, among, times),
    ]
    if not single:
        changed = chain(_other_functions(plan.ppi, log), _verdict_only(plan.ppi))
        twice = (
            (f"{when}, and {what.removeprefix('ask ')}", longer)
            for what, ppi in changed
            for when, longer in _longer(ppi, log)
        )
        single = list(_first_working(twice, plan.epsilon, log, times))
    return tuple(sorted(single, key=lambda alternative: alternative.epsilon)[:_MOST_ALTERNATIVES])


_Changed = tuple[str, Ppi]
"""What is changed, in words, and the PPI that it makes."""


def _working(
    candidates: Sequence[_Changed], log: PublicLog, times: Fraction
) -> Iterator[Alternative]:
    """Those that decide, with so many times the cases that are declared."""
    for words, ppi in candidates:
        plan = _least_plan(ppi, log, times)
        if plan is not None:
            asked = replace(ppi, epsilon=plan.epsilon)
            yield _alternative(words, plan, plan.epsilon, Catalogue(log.name, (asked,)))


def _least_plan(ppi: Ppi, log: PublicLog, times: Fraction) -> Plan | None:
    """At the least ε of the ladder that is enough, and no more than a block may spend."""
    most = log.terms.block_budget
    steps = LADDER[: bisect_left(LADDER, most)] + ((most,) if most <= LADDER[-1] else ())
    plans: dict[int, Plan] = {}

    def enough(index: int) -> bool:
        try:
            plans[index] = _with_known_cases(plan_alone(ppi, steps[index], log), times)
        except PappiError:
            return False  # too little for a mechanism, or not to be released at all
        return is_enough(plans[index])

    if not steps or not enough(len(steps) - 1):
        return None
    return plans[bisect_left(range(len(steps) - 1), True, key=enough)]  # noqa: FBT003 - false, then true


def _first_working(
    candidates: Iterator[_Changed], epsilon: Epsilon, log: PublicLog, times: Fraction
) -> Iterator[Alternative]:
    """The first that costs no more than what was asked, or else the first at all."""
    dearer = None
    for candidate in candidates:
        for alternative in _working([candidate], log, times):
            if alternative.epsilon <= epsilon:
                yield alternative
                return
            dearer = dearer or alternative
    if dearer is not None:
        yield dearer


def _with_known_cases(plan: Plan, times: Fraction) -> Plan:
    cases = max(1, round(plan.expected.cases * times))
    return plan.expecting(replace(plan.expected, cases=cases))


def _alternative(words: str, plan: Plan, epsilon: Epsilon, catalogue: Catalogue) -> Alternative:
    law = None if plan.ppi.release.answer is Wanted.VERDICT else plan_error_law(plan)
    away = math.inf if law is None else law.within(MARGIN_CONFIDENCE)
    halves = None if law is None else expected_half_widths(plan)
    return Alternative(
        change=words,
        yaml=_written(catalogue),
        epsilon=epsilon,
        unit=plan.ppi.unit.name,
        margin=_digits(plan, away) if math.isfinite(away) else None,
        chance_to_decide=chance_to_decide(plan),
        interval_half_width=None if halves is None else _digits(plan, halves.typical),
    )


def _digits(plan: Plan, length: float) -> float:
    return float(f"{abs(plan.ppi.unit.show(length)):.5g}")


def _written(catalogue: Catalogue) -> str:
    """Nothing, where another notation says more than this one can."""
    try:
        return write_yaml(catalogue)
    except DefinitionError:
        return ""


_LONGER = (Calendar.WEEK, Calendar.MONTH, Calendar.QUARTER, Calendar.YEAR)


def _longer(ppi: Ppi, log: PublicLog) -> Iterator[_Changed]:
    """The same over longer periods, of which the log has at least one."""
    grid = ppi.scope.grid
    if grid is None or is_additive(ppi.measure):  # its target would be another one
        return
    longest = max(Fraction((log.until - log.first).days + 1), grid_days(log.terms.blocks))
    for unit in _LONGER:
        longer = Grid(unit)
        if grid_days(grid) < grid_days(longer) <= longest:
            yield f"ask for every {unit}", replace(ppi, scope=replace(ppi.scope, grid=longer))


_EXTREMES = (Aggregation.MIN, Aggregation.MAX)
_BY_RANK = (*_EXTREMES, Aggregation.MEDIAN, Aggregation.PERCENTILE)


def _other_functions(ppi: Ppi, log: PublicLog) -> list[_Changed]:
    """Of a minimum, maximum or percentile: the share within its target, the median, the mean."""
    measure = ppi.measure
    if not isinstance(measure, AggregatedMeasure) or measure.function not in _BY_RANK:
        return []
    if ppi.group_targets or not ppi.release.is_free:
        return []
    changed = [] if ppi.target is None else _share_within(ppi, measure, ppi.target, log)
    for function in (Aggregation.MEDIAN, Aggregation.MEAN):
        # The limit of a maximum is none for a median, which is nearly always below it.
        limited = ppi.target is not None and (
            function not in _BY_RANK or measure.function in _EXTREMES
        )
        if function is measure.function or limited:
            continue
        other = replace(measure, function=function, percent=None)
        changed.append((f"ask for the {function}", _renamed(ppi, str(function), measure=other)))
    return changed


def _share_within(
    ppi: Ppi, measure: AggregatedMeasure, target: Target, log: PublicLog
) -> list[_Changed]:
    """A percentile is within its limit if, and only if, so many of the cases are."""
    below, limit = target.low is None, target.high if target.low is None else target.low
    if limit is None or (target.low is not None and target.high is not None):
        return []
    level, note = _share_wanted(measure, below=below)
    if level is None:
        return []
    included = target.high_included if below else target.low_included
    operator = {
        (True, True): Operator.AT_MOST,
        (True, False): Operator.LESS,
        (False, True): Operator.AT_LEAST,
        (False, False): Operator.GREATER,
    }[below, included]
    duration = measure_kind(measure.base, log.vocabulary) is Kind.DURATION
    literal = DurationLiteral(limit) if duration else NumberLiteral(limit)
    within = DerivedSingleInstance(
        Binary(operator, Name("value"), literal), (("value", measure.base),), Missing.LEFT_OUT
    )
    share = AggregatedMeasure(
        Aggregation.SHARE, within, measure.filter, measure.grouping, UNIT_INTERVAL
    )
    words = (
        f"ask for the share of cases {'below' if below else 'above'} "
        f"{_shown(ppi, float(limit), digits=12)}, "
        f"target at least {100 * float(level):g} %: {note}"
    )
    wanted = {"unit": PERCENT, "target": Target(level, None), "tolerated": None}
    return [(words, _renamed(ppi, "share", measure=share, value_range=None, **wanted))]


def _share_wanted(measure: AggregatedMeasure, *, below: bool) -> tuple[Fraction | None, str]:
    """Of the cases on the right side of the limit, and how that verdict stands to the first."""
    if measure.function in _EXTREMES:
        for_all = (measure.function is Aggregation.MAX) is below
        return (_ALL_BUT_A_FEW if for_all else None), "all but one case in twenty"
    percent = measure.percent or 50
    return Fraction(percent if below else 100 - percent, 100), "the same verdict"


def _renamed(ppi: Ppi, suffix: str, **changes: object) -> Ppi:
    name = f"{ppi.name} ({suffix})" if ppi.name else ""
    return replace(ppi, id=f"{ppi.id}-{suffix}", name=name, **changes)  # type: ignore[arg-type]


def _verdict_only(ppi: Ppi) -> list[_Changed]:
    if ppi.target is None or ppi.tolerated is not None or not ppi.release.is_free:
        return []
    verdict = replace(ppi, release=ReleaseChoice(answer=Wanted.VERDICT))
    return [("ask for the verdict only, without a value", verdict)]


def _as_a_set(
    plan: Plan, log: PublicLog, among: Sequence[Plan], times: Fraction
) -> Iterator[Alternative]:
    """All that are asked, under the sum of their ε: one draw where that is better."""
    if len(among) < 2 or any(other.total is not None or other.together for other in among):
        return
    total = Epsilon(sum(other.epsilon.nano for other in among))
    ppis = tuple(replace(other.ppi, epsilon=None) for other in among)
    if total > log.terms.block_budget:
        return
    plans = {other.ppi.id: other for other in plan_set(ppis, total, log)}
    own = _with_known_cases(plans[plan.ppi.id], times)
    if own.together and is_enough(own):
        words = f"ask all {len(ppis)} PPIs under one total, so that one draw answers them"
        yield _alternative(words, own, total, Catalogue(log.name, ppis, total))
