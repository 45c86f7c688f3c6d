"""Faults of the ledger's database, each for as long as a context lasts.

What a machine does only when it is really ill (a full disk, a failing one, a reply that is
lost on its way) is done by a connection that fails on purpose, with the database's own error.
"""

from __future__ import annotations

import resource
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeAlias

import psycopg

from pappi.ledger import create_ledger
from pappi.store import LedgerSession
from tests.crash.victims import Scene
from tests.ledgers import InPostgres, InSqlite, Place, server

Fault: TypeAlias = Callable[[Scene, LedgerSession], AbstractContextManager[None]]


def place_of(scene: Scene) -> Place:
    """Where the ledger of a workspace is."""
    url = scene.root / "ledger.url"
    if url.exists():
        return InPostgres(url.read_text(encoding="utf-8"))
    return InSqlite(scene.root / "ledger.sqlite")


class FailingConnection:
    """Fails at the first statement that begins in a given way: before it is run, or after."""

    def __init__(self, real: Any, start: str, error: Exception, *, after: bool) -> None:  # noqa: ANN401
        self._real = real
        self._start = start
        self._error = error
        self._after = after

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._real, name)

    def execute(self, statement: str | bytes, *values: object, **options: object) -> Any:  # noqa: ANN401
        text = statement if isinstance(statement, str) else statement.decode()
        if not text.startswith(self._start):
            return self._real.execute(statement, *values, **options)
        if self._after:
            self._real.execute(statement, *values, **options)
        raise self._error


def failing(start: str, error: Exception, *, after: bool = False) -> Fault:
    @contextmanager
    def fault(_scene: Scene, ledger_session: LedgerSession) -> Iterator[None]:
        with ledger_session.ledger() as ledger:
            journal: Any = ledger._journal
            journal._connection = FailingConnection(journal._connection, start, error, after=after)
        yield  # a ledger session lets go of a ledger that failed

    return fault


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("in SQLite's words")
    error.sqlite_errorcode = code
    return error


def postgres_error(state: str) -> psycopg.Error:
    return psycopg.errors.lookup(state)("in PostgreSQL's words")


# Real ones


@contextmanager
def no_room_for_files(_scene: Scene, _ledger_session: LedgerSession) -> Iterator[None]:
    """No file of this process may grow beyond a page, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def no_page_left(_scene: Scene, ledger_session: LedgerSession) -> Iterator[None]:
    with ledger_session.ledger() as ledger:
        ledger._journal.run("PRAGMA max_page_count = 1")
    yield


@contextmanager
def reading_only(_scene: Scene, ledger_session: LedgerSession) -> Iterator[None]:
    with ledger_session.ledger() as ledger:
        ledger._journal.run("PRAGMA query_only = ON")
    yield


@contextmanager
def locked(scene: Scene, ledger_session: LedgerSession) -> Iterator[None]:
    """Somebody else is writing, and nobody waits long for it."""
    short = {
        InSqlite: "PRAGMA busy_timeout = 1",
        InPostgres: "SET lock_timeout = '1ms'",
    }
    place = place_of(scene)
    with ledger_session.ledger() as ledger:
        ledger._journal.run(short[type(place)])
    with place.locked():
        yield


@contextmanager
def edited(scene: Scene, _ledger_session: LedgerSession) -> Iterator[None]:
    """An entry is not what it was; later it is again."""
    place = place_of(scene)
    place.edit("UPDATE journal SET at = at || ' '")
    yield
    place.edit("UPDATE journal SET at = rtrim(at)")


@contextmanager
def cut(scene: Scene, _ledger_session: LedgerSession) -> Iterator[None]:
    """The head says that more was written than is there."""
    place = place_of(scene)
    place.edit("UPDATE head SET seq = seq + 1")
    yield
    place.edit("UPDATE head SET seq = seq - 1")


@contextmanager
def missing(scene: Scene, _ledger_session: LedgerSession) -> Iterator[None]:
    with _away(scene):
        yield


@contextmanager
def replaced(scene: Scene, _ledger_session: LedgerSession) -> Iterator[None]:
    """A fresh ledger with nothing spent is in its place."""
    with _away(scene):
        place = place_of(scene)
        place.create().close()
        try:
            yield
        finally:
            place.remove()


@contextmanager
def turned_back(scene: Scene, ledger_session: LedgerSession) -> Iterator[None]:
    """An older copy of the same ledger is in its place, while somebody has read further."""
    place = place_of(scene)
    assert isinstance(place, InSqlite)
    old = place.path.with_name("old.sqlite")
    with ledger_session.ledger() as ledger:
        ledger._journal.run(f"VACUUM INTO '{old}'")
        ledger.append("grant", {"log": "small", "analyst": "bob", "per_block": 1})
        ledger_session.registry(ledger)
        ledger._journal.run("PRAGMA wal_checkpoint(TRUNCATE)")
    with _away(scene):
        shutil.copy(old, place.path)
        try:
            yield
        finally:
            place.remove()


@contextmanager
def _away(scene: Scene) -> Iterator[None]:
    place = place_of(scene)
    with ExitStack() as back:
        if isinstance(place, InSqlite):
            back.enter_context(_files_away(place))
        else:
            place.execute("ALTER SCHEMA pappi RENAME TO away")
            back.callback(place.execute, "ALTER SCHEMA away RENAME TO pappi")
        yield


@contextmanager
def _files_away(place: InSqlite) -> Iterator[None]:
    names = [place.path.name + suffix for suffix in ("", "-wal", "-shm")]
    away = place.path.with_name("away")
    away.mkdir()
    here = [name for name in names if place.path.with_name(name).exists()]
    for name in here:
        place.path.with_name(name).rename(away / name)
    yield
    for name in here:
        (away / name).rename(place.path.with_name(name))
    away.rmdir()


@contextmanager
def another_file(scene: Scene, _ledger_session: LedgerSession) -> Iterator[None]:
    """Something that is no ledger at all is in its place."""
    with _away(scene):
        path = scene.root / "ledger.sqlite"
        path.write_bytes(b"not a database " * 100)
        try:
            yield
        finally:
            path.unlink()


@contextmanager
def stopped_server(_scene: Scene, _ledger_session: LedgerSession) -> Iterator[None]:
    server().stop("immediate")
    try:
        yield
    finally:
        server().start()


@contextmanager
def wrong_address(scene: Scene, ledger_session: LedgerSession) -> Iterator[None]:
    ledger_session.close()
    url = scene.root / "ledger.url"
    right = url.read_text(encoding="utf-8")
    url.write_text("postgresql://ann:hunter2@127.0.0.1:1/ledger", encoding="utf-8")
    yield
    url.write_text(right, encoding="utf-8")


@contextmanager
def lost_connection(scene: Scene, _ledger_session: LedgerSession) -> Iterator[None]:
    place_of(scene).execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        " WHERE application_name = 'pappi' AND datname = current_database()"
    )
    yield


def empty_ledger(scene: Scene) -> None:
    """For a workspace whose ledger somebody has deleted to get a fresh budget."""
    place = place_of(scene)
    assert isinstance(place, InSqlite)
    place.remove()
    create_ledger(place.path).close()
