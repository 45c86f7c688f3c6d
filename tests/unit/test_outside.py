"""A unit test that builds a workspace or starts a process says so, or it is refused."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pappi.store import WorkspaceFiles

NOTHING = [sys.executable, "-c", ""]
OUTSIDE: dict[str, Callable[[Path], object]] = {
    "a workspace": WorkspaceFiles,
    "a command": lambda _: subprocess.run(NOTHING, check=True),
    "a process": lambda _: multiprocessing.get_context("spawn").Process().start(),
}


@pytest.mark.parametrize("what", OUTSIDE)
def test_it_is_refused_without_the_mark(tmp_path: Path, what: str) -> None:
    with pytest.raises(AssertionError, match="mark it `outside`"):
        OUTSIDE[what](tmp_path)


@pytest.mark.outside
@pytest.mark.parametrize("what", ["a workspace", "a command"])
def test_it_is_done_with_the_mark(tmp_path: Path, what: str) -> None:
    assert OUTSIDE[what](tmp_path)
