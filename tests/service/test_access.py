"""Denied by default: every route, for every kind of key; and keys that no longer hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from pappi.service import keys
from pappi.service.keys import GuardedRoute, rights_of
from pappi.service.middleware import Service
from pappi.values import RIGHTS, Epsilon, Right, Role
from tests.service.served import LOG, SOJOURN, Served, ask, served
from tests.small_logs import claims, event_table

PPIS = {"definitions": SOJOURN}
EVENT = {"id": "e", "case": "c", "activity": "Pay", "time": "2024-05-02T10:00:00Z"}
NEW_LOG = {"name": "fed", "first": "2024-05-01", "activities": ["Pay"]}
DAY = "2024-12-01"
OPEN = ("/health", "/ready")


@dataclass(frozen=True, slots=True)
class Call:
    """A request that a key with this right may make, and what it answers then."""

    method: str
    path: str
    right: Right
    body: object = None
    status: int = 200
    asked: str = ""

    @property
    def address(self) -> str:
        return self.asked or self.path.replace("{log}", LOG)


ANALYST = (
    Call("GET", "/openapi.json", Right.PREVIEW),
    Call("GET", "/logs", Right.PREVIEW),
    Call("GET", "/logs/{log}", Right.PREVIEW),
    Call("GET", "/logs/{log}/budget", Right.PREVIEW),
    Call("GET", "/logs/{log}/releases", Right.PREVIEW),
    Call("GET", "/logs/{log}/suggestion", Right.PREVIEW),
    Call("POST", "/understand", Right.PREVIEW, {"text": "number of cases", "log": LOG}),
    Call("POST", "/check", Right.PREVIEW, PPIS),
    Call("POST", "/preview", Right.PREVIEW, PPIS),
    Call("POST", "/advise", Right.PREVIEW, PPIS),
    Call("POST", "/price", Right.PREVIEW, PPIS),
    Call("POST", "/forecast", Right.PREVIEW, PPIS),
    Call("POST", "/rehearse", Right.PREVIEW, PPIS),
    Call("POST", "/release", Right.RELEASE, PPIS),
    Call("POST", "/replay", Right.PREVIEW, PPIS),
    Call("POST", "/compare", Right.PREVIEW, {**PPIS, "periods": ["2024-01", "2024-02"]}),
    Call("GET", "/subscriptions", Right.PREVIEW),
    Call("POST", "/subscriptions", Right.RELEASE, {**PPIS, "until": DAY}),
    Call(
        "DELETE",
        "/subscriptions/{subscription}",
        Right.RELEASE,
        status=404,
        asked="/subscriptions/none",
    ),
    Call("GET", "/saved", Right.PREVIEW),
    Call("POST", "/saved", Right.RELEASE, PPIS),
    Call("DELETE", "/saved/{query}", Right.RELEASE, status=404, asked="/saved/none"),
)
# In an order in which each of them succeeds.
OWNER = (
    Call("GET", "/openapi.json", Right.READ),
    Call("GET", "/logs", Right.READ),
    Call("POST", "/logs", Right.MANAGE, NEW_LOG),
    Call("GET", "/logs/{log}", Right.READ),
    Call("GET", "/logs/{log}/releases", Right.READ),
    Call("POST", "/logs/{log}/events", Right.CAPTURE, [EVENT]),
    Call("POST", "/logs/{log}/seal", Right.MANAGE, {"until": "2024-06-01"}),
    Call("POST", "/logs/{log}/erase", Right.MANAGE, {"cases": ["c"]}),
    Call("PUT", "/logs/{log}/budget", Right.MANAGE, {"per_block": "2"}),
    Call("GET", "/logs/{log}/analysts", Right.READ),
    Call(
        "PUT",
        "/logs/{log}/analysts/{name}",
        Right.MANAGE,
        {"per_block": "0.5"},
        asked="/logs/small/analysts/bob",
    ),
    Call("DELETE", "/logs/{log}/analysts/{name}", Right.MANAGE, asked="/logs/small/analysts/bob"),
    Call("POST", "/exact", Right.MANAGE, PPIS),
    Call("GET", "/keys", Right.READ),
    Call("POST", "/keys", Right.MANAGE, {"role": "analyst", "name": "bob"}),
    Call("DELETE", "/keys/{key}", Right.MANAGE, status=404, asked="/keys/none"),
    Call("GET", "/stop", Right.READ),
    Call("POST", "/stop", Right.MANAGE, {"reason": "an inspection"}),
    Call("POST", "/resume", Right.MANAGE),
    Call("GET", "/trail", Right.READ),
    Call("GET", "/ledger", Right.READ),
    Call("GET", "/metrics", Right.READ),
    Call("POST", "/logs/{log}/rename", Right.MANAGE, {"to": "renamed"}, asked="/logs/fed/rename"),
    Call("DELETE", "/logs/{log}", Right.MANAGE, asked="/logs/renamed"),
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return served(tmp_path_factory.mktemp("served"))


def tables(service: Served) -> Iterator[tuple[Service, Role, str, tuple[Call, ...]]]:
    yield service.analyst, Role.ANALYST, "alice", ANALYST
    yield service.owner, Role.OWNER, "boss", OWNER


def guarded(app: Service) -> Iterator[APIRoute]:
    for route in app.routes:
        assert isinstance(route, APIRoute), f"{route} is a route of another kind"
        # Pages are not for programs, and have tests of their own: test_pages.
        if route.include_in_schema and route.path not in OPEN:
            yield route


def test_every_route_is_in_the_table_with_the_right_it_needs(service: Served) -> None:
    for app, _, _, calls in tables(service):
        found = {(*sorted(r.methods or ()), r.path, *rights_of(r)) for r in guarded(app)}
        assert found == {(call.method, call.path, call.right) for call in calls}


def test_a_route_without_a_right_cannot_be_defined() -> None:
    app = FastAPI()
    app.router.route_class = GuardedRoute
    with pytest.raises(RuntimeError, match="names no right"):
        app.add_api_route("/everything", lambda: None)


def test_no_route_answers_without_a_valid_key_of_its_role_and_right(service: Served) -> None:
    other = {Role.ANALYST: service.boss, Role.OWNER: service.alice}
    for app, role, name, calls in tables(service):
        lacking = {
            right: service.key(role, name, sorted(RIGHTS[role] - {right})) for right in RIGHTS[role]
        }
        for call in calls:
            for key, status in (
                (None, 401),
                ("", 401),
                ("pappi_x_y", 401),
                (service.alice[:-1], 401),
                (other[role], 403),
                (lacking[call.right], 403),
            ):
                reply = ask(app, call.method, call.address, key, call.body)
                assert reply.status_code == status, call
                assert reply.headers["content-type"] == "application/problem+json"


def test_every_route_answers_to_a_key_that_has_just_its_right(tmp_path: Path) -> None:
    service = served(tmp_path)
    for app, role, name, calls in tables(service):
        having = {right: service.key(role, name, [right]) for right in RIGHTS[role]}
        for call in calls:
            reply = ask(app, call.method, call.address, having[call.right], call.body)
            assert reply.status_code == call.status, (call, reply.text)


def test_health_and_readiness_answer_to_anybody(service: Served) -> None:
    for app, *_ in tables(service):
        assert [ask(app, "GET", path).status_code for path in OPEN] == [200, 200]


def test_nobody_sees_documentation_pages_or_the_document_without_a_key(service: Served) -> None:
    for app, *_ in tables(service):
        for path in ("/docs", "/redoc", "/openapi.json"):
            assert ask(app, "GET", path).status_code == 401


def test_a_revoked_key_is_refused_at_once(service: Served) -> None:
    issued = service.workspace.custody.issue_key(Role.ANALYST, "alice")
    assert ask(service.analyst, "GET", "/logs", issued.secret).status_code == 200
    service.workspace.custody.revoke_key(issued.record.id)
    assert ask(service.analyst, "GET", "/logs", issued.secret).status_code == 401


def test_an_expired_key_is_refused_at_once(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    secret = service.workspace.custody.issue_key(Role.ANALYST, "alice", None, soon).secret
    assert ask(service.analyst, "GET", "/logs", secret).status_code == 200
    monkeypatch.setattr(keys, "now", lambda: soon)
    assert ask(service.analyst, "GET", "/logs", secret).status_code == 401


def test_a_key_revoked_while_a_release_is_planned_is_charged_nothing(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is asked for at admission, at the door, and inside the charge's transaction."""
    custody = service.workspace.custody
    issued = custody.issue_key(Role.ANALYST, "alice")
    asked = 0
    still_holds = keys.Bearer.still_holds

    def revoked_after_the_door(bearer: keys.Bearer, register: keys.KeyLookup) -> None:
        nonlocal asked
        asked += 1
        still_holds(bearer, register)
        if asked == 1:
            custody.revoke_key(issued.record.id)

    monkeypatch.setattr(keys.Bearer, "still_holds", revoked_after_the_door)
    before = custody.charges(LOG)
    asking = {**PPIS, "epsilon": "0.017", "anyway": True}
    reply = ask(service.analyst, "POST", "/release", issued.secret, asking)
    assert (reply.status_code, asked) == (401, 2)
    assert custody.charges(LOG) == before


def test_a_log_that_was_not_granted_is_one_that_does_not_exist(tmp_path: Path) -> None:
    service = served(tmp_path)
    key = service.alice
    elsewhere = {"definitions": SOJOURN.replace("log: small", "log: hidden")}
    calls = [
        ("GET", "/logs/hidden", None),
        ("GET", "/logs/hidden/budget", None),
        ("GET", "/logs/hidden/releases", None),
        ("POST", "/check", elsewhere),
        ("POST", "/preview", elsewhere),
        ("POST", "/price", elsewhere),
        ("POST", "/forecast", elsewhere),
        ("POST", "/rehearse", elsewhere),
        ("POST", "/release", elsewhere),
        ("POST", "/replay", elsewhere),
        ("POST", "/subscriptions", {**elsewhere, "until": DAY}),
        ("GET", "/saved?log=hidden", None),
        ("POST", "/saved", elsewhere),
    ]

    def replies() -> list[tuple[int, str]]:
        found = [ask(service.analyst, method, path, key, body) for method, path, body in calls]
        return [(reply.status_code, reply.text) for reply in found]

    without = replies()
    service.workspace.import_log(event_table(claims(3)), "hidden")
    service.workspace.custody.grant_analyst("hidden", "bob", Epsilon.of(1))
    assert replies() == without
    assert {status for status, _ in without} == {404}


def test_the_stop_switch_refuses_every_question_and_resuming_answers_again(
    tmp_path: Path,
) -> None:
    service = served(tmp_path)
    key, boss = service.alice, service.boss
    asked = ("/check", "/preview", "/rehearse", "/release")
    questions = tuple((path, PPIS) for path in asked)
    assert ask(service.owner, "POST", "/stop", boss, {"reason": "audit"}).status_code == 200
    for path, body in questions:
        reply = ask(service.analyst, "POST", path, key, body)
        assert (reply.status_code, reply.json()["code"]) == (503, "stopped")
    assert ask(service.owner, "POST", "/resume", boss).status_code == 200
    for path, body in questions:
        assert ask(service.analyst, "POST", path, key, body).status_code == 200
