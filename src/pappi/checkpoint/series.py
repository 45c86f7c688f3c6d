"""All answers of one PPI, with what a reader must know to understand them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pappi.budget.accounts import KeyState
from pappi.checkpoint.answers import answer_of
from pappi.checkpoint.questions import CellQuestion
from pappi.mechanisms.loose import RANK_TARGET
from pappi.planning.plan import Plan
from pappi.planning.targets import Aim, advice_on, target_in
from pappi.ppinot.measures import measure_kind
from pappi.ppinot.model import AggregatedMeasure, Ppi, Target, Wanted
from pappi.ppinot.sentences import sentence
from pappi.store.declarations import LogDeclaration
from pappi.tree.composition import ROOT, aggregated_measures
from pappi.values.answers import Answer, Series, ShownTarget
from pappi.values.units import HOURS, NUMBER, Unit
from pappi.values.vocabulary import Kind


def series_of(
    questions: Sequence[CellQuestion],
    states: Mapping[str, KeyState],
    released: Mapping[str, Any],
    log: LogDeclaration,
) -> tuple[Series, ...]:
    """One series per plan, in the order they were asked.

    Two PPIs of one request may ask the same: the first one pays, the other replays.
    """
    answers: dict[str, list[Answer]] = {}
    paid: set[str] = set()
    for question in questions:
        found = KeyState.RELEASED if question.key in paid else states[question.key]
        paid.add(question.key)
        of_ppi = answers.setdefault(question.plan.ppi.id, [])
        of_ppi.extend(_answers(question, log, found, released[question.key]))
    plans = {question.plan.ppi.id: question.plan for question in questions}
    return tuple(_series(plan, answers[ppi]) for ppi, plan in plans.items())


def _series(plan: Plan, answers: Iterable[Answer]) -> Series:
    return Series(
        ppi=plan.ppi.id,
        name=plan.ppi.name,
        unit=plan.ppi.unit.name,
        sentence=sentence(plan.ppi),
        target=shown_aim(plan.ppi, target_in(plan.ppi, None)),
        answers=tuple(answers),
        clipping=_clipping(plan.ppi),
        caution=_caution(plan),
        group_targets=tuple(_group_targets(plan.ppi)),
    )


def _answers(
    question: CellQuestion, log: LogDeclaration, found: KeyState, released: list[list[list[int]]]
) -> Iterator[Answer]:
    """In the order they were drawn: period by period, group by group."""
    asked = ((p, g) for p in question.cell.periods for g in question.plan.groups)
    for (period, group), parts in zip(asked, released, strict=True):
        noisy = [tuple(part) for part in parts]
        yield answer_of(question.plan, log, period, group, noisy, found)


def shown_aim(ppi: Ppi, aim: Aim | None) -> ShownTarget | None:
    """The target in the unit of the answers, with what is tolerated beyond it."""
    if aim is None:
        return None
    tolerated = None if aim.tolerated is None else _shown_target(ppi.unit, aim.tolerated)
    return replace(_shown_target(ppi.unit, aim.target), tolerated=tolerated)


def _shown_target(unit: Unit, target: Target) -> ShownTarget:
    low = None if target.low is None else unit.show(target.low)
    high = None if target.high is None else unit.show(target.high)
    return ShownTarget(low, high, f"{_target_text(target, low, high)} {unit.name}".rstrip())


def _group_targets(ppi: Ppi) -> Iterator[tuple[str, ShownTarget]]:
    for own in ppi.group_targets:
        shown = shown_aim(ppi, target_in(ppi, own.key))
        if shown is not None:
            yield own.key, shown


def _target_text(target: Target, low: float | None, high: float | None) -> str:
    """As it is written in a catalogue: whether a limit itself is good enough shows."""
    up_to = f"{'at most' if target.high_included else 'below'} {_plainly(high or 0)}"
    if low is None:
        return up_to
    down_to = f"{'at least' if target.low_included else 'above'} {_plainly(low)}"
    if high is None:
        return down_to
    if target.low_included and target.high_included:
        return f"between {_plainly(low)} and {_plainly(high)}"
    return f"{down_to} and {up_to}"


def _clipping(ppi: Ppi) -> str:
    """What the public bounds do to a case's contribution, in words; truth values need none."""
    if isinstance(ppi.measure, AggregatedMeasure):
        return _clipped("a case", ppi.measure, ppi.unit)
    texts = (
        _clipped(f"{path.removeprefix(f'{ROOT}.')} of a case", measure, _plain_unit(measure))
        for path, measure in aggregated_measures(ppi.measure)
    )
    return "; ".join(text for text in texts if text)


def _caution(plan: Plan) -> str:
    """What the value is not, where a mechanism answers something near to what was asked."""
    names = {part.mechanism.name for part in plan.parts}
    cautions = [text for name, text in _CAUTIONS.items() if name in names]
    if plan.ppi.release.answer is Wanted.VERDICT:
        cautions.append("only the verdict was asked for: no value was released")
    return "; ".join(filter(None, (*cautions, advice_on(plan.ppi, plan.epsilon.fraction))))


_CAUTIONS = {
    "ranked": f"the bounds are loose, so this is a value that about {RANK_TARGET}/ε cases exceed, "
    "not the largest",
    "private ceiling": "values beyond a ceiling count as that ceiling, which was chosen "
    "privately, period by period, for a quarter of ε",
    "sample-and-aggregate": "the mean over random parts of the cases; the interval is about the "
    "noise alone",
}


def _clipped(what: str, measure: AggregatedMeasure, unit: Unit) -> str:
    bounds = measure.bounds
    if bounds is None or measure_kind(measure.base, None) is Kind.TRUTH:
        return ""
    low, high = (_plainly(unit.show(end)) for end in (bounds.low, bounds.high))
    return f"{what} counts as at least {low} and at most {high} {unit.name}".rstrip()


def _plainly(number: float) -> str:
    """
    >>> _plainly(1e6), _plainly(0.25), _plainly(1440.0)
    ('1,000,000', '0.25', '1,440')
    """
    return f"{number:,.0f}" if number == round(number) else f"{number:,.6g}"


def _plain_unit(measure: AggregatedMeasure) -> Unit:
    return HOURS if measure_kind(measure, None) is Kind.DURATION else NUMBER
