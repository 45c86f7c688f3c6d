"""The mechanisms that can answer one function of a PPI, ready to draw.

Under `replace` a case may come to have a value it did not have, or leave a group: such a
change is one removal and one addition, so a function that can lose cases is released at
half its epsilon under `add-remove`. The sharper `replace` calibration is for functions that
every case takes part in, whatever it contains; and, without groups, for mechanisms whose
proof allows a case to lose its value (`interval`, `margins`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from pappi.errors import NotReleasable
from pappi.mechanisms.choose import (
    OF_PUBLIC_NUMBER,
    decision_for,
    mechanism_for,
    mechanisms_of,
    threshold_for,
)
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
    NoiseOn,
    Ppi,
    Wanted,
)
from pappi.tree.above import value_above
from pappi.tree.aggregates import aggregate
from pappi.tree.composition import ROOT, Inner, aggregated_measures, function_name
from pappi.values.bounds import Bounds
from pappi.values.privacy import Adjacency

DEFAULT_FALLOFF = Fraction(3)
SAMPLED, THRESHOLD = "sample-and-aggregate", "threshold"
_MOST_USUAL_BUCKETS = 1_000
NO_BOUND = "nothing public bounds how much one case can change a formula"
BELOW = "put the noise into its variables"
UNBOUNDED = (
    f"{BELOW}; or declare the range of the value as `value` among the bounds, and ask for the "
    f"mechanism {SAMPLED}"
)


@dataclass(frozen=True, slots=True)
class Request:
    """One PPI and how it is to be released: what its functions are made from.

    `own` are the wishes for single functions, by their paths.
    """

    ppi: Ppi
    facts: PublicFacts
    own: Mapping[str, NoiseOn] = field(default_factory=dict)

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


def parts_of(node: Inner, epsilon: Fraction, request: Request) -> list[Part]:
    """Every way to answer one function at an epsilon, by the mechanism asked for if any.

    At least one, or it is refused.
    """
    found = list(_parts_of(node, epsilon, request))
    insisted = request.insisted(node.path)
    if insisted is None or request.verdict_only:
        return found
    kept = [part for part in found if part.mechanism.name == insisted]
    if not kept and not (insisted == THRESHOLD and request.aims):  # a sum is aimed at by laplace
        names = " or ".join(dict.fromkeys(part.mechanism.name for part in found))
        raise NotReleasable(
            f"{function_name(node.path)}: {why_not(insisted, node, request)}",
            hint=f"for {function_name(node.path)} there is {names}",
        )
    return kept or found


def _parts_of(node: Inner, epsilon: Fraction, request: Request) -> Iterator[Part]:
    wanted = request.wanted(node.path)
    if request.verdict_only:
        yield _decision(node, epsilon, request)
    elif wanted == SAMPLED:
        yield _sampled(node, epsilon, request)
    elif wanted == THRESHOLD and node.path != ROOT:
        raise NotReleasable(
            "the threshold mechanism aims at the value, not at its variables",
            hint="leave the mechanism out",
        )
    elif isinstance(node.measure, AggregatedMeasure):
        yield from _aggregated(node.path, node.measure, epsilon, request)
    else:
        ratio = ratio_of(node.measure)
        if ratio is None:
            raise NotReleasable(NO_BOUND, hint=UNBOUNDED if node.path == ROOT else BELOW)
        yield from _ratios(node.path, ratio, epsilon, request)


def why_not(name: str, node: Inner, request: Request) -> str:
    """Why a mechanism does not answer a function that others answer."""
    measure = node.measure
    if not isinstance(measure, AggregatedMeasure):
        return f"the mechanism '{name}' does not answer a ratio of two sums as a whole"
    bounds = f"{measure.called} of {measure.bounding} bounds"
    of_bounds = f"the mechanism '{name}' does not answer a {bounds}"
    if measure.bounding is Bounding.PRIVATE:
        return of_bounds
    if name == OF_PUBLIC_NUMBER.get(measure.called):
        return _why_no_laplace_mean(request.facts)
    if measure.bounding is Bounding.LOOSE:
        return of_bounds
    if name == "interval" and measure.called == "sum" and node.path != ROOT:
        return (
            "the interval mechanism of a sum needs a declared range of the sum, which only the "
            "value as a whole can have"
        )
    return f"the mechanism '{name}' does not answer its {measure.called}"


def _why_no_laplace_mean(facts: PublicFacts) -> str:
    scaled = "Laplace noise on a mean is scaled by the number of values, which is private"
    if facts.adjacency is Adjacency.REPLACE:
        return (
            f"{scaled} also under replace where a case can gain or lose its value, pass or fail a "
            "filter, or change its group"
        )
    if facts.moved > 1:
        return f"{scaled} in a scope that a case can enter or leave for another"
    return f"{scaled} under add-remove"


# --- one measure ----------------------------------------------------------------------


def _aggregated(
    path: str, measure: AggregatedMeasure, epsilon: Fraction, request: Request
) -> Iterator[Part]:
    if request.aims:
        yield _threshold(measure, epsilon, request)
        return
    facts, wanted = request.facts, request.wanted(path)
    loose = looseness_of(measure, facts.vocabulary)
    known: Sequence[str] = mechanisms_of(measure.called, loose=loose is not None)
    if measure.bounding is Bounding.PRIVATE:
        known = known[:1]  # the others need bounds to be worth anything
    elif wanted is not None and wanted == OF_PUBLIC_NUMBER.get(measure.called):
        known = (*known, *([wanted] if _is_counted(measure, facts.adjacency) else []))
    known = [name for name in known if not _cannot(name, path, measure, request)]
    for name in _names(known, wanted):
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


def _is_counted(measure: AggregatedMeasure, adjacency: Adjacency) -> bool:
    """Whether the number of values is public: that of cases is, and every case has one."""
    return _calibration(measure, Fraction(1), adjacency, ranked=False)[0] is Adjacency.REPLACE


def _names(known: Sequence[str], wanted: str | None) -> Sequence[str]:
    """The one that is wanted, where a function has it; a formula's others keep their own."""
    return (wanted,) if wanted is not None and wanted in known else known


def _cannot(name: str, path: str, measure: AggregatedMeasure, request: Request) -> bool:
    """Only a sum that is the PPI itself has its range declared, which its interval needs."""
    if name != "interval" or measure.called != "sum":
        return False
    asked = request.wanted(path) == name
    return path != ROOT or (request.ppi.value_range is None and not asked)


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
        raise NotReleasable(
            "a verdict alone is about the value, not about its variables", hint="remove 'noise'"
        )
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
    if node.path != ROOT:
        raise NotReleasable(
            "sample-and-aggregate needs the range of what it answers, and only the value as a "
            f"whole can have a declared one, not {function_name(node.path)}",
            hint="name another mechanism for it, or none",
        )
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
