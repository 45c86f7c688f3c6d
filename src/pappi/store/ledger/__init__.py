"""The ledger of a workspace: its rules, and the databases it can live in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pappi.budget.accounts import KeyState
from pappi.errors import LedgerUnavailable
from pappi.store.ledger.journal import Clock, Journal, utc_now
from pappi.store.ledger.rules import Ledger, Limits, Step, Verification, no_step
from pappi.store.ledger.sqlite import SqliteJournal
from pappi.store.mark import MarkFile

if TYPE_CHECKING:
    from pappi.store.ledger.postgres import PostgresJournal

__all__ = [
    "KeyState",
    "Ledger",
    "Limits",
    "Step",
    "Verification",
    "create_in_postgres",
    "create_in_sqlite",
    "journal_in_postgres",
    "journal_in_sqlite",
    "open_in_postgres",
    "open_in_sqlite",
    "unverified_in_postgres",
    "unverified_in_sqlite",
]

OnStep = Callable[[str], None]


def create_in_sqlite(path: Path, *, clock: Clock = utc_now, on_step: OnStep = no_step) -> Ledger:
    """A new ledger with nothing spent. A file that is already there is an error."""
    return Ledger(SqliteJournal.create(path, clock), on_step)


def open_in_sqlite(
    path: Path,
    *,
    clock: Clock = utc_now,
    on_step: OnStep = no_step,
    key: bytes | None = None,
    mark: MarkFile | None = None,
) -> Ledger:
    """A ledger that is there and verifies, from its snapshot on; LedgerBroken otherwise.

    With the workspace's key it can read a snapshot, and keep one.
    """
    return _sound(Ledger(SqliteJournal.open(path, clock), on_step, key, mark))


def unverified_in_sqlite(path: Path, mark: MarkFile | None = None) -> Ledger:
    """On a connection of its own, for whoever verifies it in full."""
    return Ledger(SqliteJournal.open(path, utc_now), mark=mark)


def create_in_postgres(url: str, *, clock: Clock = utc_now, on_step: OnStep = no_step) -> Ledger:
    """A new ledger in a schema of its own in a PostgreSQL database that has none yet."""
    return Ledger(_postgres().create(url, clock), on_step)


def open_in_postgres(
    url: str,
    *,
    clock: Clock = utc_now,
    on_step: OnStep = no_step,
    key: bytes | None = None,
    mark: MarkFile | None = None,
) -> Ledger:
    """A ledger that is there and verifies, from its snapshot on; LedgerBroken otherwise."""
    return _sound(Ledger(_postgres().open(url, clock), on_step, key, mark))


def unverified_in_postgres(url: str, mark: MarkFile | None = None) -> Ledger:
    """On a connection of its own, for whoever verifies it in full."""
    return Ledger(_postgres().open(url, utc_now), mark=mark)


def journal_in_sqlite(path: Path) -> Journal:
    """The bare journal, of whatever format and not verified: for migration."""
    return SqliteJournal.open(path, utc_now)


def journal_in_postgres(url: str) -> Journal:
    """The bare journal, of whatever format and not verified: for migration."""
    return _postgres().open(url, utc_now)


def _postgres() -> type[PostgresJournal]:
    try:
        from pappi.store.ledger.postgres import PostgresJournal
    except ImportError as error:
        raise LedgerUnavailable(
            "a ledger in PostgreSQL needs what comes with the extra 'postgres'",
            hint='install it with: pip install "pappi[postgres]"',
            detail=str(error),
        ) from error
    return PostgresJournal


def _sound(ledger: Ledger) -> Ledger:
    try:
        ledger.require_sound()
    except BaseException:
        ledger.close()
        raise
    return ledger
