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
from pappi.lazy import imports_for_types
from tests.small_logs import claims, workspace_with

HEAVY = ("duckdb", "sqlglot", "pyarrow", "pappi.engine", "pappi.audit")
OTHER_NOTATIONS = (
    "pappi.ppinot.notations.bpmn",
    "pappi.ppinot.notations.java",
    "pappi.ppinot.notations.java_fields",
    "pappi.ppinot.notations.java_measures",
    "pappi.ppinot.notations.builder",
    "pappi.ppinot.notations.template",
)
UNUSED = (
    "pappi.custody",
    "pappi.eventlog",
    "pappi.series",
    "pappi.planning.suggestions",
    "pappi.checkpoint.levels",
    "pappi.report.drawing",
    "pappi.report.markup",
    "numpy.ma",
    "concurrent.futures",
)

ASKED = """
log: small
ppis:
  - id: stay
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    target: below 4 days
  - id: middle
    measure: {median: {data: damage}}
    bounds: [0, 1000]
    scope: whole time
  - id: rejected
    measure: {share: {condition: {activity: Reject}}, by: {data: channel, values: [web]}}
    scope: every month
  - id: rate
    measure: {derive: a / b, a: {sum: {count: {activity: Pay}}}, b: {sum: {data: damage}}}
    bounds: {a: [0, 1], b: [0, 1000]}
"""

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
    catalogue = folder / "catalogue.yaml"
    catalogue.write_text(ASKED, encoding="utf-8")
    workspace_with(folder / "w", claims(30)).checkpoint().release(catalogue, "0.1")
    return folder / "w", catalogue


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
    assert imported_by(run).isdisjoint({*HEAVY, *OTHER_NOTATIONS, *UNUSED})


def threads_with(*modules: str) -> int:
    """Of a process that imports these."""
    program = f"import {', '.join(modules)}, os; print(len(os.listdir('/proc/self/task')))"
    env = {key: text for key, text in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}
    run = [sys.executable, "-c", program]
    return int(subprocess.run(run, capture_output=True, text=True, env=env, check=True).stdout)


@pytest.mark.outside
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted on Linux")
@pytest.mark.skipif(os.cpu_count() == 1, reason="there is one thread anyway")
def test_a_command_starts_no_threads_for_matrices() -> None:
    assert threads_with("pappi.cli", "numpy") == 1
    assert threads_with("numpy") > 1  # as it would be otherwise


@pytest.mark.outside
def test_the_version_needs_next_to_nothing() -> None:
    assert imported_by(["--version"]).isdisjoint({"numpy", "rich", "yaml", "pappi.values"})


@pytest.mark.outside
@pytest.mark.parametrize("heavy", HEAVY)
def test_a_heavy_import_would_be_noticed(heavy: str) -> None:
    assert heavy in imported_by(["--version"], f"import {heavy}\n{_RUN}")


PACKAGES = ["pappi", *(f"pappi.{found.name}" for found in pkgutil.iter_modules(pappi.__path__))]


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "pappi.__main__"])
def test_everything_a_package_offers_can_be_loaded(package: str) -> None:
    module = importlib.import_module(package)
    for name in imports_for_types(Path(str(module.__file__)).read_text(encoding="utf-8")):
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError):
        _ = module.no_such_name


def test_a_name_that_is_not_there_would_be_noticed() -> None:
    """Each name is asked for in the module that the package imports it from."""
    homes = imports_for_types("if TYPE_CHECKING:\n    from pappi.store.migration import Inbox\n")
    module, name = homes["Inbox"]
    with pytest.raises(AttributeError):
        getattr(importlib.import_module(module), name)
