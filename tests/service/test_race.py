"""No overspend, through HTTP and through the library, in both databases; in short.

In full: `python -m tests.service.race`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ledgers import DATABASES, Database
from tests.service.race import Plan, Through, ledger_url, run

PROCESSES = 8
ATTEMPTS = 20
PLACES = 50  # not a multiple of 8, so that the last places are fought over


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("through", ["http", "library"])
def test_exactly_the_budget_is_granted(
    tmp_path: Path, through: Through, database: Database
) -> None:
    with ledger_url(database) as url:
        found = run(Plan(PROCESSES, ATTEMPTS, PLACES, through), tmp_path / "w", url)
    assert found.exact, found


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("through", ["http", "library"])
def test_a_ledger_that_checks_too_early_overspends_in_the_same_race(
    tmp_path: Path, through: Through, database: Database
) -> None:
    with ledger_url(database) as url:
        found = run(Plan(PROCESSES, ATTEMPTS // 2, PLACES, through, twin=True), tmp_path / "w", url)
    assert found.overspent, found
