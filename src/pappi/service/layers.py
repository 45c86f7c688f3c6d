"""What stands around an application, in the order that keeps it safe.

Observed      outermost: an id, what every reply says, one log line and one count per request
Addressed     under the one name it is known by, if it has one
OnTheGrid     analysts only: replies leave at whole multiples of the grid
Presented     pages alone: their headers, their origin, and failures for people to read
Contained     whatever fails becomes a fixed sentence, before it can reach a log
Closing       nothing new once the service is told to stop
Admission     a valid key of the right role, not too often
Bodies        up to a size, within a time
Turns         analysts only: so many at once
the routes    with the right each of them needs
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pappi import __version__
from pappi.errors import PappiError
from pappi.service.keys import Admission, Bearer, Doorkeeper, GuardedRoute
from pappi.service.limits import BEARER, Bodies, Turns
from pappi.service.logs import asked_by, log_failure, log_request
from pappi.service.metrics import Metrics, Seen
from pappi.service.pace import OnTheGrid, Passing
from pappi.service.problems import (
    INTERNAL,
    MEDIA_TYPE,
    MISDIRECTED,
    STOPPING,
    Audience,
    fault_of,
    http_fault,
    validation_fault,
)
from pappi.service.settings import PublicUrl, Settings
from pappi.service.web.presented import Presented
from pappi.workspace import Workspace

_UNMATCHED = "none"
_PROBES = frozenset({"/health", "/ready"})


class Closed:
    """Whether the service has been told to stop; both applications look at the same one."""

    def __init__(self) -> None:
        self.now = False


@dataclass(frozen=True, slots=True)
class Frame:
    """What both applications of one process share."""

    settings: Settings
    metrics: Metrics
    closed: Closed
    passing: Passing

    def paced(self, workspace: Workspace) -> Workspace:
        """The workspace as everybody in this process uses it: results appear on the grid."""
        return workspace.paced(self.passing.pace(self.settings.grid_seconds))


def frame_of(settings: Settings, passing: Passing | None = None) -> Frame:
    return Frame(settings, Metrics(settings.grid_seconds), Closed(), passing or Passing())


class Service(FastAPI):
    """An application whose OpenAPI document says that failures are problem+json."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            for item in super().openapi()["paths"].values():
                for operation in item.values():
                    _mark_failures(operation["responses"])
        return self.openapi_schema or {}


def _mark_failures(responses: dict[str, Any]) -> None:
    for status, response in responses.items():
        if int(status) >= 400 and "content" in response:
            response["content"] = {MEDIA_TYPE: next(iter(response["content"].values()))}


def new_service(title: str, doorkeeper: Doorkeeper, frame: Frame) -> Service:
    """An application without routes, in all its layers."""
    audience = doorkeeper.audience
    app = Service(
        title=title,
        version=__version__,
        # The document is served by a guarded route; the pages would load from elsewhere.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        middleware=_middleware(doorkeeper, frame),
        redirect_slashes=False,
    )
    app.router.route_class = GuardedRoute
    _explain_errors(app, audience)
    return app


def _middleware(doorkeeper: Doorkeeper, frame: Frame) -> list[Middleware]:
    settings, audience = frame.settings, doorkeeper.audience
    analyst = audience is Audience.ANALYST
    most = settings.analyst_body_bytes if analyst else settings.owner_body_bytes
    url = settings.public_url if analyst else settings.owner_url
    layers = [
        Middleware(Observed, audience=audience, metrics=frame.metrics),
        Middleware(Addressed, url=PublicUrl.of(url)) if url else None,
        Middleware(OnTheGrid, grid=settings.grid_seconds, passing=frame.passing)
        if analyst
        else None,
        Middleware(Presented, audience=audience),
        Middleware(Contained),
        Middleware(Closing, closed=frame.closed),
        Middleware(Admission, doorkeeper=doorkeeper, settings=settings),
        Middleware(Bodies, most_bytes=most, seconds=settings.body_seconds),
        Middleware(
            Turns,
            releasing=settings.releases_at_once,
            others=settings.analysts_at_once,
            waiting=settings.analysts_waiting,
            of_one=settings.one_at_once,
            queued=settings.one_waiting,
        )
        if analyst
        else None,
    ]
    return [layer for layer in layers if layer is not None]


def _explain_errors(app: Service, audience: Audience) -> None:
    def pappi_error(request: Request, error: Exception) -> Response:
        if not isinstance(error, PappiError):
            raise error
        fault = fault_of(error, audience)
        if fault.status >= 500:
            log_failure(error, route_of(request.scope))
        return fault.response()

    def http_error(_request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            raise error
        return http_fault(error).response()

    def validation_error(_request: Request, error: Exception) -> Response:
        if not isinstance(error, RequestValidationError):
            raise error
        return validation_fault(error).response()

    app.add_exception_handler(PappiError, pappi_error)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, validation_error)


def route_of(scope: Scope) -> str:
    """The template of the route that was found, never the path that was asked for."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else _UNMATCHED


class Observed:
    """Counts and logs every reply once it has left; by its id the sender can name it."""

    def __init__(self, app: ASGIApp, audience: Audience, metrics: Metrics) -> None:
        self._app = app
        self._audience = audience
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        with asked_by(client[0] if client else "") as asked:
            await self._observe(asked.id, scope, receive, send)

    async def _observe(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.monotonic()
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _dressed(message["headers"], name)}
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            self._note(scope, status, time.monotonic() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        bearer = scope.get(BEARER)
        key = bearer.record.id if isinstance(bearer, Bearer) else None
        seen = Seen(self._audience, route_of(scope), scope["method"], status, key, seconds)
        self._metrics.count(seen)
        log_request(seen)


def _dressed(headers: list[tuple[bytes, bytes]], name: str) -> list[tuple[bytes, bytes]]:
    """What every reply says: keep no copy, and do not guess what this is."""
    found = MutableHeaders(raw=list(headers))
    found["X-Request-Id"] = name
    found["X-Content-Type-Options"] = "nosniff"
    found.setdefault("Cache-Control", "no-store")
    return found.raw


class Addressed:
    """Answers to its public name alone, and as if it spoke the scheme people see.

    So cookies are for HTTPS alone whatever a proxy passes on, and a foreign name that leads
    here opens nothing. Whether it is well may be asked under any name.
    """

    def __init__(self, app: ASGIApp, url: PublicUrl) -> None:
        self._app = app
        self._url = url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in _PROBES:
            if not self._url.is_asked(Headers(scope=scope).get("host", "")):
                await MISDIRECTED.response()(scope, receive, send)
                return
            scope["scheme"] = self._url.scheme
        await self._app(scope, receive, send)


class Contained:
    """Ends whatever no handler knew: a fixed sentence for the sender, the kind for the log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception as error:  # noqa: BLE001 - its words may quote data, and stay here
            log_failure(error, route_of(scope))
            if scope["type"] == "http" and not started:
                await INTERNAL.response()(scope, receive, send)


class Closing:
    """Refuses what comes after the service was told to stop; what is under way goes on."""

    def __init__(self, app: ASGIApp, closed: Closed) -> None:
        self._app = app
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._closed.now and scope["type"] == "http" and scope["path"] != "/health":
            await STOPPING.response()(scope, receive, send)
            return
        await self._app(scope, receive, send)
