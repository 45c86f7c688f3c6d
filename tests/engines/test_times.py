"""Time measures with chosen ends and with cycles, on a real engine, at the edges."""

from __future__ import annotations

from pathlib import Path

import pytest

from pappi.errors import DefinitionError
from pappi.ppinot import parse_catalogue
from pappi.session import Workspace
from tests.engines.by_case import values_of
from tests.small_logs import Row, workspace_with

CASES: dict[str, list[tuple[str, int]]] = {
    "plain": [("A", 0), ("B", 2)],
    "open at the end": [("A", 0), ("B", 1), ("A", 2), ("B", 4), ("A", 9)],
    "runs": [("A", 0), ("A", 1), ("B", 3), ("B", 6)],
    "an end before": [("B", 0), ("A", 1), ("X", 2), ("B", 3)],
    "A again and again": [("A", 0), ("X", 1), ("A", 2), ("X", 3), ("A", 7)],
    "tie, B written first": [("B", 0), ("A", 0)],
    "tie, A written first": [("A", 0), ("B", 0)],
    "neither": [("X", 0)],
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return made(tmp_path_factory.mktemp("times") / "w", reverse=False)


def made(path: Path, *, reverse: bool) -> Workspace:
    """Rows in any order that keeps ties as they were written."""
    rows: list[Row] = [(c, a, h, {"me": c}) for c, events in CASES.items() for a, h in events]
    rows.sort(key=lambda row: -row[2] if reverse else 0)
    return workspace_with(path, rows)


def values(workspace: Workspace, time: str) -> list[float | None]:
    return values_of(workspace, CASES, f"{{time: {time}}}", "hours")


A, B = "activity == 'A'", "activity == 'B'"
EXPECTED = {
    f"{{from: {A}, to: {B}}}": [2, 4, 6, 2, None, None, 0, None],
    f"{{from: {{first: {A}}}, to: {{last: {B}}}}}": [2, 4, 6, 2, None, None, 0, None],
    f"{{from: {A}, to: {{first: {B}}}}}": [2, 1, 3, 2, None, None, 0, None],
    f"{{from: {{last: {A}}}, to: {{first: {B}}}}}": [2, None, 2, 2, None, None, 0, None],
    f"{{from: {{last: {{activity: A}}}}, to: {B}}}": [2, None, 5, 2, None, None, 0, None],
    f"{{from: {A}, to: {{first: {A}}}}}": [None, 2, 1, None, 2, None, None, None],
    f"{{from: {A}, to: {B}, cycles: sum}}": [2, 3, 3, 2, None, None, 0, None],
    f"{{from: {A}, to: {B}, cycles: mean}}": [2, 1.5, 3, 2, None, None, 0, None],
    f"{{from: {A}, to: {B}, cycles: min}}": [2, 1, 3, 2, None, None, 0, None],
    f"{{from: {A}, to: {B}, cycles: max}}": [2, 2, 3, 2, None, None, 0, None],
    f"{{from: {A}, to: {B}, cycles: median}}": [2, 1.5, 3, 2, None, None, 0, None],
    # An event that both ends and starts: the gaps between consecutive ones.
    f"{{from: {A}, to: {A}, cycles: sum}}": [None, 9, 1, None, 7, None, None, None],
    f"{{from: {A}, to: {A}, cycles: max}}": [None, 7, 1, None, 5, None, None, None],
    f"{{from: case start, to: {{first: {B}}}}}": [2, 1, 3, 3, None, None, 0, None],
}


ONSET_A = "{activity: A, occurrence: onset}"
ONSET_B = "{when: activity == 'B', occurrence: onset}"
ONSETS = {
    f"{{from: {ONSET_A}, to: {ONSET_B}}}": [2, 4, 3, 2, None, None, 0, None],
    f"{{from: {{last: {ONSET_A}}}, to: {{first: {ONSET_B}}}}}": [
        2,
        None,
        3,
        2,
        None,
        None,
        0,
        None,
    ],
    f"{{from: {ONSET_A}, to: {ONSET_B}, cycles: sum}}": [2, 3, 3, 2, None, None, 0, None],
    f"{{from: {ONSET_A}, to: {{last: {ONSET_A}}}}}": [0, 9, 0, 0, 7, 0, 0, None],
}


@pytest.mark.parametrize("time", ONSETS)
def test_at_its_onset_a_condition_occurs_once_in_a_run(workspace: Workspace, time: str) -> None:
    assert values(workspace, time) == ONSETS[time]


def test_counts_and_attributes_know_onsets_too(workspace: Workspace) -> None:
    def summed(base: str) -> float | None:
        text = f"log: small\nppis:\n  - id: one\n    measure: {{sum: {base}}}\n"
        (answer,) = workspace.exact(parse_catalogue(text, "onset.yaml"))
        return answer.value

    assert summed(f"{{count: {A}}}") == 12
    assert summed(f"{{count: {ONSET_A}}}") == 11
    assert summed("{count: {when: activity == 'B'}}") == 9
    assert summed(f"{{count: {ONSET_B}}}") == 8


@pytest.mark.parametrize("time", EXPECTED)
def test_every_pair_of_ends_has_its_meaning_in_every_kind_of_case(
    workspace: Workspace, time: str
) -> None:
    assert values(workspace, time) == EXPECTED[time]


def test_the_order_of_the_rows_does_not_matter_but_within_a_tie(tmp_path: Path) -> None:
    turned = made(tmp_path / "w", reverse=True)
    for time, expected in EXPECTED.items():
        assert values(turned, time) == expected


def test_several_measures_share_a_query(workspace: Workspace) -> None:
    """A plain one, two with places, two with cycles, and a formula over them."""
    text = f"""
log: small
ppis:
  - id: all
    measure:
      sum:
        derive: a + 10 * b + 100 * c + 1000 * d
        a: {{time: {{from: "{A}", to: "{B}"}}}}
        b: {{time: {{from: "{A}", to: {{first: "{B}"}}}}}}
        c: {{time: {{from: "{A}", to: "{B}", cycles: sum}}}}
        d: {{time: {{from: "{A}", to: "{B}", cycles: max}}}}
    unit: hours
"""
    (answer,) = workspace.exact(parse_catalogue(text, "all.yaml"))
    cases = [(2, 2, 2, 2), (4, 1, 3, 2), (6, 3, 3, 3), (2, 2, 2, 2), (0, 0, 0, 0)]
    assert answer.value == sum(a + 10 * b + 100 * c + 1000 * d for a, b, c, d in cases)


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (f"{{from: {{last: {A}}}, to: {B}, cycles: sum}}", "every instant counts"),
        (f"{{from: case start, to: {B}, cycles: sum}}", "has no cycles"),
        (f"{{from: case end, to: {B}}}", "from the end of a case"),
        (f"{{from: {A}, to: case start}}", "or up to its start"),
        (f"{{from: {A}, to: {B}, cycles: total}}", "several cycles"),
    ],
)
def test_what_has_no_meaning_is_refused(time: str, message: str) -> None:
    text = f"log: l\nppis:\n  - id: one\n    measure: {{max: {{time: {time}}}}}\n"
    with pytest.raises(DefinitionError, match=message):
        parse_catalogue(text, "bad.yaml")
