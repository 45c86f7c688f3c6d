"""A real browser on the real service: chromium, driven by Playwright.

Everything a page tries to load from elsewhere, everything its policy forbids, and every error
of its script is noted, for tests to look at.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

import pappi
from pappi.custody import NewLog
from pappi.examples import EXAMPLES
from pappi.service import Addresses, Settings
from pappi.session import Workspace
from pappi.values import Epsilon, Role
from tests.service.serving import listening

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no chromium here; on Debian: apt-get install chromium"
)
Scheme = Literal["light", "dark"]
_FLAGS = (
    "--no-sandbox",  # tests may run as root, where chromium starts no other way
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_SERIOUS = ("serious", "critical")
PATIENCE_MS = 120_000
expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Visit:
    """A page, and what went wrong on it."""

    page: Page
    home: str
    outside: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", self._requested)
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _requested(self, request: Request) -> None:
        if not request.url.startswith(f"{self.home}/"):
            self.outside.append(request.url)

    def _said(self, message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text or "Content-Security-Policy" in message.text:
            self.forbidden.append(message.text)
        elif message.type == "error" and "status of" not in message.text:
            self.errors.append(message.text)

    def sign_in(self, key: str) -> None:
        self.page.goto(self.home)
        self.page.get_by_label("Your key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()

    def serious_findings(self) -> list[str]:
        """What axe finds about the page as it stands, of what keeps people out."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']}: {node['html']}"
            for each in found
            if each["impact"] in _SERIOUS
            for node in each["nodes"]
        ]

    def require_clean(self) -> None:
        assert (self.outside, self.forbidden, self.errors) == ([], [], [])


@dataclass(frozen=True, slots=True)
class Stage:
    """A service with an example log, an owner and an analyst; and a browser."""

    workspace: Workspace
    addresses: Addresses
    browser: Browser

    @contextmanager
    def visit(
        self,
        home: str,
        *,
        script: bool = True,
        scheme: Scheme = "light",
        size: tuple[int, int] = (1200, 900),
    ) -> Iterator[Visit]:
        context = self.browser.new_context(
            java_script_enabled=script,
            color_scheme=scheme,
            viewport={"width": size[0], "height": size[1]},
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE_MS)
        try:
            yield Visit(context.new_page(), home)
        finally:
            context.close()

    @property
    def workbench(self) -> str:
        return str(self.addresses.analyst)

    @property
    def console(self) -> str:
        return str(self.addresses.owner)

    def analyst_key(self, name: str, log: str = "claims") -> str:
        self.workspace.custody.grant_analyst(log, name, Epsilon.of(1))
        return self.workspace.custody.issue_key(Role.ANALYST, name).secret

    def owner_key(self) -> str:
        return self.workspace.custody.issue_key(Role.OWNER, "olga").secret


@contextmanager
def staged(folder: Path, settings: Settings | None = None) -> Iterator[Stage]:
    """The example log of an insurance, served; and a browser to look at it."""
    example = EXAMPLES["claims"]
    workspace = pappi.create(folder / "insurance")
    new = NewLog(terms=example.terms)
    workspace.import_log(example.write_log(folder), "claims", new=new, timezone=example.zone)
    with (
        listening(workspace, settings or Settings(shutdown_seconds=5)) as addresses,
        chromium() as browser,
    ):
        yield Stage(workspace, addresses, browser)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()
