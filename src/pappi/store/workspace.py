"""A workspace: one directory that holds an organisation's logs and their ledger.

    workspace.json   marks the directory: the layout's version, and which ledger is its own
    events           the events up to what is sealed, in files for each log; personal data
    capture.sqlite   captured events that are not sealed yet, or came too late; personal data
    ledger.sqlite    declarations, charges and released answers; hash-chained
    ledger.url       instead of that file: where the ledger is, if it is in PostgreSQL
    ledger.mark      how far the ledger had come: one that lacks that entry is refused
    key              secret bytes that order cases, put them into buckets, and sign snapshots

The directory is made readable for its owner alone.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pappi.errors import LedgerBroken, LedgerUnavailable, WorkspaceError
from pappi.ledger import (
    Ledger,
    MarkFile,
    create_ledger,
    no_step,
    open_ledger,
    unverified_ledger,
)
from pappi.mechanisms import secret_bytes

LAYOUT = 5
MIGRATING = "migrating"
KEY_BYTES = 32
LEDGER_URL = "PAPPI_LEDGER_URL"
MARKER = "workspace.json"
_KEY = "key"
_URL = "ledger.url"


@dataclass(frozen=True, slots=True)
class WorkspaceFiles:
    """Where the parts of a workspace are; `opening` is the digest its ledger begins with."""

    root: Path
    opening: str = ""

    @property
    def events(self) -> Path:
        return self.root / "events"

    @property
    def inbox(self) -> Path:
        return self.root / "capture.sqlite"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.sqlite"

    def key(self) -> bytes:
        """What makes the choice among a person's cases one that nobody can steer or foresee."""
        try:
            key = (self.root / _KEY).read_bytes()
        except OSError as problem:
            raise _no_key(self.root, str(problem)) from None
        if len(key) != KEY_BYTES:
            raise _no_key(self.root, f"{len(key)} bytes")
        return key

    @property
    def mark(self) -> MarkFile:
        return MarkFile(self.root / "ledger.mark")

    def open_ledger(self, on_step: Callable[[str], None] = no_step) -> Ledger:
        """The ledger, verified, and the one this workspace began with: no other will do."""
        return self._open_ledger(on_step, self.mark)

    def open_unmarked_ledger(self) -> Ledger:
        """The same, whatever it has lost: for the owner to see, and to accept."""
        return self._open_ledger(no_step, None)

    def _open_ledger(self, on_step: Callable[[str], None], mark: MarkFile | None) -> Ledger:
        place = self.ledger_place()
        return self._own(open_ledger(place, on_step=on_step, key=self.key(), mark=mark))

    def ledger_to_verify(self) -> Ledger:
        """The ledger on a connection of its own, not verified."""
        return self._own(unverified_ledger(self.ledger_place(), self.mark))

    def ledger_place(self) -> Path | str:
        """Its file, or the address of the database it is in."""
        url = self.ledger_url()
        return self.ledger if url is None else url

    def _own(self, ledger: Ledger) -> Ledger:
        with ExitStack() as unless_own:
            unless_own.callback(ledger.close)
            if ledger.opening != self.opening:
                raise LedgerBroken(
                    "this is not the ledger the workspace was created with",
                    hint="without the right one nobody knows what is already spent: restore it",
                )
            ledger.require_marked()
            unless_own.pop_all()
        return ledger

    def ledger_url(self) -> str | None:
        """Where the ledger is if not in its file: kept beside it, or told from outside."""
        place = self.root / _URL
        if not place.exists():
            return None
        try:
            return os.environ.get(LEDGER_URL) or place.read_text(encoding="utf-8").strip()
        except OSError as problem:
            raise LedgerUnavailable(f"{_URL} cannot be read", detail=str(problem)) from None


def create_workspace(root: Path, ledger_url: str | None = None) -> WorkspaceFiles:
    """A new, empty workspace; an existing directory must be empty."""
    with _readable(root):
        taken = root.exists() and (not root.is_dir() or any(root.iterdir()))
    if taken:
        raise WorkspaceError(
            f"{root} exists and is not an empty directory", hint="name a new directory"
        )
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        root.chmod(0o700)
    except OSError as problem:
        raise WorkspaceError(f"{root} cannot be created: {problem.strerror}") from None
    with create_ledger(WorkspaceFiles(root).ledger if ledger_url is None else ledger_url) as ledger:
        if ledger_url is not None:
            _write_secret(root / _URL, ledger_url.encode("utf-8"))  # it may hold a password
        files = WorkspaceFiles(root, ledger.opening)
        files.mark.begin(ledger.head())
    _write_secret(root / _KEY, secret_bytes(KEY_BYTES))
    # Last, because a directory with the marker counts as a complete workspace.
    write_marker(root, {"layout": LAYOUT, "ledger": files.opening})
    return files


def open_workspace(root: Path) -> WorkspaceFiles:
    """The workspace in exactly this directory."""
    marker = read_marker(root)
    _refuse_other_layout(root, marker.get("layout"))
    files = WorkspaceFiles(root, str(marker.get("ledger")))
    files.key()  # fails closed: without it nothing could be released, only charged
    return files


def find_workspace(start: Path) -> WorkspaceFiles:
    """The workspace of the directory `start`, or of the nearest directory above it."""
    return open_workspace(find_root(start))


def find_root(start: Path) -> Path:
    """Where a workspace is, of whatever layout: in `start`, or the nearest directory above."""
    for directory in (start, *start.parents):
        if _is_marked(directory):
            return directory
    raise WorkspaceError(
        f"there is no workspace in {start} or above it",
        hint="make one with `pappi init DIR`, then use it with --workspace DIR or from inside it",
    )


def _is_marked(directory: Path) -> bool:
    with _readable(directory):
        return (directory / MARKER).is_file()


@contextmanager
def _readable(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise WorkspaceError(
            f"{directory} cannot be read: {problem.strerror}",
            hint="only its owner can read a workspace: check its owner and your user",
        ) from None


def _write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600, exist_ok=False)  # nobody else's from the first byte on
    path.write_bytes(content)


def _no_key(root: Path, detail: str) -> WorkspaceError:
    return WorkspaceError(
        "the workspace has no usable key",
        hint="nothing was charged; the owner restores the file 'key' from a backup",
        detail=f"{root}: {detail}",
    )


def read_marker(root: Path) -> dict[str, object]:
    """What a workspace says of itself."""
    if not _is_marked(root):
        raise WorkspaceError(f"{root} is not a workspace", hint=f"make one with: pappi init {root}")
    marker = root / MARKER
    try:
        content = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise WorkspaceError(f"{marker} cannot be read", detail=str(problem)) from None
    return content if isinstance(content, dict) else {}


def write_marker(root: Path, marker: Mapping[str, object]) -> None:
    """All of it or nothing, and on the disk when this returns."""
    write_durably(root / MARKER, (json.dumps(marker) + "\n").encode())


def write_durably(path: Path, content: bytes) -> None:
    """Put content in a file's place, for its owner alone: all of it or nothing, on the disk."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Names given in a folder are on the disk when this returns."""
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _refuse_other_layout(root: Path, layout: object) -> None:
    if layout == LAYOUT:
        return
    if layout == MIGRATING:
        raise WorkspaceError(
            f"{root} is being migrated, or its migration was interrupted",
            hint="finish it with: pappi migrate",
        )
    if isinstance(layout, int) and layout < LAYOUT:
        raise WorkspaceError(
            f"{root} has layout {layout}, this version of pappi reads layout {LAYOUT}",
            hint="upgrade it with: pappi migrate",
        )
    raise WorkspaceError(
        f"{root} has layout {layout}, which this version of pappi does not know: "
        f"it reads layout {LAYOUT}",
        hint="use the version of pappi that wrote it, or a later one",
    )
