"""Who asks: bearer keys, and what each may do. Everything is denied by default.

A request is admitted before its body is read: it has a valid key of the application's role,
and not too many came before it. Pages have it from a session, everything else from the header.
Every route names the right it needs; a route without one cannot even be defined, but for
health and the way in (`places.is_open`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Protocol

from fastapi import Depends, Request, Security
from fastapi.params import Depends as Dependency
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from pappi.errors import NotAllowed, NotAuthenticated, PappiError
from pappi.service.limits import BEARER, Buckets, too_many
from pappi.service.places import cookie_name, is_home, is_open
from pappi.service.problems import Audience, Fault, fault_of
from pappi.service.sessions import Sessions
from pappi.service.settings import Settings
from pappi.values.access import KeyRecord, Right, Role
from pappi.workspace import Workspace

_LONGEST_KEY = 200

Keyring = Callable[[str], KeyRecord]
"""The record of a secret, as of now; NotAuthenticated if there is none that holds."""


def now() -> datetime:
    """The one clock by which keys expire."""
    return datetime.now(UTC)


class Keys(Protocol):
    """Whatever knows which keys hold."""

    def key_of(self, secret: str, now: datetime) -> KeyRecord: ...


def keyring_of(workspace: Workspace) -> Keyring:
    return lambda secret: workspace.custody.key_of(secret, now())


@dataclass(frozen=True, slots=True)
class Bearer:
    """The one who asks, by a key that was valid when the request came in."""

    record: KeyRecord
    secret: str = field(repr=False)

    @property
    def name(self) -> str:
        return self.record.name

    def require(self, right: Right) -> None:
        self.record.require(self.record.role, right)

    def still_holds(self, keys: Keys) -> None:
        """Asked inside a charge's transaction: a key revoked a moment ago is refused."""
        keys.key_of(self.secret, now())


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    """Knows by a key, or by the session it began, who comes to one of the applications."""

    audience: Audience
    keyring: Keyring
    sessions: Sessions

    def bearer_of(self, secret: str) -> Bearer:
        record = self.keyring(secret)
        if record.role is not Role(self.audience):
            raise NotAllowed(
                f"this is not a key of an {self.audience}",
                hint="the owner and analysts have separate applications, on separate ports",
            )
        return Bearer(record, secret)

    def secret_in(self, scope: Scope) -> str:
        """Of a request to a page, or of one by a program."""
        if is_home(scope["path"], self.audience):
            return self.sessions.key_behind(self.token_in(HTTPConnection(scope)))
        return _bearer(scope)

    def token_in(self, connection: HTTPConnection) -> str:
        """What the session's cookie holds, if there is one."""
        name = cookie_name(self.audience, connection.scope["scheme"])
        return connection.cookies.get(name, "")


class Admission:
    """Lets in requests with a key of the right role, at a rate."""

    def __init__(self, app: ASGIApp, doorkeeper: Doorkeeper, settings: Settings) -> None:
        self._app = app
        self._doorkeeper = doorkeeper
        self._rate = Buckets(settings.requests_per_minute)
        self._failures = Buckets(settings.failures_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            scope[BEARER] = await run_in_threadpool(self._bearer_of, scope)
        except PappiError as error:
            fault = self._refusal(error, scope)
        else:
            wait = self._rate.wait_for(scope[BEARER].record.id)
            if not wait:
                await self._app(scope, receive, send)
                return
            fault = too_many(wait)
        await fault.response()(scope, receive, send)

    def _bearer_of(self, scope: Scope) -> Bearer:
        return self._doorkeeper.bearer_of(self._doorkeeper.secret_in(scope))

    def _refusal(self, error: PappiError, scope: Scope) -> Fault:
        """Wrong keys count against their address; a right key from there still works."""
        if isinstance(error, NotAuthenticated):
            client = scope.get("client")
            wait = self._failures.wait_for(client[0] if client else "")
            if wait:
                return too_many(wait)
        return fault_of(error, self._doorkeeper.audience)


def _bearer(scope: Scope) -> str:
    scheme, _, secret = Headers(scope=scope).get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise NotAuthenticated
    return typed_key(secret)


def typed_key(text: str) -> str:
    """What may be a key, without the blanks around it."""
    secret = text.strip()
    if not secret or len(secret) > _LONGEST_KEY:
        raise NotAuthenticated
    return secret


# --- rights of routes -------------------------------------------------------------------

# Says in the OpenAPI document how to authenticate; Admission is what does it.
_SCHEME = HTTPBearer(auto_error=False, description="A key of the owner's making: pappi_…")


def bearer_of(request: Request) -> Bearer:
    found = request.scope.get(BEARER)
    if not isinstance(found, Bearer):
        raise NotAuthenticated
    return found


Asking = Annotated[Bearer, Depends(bearer_of)]


@dataclass(frozen=True, slots=True)
class Needs:
    """The right a key must have for a route."""

    right: Right

    def __call__(self, bearer: Asking, _: Annotated[object, Security(_SCHEME)]) -> None:
        bearer.require(self.right)


def needs(right: Right) -> Any:  # noqa: ANN401 - FastAPI types its dependencies so
    return Depends(Needs(right))


def rights_of(route: APIRoute) -> list[Right]:
    found = (given.dependency for given in route.dependencies if isinstance(given, Dependency))
    return [needed.right for needed in found if isinstance(needed, Needs)]


class GuardedRoute(APIRoute):
    """A route that cannot be defined without the right it needs."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:  # noqa: ANN401
        super().__init__(path, endpoint, **given)
        if not is_open(path) and not rights_of(self):
            raise RuntimeError(f"the route {path} names no right")
