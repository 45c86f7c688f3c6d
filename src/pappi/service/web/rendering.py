"""Templates to HTML. What is not an `Element` of `report/` is escaped."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from pappi.report.plain import plain
from pappi.service.web.assets import asset_address


@cache
def _templates() -> Environment:
    found = Environment(
        loader=PackageLoader("pappi.service.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    found.globals["asset"] = asset_address
    return found


def _harmless(value: object) -> object:
    """Names come from logs and requests: no control characters, no turned-around text."""
    return plain(value) if type(value) is str else value


def html_of(template: str, **context: object) -> str:
    return _templates().get_template(template).render(context)


def page(template: str, status: int = HTTPStatus.OK, **context: object) -> HTMLResponse:
    """A page as a reply."""
    return HTMLResponse(html_of(template, **context), status)
