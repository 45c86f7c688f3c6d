"""One line of JSON per request, and one per failure: enough to run a service by.

A line has the time, the application, the route's template, the method, the status, the key's
id, the duration, and of the request its id, which its reply has too, and the address it came
from. It never has a body, a query, a path as it was asked for, a case or a value; of a
failure it has the kind and not the words, which may quote data. What libraries say comes in
the same form: of uvicorn's words the templates, of all others' where they were said.

No sender can fill the disk: there are so many lines a minute of each key, address and kind.
What is kept back is counted, here and in the metrics.
"""

from __future__ import annotations

import errno
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TextIO

from pappi.mechanisms.noise import secret_bytes
from pappi.service.limits import Buckets
from pappi.service.metrics import Seen

LOGGER = logging.getLogger("pappi.service")
_FIELDS = "pappi"
_KEPT_BACK = "kept_back"
_ID_BYTES = 8
_LONGEST_ADDRESS = 64
# Lines a minute: of one sender's requests, of all who showed no key, of each kind of event of
# ours, and of each place in a library.
_OF_A_SENDER = 1_200
_WITHOUT_KEY = 6_000
_OF_AN_EVENT = 600
_OF_A_LIBRARY = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """The request that is being answered: an id of our own, and whose it is."""

    id: str
    client: str


_ASKED: ContextVar[Asked | None] = ContextVar("asked", default=None)


@contextmanager
def asked_by(client: str) -> Iterator[Asked]:
    """Every line until the end is about this request, from whichever thread it comes."""
    asked = Asked(secret_bytes(_ID_BYTES).hex(), client[:_LONGEST_ADDRESS])
    token = _ASKED.set(asked)
    try:
        yield asked
    finally:
        _ASKED.reset(token)


def _of_the_request() -> dict[str, str]:
    asked = _ASKED.get()
    return {} if asked is None else {"request": asked.id, "client": asked.client}


class JsonLines(logging.Formatter):
    """Only what was put into the record for us; never a traceback or a message's arguments."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": when, "level": record.levelname.lower(), **_said(record)}
        kept_back = getattr(record, _KEPT_BACK, 0)
        if kept_back:
            line["kept_back"] = kept_back
        return json.dumps(line, default=str)


def _said(record: logging.LogRecord) -> dict[str, Any]:
    if record.name == LOGGER.name:
        return {"event": record.msg, **getattr(record, _FIELDS, {})}
    # Many libraries put values into what should be a template: theirs are not repeated.
    words = record.msg if record.name.startswith("uvicorn") else "library"
    said = {"event": words, "logger": record.name, "at": f"{record.module}.{record.funcName}"}
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        said["error"] = type(error).__name__
    if isinstance(error, OSError):
        said["code"] = errno.errorcode.get(error.errno or 0)
    return said


class Paced(logging.Filter):
    """Keeps lines back of whoever, or whatever, causes too many."""

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
        """Where a line counts, one after the other."""
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


def log_request(seen: Seen) -> None:
    fields = {
        "application": seen.application,
        "method": seen.method if len(seen.method) <= 10 else "other",
        "route": seen.route,
        "status": seen.status,
        "key": seen.key,
        "seconds": round(seen.seconds, 3),
    }
    LOGGER.info("request", extra={_FIELDS: {**_of_the_request(), **fields}})


def log_failure(error: Exception, route: str) -> None:
    """The kind of what went wrong: its words may quote data."""
    code = getattr(error, "code", None)
    fields = {"route": route, "error": type(error).__name__, "code": code}
    LOGGER.error("failure", extra={_FIELDS: {**_of_the_request(), **fields}})


def log_refused(reason: str, client: str) -> None:
    """A connection that was ended before there was a request."""
    LOGGER.warning("refused", extra={_FIELDS: {"reason": reason, "client": client}})


def log_act(event: str, **fields: str | int) -> None:
    """Something the service itself did, such as to start."""
    LOGGER.info(event, extra={_FIELDS: fields})


def write_logs(to: TextIO | None = None) -> None:
    """Send our lines to standard error, and everybody's warnings in the same form."""
    handler = logging.StreamHandler(to or sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(Paced())
    logging.getLogger().handlers = [handler]
    for name, level in ((None, logging.WARNING), (LOGGER.name, logging.INFO)):
        logging.getLogger(name).setLevel(level)
    for name in (LOGGER.name, "uvicorn", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers = []
        logger.propagate = True
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
