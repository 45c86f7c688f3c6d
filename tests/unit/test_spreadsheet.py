"""CSV for spreadsheets: what is written by others is never a formula there."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.report import csv_text
from tests.commands import Run
from tests.small_logs import claims, workspace_with

pytestmark = pytest.mark.outside

GROUPED = """
log: small
ppis:
  - id: sojourn
    measure:
      mean: {time: {from: case start, to: case end}, unit: days}
      by: {data: channel, values: ["=1+1", "web"]}
    bounds: [0 days, 10 days]
    scope: {every: month}
"""


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(1)", "\tx", "\nx", "＝1"])
def test_a_text_that_begins_like_a_formula_is_marked_as_text(text: str) -> None:
    assert _rows([{"a": text}]) == [["a"], [f"'{text}"]]


@pytest.mark.parametrize("item", [-1, -1.5, 1e-9, "a-b", "2024-01-01", "'x", "", True])
def test_numbers_and_other_texts_stay_as_they_are(item: object) -> None:
    assert _rows([{"a": 1, "b": item}])[1] == ["1", str(item)]


def test_a_line_break_begins_no_row() -> None:
    assert _rows([{"a": "\r=1"}, {"a": "x\r\n=1"}]) == [["a"], ["'\n=1"], ["x\n=1"]]


def test_nothing_is_written_as_no_rows() -> None:
    assert csv_text([]).strip() == ""


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=3))
def test_no_cell_begins_like_a_formula_and_none_loses_a_letter(texts: list[str]) -> None:
    written = _rows([{"first": 0, "text": text} for text in texts])[1:]
    for (_, cell), each in zip(written, texts, strict=True):
        text = each.replace("\r\n", "\n").replace("\r", "\n")
        assert cell in (text, f"'{text}")
        assert not cell.startswith(tuple("=+-@\t\r\n"))


@pytest.mark.parametrize("command", ["release", "rehearse"])
def test_the_commands_write_no_formula(command: str, tmp_path: Path, run: Run) -> None:
    workspace = workspace_with(tmp_path / "w", claims(6))
    file = tmp_path / "c.yaml"
    file.write_text(GROUPED, encoding="utf-8")
    code, out, _ = run("-w", workspace.root, command, file, "--csv")
    assert code == 0
    groups = set(_column(out, "group"))
    assert groups == {"'=1+1", "web"}


def _rows(records: list[dict[str, object]]) -> list[list[str]]:
    return list(csv.reader(io.StringIO(csv_text(records), newline="")))


def _column(text: str, name: str) -> Iterator[str]:
    return (row[name] for row in csv.DictReader(io.StringIO(text)))
