"""Processes that race for one budget, and a broken twin of the ledger that loses the race.

The full form, which takes minutes:

    python -m tests.crash.race --processes 64 --attempts 200 --places 1280 --on sqlite
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.pool import Pool
from multiprocessing.synchronize import Barrier
from pathlib import Path

from pappi.errors import BudgetExceeded
from pappi.ledger import Account, Charge, KeyState, Ledger
from pappi.ledger.accounts import budget_exceeded, demand, distinct, shortfalls
from pappi.ledger.ledger import LedgerStep, Limits, Permit, allowed
from pappi.values import JSON, ZERO, Epsilon
from tests.crash.processes import forks
from tests.ledgers import DATABASES, Place, new_place

OCTOBER = Account("hospital", "2014-10")
AMOUNT = Epsilon.of("0.01")
PATIENCE = 300.0  # seconds until a rival that does not come fails the race


@dataclass(frozen=True, slots=True)
class Field:
    """How many processes race, how often each tries, and how many releases are to be had."""

    processes: int
    attempts: int
    places: int

    @property
    def limits(self) -> Mapping[Account, Epsilon]:
        return {OCTOBER: Epsilon(AMOUNT.nano * self.places)}


@dataclass(frozen=True, slots=True)
class Outcome:
    granted: int
    spent: Epsilon
    sound: bool
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.granted} granted, ε {self.spent} spent, chain "
            f"{'verifies' if self.sound else 'is broken'}, {self.seconds:.1f} s"
        )


class CheckingOutsideTheTransaction(Ledger):
    """The planted fault: another process can charge between this check and this write."""

    def charge(
        self, charges: Sequence[Charge], limits: Limits, permit: Permit = allowed
    ) -> Mapping[str, KeyState]:
        assert isinstance(limits, Mapping)
        permit()
        due = list(distinct(charges).values())
        wanted = demand(due)
        short = shortfalls(wanted, self.spent("hospital"), limits)
        self._step(LedgerStep.CHARGE_CHECKED)
        if short:
            raise budget_exceeded(wanted, short)
        with self._journal.writing():
            self._write_charges(due, wanted)
        return dict.fromkeys((charge.key for charge in due), KeyState.NEW)


# In the rivals' processes


class Meeting:
    """Lets the rivals meet at one step of every attempt, so that they all go on at once."""

    barrier: Barrier

    @classmethod
    def at(cls, step: LedgerStep) -> Callable[[str], None]:
        def on_step(reached: str) -> None:
            if reached == step:
                cls.barrier.wait(PATIENCE)

        return on_step


def join_meeting(barrier: Barrier) -> None:
    Meeting.barrier = barrier


def grants_won(
    rival: int, place: Place, kind: type[Ledger], meet_at: LedgerStep, field: Field
) -> int:
    won = 0
    with kind(place.journal(), Meeting.at(meet_at)) as ledger:
        for attempt in range(field.attempts):
            charge = Charge(f"{rival}-{attempt}", (OCTOBER,), AMOUNT, {})
            try:
                ledger.charge([charge], field.limits)
            except BudgetExceeded:
                continue
            won += 1
    return won


def draw_for_shared_cells(
    rival: int, place: Place, field: Field
) -> tuple[list[KeyState], list[JSON]]:
    """All rivals ask the same questions and each draws its own noise."""
    states, shown = [], []
    with place.open(on_step=Meeting.at(LedgerStep.CHARGE_ASKED)) as ledger:
        for number in range(field.attempts):
            key = f"shared {number}"
            asked = Charge(key, (OCTOBER,), AMOUNT, {})
            states.append(ledger.charge([asked], field.limits)[key])
            shown.append(ledger.record({key: rival})[key])
    return states, shown


# In the process that starts them


def rivals(field: Field) -> Pool:
    return forks().Pool(field.processes, join_meeting, (forks().Barrier(field.processes),))


def race(place: Place, field: Field, kind: type[Ledger] = Ledger) -> Outcome:
    """Let them all charge at once; the twin's rivals meet after its check, not before."""
    meet_at = LedgerStep.CHARGE_ASKED if kind is Ledger else LedgerStep.CHARGE_CHECKED
    place.create().close()
    runs = [(rival, place, kind, meet_at, field) for rival in range(field.processes)]
    with rivals(field) as pool:
        started = time.monotonic()
        granted = sum(pool.starmap(grants_won, runs, chunksize=1))
        seconds = time.monotonic() - started
    with Ledger(place.journal()) as ledger:
        spent = ledger.spent("hospital").get(OCTOBER, ZERO)
        return Outcome(granted, spent, ledger.verify().ok, seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="race for one budget")
    parser.add_argument("--processes", type=int, default=64)
    parser.add_argument("--attempts", type=int, default=200)
    parser.add_argument("--places", type=int, default=1280)
    parser.add_argument("--on", choices=DATABASES, default="sqlite")
    asked = parser.parse_args(arguments)
    field = Field(asked.processes, asked.attempts, asked.places)
    say(f"{field.processes} processes x {field.attempts} attempts for {field.places} places")
    with tempfile.TemporaryDirectory() as folder:
        with new_place(asked.on, Path(folder)) as place:
            outcome = race(place, field)
        say(f"{asked.on}: {outcome}")
        with new_place(asked.on, Path(folder)) as place:
            twin = race(place, field, CheckingOutsideTheTransaction)
        say(f"{asked.on}, broken twin: {twin}")
    kept = (outcome.granted, outcome.spent) == (field.places, field.limits[OCTOBER])
    return 0 if kept and outcome.sound and twin.granted > field.places else 1


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
