"""What a page shows of PPIs before they are released: cost, error, and other accuracies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pappi.budget.forecast import Forecast
from pappi.checkpoint.forecasts import Price
from pappi.checkpoint.limits import MOST_AT_ACCURACY, refuse_too_many
from pappi.ppinot.catalogue import write_yaml
from pappi.ppinot.model import Catalogue, Ppi
from pappi.ppinot.sentences import sentence
from pappi.report.budgets import BudgetLine
from pappi.report.elements import Element
from pappi.report.error_chart import error_caption, error_figure, error_table
from pappi.report.forecasts import forecast_lines
from pappi.report.numbers import three_digits, with_unit
from pappi.report.tree_chart import composition_figure, composition_table
from pappi.report.wording import percent
from pappi.values.epsilon import Epsilon
from pappi.values.quotes import Quote
from pappi.workspace import Analyst

_LADDER = tuple(map(Epsilon.of, ("0.02", "0.05", "0.1", "0.2", "0.5", "1")))
# The slider reaches from what hardly costs anything to what takes a block's whole budget.
_LEAST = Epsilon.of("0.01")
_DEAREST = 1.0
# Charts of so many PPIs in one page; a larger catalogue is for the command line.
MOST_ON_A_PAGE = 50


@dataclass(frozen=True, slots=True)
class Step:
    """Another accuracy, and what it costs."""

    within: str
    epsilon: Epsilon
    share: str
    fits: bool


@dataclass(frozen=True, slots=True)
class Slider:
    """From the finest accuracy to the coarsest, in the PPI's unit."""

    finest: float
    coarsest: float
    at: float
    unit: str


@dataclass(frozen=True, slots=True)
class PpiPreview:
    """One PPI before its release; `accuracy` is what was asked for, if anything was."""

    number: int
    ppi: Ppi
    quote: Quote
    forecast: Forecast | None
    accuracy: str
    ladder: tuple[Step, ...]
    left: Epsilon | None

    @property
    def after(self) -> str:
        """The budget before and after, where it is tightest."""
        if self.forecast is None or self.left is None or self.forecast.price > self.left:
            return ""
        rest = self.left - self.forecast.price
        return f"In block {self.forecast.tightest}, ε {self.left} is left now, and {rest} after it."

    @property
    def sentence(self) -> str:
        return sentence(self.ppi)

    @property
    def tree(self) -> Element:
        return composition_figure(self.ppi, self.quote)

    @property
    def error_chart(self) -> Element:
        return error_figure(self.quote)

    @property
    def tree_table(self) -> Element:
        return composition_table(self.quote)

    @property
    def error_caption(self) -> str:
        return error_caption(self.quote)

    @property
    def error_table(self) -> Element:
        return error_table(self.quote)

    @property
    def within(self) -> str:
        """±6.2 hours, or that nothing is known."""
        if self.quote.half_width is None:
            return "not known"
        return f"±{with_unit(three_digits(self.quote.half_width), self.quote.unit)}"

    @property
    def holds(self) -> str:
        """How sure it is that the value lies within, or what that rests on."""
        return f"if {self.quote.assumes}" if self.quote.assumes else "95 times in 100"

    @property
    def share(self) -> str:
        return "nothing" if self.forecast is None else percent(self.forecast.share)

    @property
    def lasts(self) -> tuple[str, ...]:
        if self.forecast is None:
            return ("All of it is on record: asking again is free.",)
        return forecast_lines(self.forecast)

    @property
    def slider(self) -> Slider | None:
        quote, finest = self.quote, _DEAREST
        if self.forecast is not None and self.forecast.share > 0:
            finest = max(float(self.forecast.price) / self.forecast.share, 2 * float(_LEAST))
        margin = quote.half_width
        if margin is None or margin <= 0 or not math.isfinite(margin):
            return None
        spent = margin * float(quote.epsilon)
        return Slider(spent / finest, spent / float(_LEAST), margin, quote.unit)


@dataclass(frozen=True, slots=True)
class Preview:
    """A catalogue before its release, at the ε that each PPI was found to need."""

    catalogue: Catalogue
    ppis: tuple[PpiPreview, ...]
    price: Price
    together: Forecast | None

    @property
    def definitions(self) -> str:
        """What would be released, with every ε in it."""
        return write_yaml(self.catalogue)

    @property
    def price_text(self) -> str:
        return price_text(self.price)

    @property
    def lasts(self) -> tuple[str, ...]:
        """Of several PPIs together; of one alone it is said beside it."""
        if self.together is None or len(self.ppis) == 1:
            return ()
        return forecast_lines(self.together)

    @property
    def fits(self) -> bool:
        return self.together is None or self.together.more > 0


def price_text(price: Price) -> str:
    """For a button: what pressing it costs.

    >>> from pappi.values.epsilon import ZERO
    >>> price_text(Price(0, 0, 0, ZERO, ZERO, ""))
    'free: all of it is on record'
    >>> tenth = Epsilon.of("0.1")
    >>> price_text(Price(24, 0, 12, tenth, tenth, ""))
    '24 new figures, ε 0.1 in each of 12 blocks'
    """
    if price.is_free:
        return "free: all of it is on record"
    figures = f"{price.figures:,} new figure{'' if price.figures == 1 else 's'}"
    upto = "" if price.least == price.most else "up to "
    where = "one block" if price.blocks == 1 else f"each of {price.blocks:,} blocks"
    aside = ", partly set aside before" if price.reserved else ""
    return f"{figures}, {upto}ε {price.most} in {where}{aside}"


def preview_of(
    door: Analyst,
    catalogue: Catalogue,
    accuracies: Mapping[int, str],
    epsilons: Mapping[int, Epsilon],
) -> Preview:
    """Quotes of every PPI, each at the accuracy, or the ε, that is wanted of it."""
    refuse_too_many(catalogue, MOST_AT_ACCURACY if accuracies else MOST_ON_A_PAGE)
    taken = tuple(
        replace(ppi, epsilon=epsilons.get(number, ppi.epsilon))
        for number, ppi in enumerate(catalogue.ppis)
    )
    settled = tuple(_settled(door, replace(catalogue, ppis=taken), accuracies))
    chosen = replace(catalogue, ppis=tuple(ppi for ppi, _ in settled))
    forecasts = door.forecasts(chosen)
    lines = door.budget(catalogue.log)
    left = {line.block: line.left for line in lines}
    found = [
        PpiPreview(
            number,
            ppi,
            quote,
            forecast,
            accuracies.get(number, ""),
            _ladder(door, chosen, quote, forecast, lines),
            left.get((forecast and forecast.tightest) or ""),
        )
        for number, ((ppi, quote), forecast) in enumerate(zip(settled, forecasts, strict=True))
    ]
    return Preview(chosen, tuple(found), door.price(chosen), door.outlook(chosen))


def _settled(
    door: Analyst, catalogue: Catalogue, accuracies: Mapping[int, str]
) -> Iterator[tuple[Ppi, Quote]]:
    """The PPIs of which no accuracy is wanted are quoted together, the others one by one."""
    plain = tuple(ppi for n, ppi in enumerate(catalogue.ppis) if not accuracies.get(n))
    together = iter(door.preview(replace(catalogue, ppis=plain)) if plain else ())
    for number, ppi in enumerate(catalogue.ppis):
        wanted = accuracies.get(number)
        if wanted:
            (quote,) = door.preview(replace(catalogue, ppis=(ppi,)), accuracy=wanted)
        else:
            quote = next(together)
        yield replace(ppi, epsilon=quote.epsilon), quote


def _ladder(
    door: Analyst,
    catalogue: Catalogue,
    quote: Quote,
    forecast: Forecast | None,
    lines: Sequence[BudgetLine],
) -> tuple[Step, ...]:
    """What other accuracies cost; for one PPI alone, as it takes a plan for each step."""
    if len(catalogue.ppis) > 1 or not lines:
        return ()
    cells = 1.0 if forecast is None else float(forecast.price) / float(quote.epsilon)
    limit = min(float(min(line.limit, line.own_limit or line.limit)) for line in lines)
    left = min(float(line.left) for line in lines)
    margins = door.margins(catalogue, _LADDER)
    return tuple(
        Step(
            within=f"±{with_unit(three_digits(margin), quote.unit)}",
            epsilon=epsilon,
            share=percent(cells * float(epsilon) / limit) if limit else "all",
            fits=cells * float(epsilon) <= left,
        )
        for epsilon, margin in zip(_LADDER, margins, strict=True)
        if margin is not None
    )
