"""A ledger in a PostgreSQL database: its tables, transactions, and what the server's errors mean.

For several servers that share one budget. Writers take turns by an advisory lock, which
unlike a lock on a table does not hold up vacuuming; each reads what the one before it has
committed. A commit is on the disk before it returns, whatever the server's default is.

PostgreSQL recovers by itself after a crash, and checks its pages if data checksums are on.
A standby that takes over must have been a synchronous one: otherwise charges are lost for which
values were drawn. A process that has already read a lost entry notices and refuses.

The tables and guards are those of `sqlite`, in a schema of their own. The shape that opening
compares with the catalog is made from the same texts as the statements that create it, spelled
as PostgreSQL prints definitions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from pappi.errors import LedgerBroken, LedgerUnavailable
from pappi.ledger.journal import DAMAGED, Clock, Journal, broken

SCHEMA = "pappi"
_SNAPSHOT = "snapshot"

# Sorted by bytes: a language's sort order can change with the operating system, and an
# index in the old order would no longer find keys that are already charged.
_TEXT = 'text COLLATE "C"'

_COLUMNS = {
    "journal": {
        "seq": "bigint NOT NULL",
        "at": f"{_TEXT} NOT NULL",
        "kind": f"{_TEXT} NOT NULL",
        "body": f"{_TEXT} NOT NULL",
        "digest": f"{_TEXT} NOT NULL",
    },
    "head": {
        "id": "bigint NOT NULL",
        "seq": "bigint NOT NULL",
        "digest": f"{_TEXT} NOT NULL",
    },
    "account": {
        "log": f"{_TEXT} NOT NULL",
        "block": f"{_TEXT} NOT NULL",
        "analyst": f"{_TEXT} NOT NULL",
        "spent": "bigint NOT NULL",
        "held": "bigint NOT NULL",
    },
    "cell": {
        "key": f"{_TEXT} NOT NULL",
        "reserved": "bigint",
        "charged": "bigint",
        "released": "bigint",
    },
    _SNAPSHOT: {
        "id": "bigint NOT NULL",
        "seq": "bigint NOT NULL",
        "body": f"{_TEXT} NOT NULL",
        "signature": f"{_TEXT} NOT NULL",
    },
}

_CONSTRAINTS = {
    "journal": {"journal_pkey": "PRIMARY KEY (seq)"},
    "head": {"head_pkey": "PRIMARY KEY (id)", "head_is_one": "CHECK ((id = 1))"},
    "account": {
        "account_pkey": "PRIMARY KEY (log, block, analyst)",
        "account_is_spent": "CHECK ((spent >= 0))",
        "account_is_held": "CHECK ((held >= 0))",
    },
    "cell": {
        "cell_pkey": "PRIMARY KEY (key)",
        "cell_reserved": "FOREIGN KEY (reserved) REFERENCES journal(seq)",
        "cell_charged": "FOREIGN KEY (charged) REFERENCES journal(seq)",
        "cell_released": "FOREIGN KEY (released) REFERENCES journal(seq)",
    },
    _SNAPSHOT: {"snapshot_pkey": "PRIMARY KEY (id)", "snapshot_is_one": "CHECK ((id = 1))"},
}

_INDEX = f"CREATE INDEX journal_by_kind ON {SCHEMA}.journal USING btree (kind)"


@dataclass(frozen=True, slots=True)
class _Guard:
    """Refuses, with a sentence, every row for which the condition holds."""

    name: str
    event: str
    table: str
    sentence: str
    condition: str = "true"

    @property
    def body(self) -> str:
        row = "OLD" if self.event == "DELETE" else "NEW"
        return (
            f" BEGIN IF {self.condition} THEN RAISE integrity_constraint_violation"
            f" USING MESSAGE = '{self.sentence}'; END IF; RETURN {row}; END "
        )

    @property
    def function(self) -> str:
        return f"CREATE FUNCTION {self.name}() RETURNS trigger LANGUAGE plpgsql AS $${self.body}$$"

    @property
    def trigger(self) -> str:
        scope = "STATEMENT" if self.event == "TRUNCATE" else "ROW"
        return (
            f"CREATE TRIGGER {self.name} BEFORE {self.event} ON {SCHEMA}.{self.table}"
            f" FOR EACH {scope} EXECUTE FUNCTION {self.name}()"
        )


_APPEND_ONLY = "the journal is append-only"
_MOVES_ON = "the head only moves on"
_NEWER_ONLY = "a snapshot only moves on"
_NO_REFUND = "nothing is refunded"
_NEVER_FORGOTTEN = "a charge is never forgotten"

_GUARDS = (
    _Guard(
        "journal_grows_at_its_end",
        "INSERT",
        "journal",
        "the journal grows at its end only",
        f"NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM {SCHEMA}.journal)",  # noqa: S608
    ),
    _Guard("journal_is_not_changed", "UPDATE", "journal", _APPEND_ONLY),
    _Guard("journal_is_not_cut", "DELETE", "journal", _APPEND_ONLY),
    _Guard("journal_is_not_emptied", "TRUNCATE", "journal", _APPEND_ONLY),
    _Guard("head_moves_on", "UPDATE", "head", _MOVES_ON, "NEW.seq <= OLD.seq"),
    _Guard("head_stays", "DELETE", "head", _MOVES_ON),
    _Guard("head_is_not_emptied", "TRUNCATE", "head", _MOVES_ON),
    _Guard(
        "nothing_is_refunded",
        "UPDATE",
        "account",
        _NO_REFUND,
        "NEW.spent < OLD.spent OR NEW.log <> OLD.log OR NEW.block <> OLD.block"
        " OR NEW.analyst <> OLD.analyst",
    ),
    _Guard("no_account_is_forgotten", "DELETE", "account", _NO_REFUND),
    _Guard("account_is_not_emptied", "TRUNCATE", "account", _NO_REFUND),
    _Guard(
        "cell_is_charged_and_released_once",
        "UPDATE",
        "cell",
        "a cell is charged once and released once",
        "OLD.released IS NOT NULL OR NEW.key <> OLD.key"
        " OR NEW.reserved IS DISTINCT FROM OLD.reserved"
        " OR (OLD.charged IS NOT NULL AND NEW.charged IS DISTINCT FROM OLD.charged)",
    ),
    _Guard("no_charge_is_forgotten", "DELETE", "cell", _NEVER_FORGOTTEN, "OLD.charged IS NOT NULL"),
    _Guard("cell_is_not_emptied", "TRUNCATE", "cell", _NEVER_FORGOTTEN),
    _Guard("snapshot_moves_on", "UPDATE", _SNAPSHOT, _NEWER_ONLY, "NEW.seq <= OLD.seq"),
    _Guard("snapshot_stays", "DELETE", _SNAPSHOT, _NEWER_ONLY),
    _Guard("snapshot_is_not_emptied", "TRUNCATE", _SNAPSHOT, _NEWER_ONLY),
)


def statements() -> Iterator[str]:
    """The statements that create tables and guards, in the first schema of the search path."""
    for table in _COLUMNS:
        yield _table(table)
    yield _INDEX
    yield from _guards(_COLUMNS)


def _table(table: str) -> str:
    parts = [f"{name} {kind}" for name, kind in _COLUMNS[table].items()]
    parts += [f"CONSTRAINT {name} {rule}" for name, rule in _CONSTRAINTS[table].items()]
    return f"CREATE TABLE {table} ({', '.join(parts)})"


def _guards(tables: Container[str]) -> Iterator[str]:
    for guard in _GUARDS:
        if guard.table in tables:
            yield guard.function
            yield guard.trigger


# For each object in the schema: its kind, its table, its name and its definition.
# An unlogged table would lose what is committed; rules, policies and child tables change
# what a statement reads or writes; a disabled trigger guards nothing.
_IN_THE_CATALOG = (
    """
    SELECT 'relation', '', relname::text, concat_ws(' ', relkind, relpersistence,
        CASE WHEN relrowsecurity OR relhasrules OR EXISTS (
            SELECT FROM pg_inherits WHERE pg_class.oid IN (inhparent, inhrelid)
        ) THEN 'altered' END)
    FROM pg_class WHERE relnamespace = {schema} AND relkind NOT IN ('i', 't')
    """,
    """
    SELECT 'column', relname::text, attname::text, concat_ws(' ',
        format_type(atttypid, atttypmod),
        CASE WHEN attcollation <> 0 THEN 'COLLATE "' || collname || '"' END,
        CASE WHEN attnotnull THEN 'NOT NULL' END,
        CASE WHEN atthasdef OR attidentity <> '' OR attgenerated <> '' THEN 'altered' END)
    FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid
        LEFT JOIN pg_collation ON attcollation = pg_collation.oid
    WHERE relnamespace = {schema} AND relkind NOT IN ('i', 't') AND attnum > 0
        AND NOT attisdropped
    """,
    # From version 18 on, NOT NULL is a constraint, too; it is seen at the column.
    """
    SELECT 'constraint', relname::text, conname::text, pg_get_constraintdef(pg_constraint.oid)
    FROM pg_constraint JOIN pg_class ON conrelid = pg_class.oid
    WHERE connamespace = {schema} AND contype <> 'n'
    """,
    """
    SELECT 'index', '', relname::text, CASE WHEN indisvalid AND indisready AND indislive
        THEN pg_get_indexdef(indexrelid) END
    FROM pg_index JOIN pg_class ON indexrelid = pg_class.oid
    WHERE relnamespace = {schema} AND relkind = 'i' AND NOT indisprimary
    """,
    """
    SELECT 'trigger', relname::text, tgname::text,
        CASE WHEN tgenabled = 'O' THEN pg_get_triggerdef(pg_trigger.oid) END
    FROM pg_trigger JOIN pg_class ON tgrelid = pg_class.oid
    WHERE relnamespace = {schema} AND (NOT tgisinternal OR tgenabled <> 'O')
    """,
    """
    SELECT 'function', '', proname::text,
        CASE WHEN NOT prosecdef AND proconfig IS NULL AND lanname = 'plpgsql' THEN prosrc END
    FROM pg_proc JOIN pg_language ON prolang = pg_language.oid WHERE pronamespace = {schema}
    """,
)


def _in_the_schema(run: Callable[[str], list[Any]]) -> list[Any]:
    """Everything in the ledger's schema; nothing if there is no schema."""
    schema = f"to_regnamespace('{SCHEMA}')"
    return [row for query in _IN_THE_CATALOG for row in run(query.format(schema=schema))]


def _shape() -> Iterator[tuple[str, str, str, str]]:
    for table, columns in _COLUMNS.items():
        yield "relation", "", table, "r p"
        for name, kind in columns.items():
            yield "column", table, name, kind
        for name, rule in _CONSTRAINTS[table].items():
            yield "constraint", table, name, rule
    yield "index", "", "journal_by_kind", _INDEX
    for guard in _GUARDS:
        yield "function", "", guard.name, guard.body
        yield "trigger", guard.table, guard.name, guard.trigger


NAME = "in PostgreSQL"
PASSWORD_FILE = "PAPPI_LEDGER_PASSWORD_FILE"  # noqa: S105 - names a file

_WRITERS_LOCK = 0x7061707069  # "pappi"; advisory locks are per database
_IDENTITY = f"SELECT to_regclass('{SCHEMA}.journal')::oid"
# Read committed: after waiting for the lock, one reads what its last holder has written.
_WRITE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
    f"SELECT pg_advisory_xact_lock({_WRITERS_LOCK}); {_IDENTITY}"
)
_READ = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_IDENTITY}"

_SETTINGS = {
    # Temporary tables last, so that none of them can hide one of ours.
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

# By prefixes of the SQLSTATE; the longest match counts.
_CAUSES = {
    "08": "the ledger's database cannot be reached",
    "22": "the ledger's database cannot hold such a value",
    "25006": "the ledger's database is read-only",
    "28": "the ledger's database denied access",
    "3D": "the ledger's database cannot be reached",
    "42501": "the ledger's database denied access",
    "53100": "the ledger's database is full",
    "53300": "the ledger's database has no connection left",
    "55P03": "another process has the ledger's database locked",
    "57P": "the ledger's database cannot be reached",
    "58": "the ledger's database failed to read or write",
}
_UNREACHABLE = _CAUSES["08"]
_REFUSED = "the ledger's database refused"
# 42 is an error in a statement: ours are fixed, so the tables must have changed.
_DAMAGE = ("3F", "42", "XX001", "XX002")

_HINT = "nothing was released; fix this and ask again"


class PostgresJournal(Journal):
    """One open connection; threads take turns, a forked child must open its own."""

    def __init__(self, connection: psycopg.Connection[Any], clock: Clock) -> None:
        super().__init__(NAME, clock)
        self._connection = connection
        self._opened = self._identity(_IDENTITY)

    @classmethod
    def create(cls, url: str, clock: Clock) -> Self:
        """New tables with the opening entry; never replaces existing ones."""
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
        """Whether the journal's table existed when this was opened."""
        return self._opened is not None

    def start(self) -> None:
        """Create the tables and write the opening entry, or leave nothing behind."""
        with self.writing():
            if _in_the_schema(self.run):
                raise LedgerUnavailable(
                    f"cannot create the ledger {NAME}: the schema {SCHEMA} is there and not empty",
                    hint="a ledger is never overwritten; choose another database",
                )
            if self.run(f"SELECT to_regnamespace('{SCHEMA}')") == [(None,)]:
                self.run(f"CREATE SCHEMA {SCHEMA}")
            for statement in statements():
                self.run(statement)
            self.begin()
        self._opened = self._identity(_IDENTITY)

    def close(self) -> None:
        # In a forked child this would end the parent's session.
        if os.getpid() == self._process:
            with self._turn:
                self._connection.close()

    def writing(self) -> AbstractContextManager[None]:
        return self._transaction(_WRITE)

    def reading(self) -> AbstractContextManager[None]:
        return self._transaction(_READ)

    def run(self, statement: str, *values: object) -> list[Any]:
        with self._turn, _explained():
            self._refuse_forked()
            query = statement.replace("?", "%s").encode()
            cursor = self._connection.execute(query, values or None)
            return cursor.fetchall() if cursor.description else []

    def check_file(self) -> None:
        """PostgreSQL checks its pages as it reads them, where data checksums are on."""

    def has_ledger_shape(self) -> bool:
        shape = _in_the_schema(self.run)
        return len(shape) == len(set(shape)) and set(shape) == set(_shape())

    def add_snapshots(self) -> None:
        for statement in (_table(_SNAPSHOT), *_guards((_SNAPSHOT,))):
            self.run(statement)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._turn, _explained():
            self._refuse_forked()
            if self._connection.info.transaction_status is TransactionStatus.INTRANS:
                raise RuntimeError("a transaction of the ledger inside another one")
            self._newest = None
            try:
                if self._identity(begin) != self._opened:
                    raise LedgerUnavailable(
                        f"the ledger {NAME} was moved or replaced while it was in use",
                        hint="nothing was released; put the ledger back and ask again",
                    )
                yield
                status = self._connection.execute("COMMIT").statusmessage
                # PostgreSQL rolls back instead if an earlier statement failed unnoticed.
                if status != "COMMIT":
                    raise LedgerUnavailable(
                        f"the ledger {NAME} rolled back what was written", hint=_HINT
                    )
            finally:
                self._roll_back()

    def _roll_back(self) -> None:
        if self._connection.info.transaction_status is TransactionStatus.IDLE:
            return
        try:
            self._connection.execute("ROLLBACK")
        except psycopg.Error:
            # Closing is enough: the server rolls back when its client is gone.
            with suppress(psycopg.Error):
                self._connection.close()

    def _identity(self, query: str) -> int | None:
        """The number of the journal's table, which a replaced table would not have."""
        cursor = self._connection.execute(query.encode(), prepare=False)
        while cursor.nextset():
            pass
        ((oid,),) = cursor.fetchall()
        return None if oid is None else int(oid)


def _connect(url: str) -> psycopg.Connection[Any]:
    address = _address(url)
    if address is None:
        raise LedgerUnavailable(
            "the address of the ledger's database cannot be read",
            hint="write e.g. postgresql://user@host/database",
        )
    settings = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
    options = f"{address.get('options') or ''} {settings}".strip()
    conninfo = make_conninfo("", **{**_CONNECTION, **_password(), **address, "options": options})
    try:
        return psycopg.connect(conninfo, autocommit=True)
    except psycopg.Error as error:
        failed = _explanation(error)
    # Not raised where it was caught: psycopg's own error holds the password.
    raise failed


def _password() -> dict[str, str]:
    """The password from a file, where no character needs escaping; one in the address wins."""
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
    # libpq's error about an unreadable address may quote its password, so it ends here.
    try:
        return {**conninfo_to_dict(url)}
    except psycopg.Error:
        return None


def _refuse_unsafe(connection: psycopg.Connection[Any]) -> None:
    """Refuse a server that may lose what it has committed, or that cannot write at all."""
    ((durable, any_text, writable),) = connection.execute(_FACTS).fetchall()
    if not durable:
        raise LedgerUnavailable(
            "the ledger's database does not flush commits to disk",
            hint="set fsync = on: a charge must survive a crash",
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
