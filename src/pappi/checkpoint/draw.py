"""Reading the cases and drawing the noise: what happens after the charge.

Where persons are protected, their cases beyond the declared number are left out first, so
that filters, groups and periods only ever see cases that count.

Total by construction. An empty period, a case without a value and a group nobody
is in all give a result, drawn like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pappi.checkpoint.queries import Release
from pappi.engine import CaseTable, Identify, cases_by_period
from pappi.planning import Measurement
from pappi.ppinot import Scope
from pappi.store import LogDeclaration
from pappi.values import Period

CellResult = list[list[list[int]]]
"""Per period and group: the noisy integers of each function."""

CellValues = list[NDArray[np.float64]]
"""Of one period and group: what the mechanism of each function reads."""


def draw_cells(
    events: Path, releases: Sequence[Release], log: LogDeclaration, key: bytes
) -> dict[str, CellResult]:
    """The noisy integers of every release, from one evaluation of the log."""
    drawn: dict[str, CellResult] = {}
    for release, cells in read_cells(events, releases, log, key):
        parts = release.plan.measurements
        result = drawn[release.key] = []
        for cell in cells:
            noisy = []
            for part, values in zip(parts, cell, strict=True):
                noisy.append(list(part.mechanism.release(values)))
            result.append(noisy)
    return drawn


def read_cells(
    events: Path, releases: Sequence[Release], log: LogDeclaration, key: bytes
) -> Iterator[tuple[Release, Iterator[CellValues]]]:
    """What each release's mechanisms read, per period and group, from one evaluation of the log.

    It depends on the set of cases that the log has, and on nothing else about it.
    """
    plans = {id(release.plan): release.plan for release in releases}.values()
    parts = [part for plan in plans for part in plan.measurements]
    periods: dict[Scope, set[Period]] = {}
    for release in releases:
        periods.setdefault(release.plan.ppi.scope, set()).update(release.cell.periods)
    # Who a case belongs to is read only where something depends on it.
    latest = any(scope.last_cases is not None for scope in periods)
    who = latest or log.terms.unit.column is not None or any(part.buckets for part in parts)
    tables = cases_by_period(
        events,
        log,
        [measure for part in parts for measure in part.inputs],
        {scope: sorted(some) for scope, some in periods.items()},
        Identify(key, log.terms.unit.column) if who else None,
    )
    for release in releases:
        yield release, _cell(release, tables[release.plan.ppi.scope])


def _cell(release: Release, tables: Mapping[Period, CaseTable]) -> Iterator[CellValues]:
    for period in release.cell.periods:
        for cases in tables[period].grouped(release.plan.grouping):
            yield [_values(part, cases) for part in release.plan.measurements]


def _values(part: Measurement, cases: CaseTable) -> NDArray[np.float64]:
    """A value per case, or a row per case where a mechanism reads several measures."""
    columns = [cases.contributions(measure) for measure in part.inputs]
    if part.buckets:
        columns.append(cases.buckets(part.buckets).astype(np.float64))
    return columns[0] if len(columns) == 1 else np.column_stack(columns)
