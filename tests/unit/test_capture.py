"""Capture: checked, on the disk before it is acknowledged, once per event, whole batches only."""

from __future__ import annotations

import math
import multiprocessing
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.custody import MOST_EVENTS, event_of
from pappi.custody.capture import capture
from pappi.errors import Conflict, InputError, PappiError, WorkspaceError
from pappi.store import Captured, CapturedEvent, LogDeclaration, open_inbox
from pappi.store.inbox import opened
from pappi.values import PrivacyUnit
from tests.captured_logs import FIRST, Fed, event, us

pytestmark = pytest.mark.outside

GOOD: dict[str, Any] = {
    "id": "e1",
    "case": "c1",
    "activity": "Pay",
    "time": "2024-03-01T12:00:00+01:00",
    "attributes": {"amount": 2.5, "channel": "web", "urgent": True},
}


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    return Fed(tmp_path)


def stored(fed: Fed) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(fed.files.inbox)) as connection:
        found = connection.execute("SELECT id, case_id, ts_us, attributes FROM event ORDER BY seq")
        return found.fetchall()


# --- what an event is -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2024-03-01T12:00:00+01:00", 1709290800000000),
        ("2024-03-01 11:00:00.1234567Z", 1709290800123456),
        ("1969-12-31t23:59:59.5z", -500000),
    ],
)
def test_times_are_read_exactly(written: str, expected: int) -> None:
    assert event_of({**GOOD, "time": written}).time_us == expected


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": None}, "'id'"),
        ({"id": ""}, "'id'"),
        ({"id": 7}, "'id'"),
        ({"case": "x" * 1001}, "'case'"),
        ({"case": "\ud800"}, "'case'"),
        ({"case": "a\0b"}, "'case'"),
        ({"activity": ["Pay"]}, "'activity'"),
        ({"time": "2024-03-01T12:00:00"}, "'time'"),
        ({"time": "2024-02-30T12:00:00Z"}, "'time'"),
        ({"time": "2024-03-01T12:00:60Z"}, "'time'"),
        ({"time": "2024-03-01T12:00:00+25:00"}, "'time'"),
        ({"time": "1799-12-31T12:00:00Z"}, "'time'"),
        ({"time": "9999-12-31T23:59:59-23:59"}, "'time'"),
        ({"time": 1709290800}, "'time'"),
        ({"attributes": []}, "'attributes'"),
        ({"other": 1}, "an unknown field"),
    ],
)
def test_what_is_no_event_is_named_by_place_and_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match=f"event 3 .*{field}"):
        event_of({**GOOD, **change}, 3)


@pytest.mark.parametrize(
    ("attributes", "field"),
    [
        ({"amount": "secret"}, "amount"),
        ({"amount": True}, "amount"),
        ({"amount": math.inf}, "amount"),
        ({"amount": 2**63}, "amount"),
        ({"channel": 4711}, "channel"),
        ({"channel": "s" * 10_001}, "channel"),
        ({"urgent": 1}, "urgent"),
        ({"due": "4711"}, "due"),
        ({"waited": 1e12}, "waited"),
        ({"secret": 1}, "undeclared"),
        ({4711: 1}, "undeclared"),
    ],
)
def test_attributes_are_declared_ones_of_their_kind(
    fed: Fed, attributes: dict[str, Any], field: str
) -> None:
    sent = event_of({**GOOD, "attributes": attributes})
    with pytest.raises(InputError, match=f"event 2 .*{field}") as raised:
        fed.capture(event("e0", "c", us(FIRST)), sent)
    assert "secret" not in raised.value.message + raised.value.hint
    assert "4711" not in raised.value.message + raised.value.hint
    assert not fed.files.inbox.exists()


def test_an_attribute_that_is_nearly_declared_is_suggested(fed: Fed) -> None:
    with pytest.raises(InputError) as raised:
        fed.capture(event_of({**GOOD, "attributes": {"amuont": 1}}))
    assert raised.value.hint == "did you mean 'amount'?"


def test_values_are_stored_as_an_import_stores_them(fed: Fed) -> None:
    attributes = {"due": "1970-01-01T00:00:01Z", "waited": 1.5, "amount": 3.0, "channel": None}
    fed.capture(event_of({**GOOD, "attributes": attributes}))
    ((*_, found),) = stored(fed)
    assert found == '{"due": 1000000, "waited": 1500000, "amount": 3}'


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*GOOD, "x"]), JUNK) | JUNK)
def test_whatever_is_sent_is_an_event_or_an_input_error(found: Any) -> None:  # noqa: ANN401
    try:
        event_of({**GOOD, **found} if isinstance(found, dict) else found)
    except InputError as error:
        assert error.message.startswith("event 1 ")  # noqa: PT017


# --- once, and all or nothing ---------------------------------------------------------


def test_the_same_event_again_is_a_duplicate(fed: Fed) -> None:
    first, second = event("1", "a", us(FIRST), amount=2), event("2", "a", us(FIRST))
    assert fed.capture(first) == Captured(1, 0)
    again = event("1", "a", us(FIRST), amount=2.0, channel=None)
    assert fed.capture(again, second, second) == Captured(1, 2)
    assert len(stored(fed)) == 2


@pytest.mark.parametrize(
    "other",
    [
        event("1", "b", us(FIRST), amount=2),
        event("1", "a", us(FIRST) + 1, amount=2),
        event("1", "a", us(FIRST), "Receive", amount=2),
        event("1", "a", us(FIRST), amount=3),
        event("1", "a", us(FIRST)),
    ],
)
def test_an_id_with_other_content_refuses_the_whole_batch(fed: Fed, other: CapturedEvent) -> None:
    fed.capture(event("1", "a", us(FIRST), amount=2))
    before = stored(fed)
    with pytest.raises(Conflict, match="event 2 has the id of an earlier event"):
        fed.capture(event("2", "a", us(FIRST)), other)
    assert stored(fed) == before


def test_ids_of_different_logs_have_nothing_to_do_with_each_other(fed: Fed) -> None:
    fed.capture(event("1", "a", us(FIRST)))
    with open_inbox(fed.files.inbox, "another") as inbox:
        assert inbox.add([event("1", "b", us(FIRST))], None).accepted == 1


def test_a_batch_has_an_end(fed: Fed) -> None:
    with pytest.raises(InputError, match="at most 10,000 events, not 10,001"):
        fed.capture(*[event("1", "a", us(FIRST))] * (MOST_EVENTS + 1))
    assert fed.capture() == Captured(0, 0)


def test_a_case_is_of_one_person(tmp_path: Path) -> None:
    fed = Fed(tmp_path, unit=PrivacyUnit("customer", 2))
    fed.capture(event("1", "a", us(FIRST), customer="k1"), event("2", "a", us(FIRST)))
    with pytest.raises(InputError, match="event 2 gives its case a second person"):
        fed.capture(event("3", "b", us(FIRST)), event("4", "a", us(FIRST), customer="k2"))
    assert len(stored(fed)) == 2


def test_a_person_is_a_whole_number_or_a_text(tmp_path: Path) -> None:
    """Beyond 53 bits, numbers with fractions among them would make two persons one."""
    fed = Fed(tmp_path, unit=PrivacyUnit("amount", 2))
    assert fed.capture(event("1", "a", us(FIRST), amount=2**62)).accepted == 1
    with pytest.raises(InputError, match="a person that is not a whole number"):
        fed.capture(event("2", "b", us(FIRST), amount=0.5))


# --- at once --------------------------------------------------------------------------


def send(path: Path, log: LogDeclaration, worker: int) -> int:
    """Ten batches, of which every event is also sent by another worker."""
    accepted = 0
    for batch in range(10):
        ids = [f"{batch}-{(worker + step) % 4}-{n}" for step in (0, 1) for n in range(20)]
        accepted += capture(path, log, [event(i, i[-1], us(FIRST)) for i in ids]).accepted
    return accepted


def test_threads_capture_at_once(fed: Fed) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda worker: send(fed.files.inbox, fed.log, worker), range(4))
        assert sum(found) == len(stored(fed)) == 800


def test_processes_capture_at_once_from_the_first_event_on(fed: Fed) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        sent = [(fed.files.inbox, fed.log, worker) for worker in (0, 1, 2)]
        assert sum(pool.starmap(send, sent)) == len(stored(fed)) == 800


# --- faults of the file ---------------------------------------------------------------


def test_a_commit_reaches_the_disk_before_it_returns(fed: Fed) -> None:
    fed.capture(event("1", "a", us(FIRST)))
    with opened(fed.files.inbox) as connection:
        settings = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "secure_delete", "temp_store")
        }
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 2,
        "secure_delete": 1,
        "temp_store": 2,
    }


def test_a_folder_that_is_not_there_is_explained(fed: Fed) -> None:
    with pytest.raises(WorkspaceError, match=r"inbox capture.sqlite could not be used: .*opened"):
        capture(fed.files.root / "none" / "capture.sqlite", fed.log, [event("1", "a", 0)])


def test_a_damaged_file_is_explained(fed: Fed) -> None:
    fed.files.inbox.write_bytes(b"not a database, but long enough to look like one" * 100)
    with pytest.raises(WorkspaceError, match="the file is damaged"):
        fed.capture(event("1", "a", us(FIRST)))


def test_a_full_disk_is_explained_and_nothing_is_taken_in(
    fed: Fed, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed.capture(event("1", "a", us(FIRST)))
    with opened(fed.files.inbox) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    full = f"PRAGMA max_page_count = {pages}"
    monkeypatch.setattr("pappi.store.inbox._SETTINGS", (full,))
    many = [event(f"n{n}", "a", us(FIRST), channel="x" * 1000) for n in range(100)]
    with pytest.raises(WorkspaceError, match="the disk is full") as raised:
        fed.capture(*many)
    assert "fix this and try again" in raised.value.hint
    assert len(stored(fed)) == 1
    monkeypatch.undo()
    assert fed.capture(*many).accepted == 100


def test_a_locked_file_is_explained(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    fed.capture(event("1", "a", us(FIRST)))
    monkeypatch.setattr("pappi.store.inbox._BUSY_SECONDS", 0)
    with closing(sqlite3.connect(fed.files.inbox, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(WorkspaceError, match="another process has it locked"):
            fed.capture(event("2", "a", us(FIRST)))


def test_a_file_that_cannot_be_written_is_explained(
    fed: Fed, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed.capture(event("1", "a", us(FIRST)))
    monkeypatch.setattr("pappi.store.inbox._SETTINGS", ("PRAGMA query_only = ON",))
    with pytest.raises(WorkspaceError, match="the file cannot be written"):
        fed.capture(event("2", "a", us(FIRST)))


@given(st.text(max_size=5), st.text(max_size=5), st.integers(), st.dictionaries(
    st.sampled_from(["amount", "channel", "x"]), st.none() | st.integers() | st.text(max_size=3)
))  # fmt: skip
def test_whatever_the_library_is_given_only_our_errors_come_out(
    tmp_path_factory: pytest.TempPathFactory,
    id_: str,
    case: str,
    time_us: int,
    attributes: dict[str, Any],
) -> None:
    fed = Fed(tmp_path_factory.getbasetemp() / "capture-given")
    try:
        fed.capture(CapturedEvent(id_, case, "Pay", time_us, attributes))
    except PappiError as error:
        assert error.code in ("input", "conflict")  # noqa: PT017
