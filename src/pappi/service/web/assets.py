"""Style sheets and script of the pages, under names that change with their content.

A browser may keep them for ever: a new version has a new name.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pappi.report.dpo.style import DPO_CSS
from pappi.report.page_style import PAGE_CSS
from pappi.service.places import STATIC

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
          "svg": "image/svg+xml"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    """By name, e.g. `pages.1a2b3c4d.css`."""
    return {_named(name, content): _asset(name, content) for name, content in _sources().items()}


@cache
def asset_address(name: str) -> str:
    """Where a style sheet or script is found."""
    return f"{STATIC}{_named(name, _sources()[name])}"


@cache
def _sources() -> dict[str, bytes]:
    folder = files("pappi.service.web") / "static"
    found = {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}
    # Charts, tables and documents look the same here as in the reports they are printed in.
    return {**found, "report.css": PAGE_CSS.encode(), "dpo.css": DPO_CSS.encode()}


def _named(name: str, content: bytes) -> str:
    stem, _, ending = name.rpartition(".")
    return f"{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{ending}"


def _asset(name: str, content: bytes) -> Asset:
    return Asset(content, _TYPES[name.rpartition(".")[2]])
