"""A workspace in one file, and back.

Made while the workspace is in use: of the ledger and of captured events SQLite gives the state of
one moment, and the events do not change meanwhile. The file says how far the ledger had come, and
the digest of all that is in it. An older copy of a ledger does not know what was spent since, so
what comes back is stopped until the owner has made sure that it is the newest.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from pappi.budget.journal import STOP
from pappi.errors import InputError, WorkspaceError
from pappi.store.events.replacing import staging
from pappi.store.ledger import Ledger, open_in_sqlite
from pappi.store.mark import Mark, MarkFile
from pappi.store.workspace import (
    LAYOUT,
    MARKER,
    WorkspaceFiles,
    open_workspace,
    sync_folder,
    write_durably,
)

MANIFEST = "manifest.json"
_MARK = "ledger.mark"
_PLAIN = ("key", "ledger.url", MARKER)
_DATABASES = ("ledger.sqlite", "capture.sqlite")
_NAMES = frozenset({*_PLAIN, *_DATABASES, "events.duckdb", _MARK})
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup is of: how far its ledger had come, and when it was made."""

    head: Mark
    made: str


def back_up(files: WorkspaceFiles, to: Path) -> Backup:
    """Write the whole workspace into a new file, all of it or nothing."""
    if to.exists():
        raise WorkspaceError(f"{to} is there already", hint="name a new file")
    with staging(files.events) as folder:
        # Read before the ledger is copied: whoever writes meanwhile moves it on.
        marked = files.mark.read()
        parts = {name: files.root / name for name in _PLAIN if (files.root / name).exists()}
        for name in _DATABASES:
            if (files.root / name).exists():
                parts[name] = _copied(files.root / name, folder / name)
        if files.events.exists():
            parts["events.duckdb"] = files.events
        head = _head(files, folder, marked)
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


def restore(archive: Path, root: Path) -> Backup:
    """The workspace in an archive, in a new directory; stopped, until the owner resumes.

    Where the directory holds nothing but the mark of the workspace that was lost, that mark
    stays: if the ledger had come further than the archive, the workspace will say so.
    """
    beside = {each.name for each in root.iterdir()} if root.is_dir() else set()
    if root.exists() and (not root.is_dir() or beside - {_MARK}):
        raise WorkspaceError(
            f"{root} exists and is not an empty directory",
            hint="name a new directory; to restore over a workspace, move it away first and "
            "leave its ledger.mark in place, so that nothing is spent twice",
        )
    # Whatever happens meanwhile, a power cut included, that mark is never out of its place.
    is_marked = _MARK in beside
    was_there = root.exists()
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        root.chmod(0o700)
    except OSError as error:
        raise WorkspaceError(f"{root} cannot be made: {error.strerror}") from error
    try:
        found, marker = _unpacked(archive, root, {_MARK} if is_marked else set())
        files = WorkspaceFiles(root, str(json.loads(marker)["ledger"]))
        if files.ledger_url() is None:
            with files.open_unmarked_ledger() as ledger:
                _require_head(ledger, found.head)
                reason = f"restored from a backup of {found.made}"
                ledger.append(STOP, {"reason": reason, "by": "owner"})
                if not is_marked:
                    files.mark.begin(ledger.head())
    except BaseException:
        for name in _NAMES - beside:
            (root / name).unlink(missing_ok=True)
        if not was_there:
            with suppress(OSError):
                root.rmdir()
        raise
    # Last, because a directory with the marker counts as a complete workspace.
    write_durably(root / MARKER, marker)
    open_workspace(root)
    return found


def _head(files: WorkspaceFiles, folder: Path, marked: Mark) -> Mark:
    if files.ledger_url() is not None:
        with files.open_ledger() as ledger:
            return ledger.head()
    with open_in_sqlite(folder / "ledger.sqlite") as ledger:
        ledger.require(marked)
        head = ledger.head()
    _fold(folder / "ledger.sqlite")
    return head


def _require_head(ledger: Ledger, head: Mark) -> None:
    if ledger.head() != head:
        raise InputError("the ledger in the backup is not the one its manifest names")


def _copied(database: Path, copy: Path) -> Path:
    """One moment of a database that others may be writing into."""
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
    """One file, without a log of changes beside it."""
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


def _unpacked(archive: Path, root: Path, there: Collection[str]) -> tuple[Backup, bytes]:
    """All files but the marker and what is there already, each checked; and the marker."""
    with _opened(archive) as opened:
        manifest = json.loads(_content(opened, MANIFEST).read())
        if manifest["layout"] != LAYOUT:
            raise InputError(
                f"{archive} is of layout {manifest['layout']}, this version of pappi reads "
                f"layout {LAYOUT}",
                hint="restore it with the version of pappi that made it, then: pappi migrate",
            )
        listed = manifest["files"]
        if not {MARKER, "key", _MARK} <= listed.keys() <= _NAMES:
            raise InputError(f"{archive} is not a backup of a workspace")
        for name, digest in listed.items():
            if name != MARKER and name not in there:
                _write(_content(opened, name), root / name)
                if _digest(root / name) != digest:
                    raise InputError(f"{name} in {archive} is damaged")
        marker = _content(opened, MARKER).read()
        if hashlib.sha256(marker).hexdigest() != listed[MARKER]:
            raise InputError(f"{MARKER} in {archive} is damaged")
        sync_folder(root)
        return Backup(Mark.read(manifest["head"]), manifest["made"]), marker


@contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(archive, "r:") as opened:
            yield opened
    except (OSError, tarfile.TarError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{archive} is not a backup that can be read", detail=str(error)
        ) from error


def _content(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    member = archive.getmember(name)
    found = archive.extractfile(member) if member.isreg() else None
    if found is None:
        raise ValueError(f"{name} is no file")
    return found


def _write(content: IO[bytes], path: Path) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        shutil.copyfileobj(content, file, _CHUNK)
        file.flush()
        os.fsync(file.fileno())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
