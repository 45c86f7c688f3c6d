"""Counts and durations of requests, for Prometheus.

Labels are the application, the route's template, the method and the status: nothing of a
request's content, nothing derived from data. Durations are measured outside the time grid,
so those of analysts' requests lie on it.
"""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_METHODS = frozenset({"GET", "POST", "PUT", "DELETE"})
_STEPS = (1, 2, 4, 8, 20, 40, 120, 240)
_OWNER_SECONDS = (0.005, 0.02, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True, slots=True)
class Seen:
    """One request that was answered, as far as anyone may know of it."""

    application: str
    route: str
    method: str
    status: int
    key: str | None
    seconds: float


class Metrics:
    """The counters of one process, for both applications."""

    def __init__(self, grid_seconds: float) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "pappi_requests",
            "Requests answered.",
            ("application", "route", "method", "status"),
            registry=self._registry,
        )
        self._analyst_seconds = Histogram(
            "pappi_analyst_request_seconds",
            "Time until a reply left, on the time grid.",
            ("route",),
            buckets=tuple(step * grid_seconds for step in _STEPS),
            registry=self._registry,
        )
        self._owner_seconds = Histogram(
            "pappi_owner_request_seconds",
            "Time until a reply left.",
            ("route",),
            buckets=_OWNER_SECONDS,
            registry=self._registry,
        )

    def count(self, seen: Seen) -> None:
        # A method is the sender's own word: an unknown one must not make a new label.
        method = seen.method if seen.method in _METHODS else "other"
        self._requests.labels(seen.application, seen.route, method, str(seen.status)).inc()
        analyst = seen.application == "analyst"
        durations = self._analyst_seconds if analyst else self._owner_seconds
        durations.labels(seen.route).observe(seen.seconds)

    def text(self) -> str:
        return generate_latest(self._registry).decode("utf-8")
