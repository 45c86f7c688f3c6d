"""Bring a workspace that an earlier version wrote to today's layout.

    layout 1   ledger of format 1: accounts of blocks alone; a log's unit is a word
    layout 2   a key beside it, for persons and buckets
    layout 3   ledger of format 2: analysts, reservations, an identity; captured events;
               at first without the column `first_pos` of event tables
    layout 4   ledger of format 3: every kind of entry is known, or the journal is refused

What changes is changed in a draft beside the files, and verified there. Then the marker says
that a migration is on its way, the old files move into a folder of their own, the new ones
take their places, and the marker is written last. Cut off at whatever point, the same command
again begins anew, or finishes what was begun. A ledger in PostgreSQL is changed where it is, in
one transaction.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pappi.budget.journal import FORMAT, REFORMAT, reformat_payload
from pappi.errors import WorkspaceError
from pappi.store.events.lock import exclusive
from pappi.store.ledger import journal_in_postgres, journal_in_sqlite
from pappi.store.ledger.journal import Journal
from pappi.store.ledger.rules import no_step
from pappi.store.workspace import (
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


def _to_layout_4(journal: Journal) -> None:
    """What changes in a ledger of format 2; inside one transaction."""
    journal.append(REFORMAT, reformat_payload())


# From each layout to the next: what changes in files, and in the ledger's database.
FileStep = Callable[[Draft], None]
LedgerStep = Callable[[Journal], None]
STEPS: dict[int, tuple[FileStep | None, LedgerStep | None]] = {
    3: (None, _to_layout_4),
}


def migrate(root: Path, on_step: Callable[[str], None] = no_step) -> Migration:
    """Bring the workspace in this directory to today's layout; refuses one that is in use."""
    with exclusive(WorkspaceFiles(root).events):
        marker = read_marker(root)
        layout = marker.get("layout")
        draft = root / _DRAFT
        if layout == LAYOUT:
            shutil.rmtree(draft, ignore_errors=True)
            return Migration(LAYOUT, LAYOUT, None)
        if layout != MIGRATING:
            if not isinstance(layout, int) or layout not in STEPS:
                raise WorkspaceError(
                    f"{root} has layout {layout}, which this version of pappi does not know",
                    hint="use the version of pappi that wrote it, or a later one",
                )
            _prepare(root, draft, layout, marker, on_step)
        return _finish(root, draft, on_step)


def _prepare(
    root: Path,
    folder: Path,
    layout: int,
    marker: dict[str, object],
    on_step: Callable[[str], None],
) -> None:
    """Make the draft, complete and on the disk; nothing of the workspace itself changes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    draft = Draft(folder, root)
    url = WorkspaceFiles(root).ledger_url()
    steps = [STEPS[number] for number in range(layout, LAYOUT)]
    if url is None:
        with (
            _alone(root / "ledger.sqlite") as connection,
            closing(sqlite3.connect(draft.ledger)) as copy,
        ):
            connection.backup(copy)
    for on_files, on_ledger in steps:
        if on_files is not None:
            on_files(draft)
        if on_ledger is not None and url is None:
            with closing(journal_in_sqlite(draft.ledger)) as journal, journal.writing():
                on_ledger(journal)
    on_step("drafted")
    if url is None:
        with closing(journal_in_sqlite(draft.ledger)) as journal:
            marker = {**marker, "ledger": journal.entry(1).digest}
    ready = {
        "before": layout,
        "files": sorted(each.name for each in folder.iterdir()),
        "marker": {**marker, "layout": LAYOUT},
    }
    sync_folder(folder)
    write_durably(folder / _READY, json.dumps(ready).encode())
    on_step("ready")
    write_marker(root, {**marker, "layout": MIGRATING})
    on_step("marked")


def _finish(root: Path, folder: Path, on_step: Callable[[str], None]) -> Migration:
    """Put the draft in place; what is done already is not done again."""
    ready = json.loads((folder / _READY).read_text(encoding="utf-8"))
    kept = root / f"before-layout-{LAYOUT}"
    kept.mkdir(mode=0o700, exist_ok=True)
    url = WorkspaceFiles(root).ledger_url()
    if url is not None:
        with closing(journal_in_postgres(url)) as journal:
            _change_in_place(journal, ready["before"])
    for name in ready["files"]:
        new, place, old = folder / name, root / name, kept / name
        if not new.exists():
            continue
        if place.exists() and not old.exists():
            place.replace(old)
        on_step(f"put away {name}")
        new.replace(place)
        on_step(f"put in place {name}")
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
def _alone(ledger: Path) -> Iterator[sqlite3.Connection]:
    """The ledger's file with all that was committed, while nobody else has it open."""
    connection = sqlite3.connect(
        f"{ledger.resolve().as_uri()}?mode=rw",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
    )
    with closing(connection):
        try:
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise WorkspaceError(
                "the workspace is in use",
                hint="end every server and command that has it open, then try again",
                detail=str(error),
            ) from None
        try:
            yield connection
        finally:
            connection.execute("ROLLBACK")
