"""Plans: an admissible set, a mechanism for each of its functions, and a split of epsilon.

One PPI has one epsilon. Functions released over the same cases share it equally,
and the split is shown. Under `replace` a case may come to have a value it did not
have, or leave a group: such a change is one removal and one addition, so a
function that can lose cases is released at half its epsilon under `add-remove`.
Only a function that every case takes part in, whatever it contains, may use the
sharper `replace` calibration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice

from pappi.errors import NotReleasable
from pappi.mechanisms.choose import mechanism_for, mechanisms_of
from pappi.mechanisms.mechanism import Mechanism
from pappi.mechanisms.ratio import TwoBinRatio
from pappi.planning.errors import predicted_error
from pappi.planning.parts import Part, PublicFacts
from pappi.planning.ratios import Ratio, ratio_of
from pappi.planning.reach import reach_of
from pappi.ppinot.measures import is_total, measure_kind
from pappi.ppinot.model import AggregatedMeasure, CountMeasure, DerivedMultiInstance, Ppi
from pappi.tree.admissible import AdmissibleSet, admissible_sets
from pappi.tree.composition import Inner, composition_tree, leaves
from pappi.values.bounds import UNIT_INTERVAL, Bounds
from pappi.values.epsilon import Epsilon
from pappi.values.privacy import Adjacency
from pappi.values.vocabulary import Kind, Vocabulary

MOST_OPTIONS = 64
SMALLEST, LARGEST = Fraction(1, 10**12), 10**18
_NO_BOUND = "nothing public bounds how much one case can change a formula"


@dataclass(frozen=True, slots=True)
class Plan:
    """How one PPI will be released, and how far off it is expected to be."""

    ppi: Ppi
    epsilon: Epsilon
    parts: tuple[Part, ...]
    predicted_error: float

    @property
    def mechanism(self) -> str:
        return " + ".join(dict.fromkeys(part.mechanism.name for part in self.parts))

    @property
    def groups(self) -> tuple[str | None, ...]:
        grouping = self.parts[0].inputs[0].grouping
        return (None,) if grouping is None else grouping.keys


@dataclass(frozen=True, slots=True)
class Option:
    """An admissible set: the plan it leads to, or why none is known."""

    functions: tuple[str, ...]
    plan: Plan | None
    reason: str = ""
    hint: str = ""


def plan_ppi(ppi: Ppi, epsilon: Epsilon, facts: PublicFacts) -> Plan:
    """The plan with the smallest predicted error."""
    options = list(plan_options(ppi, epsilon, facts))
    plans = [option.plan for option in options if option.plan is not None]
    if not plans:
        last = options[-1]
        message = f"{ppi.position}: PPI '{ppi.id}' cannot be released: {last.reason}"
        raise NotReleasable(message, hint=last.hint)
    # Chosen without regard to the target: it changes the verdict, not the question.
    aimless = replace(ppi, target=None)
    return min(plans, key=lambda p: predicted_error(aimless, p.parts, facts.expected_cases))


def plan_options(ppi: Ppi, epsilon: Epsilon, facts: PublicFacts) -> Iterator[Option]:
    """The admissible sets of the PPI, each with its plan or the reason there is none.

    Sets with a formula that no mechanism answers are left out, but for the PPI itself.
    """
    root = _with_whole_ratios(composition_tree(ppi.measure))
    if not _has_mechanism(root):
        yield Option((root.path,), None, _NO_BOUND)
    for chosen in islice(admissible_sets(root, _has_mechanism), MOST_OPTIONS):
        functions = tuple(node.path for node in chosen)
        try:
            yield Option(functions, _plan(ppi, chosen, epsilon, facts))
        except NotReleasable as refusal:
            yield Option(functions, None, refusal.message, refusal.hint)


def _with_whole_ratios(node: Inner) -> Inner:
    """The tree in which a ratio can only be cut at itself.

    Released apart from its whole, a part could not be cut off at it, and the same PPI
    would mean one thing in one plan and another in the next.
    """
    if _is_ratio(node):
        return replace(node, children=tuple(leaves(node)))
    children = (_with_whole_ratios(c) if isinstance(c, Inner) else c for c in node.children)
    return replace(node, children=tuple(children))


def _is_ratio(node: Inner) -> bool:
    return isinstance(node.measure, DerivedMultiInstance) and ratio_of(node.measure) is not None


def _has_mechanism(node: Inner) -> bool:
    return isinstance(node.measure, AggregatedMeasure) or _is_ratio(node)


def _plan(ppi: Ppi, chosen: AdmissibleSet, epsilon: Epsilon, facts: PublicFacts) -> Plan:
    share = epsilon.fraction / len(chosen)
    parts = tuple(_part(node, share, facts) for node in chosen)
    if len({measure.grouping for part in parts for measure in part.inputs}) > 1:
        raise NotReleasable("its aggregated measures are not grouped alike")
    _refuse_foregone_verdict(ppi)
    return Plan(ppi, epsilon, parts, predicted_error(ppi, parts, facts.expected_cases))


def _refuse_foregone_verdict(ppi: Ppi) -> None:
    """A target that holds all the value can be, or none of it, is met or missed by definition."""
    if ppi.target is None:
        return
    low, high = reach_of(ppi)
    least = -math.inf if ppi.target.low is None else ppi.target.low
    most = math.inf if ppi.target.high is None else ppi.target.high
    if (least <= low and high <= most) or most <= low or high <= least:
        raise NotReleasable(
            "its target lies at or beyond its bounds, which would decide the verdict "
            "without looking at a case",
            hint="declare wider bounds, or another target",
        )


def _part(node: Inner, epsilon: Fraction, facts: PublicFacts) -> Part:
    if isinstance(node.measure, AggregatedMeasure):
        mechanism = _mechanism(node.measure, epsilon, facts)
        return Part(node.path, (node.measure,), mechanism)
    ratio = ratio_of(node.measure)
    if ratio is None:
        raise NotReleasable(_NO_BOUND)
    return Part(node.path, (ratio.part, ratio.whole), _ratio_mechanism(ratio, epsilon, facts))


def _ratio_mechanism(ratio: Ratio, epsilon: Fraction, facts: PublicFacts) -> Mechanism:
    return TwoBinRatio(
        _bounds(ratio.whole, facts.vocabulary),
        epsilon,
        facts.adjacency,
        _integral(ratio.whole, facts.vocabulary) and _integral(ratio.part, facts.vocabulary),
        ratio.factor,
        _bounds(ratio.part, facts.vocabulary),
    )


def _mechanism(measure: AggregatedMeasure, epsilon: Fraction, facts: PublicFacts) -> Mechanism:
    bounds = _bounds(measure, facts.vocabulary)
    adjacency, spent = _calibration(measure, epsilon, facts.adjacency)
    integral = _integral(measure, facts.vocabulary)
    candidates = [
        mechanism_for(measure.called, bounds, spent, adjacency, integral=integral, name=name)
        for name in mechanisms_of(measure.called)
    ]
    return min(candidates, key=lambda m: m.predicted_error(facts.expected_cases, None))


def _calibration(
    measure: AggregatedMeasure, epsilon: Fraction, adjacency: Adjacency
) -> tuple[Adjacency, Fraction]:
    everyone_counts = is_total(measure.base) and measure.filter is None and measure.grouping is None
    if adjacency is Adjacency.REPLACE and not everyone_counts:
        return Adjacency.ADD_REMOVE, epsilon / 2
    return adjacency, epsilon


def _bounds(measure: AggregatedMeasure, vocabulary: Vocabulary) -> Bounds:
    if measure.bounds is not None:
        _refuse_absurd(measure.bounds)
        return measure.bounds
    if measure_kind(measure.base, vocabulary) is Kind.TRUTH:
        return UNIT_INTERVAL
    raise NotReleasable(
        f"its {measure.called} has no public bounds on what one case contributes",
        hint="add e.g. `bounds: [0 days, 60 days]` or `bounds: [0, 5]`: what lies beyond counts "
        "as the bound",
    )


def _refuse_absurd(bounds: Bounds) -> None:
    """Bounds that floats cannot work with: no process has them."""
    if float(bounds.low) == float(bounds.high) or bounds.width < SMALLEST:
        raise NotReleasable("its bounds are too close together to be told apart")
    if bounds.magnitude > LARGEST:
        raise NotReleasable("its bounds are too far apart to be worked with")


def _integral(measure: AggregatedMeasure, vocabulary: Vocabulary) -> bool:
    """Whether every case contributes a whole number, by its definition."""
    whole = isinstance(measure.base, CountMeasure)
    return whole or measure_kind(measure.base, vocabulary) is Kind.TRUTH
