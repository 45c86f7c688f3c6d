"""Workspaces that every earlier version wrote: refused as they are, and migrated without loss.

What is under `tests/golden` was written by those versions themselves (`tests/golden/make.py`).
"""

from __future__ import annotations

import json
import shutil
import tarfile
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
from pappi.store import LAYOUT, create_workspace, migrate, open_readonly
from pappi.store.workspace import read_marker, write_marker
from pappi.values import Epsilon
from tests.commands import answers_in
from tests.golden import make
from tests.golden.make import NEW, PENDING, RELEASED
from tests.ledgers import InPostgres, new_place
from tests.lengths import length

pytestmark = pytest.mark.outside

GOLDEN = Path(__file__).parent.parent / "golden"
EARLIER = {
    "layout-1": 1,
    "layout-2": 2,
    "layout-3-first": 3,
    "layout-3-without-first-pos": 3,
    "layout-3": 3,
    "layout-4": 4,
}


def unpacked(name: str, folder: Path) -> Path:
    root = folder / name
    with tarfile.open(GOLDEN / f"{name}.tar.xz") as archive:
        archive.extractall(root, filter="data")
    return root


@pytest.fixture(params=EARLIER)
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return unpacked(request.param, tmp_path)


def contents(root: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in root.rglob("*") if each.is_file()}


def catalogue(folder: Path, text: str) -> Path:
    written = folder.parent / "catalogue.yaml"
    written.write_text(text, encoding="utf-8")
    return written


def values(answers: list[dict[str, Any]], layout: int) -> list[tuple[object, ...]]:
    """What was answered; of layout 1, means are now estimated better from the same numbers.

    Sums that cannot be negative were told as they were drawn where clipped cases are counted.
    """
    return [
        (a["ppi"], a["period"]["start"], a["cases"])
        + (() if layout == 1 and a["cases"] is not None else (max(a["value"], 0.0),))
        for a in answers
    ]


def answered(root: Path) -> list[dict[str, Any]]:
    """What the version that wrote a golden workspace printed."""
    return answers_in((root / "answers.json").read_text(encoding="utf-8"))


def spent(root: Path) -> dict[str, Epsilon]:
    workspace = pappi.open(root)
    try:
        return {line.block: line.spent for line in workspace.checkpoint().budget("claims")}
    finally:
        workspace.close()


def released(root: Path, text: str) -> list[dict[str, Any]]:
    asked = ["release", str(catalogue(root, text)), "--epsilon", "0.1", "--json", "-w", str(root)]
    done = CliRunner().invoke(command, asked, catch_exceptions=False)
    return answers_in(done.stdout)


def test_a_workspace_of_an_earlier_layout_is_refused_and_nothing_of_it_changes(
    earlier: Path,
) -> None:
    before = contents(earlier)
    asked = str(catalogue(earlier, NEW))
    for words in (["release", asked], ["exact", asked], ["budget"], ["audit", "ledger"]):
        found = CliRunner().invoke(command, [*words, "-w", str(earlier)])
        assert isinstance(found.exception, WorkspaceError), words
        assert "pappi migrate" in found.exception.hint
    assert contents(earlier) == before


def test_a_migrated_workspace_replays_completes_and_answers(earlier: Path) -> None:
    layout = EARLIER[earlier.name]
    first = answered(earlier)
    done = migrate(earlier)
    assert (done.before, done.after) == (layout, LAYOUT)
    charged = spent(earlier)
    assert max(charged.values()) == Epsilon.of("0.3")

    again = released(earlier, RELEASED)
    assert values(again, layout) == values(first, layout)
    assert all(answer["replayed"] for answer in again)
    completed = released(earlier, PENDING)
    assert all(answer["charged"] == "0" for answer in completed)
    assert spent(earlier) == charged

    new = released(earlier, NEW)
    assert {answer["charged"] for answer in new} == {"0.1"}
    workspace = pappi.open(earlier)
    assert workspace.verify().ok
    exact = workspace.exact(catalogue(earlier, NEW))
    assert [answer.value for answer in exact[:2]] == [20, 20]


def test_what_was_captured_is_sealed_after_migration(tmp_path: Path) -> None:
    for name in ("layout-3-first", "layout-3-without-first-pos", "layout-3", "layout-4"):
        root = unpacked(name, tmp_path)
        migrate(root)
        workspace = pappi.open(root)
        from datetime import date

        workspace.custody.seal("claims", date(2024, 5, 1))
        exact = workspace.exact(catalogue(root, NEW))
        assert [answer.value for answer in exact] == [20, 20, 3, 1]
        (run,) = workspace.run_subscriptions()
        assert run.problem is None
        workspace.close()


def test_every_version_of_a_log_and_every_event_is_there_after_migration(tmp_path: Path) -> None:
    root = unpacked("layout-4", tmp_path)
    with closing(duckdb.connect(str(root / "events.duckdb"), read_only=True)) as connection:
        views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal")
        names = ["events_1", *(name for (name,) in views.fetchall())]
        before = {n: connection.execute(f"FROM {n} ORDER BY pos").fetchall() for n in names}
    migrate(root)
    assert len(names) > 1
    for name in names:
        with closing(open_readonly(root / "events", name)) as connection:
            assert connection.execute(f"FROM {name} ORDER BY pos").fetchall() == before[name]


class Cut(Exception):
    pass


def cut_at(number: int) -> Callable[[str], None]:
    left = [number]

    def step(_name: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Cut

    return step


def test_a_migration_that_is_cut_off_is_finished_by_the_next(tmp_path: Path) -> None:
    every = ("layout-1", "layout-4", "layout-3-without-first-pos")
    for name in every[: length(2, 3)]:
        for number in range(1, 20):
            root = unpacked(name, tmp_path)
            try:
                migrate(root, cut_at(number))
            except Cut:
                if not is_current(root):
                    with pytest.raises(WorkspaceError):
                        pappi.open(root).verify()
                migrate(root)
                assert pappi.open(root).verify().ok
                first = answered(root)
                again, layout = released(root, RELEASED), EARLIER[name]
                assert values(again, layout) == values(first, layout)
                changed = EARLIER[name] < 4
                assert (root / f"before-layout-{LAYOUT}" / "ledger.sqlite").exists() is changed
                assert not (root / ".migrating").exists()
                assert not (root / "events.duckdb").exists()
                assert (root / f"before-layout-{LAYOUT}" / "events.duckdb").exists()
                shutil.rmtree(root)
            else:
                break
        else:
            pytest.fail("more steps than were tried")


def is_current(root: Path) -> bool:
    marker = json.loads((root / "workspace.json").read_text(encoding="utf-8"))
    return bool(marker["layout"] == LAYOUT)


def test_a_workspace_in_use_is_not_migrated(tmp_path: Path) -> None:
    import sqlite3

    root = unpacked("layout-3", tmp_path)
    with closing(sqlite3.connect(root / "ledger.sqlite")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(WorkspaceError, match="in use"):
            migrate(root)
    migrate(root)


def test_a_damaged_ledger_is_not_migrated(tmp_path: Path) -> None:
    import sqlite3

    for name in ("layout-1", "layout-3"):
        root = unpacked(name, tmp_path)
        with closing(sqlite3.connect(root / "ledger.sqlite")) as edited, edited:
            edited.execute("DROP TRIGGER journal_is_not_changed")
            edited.execute("UPDATE journal SET body = '{}' WHERE kind = 'charge'")
        with pytest.raises(LedgerBroken):
            migrate(root)
        assert not is_current(root)


@pytest.mark.parametrize("name", ["layout-1", "layout-3", "layout-4"])
def test_what_is_written_into_the_old_ledger_meanwhile_is_not_lost(
    tmp_path: Path, name: str
) -> None:
    """Cut off as soon as the marker says so; an earlier version that was running goes on."""
    root = unpacked(name, tmp_path)
    with pytest.raises(Cut):
        migrate(root, cut_at(3))
    appended(root, "stop", {"reason": "meanwhile", "by": "owner"})
    migrate(root)
    workspace = pappi.open(root)
    assert workspace.custody.stopped() == "meanwhile"
    assert workspace.verify().ok
    workspace.close()


def test_what_is_written_at_the_last_moment_ends_the_migration(tmp_path: Path) -> None:
    root = unpacked("layout-3", tmp_path)

    def write(step: str) -> None:
        if step == "put ledger.mark in its place":
            appended(root, "stop", {"reason": "meanwhile", "by": "owner"})

    with pytest.raises(WorkspaceError, match="in use"):
        migrate(root, write)
    migrate(root)
    assert pappi.open(root).custody.stopped() == "meanwhile"


def test_what_an_earlier_migration_replaced_stays_and_so_does_what_this_one_does(
    tmp_path: Path,
) -> None:
    root = unpacked("layout-3", tmp_path)
    earlier = root / f"before-layout-{LAYOUT}"
    earlier.mkdir()
    (earlier / "ledger.sqlite").write_bytes(b"of an earlier try")
    replaced = ledger_rows(root, "SELECT * FROM journal")
    done = migrate(root)
    assert (earlier / "ledger.sqlite").read_bytes() == b"of an earlier try"
    assert done.kept is not None
    assert done.kept != earlier
    assert ledger_rows(done.kept, "SELECT * FROM journal") == replaced


@pytest.mark.parametrize("name", ["layout-3-without-first-pos", "layout-3-first"])
@pytest.mark.parametrize("place", ["first of the attributes", "last"])
def test_an_attribute_is_not_taken_for_a_column_of_ours(
    tmp_path: Path, name: str, place: str
) -> None:
    """As the first of the attributes it stands where our own column would."""
    root = unpacked(name, tmp_path)
    with closing(duckdb.connect(str(root / "events.duckdb"))) as events:
        ((table,), *_) = events.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        events.execute(f"CREATE TABLE events_0 AS FROM {table}")  # another log, split before it
        old = events.table(table)
        ours, others = old.columns[:4], old.columns[4:]
        named = "pos AS first_pos" if place == "first of the attributes" else "pos AS First_Pos"
        where = 0 if place == "first of the attributes" else len(others)
        new = old.project(", ".join([*ours, *others[:where], named, *others[where:]]))
        new.create("new")
        events.execute(f"DROP TABLE {table}")
        events.execute(f"ALTER TABLE new RENAME TO {table}")
    before = contents(root)
    with pytest.raises(WorkspaceError, match="an attribute called first_pos"):
        migrate(root)
    after = contents(root)
    for each in ("events.duckdb", "workspace.json"):
        assert after[str(root / each)] == before[str(root / each)]
    assert not list(root.rglob("*-1.duckdb")), "no event is left in a copy"


def test_migrating_twice_is_migrating_once(tmp_path: Path) -> None:
    root = unpacked("layout-3", tmp_path)
    migrate(root)
    before = contents(root)
    assert migrate(root).kept is None
    assert contents(root) == before


@pytest.mark.parametrize("layout", [LAYOUT + 1, 0, "x", None])
def test_an_unknown_layout_is_refused_and_not_migrated(tmp_path: Path, layout: object) -> None:
    root = tmp_path / "w"
    pappi.create(root).close()
    (root / "workspace.json").write_text(json.dumps({"layout": layout}), encoding="utf-8")
    with pytest.raises(WorkspaceError, match="layout"):
        pappi.open(root)
    with pytest.raises(WorkspaceError, match="does not know"):
        migrate(root)


def ledger_rows(root: Path, statement: str, *values: object) -> list[Any]:
    import sqlite3

    with closing(sqlite3.connect(root / "ledger.sqlite")) as connection, connection:
        return connection.execute(statement, values).fetchall()


def appended(root: Path, kind: str, body: dict[str, Any]) -> None:
    """An entry as another version of pappi would write it: chained, with its head."""
    from pappi.ledger import bare_journal

    with closing(bare_journal(root / "ledger.sqlite")) as journal, journal.writing():
        journal.append(kind, body)


def test_a_newer_format_and_an_unknown_kind_are_refused(tmp_path: Path) -> None:
    for number, (kind, body) in enumerate({"format": {"format": 99}, "charge2": {}}.items()):
        root = tmp_path / str(number)
        workspace = pappi.create(root)
        workspace.logs()
        appended(root, kind, body)
        with pytest.raises(LedgerUnavailable):  # by whoever has it open
            workspace.logs()
        workspace.close()
        with pytest.raises(LedgerUnavailable):  # and by whoever opens it
            pappi.open(root).logs()


def test_a_kind_that_is_marked_as_harmless_is_passed_over(tmp_path: Path) -> None:
    root = tmp_path / "w"
    workspace = pappi.create(root)
    appended(root, "note-of-a-later-version", {"text": "hello"})
    assert workspace.logs() == ()
    assert workspace.verify().ok


def shape(root: Path) -> dict[str, object]:
    """Whatever another version would have to know to read a workspace."""
    import sqlite3

    tables: dict[str, object] = {}
    for file in ("ledger.sqlite", "capture.sqlite"):
        with closing(sqlite3.connect(root / file)) as connection:
            found = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2")
            tables[file] = [
                (kind, name, " ".join(sql.split()) if sql else None) for kind, name, sql in found
            ]
    for part in sorted((root / "events").glob("*.duckdb")):
        with closing(duckdb.connect(str(part), read_only=True)) as connection:
            tables[part.name] = connection.execute(
                "SELECT table_name, column_name, data_type FROM duckdb_columns()"
                " WHERE NOT internal ORDER BY table_name, column_index"
            ).fetchall()
    for listed in (root / "events").glob("*.json"):
        tables[listed.name] = json.loads(listed.read_text(encoding="utf-8"))
    marker = json.loads((root / "workspace.json").read_text(encoding="utf-8"))
    tables["workspace.json"] = {name: type(value).__name__ for name, value in marker.items()}
    rows = ledger_rows(root, "SELECT kind, body FROM journal ORDER BY seq")
    tables["entries"] = {kind: sorted(json.loads(body)) for kind, body in rows}
    files = {each.name for each in root.iterdir() if not each.name.startswith(".")}
    tables["files"] = sorted(files - {"answers.json"})
    return tables


def test_todays_shape_is_the_golden_one_of_todays_layout(tmp_path: Path) -> None:
    """Whoever changes a table, a column, the marker or an entry gives the layout a new number.

    Then this layout's golden workspace becomes one of the earlier ones, and a new one is made.
    """

    def run(*words: str, fails: bool = False) -> str:
        with pytest.MonkeyPatch.context() as patched:
            if fails:
                patched.setattr("pappi.checkpoint.draw.draw_cells", broken)
            done = CliRunner().invoke(command, words)
        assert (done.exit_code != 0) is fails, done.output
        return done.stdout

    golden = unpacked(f"layout-{LAYOUT}", tmp_path)
    assert shape(make.written(tmp_path, run)) == shape(golden)


def broken(*_anything: object) -> None:
    raise RuntimeError


def test_a_changed_shape_is_noticed(tmp_path: Path) -> None:
    """The planted fault: a column more, as once came without a new number."""
    golden = unpacked(f"layout-{LAYOUT}", tmp_path)
    before = shape(golden)
    (part, *_) = (golden / "events").glob("*.duckdb")
    with closing(duckdb.connect(str(part))) as connection:
        connection.execute("ALTER TABLE events ADD COLUMN later BIGINT")
    assert shape(golden) != before


def test_the_golden_workspace_of_today_opens_and_replays(tmp_path: Path) -> None:
    root = unpacked(f"layout-{LAYOUT}", tmp_path)
    first = answered(root)
    again = released(root, RELEASED)
    assert values(again, LAYOUT) == values(first, LAYOUT)
    assert all(answer["replayed"] and answer["value"] >= 0 for answer in again)


def test_a_ledger_in_postgres_is_changed_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_place("postgres", tmp_path) as place:
        assert isinstance(place, InPostgres)
        root = tmp_path / "w"
        with monkeypatch.context() as earlier:
            earlier.setattr("pappi.ledger.journal.FORMAT", 2)
            create_workspace(root, place.url)
        # Ledgers of format 2 had no snapshots.
        place.execute("DROP TABLE snapshot")
        for guard in ("snapshot_moves_on", "snapshot_stays", "snapshot_is_not_emptied"):
            place.execute(f"DROP FUNCTION {guard}()")
        marker = read_marker(root)
        write_marker(root, {**marker, "layout": 3})
        (root / "ledger.mark").unlink()
        with closing(place.journal()), pytest.raises(WorkspaceError, match="in use"):
            migrate(root)
        for number in (3, 1):
            with pytest.raises(Cut):
                migrate(root, cut_at(number))
        assert migrate(root).before == 3
        workspace = pappi.open(root)
        assert workspace.verify().entries == 2
        workspace.close()


def test_a_folder_that_is_no_workspace_is_left_as_it_is(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(WorkspaceError, match="is not a workspace"):
            migrate(place)
    assert not list(tmp_path.iterdir())
