"""The pages open to anybody: sign-in and sign-out, and the glossary."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from pappi.errors import NotAllowed, NotAuthenticated, NotFound
from pappi.service.keys import (
    GLOSSARY,
    HOME,
    ROOT,
    SIGN_IN,
    SIGN_OUT,
    STATIC,
    Authenticator,
    cookie_name,
    is_home,
    typed_key,
)
from pappi.service.middleware import Service
from pappi.service.rates import Buckets, too_many
from pappi.service.settings import Settings
from pappi.service.web.rendering import Sent, assets, page

_FOR_EVER = "public, max-age=31536000, immutable"


def add_sign_in(app: Service, authenticator: Authenticator, settings: Settings) -> None:
    """Sign-in, sign-out, the glossary, style sheets and script: open to anybody."""
    views = SignInView(authenticator, settings)
    for method, path, endpoint in (
        ("GET", ROOT, views.root),
        ("GET", SIGN_IN, views.form),
        ("POST", SIGN_IN, views.sign_in),
        ("POST", SIGN_OUT, views.sign_out),
        ("GET", GLOSSARY, views.glossary),
        ("GET", f"{STATIC}{{name}}", views.static),
    ):
        app.add_api_route(path, endpoint, methods=[method], include_in_schema=False)


class SignInView:
    """One method per route."""

    def __init__(self, authenticator: Authenticator, settings: Settings) -> None:
        self._authenticator = authenticator
        self._audience = authenticator.audience
        self._home = HOME[authenticator.audience]
        self._seconds = int(settings.session_hours * 3600)
        self._failures = Buckets(settings.failures_per_minute)

    def root(self) -> Response:
        return RedirectResponse(self._home, 303)

    def form(self, request: Request, next: str = "") -> Response:  # noqa: A002 - as it is called
        """The form for a key; whoever is signed in is redirected."""
        if self._signed_in(request):
            return RedirectResponse(self._onward(next), 303)
        return page("sign_in.html", audience=self._audience, next=next, failure="")

    def sign_in(self, request: Request, sent: Sent) -> Response:
        """Exchange a key for a cookie; an earlier session ends."""
        try:
            secret = typed_key(sent["key"])
            self._authenticator.bearer_of(secret)
        except (NotAuthenticated, NotAllowed) as error:
            wait = self._failures.wait_for(request.client.host if request.client else "")
            if wait:
                return too_many(wait).response()
            wrong = isinstance(error, NotAuthenticated)
            failure = "This key is not valid here." if wrong else f"{error.message}: {error.hint}"
            status = 401 if wrong else 403
            return page(
                "sign_in.html", status, audience=self._audience, next=sent["next"], failure=failure
            )
        self._authenticator.sessions.end(self._authenticator.token_in(request))
        token = self._authenticator.sessions.begin(secret)
        return self._sent_on(request, self._onward(sent["next"]), token, self._seconds)

    def sign_out(self, request: Request) -> Response:
        self._authenticator.sessions.end(self._authenticator.token_in(request))
        return self._sent_on(request, SIGN_IN, "", 0)

    def _sent_on(self, request: Request, path: str, token: str, seconds: int) -> Response:
        """A redirect that sets a cookie; with 0 seconds it is deleted."""
        reply, scheme = RedirectResponse(path, 303), request.scope["scheme"]
        reply.set_cookie(
            cookie_name(self._audience, scheme),
            token,
            max_age=seconds,
            httponly=True,
            samesite="strict",
            secure=scheme == "https",
        )
        return reply

    def glossary(self) -> Response:
        """What the words on the pages mean."""
        return page("glossary.html")

    def static(self, name: str) -> Response:
        for asset in assets().values():
            if asset.address == f"{STATIC}{name}":
                headers = {"Cache-Control": _FOR_EVER}
                return Response(asset.content, media_type=asset.media_type, headers=headers)
        raise NotFound("there is nothing at this address")

    def _signed_in(self, request: Request) -> bool:
        try:
            secret = self._authenticator.sessions.key_behind(self._authenticator.token_in(request))
            self._authenticator.bearer_of(secret)
        except (NotAuthenticated, NotAllowed):
            return False
        return True

    def _onward(self, path: str) -> str:
        """The requested page, if it is one of this application's; otherwise the first page."""
        return path if is_home(path, self._audience) else self._home
