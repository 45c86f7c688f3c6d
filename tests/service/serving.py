"""A workspace behind both applications: called in-process, or listening on real sockets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import httpx
from starlette.types import ASGIApp

from pappi.service import Address, Addresses, Settings
from pappi.service.analyst import analyst_app
from pappi.service.middleware import Frame, Service, frame_of
from pappi.service.owner import owner_app
from pappi.service.running import Running
from pappi.session import Workspace
from pappi.values import Epsilon, Right, Role

# Rates and the time grid have tests of their own; here they would only stand in the way.
UNHURRIED = Settings(
    grid_seconds=0.001,
    requests_per_minute=10**9,
    failures_per_minute=10**9,
    one_at_once=1_000,
    one_waiting=1_000,
    shutdown_seconds=5,
)
ANYWHERE = Addresses(Address("127.0.0.1", 0), Address("127.0.0.1", 0))


@dataclass(frozen=True)
class Serving:
    """Both applications of one workspace, in this process, each made when it is first asked."""

    workspace: Workspace
    frame: Frame

    @cached_property
    def analyst(self) -> Service:
        return analyst_app(self.workspace, frame=self.frame)

    @cached_property
    def owner(self) -> Service:
        return owner_app(self.workspace, frame=self.frame)


def serving(workspace: Workspace, settings: Settings = UNHURRIED) -> Serving:
    return Serving(workspace, frame_of(settings))


def analyst_key(workspace: Workspace, name: str, grants: Mapping[str, str]) -> str:
    """The secret of a new key for an analyst, who is granted so much ε of each block of logs."""
    for log, per_block in grants.items():
        workspace.custody.grant_analyst(log, name, Epsilon.of(per_block))
    return workspace.custody.issue_key(Role.ANALYST, name).secret


def owner_key(workspace: Workspace, rights: Sequence[Right] | None = None) -> str:
    return workspace.custody.issue_key(Role.OWNER, "boss", rights).secret


class Caller:
    """Calls one application in-process, with a key; many requests over one event loop."""

    def __init__(self, app: ASGIApp, key: str | None) -> None:
        self._runner = asyncio.Runner()
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://pappi",
            headers={} if key is None else {"Authorization": f"Bearer {key}"},
        )

    def __call__(self, method: str, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401
        return self._runner.run(self._client.request(method, path, **more))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()


@contextmanager
def listening(workspace: Workspace, settings: Settings = UNHURRIED) -> Iterator[Addresses]:
    """Both applications as `pappi serve` runs them, on ports of the system's choice."""
    running = Running(workspace, ANYWHERE, settings)
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        yield running.addresses
    finally:
        running.stop()
        thread.join()
