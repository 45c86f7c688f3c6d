"""Attacks on custody that once worked: each is tried, and must fail."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from pappi.checkpoint import queries
from pappi.custody import NewLog, event_of
from pappi.errors import BudgetExceeded, Refused, UnknownLog, UsageError
from pappi.eventlog import EventReader, open_log
from pappi.ppinot import Catalogue
from pappi.session import Workspace, create
from pappi.store import CapturedEvent, Registry, import_events, stored_logs
from pappi.values import ZERO, Epsilon, Kind, PrivacyUnit, Terms, Vocabulary
from tests.small_logs import Row, event_table, workspace_with
from tests.unit.test_checkpoint import SOJOURN, catalogue

VISITS = """
log: small
ppis:
  - id: visits
    measure: {sum: {count: {activity: Visit}}}
    bounds: [0, 1]
    scope: SCOPE
"""
PLENTY = Epsilon.of(1_000)


def visits(scope: str) -> Catalogue:
    return catalogue(VISITS.replace("SCOPE", scope))


def withheld(tmp_path: Path) -> Workspace:
    """One case in January, and fifty in February, which the owner has not declared yet."""
    january, february = 0.0, 24.0 * 31
    rows: list[Row] = [(f"case-{n}", "Visit", february if n else january, {}) for n in range(51)]
    new = NewLog(first=date(2024, 1, 1), until=date(2024, 2, 1), terms=Terms(block_budget=PLENTY))
    return workspace_with(tmp_path / "w", rows, new)


@pytest.mark.parametrize(
    "scope",
    [
        "every month",
        "every quarter",
        "every year",
        "every week",
        "every 5 years",
        "whole time",
        "{every: quarter, anchor: case start}",
        "last 10 cases",
    ],
)
def test_time_that_is_not_sealed_is_in_no_answer(tmp_path: Path, scope: str) -> None:
    workspace = withheld(tmp_path)
    # At such an ε the noise is nothing: what is counted shows.
    (series,) = workspace.checkpoint().release(visits(scope), "100")
    assert sum(round(answer.value or 0) for answer in series.answers) == 1
    exact = workspace.exact(visits(scope))
    assert sum(answer.value or 0 for answer in exact) == 1


def test_what_an_import_left_behind_is_erased_with_the_rest(tmp_path: Path) -> None:
    """A table nobody declared would keep what everybody believes to be erased."""
    workspace = withheld(tmp_path)
    events = workspace.root / "events"
    import_events(events, "events_99", _reader())
    workspace.grant("small", 2)
    assert "events_99" in stored_logs(events)
    workspace.custody.erase("small", cases=["case-0"])
    assert "events_99" not in stored_logs(events)


def test_an_import_sweeps_what_another_left_behind_whatever_came_between(tmp_path: Path) -> None:
    workspace = withheld(tmp_path)
    events = workspace.root / "events"
    import_events(events, "events_2", _reader())
    workspace.grant("small", 2)
    workspace.import_log(event_table([("c", "Visit", 0.0, {})]), "other")
    tables = stored_logs(events)
    assert "events_2" not in tables
    assert len(tables) == 2


def _reader() -> EventReader:
    return open_log(event_table([("secret", "Visit", 0.0, {})]))


@pytest.mark.parametrize("written", ["7", "7.0"])
def test_a_person_who_was_erased_stays_out_however_they_are_written(
    tmp_path: Path, written: str
) -> None:
    workspace = create(tmp_path / "w")
    unit = PrivacyUnit("patient", 1)
    new = NewLog(first=date(2025, 1, 1), terms=Terms(unit=unit, block_budget=PLENTY))
    vocabulary = Vocabulary(("Visit",), {"patient": Kind.NUMBER})
    workspace.custody.create_log("small", new, vocabulary)
    workspace.custody.capture("small", [_visit("a", 1, 7), _visit("b", 1, 8)])
    workspace.custody.seal("small", date(2025, 2, 1))
    assert workspace.custody.erase("small", persons=[written]).cases == 1
    workspace.custody.capture("small", [_visit("c", 2, 7), _visit("d", 2, 9)])
    sealed = workspace.custody.seal("small", date(2025, 3, 1))
    assert (sealed.cases, sealed.late) == (1, 1)


def _visit(case: str, month: int, patient: int) -> CapturedEvent:
    found = {"id": case, "case": case, "activity": "Visit", "attributes": {"patient": patient}}
    return event_of(found | {"time": f"2025-{month:02}-10T00:00:00Z"})


def test_a_grant_withdrawn_before_the_charge_stops_a_replay_too(tmp_path: Path) -> None:
    workspace = withheld(tmp_path)
    workspace.custody.grant_analyst("small", "alice", Epsilon.of(1))
    workspace.checkpoint().release(visits("every month"), "0.1")

    def permit(register: Registry) -> None:
        """Asked when the request is opened: then, and before it is charged, the grant goes."""
        if ("small", "alice") in register.grants:
            workspace.withdraw("small", "alice")

    with pytest.raises(UnknownLog):
        workspace.granted_checkpoint("alice", permit).release(visits("every month"), "0.1")
    assert workspace.custody.grants() == ()


def test_withdrawing_a_grant_frees_what_its_analyst_has_reserved(tmp_path: Path) -> None:
    workspace = withheld(tmp_path)
    workspace.custody.grant_analyst("small", "eve", Epsilon.of(1))
    eve = workspace.granted_checkpoint("eve", lambda _: None)
    eve.subscribe(visits("every month"), date(2024, 12, 1), "0.5")
    assert any(line.held != ZERO for line in workspace.checkpoint().budget("small"))
    assert workspace.withdraw("small", "eve") == 1
    assert all(line.held == ZERO for line in workspace.checkpoint().budget("small"))


def test_a_budget_cut_below_what_is_reserved_holds(tmp_path: Path) -> None:
    workspace = withheld(tmp_path)
    workspace.checkpoint("alice").subscribe(visits("every month"), date(2024, 4, 1), "0.5")
    workspace.grant("small", "0.1")
    workspace.custody.seal("small", date(2024, 3, 1))
    (run,) = workspace.run_subscriptions()
    assert isinstance(run.problem, BudgetExceeded)
    assert all(line.spent == ZERO for line in workspace.checkpoint().budget("small"))


def test_one_standing_question_does_not_stop_the_others(tmp_path: Path) -> None:
    workspace = withheld(tmp_path)
    later = visits("{every: month, from: 2024-06-01}")
    workspace.checkpoint("eve").subscribe(later, date(2024, 9, 1), "0.1")
    workspace.checkpoint("alice").subscribe(visits("every month"), date(2024, 9, 1), "0.2")
    workspace.custody.seal("small", date(2024, 3, 1))
    (run,) = workspace.run_subscriptions()
    assert (run.subscription.analyst, run.problem) == ("alice", None)


@pytest.mark.parametrize("until", [date(9999, 12, 31), date(2925, 1, 1)])
def test_nothing_is_reserved_for_a_far_future(tmp_path: Path, until: date) -> None:
    with pytest.raises(UsageError, match="can run until"):
        withheld(tmp_path).checkpoint().subscribe(visits("every 5 years"), until, "0.1")


def test_the_same_question_stands_once(tmp_path: Path) -> None:
    analyst = withheld(tmp_path).checkpoint()
    analyst.subscribe(visits("every month"), date(2024, 9, 1), "0.1")
    with pytest.raises(Refused, match="already have this subscription"):
        analyst.subscribe(visits("every month"), date(2024, 9, 1), "0.1")


def test_too_many_ppis_are_refused_before_they_are_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pappi.checkpoint.session.planned", None)
    workspace = withheld(tmp_path)
    one = SOJOURN.split("ppis:\n")[1]
    many = "".join(one.replace("sojourn", f"p{n}") for n in range(queries.MOST_PPIS + 1))
    asked = catalogue("log: small\nppis:\n" + many)
    for ask in (workspace.checkpoint().preview, workspace.checkpoint().release):
        with pytest.raises(Refused, match="PPIs at once"):
            ask(asked)
    with pytest.raises(Refused, match="PPIs at once"):
        workspace.checkpoint().preview(asked, accuracy="1 h")
