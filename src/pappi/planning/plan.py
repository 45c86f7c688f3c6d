"""Plans: an admissible set, a mechanism for each of its functions, and a split of epsilon.

One PPI has one epsilon. Functions released over the same cases share it, and the split is
shown. A person with k cases is protected by releasing every function at the k-th part of
its epsilon. Nothing here has seen a case: all of it follows from the definition and from
what the owner declared.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice

from pappi.errors import NotReleasable, UsageError
from pappi.mechanisms import RATIO, Outcome, names_for, on_request
from pappi.planning.bounds import (
    is_part_of_whole,
    ratio_of,
    refuse_foregone_verdict,
    sides_cut,
    sides_hidden,
)
from pappi.planning.error_prediction import best_split, contributions, predicted_error
from pappi.planning.measurements import (
    NO_BOUND,
    SAMPLED,
    THRESHOLD,
    UNBOUNDED,
    Measurement,
    Request,
    Rules,
    measurements_of,
    why_not,
)
from pappi.planning.scopes import ExpectedCases, expected_cases
from pappi.ppinot import (
    ROOT,
    VALUE,
    AdmissibleSet,
    AggregatedMeasure,
    DerivedMultiInstance,
    Grouping,
    Inner,
    NoiseOn,
    Ppi,
    Range,
    ReleaseChoice,
    Wanted,
    admissible_sets,
    composition_tree,
    function_name,
    functions,
    leaves,
    range_above,
)
from pappi.values import CONFIDENCE, Epsilon, PublicLog, Vocabulary

MOST_OPTIONS = 64
MOST_FUNCTIONS = 64
# A formula of many variables is planned in its first few ways only.
MOST_PARTS = 128
_SHOWN_SETS = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """How one PPI will be released, and how far off it will be with as many cases as expected.

    Planned with others, it may be released by one draw for all of `together`: then `epsilon` is
    that of the draw. `apart` is what it would have if all were released one by one: the ε it was
    asked at, or under a `total` an equal part of that. `cut_with` are the PPIs whose bounds count
    where it tells how many cases lie beyond, itself among them. `because` says why it has this
    `epsilon`, where nobody asked for one.
    """

    ppi: Ppi
    epsilon: Epsilon
    measurements: tuple[Measurement, ...]
    predicted_error: float
    expected: ExpectedCases
    total: Epsilon | None = None
    together: tuple[str, ...] = ()
    apart: Epsilon | None = None
    cut_with: tuple[str, ...] = ()
    because: str = ""

    @property
    def mechanism(self) -> str:
        return " + ".join(
            dict.fromkeys(measurement.mechanism.name for measurement in self.measurements)
        )

    def expecting(self, expected: ExpectedCases) -> Plan:
        """The same plan with another forecast."""
        if expected == self.expected:
            return self
        error = predicted_error(self.ppi, self.measurements, expected.cases)
        return replace(self, predicted_error=error, expected=expected)

    @property
    def price(self) -> Epsilon:
        """What a new release costs this PPI: one draw for several is paid by all of them alike."""
        if not self.together:
            return self.epsilon
        part, rest = divmod(self.epsilon.nano, len(self.together))
        return Epsilon(part + rest if self.ppi.id == self.together[0] else part)

    @property
    def decides(self) -> bool:
        """Whether it aims at the target, and knows the verdict better than an interval tells."""
        return all(measurement.mechanism.decides for measurement in self.measurements)

    @property
    def tells_beyond(self) -> bool:
        """Whether its draw counts the cases that bounds cut."""
        return self.measurements[0].mechanism.tells_beyond

    @property
    def covers_noise_only(self) -> bool:
        """Whether its interval says nothing about how far off the value is otherwise."""
        return any(measurement.mechanism.covers_noise_only for measurement in self.measurements)

    @property
    def grouping(self) -> Grouping | None:
        """All its measures are grouped alike."""
        return self.measurements[0].inputs[0].grouping

    @property
    def groups(self) -> tuple[str | None, ...]:
        return (None,) if self.grouping is None else self.grouping.keys


@dataclass(frozen=True, slots=True)
class ReleaseOption:
    """An admissible set and its mechanisms: the plan they lead to, or why none is known.

    One `on_request` is never taken unless the PPI asks for it: it answers something else.
    """

    functions: tuple[str, ...]
    plan: Plan | None
    reason: str = ""
    hint: str = ""
    on_request: bool = False


def plan_ppi(ppi: Ppi, epsilon: Epsilon, log: PublicLog, rules: Rules = Rules.NOW) -> Plan:
    """The plan with the smallest predicted error, among those the PPI allows.

    But one whose interval tells something comes first. What is on record may have been planned by
    earlier `rules`. A release looks for what it asks for several times: of the very same PPI and
    log, the plan is made once.
    """
    of = id(ppi), epsilon, id(log), rules
    made = _MADE.get(of)
    if made is None:
        if len(_MADE) >= _MOST_MADE:
            _MADE.clear()
        # Kept with what it was made for, so that nothing else has their ids.
        made = _MADE[of] = ppi, log, _planned(ppi, epsilon, log, rules)
    return made[2]


_MADE: dict[tuple[int, Epsilon, int, Rules], tuple[Ppi, PublicLog, Plan]] = {}
_MOST_MADE = 256


def _planned(ppi: Ppi, epsilon: Epsilon, log: PublicLog, rules: Rules) -> Plan:
    request = Request(ppi, log, rules=rules)
    options = list(_allowed_options(request, epsilon))
    plans = [option.plan for option in options if option.plan is not None]
    if not plans:
        last = options[-1]
        message = f"{ppi.position}: PPI '{ppi.id}' cannot be released: {last.reason}"
        raise NotReleasable(message, hint=last.hint)
    return min(plans, key=lambda plan: _rank(plan, request))


def _rank(plan: Plan, request: Request) -> tuple[bool, float]:
    """What a plan is chosen by, whatever its target and forecast: they change no query.

    By its error; but of one function, an interval that tells something comes first.
    """
    aimless, cases = replace(request.ppi, target=None), request.planned_cases
    (first, *others) = plan.measurements
    tells = first.mechanism.interval_tells(request.cases_for_intervals)
    silent = not others and not tells
    return silent, predicted_error(aimless, plan.measurements, cases)


def plan_options(ppi: Ppi, epsilon: Epsilon, log: PublicLog) -> Iterator[ReleaseOption]:
    """Every admissible set of the PPI with its mechanisms, or the reason there is no plan.

    Sets with a formula that no mechanism answers are left out, but for the PPI itself.
    """
    request = Request(ppi, log)
    yield from _allowed_options(request, epsilon)
    yield from _others(request, epsilon)


def _allowed_options(request: Request, epsilon: Epsilon) -> Iterator[ReleaseOption]:
    ppi = request.ppi
    root = _with_whole_ratios(composition_tree(ppi.measure))
    try:
        _refuse_idle_settings(ppi)
        if ppi.release.noise and not _whole(request):
            yield from _asked(root, request, epsilon)
            return
    except NotReleasable as refusal:
        yield ReleaseOption((ROOT,), None, refusal.message, refusal.hint)
        return
    yield from islice(_options(root, request, epsilon), MOST_OPTIONS)


def _others(request: Request, epsilon: Epsilon) -> Iterator[ReleaseOption]:
    """What else the PPI could ask for, if it names no choice."""
    if not request.ppi.release.is_free:
        return
    root = _with_whole_ratios(composition_tree(request.ppi.measure))
    for mechanism in on_request():
        ppi = replace(request.ppi, release=ReleaseChoice(mechanism=mechanism))
        for option in _options(root, replace(request, ppi=ppi), epsilon):
            if option.plan is not None and option.plan.mechanism == mechanism:
                yield replace(option, on_request=True)


def _options(root: Inner, request: Request, epsilon: Epsilon) -> Iterator[ReleaseOption]:
    if not _can_cut(root, request):
        yield ReleaseOption((root.path,), None, NO_BOUND, UNBOUNDED)
    planned, sets = 0, admissible_sets(root, lambda node: _can_cut(node, request))
    for chosen in [(root,)] if _whole(request) else islice(sets, MOST_OPTIONS):
        if planned > MOST_PARTS:
            return
        planned += len(chosen)
        yield from _options_of(chosen, request, epsilon)


def _options_of(
    chosen: AdmissibleSet, request: Request, epsilon: Epsilon
) -> Iterator[ReleaseOption]:
    paths = tuple(node.path for node in chosen)
    try:
        for plan in _plans(chosen, request, epsilon):
            yield ReleaseOption(paths, plan)
    except (NotReleasable, UsageError) as refusal:
        yield ReleaseOption(paths, None, refusal.message, refusal.hint)


def _whole(request: Request) -> bool:
    """Whether the PPI can only be answered as a whole, whatever it is."""
    return request.verdict_only or request.ppi.release.mechanism == SAMPLED


# --- where the value lies, by what was released ---------------------------------------


def interval_of(
    plan: Plan, released: Mapping[str, Outcome], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """From each function's interval at a confidence that leaves this one for them together."""
    level = 1 - (1 - confidence) / len(plan.measurements)
    ranges = {p.path: p.mechanism.interval(released[p.path], level) for p in plan.measurements}
    return within_range(plan, ranges)


def open_interval_of(
    plan: Plan,
    released: Mapping[str, Outcome],
    closed: Range,
    vocabulary: Vocabulary | None = None,
) -> Range:
    """An interval of cases as they are: open where bounds may cut, and nothing counts how many.

    `closed` is that of clipped cases. It is enough where the cases beyond the bounds are counted,
    where nobody wants that, and where nothing is cut.
    """
    inputs = (measure for part in plan.measurements for measure in own_inputs(plan.ppi, part))
    is_cut = any(any(sides_cut(measure, vocabulary)) for measure in inputs)
    if plan.tells_beyond or not plan.ppi.release.clipping or not is_cut:
        return closed
    level = 1 - (1 - CONFIDENCE) / len(plan.measurements)
    ranges = {p.path: p.mechanism.interval(released[p.path], level) for p in plan.measurements}
    opened = {
        part.path: _opened(plan.ppi, part, ranges[part.path], vocabulary)
        for part in plan.measurements
    }
    return within_range(plan, opened)


def _opened(ppi: Ppi, part: Measurement, ends: Range, vocabulary: Vocabulary | None) -> Range:
    inputs = own_inputs(ppi, part)
    sides = [sides_hidden(ppi, measure, ends, vocabulary) for measure in inputs]
    if len(sides) == 1:
        ((below, above),) = sides
        return (-math.inf if below else ends[0]), (math.inf if above else ends[1])
    # Of a ratio of two sums, that are never negative; where the whole is cut, it may be anything.
    (below, above), *others = sides
    least, most = part.mechanism.output_range
    if below or any(map(any, others)):
        return least, most
    if not above:
        return ends
    return (ends[0], most) if least >= 0 else (least, ends[1])


def own_inputs(ppi: Ppi, part: Measurement) -> tuple[AggregatedMeasure, ...]:
    """Those that a PPI is about; a draw may answer others as well."""
    return (ppi.measure,) if isinstance(ppi.measure, AggregatedMeasure) else part.inputs


def within_range(plan: Plan, ranges: Mapping[str, Range]) -> Range:
    """Of the PPI, from that of each function: cut to the range declared for it."""
    low, high = range_above(plan.ppi.measure, ranges)
    if plan.ppi.value_range is None:
        return low, high
    least, most = float(plan.ppi.value_range.low), float(plan.ppi.value_range.high)
    return min(max(low, least), most), min(max(high, least), most)


# --- the set that is asked for --------------------------------------------------------


def _asked(root: Inner, request: Request, epsilon: Epsilon) -> Iterator[ReleaseOption]:
    """The plans of the one set whose functions are named."""
    own = _own(root, request.ppi)
    chosen = tuple(node for node in functions(root) if node.path in own)
    # Too many are refused with their plan, without comparing each with every leaf.
    all_exist = len(chosen) == len(own)
    if not all_exist or not (len(chosen) > MOST_FUNCTIONS or _is_admissible(chosen, root)):
        names = " and ".join(choice.function for choice in request.ppi.release.noise)
        raise NotReleasable(
            f"'{names}' is not an admissible set", hint=_sets_hint(root, request, epsilon)
        )
    yield from _options_of(chosen, replace(request, own=own), epsilon)


def _own(root: Inner, ppi: Ppi) -> dict[str, NoiseOn]:
    """The wishes for single functions by their paths."""
    paths = {node.path for node in functions(root)}
    own: dict[str, NoiseOn] = {}
    for choice in ppi.release.noise:
        path = _path(choice.function, ppi.id, paths)
        if path in own:
            raise NotReleasable(
                f"'{function_name(path)}' is named twice as a function that carries noise",
                hint="name it once",
            )
        own[path] = choice
    return own


def _path(name: str, ppi: str, paths: Collection[str]) -> str:
    """Where a function stands that is called `a`, or with the PPI's id before it, `rejected.a`."""
    if name == VALUE:
        return ROOT
    below = ROOT if name == ppi else f"{ROOT}.{name.removeprefix(f'{ppi}.')}"
    named = f"{ROOT}.{name}"
    return next((path for path in (named, below, name) if path in paths), named)


def _is_admissible(chosen: AdmissibleSet, root: Inner) -> bool:
    """Whether one chosen function, and only one, stands above everything that reads a trace."""
    above = [node.path + "." for node in chosen]
    return all(sum(leaf.path.startswith(path) for path in above) == 1 for leaf in leaves(root))


def _sets_hint(root: Inner, request: Request, epsilon: Epsilon) -> str:
    """The sets that can be asked for instead: all that is listed has been tried."""
    if listed := _sets_with_plans(root, request, epsilon):
        return f"the admissible sets are: {listed}"
    free = replace(request.ppi, release=replace(request.ppi.release, mechanism=None))
    if listed := _sets_with_plans(root, replace(request, ppi=free), epsilon):
        return f"leave out the mechanism; the admissible sets are then: {listed}"
    return "leave out 'noise'"


def _sets_with_plans(root: Inner, request: Request, epsilon: Epsilon) -> str:
    sets = islice(admissible_sets(root, lambda node: _can_cut(node, request)), _SHOWN_SETS)
    return ", ".join(
        " + ".join(function_name(node.path) for node in chosen)
        for chosen in sets
        if len(chosen) <= MOST_FUNCTIONS and _is_answered(chosen, request, epsilon)
    )


def _is_answered(chosen: AdmissibleSet, request: Request, epsilon: Epsilon) -> bool:
    """Whether there is a plan, however good."""
    equally = [Fraction(1, len(chosen))] * len(chosen)
    whole = epsilon.fraction / request.stability
    try:
        measurements = _best_measurements(chosen, equally, whole, request)
        _refuse_unanswered(chosen, measurements, request)
    except (NotReleasable, UsageError):
        return False
    return True


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
    return is_part_of_whole(node.measure) or request.ppi.release.mechanism in (
        None,
        *names_for(RATIO),
    )


# --- the plans of one admissible set --------------------------------------------------


def _plans(chosen: AdmissibleSet, request: Request, epsilon: Epsilon) -> Iterator[Plan]:
    """One plan per mechanism of a single function; for several, the best of each."""
    if len(chosen) > MOST_FUNCTIONS:
        raise NotReleasable(
            f"it splits one epsilon between {len(chosen)} functions; the limit is {MOST_FUNCTIONS}",
            hint="split it into several PPIs, or use fewer variables",
        )
    whole = epsilon.fraction / request.stability
    given = [request.share(node.path) for node in chosen]
    if len(chosen) == 1:
        share = given[0] or Fraction(1)
        for measurement in measurements_of(chosen[0], whole * share, request):
            yield _plan(chosen, (replace(measurement, share=share),), request, epsilon)
        return
    plans = [
        _plan(chosen, _best_measurements(chosen, shares, whole, request), request, epsilon)
        for shares in _splits(chosen, given, whole, request)
    ]
    yield min(plans, key=lambda plan: _rank(plan, request))


def _splits(
    chosen: AdmissibleSet, given: Sequence[Fraction | None], whole: Fraction, request: Request
) -> Iterator[Sequence[Fraction]]:
    """What the given shares leave, divided evenly; and by how much each function weighs."""
    equally = [Fraction(1, len(chosen))] * len(chosen)
    yield _filled(given, equally)
    if given.count(None) < 2:
        return
    measurements = _best_measurements(chosen, equally, whole, request)
    _refuse_unlike_groups(measurements)
    errors = contributions(request.ppi, measurements, request.planned_cases)
    due = iter(best_split([e for e, share in zip(errors, given, strict=True) if share is None]))
    yield _filled(given, [next(due) if share is None else share for share in given])


def _filled(
    given: Sequence[Fraction | None], otherwise: Sequence[Fraction]
) -> tuple[Fraction, ...]:
    """The given shares; what they leave is divided in proportion to the other ones."""
    left = 1 - sum(share for share in given if share is not None)
    pairs = list(zip(given, otherwise, strict=True))
    weights = sum(other for share, other in pairs if share is None)
    if left < 0 or (left == 0 and weights):
        raise NotReleasable(
            "the shares of epsilon add up to more than is available for its functions",
            hint="make them smaller",
        )
    return tuple(left * other / weights if share is None else share for share, other in pairs)


def _best_measurements(
    chosen: AdmissibleSet, shares: Sequence[Fraction], whole: Fraction, request: Request
) -> tuple[Measurement, ...]:
    cases = request.planned_cases
    best = (
        min(
            measurements_of(node, whole * share, request),
            key=lambda measurement: measurement.mechanism.predicted_error(cases, None),
        )
        for node, share in zip(chosen, shares, strict=True)
    )
    return tuple(
        replace(measurement, share=share) for measurement, share in zip(best, shares, strict=True)
    )


def _plan(
    chosen: AdmissibleSet, measurements: tuple[Measurement, ...], request: Request, epsilon: Epsilon
) -> Plan:
    _refuse_unanswered(chosen, measurements, request)
    expected = expected_cases(request.log, request.ppi)
    return plan_derived(request.ppi, epsilon, measurements, expected)


def plan_derived(
    ppi: Ppi, epsilon: Epsilon, measurements: Sequence[Measurement], expected: ExpectedCases
) -> Plan:
    """How a PPI is read off releases on record, whose ε add up to this in a block."""
    error = predicted_error(ppi, measurements, expected.cases)
    return Plan(ppi, epsilon, tuple(measurements), error, expected)


def _refuse_unanswered(
    chosen: AdmissibleSet, measurements: Sequence[Measurement], request: Request
) -> None:
    """What no part alone can tell."""
    _refuse_unlike_groups(measurements)
    refuse_foregone_verdict(request.ppi)
    wanted = request.ppi.release.mechanism
    if wanted in (None, THRESHOLD) or request.verdict_only:
        return
    # A wish for a mechanism that answers none of the functions is a mistake, not a hint.
    if wanted not in {measurement.mechanism.name for measurement in measurements}:
        reasons = dict.fromkeys(why_not(wanted, node, request) for node in chosen)
        raise NotReleasable("; ".join(reasons), hint="leave out the mechanism to get the best one")


def _refuse_unlike_groups(measurements: Sequence[Measurement]) -> None:
    inputs = (measure for measurement in measurements for measure in measurement.inputs)
    if len({measure.grouping for measure in inputs}) > 1:
        raise NotReleasable(
            "its aggregated measures are grouped differently",
            hint="give each of them the same 'by'",
        )


def _refuse_idle_settings(ppi: Ppi) -> None:
    choice = ppi.release
    named = {choice.mechanism, *(function.mechanism for function in choice.noise)}
    for setting, value, mechanism in (
        ("falloff", choice.falloff, THRESHOLD),
        ("buckets", choice.buckets, SAMPLED),
    ):
        if value is not None and mechanism not in named:
            raise NotReleasable(
                f"{setting} only works with the mechanism {mechanism}",
                hint=f"write mechanism: {mechanism}, or remove {setting}",
            )
    whole = choice.answer is Wanted.VERDICT or choice.mechanism == SAMPLED
    if whole and choice.noise not in ((), *((NoiseOn(name),) for name in (VALUE, ppi.id, ROOT))):
        raise NotReleasable(
            "a verdict, like sample-and-aggregate, is about the whole value",
            hint="remove 'noise'",
        )
    if choice.answer is Wanted.VERDICT and choice.mechanism not in (None, THRESHOLD):
        raise NotReleasable(
            f"only the mechanism {THRESHOLD} releases a verdict without a value",
            hint="leave out the mechanism",
        )
