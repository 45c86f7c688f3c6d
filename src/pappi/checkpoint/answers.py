"""From released integers to answers and series: post-processing, free and repeatable.

Nothing here has seen a case. The same released integers give the same answer,
to the last digit, whenever they are read again.

What bounds cut off is told with it. Value and interval of an answer are about cases as public
bounds clip them. Where a draw counts the cases that lie beyond (`mechanisms.joint`), the share is
told with the answer, and the verdict is about the cases as they are:

- A case that was cut above lies further up, so the mean without bounds is no lower. *Missed* for
  "below 10 days" stays firm; *met* is firm only if it would still be met were the cases that were
  cut much further up: by how much, `mechanisms.beyond` says. Below and above change places for
  cases that were cut below. Where bounds can cut on both sides, nobody knows which it was, and
  both directions count.
- One period's count is noisy, that of many is not. So the share is that of all periods of the
  series (and group) in this answer together, unless the period's own surely differs from it.
- What could be turned in this way is undecided. Of a sum, the number of cases takes the place of
  their share.

A duration or a count is never cut below a bound of 0. Minima, maxima and percentiles need no
count: where the interval of one reaches a bound, it is open there.

Which PPIs count what they cut off is decided by their definitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

from pappi.checkpoint.queries import Derived, Figure, Known, Release, figures_of
from pappi.ledger import KeyState
from pappi.mechanisms import (
    BeyondBounds,
    Clipped,
    Estimate,
    NoisyBins,
    hidden_by_bounds,
    levels_together,
)
from pappi.planning import (
    Aim,
    Plan,
    extreme_caution,
    interval_of,
    open_interval_of,
    periods_of,
    sides_cut,
    target_in,
    within_range,
)
from pappi.ppinot import (
    EVERY_CASE,
    ROOT,
    AggregatedMeasure,
    Aggregation,
    Bounding,
    Comparing,
    Ppi,
    Target,
    Wanted,
    aggregated_measures,
    measure_kind,
    ordinal,
    value_above,
)
from pappi.store import LogDeclaration
from pappi.values import (
    CONFIDENCE,
    HOURS,
    NUMBER,
    PERCENT,
    UNIT_INTERVAL,
    ZERO,
    Answer,
    Band,
    Beyond,
    Bin,
    By,
    Distribution,
    Guarantee,
    Interval,
    Kind,
    Likelihood,
    Percentile,
    Period,
    Series,
    ShownTarget,
    Source,
    Unit,
    Verdict,
    bands_between,
    judge,
)

_HALVINGS = 6
FEW_PARTS = 4
_TWO_SIDED = 0.975
_HARDLY_ANY = 0.01
_ALL = 0.95
_NOT_TOLD = "the number of cases beyond the bounds is not reported"
_RANKED = (
    Aggregation.MIN,
    Aggregation.MAX,
    Aggregation.MEDIAN,
    Aggregation.PERCENTILE,
    Aggregation.DISTRIBUTION,
)

Noisy = tuple[int, ...]

Pools = Mapping[tuple[str, str | None], BeyondBounds]
"""By PPI and group: what all periods together say about the cases that were cut."""


def answer_of(
    plan: Plan,
    log: LogDeclaration,
    period: Period,
    group: str | None,
    noisy: Sequence[Noisy],
    state: KeyState,
    pool: BeyondBounds | None = None,
    sources: tuple[Source, ...] = (),
    together: float | None = None,
) -> Answer:
    """One answer, from the noisy integers of each of the plan's functions.

    `state` is that of the release before it was asked: only a new one has been charged now.
    `pool` is what all periods of its series count beyond the bounds. Of an answer
    that is derived, `sources` are the releases it is derived from, and `together` is the confidence
    at which its interval holds together with those of the others.
    """
    released = by_path(plan, noisy)
    estimates = {p.path: p.mechanism.estimate(released[p.path]) for p in plan.measurements}
    # Each function of several has cases and a ceiling of its own: then nothing is told of them.
    (estimate, *others) = estimates.values()
    estimate = Estimate(None) if others else estimate
    low, high = interval_of(plan, released)
    possible = within_range(plan, {p.path: p.mechanism.output_range for p in plan.measurements})
    aim, perhaps_empty = target_in(plan.ppi, group), _perhaps_empty(estimates.values())
    chance = None if aim is None else probability_met(plan, aim.target, released)
    clipped = None if aim is None else _judged(plan, aim.target, chance, low, high)
    beyond = beyond_of(plan, noisy[0], (low, high), pool)
    ends, verdict = (low, high), clipped
    if beyond is not None:
        ends = beyond.widened(low, high)
    elif aim is not None:
        ends = open_interval_of(plan, released, ends, log.public.vocabulary)
    if aim is not None and clipped is not Verdict.UNDECIDED and ends != (low, high):
        verdict = _judged(plan, aim.target, chance, *ends)
    bands = bands_of(aim, verdict, *ends, noise_only=plan.covers_noise_only)
    if verdict is not None and perhaps_empty:
        verdict, bands = Verdict.UNDECIDED, bands and tuple(Band)
    cases, most_cases = estimate.cases, plan.ppi.scope.last_cases
    show = plan.ppi.unit.show
    return Answer(
        ppi=plan.ppi.id,
        period=period,
        group=group,
        value=_shown(plan.ppi, _value(plan, estimates)),
        unit=plan.ppi.unit.name,
        interval=_shown_interval(plan.ppi, low, high),
        cases=cases if cases is None or most_cases is None else min(cases, float(most_cases)),
        verdict=verdict,
        guarantee=Guarantee(
            plan.epsilon,
            log.terms.unit,
            log.terms.adjacency,
            plan.mechanism,
            max(len(plan.together), *(part.mechanism.answers_for for part in plan.measurements)),
        ),
        charged=plan.price if state in (KeyState.NEW, KeyState.RESERVED) else ZERO,
        replayed=state is KeyState.RELEASED and not sources,
        probability_met=chance,
        ceiling=_shown(plan.ppi, estimate.ceiling) if ROOT in estimates else None,
        bands=bands,
        likelihood=likelihood_of(plan, noisy),
        simultaneous=_simultaneous(plan, noisy, together),
        possible=_shown_interval(plan.ppi, *possible, confidence=1.0),
        cases_margin=estimate.cases_margin,
        perhaps_empty=perhaps_empty,
        beyond=beyond and replace(beyond, below=show(beyond.below), above=show(beyond.above)),
        clipping_decides=verdict is not clipped and not perhaps_empty,
        hidden=(beyond is None and ends[0] < low, beyond is None and ends[1] > high),
        derived_from=sources,
        distribution=_distribution(plan, noisy[0]),
    )


_PERCENTS = (5, 10, 25, 50, 75, 90, 95)


def _distribution(plan: Plan, noisy: Noisy) -> Distribution | None:
    """All that is told where a distribution was asked for, in the PPI's unit."""
    measure = plan.ppi.measure
    if not isinstance(measure, AggregatedMeasure):
        return None
    counted = plan.measurements[0].mechanism.noisy_bins(noisy)
    if counted is None or measure.function is not Aggregation.DISTRIBUTION:
        return None
    show = plan.ppi.unit.show
    mean, low, high = counted.mean()
    return Distribution(
        bins=tuple(_bins(counted, plan.ppi.unit, named=bool(measure.limits))),
        percentiles=tuple(_percentile(counted, percent, plan.ppi.unit) for percent in _PERCENTS),
        mean=show(mean),
        mean_interval=Interval(show(low), show(high), CONFIDENCE),
        binning_error=show(counted.binning_error()),
    )


def _bins(counted: NoisyBins, unit: Unit, *, named: bool) -> Iterator[Bin]:
    """Shares within limits that nobody named have no interval: there are too many to find."""
    likely = counted.likely
    upto, total = 0.0, sum(likely)
    for number, (count, (low, high)) in enumerate(zip(counted.counts, counted.cells, strict=True)):
        upto += likely[number]
        share, interval = upto / total if total else 0.0, None
        if named:
            share, least, most = counted.share_within(float(counted.bins.edges[number + 1]))
            interval = Interval(least, most, CONFIDENCE)
        off = counted.count_reach(CONFIDENCE, number)
        cases = Interval(max(count - off, 0.0), max(count + off, 0.0), CONFIDENCE)
        yield Bin(unit.show(low), unit.show(high), float(count), cases, share, interval)


def _percentile(counted: NoisyBins, percent: int, unit: Unit) -> Percentile:
    value, low, high = map(unit.show, counted.quantile(Fraction(percent, 100)))
    return Percentile(percent, value, Interval(low, high, CONFIDENCE))


def _simultaneous(plan: Plan, noisy: Sequence[Noisy], together: float | None) -> Interval | None:
    """Of one function by a draw that answers several PPIs; or of one of several derived answers."""
    (part, *others) = plan.measurements
    if together is not None:
        return _shown_interval(plan.ppi, *interval_of(plan, by_path(plan, noisy), together))
    if others or part.mechanism.answers_for == 1:
        return None
    return _shown_interval(plan.ppi, *part.mechanism.interval_for_all(noisy[0], CONFIDENCE))


def _value(plan: Plan, estimates: Mapping[str, Estimate]) -> float | None:
    if plan.ppi.release.answer is Wanted.VERDICT:
        return None
    values = {path: estimate.value for path, estimate in estimates.items()}
    value = value_above(plan.ppi.measure, values)
    if plan.ppi.value_range is None:
        return value
    low, high = float(plan.ppi.value_range.low), float(plan.ppi.value_range.high)
    return (low + high) / 2 if value is None else min(max(value, low), high)


def value_of(figure: Figure) -> float | None:
    """The value of a figure, in internal units."""
    parts = zip(figure.plan.measurements, figure.noisy, strict=True)
    return _value(figure.plan, {part.path: part.mechanism.estimate(own) for part, own in parts})


def by_path(plan: Plan, noisy: Sequence[Noisy]) -> dict[str, Noisy]:
    """What was released of each function, by its path."""
    return {part.path: noisy[index] for index, part in enumerate(plan.measurements)}


def _perhaps_empty(estimates: Iterable[Estimate]) -> bool:
    """Whether what was released leaves it open that there are no cases to speak of.

    Then a value that is nothing without cases is told by the noise alone, which lands on one
    side of a target as often as it likes. Where no number of cases was released, nobody knows.
    """
    return any(each.least_cases is not None and each.least_cases <= 0 for each in estimates)


def likelihood_of(plan: Plan, noisy: Sequence[Noisy]) -> Likelihood | None:
    """What was released says about the answer, in its unit, where one function is the PPI.

    None where its mechanism knows none, and where the declared range of the value cuts it off.
    """
    (part, *others) = plan.measurements
    if others or part.path != ROOT or plan.ppi.release.answer is Wanted.VERDICT:
        return None
    likelihood = part.mechanism.likelihood(noisy[0])
    if likelihood is None:
        return None
    unit, declared = plan.ppi.unit, plan.ppi.value_range
    likelihood = likelihood.rescaled(0.0, float(unit.factor))
    if declared is None:
        return likelihood
    if likelihood.low is None or likelihood.high is None:
        return None
    low, high = sorted((likelihood.low, likelihood.high))
    within = unit.show(declared.low) <= low and high <= unit.show(declared.high)
    return likelihood if within else None


def _judged(plan: Plan, target: Target, chance: float | None, low: float, high: float) -> Verdict:
    """By the interval, but for mechanisms that know the verdict better, or worse, than it."""
    if plan.covers_noise_only:
        return Verdict.UNDECIDED  # its interval is about the noise alone
    if not plan.decides or chance is None:
        return judge(target, low, high)
    sure = max(chance, 1 - chance) >= (1 + CONFIDENCE) / 2
    if sure and chance > 0.5 and _keeps(target, low, high):
        return Verdict.MET
    if sure and chance < 0.5 and _breaks(target, low, high):
        return Verdict.MISSED
    return Verdict.UNDECIDED


def bands_of(
    aim: Aim | None, verdict: Verdict | None, low: float, high: float, *, noise_only: bool
) -> tuple[Band, ...]:
    """By the interval as well, and never surer about the target than the verdict is."""
    if aim is None or aim.tolerated is None:
        return ()
    if noise_only:
        return tuple(Band)
    found = set(bands_between(aim.target, aim.tolerated, low, high))
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


def probability_met(plan: Plan, target: Target, released: Mapping[str, Noisy]) -> float | None:
    """How sure one may be that the target is met: see `Mechanism.chance_at_most`.

    None for a formula of many functions, where finding out would take too long.
    """
    (part, *others) = plan.measurements
    if others or part.path != ROOT:
        if len(plan.measurements) > FEW_PARTS:
            return None
        return chance_by_intervals(target, lambda sure: interval_of(plan, released, sure))
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
    aims = plan.decides
    high, low = (None if limit is None else float(limit) for limit in (target.high, target.low))
    if high is not None and not target.high_included and not aims:
        high = math.nextafter(high, -math.inf)
    if low is not None and target.low_included and not aims:
        low = math.nextafter(low, -math.inf)
    return high, low


def chance_by_intervals(target: Target, interval: Callable[[float], tuple[float, float]]) -> float:
    """By the widest interval that still gives a verdict, given the interval at a confidence."""
    decided, undecided = 0.0, 1.0
    met: Verdict | None = None
    for _ in range(_HALVINGS):
        confidence = (decided + undecided) / 2
        found = judge(target, *interval(confidence))
        if found is Verdict.UNDECIDED:
            undecided = confidence
        else:
            decided, met = confidence, found
    sure = (1 + decided) / 2
    return 0.5 if met is None else sure if met is Verdict.MET else 1 - sure


def _shown_interval(ppi: Ppi, low: float, high: float, confidence: float = CONFIDENCE) -> Interval:
    return Interval(_shown(ppi, low), _shown(ppi, high), confidence)


def _shown(ppi: Ppi, value: float | None) -> float | None:
    """In the PPI's unit; no value and no limit are both None."""
    if value is None or not math.isfinite(value):
        return None
    return ppi.unit.show(value)


# --- what bounds cut off ----------------------------------------------------------------------


def pooled(
    known: Sequence[Known], released: Mapping[str, Any]
) -> dict[tuple[str, str | None], BeyondBounds]:
    """What was counted in all periods of each PPI and group."""
    pools: dict[tuple[str, str | None], BeyondBounds] = {}
    for one in known:
        if not one.plan.tells_beyond:
            continue
        for figure in figures_of(one, released):
            counted = figure.plan.measurements[0].mechanism.beyond(figure.noisy[0])
            key = figure.plan.ppi.id, figure.group
            if counted is not None:
                pools[key] = pools[key] + counted if key in pools else counted
    return pools


def beyond_of(
    plan: Plan, noisy: tuple[int, ...], ends: tuple[float, float], pool: BeyondBounds | None
) -> Beyond | None:
    """What one release counted, in internal units; `pool` is that of its whole series.

    `ends` are those of the interval of its value.
    """
    mechanism, measure = plan.measurements[0].mechanism, plan.ppi.measure
    own, value = mechanism.beyond(noisy), mechanism.estimate(noisy).value
    if own is None or value is None:
        return None
    if not isinstance(measure, AggregatedMeasure) or measure.bounds is None:
        return None
    if pool is None or own.surely_differs(pool):
        pool = own
    clipped = Clipped(value, *ends, measure.bounds, measure.called == "sum")
    below, above = map(float, hidden_by_bounds(clipped, own, pool, sides_cut(measure, None)))
    return replace(_shown_count(own), below=below, above=above)


def _shown_count(counted: BeyondBounds) -> Beyond:
    """A count as it is shown."""
    least, most = counted.limits(_TWO_SIDED)
    interval = Interval(float(least), float(most), CONFIDENCE)
    return Beyond(float(counted.share), interval, counted.measures)


def told_of_all(ppi: str, pools: Pools) -> Beyond | None:
    """Of a series: all periods and groups together."""
    own = [counted for (name, _), counted in pools.items() if name == ppi]
    return _shown_count(reduce(add, own)) if own else None


# --- what bounds cut off, in words ------------------------------------------------------------


def clipping_text(plan: Plan, beyond: Beyond | None) -> str:
    """What the bounds did to the cases, and to how many; nothing where they cut nothing.

    "of values cut at 60 days; about 36 % of cases lie beyond"
    """
    measure = plan.ppi.measure
    if not isinstance(measure, AggregatedMeasure):
        texts = [
            f"{path.removeprefix(f'{ROOT}.')} of {_counts_as(each, _plain_unit(each))}"
            for path, each in aggregated_measures(measure)
            if _is_cut(each)
        ]
        return "; ".join([*texts, _NOT_TOLD]) if texts else ""
    if not _is_cut(measure):
        return ""
    if measure.bounding is not Bounding.DECLARED:
        return _counts_as(measure, plan.ppi.unit)
    cut = cut_text(measure, plan.ppi.unit)
    if measure.function in _RANKED:
        return f"of values {cut}; an interval that reaches a bound is open there"
    return f"of values {cut}; {_how_many(plan, beyond)}"


def covered_text(plan: Plan) -> str:
    """What the intervals hold: not the value of the cases as they are where bounds cut them off."""
    if plan.covers_noise_only:
        return "the noise alone"
    measure = plan.ppi.measure
    if not isinstance(measure, AggregatedMeasure):
        cut = any(
            each.bounding is not Bounding.PRIVATE and _is_cut(each)
            for _, each in aggregated_measures(measure)
        )
        return "the value of clipped cases" if cut else "the value"
    called = measure.called
    if measure.function is Aggregation.DISTRIBUTION:
        called = "median"
    if measure.percent is not None:
        called = f"{ordinal(measure.percent)} percentile"
    if measure.base == EVERY_CASE and measure.function is Aggregation.SUM:
        called = "number of cases"
    if not _is_cut(measure) or measure.bounding is Bounding.PRIVATE:
        return f"the {called}"
    if measure.bounding is Bounding.LOOSE:
        return f"the clipped {called}"
    return f"the {called} of values {cut_text(measure, plan.ppi.unit)}"


def cut_text(measure: AggregatedMeasure, unit: Unit) -> str:
    """Where declared bounds cut: "cut at 60 days", "cut at 10 and 60 days"."""
    if measure.bounds is None:
        return ""
    ends = zip((measure.bounds.low, measure.bounds.high), sides_cut(measure, None), strict=True)
    cuts = " and ".join(plainly(unit.show(end)) for end, cut in ends if cut)
    return f"cut at {cuts} {unit.name}".rstrip()


def _how_many(plan: Plan, beyond: Beyond | None) -> str:
    if beyond is None:
        return _NOT_TOLD
    which = ""
    if beyond.measures > 1:
        named = f": {', '.join(plan.cut_with)}" if plan.cut_with else f" {beyond.measures} measures"
        which = f" the bounds of at least one of{named}"
    low, high = beyond.interval.low or 0.0, beyond.interval.high or 0.0
    if high < _HARDLY_ANY:
        return f"hardly any case lies beyond{which}"
    if low > 0:
        return f"about {_percent(beyond.share)} of cases lie beyond{which}"
    if high < _ALL:
        return f"at most {_percent(high)} of cases lie beyond{which}"
    return f"too few cases to tell how many lie beyond{which}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < _HARDLY_ANY else f"{100 * share:.0f} %"


def _is_cut(measure: AggregatedMeasure) -> bool:
    return measure.bounds is not None and measure_kind(measure.base, None) is not Kind.TRUTH


def _counts_as(measure: AggregatedMeasure, unit: Unit) -> str:
    bounds = measure.bounds or UNIT_INTERVAL
    low, high = (plainly(unit.show(end)) for end in (bounds.low, bounds.high))
    return f"a case counts as at least {low} and at most {high} {unit.name}".rstrip()


def _plain_unit(measure: AggregatedMeasure) -> Unit:
    return HOURS if measure_kind(measure, None) is Kind.DURATION else NUMBER


def plainly(number: float) -> str:
    """
    >>> plainly(1e6), plainly(0.25), plainly(1440.0)
    ('1,000,000', '0.25', '1,440')
    """
    return f"{number:,.0f}" if number == round(number) else f"{number:,.6g}"


# --- all answers of one PPI, with what a reader must know to understand them ------------------


def series_of(
    known: Sequence[Known],
    states: Mapping[str, KeyState],
    released: Mapping[str, Any],
    log: LogDeclaration,
) -> tuple[Series, ...]:
    """One series per plan, in the order they were asked."""
    return tuple(
        series_with(plan, _shown_of(plan.ppi, own, log), beyond)
        for plan, own, beyond in told_by_plan(known, states, released, log)
    )


def told_by_plan(
    known: Sequence[Known],
    states: Mapping[str, KeyState],
    released: Mapping[str, Any],
    log: LogDeclaration,
) -> list[tuple[Plan, list[Told], Beyond | None]]:
    """The figures of each plan, and how many cases were cut in all of them.

    Two PPIs of one request may ask the same: the first one pays, the other replays. Those of one
    draw pay for it together.
    """
    told: dict[str, list[Told]] = {}
    pools, paid = pooled(known, released), set[str]()
    together = _levels(
        [figure for one in known if isinstance(one, Derived) for figure in one.figures]
    )
    for one in known:
        state = KeyState.RELEASED
        if isinstance(one, Release):
            again = one.key in paid and not one.plan.together
            state = state if again else states[one.key]
            paid.add(one.key)
        of_ppi = told.setdefault(one.plan.ppi.id, [])
        for figure in figures_of(one, released):
            pool = pools.get((figure.plan.ppi.id, figure.group))
            about = figure.plan, log, figure.period, figure.group
            level = together.get(id(figure))
            answer = answer_of(*about, figure.noisy, state, pool, figure.sources, level)
            of_ppi.append(Told(figure, answer, pool))
    # Of some cells on record, what bounds cut was not counted: the plan of the others tells more.
    told_most = sorted(known, key=lambda one: one.plan.tells_beyond)
    plans = {one.plan.ppi.id: one.plan for one in told_most}
    return [(plans[ppi], own, told_of_all(ppi, pools)) for ppi, own in told.items()]


def _levels(figures: Sequence[Figure]) -> dict[int, float]:
    """The confidence of each of several derived figures at which all intervals hold together."""
    if len(figures) < 2:
        return {}
    draws = [{(source.number, source.period) for source in one.sources} for one in figures]
    levels = levels_together(draws, CONFIDENCE)
    return {id(figure): level for figure, level in zip(figures, levels, strict=True)}


def _shown_of(ppi: Ppi, told: Sequence[Told], log: LogDeclaration) -> Iterable[Answer]:
    if ppi.view is None:
        return (one.answer for one in told)
    # Imported here: only views compare figures.
    from pappi.checkpoint.shown import shown_answers

    return shown_answers(ppi, told, periods_of(ppi.scope, log.horizon), log)


@dataclass(frozen=True, slots=True)
class Told:
    """A figure, and the answer it is; with what its series counts beyond the bounds."""

    figure: Figure
    answer: Answer
    pool: BeyondBounds | None = None


_COMPARED = {
    By.DIFFERENCE: "the difference",
    By.PERCENT: "the change in percent",
    By.RATIO: "the ratio",
}


def series_with(
    plan: Plan, answers: Iterable[Answer], beyond: Beyond | None, by: By | None = None
) -> Series:
    """The series of a plan; of figures that were compared, `by` says how."""
    ppi = plan.ppi.written or plan.ppi
    view = plan.ppi.view
    by = view.by if isinstance(view, Comparing) else by
    about = f"{_COMPARED[by]} of " if by is not None else ""
    from pappi.ppinot import sentence, with_counts  # of answers: a preview has no use for them

    return Series(
        ppi=ppi.id,
        name=ppi.name,
        unit=(plan.ppi.unit if by is None else plan.ppi.unit_by(by)).name,
        sentence=sentence(with_counts(replace(plan.ppi, show=view))),
        target=shown_aim(ppi, target_in(ppi, None)),
        answers=tuple(answers),
        clipping=clipping_text(plan, beyond),
        covers=f"{about}{covered_text(plan)}",
        caution=_caution(plan),
        group_targets=tuple(_group_targets(ppi)),
        beyond=beyond,
        view="" if view is None else str(view),
    )


def shown_aim(ppi: Ppi, aim: Aim | None) -> ShownTarget | None:
    """The target in the unit of the answers, with what is tolerated beyond it."""
    if aim is None:
        return None
    tolerated = None if aim.tolerated is None else _shown_target(ppi.shown_unit, aim.tolerated)
    return replace(_shown_target(ppi.shown_unit, aim.target), tolerated=tolerated)


def _shown_target(unit: Unit, target: Target) -> ShownTarget:
    low = None if target.low is None else unit.show(target.low)
    high = None if target.high is None else unit.show(target.high)
    return ShownTarget(
        low,
        high,
        f"{_target_text(target, low, high)} {'%' if unit == PERCENT else unit.name}".rstrip(),
        low_included=target.low_included,
        high_included=target.high_included,
    )


def _group_targets(ppi: Ppi) -> Iterator[tuple[str, ShownTarget]]:
    for own in ppi.group_targets:
        shown = shown_aim(ppi, target_in(ppi, own.key))
        if shown is not None:
            yield own.key, shown


def _target_text(target: Target, low: float | None, high: float | None) -> str:
    """As it is written in a catalogue: whether a limit itself is good enough shows."""
    up_to = f"{'at most' if target.high_included else 'below'} {plainly(high or 0)}"
    if low is None:
        return up_to
    down_to = f"{'at least' if target.low_included else 'above'} {plainly(low)}"
    if high is None:
        return down_to
    if target.low_included and target.high_included:
        return f"between {plainly(low)} and {plainly(high)}"
    return f"{down_to} and {up_to}"


def _caution(plan: Plan) -> str:
    """What the value is not, where a mechanism answers something near to what was asked."""
    cautions = list(dict.fromkeys(part.mechanism.caution for part in plan.measurements))
    if plan.ppi.release.answer is Wanted.VERDICT:
        cautions.append("verdict only: no value was released")
    return "; ".join(filter(None, (*cautions, extreme_caution(plan.ppi, plan.epsilon.fraction))))
