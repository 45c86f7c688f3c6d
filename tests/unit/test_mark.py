"""The mark beside the ledger: it moves on, survives crashes, and an older ledger is refused."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import pappi
from pappi.checkpoint import Caller, LocalSession
from pappi.errors import LedgerRolledBack, LedgerUnavailable
from pappi.ledger import Account, Charge, KeyState, Ledger, Mark, MarkFile
from pappi.ledger.ledger import LedgerStep
from pappi.ppinot import parse_catalogue
from pappi.store import (
    LedgerSession,
    Registry,
    WorkspaceFiles,
    create_workspace,
    open_workspace,
)
from pappi.values import Epsilon
from tests.ledgers import DATABASES, InPostgres, new_place
from tests.small_logs import claims, workspace_with

pytestmark = pytest.mark.outside

BLOCK = Account("log", "2024-01")
LIMITS = {BLOCK: Epsilon.of(1)}


def charge(key: str) -> Charge:
    return Charge(key, (BLOCK,), Epsilon.of("0.1"), {})


def mark(seq: int) -> Mark:
    return Mark(seq, f"{seq:064x}")


@pytest.fixture
def marked(tmp_path: Path) -> MarkFile:
    found = MarkFile(tmp_path / "ledger.mark")
    found.begin(mark(1))
    return found


def test_a_mark_moves_on_and_never_back(marked: MarkFile) -> None:
    for seq in (2, 3, 2, 7, 1):
        marked.move_on(mark(seq))
    assert marked.read() == mark(7)


def test_a_torn_write_leaves_the_mark_before_it(marked: MarkFile, tmp_path: Path) -> None:
    marked.move_on(mark(2))
    marked.move_on(mark(3))
    whole = (tmp_path / "ledger.mark").read_bytes()
    slots = {whole[:512].split()[0]: 0, whole[512:].split()[0]: 512}
    begins = slots[b"3"]
    for torn in range(1, 90):  # all that a slot says stands in its first 90 bytes
        (tmp_path / "ledger.mark").write_bytes(
            whole[:begins] + bytes(torn) + whole[begins + torn :]
        )
        assert marked.read() == mark(2)
    marked.move_on(mark(4))
    assert marked.read() == mark(4)


def test_a_mark_of_which_a_part_is_written_is_not_called_written(
    marked: MarkFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up takes what it can, and complains only the next time."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, content: write(file, content[:40]))
    with pytest.raises(LedgerUnavailable, match="could not be used"):
        marked.move_on(mark(2))
    monkeypatch.undo()
    assert marked.read() == mark(1)


@pytest.mark.parametrize("content", [None, b"", b"nonsense", bytes(1024), b"1 ab cd\n" * 200])
def test_a_mark_that_is_missing_or_damaged_is_refused(
    marked: MarkFile, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "ledger.mark"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert marked.found() is None
    for use in (marked.read, lambda: marked.move_on(mark(9))):
        with pytest.raises(LedgerRolledBack, match=r"ledger\.mark"):
            use()


def test_many_threads_leave_the_furthest_mark(marked: MarkFile) -> None:
    def move(start: int) -> None:
        for seq in range(start, 30, 4):
            marked.move_on(mark(seq))

    threads = [threading.Thread(target=move, args=(start,)) for start in range(1, 5)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert marked.read() == mark(29)


@pytest.mark.parametrize("text", ["", "3", "3:abc", "x:0123456789abcdef", "3:0123456789abcdeg"])
def test_a_noted_entry_that_cannot_be_one_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"digest|DIGEST"):
        Mark.read(text)


class Died(Exception):
    """A process that ends between commit and mark."""


def dying_at(step: LedgerStep) -> Callable[[str], None]:
    def die(reached: str) -> None:
        if reached == step:
            raise Died

    return die


def test_a_crash_between_commit_and_mark_leaves_the_ledger_ahead(tmp_path: Path) -> None:
    files = create_workspace(tmp_path / "w")
    with files.open_ledger(dying_at(LedgerStep.UNMARKED)) as ledger, pytest.raises(Died):
        ledger.charge([charge("a")], LIMITS)
    assert files.mark.read().seq == 1
    with files.open_ledger() as ledger:
        assert ledger.head().seq == 2
        # Whoever completes it reads data because of that charge: it is marked before.
        assert ledger.charge([charge("a")], LIMITS) == {"a": KeyState.PENDING}
        assert files.mark.read() == ledger.head()


def test_what_was_read_of_others_is_marked_before_anything_is_answered(tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    files = open_workspace(workspace.root)
    with files.open_ledger(dying_at(LedgerStep.UNMARKED)) as ledger, pytest.raises(Died):
        ledger.append("stop", {"reason": "x", "by": "owner"})
    assert workspace.custody.stopped() == "x"
    assert files.mark.read().seq == 2


ASKED = """\
log: small
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    epsilon: 0.1
"""


def test_a_result_that_is_recorded_during_a_replay_is_marked_before_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lost again, it would be drawn a second time, although somebody has seen the first."""
    files = open_workspace(workspace_with(tmp_path / "w", claims(60)).root)
    asked = parse_catalogue(ASKED)
    recorded: list[str] = []

    def die(reached: str) -> None:
        if reached == LedgerStep.RESULT_WRITTEN:
            recorded.append(reached)
        if reached == LedgerStep.UNMARKED and recorded:
            raise Died

    ledger_session, other = LedgerSession(files), LedgerSession(files, die)
    register = LedgerSession.registry

    def and_meanwhile(self: LedgerSession, ledger: Ledger) -> Registry:
        found = register(self, ledger)
        if self is ledger_session and not recorded:
            with pytest.raises(Died):
                LocalSession(other, Caller("bob")).release(asked)
        return found

    monkeypatch.setattr(LedgerSession, "registry", and_meanwhile)
    (seen,) = LocalSession(ledger_session, Caller("ann")).replay(asked)
    assert seen.answers
    with files.open_ledger() as ledger:
        assert files.mark.read() == ledger.head()
    ledger_session.close()
    other.close()


@pytest.fixture(params=DATABASES)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WorkspaceFiles]:
    with new_place(request.param, tmp_path) as place:
        url = place.url if isinstance(place, InPostgres) else None
        yield create_workspace(tmp_path / "w", url)


def test_every_commit_is_marked(files: WorkspaceFiles) -> None:
    with files.open_ledger() as ledger:
        seen = [ledger.head()]

        def moved() -> None:
            assert files.mark.read() == ledger.head() > seen[-1]
            seen.append(ledger.head())

        ledger.append("grant", {})
        moved()
        ledger.charge([charge("a")], LIMITS)
        moved()
        ledger.record({"a": 1})
        moved()
        ledger.reserve([charge("b")], LIMITS, ("stand", {}))
        moved()
        ledger.cancel(["b"], "", ("end", {}))
        moved()


def test_a_ledger_that_lacks_its_mark_is_refused_wherever_it_lives(files: WorkspaceFiles) -> None:
    with files.open_ledger() as ledger:
        ledger.charge([charge("a")], LIMITS)
        further = Mark(ledger.head().seq + 1, "0" * 64)
        files.mark.move_on(further)
        for work in (
            lambda: ledger.charge([charge("b")], LIMITS),
            lambda: ledger.append("grant", {}),
            lambda: list(ledger.news(None)),
        ):
            with pytest.raises(LedgerRolledBack):
                work()
    with pytest.raises(LedgerRolledBack, match="the latest are missing"):
        files.open_ledger()
    files.mark.begin(Mark(2, "f" * 64))  # of a ledger that went another way
    with pytest.raises(LedgerRolledBack):
        files.open_ledger()


def older(files: WorkspaceFiles, to: Path) -> None:
    with closing(sqlite3.connect(files.ledger)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copyfile(files.ledger, to)


def test_an_older_ledger_file_is_refused_by_every_command(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", claims(40))
    files = open_workspace(workspace.root)
    older(files, tmp_path / "older.sqlite")
    workspace.checkpoint().releases("small")
    workspace.custody.stop("later")
    workspace.custody.resume()
    workspace.close()
    for beside in ("-wal", "-shm"):
        files.ledger.with_name(f"{files.ledger.name}{beside}").unlink(missing_ok=True)
    shutil.copyfile(tmp_path / "older.sqlite", files.ledger)
    again = pappi.open(workspace.root)
    for work in (again.verify, again.logs, lambda: again.checkpoint().budget("small")):
        with pytest.raises(LedgerRolledBack) as refusal:
            work()
        assert refusal.value.code == "ledger-rolled-back"


def test_a_dropped_log_of_changes_is_refused(tmp_path: Path) -> None:
    files = create_workspace(tmp_path / "w")
    copy = tmp_path / "copy"
    with files.open_ledger() as ledger:
        ledger.charge([charge("a")], LIMITS)
        shutil.copytree(files.root, copy)  # as a kill leaves it: the charge is in the -wal
    assert (copy / "ledger.sqlite-wal").stat().st_size
    with open_workspace(copy).open_ledger() as whole:
        assert whole.states(["a"]) == {"a": KeyState.PENDING}
    shutil.rmtree(copy)
    with files.open_ledger() as ledger:
        ledger.charge([charge("b")], LIMITS)
        shutil.copytree(files.root, copy)
    (copy / "ledger.sqlite-wal").unlink()
    with pytest.raises(LedgerRolledBack):
        open_workspace(copy).open_ledger()


def test_a_mark_that_cannot_be_written_ends_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = create_workspace(tmp_path / "w")

    def fails(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with files.open_ledger() as ledger:
        monkeypatch.setattr("pappi.ledger.snapshots.os.fsync", fails)
        with pytest.raises(LedgerUnavailable, match=r"ledger\.mark"):
            ledger.charge([charge("a")], LIMITS)


def test_a_ledger_without_a_mark_keeps_none(tmp_path: Path) -> None:
    from pappi.ledger import create_ledger

    with create_ledger(tmp_path / "l.sqlite") as ledger:
        assert isinstance(ledger, Ledger)
        ledger.charge([charge("a")], LIMITS)
    assert [each.name for each in tmp_path.iterdir()] == ["l.sqlite"]
