"""Four processes race for one budget: exactly what it allows is granted, to the last one.

A broken twin of the ledger, which checks the budget before it takes the lock, runs the
same race and must overspend; otherwise the race would prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pappi.ledger import KeyState
from pappi.values import Epsilon
from tests.crash.race import (
    AMOUNT,
    OCTOBER,
    CheckingOutsideTheTransaction,
    Field,
    draw_for_shared_cells,
    race,
    rivals,
)
from tests.ledgers import DATABASES, Place, new_place

# 50 is not a multiple of 4, so that the last places are fought over. In full: `tests.crash.race`.
FIELD = Field(processes=4, attempts=20, places=50)


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with new_place(request.param, tmp_path) as place:
        yield place


def test_exactly_the_budget_is_granted_to_processes_that_ask_at_once(place: Place) -> None:
    outcome = race(place, FIELD)
    assert (outcome.granted, outcome.spent) == (FIELD.places, FIELD.limits[OCTOBER])
    assert outcome.sound


def test_a_broken_twin_overspends_in_the_same_race(place: Place) -> None:
    twin = race(place, FIELD, CheckingOutsideTheTransaction)
    assert twin.granted > FIELD.places
    assert twin.spent > FIELD.limits[OCTOBER]


def test_a_question_asked_by_all_at_once_is_paid_once_and_answered_alike(place: Place) -> None:
    place.create().close()
    with rivals(FIELD) as pool:
        runs = [(rival, place, FIELD) for rival in range(FIELD.processes)]
        outcomes = pool.starmap(draw_for_shared_cells, runs, chunksize=1)
    for number in range(FIELD.attempts):
        assert [states[number] for states, _ in outcomes].count(KeyState.NEW) == 1
        assert len({shown[number] for _, shown in outcomes}) == 1
    with place.open() as ledger:
        assert ledger.spent("hospital") == {OCTOBER: Epsilon(AMOUNT.nano * FIELD.attempts)}
