"""Every problem of a catalogue against the public vocabulary of a log.

Nothing here looks at data: a refusal depends on the definition and on what the
owner declared, and suggestions come from declared names only. Without a
vocabulary, attributes and activities are taken on trust.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.expressions.kinds import kind_of, mismatch_hint, with_article
from pappi.ppinot.expressions.nodes import Binary, Expression, Name, OneOf, Operator, Text
from pappi.ppinot.expressions.walk import children, names_in, walk
from pappi.ppinot.measures import (
    EVENT_NAMES,
    is_total,
    measure_kind,
    variable_kinds,
)
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    CaseBorder,
    Catalogue,
    ConditionMeasure,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    EventCondition,
    Grouping,
    Missing,
    Moment,
    MultiInstance,
    Pick,
    Ppi,
    Sequence,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
)
from pappi.ppinot.wording import CONTROL, did_you_mean, listed, quoted
from pappi.values.units import DURATIONS
from pappi.values.vocabulary import Kind, Vocabulary

__all__ = ["check_catalogue", "is_total", "measure_kind", "require_sound"]

MAX_PROBLEMS = 200

ACTIVITY = "activity"
TRANSITION = "lifecycle:transition"
_NO_TRANSITIONS = (
    "the log records no transitions: ask for the activity alone; convert other notations with "
    "--no-lifecycle"
)
_AGGREGATED = (Kind.NUMBER, Kind.DURATION, Kind.TRUTH)
# A name stands in every table and chart of its PPI, other words beside it.
_LONGEST_NAME = 500
_LONGEST_WORDS = 5_000


def check_catalogue(catalogue: Catalogue, vocabulary: Vocabulary | None) -> list[Problem]:
    """What is wrong with a catalogue, in the order it is written; the first 200 problems."""
    checker = _Checker(vocabulary)
    found = (problem for ppi in catalogue.ppis for problem in checker.ppi(ppi))
    return list(islice(found, MAX_PROBLEMS))


def require_sound(catalogue: Catalogue, vocabulary: Vocabulary) -> None:
    """Nothing, or a DefinitionError with every error of the catalogue."""
    errors = [each for each in check_catalogue(catalogue, vocabulary) if each.level == "error"]
    if errors:
        raise DefinitionError(errors)


class _Checker:
    def __init__(self, vocabulary: Vocabulary | None) -> None:
        self._vocabulary = vocabulary
        # What every event has comes last: no attribute may change what it means.
        declared = vocabulary.attributes if vocabulary is not None else {}
        self._names: dict[str, Kind | None] = {**declared, **EVENT_NAMES}

    # --- PPIs and measures of many cases ----------------------------------------------

    def ppi(self, ppi: Ppi) -> Iterator[Problem]:
        yield from _length_problems(ppi)
        problems = list(self._multi(ppi.measure))
        yield from problems
        if not problems:
            yield from self._shown(ppi)
        if isinstance(ppi.measure, AggregatedMeasure) and ppi.measure.within is not None:
            message = "'within' names another variable of a formula, and here is no formula"
            yield Problem(ppi.position, message, "remove it, or derive the ratio of the two")
        yield from self._scope(ppi)
        yield from _target_problems(ppi)
        yield from _share_problems(ppi)
        if len(set(_groupings(ppi.measure))) > 1:
            message = "all measures of a formula must be grouped alike"
            yield Problem(ppi.position, message, "give each of them the same 'by'")

    def _scope(self, ppi: Ppi) -> Iterator[Problem]:
        scope = ppi.scope
        if scope.cases is not None:
            yield from self._single(scope.cases)
            yield from _border_problems(scope.cases, ppi.position)
            need = "a scope chooses cases by"
            yield from self._has_kind(scope.cases, (Kind.TRUTH,), need, ppi.position)
        if scope.anchor is not None:
            yield from self._moment(scope.anchor.moment)

    def _shown(self, ppi: Ppi) -> Iterator[Problem]:
        """The unit was chosen before the vocabulary was known; does it fit?"""
        kind = measure_kind(ppi.measure, self._vocabulary)
        in_time = DURATIONS.get(ppi.unit.name) == ppi.unit.factor
        if kind is Kind.DURATION and not in_time:
            yield _unsaid_duration(ppi)
        elif kind is Kind.NUMBER and in_time and ppi.unit.name != "microseconds":
            message = "the value is a number, and its bounds are written as durations"
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
            yield from self._single(measure.filter)
            yield from _border_problems(measure.filter, measure.position)
            need = "the cases are chosen by"
            yield from self._has_kind(measure.filter, (Kind.TRUTH,), need, measure.position)
        if measure.grouping is not None:
            by = measure.grouping.by
            yield from self._data(by)
            yield from self._has_kind(by, (Kind.TEXT,), "cases are grouped by", by.position)
            if by.attribute == ACTIVITY:
                yield from self._known((key, by.position) for key in measure.grouping.keys)
            if any(map(CONTROL.search, measure.grouping.keys)):
                yield Problem(by.position, "a key of the groups holds a control character")

    def _has_kind(
        self, measure: SingleInstance, allowed: tuple[Kind, ...], need: str, position: Position
    ) -> Iterator[Problem]:
        kind = measure_kind(measure, self._vocabulary)
        if kind is None or kind in allowed:
            return
        wanted = " or ".join(map(with_article, allowed))
        hint = ""
        if kind is Kind.TEXT:
            hint = "a text can be compared or grouped by, not counted with"
        elif allowed == (Kind.TRUTH,):
            hint = "compare it with something: {derive: x > 0, x: …}"
        place = measure.position if isinstance(measure, DataMeasure) else position
        yield Problem(place, f"{need} {wanted}, and this is {with_article(kind)}", hint)

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
            yield self._unknown_attribute(measure.attribute, measure.position)
        if measure.when is not None:
            yield from self._condition(measure.when)

    def _unknown_attribute(self, name: str, position: Position) -> Problem:
        known = f"the log declares {listed(self._names, 'and')}"
        hint = did_you_mean(name, self._names, known)
        return Problem(position, f"unknown attribute {quoted(name)}", hint)

    def _formula(
        self,
        measure: DerivedSingleInstance | DerivedMultiInstance,
        allowed: tuple[Kind, ...] | None,
        need: str,
    ) -> Iterator[Problem]:
        names = variable_kinds(measure, self._vocabulary)
        kind, problems = kind_of(measure.formula, names, "variable")
        yield from problems
        activities = {name for name, each in measure.variables if _reads_activity(each)}
        yield from self._activities(measure.formula, activities)
        if allowed is None or kind is None or kind in allowed:
            return
        wanted = " or ".join(map(with_article, allowed))
        message = f"{need} {wanted}, and this formula gives {with_article(kind)}"
        yield Problem(measure.formula.position, message, mismatch_hint(kind, allowed[0]))

    # --- conditions on events ---------------------------------------------------------

    def _moment(self, moment: Moment) -> Iterator[Problem]:
        if not isinstance(moment, CaseBorder):
            yield from self._condition(moment)

    def _condition(self, condition: EventCondition) -> Iterator[Problem]:
        if isinstance(condition, Sequence):
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
            if (
                isinstance(node, Name)
                and node.position == problem.position
                and node.name in activities
            ):
                return replace(problem, hint=f'write activity == "{node.name}"')
            if isinstance(node, Name) and node.name == TRANSITION and TRANSITION not in self._names:
                return replace(problem, hint=_NO_TRANSITIONS)
        return problem

    def _activities(self, expression: Expression, names: Collection[str]) -> Iterator[Problem]:
        """Names are those that mean the activity of an event there."""
        literals = _compared_with(expression, names)
        yield from self._known((text.value, text.position) for text in literals)

    def _known(self, activities: Iterable[tuple[str, Position]]) -> Iterator[Problem]:
        if self._vocabulary is None:
            return
        declared = self._vocabulary.activities
        for name, position in activities:
            if name not in declared:
                known = f"the log declares {listed(declared, 'and')}"
                hint = did_you_mean(name, declared, known)
                yield Problem(position, f"unknown activity {quoted(name)}", hint)


def _border_problems(measure: SingleInstance, position: Position) -> Iterator[Problem]:
    """A case starts and ends once: not after its end, not before its start, and not in cycles."""
    if isinstance(measure, DerivedSingleInstance):
        for _, variable in measure.variables:
            yield from _border_problems(variable, position)
    if not isinstance(measure, TimeMeasure):
        return
    start, end = measure.start, measure.end
    borders = isinstance(start, CaseBorder) or isinstance(end, CaseBorder)
    if start is CaseBorder.END or end is CaseBorder.START:
        message = "nothing is measured from the end of a case or up to its start"
        yield Problem(position, message, "swap the two ends")
    elif borders and measure.cycles is not None:
        message = "a case starts and ends once: it makes no cycles"
        yield Problem(position, message, "name an activity, or measure without cycles")
    elif (start is CaseBorder.START and measure.start_pick is Pick.LAST) or (
        end is CaseBorder.END and measure.end_pick is Pick.FIRST
    ):
        message = "a case has one start and one end: there is no first or last of them"
        yield Problem(position, message, "say it without choosing")


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
            message = f"{quoted(what)} has {length:,} characters, and may have {most:,}"
            yield Problem(ppi.position, message, "shorten it")


def _unsaid_duration(ppi: Ppi) -> Problem:
    """Only the log tells that it is one: what is written is the unit of its bounds, if they are."""
    single = isinstance(ppi.measure, AggregatedMeasure)
    limits = ppi.measure.bounds if isinstance(ppi.measure, AggregatedMeasure) else ppi.value_range
    if limits is not None:
        message = "the value is a duration, and its bounds are written as plain numbers"
        return Problem(ppi.position, message, "write them with a unit of time, as in 24 hours")
    message = "the value is a duration, by the attributes of this log, and no bounds say so"
    written = "[0 hours, 24 hours]" if single else "{value: [0 hours, 24 hours]}"
    return Problem(ppi.position, message, f"add bounds with a unit of time, as in {written}")


def _share_problems(ppi: Ppi) -> Iterator[Problem]:
    shares = [each.share for each in ppi.release.noise if each.share is not None]
    if sum(shares) > 1:
        message = f"the shares of epsilon add up to {float(sum(shares)):g}, and 1 is the most"
        yield Problem(ppi.position, message, "make them smaller")
    elif sum(shares) == 1 and len(shares) < len(ppi.release.noise):
        message = "the shares of epsilon leave nothing for the functions without one"
        yield Problem(ppi.position, message, "make them smaller")


def _target_problems(ppi: Ppi) -> Iterator[Problem]:
    own = [(each.target, each.tolerated) for each in ppi.group_targets]
    for target, tolerated in ((ppi.target, ppi.tolerated), *own):
        if target is not None and tolerated is not None and not tolerated.contains(target):
            message = "what is tolerated must hold all of the target"
            yield Problem(ppi.position, message, "make it wider than the target")
    keys = dict.fromkeys(k for each in _groupings(ppi.measure) if each for k in each.keys)
    for each in ppi.group_targets:
        if each.key not in keys:
            known = f"the groups are {listed(keys, 'and')}" if keys else "it has no groups"
            yield Problem(
                ppi.position, f"a target for {quoted(each.key)}, which is no group", known
            )


def _compared_with(expression: Expression, names: Collection[str]) -> Iterator[Text]:
    """The texts an expression compares one of the names with."""
    for node in walk(expression):
        compared = children(node) if names and _compares(node) else ()
        if any(isinstance(each, Name) and each.name in names for each in compared):
            yield from (each for each in compared if isinstance(each, Text))


def _compares(node: Expression) -> bool:
    is_equality = isinstance(node, Binary) and node.operator in (Operator.EQUAL, Operator.UNEQUAL)
    return is_equality or isinstance(node, OneOf)


def _reads_activity(measure: SingleInstance | MultiInstance) -> bool:
    return isinstance(measure, DataMeasure) and measure.attribute == ACTIVITY


def _groupings(measure: MultiInstance) -> Iterator[Grouping | None]:
    if isinstance(measure, AggregatedMeasure):
        yield measure.grouping
        return
    for _, variable in measure.variables:
        yield from _groupings(variable)
