"""Sealing: what is sealed is as if it had been imported, and stays as it is."""

from __future__ import annotations

import errno
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import date
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pappi.custody.capture import seal
from pappi.errors import UsageError, WorkspaceError
from pappi.store import (
    CapturedEvent,
    Versioned,
    create_events,
    event_logs,
    exclusive,
    open_readonly,
    stored_logs,
)
from pappi.store.event_file import Part, PartsList
from pappi.values import Calendar, CaseBorder, Grid, Kind, Period, PrivacyUnit
from tests.captured_logs import FIRST, Fed, event, us
from tests.lengths import length

pytestmark = pytest.mark.outside

JANUARY, FEBRUARY, MARCH, APRIL, MAY = (date(2024, month, 1) for month in range(1, 6))
MONTHS = (JANUARY, FEBRUARY, MARCH, APRIL, MAY)


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    return Fed(tmp_path).create()


def positions(fed: Fed) -> list[tuple[int, str, str]]:
    with closing(open_readonly(fed.files.events, fed.log.table)) as connection:
        query = f"SELECT pos, case_id, activity FROM {fed.log.table} ORDER BY pos"  # noqa: S608
        return connection.execute(query).fetchall()


def parts(fed: Fed) -> dict[str, tuple[int, ...]]:
    """The files of the log's parts, and what each was when it was written."""
    found = ((path, path.stat()) for path in fed.files.events.glob("*.duckdb"))
    return {path.name: (of.st_ino, of.st_mtime_ns, of.st_size) for path, of in found}


def test_a_case_is_sealed_with_all_its_events_in_canonical_order(fed: Fed) -> None:
    fed.capture(event("1", "b", us(JANUARY, 9), "third"), event("2", "a", us(JANUARY, 2), "x"))
    fed.capture(event("3", "b", us(JANUARY, 1), "first"), event("4", "b", us(JANUARY, 9), "last"))
    sealed = fed.seal(FEBRUARY)
    assert (sealed.cases, sealed.events, sealed.late) == (2, 4, 0)
    fed.capture(event("5", "c", us(FEBRUARY), "next"))
    fed.seal(MARCH)
    order = [
        (1, "b", "first"),
        (2, "b", "third"),
        (3, "b", "last"),
        (4, "a", "x"),
        (5, "c", "next"),
    ]
    assert positions(fed) == order


def test_a_case_that_goes_on_waits_for_the_block_of_its_end(fed: Fed) -> None:
    fed.capture(event("1", "a", us(JANUARY)), event("2", "a", us(FEBRUARY)))
    assert fed.seal(FEBRUARY).cases == 0
    assert fed.seal(MARCH).events == 2


def test_of_a_case_that_started_late_events_are_kept_apart(tmp_path: Path) -> None:
    fed = Fed(tmp_path, anchor=CaseBorder.START).create()
    fed.capture(event("1", "a", us(JANUARY)), event("2", "a", us(MARCH)))
    assert fed.seal(FEBRUARY).events == 2
    fed.capture(event("3", "a", us(APRIL)), event("4", "b", us(JANUARY)))
    sealed = fed.seal(MAY)
    assert (sealed.cases, sealed.late) == (0, 2)
    assert fed.capture(event("3", "a", us(APRIL))).duplicates == 1


def test_a_block_may_be_sealed_without_cases(fed: Fed) -> None:
    assert fed.seal(FEBRUARY).cases == 0
    assert fed.seal(MAY).cases == 0
    assert fed.log.public.until == MAY
    assert fed.rows() == {}


def test_without_a_day_everything_is_sealed_that_has_passed(fed: Fed) -> None:
    assert fed.seal(today=date(2024, 3, 17)).until == MARCH


@pytest.mark.parametrize(
    ("until", "today", "sentence"),
    [
        (date(2024, 2, 2), MAY, "not the first day of a block"),
        (JANUARY, MAY, "already sealed until 2024-01-01"),
        (date(2023, 1, 1), MAY, "already sealed until 2024-01-01"),
        (MARCH, FEBRUARY, "not over yet"),
    ],
)
def test_only_whole_blocks_of_the_past_are_sealed(
    fed: Fed, until: date, today: date, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        fed.seal(until, today)
    assert fed.log.public.until == FIRST


def test_a_block_of_which_an_import_answers_a_part_is_sealed(tmp_path: Path) -> None:
    fed = Fed(tmp_path).start_with([event("", "a", us(JANUARY))], until=date(2024, 2, 10))
    fed.capture(event("1", "b", us(FEBRUARY, 24 * 20)), event("2", "c", us(MARCH)))
    sealed = fed.seal(APRIL)
    assert (sealed.cases, sealed.late) == (1, 1)


def test_days_begin_in_the_log_s_zone(tmp_path: Path) -> None:
    fed = Fed(tmp_path, timezone="America/New_York").create()
    fed.capture(event("1", "a", us(FEBRUARY, 4.9)), event("2", "b", us(FEBRUARY, 5)))
    assert fed.seal(FEBRUARY).cases == 1


def test_cases_of_an_import_that_its_horizon_leaves_open_go_on(tmp_path: Path) -> None:
    begun = [
        event("", "a", us(JANUARY), amount=1.5),
        event("", "b", us(JANUARY), amount=float("nan")),
        event("", "b", us(FEBRUARY), amount=7),
    ]
    fed = Fed(tmp_path).start_with(begun, until=FEBRUARY)
    before = fed.rows()
    fed.capture(event("1", "b", us(MARCH), amount=9))
    assert fed.seal(MARCH).cases == 0
    assert fed.rows() == {"a": before["a"]}
    assert fed.seal(APRIL).events == 3
    assert positions(fed)[-1][0] == 4


def test_numbers_of_an_import_stay_whole_unless_a_fraction_comes(tmp_path: Path) -> None:
    fed = Fed(tmp_path, attributes={"n": Kind.NUMBER})
    fed.create()
    fed.capture(event("1", "a", us(JANUARY), n=2**60 + 1))
    fed.seal(FEBRUARY)
    with closing(open_readonly(fed.files.events, fed.log.table)) as connection:
        assert connection.execute(f"SELECT n FROM {fed.log.table}").fetchall() == [(2**60 + 1,)]  # noqa: S608
    fed.capture(event("2", "b", us(FEBRUARY), n=2**60 + 1), event("3", "b", us(FEBRUARY), n=0.5))
    fed.seal(MARCH)
    with closing(open_readonly(fed.files.events, fed.log.table)) as connection:
        found = connection.execute(f"SELECT n FROM {fed.log.table} ORDER BY pos")  # noqa: S608
        assert found.fetchall() == [(2.0**60,), (2.0**60,), (0.5,)]


def test_a_case_that_an_import_and_capture_give_to_two_persons_is_sealed_for_neither(
    tmp_path: Path,
) -> None:
    begun = [event("", "a", us(FEBRUARY), customer="k1"), event("", "b", us(FEBRUARY))]
    fed = Fed(tmp_path, unit=PrivacyUnit("customer", 1)).start_with(begun, until=FEBRUARY)
    fed.capture(event("1", "a", us(FEBRUARY), customer="k2"))
    sealed = fed.seal(MARCH)
    assert (sealed.cases, sealed.late) == (1, 2)
    assert fed.rows().keys() == {"b"}


def test_a_full_disk_leaves_the_log_as_it_was(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    fed.capture(event("1", "a", us(JANUARY)))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(WorkspaceError, match="No space left"):
        fed.seal(FEBRUARY)
    assert (fed.rows(), fed.log.public.until) == ({}, FIRST)
    monkeypatch.undo()
    assert fed.seal(FEBRUARY).cases == 1


def test_a_ledger_that_refuses_leaves_the_log_as_it_was(fed: Fed) -> None:
    fed.capture(event("1", "a", us(JANUARY)))

    def refuse(_: object) -> None:
        raise WorkspaceError("the ledger cannot be written")

    with pytest.raises(WorkspaceError, match="ledger"):
        seal(fed.files, lambda: fed.log, FEBRUARY, MAY, refuse)
    assert fed.rows() == {}
    assert fed.seal(FEBRUARY).cases == 1


def test_an_events_file_of_another_ledger_is_refused(fed: Fed) -> None:
    fed.keep(replace(fed.log, table="events_1_v7"))
    with pytest.raises(WorkspaceError, match="have no events_1_v7"):
        fed.seal(FEBRUARY)


def test_new_activities_do_not_change_what_is_declared(fed: Fed) -> None:
    fed.capture(event("1", "a", us(JANUARY), "never seen"))
    vocabulary = fed.log.public.vocabulary
    fed.seal(FEBRUARY)
    assert fed.log.public.vocabulary is vocabulary


def test_an_older_declaration_goes_on_reading_what_it_read(fed: Fed) -> None:
    fed.capture(event("1", "a", us(JANUARY)))
    fed.seal(FEBRUARY)
    older, before = fed.log, fed.rows()
    fed.capture(event("2", "b", us(FEBRUARY)))
    fed.seal(MARCH)
    newer = fed.log
    fed.keep(older)
    assert fed.rows() == before
    fed.keep(newer)
    assert fed.rows().keys() == {"a", "b"}


def test_a_log_sealed_daily_does_not_grow_parts_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_logs, "UNITED", 3)
    fed = Fed(tmp_path, blocks=Grid(Calendar.DAY), attributes={}).create()
    days = [date.fromordinal(FIRST.toordinal() + number) for number in range(31)]
    most = 0
    for number, (day, following) in enumerate(pairwise(days)):
        fed.capture(event(str(number), f"c{number}", us(day)))
        fed.seal(following)
        most = max(most, len(open_parts(fed)))
    assert [part.seals for part in open_parts(fed)] == [0, 27, 3]
    assert most == 1 + 2 + 2 + 2  # of one seal, of three, of nine
    assert len(parts(fed)) <= 3 + 4  # and those of the versions that are kept
    assert [case for _, case, _ in positions(fed)] == [f"c{n}" for n in range(len(days) - 1)]
    assert [pos for pos, *_ in positions(fed)] == list(range(1, len(days)))


def open_parts(fed: Fed) -> tuple[Part, ...]:
    version = Versioned.of(fed.log.table)
    return PartsList.read(fed.files.events, version.base).of(version)


def test_a_seal_writes_what_is_new_and_reads_nothing_that_is_old(
    fed: Fed, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed.capture(event("1", "a", us(JANUARY)))
    fed.seal(FEBRUARY)
    before = parts(fed)
    fed.capture(event("2", "b", us(FEBRUARY)), event("3", "a", us(FEBRUARY)))

    def opened(*_: object) -> None:
        raise AssertionError

    with monkeypatch.context() as patched:
        patched.setattr("pappi.store.event_file.open_readonly", opened)
        assert fed.seal(MARCH).late == 1
    assert before.items() < parts(fed).items()
    assert len(parts(fed)) == len(before) + 1
    assert [case for _, case, _ in positions(fed)] == ["a", "b"]


def test_an_inbox_that_was_lost_learns_again_which_cases_the_log_has(tmp_path: Path) -> None:
    fed = Fed(tmp_path).start_with([event("", "i", us(JANUARY))], until=FEBRUARY)
    fed.capture(event("1", "a", us(FEBRUARY)))
    fed.seal(MARCH)
    older = tmp_path / "older.sqlite"
    shutil.copyfile(fed.files.inbox, older)
    fed.capture(event("2", "b", us(MARCH)))
    fed.seal(APRIL)
    for lost in (fed.files.inbox.unlink, lambda: older.replace(fed.files.inbox)):
        kept = fed.files.inbox.read_bytes()
        lost()
        fed.capture(*(event(f"again {case}", case, us(APRIL)) for case in "iab"))
        twin = fed.copied(tmp_path / f"twin {len(kept)}")
        assert (twin.seal(MAY).cases, sorted(twin.rows())) == (0, ["a", "b", "i"])
        fed.files.inbox.write_bytes(kept)


def test_other_logs_of_the_workspace_stay(fed: Fed) -> None:
    for name in ("events_10", "events_1x", "events_11"):
        create_events(fed.files.events, name, {})
    before = parts(fed)
    fed.seal(FEBRUARY)
    assert before.items() <= parts(fed).items()
    assert {"events_10", "events_1x", "events_11"} <= {*stored_logs(fed.files.events)}


def test_a_log_without_a_table_for_itself_is_refused(fed: Fed) -> None:
    with pytest.raises(WorkspaceError, match="already"):
        create_events(fed.files.events, fed.log.table, {})
    with pytest.raises(WorkspaceError, match="told apart"):
        create_events(fed.files.events, "events_2", {"Cost": Kind.NUMBER, "cost": Kind.NUMBER})


def test_one_change_at_a_time(fed: Fed) -> None:
    with exclusive(fed.files.root / "import"), pytest.raises(WorkspaceError, match="another"):
        fed.seal(FEBRUARY)


def test_the_declaration_is_read_when_nobody_else_changes_the_log(fed: Fed) -> None:
    """Two that seal at once: the later one goes on from what the earlier one declared."""
    fed.capture(event("1", "a", us(JANUARY)))
    stale = fed.log
    fed.seal(FEBRUARY)
    assert fed.log != stale
    with pytest.raises(UsageError, match="already"):
        fed.seal(FEBRUARY)
    assert fed.rows().keys() == {"a"}


# --- while others capture and read ----------------------------------------------------


def test_what_is_captured_during_seals_is_neither_lost_nor_doubled(fed: Fed) -> None:
    """Every event ends in the log, open, or late; each once."""
    halt = Event()
    sent = []

    def feed() -> None:
        for number in count():
            times = (us(month, number % 24) for month in MONTHS)  # however long it goes on
            batch = [event(f"{number}-{i}", f"c{number}-{i}", t) for i, t in enumerate(times)]
            sent.extend(batch)
            assert fed.capture(*batch).accepted == len(batch)
            if halt.is_set():
                return

    with ThreadPoolExecutor(1) as pool:
        feeding = pool.submit(feed)
        sealed = [fed.seal(day) for day in MONTHS[1:]]
        halt.set()
        feeding.result()
    last = fed.seal(date(2024, 12, 1))
    assert sum(each.events for each in (*sealed, last)) + last.late == len(sent)
    assert len(positions(fed)) == len(sent) - last.late
    assert fed.capture(*sent[:5_000]).accepted == 0


def test_whoever_reads_during_a_seal_reads_one_version_whole(fed: Fed) -> None:
    halt = Event()

    def read() -> set[tuple[str, ...]]:
        seen = set()
        while not halt.is_set():
            seen.add(tuple(sorted(fed.rows())))
        return seen

    with ThreadPoolExecutor(2) as pool:
        reading = [pool.submit(read) for _ in range(2)]
        for number, (day, following) in enumerate(pairwise(MONTHS)):
            fed.capture(
                event(str(number), f"c{number}", us(day)),
                event(f"x{number}", f"d{number}", us(day)),
            )
            fed.seal(following)
        halt.set()
        seen = set().union(*(each.result() for each in reading))
    cases = [name for number in range(len(MONTHS)) for name in (f"c{number}", f"d{number}")]
    assert seen <= {tuple(sorted(cases[: 2 * n])) for n in range(len(MONTHS))}


# --- as if it had been imported -------------------------------------------------------

TIMES = st.builds(
    us,
    st.sampled_from(MONTHS[:-1]),
    st.sampled_from([0, 0, 5, 700]),
)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        TIMES,
        st.sampled_from(["Pay", "Receive", "?"]),
        st.none() | st.integers(-3, 3) | st.sampled_from([0.5, 1e300]),
        st.none() | st.sampled_from(["web", "phone"]),
    ),
    max_size=14,
)


def made(drawn: list[tuple[str, int, str, float | None, str | None]]) -> list[CapturedEvent]:
    return [
        event(f"e{n}", case, time, activity, amount=amount, channel=channel)
        for n, (case, time, activity, amount, channel) in enumerate(drawn)
    ]


def anchor_us(events: list[CapturedEvent], case: str, anchor: CaseBorder) -> int | None:
    times = [e.time_us for e in events if e.case == case and e.time_us is not None]
    return (max if anchor is CaseBorder.END else min)(times) if times else None


@settings(max_examples=length(4, 100))
@given(
    EVENTS,
    st.sampled_from(CaseBorder),
    st.lists(st.sampled_from(MONTHS[1:]), unique=True, min_size=1).map(sorted),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3)),
)
def test_a_log_sealed_in_parts_is_the_log_imported_at_once(
    drawn: list[tuple[str, int, str, float | None, str | None]],
    anchor: CaseBorder,
    seals: list[date],
    arrives: dict[str, int],
) -> None:
    """Each case comes whole, before some seal that is not later than that of its anchor."""
    events = made(drawn)
    waves: list[list[CapturedEvent]] = [[] for _ in range(len(seals) + 1)]
    for each in events:
        at = anchor_us(events, each.case, anchor) or 0
        latest = next((i for i, day in enumerate(seals) if at < us(day)), len(seals))
        waves[min(arrives.get(each.case, 0), latest)].append(each)
    with TemporaryDirectory() as folder:
        fed = Fed(Path(folder) / "fed", anchor=anchor).create()
        for day, wave in zip(seals, waves, strict=False):
            fed.capture(*wave)
            assert fed.seal(day).late == 0
        whole = [e for wave in waves[:-1] for e in wave]
        twin = Fed(Path(folder) / "twin", anchor=anchor).start_with(whole, seals[-1])
        sealed = Period(FIRST, seals[-1])
        assert fed.rows() == fed.rows(sealed) == twin.rows(sealed)


@settings(max_examples=length(4, 100))
@given(EVENTS, EVENTS, st.sampled_from(CaseBorder))
def test_a_log_imported_in_the_middle_goes_on_as_if_imported_later(
    before: list[tuple[str, int, str, float | None, str | None]],
    after: list[tuple[str, int, str, float | None, str | None]],
    anchor: CaseBorder,
) -> None:
    imported = made(before)
    over = {e.case for e in imported if (anchor_us(imported, e.case, anchor) or 0) < us(FEBRUARY)}
    captured = [e for e in made(after) if e.case not in over and (e.time_us or 0) >= us(FEBRUARY)]
    with TemporaryDirectory() as folder:
        fed = Fed(Path(folder) / "fed", anchor=anchor).start_with(imported, FEBRUARY)
        fed.capture(*captured)
        assert fed.seal(MARCH).late == 0
        assert fed.seal(MAY).late == 0
        twin = Fed(Path(folder) / "twin", anchor=anchor).start_with([*imported, *captured], MAY)
        assert fed.rows() == fed.rows(Period(FIRST, MAY)) == twin.rows(Period(FIRST, MAY))


@settings(max_examples=length(4, 100))
@given(st.lists(EVENTS, min_size=4, max_size=4), st.sampled_from(CaseBorder), st.booleans())
def test_what_comes_late_never_changes_a_sealed_block(
    waves: list[list[tuple[str, int, str, float | None, str | None]]],
    anchor: CaseBorder,
    persons: bool,  # noqa: FBT001
) -> None:
    """Whatever comes when, also cases that come back; the blocks' tables of kept cases too."""
    unit = PrivacyUnit("customer", 1) if persons else PrivacyUnit()
    numbers = count()
    with TemporaryDirectory() as folder:
        fed = Fed(Path(folder), anchor=anchor, unit=unit).create()
        seen: dict[Period, list[str]] = {}
        for wave, (start, end) in zip(waves, pairwise(MONTHS), strict=True):
            fed.capture(
                *(
                    event(f"e{n}", case, time, kind, amount=amount, customer=f"k{ord(case) % 2}")
                    for n, (case, time, kind, amount, _) in zip(numbers, wave, strict=False)
                )
            )
            fed.seal(end)
            seen[Period(start, end)] = block_table(fed, Period(start, end))
            assert {block: block_table(fed, block) for block in seen} == seen


def test_a_seal_that_takes_late_events_in_would_be_caught(
    fed: Fed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pappi.custody.capture._Seal._late", lambda *_: set())
    fed.capture(event("1", "a", us(JANUARY)))
    fed.seal(FEBRUARY)
    january = Period(JANUARY, FEBRUARY)
    before = block_table(fed, january)
    fed.capture(event("2", "a", us(JANUARY, 1)))
    fed.seal(MARCH)
    assert block_table(fed, january) != before


def block_table(fed: Fed, block: Period) -> list[str]:
    """The cases of a block that count, with all that is known of them, in the log's order."""
    kept = fed.cases().truncated(fed.log.terms.unit, fed.log.horizon, fed.log.terms.zone)
    table = kept.split([block], fed.log.terms.zone)[block]
    assert table.who is not None
    columns = [table.who.case_ids, table.anchor_us, *table.columns.values()]
    return [repr(row) for row in zip(*columns, strict=True)]
