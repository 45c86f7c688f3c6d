"""Rates: how often somebody may do something, per process.

Behind a load balancer, each process has its own.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from pappi.service.problems import Fault

_REMEMBERED = 10_000


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
