"""The ledger: charged before released, paid once, refused whole, and never silently wrong."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from pappi.budget.accounts import Account, Charge, KeyState
from pappi.errors import BudgetExceeded, LedgerBroken, WorkspaceError
from pappi.store.ledger import SqliteLedger, Step
from pappi.values.epsilon import Epsilon

OCTOBER = Account("hospital", "2014-10")
NOVEMBER = Account("hospital", "2014-11")
ONE = Epsilon.of(1)
LIMITS = {OCTOBER: ONE, NOVEMBER: ONE}


def charge(key: str, amount: str = "0.1", *accounts: Account) -> Charge:
    return Charge(key, accounts or (OCTOBER,), Epsilon.of(amount), {"ppi": f"ppi of {key}"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[SqliteLedger]:
    with SqliteLedger.create(path) as ledger:
        yield ledger


# Charging and recording


def test_a_new_key_is_charged_once_and_replayed_for_nothing(ledger: SqliteLedger) -> None:
    assert ledger.charge([charge("a")], LIMITS) == {"a": KeyState.NEW}
    assert ledger.charge([charge("a")], LIMITS) == {"a": KeyState.PENDING}
    ledger.record({"a": {"value": 7}})
    assert ledger.charge([charge("a")], LIMITS) == {"a": KeyState.RELEASED}
    assert ledger.spent("hospital") == {OCTOBER: Epsilon.of("0.1")}


def test_the_states_of_keys_can_be_asked_without_charging(ledger: SqliteLedger) -> None:
    ledger.charge([charge("a"), charge("b")], LIMITS)
    ledger.record({"a": 1})
    assert ledger.states(["a", "b", "c"]) == {
        "a": KeyState.RELEASED,
        "b": KeyState.PENDING,
        "c": KeyState.NEW,
    }


def test_replay_is_free_even_when_the_budget_is_exhausted(ledger: SqliteLedger) -> None:
    ledger.charge([charge("a", "1")], LIMITS)
    assert ledger.charge([charge("a", "1")], {}) == {"a": KeyState.PENDING}


def test_charges_are_made_all_or_none(ledger: SqliteLedger) -> None:
    before = ledger.verify()
    with pytest.raises(BudgetExceeded, match=r"missing 0\.1"):
        ledger.charge([charge("a", "0.5"), charge("b", "1.1", NOVEMBER)], LIMITS)
    assert ledger.spent("hospital") == {}
    assert ledger.states(["a", "b"]) == dict.fromkeys("ab", KeyState.NEW)
    assert ledger.verify() == before


def test_only_what_is_new_is_checked_against_the_limit(ledger: SqliteLedger) -> None:
    ledger.charge([charge("a", "0.6")], LIMITS)
    states = ledger.charge([charge("a", "0.6"), charge("b", "0.4")], LIMITS)
    assert states == {"a": KeyState.PENDING, "b": KeyState.NEW}
    assert ledger.spent("hospital") == {OCTOBER: ONE}


def test_a_key_asked_for_twice_in_one_request_is_paid_once(ledger: SqliteLedger) -> None:
    ledger.charge([charge("a"), charge("a")], LIMITS)
    assert ledger.spent("hospital") == {OCTOBER: Epsilon.of("0.1")}


def test_a_pending_release_is_not_completed_at_a_higher_price(ledger: SqliteLedger) -> None:
    ledger.charge([charge("a", "0.1")], LIMITS)
    for dearer in (charge("a", "0.2"), charge("a", "0.1", OCTOBER, NOVEMBER)):
        with pytest.raises(ValueError, match="another price"):
            ledger.charge([dearer], LIMITS)


def test_the_owners_limit_is_read_at_the_moment_of_the_charge(ledger: SqliteLedger) -> None:
    def granted(_account: Account) -> Epsilon:
        return Epsilon.of(ledger.acts("grant")[-1].payload["epsilon"])

    ledger.append("grant", {"epsilon": "1"})
    ledger.charge([charge("a", "0.5")], granted)
    ledger.append("grant", {"epsilon": "0.6"})
    with pytest.raises(BudgetExceeded, match=r"left 0\.1"):
        ledger.charge([charge("b", "0.5")], granted)


def test_limits_that_write_to_the_ledger_while_it_charges_are_refused(
    ledger: SqliteLedger,
) -> None:
    def generous(account: Account) -> Epsilon:
        ledger.append("grant", {"block": account.block})
        return ONE

    with pytest.raises(RuntimeError, match="inside another"):
        ledger.charge([charge("a")], generous)
    assert (ledger.states(["a"]), ledger.acts("grant")) == ({"a": KeyState.NEW}, ())


def test_an_error_in_the_middle_of_a_charge_leaves_no_trace(path: Path) -> None:
    def trip(step: str) -> None:
        if step == Step.CHARGE_WRITTEN:
            raise RuntimeError("tripped")

    with SqliteLedger.create(path, on_step=trip) as ledger:
        before = ledger.verify()
        with pytest.raises(RuntimeError):
            ledger.charge([charge("a")], LIMITS)
        assert ledger.verify() == before


def test_the_first_result_stays(ledger: SqliteLedger) -> None:
    ledger.charge([charge("a"), charge("b")], LIMITS)
    assert ledger.record({"a": {"value": 7}}) == {"a": {"value": 7}}
    assert ledger.record({"a": {"value": 8}, "b": [1]}) == {"a": {"value": 7}, "b": [1]}
    assert ledger.results(["a", "b", "c"]) == {"a": {"value": 7}, "b": [1]}


def test_nothing_is_recorded_that_was_not_charged(ledger: SqliteLedger) -> None:
    ledger.charge([charge("a")], LIMITS)
    with pytest.raises(ValueError, match="never charged"):
        ledger.record({"a": 1, "b": 2})
    assert ledger.results(["a", "b"]) == {}


def test_a_result_with_a_float_is_refused(ledger: SqliteLedger) -> None:
    ledger.charge([charge("a")], LIMITS)
    with pytest.raises(TypeError):
        ledger.record({"a": {"value": 0.5}})  # type: ignore[dict-item]
    assert ledger.states(["a"]) == {"a": KeyState.PENDING}


# Owner's acts and listings


def test_an_owners_acts_come_back_in_order_after_reopening(path: Path) -> None:
    moment = datetime(2025, 1, 1, 12, tzinfo=timezone(timedelta(hours=1)))
    with SqliteLedger.create(path, clock=lambda: moment) as ledger:
        assert ledger.append("declare", {"log": "hospital"}) == 2
        assert ledger.append("declare", {"log": "town hall — Zürich"}) == 3
    with SqliteLedger.open(path) as ledger:
        acts = ledger.acts("declare")
    assert [act.payload["log"] for act in acts] == ["hospital", "town hall — Zürich"]
    assert {act.at for act in acts} == {"2025-01-01T11:00:00.000000+00:00"}


@pytest.mark.parametrize("kind", ["ledger", "charge", "release"])
def test_the_ledgers_own_entries_cannot_be_written_as_acts(ledger: SqliteLedger, kind: str) -> None:
    with pytest.raises(ValueError, match="ledger alone"):
        ledger.append(kind, {})


def test_the_charges_of_a_log_are_listed_with_their_question_and_release(path: Path) -> None:
    moment = datetime(2025, 1, 1, tzinfo=UTC)
    elsewhere = Account("town hall", "2014-10")
    with SqliteLedger.create(path, clock=lambda: moment) as ledger:
        limits = LIMITS | {elsewhere: ONE}
        ledger.charge([charge("a"), charge("b"), charge("c", "0.1", elsewhere)], limits)
        ledger.record({"a": 1})
        released, pending = ledger.charges("hospital")
    assert released.charge == charge("a")
    assert released.charge.question == {"ppi": "ppi of a"}
    assert released.at == released.released_at == "2025-01-01T00:00:00.000000+00:00"
    assert (pending.charge.key, pending.released_at) == ("b", None)


def test_logs_have_separate_accounts(ledger: SqliteLedger) -> None:
    elsewhere = Account("town hall", "2014-10")
    ledger.charge([charge("a", "1"), charge("b", "1", elsewhere)], lambda _account: ONE)
    assert ledger.spent("hospital") == {OCTOBER: ONE}
    assert ledger.spent("town hall") == {elsewhere: ONE}


# Opening


def test_an_existing_file_is_never_overwritten(path: Path) -> None:
    path.write_bytes(b"precious")
    with pytest.raises(WorkspaceError, match="cannot create"):
        SqliteLedger.create(path)
    assert path.read_bytes() == b"precious"


def test_a_missing_ledger_is_an_error_and_not_a_fresh_one(path: Path) -> None:
    with pytest.raises(LedgerBroken, match="missing"):
        SqliteLedger.open(path)
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"not a database " * 100], ids=["empty", "other"])
def test_a_file_that_is_no_ledger_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LedgerBroken, match="does not verify"):
        SqliteLedger.open(path)


def test_a_creation_that_fails_leaves_no_half_ledger(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pappi.store.journal.TABLES", ("CREATE TABLE nonsense (",))
    with pytest.raises(WorkspaceError):
        SqliteLedger.create(path)
    assert list(path.parent.iterdir()) == []


def test_odd_characters_in_the_path_name_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "a ledger?mode=memory#%41.sqlite"
    SqliteLedger.create(path).close()
    SqliteLedger.open(path).close()
    assert list(tmp_path.iterdir()) == [path]


def test_a_closed_ledger_grants_nothing(ledger: SqliteLedger) -> None:
    ledger.close()
    with pytest.raises(WorkspaceError, match="could not be used"):
        ledger.charge([charge("a")], LIMITS)


def test_commits_reach_the_disk_before_they_return(ledger: SqliteLedger) -> None:
    settings = {
        name: ledger._file.run(f"PRAGMA {name}") for name in ("journal_mode", "synchronous")
    }
    assert settings == {"journal_mode": [("wal",)], "synchronous": [(2,)]}


def test_a_connection_carried_through_a_fork_is_refused(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(WorkspaceError, match="another process"):
        ledger.charge([charge("a")], LIMITS)


def test_threads_share_a_ledger_without_overspending(ledger: SqliteLedger) -> None:
    granted: list[str] = []

    def attempt(number: int) -> None:
        for round_ in range(5):
            key = f"{number}-{round_}"
            try:
                ledger.charge([charge(key)], LIMITS)
            except BudgetExceeded:
                continue
            granted.append(key)

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 10
    assert ledger.spent("hospital") == {OCTOBER: ONE}


# Failing closed


def fill_the_disk(ledger: SqliteLedger) -> None:
    ((pages,),) = ledger._file.run("PRAGMA page_count")
    ledger._file.run(f"PRAGMA max_page_count = {pages}")


def forbid_writing(ledger: SqliteLedger) -> None:
    ledger._file.run("PRAGMA query_only = ON")


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (fill_the_disk, "the disk is full"),
        (forbid_writing, "the file cannot be written"),
    ],
)
def test_a_charge_that_cannot_be_written_is_not_granted(
    ledger: SqliteLedger, break_it: Callable[[SqliteLedger], None], sentence: str
) -> None:
    break_it(ledger)
    many = [charge(f"{number:0900}", "0.0001") for number in range(20)]
    with pytest.raises(WorkspaceError, match=sentence):
        ledger.charge(many, LIMITS)
    assert ledger.states([many[0].key]) == {many[0].key: KeyState.NEW}
    assert ledger.verify().ok


def test_a_file_damaged_while_it_is_open_grants_nothing(ledger: SqliteLedger, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as vandal:
        vandal.execute("PRAGMA writable_schema = ON")
        vandal.execute("UPDATE sqlite_master SET rootpage = 999 WHERE name = 'spent'")
        vandal.execute("PRAGMA schema_version = 999")  # makes the ledger look again
    with pytest.raises(LedgerBroken, match="the file is damaged"):
        ledger.charge([charge("a")], LIMITS)


def test_a_ledger_locked_by_another_process_is_an_error_and_grants_nothing(
    ledger: SqliteLedger, path: Path
) -> None:
    ledger._file.run("PRAGMA busy_timeout = 1")
    with closing(sqlite3.connect(path, isolation_level=None)) as rival:
        rival.execute("BEGIN IMMEDIATE")
        with pytest.raises(WorkspaceError, match="another process keeps it locked"):
            ledger.charge([charge("a")], LIMITS)
    assert ledger.charge([charge("a")], LIMITS) == {"a": KeyState.NEW}


def test_an_amount_beyond_what_the_file_can_hold_is_not_granted(ledger: SqliteLedger) -> None:
    huge = Charge("a", (OCTOBER,), Epsilon(2**63), {})
    with pytest.raises(WorkspaceError):
        ledger.charge([huge], {OCTOBER: Epsilon(2**64)})
    assert ledger.spent("hospital") == {}


# Tampering


@pytest.fixture
def filled(path: Path) -> Path:
    """A closed ledger with declarations, charges and releases, all in the main file."""
    with SqliteLedger.create(path) as ledger:
        ledger.append("declare", {"log": "hospital", "unit": "case"})
        for number in range(12):
            ledger.charge([charge(f"{number:064x}", "0.05", OCTOBER, NOVEMBER)], LIMITS)
            if number % 3:
                ledger.record({f"{number:064x}": {"value": number, "cases": 100 + number}})
    return path


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journal SET body = '{}' WHERE seq = 3",
        "DELETE FROM journal WHERE seq = 5",
        "INSERT OR REPLACE INTO journal SELECT seq, at, kind, '{}', digest FROM journal LIMIT 1",
        "INSERT INTO journal VALUES (99, '', '', '', '')",
        "UPDATE spent SET nano = 1",
        "DELETE FROM spent",
        "DELETE FROM cell",
        "UPDATE cell SET released = NULL",
        "UPDATE head SET seq = 1",
        "DELETE FROM head",
    ],
)
def test_the_guards_refuse_to_change_or_remove_what_is_written(
    filled: Path, statement: str
) -> None:
    with closing(sqlite3.connect(filled)) as writer, pytest.raises(sqlite3.IntegrityError):
        writer.execute(statement)


@pytest.mark.parametrize(
    ("statement", "problem", "seq"),
    [
        ("UPDATE journal SET body = '{}' WHERE seq = 3", "entry 3 or its digest", 3),
        ("UPDATE journal SET at = '' WHERE seq = 4", "entry 4 or its digest", 4),
        ("UPDATE journal SET body = x'00' WHERE seq = 3", "damaged", None),
        ("UPDATE journal SET digest = CAST(x'ff' AS TEXT) WHERE seq = 3", "entry 3", 3),
        ("DELETE FROM journal WHERE seq = 5", "entry 5 is missing", 5),
        ("DELETE FROM journal WHERE seq = 1", "entry 1 is missing", 1),
        ("DELETE FROM journal WHERE seq > 20", "ends at entry 20", 21),
        ("DELETE FROM journal", "empty", 1),
        ("DELETE FROM head", "head record", 23),
        ("UPDATE head SET seq = 21", "head record", 23),
        ("UPDATE spent SET nano = nano - 1 WHERE block = '2014-10'", "what is spent", None),
        ("DELETE FROM spent", "what is spent", None),
        ("DELETE FROM cell WHERE charged = 3", "keys", None),
        ("UPDATE cell SET released = NULL", "keys", None),
        ("UPDATE cell SET released = 1 WHERE released IS NULL", "keys", None),
        ("CREATE TABLE extra (x)", "guards", None),
        ("DROP TRIGGER cell_is_not_forgotten", "guards", None),
        ("DROP INDEX journal_by_kind", "guards", None),
    ],
)
def test_an_edit_behind_the_ledgers_back_is_found(
    filled: Path, statement: str, problem: str, seq: int | None
) -> None:
    with SqliteLedger.open(filled) as ledger:
        edit_without_guards(filled, statement)
        found = ledger.verify()
    assert (problem in found.problem, found.seq) == (True, seq), found
    with pytest.raises(LedgerBroken, match=problem):
        SqliteLedger.open(filled)


def edit_without_guards(path: Path, statement: str) -> None:
    """Take the guards away, edit, and put them back as they were."""
    with closing(sqlite3.connect(path, isolation_level=None)) as vandal:
        guards = vandal.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        kept = dict(guards.fetchall())
        spare = [name for name in kept if name not in statement]
        for name in spare:
            vandal.execute(f"DROP TRIGGER {name}")
        vandal.execute(statement)
        for name in spare:
            vandal.execute(kept[name])


def test_verifying_an_open_ledger_says_what_is_wrong_and_where(filled: Path) -> None:
    with SqliteLedger.open(filled) as ledger:
        sound = ledger.verify()
        edit_without_guards(filled, "UPDATE journal SET kind = 'grant' WHERE seq = 2")
        found = ledger.verify()
    assert (sound.ok, sound.entries, len(sound.head)) == (True, 22, 64)
    assert (found.ok, found.entries, found.seq) == (False, 1, 2)


def test_an_open_ledger_does_not_write_on_from_a_cut_journal(filled: Path) -> None:
    with SqliteLedger.open(filled) as ledger:
        edit_without_guards(filled, "DELETE FROM journal WHERE seq > 20")
        with pytest.raises(LedgerBroken, match="ends at entry 20"):
            ledger.append("grant", {})


@pytest.mark.parametrize("share", [0, 10, 50, 90, 99])
def test_a_truncated_file_is_found(filled: Path, share: int) -> None:
    content = filled.read_bytes()
    filled.write_bytes(content[: len(content) * share // 100])
    with pytest.raises(LedgerBroken):
        SqliteLedger.open(filled)


def test_a_flipped_byte_that_changes_a_stored_value_is_always_found(filled: Path) -> None:
    content, stored = filled.read_bytes(), everything_in(filled)
    damaged = filled.with_name("damaged.sqlite")
    changed = 0
    for position in range(0, len(content), 23):
        flipped = bytearray(content)
        flipped[position] ^= 1 << position % 8
        damaged.write_bytes(flipped)
        if everything_in(damaged) == stored:
            continue
        changed += 1
        with pytest.raises(LedgerBroken):
            SqliteLedger.open(damaged)
    assert changed > 300


READ_EVERYTHING = (
    "SELECT * FROM sqlite_master",
    "SELECT * FROM journal ORDER BY seq",
    "SELECT kind, seq FROM journal ORDER BY kind, seq",  # by its index
    "SELECT * FROM head",
    "SELECT * FROM spent",
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
