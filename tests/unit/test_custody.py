"""The owner's side: grants, keys, the stop switch, and that every act is on record."""

from __future__ import annotations

import hmac
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from pappi.custody import NewLog
from pappi.errors import (
    BudgetExceeded,
    LedgerBroken,
    NotAllowed,
    NotAuthenticated,
    Stopped,
    UnknownLog,
    UsageError,
    WorkspaceError,
)
from pappi.session import Workspace, create, open_at
from pappi.store import Registry
from pappi.values import DURATIONS, ZERO, Bounds, DefaultBounds, Epsilon, Right, Role, Terms
from tests.small_logs import claims, workspace_with
from tests.unit.test_checkpoint import SOJOURN, catalogue

pytestmark = pytest.mark.outside


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(
        tmp_path / "w", claims(30), NewLog(terms=Terms(block_budget=Epsilon.of(1)))
    )


def anybody(_register: Registry) -> None:
    """A key is not what these tests are about."""


def test_an_analyst_spends_no_more_than_their_share_of_a_block(workspace: Workspace) -> None:
    workspace.custody.grant_analyst("small", "alice", Epsilon.of("0.3"))
    alice, bob = workspace.checkpoint("alice"), workspace.checkpoint("bob")
    alice.release(catalogue(SOJOURN), "0.2")
    with pytest.raises(BudgetExceeded, match="for alice"):
        alice.release(catalogue(SOJOURN), "0.15", derived=False)
    bob.release(catalogue(SOJOURN), "0.15", derived=False)
    assert {line.left for line in alice.budget("small")} == {Epsilon.of("0.1")}
    assert {line.left for line in bob.budget("small")} == {Epsilon.of("0.65")}
    # What somebody else has paid for is free.
    alice.release(catalogue(SOJOURN), "0.15", derived=False)
    assert {line.own_used for line in alice.budget("small")} == {Epsilon.of("0.2")}


def test_all_blocks_together_spend_no_more_than_the_total(workspace: Workspace) -> None:
    blocks = len(workspace.checkpoint().budget("small"))
    assert blocks > 1
    workspace.grant("small", 1, total_budget=Epsilon(Epsilon.of("0.1").nano * blocks))
    workspace.checkpoint().release(catalogue(SOJOURN), "0.1")
    with pytest.raises(BudgetExceeded, match="all of small"):
        workspace.checkpoint().release(catalogue(SOJOURN), "0.001", anyway=True, derived=False)


def test_a_log_that_was_not_granted_is_like_one_that_is_not_there(workspace: Workspace) -> None:
    alice = workspace.granted_checkpoint("alice", anybody)
    with pytest.raises(UnknownLog) as hidden:
        alice.release(catalogue(SOJOURN))
    with pytest.raises(UnknownLog) as absent:
        alice.release(catalogue(SOJOURN.replace("log: small", "log: other")))
    assert hidden.value.message.replace("small", "other") == absent.value.message
    assert alice.logs() == ()
    workspace.custody.grant_analyst("small", "alice", Epsilon.of(1))
    assert [log.name for log in alice.logs()] == ["small"]
    workspace.custody.withdraw("small", "alice")
    with pytest.raises(UnknownLog):
        alice.budget("small")


def test_a_key_is_known_by_its_secret_until_it_expires_or_is_revoked(workspace: Workspace) -> None:
    custody = workspace.custody
    expires = datetime.now(UTC) + timedelta(days=1)
    issued = custody.issue_key(Role.ANALYST, "alice", [Right.PREVIEW], expires)
    found = custody.key_of(issued.secret, datetime.now(UTC))
    assert (found.name, found.role) == ("alice", Role.ANALYST)
    assert found.rights == {Right.PREVIEW}
    with pytest.raises(NotAllowed):
        found.require(Role.ANALYST, Right.RELEASE)
    near = (issued.secret[:-1], issued.secret + "x", f"pappi_{found.id}_")
    for wrong in ("", "pappi", "ü_ü_", *near):
        with pytest.raises(NotAuthenticated):
            custody.key_of(wrong, datetime.now(UTC))
    with pytest.raises(NotAuthenticated):
        custody.key_of(issued.secret, expires)
    custody.revoke_key(found.id)
    with pytest.raises(NotAuthenticated):
        custody.key_of(issued.secret, datetime.now(UTC))


def test_a_secret_is_in_no_file(workspace: Workspace) -> None:
    issued = workspace.custody.issue_key(Role.OWNER, "boss")
    workspace.close()
    random = issued.secret.split("_", 2)[2].encode()
    for path in workspace.root.rglob("*"):
        assert path.is_dir() or random not in path.read_bytes()
    assert issued.secret not in repr(issued)


@pytest.mark.parametrize("rights", [[], [Right.CAPTURE]])
def test_an_analysts_key_has_an_analysts_rights_alone(
    workspace: Workspace, rights: list[Right]
) -> None:
    with pytest.raises(UsageError, match="can have the rights preview, release"):
        workspace.custody.issue_key(Role.ANALYST, "alice", rights)


def test_a_permit_is_asked_again_inside_the_charge(workspace: Workspace) -> None:
    workspace.custody.grant_analyst("small", "alice", Epsilon.of(1))
    asked = 0

    def once(_register: Registry) -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise NotAuthenticated

    with pytest.raises(NotAuthenticated):
        workspace.granted_checkpoint("alice", once).release(catalogue(SOJOURN))
    assert {line.spent for line in workspace.checkpoint().budget("small")} == {ZERO}


def test_stopped_means_no_answer_not_even_a_replay(workspace: Workspace) -> None:
    analyst = workspace.checkpoint()
    before = analyst.release(catalogue(SOJOURN))
    workspace.custody.stop("an audit")
    with pytest.raises(Stopped, match="an audit"):
        analyst.release(catalogue(SOJOURN))
    with pytest.raises(Stopped):
        analyst.preview(catalogue(SOJOURN))
    workspace.custody.resume()
    assert [a.value for s in analyst.release(catalogue(SOJOURN)) for a in s.answers] == [
        a.value for s in before for a in s.answers
    ]


def test_every_act_is_on_record_with_who_did_it(workspace: Workspace) -> None:
    custody = workspace.custody_of("boss")
    custody.grant("small", Epsilon.of(2))
    custody.grant_analyst("small", "alice", Epsilon.of(1))
    key = custody.issue_key(Role.ANALYST, "alice")
    custody.revoke_key(key.record.id)
    custody.stop("why not")
    custody.resume()
    custody.withdraw("small", "alice")
    acts = [entry for entry in custody.trail() if entry.what.get("by") == "boss"]
    kinds = ["declare", "grant", "key", "revoke", "stop", "resume", "withdraw"]
    assert [entry.kind for entry in acts] == kinds
    assert all("digest" not in entry.what for entry in acts)


def test_of_two_changes_at_once_none_is_lost(workspace: Workspace) -> None:
    """A budget set while another process seals must not undo the seal: both read, then write."""
    other = open_at(workspace.root)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            list(pool.map(lambda n: other.custody.grant("small", Epsilon.of(n + 1)), range(4)))
            list(pool.map(lambda n: workspace.custody.grant("small", Epsilon.of(n + 1)), range(4)))
    assert workspace.log("small") == other.log("small")
    assert workspace.verify().ok


def test_what_one_process_does_the_other_sees_at_once(workspace: Workspace) -> None:
    other = open_at(workspace.root)
    assert other.custody.stopped() is None
    workspace.custody.stop("a fire")
    assert other.custody.stopped() == "a fire"


def test_a_ledger_of_another_workspace_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    """A fresh one would have its whole budget again."""
    workspace.checkpoint().release(catalogue(SOJOURN))
    workspace.close()
    fresh = create(tmp_path / "fresh")
    fresh.close()
    shutil.copy(fresh.root / "ledger.sqlite", workspace.root / "ledger.sqlite")
    with pytest.raises(LedgerBroken, match="not the ledger the workspace was created with"):
        workspace.checkpoint().release(catalogue(SOJOURN))


def test_a_ledger_that_goes_missing_is_noticed_and_works_again_when_it_is_back(
    workspace: Workspace, tmp_path: Path
) -> None:
    analyst = workspace.checkpoint()
    analyst.release(catalogue(SOJOURN), "0.1")
    aside = tmp_path / "aside.sqlite"
    (workspace.root / "ledger.sqlite").rename(aside)
    for _ in range(2):
        with pytest.raises(WorkspaceError):
            analyst.release(catalogue(SOJOURN), "0.2")
    aside.rename(workspace.root / "ledger.sqlite")
    analyst.release(catalogue(SOJOURN), "0.2")
    assert {line.spent for line in analyst.budget("small")} == {Epsilon.of("0.3")}


def test_a_journal_that_loses_its_end_while_open_is_noticed(
    workspace: Workspace, tmp_path: Path
) -> None:
    """An older copy put back under a running process would give its budget back."""
    analyst = workspace.checkpoint()
    workspace.close()
    shutil.copy(workspace.root / "ledger.sqlite", tmp_path / "older.sqlite")
    analyst.release(catalogue(SOJOURN), "0.1")
    workspace.close()
    (tmp_path / "older.sqlite").replace(workspace.root / "ledger.sqlite")
    with pytest.raises(LedgerBroken, match="the latest are missing"):
        analyst.release(catalogue(SOJOURN), "0.2")


def test_default_bounds_stand_in_where_a_definition_has_none(tmp_path: Path) -> None:
    ten_days = Fraction(10 * DURATIONS["days"])
    bounds = DefaultBounds(durations=Bounds(Fraction(0), ten_days))
    workspace = workspace_with(tmp_path / "w", claims(30), NewLog(terms=Terms(bounds=bounds)))
    unbounded = SOJOURN.replace("    bounds: [0 days, 10 days]\n", "")
    (quote,) = workspace.checkpoint().preview(catalogue(unbounded), "0.1")
    (same,) = workspace.checkpoint().preview(catalogue(SOJOURN), "0.1")
    assert quote == same
    workspace.checkpoint().release(catalogue(SOJOURN), "0.1")
    (again,) = workspace.checkpoint().release(catalogue(unbounded), "0.1")
    assert all(answer.replayed for answer in again.answers)


def test_keys_are_compared_in_constant_time_also_if_they_are_nobodys(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[str, str]] = []

    def spy(stored: str, given: str) -> bool:
        compared.append((stored, given))
        return real(stored, given)

    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", spy)
    issued = workspace.custody.issue_key(Role.ANALYST, "alice")
    workspace.custody.key_of(issued.secret, datetime.now(UTC))
    for wrong in (f"{issued.secret}x", "pappi_000000000000_none", "", "a_b"):
        with pytest.raises(NotAuthenticated):
            workspace.custody.key_of(wrong, datetime.now(UTC))
    assert len(compared) == 5
    assert {len(digest) for pair in compared for digest in pair} == {64}
