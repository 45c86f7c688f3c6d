"""The door a visitor of the workbench comes through: that of their key, and no other."""

from __future__ import annotations

from http import HTTPStatus

from starlette.responses import Response

from pappi.service.keys import Bearer
from pappi.service.web.rendering import page
from pappi.values.access import Right
from pappi.workspace import Analyst, Workspace


def door_of(workspace: Workspace, bearer: Bearer) -> Analyst:
    return workspace.granted_checkpoint(bearer.name, bearer.still_holds)


def workbench_page(
    template: str, bearer: Bearer, status: int = HTTPStatus.OK, **context: object
) -> Response:
    """A page of the workbench, which says whose it is and what their key is good for."""
    may_release = Right.RELEASE in bearer.record.rights
    return page(
        f"workbench/{template}", status, visitor=bearer.name, may_release=may_release, **context
    )
