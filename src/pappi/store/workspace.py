"""A workspace: one directory that holds an organisation's logs and their ledger.

    workspace.json   marks the directory, with the layout's version
    events.duckdb    the events; personal data
    ledger.sqlite    declarations, charges and released answers; hash-chained

The directory is made readable for its owner alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pappi.errors import WorkspaceError
from pappi.store.ledger import SqliteLedger

LAYOUT = 1
_MARKER = "workspace.json"


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
    return WorkspaceFiles(root)


def find_workspace(start: Path) -> WorkspaceFiles:
    """The workspace of the directory `start`, or of the nearest directory above it."""
    for directory in (start, *start.parents):
        if (directory / _MARKER).is_file():
            return open_workspace(directory)
    raise WorkspaceError(
        f"there is no workspace in {start} or above it",
        hint="make one with `pappi init DIR`, then use it with --workspace DIR or from inside it",
    )


def _layout(marker: Path) -> object:
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise WorkspaceError(f"{marker} cannot be read", detail=str(problem)) from None
    return found.get("layout") if isinstance(found, dict) else None
