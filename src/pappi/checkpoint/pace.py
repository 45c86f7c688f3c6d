"""When a result goes on record: a whole multiple of a fixed time after its charge.

Whoever may ask also sees what is on record: lists of past releases, replays, prices that fall
to nothing, the numbers of entries in the journal. If results went there as soon as they are
drawn, polling would tell how long reading the cases took. So they wait for the next step of a
time grid that begins with the charge. Everything that depends on the record then changes on
that grid, without having to know of it: what is shown, what a second request finds, which
entry of the journal comes first, and when a waiting request gets its turn.

What is left is how many steps were needed. A process that has no pace records at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeAlias

GRID_SECONDS = 0.25

Clock: TypeAlias = Callable[[], float]
"""Seconds that only ever grow: no change of the wall clock makes a result wait longer."""

Pace: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Wraps the reading of cases, and ends when its result may go on record."""

AT_ONCE: Pace = nullcontext


def time_to_wait(passed: float, grid: float) -> float:
    """From now to the next multiple of the grid; nothing ends before the first.

    >>> time_to_wait(0.125, 0.25), time_to_wait(0.25, 0.25), time_to_wait(0.5625, 0.25)
    (0.125, 0.0, 0.1875)
    """
    steps = max(1, math.ceil(passed / grid))
    return max(0.0, steps * grid - passed)


def on_grid(
    seconds: float = GRID_SECONDS,
    clock: Clock = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> Pace:
    """The pace of a grid with this many seconds; failures end on it as well."""

    @contextmanager
    def pace() -> Iterator[None]:
        began = clock()
        try:
            yield
        finally:
            sleep(time_to_wait(clock() - began, seconds))

    return pace
