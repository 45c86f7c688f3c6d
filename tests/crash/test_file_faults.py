"""Whatever happens to a ledger's files, no ε can be spent twice.

FAULT_WORLDS makes it longer, as `make faults` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pappi.ledger import Ledger
from pappi.store import WorkspaceFiles
from tests.crash.file_faults import SpentTwice, lived_through

WORLDS = int(os.environ.get("FAULT_WORLDS", "10"))
STEPS = 14


def test_no_fault_of_files_lets_anything_be_spent_twice(tmp_path: Path) -> None:
    worlds = [lived_through(tmp_path, seed, STEPS) for seed in range(WORLDS)]
    # Not by refusing everything: each world was spent to the end, as far as kills left it.
    assert all(world.acknowledged for world in worlds)
    assert sum(world.refusals for world in worlds) > WORLDS
    if WORLDS >= 10:
        told = " ".join(event for world in worlds for event in world.story)
        assert all(name in told for name in ("older_ledger", "drop_log", "no_mark", "torn_mark"))


def unmarked(files: WorkspaceFiles, _on_step: Callable[[str], None]) -> Ledger:
    """The planted fault: whoever opens the ledger does not look at the mark."""
    return files.open_unmarked_ledger()


def test_a_ledger_whose_mark_nobody_looks_at_is_found_out(tmp_path: Path) -> None:
    def live(seeds: int) -> None:
        for seed in range(seeds):
            lived_through(tmp_path, seed, STEPS, unmarked)

    with pytest.raises(SpentTwice):
        live(10)
