"""A process killed while it removes a log leaves it whole, or removed: never half of each.

The entry in the journal is the moment it happens. Before it nothing has changed; after it the
events are nobody's, and gone with the next change or when the same is asked again.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import pappi
from pappi.custody import NewLog, event_of
from pappi.ledger import Ledger
from pappi.session import Workspace
from pappi.store import event_logs, inbox, stored_logs
from pappi.values import Terms
from tests.crash.processes import forks
from tests.small_logs import claims, event_table, workspace_with

pytestmark = pytest.mark.outside

STEPS = ("asked", "recorded", "swept", "unlisted", "emptied")
ASKED = "log: small\nppis:\n  - {id: n, measure: {number: cases}, scope: every month}\n"
EVENT = {"id": "e1", "case": "n1", "activity": "Pay", "time": "2024-05-02T12:00:00Z"}
ENOUGH = NewLog(terms=Terms(expected_cases=1_000))


def suicide(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die(told: Connection, root: Path, step: str) -> None:
    """Remove the log, and be killed at a step of it."""
    told.send("begun")
    append = Ledger.append

    def append_and_die(ledger: Ledger, kind: str, payload: object) -> int:
        if step == "recorded":
            append(ledger, kind, payload)  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    planted: dict[str, tuple[object, str, Callable[..., object]]] = {
        "asked": (Ledger, "append", append_and_die),
        "recorded": (Ledger, "append", append_and_die),
        "swept": (event_logs, "delete_list", suicide),
        "unlisted": (event_logs, "delete_parts", suicide),
        "emptied": (inbox, "emptied", suicide),
    }
    setattr(*planted[step])
    pappi.open(root).remove_log("small")


def killed_at(step: str, root: Path) -> None:
    heard, told = forks().Pipe(duplex=False)
    child = forks().Process(target=die, args=(told, root, step))
    child.start()
    told.close()
    heard.recv()
    child.join()
    assert child.exitcode == -signal.SIGKILL


def begun(folder: Path, *, asked: bool) -> Workspace:
    workspace = workspace_with(folder / "w", claims(12), ENOUGH)
    workspace.custody.capture("small", [event_of(EVENT)])
    if asked:
        workspace.checkpoint("ann").release(ASKED, "0.5")
    workspace.close()
    return workspace


def left_in(root: Path) -> tuple[tuple[str, ...], bool]:
    """Logs that have events, and whether a captured case is on the disk."""
    files = root.glob("capture*")
    return stored_logs(root / "events"), any(b"n1" in f.read_bytes() for f in files)


@pytest.mark.parametrize(
    ("step", "asked"), [*((step, False) for step in STEPS), ("recorded", True), ("unlisted", True)]
)
def test_a_removal_killed_at_any_step_is_undone_or_finished_by_the_same_again(
    tmp_path: Path, step: str, *, asked: bool
) -> None:
    root = begun(tmp_path, asked=asked).root
    killed_at(step, root)
    workspace = pappi.open(root)
    assert workspace.verify().ok
    happened = step != "asked"
    names = [log.name for log in workspace.logs() if not log.removed]
    assert names == ([] if happened else ["small"])
    if not happened:
        assert left_in(root) == (("events_1",), True)
    assert workspace.remove_log("small").charged is asked
    assert left_in(root) == ((), False)
    assert workspace.verify().ok
    removals = [entry for entry in workspace.custody.trail() if entry.kind == "remove"]
    assert len(removals) == 1
    if asked:
        assert workspace.checkpoint("ann").release(ASKED, "0.5")[0].answers[0].replayed
    else:
        workspace.import_log(event_table(claims(8)), "small", new=ENOUGH)
        assert workspace.checkpoint("ann").release(ASKED, "0.5")


def test_the_next_import_finishes_it_too(tmp_path: Path) -> None:
    root = begun(tmp_path, asked=False).root
    killed_at("recorded", root)
    assert left_in(root) == (("events_1",), True)
    workspace = pappi.open(root)
    workspace.import_log(event_table(claims(8)), "small", new=ENOUGH)
    assert left_in(root) == (("events_2",), False)


def test_a_removal_that_forgets_what_it_left_would_be_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = begun(tmp_path, asked=True).root
    killed_at("recorded", root)
    monkeypatch.setattr("pappi.custody.custody.sweep_within", lambda _: frozenset())
    pappi.open(root).remove_log("small")
    assert left_in(root) == (("events_1",), True)
