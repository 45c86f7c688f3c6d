"""Every problem of a catalogue against the public vocabulary of a log.

Nothing here looks at data: a refusal depends on the definition and on what the
owner declared, and suggestions come from declared names only. Without a
vocabulary, attributes and activities are taken on trust; so are mechanisms,
without the names of those there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.expressions import (
    NOWHERE,
    TRANSITION_ATTRIBUTE,
    Binary,
    Expression,
    Name,
    OneOf,
    Operator,
    TextLiteral,
    children,
    kind_of,
    mismatch_hint,
    names_in,
    walk,
    with_article,
)
from pappi.ppinot.model import (
    EVENT_NAMES,
    AggregatedMeasure,
    Aggregation,
    Catalogue,
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    EventCondition,
    EventSequence,
    Missing,
    Moment,
    MultiInstance,
    NoiseOn,
    Pick,
    Ppi,
    ReleaseChoice,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
    Wanted,
    measure_kind,
    time_problem,
    variable_kinds,
)
from pappi.ppinot.tree import aggregated_measures
from pappi.ppinot.views import (
    Between,
    Change,
    Rolling,
    ToDate,
    fits_to_date,
    has_year_ago,
    periods_rolled,
)
from pappi.values import (
    CONTROL,
    DURATIONS,
    CaseBorder,
    Grid,
    Kind,
    Vocabulary,
    did_you_mean,
    listed,
    quoted,
)

MAX_PROBLEMS = 200

ACTIVITY = "activity"
_NO_TRANSITIONS = (
    "the log records no transitions: ask for the activity alone; convert other notations with "
    "--no-lifecycle"
)
_AGGREGATED = (Kind.NUMBER, Kind.DURATION, Kind.TRUTH)
_EQUALITY = (Operator.EQUAL, Operator.UNEQUAL)
# A name stands in every table and chart of its PPI, other words beside it.
_LONGEST_NAME = 500
_LONGEST_WORDS = 5_000


def check_catalogue(
    catalogue: Catalogue,
    vocabulary: Vocabulary | None,
    mechanisms: Collection[str] | None = None,
) -> list[Problem]:
    """What is wrong with a catalogue, in the order it is written; the first 200 problems."""
    checker = _Checker(vocabulary, mechanisms)
    problems = (problem for ppi in catalogue.ppis for problem in checker.ppi(ppi))
    return list(islice(problems, MAX_PROBLEMS))


def require_sound(
    catalogue: Catalogue, vocabulary: Vocabulary, mechanisms: Collection[str]
) -> None:
    """Nothing, or a DefinitionError with every error of the catalogue."""
    problems = check_catalogue(catalogue, vocabulary, mechanisms)
    errors = [problem for problem in problems if problem.level == "error"]
    if errors:
        raise DefinitionError(errors)


class _Checker:
    def __init__(self, vocabulary: Vocabulary | None, mechanisms: Collection[str] | None) -> None:
        self._vocabulary = vocabulary
        self._mechanisms = mechanisms
        # What every event has comes last: no attribute may change what it means.
        declared = vocabulary.attributes if vocabulary is not None else {}
        self._names: dict[str, Kind | None] = {**declared, **EVENT_NAMES}

    # --- PPIs and measures of many cases ----------------------------------------------

    def ppi(self, ppi: Ppi) -> Iterator[Problem]:
        yield from _length_problems(ppi)
        problems = list(self._multi(ppi.measure))
        yield from problems or self._shown(ppi)
        if isinstance(ppi.measure, AggregatedMeasure) and ppi.measure.within is not None:
            message = "'within' names another variable of a formula, but there is no formula here"
            yield Problem(ppi.position, message, "remove it, or derive the ratio of the two")
        if ppi.scope.cases is not None:
            need = "a scope chooses cases by"
            yield from self._chosen_by(ppi.scope.cases, need, ppi.position)
        if ppi.scope.anchor is not None:
            yield from self._moment(ppi.scope.anchor.moment)
        yield from _target_problems(ppi)
        yield from _distribution_problems(ppi)
        yield from _share_problems(ppi)
        yield from _view_problems(ppi)
        yield from self._unknown_mechanisms(ppi)
        if len({measure.grouping for _, measure in aggregated_measures(ppi.measure)}) > 1:
            message = "all measures of a formula must be grouped alike"
            yield Problem(ppi.position, message, "give each of them the same 'by'")

    def _unknown_mechanisms(self, ppi: Ppi) -> Iterator[Problem]:
        known = self._mechanisms
        choices: tuple[ReleaseChoice | NoiseOn, ...] = (ppi.release, *ppi.release.noise)
        for choice in choices:
            name = choice.mechanism
            if name is not None and known is not None and name not in known:
                hint = did_you_mean(name, known, f"the mechanisms are {listed(known, 'and')}")
                place = ppi.position if choice.position is NOWHERE else choice.position
                yield Problem(place, f"there is no mechanism {quoted(name)}", hint)

    def _chosen_by(
        self, condition: SingleInstance, need: str, position: Position
    ) -> Iterator[Problem]:
        yield from self._single(condition)
        yield from _border_problems(condition, position)
        yield from self._has_kind(condition, (Kind.TRUTH,), need, position)

    def _shown(self, ppi: Ppi) -> Iterator[Problem]:
        """The unit was chosen before the vocabulary was known; does it fit?"""
        kind = measure_kind(ppi.measure, self._vocabulary)
        in_time = DURATIONS.get(ppi.unit.name) == ppi.unit.factor
        if kind is Kind.DURATION and not in_time:
            yield _unsaid_duration(ppi)
        elif kind is Kind.NUMBER and in_time and ppi.unit.name != "microseconds":
            message = "the value is a number, but its bounds are durations"
            yield Problem(ppi.position, message, "write plain numbers")

    def _multi(self, measure: MultiInstance) -> Iterator[Problem]:
        if isinstance(measure, AggregatedMeasure):
            yield from self._aggregated(measure)
            return
        for _, variable in measure.variables:
            yield from self._multi(variable)
        allowed = (Kind.NUMBER, Kind.DURATION)
        yield from self._formula(measure, allowed, "the value of a PPI has to be")

    def _aggregated(self, measure: AggregatedMeasure) -> Iterator[Problem]:
        yield from self._single(measure.base)
        yield from _border_problems(measure.base, measure.position)
        if measure.function is not Aggregation.COUNT:
            allowed = (Kind.TRUTH,) if measure.function is Aggregation.SHARE else _AGGREGATED
            need = f"'{measure.function}' needs"
            yield from self._has_kind(measure.base, allowed, need, measure.position)
        if measure.filter is not None:
            need = "the cases are chosen by"
            yield from self._chosen_by(measure.filter, need, measure.position)
        if measure.grouping is not None:
            by = measure.grouping.by
            yield from self._data(by)
            yield from self._has_kind(by, (Kind.TEXT,), "cases are grouped by", by.position)
            if by.attribute == ACTIVITY:
                yield from self._known((key, by.position) for key in measure.grouping.keys)
            if any(map(CONTROL.search, measure.grouping.keys)):
                yield Problem(by.position, "a group key contains a control character")

    def _has_kind(
        self, measure: SingleInstance, allowed: tuple[Kind, ...], need: str, position: Position
    ) -> Iterator[Problem]:
        kind = measure_kind(measure, self._vocabulary)
        if kind is None or kind in allowed:
            return
        wanted = " or ".join(map(with_article, allowed))
        hint = ""
        if kind is Kind.TEXT:
            hint = "text can be compared or grouped by, but not used as a number"
        elif allowed == (Kind.TRUTH,):
            hint = "compare it with something: {derive: x > 0, x: …}"
        place = measure.position if isinstance(measure, DataMeasure) else position
        yield Problem(place, f"{need} {wanted}, but this is {with_article(kind)}", hint)

    # --- measures of one case ---------------------------------------------------------

    def _single(self, measure: SingleInstance) -> Iterator[Problem]:
        match measure:
            case CountMeasure() | ConditionMeasure():
                yield from self._condition(measure.when)
            case TimeMeasure():
                yield from self._moment(measure.start)
                yield from self._moment(measure.end)
                yield from self._holds(measure.running)
            case DataMeasure():
                yield from self._data(measure)
            case StateMeasure():
                yield from self._holds(measure.of)
                yield from self._holds(measure.holds)
            case DerivedSingleInstance():
                for _, variable in measure.variables:
                    yield from self._single(variable)
                is_truth = measure.missing in (Missing.TRUE, Missing.FALSE)
                allowed = (Kind.TRUTH,) if is_truth else None
                need = f"with 'missing: {measure.missing}' a formula has to be"
                yield from self._formula(measure, allowed, need)

    def _data(self, measure: DataMeasure) -> Iterator[Problem]:
        if self._vocabulary is not None and measure.attribute not in self._names:
            yield _undeclared("attribute", measure.attribute, self._names, measure.position)
        if measure.when is not None:
            yield from self._condition(measure.when)

    def _formula(
        self,
        measure: DerivedSingleInstance | DerivedMultiInstance,
        allowed: tuple[Kind, ...] | None,
        need: str,
    ) -> Iterator[Problem]:
        names = variable_kinds(measure, self._vocabulary)
        kind, problems = kind_of(measure.formula, names, "variable")
        yield from problems
        activities = {
            name
            for name, inner in measure.variables
            if isinstance(inner, DataMeasure) and inner.attribute == ACTIVITY
        }
        yield from self._activities(measure.formula, activities)
        if allowed is None or kind is None or kind in allowed:
            return
        wanted = " or ".join(map(with_article, allowed))
        message = f"{need} {wanted}, but this formula gives {with_article(kind)}"
        yield Problem(measure.formula.position, message, mismatch_hint(kind, allowed[0]))

    # --- conditions on events ---------------------------------------------------------

    def _moment(self, moment: Moment) -> Iterator[Problem]:
        if not isinstance(moment, CaseBorder):
            yield from self._condition(moment)

    def _condition(self, condition: EventCondition) -> Iterator[Problem]:
        if isinstance(condition, EventSequence):
            yield from self._condition(condition.first)
            yield from self._condition(condition.then)
            return
        yield from self._holds(condition.condition)
        yield from self._holds(condition.among)

    def _holds(self, expression: Expression | None) -> Iterator[Problem]:
        """What is wrong with an expression that has to be true or false at an event."""
        if expression is None:
            return
        names = self._names
        if self._vocabulary is None:
            names = dict.fromkeys(names_in(expression), None) | names
        kind, problems = kind_of(expression, names, "attribute")
        yield from (self._explained(problem, expression) for problem in problems)
        if kind is not None and kind is not Kind.TRUTH:
            message = f"a condition is true or false, and this is {with_article(kind)}"
            yield Problem(expression.position, message, 'as in activity == "Pay claim"')
        yield from self._activities(expression, {ACTIVITY})

    def _explained(self, problem: Problem, expression: Expression) -> Problem:
        """An activity written as if it were an attribute gets a better hint."""
        activities = self._vocabulary.activities if self._vocabulary else ()
        for node in walk(expression):
            if not isinstance(node, Name):
                continue
            if node.position == problem.position and node.name in activities:
                return replace(problem, hint=f'write activity == "{node.name}"')
            if node.name == TRANSITION_ATTRIBUTE and TRANSITION_ATTRIBUTE not in self._names:
                return replace(problem, hint=_NO_TRANSITIONS)
        return problem

    def _activities(self, expression: Expression, names: Collection[str]) -> Iterator[Problem]:
        """Names are those that mean the activity of an event there."""
        for node in walk(expression):
            is_equality = isinstance(node, Binary) and node.operator in _EQUALITY
            compared = children(node) if is_equality or isinstance(node, OneOf) else ()
            if any(isinstance(operand, Name) and operand.name in names for operand in compared):
                texts = (operand for operand in compared if isinstance(operand, TextLiteral))
                yield from self._known((text.value, text.position) for text in texts)

    def _known(self, activities: Iterable[tuple[str, Position]]) -> Iterator[Problem]:
        if self._vocabulary is None:
            return
        declared = self._vocabulary.activities
        for name, position in activities:
            if name not in declared:
                yield _undeclared("activity", name, declared, position)


def _undeclared(what: str, name: str, declared: Iterable[str], position: Position) -> Problem:
    hint = did_you_mean(name, declared, f"the log declares {listed(declared, 'and')}")
    return Problem(position, f"unknown {what} {quoted(name)}", hint)


def _border_problems(measure: SingleInstance, position: Position) -> Iterator[Problem]:
    """A case starts and ends once: not after its end, not before its start, and not in cycles."""
    if isinstance(measure, DerivedSingleInstance):
        for _, variable in measure.variables:
            yield from _border_problems(variable, position)
    if not isinstance(measure, TimeMeasure):
        return
    start, end = measure.start, measure.end
    message, hint = time_problem(start, end, measure.cycles, measure.running)
    if message:
        yield Problem(position, message, hint)
    elif (start is CaseBorder.START and measure.start_pick is Pick.LAST) or (
        end is CaseBorder.END and measure.end_pick is Pick.FIRST
    ):
        message = "a case has one start and one end, so 'first' and 'last' do not apply"
        yield Problem(position, message, "leave out 'first' or 'last'")


def _distribution_problems(ppi: Ppi) -> Iterator[Problem]:
    """A distribution is many numbers: no formula can use it, and no target judge it."""
    every = [measure for _, measure in aggregated_measures(ppi.measure)]
    if all(measure.function is not Aggregation.DISTRIBUTION for measure in every):
        return
    if not isinstance(ppi.measure, AggregatedMeasure):
        message = "a formula needs single numbers, but a distribution is many"
        yield Problem(ppi.position, message, "use the median, a percentile or a share in it")
    elif ppi.target is not None or ppi.group_targets:
        message = "a target is for one number, but a distribution is many"
        hint = "give the target to a median, percentile or share of the same measure"
        yield Problem(ppi.position, message, f"{hint}: read off the same release, it costs nothing")


_ADD_UP = (Aggregation.MEAN, Aggregation.SUM, Aggregation.SHARE, Aggregation.COUNT)


def _view_problems(ppi: Ppi) -> Iterator[Problem]:
    """What is shown must follow from figures of periods, or of groups, that there are."""
    view, grid = ppi.show, ppi.scope.grid
    if view is None:
        return
    message, hint = "", ""
    if ppi.release.answer is Wanted.VERDICT:
        message, hint = "a verdict alone has no figures to show", "leave out 'answer: verdict'"
    elif isinstance(view, Between):
        message, hint = _between_problem(ppi, view)
    elif grid is None:
        message, hint = f"'{view}' needs periods", "write e.g. scope: every month"
    elif isinstance(view, Rolling):
        message, hint = _rolling_problem(view, grid)
    elif isinstance(view, ToDate) and not fits_to_date(view, grid):
        message = f"'{view}' cannot be made up of the periods of '{grid}'"
        hint = "write e.g. scope: every month"
    elif isinstance(view, Change) and not has_year_ago(view, grid):
        message = f"'{grid}' has no matching period last year"
        hint = "use every day, week, month, quarter or year"
    functions = [measure for _, measure in aggregated_measures(ppi.measure)]
    adds_up = all(measure.function in _ADD_UP for measure in functions)
    if not message and isinstance(view, Rolling | ToDate) and not adds_up:
        message = f"'{view}' cannot be shown for minima, maxima or percentiles"
        hint = "they do not follow from those of each period; ask for longer periods"
    if message:
        yield Problem(ppi.position, message, hint)


def _between_problem(ppi: Ppi, view: Between) -> tuple[str, str]:
    groupings = (measure.grouping for _, measure in aggregated_measures(ppi.measure))
    keys = list(dict.fromkeys(key for by in groupings if by for key in by.keys))
    known = f"the groups are {listed(keys, 'and')}" if keys else "group it by an attribute: by: …"
    for key in (view.first, view.second):
        if key not in keys:
            return f"there is no group {quoted(key)} to compare", did_you_mean(key, keys, known)
    if view.first == view.second:
        return "a group is compared with itself", known
    if ppi.group_targets:
        return "a comparison of groups takes one target, for both", "write one target"
    return "", ""


def _rolling_problem(view: Rolling, grid: Grid) -> tuple[str, str]:
    periods = periods_rolled(view, grid)
    if periods is None:
        message = f"'{view}' is not a whole number of the periods of '{grid}'"
        return message, "say how many periods: rolling 3 periods"
    if periods < 2:
        return f"'{view}' covers one period alone", "take at least two"
    return "", ""


def _length_problems(ppi: Ppi) -> Iterator[Problem]:
    """Whoever looks at an indicator is shown its words; nobody reads a book there."""
    written = {
        "name": ((ppi.name,), _LONGEST_NAME),
        "unit": ((ppi.unit.name,), _LONGEST_NAME),
        "process": ((ppi.process,), _LONGEST_WORDS),
        "goals": (ppi.goals, _LONGEST_WORDS),
        "responsible": ((ppi.responsible,), _LONGEST_WORDS),
        "informed": (ppi.informed, _LONGEST_WORDS),
        "comments": ((ppi.comments,), _LONGEST_WORDS),
    }
    for what, (texts, most) in written.items():
        length = sum(map(len, texts))
        if length > most:
            message = f"{quoted(what)} has {length:,} characters, but may have at most {most:,}"
            yield Problem(ppi.position, message, "shorten it")


def _unsaid_duration(ppi: Ppi) -> Problem:
    """Only the log tells that it is one: what is written is the unit of its bounds, if they are."""
    if isinstance(ppi.measure, AggregatedMeasure):
        limits, example = ppi.measure.bounds, "[0 hours, 24 hours]"
    else:
        limits, example = ppi.value_range, "{value: [0 hours, 24 hours]}"
    if limits is not None:
        message = "the value is a duration, but its bounds are plain numbers"
        return Problem(ppi.position, message, "write them with a unit of time, as in 24 hours")
    message = "in this log the value is a duration, but no bounds give a unit of time"
    return Problem(ppi.position, message, f"add bounds with a unit of time, as in {example}")


def _share_problems(ppi: Ppi) -> Iterator[Problem]:
    shares = [noise.share for noise in ppi.release.noise if noise.share is not None]
    total = sum(shares)
    if total > 1:
        message = f"the shares of epsilon add up to {float(total):g}, but may add up to 1 at most"
        yield Problem(ppi.position, message, "make them smaller")
    elif total == 1 and len(shares) < len(ppi.release.noise):
        message = "the shares of epsilon leave nothing for the functions without one"
        yield Problem(ppi.position, message, "make them smaller")


def _target_problems(ppi: Ppi) -> Iterator[Problem]:
    own = [(group.target, group.tolerated) for group in ppi.group_targets]
    for target, tolerated in ((ppi.target, ppi.tolerated), *own):
        if target is not None and tolerated is not None and not tolerated.contains(target):
            message = "the tolerated range must include all of the target"
            yield Problem(ppi.position, message, "make it wider than the target")
    groupings = (measure.grouping for _, measure in aggregated_measures(ppi.measure))
    keys = dict.fromkeys(key for by in groupings if by for key in by.keys)
    for group in ppi.group_targets:
        if group.key not in keys:
            known = f"the groups are {listed(keys, 'and')}" if keys else "it has no groups"
            message = f"there is a target for {quoted(group.key)}, which is not a group"
            yield Problem(ppi.position, message, known)
