"""The base of every page of the console: custody in the visitor's name, rights, the stop banner."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import Path, Query
from starlette.responses import RedirectResponse, Response

from pappi.service.keys import Bearer
from pappi.service.web.forms import NO_ERROR, FormError
from pappi.service.web.rendering import page
from pappi.values import Right

PAGE = 50
"""Rows of a list on one page."""

Done = Annotated[str, Query(max_length=40)]
Before = Annotated[int | None, Query(ge=1, le=2**53)]
EntryNumber = Annotated[int, Path(le=2**53)]

# The address only has the name of one of these sentences, so that nobody can make the console
# say something else with a link.
_DONE = {
    "resumed": "Answering again.",
    "granted": "The budget is set.",
    "shared": "The analyst can now query this log.",
    "withdrawn": "The analyst can no longer query this log, and their subscriptions have ended.",
    "renamed": "The log has its new name.",
    "removed": "The log is removed, and its name is free.",
    "emptied": "The events are deleted. What was released stays on record.",
    "revoked": "The key is revoked. Its sessions have ended.",
}


class ConsoleView:
    """One method for each page, in the classes derived from it."""

    def _page(
        self, template: str, bearer: Bearer, form_error: FormError = NO_ERROR, **context: object
    ) -> Response:
        status = HTTPStatus.BAD_REQUEST if form_error.form else HTTPStatus.OK
        return page(
            f"console/{template}",
            status,
            visitor=bearer.name,
            may_manage=Right.MANAGE in bearer.record.rights,
            stopped=bearer.custody.stopped(),
            form_error=form_error,
            **{"done": "", **context},
        )


def said(done: str) -> str:
    """The sentence that confirms an act."""
    return _DONE.get(done, "")


def back_to(path: str, done: str = "") -> Response:
    """Redirect after a form, to a page that can be reloaded without repeating the act."""
    return RedirectResponse(f"{path}?done={done}" if done else path, HTTPStatus.SEE_OTHER)


def log_address(log: str) -> str:
    return f"/console/logs/{quote(log, safe='')}"


def shown_time(at: str) -> str:
    """A time of the journal for people; all are UTC.

    >>> shown_time("2026-11-15T20:13:35.123456+00:00")
    '2026-11-15 20:13'
    """
    return datetime.fromisoformat(at).astimezone(UTC).strftime("%Y-%m-%d %H:%M")
