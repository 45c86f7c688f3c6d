"""A workspace in one file, and back; and going on with a ledger that has lost entries.

A backup can be made while the workspace is in use: SQLite copies the ledger and the captured events
as of one moment, and imported events do not change meanwhile. The file has the ledger's newest
entry and a digest of each part. An older copy of a ledger does not know what was spent since, so a
restored workspace is stopped until the owner has made sure that the backup is the newest.

If entries are lost, nobody knows what they charged. So every block that could have been charged by
then is frozen: of each log, those that begin on or before today or the log's end, whichever is
later; and logs with a total budget as a whole. What is on record can still be replayed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from pappi.errors import Conflict, InputError, WorkspaceError
from pappi.ledger import EntryKind, Ledger, Mark, MarkFile, open_ledger
from pappi.store import (
    LAYOUT,
    MARKER,
    LedgerSession,
    Registry,
    WorkspaceFiles,
    event_files,
    open_workspace,
    require_events,
    staging,
    sync_folder,
    today,
    write_durably,
)
from pappi.values import JSON

MANIFEST = "manifest.json"
_MARK = "ledger.mark"
_PLAIN = ("key", "ledger.url", MARKER)
# In this order: the inbox lets go of events once the ledger has declared them sealed.
_DATABASES = ("capture.sqlite", "ledger.sqlite")
_NAMES = frozenset({*_PLAIN, *_DATABASES, _MARK})
_EVENTS = "events"
_EVENT_FILE = re.compile(rf"{_EVENTS}/[A-Za-z0-9_-]+\.(json|duckdb)")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Backup:
    """The head of the ledger in a backup, and when it was made."""

    head: Mark
    made: str


def back_up(files: WorkspaceFiles, to: Path) -> Backup:
    """Write the whole workspace to a new file, all or nothing."""
    if to.exists():
        raise WorkspaceError(f"{to} already exists", hint="name a new file")
    with staging(files.events) as folder:
        _require_every_log(files)
        # Read before the ledger is copied, because other writers move the mark forward.
        marked = files.mark.read()
        parts = {name: files.root / name for name in _PLAIN if (files.root / name).exists()}
        for name in _DATABASES:
            if (files.root / name).exists():
                parts[name] = _copied(files.root / name, folder / name)
        parts |= {f"{_EVENTS}/{path.name}": path for path in event_files(files.events)}
        if files.ledger_url() is None:
            with open_ledger(folder / "ledger.sqlite") as ledger:
                ledger.require(marked)
                head = ledger.head()
            _fold(folder / "ledger.sqlite")
        else:
            with files.open_ledger() as ledger:
                head = ledger.head()
        MarkFile(folder / _MARK).begin(head)
        parts[_MARK] = folder / _MARK
        made = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = {
            "layout": LAYOUT,
            "made": made,
            "head": str(head),
            "files": {name: _digest(path) for name, path in sorted(parts.items())},
        }
        _write_archive(to, manifest, parts)
    return Backup(head, made)


def _require_every_log(files: WorkspaceFiles) -> None:
    """Refuse to leave out, in silence, a log whose events are missing: the copies of before may
    be thrown away for this one.
    """
    with closing(LedgerSession(files)) as session, session.ledger() as ledger:
        logs = session.registry(ledger).logs
    for log in logs.values():
        if not log.removed and isinstance(log.place(files.events), Path):
            try:
                require_events(files.events, log.table, log.public.vocabulary.attributes)
            except WorkspaceError as error:
                raise WorkspaceError(
                    f"the log '{log.name}' cannot be backed up: {error.message}",
                    hint="restore its events from an earlier backup, or remove the log; "
                    "nothing was written",
                    detail=error.detail,
                ) from error


def restore(archive: Path, root: Path) -> Backup:
    """Restore the workspace of an archive in a new directory; stopped, until the owner resumes.

    If the directory holds only the mark of the workspace that was lost, that mark stays: it
    shows if the lost ledger was newer than the archive.
    """
    beside = {file.name for file in root.iterdir()} if root.is_dir() else set()
    if root.exists() and (not root.is_dir() or beside - {_MARK}):
        raise WorkspaceError(
            f"{root} exists and is not an empty directory",
            hint="name a new directory; to restore over a workspace, move it away first but leave "
            "its ledger.mark in place, so that nothing is spent twice",
        )
    # That mark is never moved, so that not even a power cut can lose it.
    is_marked = _MARK in beside
    was_there = root.exists()
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        root.chmod(0o700)
    except OSError as error:
        raise WorkspaceError(f"{root} cannot be created: {error.strerror}") from error
    try:
        backup, marker = _unpacked(archive, root, {_MARK} if is_marked else set())
        files = WorkspaceFiles(root, str(json.loads(marker)["ledger"]))
        if files.ledger_url() is None:
            with files.open_unmarked_ledger() as ledger:
                _require_head(ledger, backup.head)
                reason = f"restored from a backup of {backup.made}"
                ledger.append(EntryKind.STOP, {"reason": reason, "by": "owner"})
                if not is_marked:
                    files.mark.begin(ledger.head())
    except BaseException:
        for name in _NAMES - beside:
            (root / name).unlink(missing_ok=True)
        shutil.rmtree(root / _EVENTS, ignore_errors=True)
        if not was_there:
            with suppress(OSError):
                root.rmdir()
        raise
    # Last, because a directory with the marker counts as a complete workspace.
    write_durably(root / MARKER, marker)
    open_workspace(root)
    return backup


def _require_head(ledger: Ledger, head: Mark) -> None:
    if ledger.head() != head:
        raise InputError("the ledger in the backup does not match its manifest")


def _copied(database: Path, copy: Path) -> Path:
    """A consistent copy of a database that others may be writing."""
    try:
        with (
            closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=rw", uri=True)) as now,
            closing(sqlite3.connect(copy)) as new,
        ):
            now.backup(new)
    except sqlite3.Error as error:
        raise WorkspaceError(
            f"{database.name} could not be copied", hint="nothing was written", detail=str(error)
        ) from error
    _fold(copy)
    return copy


def _fold(database: Path) -> None:
    """Make it one file, without a write-ahead log."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()


def _write_archive(to: Path, manifest: dict[str, object], parts: dict[str, Path]) -> None:
    new = to.with_name(f".{to.name}.new")
    new.unlink(missing_ok=True)
    try:
        descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with (
            os.fdopen(descriptor, "wb") as file,
            tarfile.open(fileobj=file, mode="w") as archive,
        ):
            _add(archive, MANIFEST, io.BytesIO(json.dumps(manifest, indent=2).encode()))
            for name, path in sorted(parts.items()):
                with path.open("rb") as content:
                    _add(archive, name, content)
            archive.close()
            file.flush()
            os.fsync(file.fileno())
        new.replace(to)
        sync_folder(to.parent)
    except OSError as error:
        raise WorkspaceError(f"{to} cannot be written: {error.strerror}") from error
    finally:
        new.unlink(missing_ok=True)


def _add(archive: tarfile.TarFile, name: str, content: IO[bytes]) -> None:
    member = tarfile.TarInfo(name)
    member.mode = 0o600
    member.size = content.seek(0, os.SEEK_END)
    content.seek(0)
    archive.addfile(member, content)


def _unpacked(archive: Path, root: Path, existing: Collection[str]) -> tuple[Backup, bytes]:
    """Unpack all files except the marker and existing ones, checked; returns the marker."""
    with _opened(archive) as opened:
        manifest = json.loads(_content(opened, MANIFEST).read())
        if manifest["layout"] != LAYOUT:
            raise InputError(
                f"{archive} has layout {manifest['layout']}; this version of pappi reads layout "
                f"{LAYOUT}",
                hint="restore it with the version of pappi that wrote it, then run: pappi migrate",
            )
        listed = manifest["files"]
        others = {name for name in listed if name not in _NAMES}
        if not {MARKER, "key", _MARK} <= listed.keys() or not all(
            map(_EVENT_FILE.fullmatch, others)
        ):
            raise InputError(f"{archive} is not a backup of a workspace")
        for name, digest in listed.items():
            if name != MARKER and name not in existing:
                path = root / name
                path.parent.mkdir(mode=0o700, exist_ok=True)
                path.unlink(missing_ok=True)
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    shutil.copyfileobj(_content(opened, name), file, _CHUNK)
                    file.flush()
                    os.fsync(file.fileno())
                if _digest(root / name) != digest:
                    raise InputError(f"{name} in {archive} is damaged")
        marker = _content(opened, MARKER).read()
        if hashlib.sha256(marker).hexdigest() != listed[MARKER]:
            raise InputError(f"{MARKER} in {archive} is damaged")
        if others:
            sync_folder(root / _EVENTS)
        sync_folder(root)
        return Backup(Mark.read(manifest["head"]), manifest["made"]), marker


@contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(archive, "r:") as opened:
            yield opened
    except (OSError, tarfile.TarError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{archive} is not a readable backup", detail=str(error)) from error


def _content(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    member = archive.getmember(name)
    content = archive.extractfile(member) if member.isreg() else None
    if content is None:
        raise ValueError(f"{name} is not a file")
    return content


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- a ledger that has lost entries --------------------------------------------------


@dataclass(frozen=True, slots=True)
class LostEntries:
    """The entries a ledger lacks: after `head` up to `mark`, which is None if it is lost, too."""

    head: Mark
    mark: Mark | None

    @property
    def first(self) -> int | None:
        """The first lost entry; None if unknown, e.g. where two ledgers diverged."""
        if self.mark is None or self.mark.seq <= self.head.seq:
            return None
        return self.head.seq + 1

    def __str__(self) -> str:
        if self.mark is None:
            return f"the ledger has {self.head.seq} entries; nobody knows how many are missing"
        if self.first is None:
            return f"entry {self.mark.seq} of the ledger has changed"
        return f"the ledger lacks the entries {self.first} to {self.mark.seq}, or more"


def loss_of(files: WorkspaceFiles) -> LostEntries | None:
    """What the ledger lacks, or None if it has every entry it should have."""
    mark = files.mark.found()
    with files.open_unmarked_ledger() as ledger:
        if mark is not None and ledger.contains(mark):
            return None
        return LostEntries(ledger.head(), mark)


def accept_rollback(files: WorkspaceFiles, by: str = "owner") -> LostEntries:
    """Record the loss, freeze what cannot be known, and continue from there."""
    loss = loss_of(files)
    if loss is None:
        raise Conflict("nothing is lost: the ledger has every entry it should have")
    with files.open_unmarked_ledger() as ledger:

        def act() -> Mapping[str, JSON]:
            registry = Registry().advanced(ledger.news(None))
            frozen: JSON = {
                log.name: [
                    max(today(log.terms.zone), log.public.until).isoformat(),
                    log.terms.total_budget is not None,
                ]
                for log in registry.logs.values()
            }
            lost: JSON = {
                "after": loss.head.seq,
                "from": loss.first,
                "mark": None if loss.mark is None else loss.mark.seq,
                "marked": None if loss.mark is None else loss.mark.digest,
            }
            return {"lost": lost, "frozen": frozen, "by": by}

        ledger.append(EntryKind.ROLLBACK, act)
        files.mark.begin(ledger.head())
    return loss
