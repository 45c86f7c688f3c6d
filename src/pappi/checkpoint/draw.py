"""Reading the cases and drawing the noise: what happens after the charge.

Where persons are protected, their cases beyond the declared number are left out first, so
that filters, groups and periods only ever see cases that count.

Total by construction. An empty period, a case without a value and a group nobody
is in all give a result, drawn like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pappi.checkpoint.questions import CellQuestion
from pappi.engine.cases import CaseTable, case_batches, evaluate_cases
from pappi.engine.query import Identify
from pappi.engine.scopes import batches_in, cases_in, read_by
from pappi.planning.parts import Part
from pappi.planning.plan import Plan
from pappi.ppinot.model import Scope
from pappi.store.declarations import LogDeclaration
from pappi.values.periods import Period

CellResult = list[list[list[int]]]
"""Per period and group: the noisy integers of each function."""

CellValues = list[NDArray[np.float64]]
"""Of one period and group: what the mechanism of each function reads."""


def draw_cells(
    events: Path, questions: Sequence[CellQuestion], log: LogDeclaration, key: bytes
) -> dict[str, CellResult]:
    """The noisy integers of every question, from one evaluation of the log."""
    return {
        question.key: [_noisy(question.plan, values) for values in read]
        for question, read in read_cells(events, questions, log, key)
    }


def read_cells(
    events: Path, questions: Sequence[CellQuestion], log: LogDeclaration, key: bytes
) -> Iterator[tuple[CellQuestion, Iterator[CellValues]]]:
    """What each question's mechanisms read, per period and group, from one evaluation of the log.

    It depends on the set of cases that the log has, and on nothing else about it.
    """
    tables = _tables(events, questions, log, key)
    for question in questions:
        yield question, _cell(question, tables[question.plan.ppi.scope])


def _tables(
    events: Path, questions: Sequence[CellQuestion], log: LogDeclaration, key: bytes
) -> dict[Scope, dict[Period, CaseTable]]:
    """The cases that count, of every scope and period that is asked about."""
    plans = {id(question.plan): question.plan for question in questions}.values()
    parts = [part for plan in plans for part in plan.parts]
    measures = [measure for part in parts for measure in part.inputs]
    asked, horizon, zone = _asked(questions), log.horizon, log.zone
    identify = Identify(key, log.unit.column) if _asks_who(parts, asked, log) else None
    reading = (log.place(events), log.table, log.anchor, measures, log.vocabulary, identify)
    besides = read_by(asked)
    if log.unit.column is None and all(scope.last_cases is None for scope in asked):
        batches = case_batches(*reading, also=besides, days=log.days)
        return batches_in(batches, asked, horizon, zone)
    found = evaluate_cases(*reading, also=besides, days=log.days)
    cases = found.kept(log.unit, horizon, zone)
    return {scope: cases_in(cases, scope, asked[scope], horizon, zone) for scope in asked}


def _asked(questions: Sequence[CellQuestion]) -> dict[Scope, list[Period]]:
    """The periods of each scope, in order."""
    asked: dict[Scope, set[Period]] = {}
    for question in questions:
        asked.setdefault(question.plan.ppi.scope, set()).update(question.cell.periods)
    return {scope: sorted(periods) for scope, periods in asked.items()}


def _asks_who(parts: Sequence[Part], scopes: Iterable[Scope], log: LogDeclaration) -> bool:
    """Whether anything depends on whose case it is, or on which case."""
    chosen = any(scope.last_cases is not None for scope in scopes)
    return chosen or log.unit.column is not None or any(part.buckets for part in parts)


def _cell(question: CellQuestion, tables: Mapping[Period, CaseTable]) -> Iterator[CellValues]:
    for period in question.cell.periods:
        for group in question.plan.groups:
            yield [_values(part, tables[period], group) for part in question.plan.parts]


def _noisy(plan: Plan, read: CellValues) -> list[list[int]]:
    parts = zip(plan.parts, read, strict=True)
    return [list(part.mechanism.release(values)) for part, values in parts]


def _values(part: Part, cases: CaseTable, group: str | None) -> NDArray[np.float64]:
    """A value per case, or a row per case where a mechanism reads several measures."""
    columns = [cases.contributions(measure, group) for measure in part.inputs]
    if part.buckets:
        columns.append(cases.buckets(part.buckets).astype(np.float64))
    return columns[0] if len(columns) == 1 else np.column_stack(columns)
