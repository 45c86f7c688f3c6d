"""The tables of a ledger's SQLite file, and the guards on them.

The journal is the truth. `account` and `cell` are projections of it, written in the same
transaction, so that checking a budget need not read the whole past; `head` repeats the
last digest, so that entries cut off the end are missed; `snapshot` holds what the journal
adds up to at one of its entries, signed, so that opening need not add it up again. The
triggers keep mistakes from changing what is written: whoever can write the file can drop
them, but not unnoticed.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

# Format 3 brought it: a ledger of an earlier one gets it when it is migrated.
_SNAPSHOTS = """
    CREATE TABLE snapshot (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seq INTEGER NOT NULL,
        body TEXT NOT NULL,
        signature TEXT NOT NULL
    )
    """
_SNAPSHOT_GUARDS = (
    """
    CREATE TRIGGER snapshot_moves_on BEFORE UPDATE ON snapshot
    WHEN NEW.seq <= OLD.seq
    BEGIN SELECT RAISE(ABORT, 'a snapshot only moves on'); END
    """,
    """
    CREATE TRIGGER snapshot_stays BEFORE DELETE ON snapshot
    BEGIN SELECT RAISE(ABORT, 'a snapshot only moves on'); END
    """,
)
SNAPSHOTS = (_SNAPSHOTS, *_SNAPSHOT_GUARDS)

# A sum too large for 64 bits would silently become a float: hence the check of its type.
TABLES = (
    """
    CREATE TABLE journal (
        seq INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        digest TEXT NOT NULL
    )
    """,
    """
    CREATE INDEX journal_by_kind ON journal (kind)
    """,
    """
    CREATE TABLE head (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seq INTEGER NOT NULL,
        digest TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE account (
        log TEXT NOT NULL,
        block TEXT NOT NULL,
        analyst TEXT NOT NULL,
        spent INTEGER NOT NULL CHECK (spent >= 0 AND typeof(spent) = 'integer'),
        held INTEGER NOT NULL CHECK (held >= 0 AND typeof(held) = 'integer'),
        PRIMARY KEY (log, block, analyst)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE cell (
        key TEXT NOT NULL PRIMARY KEY,
        reserved INTEGER REFERENCES journal (seq),
        charged INTEGER REFERENCES journal (seq),
        released INTEGER REFERENCES journal (seq)
    ) WITHOUT ROWID
    """,
    _SNAPSHOTS,
)

# INSERT OR REPLACE deletes without asking a DELETE trigger: hence the guard on INSERT.
GUARDS = (
    """
    CREATE TRIGGER journal_grows_at_its_end BEFORE INSERT ON journal
    WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM journal)
    BEGIN SELECT RAISE(ABORT, 'the journal grows at its end only'); END
    """,
    """
    CREATE TRIGGER journal_is_not_changed BEFORE UPDATE ON journal
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END
    """,
    """
    CREATE TRIGGER journal_is_not_cut BEFORE DELETE ON journal
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END
    """,
    """
    CREATE TRIGGER head_moves_on BEFORE UPDATE ON head
    WHEN NEW.seq <= OLD.seq
    BEGIN SELECT RAISE(ABORT, 'the head only moves on'); END
    """,
    """
    CREATE TRIGGER head_stays BEFORE DELETE ON head
    BEGIN SELECT RAISE(ABORT, 'the head only moves on'); END
    """,
    """
    CREATE TRIGGER nothing_is_refunded BEFORE UPDATE ON account
    WHEN NEW.spent < OLD.spent OR NEW.log <> OLD.log OR NEW.block <> OLD.block
        OR NEW.analyst <> OLD.analyst
    BEGIN SELECT RAISE(ABORT, 'nothing is refunded'); END
    """,
    """
    CREATE TRIGGER no_account_is_forgotten BEFORE DELETE ON account
    BEGIN SELECT RAISE(ABORT, 'nothing is refunded'); END
    """,
    """
    CREATE TRIGGER cell_is_charged_and_released_once BEFORE UPDATE ON cell
    WHEN OLD.released IS NOT NULL OR NEW.key <> OLD.key OR NEW.reserved IS NOT OLD.reserved
        OR (OLD.charged IS NOT NULL AND NEW.charged IS NOT OLD.charged)
    BEGIN SELECT RAISE(ABORT, 'a cell is charged once and released once'); END
    """,
    """
    CREATE TRIGGER no_charge_is_forgotten BEFORE DELETE ON cell
    WHEN OLD.charged IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'a charge is never forgotten'); END
    """,
    *_SNAPSHOT_GUARDS,
)

_SHAPE = "SELECT type, name, tbl_name, sql, rootpage = 0 FROM sqlite_master ORDER BY type, name"


def has_ledger_shape(connection: sqlite3.Connection) -> bool:
    """Whether the tables and guards are exactly those above."""
    with closing(sqlite3.connect(":memory:")) as pattern:
        for statement in TABLES + GUARDS:
            pattern.execute(statement)
        return _shape(connection) == _shape(pattern)


def _shape(connection: sqlite3.Connection) -> list[Any]:
    return connection.execute(_SHAPE).fetchall()
