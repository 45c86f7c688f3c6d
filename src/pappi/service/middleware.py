"""The middleware around an application, in a safe order.

Observed      outermost: an id, common headers, one log line and one count per request
Addressed     answers only to the public host name, if it has one
OnTheGrid     analysts only: replies leave at whole multiples of the grid
PageMiddleware  pages only: their headers, their origin, and errors for people to read
Contained     whatever fails becomes a fixed sentence, before it can reach a log
Closing       refuses new requests once the service is told to stop
Admission     a valid key of the right role, not too often
Bodies        up to a size, within a time
Turns         analysts only: a limited number at once
the routes    with the right each of them needs
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from threading import Event
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pappi import __version__
from pappi.checkpoint import Clock, on_grid, time_to_wait
from pappi.errors import PappiError
from pappi.service.keys import STATIC, Admission, Authenticator, Bearer, GuardedRoute
from pappi.service.limits import BEARER, Bodies, Turns
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
from pappi.service.telemetry import AnsweredRequest, Metrics, log_failure, log_request, request_from
from pappi.service.web.rendering import PageMiddleware
from pappi.session import Workspace

# --- an analyst's replies leave on a fixed time grid, so that their times tell little ---------
#
# A reply is held back until a whole multiple of the grid after the request's arrival, whether
# it is an answer or a refusal. How long the work took shows only in how many steps of the grid
# it needed. This narrows the channel; it does not close it. What goes on record meanwhile, where
# other requests see it, keeps to the same grid from the charge on (`checkpoint/session.py`).

Sleep = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Passing:
    """A clock, and how a thread and a reply wait; replaced in tests."""

    clock: Clock = time.monotonic
    wait: Callable[[float], object] = time.sleep
    sleep: Sleep = asyncio.sleep


class OnTheGrid:
    """Holds every message of a reply until its time on the grid, then sends all of them."""

    def __init__(self, app: ASGIApp, grid: float, passing: Passing) -> None:
        self._app = app
        self._grid = grid
        self._passing = passing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Static files are the same for everybody, and would only make pages late.
        if scope["path"].startswith(STATIC):
            await self._app(scope, receive, send)
            return
        arrived = self._passing.clock()
        messages: list[Message] = []

        async def hold(message: Message) -> None:
            messages.append(message)

        await self._app(scope, receive, hold)
        passed = self._passing.clock() - arrived
        await self._passing.sleep(time_to_wait(passed, self._grid))
        for message in messages:
            await send(message)


_UNMATCHED = "none"
_PROBES = frozenset({"/health", "/ready"})


@dataclass(frozen=True, slots=True)
class Frame:
    """What both applications of one process share; `closed` is set once it is told to stop."""

    settings: Settings
    metrics: Metrics
    closed: Event
    passing: Passing

    def paced(self, workspace: Workspace) -> Workspace:
        """The workspace as everybody in this process uses it: results appear on the grid."""
        grid = self.settings.grid_seconds
        return workspace.paced(on_grid(grid, self.passing.clock, self.passing.wait))


def frame_of(settings: Settings, passing: Passing | None = None) -> Frame:
    return Frame(settings, Metrics(settings.grid_seconds), Event(), passing or Passing())


class Service(FastAPI):
    """An application whose OpenAPI document says that failures are problem+json."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            operations = (
                how for path in super().openapi()["paths"].values() for how in path.values()
            )
            replies = (reply for how in operations for reply in how["responses"].items())
            for status, reply in replies:
                if int(status) >= 400 and "content" in reply:
                    reply["content"] = {MEDIA_TYPE: next(iter(reply["content"].values()))}
        return self.openapi_schema or {}


def new_service(title: str, authenticator: Authenticator, frame: Frame) -> Service:
    """An application without routes, in all its layers."""
    audience = authenticator.audience
    app = Service(
        title=title,
        version=__version__,
        # The document is served by a guarded route; the pages would load from elsewhere.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        middleware=_middleware(authenticator, frame),
        redirect_slashes=False,
    )
    app.router.route_class = GuardedRoute

    def explain(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return http_fault(error).response()
        if isinstance(error, RequestValidationError):
            return validation_fault(error).response()
        if not isinstance(error, PappiError):
            raise error
        fault = fault_of(error, audience)
        if fault.status >= 500:
            log_failure(error, route_of(request.scope))
        return fault.response()

    for kind in (PappiError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, explain)
    return app


def _middleware(authenticator: Authenticator, frame: Frame) -> list[Middleware]:
    settings, audience = frame.settings, authenticator.audience
    analyst = audience is Audience.ANALYST
    most = settings.analyst_body_bytes if analyst else settings.owner_body_bytes
    url = settings.public_url if analyst else settings.owner_url
    grid = Middleware(OnTheGrid, grid=settings.grid_seconds, passing=frame.passing)
    return [
        Middleware(Observed, audience=audience, metrics=frame.metrics),
        *([Middleware(Addressed, url=PublicUrl.of(url))] if url else []),
        *([grid] if analyst else []),
        Middleware(PageMiddleware, audience=audience),
        Middleware(Contained),
        Middleware(Closing, closed=frame.closed),
        Middleware(Admission, authenticator=authenticator, settings=settings),
        Middleware(Bodies, most_bytes=most, seconds=settings.body_seconds),
        *([Middleware(Turns, settings=settings)] if analyst else []),
    ]


def route_of(scope: Scope) -> str:
    """The template of the matched route, never the requested path."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else _UNMATCHED


class Observed:
    """Counts and logs every reply once it has left; its id is in the reply as well."""

    def __init__(self, app: ASGIApp, audience: Audience, metrics: Metrics) -> None:
        self._app = app
        self._audience = audience
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError("only HTTP is served")
        client = scope.get("client")
        began = time.monotonic()
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                dressed = MutableHeaders(raw=list(message["headers"]))
                dressed["X-Request-Id"] = request
                dressed["X-Content-Type-Options"] = "nosniff"
                dressed.setdefault("Cache-Control", "no-store")
                message = {**message, "headers": dressed.raw}
            await send(message)

        with request_from(client[0] if client else "") as request:
            try:
                await self._app(scope, receive, watch)
            finally:
                bearer = scope.get(BEARER)
                key = bearer.record.id if isinstance(bearer, Bearer) else None
                answered = AnsweredRequest(
                    self._audience,
                    route_of(scope),
                    scope["method"],
                    status,
                    key,
                    (time.monotonic() - began),
                )
                self._metrics.count(answered)
                log_request(answered)


class Addressed:
    """Answers only to its public name, and takes the public scheme for that of the request.

    So cookies are for HTTPS only, whatever a proxy passes on, and another host name that points
    here opens nothing. Health checks work under any name.
    """

    def __init__(self, app: ASGIApp, url: PublicUrl) -> None:
        self._app = app
        self._url = url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] not in _PROBES:
            if not self._url.is_asked(Headers(scope=scope).get("host", "")):
                await MISDIRECTED.response()(scope, receive, send)
                return
            scope["scheme"] = self._url.scheme
        await self._app(scope, receive, send)


class Contained:
    """Catches every other exception: a fixed sentence for the sender, its type for the log."""

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
            if not started:
                await INTERNAL.response()(scope, receive, send)


class Closing:
    """Refuses new requests after the service was told to stop; those under way go on."""

    def __init__(self, app: ASGIApp, closed: Event) -> None:
        self._app = app
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._closed.is_set() and scope["path"] != "/health":
            await STOPPING.response()(scope, receive, send)
            return
        await self._app(scope, receive, send)
