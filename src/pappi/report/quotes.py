"""Previews, shown: the price and the expected error of each PPI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pappi.report.numbers import with_unit
from pappi.values.quotes import Quote, QuotedSet

if TYPE_CHECKING:
    from rich.table import Table


def quotes_table(quotes: Sequence[Quote]) -> Table:
    """One line a PPI, for the terminal."""
    from rich.table import Table

    cases = {quote.assumed_cases for quote in quotes}
    table = Table(caption=f"Typical error: of the noise, at {max(cases)} cases in a period.")
    for heading in ("PPI", "mechanism"):
        table.add_column(heading)
    for heading in ("ε", "typical error", "to pay"):
        table.add_column(heading, justify="right")
    for quote in quotes:
        table.add_row(
            quote.ppi, quote.mechanism, str(quote.epsilon), _error(quote), _payments(quote)
        )
    return table


def quote_record(quote: Quote) -> dict[str, Any]:
    return {
        "ppi": quote.ppi,
        "epsilon": float(quote.epsilon),
        "mechanism": quote.mechanism,
        "typical_error": quote.typical_error,
        "unit": quote.unit,
        "assumed_cases": quote.assumed_cases,
        "charges": quote.charges,
        "new_charges": quote.new_charges,
        "options": [_option_record(option) for option in quote.options],
    }


def _option_record(option: QuotedSet) -> dict[str, Any]:
    return {
        "functions": list(option.functions),
        "mechanism": option.mechanism,
        "typical_error": option.typical_error,
        "reason": option.reason,
    }


def _error(quote: Quote) -> str:
    if quote.typical_error is None:
        return "not known"
    return "± " + with_unit(f"{quote.typical_error:.3g}", quote.unit)


def _payments(quote: Quote) -> str:
    """What it costs now: each new cell once, in its own blocks."""
    if not quote.new_charges:
        return "nothing, a replay"
    return f"{quote.epsilon} × {quote.new_charges}"
