"""The analyst's pages, except asking: the logs one may query, and saved queries.

A log's page shows what is public about it and the remaining budget. A saved query is shown again
from the record, which is free; two of its figures can be compared, and it can be subscribed to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Path, Query
from starlette.responses import RedirectResponse, Response

from pappi.checkpoint import Price
from pappi.errors import NotFound, PappiError, TellsNothing
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.report import (
    Element,
    comparison_lines,
    count_text,
    csv_text,
    left_text,
    series_card,
)
from pappi.service.keys import Authenticated, Bearer
from pappi.service.models import Name
from pappi.service.web.forms import Sent, day_in
from pappi.service.web.rendering import PageNumber, block_page, page
from pappi.session import LocalSession
from pappi.store import SavedQuery
from pappi.values import Answer, BudgetLine, By, PublicLog, Right, Series


class View:
    """One method for each page, in the classes derived from it."""

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


def price_text(price: Price) -> str:
    """For a button: what pressing it costs.

    >>> from pappi.values import ZERO, Epsilon
    >>> price_text(Price(0, 0, 0, ZERO, ZERO, ""))
    'free: already released'
    >>> tenth = Epsilon.of("0.1")
    >>> price_text(Price(24, 0, 12, tenth, tenth, ""))
    '24 new figures, ε 0.1 in each of 12 blocks'
    """
    if price.is_free:
        return "free: already released"
    aside = ", partly reserved earlier" if price.reserved else ""
    return f"{count_text(price.figures, 'new figure')}, {_in_blocks(price)}{aside}"


def paid_text(paid: Price, budget: Sequence[BudgetLine]) -> str:
    """What the figures on record have cost, and what is left of the budget."""
    if paid.is_free:
        return ""
    return f"Charged for these figures, once: {_in_blocks(paid)}. {left_text(budget)}"


def _in_blocks(price: Price) -> str:
    upto = "" if price.least == price.most else "up to "
    where = "one block" if price.blocks == 1 else f"each of {price.blocks:,} blocks"
    return f"{upto}ε {price.most} in {where}"


# --- logs ---------------------------------------------------------------------------------

_ROWS = 60


@dataclass(frozen=True, slots=True)
class LogCard:
    """One log at a glance."""

    log: PublicLog
    lines: tuple[BudgetLine, ...]
    queries: int = 0

    @property
    def protects(self) -> str:
        unit = self.log.terms.unit
        return "each case" if unit.column is None else f"each “{unit.column}”"


class LogsView(View):
    """One method per page."""

    def overview(self, bearer: Authenticated) -> Response:
        """Every log the analyst may query."""
        session = bearer.session
        about = [query.log for query in session.saved()]
        cards = [
            LogCard(log, session.budget(log.name), about.count(log.name)) for log in session.logs()
        ]
        subscriptions = session.subscriptions()
        return self._page("overview.html", bearer, cards=cards, subscriptions=subscriptions)

    def log(self, log: Name, bearer: Authenticated, blocks: PageNumber = 1) -> Response:
        """What is public about a log."""
        session = bearer.session
        card = LogCard(session.log(log), session.budget(log))
        return self._page(
            "log.html", bearer, card=card, blocks=block_page(card.lines, blocks, _ROWS)
        )


# --- two figures of a saved query compared --------------------------------------------
#
# All of it comes from the record, so it is free, however often one looks.

BY_WORDS = {"difference": "difference", "percent": "difference in percent", "ratio": "ratio"}
PERIODS, GROUPS = "periods", "groups"


@dataclass(frozen=True, slots=True)
class ComparisonChoice:
    """What was picked; nothing yet, if it has no first and second."""

    ppi: str = ""
    of: str = PERIODS
    first: str = ""
    second: str = ""
    period: str = ""
    by: str = str(By.DIFFERENCE)

    @property
    def is_made(self) -> bool:
        return bool(self.first and self.second)


@dataclass(frozen=True, slots=True)
class Offer:
    """The groups of one PPI, and its periods that are on record, the latest first."""

    ppi: str
    name: str
    periods: tuple[str, ...]
    groups: tuple[str, ...]

    @classmethod
    def of(cls, series: Series) -> Offer:
        periods = sorted({answer.period for answer in series.answers}, reverse=True)
        groups = dict.fromkeys(answer.group for answer in series.answers)
        return cls(
            series.ppi,
            series.name,
            tuple(period.label for period in periods),
            tuple(group for group in groups if group is not None),
        )


@dataclass(frozen=True, slots=True)
class InWords:
    """One comparison: what is said first, the rest, and whether it is more than noise."""

    name: str
    said: str
    rest: tuple[str, ...]
    more_than_noise: bool


@dataclass(frozen=True, slots=True)
class ComparisonCard:
    """What a page shows about comparing: what is offered, what was picked, and the result."""

    offers: tuple[Offer, ...]
    choice: ComparisonChoice
    results: tuple[InWords, ...] = ()
    problem: str = ""
    by_words: dict[str, str] = field(default_factory=lambda: BY_WORDS)

    @property
    def with_periods(self) -> tuple[Offer, ...]:
        return tuple(offer for offer in self.offers if len(offer.periods) > 1)

    @property
    def with_groups(self) -> tuple[Offer, ...]:
        return tuple(offer for offer in self.offers if len(offer.groups) > 1)


def compare_figures(
    session: LocalSession, catalogue: Catalogue, series: Sequence[Series], choice: ComparisonChoice
) -> ComparisonCard:
    # What shows a comparison already has no figures of its own to pick from.
    offers = tuple(Offer.of(shown) for shown in series if not shown.view)
    if not choice.is_made:
        return ComparisonCard(offers, choice)
    pair = choice.first, choice.second
    groups, periods = (pair, None) if choice.of == GROUPS else (None, pair)
    try:
        (result,) = session.compare(
            catalogue, ppi=choice.ppi, by=choice.by, periods=periods, groups=groups
        )
    except PappiError as error:
        return ComparisonCard(
            offers, choice, problem=f"{error.message[:1].upper()}{error.message[1:]}."
        )
    wanted = (a for a in result.answers if not choice.period or a.period.label == choice.period)
    return ComparisonCard(
        offers, choice, tuple(_in_words(result.name, answer) for answer in wanted)
    )


def _in_words(name: str, answer: Answer) -> InWords:
    said, *rest = comparison_lines(answer)
    comparison = answer.comparison
    surely = comparison is not None and comparison.more_than_noise
    return InWords(name, said, tuple(rest), more_than_noise=surely)


# --- saved queries and subscriptions ------------------------------------------------------

Picked = Annotated[str, Query(max_length=1_000)]
QueryId = Annotated[str, Path(max_length=64)]
_PLACE = "definitions"
_HOME = "/workbench/queries"
# At most this many PPIs have charts on one page; the others are on the next.
_ON_A_PAGE = 10


def _choice(
    ppi: Picked = "",
    of: Picked = PERIODS,
    first: Picked = "",
    second: Picked = "",
    period: Picked = "",
    by: Picked = "difference",
) -> ComparisonChoice:
    """What was picked to be compared, in the address of the page."""
    return ComparisonChoice(ppi, of, first, second, period, by)


class SavedQueriesView(View):
    """One method per page."""

    def all(self, bearer: Authenticated) -> Response:
        """The analyst's saved queries and subscriptions."""
        session = bearer.session
        return self._page(
            "queries.html",
            bearer,
            saved=session.saved(),
            subscriptions=session.subscriptions(),
        )

    def one(
        self,
        query: QueryId,
        bearer: Authenticated,
        smooth: bool = False,  # noqa: FBT001, FBT002 - parameters of the address
        after: Annotated[int, Query(ge=0, le=10_000)] = 0,
        choice: Annotated[ComparisonChoice, Depends(_choice)] = ComparisonChoice(),  # noqa: B008 - it is frozen
    ) -> Response:
        """What is on record for a saved query, and the price of what is not."""
        return self._shown(query, bearer, smooth=smooth, after=after, choice=choice)

    def _shown(
        self,
        query: str,
        bearer: Bearer,
        *,
        smooth: bool = False,
        after: int = 0,
        choice: ComparisonChoice = ComparisonChoice(),  # noqa: B008 - it is frozen
        nothing: str = "",
    ) -> Response:
        """`nothing` says why a subscription was refused: it would tell nothing."""
        session = bearer.session
        saved = _saved(session, query)
        catalogue = _catalogue(saved)
        on_page = replace(catalogue, ppis=catalogue.ppis[after : after + _ON_A_PAGE])
        series = session.replay(on_page, smooth=smooth)
        price = session.price(catalogue)
        return self._page(
            "query.html",
            bearer,
            query=saved,
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

    def csv(self, query: QueryId, bearer: Authenticated) -> Response:
        """The figures of a saved query, for a spreadsheet."""
        session = bearer.session
        released = session.replay(_catalogue(_saved(session, query)))
        return Response(
            csv_text(released.to_records()),
            media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": 'attachment; filename="figures.csv"'},
        )

    def forget(self, query: QueryId, bearer: Authenticated) -> Response:
        """Remove a saved query from the list."""
        bearer.session.forget(query)
        return RedirectResponse(_HOME, 303)

    def subscribe(self, query: QueryId, sent: Sent, bearer: Authenticated) -> Response:
        """Subscribe: release it for every new block, up to a day."""
        session = bearer.session
        saved = _saved(session, query)
        until = day_in(sent["until"], "to subscribe until")
        try:
            session.subscribe(_catalogue(saved), until, anyway=bool(sent["anyway"]))
        except TellsNothing as refusal:
            return self._shown(query, bearer, nothing=refusal.message)
        return RedirectResponse(f"{_HOME}/{saved.id}", 303)

    def end(self, subscription: QueryId, bearer: Authenticated) -> Response:
        """End a subscription and free its remaining reservations."""
        bearer.session.unsubscribe(subscription)
        return RedirectResponse(_HOME, 303)


def _saved(session: LocalSession, identity: str) -> SavedQuery:
    for query in session.saved():
        if query.id == identity:
            return query
    raise NotFound("you have no such query", hint="see My queries")


def _catalogue(query: SavedQuery) -> Catalogue:
    return parse_catalogue(query.definitions, _PLACE)
