"""Processes that release one question after the other until they are killed.

They keep a diary of what really happened: what was asked, for which keys cases were read
and noise drawn, what was shown. A line is one write, which survives the death of its
writer. Beside the sound one there are twins with a planted fault, for the campaign to find.
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from unittest.mock import patch

from pappi.checkpoint import Caller, LocalSession, draw
from pappi.checkpoint.access import permit_all
from pappi.checkpoint.queries import Known, Release
from pappi.errors import WorkspaceError
from pappi.ledger import Ledger, no_step
from pappi.ledger.ledger import LedgerStep
from pappi.ppinot import parse_catalogue
from pappi.store import LedgerSession, LogDeclaration, Registry, open_workspace
from pappi.values import ZERO, Epsilon, Series

LOG = "small"
CATALOGUE = """
log: small
ppis:
  - id: received
    measure: {sum: {count: activity == "Receive"}}
    bounds: [0, 1]
"""
GAVE_UP = 3  # the exit code of a victim whose ledger is out of reach

STEPS = (
    LedgerStep.CHARGE_ASKED,
    LedgerStep.CHARGE_CHECKED,
    LedgerStep.CHARGE_WRITTEN,
    LedgerStep.UNMARKED,
    LedgerStep.CHARGE_COMMITTED,
    "charged",
    "drawn",
    LedgerStep.RESULT_WRITTEN,
    LedgerStep.RESULT_COMMITTED,
    "recorded",
)


class Victim(StrEnum):
    """What releases: the real checkpoint, or one with a planted fault."""

    SOUND = "sound"
    DRAWS_FIRST = "draws before it charges"
    ASKS_ANEW = "forgets which question was interrupted"
    NOT_DURABLE = "does not wait until a charge is on the disk"


@dataclass(frozen=True, slots=True)
class Scene:
    """A workspace, and the diary of what happened in it."""

    root: Path
    diary: Path

    def write(self, lines: Iterable[str]) -> None:
        handle = os.open(self.diary, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(handle, "".join(f"{line}\n" for line in lines).encode())
        finally:
            os.close(handle)

    def noted(self, what: str) -> list[str]:
        """What the diary says was asked, drew, or showed, in order."""
        if not self.diary.exists():
            return []
        lines = self.diary.read_text(encoding="utf-8").splitlines()
        return [line.removeprefix(f"{what} ") for line in lines if line.startswith(f"{what} ")]

    @property
    def last_asked(self) -> int:
        """The question that may have been interrupted."""
        return int(self.noted("asked")[-1]) if self.diary.exists() else 1


class Watched(LocalSession):
    """The checkpoint, whose every draw is noted before it reads a case."""

    scene: Scene

    def answer(
        self,
        ledger: Ledger,
        known: Sequence[Known],
        log: LogDeclaration,
        check: Callable[[Registry], None] = permit_all,
    ) -> tuple[Series, ...]:
        with patch.object(draw, "draw_cells", self.noted):
            return super().answer(ledger, known, log, check)

    def noted(
        self, events: Path, releases: Sequence[Release], log: LogDeclaration, key: bytes
    ) -> dict[str, draw.CellResult]:
        self.scene.write(f"drew {release.key}" for release in releases)
        return _draw_cells(events, releases, log, key)


_draw_cells = draw.draw_cells


class DrawingFirst(Watched):
    """The planted fault: a crash between draw and charge leaves a free value."""

    def answer(
        self,
        ledger: Ledger,
        known: Sequence[Known],
        log: LogDeclaration,
        check: Callable[[Registry], None] = permit_all,
    ) -> tuple[Series, ...]:
        files, releases = (
            self._ledger_session.files,
            [each for each in known if isinstance(each, Release)],
        )
        self.noted(files.events, releases, log, files.key())
        self._on_step("drawn")
        return super().answer(ledger, known, log, check)


def watched(
    scene: Scene, on_step: Callable[[str], None] = no_step, victim: Victim = Victim.SOUND
) -> tuple[LedgerSession, Watched]:
    """A session on the scene's workspace; close the ledger session after use."""
    ledger_session = LedgerSession(open_workspace(scene.root), on_step)
    kind = DrawingFirst if victim is Victim.DRAWS_FIRST else Watched
    session = kind(ledger_session, Caller("ann"), on_step)
    session.scene = scene
    if victim is Victim.NOT_DURABLE:
        with ledger_session.ledger() as ledger:
            ledger._journal.run("SET synchronous_commit = off")
    return ledger_session, session


def ask(session: LocalSession, number: int) -> str:
    """Release question `number`; gives a digest of what is shown, whoever paid for it."""
    epsilon = Epsilon(1_000_000 + number)  # every epsilon is another question
    series = session.release(
        parse_catalogue(CATALOGUE, "campaign.yaml"), epsilon, anyway=True, derived=False
    )
    answers = [replace(answer, charged=ZERO, replayed=False) for answer in series[0].answers]
    return hashlib.sha256(repr(answers).encode()).hexdigest()


def serve(scene: Scene, victim: Victim, step: str, round_: int, ready: Connection) -> None:
    """Release until killed, by one's own hand when a step is reached for the given time."""
    seen: Counter[str] = Counter()

    def on_step(reached: str) -> None:
        seen[reached] += 1
        if reached == step and seen[reached] == round_:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        _, session = watched(scene, on_step, victim)
        number = scene.last_asked
        salt = os.getpid() * 1_000 if victim is Victim.ASKS_ANEW else 0
        while True:
            scene.write([f"asked {number}"])
            shown = ask(session, number + salt)
            scene.write([f"showed {number} {shown}"])
            ready.send_bytes(b".")
            number += 1
    except WorkspaceError:
        os._exit(GAVE_UP)
