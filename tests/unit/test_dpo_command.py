"""`pappi report dpo`: the document, the same as JSON, and an exit code that can be relied on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import Run
from tests.ledgers import InSqlite
from tests.small_logs import claims, workspace_with
from tests.unit.test_checkpoint import SOJOURN, catalogue

pytestmark = pytest.mark.outside


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    workspace = workspace_with(tmp_path / "w", claims(12))
    workspace.checkpoint("alice").release(catalogue(SOJOURN), "0.1")
    workspace.close()
    monkeypatch.chdir(tmp_path / "w")
    return tmp_path


def test_the_document_is_written_where_it_is_wanted(run: Run, folder: Path) -> None:
    code, out, errors = run("report", "dpo", "small", "--html", folder / "new" / "pack.html")
    assert (code, out) == (0, "")
    assert "pack.html" in errors
    page = (folder / "new" / "pack.html").read_text(encoding="utf-8")
    assert "Data-protection pack: small" in page
    assert "1.11 times likelier" in page


def test_without_a_place_it_has_a_name_of_its_own(run: Run, folder: Path) -> None:
    code, _, errors = run("report", "dpo")
    assert code == 0
    assert "data-protection.html" in errors
    assert (folder / "w" / "data-protection.html").is_file()


def test_json_alone_writes_no_file(run: Run, folder: Path) -> None:
    code, out, _ = run("report", "dpo", "--json")
    assert code == 0
    record = json.loads(out)
    assert record["ledger"]["verifies"] is True
    assert record["logs"][0]["releases"][0]["ppis"] == ["sojourn"]
    assert not (folder / "w" / "data-protection.html").exists()


def test_a_log_that_is_not_there_is_said_so(run: Run, folder: Path) -> None:
    code, _, errors = run("report", "dpo", "large")
    assert code != 0
    assert "there is no log called 'large'" in errors
    assert not (folder / "w" / "data-protection.html").exists()


def test_a_place_that_cannot_be_written_is_said_so(run: Run, folder: Path) -> None:
    (folder / "file").write_text("")
    code, _, errors = run("report", "dpo", "--html", folder / "file" / "pack.html")
    assert code == 5
    assert "cannot be written" in errors


def test_a_broken_ledger_is_in_the_document_and_in_the_exit_code(run: Run, folder: Path) -> None:
    edit = "UPDATE journal SET body = replace(body, 'alice', 'carol') WHERE kind = 'charge'"
    InSqlite(folder / "w" / "ledger.sqlite").edit(edit)
    code, _, errors = run("report", "dpo", "--html", folder / "pack.html")
    assert code == 4
    assert "does not verify" in errors
    assert "The ledger does not verify" in (folder / "pack.html").read_text(encoding="utf-8")
