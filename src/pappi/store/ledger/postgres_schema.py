"""The tables of a ledger in PostgreSQL, in a schema of their own, and the guards on them.

The same tables as in SQLite (see `sqlite_schema`), and the same guards, as triggers. The
shape that opening compares with the catalog is made from the same texts as the statements
that create it, in the words in which PostgreSQL repeats definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import Any

SCHEMA = "pappi"
_SNAPSHOT = "snapshot"

# Sorted by bytes: the order of a language can change with the operating system, and an
# index in the old order no longer finds the keys that are already charged.
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
    """Refuses, with a sentence, what the condition is true of."""

    name: str
    event: str
    table: str
    sentence: str
    condition: str = "true"

    @property
    def body(self) -> str:
        handed_on = "OLD" if self.event == "DELETE" else "NEW"
        return (
            f" BEGIN IF {self.condition} THEN RAISE integrity_constraint_violation"
            f" USING MESSAGE = '{self.sentence}'; END IF; RETURN {handed_on}; END "
        )

    @property
    def function(self) -> str:
        return f"CREATE FUNCTION {self.name}() RETURNS trigger LANGUAGE plpgsql AS $${self.body}$$"

    @property
    def trigger(self) -> str:
        each = "STATEMENT" if self.event == "TRUNCATE" else "ROW"
        return (
            f"CREATE TRIGGER {self.name} BEFORE {self.event} ON {SCHEMA}.{self.table}"
            f" FOR EACH {each} EXECUTE FUNCTION {self.name}()"
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
    """What creates the tables and guards, in an empty schema that is first in the search path."""
    for table in _COLUMNS:
        yield _table(table)
    yield _INDEX
    yield from _guards(_COLUMNS)


def snapshot_statements() -> Iterator[str]:
    """What adds the table for snapshots, which ledgers of the first formats do not have."""
    yield _table(_SNAPSHOT)
    yield from _guards((_SNAPSHOT,))


def _table(table: str) -> str:
    parts = [f"{name} {kind}" for name, kind in _COLUMNS[table].items()]
    parts += [f"CONSTRAINT {name} {rule}" for name, rule in _CONSTRAINTS[table].items()]
    return f"CREATE TABLE {table} ({', '.join(parts)})"


def _guards(tables: Container[str]) -> Iterator[str]:
    for guard in _GUARDS:
        if guard.table in tables:
            yield guard.function
            yield guard.trigger


# Per thing in the schema: what kind of thing, on which table, its name, and its definition.
# An unlogged table would lose what is committed; rules, policies and child tables change
# what a statement reads or writes; a disabled trigger is none.
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


def has_ledger_shape(run: Callable[[str], list[Any]]) -> bool:
    """Whether the tables and guards in the catalog are exactly those above."""
    found = _found(run)
    return len(found) == len(set(found)) and set(found) == set(_shape())


def is_empty(run: Callable[[str], list[Any]]) -> bool:
    """Whether nothing is in the schema, or there is no schema."""
    return not _found(run)


def _found(run: Callable[[str], list[Any]]) -> list[Any]:
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
