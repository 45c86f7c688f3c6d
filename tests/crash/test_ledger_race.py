"""Eight processes race for one budget: exactly what it allows is granted, to the last one.

A broken twin of the ledger, which checks the budget before it takes the lock, runs the
same race and must overspend; otherwise the race would prove nothing.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.pool import Pool
from multiprocessing.synchronize import Barrier
from pathlib import Path

from pappi.budget.accounts import Account, Charge, KeyState, budget_exceeded, distinct, shortfalls
from pappi.errors import BudgetExceeded
from pappi.store.ledger import Limits, SqliteLedger, Step
from pappi.values.epsilon import Epsilon
from pappi.values.plain_data import JSON

PROCESSES = 8
ATTEMPTS = 40
PLACES = 100  # not a multiple of 8, so that the last places are fought over
OCTOBER = Account("hospital", "2014-10")
AMOUNT = Epsilon.of("0.01")
LIMITS = {OCTOBER: Epsilon(AMOUNT.nano * PLACES)}
PATIENCE = 60.0  # seconds until a rival that does not come fails the test


class CheckingOutsideTheTransaction(SqliteLedger):
    """The planted fault: another process can charge between this check and this write."""

    def charge(self, charges: Sequence[Charge], limits: Limits) -> Mapping[str, KeyState]:
        assert isinstance(limits, Mapping)
        wanted = list(distinct(charges).values())
        short = shortfalls(wanted, self.spent("hospital"), limits)
        self._step(Step.CHARGE_CHECKED)
        if short:
            raise budget_exceeded(wanted, short)
        with self._file.writing():
            self._write_charges(wanted)
        return dict.fromkeys((charge.key for charge in wanted), KeyState.NEW)


class Meeting:
    """Lets the rivals meet at one step of every attempt, so that they all go on at once."""

    barrier: Barrier

    @classmethod
    def at(cls, step: Step) -> Callable[[str], None]:
        def on_step(reached: str) -> None:
            if reached == step:
                cls.barrier.wait(PATIENCE)

        return on_step


def join_meeting(barrier: Barrier) -> None:
    Meeting.barrier = barrier


def grants_won(rival: int, path: Path, kind: type[SqliteLedger], meet_at: Step) -> int:
    won = 0
    with kind.open(path, on_step=Meeting.at(meet_at)) as ledger:
        for attempt in range(ATTEMPTS):
            charge = Charge(f"{rival}-{attempt}", (OCTOBER,), AMOUNT, {})
            try:
                ledger.charge([charge], LIMITS)
            except BudgetExceeded:
                continue
            won += 1
    return won


def draw_for_shared_cells(rival: int, path: Path) -> tuple[list[KeyState], list[JSON]]:
    """All rivals ask the same questions and each draws its own noise."""
    states, shown = [], []
    with SqliteLedger.open(path, on_step=Meeting.at(Step.CHARGE_ASKED)) as ledger:
        for number in range(ATTEMPTS):
            key = f"shared {number}"
            states.append(ledger.charge([Charge(key, (OCTOBER,), AMOUNT, {})], LIMITS)[key])
            shown.append(ledger.record({key: rival})[key])
    return states, shown


def rivals() -> Pool:
    spawn = multiprocessing.get_context("spawn")
    return spawn.Pool(PROCESSES, join_meeting, (spawn.Barrier(PROCESSES),))


def race(path: Path, kind: type[SqliteLedger], meet_at: Step) -> tuple[int, Epsilon]:
    """How many charges were granted in all, and what the ledger says is spent."""
    SqliteLedger.create(path).close()
    runs = [(rival, path, kind, meet_at) for rival in range(PROCESSES)]
    with rivals() as pool:
        granted = sum(pool.starmap(grants_won, runs, chunksize=1))
    with SqliteLedger.open(path) as ledger:
        return granted, ledger.spent("hospital")[OCTOBER]


def test_exactly_the_budget_is_granted_and_the_broken_twin_overspends(tmp_path: Path) -> None:
    granted, spent = race(tmp_path / "sound.sqlite", SqliteLedger, Step.CHARGE_ASKED)
    assert (granted, spent) == (PLACES, LIMITS[OCTOBER])
    granted, spent = race(
        tmp_path / "broken.sqlite", CheckingOutsideTheTransaction, Step.CHARGE_CHECKED
    )
    assert granted > PLACES
    assert spent > LIMITS[OCTOBER]


def test_a_question_asked_by_all_at_once_is_paid_once_and_answered_alike(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    SqliteLedger.create(path).close()
    with rivals() as pool:
        runs = [(rival, path) for rival in range(PROCESSES)]
        outcomes = pool.starmap(draw_for_shared_cells, runs, chunksize=1)
    for number in range(ATTEMPTS):
        assert [states[number] for states, _ in outcomes].count(KeyState.NEW) == 1
        assert len({shown[number] for _, shown in outcomes}) == 1
    with SqliteLedger.open(path) as ledger:
        assert ledger.spent("hospital") == {OCTOBER: Epsilon(AMOUNT.nano * ATTEMPTS)}
