"""A ledger's SQLite file: settings, odd paths, and every kind of damage to it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pappi.errors import LedgerBroken, LedgerUnavailable, WorkspaceError
from pappi.ledger import Ledger, create_ledger, open_ledger
from pappi.values import Epsilon
from tests.ledgers import (
    NOVEMBER,
    OCTOBER,
    InSqlite,
    charge,
)
from tests.lengths import length

pytestmark = pytest.mark.outside

LIMITS = dict.fromkeys((OCTOBER, NOVEMBER), Epsilon.of(1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with create_ledger(path) as ledger:
        yield ledger


def test_an_existing_file_is_never_overwritten(path: Path) -> None:
    path.write_bytes(b"precious")
    with pytest.raises(WorkspaceError, match="cannot create"):
        create_ledger(path)
    assert path.read_bytes() == b"precious"


def test_a_missing_ledger_is_an_error_and_not_a_fresh_one(path: Path) -> None:
    with pytest.raises(LedgerBroken, match="missing"):
        open_ledger(path)
    assert not path.exists()


def test_a_ledger_moved_while_it_is_verified_is_out_of_reach_and_not_damaged(
    ledger: Ledger, path: Path
) -> None:
    away = path.rename(path.with_name("away.sqlite"))
    with pytest.raises(LedgerUnavailable, match="moved or replaced") as caught:
        ledger.verify()
    assert not isinstance(caught.value, LedgerBroken)
    away.rename(path)
    assert ledger.verify().ok


@pytest.mark.parametrize("content", [b"", b"not a database " * 100], ids=["empty", "other"])
def test_a_file_that_is_no_ledger_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LedgerBroken, match="does not verify"):
        open_ledger(path)


def test_a_creation_that_fails_leaves_no_half_ledger(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pappi.ledger.sqlite.TABLES", ("CREATE TABLE nonsense (",))
    with pytest.raises(WorkspaceError):
        create_ledger(path)
    assert list(path.parent.iterdir()) == []


def test_odd_characters_in_the_path_name_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "a ledger?mode=memory#%41.sqlite"
    create_ledger(path).close()
    open_ledger(path).close()
    assert list(tmp_path.iterdir()) == [path]


def test_commits_reach_the_disk_before_they_return(ledger: Ledger) -> None:
    settings = {
        name: ledger._journal.run(f"PRAGMA {name}") for name in ("journal_mode", "synchronous")
    }
    assert settings == {"journal_mode": [("wal",)], "synchronous": [(2,)]}


def test_a_file_that_is_replaced_while_somebody_waits_for_it_is_not_written(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at before the wait, it was still the right one."""
    connection: sqlite3.Connection = ledger._journal._connection  # type: ignore[attr-defined]

    class Waiting:
        in_transaction = property(lambda _self: connection.in_transaction)

        def execute(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
            if statement.startswith("BEGIN"):
                path.rename(path.with_name("away.sqlite"))
                create_ledger(path).close()
            return connection.execute(statement, values)

    monkeypatch.setattr(ledger._journal, "_connection", Waiting())
    with pytest.raises(LedgerUnavailable, match="moved or replaced"):
        ledger.charge([charge("a")], LIMITS)
    assert not connection.in_transaction
    monkeypatch.undo()


def test_a_file_damaged_while_it_is_open_grants_nothing(ledger: Ledger, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as vandal:
        vandal.execute("PRAGMA writable_schema = ON")
        vandal.execute("UPDATE sqlite_master SET rootpage = 999 WHERE name = 'account'")
        vandal.execute("PRAGMA schema_version = 999")  # makes the ledger look again
    with pytest.raises(LedgerBroken, match="what is stored is damaged"):
        ledger.charge([charge("a")], LIMITS)


@pytest.fixture
def filled(path: Path) -> Path:
    """A closed ledger with declarations, charges and releases, all in the main file."""
    with create_ledger(path) as ledger:
        ledger.append("declare", {"log": "hospital", "unit": "case"})
        for number in range(12):
            ledger.charge([charge(f"{number:064x}", "0.05", OCTOBER, NOVEMBER)], LIMITS)
            if number % 3:
                ledger.record({f"{number:064x}": {"value": number, "cases": 100 + number}})
    return path


def test_replacing_an_entry_is_refused_by_the_guards(filled: Path) -> None:
    replacing = (
        "INSERT OR REPLACE INTO journal SELECT seq, at, kind, '{}', digest FROM journal LIMIT 1"
    )
    with pytest.raises(sqlite3.IntegrityError):
        InSqlite(filled).execute(replacing)


@pytest.mark.parametrize(
    ("statement", "problem", "seq"),
    [
        ("UPDATE journal SET body = x'00' WHERE seq = 3", "damaged", None),
        ("UPDATE journal SET digest = CAST(x'ff' AS TEXT) WHERE seq = 3", "entry 3", 3),
        ("DROP TRIGGER no_charge_is_forgotten", "guards", None),
    ],
)
def test_an_edit_that_only_sqlite_allows_is_found(
    filled: Path, statement: str, problem: str, seq: int | None
) -> None:
    with open_ledger(filled) as ledger:
        InSqlite(filled).edit(statement)
        found = ledger.verify()
    assert (problem in found.problem, found.seq) == (True, seq), found
    with pytest.raises(LedgerBroken, match=problem):
        open_ledger(filled)


@pytest.mark.parametrize("share", [0, 10, 50, 90, 99])
def test_a_truncated_file_is_found(filled: Path, share: int) -> None:
    content = filled.read_bytes()
    filled.write_bytes(content[: len(content) * share // 100])
    with pytest.raises(LedgerBroken):
        open_ledger(filled)


def test_a_flipped_byte_that_changes_a_stored_value_is_always_found(filled: Path) -> None:
    content, stored = filled.read_bytes(), everything_in(filled)
    damaged = filled.with_name("damaged.sqlite")
    changed = 0
    for position in range(0, len(content), length(61, 23)):
        flipped = bytearray(content)
        flipped[position] ^= 1 << position % 8
        damaged.write_bytes(flipped)
        if everything_in(damaged) == stored:
            continue
        changed += 1
        with pytest.raises(LedgerBroken):
            open_ledger(damaged)
    assert changed > length(100, 300)


READ_EVERYTHING = (
    "SELECT * FROM sqlite_master",
    "SELECT * FROM journal ORDER BY seq",
    "SELECT kind, seq FROM journal ORDER BY kind, seq",  # by its index
    "SELECT * FROM head",
    "SELECT * FROM account",
    "SELECT * FROM cell",
)


def everything_in(path: Path) -> list[Any] | None:
    """All that the file stores, read without the ledger; None if it cannot be read."""
    shutil.copy(path, copy := path.with_name("read.sqlite"))
    try:
        with closing(sqlite3.connect(copy)) as reader:
            reader.text_factory = bytes
            return [reader.execute(query).fetchall() for query in READ_EVERYTHING]
    except (sqlite3.Error, UnicodeDecodeError):
        return None
