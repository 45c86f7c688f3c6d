"""Templates to HTML, in which everything except an `Element` of `report` is escaped; assets; forms.

Style sheets and script have names that change with their content, so that a browser may keep
them for ever.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Query, Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from pappi import report
from pappi.errors import UsageError
from pappi.report import DPO_CSS, PAGE_CSS, printable
from pappi.service.keys import STATIC
from pappi.values import BudgetLine

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
          "svg": "image/svg+xml"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asset:
    """What pages load; its address changes with its content, e.g. `/static/pages.1a2b3c4d.css`."""

    address: str
    content: bytes
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    """By name, e.g. `pages.css`."""
    folder = files("pappi.service.web") / "static"
    static = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    # Charts, tables and documents look the same here as in printed reports.
    static |= {"report.css": PAGE_CSS.encode(), "dpo.css": DPO_CSS.encode()}
    found = {}
    for name, content in static.items():
        stem, _, ending = name.rpartition(".")
        digest = hashlib.sha256(content).hexdigest()[:12]
        found[name] = Asset(f"{STATIC}{stem}.{digest}.{ending}", content, _TYPES[ending])
    return found


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
    templates.globals["asset"] = lambda name: assets()[name].address
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


# --- forms --------------------------------------------------------------------------------

_MOST_FIELDS = 500
_DAY = 10


class Form(Mapping[str, str]):
    """The fields of a form; a field that was not sent is empty.

    >>> form = Form([("case", "a"), ("case", "b"), ("log", " claims ")])
    >>> form["log"], form.all("case"), form["other"]
    ('claims', ['a', 'b'], '')
    """

    def __init__(self, fields: Sequence[tuple[str, str]] = ()) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> str:
        return next((value.strip() for key, value in self._fields if key == name), "")

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._fields))

    def __len__(self) -> int:
        return len(dict(self._fields))

    def all(self, name: str) -> list[str]:
        """Every value of a field that may come several times."""
        return [value for key, value in self._fields if key == name]

    def lines(self, name: str) -> list[str]:
        """The lines of a text field, each as it was written, without empty ones."""
        return [line for value in self.all(name) for line in value.split("\n") if line.strip()]


async def form_of(request: Request) -> Form:
    """The body of a POST, which a browser sends url-encoded."""
    body = await request.body()
    try:
        text = body.decode("ascii")
        fields = parse_qsl(
            text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:
        raise UsageError("the form cannot be read") from None
    return Form([(name, value.replace("\r\n", "\n")) for name, value in fields])


Sent = Annotated[Form, Depends(form_of)]


def day_in(text: str, purpose: str) -> date:
    try:
        if len(text) == _DAY:
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise UsageError(f"this is not a day {purpose}", hint="write it as 2026-12-31")
