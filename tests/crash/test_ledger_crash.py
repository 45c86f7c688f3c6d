"""A process killed at any moment loses no charge, doubles none, and leaves one way to go on.

The child below releases cell after cell, like the checkpoint does: charge, draw, record,
reply. It is killed with SIGKILL, by its own hand at a named step or by its parent at some
moment; the parent then looks at what is left. All 50 kills happen to the same ledger.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pappi.budget.accounts import Account, Charge, KeyState
from pappi.store.ledger import SqliteLedger, Step
from pappi.values.epsilon import ZERO, Epsilon

OCTOBER = Account("hospital", "2014-10")
AMOUNT = Epsilon.of("0.001")
LIMITS = {OCTOBER: Epsilon.of(1_000_000)}

STEPS = (
    Step.CHARGE_CHECKED,
    Step.CHARGE_WRITTEN,
    Step.CHARGE_COMMITTED,
    Step.RESULT_WRITTEN,
    Step.RESULT_COMMITTED,
)


class Kill(NamedTuple):
    """At the given time a step is reached, or some seconds after the first reply."""

    step: Step | None = None
    round: int = 0
    moment: float = 0.0


KILLS = (
    *(Kill(step, round_) for step in STEPS for round_ in (1, 2, 3, 5)),
    *(Kill(moment=number / 4000) for number in range(30)),
)


def release_cell(number: int) -> Charge:
    return Charge(f"cell {number}", (OCTOBER,), AMOUNT, {"number": number})


# The child


def serve(path: Path, suicide: Step | None, round_: int) -> None:
    """Release cells until killed, from the first one on that has no result."""
    seen: Counter[str] = Counter()

    def on_step(step: str) -> None:
        seen[step] += 1
        if step == suicide and seen[step] == round_:
            os.kill(os.getpid(), signal.SIGKILL)

    with SqliteLedger.open(path, on_step=on_step) as ledger:
        number = len(ledger.acts("release"))
        while True:
            key = release_cell(number).key
            ledger.charge([release_cell(number)], LIMITS)
            shown = ledger.record({key: {"drawn by": os.getpid()}})
            sys.stdout.write(f"{key}={shown[key]['drawn by']}\n")  # type: ignore[call-overload,index]
            sys.stdout.flush()
            number += 1


# The parent


def replies_until_killed(path: Path, kill: Kill) -> list[str]:
    command = [sys.executable, __file__, str(path), kill.step or "", str(kill.round)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        replies = []
        if kill.step is None:
            replies.append(child.stdout.readline())
            with suppress(subprocess.TimeoutExpired):
                child.wait(timeout=kill.moment)
            child.kill()
        replies += child.stdout.readlines()
    assert child.returncode == -signal.SIGKILL
    return [reply.strip() for reply in replies if reply.endswith("\n")]


def check_what_is_left(path: Path, replies: list[str]) -> None:
    with SqliteLedger.open(path) as ledger:
        records = ledger.charges("hospital")
        keys = [record.charge.key for record in records]
        assert len(set(keys)) == len(keys), "a key was charged twice"
        spent = ledger.spent("hospital").get(OCTOBER, ZERO)
        assert spent.nano == AMOUNT.nano * len(keys)
        pending = [record.charge for record in records if record.released_at is None]
        assert len(pending) <= 1
        recorded = ledger.results(keys)
        for key, drawn_by in (reply.split("=") for reply in replies):
            assert recorded[key] == {"drawn by": int(drawn_by)}, "a reply that is not on record"


def complete_what_is_pending(path: Path) -> int:
    """Go on as the checkpoint would; gives how many releases were pending."""
    with SqliteLedger.open(path) as ledger:
        spent = ledger.spent("hospital")
        pending = [one.charge for one in ledger.charges("hospital") if one.released_at is None]
        for charge in pending:
            assert ledger.charge([charge], {}) == {charge.key: KeyState.PENDING}
            assert ledger.record({charge.key: "completed"}) == {charge.key: "completed"}
            assert ledger.record({charge.key: "again"}) == {charge.key: "completed"}
        assert ledger.spent("hospital") == spent
        return len(pending)


def test_fifty_kills_lose_no_charge_double_none_and_complete_each_release_once(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.sqlite"
    SqliteLedger.create(path).close()
    assert len(KILLS) == 50
    completed: Counter[Step | None] = Counter()
    for number, kill in enumerate(KILLS):
        check_what_is_left(path, replies_until_killed(path, kill))
        # Every second time the next child finds the pending release, not the parent.
        if number % 2:
            completed[kill.step] += complete_what_is_pending(path)
    # Before the commit of the charge nothing has happened; between the commits it is pending.
    assert completed[Step.CHARGE_CHECKED] == completed[Step.CHARGE_WRITTEN] == 0
    assert completed[Step.CHARGE_COMMITTED] == completed[Step.RESULT_WRITTEN] == 2
    assert completed[Step.RESULT_COMMITTED] == 0


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Step(sys.argv[2]) if sys.argv[2] else None, int(sys.argv[3]))
