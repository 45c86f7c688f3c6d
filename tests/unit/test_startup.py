"""A command imports what it uses: previews and replays start without what reads events."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import pappi
from pappi.examples import EXAMPLES
from pappi.lazy import imports_for_types

HEAVY = ("duckdb", "sqlglot", "pyarrow", "pappi.engine", "pappi.audit")
OTHER_NOTATIONS = ("pappi.ppinot.notations.bpmn", "pappi.ppinot.notations.java")

_RUN = """
import json, sys
sys.argv[0] = "pappi"
try:
    from pappi.cli import main
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A workspace in which the catalogue was released already."""
    folder = tmp_path_factory.mktemp("startup")
    claims = EXAMPLES["claims"]
    workspace = pappi.create(folder / "w")
    workspace.import_log(claims.write_log(folder), timezone=claims.zone)
    workspace.checkpoint().release(claims.catalogue_path, "0.1", anyway=True)
    return folder / "w", claims.catalogue_path


def imported_by(run: Sequence[str], program: str = _RUN) -> set[str]:
    """The modules a command imports, in a process of its own."""
    env = {key: text for key, text in os.environ.items() if not key.startswith("PAPPI_")}
    done = subprocess.run(
        [sys.executable, "-c", program, *run], capture_output=True, text=True, env=env, check=True
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.outside
@pytest.mark.parametrize("command", ["preview", "release"])
def test_a_preview_and_a_replay_import_nothing_that_reads_events(
    command: str, released: tuple[Path, Path]
) -> None:
    workspace, catalogue = released
    run = [command, str(catalogue), "--epsilon", "0.1", "-w", str(workspace)]
    assert imported_by(run).isdisjoint({*HEAVY, *OTHER_NOTATIONS})


@pytest.mark.outside
@pytest.mark.parametrize("heavy", HEAVY)
def test_a_heavy_import_would_be_noticed(heavy: str) -> None:
    assert heavy in imported_by(["--version"], f"import {heavy}\n{_RUN}")


PACKAGES = ["pappi", *(f"pappi.{found.name}" for found in pkgutil.iter_modules(pappi.__path__))]


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "pappi.__main__"])
def test_everything_a_package_offers_can_be_loaded(package: str) -> None:
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", ()):
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError):
        _ = module.no_such_name


def test_a_name_that_is_not_there_would_be_noticed() -> None:
    """Each name is asked for in the module that the package imports it from."""
    homes = imports_for_types("if TYPE_CHECKING:\n    from pappi.store.migration import Inbox\n")
    module, name = homes["Inbox"]
    with pytest.raises(AttributeError):
        getattr(importlib.import_module(module), name)
