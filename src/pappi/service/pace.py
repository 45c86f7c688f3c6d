"""An analyst's replies leave on a fixed time grid, so that their times tell little.

A reply is held back until a whole multiple of the grid after the request's arrival, whether
it is an answer or a refusal. How long the work took shows only in how many steps of the grid
it needed. This narrows the channel; it does not close it. What goes on record meanwhile, where
other requests see it, keeps to the same grid from the charge on (`checkpoint/pace.py`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pappi.checkpoint.pace import Clock, Pace, on_grid, time_to_wait
from pappi.service.places import STATIC

Sleep = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Passing:
    """How time passes: on a clock, for a thread that waits, and for a reply that does."""

    clock: Clock = time.monotonic
    wait: Callable[[float], object] = time.sleep
    sleep: Sleep = asyncio.sleep

    def pace(self, grid: float) -> Pace:
        """The pace at which results go on record, for all to see."""
        return on_grid(grid, self.clock, self.wait)


class OnTheGrid:
    """Holds every message of a reply until its time has come, then sends all of them."""

    def __init__(self, app: ASGIApp, grid: float, passing: Passing) -> None:
        self._app = app
        self._grid = grid
        self._passing = passing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # What is the same for everybody at any time needs no pace: pages would appear late.
        if scope["type"] != "http" or scope["path"].startswith(STATIC):
            await self._app(scope, receive, send)
            return
        arrived = self._passing.clock()
        held: list[Message] = []

        async def hold(message: Message) -> None:
            held.append(message)

        await self._app(scope, receive, hold)
        passed = self._passing.clock() - arrived
        await self._passing.sleep(time_to_wait(passed, self._grid))
        for message in held:
            await send(message)
