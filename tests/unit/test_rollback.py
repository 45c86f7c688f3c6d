"""Going on after a part of the ledger was lost: by the owner's word, what is unknown frozen."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

import pappi
from pappi.cli.program import pappi as command
from pappi.custody import NewLog, accept_rollback, loss_of
from pappi.errors import Conflict, Frozen, LedgerBroken, LedgerRolledBack
from pappi.ledger import Ledger
from pappi.session import Workspace
from pappi.store import CapturedEvent, open_workspace
from pappi.store.registry import Frost
from pappi.values import ZERO, Calendar, Epsilon, Grid, Terms
from tests.small_logs import claims, workspace_with

pytestmark = pytest.mark.outside

ASKED = """\
log: small
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    scope: every month
"""
OTHER = ASKED.replace("10 days", "20 days")


def catalogue(text: str, folder: Path) -> Path:
    path = folder / "asked.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def rolled_back(tmp_path: Path) -> Workspace:
    """One release is on record; the next was lost with the end of the ledger."""
    workspace = workspace_with(tmp_path / "w", claims(60))
    workspace.checkpoint().release(catalogue(ASKED, tmp_path), "0.1")
    lose(workspace, tmp_path)
    return workspace


def lose(workspace: Workspace, tmp_path: Path) -> None:
    workspace.close()
    ledger = workspace.root / "ledger.sqlite"
    shutil.copyfile(ledger, tmp_path / "older.sqlite")
    workspace.checkpoint().release(catalogue(OTHER, tmp_path), "0.1")
    workspace.close()
    shutil.copyfile(tmp_path / "older.sqlite", ledger)


def test_nothing_is_answered_until_the_owner_accepts(
    rolled_back: Workspace, tmp_path: Path
) -> None:
    asked = catalogue(ASKED, tmp_path)
    for words in (["release", str(asked)], ["budget"], ["audit", "ledger"], ["resume"]):
        found = CliRunner().invoke(command, [*words, "-w", str(rolled_back.root)])
        assert isinstance(found.exception, LedgerRolledBack), words


def test_past_blocks_are_frozen_and_what_is_on_record_is_replayed(
    rolled_back: Workspace, tmp_path: Path
) -> None:
    files = open_workspace(rolled_back.root)
    loss = loss_of(files)
    assert loss is not None
    assert loss.mark is not None
    assert loss.first == loss.head.seq + 1 <= loss.mark.seq
    accept_rollback(files)

    again = pappi.open(rolled_back.root)
    assert again.verify().ok
    analyst = again.checkpoint()
    replayed = analyst.release(catalogue(ASKED, tmp_path), "0.1")
    assert all(answer.replayed for one in replayed for answer in one.answers)
    before = [line.spent for line in analyst.budget("small")]
    with pytest.raises(Frozen, match="can no longer be charged"):
        analyst.release(catalogue(OTHER, tmp_path), "0.1")
    lines = analyst.budget("small")
    assert [line.spent for line in lines] == before
    assert all(line.frozen and line.left == ZERO for line in lines)
    pack = again.custody.pack()
    assert any("lost" in act.what.lower() or "Loss" in act.what for act in pack.acts)
    assert all(line.frozen for line in pack.logs[0].accounts)
    spending = again.custody.spending("small")
    assert all(line.frozen and line.left == ZERO for line in spending.lines)
    with pytest.raises(Conflict, match="nothing is lost"):
        accept_rollback(files)


def test_blocks_that_begin_later_can_be_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_with(tmp_path / "w", claims(60))
    lose(workspace, tmp_path)
    monkeypatch.setattr("pappi.custody.backup.today", lambda _zone: date(2024, 5, 20))
    accept_rollback(open_workspace(workspace.root))
    again = pappi.open(workspace.root)
    june = datetime(2024, 6, 10, tzinfo=UTC)
    times = [int(june.timestamp()) * 1_000_000 + step for step in range(4)]
    events = [CapturedEvent(f"e{t}", "new", "Receive", t, {}) for t in times]
    again.custody.capture("small", events)
    again.custody.seal("small", date(2024, 7, 1))

    analyst = again.checkpoint()
    months = {line.block: line.frozen for line in analyst.budget("small")}
    assert months["2024-05"]
    assert not months["2024-06"]
    with pytest.raises(Frozen, match=r"2024-0[1-5]"):
        analyst.release(catalogue(OTHER, tmp_path), "0.1")
    later = OTHER.replace("every month", "{every: month, from: 2024-06-01}")
    ((answer,),) = (one.answers for one in analyst.release(catalogue(later, tmp_path), "0.1"))
    assert not answer.replayed
    spent = {line.block: line.spent for line in analyst.budget("small") if line.spent.nano}
    assert spent == {"2024-06": Epsilon.of("0.1")}


@pytest.mark.parametrize("unit", list(Calendar))
@pytest.mark.parametrize("count", [1, 3])
def test_what_is_frozen_is_every_block_that_begins_by_that_day(
    tmp_path: Path, unit: Calendar, count: int
) -> None:
    grid = Grid(unit, count)
    workspace = workspace_with(tmp_path / "w", claims(10), NewLog(terms=Terms(blocks=Grid(unit))))
    log = workspace.log("small")
    log = replace(log, public=replace(log.public, terms=Terms(blocks=grid)))
    day = date(2024, 12, 30)
    frost = Frost(day, whole=False)
    for block in grid.periods(date(2019, 1, 1), date(2031, 1, 1)):
        assert frost.holds(log, block.label) is (block.start <= day), block
    assert not frost.holds(log, "")
    assert Frost(day, whole=True).holds(log, "2031-01")
    assert frost.holds(log.with_budget(Epsilon.of(1), Epsilon.of(1)), "2031-01")


def test_a_log_with_a_total_is_frozen_as_a_whole(tmp_path: Path) -> None:
    workspace = workspace_with(
        tmp_path / "w", claims(60), NewLog(terms=Terms(total_budget=Epsilon.of(5)))
    )
    lose(workspace, tmp_path)
    accept_rollback(open_workspace(workspace.root))
    again = pappi.open(workspace.root)
    again.grant("small", 1)  # without a total, from now on: what was spent is unknown still
    with pytest.raises(Frozen):
        again.checkpoint().release(catalogue(ASKED, tmp_path), "0.1")


def test_a_missing_mark_is_a_rollback_of_unknown_length(
    rolled_back: Workspace,
) -> None:
    (rolled_back.root / "ledger.mark").unlink()
    with pytest.raises(LedgerRolledBack, match="missing"):
        pappi.open(rolled_back.root).logs()
    at = ["-w", str(rolled_back.root)]
    asked = CliRunner().invoke(command, ["ledger", "accept-rollback", *at], input="n\n")
    assert asked.exit_code != 0
    with pytest.raises(LedgerRolledBack):
        pappi.open(rolled_back.root).logs()
    done = CliRunner().invoke(command, ["ledger", "accept-rollback", "--yes", *at])
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(command, ["budget", *at])
    assert "frozen" in shown.output
    trail = CliRunner().invoke(command, ["trail", "--json", *at]).output.splitlines()
    assert json.loads(trail[-1])["kind"] == "rollback"
    nothing = CliRunner().invoke(command, ["ledger", "accept-rollback", *at])
    assert "Nothing is lost" in nothing.output


def test_a_noted_entry_is_checked_against_a_ledger_that_has_grown(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", claims(20))
    at = ["-w", str(workspace.root)]
    told = CliRunner().invoke(command, ["budget", *at]).output.split()[-1]
    workspace.custody.stop("later")
    good = CliRunner().invoke(command, ["audit", "ledger", "--contains", told, *at])
    assert good.exit_code == 0, good.output
    seq, _, digest = told.partition(":")
    for wrong in (f"{seq}:{digest[::-1]}", f"{int(seq) + 7}:{digest}"):
        found = CliRunner().invoke(command, ["audit", "ledger", "--contains", wrong, *at])
        assert isinstance(found.exception, LedgerRolledBack)
    short = CliRunner().invoke(command, ["audit", "ledger", "--contains", f"{seq}:abc", *at])
    assert short.exit_code != 0


def test_who_has_read_what_is_lost_keeps_no_snapshot_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that goes on running: what it knows is of another past, if of the same length."""
    monkeypatch.setattr(Ledger, "snapshot_every", 7)
    running = workspace_with(tmp_path / "w", claims(60))
    ledger = running.root / "ledger.sqlite"
    running.close()
    shutil.copyfile(ledger, tmp_path / "older.sqlite")
    for number in range(5):
        running.custody.stop(f"lost {number}")
    assert running.custody.stopped() == "lost 4"
    length = open_workspace(running.root).mark.read().seq
    running.close()
    shutil.copyfile(tmp_path / "older.sqlite", ledger)
    accept_rollback(open_workspace(running.root))
    with open_workspace(running.root).open_ledger() as other:
        while other.head().seq < length:
            other.append("resume", {"by": "owner"})
        assert length >= Ledger.snapshot_every
    for _ in range(2):
        with pytest.raises(LedgerBroken, match="is not what it was"):
            running.custody.stopped()
    again = pappi.open(running.root)
    assert again.custody.stopped() is None
    assert all(line.frozen for line in again.checkpoint().budget("small"))


def test_the_ledger_is_verified_in_json_too(tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    workspace.close()
    asked = ["audit", "ledger", "--json", "-w", str(tmp_path / "w")]
    found = json.loads(CliRunner().invoke(command, asked).stdout)
    assert found["verifies"] is True
    assert found["head"].startswith(f"{found['entries']}:")
    again = CliRunner().invoke(command, [*asked, "--contains", found["head"]])
    assert json.loads(again.stdout) == {**found, "contains": found["head"]}
