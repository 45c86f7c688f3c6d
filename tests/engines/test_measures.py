"""Every measure of a case, on a real engine, at the edges."""

from __future__ import annotations

from pathlib import Path

import pytest

from pappi.ppinot import parse_catalogue
from pappi.session import Workspace
from tests.engines.by_case import values_of
from tests.small_logs import Row, workspace_with

HOUR = 3_600_000_000

ROWS: list[Row] = [
    # A plain case.
    ("plain", "A", 0, {"x": 1.0, "tag": "red", "ok": True}),
    ("plain", "B", 2, {"x": 5.0}),
    # Repeats: first A to last B.
    ("repeat", "A", 0, {}),
    ("repeat", "A", 1, {"x": 7.0}),
    ("repeat", "B", 3, {}),
    ("repeat", "B", 6, {"tag": "blue", "ok": False}),
    # B only before A.
    ("backwards", "B", 0, {}),
    ("backwards", "A", 1, {}),
    # A tie in which B is written first: by the order of the log, no B follows A.
    ("tie-BA", "B", 0, {}),
    ("tie-BA", "A", 0, {}),
    # A tie in which A is written first.
    ("tie-AB", "A", 0, {}),
    ("tie-AB", "B", 0, {}),
    # Neither.
    ("none", "C", 0, {"x": -1.0}),
]
CASES = ["plain", "repeat", "backwards", "tie-BA", "tie-AB", "none"]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Each case also says its own name, so that a filter can single it out."""
    rows = [(c, a, h, {**attributes, "me": c}) for c, a, h, attributes in ROWS]
    return workspace_with(tmp_path_factory.mktemp("engine") / "w", rows)


def values(workspace: Workspace, measure: str, unit: str = "") -> list[float | None]:
    return values_of(workspace, CASES, measure, unit)


def test_time_runs_from_the_first_start_to_the_last_end_at_or_after_it(
    workspace: Workspace,
) -> None:
    measure = "{time: {from: activity == 'A', to: activity == 'B'}}"
    assert values(workspace, measure, "hours") == [2, 6, None, None, 0, None]


def test_time_from_an_activity_to_itself_spans_its_repeats(workspace: Workspace) -> None:
    measure = "{time: {from: activity == 'A', to: activity == 'A'}}"
    assert values(workspace, measure, "hours") == [0, 1, 0, 0, 0, None]


def test_time_of_the_whole_case(workspace: Workspace) -> None:
    measure = "{time: {from: case start, to: case end}}"
    assert values(workspace, measure, "hours") == [2, 6, 1, 0, 0, 0]


def test_a_count_is_zero_where_nothing_matches(workspace: Workspace) -> None:
    assert values(workspace, "{count: activity == 'B'}") == [1, 2, 1, 1, 1, 0]


def test_a_condition_is_never_missing(workspace: Workspace) -> None:
    assert values(workspace, "{condition: x > 4}") == [1, 1, 0, 0, 0, 0]


def test_data_takes_the_last_event_that_carries_the_attribute(workspace: Workspace) -> None:
    assert values(workspace, "{data: x}") == [5, 7, None, None, None, -1]


def test_data_takes_the_first_on_demand_and_under_a_condition(workspace: Workspace) -> None:
    first = "{data: {attribute: x, pick: first}}"
    assert values(workspace, first) == [1, 7, None, None, None, -1]
    at_b = "{data: {attribute: x, when: activity == 'B'}}"
    assert values(workspace, at_b) == [5, None, None, None, None, None]


def test_a_truth_attribute_that_is_missing_is_false(workspace: Workspace) -> None:
    assert values(workspace, "{count: ok}") == [1, 0, 0, 0, 0, 0]
    assert values(workspace, "{count: not ok}") == [1, 4, 2, 2, 2, 1]
    assert values(workspace, "{count: ok is missing}") == [1, 3, 2, 2, 2, 1]


def test_a_comparison_with_a_missing_value_is_false_either_way(workspace: Workspace) -> None:
    assert values(workspace, "{count: x >= 0}") == [2, 1, 0, 0, 0, 0]
    assert values(workspace, "{count: x < 0}") == [0, 0, 0, 0, 0, 1]
    assert values(workspace, "{count: tag != 'red'}") == [0, 1, 0, 0, 0, 0]
    assert values(workspace, '{count: \'tag in ("red", "blue")\'}') == [1, 1, 0, 0, 0, 0]


def test_formulas_are_total(workspace: Workspace) -> None:
    quotient = "{derive: 1 / (b - 1), b: {count: activity == 'B'}}"
    assert values(workspace, quotient) == [None, 1, None, None, None, -1]
    overflow = "{derive: x" + f" * 1{'0' * 39}" * 8 + ", x: {data: x}}"
    assert values(workspace, overflow) == [None] * 6
    missing = "{derive: 'x is missing ? 9 : x', x: {data: x}}"
    assert values(workspace, missing) == [5, 7, 9, 9, 9, -1]
    extremes = "{derive: 'max(x, 0) - min(x, 0)', x: {data: x}}"
    assert values(workspace, extremes) == [5, 7, 0, 0, 0, 1]


def test_formulas_over_formulas_are_computed_in_their_order(workspace: Workspace) -> None:
    inner = "{derive: a + b, a: {count: activity == 'A'}, b: {count: activity == 'B'}}"
    nested = f"{{derive: c * 2, c: {inner}}}"
    assert values(workspace, nested) == [4, 8, 4, 4, 4, 0]


def test_more_measures_than_fit_one_query_still_line_up_by_case(workspace: Workspace) -> None:
    ppis = [
        f"  - {{id: p{number}, measure: {{sum: {{count: 'x > {number}'}}}}}}"
        for number in range(40)
    ]
    text = "\n".join(["log: small", "ppis:", *ppis])
    answers = workspace.exact(parse_catalogue(text, "many.yaml"))
    greater = [sum(x > number for x in (1, 5, 7, -1)) for number in range(40)]
    assert [answer.value for answer in answers] == greater


def test_hostile_names_are_names_and_nothing_else(tmp_path: Path) -> None:
    name = '"; DROP TABLE events_1; --'
    rows: list[Row] = [("a'b", 'Robert"); --', 0, {name: 1.0}), ("c", "x", 1, {name: 2.0})]
    workspace = workspace_with(tmp_path / "w", rows)
    text = f"log: small\nppis:\n  - id: one\n    measure: {{sum: {{data: '{name}'}}}}\n"
    (answer,) = workspace.exact(parse_catalogue(text, "hostile.yaml"))
    assert answer.value == 3
