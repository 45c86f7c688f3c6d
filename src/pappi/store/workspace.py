"""A workspace: one directory that holds an organisation's logs and their ledger.

    workspace.json   marks the directory, with the layout's version
    events.duckdb    the events; personal data
    ledger.sqlite    declarations, charges and released answers; hash-chained
    key              secret bytes that order cases and put them into buckets

The directory is made readable for its owner alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pappi.errors import WorkspaceError
from pappi.mechanisms.noise import secret_bytes
from pappi.store.ledger import SqliteLedger

LAYOUT = 2
KEY_BYTES = 32
_MARKER = "workspace.json"
_KEY = "key"


@dataclass(frozen=True, slots=True)
class WorkspaceFiles:
    """Where the parts of a workspace are."""

    root: Path

    @property
    def events(self) -> Path:
        return self.root / "events.duckdb"

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

    def open_ledger(self) -> SqliteLedger:
        return SqliteLedger.open(self.ledger)


def create_workspace(root: Path) -> WorkspaceFiles:
    """A new, empty workspace; an existing directory must be empty."""
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise WorkspaceError(
            f"{root} exists and is not an empty directory", hint="name a new directory"
        )
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        root.chmod(0o700)
    except OSError as problem:
        raise WorkspaceError(f"{root} cannot be made: {problem.strerror}") from None
    files = WorkspaceFiles(root)
    SqliteLedger.create(files.ledger).close()
    _write_key(root / _KEY)
    # Last, because a directory with the marker counts as a complete workspace.
    (root / _MARKER).write_text(json.dumps({"layout": LAYOUT}) + "\n", encoding="utf-8")
    return files


def open_workspace(root: Path) -> WorkspaceFiles:
    """The workspace in exactly this directory."""
    if not (root / _MARKER).is_file():
        raise WorkspaceError(f"{root} is not a workspace", hint=f"make one with: pappi init {root}")
    layout = _layout(root / _MARKER)
    if layout != LAYOUT:
        raise WorkspaceError(
            f"{root} has layout {layout}, this version of pappi reads layout {LAYOUT}"
        )
    files = WorkspaceFiles(root)
    files.key()  # fails closed: without it nothing could be released, only charged
    return files


def find_workspace(start: Path) -> WorkspaceFiles:
    """The workspace of the directory `start`, or of the nearest directory above it."""
    for directory in (start, *start.parents):
        if (directory / _MARKER).is_file():
            return open_workspace(directory)
    raise WorkspaceError(
        f"there is no workspace in {start} or above it",
        hint="make one with `pappi init DIR`, then use it with --workspace DIR or from inside it",
    )


def _write_key(path: Path) -> None:
    path.touch(mode=0o600, exist_ok=False)  # nobody else's from the first byte on
    path.write_bytes(secret_bytes(KEY_BYTES))


def _no_key(root: Path, detail: str) -> WorkspaceError:
    return WorkspaceError(
        f"{root} has no usable key", hint="restore the file 'key' from a backup", detail=detail
    )


def _layout(marker: Path) -> object:
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise WorkspaceError(f"{marker} cannot be read", detail=str(problem)) from None
    return found.get("layout") if isinstance(found, dict) else None
