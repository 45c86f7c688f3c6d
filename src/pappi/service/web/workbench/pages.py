"""The analyst's pages, except asking: the logs one may query, and saved queries.

A log's page shows what is public about it and the remaining budget. A saved query is shown again
from the record, which is free, and can be subscribed to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Path, Query
from starlette.responses import RedirectResponse, Response

from pappi.errors import NotFound, TellsNothing
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.report import Element, budget_gauge, compared, csv_text, describe_log, horizon_text
from pappi.service.keys import Asking, Bearer
from pappi.service.models import Name
from pappi.service.web.forms import Sent, day_in
from pappi.service.web.rendering import PageNumber, block_page
from pappi.service.web.workbench.asking import paid_text, price_text
from pappi.service.web.workbench.comparing import PERIODS, Choice, compare_figures
from pappi.service.web.workbench.view import View, cards_of
from pappi.session import Analyst
from pappi.store import SavedQuery
from pappi.values import BudgetLine, PublicLog

# --- logs ---------------------------------------------------------------------------------

# A card shows the latest blocks; the log's own page shows all of them.
_LATEST = 12
_ROWS = 60


@dataclass(frozen=True, slots=True)
class LogCard:
    """One log at a glance."""

    log: PublicLog
    lines: tuple[BudgetLine, ...]
    queries: int = 0

    @property
    def gauge(self) -> Element:
        return budget_gauge(self.lines[-_LATEST:])

    @property
    def whole_gauge(self) -> Element:
        return budget_gauge(self.lines)

    @property
    def protects(self) -> str:
        unit = self.log.terms.unit
        return "each case" if unit.column is None else f"each “{unit.column}”"

    @property
    def compared(self) -> str:
        return compared([self.log.terms.adjacency], self.log.terms.unit)

    @property
    def days(self) -> str:
        return horizon_text(self.log)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        return describe_log(self.log)


class LogsView(View):
    """One method per page."""

    def overview(self, bearer: Asking) -> Response:
        """Every log the analyst may query."""
        session = bearer.session_in(self._workspace)
        about = [query.log for query in session.saved()]
        cards = [
            LogCard(log, session.budget(log.name), about.count(log.name)) for log in session.logs()
        ]
        subscriptions = session.subscriptions()
        return self._page("overview.html", bearer, cards=cards, subscriptions=subscriptions)

    def log(self, log: Name, bearer: Asking, blocks: PageNumber = 1) -> Response:
        """What is public about a log."""
        session = bearer.session_in(self._workspace)
        card = LogCard(session.log(log), session.budget(log))
        return self._page(
            "log.html", bearer, card=card, blocks=block_page(card.lines, blocks, _ROWS)
        )


# --- saved queries and subscriptions ------------------------------------------------------

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


class SavedQueriesView(View):
    """One method per page."""

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
        """What is on record for a saved query, and the price of what is not."""
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
        """`nothing` says why a subscription was refused: it would tell nothing."""
        session = bearer.session_in(self._workspace)
        saved = _saved(session, question)
        catalogue = _catalogue(saved)
        on_page = replace(catalogue, ppis=catalogue.ppis[after : after + _ON_A_PAGE])
        series = session.replay(on_page, smooth=smooth)
        price = session.price(catalogue)
        return self._page(
            "question.html",
            bearer,
            question=saved,
            names=[ppi.name for ppi in catalogue.ppis],
            cards=cards_of(series),
            compared=compare_figures(session, catalogue, series, choice),
            figures=sum(len(ppi.answers) for ppi in series),
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
        """The figures of a saved query, for a spreadsheet."""
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
