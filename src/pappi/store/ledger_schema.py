"""The tables of a ledger's SQLite file, and the guards on them.

The journal is the truth. `spent` and `cell` are projections of it, written in the same
transaction, so that checking a budget need not read the whole past; `head` repeats the
last digest, so that entries cut off the end are missed. The triggers keep mistakes from
changing what is written: whoever can write the file can drop them, but not unnoticed.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

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
    CREATE TABLE spent (
        log TEXT NOT NULL,
        block TEXT NOT NULL,
        nano INTEGER NOT NULL CHECK (nano > 0),
        PRIMARY KEY (log, block)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE cell (
        key TEXT NOT NULL PRIMARY KEY,
        charged INTEGER NOT NULL REFERENCES journal (seq),
        released INTEGER REFERENCES journal (seq)
    ) WITHOUT ROWID
    """,
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
    CREATE TRIGGER spent_is_not_refunded BEFORE UPDATE ON spent
    WHEN NEW.nano < OLD.nano OR NEW.log <> OLD.log OR NEW.block <> OLD.block
    BEGIN SELECT RAISE(ABORT, 'nothing is refunded'); END
    """,
    """
    CREATE TRIGGER spent_is_not_forgotten BEFORE DELETE ON spent
    BEGIN SELECT RAISE(ABORT, 'nothing is refunded'); END
    """,
    """
    CREATE TRIGGER cell_is_released_once BEFORE UPDATE ON cell
    WHEN OLD.released IS NOT NULL OR NEW.key <> OLD.key OR NEW.charged <> OLD.charged
    BEGIN SELECT RAISE(ABORT, 'a cell is released once'); END
    """,
    """
    CREATE TRIGGER cell_is_not_forgotten BEFORE DELETE ON cell
    BEGIN SELECT RAISE(ABORT, 'a charge is never forgotten'); END
    """,
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
