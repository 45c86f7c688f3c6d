"""What a PPI would cost and how far off it would be, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass

from pappi.values.answers import ShownTarget
from pappi.values.epsilon import Epsilon

MARGIN_CONFIDENCE = 0.95
"""With which a margin holds, where no other confidence is named."""

CONFIDENCES = (0.5, 0.8, 0.9, MARGIN_CONFIDENCE, 0.99)
"""At which a quote says how far off the value may be."""


@dataclass(frozen=True, slots=True)
class ErrorQuantile:
    """The noise keeps the value within ±`within`, in the PPI's unit, with that confidence.

    Wherever the values lie, unless the quote says what it `assumes`.
    """

    confidence: float
    within: float


@dataclass(frozen=True, slots=True)
class QuotedSet:
    """One way to release a PPI: the functions that carry the noise, each with its share of ε.

    `mechanisms` are theirs in the same order, and `mechanism` tells them in one text. With its
    predicted error, and its margin at 95 % where one can be promised.
    """

    functions: tuple[str, ...]
    mechanism: str | None
    typical_error: float | None
    reason: str = ""
    shares: tuple[float, ...] = ()
    chosen: bool = False
    margin: float | None = None
    mechanisms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quote:
    """The price of one PPI.

    Errors are in the PPI's unit, predicted for the assumed number of cases in a period; None
    is no useful prediction. `typical_error` is the root mean square. `margin` says within what
    the noise keeps the value with 95 % confidence, wherever the values lie in their bounds, and
    `quantiles` the same for other confidences. Of a verdict alone, they say how far from its
    target a value must lie to be told apart. `fewer` says what fewer cases would change.

    Where nothing known beforehand bounds the error, there is no margin, and `margin_note` says
    why. The quantiles then hold only under what the quote `assumes` of the values; if that is
    empty as well, no law tells.

    `new_charges` counts the cells that have not been released before, each of which costs
    `epsilon`. `clipping` says what is known of the error that bounds make, which is not in
    the errors above; `advice` what to ask instead, where this cannot be answered well.
    """

    ppi: str
    name: str
    unit: str
    epsilon: Epsilon
    functions: tuple[str, ...]
    mechanism: str
    typical_error: float | None
    assumed_cases: int
    charges: int
    new_charges: int
    options: tuple[QuotedSet, ...]
    shares: tuple[float, ...] = ()
    clipping: str = ""
    advice: str = ""
    quantiles: tuple[ErrorQuantile, ...] = ()
    margin_note: str = ""
    assumes: str = ""
    fewer: str = ""
    target: ShownTarget | None = None
    verdict_only: bool = False
    mechanisms: tuple[str, ...] = ()

    @property
    def margin(self) -> float | None:
        """What is promised at 95 %."""
        return None if self.assumes else self.half_width

    @property
    def half_width(self) -> float | None:
        """The margin; or else what would be one, if what the quote assumes were so."""
        return self.within(MARGIN_CONFIDENCE)

    def within(self, confidence: float) -> float | None:
        """The half-width at one of the confidences of the quote."""
        known = {each.confidence: each.within for each in self.quantiles}
        return known.get(confidence)
