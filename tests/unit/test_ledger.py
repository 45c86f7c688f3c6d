"""The ledger: charged before released, paid once, refused whole, and never silently wrong.

One contract, kept in both databases. What only a file or only a server can do wrong is in
`test_ledger_sqlite.py` and `test_ledger_postgres.py`.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import psycopg
import pytest

from pappi.errors import BudgetExceeded, LedgerBroken, NotAllowed, WorkspaceError
from pappi.ledger import Account, Balance, Charge, Entry, KeyState, Ledger
from pappi.ledger.ledger import LedgerStep
from pappi.values import ZERO, Epsilon
from tests.ledgers import (
    NOVEMBER,
    OCTOBER,
    Database,
    Place,
    charge,
    new_place,
)

pytestmark = pytest.mark.outside

TOTAL = Account("hospital")
ONE = Epsilon.of(1)
LIMITS = {OCTOBER: ONE, NOVEMBER: ONE}


@pytest.fixture
def ledger(place: Place) -> Iterator[Ledger]:
    with place.create() as ledger:
        yield ledger


# Charging and recording


def test_a_new_key_is_charged_once_and_replayed_for_nothing(ledger: Ledger) -> None:
    assert ledger.charge([charge("a")], LIMITS) == {"a": KeyState.NEW}
    assert ledger.charge([charge("a")], LIMITS) == {"a": KeyState.PENDING}
    ledger.record({"a": {"value": 7}})
    assert ledger.charge([charge("a")], LIMITS) == {"a": KeyState.RELEASED}
    assert ledger.spent("hospital") == {OCTOBER: Epsilon.of("0.1")}


def test_the_states_of_keys_can_be_asked_without_charging(ledger: Ledger) -> None:
    ledger.charge([charge("a"), charge("b")], LIMITS)
    ledger.record({"a": 1})
    assert ledger.states(["a", "b", "c"]) == {
        "a": KeyState.RELEASED,
        "b": KeyState.PENDING,
        "c": KeyState.NEW,
    }


def test_replay_is_free_even_when_the_budget_is_exhausted(ledger: Ledger) -> None:
    ledger.charge([charge("a", "1")], LIMITS)
    assert ledger.charge([charge("a", "1")], {}) == {"a": KeyState.PENDING}


def test_charges_are_made_all_or_none(ledger: Ledger) -> None:
    before = ledger.verify()
    with pytest.raises(BudgetExceeded, match=r"missing 0\.1"):
        ledger.charge([charge("a", "0.5"), charge("b", "1.1", NOVEMBER)], LIMITS)
    assert ledger.spent("hospital") == {}
    assert ledger.states(["a", "b"]) == dict.fromkeys("ab", KeyState.NEW)
    assert ledger.verify() == before


def test_only_what_is_new_is_checked_against_the_limit(ledger: Ledger) -> None:
    ledger.charge([charge("a", "0.6")], LIMITS)
    states = ledger.charge([charge("a", "0.6"), charge("b", "0.4")], LIMITS)
    assert states == {"a": KeyState.PENDING, "b": KeyState.NEW}
    assert ledger.spent("hospital") == {OCTOBER: ONE}


def test_a_key_asked_for_twice_in_one_request_is_paid_once(ledger: Ledger) -> None:
    ledger.charge([charge("a"), charge("a")], LIMITS)
    assert ledger.spent("hospital") == {OCTOBER: Epsilon.of("0.1")}


def test_a_pending_release_is_not_completed_at_a_higher_price(ledger: Ledger) -> None:
    ledger.charge([charge("a", "0.1")], LIMITS)
    for dearer in (charge("a", "0.2"), charge("a", "0.1", OCTOBER, NOVEMBER)):
        with pytest.raises(ValueError, match="another price"):
            ledger.charge([dearer], LIMITS)


def test_the_owners_limit_is_read_at_the_moment_of_the_charge(ledger: Ledger) -> None:
    def granted(_account: Account) -> Epsilon:
        return Epsilon.of(ledger.acts("grant")[-1].payload["epsilon"])

    ledger.append("grant", {"epsilon": "1"})
    ledger.charge([charge("a", "0.5")], granted)
    ledger.append("grant", {"epsilon": "0.6"})
    with pytest.raises(BudgetExceeded, match=r"left 0\.1"):
        ledger.charge([charge("b", "0.5")], granted)


def test_limits_that_write_to_the_ledger_while_it_charges_are_refused(
    ledger: Ledger,
) -> None:
    def generous(account: Account) -> Epsilon:
        ledger.append("grant", {"block": account.block})
        return ONE

    with pytest.raises(RuntimeError, match="inside another"):
        ledger.charge([charge("a")], generous)
    assert (ledger.states(["a"]), ledger.acts("grant")) == ({"a": KeyState.NEW}, ())


def test_an_error_in_the_middle_of_a_charge_leaves_no_trace(place: Place) -> None:
    def trip(step: str) -> None:
        if step == LedgerStep.CHARGE_WRITTEN:
            raise RuntimeError("tripped")

    with place.create(on_step=trip) as ledger:
        before = ledger.verify()
        with pytest.raises(RuntimeError):
            ledger.charge([charge("a")], LIMITS)
        assert ledger.verify() == before


def test_the_first_result_stays(ledger: Ledger) -> None:
    ledger.charge([charge("a"), charge("b")], LIMITS)
    assert ledger.record({"a": {"value": 7}}) == {"a": {"value": 7}}
    assert ledger.record({"a": {"value": 8}, "b": [1]}) == {"a": {"value": 7}, "b": [1]}
    assert ledger.results(["a", "b", "c"]) == {"a": {"value": 7}, "b": [1]}


def test_nothing_is_recorded_that_was_not_charged(ledger: Ledger) -> None:
    ledger.charge([charge("a")], LIMITS)
    with pytest.raises(ValueError, match="never charged"):
        ledger.record({"a": 1, "b": 2})
    assert ledger.results(["a", "b"]) == {}


def test_a_result_with_a_float_is_refused(ledger: Ledger) -> None:
    ledger.charge([charge("a")], LIMITS)
    with pytest.raises(TypeError):
        ledger.record({"a": {"value": 0.5}})  # type: ignore[dict-item]
    assert ledger.states(["a"]) == {"a": KeyState.PENDING}


# Owner's acts and listings


def test_an_owners_acts_come_back_in_order_after_reopening(place: Place) -> None:
    moment = datetime(2025, 1, 1, 12, tzinfo=timezone(timedelta(hours=1)))
    with place.create(clock=lambda: moment) as ledger:
        assert ledger.append("declare", {"log": "hospital"}) == 2
        assert ledger.append("declare", {"log": "town hall — Zürich"}) == 3
    with place.open() as ledger:
        acts = ledger.acts("declare")
    assert [act.payload["log"] for act in acts] == ["hospital", "town hall — Zürich"]
    assert {act.at for act in acts} == {"2025-01-01T11:00:00.000000+00:00"}


@pytest.mark.parametrize("kind", ["ledger", "reserve", "cancel", "charge", "release"])
def test_the_ledgers_own_entries_cannot_be_written_as_acts(ledger: Ledger, kind: str) -> None:
    with pytest.raises(ValueError, match="ledger alone"):
        ledger.append(kind, {})


def test_the_charges_of_a_log_are_listed_with_their_question_and_release(place: Place) -> None:
    moment = datetime(2025, 1, 1, tzinfo=UTC)
    elsewhere = Account("town hall", "2014-10")
    with place.create(clock=lambda: moment) as ledger:
        limits = LIMITS | {elsewhere: ONE}
        ledger.charge([charge("a"), charge("b"), charge("c", "0.1", elsewhere)], limits)
        ledger.record({"a": 1})
        released, pending = ledger.charges("hospital")
    assert released.charge == charge("a")
    assert released.charge.query == {"ppi": "ppi of a"}
    assert released.at == released.released_at == "2025-01-01T00:00:00.000000+00:00"
    assert (pending.charge.key, pending.released_at) == ("b", None)


def test_logs_have_separate_accounts(ledger: Ledger) -> None:
    elsewhere = Account("town hall", "2014-10")
    ledger.charge([charge("a", "1"), charge("b", "1", elsewhere)], lambda _account: ONE)
    assert ledger.spent("hospital") == {OCTOBER: ONE}
    assert ledger.spent("town hall") == {elsewhere: ONE}


# Reservations

ASKED = ("stand", {"id": "q"})
ENDED = ("end", {"id": "q"})


def test_what_is_reserved_cannot_be_spent_by_others_and_is_charged_when_asked(
    ledger: Ledger,
) -> None:
    assert ledger.reserve([charge("a", "0.7")], LIMITS, ASKED) == {"a": KeyState.NEW}
    assert ledger.states(["a"]) == {"a": KeyState.RESERVED}
    assert ledger.spent("hospital") == {}
    with pytest.raises(BudgetExceeded, match=r"left 0\.3"):
        ledger.charge([charge("b", "0.4")], LIMITS)
    with pytest.raises(BudgetExceeded):  # a limit that was cut below it counts
        ledger.charge([charge("a", "0.7")], {OCTOBER: Epsilon.of("0.6")})
    assert ledger.charge([charge("a", "0.7")], LIMITS) == {"a": KeyState.RESERVED}
    assert ledger.spent("hospital") == {OCTOBER: Epsilon.of("0.7")}
    assert ledger.balances("hospital")[OCTOBER].held == ZERO
    assert ledger.states(["a"]) == {"a": KeyState.PENDING}
    assert ledger.record({"a": 7}) == {"a": 7}
    assert ledger.verify().ok


def test_reservations_are_made_all_or_none(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded):
        ledger.reserve([charge("a", "0.6"), charge("b", "0.6")], LIMITS, ASKED)
    assert ledger.states(["a", "b"]) == dict.fromkeys("ab", KeyState.NEW)
    assert ledger.balances("hospital") == {}


def test_reserving_again_holds_nothing_more(ledger: Ledger) -> None:
    ledger.reserve([charge("a", "0.6")], LIMITS, ASKED)
    assert ledger.reserve([charge("a", "0.6")], LIMITS, ASKED) == {"a": KeyState.RESERVED}
    assert ledger.balances("hospital")[OCTOBER] == Balance(held=Epsilon.of("0.6"))


def test_a_charged_key_is_not_reserved_a_second_time(ledger: Ledger) -> None:
    ledger.charge([charge("a")], LIMITS)
    assert ledger.reserve([charge("a")], LIMITS, ASKED) == {"a": KeyState.PENDING}
    assert ledger.balances("hospital")[OCTOBER] == Balance(Epsilon.of("0.1"))


def test_a_reservation_can_be_cancelled_and_made_anew(ledger: Ledger) -> None:
    ledger.reserve([charge("a", "0.6"), charge("b", "0.4")], LIMITS, ASKED)
    assert ledger.cancel(["a", "unknown"], "", ENDED) == 1
    assert ledger.states(["a", "b"]) == {"a": KeyState.NEW, "b": KeyState.RESERVED}
    assert ledger.cancel(["a"], "", ENDED) == 0
    assert ledger.balances("hospital")[OCTOBER] == Balance(held=Epsilon.of("0.4"))
    ledger.reserve([charge("a", "0.5")], LIMITS, ASKED)
    assert ledger.balances("hospital")[OCTOBER] == Balance(held=Epsilon.of("0.9"))
    assert ledger.verify().ok


def test_nobody_cancels_what_somebody_else_has_reserved(ledger: Ledger) -> None:
    ledger.reserve([charge("a", analyst="ann")], LIMITS, ASKED)
    assert ledger.cancel(["a"], "bob", ENDED) == 0
    assert ledger.states(["a"]) == {"a": KeyState.RESERVED}
    assert ledger.cancel(["a"], "ann", ENDED) == 1


def test_the_act_is_kept_with_what_it_reserves_or_not_at_all(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded):
        ledger.reserve([charge("a", "5")], LIMITS, ASKED)
    assert ledger.acts("stand") == ()
    ledger.reserve([charge("a")], LIMITS, ASKED)
    assert len(ledger.acts("stand")) == 1


def test_what_is_charged_cannot_be_cancelled(ledger: Ledger) -> None:
    ledger.reserve([charge("a")], LIMITS, ASKED)
    ledger.charge([charge("a"), charge("b")], LIMITS)
    ledger.record({"b": 1})
    assert ledger.cancel(["a", "b"], "", ENDED) == 0
    assert ledger.spent("hospital") == {OCTOBER: Epsilon.of("0.2")}


def test_nothing_is_recorded_for_a_reservation(ledger: Ledger) -> None:
    ledger.reserve([charge("a")], LIMITS, ASKED)
    with pytest.raises(ValueError, match="never charged"):
        ledger.record({"a": 1})


def test_a_reservation_is_not_charged_at_another_price(ledger: Ledger) -> None:
    ledger.reserve([charge("a", "0.1")], LIMITS, ASKED)
    with pytest.raises(ValueError, match="another price"):
        ledger.charge([charge("a", "0.05")], LIMITS)
    assert ledger.states(["a"]) == {"a": KeyState.RESERVED}


def test_a_reservation_is_paid_by_whom_it_was_made_for_whoever_asks(ledger: Ledger) -> None:
    ledger.reserve([charge("a", analyst="ann")], LIMITS, ASKED)
    ledger.charge([charge("a", analyst="bob")], LIMITS)
    assert ledger.balances("hospital") == {
        account: Balance(Epsilon.of("0.1"))
        for account in (OCTOBER, TOTAL, Account("hospital", "2014-10", "ann"))
    }


# Analysts and totals


def test_an_analysts_own_account_bounds_what_the_block_would_still_give(ledger: Ledger) -> None:
    ann = Account("hospital", "2014-10", "ann")
    limits = LIMITS | {ann: Epsilon.of("0.3")}
    ledger.charge([charge("a", "0.2", analyst="ann")], limits)
    with pytest.raises(BudgetExceeded, match=r"left 0\.1 in 2014-10 of hospital for ann"):
        ledger.charge([charge("b", "0.2", analyst="ann")], limits)
    ledger.charge([charge("b", "0.2", analyst="bob")], limits)
    ledger.charge([charge("c", "0.2", NOVEMBER, analyst="bob")], limits)
    assert ledger.balances("hospital")[ann] == Balance(Epsilon.of("0.2"))
    assert ledger.spent("hospital") == {OCTOBER: Epsilon.of("0.4"), NOVEMBER: Epsilon.of("0.2")}


def test_a_release_of_another_analyst_is_replayed_at_no_cost_to_oneself(ledger: Ledger) -> None:
    ledger.charge([charge("a", analyst="ann")], LIMITS)
    nothing = {Account("hospital", "2014-10", "bob"): ZERO}
    assert ledger.charge([charge("a", analyst="bob")], nothing) == {"a": KeyState.PENDING}
    assert Account("hospital", "2014-10", "bob") not in ledger.balances("hospital")


def test_the_total_bounds_all_blocks_together(ledger: Ledger) -> None:
    limits = LIMITS | {TOTAL: Epsilon.of("1.5")}
    ledger.charge([charge("a", "0.6", OCTOBER, NOVEMBER)], limits)
    with pytest.raises(BudgetExceeded, match=r"left 0\.3 in all of hospital"):
        ledger.charge([charge("b", "0.4")], limits)
    ledger.charge([charge("b", "0.3")], limits)
    assert ledger.balances("hospital")[TOTAL] == Balance(Epsilon.of("1.5"))


def test_limits_that_are_asked_for_may_leave_other_accounts_to_the_blocks(ledger: Ledger) -> None:
    def granted(account: Account) -> Epsilon | None:
        return ONE if account.is_block else None

    ledger.charge([charge("a", "1", OCTOBER, NOVEMBER, analyst="ann")], granted)
    with pytest.raises(BudgetExceeded):
        ledger.charge([charge("b", "0.1", analyst="ann")], granted)


# Permits


def test_a_permit_withdrawn_a_moment_ago_stops_charge_and_reservation(ledger: Ledger) -> None:
    def permit() -> None:
        if ledger.acts("stop"):
            raise NotAllowed("stopped")

    ledger.charge([charge("a")], LIMITS, permit)
    ledger.append("stop", {})
    with pytest.raises(NotAllowed):
        ledger.charge([charge("b")], LIMITS, permit)
    with pytest.raises(NotAllowed):
        ledger.reserve([charge("b")], LIMITS, ASKED, permit)
    assert ledger.states(["b"]) == {"b": KeyState.NEW}


def test_a_permit_is_asked_while_nobody_else_can_write(place: Place) -> None:
    """A rival that wants to stop everything just then has to wait until the charge is made."""
    rivals: list[threading.Thread] = []

    def permit() -> None:
        with place.open() as other:
            assert other.acts("stop") == ()
        rivals.append(threading.Thread(target=stop))
        rivals[0].start()
        rivals[0].join(timeout=0.2)

    def stop() -> None:
        with place.open() as other:
            other.append("stop", {})

    with place.create() as ledger:
        ledger.charge([charge("a")], LIMITS, permit)
        rivals[0].join()
        (written,) = ledger.acts("charge")
        (stopped,) = ledger.acts("stop")
    assert written.seq < stopped.seq


# News


def test_news_are_the_entries_since_one_that_was_read(ledger: Ledger) -> None:
    (opening,) = ledger.news(None)
    assert list(ledger.news(opening)) == []
    ledger.append("grant", {"epsilon": "1"})
    ledger.charge([charge("a")], LIMITS)
    news = list(ledger.news(opening))
    assert [entry.kind for entry in news] == ["grant", "charge"]
    assert list(ledger.news(news[0])) == news[1:]
    assert [entry.kind for entry in ledger.news(None)] == ["ledger", "grant", "charge"]


def test_news_go_on_where_one_of_them_is_read_in_the_middle_of_a_charge(ledger: Ledger) -> None:
    (opening,) = ledger.news(None)
    seen: list[str] = []
    ledger.append("grant", {})
    ledger.charge(
        [charge("a")], LIMITS, lambda: seen.extend(entry.kind for entry in ledger.news(opening))
    )
    assert seen == ["grant"]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM journal WHERE seq >= 3",
        "UPDATE journal SET body = '{}' WHERE seq = 3",
        "UPDATE journal SET digest = 'x' WHERE seq = 3",
    ],
)
def test_news_after_an_entry_that_is_gone_or_changed_are_refused(
    place: Place, statement: str
) -> None:
    with place.create() as ledger:
        ledger.append("grant", {"number": 1})
        ledger.append("grant", {"number": 2})
        read: Entry = list(ledger.news(None))[-1]
        place.edit(statement)
        with pytest.raises(LedgerBroken, match="entry 3 is not what it was"):
            list(ledger.news(read))


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE journal SET body = '{}' WHERE seq = 4", "entry 4 or its digest"),
        ("DELETE FROM journal WHERE seq = 4", "entry 4 is missing"),
    ],
)
def test_news_that_do_not_follow_on_what_was_read_are_refused(
    place: Place, statement: str, sentence: str
) -> None:
    with place.create() as ledger:
        for number in range(4):
            ledger.append("grant", {"number": number})
        read = list(ledger.news(None))[2]
        place.edit(statement)
        with pytest.raises(LedgerBroken, match=sentence):
            list(ledger.news(read))


def test_news_come_in_order_however_many_there_are(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pappi.ledger.journal._BATCH", 3)
    read = next(ledger.news(None))
    for number in range(10):
        ledger.append("grant", {"number": number})
        news = [entry.payload["number"] for entry in ledger.news(read)]
        assert news == list(range(number + 1))


# Opening and sharing


def test_a_ledger_is_never_created_over_another(place: Place) -> None:
    with place.create() as ledger:
        before = ledger.verify()
    with pytest.raises(WorkspaceError, match="cannot create"):
        place.create()
    with place.open() as ledger:
        assert ledger.verify() == before


def test_two_ledgers_are_never_taken_for_each_other(database: Database, tmp_path: Path) -> None:
    moment = datetime(2025, 1, 1, tzinfo=UTC)
    heads = set()
    for _ in range(2):
        with (
            new_place(database, tmp_path) as place,
            place.create(clock=lambda: moment) as ledger,
        ):
            heads.add(ledger.verify().head)
    assert len(heads) == 2


def test_a_missing_ledger_is_an_error_and_not_a_fresh_one(place: Place) -> None:
    for _ in range(2):
        with pytest.raises(LedgerBroken, match="missing"):
            place.open()


def test_a_closed_ledger_grants_nothing(ledger: Ledger) -> None:
    ledger.close()
    with pytest.raises(WorkspaceError, match=r"could not be used|cannot be reached"):
        ledger.charge([charge("a")], LIMITS)


def test_a_connection_carried_through_a_fork_is_refused(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(WorkspaceError, match="another process"):
        ledger.charge([charge("a")], LIMITS)


def test_threads_share_a_ledger_without_overspending(ledger: Ledger) -> None:
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


def test_an_amount_beyond_what_the_database_can_hold_is_not_granted(ledger: Ledger) -> None:
    huge = Charge("a", (OCTOBER,), Epsilon(2**63), {})
    with pytest.raises(WorkspaceError):
        ledger.charge([huge], {OCTOBER: Epsilon(2**64)})
    large = [Charge(key, (OCTOBER,), Epsilon(2**62), {}) for key in "bc"]
    ledger.charge(large[:1], {OCTOBER: Epsilon(2**64)})
    with pytest.raises(WorkspaceError):
        ledger.charge(large[1:], {OCTOBER: Epsilon(2**64)})
    assert ledger.spent("hospital") == {OCTOBER: Epsilon(2**62)}
    assert ledger.verify().ok


# Tampering


@pytest.fixture
def filled(place: Place) -> Place:
    """A closed ledger with declarations, reservations, charges and releases."""
    with place.create() as ledger:
        ledger.append("declare", {"log": "hospital", "unit": "case"})
        for number in range(12):
            ledger.charge([charge(f"{number:064x}", "0.05", OCTOBER, NOVEMBER)], LIMITS)
            if number % 3:
                ledger.record({f"{number:064x}": {"value": number, "cases": 100 + number}})
        ledger.reserve([charge("reserved", analyst="ann")], LIMITS, ASKED)
    return place


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journal SET body = '{}' WHERE seq = 3",
        "DELETE FROM journal WHERE seq = 5",
        "INSERT INTO journal VALUES (99, '', '', '', '')",
        "INSERT INTO journal VALUES (3, '', '', '', '')",
        "INSERT INTO head VALUES (2, 1, '')",
        "UPDATE account SET spent = 1 WHERE spent > 0",
        "UPDATE account SET block = '2014-12'",
        "UPDATE account SET held = -1",
        "DELETE FROM account",
        "DELETE FROM cell",
        "UPDATE cell SET released = NULL",
        "UPDATE cell SET charged = NULL",
        "UPDATE cell SET reserved = NULL",
        "UPDATE head SET seq = 1",
        "DELETE FROM head",
    ],
)
def test_the_guards_refuse_to_change_or_remove_what_is_written(
    filled: Place, statement: str
) -> None:
    with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)):
        filled.execute(statement)
    filled.open().close()


@pytest.mark.parametrize(
    ("statement", "problem", "seq"),
    [
        ("UPDATE journal SET body = '{}' WHERE seq = 3", "entry 3 or its digest", 3),
        ("UPDATE journal SET at = '' WHERE seq = 4", "entry 4 or its digest", 4),
        ("DELETE FROM journal WHERE seq = 5", "entry 5 is missing", 5),
        ("DELETE FROM journal WHERE seq = 1", "entry 1 is missing", 1),
        ("DELETE FROM journal WHERE seq > 20", "ends at entry 20", 21),
        ("DELETE FROM journal", "empty", 1),
        ("DELETE FROM head", "head record", 25),
        ("UPDATE head SET seq = 21", "head record", 25),
        ("UPDATE account SET spent = spent - 1 WHERE spent > 0", "what is spent", None),
        ("UPDATE account SET held = 0", "what is spent", None),
        ("DELETE FROM account", "what is spent", None),
        ("DELETE FROM cell WHERE charged = 3", "keys", None),
        ("DELETE FROM cell WHERE charged IS NULL", "keys", None),
        ("UPDATE cell SET released = NULL", "keys", None),
        ("UPDATE cell SET released = 1 WHERE released IS NULL", "keys", None),
        ("CREATE TABLE extra (x TEXT)", "guards", None),
        ("ALTER TABLE cell ADD COLUMN extra TEXT", "guards", None),
        ("DROP INDEX journal_by_kind", "guards", None),
        ("CREATE INDEX extra ON journal (at)", "guards", None),
    ],
)
def test_an_edit_behind_the_ledgers_back_is_found(
    filled: Place, statement: str, problem: str, seq: int | None
) -> None:
    with filled.open() as ledger:
        filled.edit(statement)
        found = ledger.verify()
    assert (found.ok, problem in found.problem, found.seq) == (False, True, seq), found
    with pytest.raises(LedgerBroken, match=problem):
        filled.open()


def test_verifying_an_open_ledger_says_what_is_wrong_and_where(filled: Place) -> None:
    with filled.open() as ledger:
        sound = ledger.verify()
        filled.edit("UPDATE journal SET kind = 'grant' WHERE seq = 2")
        found = ledger.verify()
    assert (sound.ok, sound.entries, len(sound.head)) == (True, 24, 64)
    assert (found.ok, found.entries, found.seq) == (False, 1, 2)


def test_an_open_ledger_does_not_write_on_from_a_cut_journal(filled: Place) -> None:
    with filled.open() as ledger:
        filled.edit("DELETE FROM journal WHERE seq > 20")
        with pytest.raises(LedgerBroken, match="ends at entry 20"):
            ledger.append("grant", {})
