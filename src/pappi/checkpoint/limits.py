"""How much one request may ask for: decided before the charge, by the definitions alone.

The journal keeps every answer for ever, and some measures look at the events again and again:
a request that floods the one or wears out the other is refused while that is still free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pappi.checkpoint.questions import CellQuestion
from pappi.errors import Refused
from pappi.planning.cells import Horizon, periods_of
from pappi.planning.plan import Plan
from pappi.ppinot.model import (
    CaseBorder,
    Catalogue,
    DerivedSingleInstance,
    EventCondition,
    Occurrence,
    Occurs,
    Pick,
    SingleInstance,
    TimeMeasure,
)
from pappi.ppinot.reduced import anchor_time
from pappi.tree.composition import composition_tree, leaves

MOST_ANSWERS = 20_000
MOST_BUCKETS = 500_000
MOST_LOOKS = 64
MOST_CALENDARS = 8
MOST_MEASURES = 2_000
MOST_PPIS = 200
MOST_AT_ACCURACY = 50
MOST_ACCOUNTS = 20_000
_FEWER_ANSWERS = "fewer PPIs, groups or periods"


def refuse_too_many(catalogue: Catalogue, most: int = MOST_PPIS) -> None:
    """Before anything is planned, which takes its time for every PPI."""
    _refuse_beyond(len(catalogue.ppis), most, "PPIs at once", "fewer of them")


def refuse_too_many_answers(plans: Sequence[Plan], horizon: Horizon) -> None:
    """Before a question is made of every cell, which takes its time, too."""
    answers = 0
    for plan in plans:
        answers += len(plan.groups) * len(periods_of(plan.ppi.scope, horizon))
        _refuse_beyond(answers, MOST_ANSWERS, "answers or more at once", _FEWER_ANSWERS)


def refuse_too_much(questions: Sequence[CellQuestion]) -> None:
    """Nothing, or the reason why a request is too large."""
    answers = sum(map(_answers, questions))
    _refuse_beyond(answers, MOST_ANSWERS, "answers at once", _FEWER_ANSWERS)
    accounts = sum(len(question.cell.blocks) for question in questions)
    _refuse_beyond(accounts, MOST_ACCOUNTS, "blocks to charge", "shorter periods or less time")
    parts = ((q, part) for q in questions for part in q.plan.parts)
    buckets = sum(_answers(q) * (part.buckets or 0) * len(part.inputs) for q, part in parts)
    hint = "fewer buckets, variables, groups or periods"
    _refuse_beyond(buckets, MOST_BUCKETS, "values of buckets", hint)
    read = dict.fromkeys(part for q in questions for part in _read(q))
    _refuse_beyond(len(read), MOST_MEASURES, "different measures of a case", "fewer of them")
    looks = sum(map(_looks, read))
    hint = "fewer cycles, onsets, sequences, first ends or stopped clocks"
    _refuse_beyond(looks, MOST_LOOKS, "looks at neighbouring events", hint)
    calendars = {each.calendar for each in read if isinstance(each, TimeMeasure)} - {None}
    _refuse_beyond(len(calendars), MOST_CALENDARS, "working calendars", "fewer of them")


def _refuse_beyond(found: int, most: int, what: str, hint: str) -> None:
    if found > most:
        message = f"this asks for {found:,} {what}, and {most:,} are the most"
        raise Refused(message, hint=f"ask for {hint}")


def _answers(question: CellQuestion) -> int:
    return len(question.cell.periods) * len(question.plan.groups)


def _read(question: CellQuestion) -> Iterator[SingleInstance]:
    """Every measure of a case that a question reads, and all they are derived from."""
    for part in question.plan.parts:
        for measure in part.inputs:
            for leaf in leaves(composition_tree(measure)):
                yield from _with_variables(leaf.measure)
    scope = question.plan.ppi.scope
    if scope.anchor is not None:
        yield anchor_time(scope.anchor)
    if scope.cases is not None:
        yield from _with_variables(scope.cases)


def _with_variables(measure: SingleInstance) -> Iterator[SingleInstance]:
    yield measure
    if isinstance(measure, DerivedSingleInstance):
        for _, variable in measure.variables:
            yield from _with_variables(variable)


def _looks(measure: SingleInstance) -> int:
    """How often a measure looks at the events again, beyond the scan that all share."""
    if isinstance(measure, TimeMeasure):
        ends = sum(_windows(each) for each in (measure.start, measure.end))
        again = measure.cycles is not None or measure.end_pick is Pick.FIRST
        return ends + again + 2 * (measure.running is not None)
    condition = getattr(measure, "when", None)
    return 0 if condition is None else _windows(condition)


def _windows(condition: EventCondition | CaseBorder) -> int:
    if isinstance(condition, CaseBorder):
        return 0
    if isinstance(condition, Occurs):
        return int(condition.occurrence is Occurrence.ONSET)
    return 1 + _windows(condition.first) + _windows(condition.then)
