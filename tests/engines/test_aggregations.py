"""Every aggregation over cases, exact and released, agrees with plain arithmetic."""

from __future__ import annotations

import pytest

from pappi.custody import NewLog
from pappi.errors import DefinitionError
from pappi.ppinot import parse_catalogue
from pappi.session import Workspace
from pappi.values import Epsilon, Terms
from tests.small_logs import Row, workspace_with

VALUES = [1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
EXPECTED = {
    "min: {data: x}": 1,
    "max: {data: x}": 60,
    "mean: {data: x}": 22,
    "sum: {data: x}": 220,
    "median: {data: x}": 15,
    "percentile: {data: x}, percent: 90": 55,
    "share: {condition: x >= 10}": 60,
    "share: {condition: x >= 10}, among: {condition: x >= 4}": 600 / 7,
    "mean: {data: x}, where: {condition: x < 10}": 2.5,
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    rows: list[Row] = [(f"c{i}", "A", i, {"x": x}) for i, x in enumerate(VALUES)]
    rows.append(("without", "A", 5, {}))
    new = NewLog(terms=Terms(block_budget=Epsilon.of(50_000)))
    return workspace_with(tmp_path_factory.mktemp("aggregations") / "w", rows, new)


def catalogue_of(measure: str) -> str:
    bounds = "" if measure.startswith("share") else "    bounds: [0, 100]\n"
    return f"log: small\nppis:\n  - id: one\n    measure: {{{measure}}}\n{bounds}"


@pytest.mark.parametrize("measure", EXPECTED)
def test_exact(workspace: Workspace, measure: str) -> None:
    # The case without a value is a case all the same: it counts in a share of all cases.
    of_all = EXPECTED[measure] * 10 / 11 if measure == "share: {condition: x >= 10}" else None
    (answer,) = workspace.exact(parse_catalogue(catalogue_of(measure)))
    assert answer.value == pytest.approx(of_all or EXPECTED[measure])


@pytest.mark.parametrize("measure", EXPECTED)
def test_released_with_so_much_epsilon_that_no_noise_is_left(
    workspace: Workspace, measure: str
) -> None:
    (exact,) = workspace.exact(parse_catalogue(catalogue_of(measure)))
    (series,) = workspace.checkpoint().release(parse_catalogue(catalogue_of(measure)), "5000")
    (answer,) = series.answers
    assert exact.value is not None
    # A quantile lies anywhere between the two values that the exact one interpolates, and
    # so does a maximum between the largest value and the bound.
    loose = {"median": 5, "percentile": 9, "max": 40, "min": 1}.get(measure.partition(":")[0], 0)
    assert answer.value == pytest.approx(exact.value, abs=loose + 0.5)


@pytest.mark.parametrize(
    ("percent", "problem"), [("0", "1 to 99"), ("100", "percentage"), ("x", "percentage")]
)
def test_a_percentile_is_between_1_and_99(percent: str, problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        parse_catalogue(catalogue_of(f"percentile: {{data: x}}, percent: {percent}"))


def test_a_percentile_says_which() -> None:
    with pytest.raises(DefinitionError, match="needs the key 'percent'"):
        parse_catalogue(catalogue_of("percentile: {data: x}"))


def test_grouping_needs_a_text(workspace: Workspace) -> None:
    text = catalogue_of("mean: {data: x}, by: {data: x, values: ['1']}")
    with pytest.raises(DefinitionError, match="grouped by a text"):
        workspace.exact(parse_catalogue(text))
