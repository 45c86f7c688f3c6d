"""A ledger in a PostgreSQL database: transactions, and what PostgreSQL's complaints mean.

For several servers that share one budget. Writers take turns by an advisory lock, which
unlike a lock on a table does not hold up vacuuming; each reads what the one before it has
committed. A commit is on the disk before it returns, whatever the server's default is.

PostgreSQL repairs itself after a crash, and checks its pages where data checksums are on.
A standby that takes over must have been a synchronous one: otherwise charges are lost that
values were drawn for. A process that has read further than that finds out and refuses.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from pappi.budget.chain import Fault
from pappi.errors import LedgerBroken, LedgerUnavailable
from pappi.store.ledger.journal import DAMAGED, Clock, Journal, broken
from pappi.store.ledger.postgres_schema import (
    SCHEMA,
    has_ledger_shape,
    is_empty,
    snapshot_statements,
    statements,
)

NAME = "in PostgreSQL"
PASSWORD_FILE = "PAPPI_LEDGER_PASSWORD_FILE"  # noqa: S105 - names a file

_WRITERS_LOCK = 0x7061707069  # "pappi"; advisory locks are per database
_IDENTITY = f"SELECT to_regclass('{SCHEMA}.journal')::oid"
# Read committed: what is read after waiting for the lock is what its last holder has written.
_WRITE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
    f"SELECT pg_advisory_xact_lock({_WRITERS_LOCK}); {_IDENTITY}"
)
_READ = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_IDENTITY}"

_SETTINGS = {
    # Temporary tables last: none of them can stand in for one of ours.
    "search_path": f"{SCHEMA},pg_temp",
    "synchronous_commit": "on",
    "lock_timeout": "30s",
    # A writer that vanished with its machine must not keep the others waiting for ever.
    "idle_in_transaction_session_timeout": "60s",
}
_CONNECTION = {
    "client_encoding": "UTF8",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
    "application_name": "pappi",
}
_FACTS = """
SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') = 'on',
    current_setting('server_encoding') = 'UTF8', NOT pg_is_in_recovery()
"""

# By the first characters of what PostgreSQL calls SQLSTATE; the longest that fits counts.
_CAUSES = {
    "08": "the ledger's database cannot be reached",
    "22": "the ledger's database cannot hold such a value",
    "25006": "the ledger's database is read-only",
    "28": "the ledger's database does not let us in",
    "3D": "the ledger's database cannot be reached",
    "42501": "the ledger's database does not let us in",
    "53100": "the ledger's database is full",
    "53300": "the ledger's database has no connection left",
    "55P03": "another process keeps the ledger's database locked",
    "57P": "the ledger's database cannot be reached",
    "58": "the ledger's database failed to read or write",
}
_UNREACHABLE = _CAUSES["08"]
_REFUSED = "the ledger's database refused"
# 42 is an error in a statement: ours are fixed, so it is the tables that have changed.
_DAMAGE = ("3F", "42", "XX001", "XX002")

_HINT = "nothing was released; put this right and ask again"


class PostgresJournal(Journal):
    """One open connection; threads take turns, a forked child must open its own."""

    def __init__(self, connection: psycopg.Connection[Any], clock: Clock) -> None:
        super().__init__(NAME, clock)
        self._connection = connection
        self._turn = threading.RLock()
        self._process = os.getpid()
        self._opened = self._identity(_IDENTITY)

    @classmethod
    def create(cls, url: str, clock: Clock) -> Self:
        """New tables with the opening entry; never in the place of some that exist."""
        journal = cls._connected(url, clock)
        try:
            journal.start()
        except BaseException:
            journal.close()
            raise
        return journal

    @classmethod
    def open(cls, url: str, clock: Clock) -> Self:
        """The tables as they are, not yet verified."""
        journal = cls._connected(url, clock)
        if not journal.is_there:
            journal.close()
            raise LedgerBroken(
                f"the ledger {NAME} is missing",
                hint="without it nobody knows what is already spent: restore it from a backup",
            )
        return journal

    @classmethod
    def _connected(cls, url: str, clock: Clock) -> Self:
        with _explained():
            connection = _connect(url)
            try:
                _refuse_unsafe(connection)
                return cls(connection, clock)
            except BaseException:
                connection.close()
                raise

    @property
    def is_there(self) -> bool:
        """Whether a journal's table was found when this was opened."""
        return self._opened is not None

    def start(self) -> None:
        """Create the tables and write the opening entry, or leave nothing behind."""
        with self.writing():
            self._create_tables()
            self.begin()
        self._opened = self._identity(_IDENTITY)

    def close(self) -> None:
        # In a forked child this would end the parent's session.
        if os.getpid() == self._process:
            with self._turn:
                self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, alone among all writers: on the disk at the end, or undone."""
        with self._transaction(_WRITE):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One moment of the ledger, whatever others write meanwhile."""
        with self._transaction(_READ):
            yield

    def run(self, statement: str, *values: object) -> list[Any]:
        """Run one statement and fetch all it gives."""
        with self._turn, _explained():
            self._refuse_forked()
            query = statement.replace("?", "%s").encode()
            cursor = self._connection.execute(query, values or None)
            return cursor.fetchall() if cursor.description else []

    def check_file(self) -> None:
        """PostgreSQL checks its pages as it reads them, where data checksums are on."""

    def check_shape(self) -> None:
        """Raise a Fault if the tables or their guards are not those of a ledger."""
        if not has_ledger_shape(self.run):
            raise Fault(None, "its tables or their guards are not those of a PaPPI ledger")

    def add_snapshots(self) -> None:
        """The table for snapshots, which came with format 3; only while `writing`."""
        for statement in snapshot_statements():
            self.run(statement)

    def _create_tables(self) -> None:
        if not is_empty(self.run):
            raise LedgerUnavailable(
                f"cannot create the ledger {NAME}: the schema {SCHEMA} is there and not empty",
                hint="a ledger is never overwritten; choose another database",
            )
        if self.run(f"SELECT to_regnamespace('{SCHEMA}')") == [(None,)]:
            self.run(f"CREATE SCHEMA {SCHEMA}")
        for statement in statements():
            self.run(statement)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._turn, _explained():
            self._refuse_forked()
            self._refuse_nested()
            try:
                self._refuse_other_tables(self._identity(begin))
                yield
                self._commit()
            finally:
                self._roll_back()

    def _commit(self) -> None:
        done = self._connection.execute("COMMIT").statusmessage
        # PostgreSQL answers so if a statement had failed before and nobody minded.
        if done != "COMMIT":
            raise LedgerUnavailable(f"the ledger {NAME} undid what was written", hint=_HINT)

    def _roll_back(self) -> None:
        if self._connection.info.transaction_status is TransactionStatus.IDLE:
            return
        try:
            self._connection.execute("ROLLBACK")
        except psycopg.Error:
            # Nobody is there to be told: the server undoes what is left without its client.
            with suppress(psycopg.Error):
                self._connection.close()

    def _identity(self, query: str) -> int | None:
        """The number of the journal's table, which one put in its place would not have."""
        cursor = self._connection.execute(query.encode(), prepare=False)
        while cursor.nextset():
            pass
        ((oid,),) = cursor.fetchall()
        return None if oid is None else int(oid)

    def _refuse_forked(self) -> None:
        # Two processes that talk over one connection would read each other's answers.
        if os.getpid() != self._process:
            raise LedgerUnavailable("the ledger was opened by another process; open it anew")

    def _refuse_nested(self) -> None:
        if self._connection.info.transaction_status is TransactionStatus.INTRANS:
            raise RuntimeError("a transaction of the ledger inside another one")

    def _refuse_other_tables(self, found: int | None) -> None:
        if found != self._opened:
            raise LedgerBroken(
                f"the ledger {NAME} was moved or replaced while it was in use",
                hint="nothing was released; put the ledger back and ask again",
            )


def _connect(url: str) -> psycopg.Connection[Any]:
    given = _address(url)
    if given is None:
        raise LedgerUnavailable(
            "the address of the ledger's database cannot be read",
            hint="write e.g. postgresql://user@host/database",
        )
    settings = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
    options = f"{given.get('options') or ''} {settings}".strip()
    whole = make_conninfo("", **{**_CONNECTION, **_password(), **given, "options": options})
    try:
        return psycopg.connect(whole, autocommit=True)
    except psycopg.Error as error:
        failed = _explanation(error)
    # Not raised where it was caught: psycopg's own error holds the password.
    raise failed


def _password() -> dict[str, str]:
    """From a file, where any character may stand as it is; one in the address comes before it."""
    place = os.environ.get(PASSWORD_FILE)
    if not place:
        return {}
    try:
        return {"password": Path(place).read_text(encoding="utf-8").rstrip("\r\n")}
    except (OSError, UnicodeDecodeError) as problem:
        raise LedgerUnavailable(
            "the file with the ledger's password cannot be read",
            hint=f"see {PASSWORD_FILE}",
            detail=str(problem),
        ) from None


def _address(url: str) -> dict[str, Any] | None:
    # What libpq says of an address it cannot read may quote the password in it, so the
    # error ends here.
    try:
        return {**conninfo_to_dict(url)}
    except psycopg.Error:
        return None


def _refuse_unsafe(connection: psycopg.Connection[Any]) -> None:
    """Refuse a server that may lose what it has committed, or that cannot write at all."""
    ((durable, any_text, writable),) = connection.execute(_FACTS).fetchall()
    if not durable:
        raise LedgerUnavailable(
            "the ledger's database does not force what is committed onto the disk",
            hint="set fsync = on: a charge must outlive a crash",
        )
    if not any_text:
        raise LedgerUnavailable(
            "the ledger's database cannot hold every text", hint="create it with encoding UTF8"
        )
    if not writable:
        raise LedgerUnavailable(_CAUSES["25006"], hint="name the primary server, not a standby")


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise _explanation(error) from error
    except UnicodeDecodeError as error:
        raise broken(NAME, DAMAGED) from error


def _explanation(error: psycopg.Error) -> LedgerUnavailable:
    state = error.sqlstate or ""
    cause = max((start for start in _CAUSES if state.startswith(start)), key=len, default=None)
    if cause is None and state.startswith(_DAMAGE):
        return broken(NAME, DAMAGED)
    unreachable = not state and isinstance(error, psycopg.OperationalError)
    sentence = _UNREACHABLE if unreachable else _CAUSES.get(cause or "", _REFUSED)
    return LedgerUnavailable(sentence, hint=_HINT, detail=str(error))
