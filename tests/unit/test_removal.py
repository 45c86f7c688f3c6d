"""Renaming and removing a log: what goes, what stays, and that no budget comes back by it."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import pappi
from pappi.checkpoint import Caller
from pappi.checkpoint.access import ChargeRules
from pappi.custody import NewLog, Selection, accept_rollback, custody, event_of
from pappi.errors import BudgetExceeded, Conflict, Refused, UnknownLog, UsageError
from pappi.ledger import EntryKind
from pappi.report import dpo_html
from pappi.session import Workspace, to_wire
from pappi.store import open_workspace, stored_logs
from pappi.values import Epsilon, Kind, Terms, Vocabulary
from tests.commands import Run
from tests.small_logs import claims, event_table, workspace_with

pytestmark = pytest.mark.outside

ASKED = """log: small
ppis:
  - id: claims
    measure: {number: cases}
    scope: every month
"""
ENOUGH = NewLog(terms=Terms(expected_cases=1_000))


@pytest.fixture
def imported(tmp_path: Path) -> Workspace:
    return workspace_with(tmp_path / "w", claims(30), ENOUGH)


def released(workspace: Workspace, epsilon: str = "0.5") -> list[dict[str, object]]:
    answers = workspace.checkpoint("ann").release(ASKED, epsilon)
    records = [to_wire(answer) for series in answers for answer in series.answers]
    return [record | {"charged": 0, "replayed": True} for record in records]


def captured(workspace: Workspace, number: int = 1) -> None:
    event = {"id": f"e{number}", "case": "n1", "activity": "Pay", "time": "2024-05-02T12:00:00Z"}
    workspace.custody.capture("small", [event_of(event)])


def bytes_in(folder: Path) -> bytes:
    """All that is on the disk of events, but for the journal."""
    files = (file for file in folder.rglob("*") if file.name.startswith(("events", "capture")))
    return b"".join(file.read_bytes() for file in files if file.is_file())


def acts(workspace: Workspace) -> list[str]:
    return [entry.kind for entry in workspace.custody.trail()]


# --- while nothing was charged --------------------------------------------------------------


def test_a_log_nobody_asked_about_goes_as_a_whole(imported: Workspace) -> None:
    captured(imported)
    imported.custody.seal("small", date(2024, 6, 1))
    captured(imported, 2)
    imported.custody.grant_analyst("small", "ann", Epsilon.of(1))
    imported.checkpoint("ann").save(ASKED)
    assert b"phone" in bytes_in(imported.root)
    assert imported.remove_log("small").charged is False
    assert imported.logs() == ()
    assert imported.custody.grants() == ()
    assert imported.checkpoint("ann").saved() == ()
    assert stored_logs(imported.root / "events") == ()
    assert b"phone" not in bytes_in(imported.root)
    assert b"n1" not in bytes_in(imported.root)
    assert acts(imported)[-1] == EntryKind.REMOVE
    assert imported.verify().ok
    with pytest.raises(UnknownLog):
        imported.remove_log("small")


def test_another_log_may_have_the_name_and_is_another(imported: Workspace) -> None:
    before = imported.log("small").data
    imported.remove_log("small")
    imported.import_log(event_table(claims(8)), "small", new=ENOUGH)
    assert imported.log("small").data != before
    (only,) = stored_logs(imported.root / "events")
    assert only == imported.log("small").table
    assert [line.spent.nano for line in imported.checkpoint("ann").budget("small")] == [0, 0, 0]
    declared = [entry for entry in imported.custody.trail() if entry.kind == EntryKind.DECLARE]
    assert imported.custody.declared_before(declared) == {}


def test_other_logs_stay_as_they_are(imported: Workspace) -> None:
    imported.import_log(event_table(claims(8)), "other", new=ENOUGH)
    exact = imported.exact(ASKED.replace("small", "other"))
    imported.remove_log("small")
    assert imported.exact(ASKED.replace("small", "other")) == exact


def test_a_renamed_log_keeps_its_events_its_grants_and_its_budget(imported: Workspace) -> None:
    captured(imported)
    imported.custody.grant_analyst("small", "ann", Epsilon.of("0.5"))
    exact = imported.exact(ASKED)
    data = imported.log("small").data
    assert imported.rename_log("small", "claims").data == data
    assert imported.exact(ASKED.replace("small", "claims")) == exact
    (grant,) = imported.custody.grants()
    assert (grant.log, grant.analyst) == ("claims", "ann")
    with pytest.raises(UnknownLog):
        imported.log("small")
    event = {"id": "e1", "case": "n1", "activity": "Pay", "time": "2024-05-02T12:00:00Z"}
    assert imported.custody.capture("claims", [event_of(event)]).duplicates == 1
    imported.import_log(event_table(claims(8)), "small", new=ENOUGH)
    assert imported.verify().ok
    anew = pappi.open(imported.root)
    assert sorted(log.name for log in anew.logs()) == ["claims", "small"]


@pytest.mark.parametrize("name", ["small", "other", "7up", "", "a b"])
def test_a_log_cannot_have_a_name_that_is_taken_or_none(imported: Workspace, name: str) -> None:
    imported.import_log(event_table(claims(8)), "other", new=ENOUGH)
    length = imported.custody.length()
    with pytest.raises(UsageError):
        imported.rename_log("small", name)
    assert imported.custody.length() == length


def test_subscriptions_end_and_what_they_held_is_free(imported: Workspace) -> None:
    analyst = imported.checkpoint("ann")
    analyst.subscribe(ASKED, date(2024, 8, 1), "0.5")
    with pytest.raises(Conflict, match="'ann' subscribes to 'small'"):
        imported.rename_log("small", "claims")
    with pytest.raises(Conflict, match="'ann' subscribes to 'small'"):
        imported.custody.remove("small")
    assert imported.remove_log("small").charged is False
    assert analyst.subscriptions() == ()
    assert imported.run_subscriptions() == ()
    imported.import_log(event_table(claims(8)), "small", new=ENOUGH)
    assert all(line.held.nano == 0 for line in analyst.budget("small"))


# --- once something was charged --------------------------------------------------------------


def test_what_was_released_is_replayed_to_the_last_digit(imported: Workspace) -> None:
    before = released(imported)
    assert imported.remove_log("small").charged is True
    assert stored_logs(imported.root / "events") == ()
    assert b"phone" not in bytes_in(imported.root)
    assert released(imported) == before
    with_epsilon = ASKED.replace("scope:", "epsilon: 0.5\n    scope:")
    anew = pappi.open(imported.root).checkpoint("ann").replay(with_epsilon)
    records = [to_wire(answer) for series in anew for answer in series.answers]
    assert [record | {"charged": 0, "replayed": True} for record in records] == before
    assert imported.verify().ok


def test_no_budget_comes_back_by_removing_and_importing_again(imported: Workspace) -> None:
    released(imported)
    spent = imported.checkpoint("ann").budget("small")
    imported.remove_log("small")
    with pytest.raises(UsageError, match="already a log called 'small'"):
        imported.import_log(event_table(claims(30)), "small", new=ENOUGH)
    imported.import_log(event_table(claims(30)), "second", new=ENOUGH)
    with pytest.raises(UsageError, match="already a log called 'small'"):
        imported.rename_log("second", "small")
    assert imported.checkpoint("ann").budget("small") == spent
    assert imported.remove_log("small").charged is True  # the same again changes nothing
    assert imported.checkpoint("ann").budget("small") == spent


def test_a_charge_before_the_log_was_there_counts(tmp_path: Path) -> None:
    """Names were selected for a price: that is charged under the log's name, too."""
    workspace = pappi.create(tmp_path / "w")
    names = Vocabulary(("Receive", "Pay"), {"channel": Kind.TEXT})
    new = NewLog(first=date(2024, 1, 1), until=date(2024, 4, 1), vocabulary=names)
    events = event_table(claims(30))
    chosen = workspace.select_names(events, new, Selection(Epsilon.of("0.9"), 3), "small")
    workspace.import_log(events, "other", new=ENOUGH)
    with pytest.raises(Conflict, match="budget was spent under the name 'small'"):
        workspace.rename_log("other", "small")
    workspace.import_log(events, "small", new=chosen)
    assert workspace.remove_log("small").charged is True
    with pytest.raises(UsageError, match="already a log"):
        workspace.import_log(events, "small", new=chosen)


def test_nothing_new_can_be_done_with_what_is_left(imported: Workspace) -> None:
    released(imported)
    imported.remove_log("small")
    length = imported.custody.length()
    event = {"id": "e", "case": "n", "activity": "Pay", "time": "2024-05-02T12:00:00Z"}
    analyst = imported.checkpoint("ann")
    for act in (
        lambda: analyst.release(ASKED, "0.25", derived=False),
        lambda: analyst.subscribe(ASKED, date(2024, 8, 1), "0.5"),
        lambda: imported.exact(ASKED),
        lambda: imported.profile("small"),
        lambda: imported.grant("small", "9"),
        lambda: imported.custody.seal("small", date(2024, 6, 1)),
        lambda: imported.custody.erase("small", cases=["c1"]),
        lambda: imported.custody.capture("small", [event_of(event)]),
    ):
        with pytest.raises(Refused, match="the owner has removed the events of 'small'"):
            act()
    assert not imported.custody.grows("small")
    with pytest.raises(Conflict, match="budget was spent under this name"):
        imported.rename_log("small", "claims")
    assert imported.custody.length() == length


def test_a_log_of_which_charges_may_be_lost_counts_as_charged(imported: Workspace) -> None:
    ledger, older = imported.root / "ledger.sqlite", imported.root.parent / "older.sqlite"
    imported.close()
    shutil.copyfile(ledger, older)
    released(imported)
    imported.close()
    shutil.copyfile(older, ledger)
    for left in imported.root.glob("ledger.sqlite-*"):
        left.unlink()
    accept_rollback(open_workspace(imported.root))
    again = pappi.open(imported.root)
    with pytest.raises(Conflict, match="cannot be renamed"):
        again.rename_log("small", "claims")
    assert again.remove_log("small").charged is True
    with pytest.raises(UsageError, match="already a log"):
        again.import_log(event_table(claims(30)), "small", new=ENOUGH)


def test_the_budget_is_as_spent_as_before_under_the_old_name(imported: Workspace) -> None:
    """A log that was renamed before anything was asked has one budget, not two."""
    imported.rename_log("small", "claims")
    question = ASKED.replace("small", "claims")
    imported.checkpoint("ann").release(question, "0.75")
    with pytest.raises(BudgetExceeded):
        imported.checkpoint("ann").release(question, "0.5", derived=False)


# --- what comes in between -------------------------------------------------------------------


def test_a_question_planned_for_a_removed_log_is_not_charged_to_its_successor(
    imported: Workspace,
) -> None:
    session = imported._ledger_session
    planned_for = imported.log("small")
    imported.remove_log("small")
    imported.import_log(event_table(claims(30)), "small", new=ENOUGH)
    with session.ledger() as ledger, pytest.raises(Conflict, match="another has its name"):
        ChargeRules(session, ledger, Caller("ann"), planned_for).permit()


def test_events_that_come_in_while_a_log_is_removed_do_not_stay(
    imported: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = custody.capture  # type: ignore[attr-defined]

    def removed_first(*given: Any) -> Any:  # noqa: ANN401 - as it is called
        monkeypatch.undo()
        imported.remove_log("small")
        return store(*given)

    monkeypatch.setattr(custody, "capture", removed_first)
    with pytest.raises(Conflict, match="'small' was removed"):
        captured(imported)
    assert b"n1" not in bytes_in(imported.root)


# --- what is on record -----------------------------------------------------------------------


def test_the_pack_tells_a_log_from_its_predecessor(imported: Workspace) -> None:
    imported.exact(ASKED)
    imported.rename_log("small", "claims")
    (log,) = imported.custody.pack("claims").logs
    assert len(log.looks) == 1
    imported.remove_log("claims")
    imported.import_log(event_table(claims(8)), "claims", new=ENOUGH)
    pack = imported.custody.pack("claims")
    assert pack.logs[0].looks == ()
    assert [act.what[:19] for act in pack.acts] == ["Log claims declared"]
    every = [act.what for act in imported.custody.pack().acts]
    assert "Log small renamed: now claims" in every
    assert "Log claims removed: nothing was charged" in every


def test_the_pack_of_a_removed_log_says_that_its_events_are_gone(imported: Workspace) -> None:
    released(imported)
    imported.remove_log("small")
    text = dpo_html(imported.custody.pack("small"), "today")
    assert "The log was removed: its events are no longer in the workspace." in text
    assert "Events stay in the workspace until they are erased" not in text
    assert "Nothing has been erased" not in text


# --- the commands ----------------------------------------------------------------------------


def test_the_commands_ask_first(
    run: Run, imported: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported.close()
    place = ("-w", imported.root)
    answers = iter(["n", "n", "y"])
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _text: next(answers))
    assert run("log", "rename", "small", "claims", *place)[0] == 130
    assert run("log", "remove", "small", *place)[0] == 130
    assert [log.name for log in imported.logs()] == ["small"]
    code, out, _ = run("log", "rename", "small", "claims", *place)
    assert (code, "is now called 'claims'" in out) == (0, True)
    code, out, _ = run("log", "remove", "claims", "--yes", *place)
    assert (code, "its name is free" in out) == (0, True)
    code, _, errors = run("log", "remove", "claims", "--yes", *place)
    assert (code, "there is no log called 'claims'" in errors) == (2, True)


def test_a_removed_log_is_listed_as_one(run: Run, imported: Workspace) -> None:
    released(imported)
    imported.close()
    code, out, _ = run("log", "remove", "small", "--yes", "-w", imported.root)
    assert (code, "The name stays taken" in out) == (0, True)
    assert "removed, its releases can be replayed" in run("log", "list", "-w", imported.root)[1]


def test_nobody_is_asked_about_a_new_name_that_would_be_refused(
    run: Run, imported: Workspace
) -> None:
    released(imported)
    imported.close()
    code, out, errors = run("log", "rename", "small", "claims", "-w", imported.root)
    assert code not in (0, 130)
    assert "[y/N]" not in out
    assert "cannot be renamed: budget was spent under this name" in errors
