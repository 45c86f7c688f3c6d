"""A backup is whole, of one moment and for its owner alone; what comes back is stopped."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import stat
import tarfile
import threading
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

import pappi
from pappi.cli.program import pappi as command
from pappi.custody import NewLog, back_up, backup, restore
from pappi.custody.backup import MANIFEST
from pappi.errors import InputError, LedgerRolledBack, Stopped, WorkspaceError
from pappi.ledger import Ledger, Mark
from pappi.session import Workspace
from pappi.store import CapturedEvent, open_readonly, open_workspace
from pappi.values import Vocabulary
from tests.small_logs import claims, workspace_with
from tests.unit.test_rollback import ASKED, OTHER, catalogue

pytestmark = pytest.mark.outside


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = workspace_with(tmp_path / "w", claims(60))
    event = CapturedEvent("e1", "new", "Receive", 2_000_000_000_000_000, {})
    made.custody.capture("small", [event])
    made.checkpoint().release(catalogue(ASKED, tmp_path), "0.1")
    return made


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_backup_made_while_in_use_comes_back_stopped_and_replays(
    workspace: Workspace, tmp_path: Path
) -> None:
    made = back_up(open_workspace(workspace.root), tmp_path / "b.tar")  # and it is still open
    assert mode(tmp_path / "b.tar") == 0o600
    assert [each.name for each in tmp_path.glob("*b.tar*")] == ["b.tar"]
    first = workspace.checkpoint().release(catalogue(ASKED, tmp_path), "0.1")

    found = restore(tmp_path / "b.tar", tmp_path / "again")
    assert found == made
    again = pappi.open(tmp_path / "again")
    assert again.verify().ok
    with pytest.raises(Stopped, match="restored from a backup"):
        again.checkpoint().release(catalogue(ASKED, tmp_path), "0.1")
    again.custody.resume()
    replayed = again.checkpoint().release(catalogue(ASKED, tmp_path), "0.1")
    values = [[answer.value for answer in one.answers] for one in replayed]
    assert values == [[answer.value for answer in one.answers] for one in first]
    again.checkpoint().release(catalogue(OTHER, tmp_path), "0.1")
    for each in (tmp_path / "again").rglob("*"):
        if not each.name.startswith("."):
            assert mode(each) == (0o700 if each.is_dir() else 0o600), each


@pytest.mark.parametrize("copies", [1, 2])
def test_a_backup_while_a_seal_is_being_declared_loses_no_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies: int
) -> None:
    """The seal is declared, and the inbox emptied, after so many of the files were copied."""
    fed = pappi.create(tmp_path / "w")
    until = date(2025, 2, 1)
    fed.custody.create_log("fed", NewLog(first=date(2025, 1, 1)), Vocabulary(("Visit",)))
    fed.custody.capture("fed", [CapturedEvent("e1", "c1", "Visit", 1_736_500_000_000_000, {})])
    written, copied = threading.Event(), threading.Event()
    commit, copy, made = Ledger.append, backup._copied, list[str]()

    def late(*entry: object) -> object:
        written.set()
        assert copied.wait(60)
        return commit(*entry)  # type: ignore[arg-type]

    def noted(database: Path, to: Path) -> Path:
        found = copy(database, to)
        made.append(database.name)
        if len(made) == copies:
            copied.set()
            sealing.join()
        return found

    with monkeypatch.context() as planted:
        planted.setattr(backup, "_copied", noted)
        planted.setattr(Ledger, "append", late)
        sealing = threading.Thread(target=lambda: fed.custody.seal("fed", until))
        sealing.start()
        assert written.wait(60)
        back_up(open_workspace(fed.root), tmp_path / "b.tar")
    restore(tmp_path / "b.tar", tmp_path / "again")
    again = pappi.open(tmp_path / "again")
    if again.custody.log("fed").public.until != until:
        again.custody.seal("fed", until)
    table = again.custody.log("fed").table
    with open_readonly(tmp_path / "again/events", table) as events:
        assert events.table(table).fetchall()[0][0] == "c1"


def test_an_older_backup_beside_a_newer_mark_is_a_rollback(
    workspace: Workspace, tmp_path: Path
) -> None:
    back_up(open_workspace(workspace.root), tmp_path / "b.tar")
    workspace.checkpoint().release(catalogue(OTHER, tmp_path), "0.1")
    workspace.close()
    with pytest.raises(WorkspaceError, match="not an empty directory"):
        restore(tmp_path / "b.tar", workspace.root)
    place = tmp_path / "again"
    place.mkdir()
    shutil.copyfile(workspace.root / "ledger.mark", place / "ledger.mark")
    restore(tmp_path / "b.tar", place)
    with pytest.raises(LedgerRolledBack):
        pappi.open(place).logs()


def test_a_backup_is_not_taken_for_a_rollback_because_others_write_meanwhile(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = backup._copied

    def then_written(database: Path, copy: Path) -> Path:
        done = copied(database, copy)
        workspace.custody.stop("meanwhile")
        return done

    monkeypatch.setattr(backup, "_copied", then_written)
    made = back_up(open_workspace(workspace.root), tmp_path / "b.tar")
    assert made.head.seq < open_workspace(workspace.root).mark.read().seq
    assert restore(tmp_path / "b.tar", tmp_path / "again") == made


def test_a_mark_that_was_left_in_place_is_there_at_every_moment_of_a_restoration(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off by a power cut, nothing puts it back."""
    back_up(open_workspace(workspace.root), tmp_path / "b.tar")
    workspace.custody.stop("later")
    place = tmp_path / "again"
    place.mkdir()
    left = (workspace.root / "ledger.mark").read_bytes()
    (place / "ledger.mark").write_bytes(left)
    seen = []
    require = backup._require_head

    def look(ledger: Ledger, head: Mark) -> None:
        seen.append((place / "ledger.mark").read_bytes())
        require(ledger, head)

    monkeypatch.setattr(backup, "_require_head", look)
    restore(tmp_path / "b.tar", place)
    assert [*seen, (place / "ledger.mark").read_bytes()] == [left, left]


def test_a_backup_of_a_rolled_back_ledger_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.root / "ledger.mark").unlink()
    with pytest.raises(LedgerRolledBack):
        back_up(open_workspace(workspace.root), tmp_path / "b.tar")
    assert not list(tmp_path.glob("*b.tar*"))


@pytest.mark.parametrize("lost", ["*.json", "*.duckdb"])
def test_a_backup_without_the_events_of_a_log_is_refused(
    workspace: Workspace, tmp_path: Path, lost: str
) -> None:
    (file,) = (workspace.root / "events").glob(lost)
    kept = file.read_bytes()
    file.unlink()
    with pytest.raises(WorkspaceError, match=f"'small' cannot be backed up: .*{file.name}"):
        back_up(open_workspace(workspace.root), tmp_path / "b.tar")
    assert not list(tmp_path.glob("*b.tar*"))
    file.write_bytes(kept)
    back_up(open_workspace(workspace.root), tmp_path / "b.tar")


def test_a_backup_does_without_the_events_of_a_log_that_was_removed(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.custody.remove("small")
    back_up(open_workspace(workspace.root), tmp_path / "b.tar")


def test_a_backup_is_never_overwritten_and_never_half_written(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b.tar").write_text("mine", encoding="utf-8")
    with pytest.raises(WorkspaceError, match="already"):
        back_up(open_workspace(workspace.root), tmp_path / "b.tar")

    def full(*_anything: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pappi.custody.backup._add", full)
    with pytest.raises(WorkspaceError, match="No space"):
        back_up(open_workspace(workspace.root), tmp_path / "c.tar")
    assert not list(tmp_path.glob("*c.tar*"))


def rewritten(archive: Path, name: str, change: bytes) -> None:
    with tarfile.open(archive) as old:
        parts = {m.name: old.extractfile(m) for m in old.getmembers()}
        contents = {each: part.read() for each, part in parts.items() if part is not None}
    contents[name] = change
    with tarfile.open(archive, "w") as new:
        for each, content in contents.items():
            member = tarfile.TarInfo(each)
            member.size = len(content)
            new.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize(
    "name", ["ledger.sqlite", "key", "workspace.json", "events/events_1-1.duckdb"]
)
def test_a_damaged_backup_is_refused_and_leaves_nothing(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    back_up(open_workspace(workspace.root), tmp_path / "b.tar")
    rewritten(tmp_path / "b.tar", name, b"something else")
    with pytest.raises(InputError, match="damaged"):
        restore(tmp_path / "b.tar", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_place_that_cannot_be_made_is_said(workspace: Workspace, tmp_path: Path) -> None:
    back_up(open_workspace(workspace.root), tmp_path / "b.tar")
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match="cannot be created: Not a directory"):
        restore(tmp_path / "b.tar", tmp_path / "file" / "again")


def test_names_that_lead_out_of_the_directory_are_refused(
    workspace: Workspace, tmp_path: Path
) -> None:
    back_up(open_workspace(workspace.root), tmp_path / "b.tar")
    with tarfile.open(tmp_path / "b.tar") as old:
        part = old.extractfile(MANIFEST)
        assert part is not None
        manifest = json.loads(part.read())
    manifest["files"]["../evil"] = hashlib.sha256(b"x").hexdigest()
    rewritten(tmp_path / "b.tar", "../evil", b"x")
    rewritten(tmp_path / "b.tar", MANIFEST, json.dumps(manifest).encode())
    with pytest.raises(InputError, match="not a backup"):
        restore(tmp_path / "b.tar", tmp_path / "again")
    assert not (tmp_path / "evil").exists()


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(os.urandom(2048))
    with pytest.raises(InputError, match="not a readable backup"):
        restore(tmp_path / "x.tar", tmp_path / "again")


def test_the_commands_say_what_to_note_and_how_to_go_on(
    workspace: Workspace, tmp_path: Path
) -> None:
    file, place = str(tmp_path / "b.tar"), str(tmp_path / "again")
    made = CliRunner().invoke(command, ["backup", file, "-w", str(workspace.root)])
    assert made.exit_code == 0, made.output
    noted = made.output.split()[-1]
    back = CliRunner().invoke(command, ["restore", file, place])
    assert back.exit_code == 0, back.output
    assert "pappi resume" in back.output
    checked = CliRunner().invoke(command, ["audit", "ledger", "--contains", noted, "-w", place])
    assert checked.exit_code == 0, checked.output


def test_files_are_their_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = workspace_with(tmp_path / "w", claims(20))
        event = CapturedEvent("e1", "new", "Receive", 2_000_000_000_000_000, {})
        made.custody.capture("small", [event])
        asked = str(catalogue(ASKED, tmp_path))
        html, svg = tmp_path / "r.html", tmp_path / "charts"
        words = ["release", asked, "--html", str(html), "--svg", str(svg), "-w", str(made.root)]
        done = CliRunner().invoke(command, words)
        assert done.exit_code == 0, done.output
        found = {each.name: mode(each) for each in made.root.rglob("*") if each.is_file()}
    finally:
        os.umask(before)
    wanted = {"ledger.sqlite-wal", "ledger.sqlite-shm", "capture.sqlite", "events_1-1.duckdb"}
    assert {*wanted, "events_1.json"} <= set(found)
    open_to_others = {name for name, bits in found.items() if bits != 0o600 and name[0] != "."}
    assert not open_to_others
    assert mode(html) == 0o600
    assert {mode(each) for each in svg.iterdir()} == {0o600}
