"""A query before its release: composed or written, previewed, rehearsed, released."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

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
    parse_definitions,
    sentence,
    write_yaml,
)
from pappi.service.keys import Authenticated, Bearer
from pappi.service.models import Name
from pappi.service.problems import Audience, fault_of
from pappi.service.web.forms import Form, Sent
from pappi.service.web.workbench.composing import (
    DIRECTIONS,
    PERIODS,
    SHAPES,
    Composer,
    composed,
    composer,
    shapes_for,
)
from pappi.service.web.workbench.pages import View, cards_of, paid_text, price_text
from pappi.session import LocalSession
from pappi.values import BudgetLine, Epsilon, PublicLog, Quote

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
    def within(self) -> str:
        margin = self.quote.half_width
        return "not known" if margin is None else _margin_text(margin, self.quote)

    @property
    def apart(self) -> str:
        """The margin it would have if each PPI under a total were released by itself."""
        return "" if self.quote.apart is None else _margin_text(self.quote.apart, self.quote)

    @property
    def limit(self) -> str:
        """What an accuracy is: a promise, or an assumption's."""
        return "Within" if self.quote.assumes else "At most"

    @property
    def holds(self) -> str:
        """The confidence of the margin, or what it assumes."""
        return f"if {self.quote.assumes}" if self.quote.assumes else "95 % confidence"

    @property
    def tells_nothing(self) -> bool:
        """Whether a charge for it would be wasted; what is on record costs nothing."""
        return self.quote.tells_nothing and self.quote.new_charges > 0

    @property
    def share(self) -> str:
        return "nothing" if self.forecast is None else report.percent(self.forecast.share)

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
    def quotes(self) -> list[Quote]:
        return [preview.quote for preview in self.ppis]

    @property
    def lasts(self) -> tuple[str, ...]:
        """How long the budget lasts for several PPIs together; a single one says it itself."""
        if self.together is None or len(self.ppis) == 1:
            return ()
        return report.forecast_lines(self.together)

    @property
    def nothing(self) -> list[str]:
        """The names of PPIs that tell nothing."""
        return [preview.ppi.name for preview in self.ppis if preview.tells_nothing]

    @property
    def derivable(self) -> list[str]:
        """The names of PPIs that follow from the record, though not as exactly."""
        quoted = ((preview.ppi.name, preview.quote.derivable) for preview in self.ppis)
        return [name for name, follows in quoted if follows is not None and not follows.taken]

    @property
    def fits(self) -> bool:
        return self.together is None or self.together.more > 0


def preview_of(
    session: LocalSession,
    catalogue: Catalogue,
    accuracies: Mapping[int, str],
    epsilons: Mapping[int, Epsilon],
) -> CataloguePreview:
    """Quotes for every PPI, each at its requested accuracy or ε."""
    refuse_too_many(catalogue, MOST_AT_ACCURACY if accuracies else MOST_ON_A_PAGE)
    at_epsilons = tuple(
        replace(ppi, epsilon=epsilons.get(number, ppi.epsilon))
        for number, ppi in enumerate(catalogue.ppis)
    )
    settled = tuple(_settled(session, replace(catalogue, ppis=at_epsilons), accuracies))
    chosen = replace(catalogue, ppis=tuple(ppi for ppi, _ in settled))
    forecasts = session.forecasts(chosen)
    lines = session.budget(catalogue.log)
    left = {line.block: line.left for line in lines}
    ppis = tuple(
        PpiPreview(
            number,
            ppi,
            quote,
            forecast,
            accuracies.get(number, ""),
            _ladder(session, chosen, quote, forecast, lines),
            left.get((forecast and forecast.tightest) or ""),
        )
        for number, ((ppi, quote), forecast) in enumerate(zip(settled, forecasts, strict=True))
    )
    price, together = session.price(chosen), session.outlook(chosen)
    return CataloguePreview(chosen, ppis, price, together, report.least_left(lines))


def _settled(
    session: LocalSession, catalogue: Catalogue, accuracies: Mapping[int, str]
) -> Iterator[tuple[Ppi, Quote]]:
    """Every PPI with its quote; those with a requested accuracy at the ε it costs.

    Under a total the others share what remains.
    """
    ppis = []
    for number, ppi in enumerate(catalogue.ppis):
        if accuracy := accuracies.get(number):
            alone = replace(catalogue, ppis=(ppi,), total=None)
            (quote,) = session.preview(alone, accuracy=accuracy)
            ppis.append(replace(ppi, epsilon=quote.own_epsilon))
        else:
            ppis.append(ppi)
    chosen = replace(catalogue, ppis=tuple(ppis))
    quotes = session.advise(chosen)
    for ppi, quote in zip(ppis, quotes, strict=True):
        yield ppi, quote


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
            "within": _margin_text(margin, quote),
            "epsilon": epsilon,
            "share": report.percent(cells * float(epsilon) / limit) if limit else "all",
            "fits": cells * float(epsilon) <= left,
        }
        for epsilon, margin in zip(_LADDER, margins, strict=True)
        if margin is not None
    ]


def _margin_text(margin: float, quote: Quote) -> str:
    return f"± {report.with_unit(report.three_digits(margin), quote.unit)}"


_PLACE = "definitions"
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


class AskingView(View):
    """One method per page."""

    def form(
        self, log: Name, bearer: Authenticated, shape: str = "time", query: str = ""
    ) -> Response:
        """An empty sentence, or a saved query to be changed."""
        session = bearer.session
        about = session.log(log)
        saved = next((each for each in session.saved(log) if each.id == query), None)
        draft = Draft(_composer(about, shape, {}), saved.definitions if saved else "")
        return self._asked(about, bearer, draft)

    def preview(self, log: Name, sent: Sent, bearer: Authenticated) -> Response:
        """What a query would cost, composed as a sentence or written in the notation."""
        session = bearer.session
        about = session.log(log)
        draft = Draft(_composer(about, sent["shape"], sent), sent["definitions"], sent["words"])
        try:
            if sent["do"] == "understand":
                readings = session.understand(draft.words, log).readings
                return self._asked(about, bearer, replace(draft, readings=readings))
            if sent["do"] == "compose" and draft.composer is not None:
                draft = replace(draft, definitions=composed(draft.composer, log), composed=True)
            draft = _with_instead(draft, sent, log)
            catalogue = catalogue_of(_catalogue(draft.definitions, log), sent["total"] or None)
            preview = preview_of(session, catalogue, _accuracies(sent), _taken(sent))
        except NotAuthenticated:
            raise
        except PappiError as error:
            return self._asked(about, bearer, draft, error=error)
        return self._asked(about, bearer, draft, preview=preview)

    def rehearse(self, sent: Sent, bearer: Authenticated) -> Response:
        """The same query, about made-up cases."""
        session = bearer.session
        catalogue = _catalogue(sent["definitions"], sent["log"])
        return self._page(
            "rehearsal.html",
            bearer,
            log=catalogue.log,
            cards=cards_of(session.rehearse(catalogue)),
            definitions=sent["definitions"],
        )

    def release(self, sent: Sent, bearer: Authenticated) -> Response:
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
            return self._asked(about, bearer, draft, preview=now, changed=changed)
        saved = session.save(catalogue)
        if saved is not None:
            return RedirectResponse(f"/workbench/queries/{quote(saved.id)}", 303)
        paid = paid_text(session.paid(catalogue), session.budget(catalogue.log))
        cards = cards_of(released)
        return self._page("released.html", bearer, log=catalogue.log, cards=cards, paid=paid)

    def _asked(
        self,
        about: PublicLog,
        bearer: Bearer,
        draft: Draft,
        preview: CataloguePreview | None = None,
        error: PappiError | None = None,
        *,
        changed: bool = False,
    ) -> Response:
        fault = None if error is None else fault_of(error, Audience.ANALYST)
        return self._page(
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


def _accuracies(sent: Form) -> dict[int, str]:
    """By the number of the PPI: the typed accuracy, unless a step was clicked."""
    clicked = _numbered(sent, "take")
    return {n: text for n, text in _numbered(sent, "accuracy").items() if n not in clicked}


def _taken(sent: Form) -> dict[int, Epsilon]:
    """By the number of the PPI: the ε of the step that was clicked."""
    return {number: Epsilon.of(text) for number, text in _numbered(sent, "take").items()}


def _numbered(sent: Form, field: str) -> dict[int, str]:
    fields = ((_NUMBERED.fullmatch(name), sent[name]) for name in sent)
    return {int(m[2]): text for m, text in fields if m and m[1] == field and text}
