"""Templates to HTML, in which what is not an `Element` of `report` is escaped; and their assets.

Style sheets and script have names that change with their content, so that a browser may keep
them for ever.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Annotated

from fastapi import Query
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from pappi.report import DPO_CSS, PAGE_CSS, Element, budget_gauge, gauge_table, printable
from pappi.service.keys import STATIC
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
    """Where a style sheet or script is found."""
    return f"{STATIC}{_named(name, _sources()[name])}"


@cache
def _sources() -> dict[str, bytes]:
    folder = files("pappi.service.web") / "static"
    own = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    # Charts, tables and documents look the same here as in the reports they are printed in.
    return {**own, "report.css": PAGE_CSS.encode(), "dpo.css": DPO_CSS.encode()}


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
    return templates


def _harmless(value: object) -> object:
    """Names come from logs and requests: no control characters, no turned-around text."""
    return printable(value) if type(value) is str else value


PageNumber = Annotated[int, Query(ge=1, le=10**6)]


@dataclass(frozen=True, slots=True)
class BlockPage:
    """Some of the blocks of a log, the newest on the first page."""

    gauge: Element
    table: Element
    page: int
    pages: int


def block_page(lines: Sequence[BudgetLine], page: int, rows: int) -> BlockPage | None:
    """Pages are counted from the newest block; within a page time runs forwards."""
    pages = -(-len(lines) // rows)
    page = max(min(page, pages), 1)
    end = len(lines) - (page - 1) * rows
    shown = lines[max(end - rows, 0) : end]
    return BlockPage(budget_gauge(shown), gauge_table(shown), page, pages) if shown else None


def page(template: str, status: int = HTTPStatus.OK, **context: object) -> HTMLResponse:
    """A page as a reply."""
    return HTMLResponse(_templates().get_template(template).render(context), status)
