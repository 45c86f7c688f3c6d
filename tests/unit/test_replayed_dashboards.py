"""Dashboards that are on record: no event is read, and whatever changed since holds at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from threading import Event

import pytest

import pappi
from pappi.checkpoint import Released, queries
from pappi.errors import PappiError, UnknownLog
from pappi.ledger import Charge, Entry, charges_in
from pappi.session import Workspace
from pappi.store import LedgerSession, Registry, WorkspaceFiles
from pappi.values import Epsilon
from tests.small_logs import claims, workspace_with
from tests.work import calls_in

pytestmark = pytest.mark.outside

LOG, ANALYST = "small", "alice"
ONE = """
log: small
ppis:
  - id: stay
    epsilon: 0.5
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    target: %s 4 days
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = workspace_with(tmp_path / "w", claims(30))
    workspace.custody.grant_analyst(LOG, ANALYST, Epsilon.of(1))
    asking(workspace).release(ONE % "below", anyway=True)
    return workspace


def asking(workspace: Workspace) -> pappi.LocalSession:
    return workspace.granted_checkpoint(ANALYST, lambda _registry: None)


def replayed(workspace: Workspace) -> Released:
    return asking(workspace).replay(ONE % "below")


def test_a_replay_is_the_same_each_time_and_hardly_any_work_the_second(
    workspace: Workspace,
) -> None:
    first = calls_in(lambda: replayed(workspace))
    assert 3 * calls_in(lambda: replayed(workspace)) < first
    anew = pappi.open(workspace.root).checkpoint(ANALYST).replay(ONE % "below")
    assert tuple(replayed(workspace)) == tuple(anew)


def test_a_replay_queries_no_events(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object, **__: object) -> None:
        raise AssertionError("events were read")

    monkeypatch.setattr("pappi.engine.cases.opened", read)
    monkeypatch.setattr("pappi.store.event_file.open_readonly", read)
    assert len(replayed(workspace)) == 1
    assert len(replayed(workspace)) == 1


def test_a_target_said_otherwise_is_another_question(workspace: Workspace) -> None:
    texts = {replayed(workspace)[0].target, asking(workspace).replay(ONE % "at most")[0].target}
    assert len({repr(each) for each in texts}) == 2


def test_whoever_may_see_it_shares_the_work(workspace: Workspace) -> None:
    workspace.custody.grant_analyst(LOG, "bob", Epsilon.of(1))
    first = calls_in(lambda: replayed(workspace))
    bob = workspace.granted_checkpoint("bob", lambda _registry: None)
    assert 3 * calls_in(lambda: bob.replay(ONE % "below")) < first
    assert bob.replay(ONE % "below") == replayed(workspace)


def test_whoever_may_not_see_it_is_refused_what_others_have_seen(workspace: Workspace) -> None:
    assert replayed(workspace)
    eve = workspace.granted_checkpoint("eve", lambda _registry: None)
    with pytest.raises(UnknownLog):
        eve.replay(ONE % "below")


def test_who_has_subscribed_is_answered_by_what_is_reserved_for_them(workspace: Workspace) -> None:
    workspace.custody.grant_analyst(LOG, "bob", Epsilon.of(1))
    bob = workspace.granted_checkpoint("bob", lambda _registry: None)
    bob.subscribe(ONE % "below", date(2024, 7, 1), anyway=True)
    alices = replayed(workspace)
    worked_out = calls_in(lambda: bob.replay(ONE % "below"))
    assert worked_out > 3 * calls_in(lambda: bob.replay(ONE % "below"))
    assert bob.replay(ONE % "below") == alices


def withdrawn(workspace: Workspace) -> None:
    workspace.custody.withdraw(LOG, ANALYST)


def stopped(workspace: Workspace) -> None:
    workspace.custody.stop("an incident")


@pytest.mark.parametrize("act", [withdrawn, stopped])
def test_what_the_owner_takes_away_is_gone_at_once(
    workspace: Workspace, act: Callable[[Workspace], None]
) -> None:
    assert replayed(workspace)
    act(workspace)
    with pytest.raises(PappiError):
        replayed(workspace)


def test_only_so_much_is_kept_in_memory(tmp_path: Path) -> None:
    """By how many answers there are, not by how many questions."""
    session = LedgerSession(WorkspaceFiles(tmp_path))
    calls: list[int] = []

    def kept(number: int, size: int) -> int:
        def work_out() -> int:
            calls.append(number)
            return number

        return session.following(Registry(), number, work_out, lambda _: size)

    for number in range(5):
        assert [kept(number, 10_000) for _ in range(2)] == [number, number]
    assert calls == [0, 1, 2, 3, 4]
    assert kept(4, 10_000) == 4
    assert calls == [0, 1, 2, 3, 4]
    assert kept(0, 10_000) == 0
    assert calls[-1] == 0, "the first made room"


def of_many_groups(number: int) -> str:
    keys = ", ".join(f"group {number} {key}" for key in range(1_000))
    share = f"{{condition: {{activity: Pay}}}}, by: {{data: channel, values: [{keys}]}}"
    return f"log: small\nppis: [{{id: paid, epsilon: 0.1, measure: {{share: {share}}}}}]\n"


def test_what_is_kept_of_long_definitions_is_bounded_by_their_length(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may ask has many catalogues planned, and replayed, for nothing."""
    monkeypatch.setattr(queries, "_MOST_PLANNED", 50_000)
    session = workspace.checkpoint()
    for number in range(6):
        assert not session.replay(of_many_groups(number))
        assert 1 <= len(queries._PLANNED) <= 4
    _, known = session._ledger_session._following
    assert len(known) == 12
    assert max(len(repr(key)) for key in known) < 500


def test_what_many_ask_for_at_once_is_worked_out_once(tmp_path: Path) -> None:
    session, started, go_on = LedgerSession(WorkspaceFiles(tmp_path)), Event(), Event()
    calls: list[int] = []

    def work_out() -> int:
        calls.append(1)
        started.set()
        assert go_on.wait(10)
        return len(calls)

    def asked() -> int:
        return session.following(Registry(), "a dashboard", work_out, lambda _: 1)

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(asked)
        assert started.wait(10)
        others = [pool.submit(asked) for _ in range(3)]
        go_on.set()
        assert [each.result(10) for each in (first, *others)] == [1, 1, 1, 1]


def test_what_fails_for_one_is_worked_out_by_the_next(tmp_path: Path) -> None:
    session = LedgerSession(WorkspaceFiles(tmp_path))

    def fails() -> int:
        raise PappiError("not now")

    with pytest.raises(PappiError):
        session.following(Registry(), "a dashboard", fails, lambda _: 1)
    assert session.following(Registry(), "a dashboard", lambda: 7, lambda _: 1) == 7


def test_what_is_on_record_is_read_once_whatever_is_asked_next(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def reading(entry: Entry) -> tuple[Charge, ...]:
        read.append(entry.seq)
        return charges_in(entry)

    monkeypatch.setattr("pappi.ledger.ledger.charges_in", reading)
    for days in (5, 6, 7):
        asking(workspace).preview(ONE.replace("10 days", f"{10 + days} days") % "below")
    assert read
    assert len(read) == len(set(read))
