"""No overspend, through HTTP and through the library, in both databases; in short.

In full: `make race`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ledgers import Database
from tests.service.race import Plan, Through, ledger_url, run

PROCESSES = 4
ATTEMPTS = 12
# `make race` has both ways on both databases.
SHORT: list[tuple[Through, Database]] = [("http", "sqlite"), ("library", "postgres")]
PLACES = 30  # not a multiple of 4, so that the last places are fought over


@pytest.mark.parametrize(("through", "database"), SHORT)
def test_exactly_the_budget_is_granted(
    tmp_path: Path, through: Through, database: Database
) -> None:
    with ledger_url(database) as url:
        found = run(Plan(PROCESSES, ATTEMPTS, PLACES, through), tmp_path / "w", url)
    assert found.exact, found


@pytest.mark.parametrize(("through", "database"), SHORT)
def test_a_ledger_that_checks_too_early_overspends_in_the_same_race(
    tmp_path: Path, through: Through, database: Database
) -> None:
    with ledger_url(database) as url:
        found = run(Plan(PROCESSES, ATTEMPTS, PLACES, through, twin=True), tmp_path / "w", url)
    assert found.overspent, found
