"""Templates to HTML, in which everything except an `Element` of `report` is escaped; and assets.

Style sheets and script have names that change with their content, so that a browser may keep
them for ever.

`PageMiddleware` adds the headers of pages and checks the origin of requests: a form of another
site cannot be sent in a visitor's name, because whatever changes something has to come from a
page of this application. Errors, which come as problem+json from further in, are shown as a page.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Annotated
from urllib.parse import SplitResult, quote, urlsplit

from fastapi import Query
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pappi import report
from pappi.report import DPO_CSS, PAGE_CSS, printable
from pappi.service.keys import SIGN_IN, STATIC, is_home, is_page
from pappi.service.problems import MEDIA_TYPE, Audience, Fault
from pappi.values import BudgetLine

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
          "svg": "image/svg+xml"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    """By name, e.g. `pages.1a2b3c4d.css`."""
    return {
        _named(name, content): Asset(content, _TYPES[name.rpartition(".")[2]])
        for name, content in _sources().items()
    }


@cache
def asset_address(name: str) -> str:
    """The address of a style sheet or script."""
    return f"{STATIC}{_named(name, _sources()[name])}"


@cache
def _sources() -> dict[str, bytes]:
    folder = files("pappi.service.web") / "static"
    static = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    # Charts, tables and documents look the same here as in printed reports.
    return {**static, "report.css": PAGE_CSS.encode(), "dpo.css": DPO_CSS.encode()}


def _named(name: str, content: bytes) -> str:
    stem, _, ending = name.rpartition(".")
    return f"{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{ending}"


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("pappi.service.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    templates.globals["asset"] = asset_address
    templates.globals["report"] = report
    return templates


def _harmless(value: object) -> object:
    r"""Names come from logs and requests: no control characters, no reversed text.

    Also where a name is a part of what an object says of itself.

    >>> from pappi.values import Per, PrivacyUnit
    >>> _harmless(PrivacyUnit("nurse\x1b", 2, Per.LOG))
    'nurse�, at most 2 cases per log'
    """
    return value if hasattr(value, "__html__") else printable(str(value))


PageNumber = Annotated[int, Query(ge=1, le=10**6)]


@dataclass(frozen=True, slots=True)
class BlockPage:
    """Some of the blocks of a log, the newest on the first page."""

    lines: Sequence[BudgetLine]
    page: int
    pages: int


def block_page(lines: Sequence[BudgetLine], page: int, rows: int) -> BlockPage | None:
    """The first page has the newest blocks; within a page, time runs forwards."""
    pages = -(-len(lines) // rows)
    page = max(min(page, pages), 1)
    end = len(lines) - (page - 1) * rows
    on_page = lines[max(end - rows, 0) : end]
    return BlockPage(on_page, page, pages) if on_page else None


def page(template: str, status: int = HTTPStatus.OK, **context: object) -> HTMLResponse:
    """A page as a reply."""
    return HTMLResponse(_templates().get_template(template).render(context), status)


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
        reply = _Reply(scope, send, self._audience)
        if scope["method"] not in _SAFE and not from_here(scope):
            await _FOREIGN.response()(scope, receive, reply.send)
            return
        await self._app(scope, receive, reply.send)


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


class _Reply:
    """Passes a reply on with a page's headers; an error is held back until it is complete."""

    def __init__(self, scope: Scope, send: Send, audience: Audience) -> None:
        self._scope = scope
        self._send = send
        self._audience = audience
        self._failed: Message | None = None
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if Headers(raw=message["headers"]).get("content-type", "").startswith(MEDIA_TYPE):
                self._failed = message
                return
            await self._send(self._dressed(message))
        elif self._failed is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._show_failure(self._failed)

    def _dressed(self, message: Message) -> Message:
        headers = MutableHeaders(raw=list(message["headers"]))
        for name, value in _HEADERS.items():
            headers[name] = value
        if not self._scope["path"].startswith(STATIC):
            headers["Cache-Control"] = "no-store"
        return {**message, "headers": headers.raw}

    async def _show_failure(self, start: Message) -> None:
        response = self._failure_page(start["status"], json.loads(self._body))
        for name, value in Headers(raw=start["headers"]).items():
            if name in ("retry-after", "connection"):
                response.headers[name] = value

        async def send(message: Message) -> None:
            begins = message["type"] == "http.response.start"
            await self._send(self._dressed(message) if begins else message)

        await response(self._scope, _nothing, send)

    def _failure_page(self, status: int, problem: Mapping[str, object]) -> Response:
        path = self._scope["path"]
        if status == 401 and is_home(path, self._audience):
            next_path = path if self._scope["method"] in _SAFE else ""
            return RedirectResponse(f"{SIGN_IN}?next={quote(next_path)}", 303)
        previous = _page_before(self._scope, self._audience)
        return page("problem.html", status, problem=problem, audience=self._audience, back=previous)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}
