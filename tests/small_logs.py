"""Small logs for tests: a few cases whose values are plain to see."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pyarrow as pa

import pappi
from pappi.custody import NewLog
from pappi.session import Workspace

START = datetime(2024, 1, 10, tzinfo=UTC)

Row = tuple[str, str, float, Mapping[str, object]]
"""Case, activity, hours after START, attributes."""


def event_table(rows: Iterable[Row]) -> pa.Table:
    """A frame of events; every attribute becomes a column."""
    listed = list(rows)
    names = sorted({name for *_, attributes in listed for name in attributes})
    columns: dict[str, list[object]] = {
        "case_id": [case for case, *_ in listed],
        "activity": [activity for _, activity, *_ in listed],
        "timestamp": [START + timedelta(hours=hours) for _, _, hours, _ in listed],
    }
    for name in names:
        columns[name] = [attributes.get(name) for *_, attributes in listed]
    return pa.table(columns)


def workspace_with(
    folder: Path, rows: Iterable[Row], new: NewLog | None = None, name: str = "small"
) -> Workspace:
    return copied(folder, _with_log, list(rows), new, name)


def _with_log(folder: Path, rows: list[Row], new: NewLog | None, name: str) -> Workspace:
    workspace = pappi.create(folder)
    workspace.import_log(event_table(rows), name, new=new)
    return workspace


def copied(folder: Path, build: Callable[..., Workspace], *what: object) -> Workspace:
    """A copy of what `build` makes in a folder: it is made once in a process."""
    key = f"{build.__module__}.{build.__qualname__}{what!r}"
    if key not in _ORIGINALS:
        original = Path(_SHELF.name) / str(next(_NUMBERS))  # none twice: building one may fail
        build(original, *what).close()
        _ORIGINALS[key] = original
    shutil.copytree(_ORIGINALS[key], folder, dirs_exist_ok=True)
    return pappi.open(folder)


_ORIGINALS: dict[str, Path] = {}
_NUMBERS = count()
# Made here, before a test says where temporary files go; it lasts until this process ends.
_SHELF = tempfile.TemporaryDirectory(prefix="pappi-workspaces-")
atexit.register(_SHELF.cleanup)


def claims(count: int, *, months: int = 3) -> list[Row]:
    """Claims that take 1, 2, 3, … days, spread over months; every fourth is rejected."""
    rows: list[Row] = []
    for number in range(count):
        begin = 24.0 * 30 * (number % months)
        attributes = {"channel": ("web", "phone")[number % 2], "damage": 100.0 * (number % 7)}
        outcome = "Reject" if number % 4 == 0 else "Pay"
        rows.append((f"c{number}", "Receive", begin, attributes))
        rows.append((f"c{number}", outcome, begin + 24.0 * (1 + number % 5), {}))
    return rows
