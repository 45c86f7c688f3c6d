"""Saved queries: shown again from the record, which is free; and subscriptions to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Path, Query
from starlette.responses import RedirectResponse, Response

from pappi.errors import NotFound, TellsNothing
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.report import csv_text
from pappi.service.keys import Asking, Bearer
from pappi.service.web.forms import Sent, day_in
from pappi.service.web.workbench.asking import paid_text, price_text
from pappi.service.web.workbench.comparing import PERIODS, Choice, compared
from pappi.service.web.workbench.view import View, cards_of
from pappi.session import Analyst
from pappi.store import SavedQuery

Picked = Annotated[str, Query(max_length=1_000)]
QuestionId = Annotated[str, Path(max_length=64)]
_PLACE = "definitions"
_HOME = "/workbench/questions"
# At most this many PPIs have charts on one page; the others are on the next.
_ON_A_PAGE = 10


def _choice(
    ppi: Picked = "",
    of: Picked = PERIODS,
    first: Picked = "",
    second: Picked = "",
    period: Picked = "",
    by: Picked = "difference",
) -> Choice:
    """What was picked to be compared, in the address of the page."""
    return Choice(ppi, of, first, second, period, by)


class QuestionsView(View):
    """One method a page."""

    def all(self, bearer: Asking) -> Response:
        """The analyst's saved queries and subscriptions."""
        session = bearer.session_in(self._workspace)
        return self._page(
            "questions.html",
            bearer,
            saved=session.saved(),
            subscriptions=session.subscriptions(),
        )

    def one(
        self,
        question: QuestionId,
        bearer: Asking,
        smooth: bool = False,  # noqa: FBT001, FBT002 - parameters of the address
        after: Annotated[int, Query(ge=0, le=10_000)] = 0,
        choice: Annotated[Choice, Depends(_choice)] = Choice(),  # noqa: B008 - it is frozen
    ) -> Response:
        """What is on record about a question; what is not yet is named with its price."""
        return self._shown(question, bearer, smooth=smooth, after=after, choice=choice)

    def _shown(
        self,
        question: str,
        bearer: Bearer,
        *,
        smooth: bool = False,
        after: int = 0,
        choice: Choice = Choice(),  # noqa: B008 - it is frozen
        nothing: str = "",
    ) -> Response:
        """`nothing` is why a subscription was not made: it would tell nothing."""
        session = bearer.session_in(self._workspace)
        saved = _saved(session, question)
        catalogue = _catalogue(saved)
        shown = replace(catalogue, ppis=catalogue.ppis[after : after + _ON_A_PAGE])
        series = session.replay(shown, smooth=smooth)
        price = session.price(catalogue)
        return self._page(
            "question.html",
            bearer,
            question=saved,
            names=[ppi.name for ppi in catalogue.ppis],
            cards=cards_of(series),
            compared=compared(session, catalogue, series, choice),
            figures=sum(len(one.answers) for one in series),
            price=price,
            price_text=price_text(price),
            paid=paid_text(session.paid(catalogue), session.budget(saved.log)),
            smooth=smooth,
            after=after,
            next=after + _ON_A_PAGE if after + _ON_A_PAGE < len(catalogue.ppis) else None,
            subscriptions=[
                subscription
                for subscription in session.subscriptions()
                if subscription.definitions == saved.definitions
            ],
            log=session.log(saved.log),
            nothing=nothing,
        )

    def csv(self, question: QuestionId, bearer: Asking) -> Response:
        """The figures of a question, for a spreadsheet."""
        session = bearer.session_in(self._workspace)
        released = session.replay(_catalogue(_saved(session, question)))
        return Response(
            csv_text(released.to_records()),
            media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": 'attachment; filename="figures.csv"'},
        )

    def forget(self, question: QuestionId, bearer: Asking) -> Response:
        """Remove a saved query from the list."""
        bearer.session_in(self._workspace).forget(question)
        return RedirectResponse(_HOME, 303)

    def subscribe(self, question: QuestionId, sent: Sent, bearer: Asking) -> Response:
        """Subscribe: release it for every new block, up to a day."""
        session = bearer.session_in(self._workspace)
        saved = _saved(session, question)
        until = day_in(sent["until"], "to subscribe until")
        try:
            session.subscribe(_catalogue(saved), until, anyway=bool(sent["anyway"]))
        except TellsNothing as refusal:
            return self._shown(question, bearer, nothing=refusal.message)
        return RedirectResponse(f"{_HOME}/{saved.id}", 303)

    def end(self, question: QuestionId, bearer: Asking) -> Response:
        """End a subscription and free its remaining reservations."""
        bearer.session_in(self._workspace).unsubscribe(question)
        return RedirectResponse(_HOME, 303)


def _saved(session: Analyst, identity: str) -> SavedQuery:
    for query in session.saved():
        if query.id == identity:
            return query
    raise NotFound("you have no such question", hint="see My questions")


def _catalogue(query: SavedQuery) -> Catalogue:
    return parse_catalogue(query.definitions, _PLACE)
