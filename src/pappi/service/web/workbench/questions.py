"""Questions that were asked: shown again from the record, which is free; or asked for ever."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Annotated

from fastapi import Path, Query
from starlette.responses import RedirectResponse, Response

from pappi.errors import NotFound, UsageError
from pappi.ppinot.catalogue import parse_catalogue
from pappi.ppinot.model import Catalogue
from pappi.report.html import series_card
from pappi.report.spreadsheet import csv_text
from pappi.service.keys import Asking
from pappi.service.web.forms import Sent
from pappi.service.web.workbench.doors import door_of, workbench_page
from pappi.service.web.workbench.previews import price_text
from pappi.store.register import KeptQuestion
from pappi.workspace import Analyst, Workspace

QuestionId = Annotated[str, Path(max_length=64)]
_PLACE = "definitions"
_HOME = "/workbench/questions"
# Charts of so many PPIs in one page; the others are on the next.
_ON_A_PAGE = 10


class QuestionsDesk:
    """One method a page."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def all(self, bearer: Asking) -> Response:
        """Every question one has asked, and those that stand."""
        door = door_of(self._workspace, bearer)
        return workbench_page("questions.html", bearer, kept=door.kept(), standing=door.standing())

    def one(
        self,
        question: QuestionId,
        bearer: Asking,
        smooth: bool = False,  # noqa: FBT001, FBT002 - parameters of the address
        after: Annotated[int, Query(ge=0, le=10_000)] = 0,
    ) -> Response:
        """What is on record about a question; what is not yet is named with its price."""
        door = door_of(self._workspace, bearer)
        kept = self._kept(door, question)
        catalogue = _catalogue(kept)
        shown = replace(catalogue, ppis=catalogue.ppis[after : after + _ON_A_PAGE])
        series = door.replay(shown, smooth=smooth)
        price = door.price(catalogue)
        return workbench_page(
            "question.html",
            bearer,
            question=kept,
            names=[ppi.name for ppi in catalogue.ppis],
            cards=[series_card(one, f"ppi-{n}") for n, one in enumerate(series, start=1)],
            figures=sum(len(one.answers) for one in series),
            price=price,
            price_text=price_text(price),
            smooth=smooth,
            after=after,
            next=after + _ON_A_PAGE if after + _ON_A_PAGE < len(catalogue.ppis) else None,
            standing=[each for each in door.standing() if each.definitions == kept.definitions],
            log=door.log(kept.log),
        )

    def csv(self, question: QuestionId, bearer: Asking) -> Response:
        """The figures of a question, for a spreadsheet."""
        door = door_of(self._workspace, bearer)
        found = door.replay(_catalogue(self._kept(door, question)))
        return Response(
            csv_text(found.to_records()),
            media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": 'attachment; filename="figures.csv"'},
        )

    def forget(self, question: QuestionId, bearer: Asking) -> Response:
        """Strike a question off the list."""
        door_of(self._workspace, bearer).forget(question)
        return RedirectResponse(_HOME, 303)

    def stand(self, question: QuestionId, sent: Sent, bearer: Asking) -> Response:
        """Ask it again about every block to come, up to a day."""
        door = door_of(self._workspace, bearer)
        kept = self._kept(door, question)
        door.subscribe(_catalogue(kept), _day(sent["until"]))
        return RedirectResponse(f"{_HOME}/{kept.id}", 303)

    def end(self, question: QuestionId, bearer: Asking) -> Response:
        """Give up what is still reserved for a standing question."""
        door_of(self._workspace, bearer).unsubscribe(question)
        return RedirectResponse(_HOME, 303)

    def _kept(self, door: Analyst, identity: str) -> KeptQuestion:
        for each in door.kept():
            if each.id == identity:
                return each
        raise NotFound("there is no such question among yours", hint="see the list of them")


def _catalogue(kept: KeptQuestion) -> Catalogue:
    return parse_catalogue(kept.definitions, _PLACE)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError("this is not a day", hint="write e.g. 2027-12-31") from None
