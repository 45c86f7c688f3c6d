"""Every row of the table of edge cases holds, and the page about them is the table's."""

from __future__ import annotations

from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest

import pappi
from pappi.ppinot import parse_catalogue
from tests.engines.edge_cases import EDGE_CASES, PAGE, EdgeCase, page
from tests.small_logs import event_table


@pytest.mark.parametrize("edge", EDGE_CASES, ids=lambda edge: edge.situation)
def test_an_edge_case_is_decided_as_the_page_says(edge: EdgeCase, tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    events = event_table(edge.rows())
    workspace.import_log(_relabelled(events) if edge.repeated_labels else events, "small")
    text = f"log: small\nppis:\n  - id: one\n    scope: {edge.scope}\n    measure:\n      "
    answers = workspace.exact(parse_catalogue(f"{text}{edge.measure}\n", "edge.yaml"))
    assert tuple(answer.value for answer in answers) == pytest.approx(edge.value)


def _relabelled(events: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = events.to_pandas()
    return frame.set_index(pd.Index([0] * len(frame)))


def test_the_page_is_written_from_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make generated"
