"""A replay is written once until the journal grows; every request is checked all the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from pappi.checkpoint import Released
from pappi.service.models import ReleasedSeries
from pappi.session import Workspace, to_wire
from tests.service.serving import Caller, analyst_key, serving
from tests.small_logs import claims, workspace_with

pytestmark = pytest.mark.outside

LOG = "small"
SHARE = """
log: small
ppis:
  - id: rejected
    epsilon: 0.5
    measure: {share: {condition: {activity: %s}}}
    scope: every month
    target: below 40 %%
"""
TERMS = {"small": "2"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = workspace_with(tmp_path / "w", claims(30))
    workspace.checkpoint().release(SHARE % "Reject", anyway=True)
    return workspace


Asks = Callable[..., Caller]


@pytest.fixture
def asks(workspace: Workspace) -> Iterator[Asks]:
    """Somebody's client, with these grants."""
    served = serving(workspace)
    with ExitStack() as clients:

        def named(name: str, grants: Mapping[str, str] = TERMS) -> Caller:
            return clients.enter_context(
                Caller(served.analyst, analyst_key(workspace, name, grants))
            )

        yield named


def replay(caller: Caller, activity: str = "Reject", *, smooth: bool = False) -> httpx.Response:
    asked = {"definitions": SHARE % activity, "smooth": smooth}
    return caller("POST", "/replay", json=asked)


@pytest.mark.parametrize("smooth", [False, True])
def test_a_kept_reply_is_the_same_to_the_last_byte(
    workspace: Workspace, asks: Asks, *, smooth: bool
) -> None:
    alice, bob = asks("alice"), asks("bob")
    first = replay(alice, smooth=smooth)
    kept = {replay(caller, smooth=smooth).content for caller in (alice, bob, alice)}
    assert kept == {first.content}
    workspace.custody.stop("a moment")
    workspace.custody.resume()
    assert replay(bob, smooth=smooth).content == first.content, "worked out anew"
    series: Released = workspace.checkpoint("alice").replay(SHARE % "Reject", smooth=smooth)
    assert json.loads(first.content) == to_wire(ReleasedSeries(LOG, series))


def without_grant(workspace: Workspace) -> None:
    workspace.custody.withdraw(LOG, "alice")


def stopped(workspace: Workspace) -> None:
    workspace.custody.stop("an incident")


def without_key(workspace: Workspace) -> None:
    (key,) = workspace.custody.all_keys()
    workspace.custody.revoke_key(key.id)


@pytest.mark.parametrize(
    ("act", "status"),
    [(without_grant, 404), (stopped, 503), (without_key, 401)],
)
def test_what_the_owner_takes_away_is_gone_from_kept_replies(
    workspace: Workspace, asks: Asks, act: Callable[[Workspace], None], status: int
) -> None:
    alice = asks("alice")
    assert [replay(alice).status_code for _ in range(2)] == [200, 200]
    act(workspace)
    assert replay(alice).status_code == status


def test_a_withdrawn_name_is_unknown_at_once(workspace: Workspace, asks: Asks) -> None:
    """What is on record keeps its names; nothing is on record of this one."""
    alice = asks("alice")
    assert [replay(alice, "Pay").json()["series"] for _ in range(2)] == [[], []]
    workspace.custody.withdraw_names(LOG, activities=["Pay"])
    assert replay(alice, "Pay").status_code == 422


def test_who_was_never_granted_a_log_is_not_told_what_others_were(asks: Asks) -> None:
    assert replay(asks("alice")).status_code == 200
    assert replay(asks("eve", {})).status_code == 404
