"""Limits on requests: rates, sizes of bodies, concurrency.

All limits depend on the requests only. They hold per process: behind a load balancer, each
process has its own.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pappi.service.problems import Fault
from pappi.service.settings import Settings

_REMEMBERED = 10_000
# Enough for the sign-in form: a key and the next page.
_WITHOUT_KEY = 10_000


class Buckets:
    """A token bucket for each name: bursts of a minute's worth, then as fast as they refill.

    >>> now = 0.0
    >>> buckets = Buckets(2, clock=lambda: now)
    >>> buckets.wait_for("a"), buckets.wait_for("a"), buckets.wait_for("a")
    (0.0, 0.0, 30.0)
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._full = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_for(self, name: str) -> float:
        """Take a token: returns 0, or the seconds until there will be one."""
        now = self._clock()
        tokens, since = self._left.pop(name, (self._full, now))
        tokens = min(self._full, tokens + (now - since) * self._per_second)
        has_token = tokens >= 1
        self._left[name] = (tokens - 1 if has_token else tokens, now)
        if len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)
        return 0.0 if has_token else (1 - tokens) / self._per_second


def too_many(seconds: float) -> Fault:
    wait = max(1, math.ceil(seconds))
    return Fault(
        "too-many-requests",
        "too many requests in a short time",
        f"wait {wait} s before the next",
        headers={"Retry-After": str(wait)},
    )


BEARER = "pappi.bearer"
"""The key of the bearer in a request's scope, once it is admitted."""


class _Gone(Exception):
    """The sender hung up before the end of the body."""


class Bodies:
    """Reads a whole body, of any framing, up to a size and within a time.

    A caller without a key can send no more than a sign-in form.
    """

    def __init__(self, app: ASGIApp, most_bytes: int, seconds: float) -> None:
        self._app = app
        self._most = most_bytes
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        most = self._most if BEARER in scope else min(self._most, _WITHOUT_KEY)
        length = Headers(scope=scope).get("content-length", "")
        announced = length if length.isascii() and length.isdigit() and len(length) < 16 else 0
        try:
            async with asyncio.timeout(self._seconds):
                body = None if int(announced) > most else await _read(receive, most)
        except _Gone:
            return  # the body is incomplete, and nobody waits for a reply
        except TimeoutError:
            slow = Fault("too-slow", f"the body must arrive within {self._seconds:g} s")
            await slow.response()(scope, receive, send)
            return
        if body is None:
            # The rest of the body is not read, so the connection cannot be used again.
            too_large = Fault(
                "too-large",
                f"the body may have at most {most:,} bytes",
                "send less",
                headers={"Connection": "close"},
            )
            await too_large.response()(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)


async def _read(receive: Receive, most: int) -> bytes | None:
    """The body, or None as soon as it is too large."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        body += message.get("body", b"")
        if len(body) > most:
            return None
        more = message.get("more_body", False)
    return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body in one message, then whatever else is received."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay


class Turns:
    """A limited number of requests at once; some others wait, and the rest must try later.

    Both applications share the process's cores: the owner's stop switch must not have to wait
    until fifty analysts have their answers. Requests that evaluate PPIs have turns of their own,
    so that a preview, which does not, never waits behind them. And heavy users wait behind
    themselves: of one key only a few requests are worked on, and a few more wait.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._releasing = asyncio.Semaphore(settings.releases_at_once)
        self._others = asyncio.Semaphore(settings.analysts_at_once)
        self._room = settings.analysts_waiting
        self._of_one = settings.one_at_once
        self._most_of_one = settings.one_at_once + settings.one_waiting
        self._own: dict[str, tuple[asyncio.Semaphore, list[None]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if BEARER not in scope:
            await self._app(scope, receive, send)
            return
        turns = self._releasing if scope["path"] in _RELEASING else self._others
        key = scope[BEARER].record.id
        own_turns, present = self._own.setdefault(key, (asyncio.Semaphore(self._of_one), []))
        if len(present) >= self._most_of_one or (turns.locked() and self._room == 0):
            busy = Fault(
                "busy", "too many requests are already waiting", headers={"Retry-After": "2"}
            )
            await busy.response()(scope, receive, send)
            return
        present.append(None)
        try:
            async with own_turns:
                self._room -= 1
                try:
                    await turns.acquire()
                finally:
                    self._room += 1
                try:
                    await self._app(scope, receive, send)
                finally:
                    turns.release()
        finally:
            present.pop()
            if not present:
                self._own.pop(key, None)


_RELEASING = frozenset({"/release", "/rehearse", "/workbench/release", "/workbench/rehearse"})
