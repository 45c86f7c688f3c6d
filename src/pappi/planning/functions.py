"""The mechanisms that can answer one function of a PPI, ready to draw.

Under `replace` a case may come to have a value it did not have, or leave a group: such a
change is one removal and one addition, so a function that can lose cases is released at
half its epsilon under `add-remove`. The sharper `replace` calibration is for functions that
every case takes part in, whatever it contains; and, without groups, for mechanisms whose
proof allows a case to lose its value (`interval`, `margins`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pappi.errors import NotReleasable
from pappi.mechanisms.choose import decision_for, mechanism_for, mechanisms_of, threshold_for
from pappi.mechanisms.hexagon import HexagonRatio
from pappi.mechanisms.margins import Limit, RatioMargin
from pappi.mechanisms.mechanism import Mechanism, Values
from pappi.mechanisms.ratio import TwoBinRatio
from pappi.mechanisms.sampled import SampleAndAggregate
from pappi.mechanisms.threshold import NoisyMargin
from pappi.planning.bounds import bounds_of, is_integral, looseness_of
from pappi.planning.parts import Part, PublicFacts
from pappi.planning.ratios import Ratio, ratio_of
from pappi.planning.targets import limit_of
from pappi.ppinot.canonical import canonical
from pappi.ppinot.measures import is_total
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    Bounding,
    MultiInstance,
    Ppi,
    Wanted,
)
from pappi.tree.above import value_above
from pappi.tree.aggregates import aggregate
from pappi.tree.composition import ROOT, Inner, aggregated_measures
from pappi.values.bounds import Bounds
from pappi.values.privacy import Adjacency

DEFAULT_FALLOFF = Fraction(3)
SAMPLED, THRESHOLD = "sample-and-aggregate", "threshold"
_MOST_USUAL_BUCKETS = 1_000
NO_BOUND = "nothing public bounds how much one case can change a formula"


@dataclass(frozen=True, slots=True)
class Request:
    """One PPI at one epsilon: what its functions are made from."""

    ppi: Ppi
    facts: PublicFacts

    @property
    def verdict_only(self) -> bool:
        return self.ppi.release.answer is Wanted.VERDICT

    @property
    def aims(self) -> bool:
        return self.ppi.release.mechanism == THRESHOLD


def parts_of(node: Inner, epsilon: Fraction, request: Request) -> Iterator[Part]:
    """Every way to answer one function at an epsilon, by the mechanism asked for if any."""
    wanted = request.ppi.release.mechanism
    if request.verdict_only:
        yield _decision(node, epsilon, request)
    elif wanted == SAMPLED:
        yield _sampled(node, epsilon, request)
    elif request.aims and node.path != ROOT:
        raise NotReleasable(
            "the threshold mechanism aims at the value, not at its variables",
            hint="leave the mechanism out",
        )
    elif isinstance(node.measure, AggregatedMeasure):
        yield from _aggregated(node.path, node.measure, epsilon, request)
    else:
        ratio = ratio_of(node.measure)
        if ratio is None:
            raise NotReleasable(NO_BOUND)
        yield from _ratios(node.path, ratio, epsilon, request)


# --- one measure ----------------------------------------------------------------------


def _aggregated(
    path: str, measure: AggregatedMeasure, epsilon: Fraction, request: Request
) -> Iterator[Part]:
    if request.aims:
        yield _threshold(measure, epsilon, request)
        return
    facts, wanted = request.facts, request.ppi.release.mechanism
    loose = looseness_of(measure, facts.vocabulary)
    names = mechanisms_of(measure.called, loose=loose is not None)
    if measure.bounding is Bounding.PRIVATE:
        names = names[:1]  # the others need bounds to be worth anything
    for name in _names(names, wanted):
        if _cannot(name, measure, request):
            continue
        adjacency, spent = _calibration(
            measure, epsilon, facts.adjacency, ranked=name == "interval"
        )
        mechanism = mechanism_for(
            measure.called,
            bounds_of(measure, facts.vocabulary),
            spent,
            adjacency,
            integral=is_integral(measure, facts.vocabulary),
            name=name,
            loose=loose,
            value_range=request.ppi.value_range,
        )
        yield Part(path, (measure,), mechanism, _range_setting(name, measure, request))


def _names(known: Sequence[str], wanted: str | None) -> Sequence[str]:
    """The one that is wanted, where a function has it; a formula's others keep their own."""
    return (wanted,) if wanted is not None and wanted in known else known


def _cannot(name: str, measure: AggregatedMeasure, request: Request) -> bool:
    """Only a sum that is the PPI itself has its range declared, which its interval needs."""
    if name != "interval" or measure.called != "sum":
        return False
    asked = request.ppi.release.mechanism == name
    return request.ppi.measure != measure or (request.ppi.value_range is None and not asked)


def _range_setting(
    name: str, measure: AggregatedMeasure, request: Request
) -> tuple[tuple[str, str], ...]:
    if name != "interval" or measure.called != "sum":
        return ()
    return (("range", str(canonical(request.ppi.value_range))),)


def _calibration(
    measure: AggregatedMeasure, epsilon: Fraction, adjacency: Adjacency, *, ranked: bool
) -> tuple[Adjacency, Fraction]:
    if adjacency is Adjacency.ADD_REMOVE:
        return adjacency, epsilon
    everyone_counts = is_total(measure.base) and measure.filter is None
    if measure.grouping is None and (everyone_counts or ranked):
        return adjacency, epsilon
    return Adjacency.ADD_REMOVE, epsilon / 2


# --- with a target --------------------------------------------------------------------


def _decision(node: Inner, epsilon: Fraction, request: Request) -> Part:
    limit = limit_of(request.ppi)
    if node.path != ROOT:
        raise NotReleasable("a verdict alone is about the value, not about its variables")
    if isinstance(node.measure, AggregatedMeasure):
        return _aggregated_decision(node.measure, epsilon, limit, request)
    ratio = ratio_of(node.measure)
    if ratio is None:
        raise NotReleasable(
            "a verdict alone is known for an aggregated measure and for a ratio of two sums",
            hint="ask for the value, or define it as such a ratio",
        )
    return _ratio_decision(ratio, epsilon, limit, request)


def _aggregated_decision(
    measure: AggregatedMeasure, epsilon: Fraction, limit: Limit, request: Request
) -> Part:
    facts = request.facts
    if measure.called in ("mean", "sum"):
        _refuse_loose(measure, facts)
    adjacency, spent = _calibration(measure, epsilon, facts.adjacency, ranked=True)
    bounds = bounds_of(measure, facts.vocabulary)
    integral = is_integral(measure, facts.vocabulary)
    mechanism = decision_for(
        measure.called, bounds, spent, adjacency, integral=integral, limit=limit
    )
    return Part(ROOT, (measure,), mechanism, _aim(limit, None))


def _ratio_decision(ratio: Ratio, epsilon: Fraction, limit: Limit, request: Request) -> Part:
    facts = request.facts
    whole = bounds_of(ratio.whole, facts.vocabulary)
    part = bounds_of(ratio.part, facts.vocabulary)
    # The margin allows a case to lose its values, but a case may also change its group.
    adjacency, spent = _calibration(ratio.whole, epsilon, facts.adjacency, ranked=True)
    of_sums = _divided(limit, ratio.factor)
    margin = RatioMargin(whole, False, of_sums, part, ratio.within)  # noqa: FBT003
    most = float(ratio.factor) * (1.0 if ratio.within else math.inf)
    reach = (min(0.0, most), max(0.0, most))
    mechanism = NoisyMargin(whole, spent, adjacency, False, margin, limit, reach)  # noqa: FBT003
    return Part(ROOT, (ratio.part, ratio.whole), mechanism, _aim(of_sums, None))


def _divided(limit: Limit, factor: Fraction) -> Limit:
    """The limit of a/b where factor·a/b has one."""
    at_most = limit.at_most if factor > 0 else not limit.at_most
    return Limit(limit.value / factor, at_most, limit.included)


def _threshold(measure: AggregatedMeasure, epsilon: Fraction, request: Request) -> Part:
    limit, facts = limit_of(request.ppi), request.facts
    _refuse_loose(measure, facts)
    falloff = request.ppi.release.falloff
    falloff = DEFAULT_FALLOFF if falloff is None else falloff
    ranked = measure.called not in ("mean", "share", "sum")
    adjacency, spent = _calibration(measure, epsilon, facts.adjacency, ranked=ranked)
    mechanism = threshold_for(
        measure.called,
        bounds_of(measure, facts.vocabulary),
        spent,
        adjacency,
        integral=is_integral(measure, facts.vocabulary),
        limit=limit,
        falloff=falloff,
    )
    # A sum is released as without a target, so that it is the same question.
    settings = () if measure.called == "sum" else _aim(limit, falloff)
    return Part(ROOT, (measure,), mechanism, settings)


def _refuse_loose(measure: AggregatedMeasure, facts: PublicFacts) -> None:
    """A case at a bound far above all others could turn every verdict: none would be given."""
    if looseness_of(measure, facts.vocabulary) is not None:
        raise NotReleasable(
            "a release that aims at the target needs bounds that fit",
            hint="declare bounds as [low, high]",
        )


def _aim(limit: Limit, falloff: Fraction | None) -> tuple[tuple[str, str], ...]:
    at = f"{'at most' if limit.at_most else 'at least'} {limit.value} {limit.included}"
    return (("limit", at), ("falloff", str(falloff)))


# --- several measures -----------------------------------------------------------------


def _ratios(path: str, ratio: Ratio, epsilon: Fraction, request: Request) -> Iterator[Part]:
    if request.aims:
        raise NotReleasable(
            "the threshold mechanism gives no value of a ratio",
            hint="ask for `answer: verdict`, or leave the mechanism out",
        )
    facts = request.facts
    whole = bounds_of(ratio.whole, facts.vocabulary)
    part = bounds_of(ratio.part, facts.vocabulary)
    both = (ratio.whole, ratio.part)
    integral = all(is_integral(measure, facts.vocabulary) for measure in both)
    mechanism: Mechanism
    if ratio.within:
        mechanism = TwoBinRatio(whole, epsilon, facts.adjacency, integral, ratio.factor, part)
    else:
        mechanism = HexagonRatio(whole, epsilon, facts.adjacency, integral, ratio.factor, part)
    # Its factor is applied to what was released, so that it makes no other question.
    yield Part(path, (ratio.part, ratio.whole), mechanism)


def _sampled(node: Inner, epsilon: Fraction, request: Request) -> Part:
    facts = request.facts
    inputs = tuple(measure for _, measure in aggregated_measures(node.measure))
    buckets = request.ppi.release.buckets
    count = _usual_buckets(facts.expected_cases) if buckets is None else buckets
    mechanism = SampleAndAggregate(
        _output_range(node, request),
        epsilon,
        facts.adjacency,
        False,  # noqa: FBT003
        FormulaOver(node.measure, count),
        len(inputs),
        count,
    )
    settings = (
        ("buckets", str(count)),
        ("range", str(canonical(mechanism.bounds))),
        ("formula", str(canonical(node.measure))),
    )
    return Part(node.path, inputs, mechanism, settings, count)


def _usual_buckets(cases: int) -> int:
    """As many buckets as cases in each: a balance of noise against small buckets."""
    return min(max(2, round(math.sqrt(cases))), _MOST_USUAL_BUCKETS)


def _output_range(node: Inner, request: Request) -> Bounds:
    if node.path == ROOT and request.ppi.value_range is not None:
        return request.ppi.value_range
    measure = node.measure
    if isinstance(measure, AggregatedMeasure) and measure.called != "sum":
        return bounds_of(measure, request.facts.vocabulary)
    raise NotReleasable(
        "sample-and-aggregate needs the range of the value",
        hint="declare it as the `value` among the bounds",
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
        found = {path: self._estimate(one, rows[:, i]) for i, (path, one) in enumerate(aggregated)}
        return value_above(self.measure, found)

    def _estimate(self, measure: AggregatedMeasure, contributions: Values) -> float | None:
        if measure.bounds is not None:
            ends = float(measure.bounds.low), float(measure.bounds.high)
            contributions = np.clip(contributions, *ends)
        value = aggregate(measure, contributions)
        if value is None or measure.function is not Aggregation.SUM:
            return value
        return value * self.buckets
