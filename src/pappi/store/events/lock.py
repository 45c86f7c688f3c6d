"""One change of an events file at a time, among threads and among processes.

The lock is the operating system's and dies with its holder, so whatever an earlier
import left behind can be swept as soon as the lock is held.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pappi.errors import WorkspaceError

if sys.platform == "win32":
    import msvcrt

    def _acquire(file: BinaryIO) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _acquire(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def exclusive(database: Path) -> Iterator[None]:
    """Holds the right to change this events file, or says that somebody else does."""
    with _lock_file(database) as file:
        try:
            _acquire(file)
        except OSError:
            raise WorkspaceError(
                "another import, seal or deletion is changing this workspace",
                hint="wait until it has finished, then try again",
            ) from None
        yield


def _lock_file(database: Path) -> BinaryIO:
    try:
        return database.with_name(f".{database.name}.lock").open("ab")
    except OSError as error:
        raise WorkspaceError(
            f"the folder of {database.name} cannot be written: {error.strerror}",
            hint="check that the workspace exists and that you may write to it",
        ) from None
