"""A workspace with a small log, both applications, and keys for every purpose."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
from starlette.types import ASGIApp

from pappi.custody import NewLog
from pappi.service import Settings
from pappi.service.middleware import frame_of
from pappi.values import Bounds, DefaultBounds, Epsilon, Right, Role, Terms
from tests.service.serving import Serving
from tests.small_logs import claims, workspace_with

LOG = "small"
SOJOURN = """
log: small
ppis:
  - id: sojourn
    name: Mean sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    target: below 4 days
    scope: {every: month}
"""
# The time grid and the rates are tested by themselves; elsewhere they would only be in the way.
QUICK = Settings(grid_seconds=0.001, requests_per_minute=10**6, failures_per_minute=10**6)
TERMS = NewLog(
    keys={"channel": ("web", "phone")},
    terms=Terms(
        block_budget=Epsilon.of(1),
        bounds=DefaultBounds(durations=Bounds(Fraction(0), Fraction(10**12, 3))),
    ),
)


@dataclass(frozen=True)
class Served(Serving):
    """Both applications, and keys for them."""

    def key(self, role: Role, name: str, rights: Sequence[Right] | None = None) -> str:
        return self.workspace.custody.issue_key(role, name, rights).secret

    @property
    def alice(self) -> str:
        """The key of an analyst to whom the log is granted."""
        return self.key(Role.ANALYST, "alice")

    @property
    def boss(self) -> str:
        return self.key(Role.OWNER, "boss")


def served(folder: Path, settings: Settings = QUICK) -> Served:
    workspace = workspace_with(folder / "w", claims(30), TERMS)
    workspace.custody.grant_analyst(LOG, "alice", Epsilon.of(1))
    return Served(workspace, frame_of(settings))


def ask(
    app: ASGIApp,
    method: str,
    path: str,
    key: str | None = None,
    json: object = None,
    **more: Any,  # noqa: ANN401 - httpx's own options
) -> httpx.Response:
    """One request, without a network."""
    return asyncio.run(_ask(app, method, path, key, json, more))


async def _ask(
    app: ASGIApp, method: str, path: str, key: str | None, json: object, more: dict[str, Any]
) -> httpx.Response:
    headers = dict(more.pop("headers", {}))
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://pappi") as client:
        return await client.request(method, path, json=json, headers=headers, **more)
