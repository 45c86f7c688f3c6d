"""Every route of both applications: its right, what it takes and what it gives."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Mount, Route

import pappi
from pappi.service.analyst import analyst_app
from pappi.service.keys import rights_of
from pappi.service.middleware import Service
from pappi.service.owner import owner_app
from tools.docs.markdown import code, joined, sentence, table
from tools.docs.shapes import fields_of, shape_of

INTRODUCTION = """\
# HTTP

Two applications on two ports: one for analysts, one for the owner. A key goes along as
`Authorization: Bearer pappi_…`; each route names the [right](../how-to/keys.md) the key must have.
Bodies and replies are JSON; an ε is a decimal written as text. `GET /openapi.json` describes the
same to programs. Failures are [problem+json](errors.md).
"""

PAGES = """\
For people with a browser: they are signed in by a cookie, and every form carries a token. They are
no interface for programs, and may change. [Use the pages](../how-to/pages.md) tells what they do.
"""
_COMMON_PAGES = {
    "/": "leads to where one begins",
    "/sign-out": "ends the session",
    "/static/{name}": "styles, scripts and pictures of the pages",
}


@dataclass(frozen=True, slots=True)
class Application:
    """One of the two: its routes, and its OpenAPI document."""

    title: str
    about: str
    routes: tuple[BaseRoute, ...]
    document: Mapping[str, Any]


def applications() -> tuple[Application, ...]:
    with tempfile.TemporaryDirectory() as folder:
        workspace = pappi.create(Path(folder) / "workspace")
        found = (
            _application(analyst_app(workspace), "For analysts", "Port 8080 of `pappi serve`."),
            _application(owner_app(workspace), "For the owner", "Port 8081 of `pappi serve`."),
        )
        workspace.close()
    return found


def _application(app: Service, title: str, about: str) -> Application:
    return Application(title, about, tuple(app.routes), app.openapi())


def addresses(routes: tuple[BaseRoute, ...]) -> Iterator[tuple[str, str, BaseRoute]]:
    """Method, path and route of all that an application answers to."""
    for route in routes:
        if isinstance(route, Mount):
            yield "GET", f"{route.path}/…", route
        elif isinstance(route, Route | APIRoute):
            for method in sorted((route.methods or set()) - {"HEAD"}):
                yield method, route.path, route


def page() -> str:
    found = applications()
    return joined([INTRODUCTION, *map(_section, found), _shapes(found)])


def _section(application: Application) -> str:
    """Routes for programs in detail, and the addresses of the pages."""
    found = list(addresses(application.routes))
    documented = application.document["paths"]
    programs = [one for one in found if one[1] in documented]
    pages = [one for one in found if one[1] not in documented]
    return joined(
        [
            f"## {application.title}",
            application.about,
            _overview(programs),
            *(_detail(documented[path][how.lower()], how, path) for how, path, _ in programs),
            f"### Pages {application.title.lower()}" if pages else "",
            PAGES if pages else "",
            _overview(pages),
        ]
    )


def _overview(found: list[tuple[str, str, BaseRoute]]) -> str:
    rows = [(code(f"{how} {path}"), _right(route), _told(route)) for how, path, route in found]
    return table(("route", "right", "what it does"), rows)


def _right(route: BaseRoute) -> str:
    rights = rights_of(route) if isinstance(route, APIRoute) else []
    return ", ".join(code(str(right)) for right in rights) or "none"


def _told(route: BaseRoute) -> str:
    if isinstance(route, APIRoute) and route.summary:
        return sentence(route.summary)
    told = getattr(getattr(route, "endpoint", None), "__doc__", None)
    common = _COMMON_PAGES.get(getattr(route, "path", ""), "")
    return sentence((told or common).strip().split("\n")[0])


def _detail(operation: Mapping[str, Any], how: str, path: str) -> str:
    """What a route takes and gives."""
    parameters = [_parameter(one) for one in operation.get("parameters", ())]
    return joined(
        [
            f"### {how} {path}",
            _exchange(operation),
            table(("parameter", "in", "type", "meaning"), parameters),
        ]
    )


def _exchange(operation: Mapping[str, Any]) -> str:
    body = operation.get("requestBody", {}).get("content", {})
    taken = " or ".join(f"{shape_of(one.get('schema', {}))} ({kind})" for kind, one in body.items())
    given = operation["responses"].get("200", {}).get("content", {})
    reply = " or ".join(
        f"{shape_of(one.get('schema', {}))} ({kind})" for kind, one in given.items()
    )
    failures = ", ".join(status for status in operation["responses"] if status != "200")
    takes = f"Takes {taken}. " if taken else ""
    return f"{takes}Gives {reply or 'a page'}. Fails with {failures}."


def _parameter(one: Mapping[str, Any]) -> tuple[str, str, str, str]:
    meaning = one.get("description", "")
    needed = "" if one.get("required") else " May be left out."
    return code(one["name"]), one["in"], shape_of(one["schema"]), sentence(meaning) + needed


def _shapes(found: tuple[Application, ...]) -> str:
    """What bodies and replies are made of; both applications share most."""
    shapes: dict[str, Mapping[str, Any]] = {}
    for application in found:
        shapes.update(application.document["components"]["schemas"])
    sections = [
        joined(
            [f"### {name}", sentence(shapes[name].get("description", "")), _fields(shapes[name])]
        )
        for name in sorted(shapes)
    ]
    return joined(["## Shapes", "Fields without a mark are always there.", *sections])


def _fields(shape: Mapping[str, Any]) -> str:
    return table(("field", "type", "meaning"), fields_of(shape))
