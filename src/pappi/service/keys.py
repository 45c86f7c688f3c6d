"""Authentication: bearer keys, and what each may do. Everything is denied by default.

A request is admitted before its body is read, if it has a valid key of the application's role.
Pages have the key from a session, everything else from the header.
Every route names the right it needs; a route without one cannot even be defined, except for
health, sign-in and the glossary (`is_open`).
"""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Protocol

from fastapi import Depends, Request, Security
from fastapi.params import Depends as Dependency
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import Scope

from pappi.custody import Custody
from pappi.errors import NotAllowed, NotAuthenticated
from pappi.mechanisms import secret_bytes
from pappi.service.problems import Audience
from pappi.session import LocalSession, Workspace
from pappi.values import KeyRecord, Right, Role

_LONGEST_KEY = 200
BEARER = "pappi.bearer"
"""The key of the bearer in a request's scope, once it is admitted."""


def now() -> datetime:
    """The one clock by which keys expire."""
    return datetime.now(UTC)


class KeyLookup(Protocol):
    """Whatever knows which keys are valid."""

    def key_of(self, secret: str, now: datetime) -> KeyRecord: ...


@dataclass(frozen=True, slots=True)
class Bearer:
    """The caller, by a key that was valid when the request came in."""

    record: KeyRecord
    secret: str = field(repr=False)
    workspace: Workspace = field(repr=False)

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def session(self) -> LocalSession:
        """An analyst's session: with the logs that were granted to them."""
        return self.workspace.granted_checkpoint(self.name, self.still_holds)

    @property
    def custody(self) -> Custody:
        """The owner's acts, recorded under this name."""
        return self.workspace.custody_of(self.name)

    def require(self, right: Right) -> None:
        self.record.require(self.record.role, right)

    def still_holds(self, keys: KeyLookup) -> None:
        """Called inside a charge's transaction: a key revoked a moment ago is refused."""
        keys.key_of(self.secret, now())


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Identifies the caller of an application, by a key or by a session begun with one."""

    audience: Audience
    workspace: Workspace
    sessions: Sessions

    def bearer_of(self, secret: str) -> Bearer:
        record = self.workspace.custody.key_of(secret, now())
        if record.role is not Role(self.audience):
            raise NotAllowed(
                f"this is not a key of an {self.audience}",
                hint="the owner and analysts have separate applications, on separate ports",
            )
        return Bearer(record, secret, self.workspace)

    def secret_in(self, scope: Scope) -> str:
        """The key of a request to a page, or by a program."""
        if is_home(scope["path"], self.audience):
            return self.sessions.key_behind(self.token_in(HTTPConnection(scope)))
        scheme, _, secret = Headers(scope=scope).get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise NotAuthenticated
        return typed_key(secret)

    def token_in(self, connection: HTTPConnection) -> str:
        """The content of the session's cookie, if there is one."""
        name = cookie_name(self.audience, connection.scope["scheme"])
        return connection.cookies.get(name, "")


def typed_key(text: str) -> str:
    """A possible key, without surrounding blanks."""
    secret = text.strip()
    if not secret or len(secret) > _LONGEST_KEY:
        raise NotAuthenticated
    return secret


# --- rights of routes -------------------------------------------------------------------

# Says in the OpenAPI document how to authenticate; Admission is what does it.
_SCHEME = HTTPBearer(auto_error=False, description="A key issued by the owner: pappi_…")


def bearer_of(request: Request) -> Bearer:
    bearer = request.scope.get(BEARER)
    if not isinstance(bearer, Bearer):
        raise NotAuthenticated
    return bearer


Authenticated = Annotated[Bearer, Depends(bearer_of)]


@dataclass(frozen=True, slots=True)
class Needs:
    """The right a key must have for a route."""

    right: Right

    def __call__(self, bearer: Authenticated, _: Annotated[object, Security(_SCHEME)]) -> None:
        bearer.require(self.right)


def needs(right: Right) -> Any:  # noqa: ANN401 - FastAPI types its dependencies so
    return Depends(Needs(right))


def rights_of(route: APIRoute) -> list[Right]:
    needed = (
        dependency.dependency
        for dependency in route.dependencies
        if isinstance(dependency, Dependency)
    )
    return [need.right for need in needed if isinstance(need, Needs)]


class GuardedRoute(APIRoute):
    """A route that cannot be defined without the right it needs."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401
        super().__init__(path, endpoint, **options)
        if not is_open(path) and not rights_of(self):
            raise RuntimeError(f"the route {path} names no right")


# --- where the pages are, beside the routes for programs --------------------------------------
#
# Pages know their visitor by a session's cookie, and nothing else does; routes for programs
# know theirs by a bearer key, and take no cookie. So no page of another site, nor a link, can
# make a browser use a route that was made for programs.

ROOT = "/"
SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"
STATIC = "/static/"
GLOSSARY = "/glossary"
HOME = {Audience.ANALYST: "/workbench", Audience.OWNER: "/console"}
COOKIE = {Audience.ANALYST: "pappi_workbench", Audience.OWNER: "pappi_console"}
"""Two names: a browser sends the cookies of one port to the other as well."""
_OF_THIS_HOST = "__Host-"

# For anybody: whether the service is well, the way in, and what words mean.
_OPEN_PAGES = frozenset({ROOT, SIGN_IN, SIGN_OUT, GLOSSARY})
_OPEN = _OPEN_PAGES | {"/health", "/ready"}


def cookie_name(audience: Audience, scheme: str) -> str:
    """Over HTTPS with a prefix that makes a browser accept it from this very host only.

    >>> cookie_name(Audience.OWNER, "https")
    '__Host-pappi_console'
    """
    return f"{_OF_THIS_HOST}{COOKIE[audience]}" if scheme == "https" else COOKIE[audience]


def is_open(path: str) -> bool:
    """Whether a path needs neither key nor session."""
    return path in _OPEN or path.startswith(STATIC)


def is_home(path: str, audience: Audience) -> bool:
    """Whether a path is one of the pages behind the sign-in."""
    home = HOME[audience]
    return path == home or path.startswith(f"{home}/")


def is_page(path: str, audience: Audience) -> bool:
    """Whether a path is a page for people."""
    return path in _OPEN_PAGES or path.startswith(STATIC) or is_home(path, audience)


# --- who is signed in: sessions of the pages, kept in this process alone ----------------------
#
# A session stands for a key that was typed in once. Its cookie is a random token; the key stays
# here, in memory, and is checked again at every request, so that revoking a key ends all its
# sessions at once. A session ends by itself after some hours, and sooner if it is not used. A
# restart signs everybody out.

_TOKEN_BYTES = 32
_MOST = 10_000
_MOST_OF_ONE = 20


@dataclass(frozen=True, slots=True)
class _Session:
    secret: str = field(repr=False)
    ends: float
    used: float


class Sessions:
    """Tokens and the keys they stand for; only digests of the tokens are kept.

    >>> sessions = Sessions(hours=8, idle_minutes=30)
    >>> token = sessions.begin("pappi_key")
    >>> sessions.key_behind(token)
    'pappi_key'
    """

    def __init__(
        self, hours: float, idle_minutes: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = hours * 3600
        self._idle = idle_minutes * 60
        self._clock = clock
        self._open: OrderedDict[str, _Session] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, secret: str) -> str:
        """A new session; if the same key has too many, its oldest one ends.

        So nobody can sign others out by signing in again and again.
        """
        token = base64.urlsafe_b64encode(secret_bytes(_TOKEN_BYTES)).rstrip(b"=").decode("ascii")
        with self._lock:
            of_same_key = [name for name, session in self._open.items() if session.secret == secret]
            for name in of_same_key[: max(0, len(of_same_key) - _MOST_OF_ONE + 1)]:
                del self._open[name]
            now = self._clock()
            self._open[_digest(token)] = _Session(secret, now + self._seconds, now)
            while len(self._open) > _MOST:
                self._open.popitem(last=False)
        return token

    def key_behind(self, token: str) -> str:
        """The key of a session that is still open; its idle time starts again."""
        name = _digest(token)
        with self._lock:
            session, now = self._open.get(name), self._clock()
            if session is None:
                raise NotAuthenticated
            if now >= min(session.ends, session.used + self._idle):
                del self._open[name]
                raise NotAuthenticated
            self._open[name] = replace(session, used=now)
            return session.secret

    def end(self, token: str) -> None:
        with self._lock:
            self._open.pop(_digest(token), None)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
