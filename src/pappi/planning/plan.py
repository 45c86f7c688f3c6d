"""Plans: an admissible set, a mechanism for each of its functions, and a split of epsilon.

One PPI has one epsilon. Functions released over the same cases share it, and the split is
shown. A person with k cases is protected by releasing every function at the k-th part of
its epsilon. Nothing here has seen a case: all of it follows from the definition and from
what the owner declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice

from pappi.errors import NotReleasable, UsageError
from pappi.planning.errors import contributions, predicted_error
from pappi.planning.functions import NO_BOUND, SAMPLED, THRESHOLD, Request, parts_of
from pappi.planning.parts import Part, PublicFacts
from pappi.planning.ratios import is_part_of_whole, ratio_of
from pappi.planning.splits import best_split
from pappi.planning.targets import refuse_foregone_verdict
from pappi.ppinot.model import AggregatedMeasure, DerivedMultiInstance, Ppi, ReleaseChoice, Wanted
from pappi.tree.admissible import AdmissibleSet, admissible_sets
from pappi.tree.composition import ROOT, Inner, composition_tree, leaves
from pappi.values.epsilon import Epsilon

MOST_OPTIONS = 64
MOST_FUNCTIONS = 64
# A formula of many variables is planned in its first few ways only.
MOST_PARTS = 128


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
    """An admissible set and its mechanisms: the plan they lead to, or why none is known.

    One `on_request` is never taken unless the PPI asks for it: it answers something else.
    """

    functions: tuple[str, ...]
    plan: Plan | None
    reason: str = ""
    hint: str = ""
    on_request: bool = False


def plan_ppi(ppi: Ppi, epsilon: Epsilon, facts: PublicFacts) -> Plan:
    """The plan with the smallest predicted error, among those the PPI allows."""
    options = list(plan_options(ppi, epsilon, facts))
    plans = [each.plan for each in options if each.plan is not None and not each.on_request]
    if not plans:
        last = next(each for each in reversed(options) if not each.on_request)
        message = f"{ppi.position}: PPI '{ppi.id}' cannot be released: {last.reason}"
        raise NotReleasable(message, hint=last.hint)
    # Chosen without regard to the target: it changes the verdict, not the question.
    aimless, cases = replace(ppi, target=None), facts.under(ppi.scope).expected_cases
    return min(plans, key=lambda p: predicted_error(aimless, p.parts, cases))


def plan_options(ppi: Ppi, epsilon: Epsilon, facts: PublicFacts) -> Iterator[Option]:
    """Every admissible set of the PPI with its mechanisms, or the reason there is no plan.

    Sets with a formula that no mechanism answers are left out, but for the PPI itself.
    """
    request = Request(ppi, facts.under(ppi.scope))
    root = _with_whole_ratios(composition_tree(ppi.measure))
    found = 0
    for option in islice(_options(root, request, epsilon), MOST_OPTIONS):
        found += 1
        yield option
    yield from _others(root, request, epsilon)
    if not found:
        chosen = " and ".join(ppi.release.noise)
        yield Option((ROOT,), None, f"'{chosen}' is no admissible set", _sets_hint(root))


def _others(root: Inner, request: Request, epsilon: Epsilon) -> Iterator[Option]:
    """What the PPI could ask for besides, if it has asked for nothing."""
    if request.ppi.release != ReleaseChoice():
        return
    for mechanism in (THRESHOLD, SAMPLED):
        asked = replace(request.ppi, release=ReleaseChoice(mechanism=mechanism))
        for option in _options(root, Request(asked, request.facts), epsilon):
            if option.plan is not None and option.plan.mechanism == mechanism:
                yield replace(option, on_request=True)


def _options(root: Inner, request: Request, epsilon: Epsilon) -> Iterator[Option]:
    wanted = _wanted_set(request.ppi)
    if wanted is None and not _can_cut(root, request):
        yield Option((root.path,), None, NO_BOUND)
    planned = 0
    for chosen in islice(_sets(root, request), MOST_OPTIONS):
        functions = tuple(node.path for node in chosen)
        if planned > MOST_PARTS:
            return
        planned += len(chosen)
        if wanted is not None and set(functions) != wanted and not _whole(request):
            continue
        try:
            for plan in _plans(chosen, request, epsilon):
                yield Option(functions, plan)
        except (NotReleasable, UsageError) as refusal:
            yield Option(functions, None, refusal.message, refusal.hint)


def _sets(root: Inner, request: Request) -> Iterator[AdmissibleSet]:
    if _whole(request):
        yield (root,)
        return
    yield from admissible_sets(root, lambda node: _can_cut(node, request))


def _whole(request: Request) -> bool:
    """Whether the PPI can only be answered as a whole, whatever it is."""
    return request.verdict_only or request.ppi.release.mechanism == SAMPLED


def _wanted_set(ppi: Ppi) -> set[str] | None:
    names = ppi.release.noise
    return {ROOT if name == "value" else f"{ROOT}.{name}" for name in names} if names else None


def _sets_hint(root: Inner) -> str:
    sets = islice(admissible_sets(root), 8)
    texts = (" + ".join(node.path.removeprefix(f"{ROOT}.") for node in chosen) for chosen in sets)
    return "the admissible sets are: " + ", ".join(texts).replace(ROOT, "value")


def _with_whole_ratios(node: Inner) -> Inner:
    """The tree in which a part of a whole can only be cut at their ratio.

    Released apart from its whole, a part could not be cut off at it, and the same PPI
    would mean one thing in one plan and another in the next.
    """
    if is_part_of_whole(node.measure):
        return replace(node, children=tuple(leaves(node)))
    children = (_with_whole_ratios(c) if isinstance(c, Inner) else c for c in node.children)
    return replace(node, children=tuple(children))


def _can_cut(node: Inner, request: Request) -> bool:
    """Whether a mechanism is known for a function, of those that the PPI allows."""
    if isinstance(node.measure, AggregatedMeasure):
        return True
    if not isinstance(node.measure, DerivedMultiInstance) or ratio_of(node.measure) is None:
        return False
    return is_part_of_whole(node.measure) or request.ppi.release.mechanism in (None, "hexagon")


# --- the plans of one admissible set --------------------------------------------------


def _plans(chosen: AdmissibleSet, request: Request, epsilon: Epsilon) -> Iterator[Plan]:
    """One plan per mechanism of a single function; for several, the best of each."""
    _refuse_idle_settings(request.ppi.release)
    if len(chosen) > MOST_FUNCTIONS:
        raise NotReleasable(
            f"it shares one epsilon between {len(chosen)} functions, and {MOST_FUNCTIONS} are "
            "the most"
        )
    whole = epsilon.fraction / request.facts.changes
    if len(chosen) == 1:
        for part in parts_of(chosen[0], whole, request):
            yield _plan((part,), request, epsilon)
        return
    equally = _parts(chosen, [whole / len(chosen)] * len(chosen), request)
    _refuse_unlike_groups(equally)
    errors = contributions(request.ppi, equally, request.facts.expected_cases)
    shares = [whole * share for share in best_split(errors)]
    plans = [
        _plan(equally, request, epsilon),
        _plan(_parts(chosen, shares, request), request, epsilon),
    ]
    yield min(plans, key=lambda plan: plan.predicted_error)


def _parts(chosen: AdmissibleSet, shares: Sequence[Fraction], request: Request) -> tuple[Part, ...]:
    cases = request.facts.expected_cases
    return tuple(
        min(parts_of(node, share, request), key=lambda p: p.mechanism.predicted_error(cases, None))
        for node, share in zip(chosen, shares, strict=True)
    )


def _plan(parts: tuple[Part, ...], request: Request, epsilon: Epsilon) -> Plan:
    _refuse_unlike_groups(parts)
    _refuse_another_mechanism(parts, request.ppi.release)
    refuse_foregone_verdict(request.ppi)
    error = predicted_error(request.ppi, parts, request.facts.expected_cases)
    return Plan(request.ppi, epsilon, parts, error)


def _refuse_unlike_groups(parts: Sequence[Part]) -> None:
    if len({measure.grouping for part in parts for measure in part.inputs}) > 1:
        raise NotReleasable("its aggregated measures are not grouped alike")


def _refuse_another_mechanism(parts: Sequence[Part], choice: ReleaseChoice) -> None:
    """A wish for a mechanism that answers none of the functions is a mistake, not a hint."""
    wanted = choice.mechanism
    if wanted is None or wanted == THRESHOLD or choice.answer is Wanted.VERDICT:
        return
    if wanted not in {part.mechanism.name for part in parts}:
        functions = " or ".join(dict.fromkeys(m.called for part in parts for m in part.inputs))
        raise NotReleasable(
            f"the mechanism '{wanted}' does not answer its {functions}",
            hint="leave the mechanism out, and the best one is taken",
        )


def _refuse_idle_settings(choice: ReleaseChoice) -> None:
    for setting, value, mechanism in (
        ("falloff", choice.falloff, THRESHOLD),
        ("buckets", choice.buckets, SAMPLED),
    ):
        if value is not None and choice.mechanism != mechanism:
            raise NotReleasable(
                f"a setting of {setting} is for the mechanism {mechanism} alone",
                hint=f"write mechanism: {mechanism}, or remove {setting}",
            )
    whole = choice.answer is Wanted.VERDICT or choice.mechanism == SAMPLED
    if whole and choice.noise not in ((), ("value",)):
        raise NotReleasable(
            "a verdict alone, like sample-and-aggregate, is about the value as a whole",
            hint="remove 'noise'",
        )
    if choice.answer is Wanted.VERDICT and choice.mechanism not in (None, THRESHOLD):
        raise NotReleasable(
            f"a verdict alone is given by the mechanism {THRESHOLD}",
            hint="leave the mechanism out",
        )
