"""One line of JSON per request, and one per failure: enough to run a service by.

A line has the time, the application, the route's template, the method, the status, the key's
id and the duration. It never has a body, a query, a path as it was asked for, a case or a
value; of a failure it has the kind and not the words, which may quote data.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from pappi.service.metrics import Seen

LOGGER = logging.getLogger("pappi.service")
_FIELDS = "pappi"


class JsonLines(logging.Formatter):
    """Only what was put into the record for us; never a traceback or a message's arguments."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields: dict[str, Any] = getattr(record, _FIELDS, {})
        line = {"time": when, "level": record.levelname.lower(), "event": record.msg, **fields}
        return json.dumps(line, default=str)


def log_request(seen: Seen) -> None:
    fields = {
        "application": seen.application,
        "method": seen.method if len(seen.method) <= 10 else "other",
        "route": seen.route,
        "status": seen.status,
        "key": seen.key,
        "seconds": round(seen.seconds, 3),
    }
    LOGGER.info("request", extra={_FIELDS: fields})


def log_failure(error: Exception, route: str) -> None:
    """The kind of what went wrong: its words may quote data."""
    code = getattr(error, "code", None)
    fields = {"route": route, "error": type(error).__name__, "code": code}
    LOGGER.error("failure", extra={_FIELDS: fields})


def log_act(event: str, **fields: str | int) -> None:
    """Something the service itself did, such as to start."""
    LOGGER.info(event, extra={_FIELDS: fields})


def write_logs(to: TextIO | None = None) -> None:
    """Send our lines to standard error, and uvicorn's warnings in the same form."""
    handler = logging.StreamHandler(to or sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("pappi.service", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
