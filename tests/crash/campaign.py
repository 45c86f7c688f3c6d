"""Kills releases at every step and at random moments, and looks at what is left.

After each kill: the chain verifies; no case was read for a key that is not charged; no key
is charged twice and no question under two keys; what is spent is what was charged; what was
shown is what is on record. Then the interrupted question is asked again, every second time
by another process: it completes once, at no cost if it was charged.

    python -m tests.crash.campaign --kills 1000 --on sqlite
    python -m tests.crash.campaign --kills 200 --stops 20 --on postgres
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal

import pappi
from pappi.custody import NewLog
from pappi.errors import LedgerBroken
from pappi.ledger import ChargeRecord, Ledger, demand
from pappi.store import create_workspace
from pappi.values import Epsilon, Terms
from tests.crash.processes import forks
from tests.crash.victims import GAVE_UP, LOG, STEPS, Scene, Victim, ask, serve, watched
from tests.ledgers import DATABASES, Database, server
from tests.small_logs import claims, event_table

PATIENCE = 120.0  # seconds until a victim that does not even start fails the campaign
MONTHS = 2  # so that every release has several cells, charged and recorded together
KILLS_PER_SCENE = 100  # a fresh ledger now and then keeps opening it fast


@dataclass(frozen=True, slots=True)
class Kill:
    """When a step is reached for the given time, or some seconds after the first answer."""

    step: str = ""
    round: int = 1
    moment: float = 0.0
    whom: Literal["process", "server"] = "process"

    def __str__(self) -> str:
        return f"at step '{self.step}'" if self.step else f"of the {self.whom} at a random moment"


def kills(count: int, dice: random.Random) -> Iterator[Kill]:
    """Every step in turn, and between two of them a random moment."""
    for number in range(count):
        if number % 2:
            yield Kill(moment=dice.uniform(0, 0.1))
        else:
            yield Kill(STEPS[number // 2 % len(STEPS)], dice.randint(1, 3))


@contextmanager
def scene_on(database: Database, folder: Path) -> Iterator[Scene]:
    """A workspace with a small log and plenty of budget."""
    with tempfile.TemporaryDirectory(dir=folder) as place, _url(database) as url:
        root = Path(place) / "workspace"
        create_workspace(root, url)
        workspace = pappi.open(root)
        new = NewLog(terms=Terms(block_budget=Epsilon.of(1_000_000)))
        workspace.import_log(event_table(claims(12, months=MONTHS)), LOG, new=new)
        workspace.close()
        yield Scene(root, Path(place) / "diary")


@contextmanager
def _url(database: Database) -> Iterator[str | None]:
    if database == "sqlite":
        yield None
    else:
        with server().database() as place:
            yield place.url


# Killing


def strike(scene: Scene, kill: Kill, victim: Victim = Victim.SOUND) -> None:
    """Start a victim and kill it, or the server under it."""
    heard, told = forks().Pipe(duplex=False)
    process = forks().Process(target=serve, args=(scene, victim, kill.step, kill.round, told))
    process.start()
    told.close()
    with closing(heard):
        if not kill.step:
            assert heard.poll(PATIENCE), "the victim gives no answer"
            process.join(kill.moment)
            _STRIKES[kill.whom](process)
        process.join(PATIENCE)
    expected = GAVE_UP if kill.whom == "server" else -signal.SIGKILL
    assert process.exitcode == expected, f"the victim ended with {process.exitcode}"


def _stop_the_server(process: BaseProcess) -> None:
    server().stop("immediate")
    process.join(PATIENCE)
    server().start()


_STRIKES: dict[str, Callable[[BaseProcess], None]] = {
    "process": lambda process: process.kill(),
    "server": _stop_the_server,
}


# Looking


def findings(scene: Scene) -> list[str]:
    """What is wrong with what a kill has left; nothing, if the promise is kept."""
    ledger_session, _ = watched(scene)
    with closing(ledger_session):
        try:
            with ledger_session.ledger() as ledger:
                return list(_wrong_in(ledger, scene))
        except LedgerBroken as broken:
            return [f"the ledger is broken: {broken}"]


def _wrong_in(ledger: Ledger, scene: Scene) -> Iterator[str]:
    records = ledger.charges(LOG)
    keys = [record.charge.key for record in records]
    if unpaid := set(scene.noted("drew")) - set(keys):
        yield f"cases were read for {len(unpaid)} keys that are not charged"
    if len(set(keys)) < len(keys):
        yield "a key was charged twice"
    if len(keys) > MONTHS * len(set(scene.noted("asked"))):
        yield "a question was charged under two keys"
    if len(_pending(records)) > MONTHS:
        yield "more than the last question is pending"
    spent = {account: one.spent for account, one in ledger.balances(LOG).items()}
    if spent != demand(record.charge for record in records):
        yield "what is spent is not what was charged"


def _pending(records: Sequence[ChargeRecord]) -> list[ChargeRecord]:
    return [record for record in records if record.released_at is None]


def complete(scene: Scene) -> list[str]:
    """Ask the interrupted question again; gives what is wrong with how that goes."""
    ledger_session, session = watched(scene)
    number = scene.last_asked
    scene.write([f"asked {number}"])
    with closing(ledger_session), ledger_session.ledger() as ledger:
        before = ledger.charges(LOG)
        shown = ask(session, number)
        wrong = [] if ask(session, number) == shown else ["asked again, it is answered otherwise"]
        after = ledger.charges(LOG)
        if _pending(after):
            wrong.append("it does not complete")
        if _pending(before) and len(after) != len(before):
            wrong.append("it is charged again")
        if len(after) != MONTHS * len(set(scene.noted("asked"))):
            wrong.append("something that was asked is not charged, or something twice")
        return wrong


def shown_otherwise(scene: Scene, since: int) -> list[str]:
    """Answers that are no longer what was shown, among those the diary has since some line."""
    ledger_session, session = watched(scene)
    with closing(ledger_session):
        shown = [line.split() for line in scene.noted("showed")[since:]]
        return [
            f"the answer to question {number} is not what was shown"
            for number, digest in shown
            if ask(session, int(number)) != digest
        ]


def examine(scene: Scene, kill: Kill, victim: Victim, *, completing: bool) -> list[str]:
    """One kill, and everything that is wrong after it."""
    before = len(scene.noted("showed"))
    strike(scene, kill, victim)
    wrong = findings(scene)
    if wrong:
        return wrong
    wrong = shown_otherwise(scene, before)
    return wrong + complete(scene) if completing else wrong


# The campaign


@dataclass(frozen=True, slots=True)
class Report:
    kills: Counter[str]
    questions: int
    wrong: tuple[str, ...]
    seconds: float


def campaign(
    database: Database, planned: Sequence[Kill], folder: Path, victim: Victim = Victim.SOUND
) -> Report:
    """All the kills, on a fresh ledger now and then; a planted fault ends with its finding."""
    started, made, questions = time.monotonic(), Counter[str](), 0
    for first in range(0, len(planned), KILLS_PER_SCENE):
        with scene_on(database, folder) as scene:
            for number, kill in enumerate(planned[first : first + KILLS_PER_SCENE]):
                made[str(kill)] += 1
                wrong = examine(scene, kill, victim, completing=number % 2 == 1)
                if wrong:
                    return Report(made, questions, tuple(wrong), time.monotonic() - started)
            questions += len(set(scene.noted("asked")))
    return Report(made, questions, (), time.monotonic() - started)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="kill releases and look at what is left")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--stops", type=int, default=0, help="of the PostgreSQL server")
    parser.add_argument("--on", choices=DATABASES, default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--victim", choices=list(Victim), default=Victim.SOUND)
    asked = parser.parse_args(arguments)
    dice = random.Random(asked.seed)  # noqa: S311 - chooses moments, not secrets
    planned = list(kills(asked.kills, dice))
    planned += [Kill(moment=dice.uniform(0, 0.3), whom="server") for _ in range(asked.stops)]
    with tempfile.TemporaryDirectory() as folder:
        report = campaign(asked.on, planned, Path(folder), Victim(asked.victim))
    for kind, count in sorted(report.kills.items()):
        say(f"{count:5} {kind}")
    say(f"{report.kills.total()} kills, {report.questions} questions, {report.seconds:.0f} s")
    for sentence in report.wrong:
        say(f"WRONG: {sentence}")
    return 1 if report.wrong else 0


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
