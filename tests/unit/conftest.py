"""Unit tests build no workspace and start no process, unless they are marked `outside`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from pappi.store import WorkspaceFiles
from tests.ledgers import DATABASES, Database, Place, new_place


@pytest.fixture(autouse=True)
def nothing_outside(request: pytest.FixtureRequest) -> Iterator[None]:
    """So that `make quick` stays quick: it leaves out what is marked.

    With patches of its own: those of a test end before the fixtures it asked for first.
    """
    if request.node.get_closest_marker("outside"):
        yield
        return

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("this test builds a workspace or starts a process: mark it `outside`")

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(WorkspaceFiles, "__init__", refused)
        patches.setattr(subprocess.Popen, "__init__", refused)
        patches.setattr(BaseProcess, "start", refused)
        yield


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> Database:
    found: Database = request.param
    return found


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Iterator[Place]:
    with new_place(database, tmp_path) as place:
        yield place
