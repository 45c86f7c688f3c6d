"""Every failure as problem+json (RFC 9457), in words that are safe for the caller.

A body has `type` (a URN of the code), `title`, `status`, `code`, `detail`, `hint` and, if several
things are wrong, `problems` with their places. An analyst never sees an exception's own text:
what is not one of PaPPI's errors has a fixed sentence, and so has everything about the
workspace itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from pappi.errors import DefinitionError, PappiError, harmless
from pappi.session import to_wire

MEDIA_TYPE = "application/problem+json"
_MOST_PROBLEMS = 100


class Audience(StrEnum):
    """Which of the two applications it is."""

    ANALYST = "analyst"
    OWNER = "owner"


_STATUS_AND_TITLE: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "usage": (400, "The request is not valid"),
        "malformed": (400, "The request cannot be read"),
        "not-authenticated": (401, "No valid key"),
        "budget-exceeded": (402, "Not enough budget left"),
        "not-allowed": (403, "This key lacks the right"),
        "not-found": (404, "Not found"),
        "unknown-log": (404, "No such log"),
        "method-not-allowed": (405, "Method not allowed"),
        "too-slow": (408, "The request took too long to arrive"),
        "frozen": (409, "This block is frozen"),
        "conflict": (409, "Conflict with the current state"),
        "too-large": (413, "The request is too large"),
        "unsupported-media-type": (415, "Unsupported format"),
        "misdirected": (421, "Unknown host name"),
        "invalid-request": (422, "The request has the wrong form"),
        "input": (422, "The data cannot be read"),
        "log-format": (422, "The events cannot be read"),
        "not-understood": (422, "No reading fits this sentence"),
        "definition": (422, "The definitions have problems"),
        "refused": (422, "This is refused"),
        "not-releasable": (422, "This cannot be released"),
        "tells-nothing": (422, "This would tell you nothing"),
        "too-many-requests": (429, "Too many requests"),
        "internal": (500, "Internal error"),
        "release-failed": (500, "The release was not completed"),
        "workspace": (503, "The service cannot answer now"),
        "ledger-unavailable": (503, "The service cannot answer now"),
        "ledger-broken": (503, "The service cannot answer now"),
        "ledger-rolled-back": (503, "The service cannot answer now"),
        "stopped": (503, "The owner has stopped all releases"),
        "busy": (503, "The service is busy"),
        "stopping": (503, "The service is stopping"),
    }
)
CODES = frozenset(_STATUS_AND_TITLE)
_LATER = "try again later; tell the owner if it keeps failing"
_UNWELL = "the service cannot answer right now"
# Errors about the workspace itself name paths and causes, which only the owner may see.
_ABOUT_THE_WORKSPACE = frozenset(
    {"workspace", "ledger-unavailable", "ledger-broken", "ledger-rolled-back"}
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure, ready to be sent."""

    code: str
    detail: str
    hint: str = ""
    problems: tuple[Mapping[str, Any], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        return _STATUS_AND_TITLE[self.code][0]

    def record(self) -> dict[str, Any]:
        status, title = _STATUS_AND_TITLE[self.code]
        record: dict[str, Any] = {
            "type": f"urn:pappi:error:{self.code}",
            "title": title,
            "status": status,
            "code": self.code,
            "detail": self.detail,
            "hint": self.hint,
        }
        return {**record, "problems": list(self.problems)} if self.problems else record

    def response(self) -> Response:
        return JSONResponse(self.record(), self.status, self.headers, MEDIA_TYPE)


INTERNAL = Fault("internal", "the service failed; this is a bug in pappi", _LATER)
MISDIRECTED = Fault(
    "misdirected",
    "the service does not answer to this host name",
    "use its public address; a proxy must pass on the Host header",
)
STOPPING = Fault(
    "stopping", "the service is stopping", "try again later", headers={"Retry-After": "10"}
)


def code_of(error: PappiError) -> str:
    """An error's code; if it is not listed here, that of the closest base class that is."""
    kinds = (kind for kind in type(error).__mro__ if issubclass(kind, PappiError))
    return next((kind.code for kind in kinds if kind.code in CODES), INTERNAL.code)


def fault_of(error: PappiError, audience: Audience) -> Fault:
    """What one of PaPPI's errors tells the caller; never its private detail."""
    code = code_of(error)
    if code == INTERNAL.code:
        return INTERNAL
    if audience is Audience.ANALYST and code in _ABOUT_THE_WORKSPACE:
        return Fault(code, _UNWELL, _LATER)
    if isinstance(error, DefinitionError):
        count = len(error.problems)
        detail = "the definitions have a problem" if count == 1 else f"{count} problems were found"
        problems = tuple(map(to_wire, error.problems[:_MOST_PROBLEMS]))
        return Fault("definition", detail, problems=problems)
    headers = {"WWW-Authenticate": "Bearer"} if code == "not-authenticated" else {}
    return Fault(code, harmless(error.message), harmless(error.hint), headers=headers)


# --- errors of the framework ----------------------------------------------------------


def validation_fault(error: RequestValidationError) -> Fault:
    """What is wrong with the form of a request: the place, and pydantic's message; no value."""
    problems = tuple(
        # The place in the request, such as body.epsilon or query.limit.
        {
            "place": harmless(".".join(map(str, wrong["loc"]))),
            "message": harmless(str(wrong["msg"])),
        }
        for wrong in error.errors()[:_MOST_PROBLEMS]
    )
    return Fault("invalid-request", "the request does not have the expected form", "", problems)


_BY_STATUS: Mapping[int, Fault] = MappingProxyType(
    {
        400: Fault("malformed", "the request cannot be read"),
        404: Fault("not-found", "there is nothing at this address", "see /openapi.json"),
        405: Fault("method-not-allowed", "this address does not support this method"),
        413: Fault("too-large", "the body is too large"),
        415: Fault("unsupported-media-type", "the body is not in a supported format"),
    }
)


def http_fault(error: HTTPException) -> Fault:
    """The framework's own refusals, in fixed words."""
    fault = _BY_STATUS.get(error.status_code, INTERNAL)
    if error.headers is None:
        return fault
    return Fault(fault.code, fault.detail, fault.hint, headers=dict(error.headers))
