"""Layer 3 of the audit, run through the real thing: events in, answers out.

A throw-away workspace holds two logs of made-up cases. Each day of the first holds a copy
of one data set, each day of the second a copy of its neighbour, so that one release of a
daily PPI is thousands of independent samples. Import, planning, charging, evaluation,
noise, record and rounding are those of every release. No log of the owner's is touched.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from pappi.audit import BlackBoxQuery, BlackBoxReport, Data, Row, Samples, audit_samples
from pappi.custody import NewLog
from pappi.planning import MOST_PERIODS
from pappi.ppinot import parse_catalogue
from pappi.session.workspace import Workspace, create
from pappi.values import NANO, Answer, Epsilon, Terms

MOST_SAMPLES = MOST_PERIODS
_FIRST = date(2000, 1, 1)
_NOON = time(12, tzinfo=UTC)
_LOGS = ("data", "neighbour")
_ATTRIBUTES = ("a", "b")

Event = tuple[str, str, date, Row]
"""Case, activity, day, and the numbers of its case."""


def audit_query(query: BlackBoxQuery, samples: int = MOST_SAMPLES) -> BlackBoxReport:
    """Release the query on both data sets, and compare the answers."""
    try:
        return _audit(query, samples)
    except Exception as raised:  # noqa: BLE001 - whatever goes wrong is a failed audit
        failure = f"the audit stopped with {type(raised).__name__}"
        return BlackBoxReport(query.epsilon, failure=failure)


def _audit(query: BlackBoxQuery, samples: int) -> BlackBoxReport:
    epsilon = Epsilon(int(query.epsilon * NANO))
    until = _FIRST + timedelta(days=samples)
    terms = Terms(adjacency=query.adjacency, block_budget=epsilon)
    new = NewLog(first=_FIRST, until=until, terms=terms)
    with tempfile.TemporaryDirectory(prefix="pappi-audit-") as folder:
        workspace = create(Path(folder) / "workspace")
        for log, data in zip(_LOGS, query.pair, strict=True):
            workspace.import_log(_log(data, samples), log, new=new)
        answers = [_ask(workspace, query, log, epsilon) for log in _LOGS]
    mechanisms = {answer.guarantee.mechanism for side in answers for answer in side}
    if unexpected := mechanisms - {query.mechanism}:
        reason = f"the planner uses another mechanism for this: {', '.join(sorted(unexpected))}"
        return BlackBoxReport(query.epsilon, skipped=reason)
    first, second = (_shown(side) for side in answers)
    return audit_samples(first, second, epsilon.fraction)


def _ask(
    workspace: Workspace, query: BlackBoxQuery, log: str, epsilon: Epsilon
) -> tuple[Answer, ...]:
    catalogue = parse_catalogue(query.catalogue(log))
    (series,) = workspace.checkpoint("audit").release(catalogue, epsilon, anyway=True)
    return series.answers


def _log(data: Data, days: int) -> object:
    """The data set on each of the days; and before them a case with an event of each kind.

    Without it, an empty data set would be no log, and the vocabulary would lack these names.
    """
    before = _FIRST - timedelta(days=100)
    events: list[Event] = [("0", name, before, (0.0, 0.0)) for name in ("case", *_ATTRIBUTES)]
    events += [event for day in range(days) for event in _day(data, day)]
    columns: dict[str, list[object]] = {
        "case_id": [case for case, *_ in events],
        "activity": [activity for _, activity, *_ in events],
        "timestamp": [datetime.combine(day, _NOON) for _, _, day, _ in events],
    }
    for index, name in enumerate(_ATTRIBUTES):
        columns[name] = [row[index] if index < len(row) else None for *_, row in events]
    types = {name: pa.float64() for name in _ATTRIBUTES}
    return pa.table({name: pa.array(column, types.get(name)) for name, column in columns.items()})


def _day(data: Data, number: int) -> Iterator[Event]:
    """A case carries its numbers as attributes, and has as many events of their names."""
    day = _FIRST + timedelta(days=number)
    for index, row in enumerate(data):
        case = f"{number}-{index}"
        yield case, "case", day, row
        for name, value in zip(_ATTRIBUTES, row, strict=False):
            yield from ((case, name, day, row) for _ in range(int(value)))


def _shown(answers: tuple[Answer, ...]) -> Samples:
    """All numbers an analyst sees of each answer, except those that depend on other answers."""
    shares = (None if a.beyond is None else a.beyond.share for a in answers)
    numbers = (
        (a.value, a.cases, a.interval.low, a.interval.high, share)
        for a, share in zip(answers, shares, strict=True)
    )
    return np.array([[math.inf if x is None else x for x in row] for row in numbers])
