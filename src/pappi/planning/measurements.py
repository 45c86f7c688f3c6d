"""Measurements: the functions of a PPI that carry noise, each with a mechanism ready to draw.

What can be asked of a mechanism is a `Task`, made here from the definition and from public
facts. Which mechanisms answer it, they say themselves (`mechanisms.registry`): no one of
them is known here.

Under `replace` a case may come to have a value it did not have, or leave a group: such a
change is one removal and one addition, so a function that can lose cases is released at
half its epsilon under `add-remove`. The sharper `replace` calibration is for functions that
every case takes part in, whatever it contains; and for mechanisms whose proof covers more
(`Mechanism.replaced`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from fractions import Fraction

import numpy as np

from pappi.errors import NotReleasable, UsageError
from pappi.mechanisms import (
    FINEST,
    FOR_EVEN_VALUES,
    FORMULA,
    MOST_BINS,
    PART_OF_WHOLE,
    RATIO,
    USUALLY,
    Bins,
    InBuckets,
    Mechanism,
    ReadOffBins,
    Replaced,
    SumRatio,
    Task,
    Values,
    current_name,
    drawn_histogram,
    name_with,
    quantile_level,
    registered,
)
from pappi.planning.bounds import Ratio, bounds_of, is_integral, limit_of, looseness_of, ratio_of
from pappi.planning.scopes import blocks_in
from pappi.ppinot import (
    ROOT,
    AggregatedMeasure,
    Aggregation,
    Bounding,
    Inner,
    MultiInstance,
    NoiseOn,
    Ppi,
    Wanted,
    aggregate,
    aggregated_measures,
    canonical_form,
    composition_tree,
    function_name,
    is_total,
    measure_kind,
    value_above,
)
from pappi.values import JSON, Adjacency, Bounds, Kind, PublicLog, Vocabulary

DEFAULT_FALLOFF = Fraction(3)
SAMPLED, THRESHOLD = name_with("buckets"), name_with("falloff")
_MOST_USUAL_BUCKETS = 1_000
NO_BOUND = "the sensitivity of a formula is not publicly bounded"
BELOW = "put the noise in its variables"
UNBOUNDED = (
    f"{BELOW}; or declare the output range as `value` in the bounds, and use the mechanism "
    f"{SAMPLED}"
)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One function that carries noise, and the measures it reads a case's values from.

    A mechanism over several inputs gets one row per case, in their order, and last the
    case's bucket if it deals cases into `buckets`. `settings` are what else its output
    distribution depends on: with the inputs and its epsilon they say what is released. `share`
    is its share of the plan's epsilon, before anything is set aside for persons or neighbours.
    Of what is derived, `draws` are the keys of the releases that it is read off: two functions that
    share one have noises that depend on each other.
    """

    path: str
    inputs: tuple[AggregatedMeasure, ...]
    mechanism: Mechanism
    settings: tuple[tuple[str, str], ...] = ()
    buckets: int | None = None
    share: Fraction = Fraction(1)
    draws: frozenset[str] = frozenset()

    @property
    def recorded_inputs(self) -> tuple[AggregatedMeasure, ...]:
        """As they go on record: what one draw answers alike is one query, and paid once."""
        if not self.mechanism.drawn_for:
            return self.inputs
        function = Aggregation(self.mechanism.drawn_for)
        return tuple(
            replace(measure, function=function, percent=None, limits=()) for measure in self.inputs
        )


class Rules(IntEnum):
    """How plans were made at some time: what is on record is found by the rules of its time."""

    BEFORE_HISTOGRAMS = 1
    BINS_FOR_A_BLOCK = 2
    AT_MOST_64_BINS = 3
    BINS_FOR_EVEN_VALUES = 4
    POINTS_BY_A_BLOCK = 5
    NOW = 6


@dataclass(frozen=True, slots=True)
class Request:
    """One PPI and how to release it: what its functions are made from.

    `own` are the wishes for single functions, by their paths.
    """

    ppi: Ppi
    log: PublicLog
    own: Mapping[str, NoiseOn] = field(default_factory=dict)
    rules: Rules = Rules.NOW

    @property
    def planned_cases(self) -> int:
        """What functions, mechanisms and buckets are chosen for: the cases of a block.

        They are part of a query's key. If they followed the forecast, a guess, a count on
        record or a better rule would make another query of one that has been paid for.
        """
        return self.ppi.scope.last_cases or self.log.terms.cases

    @property
    def cases_for_bins(self) -> int:
        """The same for the usual bins of a histogram: of a period of the scope, as declared."""
        scope = self.ppi.scope
        of_a_block = scope.grid is None and self.rules <= Rules.AT_MOST_64_BINS
        if of_a_block or scope.last_cases or self.rules <= Rules.BINS_FOR_A_BLOCK:
            return self.planned_cases
        return max(round(self.log.terms.cases * blocks_in(self.log, scope)), 1)

    @property
    def cases_for_intervals(self) -> int:
        """What an interval is to be narrow for: a period of the scope, where that has more."""
        if self.rules <= Rules.POINTS_BY_A_BLOCK:
            return self.planned_cases
        return max(self.planned_cases, self.cases_for_bins)

    @property
    def scope_stability(self) -> int:
        """How many cases of the scope may come or go, at most, when one case does.

        Among the latest cases one more pushes another out, so that two come or go. Under
        `replace` their number is public and one takes the place of another, as ever: unless the
        scope also chooses by what a case contains, or has an anchor of its own. Then a case
        that changes may leave the scope or change its period, one removal and one addition.
        """
        scope = self.ppi.scope
        as_usual = scope.last_cases is None
        if self.log.terms.adjacency is Adjacency.REPLACE:
            as_usual = scope.anchor is None and (as_usual or scope.cases is None)
        return 1 if as_usual else 2

    @property
    def adjacency(self) -> Adjacency:
        """Of the cases of the scope."""
        return Adjacency.ADD_REMOVE if self.scope_stability > 1 else self.log.terms.adjacency

    @property
    def stability(self) -> int:
        """How many cases may come or go, at most, when one unit does."""
        return self.log.terms.unit.max_cases * self.scope_stability

    @property
    def verdict_only(self) -> bool:
        return self.ppi.release.answer is Wanted.VERDICT

    @property
    def aims(self) -> bool:
        return self.wanted(ROOT) == THRESHOLD

    def insisted(self, path: str) -> str | None:
        """The mechanism that one function is to have, and no other."""
        return self.own[path].mechanism if path in self.own else None

    def wanted(self, path: str) -> str | None:
        """The same, or else the PPI's: of a formula, for the functions that it answers."""
        return self.insisted(path) or self.ppi.release.mechanism

    def share(self, path: str) -> Fraction | None:
        return self.own[path].share if path in self.own else None


def with_current_names(ppi: Ppi) -> Ppi:
    """The PPI, naming mechanisms as they are called now."""
    choice = ppi.release
    noise = tuple(
        replace(on, mechanism=on.mechanism and current_name(on.mechanism)) for on in choice.noise
    )
    mechanism = choice.mechanism and current_name(choice.mechanism)
    return replace(ppi, release=replace(choice, mechanism=mechanism, noise=noise))


def measurements_of(node: Inner, epsilon: Fraction, request: Request) -> list[Measurement]:
    """Every way to answer one function at an epsilon, by the mechanism asked for if any.

    At least one, or it is refused.
    """
    ways = list(_measurements_of(node, epsilon, request))
    if not ways:
        raise NotReleasable(
            f"no mechanism releases {function_name(node.path)} in this way",
            hint="ask for its value, and leave out the mechanism",
        )
    insisted = request.insisted(node.path)
    if insisted is None or request.verdict_only:
        return ways
    kept = [measurement for measurement in ways if measurement.mechanism.name == insisted]
    if not kept and not (insisted == THRESHOLD and request.aims):  # a sum is aimed at by laplace
        names = " or ".join(dict.fromkeys(measurement.mechanism.name for measurement in ways))
        raise NotReleasable(
            f"{function_name(node.path)}: {why_not(insisted, node, request)}",
            hint=f"for {function_name(node.path)} there is {names}",
        )
    return kept or ways


def _measurements_of(node: Inner, epsilon: Fraction, request: Request) -> Iterator[Measurement]:
    inputs, task = _task_of(node, epsilon, request)
    for mechanism, calibrated in _offered(task, inputs, node.path, request):
        made = mechanism.made_for(calibrated)
        settings = settings_of(made, node.measure if task.in_buckets else None)
        buckets = None if task.in_buckets is None else task.in_buckets.buckets
        yield Measurement(node.path, inputs, made, settings, buckets)


def recorded_measurement(
    ppi: Ppi, inputs: JSON, mechanism: str, epsilon: Fraction, settings: JSON, log: PublicLog
) -> Measurement | None:
    """How a PPI's own function was released, if what is on record was about it.

    The mechanism that gives the same inputs, name, ε and settings again has drawn it: these are all
    that a law depends on.
    """
    node, request = composition_tree(ppi.measure), Request(ppi, log)
    for whole in (epsilon, 2 * epsilon):  # a replaced case may have been one less and one more
        try:
            ways = list(_measurements_of(node, whole, request))
        except (NotReleasable, UsageError):
            continue
        for measurement in ways:
            drawn_by = measurement.mechanism
            same = (drawn_by.recorded_name, drawn_by.epsilon) == (mechanism, epsilon)
            written = canonical_form(measurement.inputs), canonical_form(measurement.settings)
            if same and written == (inputs, settings):
                return measurement
    return None


def recorded_histogram(
    ppi: Ppi,
    measure: AggregatedMeasure,
    epsilon: Fraction,
    bins: Bins,
    log: PublicLog,
) -> ReadOffBins:
    """How a histogram on record was drawn, of the measure that one of a PPI is about."""
    adjacency, integral = Request(ppi, log).adjacency, is_integral(measure, log.vocabulary)
    level = quantile_level(measure.called) or Fraction(1, 2)
    return drawn_histogram(bins, epsilon, adjacency, integral=integral, level=level)


def settings_of(
    mechanism: Mechanism, formula: MultiInstance | None = None
) -> tuple[tuple[str, str], ...]:
    """As they enter a query's key."""
    settings: list[tuple[str, object]] = list(mechanism.settings)
    if formula is not None:
        settings.append(("formula", formula))
    return tuple((k, v if isinstance(v, str) else str(canonical_form(v))) for k, v in settings)


def _offered(
    task: Task, inputs: Sequence[AggregatedMeasure], path: str, request: Request
) -> Sequence[tuple[type[Mechanism], Task]]:
    """The mechanisms that answer a task, the one that is wanted if it is among them."""
    wanted = request.wanted(path)
    private = any(measure.bounding is Bounding.PRIVATE for measure in inputs)
    calibrated = (
        (mechanism, _calibrated(task, inputs[-1], mechanism)) for mechanism in registered()
    )
    answering = [(mechanism, own) for mechanism, own in calibrated if mechanism.answers(own)]
    offered = [
        (mechanism, own)
        for mechanism, own in answering
        if (mechanism.name == wanted or not mechanism.on_request)
        and (mechanism.same_law_as is None or (mechanism.name == wanted and not private))
        and not _lacks_range(mechanism, path, request)
        and not (mechanism.newer and request.rules <= Rules.BEFORE_HISTOGRAMS)
    ]
    if private:
        offered = offered[:1]  # the others need bounds to be worth anything
    return [(mechanism, own) for mechanism, own in offered if mechanism.name == wanted] or offered


def _lacks_range(mechanism: type[Mechanism], path: str, request: Request) -> bool:
    """Only the PPI itself can have its output range declared; a missing one is refused if asked."""
    if not mechanism.needs_output_range:
        return False
    is_wanted = request.wanted(path) == mechanism.name
    return path != ROOT or (request.ppi.value_range is None and not is_wanted)


def _calibrated(task: Task, measure: AggregatedMeasure, mechanism: type[Mechanism]) -> Task:
    """The epsilon and adjacency at which a mechanism keeps the task's promise."""
    if task.adjacency is Adjacency.ADD_REMOVE or mechanism.replaced is Replaced.GROUP:
        return task
    everyone_counts = is_total(measure.base) and measure.filter is None
    covered = everyone_counts or mechanism.replaced is Replaced.MISSING
    if measure.grouping is None and covered:
        return task
    return replace(task, adjacency=Adjacency.ADD_REMOVE, epsilon=task.epsilon / 2)


def why_not(name: str, node: Inner, request: Request) -> str:
    """Why a mechanism does not answer a function that others answer."""
    measure = node.measure
    if not isinstance(measure, AggregatedMeasure):
        return f"the mechanism '{name}' cannot release a ratio of two sums as a whole"
    bounds = f"{measure.called} of {measure.bounding} bounds"
    of_bounds = f"the mechanism '{name}' cannot release a {bounds}"
    if measure.bounding is Bounding.PRIVATE:
        return of_bounds
    named = [m for m in registered() if m.name == name and measure.called in m.functions]
    for mechanism in named:
        if mechanism.needs_public_number:
            return f"{mechanism.needs_public_number} {_where_numbers_are_private(request)}"
    if measure.bounding is Bounding.LOOSE:
        return of_bounds
    if node.path != ROOT and any(mechanism.needs_output_range for mechanism in named):
        return (
            f"the {name} mechanism of a {measure.called} needs a declared output range, which only "
            "the whole value can have"
        )
    return f"the mechanism '{name}' cannot release its {measure.called}"


def _where_numbers_are_private(request: Request) -> str:
    if request.adjacency is Adjacency.REPLACE:
        return (
            "also under replace where a case can gain or lose its value, pass or fail a "
            "filter, or change its group"
        )
    if request.scope_stability > 1:
        return "in a scope that a case can enter or leave for another"
    return "under add-remove"


# --- what is asked of a mechanism -----------------------------------------------------


def _task_of(
    node: Inner, epsilon: Fraction, request: Request
) -> tuple[tuple[AggregatedMeasure, ...], Task]:
    """The measures that are read of a case, and the task."""
    measure = node.measure
    wanted = request.wanted(node.path)
    if request.verdict_only:
        return _verdict_task(node, epsilon, request)
    if wanted == SAMPLED:
        return _sampled_task(node, epsilon, request)
    if wanted == THRESHOLD and node.path != ROOT:
        raise NotReleasable(
            "the threshold mechanism works on the value, not on its variables",
            hint="leave out the mechanism",
        )
    if isinstance(measure, AggregatedMeasure):
        _refuse_unbounded_distribution(measure)
        if request.aims:
            return (measure,), _aimed_task(measure, epsilon, request)
        return (measure,), replace(
            _plain_task(measure, epsilon, request),
            loose=looseness_of(measure, request.log.vocabulary),
            output_range=request.ppi.value_range,
        )
    ratio = ratio_of(measure)
    if ratio is None:
        raise NotReleasable(NO_BOUND, hint=UNBOUNDED if node.path == ROOT else BELOW)
    if request.aims:
        raise NotReleasable(
            "the threshold mechanism cannot release the value of a ratio",
            hint="ask for `answer: verdict`, or leave out the mechanism",
        )
    return (ratio.part, ratio.whole), _ratio_task(ratio, epsilon, request)


def _refuse_unbounded_distribution(measure: AggregatedMeasure) -> None:
    is_one = measure.function is Aggregation.DISTRIBUTION
    if is_one and measure.bounding is not Bounding.DECLARED:
        raise NotReleasable(
            f"a distribution needs public bounds, not {measure.bounding} ones",
            hint="declare bounds as [low, high]",
        )


def _plain_task(measure: AggregatedMeasure, epsilon: Fraction, request: Request) -> Task:
    names = request.log.vocabulary
    integral, bounds = is_integral(measure, names), bounds_of(measure, names)
    return Task(
        measure.called,
        bounds,
        epsilon,
        request.adjacency,
        integral,
        limits=measure.limits,
        skewed=measure_kind(measure.base, names) is Kind.DURATION,
        cases=request.cases_for_bins,
        bins_below=USUALLY if request.rules > Rules.BINS_FOR_EVEN_VALUES else FOR_EVEN_VALUES,
        most_bins=FINEST if request.rules > Rules.AT_MOST_64_BINS else MOST_BINS,
    )


def _ratio_task(ratio: Ratio, epsilon: Fraction, request: Request) -> Task:
    """Its factor is applied to what was released, so that it makes no other query."""
    names = request.log.vocabulary
    integral = is_integral(ratio.whole, names) and is_integral(ratio.part, names)
    function = PART_OF_WHOLE if ratio.within else RATIO
    of_sums = SumRatio(ratio.factor, bounds_of(ratio.part, names), ratio.within)
    bounds = bounds_of(ratio.whole, names)
    return Task(function, bounds, epsilon, request.adjacency, integral, ratio=of_sums)


def _verdict_task(
    node: Inner, epsilon: Fraction, request: Request
) -> tuple[tuple[AggregatedMeasure, ...], Task]:
    limit, measure = limit_of(request.ppi), node.measure
    if node.path != ROOT:
        raise NotReleasable(
            "a verdict is about the value, not about its variables", hint="remove 'noise'"
        )
    if isinstance(measure, AggregatedMeasure):
        if measure.called in ("mean", "sum"):
            _refuse_loose(measure, request.log.vocabulary)
        return (measure,), replace(_plain_task(measure, epsilon, request), limit=limit)
    ratio = ratio_of(measure)
    if ratio is None:
        raise NotReleasable(
            "a verdict can only be released for an aggregated measure or a ratio of two sums",
            hint="ask for the value, or define the PPI as such a ratio",
        )
    task = replace(_ratio_task(ratio, epsilon, request), limit=limit, integral=False)
    return (ratio.part, ratio.whole), task


def _aimed_task(measure: AggregatedMeasure, epsilon: Fraction, request: Request) -> Task:
    limit = limit_of(request.ppi)
    _refuse_loose(measure, request.log.vocabulary)
    falloff = request.ppi.release.falloff
    return replace(
        _plain_task(measure, epsilon, request),
        limit=limit,
        falloff=DEFAULT_FALLOFF if falloff is None else falloff,
    )


def _refuse_loose(measure: AggregatedMeasure, names: Vocabulary) -> None:
    """A case at a bound far above all others could turn every verdict: none would be given."""
    if looseness_of(measure, names) is not None:
        raise NotReleasable(
            "the threshold mechanism needs public bounds",
            hint="declare bounds as [low, high]",
        )


def _sampled_task(
    node: Inner, epsilon: Fraction, request: Request
) -> tuple[tuple[AggregatedMeasure, ...], Task]:
    inputs = tuple(measure for _, measure in aggregated_measures(node.measure))
    buckets = request.ppi.release.buckets
    # As many buckets as cases in each: a balance of noise against small buckets.
    usual = min(max(2, round(math.sqrt(request.planned_cases))), _MOST_USUAL_BUCKETS)
    count = usual if buckets is None else buckets
    return inputs, Task(
        FORMULA,
        _sampled_range(node, request),
        epsilon,
        request.adjacency,
        integral=False,
        in_buckets=InBuckets(FormulaOver(node.measure, count), len(inputs), count),
    )


def _sampled_range(node: Inner, request: Request) -> Bounds:
    """The output range of what is evaluated in each bucket."""
    if node.path == ROOT and request.ppi.value_range is not None:
        return request.ppi.value_range
    measure = node.measure
    if isinstance(measure, AggregatedMeasure) and measure.called != "sum":
        return bounds_of(measure, request.log.vocabulary)
    if node.path != ROOT:
        raise NotReleasable(
            "sample-and-aggregate needs a declared output range, which only the whole value can "
            f"have, not {function_name(node.path)}",
            hint="use another mechanism for it, or leave it out",
        )
    raise NotReleasable(
        "sample-and-aggregate needs the output range of the value",
        hint="declare it as `value` in the bounds",
    )


@dataclass(frozen=True, slots=True)
class FormulaOver:
    """A measure's value, estimated from the cases of one of several buckets.

    Rows hold the contributions of its aggregated measures, which are cut to their bounds. A
    bucket has its share of the cases, so its sums stand for as many times more.
    """

    measure: MultiInstance
    buckets: int

    def __call__(self, rows: Values) -> float | None:
        aggregated = aggregated_measures(self.measure)
        values = {
            path: self._estimate(measure, rows[:, i])
            for i, (path, measure) in enumerate(aggregated)
        }
        return value_above(self.measure, values)

    def _estimate(self, measure: AggregatedMeasure, contributions: Values) -> float | None:
        if measure.bounds is not None:
            ends = float(measure.bounds.low), float(measure.bounds.high)
            contributions = np.clip(contributions, *ends)
        value = aggregate(measure, contributions)
        if value is None or measure.function is not Aggregation.SUM:
            return value
        return value * self.buckets
