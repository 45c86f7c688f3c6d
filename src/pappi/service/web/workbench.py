"""The analyst's pages, and the right each of them needs.

The logs one may query: what is public about each, and the remaining budget. A query before its
release: composed or written, previewed, rehearsed, released. A saved query is shown again from the
record, which is free; two of its figures can be compared, and it can be subscribed to.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, Path, Query
from starlette.responses import RedirectResponse, Response

from pappi import report
from pappi.checkpoint import MOST_AT_ACCURACY, Price, catalogue_of, refuse_too_many
from pappi.errors import Conflict, NotAuthenticated, NotFound, PappiError, TellsNothing
from pappi.ledger import Forecast
from pappi.ppinot import (
    Catalogue,
    Ppi,
    Reading,
    notation_of,
    parse_catalogue,
    parse_definitions,
    sentence,
    write_yaml,
)
from pappi.service.keys import Authenticated, Bearer
from pappi.service.middleware import Service
from pappi.service.models import Name
from pappi.service.problems import Audience, fault_of
from pappi.service.routes import Endpoint, add_page
from pappi.service.web.composing import (
    DIRECTIONS,
    PERIODS,
    SHAPES,
    Composer,
    composed,
    composer,
    shapes_for,
)
from pappi.service.web.rendering import Form, PageNumber, Sent, block_page, day_in, page
from pappi.session import LocalSession
from pappi.store import SavedQuery
from pappi.values import Answer, BudgetLine, By, Epsilon, PublicLog, Quote, Right, Series


def add_workbench(app: Service) -> None:
    """Viewing and previewing need PREVIEW; what is charged, saved or ended needs RELEASE."""

    def see(path: str, endpoint: Endpoint, method: str = "GET") -> None:
        add_page(app, method, path, endpoint, Right.PREVIEW)

    def do(path: str, endpoint: Endpoint) -> None:
        add_page(app, "POST", path, endpoint, Right.RELEASE)

    see("/workbench", overview)
    see("/workbench/logs/{log}", one_log)
    see("/workbench/logs/{log}/ask", new_query)
    see("/workbench/logs/{log}/ask", preview, "POST")
    see("/workbench/rehearse", rehearse, "POST")
    do("/workbench/release", release)
    see(_QUERIES, saved_queries)
    see(_QUERIES + "/{query}", saved_query)
    see(_QUERIES + "/{query}/figures.csv", figures)
    do(_QUERIES + "/{query}/forget", forget)
    do(_QUERIES + "/{query}/subscribe", subscribe)
    do("/workbench/subscriptions/{subscription}/end", unsubscribe)


_QUERIES = "/workbench/queries"
# What error messages call the definitions.
_PLACE = "definitions"


def _page(
    template: str, bearer: Bearer, status: int = HTTPStatus.OK, **context: object
) -> Response:
    """A page of the workbench, with the visitor's name and what their key may do."""
    may_release = Right.RELEASE in bearer.record.rights
    return page(
        f"workbench/{template}", status, visitor=bearer.name, may_release=may_release, **context
    )


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


def overview(bearer: Authenticated) -> Response:
    """Every log the analyst may query."""
    session = bearer.session
    about = [query.log for query in session.saved()]
    cards = [
        LogCard(log, session.budget(log.name), about.count(log.name)) for log in session.logs()
    ]
    subscriptions = session.subscriptions()
    return _page("overview.html", bearer, cards=cards, subscriptions=subscriptions)


def one_log(log: Name, bearer: Authenticated, blocks: PageNumber = 1) -> Response:
    """What is public about a log."""
    session = bearer.session
    card = LogCard(session.log(log), session.budget(log))
    return _page("log.html", bearer, card=card, blocks=block_page(card.lines, blocks, _ROWS))


# --- a query before its release -----------------------------------------------------------

_LADDER = tuple(map(Epsilon.of, ("0.02", "0.05", "0.1", "0.2", "0.5", "1")))
# The slider reaches from a very small ε to a block's whole budget.
_LEAST = Epsilon.of("0.01")
_DEAREST = 1.0
_FOLLOWS = "It follows from what was released, and is free."
# At most this many PPIs have charts on one page; use the command line for more.
MOST_ON_A_PAGE = 50


@dataclass(frozen=True, slots=True)
class PpiPreview:
    """One PPI before its release; `accuracy` is the requested one, if any."""

    number: int
    ppi: Ppi
    quote: Quote
    forecast: Forecast | None
    accuracy: str
    ladder: list[dict[str, object]]
    left: Epsilon | None

    @property
    def after(self) -> str:
        """The budget before and after, where it is tightest."""
        if self.forecast is None or self.left is None or self.forecast.price > self.left:
            return ""
        after = self.left - self.forecast.price
        return f"Block {self.forecast.tightest} has ε {self.left} left now, and {after} afterwards."

    @property
    def tells_nothing(self) -> bool:
        """Whether a charge for it would be wasted; what is on record costs nothing."""
        return self.quote.tells_nothing and self.quote.new_charges > 0

    @property
    def lasts(self) -> tuple[str, ...]:
        if self.forecast is None:
            released = "Already released: repeating it is free."
            return (_FOLLOWS if self.quote.is_derived else released,)
        return report.forecast_lines(self.forecast)

    @property
    def slider(self) -> dict[str, object] | None:
        """From the finest accuracy to the coarsest, in the PPI's unit; none for what is derived."""
        quote, finest = self.quote, _DEAREST
        if self.forecast is not None and self.forecast.share > 0:
            finest = max(float(self.forecast.price) / self.forecast.share, 2 * float(_LEAST))
        margin = quote.half_width
        if quote.is_derived or margin is None or margin <= 0 or not math.isfinite(margin):
            return None
        spent = (quote.apart or margin) * float(quote.own_epsilon)
        ends = {"finest": spent / finest, "coarsest": spent / float(_LEAST)}
        return {**ends, "at": margin, "unit": quote.unit}


@dataclass(frozen=True, slots=True)
class CataloguePreview:
    """A catalogue before its release, with the ε that each PPI needs."""

    catalogue: Catalogue
    ppis: tuple[PpiPreview, ...]
    price: Price
    together: Forecast | None
    left: Epsilon | None

    @property
    def definitions(self) -> str:
        """What would be released, with every ε in it."""
        return write_yaml(self.catalogue)

    @property
    def price_text(self) -> str:
        return price_text(self.price)

    @property
    def lasts(self) -> tuple[str, ...]:
        """How long the budget lasts for several PPIs together; a single one says it itself."""
        if self.together is None or len(self.ppis) == 1:
            return ()
        return report.forecast_lines(self.together)


def preview_of(
    session: LocalSession,
    catalogue: Catalogue,
    accuracies: Mapping[int, str],
    epsilons: Mapping[int, Epsilon],
) -> CataloguePreview:
    """Quotes for every PPI, each at its requested accuracy or ε."""
    refuse_too_many(catalogue, MOST_AT_ACCURACY if accuracies else MOST_ON_A_PAGE)
    ppis = [
        _at_accuracy(session, catalogue, ppi, accuracy)
        if (accuracy := accuracies.get(number))
        else replace(ppi, epsilon=epsilons.get(number, ppi.epsilon))
        for number, ppi in enumerate(catalogue.ppis)
    ]
    # Under a total, those without an accuracy share what remains.
    chosen = replace(catalogue, ppis=tuple(ppis))
    quotes, forecasts = session.advise(chosen), session.forecasts(chosen)
    lines = session.budget(catalogue.log)
    left = {line.block: line.left for line in lines}
    previews = tuple(
        PpiPreview(
            number,
            ppi,
            quote,
            forecast,
            accuracies.get(number, ""),
            _ladder(session, chosen, quote, forecast, lines),
            left.get((forecast and forecast.tightest) or ""),
        )
        for number, (ppi, quote, forecast) in enumerate(zip(ppis, quotes, forecasts, strict=True))
    )
    price, together = session.price(chosen), session.outlook(chosen)
    return CataloguePreview(chosen, previews, price, together, report.least_left(lines))


def _at_accuracy(session: LocalSession, catalogue: Catalogue, ppi: Ppi, accuracy: str) -> Ppi:
    """The PPI at the ε that the accuracy costs."""
    alone = replace(catalogue, ppis=(ppi,), total=None)
    (quote,) = session.preview(alone, accuracy=accuracy)
    return replace(ppi, epsilon=quote.own_epsilon)


def _ladder(
    session: LocalSession,
    catalogue: Catalogue,
    quote: Quote,
    forecast: Forecast | None,
    lines: Sequence[BudgetLine],
) -> list[dict[str, object]]:
    """What other accuracies cost; only for a single PPI, because each step takes a plan."""
    if len(catalogue.ppis) > 1 or not lines:
        return []
    cells = 1.0 if forecast is None else float(forecast.price) / float(quote.epsilon)
    limit = min(float(min(line.limit, line.own_limit or line.limit)) for line in lines)
    left = min(float(line.left) for line in lines)
    margins = session.margins(catalogue, _LADDER)
    return [
        {
            "within": report.error_text(margin, quote.unit),
            "epsilon": epsilon,
            "share": report.percent(cells * float(epsilon) / limit) if limit else "all",
            "fits": cells * float(epsilon) <= left,
        }
        for epsilon, margin in zip(_LADDER, margins, strict=True)
        if margin is not None
    ]


_NUMBERED = re.compile(r"(accuracy|take|instead)-(\d{1,3})")


@dataclass(frozen=True, slots=True)
class Draft:
    """What an analyst is working on: everyday words and their readings, the blanks, the YAML.

    Definitions that were `composed` say what the blanks say; others are whatever was written.
    """

    composer: Composer | None
    definitions: str = ""
    words: str = ""
    readings: tuple[Reading, ...] = ()
    composed: bool = False


def new_query(log: Name, bearer: Authenticated, shape: str = "time", query: str = "") -> Response:
    """An empty sentence, or a saved query to be changed."""
    session = bearer.session
    about = session.log(log)
    saved = next((each for each in session.saved(log) if each.id == query), None)
    draft = Draft(_composer(about, shape, {}), saved.definitions if saved else "")
    return _asked(about, bearer, draft)


def preview(log: Name, sent: Sent, bearer: Authenticated) -> Response:
    """What a query would cost, composed as a sentence or written in the notation."""
    session = bearer.session
    about = session.log(log)
    draft = Draft(_composer(about, sent["shape"], sent), sent["definitions"], sent["words"])
    try:
        if sent["do"] == "understand":
            readings = session.understand(draft.words, log).readings
            return _asked(about, bearer, replace(draft, readings=readings))
        if sent["do"] == "compose" and draft.composer is not None:
            draft = replace(draft, definitions=composed(draft.composer, log), composed=True)
        draft = _with_instead(draft, sent, log)
        catalogue = catalogue_of(_catalogue(draft.definitions, log), sent["total"] or None)
        taken = {number: Epsilon.of(text) for number, text in _numbered(sent, "take").items()}
        typed = {n: text for n, text in _numbered(sent, "accuracy").items() if n not in taken}
        shown = preview_of(session, catalogue, typed, taken)
    except NotAuthenticated:
        raise
    except PappiError as error:
        return _asked(about, bearer, draft, error=error)
    return _asked(about, bearer, draft, preview=shown)


def rehearse(sent: Sent, bearer: Authenticated) -> Response:
    """The same query, about made-up cases."""
    session = bearer.session
    catalogue = _catalogue(sent["definitions"], sent["log"])
    return _page(
        "rehearsal.html",
        bearer,
        log=catalogue.log,
        cards=_cards(session.rehearse(catalogue)),
        definitions=sent["definitions"],
    )


def release(sent: Sent, bearer: Authenticated) -> Response:
    """Charge and release, if the price has not changed; then show it."""
    session = bearer.session
    catalogue = _catalogue(sent["definitions"], sent["log"])
    try:
        released = session.release(
            catalogue,
            price=sent["price"],
            anyway=bool(sent["anyway"]),
            derived=bool(sent["derived"]) or None,
        )
    except (Conflict, TellsNothing) as refusal:
        about = session.log(catalogue.log)
        draft = Draft(_composer(about, "", {}), sent["definitions"])
        now = preview_of(session, catalogue, {}, {})
        changed = isinstance(refusal, Conflict)
        return _asked(about, bearer, draft, preview=now, changed=changed)
    saved = session.save(catalogue)
    if saved is not None:
        return RedirectResponse(f"{_QUERIES}/{quote(saved.id)}", 303)
    paid = _paid_text(session.paid(catalogue), session.budget(catalogue.log))
    cards = _cards(released)
    return _page("released.html", bearer, log=catalogue.log, cards=cards, paid=paid)


def _asked(
    about: PublicLog,
    bearer: Bearer,
    draft: Draft,
    preview: CataloguePreview | None = None,
    error: PappiError | None = None,
    *,
    changed: bool = False,
) -> Response:
    fault = None if error is None else fault_of(error, Audience.ANALYST)
    return _page(
        "ask.html",
        bearer,
        200 if fault is None else fault.status,
        log=about,
        draft=draft,
        shapes=shapes_for(about.vocabulary),
        periods=PERIODS,
        directions=DIRECTIONS,
        preview=preview,
        problem=None if fault is None else fault.record(),
        changed=changed,
        sentence=sentence,
    )


def _composer(about: PublicLog, shape: str, sent: Mapping[str, str]) -> Composer | None:
    """The sentence of that shape, or of the first that is possible for the log."""
    possible = shapes_for(about.vocabulary)
    if not possible:
        return None
    chosen = SHAPES.get(shape)
    return composer(chosen if chosen in possible else possible[0], about.vocabulary, sent)


def _catalogue(text: str, log: str) -> Catalogue:
    catalogue = parse_definitions(text, notation_of(text), _PLACE, log).catalogue
    if not catalogue.ppis:
        raise NotFound("there is no PPI in these definitions")
    return catalogue


def _with_instead(draft: Draft, sent: Form, log: str) -> Draft:
    """The definitions with the chosen alternatives in place of their PPIs."""
    chosen = _numbered(sent, "instead")
    if not chosen:
        return draft
    catalogue = _catalogue(draft.definitions, log)
    ppis = list(catalogue.ppis)
    for number, text in chosen.items():
        instead = _catalogue(text, log)
        if instead.total is not None:  # all of them, as a set
            return replace(draft, definitions=text)
        ppis[number : number + 1] = instead.ppis
    return replace(draft, definitions=write_yaml(replace(catalogue, ppis=tuple(ppis))))


def _numbered(sent: Form, field: str) -> dict[int, str]:
    """What was typed or clicked in a field, by the number of its PPI."""
    fields = ((_NUMBERED.fullmatch(name), sent[name]) for name in sent)
    return {int(m[2]): text for m, text in fields if m and m[1] == field and text}


# --- saved queries: on record, subscribed to, compared ------------------------------------
#
# A comparison comes from the record, so it is free, however often one looks.

Picked = Annotated[str, Query(max_length=1_000)]
QueryId = Annotated[str, Path(max_length=64)]
# At most this many PPIs have charts on one page; the others are on the next.
_ON_A_PAGE = 10
_COMPARED_BY = {"difference": "difference", "percent": "difference in percent", "ratio": "ratio"}


@dataclass(frozen=True, slots=True)
class ComparisonChoice:
    """What was picked to be compared, in the address of the page; at first nothing."""

    ppi: str = ""
    of: str = "periods"
    first: str = ""
    second: str = ""
    period: str = ""
    by: str = str(By.DIFFERENCE)

    @classmethod
    def picked(
        cls,
        ppi: Picked = "",
        of: Picked = "periods",
        first: Picked = "",
        second: Picked = "",
        period: Picked = "",
        by: Picked = str(By.DIFFERENCE),
    ) -> ComparisonChoice:
        return cls(ppi, of, first, second, period, by)


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
class ComparisonCard:
    """What a page shows about comparing: what is offered, what was picked, and the result."""

    offers: tuple[Offer, ...]
    choice: ComparisonChoice
    name: str = ""
    answers: tuple[Answer, ...] = ()
    problem: str = ""

    @property
    def with_periods(self) -> tuple[Offer, ...]:
        return tuple(offer for offer in self.offers if len(offer.periods) > 1)

    @property
    def with_groups(self) -> tuple[Offer, ...]:
        return tuple(offer for offer in self.offers if len(offer.groups) > 1)


def _compared(
    session: LocalSession, catalogue: Catalogue, series: Sequence[Series], choice: ComparisonChoice
) -> ComparisonCard:
    # What shows a comparison already has no figures of its own to pick from.
    offers = tuple(Offer.of(shown) for shown in series if not shown.view)
    if not (choice.first and choice.second):
        return ComparisonCard(offers, choice)
    pair = choice.first, choice.second
    groups, periods = (pair, None) if choice.of == "groups" else (None, pair)
    try:
        (result,) = session.compare(
            catalogue, ppi=choice.ppi, by=choice.by, periods=periods, groups=groups
        )
    except PappiError as error:
        problem = f"{error.message[:1].upper()}{error.message[1:]}."
        return ComparisonCard(offers, choice, problem=problem)
    wanted = (a for a in result.answers if not choice.period or a.period.label == choice.period)
    return ComparisonCard(offers, choice, result.name, tuple(wanted))


def saved_queries(bearer: Authenticated) -> Response:
    """The analyst's saved queries and subscriptions."""
    saved, subscriptions = bearer.session.saved(), bearer.session.subscriptions()
    return _page("queries.html", bearer, saved=saved, subscriptions=subscriptions)


def saved_query(
    query: QueryId,
    bearer: Authenticated,
    smooth: bool = False,  # noqa: FBT001, FBT002 - parameters of the address
    after: Annotated[int, Query(ge=0, le=10_000)] = 0,
    choice: Annotated[ComparisonChoice, Depends(ComparisonChoice.picked)] = ComparisonChoice(),  # noqa: B008 - it is frozen
) -> Response:
    """What is on record for a saved query, and the price of what is not."""
    return _saved_query(query, bearer, smooth=smooth, after=after, choice=choice)


def _saved_query(
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
    saved, catalogue = _saved(session, query)
    on_page = replace(catalogue, ppis=catalogue.ppis[after : after + _ON_A_PAGE])
    series = session.replay(on_page, smooth=smooth)
    price = session.price(catalogue)
    return _page(
        "query.html",
        bearer,
        query=saved,
        names=[ppi.name for ppi in catalogue.ppis],
        cards=_cards(series),
        compared=_compared(session, catalogue, series, choice),
        compared_by=_COMPARED_BY,
        figures=sum(len(ppi.answers) for ppi in series),
        price=price,
        price_text=price_text(price),
        paid=_paid_text(session.paid(catalogue), session.budget(saved.log)),
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


def figures(query: QueryId, bearer: Authenticated) -> Response:
    """The figures of a saved query, for a spreadsheet."""
    session = bearer.session
    _, catalogue = _saved(session, query)
    return Response(
        report.csv_text(session.replay(catalogue).to_records()),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="figures.csv"'},
    )


def forget(query: QueryId, bearer: Authenticated) -> Response:
    """Remove a saved query from the list."""
    bearer.session.forget(query)
    return RedirectResponse(_QUERIES, 303)


def subscribe(query: QueryId, sent: Sent, bearer: Authenticated) -> Response:
    """Subscribe: release it for every new block, up to a day."""
    session = bearer.session
    saved, catalogue = _saved(session, query)
    until = day_in(sent["until"], "to subscribe until")
    try:
        session.subscribe(catalogue, until, anyway=bool(sent["anyway"]))
    except TellsNothing as refusal:
        return _saved_query(query, bearer, nothing=refusal.message)
    return RedirectResponse(f"{_QUERIES}/{saved.id}", 303)


def unsubscribe(subscription: QueryId, bearer: Authenticated) -> Response:
    """End a subscription and free its remaining reservations."""
    bearer.session.unsubscribe(subscription)
    return RedirectResponse(_QUERIES, 303)


def _saved(session: LocalSession, identity: str) -> tuple[SavedQuery, Catalogue]:
    for query in session.saved():
        if query.id == identity:
            return query, parse_catalogue(query.definitions, _PLACE)
    raise NotFound("you have no such query", hint="see My queries")


# --- what released figures look like, and what they cost ----------------------------------


def _cards(series: Sequence[Series]) -> list[report.Element]:
    return [report.series_card(ppi, f"ppi-{number}") for number, ppi in enumerate(series, start=1)]


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
    return f"{report.count_text(price.figures, 'new figure')}, {_in_blocks(price)}{aside}"


def _paid_text(paid: Price, budget: Sequence[BudgetLine]) -> str:
    """What the figures on record have cost, and what is left of the budget."""
    if paid.is_free:
        return ""
    return f"Charged for these figures, once: {_in_blocks(paid)}. {report.left_text(budget)}"


def _in_blocks(price: Price) -> str:
    upto = "" if price.least == price.most else "up to "
    where = "one block" if price.blocks == 1 else f"each of {price.blocks:,} blocks"
    return f"{upto}ε {price.most} in {where}"
