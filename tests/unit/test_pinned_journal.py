"""What is stored and hashed stays as it is, to the byte: entries, results, declarations.

`tests/golden/journal_entries.py` tells a story in which every kind of entry comes up. Under which
keys questions are charged is pinned in `test_pinned_questions.py`, tables and files in
`test_migration.py`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from pappi.ledger import (
    FORMAT,
    Account,
    Balance,
    Charge,
    Entry,
    EntryKind,
    Flaw,
    Mark,
    MarkFile,
    cancelled_in,
    canonical_json,
    charge_of,
    reserved_in,
    standing,
    verified,
)
from pappi.ledger.journal import (
    ACTS,
    LEDGERS_OWN,
    cancel_payload,
    charge_payload,
    format_of,
    release_payload,
    reserve_payload,
    result_of,
)
from pappi.ledger.snapshots import read_snapshot
from pappi.ledger.sqlite import SqliteJournal
from pappi.store import (
    LogDeclaration,
    Registry,
    SavedQuery,
    Subscription,
    key_payload,
    saved_query_payload,
    subscription_payload,
)
from pappi.store.registry import Frost
from pappi.values import ZERO, Epsilon, Grant, KeyRecord, Right, Role
from tests.golden.differences import differences
from tests.golden.journal_entries import (
    ACCEPT,
    ASKED,
    DECLARED,
    SIGNING_KEY,
    STANDS,
    Story,
    catalogue,
    pinned,
    registers,
    snapshot_of,
    told,
    written,
)

PINNED = pinned()
ENTRIES = tuple(Entry(**each) for each in PINNED["entries"])
SAME_BUT = "the texts say the same, but they or their digests differ"
NOON = datetime(2024, 6, 15, 12, tzinfo=UTC)


@contextmanager
def classes_renamed() -> Iterator[None]:
    """As if every class of the package were called something else."""
    classes = {
        found
        for name, module in tuple(sys.modules.items())
        if name.partition(".")[0] == "pappi"
        for found in vars(module).values()
        if isinstance(found, type) and found.__module__.partition(".")[0] == "pappi"
    }
    names = {each: (each.__name__, each.__qualname__) for each in classes}
    assert LogDeclaration in names
    try:
        for number, each in enumerate(names):
            each.__name__ = each.__qualname__ = f"Renamed{number}"
        yield
    finally:
        for each, (name, qualified) in names.items():
            each.__name__, each.__qualname__ = name, qualified


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Told while no class has its name, so that none can get into what is stored."""
    with classes_renamed():
        return told(tmp_path_factory.mktemp("story"))


def changes(found: dict[str, Any]) -> list[str]:
    """Where a story differs from the pinned one, to the byte; told by what the texts say.

    Digests are not told one by one: each depends on all entries before it.
    """
    if found == PINNED:
        return []
    return list(differences(_readable(PINNED), _readable(found))) or [SAME_BUT]


def _readable(record: dict[str, Any]) -> dict[str, Any]:
    entries = {
        f"{each['seq']} {each['kind']}": {"at": each["at"], "body": json.loads(each["body"])}
        for each in record["entries"]
    }
    registers = {name: json.loads(text) for name, text in record["registers"].items()}
    declaration = json.loads(record["declaration"])
    return {**record, "entries": entries, "registers": registers, "declaration": declaration}


def of_kind(kind: str) -> list[Entry]:
    return [entry for entry in ENTRIES if entry.kind == kind]


def acts(kind: str) -> Iterator[dict[str, Any]]:
    """What is on record of acts, without who did it."""
    for entry in of_kind(kind):
        yield {name: value for name, value in entry.payload.items() if name != "by"}


def unpinned(kinds: Iterable[str]) -> set[str]:
    return set(kinds) - {entry.kind for entry in ENTRIES}


def test_the_same_acts_are_written_with_the_same_bytes(story: Story) -> None:
    """Whatever our classes are called."""
    found = changes(written(story))
    hint = f"ledgers hold this: it needs a new format and a migration. Else: {ACCEPT}"
    assert not found, "\n".join([*found[:40], hint])


def test_every_kind_of_entry_is_pinned() -> None:
    assert unpinned(LEDGERS_OWN | ACTS) == set()
    assert unpinned(ACTS | {"planted"}) == {"planted"}


@pytest.mark.parametrize(
    "name", ["amount", "per_block", "definitions", "result", "cells", "frozen"]
)
def test_a_renamed_member_is_told(story: Story, name: str) -> None:
    found = written(story)
    planted = next(each for each in found["entries"] if f'"{name}":' in each["body"])
    planted["body"] = planted["body"].replace(f'"{name}":', '"renamed":')
    told_of = changes(found)
    assert any(line.startswith("gone:") and line.endswith(f"/ {name}") for line in told_of)


def test_bytes_that_say_the_same_in_another_way_are_told(story: Story) -> None:
    found = written(story)
    found["entries"][0]["body"] = found["entries"][0]["body"].replace(":", ": ")
    assert changes(found) == [SAME_BUT]


def test_a_class_whose_name_is_stored_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a declaration that names its own class."""
    as_ever = LogDeclaration.to_json

    def to_json(log: LogDeclaration) -> dict[str, Any]:
        return {**as_ever(log), "data": type(log).__name__}

    monkeypatch.setattr(LogDeclaration, "to_json", to_json)
    with classes_renamed():
        found = {**PINNED, "declaration": canonical_json(DECLARED.to_json())}
    (line,) = changes(found)
    assert line.startswith('changed: declaration / data: "events_1", now "Renamed')


def test_a_chain_that_is_hashed_in_another_way_is_told(story: Story) -> None:
    found = written(story)
    found["entries"][-1]["digest"] = "0" * 64
    assert changes(found) == [SAME_BUT]


def test_the_pinned_journal_verifies_and_adds_up() -> None:
    assert tuple(verified(ENTRIES)) == ENTRIES
    found = standing(ENTRIES)
    assert found.last == ENTRIES[-1]
    assert found.balances[Account("small", "2024-03", "ann")] == Balance(Epsilon.of("0.625"))
    assert found.balances[Account("small", "2024-01")] == Balance(Epsilon.of("2.5"))
    assert found.balances[Account("small", "2024-05")] == Balance(ZERO, ZERO)
    assert len(found.cells) == len(of_kind(EntryKind.CHARGE)) == len(of_kind(EntryKind.RELEASE))
    first = ENTRIES[0]
    broken = Entry(first.seq, first.at, first.kind, first.body.replace("3", "4"), first.digest)
    with pytest.raises(Flaw, match="has been changed"):
        tuple(verified([broken]))


def test_what_the_ledger_has_written_is_read_back() -> None:
    for entry in of_kind(EntryKind.CHARGE):
        assert canonical_json(charge_payload(charge_of(entry))) == entry.body
    for entry in of_kind(EntryKind.RESERVE):
        reserved = reserved_in(entry.payload)
        assert canonical_json(reserve_payload(list(reserved.values()))) == entry.body
    for entry in of_kind(EntryKind.CANCEL):
        cells = {key: seq for key, seq in cancelled_in(entry.payload).items() if seq is not None}
        assert canonical_json(cancel_payload(cells)) == entry.body
    for entry in of_kind(EntryKind.RELEASE):
        result = release_payload(entry.payload["key"], result_of(entry))
        assert canonical_json(result) == entry.body
    for entry in (*of_kind(EntryKind.OPENING), *of_kind(EntryKind.REFORMAT)):
        assert format_of(entry) == FORMAT


def test_a_reservation_is_the_charge_it_becomes() -> None:
    (entry,) = of_kind(EntryKind.RESERVE)
    march, *later = reserved_in(entry.payload).values()
    assert march == Charge(
        march.key,
        (Account("small", "2024-03"),),
        Epsilon.of("0.125"),
        march.query,
        "ann",
    )
    assert march in [charge_of(each) for each in of_kind(EntryKind.CHARGE)]
    (cancelled,) = of_kind(EntryKind.CANCEL)
    assert cancelled_in(cancelled.payload) == {charge.key: entry.seq for charge in later}


def test_what_holds_is_read_back() -> None:
    found = registers(ENTRIES)
    now, end = found["stopped"], found["at the end"]
    assert now.grants == {("small", "ann"): Grant("small", "ann", Epsilon.of("2.5"))}
    assert now.stopped == "the press is here: “ε”"
    (stands,), (kept,) = now.subscriptions.values(), now.saved_queries.values()
    assert stands == Subscription(
        id=stands.id,
        analyst="ann",
        log="small",
        definitions=STANDS,
        epsilon=Epsilon.of("0.125"),
        first=date(2024, 3, 1),
        until=date(2024, 7, 1),
        granted=True,
    )
    names = ("sojourn", "paid")
    assert kept == SavedQuery(kept.id, "ann", "small", kept.definitions, names, 2)
    assert catalogue(kept.definitions) == catalogue(ASKED)
    ann, boss = now.keys.values()
    assert ann == KeyRecord(
        id=ann.id,
        role=Role.ANALYST,
        name="ann",
        rights=frozenset({Right.PREVIEW, Right.RELEASE}),
        created=NOON,
        expires=datetime(2099, 1, 1, tzinfo=UTC),
        revoked=True,
    )
    assert boss.role is Role.OWNER
    assert (end.grants, end.subscriptions, end.saved_queries, end.stopped) == ({}, {}, {}, None)
    assert end.frozen == {"small": Frost(date(2024, 6, 15), whole=True)}
    assert set(now.logs["small"].public.vocabulary.attributes) == {"channel", "damage"}
    assert set(end.logs["small"].public.vocabulary.attributes) == {"channel"}


def test_what_holds_is_written_as_it_was_read() -> None:
    now = registers(ENTRIES)["stopped"]
    assert list(acts(EntryKind.STAND)) == [
        subscription_payload(each) for each in now.subscriptions.values()
    ]
    assert list(acts(EntryKind.KEEP)) == [
        saved_query_payload(each) for each in now.saved_queries.values()
    ]
    assert list(acts(EntryKind.KEY)) == [
        key_payload(each, now.digests[each.id]) for each in now.keys.values()
    ]
    declared = list(acts(EntryKind.DECLARE))
    assert declared == [LogDeclaration.from_json(each).to_json() for each in declared]
    assert [each["per_block"] for each in acts(EntryKind.GRANT)] == [2_500_000_000]


def test_a_snapshot_of_what_holds_is_read_back() -> None:
    for name, register in registers(ENTRIES).items():
        assert register.last is not None
        assert Registry.from_json(json.loads(PINNED["registers"][name]), register.last) == register


def test_a_signed_snapshot_is_read_back(tmp_path: Path) -> None:
    body, signature = PINNED["snapshot"]
    with closing(SqliteJournal.create(tmp_path / "ledger.sqlite", lambda: NOON)) as journal:
        with journal.writing():
            journal.run(
                "INSERT INTO snapshot (id, seq, body, signature) VALUES (1, ?, ?, ?)",
                *(len(ENTRIES), body, signature),
            )
        assert read_snapshot(journal, SIGNING_KEY) == snapshot_of(ENTRIES)
        with pytest.raises(Flaw, match="was not signed"):
            read_snapshot(journal, b"another key")


def test_a_mark_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "ledger.mark"
    path.write_bytes(PINNED["mark"].encode("ascii"))
    assert MarkFile(path).read() == Mark(ENTRIES[-1].seq, ENTRIES[-1].digest)


def test_a_full_declaration_is_read_back() -> None:
    assert LogDeclaration.from_json(json.loads(PINNED["declaration"])) == DECLARED


def test_what_is_on_record_is_replayed(story: Story) -> None:
    assert list(story.replayed) == PINNED["replayed"]
    assert all(each["replayed"] and each["charged"] == 0 for each in story.replayed)
