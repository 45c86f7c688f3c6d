"""A visitor of the pages: signs in, keeps the cookie, sends forms from where they are."""

from __future__ import annotations

import asyncio
from html.parser import HTMLParser
from typing import Self

import httpx
from starlette.types import ASGIApp

HERE = "http://pappi"


class Visitor:
    """A browser without a screen: cookies, redirects, and the origin a browser would name."""

    def __init__(self, app: ASGIApp, key: str | None = None) -> None:
        self._runner = asyncio.Runner()
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url=HERE, follow_redirects=True
        )
        if key is not None:
            assert self.post("/sign-in", key=key).status_code == 200

    def get(self, path: str) -> httpx.Response:
        return self._runner.run(self._client.get(path))

    def post(self, path: str, /, **fields: str) -> httpx.Response:
        return self.send(path, fields, {"Origin": HERE})

    def send(
        self, path: str, fields: dict[str, str], headers: dict[str, str], *, follow: bool = True
    ) -> httpx.Response:
        sent = self._client.post(path, data=fields, headers=headers, follow_redirects=follow)
        return self._runner.run(sent)

    @property
    def cookies(self) -> httpx.Cookies:
        return self._client.cookies

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()


class _Fields(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.forms: dict[str, dict[str, str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = found["action"]
            self.forms.setdefault(self.action, {})
        elif tag == "input" and self.action and "name" in found:
            self.forms[self.action][found["name"]] = found.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.action = ""


def form_in(page: httpx.Response, action: str) -> dict[str, str]:
    """What a form of a page would send as it stands."""
    reader = _Fields()
    reader.feed(page.text)
    return reader.forms[action]
