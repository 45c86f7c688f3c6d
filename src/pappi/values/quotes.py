"""What a PPI would cost and how far off it would be, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass

from pappi.values.epsilon import Epsilon


@dataclass(frozen=True, slots=True)
class QuotedSet:
    """One way to release a PPI: the functions that carry the noise, each with its share of ε.

    With its predicted error, or why there is none.
    """

    functions: tuple[str, ...]
    mechanism: str | None
    typical_error: float | None
    reason: str = ""
    shares: tuple[float, ...] = ()
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """The price of one PPI.

    Errors are root mean squares in the PPI's unit, predicted for the assumed number
    of cases in a period; None is no useful prediction. `new_charges` counts the
    cells that have not been released before, each of which costs `epsilon`. `clipping`
    says what is known of the error that bounds make, which is not in the typical error;
    `advice` what to ask instead, where this cannot be answered well.
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
