"""The notebooks run from top to bottom, and every result shows itself as more than a name."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))

# What a notebook does with the last line of a cell, as far as it can be told without one.
SHOW = """
def show(result):
    for view in ("_repr_svg_", "_repr_html_", "__repr__"):
        if hasattr(type(result), view):
            shown = getattr(result, view)()
            assert shown and " object at 0x" not in shown, type(result)
            print(type(result).__name__, view)
            return
"""


def cells(path: Path, kind: str) -> list[str]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def as_script(path: Path) -> str:
    """The code of all cells, each showing the value of its last line."""
    statements: list[ast.stmt] = []
    for text in cells(path, "code"):
        *before, last = ast.parse(text).body
        if isinstance(last, ast.Expr):
            shown = ast.Call(ast.Name("show", ast.Load()), [last.value], [])
            last = ast.Expr(shown)
        statements += [*before, last]
    return SHOW + ast.unparse(ast.fix_missing_locations(ast.Module(statements, [])))


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "notebook.py"
    file.write_text(script, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(file)],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_there_are_two() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first-chart", "own-ppis"]


@pytest.mark.outside
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_has(path: Path, tmp_path: Path) -> None:
    done = run(as_script(path), tmp_path)
    assert done.returncode == 0, done.stderr
    shown = [line.split() for line in done.stdout.splitlines() if " _repr_" in line]
    kinds = {name for name, _ in shown}
    assert {"Imported", "Quotes", "Chart", "Budget"} <= kinds
    assert ["Chart", "_repr_svg_"] in shown


def test_a_result_without_a_view_would_be_noticed(tmp_path: Path) -> None:
    done = run(f"{SHOW}\nclass Bare: pass\nshow(Bare())", tmp_path)
    assert "AssertionError" in done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_what_it_gave(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert notebook["nbformat"] == 4
