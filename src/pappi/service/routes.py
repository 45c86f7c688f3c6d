"""How an application begins, and how a route is added: its right, every failure it documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from functools import lru_cache
from http import HTTPStatus
from inspect import signature
from typing import Annotated, Any, TypeVar, get_args, get_origin

from fastapi import Query, Response

from pappi.checkpoint import catalogue_of, refuse_both
from pappi.errors import PappiError, Problem
from pappi.ppinot import Catalogue, notation_of, parse_definitions
from pappi.service.keys import Authenticator, Sessions, needs
from pappi.service.middleware import Frame, Service, frame_of, new_service
from pappi.service.models import Definitions, Health, ProblemReply, reply_model
from pappi.service.problems import Audience
from pappi.service.settings import Settings
from pappi.service.telemetry import log_failure
from pappi.service.web.sign_in import add_sign_in
from pappi.session import Workspace, to_wire
from pappi.values import Right

# Failures of any request with a key: of the request, its key, its body or the workspace.
_ANY = (400, 401, 403, 408, 413, 422, 429, 500, 503)
LOG = (404,)
"""Failures of routes about a log, or about definitions that name one."""

Endpoint = Callable[..., Any]

# What an application is called, and the right that looking needs.
_OF = {
    Audience.ANALYST: ("PaPPI, for analysts", Right.PREVIEW),
    Audience.OWNER: ("PaPPI, for the owner", Right.READ),
}


def new_application(
    audience: Audience, workspace: Workspace, settings: Settings | None, frame: Frame | None
) -> tuple[Service, Frame]:
    """An application with the routes that both have; `frame` is shared with the other one."""
    frame = frame or frame_of(settings or Settings())
    workspace, (title, right) = frame.paced(workspace), _OF[audience]
    sessions = Sessions(frame.settings.session_hours, frame.settings.session_idle_minutes)
    authenticator = Authenticator(audience, workspace, sessions)
    app = new_service(title, authenticator, frame)
    _add_common_routes(app, right, workspace.logs)
    add_sign_in(app, authenticator, frame.settings)
    return app, frame


def add_route(
    app: Service,
    method: str,
    path: str,
    endpoint: Endpoint,
    right: Right,
    failures: tuple[int, ...] = (),
    **more: Any,  # noqa: ANN401 - FastAPI's own options
) -> None:
    """The reply's shape is the endpoint's return annotation; the summary is its docstring.

    An endpoint may write its reply itself, as `Annotated[bytes, Reply]`: see `written`.
    """
    summary = _first_line(endpoint)
    returned = signature(endpoint, eval_str=True).return_annotation
    bytes_of = get_args(returned)[1] if get_origin(returned) is Annotated else None
    shape = bytes_of or returned
    if is_dataclass(shape) and isinstance(shape, type):
        more["response_model"] = reply_model(shape)
        endpoint = _writing(endpoint)
    app.add_api_route(
        path,
        endpoint,
        methods=[method],
        dependencies=[needs(right)],
        responses=_documented((*_ANY, *failures)),
        operation_id=f"{method.lower()}{_words(path)}",
        summary=summary,
        description=" ",
        **more,
    )


def _writing(endpoint: Endpoint) -> Endpoint:
    """The endpoint, its result written by the codec that clients read with."""

    def writing(**arguments: Any) -> Any:  # noqa: ANN401 - the endpoint's own parameters, and JSON
        reply = endpoint(**arguments)
        if isinstance(reply, bytes):
            return Response(reply, media_type="application/json")
        return to_wire(reply)

    writing.__signature__ = signature(endpoint, eval_str=True)  # type: ignore[attr-defined]
    return writing


def written(reply: object) -> bytes:
    """A reply as it is sent, checked against its model: to be kept, if it is sent often."""
    kind: type = type(reply)
    checked = reply_model(kind).model_validate(to_wire(reply))
    return checked.model_dump_json().encode("utf-8")


def add_page(app: Service, method: str, path: str, endpoint: Endpoint, right: Right) -> None:
    """A page for people: behind a session, and not in the OpenAPI document."""
    app.add_api_route(
        path, endpoint, methods=[method], dependencies=[needs(right)], include_in_schema=False
    )


def _add_common_routes(app: Service, right: Right, check: Callable[[], object]) -> None:
    """Health checks for operators, and the OpenAPI document for key holders."""

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

    failures = _documented((408, 413, 500, 503))
    failures[500]["model"] = ProblemReply  # puts it into the document once, for all routes
    for path, endpoint in (("/health", health), ("/ready", ready)):
        app.add_api_route(
            path,
            endpoint,
            methods=["GET"],
            responses=failures,
            operation_id=path[1:],
            summary=_first_line(endpoint),
            description=" ",
        )
    add_route(app, "GET", "/openapi.json", document, right)


def _documented(statuses: tuple[int, ...]) -> dict[int | str, dict[str, Any]]:
    """By reference: FastAPI would build a model for each failure of each route."""
    schema = {"$ref": f"#/components/schemas/{ProblemReply.__name__}"}
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {"application/json": {"schema": schema}},
        }
        for status in sorted(statuses)
    }


def _words(path: str) -> str:
    return "".join(f"_{part.strip('{}').replace('.', '_')}" for part in path.split("/") if part)


def _first_line(endpoint: Endpoint) -> str:
    return (endpoint.__doc__ or "").strip().split("\n")[0].removesuffix(".")


# --- what requests have in common --------------------------------------------------------------

After = Annotated[int, Query(ge=0, le=2**53, description="Only entries after this number.")]
Limit = Annotated[int | None, Query(ge=1, le=100_000, description="Entries in one reply.")]


Item = TypeVar("Item")


def page_of(
    entries: Callable[[int, int], Iterable[Item]],
    after: int,
    limit: int | None,
    settings: Settings,
    number: Callable[[Item], int],
) -> tuple[tuple[Item, ...], int | None]:
    """A page of `entries` after a number, and the number after which the next page begins.

    One entry more than fits is fetched, to see whether there is a next page.
    """
    length = min(limit or settings.page, settings.longest_page)
    page = tuple(entries(after, length + 1))
    return page[:length], number(page[length - 1]) if len(page) > length else None


# The file name in positions, of which only line and column are shown.
_PLACE = "definitions"
_LONG_TEXT = 10_000


def catalogue_in(sent: Definitions) -> Catalogue:
    return with_remarks(sent)[0]


def with_remarks(sent: Definitions) -> tuple[Catalogue, tuple[Problem, ...]]:
    """The catalogue in a request, and the remarks of its notation."""
    read = _read if len(sent.definitions) > _LONG_TEXT else _read_before
    catalogue, remarks = read(sent.definitions, sent.notation, sent.log)
    refuse_both(getattr(sent, "epsilon", None), sent.total, getattr(sent, "accuracy", None))
    return catalogue_of(catalogue, sent.total), remarks


def _read(
    text: str, notation: str | None, log: str | None
) -> tuple[Catalogue, tuple[Problem, ...]]:
    reading = parse_definitions(text, notation or notation_of(text), _PLACE, log)
    return reading.catalogue, tuple(reading.remarks)


_read_before = lru_cache(maxsize=64)(_read)
"""A text that is not long is read once, whoever sends it: what it says follows from it alone."""


def run_subscriptions(workspace: Workspace) -> int:
    """How many were released; a failure does not undo the seal."""
    try:
        runs = workspace.run_subscriptions()
    except PappiError as error:
        log_failure(error, "subscriptions")
        return 0
    for run in runs:
        if run.problem is not None:
            log_failure(run.problem, "subscriptions")
    return sum(1 for run in runs if run.problem is None)
