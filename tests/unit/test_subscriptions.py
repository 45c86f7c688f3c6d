"""Subscriptions: reserved in advance, released once each block is sealed, never twice."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from pappi.checkpoint import subscriptions
from pappi.custody import NewLog, entry_text, event_of
from pappi.errors import BudgetExceeded, NotReleasable, Refused, Stopped, UnknownLog, UsageError
from pappi.ledger import canonical_json, utc_now
from pappi.ppinot import Catalogue
from pappi.session import Workspace, create
from pappi.values import ZERO, Epsilon, Terms, Vocabulary
from tests.small_logs import copied
from tests.unit.test_checkpoint import catalogue

pytestmark = pytest.mark.outside

VISITS = """
log: shop
ppis:
  - id: visits
    measure: {sum: {count: {activity: Visit}}}
    bounds: [0, 3]
    scope: every month
"""


def asked(scope: str = "every month") -> Catalogue:
    return catalogue(VISITS.replace("every month", scope))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return copied(tmp_path / "w", shop)


def shop(folder: Path) -> Workspace:
    """A log of 2025, sealed up to March, with three visits a month."""
    workspace = create(folder)
    new = NewLog(first=date(2025, 1, 1), terms=Terms(block_budget=Epsilon.of("0.5")))
    workspace.custody.create_log("shop", new, Vocabulary(("Visit",)))
    events = [
        {"id": f"{month}-{n}", "case": f"{month}-{n}", "activity": "Visit"}
        | {"time": f"2025-{month:02}-15T12:00:00Z"}
        for month in range(1, 13)
        for n in range(3)
    ]
    workspace.custody.capture("shop", [event_of(event) for event in events])
    workspace.custody.seal("shop", date(2025, 3, 1))
    return workspace


def held(workspace: Workspace) -> dict[str, str]:
    lines = workspace.checkpoint().budget("shop")
    return {line.block: str(line.held) for line in lines if line.held != ZERO}


def spent(workspace: Workspace) -> dict[str, str]:
    lines = workspace.checkpoint().budget("shop")
    return {line.block: str(line.spent) for line in lines if line.spent != ZERO}


def test_what_is_reserved_cannot_be_spent_otherwise(workspace: Workspace) -> None:
    workspace.checkpoint("alice").subscribe(asked(), date(2025, 5, 1), "0.4")
    assert held(workspace) == {"2025-03": "0.4", "2025-04": "0.4"}
    workspace.custody.seal("shop", date(2025, 4, 1))
    with pytest.raises(BudgetExceeded):
        workspace.checkpoint("bob").release(asked(), "0.2")
    with pytest.raises(BudgetExceeded):
        workspace.checkpoint("bob").subscribe(asked(), date(2025, 6, 1), "0.2")


def test_each_block_is_released_once_when_it_is_sealed(workspace: Workspace) -> None:
    workspace.checkpoint("alice").subscribe(asked(), date(2025, 6, 1), "0.4")
    assert workspace.run_subscriptions() == ()
    workspace.custody.seal("shop", date(2025, 4, 1))
    (run,) = workspace.run_subscriptions()
    assert [answer.period.label for answer in run.series[0].answers] == ["2025-03"]
    assert {answer.charged for answer in run.series[0].answers} == {Epsilon.of("0.4")}
    assert workspace.run_subscriptions() == ()
    assert spent(workspace) == {"2025-03": "0.4"}
    assert held(workspace) == {"2025-04": "0.4", "2025-05": "0.4"}
    # The same question is free for everybody, and so are its later blocks.
    workspace.custody.seal("shop", date(2025, 5, 1))
    spring = asked("{every: month, from: 2025-03-01, until: 2025-05-01}")
    workspace.checkpoint("bob").release(spring, "0.4")
    assert spent(workspace) == {"2025-03": "0.4", "2025-04": "0.4"}
    assert held(workspace) == {"2025-05": "0.4"}


def test_ending_a_question_frees_what_is_left_of_it(workspace: Workspace) -> None:
    alice = workspace.checkpoint("alice")
    question = alice.subscribe(asked(), date(2025, 6, 1), "0.4")
    workspace.custody.seal("shop", date(2025, 4, 1))
    workspace.run_subscriptions()
    with pytest.raises(UsageError):
        workspace.checkpoint("bob").unsubscribe(question.id)
    assert alice.unsubscribe(question.id) == 2
    assert (held(workspace), spent(workspace)) == ({}, {"2025-03": "0.4"})
    assert alice.subscriptions() == ()
    with pytest.raises(UsageError):
        alice.unsubscribe(question.id)
    assert workspace.verify().ok


def test_a_refused_reservation_leaves_nothing(workspace: Workspace) -> None:
    alice = workspace.checkpoint("alice")
    with pytest.raises(BudgetExceeded):
        alice.subscribe(asked(), date(2025, 6, 1), "0.6")
    assert (held(workspace), alice.subscriptions()) == ({}, ())


@pytest.mark.parametrize("scope", ["whole time", "last 2 months", "last 10 cases"])
def test_what_has_no_value_of_its_own_for_each_block_cannot_stand(
    workspace: Workspace, scope: str
) -> None:
    with pytest.raises(NotReleasable, match="cannot subscribe"):
        workspace.checkpoint().subscribe(asked(scope), date(2025, 6, 1))


@pytest.mark.parametrize("until", [date(2025, 3, 1), date(2025, 3, 20)])
def test_there_must_be_a_block_to_reserve(workspace: Workspace, until: date) -> None:
    with pytest.raises(UsageError, match="no whole month after 2025-03-01"):
        workspace.checkpoint().subscribe(asked(), until)


def test_periods_that_straddle_blocks_cannot_stand(workspace: Workspace) -> None:
    """A week that reaches into the next month is not over when its month is."""
    with pytest.raises(UsageError, match="no whole month"):
        workspace.checkpoint().subscribe(asked("every week"), date(2025, 6, 1))


def test_a_period_that_reaches_beyond_sealed_time_is_another_question_later(
    workspace: Workspace,
) -> None:
    """What is known of it now is not what will be known then."""
    weeks = asked("every week")
    workspace.checkpoint().release(weeks, "0.1", anyway=True)
    workspace.custody.seal("shop", date(2025, 4, 1))
    (later,) = workspace.checkpoint().release(weeks, "0.1", anyway=True)
    assert not any(answer.replayed for answer in later.answers)


def test_nobody_frees_what_somebody_else_has_reserved(workspace: Workspace) -> None:
    """Two who ask the same share a release; ending one question must not touch the other."""
    alice, bob = workspace.checkpoint("alice"), workspace.checkpoint("bob")
    alice.subscribe(asked(), date(2025, 5, 1), "0.4")
    theirs = bob.subscribe(asked(), date(2025, 5, 1), "0.4")
    assert bob.unsubscribe(theirs.id) == 0
    assert held(workspace) == {"2025-03": "0.4", "2025-04": "0.4"}


def test_ending_one_of_two_questions_keeps_what_the_other_stands_for(workspace: Workspace) -> None:
    alice = workspace.checkpoint("alice")
    longer = alice.subscribe(asked(), date(2025, 6, 1), "0.4")
    alice.subscribe(asked(), date(2025, 5, 1), "0.4")
    assert alice.unsubscribe(longer.id) == 1
    assert held(workspace) == {"2025-03": "0.4", "2025-04": "0.4"}


def test_a_refused_question_leaves_nothing_in_the_journal(workspace: Workspace) -> None:
    """It keeps everything for ever, and a refusal costs nothing."""
    before = workspace.verify().entries
    with pytest.raises(BudgetExceeded):
        workspace.checkpoint().subscribe(asked(), date(2025, 6, 1), "0.6")
    workspace.custody.stop("a test")
    with pytest.raises(Stopped):
        workspace.checkpoint().subscribe(asked(), date(2025, 6, 1), "0.1")
    assert workspace.verify().entries == before + 1


def test_a_question_stands_no_longer_once_its_grant_is_withdrawn(workspace: Workspace) -> None:
    workspace.custody.grant_analyst("shop", "alice", Epsilon.of("0.5"))
    alice = workspace.granted_checkpoint("alice", lambda _: None)
    alice.subscribe(asked(), date(2025, 5, 1), "0.4")
    workspace.custody.withdraw("shop", "alice")
    workspace.custody.seal("shop", date(2025, 4, 1))
    (run,) = workspace.run_subscriptions()
    assert isinstance(run.problem, UnknownLog)
    assert spent(workspace) == {}
    workspace.custody.grant_analyst("shop", "alice", Epsilon.of("0.5"))
    (run,) = workspace.run_subscriptions()
    assert run.problem is None
    assert spent(workspace) == {"2025-03": "0.4"}


def test_subscriptions_are_limited_in_size_and_number(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "_LONGEST", 10)
    with pytest.raises(Refused, match="at most 10 characters"):
        workspace.checkpoint().subscribe(asked(), date(2025, 5, 1), "0.1")
    monkeypatch.undo()
    monkeypatch.setattr(subscriptions, "_MOST_A_DAY", 1)
    question = workspace.checkpoint().subscribe(asked(), date(2025, 5, 1), "0.1")
    workspace.checkpoint().unsubscribe(question.id)
    with pytest.raises(Refused, match="a day, including ended ones"):
        workspace.checkpoint().subscribe(asked(), date(2025, 5, 1), "0.1")
    tomorrow = utc_now() + timedelta(days=1)
    monkeypatch.setattr(subscriptions, "utc_now", lambda: tomorrow)
    workspace.checkpoint().subscribe(asked(), date(2025, 5, 1), "0.1")
    monkeypatch.undo()
    monkeypatch.setattr(subscriptions, "_MOST_OPEN", 1)
    with pytest.raises(Refused, match="at most 1 subscriptions"):
        workspace.checkpoint().subscribe(asked(), date(2025, 6, 1), "0.1")


def test_a_standing_question_is_two_entries_and_its_end_two_however_many_cells_it_has(
    workspace: Workspace,
) -> None:
    alice = workspace.checkpoint("alice")
    before = workspace.custody.length()
    question = alice.subscribe(asked(), date(2028, 1, 1), "0.1")
    assert len(held(workspace)) == 34
    assert alice.unsubscribe(question.id) == 34
    entries = workspace.custody.trail(after=before)
    assert [entry.kind for entry in entries] == ["stand", "reserve", "cancel", "end"]
    assert [entry_text(entry.kind, entry.what) for entry in entries][1:3] == [
        "34 cells of shop reserved",
        "34 reservations released",
    ]
    assert len(canonical_json(entries[1].what)) < 34 * 300
    assert workspace.verify().ok
