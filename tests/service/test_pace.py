"""An analyst's replies leave on the time grid: refusals, failures and answers alike."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from pappi.checkpoint import on_grid, time_to_wait
from pappi.ledger import open_ledger
from pappi.ppinot import parse_catalogue
from pappi.service import Settings
from pappi.service.middleware import OnTheGrid, Passing
from tests.service.served import LOG, SOJOURN, ask, served
from tests.small_logs import claims, workspace_with

GRID = 0.25


@given(passed=st.floats(0, 1_000), grid=st.sampled_from([0.01, 0.25, 1.0]))
def test_the_wait_ends_on_the_grid_and_never_before_its_first_step(
    passed: float, grid: float
) -> None:
    leaves = passed + time_to_wait(passed, grid)
    steps = round(leaves / grid)
    assert steps >= 1
    assert leaves == pytest.approx(steps * grid)
    assert 0 <= leaves - passed <= grid


class Clock:
    """Time that passes only when somebody works or sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("work", "leaves"), [(0.0, 1), (0.1, 1), (0.26, 2), (0.74, 3), (2.1, 9)])
@pytest.mark.parametrize("status", [200, 401, 500])
def test_every_message_of_a_reply_leaves_at_a_multiple_of_the_grid(
    work: float, leaves: int, status: int
) -> None:
    clock = Clock()
    sent: list[float] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        clock.now += work / 2
        response = PlainTextResponse("x" * 1_000, status)

        async def slowly(message: Message) -> None:
            await send(message)
            clock.now += work / 4

        await response(scope, receive, slowly)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: Message) -> None:
        sent.append(clock.now - 100.0)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    asyncio.run(OnTheGrid(app, GRID, Passing(clock, sleep=clock.sleep))(scope, receive, send))
    assert sent == pytest.approx([leaves * GRID] * 2)


@given(work=st.floats(0, 20), fails=st.booleans())
def test_results_go_on_record_at_a_multiple_of_the_grid_after_their_charge(
    work: float, *, fails: bool
) -> None:
    clock = Clock()

    def wait(seconds: float) -> None:
        clock.now += seconds

    expected = pytest.raises(LookupError) if fails else nullcontext()
    with expected, on_grid(GRID, clock, wait)():
        clock.now += work
        if fails:
            raise LookupError
    steps = (clock.now - 100.0) / GRID
    assert steps == pytest.approx(max(1, math.ceil(work / GRID)), abs=1e-6)


def test_a_wall_clock_that_goes_backwards_keeps_no_result_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = itertools.count()
    monkeypatch.setitem(
        open_ledger.__kwdefaults__ or {},
        "clock",
        lambda: datetime(2026, 1, 1, tzinfo=UTC) - timedelta(hours=next(hours)),
    )
    waits: list[float] = []
    workspace = workspace_with(tmp_path / "w", claims(9))
    analyst = workspace.paced(on_grid(GRID, sleep=waits.append)).checkpoint()
    released = analyst.release(parse_catalogue(SOJOURN), "0.1")
    assert len(waits) == 1
    assert 0 <= waits[0] <= GRID
    assert all(each.released for each in analyst.releases(LOG))
    again = analyst.release(parse_catalogue(SOJOURN), "0.1")
    assert [answer.value for answer in again[0].answers] == [
        answer.value for answer in released[0].answers
    ]
    assert len(waits) == 1, "a replay waits for nothing"


def test_replies_of_the_real_application_are_held_back(tmp_path: Path) -> None:
    service = served(tmp_path, Settings(grid_seconds=0.2, failures_per_minute=1))
    key = service.alice
    calls = (
        ("GET", "/health", None, None),
        ("GET", "/logs", None, None),
        ("GET", "/logs", "wrong", None),
        ("GET", "/nothing", key, None),
        ("POST", "/release", key, {"definitions": "no"}),
        ("POST", "/release", key, {"definitions": SOJOURN}),
        ("POST", "/release", key, {"definitions": SOJOURN, "epsilon": "7"}),
    )
    for method, path, given_key, body in calls:
        began = time.monotonic()
        ask(service.analyst, method, path, given_key, body)
        assert time.monotonic() - began >= 0.2
