"""What a release will tell, before anything is paid: by trial releases, and by error laws of views.

Trials are made-up values, drawn by the very mechanisms of a plan.

A margin is a promise about the noise, wherever the values lie; or, of ranks, what it would be
under an assumption. The interval that comes with an answer is another thing. That of a mean is
narrower where values lie in the middle, and that of a median is mostly the whole range, since one
released point says little. So two things are not derived but tried out: how wide an interval will
be, and how often a verdict will be firm. Chances are fixed or come from a hash, so the same query
has the same forecast, and nothing here is about anybody.

**How wide.** There are as many values as cases are expected, mostly low in their bounds, as
durations and amounts are. Their mean is at a fifth: one that lies elsewhere has an interval that is
up to a fifth wider, at an end, or a seventh narrower, in the middle. The interval of a median or
percentile is the wider the sparser values lie around it, which is private. For these, values are
those of a rehearsal (`MOSTLY_LOW`), twice as close together as if they were spread evenly. Such
an interval covers whole bins, and how many depends on where in its bin the median lies. So that is
tried out up to a fifth lower and higher, and where that makes a difference a range is told.

**How often firm.** A verdict is firm if the interval lies on one side of the target. That depends
on where the value lies, which is private. So it is averaged over *reference places*: values evenly
spread around the target, from the nearer end of the output range to as far on its other side. With
a target below 5 days and bounds up to 60 days, these are values up to 10 days. A chance to decide
of 80 % then says, roughly, that a value a fifth of that distance away from its target is told
apart from it.

Bounds are assumed to cut nothing, but that is not known before the answer is: what is counted
beyond them is noisy, and a verdict that it leaves open is not firm in a trial, either. A period of
a series is judged by the counts of all its periods together, of which four are assumed.

Where a mechanism knows its intervals (`Mechanism.trial_intervals`), some 500 equally likely
releases are tried at once; of others, formulas and ranks, a few are drawn.

**Views.** A view is a function of figures on record (`ppinot.views`): the plan, the price and the
key are those of the base query. It is said here whether it follows from that, and how far off it
will be.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import repeat
from statistics import mean, median

import numpy as np

from pappi.errors import NotReleasable
from pappi.mechanisms import (
    LOOSE_FILL,
    MOSTLY_LOW,
    ErrorLaw,
    Floats,
    Law,
    Outcome,
    RandBelow,
    Trial,
    added,
)
from pappi.planning.bounds import output_range_of, ratio_of, sides_cut, sides_hidden, target_in
from pappi.planning.error_prediction import error_law, predicted_error
from pappi.planning.measurements import Measurement
from pappi.planning.plan import (
    Plan,
    interval_of,
    open_interval_of,
    own_inputs,
    plan_derived,
    within_range,
)
from pappi.planning.scopes import periods_of
from pappi.ppinot import (
    EVERY_CASE,
    ROOT,
    AggregatedMeasure,
    Aggregation,
    Between,
    Bounding,
    Change,
    Comparing,
    CountMeasure,
    MultiInstance,
    Ppi,
    Range,
    Rolling,
    Target,
    ToDate,
    added_up,
    aggregate,
    compared_pairs,
    periods_rolled,
    value_above,
)
from pappi.values import (
    CONFIDENCE,
    MARGIN_CONFIDENCE,
    UNIT_INTERVAL,
    Bounds,
    By,
    Calendar,
    Epsilon,
    Horizon,
    Period,
    Verdict,
    judge,
)

_RELEASES = 25
MOST_VALUES = 100_000
"""More are not made: a mean of more cases has a narrower interval than is told."""

SERIES_PERIODS = 4
"""Periods of a series in which cases beyond the bounds are counted together, at least: as the
horizon grows there are more, but a forecast that grew with it would change what is paid."""

_OF_RANK = (Aggregation.MEDIAN, Aggregation.PERCENTILE, Aggregation.DISTRIBUTION)
_AROUND: Floats = np.asarray(0.8 + 0.4 * (np.arange(24) * 0.618_034 % 1.0), np.float64)
"""Where a median may lie, in parts of where it is assumed: in its bin, anywhere."""
_THERE: Floats = np.ones(1)

_DRAWS = 5
_DISTANCES = (0.9, 0.7, 0.5, 0.3, 0.1)
"""From a target, in parts of the way to the nearer end of the range; the farthest first."""

_INNER_PLACES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Of the whole range: all but its ends."""

_REFERENCE_PLACE = 0.3
"""Of what a formula is computed from, in its bounds."""


@dataclass(frozen=True, slots=True)
class HalfWidths:
    """How wide the intervals of trial releases are, by their half-widths, in internal units.

    `typical` is the median of their mid-distribution, and between the `usual` ones are nine of ten.
    """

    typical: float
    median: float
    usual: Range

    @classmethod
    def of(cls, tried: Sequence[float] | Floats) -> HalfWidths:
        rising = np.sort(np.asarray(tried, np.float64)).tolist()
        seldom = len(rising) // 20
        return cls(mid_median(rising), median(rising), (rising[seldom], rising[-1 - seldom]))

    def times(self, factor: float) -> HalfWidths:
        least, most = self.usual
        return HalfWidths(
            factor * self.typical, factor * self.median, (factor * least, factor * most)
        )


def mid_median(numbers: Sequence[float] | Floats) -> float:
    """The median of the mid-distribution, in which those equal to a number count half.

    Without ties it is the median. What can only be one bin or two it puts in between, by how
    often it is which (Ma, Genton and Parzen, 2011).

    >>> mid_median([1.0, 1.0, 1.0, 2.0])
    1.25
    """
    tried = np.asarray(numbers, np.float64)
    most = float(np.abs(tried[np.isfinite(tried)]).max(initial=0.0)) or 1.0
    values, counts = np.unique(np.round(tried / most, 9), return_counts=True)
    return most * float(np.interp(len(numbers) / 2, np.cumsum(counts) - counts / 2, values))


def expected_half_widths(plan: Plan) -> HalfWidths | None:
    """Of one function of one measure, or of a formula whose parts lie where those would.

    None where bounds are private, or the interval is mostly open on one side.
    """
    return _expected_half_widths(_as_released(plan))


@lru_cache(maxsize=4_096)
def _expected_half_widths(plan: Plan) -> HalfWidths | None:
    (part, *others), measure = plan.measurements, plan.ppi.measure
    alone = not others and part.path == ROOT and part.buckets is None
    if not isinstance(measure, AggregatedMeasure):
        return _half_widths_of_formula(plan)
    if not alone:
        return None
    if measure.bounding is Bounding.PRIVATE or plan.ppi.value_range is not None:
        return None
    value = aggregate(measure, _mostly_low(measure, min(plan.expected.cases, MOST_VALUES))) or 0.0
    around = _AROUND if measure.function in _OF_RANK else _THERE
    low = float(_mean_bounds(measure).low)
    trial = Trial(plan.expected.cases, low + (value - low) * around)
    intervals = part.mechanism.trial_intervals(trial, value)
    if intervals is not None:
        return HalfWidths.of(((intervals.high - intervals.low) / 2).ravel())
    if len(part.inputs) > 1 or not part.mechanism.is_drawn:
        return None
    law = part.mechanism.law(_mostly_low(measure, min(plan.expected.cases, MOST_VALUES)))
    is_open = measure.bounding is Bounding.LOOSE and measure.function not in _OF_RANK
    return _drawn_half_widths(plan, {ROOT: law}, output_range_of(plan.ppi)[1] if is_open else None)


def _half_widths_of_formula(plan: Plan) -> HalfWidths | None:
    parts = plan.measurements
    inputs = [measure for part in parts for measure in part.inputs]
    if any(measure.bounding is not Bounding.DECLARED for measure in inputs):
        return None
    if any(part.buckets is not None or not part.mechanism.is_drawn for part in parts):
        return None
    laws = {part.path: part.mechanism.law(_low_columns(plan, part)) for part in parts}
    return _drawn_half_widths(plan, laws)


def _drawn_half_widths(
    plan: Plan, laws: Mapping[str, Law], top: float | None = None
) -> HalfWidths | None:
    """Of a few releases; one that reaches the top has no end there."""
    halves = []
    for drawn in _trial_releases(laws, _RELEASES):
        low, high = interval_of(plan, drawn, MARGIN_CONFIDENCE)
        halves.append((high - low) / 2 if top is None or high < top else math.inf)
    return HalfWidths.of(halves) if math.isfinite(median(halves)) else None


def _low_columns(plan: Plan, part: Measurement) -> Floats:
    """Of a part and its whole, the whole is where nobody knows, and a fifth of it is the part."""
    cases, ratio = min(plan.expected.cases, MOST_VALUES), None
    if not isinstance(plan.ppi.measure, AggregatedMeasure):
        ratio = ratio_of(plan.ppi.measure)
    if ratio is not None and ratio.within and len(part.inputs) > 1:
        whole = _mostly_low(ratio.whole, cases)
        if ratio.whole.base != EVERY_CASE:
            whole = _spread(ratio.whole, cases, 0.5)
        return np.column_stack([np.where(np.arange(cases) % 5 == 0, whole, 0.0), whole])
    columns = [_mostly_low(measure, cases) for measure in part.inputs]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def _mostly_low(measure: AggregatedMeasure, cases: int) -> Floats:
    bounds = measure.bounds or UNIT_INTERVAL
    if measure.base == EVERY_CASE:
        return np.ones(cases)
    if bounds == UNIT_INTERVAL:  # truth values: a fifth are true
        return np.asarray(np.arange(cases) % 5 == 0, np.float64)
    shares = (np.arange(cases) + 0.5) / cases
    places = MOSTLY_LOW.quantiles(shares)
    if measure.function is Aggregation.MEAN:
        places = 1 - (1 - shares) ** 0.25
    filled = float(LOOSE_FILL) if measure.bounding is Bounding.LOOSE else 1.0
    return np.asarray(float(bounds.low) + float(bounds.width) * filled * places)


def _trial_releases(laws: Mapping[str, Law], number: int) -> Iterator[dict[str, Outcome]]:
    randbelow = _hashed_chances()
    for _ in range(number):
        yield {path: law.draw(randbelow) for path, law in laws.items()}


def _hashed_chances() -> RandBelow:
    """Numbers as good as chance, and the same each time."""
    count = 0

    def below(limit: int) -> int:
        nonlocal count
        count += 1
        length = limit.bit_length() // 8 + 9  # so many that what is left over is nothing
        digest = hashlib.shake_128(count.to_bytes(8, "big")).digest(length)
        return int.from_bytes(digest, "big") % limit

    return below


# --- how often a verdict is firm ------------------------------------------------------


def value_range(plan: Plan) -> Range | None:
    """Where the value can lie: its output range, a sum's for as many cases as are expected.

    None if that is not bounded by anything.
    """
    ppi, measure = plan.ppi, plan.ppi.measure
    low, high = output_range_of(ppi)
    if isinstance(measure, AggregatedMeasure) and is_additive(measure):
        if measure.bounding is Bounding.PRIVATE:
            return None
        bounds, cases = measure.bounds or UNIT_INTERVAL, plan.expected.cases
        low, high = max(low, cases * float(bounds.low)), min(high, cases * float(bounds.high))
        target = _target_of(ppi)
        if target is not None:  # more is wanted than there will be cases for
            high = max([high, *(2 * float(limit) for limit in _limits(target))])
    return (low, high) if math.isfinite(high - low) and low < high else None


def chance_to_decide(plan: Plan) -> float | None:
    """How likely the verdict is to be firm; None without a target, or where nobody can say."""
    tried = _tried(_as_released(plan))
    return None if tried is None else tried.chance


def decides_somewhere(plan: Plan) -> bool | None:
    """Whether the verdict is likely to be firm for some value, even if it lies far from its target.

    The ends of the range are left out; None as for the chance to decide. So is what bounds cut
    uncounted: that is no matter of ε, and the value tells something all the same.
    """
    tried = _tried(as_if_uncut(_as_released(plan)))
    return None if tried is None else tried.somewhere


@dataclass(frozen=True)
class _Tried:
    """What trial releases of a plan with a target say; each is found out when it is asked for."""

    plan: Plan
    target: Target
    ends: Range

    @cached_property
    def chance(self) -> float:
        limits = [float(limit) for limit in _limits(self.target)]
        sides = [(limit, side) for limit in limits for side in (-1, 1)]
        return round(mean(self._firm_on(limit, side, limits) for limit, side in sides), 3)

    @cached_property
    def somewhere(self) -> bool:
        low, high = self.ends
        values = [low + place * (high - low) for place in _INNER_PLACES]
        return any(share > 0.5 for share in _firm_shares(self.plan, self.target, values))

    def _firm_on(self, limit: float, side: int, limits: Sequence[float]) -> float:
        """On one side; a value nearer to its limit is not told apart if one farther away is not."""
        low, high = self.ends
        between = (abs(limit - other) / 2 for other in limits if other != limit)
        reach, firm = min(limit - low, high - limit, *between), 0.0
        values = [limit + side * distance * reach for distance in _DISTANCES]
        for share in _firm_shares(self.plan, self.target, values):
            firm += share / len(_DISTANCES)
            if not share:
                break
        return firm


def _as_released(plan: Plan) -> Plan:
    """Without what makes no difference to its trials."""
    return replace(plan, total=None, together=(), apart=None, cut_with=(), because="")


@lru_cache(maxsize=4_096)
def _tried(plan: Plan) -> _Tried | None:
    target, ends = _target_of(plan.ppi), _ends_around(plan)
    if target is None or ends is None or not _can_be_tried(plan):
        return None
    return _Tried(plan, target, ends)


def _firm_shares(plan: Plan, target: Target, values: Sequence[float]) -> Iterator[float]:
    """How often the verdict is firm if the value is this one, for each of them in turn."""
    if plan.covers_noise_only:
        return repeat(0.0, len(values))
    by_law = _firm_by_law(plan, target, values)
    if by_law is not None:
        return iter(by_law)
    return (_firm_share(plan, target, value) for value in values)


def _firm_by_law(plan: Plan, target: Target, values: Sequence[float]) -> list[float] | None:
    """Of very many releases, where a mechanism knows its intervals without drawing."""
    (part, *others), measure = plan.measurements, plan.ppi.measure
    if others or part.path != ROOT or part.buckets is not None or plan.decides:
        return None
    if not isinstance(measure, AggregatedMeasure) or plan.ppi.value_range is not None:
        return None
    periods = 1 if plan.ppi.scope.grid is None else SERIES_PERIODS
    trial = Trial(plan.expected.cases, np.array(values), sides_cut(measure, None), periods)
    met, missed = np.asarray(True), np.asarray(False)  # noqa: FBT003 - arrays of truth values
    for limit, is_most in ((target.low, False), (target.high, True)):
        if limit is None:
            continue
        intervals = part.mechanism.trial_intervals(trial, float(limit))
        if intervals is None:
            return None
        surely_there = ~intervals.perhaps_empty
        below = (intervals.high < float(limit)) & surely_there
        above = (intervals.low > float(limit)) & surely_there
        if not plan.tells_beyond:
            hidden = sides_hidden(plan.ppi, measure, (float(limit), float(limit)), None)
            below, above = below & (not hidden[1]), above & (not hidden[0])
        met, missed = met & (below if is_most else above), missed | (above if is_most else below)
    return [float(share) for share in np.mean(met | missed, axis=1)]


def _firm_share(plan: Plan, target: Target, value: float) -> float:
    """Of a few trials in which the value is this one."""
    columns = _columns_at(plan, value)
    shift = 0.0
    if columns is None:
        columns = [_reference_columns(part, plan.expected.cases) for part in plan.measurements]
        shift = value - _value_of(plan, columns)
    pairs = list(zip(plan.measurements, columns, strict=True))
    laws = {part.path: part.mechanism.law(column) for part, column in pairs}
    trials = _trial_releases(laws, _DRAWS)
    return mean(_is_firm(plan, target, released, shift) for released in trials)


def as_if_uncut(plan: Plan) -> Plan:
    """The same release, if the bounds that it counts nothing of are known to cut nothing."""
    if plan.tells_beyond or not plan.ppi.release.clipping:
        return plan
    release = replace(plan.ppi.release, clipping=False)
    return replace(plan, ppi=replace(plan.ppi, release=release))


def _is_firm(plan: Plan, target: Target, released: dict[str, Outcome], shift: float) -> bool:
    for part in plan.measurements:
        least = part.mechanism.estimate(released[part.path]).least_cases
        if least is not None and least <= 0:
            return False  # perhaps there are no cases
    closed = interval_of(plan, released)
    opened = open_interval_of(plan, released, closed)
    if plan.decides:
        (part,) = plan.measurements
        (limit,) = _limits(target)
        chance = part.mechanism.chance_at_most(released[part.path], float(limit))
        end = 1 if chance > 0.5 else 0
        hidden = opened[end] != closed[end]
        return max(chance, 1 - chance) >= (1 + CONFIDENCE) / 2 and not hidden
    low, high = opened
    return judge(target, low + shift, high + shift) is not Verdict.UNDECIDED


def _can_be_tried(plan: Plan) -> bool:
    inputs = [measure for part in plan.measurements for measure in part.inputs]
    if any(measure.bounding is Bounding.PRIVATE for measure in inputs):
        return False
    if not all(part.mechanism.is_drawn for part in plan.measurements):
        target = _target_of(plan.ppi)
        at = [float(limit) for limit in _limits(target)] if target else []
        return target is not None and _firm_by_law(plan, target, at) is not None
    if plan.covers_noise_only or _has_columns(plan.ppi):
        return True
    return not plan.decides and all(
        part.mechanism.value_in((1.0,) * len(part.inputs)) is not None for part in plan.measurements
    )


def _target_of(ppi: Ppi) -> Target | None:
    """That of all cases, or else of the first group that has one."""
    keys = (None, *(own.key for own in ppi.group_targets))
    aims = (target_in(ppi, key) for key in keys)
    return next((aim.target for aim in aims if aim is not None), None)


def _limits(target: Target) -> Iterator[float]:
    return (float(limit) for limit in (target.low, target.high) if limit is not None)


def _ends_around(plan: Plan) -> Range | None:
    """The range of the value; of one that nothing bounds, from 0 to twice the target."""
    ends, target = value_range(plan), _target_of(plan.ppi)
    if ends is not None or target is None:
        return ends
    twice = 2 * max(_limits(target), key=abs)
    return (min(twice, 0.0), max(twice, 0.0)) if twice else None


# --- made-up values -------------------------------------------------------------------


def _has_columns(ppi: Ppi) -> bool:
    """Whether values of cases can be made up that give the PPI a wanted value."""
    if isinstance(ppi.measure, AggregatedMeasure):
        return True
    ratio = ratio_of(ppi.measure)
    return ratio is not None and ratio.within and ratio.factor > 0


def _columns_at(plan: Plan, value: float) -> list[Floats] | None:
    """One for each function, at which the PPI has this value; None if it is a formula."""
    cases = min(plan.expected.cases, MOST_VALUES)
    (part, *others) = plan.measurements
    if others or part.path != ROOT or part.buckets is not None or not _has_columns(plan.ppi):
        return None
    if isinstance(plan.ppi.measure, AggregatedMeasure):
        if len(part.inputs) == 1:
            return [_column(plan.ppi.measure, cases, value)]
        own = _mean_bounds(plan.ppi.measure)
        per_case = value / cases if is_additive(plan.ppi.measure) else value
        place = (per_case - float(own.low)) / float(own.width)
        return [np.column_stack([_spread(measure, cases, place) for measure in part.inputs])]
    ratio = ratio_of(plan.ppi.measure)
    if ratio is None:
        raise AssertionError("only ratios have columns besides aggregated measures")
    whole = _spread(ratio.whole, cases, 0.5)
    counts = np.arange(cases) < round(value / float(ratio.factor) * cases)
    # Spread over all cases, so that part and whole go up and down together in none of them.
    mixed = counts[np.argsort(np.arange(cases) * 0.618 % 1.0)]
    return [np.column_stack([np.where(mixed, whole, 0.0), whole])]


def _reference_columns(part: Measurement, cases: int) -> Floats:
    cases = min(cases, MOST_VALUES)
    columns = [_spread(measure, cases, _REFERENCE_PLACE) for measure in part.inputs]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def _value_of(plan: Plan, columns: Sequence[Floats]) -> float:
    """Without noise; nothing counts as 0."""
    values = {}
    for part, column in zip(plan.measurements, columns, strict=True):
        rows = column.reshape(len(column), -1)
        inputs = [aggregate(measure, rows[:, i]) for i, measure in enumerate(part.inputs)]
        values[part.path] = part.mechanism.value_in(tuple(value or 0.0 for value in inputs))
    return value_above(plan.ppi.measure, values) or 0.0


def is_additive(measure: MultiInstance) -> bool:
    """Whether it is larger the more cases there are."""
    return isinstance(measure, AggregatedMeasure) and measure.function in (
        Aggregation.SUM,
        Aggregation.COUNT,
    )


def _mean_bounds(measure: AggregatedMeasure) -> Bounds:
    return measure.bounds or UNIT_INTERVAL


def _spread(measure: AggregatedMeasure, cases: int, place: float) -> Floats:
    """Values whose aggregate lies so far up the bounds; of a sum, whose mean does."""
    bounds = _mean_bounds(measure)
    filled = float(LOOSE_FILL) if measure.bounding is Bounding.LOOSE else 1.0
    at = float(bounds.low) + float(bounds.width) * filled * min(max(place, 0.0), 1.0)
    return _column(measure, cases, cases * at if is_additive(measure) else at)


def _column(measure: AggregatedMeasure, cases: int, value: float) -> Floats:
    """Values of as many cases, evenly on both sides of this aggregate of them."""
    bounds = _mean_bounds(measure)
    low, high = float(bounds.low), float(bounds.high)
    whole = bounds == UNIT_INTERVAL or isinstance(measure.base, CountMeasure)
    if is_additive(measure):
        per_case = min(max(value / cases, low), high)
        if abs(value) > abs(cases * per_case):  # it takes more cases than are expected
            cases = min(round(value / per_case), 2 * MOST_VALUES) if per_case else cases
        return _whole_mix(per_case, cases) if whole else np.full(cases, per_case)
    match measure.function:
        case Aggregation.MAX:
            below = 1.0
        case Aggregation.MIN:
            below = 0.0
        case Aggregation.MEDIAN | Aggregation.PERCENTILE | Aggregation.DISTRIBUTION:
            below = (measure.percent or 50) / 100
        case _:
            if whole:
                return _whole_mix(value, cases)
            below = (high - value) / (high - low)  # so that the mean is the value
    lower = min(max(round(below * cases), 0), cases)
    parts = _evenly(low, value, lower), _evenly(value, high, cases - lower)
    column = np.concatenate(parts)
    if measure.function is Aggregation.MAX:
        column[-1:] = value
    if measure.function is Aggregation.MIN:
        column[:1] = value
    return np.rint(column) if whole else column


def _whole_mix(average: float, cases: int) -> Floats:
    """Whole numbers of that mean, as nearly as can be."""
    low = math.floor(average)
    more = np.arange(cases) < round((average - low) * cases)
    return np.asarray(low + more, np.float64)


def _evenly(low: float, high: float, cases: int) -> Floats:
    return np.asarray(low + (high - low) * (np.arange(cases) + 0.5) / max(cases, 1), np.float64)


# --- views ----------------------------------------------------------------------------

_GRID = 256
_NEARLY_ALL = (0.9999, 0.999, 0.99)


def refuse_unviewable(plan: Plan) -> None:
    """Nothing, or why a view cannot be shown of what would be released: by public facts alone."""
    view = plan.ppi.view
    if view is None:
        return
    if isinstance(view, Rolling | ToDate) and added_plan([plan], [_blank(plan)]) is None:
        raise NotReleasable(
            f"'{view}' cannot be shown of PPI '{plan.ppi.id}': what {plan.mechanism} releases of "
            "several periods does not add up",
            hint="ask for longer periods, or show it of the parts of a formula",
        )
    if isinstance(view, Comparing):
        refuse_ratio(plan, view.by)


def refuse_ratio(plan: Plan, by: By) -> None:
    """Of values that may be negative, there is no ratio, and no change in percent."""
    ranges = {part.path: part.mechanism.output_range for part in plan.measurements}
    if by is not By.DIFFERENCE and within_range(plan, ranges)[0] < 0:
        raise NotReleasable(
            f"figures of PPI '{plan.ppi.id}' may be negative: they have no ratio, and no change in "
            "percent",
            hint="show their difference, or declare bounds from 0 upwards",
        )


def why_unseen(plan: Plan, horizon: Horizon) -> str:
    """Why the view has nothing to show of the periods there are; empty if it has something."""
    view, scope = plan.ppi.view, plan.ppi.scope
    if view is None:
        return ""
    periods = periods_of(scope, horizon)
    if isinstance(view, Comparing):
        figures = [(period, group) for period in periods for group in plan.groups]
        shown = any(True for _ in compared_pairs(view, figures, scope.grid))
    else:
        shown = bool(windows_of(plan.ppi, periods))
    number = "only one" if len(periods) == 1 else f"only {len(periods)}"
    return "" if shown else f"'{view}' takes more periods, and its scope has {number}"


# --- several periods as one ---------------------------------------------------------------------


def added_plan(
    plans: Sequence[Plan], noisy: Sequence[Sequence[Outcome]]
) -> tuple[Plan, tuple[Outcome, ...]] | None:
    """How the figures of several periods are read as one of all their cases; None if they cannot.

    Their cases are disjoint, and each has noise of its own.
    """
    first = plans[0]
    paths = [part.path for part in first.measurements]
    if any([part.path for part in plan.measurements] != paths for plan in plans):
        return None
    measurements, together = [], []
    for number, part in enumerate(first.measurements):
        outcomes = [figure[number] for figure in noisy]
        inputs = own_inputs(first.ppi, part)
        mechanisms = [plan.measurements[number].mechanism for plan in plans]
        single = len(inputs) == 1
        mechanism = added(
            mechanisms,
            list(map(len, outcomes)),
            of_sums=single and inputs[0].function is Aggregation.SUM,
            counts=single,
        )
        if mechanism is None:
            return None
        draws = frozenset[str]().union(*(plan.measurements[number].draws for plan in plans))
        measurements.append(Measurement(part.path, inputs, mechanism, draws=draws))
        together.append(tuple(number for outcome in outcomes for number in outcome))
    epsilon = max((plan.epsilon for plan in plans), key=lambda epsilon: epsilon.nano)
    expected = replace(first.expected, cases=len(plans) * first.expected.cases)
    return plan_derived(first.ppi, Epsilon(epsilon.nano), measurements, expected), tuple(together)


def _blank(plan: Plan) -> tuple[Outcome, ...]:
    return ((),) * len(plan.measurements)


def windows_of(ppi: Ppi, periods: Sequence[Period]) -> dict[Period, list[Period]]:
    """The periods that each of a series is shown together with, by the last of them."""
    view, grid = ppi.view, ppi.scope.grid
    if grid is None or not isinstance(view, Rolling | ToDate):
        return {}
    return added_up(view, periods, grid)


# --- what is predicted ----------------------------------------------------------------------------


def figures_law(plan: Plan) -> ErrorLaw | None:
    """How far off the figures themselves will be, whatever is shown of them."""
    return error_law(plan.ppi, plan.measurements, plan.expected.cases, plan.predicted_error)


def plan_error_law(plan: Plan) -> ErrorLaw | None:
    """How far off what is shown will be; None where no law says.

    Of ratios, none does: that depends on how large the figures are, which is private.
    """
    law, view = figures_law(plan), plan.ppi.view
    if view is None or law is None:
        return law
    if isinstance(view, Change | Between):
        return law_of_difference(law) if view.by is By.DIFFERENCE else None
    windows = (figures_law(_copies(plan, number)) for number in _sizes(plan))
    laws = [law, *(window for window in windows if window is not None)]
    if isinstance(view, Rolling):
        return laws[-1]
    # To date there are short windows and long ones: what is promised holds for all.
    return replace(law, beyond=lambda distance: max(window.beyond(distance) for window in laws))


def shown_error(plan: Plan) -> float:
    """The typical error of what is shown: the root mean square; infinite if it is not known."""
    view = plan.ppi.view
    if isinstance(view, Change | Between):
        return math.sqrt(2) * plan.predicted_error if view.by is By.DIFFERENCE else math.inf
    if isinstance(view, Rolling | ToDate):
        added = [_copies(plan, number) for number in _sizes(plan)]
        errors = [predicted_error(own.ppi, own.measurements, own.expected.cases) for own in added]
        return errors[-1] if isinstance(view, Rolling) else max(plan.predicted_error, *errors)
    return plan.predicted_error


def shown_half_widths(plan: Plan) -> HalfWidths | None:
    """How wide the intervals of what is shown will be: as the figures' are, beside their margin.

    None where no law says how far off it will be; nor to date, as there each window has its own.
    """
    halves, own, law = expected_half_widths(plan), figures_law(plan), plan_error_law(plan)
    if halves is None or plan.ppi.view is None:
        return halves
    if own is None or law is None or isinstance(plan.ppi.view, ToDate):
        return None
    figures, shown = own.within(MARGIN_CONFIDENCE), law.within(MARGIN_CONFIDENCE)
    if not (0 < figures < math.inf and math.isfinite(shown)):
        return None
    return halves.times(shown / figures)


_IN_A = {Calendar.WEEK: 7, Calendar.MONTH: 31, Calendar.QUARTER: 92, Calendar.YEAR: 366}
_LASTS = {Calendar.DAY: 1, Calendar.WEEK: 7, Calendar.MONTH: 30, Calendar.QUARTER: 90}


def _sizes(plan: Plan) -> tuple[int, ...]:
    """Of how many periods the windows of a view are, at most."""
    view, grid = plan.ppi.view, plan.ppi.scope.grid
    if grid is None:
        return ()
    if isinstance(view, Rolling):
        return (periods_rolled(view, grid) or 1,)
    if not isinstance(view, ToDate):
        return ()
    return (max(math.floor(_IN_A[view.unit] / (_LASTS.get(grid.unit, 360) * grid.count)), 1),)


def _copies(plan: Plan, number: int) -> Plan:
    added = added_plan([plan] * number, [_blank(plan)] * number)
    return plan if added is None else added[0]


def law_of_difference(law: ErrorLaw) -> ErrorLaw:
    """Of the difference of two figures that each err by a law, independently of each other.

    Both errors are taken as symmetric, and every one as large as the end of the cell of the grid
    that it falls in; what lies beyond the grid counts as beyond everything.
    """
    far = next((end for end in map(law.within, _NEARLY_ALL) if math.isfinite(end)), math.inf)
    if not 0 < far < math.inf:
        return law
    step = far / _GRID
    beyond = np.array([law.beyond(number * step) for number in range(_GRID + 1)])
    left_out = float(beyond[-1])
    mass = np.concatenate(([max(1 - beyond[0], 0.0)], np.maximum(beyond[:-1] - beyond[1:], 0.0)))
    both = np.concatenate((mass[:0:-1] / 2, mass[:1], mass[1:] / 2))
    sums = np.convolve(both, both)
    sizes = np.abs(np.arange(len(sums)) - (len(sums) - 1) // 2)
    by_size = np.bincount(sizes, weights=sums)
    tail = np.append(np.cumsum(by_size[::-1])[::-1], 0.0) + 2 * left_out

    def further(distance: float) -> float:
        steps = min(distance / step, float(len(tail)))  # that may be infinite
        place = min(max(math.floor(steps) + 1, 0), len(tail) - 1)
        return min(float(tail[place]), 1.0)

    return ErrorLaw(
        lru_cache(maxsize=256)(further), law.assumes, shrinks=law.shrinks, start=1.5 * law.start
    )
