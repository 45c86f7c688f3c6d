"""An analyst's replies leave on a fixed time grid, so that their times tell little.

A reply is held back until a whole multiple of the grid after the request's arrival, whether
it is an answer or a refusal. How long the work took shows only in how many steps of the grid
it needed. This narrows the channel; it does not close it.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pappi.service.places import STATIC

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[object]]


def time_to_wait(passed: float, grid: float) -> float:
    """From now to the next multiple of the grid; a reply never leaves before the first.

    >>> time_to_wait(0.125, 0.25), time_to_wait(0.25, 0.25), time_to_wait(0.5625, 0.25)
    (0.125, 0.0, 0.1875)
    """
    steps = max(1, math.ceil(passed / grid))
    return max(0.0, steps * grid - passed)


class OnTheGrid:
    """Holds every message of a reply until its time has come, then sends all of them."""

    def __init__(
        self,
        app: ASGIApp,
        grid: float,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._app = app
        self._grid = grid
        self._clock = clock
        self._sleep = sleep

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # What is the same for everybody at any time needs no pace: pages would appear late.
        if scope["type"] != "http" or scope["path"].startswith(STATIC):
            await self._app(scope, receive, send)
            return
        arrived = self._clock()
        held: list[Message] = []

        async def hold(message: Message) -> None:
            held.append(message)

        await self._app(scope, receive, hold)
        await self._sleep(time_to_wait(self._clock() - arrived, self._grid))
        for message in held:
            await send(message)
