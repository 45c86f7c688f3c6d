"""A world in which time passes only when everybody waits, and so the same way every time.

Each request has a thread of its own, and one of them runs at a time. Whoever waits hands over
to the one whose moment comes next. Everything that the service reads from a clock is this
world's time, so that a whole history of requests can be compared with another, exactly.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import httpx
from starlette.types import ASGIApp

from pappi.service.middleware import Passing

_PATIENCE = 900.0
HERE = "http://pappi"


class World:
    """Seconds since it began; tests use fractions of two, which floats hold exactly."""

    def __init__(self) -> None:
        self.now = 0.0
        self.worked: list[float] = []
        """When the work on each request was over, and its turn free for another."""
        self._waiting: list[tuple[float, int, threading.Event]] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    @property
    def passing(self) -> Passing:
        async def sleep(seconds: float) -> None:
            self.worked.append(self.now)
            self.wait(seconds)  # in an event loop that belongs to one request alone

        return Passing(lambda: self.now, self.wait, sleep)

    def wall_clock(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now)

    def wait(self, seconds: float) -> None:
        moment = self._moment(self.now + seconds)
        self._hand_over()
        _require(moment)

    def run(self, acts: Sequence[tuple[float, Callable[[], None]]]) -> None:
        """Do each of the acts from its own moment on, until all of them are done."""
        failures: list[BaseException] = []

        def begin(moment: threading.Event, act: Callable[[], None]) -> None:
            try:
                _require(moment)
                act()
            except BaseException as failure:  # noqa: BLE001 - raised again below
                failures.append(failure)
            finally:
                self._hand_over()

        moments = [(self._moment(when), act) for when, act in acts]
        threads = [threading.Thread(target=begin, args=each, daemon=True) for each in moments]
        for thread in threads:
            thread.start()
        self._hand_over()
        for thread in threads:
            thread.join(_PATIENCE)
        if failures:
            raise failures[0]

    def _moment(self, when: float) -> threading.Event:
        found = threading.Event()
        with self._lock:
            heapq.heappush(self._waiting, (when, next(self._numbers), found))
        return found

    def _hand_over(self) -> None:
        with self._lock:
            if self._waiting:
                when, _, moment = heapq.heappop(self._waiting)
                self.now = max(self.now, when)
                moment.set()


def _require(moment: threading.Event) -> None:
    assert moment.wait(_PATIENCE), "nobody handed over"


@dataclass(frozen=True, slots=True)
class Ask:
    """A request, and the moment it comes in."""

    when: float
    method: str
    path: str
    headers: Mapping[str, str]
    json: object = None
    form: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """All there is to see of a request: what came back, and when."""

    when: float
    method: str
    path: str
    left: float
    status: int
    body: str


def history(world: World, asked: Sequence[tuple[ASGIApp, Ask]]) -> list[Seen]:
    """Everything that was seen of these requests, in the order they are given in."""
    seen: dict[int, Seen] = {}

    def act(number: int, app: ASGIApp, ask: Ask) -> None:
        reply = asyncio.run(_sent(app, ask))
        seen[number] = Seen(
            ask.when, ask.method, ask.path, world.now, reply.status_code, reply.text
        )

    def acting(number: int, app: ASGIApp, ask: Ask) -> Callable[[], None]:
        return lambda: act(number, app, ask)

    world.run([(ask.when, acting(n, app, ask)) for n, (app, ask) in enumerate(asked)])
    return [seen[number] for number in range(len(asked))]


async def _sent(app: ASGIApp, ask: Ask) -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
        return await client.request(
            ask.method, ask.path, headers=ask.headers, json=ask.json, data=ask.form
        )
