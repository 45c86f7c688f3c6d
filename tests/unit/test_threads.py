"""An answer has the same last digit however many threads there are.

BLAS, behind numpy's @, shares a large product among them, and adds it up in another order.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pappi
from pappi.examples import EXAMPLES

OF_NUMBERS = ("mechanisms", "series", "planning", "checkpoint")
BY_BLAS = ("dot", "inner", "linalg", "matmul", "matvec", "tensordot", "vdot", "vecdot")

ANSWERS = """
import sys
import pappi
from pappi.examples import EXAMPLES

session = pappi.open(sys.argv[1]).checkpoint()
catalogue = EXAMPLES["claims"].catalogue_path
for smooth in (False, True):
    print(list(session.release(catalogue, "0.1", smooth=smooth, anyway=True)))
"""


def products(source: str) -> Iterator[int]:
    """The lines in which numpy multiplies matrices by BLAS."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.BinOp(op=ast.MatMult()):
                yield node.lineno
            case ast.Attribute(value=ast.Name("np"), attr=name) if name in BY_BLAS:
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr="dot", value=ast.Name(name))) if name != "tails":
                yield node.lineno


def test_no_figure_is_a_product_by_blas() -> None:
    root = Path(pappi.__file__).parent
    found = [
        f"{path.relative_to(root)}:{line}"
        for package in OF_NUMBERS
        for path in sorted((root / package).rglob("*.py"))
        for line in products(path.read_text(encoding="utf-8"))
    ]
    assert not found, "use mechanisms.laws.dot"


@pytest.mark.parametrize("planted", ["a @ b", "np.dot(a, b)", "a.dot(b)", "np.linalg.norm(a)"])
def test_a_planted_product_is_seen(planted: str) -> None:
    assert list(products(planted))


@pytest.mark.outside
def test_a_replay_with_two_threads_is_one_with_one_thread(tmp_path: Path) -> None:
    example = EXAMPLES["claims"]
    workspace = pappi.create(tmp_path / "w")
    workspace.import_log(example.write_log(tmp_path), "claims", timezone=example.zone)
    workspace.checkpoint().release(example.catalogue_path, "0.1", anyway=True)
    workspace.close()
    answers = {replayed(tmp_path / "w", threads) for threads in ("1", "2")}
    assert len(answers) == 1


def replayed(workspace: Path, threads: str) -> str:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads}
    command = [sys.executable, "-c", ANSWERS, str(workspace)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout
