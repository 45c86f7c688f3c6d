"""How a route is added: with the right it needs, and every failure it documents."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from pappi.service.keys import needs
from pappi.service.layers import Service
from pappi.service.reply_models import (
    Health,
    ProblemReply,
)
from pappi.values.access import Right

# What can happen to any request with a key: it, its key, its body or the workspace is no good.
_ANY = (400, 401, 403, 408, 413, 422, 429, 500, 503)
LOG = (404,)
"""Of routes about a log, or about definitions that name one."""

Endpoint = Callable[..., Any]


def add_route(
    app: Service,
    method: str,
    path: str,
    endpoint: Endpoint,
    right: Right,
    failures: tuple[int, ...] = (),
    **more: Any,  # noqa: ANN401 - FastAPI's own options
) -> None:
    """The reply's shape is the endpoint's return annotation; the summary is its docstring."""
    app.add_api_route(
        path,
        endpoint,
        methods=[method],
        dependencies=[needs(right)],
        responses=_documented((*_ANY, *failures)),
        operation_id=f"{method.lower()}{_words(path)}",
        summary=_first_line(endpoint),
        description=" ",
        **more,
    )


def add_page(app: Service, method: str, path: str, endpoint: Endpoint, right: Right) -> None:
    """A page for people: behind a session, and not in the document for programs."""
    app.add_api_route(
        path, endpoint, methods=[method], dependencies=[needs(right)], include_in_schema=False
    )


def add_common_routes(app: Service, right: Right, check: Callable[[], object]) -> None:
    """For whoever runs the service; and the OpenAPI document, for whoever has a key."""

    def health() -> Health:
        """The process runs."""
        return Health()

    def ready() -> Health:
        """The workspace can be read, and requests are taken."""
        check()
        return Health()

    def document() -> dict[str, Any]:
        """This application's OpenAPI document."""
        return app.openapi()

    for path, endpoint in (("/health", health), ("/ready", ready)):
        app.add_api_route(
            path,
            endpoint,
            methods=["GET"],
            responses=_documented((408, 413, 500, 503)),
            operation_id=path[1:],
            summary=_first_line(endpoint),
            description=" ",
        )
    add_route(app, "GET", "/openapi.json", document, right)


def _documented(statuses: tuple[int, ...]) -> dict[int | str, dict[str, Any]]:
    return {
        status: {"model": ProblemReply, "description": HTTPStatus(status).phrase}
        for status in sorted(statuses)
    }


def _words(path: str) -> str:
    return "".join(f"_{part.strip('{}').replace('.', '_')}" for part in path.split("/") if part)


def _first_line(endpoint: Endpoint) -> str:
    return (endpoint.__doc__ or "").strip().split("\n")[0].removesuffix(".")
