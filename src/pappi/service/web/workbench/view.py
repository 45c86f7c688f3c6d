"""The base of every page of the workbench, with the session of the visitor's key."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from starlette.responses import Response

from pappi.report import Element, series_card
from pappi.service.keys import Bearer
from pappi.service.web.rendering import page
from pappi.session import Workspace
from pappi.values import Right, Series


class View:
    """One method for each page, in the classes derived from it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def _page(
        self, template: str, bearer: Bearer, status: int = HTTPStatus.OK, **context: object
    ) -> Response:
        """A page of the workbench, with the visitor's name and what their key may do."""
        may_release = Right.RELEASE in bearer.record.rights
        return page(
            f"workbench/{template}", status, visitor=bearer.name, may_release=may_release, **context
        )


def cards_of(series: Sequence[Series]) -> list[Element]:
    return [series_card(ppi, f"ppi-{number}") for number, ppi in enumerate(series, start=1)]
