"""The middleware around an application, in a safe order.

Observed        outermost: an id, common headers, one log line and one count per request
Addressed       answers only to the public host name, if it has one
OnTheGrid       analysts only: replies leave at whole multiples of the grid
PageMiddleware  pages only: their headers, their origin, and errors for people to read
Contained       whatever fails becomes a fixed sentence, before it can reach a log
Closing         refuses new requests once the service is told to stop
Admission       a valid key of the right role, not too often
Bodies          up to a size, within a time
Turns           analysts only: a limited number at once
the routes      with the right each of them needs
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pappi import __version__
from pappi.checkpoint import Clock, on_grid, time_to_wait
from pappi.errors import NotAuthenticated, PappiError
from pappi.service.keys import (
    BEARER,
    SIGN_IN,
    STATIC,
    Authenticator,
    Bearer,
    GuardedRoute,
    is_home,
    is_open,
    is_page,
)
from pappi.service.problems import (
    INTERNAL,
    MEDIA_TYPE,
    MISDIRECTED,
    STOPPING,
    Audience,
    Fault,
    fault_of,
    http_fault,
    validation_fault,
)
from pappi.service.rates import Buckets, too_many
from pappi.service.settings import PublicUrl, Settings
from pappi.service.telemetry import AnsweredRequest, Metrics, log_failure, log_request, request_from
from pappi.service.web.rendering import page
from pappi.session import Workspace


@dataclass(frozen=True, slots=True)
class Passing:
    """A clock, and how a thread and a reply wait; replaced in tests."""

    clock: Clock = time.monotonic
    wait: Callable[[float], object] = time.sleep
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep


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


# --- an analyst's replies leave on a fixed time grid, so that their times tell little ---------
#
# A reply is held back until a whole multiple of the grid after the request's arrival, whether
# it is an answer or a refusal. How long the work took shows only in how many steps of the grid
# it needed. This narrows the channel; it does not close it. What goes on record meanwhile, where
# other requests see it, keeps to the same grid from the charge on (`checkpoint/session.py`).


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


# --- the middleware of pages: headers, origin, and errors for people to read --------------


_POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("style", "script", "img", "connect")),
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no-referrer, a browser would not say where a form comes from either.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_WORTH_IT = 1_000
# Higher levels save little more and take most of the time, while others wait.
_EFFORT = 4
_SAFE = frozenset({"GET", "HEAD"})
_FOREIGN = Fault(
    "not-allowed",
    "this form did not come from a page of this application",
    "reload the page and send the form again; a proxy must pass on the Host header and the scheme",
)


class PageMiddleware:
    """Around the pages of an application; everything else passes through."""

    def __init__(self, app: ASGIApp, audience: Audience) -> None:
        self._app = app
        self._audience = audience
        # Charts are repetitive: they compress to a tenth.
        self._compressed = GZipMiddleware(
            self._present, minimum_size=_WORTH_IT, compresslevel=_EFFORT
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_page(scope["path"], self._audience):
            await self._app(scope, receive, send)
        else:
            await self._compressed(scope, receive, send)

    async def _present(self, scope: Scope, receive: Receive, send: Send) -> None:
        """With a page's headers; an error is held back until it is complete, and then a page."""
        failed: Message | None = None
        body = bytearray()

        async def reply(message: Message) -> None:
            nonlocal failed
            begins = message["type"] == "http.response.start"
            if begins and _is_problem(message):
                failed = message
            elif failed is None:
                await send(_dressed(message, scope) if begins else message)
            else:
                body.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    shown = self._failure_page(scope, failed, json.loads(body))
                    failed = None
                    await shown(scope, receive, reply)

        foreign = scope["method"] not in _SAFE and not from_here(scope)
        await (_FOREIGN.response() if foreign else self._app)(scope, receive, reply)

    def _failure_page(
        self, scope: Scope, start: Message, problem: Mapping[str, object]
    ) -> Response:
        path, status = scope["path"], start["status"]
        shown: Response
        if status == 401 and is_home(path, self._audience):
            next_path = path if scope["method"] in _SAFE else ""
            shown = RedirectResponse(f"{SIGN_IN}?next={quote(next_path)}", 303)
        else:
            back = _page_before(scope, self._audience)
            shown = page(
                "problem.html", status, problem=problem, audience=self._audience, back=back
            )
        for name, value in Headers(raw=start["headers"]).items():
            if name in ("retry-after", "connection"):
                shown.headers[name] = value
        return shown


def _is_problem(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith(MEDIA_TYPE)


def _dressed(start: Message, scope: Scope) -> Message:
    headers = MutableHeaders(raw=list(start["headers"]))
    headers.update(_HEADERS)
    if not scope["path"].startswith(STATIC):
        headers["Cache-Control"] = "no-store"
    return {**start, "headers": headers.raw}


def from_here(scope: Scope) -> bool:
    """Whether a browser says that a request comes from a page of this very application.

    Two ports are different origins but the same site, so a cookie's SameSite is not enough.
    """
    headers = Headers(scope=scope)
    fetched = headers.get("sec-fetch-site")
    if fetched is not None:
        return fetched == "same-origin"
    origin = _address(headers.get("origin", ""))
    return origin.scheme == scope["scheme"] and _is_of_this_host(origin, headers)


def _page_before(scope: Scope, audience: Audience) -> str:
    """The page of this application that the visitor came from, or an empty text."""
    headers = Headers(scope=scope)
    before = _address(headers.get("referer", ""))
    is_ours = _is_of_this_host(before, headers) and is_home(before.path, audience)
    return before.path if is_ours else ""


def _is_of_this_host(address: SplitResult, headers: Headers) -> bool:
    return bool(address.netloc) and address.netloc == headers.get("host")


def _address(text: str) -> SplitResult:
    """The parts of an address; all empty if it is not one."""
    try:
        return urlsplit(text)
    except ValueError:
        return SplitResult("", "", "", "", "")


# --- failures, the end of the service, keys, sizes, and how many at once ----------------------


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


class Admission:
    """Lets in requests with a key of the right role, at a rate."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator, settings: Settings) -> None:
        self._app = app
        self._authenticator = authenticator
        self._rate = Buckets(settings.requests_per_minute)
        self._failures = Buckets(settings.failures_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            secret = self._authenticator.secret_in(scope)
            scope[BEARER] = await run_in_threadpool(self._authenticator.bearer_of, secret)
        except PappiError as error:
            fault = self._refusal(error, scope)
        else:
            wait = self._rate.wait_for(scope[BEARER].record.id)
            if not wait:
                await self._app(scope, receive, send)
                return
            fault = too_many(wait)
        await fault.response()(scope, receive, send)

    def _refusal(self, error: PappiError, scope: Scope) -> Fault:
        """Wrong keys count against their address; a right key from there still works."""
        if isinstance(error, NotAuthenticated):
            client = scope.get("client")
            wait = self._failures.wait_for(client[0] if client else "")
            if wait:
                return too_many(wait)
        return fault_of(error, self._authenticator.audience)


# Enough for the sign-in form: a key and the next page.
_WITHOUT_KEY = 10_000


class _Gone(Exception):
    """The sender hung up before the end of the body."""


class Bodies:
    """Reads a whole body, of any framing, up to a size and within a time.

    A caller without a key can send no more than a sign-in form.
    """

    def __init__(self, app: ASGIApp, most_bytes: int, seconds: float) -> None:
        self._app = app
        self._most = most_bytes
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        most = self._most if BEARER in scope else min(self._most, _WITHOUT_KEY)
        length = Headers(scope=scope).get("content-length", "")
        announced = length if length.isascii() and length.isdigit() and len(length) < 16 else 0
        try:
            async with asyncio.timeout(self._seconds):
                body = None if int(announced) > most else await _read(receive, most)
        except _Gone:
            return  # the body is incomplete, and nobody waits for a reply
        except TimeoutError:
            slow = Fault("too-slow", f"the body must arrive within {self._seconds:g} s")
            await slow.response()(scope, receive, send)
            return
        if body is None:
            # The rest of the body is not read, so the connection cannot be used again.
            too_large = Fault(
                "too-large",
                f"the body may have at most {most:,} bytes",
                "send less",
                headers={"Connection": "close"},
            )
            await too_large.response()(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)


async def _read(receive: Receive, most: int) -> bytes | None:
    """The body, or None as soon as it is too large."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        body += message.get("body", b"")
        if len(body) > most:
            return None
        more = message.get("more_body", False)
    return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body in one message, then whatever else is received."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay


class Turns:
    """A limited number of requests at once; some others wait, and the rest must try later.

    Both applications share the process's cores: the owner's stop switch must not have to wait
    until fifty analysts have their answers. Requests that evaluate PPIs have turns of their own,
    so that a preview, which does not, never waits behind them. And heavy users wait behind
    themselves: of one key only a few requests are worked on, and a few more wait.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._releasing = asyncio.Semaphore(settings.releases_at_once)
        self._others = asyncio.Semaphore(settings.analysts_at_once)
        self._room = settings.analysts_waiting
        self._of_one = settings.one_at_once
        self._most_of_one = settings.one_at_once + settings.one_waiting
        self._own: dict[str, tuple[asyncio.Semaphore, list[None]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if BEARER not in scope:
            await self._app(scope, receive, send)
            return
        turns = self._releasing if scope["path"] in _RELEASING else self._others
        key = scope[BEARER].record.id
        own_turns, present = self._own.setdefault(key, (asyncio.Semaphore(self._of_one), []))
        if len(present) >= self._most_of_one or (turns.locked() and self._room == 0):
            busy = Fault(
                "busy", "too many requests are already waiting", headers={"Retry-After": "2"}
            )
            await busy.response()(scope, receive, send)
            return
        present.append(None)
        try:
            async with own_turns:
                self._room -= 1
                try:
                    await turns.acquire()
                finally:
                    self._room += 1
                try:
                    await self._app(scope, receive, send)
                finally:
                    turns.release()
        finally:
            present.pop()
            if not present:
                self._own.pop(key, None)


_RELEASING = frozenset({"/release", "/rehearse", "/workbench/release", "/workbench/rehearse"})
