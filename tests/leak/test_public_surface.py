"""What surrounds the noisy numbers is the same for neighbouring logs.

Shape, order, keys, guarantees, previews, refusals and budgets must be functions
of the request and the declarations. The detector is tested on planted leaks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from pappi.custody import NewLog
from pappi.errors import PappiError
from pappi.ppinot import parse_catalogue
from pappi.session import Workspace
from pappi.values import Answer, Series
from tests.small_logs import Row, claims, workspace_with

TERMS = NewLog(first=date(2024, 1, 1), until=date(2024, 6, 1))
CATALOGUE = """
log: small
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    target: below 4 days
  - id: ratio
    measure:
      derive: rejected / paid
      rejected: {sum: {count: activity == "Reject"}}
      paid: {sum: {count: activity == "Pay"}}
    bounds: {rejected: [0, 1], paid: [0, 1]}
  - id: damage
    measure: {max: {data: damage}}
    bounds: [0, 1000]
    scope: every week
  - id: channel
    measure:
      share: {condition: activity == "Reject"}
      by: {data: channel, values: [web, phone, letter]}
    scope: every quarter
"""
REFUSED = (
    CATALOGUE.replace("bounds: [0, 1000]\n", ""),
    CATALOGUE.replace('"Reject"', '"Refuse"'),
    CATALOGUE.replace("data: damage", "data: dammage"),
)
OUTLIER: list[Row] = [
    ("new", "Receive", 24.0 * 95, {"channel": "web", "damage": 1e300}),
    ("new", "Pay", 24.0 * 100, {}),
]

Released = Callable[[tuple[Series, ...]], tuple[Series, ...]]


def surface(workspace: Workspace, through: Released = lambda series: series) -> list[object]:
    """Everything an analyst sees, less the numbers that noise protects."""
    analyst = workspace.checkpoint()
    seen: list[object] = list(analyst.preview(parse_catalogue(CATALOGUE, "c.yaml")))
    for text in REFUSED:
        with pytest.raises(PappiError) as refusal:
            analyst.release(parse_catalogue(text, "c.yaml"))
        seen.append((refusal.value.code, refusal.value.message, refusal.value.hint))
    released = through(analyst.release(parse_catalogue(CATALOGUE, "c.yaml")))
    seen += [veiled(answer) for series in released for answer in series.answers]
    seen += list(analyst.budget("small"))
    return seen


def veiled(answer: Answer) -> object:
    """Value, interval, cases and verdict are drawn; all else must not vary."""
    plain = replace(answer, value=None, cases=None, verdict=None)
    return plain.ppi, plain.period, plain.group, plain.guarantee, plain.charged, plain.replayed


@pytest.fixture
def neighbours(tmp_path: Path) -> tuple[Workspace, Workspace]:
    """The second log has one case more: extreme, and alone in its month."""
    rows = claims(30)
    return (
        workspace_with(tmp_path / "without", rows, TERMS),
        workspace_with(tmp_path / "with", rows + OUTLIER, TERMS),
    )


def test_neighbouring_logs_look_the_same(neighbours: tuple[Workspace, Workspace]) -> None:
    without, with_it = neighbours
    assert surface(without) == surface(with_it)


def test_a_checkpoint_that_drops_empty_periods_would_be_caught(
    neighbours: tuple[Workspace, Workspace],
) -> None:
    without, with_it = neighbours

    def drop_empty(workspace: Workspace) -> Released:
        truth = workspace.exact(parse_catalogue(CATALOGUE, "c.yaml"))
        empty = {(t.ppi, t.period, t.group) for t in truth if t.value is None}

        def through(series: tuple[Series, ...]) -> tuple[Series, ...]:
            return tuple(
                replace(
                    one,
                    answers=tuple(
                        a for a in one.answers if (a.ppi, a.period, a.group) not in empty
                    ),
                )
                for one in series
            )

        return through

    assert surface(without, drop_empty(without)) != surface(with_it, drop_empty(with_it))
