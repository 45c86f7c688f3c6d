"""What a page shows of PPIs before they are released: cost, error, and other accuracies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pappi.budget.forecast import Forecast
from pappi.errors import PappiError
from pappi.ppinot.catalogue import write_yaml
from pappi.ppinot.model import Catalogue, Ppi
from pappi.ppinot.sentences import sentence
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


@dataclass(frozen=True, slots=True)
class Step:
    """Another accuracy, and what it costs."""

    within: str
    accuracy: str
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
        if self.quote.margin is None:
            return "not known"
        return f"±{with_unit(three_digits(self.quote.margin), self.quote.unit)}"

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
        if quote.margin is None or quote.margin <= 0 or not math.isfinite(quote.margin):
            return None
        spent = quote.margin * float(quote.epsilon)
        return Slider(spent / finest, spent / float(_LEAST), quote.margin, quote.unit)


@dataclass(frozen=True, slots=True)
class Preview:
    """A catalogue before its release, at the ε that each PPI was found to need."""

    catalogue: Catalogue
    ppis: tuple[PpiPreview, ...]

    @property
    def definitions(self) -> str:
        """What would be released, with every ε in it."""
        return write_yaml(self.catalogue)

    @property
    def new_charges(self) -> int:
        return sum(each.quote.new_charges for each in self.ppis)

    @property
    def price(self) -> str:
        """For the release button: what pressing it costs."""
        new = [each.quote for each in self.ppis if each.quote.new_charges]
        if not new:
            return "free: all of it is on record"
        amounts = sorted({quote.epsilon for quote in new})
        written = " to ".join(dict.fromkeys(map(str, (amounts[0], amounts[-1]))))
        figures = "figure" if self.new_charges == 1 else "figures"
        return f"{self.new_charges} new {figures}, ε {written} each"


def preview_of(door: Analyst, catalogue: Catalogue, accuracies: Mapping[int, str]) -> Preview:
    """Quotes of every PPI, each at the accuracy that is wanted of it."""
    settled = tuple(_settled(door, catalogue, accuracies))
    chosen = replace(catalogue, ppis=tuple(ppi for ppi, _ in settled))
    forecasts = door.forecasts(chosen)
    left = {line.block: line.left for line in door.budget(catalogue.log)}
    found = [
        PpiPreview(
            number,
            ppi,
            quote,
            forecast,
            accuracies.get(number, ""),
            _ladder(door, chosen),
            left.get((forecast and forecast.tightest) or ""),
        )
        for number, ((ppi, quote), forecast) in enumerate(zip(settled, forecasts, strict=True))
    ]
    return Preview(chosen, tuple(found))


def _settled(
    door: Analyst, catalogue: Catalogue, accuracies: Mapping[int, str]
) -> Iterator[tuple[Ppi, Quote]]:
    for number, ppi in enumerate(catalogue.ppis):
        alone = replace(catalogue, ppis=(ppi,))
        (quote,) = door.preview(alone, accuracy=accuracies.get(number) or None)
        yield replace(ppi, epsilon=quote.epsilon), quote


def _ladder(door: Analyst, catalogue: Catalogue) -> tuple[Step, ...]:
    """What other accuracies cost; for one PPI alone, as it takes a plan for each step."""
    if len(catalogue.ppis) > 1:
        return ()
    found = (_step(door, catalogue, epsilon) for epsilon in _LADDER)
    return tuple(step for step in found if step is not None)


def _step(door: Analyst, catalogue: Catalogue, epsilon: Epsilon) -> Step | None:
    ppis = (replace(catalogue.ppis[0], epsilon=epsilon),)
    there = replace(catalogue, ppis=ppis)
    try:
        (quote,), (forecast,) = door.preview(there), door.forecasts(there)
    except PappiError:
        return None  # e.g. too small for the mechanism that was asked for by name
    if quote.margin is None:
        return None
    number = three_digits(quote.margin)
    return Step(
        f"±{with_unit(number, quote.unit)}",
        number.replace(",", ""),
        epsilon,
        "free" if forecast is None else percent(forecast.share),
        forecast is None or forecast.more > 0,
    )
