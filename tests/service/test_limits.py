"""Rates, sizes and numbers at once: refused politely, whatever the framing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pappi.errors import UsageError
from pappi.service import Settings
from pappi.service.keys import BEARER, Bearer
from pappi.service.middleware import Bodies, Turns
from pappi.service.rates import Buckets
from pappi.session import Workspace
from pappi.values import KeyRecord, Role
from tests.service.served import SOJOURN, ask, served


def test_a_setting_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="body_seconds"):
        Settings(body_seconds=0)


def test_a_key_may_ask_a_minutes_worth_at_once_and_then_waits(tmp_path: Path) -> None:
    service = served(tmp_path, Settings(grid_seconds=0.001, requests_per_minute=3))
    key, other = service.alice, service.alice
    replies = [ask(service.analyst, "GET", "/logs", key) for _ in range(5)]
    assert [reply.status_code for reply in replies] == [200, 200, 200, 429, 429]
    assert 1 <= int(replies[-1].headers["retry-after"]) <= 20
    assert replies[-1].json()["code"] == "too-many-requests"
    assert ask(service.analyst, "GET", "/logs", other).status_code == 200


def test_guessing_keys_is_slowed_down_and_right_keys_still_work(tmp_path: Path) -> None:
    service = served(tmp_path, Settings(grid_seconds=0.001, failures_per_minute=2))
    found = [ask(service.owner, "GET", "/logs", f"pappi_a_{n}").status_code for n in range(4)]
    assert found == [401, 401, 429, 429]
    assert ask(service.owner, "GET", "/logs", service.boss).status_code == 200


def test_tokens_come_back_with_time() -> None:
    now = [0.0]
    buckets = Buckets(60, clock=lambda: now[0])
    assert [buckets.wait_for("a") for _ in range(61)][-1] == pytest.approx(1)
    now[0] += 2
    assert [buckets.wait_for("a") == 0 for _ in range(3)] == [True, True, False]


def test_what_is_remembered_is_bounded() -> None:
    buckets = Buckets(1)
    for number in range(10_500):
        buckets.wait_for(str(number))
    assert len(buckets._left) == 10_000


def test_a_long_body_is_refused_with_and_without_its_length(tmp_path: Path) -> None:
    service = served(tmp_path, Settings(grid_seconds=0.001, analyst_body_bytes=500))
    key = service.alice

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(10):
            yield b" " * 100

    announced = ask(service.analyst, "POST", "/release", key, content=b" " * 1_000)
    chunked = ask(service.analyst, "POST", "/release", key, content=chunks())
    assert "content-length" not in chunked.request.headers
    assert [announced.status_code, chunked.status_code] == [413, 413]
    assert announced.json() == chunked.json()
    fits = ask(service.analyst, "POST", "/release", key, {"definitions": SOJOURN})
    assert fits.status_code == 200


def test_a_body_that_never_ends_is_given_up() -> None:
    async def forever() -> Message:
        await asyncio.sleep(60)
        raise AssertionError("nobody waits so long")

    assert _status_of(Bodies(_fine, 100, 0.01), forever) == 408


def test_a_body_reaches_the_application_in_one_piece() -> None:
    seen: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(await receive())
        await _fine(scope, receive, send)

    pieces: list[Message] = [
        {"type": "http.request", "body": b"a", "more_body": True},
        {"type": "http.request", "body": b"b", "more_body": False},
    ]

    async def receive() -> Message:
        return pieces.pop(0)

    assert _status_of(Bodies(app, 100, 1), receive) == 200
    assert seen == [{"type": "http.request", "body": b"ab", "more_body": False}]


def turns_of(
    app: ASGIApp, releasing: int, others: int, waiting: int, of_one: int, queued: int
) -> Turns:
    settings = Settings(
        releases_at_once=releasing,
        analysts_at_once=others,
        analysts_waiting=waiting,
        one_at_once=of_one,
        one_waiting=queued,
    )
    return Turns(app, settings)


def test_only_so_many_are_worked_on_at_once_and_so_many_wait() -> None:
    working, most = 0, 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal working, most
        working += 1
        most = max(most, working)
        await asyncio.sleep(0.01)
        working -= 1
        await _fine(scope, receive, send)

    async def crowd() -> list[int]:
        turns = asked_by(
            ["alice", "bob", "carol", "dan", "eve", "fay", "gus", "hal"],
            turns_of(app, 1, 2, 3, 1, 1),
        )
        transport = httpx.ASGITransport(turns)
        async with httpx.AsyncClient(transport=transport, base_url="http://pappi") as client:
            replies = await asyncio.gather(*(client.get("/") for _ in range(8)))
        return sorted(reply.status_code for reply in replies)

    assert asyncio.run(crowd()) == [200] * 5 + [503] * 3
    assert most == 2


def test_what_reads_no_log_does_not_wait_behind_what_does() -> None:
    async def crowd() -> list[str]:
        held, done = asyncio.Event(), list[str]()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["path"] == "/release":
                await held.wait()
            done.append(scope["path"])
            await _fine(scope, receive, send)

        turns = asked_by(["alice", "bob", "carol", "dan"], turns_of(app, 1, 1, 9, 1, 1))
        transport = httpx.ASGITransport(turns)
        async with httpx.AsyncClient(transport=transport, base_url="http://pappi") as client:
            releases = [asyncio.create_task(client.post("/release")) for _ in range(3)]
            await asyncio.sleep(0)
            await client.post("/preview")
            held.set()
            await asyncio.gather(*releases)
        return done

    assert asyncio.run(crowd()) == ["/preview", "/release", "/release", "/release"]


def test_of_one_key_few_are_worked_on_and_few_wait_and_others_do_not_notice() -> None:
    working, most = 0, 0

    async def crowd() -> tuple[list[int], int]:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            nonlocal working, most
            working += 1
            most = max(most, working)
            await asyncio.sleep(0.01)
            working -= 1
            await _fine(scope, receive, send)

        turns = turns_of(app, releasing=9, others=9, waiting=99, of_one=2, queued=3)
        names = ["eve"] * 9 + ["alice"]
        transport = httpx.ASGITransport(asked_by(names, turns))
        async with httpx.AsyncClient(transport=transport, base_url="http://pappi") as client:
            replies = await asyncio.gather(*(client.get("/") for _ in names))
        *eves, alices = (reply.status_code for reply in replies)
        return sorted(eves), alices

    assert asyncio.run(crowd()) == ([200] * 5 + [503] * 4, 200)
    assert most == 3


def test_a_body_that_breaks_off_is_no_body() -> None:
    """Half a batch of events must not be taken for a whole one."""
    seen: list[Message] = []

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        seen.append(await receive())

    pieces: list[Message] = [
        {"type": "http.request", "body": b"half of it", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return pieces.pop(0)

    async def send(_message: Message) -> None:
        raise AssertionError("nobody is there to be told")

    scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
    asyncio.run(Bodies(app, 100, 1)(scope, receive, send))
    assert seen == []


def asked_by(names: list[str], app: ASGIApp) -> ASGIApp:
    """Lets each request come with the key of the next name, as admission does."""
    left = iter(names)

    async def admitted(scope: Scope, receive: Receive, send: Send) -> None:
        name = next(left)
        now = datetime(2025, 1, 1, tzinfo=UTC)
        key = KeyRecord(name, Role.ANALYST, name, frozenset(), now, None)
        scope[BEARER] = Bearer(key, "", cast("Workspace", None))
        await app(scope, receive, send)

    return admitted


async def _fine(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("fine")(scope, receive, send)


def _status_of(app: ASGIApp, receive: Receive) -> int:
    found: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    async def run() -> None:
        scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
        await app(scope, receive, send)

    asyncio.run(run())
    return found[0]


def test_without_a_key_no_more_is_read_than_a_form_to_sign_in_with() -> None:
    def pieces() -> Receive:
        left: list[Message] = [
            {"type": "http.request", "body": b"x" * 5_001, "more_body": more}
            for more in (False, True)
        ]

        async def receive() -> Message:
            return left.pop()

        return receive

    bodies = Bodies(_fine, 10**6, 1)
    assert _status_of(bodies, pieces()) == 413
    assert _status_of(asked_by(["a"], bodies), pieces()) == 200


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/health"])
def test_a_body_without_a_key_is_refused_before_it_is_read(tmp_path: Path, path: str) -> None:
    service = served(tmp_path)
    headers = {"Origin": "http://pappi"}
    for app in (service.analyst, service.owner):
        reply = ask(app, "POST", path, content=b"x" * 10_001, headers=headers)
        assert reply.status_code == 413
