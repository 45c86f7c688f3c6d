"""One line of JSON per request, and one per failure: enough to operate a service.

A line has the time, the application, the route's template, the method, the status, the key's
id, the duration, the client's address and the request's id, which its reply has too. It never
has a body, a query, a requested path, a case or a value; for a failure it has the type and not
the message, which may quote data. Messages of libraries come in the same form: of uvicorn's the
templates, of all others only where they were logged.

No sender can fill the disk: lines per minute are limited for each key, address and kind.
Dropped lines are counted, here and in the metrics.
"""

from __future__ import annotations

import errno
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from pappi.mechanisms import secret_bytes
from pappi.service.rates import Buckets

LOGGER = logging.getLogger("pappi.service")
_FIELDS = "pappi"
_KEPT_BACK = "kept_back"
_ID_BYTES = 8
_LONGEST_ADDRESS = 64
# Lines per minute: for one sender's requests, for all requests without a key, for each kind of our
# own events, and for each place in a library.
_OF_A_SENDER = 1_200
_WITHOUT_KEY = 6_000
_OF_AN_EVENT = 600
_OF_A_LIBRARY = 60


# The request that is being answered: its id, and its client.
_CURRENT: ContextVar[Mapping[str, str] | None] = ContextVar("request", default=None)


@contextmanager
def request_from(client: str) -> Iterator[str]:
    """Lines logged in this context, from any thread, carry the request's new id."""
    name = secret_bytes(_ID_BYTES).hex()
    token = _CURRENT.set({"request": name, "client": client[:_LONGEST_ADDRESS]})
    try:
        yield name
    finally:
        _CURRENT.reset(token)


def _log(level: int, event: str, **fields: str | float | None) -> None:
    """A line of our own, with the request that is being answered, if any."""
    LOGGER.log(level, event, extra={_FIELDS: {**(_CURRENT.get() or {}), **fields}})


class JsonFormatter(logging.Formatter):
    """Writes only our own fields of a record; never a traceback or a message's arguments."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": when, "level": record.levelname.lower(), **_fields_of(record)}
        kept_back = getattr(record, _KEPT_BACK, 0)
        if kept_back:
            line["kept_back"] = kept_back
        return json.dumps(line, default=str)


def _fields_of(record: logging.LogRecord) -> dict[str, Any]:
    if record.name == LOGGER.name:
        return {"event": record.msg, **getattr(record, _FIELDS, {})}
    # Many libraries put values into what should be a template, so those are not repeated.
    words = record.msg if record.name.startswith("uvicorn") else "library"
    line = {"event": words, "logger": record.name, "at": f"{record.module}.{record.funcName}"}
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        line["error"] = type(error).__name__
    if isinstance(error, OSError):
        line["code"] = errno.errorcode.get(error.errno or 0)
    return line


class Paced(logging.Filter):
    """Drops lines from any source that causes too many."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._senders = Buckets(_OF_A_SENDER, clock)
        self._without_key = Buckets(_WITHOUT_KEY, clock)
        self._events = Buckets(_OF_AN_EVENT, clock)
        self._libraries = Buckets(_OF_A_LIBRARY, clock)
        self._kept_back = 0
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        with self._lock:
            if any(buckets.wait_for(name) for buckets, name in self._counted(record)):
                self._kept_back += 1
                return False
            setattr(record, _KEPT_BACK, self._kept_back)
            self._kept_back = 0
            return True

    def _counted(self, record: logging.LogRecord) -> Iterator[tuple[Buckets, str]]:
        """The buckets a line counts in, one after the other."""
        fields = getattr(record, _FIELDS, {})
        if record.name != LOGGER.name:
            yield self._libraries, f"{record.name} {record.pathname} {record.lineno}"
        elif record.msg != "request":
            yield self._events, f"{record.msg} {fields.get('reason')} {fields.get('error')}"
        elif fields.get("key") is not None:
            yield self._senders, f"key {fields['key']}"
        else:
            yield self._senders, f"address {fields.get('client')}"
            yield self._without_key, ""


def log_request(request: AnsweredRequest) -> None:
    _log(
        logging.INFO,
        "request",
        application=request.application,
        method=request.method if len(request.method) <= 10 else "other",
        route=request.route,
        status=request.status,
        key=request.key,
        seconds=round(request.seconds, 3),
    )


def log_failure(error: Exception, route: str) -> None:
    """Only the type of an error: its message may quote data."""
    code = getattr(error, "code", None)
    _log(logging.ERROR, "failure", route=route, error=type(error).__name__, code=code)


def log_refused(reason: str, client: str) -> None:
    """A connection that was ended before there was a request."""
    _log(logging.WARNING, "refused", reason=reason, client=client)


def log_act(event: str, **fields: str | int) -> None:
    """Something the service itself did, such as starting."""
    _log(logging.INFO, event, **fields)


def write_logs(to: TextIO | None = None) -> None:
    """Send our lines to standard error, and all warnings in the same form."""
    handler = logging.StreamHandler(to or sys.stderr)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(Paced())
    logging.getLogger().handlers = [handler]
    for name, level in ((None, logging.WARNING), (LOGGER.name, logging.INFO)):
        logging.getLogger(name).setLevel(level)
    for name in (LOGGER.name, "uvicorn", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers = []
        logger.propagate = True
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


# --- counts and durations of requests, for Prometheus -----------------------------------------
#
# Labels are the application, the route's template, the method and the status: nothing of a
# request's content, nothing derived from data. Durations are measured outside the time grid,
# so those of analysts' requests lie on it.

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_METHODS = frozenset({"GET", "POST", "PUT", "DELETE"})
_STEPS = (1, 2, 4, 8, 20, 40, 120, 240)
_OWNER_SECONDS = (0.005, 0.02, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """One request that was answered, with what may be logged of it."""

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

    def count(self, request: AnsweredRequest) -> None:
        # A method is whatever the sender wrote: an unknown one must not make a new label.
        method = request.method if request.method in _METHODS else "other"
        self._requests.labels(request.application, request.route, method, str(request.status)).inc()
        analyst = request.application == "analyst"
        durations = self._analyst_seconds if analyst else self._owner_seconds
        durations.labels(request.route).observe(request.seconds)

    def text(self) -> str:
        return generate_latest(self._registry).decode("utf-8")
