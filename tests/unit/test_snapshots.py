"""Opening from a snapshot: as little as came since is read, and nothing wrong gets through.

What opening no longer looks at is found when it is used, or by verifying in full. For each of
these there is a twin without the check, which lets it through.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pappi.custody import NewLog
from pappi.errors import LedgerBroken, LedgerUnavailable
from pappi.ledger import (
    Account,
    Balance,
    Entry,
    Journal,
    KeyState,
    Ledger,
    journal,
    open_ledger,
    unverified_ledger,
)
from pappi.ledger import (
    ledger as ledger_module,
)
from pappi.session import Workspace, create, open_at
from pappi.store import LedgerSession, Registry, WorkspaceFiles, create_workspace, open_workspace
from pappi.store.registry import Frost
from pappi.values import JSON, Epsilon, Role, Terms, Vocabulary
from tests.ledgers import (
    NOVEMBER,
    OCTOBER,
    Database,
    InSqlite,
    Place,
    charge,
    new_place,
    server,
)
from tests.unit.test_ledger_sqlite import everything_in
from tests.unit.test_subscriptions import asked

pytestmark = pytest.mark.outside

KEY = b"k" * 32
LIMITS = dict.fromkeys((OCTOBER, NOVEMBER), Epsilon.of(1_000))
STOOD: tuple[str, dict[str, JSON]] = ("stand", {})
ENDED: tuple[str, dict[str, JSON]] = ("end", {})


def fill(ledger: Ledger, first: int, count: int) -> None:
    for number in range(first, first + count):
        ledger.charge([charge(f"{number:064x}", "0.05", OCTOBER, NOVEMBER)], LIMITS)
        if number % 3:
            ledger.record({f"{number:064x}": {"value": number, "cases": 100 + number}})


@pytest.fixture
def kept(place: Place) -> Place:
    """A closed ledger with a snapshot at entry 22, and entries since."""
    with place.create() as ledger:
        ledger.append("declare", {"log": "hospital", "unit": "case"})
        fill(ledger, 0, 10)
        ledger.reserve([charge(key, analyst="ann") for key in "abc"], LIMITS, STOOD)
    with place.open(key=KEY) as ledger:
        ledger.keep_snapshot({"kept": "here"})
        fill(ledger, 10, 3)
        ledger.charge([charge("a", analyst="ann")], LIMITS)
        ledger.cancel(["b"], "ann", ENDED)
    return place


def results_of(ledger: Ledger) -> Mapping[str, JSON]:
    return ledger.results([f"{number:064x}" for number in range(13)])


# How much is read


class Hashed:
    """Counts the entries whose digest is computed: work, not time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real = journal._digest

        def counted(seq: int, at: str, kind: str, body: str, previous: str) -> str:
            self.count += 1
            return real(seq, at, kind, body, previous)

        monkeypatch.setattr(journal, "_digest", counted)

    def during(self, act: Callable[[], object]) -> int:
        before = self.count
        act()
        return self.count - before


def with_acts(files: WorkspaceFiles, count: int) -> None:
    """Many entries, quickly: an act that changes nothing, over and over."""
    with closing(open_ledger(files.ledger)) as ledger, ledger._journal.writing():
        ledger._journal.append_all("resume", ({"by": "owner"} for _ in range(count)))


def test_opening_reads_what_came_since_the_snapshot_and_not_all_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = create_workspace(tmp_path / "w")
    with_acts(files, 5_000)
    hashed = Hashed(monkeypatch)
    news = 40

    def look() -> None:
        with closing(LedgerSession(files)) as ledger_session, ledger_session.ledger() as ledger:
            ledger_session.registry(ledger)

    assert hashed.during(look) > 5_000  # there is no snapshot yet
    assert hashed.during(look) < 20
    with_acts(files, news)
    assert hashed.during(look) < 3 * news + 20

    # The planted twin: an opening that reads everything is seen in the same count.
    monkeypatch.setattr(ledger_module, "read_snapshot", lambda _file, _key: None)
    assert hashed.during(look) > 5_000


def test_a_ledger_that_was_let_go_is_opened_again_without_reading_it_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = create_workspace(tmp_path / "w")
    with_acts(files, 3_000)
    with closing(LedgerSession(files)) as ledger_session:
        with ledger_session.ledger() as ledger:
            ledger_session.registry(ledger)
        hashed = Hashed(monkeypatch)

        def fail_and_go_on() -> None:
            with pytest.raises(LedgerUnavailable), ledger_session.ledger():
                raise LedgerUnavailable("the disk failed to read or write")
            with ledger_session.ledger() as ledger:
                ledger_session.registry(ledger)

        assert hashed.during(fail_and_go_on) < 20


def test_a_process_that_never_opens_anew_keeps_snapshots_as_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "snapshot_every", 10)
    workspace = create(tmp_path / "w")
    seen = []
    for _ in range(12):
        workspace.custody.stop("a pause")
        workspace.custody.resume()
        seen += InSqlite(tmp_path / "w" / "ledger.sqlite").execute("SELECT seq FROM snapshot")
    kept = sorted({seq for (seq,) in seen})
    assert len(kept) >= 2
    assert all(later - earlier >= 10 for earlier, later in pairwise(kept))
    workspace.close()
    assert open_at(tmp_path / "w").verify().ok


def test_verifying_keeps_few_cells_in_memory(tmp_path: Path) -> None:
    """Chapters end, and their cells with them; what is held to the end is all that stays."""
    with new_place("sqlite", tmp_path) as place, place.create() as ledger:
        ledger.reserve([charge("held")], LIMITS, STOOD)
        for start in range(0, 3_000, 500):
            keys = [f"{number:064x}" for number in range(start, start + 500)]
            ledger.charge([charge(key) for key in keys], LIMITS)
            ledger.record(dict.fromkeys(keys, 1))
        most = 0
        ended = ledger_module._BatchCells.end

        def watched(self: ledger_module._BatchCells, tally: Any) -> None:  # noqa: ANN401
            nonlocal most
            most = max(most, len(tally.cells))
            ended(self, tally)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ledger_module._BatchCells, "end", watched)
            assert ledger.verify().ok
    assert 0 < most <= 1_001


# The same as without


def test_what_was_reserved_before_a_snapshot_is_charged_and_given_up_after_it(kept: Place) -> None:
    with kept.open(key=KEY) as ledger:
        assert ledger.brought_forward is not None
        assert ledger.brought_forward[1] == {"kept": "here"}
        assert ledger.states("abc") == {
            "a": KeyState.PENDING,
            "b": KeyState.NEW,
            "c": KeyState.RESERVED,
        }
        assert ledger.balances("hospital")[Account("hospital", "2014-10", "ann")] == Balance(
            spent=Epsilon.of("0.1"), held=Epsilon.of("0.1")
        )
        assert ledger.verify().ok


def test_an_older_snapshot_does_not_take_the_place_of_a_newer_one(kept: Place) -> None:
    with kept.open(key=KEY) as early, kept.open(key=KEY) as late:
        fill(late, 20, 1)
        with kept.open(key=KEY) as latest:
            latest.keep_snapshot({"kept": "later"})
        early.keep_snapshot({"kept": "too late"})
    with kept.open(key=KEY) as ledger:
        assert ledger.brought_forward is not None
        assert ledger.brought_forward[1] == {"kept": "later"}


def test_a_snapshot_of_another_version_is_not_read(
    kept: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pappi.ledger.snapshots.VERSION", 2)
    with kept.open(key=KEY) as ledger:
        assert ledger.brought_forward is None


def test_who_may_only_read_opens_without_keeping_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "snapshot_every", 1)
    with server().database() as place:
        create(tmp_path / "w", ledger=place.url).close()
        for statement in (
            "CREATE ROLE looker LOGIN",
            "GRANT USAGE ON SCHEMA pappi TO looker",
            "GRANT SELECT ON ALL TABLES IN SCHEMA pappi TO looker",
        ):
            place.execute(statement)
        url = place.url.replace("postgres:@", "looker:@")
        (tmp_path / "w" / "ledger.url").write_text(url, encoding="utf-8")
        try:
            looking = open_at(tmp_path / "w")
            assert looking.logs() == looking.logs() == ()
            looking.close()
            assert place.execute("SELECT * FROM snapshot") == []
        finally:
            place.execute("DROP OWNED BY looker")
            place.execute("DROP ROLE looker")


# Edits


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE snapshot SET body = replace(body, '0', '1'), seq = seq + 1",
        "UPDATE snapshot SET signature = 'x' || substr(signature, 2)",
        "UPDATE snapshot SET seq = seq + 1",
    ],
)
def test_an_edited_snapshot_is_refused(kept: Place, statement: str) -> None:
    kept.edit(statement)
    with pytest.raises(LedgerBroken, match="snapshot"):
        kept.open(key=KEY)


def test_a_snapshot_signed_with_another_key_is_refused(kept: Place) -> None:
    with pytest.raises(LedgerBroken, match="not signed with this workspace's key"):
        kept.open(key=b"x" * 32)


def test_without_its_snapshot_a_ledger_is_verified_in_full(kept: Place) -> None:
    kept.edit("DELETE FROM snapshot")
    with kept.open(key=KEY) as ledger:
        assert ledger.brought_forward is None


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM snapshot",
        "UPDATE snapshot SET seq = seq",
        "INSERT INTO snapshot VALUES (2, 1, '', '')",
    ],
)
def test_the_guards_keep_a_snapshot_as_it_is(kept: Place, statement: str) -> None:
    with pytest.raises(Exception, match=r"moves on|constraint|CHECK"):
        kept.execute(statement)
    kept.open(key=KEY).close()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE journal SET body = '{}' WHERE seq = 20", "entry 20"),
        ("UPDATE journal SET digest = 'x' WHERE seq = 20", "entry 20"),
        ("DELETE FROM journal WHERE seq = 20", "entry 20"),
        ("UPDATE journal SET body = '{}' WHERE seq = 22", "entry 22"),
        ("DELETE FROM journal WHERE seq > 22", "head record"),
        ("DELETE FROM head", "head record"),
        ("UPDATE account SET spent = spent - 1 WHERE spent > 0", "what is spent"),
        ("DELETE FROM account WHERE held > 0", "what is spent"),
        ("DELETE FROM cell WHERE charged > 20", "keys"),
        ("UPDATE cell SET released = NULL WHERE released > 20", "keys"),
        ("DROP INDEX journal_by_kind", "guards"),
        ("CREATE TABLE extra (x TEXT)", "guards"),
    ],
)
def test_opening_from_a_snapshot_finds_what_can_change_a_decision(
    kept: Place, statement: str, problem: str
) -> None:
    kept.edit(statement)
    with pytest.raises(LedgerBroken, match=problem):
        kept.open(key=KEY)


OLD_DAMAGE = (
    "UPDATE journal SET body = replace(body, '101', '999') WHERE seq = 5",
    "UPDATE journal SET at = '' WHERE seq = 5",
    "UPDATE journal SET digest = 'x' WHERE seq = 4",
    "DELETE FROM journal WHERE seq = 5",
    "UPDATE cell SET released = 7 WHERE released = 5",
    "UPDATE cell SET released = 4 WHERE released = 5",
)


@pytest.mark.parametrize("statement", OLD_DAMAGE)
def test_damage_from_before_the_snapshot_is_found_when_it_is_read_and_in_full(
    kept: Place, statement: str
) -> None:
    kept.edit(statement)
    with kept.open(key=KEY) as ledger:
        with pytest.raises(LedgerBroken):
            results_of(ledger)
        assert not ledger.verify().ok
    with pytest.raises(LedgerBroken):
        kept.open()


def unchecked(self: Journal, row: tuple[object, ...]) -> Entry:
    return self._entry(row[:-1])


def test_the_twin_that_reads_entries_unchecked_answers_with_other_content(
    kept: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kept.open(key=KEY) as ledger:
        before = results_of(ledger)
    kept.edit(OLD_DAMAGE[0])
    monkeypatch.setattr(Journal, "_checked", unchecked)
    with kept.open(key=KEY) as ledger:
        assert results_of(ledger) != before


LOST = "UPDATE cell SET released = NULL WHERE released = 5"


def test_nothing_is_drawn_again_for_a_cell_that_has_lost_its_release(kept: Place) -> None:
    kept.edit(LOST)
    again = charge(f"{1:064x}", "0.05", OCTOBER, NOVEMBER)
    with kept.open(key=KEY) as ledger, pytest.raises(LedgerBroken, match="is released"):
        ledger.charge([again], LIMITS)


def test_the_twin_that_believes_the_cell_would_draw_again(
    kept: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.edit(LOST)
    again = charge(f"{1:064x}", "0.05", OCTOBER, NOVEMBER)
    monkeypatch.setattr(Ledger, "_refuse_lost_releases", lambda _self, _pending: None)
    with kept.open(key=KEY) as ledger:
        assert ledger.charge([again], LIMITS) == {again.key: KeyState.PENDING}


def test_a_cell_that_has_disappeared_is_found_in_full_alone(kept: Place) -> None:
    """As it is written down: until then it would be charged again, within the limits."""
    kept.edit("DELETE FROM cell WHERE released = 5")
    with kept.open(key=KEY) as ledger:
        assert (
            ledger.verify().problem == "the charged and released keys are not those of the journal"
        )


def test_cells_that_no_entry_made_are_found_in_full(kept: Place) -> None:
    kept.edit("INSERT INTO cell (key, charged) VALUES ('made up', 3)")
    with kept.open(key=KEY) as ledger:
        assert not ledger.verify().ok


def flips_that_change_something(path: Path, bits: Iterable[tuple[int, int]]) -> Iterator[Path]:
    content, stored = path.read_bytes(), everything_in(path)
    damaged = path.with_name("damaged.sqlite")
    for position, bit in bits:
        flipped = bytearray(content)
        flipped[position] ^= 1 << bit
        damaged.write_bytes(flipped)
        if everything_in(damaged) != stored:
            yield damaged


def outcome(path: Path, expected: Mapping[str, JSON]) -> str:
    """What becomes of a damaged file: refused when opened, when read, or in full; or not."""
    try:
        ledger = open_ledger(path, key=KEY)
    except LedgerBroken:
        return "opening"
    with closing(ledger):
        try:
            found = results_of(ledger)
        except LedgerBroken:
            return "reading"
        except (KeyError, ValueError):
            return "nonsense"
        lost = set(expected) - set(found)
        if any(found[key] != expected[key] for key in found):
            return "other content"
        return "in full" if not ledger.verify().ok else ("lost" if lost else "unnoticed")


def test_a_flipped_byte_never_gives_other_content_and_is_always_found_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.sqlite"
    with InSqlite(path).create() as ledger:
        fill(ledger, 0, 12)
    with open_ledger(path, key=KEY) as ledger:
        ledger.keep_snapshot({})
        fill(ledger, 12, 1)
        expected = results_of(ledger)
    spread = [(place, place % 8) for place in range(0, path.stat().st_size, 67)]
    found = [outcome(damaged, expected) for damaged in flips_that_change_something(path, spread)]
    assert set(found) == {"opening", "reading", "in full"}
    assert len(found) > 100

    values = [(match.end(), 0) for match in re.finditer(rb'"value":', path.read_bytes())]
    found = [outcome(damaged, expected) for damaged in flips_that_change_something(path, values)]
    assert found
    assert set(found) <= {"opening", "reading"}
    monkeypatch.setattr(Journal, "_checked", unchecked)
    twin = [outcome(damaged, expected) for damaged in flips_that_change_something(path, values)]
    assert "other content" in twin


# The register in it


def test_a_register_comes_back_from_a_snapshot_as_it_was(tmp_path: Path) -> None:
    workspace = create(tmp_path / "w")
    custody = workspace.custody
    new = NewLog(first=date(2025, 1, 1), terms=Terms(block_budget=Epsilon.of("0.5")))
    for name in ("shop", "web"):
        custody.create_log(name, new, Vocabulary(("Visit",)))
    for analyst in ("alice", "bob"):
        custody.grant_analyst("shop", analyst, Epsilon.of("0.2"))
    custody.withdraw("shop", "bob")
    issued = custody.issue_key(Role.ANALYST, "alice", expires=datetime(2030, 1, 1, tzinfo=UTC))
    custody.issue_key(Role.OWNER, "boss")
    custody.revoke_key(issued.record.id)
    alice = workspace.checkpoint("alice")
    for until in (date(2025, 5, 1), date(2025, 6, 1)):
        question = alice.subscribe(asked(), until, "0.1")
    alice.unsubscribe(question.id)
    alice.subscribe(replace(asked(), total=Epsilon.of("0.05")), date(2025, 4, 1))
    alice.save(asked())
    custody.erase("shop", cases=["nobody"])
    custody.stop("a pause")
    with workspace._ledger_session.ledger() as ledger:
        register = workspace._ledger_session.registry(ledger)
    charges = {Account("shop", "2025-01"): (7, 9)}
    register = replace(
        register, frozen={"shop": Frost(date(2025, 2, 1), whole=False)}, charges=charges
    )
    assert register.last is not None
    written = register.to_json()
    assert Registry.from_json(written, register.last) == register
    # No field is empty, so that one which is forgotten does not come back as it was.
    assert all(getattr(register, field.name) for field in fields(Registry))
    assert all(written.values())


def test_an_office_that_starts_from_a_snapshot_knows_what_one_knows_that_read_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "snapshot_every", 4)
    workspace = create(tmp_path / "w")
    new = NewLog(first=date(2025, 1, 1), terms=Terms(block_budget=Epsilon.of("0.5")))
    workspace.custody.create_log("shop", new, Vocabulary(("Visit",)))
    for number in range(10):
        workspace.custody.grant_analyst("shop", f"analyst{number}", Epsilon.of("0.2"))
    workspace.close()
    files = open_workspace(tmp_path / "w")
    with closing(LedgerSession(files)) as ledger_session, ledger_session.ledger() as ledger:
        assert ledger.brought_forward is not None
        found = ledger_session.registry(ledger)
    with closing(unverified_ledger(files.ledger)) as ledger:
        assert found == Registry().advanced(ledger.news(None))


@pytest.mark.parametrize("unknown", ["sets", "charges", "erased"])
def test_a_snapshot_of_an_older_version_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unknown: str
) -> None:
    """It has not all that is known of a journal today; then everything is read, once."""
    workspace = create(tmp_path / "w")
    new = NewLog(first=date(2025, 1, 1), terms=Terms(block_budget=Epsilon.of("0.5")))
    with monkeypatch.context() as earlier:
        earlier.setattr(Ledger, "snapshot_every", 1)
        written = Registry.to_json
        earlier.setattr(
            Registry,
            "to_json",
            lambda register: {k: v for k, v in written(register).items() if k != unknown},
        )
        workspace.custody.create_log("shop", new, Vocabulary(("Visit",)))
        workspace.custody.erase("shop", cases=["nobody"])
        workspace.close()
    files = open_workspace(tmp_path / "w")
    with closing(LedgerSession(files)) as ledger_session, ledger_session.ledger() as ledger:
        assert ledger.brought_forward is not None
        assert not Registry.is_kept_in(ledger.brought_forward[1])
        assert ledger_session.registry(ledger).erased.keys() == {"shop"}
    with closing(LedgerSession(files)) as ledger_session, ledger_session.ledger() as ledger:
        assert ledger.brought_forward is not None
        assert Registry.is_kept_in(ledger.brought_forward[1])


# Verifying in full


@contextmanager
def workspace_on(database: Database, folder: Path) -> Iterator[Workspace]:
    if database == "sqlite":
        yield create(folder / "w")
    else:
        with server().database() as place:
            yield create(folder / "w", ledger=place.url)


def test_nobody_waits_while_the_whole_ledger_is_verified(
    database: Database, tmp_path: Path
) -> None:
    halfway, go_on = threading.Event(), threading.Event()

    def wait(_seq: int) -> None:
        halfway.set()
        assert go_on.wait(120)

    with workspace_on(database, tmp_path) as workspace:
        found = []
        verifying = threading.Thread(target=lambda: found.append(workspace.verify(wait)))
        verifying.start()
        assert halfway.wait(120)
        assert workspace.logs() == ()
        workspace.custody.stop("others write meanwhile")  # would wait for ever
        sharing = threading.Thread(target=lambda: found.append(workspace.verify()))
        sharing.start()
        assert verifying.is_alive()
        go_on.set()
        verifying.join(30)
        sharing.join(30)
        workspace.close()
    assert [(each.ok, each.entries) for each in found] in ([(True, 1)] * 2, [(True, 1), (True, 2)])


def test_a_ledger_found_broken_in_full_decides_nothing_until_it_is_sound_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "snapshot_every", 4)
    workspace = create(tmp_path / "w")
    for _ in range(8):
        workspace.custody.stop("a pause")
    workspace.close()
    place = InSqlite(tmp_path / "w" / "ledger.sqlite")
    place.edit("UPDATE journal SET at = at || ' ' WHERE seq = 3")
    assert workspace.custody.stopped() == "a pause"  # opening does not look there
    assert not workspace.verify().ok
    with pytest.raises(LedgerBroken, match="entry 3"):
        workspace.custody.stopped()
    place.edit("UPDATE journal SET at = rtrim(at) WHERE seq = 3")
    with pytest.raises(LedgerBroken, match="entry 3"):
        workspace.custody.stopped()
    assert workspace.verify().ok
    assert workspace.custody.stopped() == "a pause"


def test_two_sessions_of_one_ledger_agree_after_a_snapshot_of_either(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "snapshot_every", 3)
    with workspace_on(database, tmp_path) as one:
        other = open_at(one.root)
        for number in range(8):
            (one, other)[number % 2].custody.stop(f"pause {number}")
        assert one.custody.stopped() == other.custody.stopped() == "pause 7"
        assert one.verify() == other.verify()
        one.close()
        other.close()
