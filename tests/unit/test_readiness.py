"""What could not be read anyway is refused before anything is charged."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import pappi
from pappi.cli.program import pappi as command
from pappi.errors import LedgerBroken, LedgerUnavailable, WorkspaceError
from pappi.ledger import create_ledger
from pappi.ledger.sqlite import SqliteJournal
from pappi.session import Workspace
from pappi.values import ZERO
from tests.small_logs import claims, workspace_with
from tests.unit.test_rollback import ASKED, OTHER, catalogue

pytestmark = pytest.mark.outside


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(tmp_path / "w", claims(60))


def missing(events: Path) -> None:
    events.unlink()


def empty(events: Path) -> None:
    events.write_bytes(b"")


def cut_off(events: Path) -> None:
    events.write_bytes(events.read_bytes()[:-4096])


def half(events: Path) -> None:
    content = events.read_bytes()
    events.write_bytes(content[: len(content) // 2])


def foreign(events: Path) -> None:
    events.unlink()
    with closing(duckdb.connect(str(events))) as connection:
        connection.execute("CREATE TABLE other (x INTEGER)")


def no_database(events: Path) -> None:
    events.write_bytes(b"x" * 100_000)


def altered(statement: str) -> Callable[[Path], None]:
    def alter(events: Path) -> None:
        with closing(duckdb.connect(str(events))) as connection:
            connection.execute(statement)

    alter.__name__ = statement
    return alter


FAULTS = (
    *(missing, empty, cut_off, half, foreign, no_database),
    altered("ALTER TABLE events DROP COLUMN first_pos"),
    altered("ALTER TABLE events DROP COLUMN damage"),
    altered("ALTER TABLE events ALTER ts_us TYPE VARCHAR"),
    altered("ALTER TABLE events ALTER damage TYPE VARCHAR"),
    altered("ALTER TABLE events ALTER channel TYPE BLOB"),
    altered("ALTER TABLE events RENAME TO others"),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_events_that_cannot_be_read_cost_nothing(
    workspace: Workspace, tmp_path: Path, fault: Callable[[Path], None]
) -> None:
    analyst = workspace.checkpoint()
    replayed = analyst.release(catalogue(ASKED, tmp_path), "0.1")
    before = analyst.budget("small")
    events = workspace.root / "events" / "events_1-1.duckdb"
    shutil.copyfile(events, tmp_path / "good.duckdb")
    fault(events)
    with pytest.raises(WorkspaceError, match="the events"):
        analyst.release(catalogue(OTHER, tmp_path), "0.1")
    assert analyst.budget("small") == before
    again = analyst.release(catalogue(ASKED, tmp_path), "0.1")  # needs no events
    assert [[a.value for a in one.answers] for one in again] == [
        [a.value for a in one.answers] for one in replayed
    ]
    exact = CliRunner().invoke(
        command, ["exact", str(tmp_path / "asked.yaml"), "-w", str(workspace.root)]
    )
    assert isinstance(exact.exception, WorkspaceError)
    shutil.copyfile(tmp_path / "good.duckdb", events)
    analyst.release(catalogue(OTHER, tmp_path), "0.1")


def test_a_key_that_is_missing_or_cut_off_costs_nothing(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Lost while the workspace is open: what chooses among cases could not be computed."""
    analyst = workspace.checkpoint()
    before = analyst.budget("small")
    key = (workspace.root / "key").read_bytes()
    for lost in (lambda path: path.write_bytes(key[:-1]), Path.unlink):
        lost(workspace.root / "key")
        with pytest.raises(WorkspaceError, match="no usable key"):
            analyst.release(catalogue(OTHER, tmp_path), "0.1")
        assert analyst.budget("small") == before
    (workspace.root / "key").write_bytes(key)
    analyst.release(catalogue(OTHER, tmp_path), "0.1")


def test_how_many_rows_there_are_decides_nothing(tmp_path: Path) -> None:
    """A file without a single event is as ready as any: no refusal depends on data."""
    workspace = workspace_with(tmp_path / "w", claims(60))
    with closing(
        duckdb.connect(str(workspace.root / "events" / "events_1-1.duckdb"))
    ) as connection:
        connection.execute("DELETE FROM events")
    workspace.checkpoint().release(catalogue(ASKED, tmp_path), "0.1")
    lines = pappi.open(workspace.root).checkpoint().budget("small")
    assert all(line.spent != ZERO for line in lines)


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        ("Tree 2 page 3: unable to get the page. error code=266", LedgerUnavailable),
        ("Tree 2 page 3: btreeInitPage() returns error code 10", LedgerUnavailable),
        ("Tree 2 page 3: unable to get the page. error code=7", LedgerUnavailable),
        ("Tree 2 page 3: btreeInitPage() returns error code 11", LedgerBroken),
        ("row 3 missing from index journal_by_kind", LedgerBroken),
    ],
)
def test_what_cannot_be_read_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: str, kind: type[LedgerUnavailable]
) -> None:
    """SQLite tells of pages it could not read in the same list as of damaged ones."""
    real = SqliteJournal.run

    def run(self: SqliteJournal, statement: str, *values: object) -> list[object]:
        if "integrity_check" in statement:
            return [(verdict,)]
        return real(self, statement, *values)

    with create_ledger(tmp_path / "l.sqlite") as ledger:
        monkeypatch.setattr(SqliteJournal, "run", run)
        with pytest.raises(LedgerUnavailable) as refusal:
            ledger.require_sound()
    assert type(refusal.value) is kind
    assert ("backup" in refusal.value.hint) is (kind is LedgerBroken)


def test_a_disk_that_fails_to_read_is_not_called_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    class Failing(sqlite3.OperationalError):
        sqlite_errorcode = sqlite3.SQLITE_IOERR | 1 << 8

    with create_ledger(tmp_path / "l.sqlite") as ledger:

        class Connection:
            def __getattr__(self, name: str) -> object:
                return getattr(kept, name)

            def execute(self, statement: str, *values: Any) -> object:  # noqa: ANN401
                if "integrity_check" in statement:
                    raise Failing("disk I/O error")
                return kept.execute(statement, *values)

        journal = ledger._journal
        assert isinstance(journal, SqliteJournal)
        kept = journal._connection
        monkeypatch.setattr(journal, "_connection", Connection())
        with pytest.raises(LedgerUnavailable) as refusal:
            ledger.require_sound()
        monkeypatch.undo()
    assert type(refusal.value) is LedgerUnavailable
