"""A release on made-up cases: to try definitions, pages and code before any ε is spent.

The log's twin is made from its declarations (`examples.twin`) and read, clipped, noised and shown
by the very functions of a release. What comes out is marked as rehearsed. Nothing here knows the
workspace: its events, its key and its ledger are out of reach, so nothing is read of them, and
nothing is charged or recorded.

Of a log of which nothing is sealed yet, the first year is rehearsed. An attribute without public
keys has those that the definitions ask for: they are as public as the declarations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from pappi.budget.accounts import KeyState
from pappi.checkpoint.draw import CellResult, draw_cells
from pappi.checkpoint.limits import refuse_too_many_answers, refuse_too_much
from pappi.checkpoint.plans import ASSUMED_CASES, planned
from pappi.checkpoint.questions import CellQuestion, questions_of
from pappi.checkpoint.series import series_of
from pappi.checkpoint.stage import TABLE, Stage, Stages
from pappi.errors import WorkspaceError
from pappi.examples.twin import TwinFacts
from pappi.ppinot.model import CaseBorder, Catalogue
from pappi.store.declarations import LogDeclaration
from pappi.tree.composition import aggregated_measures
from pappi.values.answers import Series
from pappi.values.epsilon import Epsilon
from pappi.values.vocabulary import Vocabulary

_NOBODY = "rehearsal"
_YEAR = timedelta(days=365)
_STAGES = Stages()


def rehearsed(
    catalogue: Catalogue, epsilon: Epsilon | None, log: LogDeclaration
) -> tuple[Series, ...]:
    """Every PPI of a catalogue that fits the log, released of the log's twin."""
    log = _as_if_sealed(log)
    plans = [planned(ppi, epsilon, log) for ppi in catalogue.ppis]
    refuse_too_many_answers(plans, log.horizon)
    questions = [q for plan in plans for q in questions_of(plan, log, _NOBODY)]
    refuse_too_much(questions)
    try:
        stage = _STAGES.of(twin_facts(catalogue, log))
        drawn = _drawn(stage, questions, log)
    except Exception as error:  # the disk for temporary files may be full, and so on
        raise WorkspaceError(
            "the rehearsal could not be completed",
            hint="nothing was charged; ask again, and tell the owner if it fails again",
            detail=f"{type(error).__name__}: {error}",
        ) from error
    # Neither new nor on record: so no answer has a price, and none is a replay.
    states = dict.fromkeys(drawn, KeyState.PENDING)
    found = series_of(questions, states, drawn, log)
    return tuple(_marked(series, _note(stage, log)) for series in found)


def twin_facts(catalogue: Catalogue, log: LogDeclaration) -> TwinFacts:
    """What a log's twin is made from; of the catalogue only keys that are not declared."""
    return TwinFacts(
        name=log.name,
        timezone=log.timezone,
        by_end=log.anchor is CaseBorder.END,
        blocks=log.blocks,
        first=log.first,
        until=log.until,
        cases=log.expected_cases or ASSUMED_CASES,
        vocabulary=_with_keys(log.vocabulary, catalogue),
        bounds=log.bounds,
        person=log.unit.column,
    )


def _as_if_sealed(log: LogDeclaration) -> LogDeclaration:
    if log.first < log.until:
        return log
    year = log.blocks.periods(log.first, log.first + _YEAR)
    return replace(log, until=year[-1].end)


def _with_keys(vocabulary: Vocabulary, catalogue: Catalogue) -> Vocabulary:
    asked: dict[str, dict[str, None]] = {}
    for ppi in catalogue.ppis:
        for _, measure in aggregated_measures(ppi.measure):
            if measure.grouping is not None:
                keys = dict.fromkeys(measure.grouping.keys)
                asked.setdefault(measure.grouping.by.attribute, {}).update(keys)
    named = {attribute: tuple(sorted(keys)) for attribute, keys in sorted(asked.items())}
    return replace(vocabulary, keys={**named, **vocabulary.keys})


def _drawn(
    stage: Stage, questions: Sequence[CellQuestion], log: LogDeclaration
) -> dict[str, CellResult]:
    distinct = {question.key: question for question in questions}
    return draw_cells(stage.events, list(distinct.values()), replace(log, table=TABLE), stage.key)


def _marked(series: Series, note: str) -> Series:
    """Told by a field for programs, and in words for whoever reads it."""
    answers = tuple(replace(answer, replayed=False) for answer in series.answers)
    caution = "; ".join(filter(None, (note, series.caution)))
    return replace(series, answers=answers, caution=caution, rehearsed=True)


def _note(stage: Stage, log: LogDeclaration) -> str:
    return (
        f"made up from what is declared about the log, {stage.cases:,} cases in {stage.blocks:,} "
        f"blocks up to {log.until}: no data was read"
    )
