"""After an erasure the cases are found in no byte of any file of the workspace."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import date
from pathlib import Path

import duckdb
import pytest

from pappi.custody import capture
from pappi.store import CapturedEvent, Inbox, Versioned
from pappi.store.event_file import Successor
from pappi.values import PrivacyUnit
from tests.captured_logs import Fed, event, us

JANUARY, FEBRUARY, MARCH, APRIL = (date(2024, month, 1) for month in range(1, 5))
# Times and numbers that nothing else in a file looks like.
SEALED_US, LATE_US, OPEN_US = us(JANUARY) + 123457, us(JANUARY) + 7654321, us(MARCH) + 9876543
AMOUNT = 31415926.53589793
PART = "events_1-2.duckdb"


def canary(number: int, case: str, time_us: int) -> CapturedEvent:
    return event(
        *(f"ev-canary-{number}", case, time_us, "Pay"),
        channel=f"val-canary-{number}",
        customer="who-canary",
        amount=AMOUNT,
    )


CANARIES: dict[str, bytes] = {
    **{f"event id {n}": f"ev-canary-{n}".encode() for n in range(4)},
    **{f"value {n}": f"val-canary-{n}".encode() for n in range(4)},
    "sealed case": b"case-canary",
    "open case": b"open-canary",
    "person": b"who-canary",
    **{
        f"{name} time as {way}": written
        for name, time in (("sealed", SEALED_US), ("late", LATE_US), ("open", OPEN_US))
        for way, written in (
            ("text", str(time).encode()),
            ("little-endian", struct.pack("<q", time)),
            ("big-endian", struct.pack(">q", time)),
        )
    },
    "amount as text": str(AMOUNT).encode(),
    "amount little-endian": struct.pack("<d", AMOUNT),
    "amount big-endian": struct.pack(">d", AMOUNT),
}


def found(root: Path) -> dict[str, set[str]]:
    """Which canaries each file holds, the logs of changes and leftovers included."""
    files = [Path(folder) / name for folder, _, names in os.walk(root) for name in names]
    held = {
        path.name: {name for name, written in CANARIES.items() if written in path.read_bytes()}
        for path in files
    }
    return {name: canaries for name, canaries in held.items() if canaries}


def with_canaries(folder: Path, unit: PrivacyUnit | None = None) -> Fed:
    """Canaries sealed, late and still open, among many other cases."""
    fed = Fed(folder, unit=unit or PrivacyUnit()).create()
    others = [
        event(f"e{n}", f"c{n // 3}", us(JANUARY, n / 10), channel=f"v{n}", customer=f"k{n // 9}")
        for n in range(3000)
    ]
    fed.capture(*others, canary(0, "case-canary", SEALED_US), canary(1, "case-canary", SEALED_US))
    fed.seal(FEBRUARY)
    fed.capture(canary(2, "case-canary", LATE_US), canary(3, "open-canary", OPEN_US))
    fed.seal(MARCH)
    return fed


def test_the_canaries_are_seen_where_they_are(tmp_path: Path) -> None:
    """Else their absence would prove nothing."""
    seen = found(with_canaries(tmp_path).files.root)
    assert {"sealed case", "value 0", "value 1", "person"} <= seen[PART]
    assert {"event id 0", "sealed case", "event id 2", "value 2"} <= seen["capture.sqlite"]
    assert {"open case", "value 3", "amount as text"} <= seen["capture.sqlite"]
    assert {"late time as big-endian", "open time as big-endian"} <= seen["capture.sqlite"]
    assert any("little-endian" in name for name in seen[PART])


def test_what_is_sealed_is_no_longer_in_the_inbox(tmp_path: Path) -> None:
    seen = found(with_canaries(tmp_path).files.root)
    assert not {"value 0", "value 1"} & seen["capture.sqlite"]
    assert not any(name.startswith("sealed time") for name in seen["capture.sqlite"])


ERASURES: list[Callable[[Fed], object]] = [
    lambda fed: fed.erase(cases=["case-canary", "open-canary"]),
    lambda fed: (fed.erase(blocks=["2024-01"]), fed.erase(cases=["open-canary"])),
]


@pytest.mark.parametrize("erase", ERASURES)
def test_erased_cases_are_found_nowhere(tmp_path: Path, erase: Callable[[Fed], object]) -> None:
    fed = with_canaries(tmp_path)
    erase(fed)
    assert found(fed.files.root) == {}


def test_erased_persons_are_found_nowhere(tmp_path: Path) -> None:
    fed = with_canaries(tmp_path, PrivacyUnit("customer", 2))
    fed.erase(persons=["who-canary"])
    assert found(fed.files.root) == {}


def test_what_crashes_left_behind_is_gone_too(tmp_path: Path) -> None:
    """A staging folder and the spill of processes that were killed, and an undeclared part."""
    fed = with_canaries(tmp_path)
    left = fed.files.root / ".events.staging-left"
    left.mkdir()
    (left / "spool.duckdb").write_bytes((fed.files.events / PART).read_bytes())
    (fed.files.events / "events_1-99.duckdb").write_bytes((fed.files.events / PART).read_bytes())
    spilled = fed.files.root / "events.tmp"
    spilled.mkdir(exist_ok=True)
    (spilled / "duckdb_temp_storage_DEFAULT-0.tmp").write_bytes(b"case-canary")
    before = fed.log
    fed.seal(APRIL)
    fed.keep(before)
    fed.erase(cases=["case-canary", "open-canary"])
    assert found(fed.files.root) == {}


def test_erasing_cases_that_go_on_from_an_import_finds_all_versions(tmp_path: Path) -> None:
    begun = [canary(0, "case-canary", OPEN_US), event("", "a", us(JANUARY))]
    fed = Fed(tmp_path).start_with(begun, until=FEBRUARY)
    fed.seal(MARCH)
    assert "open time as big-endian" in found(fed.files.root)["capture.sqlite"]
    fed.erase(cases=["case-canary"])
    assert found(fed.files.root) == {}


def test_only_the_parts_that_had_an_erased_case_are_written_anew(tmp_path: Path) -> None:
    fed = with_canaries(tmp_path)
    before = {path.name: path.stat() for path in fed.files.events.glob("*.duckdb")}
    fed.erase(cases=["case-canary", "open-canary"])
    after = {path.name: path.stat() for path in fed.files.events.glob("*.duckdb")}
    assert before.keys() - after.keys() == {PART}
    same = before.keys() & after.keys()
    assert same
    for name in same:
        assert (before[name].st_ino, before[name].st_mtime_ns) == (
            after[name].st_ino,
            after[name].st_mtime_ns,
        )


def test_an_old_part_that_stays_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Successor, "sweep", lambda _: None)
    fed = with_canaries(tmp_path)
    fed.erase(cases=["case-canary", "open-canary"])
    assert "case-canary" not in fed.rows()
    assert "sealed case" in found(fed.files.root)[PART]


def test_deleting_rows_of_the_events_without_rewriting_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_delete(events: Path, _: Versioned, cases: Iterable[str]) -> None:
        for part in events.glob("*.duckdb"):
            with closing(duckdb.connect(str(part))) as connection:
                query = "DELETE FROM events WHERE case_id IN (SELECT unnest(?))"
                connection.execute(query, [list(cases)])

    monkeypatch.setattr(capture, "erase_cases", only_delete)
    fed = with_canaries(tmp_path)
    fed.erase(cases=["case-canary", "open-canary"])
    assert "case-canary" not in fed.rows()
    assert "sealed case" in found(fed.files.root)[PART]


def test_deleting_rows_of_the_inbox_without_rewriting_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_delete(inbox: Inbox, cases: Iterable[str], _late: Iterable[str]) -> None:
        inbox._connection.execute("PRAGMA secure_delete = OFF")
        for case in cases:
            inbox._connection.execute("DELETE FROM event WHERE case_id = ?", [case])

    monkeypatch.setattr(Inbox, "remove", only_delete)
    fed = with_canaries(tmp_path)
    fed.erase(cases=["case-canary", "open-canary"])
    assert "value 2" in found(fed.files.root)["capture.sqlite"]
