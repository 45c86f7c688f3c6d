"""Bring a workspace that an earlier version wrote to today's layout.

    layout 1   ledger of format 1: accounts of blocks alone; a log's unit is a word
    layout 2   a key beside it, for persons and buckets
    layout 3   ledger of format 2: analysts, reservations, an identity; captured events;
               at first without the column `first_pos` of event tables
    layout 4   ledger of format 3: every kind of entry is known, or the journal is refused;
               a signed snapshot that opening starts from; reservations in one entry

What changes is changed in a draft beside the files, and verified there. Then the marker says
that a migration is on its way, the old files move into a folder of their own, the new ones
take their places, and the marker is written last. Cut off at whatever point, the same command
again begins anew, or finishes what was begun; anew also if somebody went on with the old ledger
meanwhile. A ledger in PostgreSQL is changed where it is, in one transaction.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pappi.budget.journal import FORMAT, REFORMAT, reformat_payload
from pappi.errors import LedgerBroken, WorkspaceError
from pappi.mechanisms.noise import secret_bytes
from pappi.store.events.lock import exclusive
from pappi.store.events.upgrading import add_first_positions, lacks_first_positions
from pappi.store.ledger import journal_in_postgres, journal_in_sqlite, open_in_sqlite
from pappi.store.ledger.journal import Journal
from pappi.store.ledger.rules import no_step
from pappi.store.mark import Mark
from pappi.store.rewriting import needs_rewriting, rewrite
from pappi.store.workspace import (
    KEY_BYTES,
    LAYOUT,
    MIGRATING,
    WorkspaceFiles,
    read_marker,
    sync_folder,
    write_durably,
    write_marker,
)

_DRAFT = ".migrating"
_READY = "ready.json"
_BUSY_SECONDS = 5
_LAST = "SELECT digest FROM journal ORDER BY seq DESC LIMIT 1"
_OTHERS = """
SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pappi'
AND datname = current_database() AND pid <> pg_backend_pid()
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """What was done: from which layout to which, and where the files are that were replaced."""

    before: int
    after: int
    kept: Path | None


@dataclass(frozen=True, slots=True)
class Draft:
    """The files of a workspace that change, as copies; `root` is where the copies are."""

    root: Path
    source: Path

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.sqlite"

    def copy(self, name: str) -> Path:
        """A copy of one of the workspace's plain files, to be changed."""
        copied = self.root / name
        if not copied.exists():
            shutil.copyfile(self.source / name, copied)
            copied.chmod(0o600)
        return copied


def _to_layout_2(draft: Draft) -> None:
    """A key, which orders persons' cases and deals cases into buckets."""
    write_durably(draft.root / "key", secret_bytes(KEY_BYTES))


def _to_layout_4(draft: Draft) -> None:
    """Each event knows where its case begins."""
    events = draft.source / "events.duckdb"
    if events.exists() and lacks_first_positions(events):
        add_first_positions(draft.copy("events.duckdb"))


def _to_format_3(journal: Journal) -> None:
    """What changes in a ledger of format 2; inside one transaction."""
    journal.add_snapshots()
    journal.append(REFORMAT, reformat_payload())


# From each layout to the next: what changes in files, and in the ledger's database. A ledger
# of format 1, which has other tables and other entries, is written anew instead.
FileStep = Callable[[Draft], None]
LedgerStep = Callable[[Journal], None]
Steps = Sequence[tuple[FileStep | None, LedgerStep | None]]
STEPS: dict[int, tuple[FileStep | None, LedgerStep | None]] = {
    1: (_to_layout_2, None),
    2: (None, None),
    3: (_to_layout_4, _to_format_3),
}


def migrate(root: Path, on_step: Callable[[str], None] = no_step) -> Migration:
    """Bring the workspace in this directory to today's layout; refuses one that is in use."""
    read_marker(root)  # nothing is put into a folder that is no workspace
    with exclusive(WorkspaceFiles(root).events):
        marker = read_marker(root)
        layout = marker.get("layout")
        draft = root / _DRAFT
        if layout == LAYOUT:
            shutil.rmtree(draft, ignore_errors=True)
            return Migration(LAYOUT, LAYOUT, None)
        if layout == MIGRATING and _is_outdated(root, draft):
            layout = _ready(draft)["before"]
        if layout != MIGRATING:
            if not isinstance(layout, int) or layout not in STEPS:
                raise WorkspaceError(
                    f"{root} has layout {layout}, which this version of pappi does not know",
                    hint="use the version of pappi that wrote it, or a later one",
                )
            with _alone(root):
                _prepare(Draft(draft, root), layout, marker, on_step)
        return _finish(root, draft, on_step)


def _is_outdated(root: Path, draft: Path) -> bool:
    """Whether somebody has gone on with the old ledger since the draft was made of it."""
    if not (draft / "ledger.sqlite").exists() or not (root / "ledger.sqlite").exists():
        return False
    with _alone(root):
        return bool(_end_of(root / "ledger.sqlite") != _ready(draft)["end"])


def _end_of(ledger: Path) -> str:
    """The last digest of a ledger of whatever format."""
    with closing(sqlite3.connect(ledger)) as connection:
        return str(connection.execute(_LAST).fetchone()[0])


def _ready(draft: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((draft / _READY).read_text(encoding="utf-8"))
    return found


def _prepare(
    draft: Draft, layout: int, marker: dict[str, object], on_step: Callable[[str], None]
) -> None:
    """Make the draft, complete and on the disk; of the workspace only the marker changes."""
    shutil.rmtree(draft.root, ignore_errors=True)
    draft.root.mkdir(mode=0o700)
    steps = [STEPS[number] for number in range(layout, LAYOUT)]
    end = None
    if WorkspaceFiles(draft.source).ledger_url() is None:
        end = _end_of(draft.source / "ledger.sqlite")
        marker = {**marker, "ledger": _drafted_ledger(draft, steps)}
    for on_files, _ in steps:
        if on_files is not None:
            on_files(draft)
    on_step("drafted")
    files = sorted(draft.root.iterdir())
    for each in files:
        each.chmod(0o600)
        with each.open("rb+") as file:
            os.fsync(file.fileno())
    new = {**marker, "layout": LAYOUT}
    ready = {
        "before": layout,
        "files": [each.name for each in files],
        "marker": new,
        "end": end,
        "kept": _new_folder(draft.source),
    }
    write_durably(draft.root / _READY, json.dumps(ready).encode())
    on_step("ready")
    write_marker(draft.source, {**marker, "layout": MIGRATING})
    on_step("marked")


def _new_folder(root: Path) -> str:
    """For what is replaced: another than that of an earlier migration, whose files stay."""
    name = f"before-layout-{LAYOUT}"
    names = (name, *(f"{name}-{number}" for number in range(2, 1_000)))
    return next(each for each in names if not (root / each).exists())


def _drafted_ledger(draft: Draft, steps: Steps) -> str:
    """Today's form of the ledger, verified; gives the digest it begins with."""
    copied = draft.root / "before.sqlite"
    with (
        closing(sqlite3.connect(draft.source / "ledger.sqlite")) as now,
        closing(sqlite3.connect(copied)) as copy,
    ):
        now.backup(copy)
    if needs_rewriting(copied):
        rewrite(copied, draft.ledger)
        copied.unlink()
    else:
        copied.replace(draft.ledger)
        with closing(journal_in_sqlite(draft.ledger)) as journal, journal.writing():
            for _, on_ledger in steps:
                if on_ledger is not None:
                    on_ledger(journal)
    with open_in_sqlite(draft.ledger) as ledger:
        opening = ledger.opening
        WorkspaceFiles(draft.root).mark.begin(ledger.head())
    with closing(sqlite3.connect(draft.ledger)) as connection:
        # Leaves one file, without a log of changes beside it.
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    return opening


def _finish(root: Path, folder: Path, on_step: Callable[[str], None]) -> Migration:
    """Put the draft in place; what is done already is not done again."""
    ready = _ready(folder)
    kept = root / ready["kept"]
    kept.mkdir(mode=0o700, exist_ok=True)
    url = WorkspaceFiles(root).ledger_url()
    if url is not None:
        with closing(journal_in_postgres(url)) as journal:
            _change_in_place(journal, ready["before"])
            last = journal.last()
            if last is not None:
                WorkspaceFiles(root).mark.begin(Mark(last.seq, last.digest))
        on_step("changed the database")
    for name in ready["files"]:
        new, place, old = folder / name, root / name, kept / name
        if not new.exists():
            continue
        if place.exists() and not old.exists():
            if place == root / "ledger.sqlite" and _is_outdated(root, folder):
                raise _in_use("somebody has written into the ledger meanwhile")
            place.replace(old)
            on_step(f"put {name} away")
        new.replace(place)
        on_step(f"put {name} in its place")
    sync_folder(kept)
    write_marker(root, ready["marker"])
    on_step("done")
    shutil.rmtree(folder, ignore_errors=True)
    return Migration(ready["before"], LAYOUT, kept)


def _change_in_place(journal: Journal, layout: int) -> None:
    with journal.writing():
        if journal.format() < FORMAT:
            for number in range(layout, LAYOUT):
                _, on_ledger = STEPS[number]
                if on_ledger is not None:
                    on_ledger(journal)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Nobody else has the ledger's file open, and nobody can write into it meanwhile.

    All that was committed is then in the file itself, and no log of changes beside it.
    """
    ledger = root / "ledger.sqlite"
    url = WorkspaceFiles(root).ledger_url()
    if url is not None:
        with closing(journal_in_postgres(url)) as journal:
            if journal.run(_OTHERS) != [(0,)]:
                raise _in_use("another session has the ledger's database open")
        yield
        return
    if not ledger.is_file():
        raise LedgerBroken(
            "the ledger ledger.sqlite is missing",
            hint="without it nobody knows what is already spent: restore it from a backup",
        )
    with closing(sqlite3.connect(ledger, timeout=_BUSY_SECONDS, isolation_level=None)) as held:
        try:
            held.execute("PRAGMA journal_mode = DELETE").fetchall()
            held.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise _in_use(str(error)) from None
        yield
        held.execute("ROLLBACK")


def _in_use(detail: str) -> WorkspaceError:
    return WorkspaceError(
        "the workspace is in use",
        hint="end every server and command that has it open, then try again",
        detail=detail,
    )
