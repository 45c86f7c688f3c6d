"""Which cases a scope takes, and what they are charged to."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from pappi.errors import Refused
from pappi.ppinot import parse_catalogue
from pappi.session import Workspace
from tests.small_logs import Row, workspace_with

HOURS = 24.0
# Three cases a month: day of START's month, months later, events a day apart.
DAYS = (0, 5, 12, 31, 36, 43, 60, 66, 75)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    rows: list[Row] = []
    for number, day in enumerate(DAYS):
        case = f"c{number}"
        rows.append((case, "A", day * HOURS, {"n": float(number)}))
        if number != 4:
            rows.append((case, "B", (day + 1) * HOURS, {}))
    return workspace_with(tmp_path_factory.mktemp("scopes") / "w", rows)


def text(scope: str, measure: str = "sum: {data: n}") -> str:
    return (
        f"log: small\nppis:\n  - id: one\n    scope: {scope}\n    measure:\n      {measure}\n"
        "    bounds: [0, 9]\n"
    )


def exact(workspace: Workspace, scope: str) -> list[float | None]:
    catalogue = parse_catalogue(text(scope), "s.yaml")
    return [answer.value for answer in workspace.exact(catalogue)]


@pytest.mark.parametrize(
    ("scope", "values"),
    [
        ("every month", [3, 12, 21]),
        ("whole time", [36]),
        ("between 2024-01-15 and 2024-02-15", [1 + 2 + 3 + 4]),
        ("last 2 cases", [7 + 8]),
        ("last 500 cases", [36]),
        ("{last cases: 2, until: 2024-02-20}", [3 + 4]),
        ("{last cases: 2, until: 2024-02-20, finished: {activity: B}}", [2 + 3]),
        ("last 2 months", [12 + 21]),
        ("every month in the last 2 months", [12, 21]),
        ("{every: month, finished: {activity: B}}", [3, 8, 21]),
        ("{every: month, ongoing: {activity: B}}", [0, 4, 0]),
        ("{every: month, anchor: {first: {activity: B}}}", [3, 8, 21]),
        ("{every: month, started: after 2024-02-01}", [0, 12, 21]),
        ("{every: month, not: {finished: {activity: B}}}", [0, 4, 0]),
    ],
)
def test_a_scope_takes_the_cases_it_names(
    workspace: Workspace, scope: str, values: list[float]
) -> None:
    assert exact(workspace, scope) == values


def test_recent_time_ends_with_the_last_whole_month_before_now(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pappi.store.declarations.today", lambda _: date(2024, 2, 20))
    assert exact(workspace, "last 1 month") == [3]


def test_a_recent_time_before_the_log_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pappi.store.declarations.today", lambda _: date(2020, 2, 20))
    with pytest.raises(Refused, match="does not overlap the log"):
        exact(workspace, "last 1 month")


def spent(workspace: Workspace) -> dict[str, float]:
    return {
        line.block: float(line.spent.fraction) for line in workspace.checkpoint().budget("small")
    }


def released(folder: Path, scope: str) -> dict[str, float]:
    rows: list[Row] = [(f"c{n}", "A", day * HOURS, {"n": 1.0}) for n, day in enumerate(DAYS)]
    rows += [(f"c{n}", "B", (day + 1) * HOURS, {}) for n, day in enumerate(DAYS)]
    workspace = workspace_with(folder, rows)
    workspace.checkpoint().release(parse_catalogue(text(scope), "s.yaml"))
    return spent(workspace)


def test_one_month_costs_its_block_alone(tmp_path: Path) -> None:
    found = released(tmp_path / "w", "between 2024-02-01 and 2024-02-29")
    assert found == {"2024-01": 0, "2024-02": 0.1, "2024-03": 0}


@pytest.mark.parametrize(
    "scope", ["last 3 cases", "{from: 2024-02-01, until: 2024-03-01, anchor: case start}"]
)
def test_a_scope_whose_cases_may_be_of_any_block_costs_every_block(
    tmp_path: Path, scope: str
) -> None:
    assert set(released(tmp_path / "w", scope).values()) == {0.1}
